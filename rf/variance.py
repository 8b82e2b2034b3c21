r"""The exact variance of the random-feature estimate of a kernel, for every coupling.

A table is a sum of parts with masses m_p and signs s_p; the estimate at a distance z is

.. math:: \hat k = \sum_p s_p \frac{m_p}{n_p} \sum_{i \le n_p} \cos(R_{pi} z\, u_{pi} \cdot e),

with radii R of the laws of the parts and uniform unit directions u.  Its variance is

.. math:: \sum_p \frac{m_p^2}{n_p} \Bigl[\frac{1 + \tilde k_p(2z)}{2} - \tilde k_p(z)^2\Bigr]
          + \sum_{(p,i) \ne (q,j)} s_p s_q \frac{m_p m_q}{n_p n_q} C_{pi,qj}(z),

and for two directions with a random cosine c and independent radii

.. math:: C(z) = \sum_{n = 2, 4, \dots} H_n^p H_n^q\, E P_n(c), \qquad H_n^p = E g_n(R_p z),

with the normalised wave coefficients g_n of :mod:`rf.harmonics`.  For c = 0 the sum is
E Omega_d(z sqrt(R^2 + R'^2)) - E Omega_d(R z) E Omega_d(R' z): the statement of Choromanski et
al. (2018) and of Luo et al. (2021), Theorem 5, there with the opposite sign.

In dimension 1 a cosine does not see its direction, so every coupling of directions is iid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rf.directions import haar_order
from rf.harmonics import gegenbauer_means, haar_cosine, wave_coefficients
from spectra.errors import ParameterError
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.table import RadialLaw, SpectralTable

__all__ = ["COUPLINGS", "VarianceModel", "optimal_allocation", "part_variance", "variance"]

FloatArray = NDArray[np.float64]

#: The couplings whose variance is known.  "hadamard" is approximated by the Haar matrix that the
#: structured product imitates; "qmc" has no closed form and is refused.
COUPLINGS = ("iid", "orthogonal", "haar", "shared", "comonotone", "simplex", "hadamard")

# Degrees of the harmonic sum are doubled until the bound of what is left out is below this part
# of the squared mass, far below any variance that an experiment can see.
_TOLERANCE = 1e-10
_FIRST_DEGREE = 16
_LAST_DEGREE = 1024
# Wave coefficients held at one time (32 MB of doubles).
_CHUNK = 4_000_000
# What the laws promise for their expected plane waves; a variance needs a few of them.
_MEAN_ERROR = 1e-12
# Panels of the quadrature in the common u of two laws: down to 2**-_DYADIC on both sides.
_DYADIC = 50
_PANEL_NODES = 12
# Phase that one panel of _PANEL_NODES Gauss points integrates to rounding error.
_PANEL_PHASE = 6.0
_MOST_PANELS = 400


@dataclass(frozen=True)
class _Pairs:
    """``count`` pairs of frequencies of the parts ``first``, ``second`` with one law of cosine."""

    first: int
    second: int
    kind: str
    count: int


def _blocks(n: int, size: int) -> list[int]:
    """Sizes of the blocks that n directions fill, the last one perhaps partly."""
    full, rest = divmod(n, size)
    return [size] * full + ([rest] if rest else [])


def hadamard_size(dim: int) -> int:
    """The power of two to which rows are padded before a Hadamard transform."""
    return 1 << (dim - 1).bit_length()


def _coupled_pairs(coupling: str, n_per_part: Sequence[int], dim: int) -> list[_Pairs]:
    """All pairs that are not independent: ordered ones within a part, unordered parts p < q."""
    if dim == 1 and coupling != "comonotone":
        return []
    parts = range(len(n_per_part))
    pairs = []
    block, kind = {
        "simplex": (dim + 1, "simplex"),
        "hadamard": (hadamard_size(dim), "hadamard"),
    }.get(coupling, (dim, "orthogonal"))
    for p in parts:
        n = n_per_part[p]
        if coupling == "haar":
            pairs.append(_Pairs(p, p, "haar", n * (n - 1)))
        elif coupling != "iid":
            pairs.append(_Pairs(p, p, kind, sum(b * (b - 1) for b in _blocks(n, block))))
    for p in parts:
        for q in range(p + 1, len(n_per_part)):
            n, m = sorted((n_per_part[p], n_per_part[q]))
            if coupling == "haar":
                pairs.append(_Pairs(p, q, "haar", n * m))
            elif coupling in ("shared", "comonotone"):
                # The common directions are the first n of one list of blocks.
                larger = _blocks(m, dim)[: len(_blocks(n, dim))]
                inside = sum(a * b for a, b in zip(_blocks(n, dim), larger, strict=True)) - n
                same = "comonotone" if coupling == "comonotone" else "same"
                pairs.append(_Pairs(p, q, same, n))
                pairs.append(_Pairs(p, q, "orthogonal", inside))
    return [pair for pair in pairs if pair.count > 0 and (dim > 1 or pair.kind == "comonotone")]


@dataclass(frozen=True, eq=False)
class VarianceModel:
    """All that the variance at the distances ``z`` needs, so that many splits are cheap.

    Attributes
    ----------
    table : SpectralTable
        Parts with a mass, a phase 0 or pi, and a law of radii.
    z : ndarray of shape (n,)
        Distances.
    """

    table: SpectralTable
    z: FloatArray
    _covariances: dict[tuple[int, int, str], tuple[FloatArray, FloatArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        z = np.asarray(self.z, dtype=float).ravel()
        if not np.all((z >= 0) & np.isfinite(z)):
            raise ParameterError(
                "The variance was asked for at a distance that is negative or not finite: "
                f"{z[~((z >= 0) & np.isfinite(z))][0]}. Distances are finite and at least 0."
            )
        object.__setattr__(self, "z", z)
        for number, part in enumerate(self.table.parts):
            if abs(abs(np.cos(part.phase)) - 1.0) > 1e-12:
                raise ParameterError(
                    f"Part {number} has the phase {part.phase}. The variance at a distance is "
                    "known for parts of phase 0 or pi, which a radial kernel has."
                )

    @cached_property
    def signs(self) -> FloatArray:
        """The sign of each part: cos(phase)."""
        return np.array([np.sign(np.cos(p.phase)) for p in self.table.parts])

    @cached_property
    def masses(self) -> FloatArray:
        """The mass of each part."""
        return np.array([float(p.mass) for p in self.table.parts])

    @cached_property
    def _mean(self) -> FloatArray:
        return np.array(
            [p.law.expected_plane_wave(self.table.dim, self.z) for p in self.table.parts]
        )

    @cached_property
    def _mean_square(self) -> FloatArray:
        """E cos^2 = (1 + k~(2z)) / 2."""
        return np.array(
            [
                0.5 * (1.0 + p.law.expected_plane_wave(self.table.dim, 2.0 * self.z))
                for p in self.table.parts
            ]
        )

    @cached_property
    def part_variance(self) -> FloatArray:
        """Variance of one frequency of each part, mass squared included: shape (parts, n)."""
        return np.asarray(self.masses[:, None] ** 2 * (self._mean_square - self._mean**2))

    @cached_property
    def _waves(self) -> _Waves:
        return _Waves(self.table, self.z, self._mean_square)

    def covariance(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Covariance of two cosines of the given parts (masses apart), and a bound of its error."""
        key = (first, second, kind)
        if key not in self._covariances:
            if kind == "comonotone":
                laws = self.table.parts[first].law, self.table.parts[second].law
                both, error = _comonotone_mean(self.table.dim, laws[0], laws[1], self.z)
                self._covariances[key] = both - self._mean[first] * self._mean[second], error
            else:
                self._covariances[key] = self._waves.covariance(first, second, kind)
        return self._covariances[key]

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each distance, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        _check_coupling(coupling)
        total = np.sum(self.part_variance / np.array(counts)[:, None], axis=0)
        error = float(np.sum(self.masses**2 / np.array(counts))) * 4 * _MEAN_ERROR
        errors = np.full_like(self.z, error)
        for pair in _coupled_pairs(coupling, counts, self.table.dim):
            p, q, kind = pair.first, pair.second, pair.kind
            if kind == "haar":
                kind = f"haar {haar_order(sum(counts), self.table.dim)}"
            value, bound = self.covariance(p, q, kind)
            weight = pair.count * self.masses[p] * self.masses[q] / (counts[p] * counts[q])
            weight *= (1.0 if p == q else 2.0) * self.signs[p] * self.signs[q]
            total = total + weight * value
            errors = errors + abs(weight) * bound
        return total, errors

    def mean_variance(self, n_per_part: Sequence[int], *, coupling: str) -> float:
        """Mean of the variance over the distances: the expected squared error of a Gram matrix."""
        return float(np.mean(self.variance(n_per_part, coupling=coupling)[0]))

    def optimal_allocation(self, n: int, *, coupling: str) -> tuple[int, ...]:
        """Split n frequencies over the parts so that :meth:`mean_variance` is least.

        Pairs of parts are split anew, by trying every split, until no pair changes.  With two
        parts that is the exact optimum; iid gives Neyman's rule n_p ~ mass times deviation.
        """
        _check_coupling(coupling)
        parts = len(self.table.parts)
        if n < parts:
            raise ParameterError(
                f"{n} frequencies cannot serve {parts} parts: each needs at least one."
            )
        summary = _Summary(self, coupling)
        counts = [n // parts + (1 if p < n % parts else 0) for p in range(parts)]
        changed = parts > 1
        while changed:
            changed = False
            for p in range(parts):
                for q in range(p + 1, parts):
                    best, split = summary(counts), counts[p]
                    both = counts[p] + counts[q]
                    for trial in range(1, both):
                        value = summary(
                            [*counts[:p], trial, *counts[p + 1 : q], both - trial, *counts[q + 1 :]]
                        )
                        # A relative margin, so that rounding cannot make the search go round.
                        if value < best - 1e-12 * abs(best):
                            best, split = value, trial
                    if split != counts[p]:
                        counts[p], counts[q] = split, both - split
                        changed = True
        return tuple(counts)


class _Summary:
    """The mean variance over the distances as a function of the split, from a few numbers."""

    def __init__(self, model: VarianceModel, coupling: str) -> None:
        self._model = model
        self._coupling = coupling
        self._single = model.part_variance.mean(axis=1)
        self._cross: dict[tuple[int, int, str], float] = {}

    def __call__(self, counts: Sequence[int]) -> float:
        model = self._model
        dim = model.table.dim
        total = float(np.sum(self._single / np.array(counts)))
        for pair in _coupled_pairs(self._coupling, counts, dim):
            kind = f"haar {haar_order(sum(counts), dim)}" if pair.kind == "haar" else pair.kind
            key = (pair.first, pair.second, kind)
            if key not in self._cross:
                sign = model.signs[pair.first] * model.signs[pair.second]
                scale = sign * model.masses[pair.first] * model.masses[pair.second]
                self._cross[key] = float(scale * np.mean(model.covariance(*key)[0]))
            weight = pair.count / (counts[pair.first] * counts[pair.second])
            total += (1 if pair.first == pair.second else 2) * weight * self._cross[key]
        return total


class _Waves:
    """H_n = E g_n(R z) of each part, to a degree that grows until the covariances are exact."""

    def __init__(self, table: SpectralTable, z: FloatArray, mean_square: FloatArray) -> None:
        self._table = table
        self._z = z
        self._mean_square = mean_square
        self._degree = 0
        self._means: list[FloatArray] = []
        self._beyond: list[FloatArray] = []
        self._leftover: list[float] = []

    def _extend(self, degree: int) -> None:
        dim = self._table.dim
        self._degree, self._means, self._beyond, self._leftover = degree, [], [], []
        z_max = float(self._z.max(initial=0.0))
        for number, part in enumerate(self._table.parts):
            # E g_n^2 holds phases of twice the distance.
            radii, weights, leftover = part.law.nodes(2.0 * z_max)
            means = np.empty((degree // 2, self._z.size))
            within = np.empty_like(self._z)
            rows = max(1, _CHUNK // (radii.size * (degree + 1)))
            for at in range(0, self._z.size, rows):
                here = slice(at, at + rows)
                g = wave_coefficients(dim, degree, radii * self._z[here, None])[::2]
                means[:, here] = g[1:] @ weights
                within[here] = np.sum(g**2, axis=0) @ weights
            self._means.append(means)
            # sum over even n of E g_n^2 is E cos^2: what is missing lies beyond the degree
            missing = self._mean_square[number] - within
            self._beyond.append(np.maximum(missing, 0.0) + _MEAN_ERROR)
            self._leftover.append(float(leftover))

    def covariance(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error."""
        dim = self._table.dim
        degree = max(self._degree, _FIRST_DEGREE)
        while True:
            if degree != self._degree:
                self._extend(degree)
            means, beyond = gegenbauer_means(dim, degree, *_cosine(kind, dim, degree))
            remainder = beyond * np.sqrt(self._beyond[first] * self._beyond[second])
            if degree >= _LAST_DEGREE or np.all(remainder <= _TOLERANCE):
                break
            degree *= 2
        products = self._means[first] * self._means[second]
        lost = self._leftover[first] + self._leftover[second]
        return means[2::2] @ products, remainder + lost + _MEAN_ERROR


def _cosine(kind: str, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    """The law of the cosine of a pair, as nodes and weights for even polynomials."""
    name, _, size = kind.partition(" ")
    if name == "haar":
        return haar_cosine(dim, int(size), degree)
    if name == "hadamard":
        return haar_cosine(dim, hadamard_size(dim), degree)
    value = {"orthogonal": 0.0, "same": 1.0, "simplex": -1.0 / dim}[name]
    return np.array([value]), np.ones(1)


def _comonotone_mean(
    dim: int, first: RadialLaw, second: RadialLaw, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E[cos a cos b] for one direction and radii that are one function of a common uniform u.

    It is (1/2) E[Omega_d((R + R') z) + Omega_d((R - R') z)], integrated over u on panels that
    halve towards both ends; the error compares two orders and adds the mass of the panels whose
    phase no quadrature resolves.
    """
    z_max = float(z.max(initial=0.0))
    fine, coarse = np.zeros_like(z), np.zeros_like(z)
    lost = 2.0 * 2.0**-_DYADIC
    edges = 2.0 ** -np.arange(_DYADIC, 0.0, -1.0)
    for quantile in ((first.ppf, second.ppf), (first.isf, second.isf)):
        for low, high in pairwise(edges):
            ends = np.array([low, high])
            span = abs(np.subtract(*quantile[0](ends))) + abs(np.subtract(*quantile[1](ends)))
            panels = 1 + int(min(span * z_max / _PANEL_PHASE, 1e6))
            if panels > _MOST_PANELS:
                lost += high - low
                continue
            cuts = np.linspace(low, high, panels + 1)
            for total, nodes in ((fine, _PANEL_NODES), (coarse, _PANEL_NODES - 4)):
                x, w = np.polynomial.legendre.leggauss(nodes)
                half = 0.5 * np.diff(cuts)[:, None]
                u = (0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * x).ravel()
                weights = (half * w).ravel()
                a, b = quantile[0](u)[:, None], quantile[1](u)[:, None]
                waves = plane_wave_mean(dim, (a + b) * z) + plane_wave_mean(dim, (a - b) * z)
                total += 0.5 * (weights @ waves)
    return fine, np.abs(fine - coarse) + lost


def _check_counts(n_per_part: Sequence[int], parts: int) -> tuple[int, ...]:
    counts = tuple(int(n) for n in n_per_part)
    if len(counts) != parts or min(counts) < 1:
        raise ParameterError(
            f"n_per_part is {counts} for {parts} part(s). Give one number of frequencies for each "
            "part, at least 1."
        )
    return counts


def _check_coupling(coupling: str) -> None:
    if coupling == "qmc":
        raise ParameterError(
            "The variance of scrambled quasi-random frequencies has no closed form. Measure it "
            "over a few seeds, or choose one of " + ", ".join(COUPLINGS) + "."
        )
    if coupling not in COUPLINGS:
        raise ParameterError(
            f"There is no coupling {coupling!r}; the couplings of known variance are "
            + ", ".join(COUPLINGS)
            + "."
        )


def part_variance(table: SpectralTable, z: ArrayLike) -> FloatArray:
    """Variance of one frequency of each part at distances z, mass squared included.

    m^2 [(1 + k~(2z)) / 2 - k~(z)^2], k~ the expected plane wave of the part.

    Returns
    -------
    ndarray of shape (parts, len(z))
    """
    return VarianceModel(table, np.asarray(z, dtype=float)).part_variance


def variance(
    table: SpectralTable, z: ArrayLike, *, n_per_part: Sequence[int], coupling: str
) -> FloatArray:
    """Exact variance of the estimate of k(z) with ``n_per_part`` frequencies and a coupling.

    Parameters
    ----------
    table : SpectralTable
        Parts of phase 0 or pi.
    z : array_like of shape (n,)
        Distances.
    n_per_part : sequence of int
        Frequencies of each part (half the columns).
    coupling : str
        One of :data:`COUPLINGS`; radii are independent except in "comonotone".

    Returns
    -------
    ndarray of shape (n,)
        :meth:`VarianceModel.variance` also gives a bound of the numerical error.

    Raises
    ------
    ParameterError
        For a coupling without a closed form ("qmc"), a wrong split, or a part of another phase.
    """
    model = VarianceModel(table, np.asarray(z, dtype=float))
    return model.variance(n_per_part, coupling=coupling)[0]


def optimal_allocation(
    table: SpectralTable, distances: ArrayLike, n: int, coupling: str
) -> tuple[int, ...]:
    """Split n frequencies over the parts for the least mean variance over ``distances``.

    Neyman's allocation, with the covariances of the coupling and exact in whole numbers; each
    part gets at least one frequency.

    Raises
    ------
    ParameterError
        Where n is less than the number of parts.
    """
    model = VarianceModel(table, np.asarray(distances, dtype=float))
    return model.optimal_allocation(n, coupling=coupling)
