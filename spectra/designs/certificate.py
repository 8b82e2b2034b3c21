r"""The largest error of a design on its whole domain, from few values and a bound between them.

On a panel of half-width h around m the error :math:`e = \sum_j c_j \Omega_d(w_j z) - k(z)` is a
polynomial of degree below n up to a remainder R.  From the values at N > n Chebyshev points,

.. math:: \max |e| \le \Bigl(\max_i |e(z_i)| + R\Bigr) \Big/ \cos\frac{\pi n}{2N} + R

(H. Ehlich and K. Zeller, Mathematische Zeitschrift 86, 1964, 41-44).  The waves contribute at most
:math:`2 \sum_j |c_j| E|s_1|^n (w_j h / 2)^n / n!` to R, whatever the kernel; the kernel contributes
its n-th Taylor coefficient on the panel, bounded in ball arithmetic, or else estimated from its
Chebyshev coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import flint
import numpy as np
import sympy
from scipy.fft import dct
from scipy.special import gammaln

from spectra.base.balls import Ball, ball_of, hull, precision
from spectra.base.enclosures import EPS, Enclosure
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.designs.wave_columns import wave_moment
from spectra.errors import AccuracyError, NoRouteError
from spectra.kernels.kernel import Kernel

__all__ = ["estimated_sup_error", "proved_sup_error"]

#: Bounds of the largest error on [a, b], by its ends, whether it may be halved, and the largest
#: bound so far; None where halves would tell more.
Look = Callable[[float, float, bool, float], tuple[float, float] | None]

# Degree of the polynomials, and points per panel: the bound exceeds the sampled maximum by the
# factor 1 / cos(pi/24) = 1.0086.
_DEGREE = 16
_POINTS = 12 * _DEGREE
_NODES = np.cos((2.0 * np.arange(_POINTS) + 1.0) * np.pi / (2.0 * _POINTS))
_INFLATION = float(1.0 / np.cos(0.5 * np.pi * _DEGREE / _POINTS))
# Panels are halved until their remainder is below this part of the tolerance.
_REMAINDER = 2e-3
# Panels start at this phase of the fastest wave, where the remainder of 16 terms is 1e-9.
_FIRST_PHASE = 3.0
# A root or a jump at the end of the domain needs panels as narrow as rounding allows.
_MOST_HALVINGS = 60
# Error of one float64 wave or kernel value, in units of rounding.
_VALUE_ULPS = 32.0
# Bits of proofs, which hold a product of two doubles; a wave that cancels gets twice as many, so
# often, until it is known to 60.
_BITS, _MOST_DOUBLINGS = 106, 5


def _wave_remainder(dim: int, radii: FloatArray, masses: FloatArray, half: float) -> float:
    with np.errstate(divide="ignore"):
        logs = _DEGREE * np.log(0.5 * radii * half) - gammaln(_DEGREE + 1)
    return float(2.0 * wave_moment(dim, _DEGREE) * np.sum(np.abs(masses) * np.exp(logs)))


def _largest(
    look: Look, radii: FloatArray, domain: tuple[float, float], breaks: list[float]
) -> tuple[float, float]:
    """Bounds of the largest error on the domain, in panels that are halved where they must be."""
    low, high = domain
    count = 1 + int((high - low) * float(radii.max(initial=0.0)) / (2.0 * _FIRST_PHASE))
    inner = [b for b in breaks if low < b < high]
    edges = np.unique(np.append(np.linspace(low, high, count + 1), inner)).tolist()
    waiting = [(a, b, 0) for a, b in pairwise(edges)]
    lower = upper = 0.0
    while waiting:
        a, b, depth = waiting.pop()
        middle = 0.5 * (a + b)
        found = look(a, b, depth < _MOST_HALVINGS and a < middle < b, upper)
        if found is None:
            waiting += [(a, middle, depth + 1), (middle, b, depth + 1)]
        else:
            lower, upper = max(lower, found[0]), max(upper, found[1])
    return lower, upper


def estimated_sup_error(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    *,
    tol: float,
) -> Enclosure:
    """Largest error on the domain; only the kernel's smoothness on each panel is estimated."""
    breaks = [float(p.support) for p in kernel.pieces if p.support != sympy.oo]
    rounding = _VALUE_ULPS * EPS * (1.0 + float(np.abs(masses).sum()))

    def look(a: float, b: float, may_halve: bool, upper: float) -> tuple[float, float] | None:
        half = 0.5 * (b - a)
        z = np.clip(0.5 * (a + b) + half * _NODES, a, b)
        values = kernel(z)
        error = plane_wave_mean(dim, z[:, None] * radii) @ masses - values
        series = np.abs(dct(values, type=2)) / _POINTS
        # Beyond the last coefficient the decay seen in the last ones goes on: bounded by as much
        # again as the last quarter holds.
        remainder = float(series[_DEGREE:].sum() + series[-_POINTS // 4 :].sum())
        remainder += _wave_remainder(dim, radii, masses, half)
        sampled = float(np.abs(error).max())
        bound = (sampled + remainder) * _INFLATION + remainder
        if remainder > _REMAINDER * tol + rounding and bound > upper:
            if may_halve:
                return None
            # No panel is narrower: the kernel jumps here by what its samples show.
            bound += float(np.ptp(values))
        return sampled, bound

    lower, upper = _largest(look, radii, domain, breaks)
    return Enclosure(0.5 * (lower + upper), 0.5 * (upper - lower) + rounding)


def proved_sup_error(
    kernel: Kernel,
    dim: int,
    radii: FloatArray,
    masses: FloatArray,
    domain: tuple[float, float],
    *,
    tol: float,
) -> Enclosure:
    """Largest error on the domain, proved in ball arithmetic (python-flint)."""
    formula = _formula_on(kernel, domain)
    goal = _REMAINDER * tol
    pairs = zip(radii.tolist(), masses.tolist(), strict=True)
    waves = [(flint.arb(w), flint.arb(c)) for w, c in pairs]
    slope = wave_moment(dim, 1) * float(np.sum(np.abs(masses) * radii))

    def error_at(z: float) -> tuple[float, float]:
        return _absolute(_error(formula, dim, waves, z))

    def look(a: float, b: float, may_halve: bool, upper: float) -> tuple[float, float] | None:
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        remainder = 2.0 * _coefficient(formula, a, b) * (0.5 * half) ** _DEGREE
        remainder += _wave_remainder(dim, radii, masses, half)
        # All factors above are rounded a few times, none near overflow.
        remainder *= 1.0 + 1e-9
        if not remainder <= goal:
            spread = _spread(formula, a, b) + slope * (b - a)
            if spread <= goal:
                least, most = error_at(middle)
                return least, most + spread
            if may_halve:
                return None
            raise AccuracyError(
                f"The kernel could not be enclosed on [{a:.17g}, {b:.17g}], so the error of the "
                "design is not proved there: it jumps, or its formula loses its digits. End the "
                "domain before that point, or use sup_error, which is not a proof."
            )
        nodes = np.clip(middle + half * _NODES, a, b)
        least, most = np.array([error_at(z) for z in nodes]).max(axis=0)
        # Nodes are rounded to doubles: the polynomial moves by less than 1e-12 of its size.
        return least, (most + remainder) * _INFLATION * (1.0 + 1e-12) + remainder

    try:
        with precision(_BITS, cap=_DEGREE + 1):
            lower, upper = _largest(look, radii, domain, [])
    except NoRouteError as why:
        raise NoRouteError(
            f"The error of the design cannot be proved: {why}. The value sup_error is available "
            "without a proof."
        ) from why
    middle, spread = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return Enclosure(middle, spread * (1.0 + 4.0 * EPS) + 4.0 * EPS * middle, rigorous=True)


def _absolute(ball: Ball) -> tuple[float, float]:
    """Doubles below and above the absolute value of a ball."""
    least, most = float(ball.abs_lower().mid()), float(ball.abs_upper().mid())
    return least * (1.0 - 2.0 * EPS), most * (1.0 + 2.0 * EPS)


def _formula_on(kernel: Kernel, domain: tuple[float, float]) -> sympy.Expr:
    """The one formula that the kernel has on the whole domain."""
    high = sympy.Rational(domain[1])
    total = sympy.Integer(0)
    for piece in kernel.pieces:
        if piece.support != sympy.oo and not (piece.support >= high) == sympy.true:
            raise NoRouteError(
                f"The kernel {kernel} ends at z = {piece.support}, inside the domain up to "
                f"{domain[1]:.17g}. A proof needs one formula on the whole domain: end the domain "
                "at the support or before it."
            )
        total += piece.expr
    return total


def _coefficient(formula: sympy.Expr, a: float, b: float) -> float:
    """Bound of |k^(n)(z)| / n! on [a, b]; inf where none was found."""
    series = ball_of(formula, flint.arb_series([hull(a, b), 1]))
    if not isinstance(series, flint.arb_series):
        return 0.0
    value = series[_DEGREE]
    return float(value.abs_upper().mid()) * (1.0 + EPS) if value.is_finite() else np.inf


def _spread(formula: sympy.Expr, a: float, b: float) -> float:
    """Width of a range that holds k on [a, b]; inf where none was found."""
    value = ball_of(formula, hull(a, b))
    return 2.0 * float(value.rad()) * (1.0 + EPS) if value.is_finite() else np.inf


def _error(formula: sympy.Expr, dim: int, waves: list[tuple[Ball, Ball]], z: float) -> Ball:
    """Ball of the error of the design at one distance."""
    total = -ball_of(formula, flint.arb(z))
    for w, c in waves:
        total += c * _wave_ball(dim, w * flint.arb(z))
    if not total.is_finite():
        raise AccuracyError(
            f"The error of the design at z = {z:.17g} could not be enclosed: the formula of the "
            "kernel has no value there in ball arithmetic. Begin or end the domain beside that "
            "point."
        )
    return total


def _wave_ball(dim: int, t: Ball) -> Ball:
    """Ball of Omega_dim(t), t >= 0 exact: a 0F1."""
    for doublings in range(_MOST_DOUBLINGS + 1):
        with precision(_BITS << doublings):
            value = (-t * t / 4).hypgeom_0f1(flint.arb(dim) / 2)
        if value.is_finite() and float(value.rad()) < 2.0**-60:
            break
    return value
