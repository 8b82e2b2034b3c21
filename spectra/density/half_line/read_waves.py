r"""A formula with sines, cosines and Bessel functions as a sum of waves.

.. math:: k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)

for z > 0, with amplitudes :math:`f_b` that do not oscillate: cosines and sines are exponentials,
and :math:`J_\nu = (H^{(1)}_\nu + H^{(2)}_\nu)/2`.  :math:`e^{ibz} f_b` decays on rays in the upper
half-plane and its conjugate on rays in the lower one, but their sum on neither.
"""

from __future__ import annotations

import sympy

from spectra.density.half_line.power_terms import (
    PowerTerms,
    Term,
    expand_in_powers,
    expand_one_sided,
    read_power_terms,
)
from spectra.errors import NoRouteError
from spectra.formula.ball_function import HankelAmplitude
from spectra.formula.parsing import Z

__all__ = ["expand_waves", "read_waves"]

_WAVES = (sympy.sin, sympy.cos, sympy.besselj)
# Higher powers of sines, cosines and Bessel functions are not multiplied out.
_LARGEST_POWER = 12


def expand_waves(expr: sympy.Expr) -> tuple[PowerTerms, dict[sympy.Expr, Term]]:
    """Expand a formula at infinity.

    Returns
    -------
    plain : PowerTerms
        The terms that do not oscillate.
    slow_waves : dict
        The leading term of each wave that decays like a power, by ascending frequency b > 0: with
        the term (a, q, c) the formula has c z^-a log^q(z) exp(ibz) and its conjugate.
    """
    expansion = expand_one_sided(expr, sympy.oo)
    slow_waves: dict[sympy.Expr, Term] = {}
    for phase, series in expansion.parts:
        if not phase.terms or phase.growth < 0 or not series.terms:
            continue
        # exp(phase) is a wave if the phase is ib/t alone (t = 1/z), of order (-1, 0): no log t.
        (order, factor), *others = phase.terms
        b = factor / sympy.I
        is_wave = phase.growth == 0 and not others and order == (-1, 0) and b.is_real
        if not is_wave or any(not (q.is_Integer and q <= 0) for (_, q), _ in series.terms):
            raise NoRouteError(
                f"The formula {expr} oscillates or grows at infinity, and the numeric route takes "
                "only exp(ibz) times powers of z and whole powers of log z there. Design a finite "
                "measure for your range of distances."
            )
        if b.is_positive:
            (a, minus_q), c = series.terms[0]
            slow_waves[b] = a, -int(minus_q), c
    plain = expansion.with_parts((p, s) for p, s in expansion.parts if p.growth < 0 or not p.terms)
    return read_power_terms(plain, expr, sympy.oo), dict(sorted(slow_waves.items()))


def read_waves(expr: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
    """The amplitudes f_b of a formula in Z, by ascending frequency b >= 0; {} without waves.

    Examples
    --------
    >>> list(read_waves(sympy.sin(Z) ** 2 / Z**2))
    [0, 2]
    """
    if not expr.has(*_WAVES):
        return {}
    factors: _Factors = {}
    try:
        total = sympy.expand(_rewrite(expr, factors))
    except sympy.PolynomialError as error:
        raise NoRouteError(
            f"The formula {expr} oscillates and is no polynomial in sines, cosines and Bessel "
            f"functions ({error}): the numeric route cannot split it into waves. Design a finite "
            "measure for your range of distances."
        ) from error
    found: dict[sympy.Expr, sympy.Expr] = {}
    for term in sympy.Add.make_args(total):
        b, amplitude = sympy.S.Zero, sympy.S.One
        for base, power in term.as_powers_dict().items():
            frequency, factor = factors.get(base, (sympy.S.Zero, base))
            b, amplitude = b + power * frequency, amplitude * factor**power
        b = sympy.simplify(b) if b.has(sympy.Add) else b
        if not b.is_negative:
            found[b] = found.get(b, sympy.S.Zero) + amplitude
    if set(found) == {sympy.S.Zero}:
        return {}
    return dict(sorted(found.items(), key=lambda wave: float(wave[0].evalf(30))))


#: For each symbol, the frequency b and the amplitude f_b of the wave that it replaces.
_Factors = dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]]


def _rewrite(expr: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """Rewrite a formula as a polynomial in symbols, each for a wave or for a smooth factor."""
    if not expr.has(*_WAVES):
        return _replace_by_symbol(sympy.S.Zero, expr, factors)
    if expr.is_Add or expr.is_Mul:
        return expr.func(*(_rewrite(part, factors) for part in expr.args))
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_POWER:
        return _rewrite(expr.base, factors) ** expr.exp
    if isinstance(expr, _WAVES):
        return _rewrite_wave(expr, factors)
    raise sympy.PolynomialError(f"it has {expr}")


def _rewrite_wave(node: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """Rewrite a sine, a cosine or a Bessel function of u = cz + ... as waves exp(+-icz)."""
    u = node.args[-1]
    if u.has(*_WAVES):
        raise sympy.PolynomialError(f"it has {node}")
    terms = {a: c for a, q, c in expand_in_powers(u, sympy.oo) if q == 0}
    c = terms.get(sympy.Integer(-1), sympy.S.Zero)
    if c == 0 or any(a.is_negative and a != -1 for a in terms):
        return _replace_by_symbol(sympy.S.Zero, node, factors)
    is_bessel = isinstance(node, sympy.besselj)
    if is_bessel and not (c.is_positive and node.args[0].is_real):
        raise sympy.PolynomialError(f"it has {node}")
    both = []
    for sign in (1, -1):
        amplitude = sympy.exp(sign * sympy.I * (u - c * Z))
        if is_bessel:
            amplitude *= HankelAmplitude(node.args[0], u, sign)
        both.append(_replace_by_symbol(sign * c, amplitude, factors))
    if isinstance(node, sympy.sin):
        return (both[0] - both[1]) / (2 * sympy.I)
    return (both[0] + both[1]) / 2


def _replace_by_symbol(b: sympy.Expr, amplitude: sympy.Expr, factors: _Factors) -> sympy.Expr:
    symbol = sympy.Dummy()
    factors[symbol] = b, amplitude
    return symbol
