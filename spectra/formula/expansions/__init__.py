"""Exact asymptotic expansions of formulas: at a radius from either side, at zero, at infinity.

Read in this order: ``exact_numbers`` (zero tests and signs of coefficients), ``expansion``
(arithmetic of expansions), ``elementary`` and ``special_functions`` (functions of expansions),
``expand`` (from a formula to an expansion), ``cases`` (the case of Abs or Min that applies).
"""
