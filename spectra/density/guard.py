r"""The guard at the door: a density is handed out after it has given back its kernel.

Both sides of the Fourier pair are averaged over a Gaussian of width s around the distance r:

.. math:: \int_0^\infty \rho(w)\,\Omega_d(rw)\,e^{-s^2w^2/2}\,dw
          + \sum_{atoms} m\,\Omega_d(r w_a)\,e^{-s^2w_a^2/2} = E\,k(|r e + s N|),

e a unit vector and N standard normal in R^d.  The left side needs the density at w < 10/s only and
exists where the mass is infinite too; the right side needs nothing but values of the kernel; no
contour, expansion or formula of any route has a part in it.  At r = 0 nothing oscillates but the
density itself, and a ladder of widths sees every range of radii; around the radii at which a
kernel ends, averages see the oscillations that such an end makes.

What no average can see is a mistake smaller than the errors that the density states, or than
rounding: 1e-13 of the absolute integral.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy.special import gammaln, ive

from spectra.base.enclosures import EPS, NODES, TO_LEGENDRE, Integrand, fit_legendre, integral_of
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import signed_log_0f1
from spectra.density.charts import (
    Chart,
    break_depths,
    charts_between,
    require_moderate_scale,
    sample_density,
)
from spectra.density.components import SpectralDensity
from spectra.errors import AccuracyError
from spectra.formula.expansions.kinks import KINKS
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import profile

__all__ = ["contradiction"]

# Both sides may differ by this share of their absolute integrals beyond all stated errors: the
# rounding of sums, of windows and of formulas whose error is the same at all z; chosen, ten times
# what the table of problems needs.
_ROUNDING = 2e-13
# The parts of a density add up to k(0), in doubles.
_TOTAL = 64 * EPS
# A Gaussian ends at nine widths, and a chi law nine beyond its mean.
_REACH = 9.0
# exp(-40) is below rounding: so far ends are followed, in e-folds of the integral.
_DEPTH = 40.0
# In high dimension a law is its power of w only this many e-folds below its bulk.
_BELOW = 4.0
# Charts stay where squares of radii are doubles.
_FARTHEST = 340.0
# scipy's ive is nan far beyond this, where it is its leading power for every order in use.
_IVE_REACH = 1e9
# Widths around 0, as multiples of 1/radius beyond both ends of the bulk.
_WIDEST, _NARROWEST = 2.0, 0.25
_LEAST_WINDOWS, _MOST_WINDOWS = 5, 10
# No more half waves than these are integrated.
_MOST_HALF_WAVES = 100
# Within the narrowest width the kernel is so near to k(0), or the width is divided by 4 so often.
_NEAR_ZERO, _MOST_QUARTERINGS = 1e-3, 12
# A window around r > 0 has this share of r, over the root of d, for its width.
_SHARE = 12.0
# How many samples show where the kernel ends, and the rounding of its values.
_SAMPLES, _KERNEL_ROUNDING = 129, 8.0
# Panels are resolved to the first of these shares of their largest value, or to the second one if
# values are noisy; not where they are below exp(-36) of all.
_RESOLVED, _NEGLIGIBLE = (1e-11, 1e-7), 36.0
# First panels have so many radians of a wave, so many e-folds, and so many deviations of a chi law
# of d degrees of freedom, whose logarithm has the deviation 1/sqrt(2 d).
_RADIANS, _STEP, _DEVIATIONS = 9.0, 1.4, 8.0

#: Sign and logarithm of the weights of windows at radii.
_Weights = tuple[FloatArray, FloatArray]


def _at_radius(windows: FloatArray, dim: int, w: FloatArray) -> _Weights:
    """The weights of windows around one r at frequencies of length w: windows in the first axis."""
    r = windows[0, 0]
    log = -0.5 * np.multiply.outer(windows[:, 1], w) ** 2
    if r == 0.0:
        return np.ones_like(w), log
    sign, wave = signed_log_0f1(0.5 * dim, r * w)
    return sign, log + wave


def _at_distance(windows: FloatArray, dim: int, z: FloatArray) -> _Weights:
    """The densities of |r e + s N| at z: windows around one r in the first axis."""
    r, s = windows[0, 0], windows[:, 1].reshape(-1, *(1,) * z.ndim)
    x = z / s
    if r == 0.0:
        front = (1.0 - 0.5 * dim) * np.log(2.0) - gammaln(0.5 * dim) - np.log(s)
        return np.ones_like(z), front + (dim - 1.0) * np.log(x) - 0.5 * x * x
    argument = r / s * x
    with np.errstate(divide="ignore"):
        bessel = np.log(ive(0.5 * dim - 1.0, np.minimum(argument, _IVE_REACH)))
    bessel -= 0.5 * np.log(np.maximum(argument / _IVE_REACH, 1.0))
    log = 0.5 * dim * np.log(z) - (0.5 * dim - 1.0) * np.log(r) - 2.0 * np.log(s)
    return np.ones_like(z), log - 0.5 * ((z - r) / s) ** 2 + bessel


def contradiction(density: SpectralDensity) -> str:
    """Where a density does not give back its kernel, in words; empty where it does.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from spectra.kernels.kernel import radial
    >>> from spectra.density.lookup import lookup
    >>> density = lookup(radial("exp(-z**2/2)"), 3)
    >>> contradiction(density)
    ''
    >>> "kernel" in contradiction(replace(density, kernel=radial("exp(-z**2/2)*(1 + z**8/1e9)")))
    True
    """
    at_zero = density.kernel.at_zero
    total = sum(c.total for c in density.components) + sum(a.mass for a in density.atoms)
    size = sum(abs(c.total) for c in density.components) + sum(abs(a.mass) for a in density.atoms)
    height = _height(density)
    if not abs(total - at_zero) <= _TOTAL * max(size, height):
        return f"its parts have the total {total!r}, and the kernel is {at_zero!r} at z = 0"
    require_moderate_scale(density.components, density.atoms)
    for windows in _windows(density, height):
        try:
            given, wanted = _of_density(density, windows), _of_kernel(density, windows, height)
        except AccuracyError as refusal:
            return str(refusal)
        allowed = given[1] + wanted[1] + _ROUNDING * (given[2] + wanted[2])
        for i in np.flatnonzero(~(np.abs(given[0] - wanted[0]) <= allowed))[:1]:
            return (
                f"averaged over a Gaussian of width {windows[i, 1]:.4g} around z = "
                f"{windows[i, 0]:.4g}, the density gives {given[0, i]:.10g} and the kernel "
                f"{wanted[0, i]:.10g}; their errors allow a difference of {allowed[i]:.1e}"
            )
    return ""


def _height(density: SpectralDensity) -> float:
    """The largest value of the kernel that a few distances around its scale show."""
    radii = [w for c in density.components for w in c.bulk]
    if not radii:
        return abs(density.kernel.at_zero)
    root = float(np.sqrt(density.dim))
    z = root * np.geomspace(_NARROWEST / max(radii), _WIDEST / min(radii), 33)
    return max(abs(density.kernel.at_zero), float(np.abs(density.kernel(z)).max()))


# --- windows --------------------------------------------------------------------------------------


def _windows(density: SpectralDensity, height: float) -> list[FloatArray]:
    """Averages that see the whole kernel: a ladder of widths at 0, and the radii where it ends.

    Each array has rows of a radius r, the same in all, and a standard deviation s.
    """
    kernel, dim, root = density.kernel, density.dim, float(np.sqrt(density.dim))
    radii = [w for c in density.components for w in c.bulk]
    radii += [a.radius for a in density.atoms if a.radius > 0.0]
    edges = _edges(kernel)
    if not radii and not edges:
        return []
    radii += [root / r for r in edges]
    widest = _WIDEST / min(radii)
    narrowest = _narrowest(kernel, _NARROWEST / max(radii), height, dim)
    ends = {c.tail.frequency for c in density.components if c.tail is not None}
    wave = max(ends, default=0.0)
    narrowest = max(narrowest, wave * _REACH / (2.0 * np.pi * _MOST_HALF_WAVES))
    widest = max(widest, 4.0 * narrowest)
    count = int(np.clip(0.6 * np.log2(widest / narrowest), _LEAST_WINDOWS, _MOST_WINDOWS))
    ladder = np.geomspace(narrowest, widest, count)
    middle = root / float(np.sqrt(min(radii) * max(radii)))
    centres = ends | (edges or {middle})
    around = [np.array([[r, r / (_SHARE * root)]]) for r in sorted(centres)]
    return [np.stack([0.0 * ladder, ladder], axis=1), *around]


def _edges(kernel: Kernel) -> set[float]:
    """Radii where the formula of a kernel ends or changes."""
    found = {float(p.support) for p in kernel.pieces if np.isfinite(float(p.support))}
    if any(p.expr.has(*KINKS) for p in kernel.pieces):
        found |= {float(r) for r in profile(kernel)[0]}
    return found


def _narrowest(kernel: Kernel, narrow: float, height: float, dim: int) -> float:
    """A width within which the kernel is nearly k(0): the whole density is seen through it."""
    root = float(np.sqrt(dim))
    for _ in range(_MOST_QUARTERINGS):
        near = kernel(narrow * root * np.array([0.5, 1.0, 2.0]))
        if np.all(np.abs(near - kernel.at_zero) <= _NEAR_ZERO * height):
            break
        narrow *= 0.25
    return narrow


# --- the two sides --------------------------------------------------------------------------------


def _of_density(density: SpectralDensity, windows: FloatArray) -> FloatArray:
    """The averages by the density, atoms included, as :func:`_integrate` returns them."""
    (r, s), dim, components = windows.min(axis=0), density.dim, density.components
    weigh = partial(_at_radius, windows, dim)
    total = np.zeros((3, len(windows)))
    if density.atoms:
        radii, masses, errors = np.array([(a.radius, a.mass, a.error) for a in density.atoms]).T
        sign, log = weigh(radii)
        share = np.exp(log)
        total += (sign * share) @ masses, share @ errors, share @ np.abs(masses)
    if not components:
        return total
    origin = min(c.origin_exponent for c in components)
    low = _find_low(density, -float(np.log(windows.max())) - _BELOW - _DEPTH / (1.0 + origin))
    high = np.log((_REACH + np.sqrt(dim)) / s)
    high = min(high, np.log(max(c.end for c in components)))
    waves = [r, *(c.tail.frequency for c in components if c.tail is not None)]
    panels = _first_panels(low, high, break_depths(components, _DEPTH), max(waves), dim)
    return total + _integrate(partial(sample_density, components, dim), weigh, panels, 1.0 + origin)


def _find_low(density: SpectralDensity, low: float) -> float:
    """The log w below which w |rho| is negligible: heavy tails reach their power of w late."""
    low = max(low, -_FARTHEST)
    t = np.arange(-_FARTHEST, low + 1.0)
    size = density.signed_log_radial(np.exp(t))[1] + t
    alive = np.flatnonzero(size > size[-1] - _DEPTH)
    # In high dimension it begins within one step.
    return min(low, float(t[alive[0]]) - 1.0) if alive.size else low


def _of_kernel(density: SpectralDensity, windows: FloatArray, height: float) -> FloatArray:
    """The averages of the kernel's values, as :func:`_integrate` returns them."""
    kernel, dim, (r, s) = density.kernel, density.dim, windows.max(axis=0)
    reach = s * (_REACH + float(np.sqrt(dim)))
    low = np.log(r - reach) if r else np.log(windows[:, 1].min()) - _DEPTH / dim
    t = np.linspace(low, np.log(r + reach), _SAMPLES)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(kernel(np.exp(t)))) + dim * t
    # The kernel is negligible beyond.
    last = np.flatnonzero(size > size.max() - _DEPTH)[-1:] + 1
    high = min(float(t[last.clip(max=t.size - 1)].max(initial=low)), np.log(kernel.support))
    if high <= low:
        return np.zeros((3, len(windows)))
    breaks = {edge: _DEPTH for edge in _edges(kernel) if edge > np.exp(low)}
    radii = [a.radius for a in density.atoms]
    fastest = max(radii + [r for c in density.components for r, _ in c.breaks], default=0.0)

    def sample(chart: Chart) -> Integrand:
        def values(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            z, slope = chart.radius(t), chart.log_slope(t)
            k, unit = kernel(z), slope.max(axis=1)
            share = np.exp(slope - unit[:, None])
            # The rounding of z counts next to a radius where the kernel is not smooth, and that of
            # its square where roots of it cancel.
            near = z * np.exp(-slope)
            error = height * (1.0 + np.sqrt(near)) + np.abs(k) * near
            return k * share, _KERNEL_ROUNDING * EPS * error * share, unit

        return values

    panels = _first_panels(low, high, breaks, fastest, dim)
    return _integrate(sample, partial(_at_distance, windows, dim), panels, float(dim))


def _integrate(
    sample: Callable[[Chart], Integrand],
    weigh: Callable[[FloatArray], _Weights],
    panels: Sequence[tuple[Chart, FloatArray]],
    power: float,
) -> FloatArray:
    """The integrals of a function times weights, bounds of errors, integrals of absolute values.

    Below the first panel the function goes like the radius to power - 1.
    """
    total = np.zeros(())
    for chart, edges in panels:
        weighted = partial(_weigh, sample(chart), weigh, chart)
        fit = _resolve_sum(weighted, edges)
        start, stop = fit[:2]
        t = 0.5 * ((stop + start)[:, None] + (stop - start)[:, None] * NODES)
        found = []
        for values, errors, unit in zip(*weighted(t), strict=True):
            series = values @ TO_LEGENDRE.T
            left_out = np.abs(series[:, -3:]).max(axis=1)
            integral = integral_of((start, stop, series, errors, left_out, unit))
            size = (stop - start) * np.exp(unit) @ np.abs(series).sum(axis=1)
            found.append((integral.mid, integral.rad, size))
        total = total + np.transpose(found)
    low = panels[0][1][0]
    value, error, unit = _weigh(sample(Chart()), weigh, Chart(), np.array([[low, low + 1.0]]))
    (near, next_one), front = value[:, 0].T, np.exp(unit[:, 0]) / power
    # By how much the power that is seen differs from the one stated is an error.
    with np.errstate(divide="ignore", invalid="ignore"):
        drift = 2.0 * np.abs(np.log(next_one / near) / power - 1.0)
    wrong = np.fmin(drift, 1.0) * np.abs(near) + error[:, 0, 0]
    return np.asarray(total + front * np.array([near, wrong, np.abs(near)]))


def _resolve_sum(weighted: Integrand, edges: FloatArray) -> tuple[FloatArray, ...]:
    """Panels that resolve a function times the weights of all windows."""

    def add(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, errors, units = weighted(t)
        unit = units.max(axis=0)
        # Every window counts relative to its own values, unless they are negligible.
        share = np.exp(np.minimum(units - unit + _NEGLIGIBLE, 0.0))[..., None]
        return (values * share).sum(axis=0), (errors * share).sum(axis=0), unit

    try:
        return fit_legendre(add, edges, tolerance=_RESOLVED[0], negligible=_NEGLIGIBLE)
    except AccuracyError:
        return fit_legendre(add, edges, tolerance=_RESOLVED[1], negligible=_NEGLIGIBLE)


def _weigh(
    function: Integrand, weigh: Callable[[FloatArray], _Weights], chart: Chart, t: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A function times weights, as :func:`fit_legendre` takes it: windows in the first axis."""
    value, error, unit = function(t)
    sign, log = weigh(chart.radius(t))
    top = np.maximum(log.max(axis=-1), -1e5)
    share = np.exp(log - top[..., None])
    return value * sign * share, error * share, top + unit


def _first_panels(
    low: float, high: float, breaks: Mapping[float, float], frequency: float, dim: int
) -> list[tuple[Chart, FloatArray]]:
    """Charts from exp(low) to exp(high), and panels that see waves of a frequency."""
    step = min(_STEP, _DEVIATIONS / float(np.sqrt(2.0 * dim)))
    found = []
    for chart, start, stop in charts_between(breaks, low, high):
        edges = [start]
        while edges[-1] < stop:
            slope = float(np.exp(chart.log_slope(np.array(edges[-1]))))
            edges.append(edges[-1] + min(step, _RADIANS / max(frequency * slope, 1e-300)))
        found.append((chart, np.array([*edges[:-1], stop])))
    return found
