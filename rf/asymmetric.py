r"""Frequencies of an asymmetric kernel: which decomposition, how many of each part, which coupling.

A complex measure can be drawn as four Jordan parts, as its modulus with a phase (polar), or from
the radial measure with weights; a kernel k(D + r) can also be drawn as k itself, with every
coupling that radial kernels have, and rows x + r on the left.  None is always best: Jordan is exact
at D = 0, polar has less mass.  The exact variances at differences of the data decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rf.couplings import COUPLINGS
from rf.feature_map import FeatureMap, FourierMap
from rf.frequencies import (
    RADII,
    Allocation,
    Frequencies,
    Radii,
    allocate,
    apportion,
    draw_frequencies,
)
from rf.modulated_layers import layered_variance
from rf.plans import FeaturePlan, relative_error
from rf.variance import VarianceModel
from rf.weighted_variance import WeightedModel
from spectra.errors import AccuracyError, ParameterError
from spectra.modulated import AsymmetricTable, Decomposition, Draws

__all__ = [
    "STATED_PAIRS",
    "AsymmetricPlan",
    "draw_asymmetric",
    "plan_asymmetric",
    "typical_differences",
]

FloatArray = NDArray[np.float64]

# Random pairs of rows whose differences stand for all in a choice, and in what is stated of the
# error, which is then known to five percent or so.
_PAIRS = 48
STATED_PAIRS = 384
# Layers that a choice between plans reckons with, and a split over parts: each more lowers a
# variance by less than the square of their number.
_LAYERS = 256
_FEW_LAYERS = 64
# Differences at which radii in layers, which are dear, are compared with independent ones.
_FEW = 8
# A decomposition whose masses err by more than this share is not offered: its bias would be seen.
_BLUR = 1e-5
_DECOMPOSITIONS: tuple[Decomposition, ...] = ("polar", "weighted", "jordan")
_WITHIN: tuple[str, ...] = ("orthogonal",)
_ACROSS: tuple[str, ...] = ("shared", "comonotone")


@final
@dataclass(frozen=True, eq=False)
class AsymmetricPlan(FeaturePlan):
    """What is drawn: the table with its decomposition, the coupling, the split over the parts.

    Attributes
    ----------
    table : AsymmetricTable
    coupling : str
    counts : tuple of int
        Frequencies of each part.
    shifted : bool
        Whether frequencies are those of the radial kernel k of K(D) = k(D + r).
    pooled : bool
        Whether each frequency belongs to a part that is drawn by mass; ``counts`` is then their
        number alone.
    differences : ndarray of shape (m, d) or None
        Differences that stand for those of all pairs of rows.
    n_rows : int
        How many rows there are.
    """

    table: AsymmetricTable
    coupling: str
    counts: tuple[int, ...]
    shifted: bool
    pooled: bool = False
    differences: FloatArray | None = None
    n_rows: int = 1
    compared = ()

    @property
    def decomposition(self) -> str:  # type: ignore[override]
        """That of the table, or "shifted" where radial frequencies serve shifted rows."""
        return "shifted" if self.shifted else self.table.decomposition

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        frequencies = draw_asymmetric(self, radii, rng)
        return FourierMap.of(frequencies, n_columns, rng, signed=False)

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        D, zero = self.differences, np.zeros((1, self.table.dim))
        if D is None or not COUPLINGS[self.coupling].known:
            return float("nan")
        both = np.concatenate([D, zero])
        if self.shifted:
            model = self._model(both)
            spread = model.rough_variance(self.counts, coupling=self.coupling, radii=radii)
        else:
            spread = self._of_parts(both, "iid" if radii == "iid" else "stratified", _LAYERS)
        square = spread + extra_variance + self.table.bias**2
        kernel = self.table.expected_kernel(both)
        diagonal = float(square[-1]), float(kernel[-1])
        return relative_error(square[:-1], kernel[:-1], diagonal, self.n_rows)

    def explain(self) -> str:
        return (
            f"Drawn from the {self.decomposition} parts of its measure with coupling "
            f"{self.coupling!r}: {self.counts} frequencies, of least exact variance at "
            "differences of rows."
        )

    def variance(self, differences: FloatArray, radii: Radii) -> FloatArray:
        """Exact variance of the estimate at differences D, shape (n, d).

        ``radii`` are laid over layers of the radius, or of the length along the axis of a
        modulated Gaussian; draws by rejection and pooled ones are independent.

        Raises
        ------
        ParameterError
            Where the differences have another dimension than the kernel, or are not finite.
        """
        D = np.atleast_2d(np.asarray(differences, dtype=float))
        if not np.all(np.isfinite(D)):
            raise ParameterError(
                "The variance was asked for at a difference that is not finite: "
                f"{D[~np.isfinite(D)][0]}. A difference of two rows has finite coordinates."
            )
        if D.ndim != 2 or D.shape[1] != self.table.dim:
            raise ParameterError(
                f"The variance of {self.table.formula} was asked for at an array of shape "
                f"{np.shape(differences)}. It depends on the difference D = x - y and not on its "
                f"length alone: give an array of shape (n, {self.table.dim})."
            )
        if self.shifted:
            return self._model(D).variance(self.counts, coupling=self.coupling, radii=radii)[0]
        return self._of_parts(D, radii, None)

    def predicted(self, differences: FloatArray, radii: Radii) -> float:
        """Mean variance, in the time that a choice between plans may take.

        Of radial frequencies with independent radii, whose layers are dear and lower it further;
        of others with at most 256 layers, and an offset for each.
        """
        if self.shifted:
            coupling = "iid" if self.coupling == "qmc" else self.coupling
            return self._model(differences).mean_variance(self.counts, coupling=coupling)
        layers: Radii = "iid" if radii == "iid" else "stratified"
        return float(self._of_parts(differences, layers, _LAYERS).mean())

    def _model(self, D: FloatArray) -> VarianceModel:
        radial, shift = _shifted(self.table)
        return VarianceModel(radial, np.linalg.norm(D + shift, axis=1))

    def _of_parts(self, D: FloatArray, radii: Radii, most: int | None) -> FloatArray:
        if self.pooled:
            return self.table.variance(D) / sum(self.counts)
        if self.coupling != "iid":
            model = WeightedModel.of(self.table, D)
            if most is not None:
                return model.rough_variance(self.counts, coupling=self.coupling, radii=radii)
            return model.variance(self.counts, coupling=self.coupling, radii=radii)[0]
        parts = zip(self.table.parts, self.counts, strict=True)
        return np.asarray(
            sum((layered_variance(p, n, D, radii, most=most) for p, n in parts), np.zeros(len(D)))
        )


def plan_asymmetric(
    table: AsymmetricTable,
    n: int,
    *,
    coupling: str,
    allocation: Allocation,
    differences: FloatArray,
    radii: Radii = "stratified",
) -> AsymmetricPlan:
    """Choose decomposition and coupling of least mean exact variance over ``differences``.

    Parameters
    ----------
    table : AsymmetricTable
    n : int
        Number of frequencies.  Where they are fewer than the parts, each belongs to a part that
        is drawn with the parts' masses as probabilities.
    coupling : str
        "auto"; "iid" (the best decomposition); "orthogonal" and every other coupling within the
        parts alone (directions of the radial measure, weighted); one across parts needs a kernel
        K(D) = k(D + r).
    allocation : str
        "equal", "mass" or "optimal".
    differences : ndarray of shape (m, d)
    radii : str
        How radii, or lengths along the axis, are going to be drawn.

    Raises
    ------
    ParameterError
        Where a coupling of directions is asked for a measure whose directions are not uniform, or
        for more parts than frequencies.
    """
    plans: list[AsymmetricPlan] = []
    if coupling in ("auto", "iid"):
        for decomposition in _DECOMPOSITIONS:
            other = table.decomposed(decomposition)
            if _is_known(other, differences):
                plans.append(plan_parts(other, n, allocation, differences, radii))
    weighted = table.decomposed("weighted")
    blocks = "orthogonal" if coupling == "auto" else coupling
    if _within_parts(blocks) and table.shifted_table() is None and len(weighted.parts) <= n:
        counts = split_parts(weighted, n, allocation, differences, radii)
        plans.append(AsymmetricPlan(weighted, blocks, counts, False))
    best = _least(plans, differences, radii)
    if coupling != "iid":
        radial = _shifted_plans(table, n, coupling, allocation, differences)
        best = _better(best, _least(radial, differences, radii), differences, radii)
    if best is None:
        raise ParameterError(
            f"coupling={coupling!r} needs uniform directions and at least one frequency for each "
            f"part, and {table.formula} with {n} frequencies has not both: only K(D) = k(D + r) "
            "keeps the directions uniform. Take coupling='auto' or 'iid', and more columns."
        )
    return best[1]


def plan_parts(
    table: AsymmetricTable, n: int, allocation: Allocation, differences: FloatArray, radii: Radii
) -> AsymmetricPlan:
    """Independent directions for every part, or one pool where the parts outnumber them."""
    if len(table.parts) > n:
        return AsymmetricPlan(table, "iid", (n,), False, pooled=True)
    counts = split_parts(table, n, allocation, differences, radii)
    return AsymmetricPlan(table, "iid", counts, False)


def _is_known(table: AsymmetricTable, differences: FloatArray) -> bool:
    """Whether a decomposition can be drawn, and its masses and moments are known well enough."""
    if table.decomposition == "weighted":
        return True
    # A law of lobes without end takes a tenth of a second for each of a thousand waves.
    if any(part.base.law.tail is not None for part in table.decomposed("weighted").parts):
        return False
    try:
        known = table.bias + table.mass_error <= _BLUR * table.mass
        return known and all(part.has_moments(differences) for part in table.parts)
    except AccuracyError:
        return False


def _within_parts(coupling: str) -> bool:
    """Whether a coupling serves weighted draws: known, uniform, and within each part alone."""
    chosen = COUPLINGS[coupling]
    within = chosen.known and chosen.uniform and not chosen.across_parts
    return within and coupling != "iid"


def _least(
    plans: list[AsymmetricPlan], differences: FloatArray, radii: Radii
) -> tuple[float, AsymmetricPlan] | None:
    values = ((plan.predicted(differences, radii), plan) for plan in plans)
    return min(values, key=lambda pair: pair[0], default=None)


def _better(
    best: tuple[float, AsymmetricPlan] | None,
    radial: tuple[float, AsymmetricPlan] | None,
    differences: FloatArray,
    radii: Radii,
) -> tuple[float, AsymmetricPlan] | None:
    """The better one, where what layers take from the radial one may decide."""
    if best is None or radial is None:
        return best or radial
    value, plan = radial
    if value > best[0] and radii != "iid":
        few = differences[:_FEW]
        value *= plan.variance(few, radii).mean() / plan.variance(few, "iid").mean()
    return (value, plan) if value <= best[0] else best


def _shifted_plans(
    table: AsymmetricTable,
    n: int,
    coupling: str,
    allocation: Allocation,
    differences: FloatArray,
) -> list[AsymmetricPlan]:
    if table.shifted_table() is None:
        return []
    radial, shift = _shifted(table)
    if len(radial.parts) > n:
        return []
    model = VarianceModel(radial, np.linalg.norm(differences + shift, axis=1))
    couplings: tuple[str, ...] = _WITHIN + (_ACROSS if len(radial.parts) > 1 else ())
    return [
        AsymmetricPlan(
            table,
            name,
            allocate(radial, n, allocation=allocation, coupling=name, distances=model),
            True,
        )
        for name in (couplings if coupling == "auto" else (coupling,))
    ]


def split_parts(
    table: AsymmetricTable,
    n: int,
    allocation: Allocation,
    differences: FloatArray,
    radii: Radii = "iid",
) -> tuple[int, ...]:
    """Frequencies of each part: as many of each, by mass, or by Neyman's rule on the data."""
    sizes = np.ones(len(table.parts))
    if allocation == "mass":
        sizes = np.sqrt([p.mass for p in table.parts])
    elif allocation == "optimal":
        layers: Radii = "iid" if radii == "iid" else "stratified"
        variances = np.array(
            [
                n * layered_variance(p, n, differences, layers, most=_FEW_LAYERS).mean()
                for p in table.parts
            ]
        )
        # A variance that is zero up to rounding can come out below it.
        sizes = np.sqrt(np.maximum(variances, 0.0))
    return apportion(sizes, n)


