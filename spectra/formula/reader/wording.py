"""Words for refusals: what a name may have meant, and values short enough to print."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from spectra.formula.functions import BY_NAME

__all__ = [
    "CALLABLE_NAMES",
    "HINTS",
    "did_you_mean",
    "short",
]

# Characters of a value in a message.
_LONGEST = 80
CALLABLE_NAMES = (*BY_NAME, "sqrt", "hyper", "Piecewise")
#: What to write for functions that other languages have.
HINTS = {
    "where": "write Piecewise((a, condition), (b, True))",
    "select": "write Piecewise((a, condition), (b, True))",
    "pow": "write a**b",
    "power": "write a**b",
    "square": "write a**2",
    "cbrt": "write a**(1/3)",
    "exp2": "write 2**a",
    "expm1": "write exp(a) - 1",
    "log1p": "write log(1 + a)",
    "log2": "write log(a)/log(2)",
    "log10": "write log(a)/log(10)",
    "sinc": "write sin(a)/a, the limit at 0 is taken for you",
    "sech": "write 1/cosh(a)",
    "csch": "write 1/sinh(a)",
    "coth": "write cosh(a)/sinh(a)",
    "sec": "write 1/cos(a)",
    "csc": "write 1/sin(a)",
    "cot": "write 1/tan(a)",
    "sign": "write Piecewise((-1, a < 0), (0, a <= 0), (1, True))",
    "clip": "write Min(Max(a, low), high)",
    "factorial": "write gamma(a + 1)",
    "jv": "write besselj(order, a)",
    "iv": "write besseli(order, a)",
    "kv": "write besselk(order, a)",
}


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Add the nearest known name, where one is near."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def short(value: object) -> str:
    """Print a value in a few words, whatever it is."""
    try:
        text = str(value)
    except ValueError:  # an integer of more than 4300 digits
        return f"a {type(value).__name__} with thousands of digits"
    text = text.encode("utf-8", "backslashreplace").decode()  # so that every message can be printed
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
