r"""The series route: kernels whose Mellin transform M(s) is a product of Gamma functions.

With :math:`R(u) = \int_0^\infty \rho(w) w^{u-1} dw`, which M gives in closed form,

.. math:: w\rho(w) = \frac{1}{2\pi} \int_{-\infty}^\infty R(1 + it)\, w^{-it}\, dt .

The trapezoidal rule gives the values on one period of log w by one discrete Fourier transform,
exact but for images a period away: the period is doubled until both of its ends are negligible.
Every dimension costs about the same.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, log_of, working
from spectra.density.closed_pairs.pair import ClosedPair
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.gamma_sums.gamma_product import BITS, GammaProduct, gamma_products
from spectra.density.half_line.half_line_formula import split_limit
from spectra.density.half_line.power_tail import power_tail
from spectra.density.half_line.ray_sums import NEGLIGIBLE, Samples
from spectra.density.half_line.sampled_density import sampled_density
from spectra.density.lookup import known_part
from spectra.errors import AccuracyError
from spectra.kernels.kernel import Kernel

__all__ = ["series"]

# The sum ends where R is below exp(-60) of its largest value, and has no more terms than this.
_END, _MOST_TERMS = 60.0, 60_000
# Half of the first period, beyond the powers at both ends, which are followed down to exp(-38).
_ROOM, _DEPTH = 18.0, 38.0
_MOST_DOUBLINGS = 3
# So many samples at both ends of a period are negligible, or it is doubled.
_EDGE = 64
# Radii stay doubles.
_FARTHEST = 300.0


def series(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density by the inverse Mellin transform, or None if a summand has none.

    In a sum with summands of the catalogue those keep their closed forms.

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
    known: list[ClosedPair] = []
    atoms: list[Atom] = []
    products = gamma_products(rest)
    if products is None:
        known, atoms, rest = known_part(rest, dim)
        products = gamma_products(rest)
    component = _density_of(rest, products, dim) if products else None
    if component is None:
        return None
    return SpectralDensity(kernel, dim, (*known, component), tuple(atoms), "series")


def _density_of(expr: sympy.Expr, products: list[GammaProduct], dim: int) -> Component | None:
    """The density of a formula with these Mellin transforms; None if the sums do not settle."""
    for product in products:
        # Bounded at zero, and with limit zero at infinity: another limit would be an atom.
        left, right = product.strip
        if left > 0 or right <= 0 or not product.decay.is_positive:
            return None
    _, found = split_limit(expr)
    ending = power_tail(found.expansion_at_zero, dim)
    gaps = min(found.decay, float(dim)), -float(ending[0].exponents[0]) - 1.0 if ending else np.inf
    samples = _sample_inverse([product.radial(dim) for product in products], *gaps)
    if samples is None or not np.all(np.isfinite(samples.values)):
        return None
    try:
        return sampled_density(samples, found.value_at_zero, dim, found.decay, ending)
    except AccuracyError:
        # Waves too fast for these panels in high dimension, or a tail that does not agree: other
        # routes may know the kernel.
        return None


def _sample_inverse(products: list[GammaProduct], rise: float, fall: float) -> Samples | None:
    """w rho on one period of log w; None if that takes too many terms.

    w rho rises like w^rise at the origin and falls like w^-fall at infinity.
    """
    below, above = (_ROOM + _DEPTH / power for power in (rise, fall))
    with working(BITS):
        centre, height = _mean_log(products, -min(0.25, 0.5 * rise)), _height(products)
        # Values are interpolated to 1e-16 at four samples for each period of the fastest wave.
        step = float(2.0 ** np.floor(np.log2(pi / (2.0 * height))))
        for _ in range(_MOST_DOUBLINGS):
            count = 1 << int(np.ceil(np.log2((below + above) / step)))
            if count > 4 * _MOST_TERMS:
                return None
            samples = _sample_period(products, round((centre - below) / step), count, step)
            sizes = np.abs(samples.values)
            if max(sizes[:_EDGE].max(), sizes[-_EDGE:].max()) <= NEGLIGIBLE * samples.peak:
                return replace(samples, values=samples.values[samples.log_w < _FARTHEST])
            below, above = 2.0 * below, 2.0 * above
    return None


def _mean_log(products: list[GammaProduct], tilt: float) -> float:
    """The mean of log w under w^tilt rho."""
    small = 2.0**-30
    turn = _transform(products, flint.acb(1.0 + tilt, small)) ** 2
    return float(turn.arg().mid()) / (2.0 * small)


def _height(products: list[GammaProduct]) -> float:
    """The t from which on |R(1 + it)| is negligible."""
    top, height = -np.inf, 1.0
    while height < _MOST_TERMS:
        size = log_of(_transform(products, flint.acb(1, height)))
        top = max(top, size)
        if size < top - _END:
            break
        height *= 1.125
    return height


def _transform(products: list[GammaProduct], u: Ball) -> Ball:
    """R(u) of a sum of products."""
    return sum((product.value(u) for product in products), flint.acb(0))


def _sample_period(products: list[GammaProduct], start: int, count: int, step: float) -> Samples:
    """The trapezoidal sums at log w = (start + n) step, n < count.

    Heights are odd multiples of half of the step in t: at t = 0 zeros and poles may cancel.
    """
    turn = flint.arb(1) / count
    terms = [flint.acb(0)] * count
    for j in range(count // 4):
        t = (2 * j + 1) * flint.arb.pi() * turn / step
        terms[j] = _transform(products, flint.acb(1, t)) * flint.acb(0, -t * start * step).exp()
    sums = flint.acb.dft(terms)
    unit = 2 / (flint.arb(count) * step)
    values = [
        (s * flint.acb(0, -flint.arb.pi() * n * turn).exp()).real * unit for n, s in enumerate(sums)
    ]
    rounded = np.array([float(v.mid()) for v in values])
    wrong = max(float(v.rad()) for v in values)
    samples = Samples(step, float(start), rounded, wrong)
    return replace(samples, error=wrong + samples.rounding)
