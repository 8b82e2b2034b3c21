"""From a finite measure to its table: inverse CDFs of the radius, with a measured error."""

from spectra.tabulation.build import tabulate

__all__ = ["tabulate"]
