"""Where a kernel is not smooth, and how, exactly from its formula.

Read in this order: ``exact_numbers`` (which of them are zero), ``germs`` (the algebra of one-sided
expansions), ``elementary`` and ``bessel_expansions`` (functions of them), ``expansion`` (from a
formula to a germ), ``power_series`` (what is bounded by its value at coinciding points), ``zeros``
(all positive ones of a formula), ``branches`` (the radii where a formula changes),
``wave_formulas`` (what comes back for ever), ``places`` (what is found), ``local`` (the analysis of
a kernel at zero, at each radius and at infinity), ``recurring`` (where its radii have no end).

``rules`` says what each kind asks of d, ``at_infinity`` what happens there, ``verification`` holds
expansions to numbers; ``taylor_series`` and ``hyperexpansion`` serve ``expansion``.
"""

from spectra.singularity.local import analyse, one_sided, profile
from spectra.singularity.places import (
    Ending,
    Gap,
    LocalAnalysis,
    Profile,
    Requirement,
    Singularity,
)

__all__ = [
    "Ending",
    "Gap",
    "LocalAnalysis",
    "Profile",
    "Requirement",
    "Singularity",
    "analyse",
    "one_sided",
    "profile",
]
