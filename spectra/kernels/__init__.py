"""Kernels and their algebra: radial, zonal, grouped, asymmetric, and of the l1 distance."""

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
