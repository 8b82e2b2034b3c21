"""Spectral densities as formulas in w: from tables of closed forms, or by sympy."""
