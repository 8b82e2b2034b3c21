"""Kernels whose Mellin transform is a product of Gamma functions: sums on vertical lines.

Read in this order: ``mellin`` (the products), ``mellin_poles`` (of the transform of a density),
``mellin_lines`` (sums), ``mellin_component`` (the component that they make).
"""
