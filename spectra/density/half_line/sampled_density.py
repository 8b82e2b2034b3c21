"""A density from samples of w rho in log w: panels between a power law and its tail."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.half_line.power_tail import PowerTail
from spectra.density.half_line.ray_sums import NEGLIGIBLE, Samples
from spectra.density.panels.log_panels import PanelDensity, Powers, fit_panels
from spectra.errors import AccuracyError

__all__ = ["sampled_density"]

# Width of the first panels in log w.
_WIDTH = 1.0
# Panels follow the samples to some units of rounding.
_ROUNDING = 4.0 * EPS
# The tail takes over where it agrees with the samples within this many errors.
_AGREES = 4.0


def sampled_density(
    samples: Samples,
    total: float,
    dim: int,
    decay: float,
    ending: PowerTail | None,
    *,
    noise: float = 0.0,
) -> PanelDensity:
    """The density of samples, of a kernel that falls like z^-decay; ``ending`` is its tail.

    ``noise`` is the size up to which samples are not smooth.
    """
    tail, start = (None, np.inf) if ending is None else _connect_tail(samples, *ending)
    power = float(min(decay, dim))
    beginning = _fit_beginning(samples, power, with_log=decay == dim)
    low, high = float(np.log(beginning.scale)), samples.ends[1]
    nothing = max(NEGLIGIBLE * samples.peak, noise)
    if tail is None:  # samples at larger radii are rounding
        seen = np.abs(samples.values) > nothing
        high = min(high, float(samples.logs[seen].max(initial=low)))
    high = max(min(high, start), low + _WIDTH)

    # Rounding of log w changes the values of steep waves.
    steepest = float(np.abs(np.diff(samples.values)).max()) / samples.step

    def sample(centre: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        value = samples(np.log(centre) + offsets)
        rounded = EPS * (samples.peak + steepest * abs(float(np.log(centre))))
        return value, noise + rounded + _ROUNDING * np.abs(value), 0.0

    edges = np.linspace(low, high, 2 + int((high - low) / _WIDTH))
    panels = fit_panels(sample, edges, tilt=False)
    first, last = panels.bulk()
    return PanelDensity(
        panels=replace(panels, error=panels.error + samples.error * np.exp(-panels.level)),
        total=total,
        origin_exponent=power - 1.0,
        bulk=(first, max(last, float(np.e) * first)),
        decay=np.inf if tail is None else -float(tail.exponents[0]),
        beginning=beginning,
        ending=tail or Powers.vanishing(float(np.exp(high)), log(nothing) - high),
    )


def _fit_beginning(samples: Samples, power: float, *, with_log: bool) -> Powers:
    """The power law w rho = c w^power that samples follow up to the largest radius they allow.

    A factor log w counts as error.
    """
    (low, high), logs, error = samples.ends, samples.logs, samples.error
    inside = (logs >= low) & (logs <= high)
    x, v = logs[inside], samples.values[inside]
    at = 0
    for i in range(0, int(np.argmax(np.abs(v))), max(1, int(1.0 / samples.step) // 8)):
        law = v[i] * np.exp(power * (x[:i] - x[i]))
        if abs(v[i]) > error and np.any(np.abs(law - v[:i]) > 2.0 * error):
            break
        at = i
    value = float(v[at]) if abs(v[at]) > error else 0.0
    # The law c x^p is off by c (1 - x^2) of itself, of which samples see x^p c (1 - x^2).
    wrong = 1.0 if with_log or not value else error * (1.0 + np.e * (power + 2.0)) / abs(value)
    sizes = np.array([abs(value) or abs(float(v[at])) + error, NEGLIGIBLE * samples.peak])
    return Powers(
        np.array([power - 1.0, 0.0]),
        np.array([np.sign(value), 0.0]),
        np.log(sizes) - x[at],
        np.array([min(wrong, 1.0), 0.0]),
        float(np.exp(x[at])),
    )


def _connect_tail(samples: Samples, tail: Powers, start: float) -> PowerTail:
    """The tail from where it agrees with the samples; a short one may begin anywhere."""
    x = samples.logs[samples.logs <= samples.ends[1]]
    if np.isfinite(start):
        x = x[x >= start]
    if not x.size:
        return tail, start
    sign, log, envelope, error = tail.evaluate(np.exp(x))
    series = sign * np.exp(log + x)
    wrong = error * np.exp(envelope + x) + _AGREES * samples.error
    bad = np.flatnonzero(~(np.abs(series - samples(x)) <= wrong))
    first = int(bad[-1]) + 1 if bad.size else 0
    if first == x.size:
        raise AccuracyError("the sums do not approach the power law at large radii")
    # The tail may differ by what the samples do not resolve.
    return tail.add_error(float(np.log(_AGREES * samples.error) - x[first]), x[first]), x[first]
