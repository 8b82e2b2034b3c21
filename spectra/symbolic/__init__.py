"""Spectral densities as formulas in w: from known transforms, or by sympy."""