def draw_asymmetric(plan: AsymmetricPlan, radii: Radii, rng: np.random.Generator) -> Frequencies:
    """Draw the frequencies of a plan, with weights and phases."""
    if plan.shifted:
        radial, shift = _shifted(plan.table)
        one = draw_frequencies(radial, plan.counts, coupling=plan.coupling, radii=radii, rng=rng)
        # Below one turn, so that single precision keeps the digits of a phase.
        phases = np.remainder(one.phases + one.frequencies @ shift, 2.0 * np.pi)
        return Frequencies(one.frequencies, one.weights, phases, one.part)
    if plan.pooled:
        sample = plan.table.sample(sum(plan.counts), rng)
        draw = Draws(sample.frequencies, sample.weights, sample.phases)
        return _joined([draw], plan.counts)
    if plan.coupling != "iid":
        parts = plan.table.parts
        drawn = COUPLINGS[plan.coupling].draw(plan.counts, plan.table.dim, 1, RADII[radii], rng)
        draws = [
            part.draws_of(part.base.law.ppf(u[0])[:, None] * rows[0])
            for part, (u, rows) in zip(parts, drawn, strict=True)
        ]
        return _joined(draws, plan.counts)
    draws = [
        part.draw(count, rng, u=RADII[radii](rng.random(count), rng.random(count)))
        for part, count in zip(plan.table.parts, plan.counts, strict=True)
    ]
    return _joined(draws, plan.counts)


def _joined(draws: list[Draws], counts: tuple[int, ...]) -> Frequencies:
    return Frequencies(
        frequencies=np.concatenate([d.frequencies for d in draws]),
        weights=np.concatenate([d.amplitudes / n for d, n in zip(draws, counts, strict=True)]),
        phases=np.concatenate([d.phases for d in draws]),
        part=np.repeat(np.arange(len(draws)), counts),
    )


def typical_differences(X: Any, rng: np.random.Generator, pairs: int = _PAIRS) -> FloatArray:
    """Differences x - y of random pairs of distinct rows, shape (pairs, d); 0 for a single row."""
    rows = X.shape[0]
    if rows == 1:
        return np.zeros((1, X.shape[1]))
    first = rng.integers(rows, size=pairs)
    second = (first + rng.integers(1, rows, size=pairs)) % rows
    difference = X[first] - X[second]
    return np.asarray(difference.toarray() if issparse(X) else difference, dtype=float)


def _shifted(table: AsymmetricTable) -> tuple[Any, FloatArray]:
    shifted = table.shifted_table()
    if shifted is None:
        raise ParameterError(f"The kernel {table.formula} is no single shifted kernel k(D + r).")
    return shifted
