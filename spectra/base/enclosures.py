"""Numbers with error bounds, and integrals by Legendre series on panels (intervals).

An integrand is sampled at the Gauss-Legendre nodes of each panel.  The decay of its Legendre
coefficients shows whether the panel is short enough; the antiderivative of the series is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from spectra.base.numbers import FloatArray, format_bound
from spectra.errors import AccuracyError

__all__ = [
    "Enclosure",
    "Integrand",
    "fit_legendre",
    "integral_of",
    "integrate_tail",
    "legendre_antiderivative",
    "legendre_inverse",
    "legendre_series",
]

#: A function of points (n, m): values and bounds of their errors, (n, m) both, divided by a unit of
#: each row, and the logarithms of these units, (n,); so values far below 1e-308 do not underflow.
Integrand = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

EPS = float(np.finfo(float).eps)
# Nodes of a panel; 20 integrate a smooth density over [w, e w] to rounding.
ORDER = 20
# A panel is accepted if its last coefficients are below this fraction of its largest value; with
# rounding alone they are ten times smaller.
PANEL_TOLERANCE = 2e-14
# A panel that is not accepted after this many bisections contains a singularity.
_MAX_BISECTIONS, _MAX_PANELS = 48, 20_000
# A panel of half-width above 1/64 is bisected if the error at one node exceeds the value at another
# whose own relative error is below 1e-3: that value would be lost in the error of the panel.
_ACCURATE, _LEAST_HALF = 1e-3, 1.0 / 64.0

# Inverses: a step below this, relative to the distance from -1, or below 1e-9, is the last, since
# Halley's next step is below the rounding of the series.
_LAST_STEP, _MAX_INVERSE_STEPS = 1e-6, 70
# The iteration also stops if the integral up to x differs from its target by less than EPS times
# the integral over the whole panel, and by less than this multiple of EPS times the target.
_RELATIVE_ROUNDINGS = 1e5


NODES, WEIGHTS = legendre.leggauss(ORDER)
_DEGREES = np.arange(ORDER)
# Values at the nodes -> Legendre coefficients (exact for polynomials of degree < ORDER).
TO_LEGENDRE = ((_DEGREES + 0.5)[:, None] * legendre.legvander(NODES, ORDER - 1).T) * WEIGHTS
# Coefficients of f -> coefficients of its antiderivative that vanishes at -1.
_ANTIDERIVATIVE = legendre.legint(np.eye(ORDER), lbnd=-1, axis=0)
# Points at which integrals are tabulated for a first guess of their inverses.
_GRID = np.linspace(-1.0, 1.0, 65)
_GRID_BASIS = legendre.legvander(_GRID, ORDER).T


@dataclass(frozen=True)
class Enclosure:
    """A number ``mid`` whose true value lies within ``rad`` of it.

    Attributes
    ----------
    mid : float
        The value computed.
    rad : float
        Bound of the error; an estimate if ``rigorous`` is False.
    rigorous : bool
        Whether the bound is proved, in ball arithmetic.

    Examples
    --------
    >>> x = Enclosure(1.5, 1e-12)
    >>> 1.5 + 5e-13 in x, 1.6 in x
    (True, False)
    >>> f"{x:.3f}, {Enclosure(1.5, 0.0155):.3f}"        # the bound is printed if it matters
    '1.500, 1.500 ± 1.6e-02'
    """

    mid: float
    rad: float
    rigorous: bool = False

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mid) <= self.rad

    def __float__(self) -> float:
        return self.mid

    def __add__(self, other: Enclosure) -> Enclosure:
        mid = self.mid + other.mid
        rounding = 2.0**-53 * abs(mid)
        return Enclosure(mid, self.rad + other.rad + rounding, self.rigorous and other.rigorous)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.rad, self.rigorous)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def __str__(self) -> str:
        proof = "proved" if self.rigorous else "estimated"
        return f"{self.mid:.17g} ± {format_bound(self.rad)} ({proof})"

    def __format__(self, spec: str) -> str:
        """Format ``mid`` as a float; append the bound if above half a unit of the last digit."""
        if re.search(r"[.eEfFgG%]", spec) is None:
            return format(str(self), spec)
        text = format(self.mid, spec)
        unit = "%" if text.endswith("%") else ""
        bound = 100.0 * self.rad if unit else self.rad
        if np.isfinite(self.mid):
            printed = Decimal(text.strip(" %").replace(",", ""))
            if 2.0 * bound <= 10.0 ** int(printed.as_tuple().exponent):
                return text
        return f"{text} ± {format_bound(bound)}{unit}"


def fit_legendre(
    function: Integrand,
    edges: ArrayLike,
    *,
    tolerance: float = PANEL_TOLERANCE,
    negligible: float = np.inf,
) -> tuple[FloatArray, ...]:
    r"""Fit Legendre series to a piecewise smooth function, bisecting panels until they converge.

    A panel is accepted when the last three Legendre coefficients are below ``tolerance`` times
    the largest value on that panel, so that far tails keep relative precision, or below the error
    bounds of the function.

    Parameters
    ----------
    function : callable
        An :data:`Integrand`.
    edges : array_like
        Ends of the first panels, ascending; they include the break points of the function.
    tolerance : float
        Relative size of the last coefficients.
    negligible : float
        Panels are not bisected if their values are below exp(-negligible) times the largest.

    Returns
    -------
    start, stop : ndarray
        Ends of the panels, ascending.
    coefficients : ndarray of shape (n, ORDER)
        Coefficients of the Legendre series on each panel, mapped to [-1, 1].
    errors : ndarray of shape (n, ORDER)
        The function's error bounds at the nodes.
    truncation : ndarray
        Size of the last coefficients, an estimate of the error of the series.
    unit : ndarray
        Logarithms of the units of ``coefficients``, ``errors`` and ``truncation``.
    """
    edges = np.asarray(edges, dtype=float)
    left, right = edges[:-1], edges[1:]
    done: list[tuple[FloatArray, ...]] = []
    log_peak = -np.inf
    for depth in range(1, _MAX_BISECTIONS + 1):
        half = 0.5 * (right - left)
        t = (left + half)[:, None] + half[:, None] * NODES
        values, errors, unit = function(t)
        finite = np.isfinite(values) & np.isfinite(errors)
        if not np.all(finite):
            raise AccuracyError(
                "The integrand is not finite where the variable of integration is "
                f"{t[~finite][0]:.6g}. Report the kernel and the dimension: it should be finite."
            )
        coefficients = values @ TO_LEGENDRE.T
        truncation = np.abs(coefficients[:, -3:]).max(axis=1)
        # Errors of size e at the nodes change a coefficient by up to about 4e.
        noise = 4.0 * errors.max(axis=1)
        allowed = np.maximum(tolerance * np.abs(values).max(axis=1), noise)
        # Accurate values that are smaller than the errors at other nodes.
        lost = (np.abs(values) < noise[:, None]) & (errors < _ACCURATE * np.abs(values))
        loses_values = lost.any(axis=1) & (half > _LEAST_HALF)
        good = (truncation <= allowed) & ~loses_values
        with np.errstate(divide="ignore"):
            log_size = unit + np.log(np.abs(values).max(axis=1))
        log_peak = max(log_peak, float(log_size.max(initial=-np.inf)))
        good |= log_size < log_peak - negligible
        done.append(tuple(a[good] for a in (left, right, coefficients, errors, truncation, unit)))
        if np.all(good):
            break
        middle = (left + half)[~good]
        left = np.concatenate([left[~good], middle])
        right = np.concatenate([middle, right[~good]])
        if depth == _MAX_BISECTIONS or left.size > _MAX_PANELS:
            raise AccuracyError(
                f"Legendre series did not converge on {left.size} panels between {left.min():.6g} "
                f"and {right.max():.6g} (in the variable of integration): the integrand has a "
                "singularity or a jump there. The exponent of its tail or origin may be wrong."
            )
    columns = [np.concatenate(c) for c in zip(*done, strict=True)]
    order = np.argsort(columns[0])
    return tuple(c[order] for c in columns)


def integral_of(fit: tuple[FloatArray, ...]) -> Enclosure:
    """Integral of the result of :func:`fit_legendre`, with errors of values, series and rounding.

    Examples
    --------
    >>> integral = integral_of(fit_legendre(lambda t: (np.exp(t), 0 * t, 0 * t[:, 0]), [0, 30]))
    >>> bool(abs(integral.mid / np.expm1(30.0) - 1) < 1e-14)
    True
    """
    start, stop, series, errors, truncation, unit = fit
    width = (stop - start) * np.exp(unit)
    parts = width * series[:, 0]
    error = 0.5 * width * (errors @ WEIGHTS + truncation / ORDER)
    rounding = 5.0 * EPS * float(np.abs(parts).sum())
    return Enclosure(float(parts.sum()), float(error.sum()) + rounding)


def integrate_tail(values: FloatArray, errors: FloatArray, step: float) -> tuple[Enclosure, float]:
    """Integral beyond t of a function that decays exponentially there, and the rate of decay.

    ``values`` and ``errors`` are those at t, t - step/2 and t - step.
    """
    rate, earlier_rate = (2.0 / step * float(np.log(values[i + 1] / values[i])) for i in (0, 1))
    mass = float(values[0]) / rate
    # The rate converges exponentially, so its change over half a step bounds its later changes.
    drift = abs(rate - earlier_rate) + 4.0 * float(errors[0] / values[0] + errors[1] / values[1])
    error = mass * min(drift / rate + 4.0 * EPS, 1.0) + float(errors[0]) / rate
    return Enclosure(mass, error), rate


def legendre_series(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Values of n Legendre series, (n, ORDER), each at its own row of points, (n, m)."""
    basis = legendre.legvander(x, coefficients.shape[1] - 1)
    return np.asarray(np.einsum("nj,nmj->nm", coefficients, basis))


