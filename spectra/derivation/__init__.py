"""From a kernel to its spectral table, through the cache."""

from spectra.derivation.kernel_to_table import derive

__all__ = ["derive"]
