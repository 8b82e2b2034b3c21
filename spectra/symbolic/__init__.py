"""Densities as formulas in w: from tables, or from sympy in a process with a time limit."""
