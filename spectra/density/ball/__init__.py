"""Densities of kernels with a support: formulas on a ball z <= R.

A formula is written as a sum of powers, exactly (``ball_form``) or by a fit to its values
(``numeric``).  ``ball_component`` (``edge``) computes the density: by a power series
in w up to a radius, and beyond it from the expansions at the edge z = R and at z = 0.
``ball_formula`` is its closed form.  A ``Ball`` is a number of Arb, with an error.
"""
