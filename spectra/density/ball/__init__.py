"""Densities of kernels with a support: formulas on a ball z <= R.

A formula is written as a sum of powers (``ball_form``), exactly (``read_ball_form``) or by a fit
to its values (``numeric``).  The density (``compact``) is computed from a power series in w up to
some radius (``ascending_series``), and beyond from the expansions of the formula at the edge z = R
and at the origin z = 0 (``edge``, ``tail``).  ``ball_formula`` gives it in closed form.
"""
