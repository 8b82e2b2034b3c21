"""Densities of Python callables, from values and from what was stated of them."""
