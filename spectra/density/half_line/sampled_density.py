"""A density that is known by samples of w rho in log w, with power laws at both ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component
from spectra.density.half_line.power_tail import PowerTail
from spectra.density.half_line.ray_sums import NEGLIGIBLE, Samples

__all__ = ["Origin", "SampledDensity", "sampled_density"]

# The rounding of interpolated samples, relative to the largest.
_ROUNDING = 16.0
# A share of the mass on either side that is outside of the bulk.
_OUTSIDE = 0.01
# Radii that show what the samples show are so far apart in log w.
_SHOWN = 1.0 / 16.0
# Beyond its last sample a density that is negligible there falls at least like this power.
_FALL = 2.0
# The tail takes over where it agrees with the samples within this many errors.
_AGREES = 4.0


@dataclass(frozen=True)
class Origin:
    """w rho = (value + slope (log w - until)) exp(power (log w - until)) for log w < until."""

    power: float
    until: float
    value: float
    slope: float

    def __call__(self, log_w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|w rho|."""
        factor = self.value + self.slope * (log_w - self.until)
        with np.errstate(divide="ignore"):
            return np.sign(factor), np.log(np.abs(factor)) + self.power * (log_w - self.until)


@dataclass(frozen=True, eq=False)
class SampledDensity(Component):
    """Samples of w rho between a power law at the origin and a power series at infinity."""

    samples: Samples
    origin: Origin
    ending: PowerTail | None
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        x = np.log(np.asarray(w, float)).ravel()
        sign, log = np.ones_like(x), np.full_like(x, -np.inf)
        low, high = self.origin.until, self._until
        below, beyond = x < low, x > high
        sign[below], log[below] = self.origin(x[below])
        inside = ~(below | beyond)
        if inside.any():
            value = self.samples(x[inside])
            with np.errstate(divide="ignore"):
                sign[inside], log[inside] = np.sign(value), np.log(np.abs(value))
        if self.ending is not None and beyond.any():
            sign[beyond], log[beyond] = self.ending.signed_log(np.exp(x[beyond]))
            log[beyond] += x[beyond]
        return sign.reshape(np.shape(w)), (log - x).reshape(np.shape(w))

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the logarithm of its error where that is larger."""
        x = np.log(np.asarray(w, float))
        return np.asarray(np.maximum(self.signed_log(w)[1], self._log_error(x) - x))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Estimated error relative to the envelope."""
        x = np.log(np.asarray(w, float))
        return np.asarray(np.exp(self._log_error(x) - x - self.log_envelope(w)))

    def _log_error(self, x: FloatArray) -> FloatArray:
        """The logarithm of the error of w rho."""
        last = self._until
        log = np.full_like(x, np.log(self.samples.error))
        below, beyond = x < self.origin.until, x > last
        # The law x^p is off by c (1 - x^2) of itself, of which samples see x^p c (1 - x^2).
        margin = float(np.log(1.0 + np.e * (self.origin.power + 2.0)))
        nothing, distance = float(np.log(NEGLIGIBLE * self.samples.peak)), x - self.origin.until
        law = log[below] + margin + self.origin.power * distance[below]
        log[below] = np.maximum(law, nothing + distance[below])
        if self.ending is None:
            log[beyond] = nothing - _FALL * (x[beyond] - last)
        elif beyond.any():
            w = np.exp(x[beyond])
            share = np.log(self.ending.relative_error(w))
            log[beyond] = self.ending.signed_log(w)[1] + x[beyond] + share
        return log

    def telling_radii(self) -> FloatArray:
        """Radii between which the samples do not change much."""
        logs = self.samples.logs
        inside = logs[(logs > self.origin.until) & (logs < self._until)]
        return np.asarray(np.exp(inside[:: max(1, int(_SHOWN / self.samples.step))]))

    @property
    def _until(self) -> float:
        """The log w up to which samples are interpolated."""
        last = self.samples.ends[1]
        return last if self.ending is None else min(last, self.ending.start)


def sampled_density(
    samples: Samples, total: float, dim: int, decay: float, ending: PowerTail | None
) -> SampledDensity:
    """The component of samples."""
    origin = _origin(samples, float(min(decay, dim)), with_log=decay == dim)
    mass = np.cumsum(np.abs(samples.values))
    low, high = np.interp(np.array([_OUTSIDE, 1 - _OUTSIDE]) * mass[-1], mass, samples.logs)
    bulk = float(np.exp(low)), float(np.exp(max(high, low + 1.0)))
    falls = np.inf if ending is None else ending.exponent
    return SampledDensity(samples, origin, ending, total, origin.power - 1.0, bulk, falls)


def _origin(samples: Samples, power: float, *, with_log: bool) -> Origin:
    """The power law that the samples follow within their error, up to the largest radius."""
    (low, high), logs = samples.ends, samples.logs
    inside = (logs >= low) & (logs <= high)
    x, v = logs[inside], samples.values[inside]
    best = Origin(power, float(x[0]), 0.0, 0.0)
    apart = max(1, int(1.0 / samples.step))
    for i in range(0, int(np.argmax(np.abs(v))), max(1, apart // 8)):
        if abs(v[i]) <= samples.error:
            continue
        slope = 0.0
        if with_log:
            slope = float(v[i + apart] * np.exp(-power * (x[i + apart] - x[i])) - v[i])
            slope /= x[i + apart] - x[i]
        law = Origin(power, float(x[i]), float(v[i]), slope)
        sign, log = law(x[:i])
        if np.any(np.abs(sign * np.exp(log) - v[:i]) > 2.0 * samples.error):
            break
        best = law
    return best


def joined(samples: Samples, ending: PowerTail) -> PowerTail | None:
    """The series from where it agrees with the samples; None if it nowhere does."""
    x = samples.logs[(samples.logs <= samples.ends[1]) & (samples.logs >= ending.start)]
    if not x.size:
        return ending
    sign, log = ending.signed_log(np.exp(x))
    series = sign * np.exp(log + x)
    wrong = ending.relative_error(np.exp(x)) * np.abs(series) + _AGREES * samples.error
    bad = np.flatnonzero(~(np.abs(series - samples(x)) <= wrong))
    first = int(bad[-1]) + 1 if bad.size else 0
    if first == x.size:
        return None
    share = _AGREES * samples.error / abs(float(series[first]))
    return replace(ending, start=float(x[first]), joint_error=min(share, 1.0))


def rounding_of(samples: Samples) -> float:
    """The rounding of interpolated samples."""
    return _ROUNDING * EPS * samples.peak
