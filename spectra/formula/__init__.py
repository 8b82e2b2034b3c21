"""Formulas: from text to exact expressions, and from expressions to numbers.

Nothing that a user types is ever run.

Reading:

- ``reader/parsing``: text or a sympy expression to an exact expression in z or u;
- ``reader/parameters``: the values of parameters as exact real numbers;
- ``reader/text``: text to expressions;
- ``reader/whitelist``: sympy expressions rebuilt from the language and audited;
- ``reader/building``: sums, powers and functions with every number bounded;
- ``reader/wording``: the words of refusals.

Numbers:

- ``evaluation/evaluate``: a function of NumPy arrays, and one of mpmath numbers;
- ``expansions``: one-sided expansions, exactly;
- ``one_sided_limits``: the exact limit at the origin;
- ``pieces``: a function of distance in pieces, each on a ball;
- ``evaluation/ball_function``: a function of complex balls;
- ``evaluation/real_function``: a function of real points in balls;
- ``evaluation/lost_digits``: where doubles lose digits, and the values there;
- ``evaluation/program``: expressions as short programs;
- ``rules``: how each head is computed in doubles;
- ``functions``: the table of the functions of the language;
- ``callables``: Python callables as functions of the language.
"""

from spectra.formula.callables import Opaque
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.pieces import Piece

__all__ = [
    "Opaque",
    "Piece",
    "value_at_zero",
]
