r"""Stationary covariances with a given variogram on a bounded region.

A power is a mixture of Gaussians (Schoenberg): with :math:`\beta = \alpha/2`, 0 < alpha < 2,

.. math:: z^\alpha = \frac{\beta}{\Gamma(1-\beta)} \int_0^\infty (1 - e^{-s z^2})
          \frac{ds}{s^{1+\beta}}, \qquad
          \frac{\beta}{\Gamma(1-\beta)} \int_c^\infty e^{-s z^2} \frac{ds}{s^{1+\beta}}
          = \frac{\beta\, c^{-\beta}}{\Gamma(1-\beta)} E_{1+\beta}(c z^2).

The part beyond c is a covariance with all small increments, in every dimension.  (The local
covariances of M. L. Stein, J. Comput. Graph. Stat. 11, 2002, and T. Gneiting et al., ibid. 15,
2006, are for d <= 3.)  The part below c is smooth on the region, and the Gauss rule of the weight
:math:`s^{-\beta}` replaces it by a few Gaussians.

For other variograms, a linear programme finds what the part beyond c of the leading power lacks:
positive masses m_j of least sum at frequencies w_j, with the increments
:math:`\sum_j m_j (1 - \Omega_d(w_j z))`, where :math:`\Omega_d` is ``plane_wave_mean``.  The
distances of the maxima of the error on a finer grid are added, and the programme is solved again,
until the error on that grid is within the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import sympy
from scipy.optimize import linprog
from scipy.special import gammaincc, roots_jacobi

from spectra.base.bessel import plane_wave_mean
from spectra.base.limits import check_time
from spectra.base.numbers import FloatArray, positive_number
from spectra.derivation import derive
from spectra.errors import AccuracyError
from spectra.formula import Z
from spectra.kernels import Kernel, radial
from spectra.singularities import analyse
from spectra.table import Part, RadialLaw, SpectralTable
from spectra.variograms.decision import mean_at_infinity
from spectra.verdict import existence

__all__ = ["fit_on_region"]

# For R = 1: the values of c that are tried for powers, with numbers of Gaussians, and for others.
_CUTS, _MOST_GAUSSIANS, _OTHER_CUTS = np.geomspace(0.05, 200.0, 241), 16, 4.0 ** np.arange(12)
_ROUNDING = 1e-13  # of the relative error of a power
# The least frequency, in units of sqrt(dim) / radius: 1 - Omega_d(w z) = (w z)^2 / (2 dim) on the
# region, with a relative error below 0.0025; the largest one, in units of sqrt(dim c), beyond
# which exp(-c z^2) has few; and frequencies per decade.
_LEAST, _LARGEST, _PER_DECADE = 0.1, 6.0, 60
# Numbers of linearly and logarithmically spaced distances at first; largest number of programmes.
_LINEAR, _LOGARITHMIC, _ROUNDS = 150, 150, 6
# Tolerance of the programme, divided by ``tol``: between its distances the error is larger.
_MARGIN = 0.8
_NEGLIGIBLE = 1e-11  # smaller masses, relative to the largest, are rounding of the solver
# Distances per shortest wavelength in the check, and 1/cos(pi/8): a cosine at its maximum, divided
# by its value pi/8 away.  Values of gamma below _SMALL of that at the radius are too inaccurate.
_PER_WAVE, _BETWEEN, _SMALL = 8, 1.0824, 1e-9


def fit_on_region(
    minus_gamma: Kernel, radius: float, dim: int, *, tol: float, name: str
) -> SpectralTable:
    """The table of a covariance whose variogram is within tol * gamma of gamma on [0, radius]."""
    radius, tol = positive_number(radius, "radius"), positive_number(tol, "tol")
    closed = _add_powers(minus_gamma, radius, tol, dim)
    covariance, bias, rest = closed or _fit_masses(minus_gamma, radius, tol, dim, name)
    table = None if covariance is None else derive(covariance, dim)
    parts = rest if table is None else (*table.parts, *rest)
    total = math.fsum(part.mass for part in parts)
    return SpectralTable(
        dim=dim,
        parts=parts,
        formula=f"{total:.6g} - ({name})",
        k_zero=total,
        u_error=0.0 if table is None else table.u_error,
        bias=bias,
        domain=radius,
        provenance=f"{'positive atoms of least mass' if rest else 'Gaussians'} and powers cut off, "
        f"with the increments of {name} on distances up to {radius:.6g}",
    )


def _add_powers(
    minus_gamma: Kernel, radius: float, tol: float, dim: int
) -> tuple[Kernel | None, float, tuple[Part, ...]] | None:
    """The covariance and its error for a sum of powers and sill - covariance; None for others."""
    if any(piece.support is not sympy.oo for piece in minus_gamma.pieces):
        return None
    rest = sympy.expand(-sympy.Add(*(piece.expr for piece in minus_gamma.pieces)))
    powers = []
    for term in sympy.Add.make_args(rest):
        c, power = term.as_independent(Z, as_Add=False)
        base, alpha = power.as_base_exp()
        if base == Z and c.is_positive and 0 < alpha <= 2:
            powers.append((c, alpha))
            rest -= term
    sill = mean_at_infinity(rest)
    if not powers or sill is None:
        return None
    total, bias = radial(sill - rest), 0.0
    if rest != 0 and not existence(total, dim).positive_definite.answer:
        return None
    for c, alpha in powers:
        kernel, error = _covariance_of_power(alpha, radius, tol)
        total, bias = total + c * kernel, bias + float(c) * error
    return total, bias, ()


def _covariance_of_power(alpha: sympy.Expr, radius: float, tol: float) -> tuple[Kernel, float]:
    """A kernel with the variogram z^alpha up to a radius, and its error: both grow with z."""
    if alpha == 2:  # (1 - exp(-s z^2))/s: relative error at most s R^2/2
        rate = tol / radius**2
        return radial(sympy.exp(-rate * Z**2) / rate), 0.5 * tol * radius**2
    beta, found = 0.5 * float(alpha), []
    for count in range(1, _MOST_GAUSSIANS + 1):
        # Masses and rates for c = 1, in units of c^-beta/Gamma(1 - beta) and of c.
        nodes, weights = roots_jacobi(count, 0.0, -beta)
        rates = 0.5 * (1.0 + nodes)
        masses = beta * 2.0 ** (beta - 1.0) * weights / rates
        smooth = -np.expm1(-np.outer(_CUTS, rates)) @ masses * _CUTS**-beta
        smooth /= math.gamma(1.0 - beta)
        errors = np.abs(1.0 - _cut_off(_CUTS, beta) - smooth) + _ROUNDING
        for cut, error in list(zip(_CUTS, errors, strict=True))[::-1]:
            if error <= tol:
                found.append((cut**-beta * (1.0 + masses.sum()), cut, error, rates, masses))
                break
    if not found:
        raise AccuracyError(f"tol = {tol:.3g} is below the rounding errors: allow a larger error.")
    _, cut, error, rates, masses = min(found, key=lambda choice: choice[0])
    unit = cut / radius**2
    scale = unit**-beta / math.gamma(1.0 - beta)
    pairs = zip(rates * unit, scale * masses, strict=True)
    gaussians = sympy.Add(*(mass * sympy.exp(-rate * Z**2) for rate, mass in pairs))
    return radial(_cut_covariance(alpha, unit) + gaussians), error * radius ** float(alpha)


def _cut_covariance(alpha: sympy.Expr, cut: float) -> sympy.Expr:
    """The part beyond the cut."""
    scale = 0.5 * float(alpha) * cut ** (-0.5 * float(alpha)) / math.gamma(1.0 - 0.5 * float(alpha))
    return scale * sympy.expint(1 + alpha / 2, cut * Z**2)


def _cut_off(y: FloatArray, beta: float) -> FloatArray:
    """The variogram of the part beyond c, divided by z^alpha, at y = c z^2."""
    below = -np.expm1(-y) * y**-beta / math.gamma(1.0 - beta)
    return np.asarray(gammaincc(1.0 - beta, y) + below)


def _fit_masses(
    minus_gamma: Kernel, radius: float, tol: float, dim: int, name: str
) -> tuple[Kernel | None, float, tuple[Part, ...]]:
    """The part of the leading power of gamma beyond a cut, the error, and atoms for the rest."""
    factor, alpha = _leading_power(minus_gamma, name)
    logarithmic = radius * np.geomspace(1e-12, 1.0, 2000)
    logarithmic = logarithmic[minus_gamma(logarithmic) <= _SMALL * minus_gamma(radius)]
    for cut in _OTHER_CUTS / radius**2:

        def target(z: FloatArray, cut: float = cut) -> tuple[FloatArray, FloatArray]:
            gamma, power = -minus_gamma(z), float(factor) * z ** float(alpha)
            return gamma - power * _cut_off(cut * z**2, 0.5 * float(alpha)), gamma

        found = _masses(target, logarithmic, cut, dim, tol)
        if found is not None:
            atoms, bias = found
            rough = radial(factor * _cut_covariance(alpha, cut)) if factor else None
            return rough, bias, (atoms,)
    raise AccuracyError(
        f"No positive measure was found with the increments of {name} within {tol:.3g} of their "
        f"size on distances up to {radius:.6g} in dimension {dim}. Allow a larger error."
    )


def _leading_power(minus_gamma: Kernel, name: str) -> tuple[sympy.Expr, sympy.Expr]:
    """The pair (c, alpha) of the leading term c z^alpha at 0 if alpha < 2; else (0, 1)."""
    origin = analyse(minus_gamma).origin
    rough = [s for s in origin.singularities if s.exponent <= 2][:1]
    if origin.gaps or any(s.log_power != 0 or not s.coefficient.is_number for s in rough):
        raise AccuracyError(
            f"The increments of {name} cannot be kept near z = 0, where it does not start with a "
            "power of z. If it has a sill, use the covariance sill - gamma."
        )
    return next(((-s.coefficient, s.exponent) for s in rough), (sympy.Integer(0), sympy.Integer(1)))


def _masses(
    target: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    logarithmic: FloatArray, cut: float, dim: int, tol: float,
) -> tuple[Part, float] | None:  # fmt: skip
    """Atoms with increments within tol * gamma of a target, and the largest error."""
    radius = logarithmic[-1]
    least, largest = _LEAST * math.sqrt(dim) / radius, _LARGEST * math.sqrt(cut * dim)
    w = np.geomspace(least, largest, int(_PER_DECADE * math.log10(largest / least)) + 1)
    checked = int(_PER_WAVE * largest * radius / (2 * math.pi))
    dense = np.sort(
        np.concatenate([radius * np.arange(1, checked + 2) / (checked + 1), logarithmic])
    )
    start = np.geomspace(max(0.1 / largest, logarithmic[0]), radius, _LOGARITHMIC)
    z = np.concatenate([radius * np.arange(1, _LINEAR + 1) / _LINEAR, start])
    goal, gamma = target(dense)
    for _ in range(_ROUNDS):
        check_time()
        own_goal, own_gamma = target(z)
        unit, own_goal = _unit_variograms(dim, z, w) / own_gamma[:, None], own_goal / own_gamma
        solution = linprog(
            np.ones(w.size),
            A_ub=np.concatenate([unit, -unit]),
            b_ub=np.concatenate([own_goal, -own_goal]) + _MARGIN * tol,
            bounds=(0.0, None),
            method="highs",
        ).x
        if solution is None:
            return None
        used = solution > _NEGLIGIBLE * solution.max()
        total = math.fsum(solution[used])
        error = np.abs(_unit_variograms(dim, dense, w[used]) @ solution[used] - goal)
        relative = error / gamma
        if _BETWEEN * relative.max() <= tol:
            law = RadialLaw.from_atoms(w[used], solution[used] / total)
            return Part(total, 0.0, 0.0, law), _BETWEEN * float(error.max())
        peak = (relative > np.roll(relative, 1)) & (relative > np.roll(relative, -1))
        worst = np.flatnonzero(peak & (relative > _MARGIN * tol))
        z = np.append(z, dense[worst[np.argsort(-relative[worst])[:_LINEAR]]])
    return None


def _unit_variograms(dim: int, z: FloatArray, w: FloatArray) -> FloatArray:
    """1 - Omega_d(w z) for each z and w, the variogram of a unit mass at frequency w."""
    x = np.outer(z, w)
    small = x**2 / (2 * dim) * (1.0 - x**2 / (4 * (dim + 2)))  # right to 1e-10 for x < 0.01
    return np.where(x < 0.01, small, 1.0 - plane_wave_mean(dim, x))
