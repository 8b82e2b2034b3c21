"""Kernels made to mislead a local analysis, with the largest dimension of finite mass of each.

Cancellations that hide, singularities that are none, branch points off the line, logarithms, flat
edges, waves with and without the phase of a sphere, and numbers that are nearly zero.
"""

from __future__ import annotations

import sympy
from verdicts import ALL

from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import parse_formula
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = ["HOSTILE"]

_PI_60 = "3.14159265358979323846264338327950288419716939937510582097494459"

#: Formula in z, and the largest d.
_ON_THE_LINE: tuple[tuple[str, object], ...] = (
    # cancellations
    ("Abs(z - 1) - Abs(1 - z) + exp(-z)", ALL),
    ("Abs(z - 1)**3 - (z - 1)**2*Abs(z - 1) + exp(-z)", ALL),
    ("Abs(z - 1) + Abs(z - 2) - 2*Abs(z - 3/2)", 2),
    ("Max(0, 2 - z)**3 - 4*Max(0, 1 - z)**3", 6),
    ("Max(0, 1 - z)*(z - 1)**2", 6),
    ("cos(2*z) - 2*cos(z)**2", ALL),
    ("cos(3*z) - 4*cos(z)**3 + 3*cos(z) + exp(-z)", ALL),
    ("(log(6) - log(2) - log(3))*cos(z) + exp(-z)", ALL),
    ("cos(z) - cos(z*(1 + 1e-60))", 1),
    (f"(pi - {_PI_60})*cos(z) + exp(-z)", 1),
    ("log(1 + exp(z)) - z", ALL),
    ("log(cosh(z)) - z", ALL),
    ("z/tanh(z) - z", ALL),
    ("sqrt(1 + z**2) - z", ALL),
    ("sqrt(z**4 + 1) - z**2", ALL),
    ("z**2 - z**3*atan(1/z)", ALL),
    ("z*(log(1 + z) - log(z))", ALL),
    ("(1 + z)**(1/3) - z**(1/3)", ALL),
    ("cosh(z)*exp(-z)", ALL),
    ("besseli(0, z)*exp(-2*z)", ALL),
    # singular, or only so in appearance
    ("sqrt((z - 1)**2)*exp(-z)", 2),
    ("sqrt((z - 1)**2 + 1e-100)*exp(-z)", ALL),
    ("((z - 1)**4 + 10**(-90))**(1/4)*exp(-z)", ALL),
    ("log(z**2 - 2*z + 2)*exp(-z)", ALL),
    ("1/(1 + (z - 2)**2)", ALL),
    ("asin(2*z/(1 + z**2))", 2),
    ("acos((1 - z**2)/(1 + z**2))", ALL),
    ("acos(exp(-z))", ALL),
    ("asin(1/(1 + z))", ALL),
    ("cosh(sqrt(Abs(z - 1)))*exp(-z)", 2),
    ("exp(-Abs(z - 1)**(1/2))", 1),
    ("exp(-Abs(z - 1))", 2),
    ("1/(1 + Abs(z - 1)**3)", 6),
    ("Abs(z**2 - 1)**2*exp(-z)", ALL),
    ("Abs(z**3 - 1)*exp(-z)", 2),
    ("Abs((z - 1)*(z - 2)**3)*exp(-z)", 2),
    ("Abs(z - 1)**pi*exp(-z)", 7),
    ("Abs(1/(1 + z) - 1/3)", 2),
    ("Abs(exp(-z) - 1/2)**3", 6),
    ("Abs(cosh(z - 3) - 2)*exp(-2*z)", 2),
    ("exp(-z)*Abs(log(z))*z", 2),
    ("exp(-z)*Abs(1 - z**(1/2))", 2),
    ("exp(-z)*(1 - z**(1/2))**2", ALL),
    ("Max(exp(-z), 1/2)", 2),
    ("Min(1, 1/z**2)", 2),
    ("Max(0, (1 - z)*(2 - z)*(3 - z))", 2),
    ("Max(0, (1 - z)*(2 - z)*(3 - z))*Heaviside(5/2 - z)", 0),
    ("Heaviside(z - 1)*exp(-z)", 0),
    ("Piecewise((exp(-z), z < 1), (exp(-1)*(2 - z), z < 2), (0, True))", 2),
    ("Piecewise((sqrt(1 - z**2), z < 1), (sqrt(z**2 - 1)*exp(-z), True))", 1),
    ("exp(-z)/log(Abs(z - 1)**2 + 2)", ALL),
    # zero and infinity
    ("exp(-1/z)", ALL),
    ("1 - exp(-1/z**2)", ALL),
    ("z**(1/100)", 0),
    ("-log(1 - exp(-z))", 0),
    ("log(1 + 1/z**2)", 0),
    ("exp(-z)*Abs(log(z))", 0),
    ("sqrt(log(1 + z))", 0),
    ("exp(-z)*cos(z**3)", ALL),
    ("z**2*exp(z)/(exp(z) - 1)**2", ALL),
    ("besselk(0, z)*z", ALL),
    ("1/(1 + z)**(1/1000)", ALL),
    ("exp(-z*1e200)", ALL),
    ("exp(-z*1e-200)", ALL),
    ("exp(-z**2*1e60) + exp(-z)", ALL),
    ("1e400*exp(-z)", ALL),
    ("besseli(0, z)", 0),
    # waves
    ("besselj(0, z)**2", 3),
    ("besselj(1, z)**2", 3),
    ("besselj(2, z)", 2),
    ("besselj(5/2, z)/z**(5/2)", 7),
    ("besselj(0, sqrt(z**2 + 1))", 2),
    ("besselj(0, 2*z)*besselj(0, z)", 2),
    ("sin(z)*besselj(0, z)/z", 4),
    ("cos(z)/sqrt(1 + z)", 1),
    ("cos(z - pi/4)/sqrt(1 + z)", 2),
    ("sin(z)/(1 + z)", 3),
    ("cos(z)/(1 + z)", 2),
    ("sin(z)*cos(z)", 0),
    ("cos(z) + cos(sqrt(2)*z)", 1),
    ("(sin(z)/z)**3", 7),
    ("(sin(z)/z)**4", 9),
)

