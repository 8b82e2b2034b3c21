"""Derive the spectral table of a kernel, or read it from the cache."""

from spectra.derivation.kernel_to_table import derive
from spectra.table.kept_tables import default_cache, kept_files, remove_kept

__all__ = ["default_cache", "derive", "kept_files", "remove_kept"]  # fmt: skip
