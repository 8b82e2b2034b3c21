"""From text or sympy to an expression, through a whitelist."""

from spectra.formula.reader.parameters import exact_parameter
from spectra.formula.reader.parsing import Z, parse_formula

__all__ = ["Z", "exact_parameter", "parse_formula"]
