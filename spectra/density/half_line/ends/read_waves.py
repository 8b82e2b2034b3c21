r"""A formula with sines, cosines and Bessel functions as a sum of waves.

.. math:: k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)

for z > 0, with functions :math:`f_b` that do not oscillate: cosines and sines are exponentials,
and :math:`J_\nu = (H^{(1)}_\nu + H^{(2)}_\nu)/2`.  Each wave decays along rays in one half-plane;
their sum decays along none.
"""

from __future__ import annotations

import sympy

from spectra.density.half_line.ends.power_terms import (
    PowerTerms,
    Term,
    expansion_from,
    expansion_of,
    one_sided_expansion,
)
from spectra.errors import NoRouteError
from spectra.formula.evaluation.ball_function import HankelAmplitude
from spectra.formula.reader.parsing import Z

__all__ = ["oscillation", "read_waves"]

_WAVES = (sympy.sin, sympy.cos, sympy.besselj)
# A higher power of waves is not multiplied out.
_LARGEST_POWER = 12


def oscillation(expr: sympy.Expr) -> tuple[PowerTerms, dict[sympy.Expr, Term]]:
    """Expand the part that does not oscillate at infinity; find the leading terms of the waves.

    Returns
    -------
    plain : PowerTerms
    turning : dict
        The term (a, q, c) of each frequency b > 0, by ascending b: the formula has the wave
        c z^-a log^q(z) exp(ibz) and its conjugate.
    """
    expansion = one_sided_expansion(expr, sympy.oo)
    turning: dict[sympy.Expr, Term] = {}
    for phase, series in expansion.parts:
        if not phase.terms or phase.growth < 0 or not series.terms:
            continue
        (size, rate), *others = phase.terms
        b = rate / sympy.I
        is_wave = phase.growth == 0 and not others and size == (-1, 0) and b.is_real
        if not is_wave or any(not (q.is_Integer and q <= 0) for (_, q), _ in series.terms):
            raise NoRouteError(
                f"The formula {expr} oscillates at infinity in another way than exp(ibz) times "
                "powers of z and whole powers of log z, without decaying faster than every power: "
                "the numeric route follows waves of constant frequency. Design a finite measure "
                "for your range of distances (design)."
            )
        if b.is_positive:
            (a, minus_q), c = series.terms[0]
            turning[b] = a, -int(minus_q), c
    plain = expansion.with_parts((p, s) for p, s in expansion.parts if p.growth < 0 or not p.terms)
    return expansion_from(plain, expr, sympy.oo), dict(sorted(turning.items()))


def read_waves(expr: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
    """The amplitudes f_b of a formula in Z by ascending frequency b >= 0; {} without waves.

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
            f"The formula {expr} oscillates, and not as a polynomial in sines, cosines and Bessel "
            f"functions ({error}): its waves cannot be told apart, so the numeric route cannot "
            "integrate them. Design a finite measure for your range of distances."
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


#: The frequency and the amplitude that a symbol stands for.
_Factors = dict[sympy.Expr, tuple[sympy.Expr, sympy.Expr]]


def _rewrite(expr: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """A formula as a polynomial in symbols for its waves and for what does not oscillate."""
    if not expr.has(*_WAVES):
        return _symbol(sympy.S.Zero, expr, factors)
    if expr.is_Add or expr.is_Mul:
        return expr.func(*(_rewrite(part, factors) for part in expr.args))
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_POWER:
        return _rewrite(expr.base, factors) ** expr.exp
    if isinstance(expr, _WAVES):
        return _rewrite_wave(expr, factors)
    raise sympy.PolynomialError(f"it has {expr}")


def _rewrite_wave(node: sympy.Expr, factors: _Factors) -> sympy.Expr:
    """A sine, a cosine or a Bessel function by exp(iu) and exp(-iu), with amplitudes."""
    u = node.args[-1]
    if u.has(*_WAVES):
        raise sympy.PolynomialError(f"it has {node}")
    terms = {a: c for a, q, c in expansion_of(u, sympy.oo) if q == 0}
    c = terms.get(sympy.Integer(-1), sympy.S.Zero)
    if c == 0 or any(a.is_negative and a != -1 for a in terms):
        return _symbol(sympy.S.Zero, node, factors)
    is_bessel = isinstance(node, sympy.besselj)
    if is_bessel and not (c.is_positive and node.args[0].is_real):
        raise sympy.PolynomialError(f"it has {node}")
    both = []
    for sign in (1, -1):
        amplitude = sympy.exp(sign * sympy.I * (u - c * Z))
        if is_bessel:
            amplitude *= HankelAmplitude(node.args[0], u, sign)
        both.append(_symbol(sign * c, amplitude, factors))
    if isinstance(node, sympy.sin):
        return (both[0] - both[1]) / (2 * sympy.I)
    return (both[0] + both[1]) / 2


def _symbol(frequency: sympy.Expr, amplitude: sympy.Expr, factors: _Factors) -> sympy.Expr:
    symbol = sympy.Dummy()
    factors[symbol] = frequency, amplitude
    return symbol
