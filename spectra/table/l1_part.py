r"""Parts of kernels of the l1 distance: exponentials and truncated distances.

The frequencies of exp(-t |x|_1) are t times independent Cauchy variables.  A truncated distance in
d = 2 and 3 is a difference of two positive measures:

.. math:: (1 - |x|_1)_+ = \int e^{i w \cdot x} \mu(w)\,dw, \qquad
          \mu(w) = \pi^{-d} (-1)^{d-1} [w_1^2, \ldots, w_d^2]\, G,

a divided difference of G(x) = sin(sqrt x) / sqrt x in d = 2 and of cos(sqrt x) in d = 3.  With
Student's t densities, the proposal density

.. math:: q(w) = \frac1d \sum_j t_\beta(w_j)
                 \prod_{i \ne j} \tfrac12 \bigl(t_\alpha(w_i - w_j) + t_\alpha(w_i + w_j)\bigr)

has a characteristic function in closed form, and |mu| <= c q (proof in docs/l1.md).  So
(c q + mu)/2 and (c q - mu)/2 are positive measures, which are drawn by rejection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gamma
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta, kve

from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, DataError, NoRouteError, ParameterError
from spectra.table.parts import PHASES, SignedMass

__all__ = ["DOMINANCE", "L1Part", "check_l1_kernel", "l1_density", "l1_parts", "truncated_density"]

#: A weight and a rate or radius.
_Terms = Sequence[tuple[float, float]]
#: The constant c for each dimension d.  The largest ratio |mu|/q is 3.7085 and 15.50.
DOMINANCE = {2: 3.8, 3: 15.9}
# beta and alpha, each with its width.  The proof needs beta + (d - 1) alpha = 1; the rest was
# chosen by a search for the least c.
_PROPOSALS = {2: ((0.5, 1.25), (0.5, 2.0)), 3: ((0.5, 1.65), (0.25, 1.55))}
# Frequencies that are closer than this are enclosed by one circle, on which the divided difference
# is a Cauchy integral: about their mean, or about 0 if that is below 3.
_CLOSE, _NEAR_ZERO, _RADII, _NODES = 0.5, 3.0, (2.0, 6.0), 64
# Rounding of a sum of differences, of a wave, and of masses; range of arguments of K.
_SUM_ROUNDING, _WAVE_ROUNDING, _ROUNDING, _RANGE_OF_K = 2.0**-50, 1e-13, 2.0**-50, (1e-300, 1e3)
# Most proposals in one block of rejection sampling; about half of them are accepted.
_BLOCK = 4096


@final
@dataclass(frozen=True, eq=False)
class L1Part(SignedMass):
    """A part of a kernel of the l1 distance.

    Attributes
    ----------
    mass, mass_error, phase : float
        As in :class:`~spectra.table.parts.Part`.
    scale : float
        The rate of exp(-rate |D|_1), or the radius of max(radius - |D|_1, 0).
    side : int
        0 for an exponential; 1 and -1 for the positive measures (c q + mu)/2 and (c q - mu)/2 of a
        truncated distance.
    """

    scale: float
    side: int = 0

    def wave(self, D: FloatArray) -> tuple[FloatArray, FloatArray]:
        """E cos(w.D) at differences of shape (..., d), and its error."""
        if not self.side:
            value = np.exp(-self.scale * np.abs(D).sum(axis=-1))
            return value, np.full_like(value, _ROUNDING)
        c, x = DOMINANCE[D.shape[-1]], D / self.scale
        value, error = _proposal_wave(x)
        kernel = np.maximum(1.0 - np.abs(x).sum(axis=-1), 0.0)
        size = c + self.side
        return (c * value + self.side * kernel) / size, c / size * error

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies, shape (size, dim)."""
        if not self.side:
            return self.scale * rng.standard_cauchy((size, dim))
        return _draw_truncated(size, dim, self.side, rng) / self.scale

    def kernel(self, dim: int, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the part adds to the kernel at differences, shape (..., d), and its error."""
        wave, error = self.wave(points)
        return self.sign * self.mass * wave, self.mass * error + self.mass_error * np.abs(wave)


def l1_parts(dim: int, truncated: _Terms, exponentials: _Terms) -> tuple[L1Part, ...]:
    """The parts of sum weight * max(radius - z, 0) + sum weight * exp(-rate * z) in d = dim.

    ``truncated``: pairs (weight, radius); ``exponentials``: pairs (weight, rate), with rate 0 for a
    constant; z is the l1 distance.
    """
    found = [L1Part(abs(c), 0.0, PHASES[int(np.sign(c))], t) for c, t in exponentials]
    for weight, radius in truncated:
        for sign, phase in PHASES.items():
            side = sign if weight > 0.0 else -sign
            mass = 0.5 * (DOMINANCE[dim] + side) * abs(weight * radius)
            found.append(L1Part(mass, _ROUNDING * mass, phase, radius, side))
    return tuple(found)


def check_l1_kernel(dim: int, truncated: _Terms, formula: str) -> None:
    """Refuse a number of columns in which a kernel of the l1 distance has no parts."""
    if dim < 2:
        raise ParameterError(
            "A table of the l1 distance has at least two columns. In one column the kernel is the "
            "radial kernel l1(...).profile."
        )
    if truncated and dim not in DOMINANCE:
        raise NoRouteError(
            f"The measure of {formula} has finite mass in d = {dim}, but truncated distances are "
            f"drawn in d = {list(DOMINANCE)} only, as their mass grows by a factor with every "
            "column.",
            in_python="If no distance in your data exceeds the radius, SpectralFeatures("
            "kernel, domain='data') needs no measure.",
        )


def l1_density(w: ArrayLike, dim: int, truncated: _Terms, exponentials: _Terms) -> FloatArray:
    """The density on R^dim at frequencies of shape (..., dim), without the atom of a constant."""
    points = real_array(w, "The frequencies", error=DataError)
    if points.shape[-1:] != (dim,) or not np.all(np.isfinite(points)):
        raise DataError(f"Give finite frequencies of shape (..., {dim}).")
    rows = points.reshape(-1, dim)
    value = np.zeros(len(rows))
    for c, rate in (pair for pair in exponentials if pair[1] > 0.0):
        value += c * np.prod(1.0 / (np.pi * rate * (1.0 + (rows / rate) ** 2)), axis=1)
    for c, radius in truncated:
        value += c * radius ** (dim + 1) * truncated_density(radius * rows)
    return value.reshape(points.shape[:-1])


def truncated_density(w: FloatArray) -> FloatArray:
    """mu of (1 - |x|_1)_+ at frequencies of shape (n, 2) or (n, 3): shape (n,)."""
    nodes = np.sort(np.abs(w), axis=-1)
    close = nodes[:, -1] - nodes[:, 0] < _CLOSE
    found = np.empty(len(w))
    found[close] = _cauchy_integral(nodes[close])
    *lower, b, a = nodes[~close].T
    if lower:
        c = lower[0]
        found[~close] = (_cosines(a, b) - _cosines(b, c)) / ((a - c) * (a + c))
    else:
        found[~close] = (_sinc(b) - _sinc(a)) / ((a - b) * (a + b))
    return np.asarray(found / np.pi ** w.shape[-1])


def _sinc(w: FloatArray) -> FloatArray:
    """sin(w)/w at w >= 0, with the phase of w itself."""
    return np.where(w > 0.0, np.sin(w) / np.maximum(w, 1e-300), 1.0)


def _cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """(cos a - cos b)/(a^2 - b^2), a >= b >= 0, without a difference of cosines."""
    half = 0.5 * (a - b)
    middle = b + half
    sine = np.sin(b) * np.cos(half) + np.cos(b) * np.sin(half)
    return -0.5 * _sinc(half) * np.where(middle > 0.0, sine / np.maximum(middle, 1e-300), 1.0)


def _cauchy_integral(nodes: FloatArray) -> FloatArray:
    """(-1)^(d-1) times the divided difference at the squares of nodes that are close."""
    dim, mean = nodes.shape[1], nodes.mean(axis=1)
    around_zero = mean < _NEAR_ZERO
    center = np.where(around_zero, 0.0, mean)[:, None]
    angle = np.exp(2j * np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    offset = np.where(around_zero, _RADII[1], _RADII[0])[:, None] * angle
    u = center + offset
    if dim == 2:
        wave = -(np.sin(center) * np.cos(offset) + np.cos(center) * np.sin(offset)) / u
    else:
        wave = np.cos(center) * np.cos(offset) - np.sin(center) * np.sin(offset)
    for w in nodes.T[:, :, None]:
        wave = wave / ((offset - (w - center)) * (u + w))
    # A circle about 0 encloses w and -w.
    share = np.where(around_zero, 1.0, 2.0)
    return np.asarray(share * np.mean(wave * u * offset, axis=1).real)


def _student(x: FloatArray, tail: float, width: float) -> FloatArray:
    """The density proportional to (1 + (x/width)^2)^(-(tail + 1)/2)."""
    power: FloatArray = (1.0 + (x / width) ** 2) ** (-0.5 * (tail + 1))
    return np.asarray(power / (width * beta(0.5, 0.5 * tail)))


def _student_wave(t: FloatArray, tail: float, width: float) -> FloatArray:
    """Its characteristic function, a Matern kernel."""
    z, order = np.clip(np.abs(t) * width, *_RANGE_OF_K), 0.5 * tail
    scale = 2.0 ** (1.0 - order) / gamma(order)
    return np.where(t != 0.0, scale * z**order * kve(order, z) * np.exp(-z), 1.0)


def _proposal_density(w: FloatArray) -> FloatArray:
    """q at frequencies of shape (n, d)."""
    dim = w.shape[-1]
    common, offset = _PROPOSALS[dim]
    total: FloatArray = np.zeros(len(w))
    for j in range(dim):
        term = _student(w[:, j], *common) / dim
        for i in set(range(dim)) - {j}:
            both = np.stack([w[:, i] - w[:, j], w[:, i] + w[:, j]])
            term *= _student(both, *offset).mean(axis=0)
        total += term
    return total


def _proposal_wave(D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The characteristic function of q at differences of shape (..., d), and its rounding error."""
    dim = D.shape[-1]
    common, offset = _PROPOSALS[dim]
    # A product of cosines is the mean over signs of the cosine of the signed sum.
    signs = [(1.0, *rest) for rest in product((1.0, -1.0), repeat=dim - 1)]
    sums = np.abs(D @ np.array(signs).T)
    each = _student_wave(D, *offset)
    factor = np.mean([np.prod(np.delete(each, j, axis=-1), axis=-1) for j in range(dim)], axis=0)
    # Near 0 the wave falls like a root, so that rounding errors of ``sums`` matter.
    rounding = _SUM_ROUNDING * np.abs(D).sum(axis=-1)[..., None]
    upper, value, lower = (
        np.mean(_student_wave(t, *common), axis=-1) * factor
        for t in (np.maximum(sums - rounding, 0.0), sums, sums + rounding)
    )
    return np.asarray(value), np.asarray(upper - lower + _WAVE_ROUNDING)


def _draw_truncated(size: int, dim: int, sign: float, rng: np.random.Generator) -> FloatArray:
    """Independent draws from (c q + mu)/(c + 1) for the sign 1, (c q - mu)/(c - 1) for -1."""
    (tail, width), (offset_tail, offset_width) = _PROPOSALS[dim]
    found, left = [np.zeros((0, dim))], size
    while left > 0:
        n = min(_BLOCK, 3 * left + 8)
        # standard_t(m)/sqrt(m) has the density (1 + x^2)^(-(m + 1)/2).
        common = rng.standard_t(tail, n) * (width / np.sqrt(tail))
        spread = rng.standard_t(offset_tail, (n, dim)) * (offset_width / np.sqrt(offset_tail))
        w = rng.choice([-1.0, 1.0], (n, dim)) * (common[:, None] + spread)
        w[np.arange(n), rng.integers(dim, size=n)] = common
        ratio = truncated_density(w) / (DOMINANCE[dim] * _proposal_density(w))
        if not np.all(np.abs(ratio) <= 1.0):
            raise AccuracyError(f"The density of a truncated distance exceeds its bound in {w}.")
        found.append(w[rng.random(n) < 0.5 * (1.0 + sign * ratio)][:left])
        left -= len(found[-1])
    return np.concatenate(found)
