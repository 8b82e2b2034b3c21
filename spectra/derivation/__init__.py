"""Derive the spectral table of a kernel, or read it from the cache; families as covariances."""

from spectra.derivation.covariance_model import CovarianceModel, DataScale, definite_bounds
from spectra.derivation.kernel_to_table import derive
from spectra.table.kept_tables import default_cache, kept_files, remove_kept

__all__ = ["CovarianceModel", "DataScale", "default_cache", "definite_bounds", "derive",
           "kept_files", "remove_kept"]  # fmt: skip
