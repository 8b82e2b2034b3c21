"""One-sided expansions of formulas, exactly: at a radius, at zero and at infinity.

Read in this order: ``exact_numbers`` (which of them are zero), ``expansions`` (the algebra of
expansions), ``elementary`` and ``bessel_expansions`` (functions of them), ``expansion`` (from a
formula to a expansion); ``taylor_series`` and ``hyperexpansion`` serve it, and ``verification`` holds
expansions to numbers.  ``kinks`` takes the branch that a formula has somewhere.
"""
