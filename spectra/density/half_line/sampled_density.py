"""A density from samples of w rho: a power law at small w, then panels, then the tail."""

from __future__ import annotations

from dataclasses import replace
from math import comb, factorial, log, log10

import flint
import numpy as np
import sympy

from spectra.base.accuracy import ABSENT, EPS, NOISE
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.half_line_formula import PowerTerms
from spectra.density.half_line.ray_sums import NEGLIGIBLE, Samples
from spectra.density.panel_density import PanelDensity, Powers, fit_pieces
from spectra.errors import AccuracyError, FormulaError, NoRouteError
from spectra.formula.ball_function import constant_ball

__all__ = ["power_tail", "sampled_density"]

# Width of the first panels in log w.
_WIDTH = 1.0
# The part of the rounding error of interpolated samples that is proportional to their value.
_ROUNDING = 4.0 * EPS
# The tail begins where it agrees with the samples within this many of their errors.
_AGREE = 4.0
# In a series of _FEW_TERMS or more, the last two terms count as error estimates, times _LAST_ERROR.
_LAST_ERROR, _FEW_TERMS = 10.0, 4
# The series is used from the radius where its relative error is below this.
_RESOLVED = 10.0 * ABSENT
# Bits of the coefficients: a coefficient whose ball holds 0 is 0.
_BITS = 128
# The log w at which the error of the series is evaluated.
_LOG_RADII = np.arange(-40.0, 305.0, 0.25)


