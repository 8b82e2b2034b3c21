"""The catalogue of named kernels, and functions that make kernels from text.

``catalogue["ntk"]`` is a kernel; ``catalogue["matern"]`` has parameters, and is called to get a
kernel: ``catalogue["matern"](nu=1.5)``.
"""

from spectra.kernels.catalogue.entry import DIMENSION, Entry
from spectra.kernels.catalogue.named import Catalogue, catalogue
from spectra.kernels.catalogue.reading import (
    any_kernel_from_text,
    as_kernel,
    kernel_from_text,
    parse_name,
    parse_numbers,
)

__all__ = [
    "DIMENSION", "Catalogue", "Entry", "any_kernel_from_text", "as_kernel", "catalogue",
    "kernel_from_text", "parse_name", "parse_numbers",
]  # fmt: skip
