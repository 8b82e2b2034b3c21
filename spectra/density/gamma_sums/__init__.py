"""Kernels whose Mellin transform is a product of Gamma functions.

``gamma_product`` reads the products, ``gamma_formula`` writes densities of them as formulas, and
``series`` is the route that inverts them.
"""
