"""Densities known by their values: a power times a Chebyshev series on each panel."""
