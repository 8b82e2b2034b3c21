"""Numbers that know their error, and the integrals that make them.

An integrand is resolved on panels by Gauss-Legendre nodes, and kept as Legendre series: the
decay of each series says whether its panel is fine enough, and its antiderivative is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from spectra.base.numbers import FloatArray, bound_text
from spectra.errors import AccuracyError

__all__ = [
    "Enclosure",
    "Integrand",
    "close_tail",
    "integral_of",
    "legendre_antiderivative",
    "legendre_inverse",
    "legendre_series",
    "resolve",
]

#: Values at rows of points, bounds of their errors, and the logarithm of the unit of each row.
Integrand = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

EPS = float(np.finfo(float).eps)
# Nodes of a panel; with 20 of them, panels of one e-fold of a smooth law are exact to rounding.
ORDER = 20
# The last coefficients of a resolved panel stay below this fraction of its largest value: rounding
# alone leaves about ten times less in them.
RESOLVED = 2e-14
# A panel that is not resolved after this many bisections has a singularity inside.
_MAX_BISECTIONS = 48
# Values are known to that share; panels narrower than twice the second number may be uneven.
_KNOWN, _NARROW = 1e-3, 1.0 / 64.0
_MAX_PANELS = 20_000

# A step of this size, relative to the distance from the end, or of 1e-9, is the last: the next one
# is below the rounding of the series.
_LAST_STEP, _MAX_INVERSE_STEPS = 1e-6, 70
# An integral that is off by the rounding of the whole is right, unless it is itself about as small.
_SMALL_SHARE = 1e5


NODES, WEIGHTS = legendre.leggauss(ORDER)
_DEGREES = np.arange(ORDER)
# Values at the nodes -> Legendre coefficients (exact for polynomials of degree < ORDER).
ANALYSIS = ((_DEGREES + 0.5)[:, None] * legendre.legvander(NODES, ORDER - 1).T) * WEIGHTS
# Coefficients of f -> coefficients of its antiderivative that vanishes at -1.
_ANTIDERIVATIVE = legendre.legint(np.eye(ORDER), lbnd=-1, axis=0)
# Points at which integrals are tabulated for a first guess of their inverse.
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
        Error bound.  Where ``rigorous`` is False it is an honest estimate, not a proof.
    rigorous : bool
        True where the bound was proved with interval arithmetic.

    Examples
    --------
    >>> x = Enclosure(1.5, 1e-12)
    >>> 1.5 + 5e-13 in x, 1.6 in x
    (True, False)
    >>> f"{x:.3f}, {Enclosure(1.5, 0.0155):.3f}"        # the bound, where it reaches the digits
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
        return f"{self.mid:.17g} ± {bound_text(self.rad)} ({proof})"

    def __format__(self, spec: str) -> str:
        """The number in a float's format, and its bound if that is above half a unit of it."""
        if re.search(r"[.eEfFgG%]", spec) is None:
            return format(str(self), spec)
        text = format(self.mid, spec)
        unit = "%" if text.endswith("%") else ""
        bound = 100.0 * self.rad if unit else self.rad
        if np.isfinite(self.mid):
            printed = Decimal(text.strip(" %").replace(",", ""))
            if 2.0 * bound <= 10.0 ** int(printed.as_tuple().exponent):
                return text
        return f"{text} ± {bound_text(bound)}{unit}"


