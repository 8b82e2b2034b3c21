"""Densities as formulas: found by tables or by sympy under a time limit, and checked."""
