"""Kernels whose Mellin transform is a product of Gamma functions.

``gamma_product`` reads the products, ``series`` is the route that inverts them.
"""

from spectra.density.gamma_sums.gamma_product import (
    GammaProduct,
    LinearArgument,
    gamma_product,
    gamma_products,
)

__all__ = ["GammaProduct", "LinearArgument", "gamma_product", "gamma_products"]
