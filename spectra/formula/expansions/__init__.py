"""One-sided expansions of formulas, exactly: at a radius, at zero and at infinity.

Read in this order: ``exact_numbers`` (which of them are zero), ``expansion`` (the algebra of
expansions), ``elementary`` and ``bessel_functions`` (functions of them), ``expand`` (from a
formula to an expansion); ``taylor_series`` and ``hypergeometric_functions`` serve it, and
``verification`` holds expansions to numbers. ``kinks`` takes the branch that a formula has
somewhere.
"""
