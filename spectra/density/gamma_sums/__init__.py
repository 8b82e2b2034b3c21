"""Kernels whose Mellin transform is a product of Gamma functions: sums on vertical lines.

Read in this order: ``gamma_product`` (the products), ``poles`` (of the transform of a density),
``vertical_lines`` (sums), ``gamma_component`` (the component that they make).
"""

from spectra.density.gamma_sums.gamma_component import mellin_component
from spectra.density.gamma_sums.gamma_product import GammaProduct, LinearArgument

__all__ = [
    "GammaProduct",
    "LinearArgument",
    "mellin_component",
]
