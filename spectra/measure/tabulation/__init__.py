"""From a finite measure to its table: inverse CDFs of the radius, with a measured error.

Read in this order: ``build`` (the door), ``cuts`` (where a law is cut), ``fit`` (panels).
"""

from spectra.measure.tabulation.build import tabulate

__all__ = ["tabulate"]
