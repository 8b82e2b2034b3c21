"""Proofs in ball arithmetic (python-flint, the extra ``certify``): masses and tables.

Read in this order: ``balls`` (exact numbers in, enclosures out), ``signs`` (ranges of proved sign),
``laws`` and ``mixtures`` (components without oscillation), ``masses`` (the entry).
"""

from spectra.certify.masses import CertifiedMasses, certified_masses

__all__ = ["CertifiedMasses", "certified_masses"]
