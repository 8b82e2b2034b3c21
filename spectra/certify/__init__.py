"""Proofs in ball arithmetic (python-flint): masses and tables.

Read in this order: ``balls`` (exact numbers in, enclosures out), ``signs`` (ranges of proved sign),
``nodes`` (bounds from values at nodes); ``laws``, ``cauchy_law`` and ``mixtures`` (what does not
oscillate); ``waves`` (an oscillating tail with its remainder, and about what it oscillates) and
``expansions`` (both, of hypergeometric functions); ``ball_densities`` and ``ball_kernels`` (kernels
on a ball), ``signed_laws`` (the law of one sign), ``lobes`` (those of kernels on a ball) and
``masses`` (the entry); ``certificates``, ``panel_proofs``, ``cell_proofs``, ``lobed_tails`` and
``tables`` (the entry).
"""

from spectra.certify.certificates import PartCertificate, TableCertificate
from spectra.certify.masses import CertifiedMasses, proved_masses
from spectra.certify.tables import proved_table

__all__ = [
    "CertifiedMasses",
    "PartCertificate",
    "TableCertificate",
    "proved_masses",
    "proved_table",
]
