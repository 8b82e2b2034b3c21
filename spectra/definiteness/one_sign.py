"""Proofs that a formula keeps one sign on an interval, by its zeros and singularities."""

from __future__ import annotations

from itertools import pairwise

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.parsing import Z
from spectra.singularity.zeros import positive_zeros

__all__ = ["has_sign"]

#: Operations in a formula beyond which a proof is given up.
_LONGEST = 120
#: Functions without a singularity on the real axis but that of the logarithm.
_SMOOTH = (
    *(sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.tanh),
    *(sympy.atan, sympy.erf, sympy.erfc),
)


def has_sign(expr: sympy.Expr, wanted: int, low: sympy.Expr, high: sympy.Expr) -> bool:
    """Whether a formula in z is proved to be >= 0 (``wanted`` = 1) or <= 0 (-1) for low < z < high.

    Between zeros, and zeros of what its roots, quotients and logarithms are taken of, it keeps the
    sign of any point.

    Examples
    --------
    >>> has_sign(sympy.exp(2 * Z) - sympy.exp(Z), 1, sympy.Integer(0), sympy.oo)
    True
    """
    try:
        f = sympy.factor(sympy.together(expr))
        if sympy.count_ops(f) > _LONGEST or not all(
            isinstance(g, _SMOOTH) for g in f.atoms(sympy.Function)
        ):
            return False
        inner = [g.args[0] for g in f.atoms(sympy.log)]
        inner += [g.base for g in f.atoms(sympy.Pow) if not (g.exp.is_Integer and g.exp > 0)]
        places = {r for g in (f, *inner) for r in positive_zeros(g, high) if low < r < high}
        ends = [low, *sorted(places), high]
        values = [f.subs(Z, _between(a, b)) for a, b in pairwise(ends)]
        return all(v.is_real and sign(v) in (wanted, 0) for v in values)
    except (ExpansionError, sympy.PolynomialError, NotImplementedError, TypeError):
        return False


def _between(low: sympy.Expr, high: sympy.Expr) -> sympy.Expr:
    return low + 1 if high is sympy.oo else (low + high) / 2