#: Formula in z, radius beyond which it is zero, and the largest d.
_CUT_OFF: tuple[tuple[str, object, object], ...] = (
    ("(1 - z)**2*log(1 - z)", 1, 4),
    ("(1 - z)**(1/2)*log(1 - z)**2", 1, 1),
    ("(1 - z)**z", 1, 2),
    ("1 - z**z", 1, 2),
    ("(1 - sqrt(z))**4", 1, 8),
    ("acos(z)**3", 1, 3),
    ("acos(z**2)**2", 1, 2),
    ("2/pi*(acos(z) - z*sqrt(1 - z**2))", 1, 3),
    ("1 - 15*z/8 + 5*z**3/4 - 3*z**5/8", 1, 6),
    ("1 - 7*z**2 + 35/4*z**3 - 7/2*z**5 + 3/4*z**7", 1, 8),
    ("cos(pi*z/2)**3", 1, 6),
    ("exp(-z) - exp(-1)*(2 - z)", 1, 4),
    ("exp(1 - z) - 1 - (1 - z) - (1 - z)**2/2", 1, 6),
    ("(1 - z) - sin(1 - z)", 1, 6),
    ("1 - cos(sqrt(1 - z))", 1, 2),
    ("sin(sqrt(1 - z))*sqrt(1 - z)", 1, 2),
    ("(1 - z)**(1/1000)", 1, 1),
    ("(1 - z)**100", 1, 199),
    ("(1 - z)**(sqrt(2))", 1, 3),
    ("(1 - z*10**9)**2", sympy.Rational(1, 10**9), 4),
    ("(pi - z)**2", sympy.pi, 4),
    (f"(pi - {_PI_60})*(1 - z) + (1 - z)**3", 1, 2),
    ("(sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3))*(1 - z) + (1 - z)**2", 1, 4),
    ("(atan(1/2) + atan(1/3) - pi/4)*(1 - z) + (1 - z)**2", 1, 4),
    ("(1 - z)**(3/2)*(1 + z)**(3/2) - (1 - z**2)**(3/2) + (1 - z)**4", 1, 8),
    ("tanh(1/4 - z)**7", sympy.Rational(1, 4), 14),
    ("Abs(cos(z) - 1/2)*(7 - z)**4", 7, 2),
    ("sqrt(1 - cos(z))*(7 - z)**4", 7, 2),
)

#: Formula in u, and the largest d of the kernel that is zero beyond z = 2.
_ON_THE_SPHERE: tuple[tuple[str, object], ...] = (
    ("exp(-acos(u)**2/2)", 0),
    ("tanh(u)", 0),
    ("tanh(1 + u)", 2),
    ("(pi - acos(u))**2", 2),
    ("(pi - acos(u))**3", 3),
    ("1 - acos(u)**2/pi**2", 1),
    ("exp(1 + u) - 2 - u", 4),
    ("(1 + u)**3*(u - 5)", 6),
    ("u**2 - 1", 2),
    ("(1 - u**2)**2", 4),
    ("u*sqrt(1 - u**2)", 1),
    ("Max(0, u)**3", 6),
    ("1/(2 - u) - 1/3", 2),
)

#: Formulas without a value at one point.
_WITH_A_HOLE: tuple[tuple[str, object], ...] = (
    ("Abs(z - 1)*log(Abs(z - 1))*exp(-z)", 2),
    ("(z - 1)*log(Abs(z - 1))*exp(-z)", 2),
    ("(z - 1)**3*log(Abs(z - 1))*exp(-z)", 6),
    ("exp(-1/Abs(z - 1))*exp(-z)", ALL),
    ("exp(-z)/(z - 1)**2", 0),
    ("exp(-z)*log(Abs(z - 1))", 0),
)


def _holed(formula: str) -> Kernel:
    return Kernel((Piece(ALL, parse_formula(formula, variable="z")),))


HOSTILE: tuple[tuple[str, Kernel, sympy.Expr], ...] = (
    *((f, radial(f), sympy.sympify(d)) for f, d in _ON_THE_LINE),
    *((f, radial(f, support=r), sympy.sympify(d)) for f, r, d in _CUT_OFF),
    *((f, zonal(f), sympy.sympify(d)) for f, d in _ON_THE_SPHERE),
    *((f, _holed(f), sympy.sympify(d)) for f, d in _WITH_A_HOLE),
    (
        "1 - z minus nearly itself",
        radial("1 - z", support=1) - radial("(1 - z)*(1 + 1e-30)", support=1),
        sympy.Integer(2),
    ),
    (
        "two edges near to one another",
        radial("1 - z", support=1) - radial("1.0000000001 - z", support=1.0000000001),
        sympy.Integer(2),
    ),
)
