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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rf.designed_directions import designed_sizes
from rf.directions import haar_order
from rf.radial_means import MEAN_ERROR, Waves, comonotone_mean, hadamard_order
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = ["COUPLINGS", "RADII", "VarianceModel", "optimal_allocation", "part_variance", "variance"]

FloatArray = NDArray[np.float64]

#: The couplings whose variance is known.  "hadamard" is approximated by the Haar matrix that the
#: structured product imitates; "qmc" has no closed form and is refused.
COUPLINGS = (
    "iid",
    "orthogonal",
    "haar",
    "shared",
    "comonotone",
    "simplex",
    "hadamard",
    "designed",
)
RADII = ("iid", "stratified", "systematic")


@dataclass(frozen=True)
class _Pairs:
    """``count`` pairs of frequencies of the parts ``first`` and ``second``, coupled in one way.

    ``kind`` names the law of the cosine, with the order of the Haar matrix where one matters.
    """

    first: int
    second: int
    kind: str
    count: int


def _blocks(n: int, size: int) -> list[int]:
    """Sizes of the blocks that n directions fill, the last one perhaps partly."""
    full, rest = divmod(n, size)
    return [size] * full + ([rest] if rest else [])


def _coupled_pairs(coupling: str, n_per_part: Sequence[int], dim: int) -> list[_Pairs]:
    """All pairs that are not independent: ordered ones within a part, unordered parts p < q."""
    if dim == 1 and coupling != "comonotone":
        return []
    parts = range(len(n_per_part))
    pairs = []
    block, kind = {
        "simplex": (dim + 1, "simplex"),
        "hadamard": (hadamard_order(dim), "hadamard"),
    }.get(coupling, (dim, "orthogonal"))
    haar = f"haar {haar_order(sum(n_per_part), dim)}"
    for p in parts:
        n = n_per_part[p]
        if coupling == "haar":
            pairs.append(_Pairs(p, p, haar, n * (n - 1)))
        elif coupling == "designed":
            inside = sum(size * (size - 1) for size in designed_sizes(n))
            pairs.append(_Pairs(p, p, f"designed {n}", inside))
        elif coupling != "iid":
            pairs.append(_Pairs(p, p, kind, sum(b * (b - 1) for b in _blocks(n, block))))
    for p in parts:
        for q in range(p + 1, len(n_per_part)):
            n, m = sorted((n_per_part[p], n_per_part[q]))
            if coupling == "haar":
                pairs.append(_Pairs(p, q, haar, n * m))
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
    def _waves(self) -> Waves:
        laws = [part.law for part in self.table.parts]
        return Waves(self.table.dim, laws, self.z)

    def covariance(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Covariance of two cosines of the given parts (masses apart), and a bound of its error."""
        key = (first, second, kind)
        if key not in self._covariances:
            if kind == "comonotone":
                laws = self.table.parts[first].law, self.table.parts[second].law
                both, error = comonotone_mean(self.table.dim, laws[0], laws[1], self.z)
                self._covariances[key] = both - self._mean[first] * self._mean[second], error
            else:
                self._covariances[key] = self._waves.covariance(first, second, kind)
        return self._covariances[key]

    def variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: str = "iid"
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate at each distance, and a bound of its numerical error."""
        counts = _check_counts(n_per_part, len(self.table.parts))
        _check_scheme(coupling, radii)
        total = np.sum(self.part_variance / np.array(counts)[:, None], axis=0)
        scale = float(np.sum(self.masses**2 / np.array(counts)))
        errors = np.full_like(self.z, scale * 4 * MEAN_ERROR)
        for pair in _coupled_pairs(coupling, counts, self.table.dim):
            weight = self._weight(pair, counts)
            strata = radii != "iid" and pair.kind not in ("comonotone", "same")
            if strata and (pair.first == pair.second or coupling == "comonotone"):
                continue
            value, bound = self.covariance(pair.first, pair.second, pair.kind)
            total = total + weight * value
            errors = errors + abs(weight) * bound
        if radii != "iid":
            more, bound = self._strata(counts, coupling, radii)
            total, errors = total + more, errors + bound
        return total, errors

    def _weight(self, pair: _Pairs, counts: Sequence[int]) -> float:
        """What one covariance counts in the variance: pairs, masses, signs, both orders."""
        p, q = pair.first, pair.second
        both = (1.0 if p == q else 2.0) * pair.count / (counts[p] * counts[q])
        return float(both * self.masses[p] * self.masses[q] * self.signs[p] * self.signs[q])

    def _strata(
        self, counts: tuple[int, ...], coupling: str, radii: str
    ) -> tuple[FloatArray, FloatArray]:
        """Covariances of all pairs whose radii come from different strata of one draw."""
        if coupling == "comonotone" and len(set(counts)) > 1:
            raise ParameterError(
                f"The variance of comonotone parts with {radii} radii is known for equal numbers "
                f"of frequencies, and they are {counts}. Use allocation='equal' or radii='iid'."
            )
        total, errors = np.zeros_like(self.z), np.zeros_like(self.z)
        coupled = {
            (pair.first, pair.second): pair
            for pair in _coupled_pairs(coupling, counts, self.table.dim)
            if pair.kind not in ("comonotone", "same")
        }
        parts = range(len(counts))
        for p in parts:
            for q in parts[p:] if coupling == "comonotone" else (p,):
                n = counts[p]
                if n == 1:
                    continue
                every = self._weight(_Pairs(p, q, "", n * (n - 1)), counts)
                pair = coupled.get((p, q))
                angular_weight = self._weight(pair, counts) if pair else 0.0
                radial, angular, error = self._waves.strata_covariance(
                    p, q, n, radii, pair.kind if pair else ""
                )
                total += every * radial + angular_weight * angular
                errors += (abs(every) + abs(angular_weight)) * error
        return total, errors

    def mean_variance(
        self, n_per_part: Sequence[int], *, coupling: str, radii: str = "iid"
    ) -> float:
        """Mean of the variance over the distances: the expected squared error of a Gram matrix."""
        return float(np.mean(self.variance(n_per_part, coupling=coupling, radii=radii)[0]))

    def optimal_allocation(self, n: int, *, coupling: str) -> tuple[int, ...]:
        """Split n frequencies over the parts so that :meth:`mean_variance` is least.

        Pairs of parts are split anew, by trying every split, until no pair changes.  With two
        parts that is the exact optimum; iid gives Neyman's rule n_p ~ mass times deviation.
        """
        _check_scheme(coupling, "iid")
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
        total = float(np.sum(self._single / np.array(counts)))
        for pair in _coupled_pairs(self._coupling, counts, model.table.dim):
            key = (pair.first, pair.second, pair.kind)
            if key not in self._cross:
                self._cross[key] = float(np.mean(model.covariance(*key)[0]))
            total += model._weight(pair, counts) * self._cross[key]
        return total


def _check_counts(n_per_part: Sequence[int], parts: int) -> tuple[int, ...]:
    counts = tuple(int(n) for n in n_per_part)
    if len(counts) != parts or min(counts) < 1:
        raise ParameterError(
            f"n_per_part is {counts} for {parts} part(s). Give one number of frequencies for each "
            "part, at least 1."
        )
    return counts


def _check_scheme(coupling: str, radii: str) -> None:
    if radii not in RADII:
        raise ParameterError(f"There is no scheme of radii {radii!r}: choose one of {RADII}.")
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
    table: SpectralTable,
    z: ArrayLike,
    *,
    n_per_part: Sequence[int],
    coupling: str,
    radii: str = "iid",
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
        One of :data:`COUPLINGS`.
    radii : {"iid", "stratified", "systematic"}
        How the radii of one part are drawn; strata are dealt to the directions at random.

    Returns
    -------
    ndarray of shape (n,)
        :meth:`VarianceModel.variance` also gives a bound of the numerical error.

    Raises
    ------
    ParameterError
        For a coupling without a closed form ("qmc"), a wrong split, or a part of another phase.

    Examples
    --------
    >>> from spectra.table import Part, RadialLaw, SpectralTable
    >>> sphere = Part(1.0, 0.0, 0.0, RadialLaw.from_atoms([1.0], [1.0]))
    >>> table = SpectralTable(
    ...     dim=3, parts=(sphere,), formula="sin(z)/z", k_zero=1.0, u_error=0.0, provenance="exact"
    ... )
    >>> variance(table, [1.0], n_per_part=(3,), coupling="iid").round(6)
    array([0.006417])
    >>> variance(table, [1.0], n_per_part=(3,), coupling="orthogonal").round(6)
    array([5.e-06])
    """
    model = VarianceModel(table, np.asarray(z, dtype=float))
    return model.variance(n_per_part, coupling=coupling, radii=radii)[0]


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
