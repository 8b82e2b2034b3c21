"""From a finite measure to its table: inverse CDFs of the radius, with a measured error.

``build`` makes a table; ``pieces`` puts the ranges of radii in order; ``fit`` approximates each.
"""

from spectra.measure.tabulation.build import tabulate

__all__ = ["tabulate"]
