"""Densities as Chebyshev series on panels, and their forms at small and large radii."""
