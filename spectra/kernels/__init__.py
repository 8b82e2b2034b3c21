"""Kernels: their sums and products, values and kernel matrices.

A :class:`Kernel` is radial, a function of z = |x - y|, or zonal, a function of u = <x, y> on the
unit sphere.  Grouped kernels are sums of products of radial kernels of some columns of the data,
asymmetric kernels are sums of shifted radial kernels, and l1 kernels are functions of |x - y|_1.
"""

from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.grouped import Factor, GroupedKernel, additive
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.kernels.l1_kernel import L1Kernel, l1

__all__ = [
    "AsymmetricKernel",
    "Factor",
    "GroupedKernel",
    "Kernel",
    "L1Kernel",
    "additive",
    "l1",
    "radial",
    "zonal",
]
