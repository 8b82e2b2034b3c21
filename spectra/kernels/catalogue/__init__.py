"""The catalogue of named kernels, and functions that make kernels from text.

``catalogue["ntk"]`` is a kernel; ``catalogue["matern"]`` has parameters, and is called to get a
kernel: ``catalogue["matern"](nu=1.5)``.
"""

from spectra.kernels.catalogue.families import DIMENSION, Family
from spectra.kernels.catalogue.named import Catalogue, catalogue
from spectra.kernels.catalogue.reading import (
    any_kernel_from_text,
    as_kernel,
    family,
    kernel_from_text,
    parse_name,
    parse_numbers,
)

__all__ = [
    "DIMENSION", "Catalogue", "Family", "any_kernel_from_text", "as_kernel", "catalogue", "family",
    "kernel_from_text", "parse_name", "parse_numbers",
]  # fmt: skip
