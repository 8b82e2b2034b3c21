"""From text or sympy to an expression, through a whitelist."""
