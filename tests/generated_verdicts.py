"""Kernels with known conditions on d, generated: each comes with the bound that d must stay below.

A bound that d may reach is told as a little more than an integer.
"""

from __future__ import annotations

import sympy
from hypothesis import strategies as st

from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import U, Z
from spectra.kernels.kernel import Kernel, zonal

__all__ = ["GENERATED", "coefficients", "edges", "rationals"]

rationals = st.fractions(min_value=0.25, max_value=12, max_denominator=4).map(
    lambda f: sympy.Rational(f.numerator, f.denominator)
)
exponents = st.one_of(
    st.integers(0, 12).map(sympy.Integer),
    st.integers(1, 25).map(lambda n: sympy.Rational(n, 2)),
    st.fractions(min_value="1/7", max_value=15, max_denominator=7).map(
        lambda f: sympy.Rational(f.numerator, f.denominator)
    ),
)
coefficients = st.integers(-4, 4).filter(bool).map(sympy.Integer)


@st.composite
def edges(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """A weight times (R - z)^s on z <= R: finite iff d < 2s + 1."""
    radius, s, c = draw(rationals), draw(exponents), draw(coefficients)
    weight = draw(
        st.sampled_from(
            [
                sympy.Integer(1),
                sympy.exp(-Z),
                1 / (1 + Z**2),
                1 + Z,
                sympy.sqrt(1 + Z**2),
                sympy.exp(-(Z**2) / 3),
                2 + sympy.cos(Z),
            ]
        )
    )
    form = draw(st.sampled_from([radius - Z, radius**2 - Z**2, 1 - Z / radius]))
    return Kernel((Piece(radius, c * weight * form**s),)), 2 * s + 1


@st.composite
def kinks(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """|z - R|^s exp(-z), s no even integer: finite iff d < 2s + 1."""
    radius, s = draw(rationals), draw(exponents)
    if s.is_Integer and s % 2 == 0:
        s = s + 1
    weight = draw(st.sampled_from([sympy.exp(-Z), sympy.exp(-(Z**2)), 1 / (1 + Z) ** 30]))
    return Kernel((Piece(sympy.oo, sympy.Abs(Z - radius) ** s * weight),)), 2 * s + 1


@st.composite
def smooth_ones(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """Regular at 0, smooth, decaying or with a limit: finite in every d."""
    r, s = draw(rationals), draw(rationals)
    expr = draw(
        st.sampled_from(
            [
                sympy.exp(-r * Z**2),
                sympy.exp(-(Z ** (s / 5))),
                (1 + Z**2 / r) ** (-s / 3),
                (1 + Z ** (s / 6)) ** (-r),
                Z**s * sympy.besselk(s, Z),
                sympy.exp(-r * Z) * sympy.cos(s * Z),
                r + sympy.exp(-s * Z),
                1 / sympy.cosh(r * Z),
            ]
        )
    )
    return Kernel((Piece(sympy.oo, draw(coefficients) * expr),)), sympy.oo


@st.composite
def waves(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """cos(wz + phi)/(1 + z^2)^(b/2): d < 2b + 1, and d = 2b + 1 iff sin(phi + b pi/2) = 0."""
    b, w = draw(exponents), draw(rationals)
    turn = draw(st.integers(0, 3))
    wave = (sympy.cos(w * Z), sympy.sin(w * Z))[turn % 2]
    phase = -sympy.pi / 2 if turn % 2 else sympy.Integer(0)
    aligned = sympy.sin(phase + b * sympy.pi / 2) == 0
    decay = (1 + Z**2) ** (-b / 2)
    bound = 2 * b + 1 + (sympy.Rational(1, 100) if aligned else 0)
    return Kernel((Piece(sympy.oo, wave * decay),)), bound


@st.composite
def sums(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """A sum at different radii (or none): the smallest bound decides."""
    first, a = draw(st.one_of(edges(), kinks(), smooth_ones(), waves()))
    second, b = draw(st.one_of(edges(), smooth_ones()))
    radii = {p.support for p in first.pieces} & {p.support for p in second.pieces}
    if radii - {sympy.oo} or first.pieces[0].expr.has(sympy.Abs):
        return first, a
    return first + second, min(a, b)


@st.composite
def cancelling(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """Edges that cancel to leave (R - z)^(s + 1), in a form that hides it."""
    radius, s = draw(rationals), draw(exponents)
    left = Kernel((Piece(radius, (radius - Z) ** s * (1 + radius)),))
    right = Kernel((Piece(radius, (radius - Z) ** s * (1 + Z)),))
    return left - right, 2 * (s + 1) + 1


@st.composite
def bent_edges(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """phi(R - z)^s with phi(t) = t + ...: finite iff d < 2s + 1."""
    radius, s, c = draw(rationals), draw(exponents), draw(coefficients)
    t = radius - Z
    phi = draw(
        st.sampled_from(
            [
                sympy.tanh(t),
                sympy.atan(t),
                sympy.log(1 + t),
                sympy.exp(t) - 1,
                sympy.sinh(t),
                sympy.erf(t),
                1 - 1 / (1 + t),
                sympy.sqrt(1 + 2 * t) - 1,
            ]
        )
    )
    return Kernel((Piece(radius, c * phi**s),)), 2 * s + 1


@st.composite
def log_edges(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """(R - z)^s log^q(1/(R - z)) for whole q > 0: finite iff d < 2s + 1."""
    radius, s, q = draw(rationals), draw(exponents), draw(st.integers(1, 3))
    return Kernel((Piece(radius, (radius - Z) ** (s + 1) * sympy.log(radius - Z) ** q),)), 2 * s + 3


@st.composite
def glued(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """A smooth kernel, and at one radius another smooth one that agrees up to (z - R)^s."""
    radius, s, c = draw(rationals), draw(exponents), draw(coefficients)
    smooth = draw(
        st.sampled_from([sympy.exp(-Z), 1 / (1 + Z**2), sympy.exp(-(Z**2)), sympy.S.Zero])
    )
    fade = draw(st.sampled_from([sympy.exp(-2 * Z), (1 + Z) ** (-s - 1)]))
    bump = c * sympy.Max(0, Z - radius) ** (s + 1) * fade
    return Kernel((Piece(sympy.oo, smooth + bump),)), 2 * s + 3


@st.composite
def zonals(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """((1 + u)/2)^s times a smooth zonal function, and a kink inside: 4 - z^2 = 2(1 + u)."""
    s, c = draw(exponents), draw(coefficients)
    smooth = draw(st.sampled_from([sympy.S.One, sympy.exp(U), 2 + U**3, 1 / (3 - U), sympy.cos(U)]))
    formula, bound = c * ((1 + U) / 2) ** s * smooth, 2 * s + 1
    if draw(st.booleans()):
        m = draw(st.integers(0, 4)) * 2 + 1
        formula, bound = formula * sympy.Abs(U - sympy.Rational(1, 3)) ** m, min(bound, 2 * m + 1)
    return zonal(formula), bound


@st.composite
def products(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """Edges at one radius: the exponents add."""
    (first, a), (second, b) = draw(edges()), draw(bent_edges())
    length = first.pieces[0].support / second.pieces[0].support
    return first * second.rescale(length), a + b - 1


@st.composite
def cancelling_kinks(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """|z - R|^s (exp(-z) - exp(-R) exp(-(z - R)^2)): |t|^s t is left, smooth for even s."""
    radius, s = draw(rationals), draw(exponents)
    kink = sympy.Abs(Z - radius) ** s
    expr = kink * sympy.exp(-Z) - kink * sympy.exp(-radius) * sympy.exp(-((Z - radius) ** 2))
    smooth = s.is_Integer and s % 2 == 0
    return Kernel((Piece(sympy.oo, expr),)), sympy.oo if smooth else 2 * s + 3


@st.composite
def bessel_waves(draw: st.DrawFn) -> tuple[Kernel, sympy.Expr]:
    """J_nu(wz) z^-nu is the mean of plane waves in dimension 2 nu + 2: finite iff d <= 2 nu + 2.

    Times 1/(1 + z^2)^b the wave is that of the dimension 2 nu + 2 + 4b.
    """
    nu, w, b = draw(st.integers(0, 12)), draw(rationals), draw(st.integers(0, 2))
    nu_exact = sympy.Rational(nu, 2)
    expr = sympy.besselj(nu_exact, w * Z) * Z**-nu_exact / (1 + Z**2) ** b
    return Kernel((Piece(sympy.oo, expr),)), 2 * nu_exact + 2 + 4 * b + sympy.Rational(1, 100)


#: A kernel and the bound of d.
GENERATED = st.one_of(
    edges(),
    kinks(),
    smooth_ones(),
    waves(),
    sums(),
    cancelling(),
    bent_edges(),
    log_edges(),
    glued(),
    zonals(),
    products(),
    cancelling_kinks(),
    bessel_waves(),
)
