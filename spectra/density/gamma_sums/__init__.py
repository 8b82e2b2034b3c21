"""Kernels whose Mellin transform is a sum of products of Gamma functions.

``gamma_product`` finds these products, ``gamma_formula`` gives their densities as formulas, and
``series`` is the route that computes them as numbers.
"""
