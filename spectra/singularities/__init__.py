"""Find where a kernel is not smooth, and how singular it is there, exactly from its formula.

Read ``results`` (the types), ``rules`` and ``local`` (the analysis of a kernel).  A one-sided
expansion is a sum of terms c t^a log^q(1/t), t -> 0, in the distance t from a point, or t = 1/z at
infinity.  The *order* of a term is the pair (a, -q).  *Kinks* are Abs, Min, Max, Heaviside and
Piecewise.  A *requirement* on d is proved; a *gap* is a question that the analysis leaves open.
"""

from spectra.singularities.local import analyse, analyse_end, analytic_intervals

__all__ = ["analyse", "analyse_end", "analytic_intervals"]
