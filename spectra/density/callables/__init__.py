"""Densities of Python callables from their values."""
