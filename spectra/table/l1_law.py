r"""The laws of the frequencies of a truncated l1 distance, in dimension d = 2 or 3.

Its signed density is mu:

.. math:: (1 - |x|_1)_+ = \int e^{i w \cdot x} \mu(w)\,dw, \qquad
          \mu(w) = \pi^{-d} (-1)^{d-1} [w_1^2, \ldots, w_d^2]\, G,

a divided difference of G(x) = sin(sqrt x) / sqrt x in d = 2 and of cos(sqrt x) in d = 3.  With
Student's densities :math:`t_\alpha` and :math:`t_\beta`, the proposal density

.. math:: q(w) = \frac1d \sum_j t_\beta(w_j)
                 \prod_{i \ne j} \tfrac12 \bigl(t_\alpha(w_i - w_j) + t_\alpha(w_i + w_j)\bigr)

has a characteristic function in closed form, and |mu| <= c q with a constant c (proof in
docs/l1.md).  So (c q + mu)/2 and (c q - mu)/2 are positive densities with the difference mu.
Frequencies are drawn from them by rejection sampling.
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
from spectra.table.parts import PHASES, Group, Part

__all__ = [
    "MAX_RATIO",
    "TruncatedLaw",
    "check_l1_kernel",
    "l1_density",
    "truncated_density",
    "truncated_parts",
]

#: Pairs of a weight and a rate or radius.
_Terms = Sequence[tuple[float, float]]
#: The bound c of |mu|/q for d = 2 and 3; the largest ratios are 3.7085 and 15.50.
MAX_RATIO = {2: 3.8, 3: 15.9}
# For each d: (degrees of freedom, width) of t_beta and of t_alpha.  The proof needs
# beta + (d - 1) alpha = 1; the free parameters minimize c.
_PROPOSALS = {2: ((0.5, 1.25), (0.5, 2.0)), 3: ((0.5, 1.65), (0.25, 1.55))}
# Divided differences at |w_j| closer than _CLOSE are computed by Cauchy integrals, on a circle
# about the mean |w_j| or, if it is below _NEAR_ZERO, about 0; radii of the two circles; nodes.
_CLOSE, _NEAR_ZERO, _CIRCLES, _NODES = 0.5, 3.0, (2.0, 6.0), 64
# Rounding errors: of sums of coordinates with signs, relative to |D|_1; of masses (relative) and
# exponentials; of characteristic functions.  Arguments at which Bessel's K is finite and positive.
_SUM_ROUNDING, _ROUNDING, _VALUE_ROUNDING, _K_RANGE = 2.0**-50, 2.0**-50, 1e-13, (1e-300, 1e3)
# Largest number of proposals in a block of rejection sampling; about half of them are accepted.
_BLOCK = 4096


@final
@dataclass(frozen=True)
class TruncatedLaw:
    """The law of density (c q + side mu)/(c + side): a part of max(1 - |x|_1, 0); side 1 or -1."""

    side: int

    def characteristic_function(self, D: FloatArray) -> tuple[FloatArray, FloatArray]:
        """E cos(w.D) at differences of shape (..., d), and its error."""
        c = MAX_RATIO[D.shape[-1]]
        value, error = _proposal_characteristic(D)
        kernel = np.maximum(1.0 - np.abs(D).sum(axis=-1), 0.0)
        total = c + self.side
        return (c * value + self.side * kernel) / total, c / total * error

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies, shape (size, dim)."""
        return _draw_truncated(size, dim, self.side, rng)


def truncated_parts(dim: int, formula: str) -> tuple[Part, ...]:
    """The parts of max(1 - |x|_1, 0) on R^dim; an error where there are none."""
    check_l1_kernel(dim, formula, truncated=True)
    masses = {side: 0.5 * (MAX_RATIO[dim] + side) for side in PHASES}
    return tuple(
        Part(mass, _ROUNDING * mass, PHASES[side], (Group(TruncatedLaw(side)),))
        for side, mass in masses.items()
    )


def check_l1_kernel(dim: int, formula: str, *, truncated: bool) -> None:
    """Raise an error for dimensions in which a kernel of the l1 distance has no density here."""
    if dim < 2:
        raise ParameterError(
            "A table of the l1 distance needs at least two columns. In one column use the radial "
            "kernel l1(...).profile."
        )
    if truncated and dim not in MAX_RATIO:
        raise NoRouteError(
            f"The measure of {formula} has finite mass in d = {dim}, but truncated distances are "
            f"implemented for d in {list(MAX_RATIO)} only: their mass grows exponentially.",
            in_python="If no distance in your data exceeds the radius, SpectralFeatures("
            "kernel, domain='data') needs no measure.",
        )


def l1_density(w: ArrayLike, dim: int, truncated: _Terms, exponentials: _Terms) -> FloatArray:
    """The signed density on R^dim at frequencies, shape (..., dim); without atoms of constants."""
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
    moduli = np.sort(np.abs(w), axis=-1)
    close = moduli[:, -1] - moduli[:, 0] < _CLOSE
    found = np.empty(len(w))
    found[close] = _cauchy_integral(moduli[close])
    *lower, b, a = moduli[~close].T
    if lower:
        c = lower[0]
        found[~close] = (_divide_cosines(a, b) - _divide_cosines(b, c)) / ((a - c) * (a + c))
    else:
        found[~close] = (_sinc(b) - _sinc(a)) / ((a - b) * (a + b))
    return np.asarray(found / np.pi ** w.shape[-1])


