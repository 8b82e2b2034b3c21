"""Named kernels as data, and the way from a text to a kernel.

``catalogue["ntk"]`` is a kernel; ``catalogue["matern"]`` is a family, which becomes a kernel when
it is called with its parameters.
"""

from spectra.kernels.catalogue.entry import DIMENSION, Entry, Parameter
from spectra.kernels.catalogue.grouped_text import named_by_text
from spectra.kernels.catalogue.named import Catalogue, Family, UnknownKernelError, catalogue
from spectra.kernels.catalogue.reading import (
    kernel_from_text,
    kernel_named,
    read_numbers,
    split_call,
)

__all__ = [
    "DIMENSION",
    "Catalogue",
    "Entry",
    "Family",
    "Parameter",
    "UnknownKernelError",
    "catalogue",
    "kernel_from_text",
    "kernel_named",
    "named_by_text",
    "read_numbers",
    "split_call",
]
