"""Atoms of a density, from waves that decay like Omega_d(bz), the mean of a plane wave."""

from __future__ import annotations

import sympy

from spectra.base.accuracy import EPS
from spectra.density.components import Atom
from spectra.density.half_line.half_line_formula import HalfLineFormula, split_limit
from spectra.errors import NoRouteError
from spectra.formula.parsing import Z

__all__ = ["split_atoms"]

# A rest below _NEGLIGIBLE at this z may be 0, like sin(z) cos(z) - sin(2z)/2; it is simplified.
_PLACE, _NEGLIGIBLE = sympy.Rational(17, 13), 1e-25


def split_atoms(formula: HalfLineFormula, dim: int) -> tuple[list[Atom], HalfLineFormula | None]:
    """The atoms of a kernel and the rest of its formula; None if nothing is left.

    An atom of mass m at the radius b is the summand m Omega_d(bz) of the kernel, whose wave at
    infinity decays like z^-((d-1)/2).
    """
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
            value = complex(mass.evalf(30))
            if abs(value.imag) > _NEGLIGIBLE * abs(value):
                raise NoRouteError(
                    f"The wave of frequency {b} in {formula.expr} decays like z^(-{a}) without "
                    f"the phase of a plane wave in d = {dim}: its measure is infinite. Design a "
                    "finite measure for your range of distances."
                )
            atoms.append(Atom(float(b), value.real, error=abs(value.real) * 4.0 * EPS))
            rest = rest - sympy.re(mass) * mean
    if not atoms:
        return [], formula
    rest = sympy.powsimp(rest)
    if abs(rest.subs(Z, _PLACE).evalf(30)) < _NEGLIGIBLE:
        rest = sympy.simplify(rest.rewrite(sympy.exp))
    return atoms, None if rest == 0 else split_limit(rest)[1]


def _expand_mean(b: sympy.Expr, dim: int) -> tuple[sympy.Expr, sympy.Expr]:
    """The c of the leading term 2 Re[c z^-((d-1)/2) exp(ibz)] of Omega_d(bz), and Omega_d(bz).

    Omega_d(x) = Gamma(d/2) (2/x)^n J_n(x) with n = d/2 - 1, and the term is DLMF 10.17.3.
    """
    half = sympy.Rational(dim, 2)
    order = half - 1
    front = sympy.gamma(half) * (2 / b) ** order
    phase = -sympy.I * sympy.pi * (order / 2 + sympy.Rational(1, 4))
    leading = front * sympy.sqrt(2 / (sympy.pi * b)) / 2 * sympy.exp(phase)
    mean = front * sympy.expand_func(sympy.besselj(order, b * Z)) / Z**order
    if dim % 2:
        mean = sympy.expand(mean.replace(sympy.besselj, _elementary))
    return leading, mean


def _elementary(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """J of order 1/2 or -1/2 as a sine or cosine (DLMF 10.16.1), so that sums cancel exactly."""
    wave = sympy.sin(x) if order.is_positive else sympy.cos(x)
    return sympy.sqrt(2 / (sympy.pi * x)) * wave