def _sinc(w: FloatArray) -> FloatArray:
    """sin(w)/w at w >= 0.  (np.sinc multiplies by pi, which rounds.)"""
    return np.where(w > 0.0, np.sin(w) / np.maximum(w, 1e-300), 1.0)


def _divide_cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """(cos a - cos b)/(a^2 - b^2) for a >= b >= 0, computed without cancellation."""
    half = 0.5 * (a - b)
    middle = b + half
    sine = np.sin(b) * np.cos(half) + np.cos(b) * np.sin(half)
    return -0.5 * _sinc(half) * np.where(middle > 0.0, sine / np.maximum(middle, 1e-300), 1.0)


def _cauchy_integral(moduli: FloatArray) -> FloatArray:
    """(-1)^(d-1) times the divided difference at the squares of moduli that are close."""
    dim, mean = moduli.shape[1], moduli.mean(axis=1)
    around_zero = mean < _NEAR_ZERO
    center = np.where(around_zero, 0.0, mean)[:, None]
    unit_circle = np.exp(2j * np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    offset = np.where(around_zero, _CIRCLES[1], _CIRCLES[0])[:, None] * unit_circle
    u = center + offset
    if dim == 2:
        value = -(np.sin(center) * np.cos(offset) + np.cos(center) * np.sin(offset)) / u
    else:
        value = np.cos(center) * np.cos(offset) - np.sin(center) * np.sin(offset)
    for w in moduli.T[:, :, None]:
        value = value / ((offset - (w - center)) * (u + w))
    # d(u^2) = 2 u du.  A circle around 0 encloses both w and -w, which counts every w^2 twice.
    factor = np.where(around_zero, 1.0, 2.0)
    return np.asarray(factor * np.mean(value * u * offset, axis=1).real)


def _student(x: FloatArray, freedom: float, width: float) -> FloatArray:
    """The density proportional to (1 + (x/width)^2)^(-(freedom + 1)/2)."""
    power: FloatArray = (1.0 + (x / width) ** 2) ** (-0.5 * (freedom + 1))
    return np.asarray(power / (width * beta(0.5, 0.5 * freedom)))


def _student_characteristic(t: FloatArray, freedom: float, width: float) -> FloatArray:
    """The characteristic function of :func:`_student`, a Matern kernel."""
    z, order = np.clip(np.abs(t) * width, *_K_RANGE), 0.5 * freedom
    scale = 2.0 ** (1.0 - order) / gamma(order)
    return np.where(t != 0.0, scale * z**order * kve(order, z) * np.exp(-z), 1.0)


def _proposal_density(w: FloatArray) -> FloatArray:
    """q at frequencies of shape (n, d)."""
    dim = w.shape[-1]
    t_beta, t_alpha = _PROPOSALS[dim]
    total: FloatArray = np.zeros(len(w))
    for j in range(dim):
        term = _student(w[:, j], *t_beta) / dim
        for i in set(range(dim)) - {j}:
            both = np.stack([w[:, i] - w[:, j], w[:, i] + w[:, j]])
            term *= _student(both, *t_alpha).mean(axis=0)
        total += term
    return total


def _proposal_characteristic(D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The characteristic function of q at differences of shape (..., d), and its rounding error."""
    dim = D.shape[-1]
    t_beta, t_alpha = _PROPOSALS[dim]
    # A product of cosines is the mean over signs of the cosine of the signed sum.
    signs = [(1.0, *rest) for rest in product((1.0, -1.0), repeat=dim - 1)]
    sums = np.abs(D @ np.array(signs).T)
    each = _student_characteristic(D, *t_alpha)
    factor = np.mean([np.prod(np.delete(each, j, axis=-1), axis=-1) for j in range(dim)], axis=0)
    # Near 0 the function falls like a root of ``sums``, which amplifies their rounding errors.
    rounding = _SUM_ROUNDING * np.abs(D).sum(axis=-1)[..., None]
    upper, value, lower = (
        np.mean(_student_characteristic(t, *t_beta), axis=-1) * factor
        for t in (np.maximum(sums - rounding, 0.0), sums, sums + rounding)
    )
    return np.asarray(value), np.asarray(upper - lower + _VALUE_ROUNDING)


def _draw_truncated(size: int, dim: int, sign: float, rng: np.random.Generator) -> FloatArray:
    """Independent draws from (c q + mu)/(c + 1) for the sign 1, (c q - mu)/(c - 1) for -1."""
    (beta_freedom, beta_width), (alpha_freedom, alpha_width) = _PROPOSALS[dim]
    accepted, missing = [np.zeros((0, dim))], size
    while missing > 0:
        n = min(_BLOCK, 3 * missing + 8)
        # standard_t(m)/sqrt(m) has the density proportional to (1 + x^2)^(-(m + 1)/2).
        w_j = rng.standard_t(beta_freedom, n) * (beta_width / np.sqrt(beta_freedom))
        offsets = rng.standard_t(alpha_freedom, (n, dim)) * (alpha_width / np.sqrt(alpha_freedom))
        w = rng.choice([-1.0, 1.0], (n, dim)) * (w_j[:, None] + offsets)
        w[np.arange(n), rng.integers(dim, size=n)] = w_j
        ratio = truncated_density(w) / (MAX_RATIO[dim] * _proposal_density(w))
        if not np.all(np.abs(ratio) <= 1.0):
            raise AccuracyError(f"The density of a truncated distance exceeds its bound in {w}.")
        accepted.append(w[rng.random(n) < 0.5 * (1.0 + sign * ratio)][:missing])
        missing -= len(accepted[-1])
    return np.concatenate(accepted)
