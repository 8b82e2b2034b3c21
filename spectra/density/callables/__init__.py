"""Densities of Python callables, from values and from what was stated of them.

Read in this order: ``opaque_fit`` (values as polynomials), ``opaque_series`` (on a support),
``opaque_kernel`` (the rest, and the door).
"""
