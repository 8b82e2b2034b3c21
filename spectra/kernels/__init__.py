"""Kernels: their sums and products, values and kernel matrices.

A :class:`Kernel` is a profile: radial, a function of z = |x - y|, or zonal, a function of
u = <x, y> on the unit sphere.  A :class:`CompositeKernel` is a sum of products of profiles, each of
a distance (:mod:`~spectra.kernels.metrics`) in some columns of the data, which may be shifted or
tilted.
"""

from spectra.kernels.composite import CompositeKernel, Factor, Term, additive
from spectra.kernels.kernel import Kernel, l1, radial, zonal
from spectra.kernels.metrics import EUCLIDEAN, L1, SPHERE, Metric
from spectra.kernels.tabulated import TabulatedKernel

__all__ = [
    "EUCLIDEAN", "L1", "SPHERE", "CompositeKernel", "Factor", "Kernel", "Metric", "TabulatedKernel",
    "Term", "additive", "l1", "radial", "zonal",
]  # fmt: skip
