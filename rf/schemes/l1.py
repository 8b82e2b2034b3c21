r"""Features of kernels of the l1 distance, with their exact variance.

The frequencies of a part are independent, so that with n_p of them

.. math:: \operatorname{Var} \hat k(D) = \sum_p \frac{m_p^2}{n_p}
          \Bigl[\frac{1 + \chi_p(2D)}{2} - \chi_p(D)^2\Bigr],

where :math:`\chi_p` is the characteristic function of the part (:mod:`spectra.table.l1.l1_table`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rf.inputs.rows import sample_of_rows, typical_differences
from rf.sampling.frequencies import Frequencies, Radii, pooled_frequencies
from rf.schemes.feature_map import FeatureMap, FourierMap
from rf.schemes.scheme import (
    SIZED_PAIRS,
    STATED_PAIRS,
    FeaturePlan,
    Scheme,
    checked_differences,
    relative_error,
)
from rf.variance.allocation import apportion
from rf.variance.coupling_score import Plan
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import L1Table

__all__ = ["L1Plan", "drawn_l1", "l1_part_variance", "l1_variance", "plan_l1"]

# Any seed will do: a plan is a function of the rows.
_SAMPLING = 12
# Draws that stand for a part where two percent are enough: in what is allocated and announced.
_DRAWS = 4096


@final
@dataclass(frozen=True, eq=False)
class L1Plan(FeaturePlan):
    """Independent frequencies of the parts of a kernel of the l1 distance.

    Attributes
    ----------
    table, counts :
        As in :class:`rf.schemes.scheme.FeaturePlan`.
    rows : ndarray or sparse array
        A sample of the rows, which stands for all.
    n_rows : int
    pooled : bool
        Whether each frequency is of a part that is drawn, as there are more parts than frequencies.
    """

    table: L1Table  # type: ignore[assignment]
    counts: tuple[int, ...]
    rows: Any
    n_rows: int
    pooled: bool = False
    coupling: str = "iid"
    compared: tuple[Plan, ...] = ()
    decomposition: str = "l1"

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        drawn = (
            pooled_frequencies(self.table, sum(self.counts), rng)
            if self.pooled
            else drawn_l1(self.table, self.counts, rng)
        )
        return FourierMap.of(drawn, min(n_columns, 2 * len(drawn)), rng, signed=True)

    def variance(self, z: FloatArray, radii: Radii) -> FloatArray:
        D = checked_differences(self.table, z)
        if not self.pooled:
            return l1_variance(self.table, D, self.counts)[0]
        waves = [(part.wave(D)[0], part.wave(2.0 * D)[0]) for part in self.table.parts]
        return self._variance(np.array([w for w, _ in waves]), np.array([w for _, w in waves]))

    def _variance(self, single: FloatArray, double: FloatArray) -> FloatArray:
        """From E cos(w.D) and E cos(2 w.D) of each part, shape (parts, n)."""
        square = 0.5 * (1.0 + double)
        if self.pooled:
            total = float(self._masses.sum())
            mean = (self._signs * self._masses) @ single
            return np.asarray((total * (self._masses @ square) - mean**2) / sum(self.counts))
        return np.asarray((self._masses**2 / np.array(self.counts)) @ (square - single**2))

    @property
    def _masses(self) -> FloatArray:
        return np.array([p.mass for p in self.table.parts])

    @property
    def _signs(self) -> FloatArray:
        return np.array([p.sign for p in self.table.parts])

    def _rough_at(self, pairs: int) -> tuple[FloatArray, FloatArray]:
        """E cos(w.D) and E cos(2 w.D) at differences of pairs of rows, to two percent."""
        return _rough_waves(self.table, typical_differences(self.rows, pairs))

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        wrong = extra_variance + self.table.bias**2
        ones = np.ones((len(self.table.parts), 1))
        # Rows that are equal have no error, but where the parts are pooled.
        own = float(self._variance(ones, ones)[0])
        square = self._variance(*self._rough_at(STATED_PAIRS)) + wrong
        kernel = (self._signs * self._masses) @ self._rough_at(SIZED_PAIRS)[0]
        diagonal = own + wrong, self.table.k_zero
        return relative_error(square, float(np.mean(kernel**2)), diagonal, self.n_rows)

    def explain(self) -> str:
        masses = ", ".join(f"{p.mass:.4g}" for p in self.table.parts)
        return (
            f"Drawn from the law of a kernel of the l1 distance, independently: {self.counts} "
            f"frequencies for parts of mass {masses}."
        )


def plan_l1(table: L1Table, n: int, scheme: Scheme, X: Any) -> L1Plan:
    """Choose the frequencies of each part, for the rows X.

    Raises
    ------
    ParameterError
        For a coupling other than "auto" and "iid".
    """
    if scheme.coupling not in ("auto", "iid"):
        raise ParameterError(
            f"coupling={scheme.coupling!r} was asked for {table.formula}, and the frequencies of a "
            "kernel of the l1 distance are not of uniform direction: they are drawn independently. "
            "Take coupling='auto' or 'iid'."
        )
    rows, n_rows = sample_of_rows(X), X.shape[0]
    if len(table.parts) > n:
        return L1Plan(table, (n,), rows, n_rows, pooled=True)
    sizes = np.array([p.mass for p in table.parts])
    if scheme.allocation == "equal":
        sizes = np.ones(sizes.size)
    elif scheme.allocation == "optimal":
        single, double = _rough_waves(table, typical_differences(rows, STATED_PAIRS))
        sizes = sizes * np.sqrt(np.mean(0.5 * (1.0 + double) - single**2, axis=1))
    return L1Plan(table, apportion(sizes, n), rows, n_rows)


def l1_variance(
    table: L1Table, D: FloatArray, counts: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Variance of the estimate at differences of shape (n, d), and its error, of so many draws."""
    value, error = l1_part_variance(table, D)
    each = 1.0 / np.array(counts)
    return each @ value, each @ error


def l1_part_variance(table: L1Table, D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance of one frequency of each part, mass squared included, and its error."""
    value, error = np.zeros((2, len(table.parts), len(D)))
    for p, part in enumerate(table.parts):
        single, lost = part.wave(D)
        double, also = part.wave(2.0 * D)
        value[p] = part.mass**2 * (0.5 * (1.0 + double) - single**2)
        error[p] = part.mass**2 * (0.5 * also + 2.0 * lost + lost**2)
    return value, error


def drawn_l1(table: L1Table, counts: tuple[int, ...], rng: np.random.Generator) -> Frequencies:
    """Frequencies of every part, each with exactly the law of its part."""
    parts = table.parts
    frequencies = [p.draw(n, rng) for p, n in zip(parts, counts, strict=True)]
    weights = np.repeat([p.mass / n for p, n in zip(parts, counts, strict=True)], counts)
    phases = np.repeat([0.0 if p.sign > 0 else np.pi for p in parts], counts)
    number = np.repeat(np.arange(len(parts)), counts)
    return Frequencies(np.concatenate(frequencies), weights, phases, number)


def _rough_waves(table: L1Table, D: FloatArray) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(_SAMPLING)
    single, double = [], []
    for part in table.parts:
        waves = np.cos(part.draw(_DRAWS, rng) @ D.T)
        single.append(waves.mean(axis=0))
        double.append((2.0 * waves**2 - 1.0).mean(axis=0))
    return np.array(single), np.array(double)
