"""Expansions of formulas at z = 0 and at infinity, and their waves there."""