def resolve(
    function: Integrand,
    edges: ArrayLike,
    *,
    tolerance: float = RESOLVED,
    negligible: float = np.inf,
) -> tuple[FloatArray, ...]:
    r"""Fit a piecewise smooth function, bisecting the panels that need it.

    A panel is accepted when the last three Legendre coefficients are below ``tolerance`` times
    the largest value on the panel, or below the error that the function states there.  The
    tolerance is relative to each panel, so that far tails keep their digits.

    Parameters
    ----------
    function : callable
        ``function(t)`` returns the values at ``t``, of shape (n, m), bounds of their absolute
        errors, and for each row the logarithm of the unit of both.
    edges : array_like
        Edges of the first panels, ascending; they include the break points of the function.
    tolerance : float
        Relative size of the coefficients left out.
    negligible : float
        Panels are not bisected if their values are below exp(-negligible) of the largest ones.

    Returns
    -------
    start, stop : ndarray
        Ends of the panels, ascending.
    coefficients : ndarray of shape (n, ORDER)
        Legendre series in x in [-1, 1] on each panel.
    errors : ndarray of shape (n, ORDER)
        What the function states at the nodes.
    left_out : ndarray
        Size of the last coefficients, an estimate of what is left out.
    unit : ndarray
        Logarithm of the unit of the last three, so that no number underflows.
    """
    edges = np.asarray(edges, dtype=float)
    left, right = edges[:-1], edges[1:]
    done: list[tuple[FloatArray, ...]] = []
    peak = -np.inf
    for depth in range(1, _MAX_BISECTIONS + 1):
        half = 0.5 * (right - left)
        t = (left + half)[:, None] + half[:, None] * NODES
        values, errors, unit = function(t)
        finite = np.isfinite(values) & np.isfinite(errors)
        if not np.all(finite):
            raise AccuracyError(
                f"An integrand is not finite at {t[~finite][0]:.6g} in the variable of "
                "integration, so its integral has no value. Report the kernel and the dimension: "
                "the density there should be finite."
            )
        coefficients = values @ ANALYSIS.T
        left_out = np.abs(coefficients[:, -3:]).max(axis=1)
        # Noise of size e at the nodes leaves up to about 4e in a single coefficient.
        noise = 4.0 * errors.max(axis=1)
        allowed = np.maximum(tolerance * np.abs(values).max(axis=1), noise)
        # Noise at one end would take the digits of what is known at the other one.
        known = (np.abs(values) < noise[:, None]) & (errors < _KNOWN * np.abs(values))
        hides = known.any(axis=1) & (half > _NARROW)
        good = (left_out <= allowed) & ~hides
        with np.errstate(divide="ignore"):
            size = unit + np.log(np.abs(values).max(axis=1))
        peak = max(peak, float(size.max(initial=-np.inf)))
        good |= size < peak - negligible
        done.append(tuple(a[good] for a in (left, right, coefficients, errors, left_out, unit)))
        if np.all(good):
            break
        middle = (left + half)[~good]
        left = np.concatenate([left[~good], middle])
        right = np.concatenate([middle, right[~good]])
        if depth == _MAX_BISECTIONS or left.size > _MAX_PANELS:
            raise AccuracyError(
                f"{left.size} panels between {left.min():.6g} and {right.max():.6g} (in the "
                "variable of integration) could not be resolved by bisection: the integrand has a "
                "singularity or a jump there that its component does not state. Its tail or its "
                "origin exponent is wrong."
            )
    columns = [np.concatenate(c) for c in zip(*done, strict=True)]
    order = np.argsort(columns[0])
    return tuple(c[order] for c in columns)


def integral_of(fit: tuple[FloatArray, ...]) -> Enclosure:
    """Integral of what :func:`resolve` fitted: stated errors, what is left out, rounding.

    Examples
    --------
    >>> found = integral_of(resolve(lambda t: (np.exp(t), 0 * t, 0 * t[:, 0]), [0.0, 30.0]))
    >>> bool(abs(found.mid / np.expm1(30.0) - 1) < 1e-14)
    True
    """
    start, stop, series, errors, left_out, unit = fit
    width = (stop - start) * np.exp(unit)
    parts = width * series[:, 0]
    seen = 0.5 * width * (errors @ WEIGHTS + left_out / ORDER)
    rounding = 5.0 * EPS * float(np.abs(parts).sum())
    return Enclosure(float(parts.sum()), float(seen.sum()) + rounding)


def close_tail(values: FloatArray, errors: FloatArray, step: float) -> tuple[Enclosure, float]:
    """Mass beyond a point of a function that falls exponentially there, and the rate.

    The values are those at the point and half a step and a step before it.
    """
    near, far = (2.0 / step * float(np.log(values[i + 1] / values[i])) for i in (0, 1))
    mass = float(values[0]) / near
    # The rate settles exponentially fast, so its change over one step bounds what it still moves.
    drift = abs(near - far) + 4.0 * float(errors[0] / values[0] + errors[1] / values[1])
    error = mass * min(drift / near + 4.0 * EPS, 1.0) + float(errors[0]) / near
    return Enclosure(mass, error), near


