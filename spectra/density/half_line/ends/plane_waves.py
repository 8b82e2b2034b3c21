"""Point masses of the radius: waves of a kernel that decay like the mean of a plane wave."""

from __future__ import annotations

import sympy

from spectra.base.enclosures import EPS
from spectra.density.components import Atom
from spectra.density.half_line.half_line_formula import HalfLineFormula, split_limit
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z

__all__ = ["split_atoms"]

# A rest that is this small at this z may be zero in disguise: sin(z) cos(z) is sin(2z)/2.
_PLACE, _NOTHING = sympy.Rational(17, 13), 1e-25


def split_atoms(formula: HalfLineFormula, dim: int) -> tuple[list[Atom], HalfLineFormula | None]:
    """The atoms of a kernel with waves that decay like the mean of a plane wave, and the rest."""
    least = sympy.Rational(dim - 1, 2)
    atoms: list[Atom] = []
    rest = formula.expr
    for b, (a, q, c) in formula.slow_waves.items():
        if (a - least).is_negative or (a == least and q != 0):
            raise NoRouteError(
                f"The wave of frequency {b} in {formula.expr} decays like z^(-{a}), and in "
                f"d = {dim} only waves that decay faster than z^(-{least}) have a finite measure. "
                "Use a smaller dimension, or design a finite measure for your range of distances."
            )
        if a == least:
            leading, mean = _expand_mean(b, dim)
            mass = sympy.simplify(c / leading)
            share = complex(mass.evalf(30))
            if abs(share.imag) > 1e-25 * abs(share):
                raise NoRouteError(
                    f"The wave of frequency {b} in {formula.expr} decays like z^(-{a}) without "
                    f"the phase of a plane wave in d = {dim}: its measure is infinite. Design a "
                    "finite measure for your range of distances."
                )
            atoms.append(Atom(float(b), share.real, error=abs(share.real) * 4.0 * EPS))
            rest = rest - sympy.re(mass) * mean
    if not atoms:
        return [], formula
    rest = sympy.powsimp(rest)
    if abs(rest.subs(Z, _PLACE).evalf(30)) < _NOTHING:
        rest = sympy.simplify(rest.rewrite(sympy.exp))
    return atoms, None if rest == 0 else split_limit(rest)[1]


def _expand_mean(b: sympy.Expr, dim: int) -> tuple[sympy.Expr, sympy.Expr]:
    """The coefficient of the leading wave of Omega_d(bz), and Omega_d(bz) itself.

    Omega_d(x) = Gamma(d/2) (2/x)^n J_n(x) with n = d/2 - 1, and DLMF 10.17.3.
    """
    half = sympy.Rational(dim, 2)
    order = half - 1
    front = sympy.gamma(half) * (2 / b) ** order
    turn = -sympy.I * sympy.pi * (order / 2 + sympy.Rational(1, 4))
    leading = front * sympy.sqrt(2 / (sympy.pi * b)) / 2 * sympy.exp(turn)
    mean = front * sympy.expand_func(sympy.besselj(order, b * Z)) / Z**order
    if dim % 2:
        mean = sympy.expand(mean.replace(sympy.besselj, _elementary))
    return leading, mean


def _elementary(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """J of order 1/2 or -1/2 (DLMF 10.16.1); sums with other sines and cosines cancel exactly."""
    wave = sympy.sin(x) if order.is_positive else sympy.cos(x)
    return sympy.sqrt(2 / (sympy.pi * x)) * wave
