r"""Which kernels on a ball have densities that are sums of hypergeometric functions.

A kernel :math:`\sum_j\beta_j(1-z^2/R^2)^{p_j}` with :math:`p_j = p_0 + j` has

.. math:: \rho\,dw = \sum_j\beta_j C_j\,x^{-s_j}J_{m_j}(x)\,dx, \qquad
          m_j = d/2+p_j,\; s_j = p_j+1-d/2,\; C_j = 2^{s_j}\Gamma(p_j+1)/\Gamma(d/2)

(Sonine's first integral).  The density of the arc-cosine kernel of order n, R = 2, is a multiple of

.. math:: x^{d-1}\,{}_1F_2(\tfrac{d+1}2+n; \tfrac d2+1+n, \tfrac d2+1+n; -x^2/4) ,

since acos(z/2) is an integral of :math:`(1-s^2)^{-1/2}` and that of order n in d dimensions is to w
as that of order 0 in d + 2n.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import flint
import sympy

from spectra.certify.ball_densities import BallDensity, Term
from spectra.certify.balls import EXACT_BITS, Unproved, exact_ball, precision
from spectra.certify.waves import discs_of
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.compact import BallComponent
from spectra.density.ball.read_ball_form import ball_form
from spectra.kernels.catalogue import catalogue

__all__ = ["ball_density", "bessel_density"]

# The tail starts at the larger of these: about 16 lobes, and well beyond the transition of J_m.
_LEAST_START, _START_BY_ORDER = 60.0, 3.5
# Sums with later starts of the tail would take seconds to isolate.
_LONGEST_BISECTION, _LONGEST = 240.0, 1e6
# The tail upon a background starts near this x: what that makes of it is then known to 1e-16.
_BACKGROUND_START = 400.0
# Orders of arc-cosine kernels; the background of order 0 falls too slowly for such a start.
_ORDERS = (1, 2)


def ball_density(component: BallComponent) -> BallDensity:
    """The density of a component.

    Raises
    ------
    Unproved
        Where the kernel is neither a polynomial in z^2 times one power of 1 - z^2/R^2 nor a
        multiple of the arc-cosine kernel of order 1 or 2.
    """
    form = component.form
    for order in _ORDERS:
        if isinstance(form, BallForm) and _is_multiple(form, _arc_cosine_form(order)):
            return _arc_cosine_density(component.dim, order, form.value_at_zero)
    if not (isinstance(form, BallForm) and form.is_even and len(form.parts) == 1):
        raise Unproved("the kernel is no polynomial in z^2 times one power of 1 - z^2/R^2")
    factor, monomials = form.parts[0]
    if factor.is_integral:
        raise Unproved("the kernel is no polynomial in z^2 times one power of 1 - z^2/R^2")
    length = max(m for m, _ in monomials) // 2 + 1
    series = form.edge_series(factor.power, length, sympy.sympify)
    exact = [sympy.nsimplify(c) if c.is_Rational else sympy.simplify(c) for c in series]
    skip = next(i for i, c in enumerate(exact) if c != 0)
    kept = exact[skip:]
    while kept[-1] == 0:
        kept.pop()
    return bessel_density(component.dim, factor.power + skip, tuple(kept))


def bessel_density(dim: int, first: sympy.Expr, weights: tuple[sympy.Expr, ...]) -> BallDensity:
    """The density of the kernel sum_j beta_j (1 - z^2/R^2)^(p_0 + j).

    Parameters
    ----------
    dim : int
    first : sympy number
        p_0, the leading exponent at the edge.
    weights : tuple of sympy numbers
        beta_0, beta_1, ...

    Raises
    ------
    Unproved
        Where the tail of a sum starts too late.
    """
    with precision(EXACT_BITS):
        h, power = flint.arb(dim) / 2, exact_ball(first)
        terms: list[Term] = []
        for j, beta in enumerate(map(exact_ball, weights)):
            p, order = power + j, power + j + h
            # beta C_j 2^-m / Gamma(m + 1)
            front = beta * flint.arb(2) ** (1 - 2 * h) * (p + 1).gamma() / h.gamma()
            terms.append((front / (order + 1).gamma(), (), (order + 1,)))
        total = exact_ball(sum(weights, sympy.Integer(0)))
    several = len(terms) > 1
    density = BallDensity(dim, tuple(terms), total)
    start = max(_LEAST_START, _START_BY_ORDER * float(h + power) ** 2)
    while start <= (_LONGEST_BISECTION if several else _LONGEST):
        try:
            discs_of(density.tail(start)[0], flint.arb(start))
        except Unproved:
            start *= 1.25
        else:
            return replace(density, start=start, counted_from=start if several else None)
    raise Unproved(f"the zeros of a sum of Bessel functions up to {start:.3g} are too many")


@cache
def _arc_cosine_form(order: int) -> BallForm:
    (piece,) = catalogue[f"arc_cosine_{order}"].pieces
    form = ball_form(piece.expr, piece.support)
    assert isinstance(form, BallForm)
    return form


def _is_multiple(form: BallForm, of: BallForm) -> bool:
    """Whether one formula on a ball is that multiple of another which their heights say."""
    ours, theirs = ({(f, m): c for f, ms in b.parts for m, c in ms} for b in (form, of))
    height = form.value_at_zero / of.value_at_zero
    alike = height != 0 and ours.keys() == theirs.keys()
    return alike and all(sympy.simplify(ours[k] - height * c) == 0 for k, c in theirs.items())


def _arc_cosine_density(dim: int, order: int, height: sympy.Expr) -> BallDensity:
    """The density of the arc-cosine kernel of order n, a multiple of a 1F2 (see the top).

    The multiple is the height over Mellin's integral
    2^(d-1) Gamma(h) Gamma(a-h) Gamma(b)^2 / (Gamma(a) Gamma(b-h)^2), h = d/2.
    """
    with precision(EXACT_BITS):
        h, total = flint.arb(dim) / 2, exact_ball(height)
        a, b = h + order + flint.arb(1) / 2, h + order + 1
        whole = flint.arb(2) ** (dim - 1) * h.gamma() * (a - h).gamma() * b.gamma() ** 2
        front = total * a.gamma() * (b - h).gamma() ** 2 / whole
    return BallDensity(dim, ((front, (a,), (b, b)),), total, _BACKGROUND_START, _LEAST_START)
