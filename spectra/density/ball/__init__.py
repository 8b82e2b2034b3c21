"""Densities of formulas on a ball z <= R: closed forms and numbers.

A formula is a sum of powers (``ball_form``), read exactly (``read_ball_form``) or fitted to its
values (``numeric``).  Its transform has exact moments (``ascending_series``) and a formula
(``ball_formula``).  It becomes a component (``compact``): panels up to a radius, and from there on
the expansions at the edge and at the origin (``edge``, ``tail``).
"""
