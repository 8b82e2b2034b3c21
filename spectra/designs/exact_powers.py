r"""Exact powers beside the waves of a design: what they are, and the columns that they take.

On the unit sphere u = <x, y> = 1 - z^2/2, whose powers have the monomials of x for features.  For
rows anywhere u = 1 - (z/unit)^2/2 with unit = z_max/2, which runs over [-1, 1] as well; its powers
are polynomials in <x, y>, |x|^2 and |y|^2.
"""

from __future__ import annotations

from math import comb

import sympy

from spectra.base.numbers import FloatArray
from spectra.formula.reader.parsing import U, Z
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = ["power_columns", "unit_of_powers", "without_powers"]


def power_columns(kernel: Kernel, dim: int, degree: int) -> int:
    """Columns of the powers of u up to a degree L, the constant included: C(m + L, L)."""
    variables = dim if kernel.is_zonal else dim + 1
    return comb(variables + degree, degree)


def unit_of_powers(kernel: Kernel, domain: tuple[float, float]) -> float:
    """What distances are measured in: 1 on the unit sphere, else half of the largest one."""
    return 1.0 if kernel.is_zonal else 0.5 * domain[1]


def without_powers(kernel: Kernel, powers: FloatArray, unit: float) -> Kernel:
    """The kernel less sum_i powers[i - 1] u^i, whose coefficients are the rationals they are."""
    if not powers.size:
        return kernel
    u = U if kernel.is_zonal else 1 - (Z / sympy.Rational(unit)) ** 2 / 2
    polynomial = sympy.Add(*(sympy.Rational(float(a)) * u**i for i, a in enumerate(powers, 1)))
    return kernel - (zonal(polynomial) if kernel.is_zonal else radial(polynomial))
