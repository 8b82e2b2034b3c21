r"""Spectral components of kernels on the half-line whose Mellin transform is a Gamma product.

In the middle the density is a Chebyshev interpolant in log w, made once from sums on vertical lines
(:mod:`.mellin_lines`); towards the origin and infinity it is the sum over poles,
which is exact there.  Every radius costs the same, in every dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.density import Component, PowerTail
from spectra.numeric import FloatArray
from spectra.transform.mellin_sums.mellin import GammaProduct
from spectra.transform.mellin_sums.mellin_lines import EPS, Line, best_of, lines_of
from spectra.transform.mellin_sums.mellin_poles import Pole, RadialMellin
from spectra.transform.on_balls.ascending import PanelRow, Panels
from spectra.transform.on_balls.tail import chebyshev_coefficients

__all__ = ["MellinComponent", "mellin_component"]

# The sum on a line is left out where it is below exp(-40) = 4e-18 of the leading power.
_NEGLIGIBLE = 40.0
_DEGREE = 24
_FIRST_WIDTH = 1.0
# A panel is split while its last coefficients exceed this share of its largest value, or the noise.
_RESOLVED = 4e-16
_NOISE = 1.0
# A panel is split where log|rho| bends by more than this: its error is relative to its largest
# value.
_BENT = 1.0
_LEAST_WIDTH = 1e-3
_MOST_PANELS = 3000
# Off-node points where a panel is compared with the lines.
_CHECKS = np.array([-0.983, 0.041, 0.871])
# The bulk ends where the mass per unit of log w is this share of its largest value.
_BULK = 1e-2
# A component that knows less than this of its mass is left to other routes (chosen).
_MOST_LOST, _LOOKS = 1e-9, 64


class MellinComponent(Component):
    """The radial density of a sum of Gamma products, from the origin to infinity.

    Attributes
    ----------
    products : tuple of GammaProduct
        The Mellin transform of the kernel is their sum (its real part, where they are complex).
    dim : int
    """

    def __init__(
        self,
        products: tuple[GammaProduct, ...],
        mellin: RadialMellin,
        lines: tuple[Line, ...],
        poles: tuple[tuple[Pole, ...], tuple[Pole, ...]],
    ) -> None:
        self.products = products
        self.dim = mellin.dim
        self.total = mellin.total()
        left, right = poles
        self.origin_exponent = -float(left[0].place)
        self.tail = PowerTail(float(right[0].place) if right else np.inf)
        self._lines = lines
        self._low, self._high = lines[0], lines[-1]
        self._start = -_reach(lines[0], left[0])
        self._stop = _reach(lines[-1], right[0]) if right else _crossing(*lines[-2:])
        self._panels, self._steepness = _build(lines, self._start, self._stop)
        self.bulk = self._find_bulk()

    def _find_bulk(self) -> tuple[float, float]:
        x = np.linspace(self._start, self._stop, 2000)
        mass = self._panels.log_envelope(x) + x
        inside = np.flatnonzero(mass >= mass.max() + np.log(_BULK))
        low, high = np.exp(x[inside[0]]), np.exp(x[inside[-1]])
        return float(low), float(max(high, 2.0 * low))

    def share_lost(self) -> float:
        """The error of the mass in the bulk, relative to the absolute mass there."""
        w = np.geomspace(*self.bulk, _LOOKS)
        envelope = self.log_envelope(w) + np.log(w)
        mass = np.exp(self.signed_log(w)[1] + np.log(w) - envelope.max())
        wrong = np.exp(envelope - envelope.max()) * self.relative_error(w)
        return float(wrong.sum() / mass.sum())

    def _split(self, x: FloatArray) -> tuple[NDArray[np.bool_], ...]:
        below, above = x < self._start, x > self._stop
        return below, ~(below | above), above

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0; -inf where a fast tail is below every use."""
        x: FloatArray = np.log(np.asarray(w, dtype=float))
        below, inside, above = self._split(x)
        sign, log = np.ones_like(x), np.full_like(x, -np.inf)
        sign[inside], log[inside] = self._panels.signed_log(x[inside], np.zeros(1))
        for where, line in ((below, self._low), (above, self._high)):
            if np.any(where) and line.poles:
                mantissa, size = line.power_sum(x[where])
                sign[where] = np.sign(mantissa)
                with np.errstate(divide="ignore"):
                    log[where] = np.log(np.abs(mantissa)) + size
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """The largest value nearby; the sum of absolute powers at both ends."""
        x: FloatArray = np.log(np.asarray(w, dtype=float))
        below, inside, above = self._split(x)
        log: FloatArray = np.empty_like(x)
        log[inside] = self._panels.log_envelope(x[inside])
        for where, line in ((below, self._low), (above, self._high)):
            log[where] = line.log_bound(x[where])
        return log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope; 1 where the value is given as zero."""
        x: FloatArray = np.log(np.asarray(w, dtype=float))
        below, inside, above = self._split(x)
        bound: FloatArray = np.empty_like(x)
        high = x[inside]
        log = self._panels.log_envelope(high)
        index = np.searchsorted(self._panels.edges, high, side="right") - 1
        steep = self._steepness[np.minimum(index, len(self._steepness) - 1)]
        # The logarithm is rounded, and log w too, which counts with the slope.
        bound[inside] = self._panels.relative_error(high) + EPS * (
            4.0 + np.abs(log) + steep * (1.0 + np.abs(high))
        )
        for where, line in ((below, self._low), (above, self._high)):
            if not np.any(where):
                continue
            y = x[where]
            if not line.poles:
                bound[where] = 1.0
                continue
            size = line.log_bound(y)
            steepest = max(abs(float(p.place)) for p in line.poles)
            largest = 16.0 + max(abs(p.log_scale) for p in line.poles)
            rounding = EPS * (largest + 4.0 * np.abs(size) + 4.0 * steepest * (1.0 + np.abs(y)))
            left_out = np.exp(line.log_size - line.place * y - size)
            bound[where] = rounding + left_out
        return bound


def mellin_component(products: Sequence[GammaProduct], dim: int) -> MellinComponent | None:
    """The component of a sum of Gamma products, or None where this method does not apply.

    It does not where the Mellin transform falls too slowly along its lines (kernels of compact
    support, kernels that oscillate much faster than they fall), where the sum is not bounded at
    zero, or where a logarithm leads at infinity.

    Examples
    --------
    >>> import sympy
    >>> from spectra.formula.parsing import Z
    >>> from spectra.transform.mellin_sums.mellin import gamma_product
    >>> component = mellin_component([gamma_product(sympy.exp(-Z))], 1)
    >>> sign, log = component.signed_log(np.array([1.0]))
    >>> bool(abs(np.exp(log[0]) * np.pi - 1) < 1e-14)      # 2 / (pi (1 + w^2)) at w = 1
    True
    """
    for product in products:
        # Bounded at zero, and with limit zero at infinity: another limit would be an atom.
        left, right = product.strip
        if left > 0 or right <= 0 or not product.decay.is_positive:
            return None
    mellin = RadialMellin(products, dim)
    first, last = mellin.strip
    if first >= 1 or (last is not None and (last <= 1 or last <= first)):
        return None
    lines = lines_of(mellin)
    if not lines:
        return None
    below = _leading(lines[0], -1)
    above = _leading(lines[-1], 1) if last is not None else ()
    if not below or (last is not None and not above):
        return None
    if above and len(above[0].coefficients) > 1:
        return None
    component = MellinComponent(tuple(products), mellin, lines, (below, above))
    return component if component.share_lost() <= _MOST_LOST else None


def _leading(line: Line, side: int) -> tuple[Pole, ...]:
    """The poles that a line has passed, the leading one first."""
    return tuple(sorted(line.poles, key=lambda p: side * p.place))


def _reach(line: Line, pole: Pole) -> float:
    """The distance |x| from which on the leading power is all that counts beside the line."""
    size = pole.log_scale + float(np.log(np.max(np.abs(pole.coefficients))))
    gap = abs(line.place - float(pole.place))
    return (line.log_size - size + _NEGLIGIBLE) / gap


def _crossing(one: Line, other: Line) -> float:
    return float((other.log_size - one.log_size) / (other.place - one.place))


def _build(lines: tuple[Line, ...], start: float, stop: float) -> tuple[Panels, FloatArray]:
    count = max(int((stop - start) / _FIRST_WIDTH), 4)
    waiting = [(float(a), float(b)) for a, b in pairwise(np.linspace(start, stop, count + 1))][::-1]
    starts: list[float] = []
    rows: list[PanelRow] = []
    steepness: list[float] = []
    while waiting:
        left, right = waiting.pop()
        last = right - left < _LEAST_WIDTH or len(rows) > _MOST_PANELS
        found = _fit(lines, left, right, accept=last)
        if found is None:
            middle = 0.5 * (left + right)
            waiting += [(middle, right), (left, middle)]
        else:
            starts.append(left)
            rows.append(found[0])
            steepness.append(found[1])
    return Panels.of([*starts, stop], rows), np.array(steepness)


def _fit(
    lines: tuple[Line, ...], left: float, right: float, *, accept: bool
) -> tuple[PanelRow, float] | None:
    """One panel, and its steepness."""
    t = np.concatenate([chebyshev.chebpts1(_DEGREE + 1), _CHECKS])
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    x = middle + half * t
    ends = np.array([left, middle, right])
    at_ends = [float(min(line.log_bound(ends[i : i + 1])[0] for line in lines)) for i in range(3)]
    level, slope = at_ends[1], 0.5 * (at_ends[2] - at_ends[0])
    if abs(level - 0.5 * (at_ends[2] + at_ends[0])) > _BENT and not accept:
        return None
    unit = level + slope * t
    values, noise = np.empty_like(t), np.empty_like(t)
    chosen = best_of(lines, x)
    for i in np.unique(chosen):
        at = chosen == i
        values[at] = lines[i].values(x[at], unit[at])
        noise[at] = np.exp(lines[i].log_error(x[at]) - unit[at])
    coefficients = chebyshev_coefficients(values[: _DEGREE + 1])
    dense = np.linspace(-1.0, 1.0, 65)
    size = float(np.max(np.abs(chebyshev.chebval(dense, coefficients))))
    worst = float(noise.max())
    tail = float(np.max(np.abs(coefficients[-3:])))
    if tail > max(_RESOLVED * size, _NOISE * worst) and not accept:
        return None
    miss = np.abs(chebyshev.chebval(t, coefficients) - values)
    rounding = 4.0 * EPS * float(np.sum(np.abs(coefficients)))
    # Interpolation amplifies noise by the Lebesgue constant, below 3 for this degree.
    error = (2.0 * float(np.max(miss)) + 4.0 * tail + 3.0 * worst + rounding) / size
    swing = float(np.max(np.abs(chebyshev.chebval(dense, chebyshev.chebder(coefficients)))))
    steepness = (abs(slope) + swing / size) / half
    return (level, slope, size * (1.0 + 1e-3), coefficients, error), steepness
