"""Parts of error messages: suggestions for unknown names, and abbreviated values."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from spectra.formula.functions import FUNCTIONS

__all__ = ["FUNCTION_NAMES", "REPLACEMENTS", "did_you_mean", "shorten"]

# Characters of a value in a message: about one line of a terminal.
_MAX_LENGTH = 80
#: The names that may be called in a formula.
FUNCTION_NAMES = (*FUNCTIONS, "sqrt", "hyper", "Piecewise")
#: What to write instead of common functions that formulas do not have.
REPLACEMENTS = {
    "where": "write Piecewise((a, condition), (b, True))",
    "select": "write Piecewise((a, condition), (b, True))",
    "pow": "write a**b",
    "power": "write a**b",
    "cbrt": "write a**(1/3)",
    "exp2": "write 2**a",
    "expm1": "write exp(a) - 1",
    "log1p": "write log(1 + a)",
    "log2": "write log(a)/log(2)",
    "log10": "write log(a)/log(10)",
    "sinc": "write sin(a)/a; its limit at a = 0 is computed for you",
    "sech": "write 1/cosh(a)",
    "coth": "write cosh(a)/sinh(a)",
    "sign": "write Piecewise((-1, a < 0), (0, a <= 0), (1, True))",
    "clip": "write Min(Max(a, low), high)",
    "factorial": "write gamma(a + 1)",
    "jv": "write besselj(order, a)",
    "iv": "write besseli(order, a)",
    "kv": "write besselk(order, a)",
}


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Suggest the known name that is most similar; empty if none is similar."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def shorten(value: object) -> str:
    """The text of any value, cut to the length of a line."""
    try:
        text = str(value)
    except ValueError:  # an integer of more than 4300 digits
        return f"a {type(value).__name__} with thousands of digits"
    text = text.encode("utf-8", "backslashreplace").decode()  # surrogates cannot be printed
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."
