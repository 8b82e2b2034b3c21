"""One-sided expansions of formulas, exactly: at a radius, at zero and at infinity.

Read in this order: ``exact_numbers`` (which of them are zero), ``expansion`` (the algebra of
expansions), ``elementary`` and ``special_functions`` (functions of them), ``expand`` (from a
formula to an expansion). ``kinks`` takes the branch that a formula has somewhere.
"""
