r"""Tables of kernels of the l1 distance: sums of exponentials and truncated distances.

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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gamma
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta, kve

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import real_array
from spectra.errors import AccuracyError, DataError, NoRouteError, ParameterError
from spectra.table.parted_table import FrequencySample, PartedTable
from spectra.table.table_file import Arrays

__all__ = ["DOMINANCE", "L1Part", "L1Table", "truncated_density"]

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
class L1Part:
    """A part of a kernel of the l1 distance: a positive mass and its sign.

    ``wave`` is E cos(w.D) at differences of shape (..., d), with its error; ``draw`` makes
    independent frequencies of shape (size, d).
    """

    mass: float
    mass_error: float
    sign: float
    wave: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    draw: Callable[[int, np.random.Generator], FloatArray]


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class L1Table(PartedTable):
    """A tabulated measure of a kernel of the l1 distance in d >= 2 columns.

    Parameters
    ----------
    dim : int
        Number of columns of the data.
    hats : tuple of (weight, radius)
        Truncated l1 distances weight * max(radius - z, 0); dim is then 2 or 3.
    exponentials : tuple of (weight, rate)
        Summands weight * exp(-rate * z); a constant has the rate 0.
    formula : str

    Examples
    --------
    >>> from spectra import derive, l1
    >>> table = derive(l1("Max(1 - z, 0)"), 2, cache=False)
    >>> [(p.sign, round(p.mass, 12)) for p in table.parts], table.is_jordan
    ([(1.0, 2.4), (-1.0, 1.4)], False)
    """

    dim: int
    hats: tuple[tuple[float, float], ...]
    exponentials: tuple[tuple[float, float], ...]
    formula: str

    version = 3
    convention = "k(D) = sum weight * max(radius - |D|_1, 0) + sum weight * exp(-rate * |D|_1)"
    # Nothing is interpolated or left out.
    u_error, bias, provenance = 0.0, 0.0, "closed form"

    def __post_init__(self) -> None:
        numbers = np.array([*self.hats, *self.exponentials], dtype=float).reshape(-1, 2)
        if self.dim < 2 or not np.all(np.isfinite(numbers)) or np.any(numbers[:, 1] < 0.0):
            raise ParameterError(
                f"dim = {self.dim} with the summands {numbers.tolist()}: a table of the l1 "
                "distance has at least two columns and finite numbers. In one column the kernel "
                "is the radial kernel l1(...).profile."
            )
        if self.hats and self.dim not in DOMINANCE:
            raise NoRouteError(
                f"The measure of {self.formula} has finite mass in d = {self.dim}, but truncated "
                f"distances are drawn in d = {list(DOMINANCE)} only, as their mass grows by a "
                "factor with every column.",
                in_python="If no distance in your data exceeds the radius, SpectralFeatures("
                "kernel, domain='data') needs no measure.",
            )

    def __repr__(self) -> str:
        return f"L1Table of {self.formula} on R^{self.dim}: {len(self.parts)} part(s)"

    @cached_property
    def parts(self) -> tuple[L1Part, ...]:
        """The parts, each a positive mass with a sign; first those of exponentials."""
        return (
            *(_exponential_part(*pair, self.dim) for pair in self.exponentials),
            *(_truncated_part(*hat, self.dim, sign) for hat in self.hats for sign in (1.0, -1.0)),
        )

    @property
    def is_jordan(self) -> bool:
        """Whether all parts have one sign: parts of both overlap, and are no Jordan parts."""
        return len({p.sign for p in self.parts}) < 2

    @property
    def k_zero(self) -> float:
        """k(0)."""
        return float(sum(c * r for c, r in self.hats) + sum(c for c, _ in self.exponentials))

    def density(self, w: ArrayLike) -> FloatArray:
        """The density on R^d at frequencies of shape (..., d), without the atom of a constant."""
        points = real_array(w, "The frequencies", error=DataError)
        if points.shape[-1:] != (self.dim,) or not np.all(np.isfinite(points)):
            raise DataError(f"Give finite frequencies of shape (..., {self.dim}).")
        rows = points.reshape(-1, self.dim)
        value = np.zeros(len(rows))
        for c, rate in (pair for pair in self.exponentials if pair[1] > 0.0):
            value += c * np.prod(1.0 / (np.pi * rate * (1.0 + (rows / rate) ** 2)), axis=1)
        for c, radius in self.hats:
            value += c * radius ** (self.dim + 1) * truncated_density(radius * rows)
        return value.reshape(points.shape[:-1])

    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        D = self._differences(differences)
        value, error = np.zeros((2, *D.shape[:-1]))
        for part in self.parts:
            wave, lost = part.wave(D)
            value = value + part.sign * part.mass * wave
            error = error + part.mass * lost + part.mass_error * np.abs(wave)
        return value, error

    def _draw(self, chosen: IntArray, drawn: FrequencySample, rng: np.random.Generator) -> None:
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(chosen == number)
            drawn.frequencies[rows] = part.draw(rows.size, rng)

    def _members(self) -> tuple[dict[str, Any], Arrays]:
        return {"hats": self.hats, "exponentials": self.exponentials}, {}

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        pairs = {
            name: tuple((float(a), float(b)) for a, b in header[name])
            for name in ("hats", "exponentials")
        }
        return cls(dim=header["dim"], formula=str(header["formula"]), **pairs)


def _exponential_part(weight: float, rate: float, dim: int) -> L1Part:
    def wave(D: FloatArray) -> tuple[FloatArray, FloatArray]:
        value = np.exp(-rate * np.abs(D).sum(axis=-1))
        return value, np.full_like(value, _ROUNDING)

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        return rate * rng.standard_cauchy((size, dim))

    return L1Part(abs(weight), 0.0, float(np.sign(weight)), wave, draw)


def _truncated_part(weight: float, radius: float, dim: int, sign: float) -> L1Part:
    """(c q + s mu)/2 of weight * max(radius - z, 0), the part of one sign."""
    c, own = DOMINANCE[dim], sign * float(np.sign(weight))
    mass = 0.5 * (c + own) * abs(weight * radius)

    def wave(D: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, error = _proposal_wave(D / radius)
        kernel = np.maximum(1.0 - np.abs(D / radius).sum(axis=-1), 0.0)
        return (c * value + own * kernel) / (c + own), c / (c + own) * error

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        return _draw_truncated(size, dim, own, rng) / radius

    return L1Part(mass, _ROUNDING * mass, sign, wave, draw)


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
    # A product of cosines of one w_j is the mean over signs of one cosine.
    signs = [(1.0, *rest) for rest in product((1.0, -1.0), repeat=dim - 1)]
    sums = np.abs(D @ np.array(signs).T)
    each = _student_wave(D, *offset)
    factor = np.mean([np.prod(np.delete(each, j, axis=-1), axis=-1) for j in range(dim)], axis=0)
    # Near 0 the wave falls like a root, so that rounding of a sum that cancels counts.
    moved = _SUM_ROUNDING * np.abs(D).sum(axis=-1)[..., None]
    nearer, exact, farther = (
        np.mean(_student_wave(t, *common), axis=-1) * factor
        for t in (np.maximum(sums - moved, 0.0), sums, sums + moved)
    )
    return np.asarray(exact), np.asarray(nearer - farther + _WAVE_ROUNDING)


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
