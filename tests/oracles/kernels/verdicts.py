"""Kernels whose verdict is known: from the literature, or by construction.

Each row has a kernel, the largest dimension in which its spectral measure has finite mass (``ALL``
for every dimension, 0 for none), and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from spectra.formula.parsing import parse_formula
from spectra.formula.pieces import Piece
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import Kernel, radial, zonal

ALL = sympy.oo


@dataclass(frozen=True)
class Case:
    """A kernel, the largest dimension of finite mass, and why."""

    name: str
    kernel: Kernel
    largest: sympy.Expr
    why: str


def _raw(formula: str, support: sympy.Expr = ALL) -> Kernel:
    """A piece whose formula has no value at some point (0/0, 0 * log 0), which radial refuses."""
    return Kernel((Piece(sympy.sympify(support), parse_formula(formula, variable="z")),))


def _case(name: str, kernel: Kernel, largest: object, why: str) -> Case:
    return Case(name, kernel, sympy.sympify(largest), why)


_EDGE = "term (R - z)^s at the edge: finite iff d < 2s + 1"
_SMOOTH = "smooth for z > 0, regular at 0, decays"
_CHIRP = "chirp z^-a cos(z^p): finite iff d < 2a/p"
_EVEN = "even and periodic: an absolutely convergent Fourier series, and no limit for d >= 2"
_UNBOUNDED = "unbounded"
_SLOW = "log^q, q < 0: mass of the size j^(q - 1) in each shell 2^j < w^(+-1) < 2^(j + 1)"
_WAVE = "wave z^-b cos(wz + c): finite iff d < 2b + 1, or d = 2b + 1 with the sphere's phase"

CASES: tuple[Case, ...] = (
    # --- the papers' kernels (zero beyond z = 2)
    _case("poly a=2 p=2", radial("(1 - z**2/4)**2", support=2), 4, _EDGE),
    _case("zonal linear", zonal("u"), 0, "jump"),
    _case("arc-cosine 0", zonal("1 - acos(u)/pi"), 1, _EDGE),
    _case("ntk", zonal("(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi"), 1, _EDGE),
    _case("arc-cosine 0 radial", radial("2*acos(z/2)/pi", support=2), 1, _EDGE),
    _case("zonal edge 5/2", zonal("(1 + u)**(5/2)"), 5, "s = 5/2 in 4 - z^2"),
    _case("zonal origin", zonal("(1 + u)**3*sqrt(1 - u)"), 6, "z at 0 is harmless"),
    # --- compact support
    _case("askey 5/2", radial("(1 - z)**(5/2)", support=1), 5, _EDGE),
    _case(
        "wendland expanded",
        radial("1 - 10*z**2 + 20*z**3 - 15*z**4 + 4*z**5", support=1),
        8,
        "the same as 3,1",
    ),
    _case("spherical", radial("1 - 3*z/2 + z**3/2", support=1), 4, "s = 2"),
    _case("indicator", radial("1", support=1), 0, "jump"),
    _case("bump", radial("exp(-1/(1 - z**2))", support=1), ALL, "flat at the edge"),
    _case("truncated gauss", radial("exp(-z**2/2)", support=3), 0, "jump"),
    _case("gauss times askey", radial("exp(-z**2)*(1 - z)**3", support=1), 6, _EDGE),
    _case("log edge 3/2", _raw("(1 - z)**(3/2)*log(2/(1 - z))", 1), 3, "log does not help"),
    _case("inverse log edge", _raw("(1 - z)*log(E/(1 - z))**(-2)", 1), 3, "q = -2 at s = 1"),
    _case("max", radial("Max(1 - z, 0)**2"), 4, _EDGE),
    _case("piecewise", radial("Piecewise((1 - z, z < 1), (0, True))"), 2, _EDGE),
    # --- cancellations and several radii
    _case("zero", radial("1 - z", support=1) - radial("1 - z", support=1), ALL, "no kernel at all"),
    _case(
        "high edges cancel",
        radial("13*(12 - z)**12", support=12) - radial("(1 + z)*(12 - z)**12", support=12),
        26,
        "(12 - z)^13 is left, with coefficients up to 12^13 in between",
    ),
    _case(
        "two radii",
        radial("(1 - z)**2", support=1) + radial("(1 - z/2)**4", support=2),
        4,
        "the rougher radius decides",
    ),
    _case(
        "glued smoothly",
        radial("Piecewise((1 - z**2/2, z < 1), (1/(2*z**2), True))"),
        4,
        "value and slope agree at 1, the curvature does not",
    ),
    _case("abs cubed", radial("Abs(z - 1)**3*exp(-z)"), 6, "s = 3"),
    _case("log weight inside", _raw("(z - 1)**2*log(Abs(z - 1))*exp(-z)"), 4, "s = 2, log lost"),
    _case("removable", _raw("exp(-z)*sin(z - 1)/(z - 1)"), ALL, "removable singularity"),
    _case("pole", _raw("exp(-z)/(z - 1)"), 0, _UNBOUNDED),
    # --- smooth, on the whole line
    _case("gauss", radial("exp(-z**2/2)"), ALL, _SMOOTH),
    _case("delta-gauss", radial("exp(-z**2/2) - exp(-z**2/200)"), ALL, _SMOOTH),
    _case("stretched", radial("exp(-z**(1/3))"), ALL, _SMOOTH),
    _case("matern 1", radial("z*besselk(1, z)"), ALL, "z^2 log z at 0"),
    _case("slow difference", radial("1/log(2 + z) - 2/log(3 + z**2)"), ALL, _SLOW),
    _case("dagum", radial("1 - (z/(1 + z))**(1/2)"), ALL, _SMOOTH),
    _case("sech", radial("1/cosh(z)"), ALL, _SMOOTH),
    _case("bessel i", _raw("exp(-z)*besseli(0, z)"), ALL, "z^(-1/2) at infinity"),
    _case("erf", radial("erf(z)/z"), ALL, "1/z at infinity"),
    _case("kummer", radial("hyper([1/2], [3/2], -z**2)"), ALL, "1/z at infinity"),
    _case("gauss hypergeometric", radial("hyper([1/2, 1/3], [3/2], -z**2)"), ALL, _SMOOTH),
    _case("constant", radial("1"), ALL, "an atom at w = 0"),
    _case("saturating", radial("z/(1 + z)"), ALL, "limit 1 at infinity"),
    _case("damped cosine", radial("exp(-z)*cos(3*z)"), ALL, _SMOOTH),
    _case("log origin", radial("z**2*log(z)*exp(-z)"), ALL, "z^2 log z at 0"),
    # --- waves
    _case("cos", radial("cos(z)"), 1, _WAVE),
    _case("sin", radial("sin(z)"), 0, "wrong phase in d = 1"),
    _case("sinc", radial("sin(z)/z"), 3, _WAVE),
    _case(
        "sinc squared", radial("(sin(z)/z)**2"), 5, "z^-2 cos 2z has the sphere's phase in d = 5"
    ),
    _case("J-Bessel m = 8", radial("besselj(3, z)/z**3"), 8, _WAVE),
    _case("J-Bessel as 0F1", radial("hyper([], [5/2], -z**2/4)"), 5, _WAVE),
    _case("waves cancel", radial("cos(z)**2 - cos(2*z)/2"), ALL, "it is 1/2"),
    _case("misaligned wave", radial("sin(z)/(1 + z**2)"), 4, "d = 5 has the wrong phase"),
    _case("aligned wave", radial("cos(z)/(1 + z**4)"), 9, "d = 9 has the sphere's phase"),
    # --- chirps z^-a cos(z^p): a shell has the mass z^(dp/2 - a - 1) dz
    _case("chirp", radial("cos(z**2)/(1 + z)**2"), 1, _CHIRP),
    _case("chirp 3/2", radial("cos(z**(3/2))/(1 + z)**4"), 5, _CHIRP),
    _case("Bessel chirp", radial("besselj(0, z**2)"), 0, "a = 1, p = 2"),
    # --- periodic: an even one has an absolutely convergent Fourier series, another no means
    _case("von Mises", radial("exp(cos(z))"), 1, _EVEN),
    _case("rectified sine", radial("Abs(sin(z))"), 1, _EVEN),
    _case("odd periodic", radial("exp(sin(z))"), 0, "its one-sided means differ"),
    _case("square wave", radial("Heaviside(cos(z))"), 0, "jumps"),
    # --- constant up to a radius
    _case("Min", radial("Min(1, 1/z)"), 2, "s = 1"),
    # --- faster than exponentials
    _case("Gumbel", radial("exp(-exp(z))"), ALL, _SMOOTH),
    _case("reciprocal gamma", radial("1/gamma(1 + z)"), ALL, _SMOOTH),
    _case("ratio of gammas", radial("gamma(1 + z)/gamma(3 + z)"), ALL, "z^-2 at infinity"),
    # --- fractional powers that no polynomial has
    _case("power below", radial("exp(-z)/(1 + Abs(z - 2)**(5/2))"), 5, "s = 5/2"),
    _case("beside z", radial("exp(-z)/(z + Abs(z - 2)**(3/2))"), 3, "s = 3/2"),
    _case("removable at a probe", radial("(z - 1)**4*log(Abs(z - 1))*exp(-z)"), 8, "s = 4"),
    # --- radii and frequencies that are equal and do not look it
    _case(
        "equal radii",
        radial("1 - z/log(6)", support=sympy.log(6))
        - radial("1 - z/log(6)", support=sympy.log(2) + sympy.log(3)),
        ALL,
        "log 6 = log 2 + log 3",
    ),
    _case(
        "equal frequencies",
        radial("cos(log(6)*z) - cos((log(2) + log(3))*z) + exp(-z)"),
        ALL,
        "log 6 = log 2 + log 3",
    ),
    # --- unbounded
    _case("multiquadric", radial("-sqrt(1 + z**2)"), 0, _UNBOUNDED),
    _case("thin plate", radial("z**2*log(z)"), 0, _UNBOUNDED),
    _case("K0", radial("besselk(0, z)"), 0, _UNBOUNDED),
    _case("polynomial", radial("1 - z**2"), 0, _UNBOUNDED),
    _case("unbounded edge", _raw("(1 - z)**(-1/3)", 1), 0, _UNBOUNDED),
    _case("no limit at 0", radial("cos(1/z)*exp(-z)"), 0, "not continuous at 0"),
    _case("inverse log edge -1", _raw("(1 - z)*log(E/(1 - z))**(-1)", 1), 2, "q = -1 at s = 1"),
    _case("slower than powers", radial("(1 - 2*exp(-z))/log(2 + z)"), ALL, _SLOW),
    _case("slow on both ends", radial("exp(-z)/log(2 + 1/z)"), ALL, _SLOW),
    _case("shifted cos", radial("cos(z + 1)"), 0, "wrong phase in d = 1"),
    _case("Max in a denominator", radial("1/Max(1, z)"), 2, "s = 1"),
    _case("Gumbel, weighted", radial("exp(z - exp(2*z))"), ALL, _SMOOTH),
    _case("power beside a corner", radial("exp(-z)/(1+Abs(z-2)**(5/2)+Abs(z-1))"), 2, "s = 1"),
    _case("power in a root", radial("(1 + Abs(z - 2)**(5/2))**(1/3)*exp(-z)"), 5, "s = 5/2"),
    _case("growth", radial("exp(z)"), 0, _UNBOUNDED),
    # --- made to mislead: cancellations, branch points off the line, numbers that are nearly zero
    _case("terms cancel", radial("Abs(z - 1) - Abs(1 - z) + exp(-z)"), ALL, _SMOOTH),
    _case("factor is zero", radial("(log(6) - log(2) - log(3))*cos(z) + exp(-z)"), ALL, _SMOOTH),
    _case("factor is nearly zero", radial("cos(z) - cos(z*(1 + 1e-60))"), 1, _WAVE),
    _case("growth cancels", radial("sqrt(z**4 + 1) - z**2"), ALL, _SMOOTH),
    _case("logarithms cancel", radial("z*(log(1 + z) - log(z))"), ALL, _SMOOTH),
    _case("branch near the line", radial("sqrt((z - 1)**2 + 1e-100)*exp(-z)"), ALL, _SMOOTH),
    _case("branch on the line", radial("asin(2*z/(1 + z**2))"), 2, "kink at 1"),
    _case("double zero", radial("Abs(z**2 - 1)**2*exp(-z)"), ALL, "no kink"),
    _case("flat inside", _raw("exp(-1/Abs(z - 1))*exp(-z)"), ALL, "flat at 1"),
    _case("product in Max", radial("Max(0, (1 - z)*(2 - z)*(3 - z))"), 2, "kinks at 1, 2 and 3"),
    _case("flat at 0", radial("1 - exp(-1/z**2)"), ALL, _SMOOTH),
    _case("log at 0", radial("exp(-z)*Abs(log(z))"), 0, _UNBOUNDED),
    _case("tiny unit", radial("exp(-z*1e200)"), ALL, _SMOOTH),
    _case("product of waves", radial("besselj(1, z)**2"), 3, _WAVE),
    _case("waves of one phase", radial("(sin(z)/z)**3"), 7, _WAVE),
    _case("power of z", radial("(1 - z)**z", support=1), 2, _EDGE),
    _case("edge of arccosines", radial("acos(z)**3", support=1), 3, _EDGE),
    _case(
        "roots cancel",
        radial("(sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3))*(1 - z) + (1 - z)**2", support=1),
        4,
        _EDGE,
    ),
    _case(
        "edges nearly cancel",
        radial("1 - z", support=1) - radial("(1 - z)*(1 + 1e-30)", support=1),
        2,
        _EDGE,
    ),
    # --- the algebra
    _case("rescaled", radial("(1 - z)**3", support=1).rescale(3), 6, _EDGE),
    _case("scaled by minus", -2 * radial("(1 - z)**3", support=1), 6, _EDGE),
    _case(
        "ntk - 2u kappa_0 edges",
        catalogue["ntk"] + 1 * catalogue["arc_cosine_0"],
        3,
        "-2/pi and 2/pi cancel at z = 2",
    ),
)
