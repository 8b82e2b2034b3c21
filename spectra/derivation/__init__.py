"""Derive the spectral table of a kernel, or read it from the cache."""

from spectra.derivation.family_bounds import definite_bounds
from spectra.derivation.kernel_to_table import derive
from spectra.table.kept_tables import default_cache, kept_files, remove_kept

__all__ = ["default_cache", "definite_bounds", "derive", "kept_files", "remove_kept"]
