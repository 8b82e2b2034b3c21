"""Named kernels as data, and the way from a text to a kernel.

``catalogue["ntk"]`` is a kernel; ``catalogue["matern"]`` becomes one when it is called with its
parameters.
"""

from spectra.kernels.catalogue.entry import DIMENSION, Entry
from spectra.kernels.catalogue.named import Catalogue, catalogue
from spectra.kernels.catalogue.reading import (
    kernel_from_text,
    kernel_named,
    named_by_text,
    named_with_parameters,
    read_numbers,
)

__all__ = [
    "DIMENSION",
    "Catalogue",
    "Entry",
    "catalogue",
    "kernel_from_text",
    "kernel_named",
    "named_by_text",
    "named_with_parameters",
    "read_numbers",
]
