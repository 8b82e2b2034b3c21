"""Expansions of formulas at z = 0 and at infinity; waves and atoms."""
