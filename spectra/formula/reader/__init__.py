"""Parse text and sympy expressions; everything that is not explicitly allowed is refused."""

from spectra.formula.reader.parameters import exact_parameter
from spectra.formula.reader.parsing import Z, parse_formula

__all__ = ["Z", "exact_parameter", "parse_formula"]
