r"""The route "series": Fourier series in log w, which invert Mellin transforms numerically.

If the Mellin transform of a kernel is a sum of products of Gamma functions, so is that of its
density, :math:`R(u) = \int_0^\infty \rho(w) w^{u-1} dw`, and

.. math:: w\rho(w) = \frac{1}{2\pi} \int_{-\infty}^\infty R(1 + it)\, w^{-it}\, dt .

The trapezoidal rule in t, a discrete Fourier transform, gives the alternating sum of translates of
w rho by multiples of a period in log w.  The period doubles until w rho is negligible at its ends.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi

import flint
import numpy as np
import sympy

from spectra.base.limits import check_time
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.density.closed_pairs.pair import ClosedPair
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.gamma_product import BITS, GammaProduct, gamma_products
from spectra.density.half_line.half_line_formula import split_limit
from spectra.density.half_line.ray_sums import NEGLIGIBLE, Samples
from spectra.density.half_line.sampled_density import power_tail, sampled_density
from spectra.density.lookup import known_part
from spectra.errors import AccuracyError
from spectra.kernels.kernel import Kernel

__all__ = ["series"]

# The sum ends where R is below exp(-60) of its largest value; a sum of more terms is refused.
_END, _MOST_TERMS = 60.0, 60_000
# The first period extends from the mean log w by 18 to either side, and then until the power law of
# w rho at that end (see _sample_inverse) has decreased by the factor exp(-38).
_HALF_WIDTH, _DEPTH = 18.0, 38.0
_MOST_DOUBLINGS = 3
# Number of samples at either end of a period that must be negligible.
_END_SAMPLES = 64
# Largest log w: radii must be doubles.
_LARGEST_LOG = 300.0


def series(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density by an inverse Mellin transform; None if R is unknown or decays too slowly.

    If a summand has no such transform, summands in closed form are computed as by ``lookup``.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> density = series(radial("exp(-z**(3/2))"), 1)
    >>> round(float(density.radial([1.0])[0]), 12)
    0.404076319216
    >>> series(radial("exp(-z**2)*cos(z)"), 1) is None
    True
    """
    if len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    rest = kernel.pieces[0].expr
    pairs: list[ClosedPair] = []
    atoms: list[Atom] = []
    products = gamma_products(rest)
    if products is None:
        pairs, atoms, rest = known_part(rest, dim)
        products = gamma_products(rest)
    component = _invert(rest, products, dim) if products else None
    if component is None:
        return None
    return SpectralDensity(kernel, dim, (*pairs, component), tuple(atoms), "series")


def _invert(expr: sympy.Expr, products: list[GammaProduct], dim: int) -> Component | None:
    """The density of a formula with these Mellin transforms; None if it cannot be computed."""
    for product in products:
        # Required: k bounded at 0, k -> 0 at infinity (else an atom), a convergent integral over t.
        left, right = product.strip
        if left > 0 or right <= 0 or not product.vertical_decay.is_positive:
            return None
    _, formula = split_limit(expr)
    tail = power_tail(formula.expansion_at_zero, dim)
    rise = min(formula.decay, float(dim))
    fall = -float(tail.exponents[0]) - 1.0 if tail else np.inf
    samples = _sample_inverse([product.radial(dim) for product in products], rise, fall)
    if samples is None or not np.all(np.isfinite(samples.values)):
        return None
    try:
        return sampled_density(samples, formula.value_at_zero, dim, formula.decay, tail)
    except AccuracyError:
        # The density oscillates too fast, or its tail does not agree: try the other routes.
        return None


def _sample_inverse(products: list[GammaProduct], rise: float, fall: float) -> Samples | None:
    """w rho on one period of log w; None if that takes too many terms.

    w rho behaves like w^rise at the origin and like w^-fall at infinity.
    """
    below, above = (_HALF_WIDTH + _DEPTH / power for power in (rise, fall))
    with working_precision(BITS):
        centre, height = _mean_log(products, -min(0.25, 0.5 * rise)), _find_height(products)
        # Interpolation is accurate to 1e-16 with four samples per period of the fastest wave.
        step = float(2.0 ** np.floor(np.log2(pi / (2.0 * height))))
        for _ in range(_MOST_DOUBLINGS):
            count = 1 << int(np.ceil(np.log2((below + above) / step)))
            if count > 4 * _MOST_TERMS:
                return None
            samples = _sample_period(products, round((centre - below) / step), count, step)
            ends = np.abs([samples.values[:_END_SAMPLES], samples.values[-_END_SAMPLES:]])
            if ends.max() <= NEGLIGIBLE * samples.peak:
                return replace(samples, values=samples.values[samples.log_w < _LARGEST_LOG])
            below, above = 2.0 * below, 2.0 * above
    return None


def _mean_log(products: list[GammaProduct], power: float) -> float:
    """The mean of log w under w^power rho, which is the derivative of log R at u = 1 + power."""
    t = 2.0**-30
    # R(1 + power + it)^2 has the argument 2 t (log R)' for either sign of R.
    square = _transform(products, flint.acb(1.0 + power, t)) ** 2
    return float(square.arg().mid()) / (2.0 * t)


def _find_height(products: list[GammaProduct]) -> float:
    """The t beyond which |R(1 + it)| is negligible."""
    log_peak, height = -np.inf, 1.0
    while height < _MOST_TERMS:
        log_size = log_magnitude(_transform(products, flint.acb(1, height)))
        log_peak = max(log_peak, log_size)
        if log_size < log_peak - _END:
            break
        height *= 1.125
    return height


def _transform(products: list[GammaProduct], u: Ball) -> Ball:
    """R(u) of a sum of products."""
    check_time()
    return sum((product.value(u) for product in products), flint.acb(0))


def _sample_period(products: list[GammaProduct], start: int, count: int, step: float) -> Samples:
    """The trapezoidal sums at log w = (start + n) step, n < count.

    The t are odd multiples of half of their step: at t = 0 a pole may cancel a zero.
    """
    angle = flint.arb.pi() / count
    terms = [flint.acb(0)] * count
    for j in range(count // 4):
        t = (2 * j + 1) * angle / step
        terms[j] = _transform(products, flint.acb(1, t)) * flint.acb(0, -t * start * step).exp()
    sums = flint.acb.dft(terms)
    factor = 2 / (flint.arb(count) * step)
    values = [(s * flint.acb(0, -n * angle).exp()).real * factor for n, s in enumerate(sums)]
    middles = np.array([float(v.mid()) for v in values])
    error = max(float(v.rad()) for v in values)
    samples = Samples(step, float(start), middles, error)
    return replace(samples, error=error + samples.rounding)