def sampled_density(
    samples: Samples,
    total: float,
    dim: int,
    decay: float,
    tail: Powers | None,
    *,
    noise: float = 0.0,
) -> PanelDensity:
    """The density through samples, of a kernel that is ``total`` at 0 and falls like z^-decay.

    ``tail`` is the density at large w, None if it falls faster than powers; ``noise`` is the size
    of errors that vary at random from sample to sample, which panels need not resolve.
    """
    tail = tail and _connect_tail(samples, tail)
    power = float(min(decay, dim))
    beginning = _fit_beginning(samples, power, has_log=decay == dim)
    low, high = float(np.log(beginning.scale)), samples.log_range[1]
    negligible = max(NEGLIGIBLE * samples.peak, noise)
    if tail is None:
        significant = np.abs(samples.values) > negligible
        high = min(high, float(samples.log_w[significant].max(initial=low)) + samples.step)
    else:
        high = min(high, tail.start)
    high = max(high, low + _WIDTH)

    # Rounding of log w changes values most where w rho is steepest.
    steepest = float(np.abs(np.diff(samples.values)).max()) / samples.step

    def sample(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        value = samples(t.ravel()).reshape(t.shape)
        rounding = EPS * (samples.peak + steepest * np.abs(t))
        return value, noise + rounding + _ROUNDING * np.abs(value), np.zeros(len(t))

    edges = np.linspace(low, high, 2 + int((high - low) / _WIDTH))
    pieces = fit_pieces(sample, edges)
    density = PanelDensity(
        pieces=replace(pieces, errors=pieces.errors + samples.error / NOISE),
        total=total,
        origin_exponent=power - 1.0 - (decay == dim) * EPS * dim,
        bulk=(0.0, 0.0),
        decay=np.inf if tail is None else -float(tail.exponents[0]),
        beginning=beginning,
        ending=tail or Powers.vanishing(float(np.exp(high)), log(negligible) - high),
    )
    first, last = density.find_bulk()
    return replace(density, bulk=(first, max(last, float(np.e) * first)))


def _fit_beginning(samples: Samples, power: float, *, has_log: bool) -> Powers:
    """The power law w rho = c w^power at small w, up to the largest w at which samples allow it.

    With ``has_log`` the true law has a factor log w, and the error of c is as large as c.
    """
    (low, high), log_w, error = samples.log_range, samples.log_w, samples.error
    inside = (log_w >= low) & (log_w <= high)
    x, values = log_w[inside], samples.values[inside]
    # The radius exp(x[last]) is raised by eighths of a unit of log w.
    last = 0
    for i in range(0, int(np.argmax(np.abs(values))), max(1, int(1.0 / samples.step) // 8)):
        law = values[i] * np.exp(power * (x[:i] - x[i]))
        if abs(values[i]) > error and np.any(np.abs(law - values[:i]) > 2.0 * error):
            break
        last = i
    value = float(values[last]) if abs(values[last]) > error else 0.0
    # Let w rho = value r^power (1 + q (1 - r^2)) with r = w / exp(x[last]).  The samples allow
    # |value q| r^power (1 - r^2) <= 2 error for r < 1, so |value q| <= e (power + 2) error.
    factor = 1.0 + np.e * (power + 2.0)
    relative = 1.0 if has_log or not value else error * factor / abs(value)
    # The law is used where its error, factor * error * r^power, is at most that of the samples.
    end = max(x[last] - log(factor) / power, x[0])
    value *= np.exp(power * (end - x[last]))
    # The size of the last term of Powers is an error: NEGLIGIBLE of the peak, or the error of the
    # samples if they do not show the power law.
    least = NEGLIGIBLE * samples.peak if relative < 1.0 else error
    sizes = np.array([abs(value) or abs(float(values[last])) + error, least])
    return Powers(
        np.array([power - 1.0, 0.0]),
        np.array([np.sign(value), 0.0]),
        np.log(sizes) - end,
        np.array([min(relative, 1.0), 0.0]),
        float(np.exp(end)),
    )


def _connect_tail(samples: Samples, tail: Powers) -> Powers:
    """The tail from the first radius where it fits the samples, not before its start if known."""
    x = samples.log_w[samples.log_w <= samples.log_range[1]]
    if np.isfinite(tail.start):
        x = x[x >= tail.start]
    if not x.size:
        return tail
    sign, log, envelope, error = tail.evaluate(np.exp(x))
    series = sign * np.exp(log + x)
    allowed = error * np.exp(envelope + x) + _AGREE * samples.error
    bad = np.flatnonzero(~(np.abs(series - samples(x)) <= allowed))
    first = int(bad[-1]) + 1 if bad.size else 0
    if first == x.size:
        raise AccuracyError("the sums do not approach the power law at large radii")
    # The error of the samples at that radius is an error of the tail.
    tail = tail.add_error(float(np.log(_AGREE * samples.error) - x[first]), x[first])
    return replace(tail, start=float(x[first]))


def power_tail(expansion: PowerTerms, dim: int) -> Powers | None:
    """The density for large w by the expansion of a kernel at zero; None if all powers are even."""
    exponents: list[float] = []
    sizes: list[float] = []
    polynomials: list[list[float]] = []
    with working_precision(_BITS):
        half = flint.arb(dim) / 2
        for a, q, c in expansion:
            if q == 0 and a.is_Integer and a % 2 == 0:
                continue
            # The Taylor series of G at a.
            s = flint.arb_series([_to_ball(a), 1], prec=q + 1)
            g = 2 * (s * flint.arb.const_log2()).exp() * (half + s / 2).gamma() / half.gamma()
            g = g * (-s / 2).rgamma()
            # (-d/da)^q of G(a) w^(-a-1) is w^(-a-1) times a polynomial in log w.
            scale = _to_ball(c)
            polynomial = [
                scale * comb(q, j) * (-1) ** (q - j) * factorial(q - j) * g[q - j]
                for j in range(q + 1)
            ]
            if all(p.contains(0) for p in polynomial):
                continue
            exponents.append(-float(sympy.N(a, 20)) - 1.0)
            # The size is kept as a logarithm, since it may leave the range of doubles.
            size = max(abs(p).mid() for p in polynomial)
            sizes.append(float(size.log()))
            polynomials.append([float(p / size) for p in polynomial])
    if not exponents:
        return None
    rows = max(map(len, polynomials))
    coefficients = np.array([p + [0.0] * (rows - len(p)) for p in polynomials]).T
    is_short = len(exponents) < _FEW_TERMS
    errors = np.full(len(exponents), EPS)
    errors[-2:] = EPS if is_short else _LAST_ERROR
    powers = Powers(np.array(exponents), coefficients, np.array(sizes), errors)
    if is_short:
        # Few terms do not show the truncation error: it is 0, start = inf, until samples set both.
        return replace(powers.add_error(-np.inf, 0.0), start=np.inf)
    bad = np.flatnonzero(~(powers.error_before_rounding(np.exp(_LOG_RADII)) < _RESOLVED))
    first = int(bad[-1]) + 1 if bad.size else 0
    if first == _LOG_RADII.size:
        raise NoRouteError(
            "The asymptotic series of the density does not settle before the largest radius that "
            "a double holds, so its tail is not known: design a finite measure for the range of "
            "your data (design)."
        )
    return replace(powers, start=float(_LOG_RADII[first]))


def _to_ball(exact: sympy.Expr) -> Ball:
    try:
        return constant_ball(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, int(_BITS * log10(2.0)))))
