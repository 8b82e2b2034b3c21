"""Where a kernel is not smooth, and how, exactly from its formula.

Expansions are those of :mod:`spectra.formula.expansions`.  Read in this order: ``power_series``
(what is bounded by its value at coinciding points), ``zeros`` (all positive ones of a formula),
``branches`` (the radii where a formula changes), ``places`` (what is found), ``periodic`` (periodic
and almost periodic formulas), ``local`` (the analysis of a kernel at zero, at each radius and at
infinity).  ``rules`` says what each kind asks of d, ``at_infinity`` what happens there.
"""

from spectra.singularities.local import analyse, one_sided, profile

__all__ = ["analyse", "one_sided", "profile"]
