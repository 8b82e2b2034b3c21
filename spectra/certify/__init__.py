"""Proofs in ball arithmetic (python-flint, the extra ``certify``): masses and tables.

Read in this order: ``balls`` (exact numbers in, enclosures out), ``signs`` (ranges of proved sign),
``laws`` and ``mixtures`` (components without oscillation), ``waves`` (an oscillating tail with its
remainder), ``entire``, ``hankel`` and ``lobes`` (Bochner-Riesz kernels), ``expansions``,
``backgrounds`` and ``arccosine`` (lobes upon a background), ``masses`` (the entry), ``parts`` and
``tables`` (certificates of tables).
"""

from spectra.certify.masses import CertifiedMasses, certified_masses
from spectra.certify.tables import PartCertificate, certify_table

__all__ = ["CertifiedMasses", "PartCertificate", "certified_masses", "certify_table"]
