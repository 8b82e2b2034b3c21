"""Find where a kernel is not smooth, and how singular it is there, exactly from its formula.

Read in this order: ``results`` (the types), ``rules`` (what each kind of singularity implies for
d), ``power_series`` (bounds of formulas by their value at coinciding points), ``zeros`` (all
positive zeros of a formula), ``branches`` (the radii at which it may not be analytic),
``periodic``, ``at_infinity``, and ``local`` (the analysis of a kernel).  A one-sided expansion
(:mod:`spectra.formula.expansions`) is a list of terms c t^a log^q(1/t) in the distance t -> 0 from
a point, or t = 1/z at infinity.  The *size* of a term is (a, -q), and ONE that of a constant.
"""

from spectra.singularities.local import analyse, analyse_end, analytic_intervals

__all__ = ["analyse", "analyse_end", "analytic_intervals"]