def legendre_antiderivative(
    coefficients: FloatArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Integrals of Legendre series from -1 to x and from x to 1, each without cancellation.

    Examples
    --------
    >>> below, above = legendre_antiderivative(np.eye(ORDER)[:1], np.array([-0.5]))
    >>> float(below[0]), float(above[0])
    (0.5, 1.5)
    """
    primitive = coefficients @ _ANTIDERIVATIVE.T
    basis = legendre.legvander(x, ORDER)
    below = np.einsum("nj,nj->n", primitive, basis)
    # P_j(1) = 1; subtracting P_j(x) from it in the sum avoids cancellation for x near 1.
    above = np.einsum("nj,nj->n", primitive, 1.0 - basis)
    return below, above


def legendre_inverse(
    series: FloatArray,
) -> Callable[[NDArray[np.intp], FloatArray, FloatArray], FloatArray]:
    """The inverses of the integrals of positive series: a function of (rows, below, above).

    It returns points x in [-1, 1].  At x[i], the series with the index rows[i] has the integral
    below[i] from -1 to x[i] and above[i] from x[i] to 1.  The equation of the smaller integral is
    solved, for relative precision at both ends, by Halley's method safeguarded by bisection.
    """
    # Append the reflected series, whose integrals from -1 are the integrals of the others up to 1.
    both = np.concatenate([series, series * (-1.0) ** _DEGREES])
    integrals: FloatArray = both @ _ANTIDERIVATIVE.T
    # Coefficients of the integrals, the series and their derivatives, for one sum.
    terms = np.zeros((ORDER + 1, 3, len(both)))
    terms[:, 0], terms[:-1, 1] = integrals.T, both.T
    terms[:-2, 2] = legendre.legder(both.T)
    guess = _interpolated_inverse(integrals)

    def points(rows: NDArray[np.intp], below: FloatArray, above: FloatArray) -> FloatArray:
        whole, target, reflected = below + above, np.minimum(below, above), below > above
        rows = rows + len(series) * reflected
        x = guess(rows, target / np.where(whole > 0.0, whole, 1.0))
        low, high = -np.ones_like(x), np.ones_like(x)
        at_end = target <= 4.0 * EPS * whole
        x[at_end] = -1.0
        active = np.flatnonzero(~at_end)
        for _ in range(_MAX_INVERSE_STEPS if active.size else 0):
            at = x[active]
            basis, columns = legendre.legvander(at, ORDER).T, np.take(terms, rows[active], axis=2)
            value, density, slope = np.einsum("jn,jkn->kn", basis, columns)
            excess = value - target[active]
            low[active] = np.where(excess < 0.0, at, low[active])
            high[active] = np.where(excess > 0.0, at, high[active])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = excess / density
                new = at - step / np.clip(1.0 - 0.5 * step * slope / density, 0.5, 2.0)
            # Not strict: a step of zero is inside the bracket.
            inside = (new >= low[active]) & (new <= high[active])
            # Near a zero of the series the integral reaches its target before x converges.
            allowed = np.minimum(whole[active], _RELATIVE_ROUNDINGS * target[active])
            settled = np.abs(excess) <= EPS * allowed
            new = np.where(inside, new, np.where(settled, at, 0.5 * (low[active] + high[active])))
            x[active] = new = np.where(excess == 0.0, at, new)
            # A bisection is never the last step.
            large = np.abs(new - at) > np.maximum(_LAST_STEP * (1.0 + at), 1e-9)
            active = active[(large | ~inside) & ~settled]
            if active.size == 0:
                break
        return np.where(reflected, -x, x)

    return points


def _interpolated_inverse(
    integrals: FloatArray,
) -> Callable[[NDArray[np.intp], FloatArray], FloatArray]:
    """The inverse of the linear interpolant of each row's integral, divided by its total."""
    table = np.maximum.accumulate(integrals @ _GRID_BASIS, axis=1)
    table /= np.where(table[:, -1:] > 0.0, table[:, -1:], 1.0)
    # One ascending array for one search: row i lies in [2i, 2i + 1].
    flat = (table + 2.0 * np.arange(len(table))[:, None]).ravel()

    def guess(rows: NDArray[np.intp], share: FloatArray) -> FloatArray:
        k = np.searchsorted(flat, share + 2.0 * rows, side="right") - 1 - rows * _GRID.size
        k = np.clip(k, 0, _GRID.size - 2)
        first, last = table[rows, k], table[rows, k + 1]
        part = np.clip((share - first) / np.where(last > first, last - first, 1.0), 0.0, 1.0)
        return np.asarray(_GRID[k] + (_GRID[1] - _GRID[0]) * part)

    return guess