def legendre_series(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Values of Legendre series, each at its own row of points: shapes (n, ORDER) and (n, m)."""
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
    # P_j(1) = 1 and P_j(-1) = (-1)^j; subtracting inside the basis keeps the digits of a short
    # stretch at the upper end.
    above = np.einsum("nj,nj->n", primitive, 1.0 - basis)
    return below, above


def legendre_inverse(
    series: FloatArray,
) -> Callable[[NDArray[np.intp], FloatArray, FloatArray], FloatArray]:
    """The inverse of the integrals of positive series, as a function of (rows, below, above).

    It returns the points in [-1, 1] that split the integrals of these rows into a part below and
    one above.  The smaller part counts, so that a point close to either end keeps its digits:
    Halley's method, which triples digits, from a cubic of Hermite on a grid, inside a bracket.
    """
    # Mirrored rows follow, so that all integrals count from -1.
    both = np.concatenate([series, series * (-1.0) ** _DEGREES])
    integrals: FloatArray = both @ _ANTIDERIVATIVE.T
    terms = np.zeros((ORDER + 1, 3, len(both)))
    terms[:, 0], terms[:-1, 1] = integrals.T, both.T
    terms[:-2, 2] = legendre.legder(both.T)
    guess = _guess_inverse(integrals)

    def points(rows: NDArray[np.intp], below: FloatArray, above: FloatArray) -> FloatArray:
        whole, goal, mirrored = below + above, np.minimum(below, above), below > above
        rows = rows + len(series) * mirrored
        x = guess(rows, goal / np.where(whole > 0.0, whole, 1.0))
        low, high = -np.ones_like(x), np.ones_like(x)
        at_end = goal <= 4.0 * EPS * whole
        x[at_end] = -1.0
        left = np.flatnonzero(~at_end)
        for _ in range(_MAX_INVERSE_STEPS if left.size else 0):
            at = x[left]
            # Their columns lie side by side in memory, for the speed of the sum.
            basis, columns = legendre.legvander(at, ORDER).T, np.take(terms, rows[left], axis=2)
            value, density, slope = np.einsum("jn,jkn->kn", basis, columns)
            excess = value - goal[left]
            low[left] = np.where(excess < 0.0, at, low[left])
            high[left] = np.where(excess > 0.0, at, high[left])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = excess / density
                new = at - step / np.clip(1.0 - 0.5 * step * slope / density, 0.5, 2.0)
            # A step that is rounded away stays inside.
            inside = (new >= low[left]) & (new <= high[left])
            # Next to a zero of the density rounding moves the point, but not the integral.
            settled = np.abs(excess) <= EPS * np.minimum(whole[left], _SMALL_SHARE * goal[left])
            new = np.where(inside, new, np.where(settled, at, 0.5 * (low[left] + high[left])))
            x[left] = new = np.where(excess == 0.0, at, new)
            # A bisection is never the last step.
            large = np.abs(new - at) > np.maximum(_LAST_STEP * (1.0 + at), 1e-9)
            left = left[(large | ~inside) & ~settled]
            if left.size == 0:
                break
        return np.where(mirrored, -x, x)

    return points


def _guess_inverse(
    integrals: FloatArray,
) -> Callable[[NDArray[np.intp], FloatArray], FloatArray]:
    """Points with about these shares of the integral of rows below them: straight lines."""
    table = np.maximum.accumulate(integrals @ _GRID_BASIS, axis=1)
    table /= np.where(table[:, -1:] > 0.0, table[:, -1:], 1.0)
    # One sorted list of all rows, which are 2 apart.
    flat = (table + 2.0 * np.arange(len(table))[:, None]).ravel()

    def guess(rows: NDArray[np.intp], share: FloatArray) -> FloatArray:
        k = np.searchsorted(flat, share + 2.0 * rows, side="right") - 1 - rows * _GRID.size
        k = np.clip(k, 0, _GRID.size - 2)
        first, last = table[rows, k], table[rows, k + 1]
        part = np.clip((share - first) / np.where(last > first, last - first, 1.0), 0.0, 1.0)
        return np.asarray(_GRID[k] + (_GRID[1] - _GRID[0]) * part)

    return guess
