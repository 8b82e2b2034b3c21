r"""The check of a density against its kernel, which every route must pass.

Both sides of the Fourier pair are averaged over a Gaussian of width s around the distance r:

.. math:: \int_0^\infty \rho(w)\,\Omega_d(rw)\,e^{-s^2w^2/2}\,dw
          + \sum_{atoms} m\,\Omega_d(r w_a)\,e^{-s^2w_a^2/2} = E\,k(|r e + s N|),

where e is a unit vector, E the expectation over N, standard normal in R^d, and m and w_a the mass
and radius of an atom.  The left side uses only w < (9 + sqrt(d))/s, so it is finite even if the
mass is not.  The right side needs only values of the kernel, and no route uses such averages.

A pair (r, s) is called a *window*.  Windows at r = 0 with widths s on a geometric grid test every
range of radii.  If the kernel has a support, windows around its end test the oscillations of the
density.  Mistakes below the stated errors, or below CHECKED of the absolute integrals, pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy.special import gammaln, ive

from spectra.base.accuracy import CHECKED, DENSITY, EPS, FOLDS, LARGEST_LOG, REACH, VALUE
from spectra.base.bessel import signed_log_0f1
from spectra.base.fitting import RADIANS, Integrand, fit
from spectra.base.numbers import FloatArray
from spectra.base.piecewise import Chart, Piecewise
from spectra.base.series import NODES, ORDER, WEIGHTS, series_through
from spectra.density.components import (
    SpectralDensity,
    break_depths,
    charts_between,
    require_moderate_scale,
    sample_density,
)
from spectra.errors import AccuracyError
from spectra.formula.functions import PIECEWISE
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analytic_intervals

__all__ = ["describe_mismatch"]

# Largest argument passed to scipy's ive, which is nan far beyond; from here on it is proportional
# to argument^(-1/2).
_LARGEST_IVE_ARGUMENT = 1e9
# Widths at r = 0 range from 0.25 / (largest radius) to 2 / (smallest radius) of all bulks; this
# many of them.  A window at r > 0 has the width r / (12 sqrt(d)).
_NARROWEST, _WIDEST, _FEWEST, _MOST, _PER_RADIUS = 0.25, 2.0, 5, 10, 12.0
# Narrower windows would integrate more half waves of an oscillating tail than this.
_MOST_HALF_WAVES = 100
# The narrowest width is divided by 4 until |k - k(0)| / max |k| is below this.
_NEAR_ZERO = 1e-3
# Tolerance of panels relative to their largest value, and a second one for noisy values.
_TOLERANCES = 10.0 * DENSITY, 1e5 * DENSITY
# Rounding of sums of integrals over panels, relative to the sum of their sizes.
_ROUNDING = 5.0 * EPS
# Largest widths of the first panels: e-folds, and deviations 1/sqrt(2 d) of the logarithm of a chi
# variable of d degrees of freedom.
_STEP, _DEVIATIONS = 1.4, 8.0

#: Sign and logarithm of the weights of windows (first axis) at points.
_Weights = tuple[FloatArray, FloatArray]


def _weigh_radii(windows: FloatArray, dim: int, w: FloatArray) -> _Weights:
    """Omega_d(r w) exp(-s^2 w^2 / 2) for windows (r, s) with one r."""
    r = windows[0, 0]
    log = -0.5 * np.multiply.outer(windows[:, 1], w) ** 2
    if r == 0.0:
        return np.ones_like(w), log
    sign, log_wave = signed_log_0f1(0.5 * dim, r * w)
    return sign, log + log_wave


def _weigh_distances(windows: FloatArray, dim: int, z: FloatArray) -> _Weights:
    """The probability density of |r e + s N| at z for windows (r, s) with one r."""
    r, s = windows[0, 0], windows[:, 1].reshape(-1, *(1,) * z.ndim)
    x = z / s
    if r == 0.0:
        front = (1.0 - 0.5 * dim) * np.log(2.0) - gammaln(0.5 * dim) - np.log(s)
        return np.ones_like(z), front + (dim - 1.0) * np.log(x) - 0.5 * x * x
    argument = r / s * x
    with np.errstate(divide="ignore"):
        log_bessel = np.log(ive(0.5 * dim - 1.0, np.minimum(argument, _LARGEST_IVE_ARGUMENT)))
    log_bessel -= 0.5 * np.log(np.maximum(argument / _LARGEST_IVE_ARGUMENT, 1.0))
    log = 0.5 * dim * np.log(z) - (0.5 * dim - 1.0) * np.log(r) - 2.0 * np.log(s)
    return np.ones_like(z), log - 0.5 * ((z - r) / s) ** 2 + log_bessel


def describe_mismatch(density: SpectralDensity) -> str:
    """Say where a density and its kernel disagree; the text is empty if they agree.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.density.lookup import lookup
    >>> density = lookup(radial("exp(-z**2/2)"), 3)
    >>> describe_mismatch(density)
    ''
    >>> other = replace(density, kernel=radial("exp(-z**2/2)*(1 + z**8/1e9)"))
    >>> "kernel" in describe_mismatch(other)
    True
    """
    at_zero = density.kernel.at_zero
    total = sum(c.total for c in density.components) + sum(a.mass for a in density.atoms)
    size = sum(abs(c.total) for c in density.components) + sum(abs(a.mass) for a in density.atoms)
    largest = _largest_value(density)
    if not abs(total - at_zero) <= CHECKED * max(size, largest):
        return f"its parts have the total {total!r}, and the kernel is {at_zero!r} at z = 0"
    require_moderate_scale(density.components, density.atoms)
    for windows in _choose_windows(density, largest):
        try:
            found, error, absolute = _average_density(density, windows)
            expected, expected_error, other = _average_kernel(density, windows, largest)
        except AccuracyError as failure:
            return str(failure)
        allowed = error + expected_error + CHECKED * (absolute + other)
        for i in np.flatnonzero(~(np.abs(found - expected) <= allowed))[:1]:
            return (
                f"averaged over a Gaussian of width {windows[i, 1]:.4g} around z = "
                f"{windows[i, 0]:.4g}, the density gives {found[i]:.10g} and the kernel "
                f"{expected[i]:.10g}; their errors allow a difference of {allowed[i]:.1e}"
            )
    return ""


def _largest_value(density: SpectralDensity) -> float:
    """The largest |k| on a grid of distances around the scale of the kernel."""
    radii = [w for c in density.components for w in c.bulk]
    if not radii:
        return abs(density.kernel.at_zero)
    root = float(np.sqrt(density.dim))
    z = root * np.geomspace(_NARROWEST / max(radii), _WIDEST / min(radii), 33)
    return max(abs(density.kernel.at_zero), float(np.abs(density.kernel(z)).max()))


# --- windows --------------------------------------------------------------------------------------


def _choose_windows(density: SpectralDensity, largest: float) -> list[FloatArray]:
    """Windows as rows (r, s), one array for each r.

    The distances r are 0 and those where k is not smooth; if k is smooth, 0 and one at its scale.
    """
    kernel, dim, root = density.kernel, density.dim, float(np.sqrt(density.dim))
    radii = [w for c in density.components for w in c.bulk]
    radii += [a.radius for a in density.atoms if a.radius > 0.0]
    breaks = _kernel_breaks(kernel)
    if not radii and not breaks:
        return []
    radii += [root / r for r in breaks]
    widest = _WIDEST / min(radii)
    narrowest = _narrowest_width(kernel, _NARROWEST / max(radii), largest, dim)
    # The density of a kernel that ends at z = R has an oscillating tail of the frequency R.
    ends = {c.tail.frequency for c in density.components if c.tail is not None}
    narrowest = max(narrowest, max(ends, default=0.0) * REACH / (2.0 * np.pi * _MOST_HALF_WAVES))
    widest = max(widest, 4.0 * narrowest)
    count = int(np.clip(0.6 * np.log2(widest / narrowest), _FEWEST, _MOST))
    widths = np.geomspace(narrowest, widest, count)
    middle = root / float(np.sqrt(min(radii) * max(radii)))
    distances = ends | (breaks or {middle})
    beyond = [np.array([[r, r / (_PER_RADIUS * root)]]) for r in sorted(distances)]
    return [np.stack([0.0 * widths, widths], axis=1), *beyond]


def _kernel_breaks(kernel: Kernel) -> set[float]:
    """Distances where the formula of a kernel ends or changes."""
    found = {float(p.support) for p in kernel.pieces if np.isfinite(float(p.support))}
    if any(p.expr.has(*PIECEWISE) for p in kernel.pieces):
        radii, *_ = analytic_intervals(kernel)
        found |= {float(r) for r in radii}
    return found


def _narrowest_width(kernel: Kernel, width: float, largest: float, dim: int) -> float:
    """A width over which the kernel is nearly k(0), so that the window includes all radii."""
    root = float(np.sqrt(dim))
    for _ in range(12):
        near = kernel(width * root * np.array([0.5, 1.0, 2.0]))
        if np.all(np.abs(near - kernel.at_zero) <= _NEAR_ZERO * largest):
            break
        width *= 0.25
    return width


# --- the two sides --------------------------------------------------------------------------------


def _average_density(density: SpectralDensity, windows: FloatArray) -> FloatArray:
    """The left side with its atoms, as :func:`_integrate` returns it."""
    (r, narrowest), dim, components = windows.min(axis=0), density.dim, density.components
    weigh = partial(_weigh_radii, windows, dim)
    total = np.zeros((3, len(windows)))
    if density.atoms:
        radii, masses, errors = np.array([(a.radius, a.mass, a.error) for a in density.atoms]).T
        sign, log = weigh(radii)
        weight = np.exp(log)
        total += (sign * weight) @ masses, weight @ errors, weight @ np.abs(masses)
    if not components:
        return total
    origin = min(c.origin_exponent for c in components)
    low = -float(np.log(windows.max())) - FOLDS / (1.0 + origin)
    low = _extend_to_bulk(density, low)
    high = np.log(min((REACH + np.sqrt(dim)) / narrowest, max(c.end for c in components)))
    waves = [r, *(c.tail.frequency for c in components if c.tail is not None)]
    panels = _first_panels(low, high, break_depths(components, FOLDS), max(waves), dim)
    return total + _integrate(partial(sample_density, components, dim), weigh, panels, 1.0 + origin)


def _extend_to_bulk(density: SpectralDensity, low: float) -> float:
    """Lower ``low`` to the log w below which w |rho| is negligible."""
    low = max(low, -LARGEST_LOG)
    t = np.arange(-LARGEST_LOG, low + 1.0)
    log_size = density.signed_log_radial(np.exp(t))[1] + t
    needed = np.flatnonzero(log_size > log_size[-1] - FOLDS)
    # One step less, since in high dimension w |rho| rises within one step.
    return min(low, float(t[needed[0]]) - 1.0) if needed.size else low


def _average_kernel(density: SpectralDensity, windows: FloatArray, largest: float) -> FloatArray:
    """The right side, as :func:`_integrate` returns it; ``largest`` is the largest |k|."""
    kernel, dim, (r, widest) = density.kernel, density.dim, windows.max(axis=0)
    reach = widest * (REACH + float(np.sqrt(dim)))
    low = np.log(r - reach) if r else np.log(windows[:, 1].min()) - FOLDS / dim
    t = np.linspace(low, np.log(r + reach), 129)
    with np.errstate(divide="ignore"):
        log_size = np.log(np.abs(kernel(np.exp(t)))) + dim * t
    # The integrand is negligible beyond the next sample.
    last = np.flatnonzero(log_size > log_size.max() - FOLDS)[-1:] + 1
    high = min(float(t[last.clip(max=t.size - 1)].max(initial=low)), np.log(kernel.support))
    if high <= low:
        return np.zeros((3, len(windows)))
    breaks = {z: FOLDS for z in _kernel_breaks(kernel) if z > np.exp(low)}
    frequencies = [a.radius for a in density.atoms]
    frequencies += [w for c in density.components for w, _ in c.breaks]

    def sample(chart: Chart) -> Integrand:
        def values(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            z, log_slope = chart.radius(t), chart.log_slope(t)
            k, log_unit = kernel(z), log_slope.max(axis=1)
            slope = np.exp(log_slope - log_unit[:, None])
            # Rounding of z is amplified next to a break, where a root of the distance to it may
            # be a factor or a summand of the kernel.
            closeness = z * np.exp(-log_slope)
            error = largest * (1.0 + np.sqrt(closeness)) + np.abs(k) * closeness
            return k * slope, VALUE * error * slope, log_unit

        return values

    panels = _first_panels(low, high, breaks, max(frequencies, default=0.0), dim)
    return _integrate(sample, partial(_weigh_distances, windows, dim), panels, float(dim))


def _integrate(
    sample: Callable[[Chart], Integrand],
    weigh: Callable[[FloatArray], _Weights],
    panels: Sequence[tuple[Chart, FloatArray]],
    power: float,
) -> FloatArray:
    """Integrals of a function times weights, error bounds, and integrals of absolute values.

    Each is one row with an entry for each window.  Below the first panel the integrand per unit of
    t = log w is proportional to exp(power t).
    """
    total = np.zeros(())
    for chart, edges in panels:
        weighted = partial(_multiply, sample(chart), weigh, chart)
        charts = _resolve_all(weighted, edges).charts
        start, stop = charts[:, 2:4].T
        half = 0.5 * (stop - start)
        values, errors, log_unit = weighted(0.5 * (stop + start)[:, None] + half[:, None] * NODES)
        width, series = 2.0 * half * np.exp(log_unit), series_through(values)
        integral, size = width * series[..., 0], width * np.abs(series).sum(axis=-1)
        truncation = np.abs(series[..., -3:]).max(axis=-1)
        error = 0.5 * width * (errors @ WEIGHTS + truncation / ORDER) + _ROUNDING * size
        total = total + np.stack([integral, error, size]).sum(axis=-1)
    (_, first_edges), *_ = panels
    t = first_edges[0] + np.array([[0.0, 1.0]])
    value, error, log_unit = _multiply(sample(Chart()), weigh, Chart(), t)
    (first, second), scale = value[:, 0].T, np.exp(log_unit[:, 0]) / power
    # The deviation from the power law is an error.
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = 2.0 * np.abs(np.log(second / first) / power - 1.0)
    below_error = np.fmin(deviation, 1.0) * np.abs(first) + error[:, 0, 0]
    return total + scale * np.array([first, below_error, np.abs(first)])


def _resolve_all(weighted: Integrand, edges: FloatArray) -> Piecewise:
    """Panels that resolve a function times the weights of every window."""

    def add(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, errors, log_units = weighted(t)
        log_unit = log_units.max(axis=0)
        # Scale every window to the largest one, unless its values are negligible.
        scale = np.exp(np.minimum(log_units - log_unit + FOLDS, 0.0))[..., None]
        return (values * scale).sum(axis=0), (errors * scale).sum(axis=0), log_unit

    first, second = (partial(fit, add, edges, tolerance=t, negligible=FOLDS) for t in _TOLERANCES)
    try:
        return first()
    except AccuracyError:
        return second()


def _multiply(
    function: Integrand, weigh: Callable[[FloatArray], _Weights], chart: Chart, t: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """An integrand times the weights of windows, which are the first axis."""
    value, error, log_unit = function(t)
    sign, log = weigh(chart.radius(t))
    # No log_unit of -inf, even if all weights vanish.
    top = np.maximum(log.max(axis=-1), -1e5)
    weight = np.exp(log - top[..., None])
    return value * sign * weight, error * weight, top + log_unit


def _first_panels(
    low: float, high: float, breaks: Mapping[float, float], frequency: float, dim: int
) -> list[tuple[Chart, FloatArray]]:
    """Charts from exp(low) to exp(high), with edges of panels that resolve cos(frequency * w)."""
    step = min(_STEP, _DEVIATIONS / float(np.sqrt(2.0 * dim)))
    found = []
    for chart, start, stop in charts_between(breaks, low, high):
        edges = [start]
        while edges[-1] < stop:
            slope = float(np.exp(chart.log_slope(np.array(edges[-1]))))
            # Where windows damp a wave, a panel twice as wide is enough.
            edges.append(edges[-1] + min(step, 2.0 * RADIANS / max(frequency * slope, 1e-300)))
        found.append((chart, np.array([*edges[:-1], stop])))
    return found
