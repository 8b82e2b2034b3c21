"""Densities as formulas: found by tables, or by sympy under a time limit.

Read in this order: ``gamma_formula`` (Gamma products as formulas), ``mellin_reading`` (what sympy
finds, as Gamma products), ``sympy_limit`` and ``sympy_worker`` (sympy in a process that can be
ended).
"""
