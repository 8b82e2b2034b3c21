"""Densities of Python callables, from values and from what was stated of them.

Read in this order: ``fit`` (values as polynomials), ``series_on_support`` (on a support),
``density_of_callable`` (the rest, and the door).
"""
