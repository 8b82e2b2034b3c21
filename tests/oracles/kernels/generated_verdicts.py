"""Generated kernels, each with a bound: its measure is finite for dimensions below the bound.

A bound that d may reach is an integer plus 1/100.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from hypothesis import strategies as st

from spectra.formula.parsing import U, Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel, zonal

__all__ = ["GENERATED", "equal_zonals"]


def _fraction(f: object) -> sympy.Rational:
    return sympy.Rational(f.numerator, f.denominator)  # type: ignore[attr-defined]


rationals = st.fractions(min_value=0.25, max_value=12, max_denominator=4).map(_fraction)
exponents = st.one_of(
    st.integers(0, 12).map(sympy.Integer),
    st.fractions(min_value="1/7", max_value=15, max_denominator=7).map(_fraction),
)
coefficients = st.integers(-4, 4).filter(bool).map(sympy.Integer)


@st.composite
def edges(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """A weight times (R - z)^s on z <= R, perhaps times a logarithm: finite iff d < 2s + 1."""
    radius, s, c = draw(rationals), draw(exponents), draw(coefficients)
    t = radius - Z
    weights = [1, sympy.exp(-Z), sympy.sqrt(1 + Z**2), 2 + sympy.cos(Z)]
    bases = [t, radius**2 - Z**2, sympy.tanh(t), sympy.log(1 + t), sympy.sqrt(1 + 2 * t) - 1]
    expr = c * draw(st.sampled_from(weights)) * draw(st.sampled_from(bases)) ** s
    if draw(st.booleans()):
        expr, s = expr * t * sympy.log(t), s + 1
    return Kernel((Piece(radius, expr),)), 2 * s + 1


@st.composite
def kinks(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """|z - R|^s times a smooth weight, s no even integer: finite iff d < 2s + 1."""
    radius, s = draw(rationals), draw(exponents)
    if s.is_Integer and s % 2 == 0:
        s = s + 1
    weight = draw(st.sampled_from([sympy.exp(-Z), sympy.exp(-(Z**2)), 1 / (1 + Z) ** 30]))
    return Kernel((Piece(sympy.oo, sympy.Abs(Z - radius) ** s * weight),)), 2 * s + 1


@st.composite
def smooth_ones(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """Regular at 0, smooth, with a limit at infinity: finite in every d."""
    r, s = draw(rationals), draw(rationals)
    formulas = [
        sympy.exp(-(Z ** (s / 5))),
        (1 + Z**2 / r) ** (-s / 3),
        Z**s * sympy.besselk(s, Z),
        sympy.exp(-r * Z) * sympy.cos(s * Z),
        r + sympy.exp(-s * Z),
    ]
    expr = draw(coefficients) * draw(st.sampled_from(formulas))
    return Kernel((Piece(sympy.oo, expr),)), sympy.oo


@st.composite
def waves(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """cos(wz + phi)/(1 + z^2)^(b/2): d < 2b + 1, and d = 2b + 1 iff sin(phi + b pi/2) = 0."""
    b, w, is_sine = draw(exponents), draw(rationals), draw(st.booleans())
    wave, phase = (sympy.sin(w * Z), -sympy.pi / 2) if is_sine else (sympy.cos(w * Z), 0)
    aligned = sympy.sin(phase + b * sympy.pi / 2) == 0
    bound = 2 * b + 1 + (sympy.Rational(1, 100) if aligned else 0)
    return Kernel((Piece(sympy.oo, wave * (1 + Z**2) ** (-b / 2)),)), bound


@st.composite
def cancelling(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """Edges that cancel and leave (R - z)^(s + 1)."""
    radius, s = draw(rationals), draw(exponents)
    left = Kernel((Piece(radius, (radius - Z) ** s * (1 + radius)),))
    right = Kernel((Piece(radius, (radius - Z) ** s * (1 + Z)),))
    return left - right, 2 * (s + 1) + 1


@st.composite
def zonals(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """((1 + u)/2)^s times a smooth zonal function, with or without a kink inside."""
    s, c = draw(exponents), draw(coefficients)
    smooth = draw(st.sampled_from([sympy.S.One, sympy.exp(U), 1 / (3 - U)]))
    formula, bound = c * ((1 + U) / 2) ** s * smooth, 2 * s + 1
    if draw(st.booleans()):
        m = draw(st.integers(0, 4)) * 2 + 1
        formula, bound = formula * sympy.Abs(U - sympy.Rational(1, 3)) ** m, min(bound, 2 * m + 1)
    return zonal(formula), bound


@st.composite
def bessel_waves(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """J_nu(wz) z^-nu/(1 + z^2)^b: finite iff d <= 2 nu + 2 + 4b."""
    nu, w, b = sympy.Rational(draw(st.integers(0, 12)), 2), draw(rationals), draw(st.integers(0, 2))
    expr = sympy.besselj(nu, w * Z) * Z**-nu / (1 + Z**2) ** b
    return Kernel((Piece(sympy.oo, expr),)), 2 * nu + 2 + 4 * b + sympy.Rational(1, 100)


#: A kernel and the bound of d.
GENERATED = st.one_of(
    edges(), kinks(), smooth_ones(), waves(), cancelling(), zonals(), bessel_waves()
)


@st.composite
def equal_zonals(draw: st.DrawFn) -> tuple[list[sympy.Expr], list[sympy.Expr], sympy.Expr]:
    """Formulas in u, equal up to a factor and a constant; their kinks; and the bound of d.

    Kinks (u - c)_+^p are written with Max, with Abs and expanded, and with Min: finite on the
    sphere iff d < 2p + 2.  Formulas that are analytic on [-1, 1] are finite in every d.
    """
    scale = 10 ** draw(st.integers(-4, 4).map(sympy.Integer))
    constant, a = draw(st.tuples(rationals, rationals))
    if draw(st.booleans()):
        roots = (sympy.sqrt(U**2 + a), (1 + a - U) ** -a, sympy.log(2 + a + U), sympy.atan(U / a))
        others = (1 / (1 + U**2 / a), 1 / sympy.cosh(a * U), sympy.besselj(0, a * U))
        f = draw(st.sampled_from(roots + others))
        expanded = sympy.expand(f * (U + 2)) / (2 + U)
        return [f, scale * expanded + constant, sympy.Max(f, f - 2 - U)], [], sympy.oo
    centres = st.fractions("-7/8", "7/8", max_denominator=8).map(_fraction)
    term = st.tuples(centres, st.integers(1, 4), coefficients)
    terms = draw(st.lists(term, min_size=1, max_size=2, unique_by=lambda t: t[0]))
    weight = draw(st.sampled_from([sympy.S.One, sympy.exp(U / 2), 1 / (3 - U), 2 + sympy.cos(U)]))

    def add_up(kink: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Expr:
        return U**2 + sympy.Add(*(a * kink(U - c) ** p * weight for c, p, a in terms))

    with_max, with_min = add_up(lambda x: sympy.Max(x, 0)), add_up(lambda x: -sympy.Min(-x, 0))
    forms = [
        with_max,
        sympy.expand(add_up(lambda x: (x + abs(x)) / 2)),
        scale * with_min + constant,
    ]
    return forms, [c for c, _, _ in terms], 2 * sympy.Integer(min(p for _, p, _ in terms)) + 2
