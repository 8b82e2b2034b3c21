"""Formulas: from text to exact expressions, and from expressions to numbers.

Nothing that a user types is ever run.

Reading, from the door inwards:

- ``reader/parsing``: text or a sympy expression to an exact expression in z or u;
- ``reader/parameters``: the values of parameters as exact real numbers;
- ``reader/syntax``: text to a syntax tree of bounded size;
- ``reader/syntax_tree``: syntax trees to expressions;
- ``reader/whitelist``: sympy expressions rebuilt from the language and audited;
- ``reader/building``: sums, powers and functions with every number bounded;
- ``reader/wording``: the words of refusals.

Numbers:

- ``evaluation/evaluate``: a function of NumPy arrays, and one of mpmath numbers;
- ``expansions``: one-sided expansions, exactly;
- ``one_sided_limits``: the exact limit at the origin;
- ``pieces``: a function of distance in pieces, each on a ball;
- ``evaluation/lost_digits``: where terms cancel in doubles, and the values there;
- ``evaluation/cancellation``: values with as many digits as their cancellations need;
- ``evaluation/program``: expressions as short programs;
- ``rules``: how each head is computed by each backend;
- ``functions``: the table of the functions of the language;
- ``ball_functions``: what mpmath computes slowly, in ball arithmetic.
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
