r"""Frequencies of an asymmetric kernel: which decomposition, how many of each part, which coupling.

A complex measure can be drawn as four Jordan parts, as its modulus with a phase (polar), or from
the radial measure with weights; a kernel k(D + r) can also be drawn as k itself, with every
coupling that radial kernels have, and rows x + r on the left.  None is always best: Jordan is exact
at D = 0, polar has less mass.  The exact variances at differences of the data decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rf.directions import orthogonal
from rf.frequencies import (
    RADII,
    Allocation,
    Coupling,
    Frequencies,
    Radii,
    allocate,
    apportion,
    draw_frequencies,
)
from rf.modulated_blocks import blocks_variance
from rf.variance import VarianceModel
from spectra.errors import ParameterError
from spectra.modulated import AsymmetricTable, AxialPart, Decomposition, Draws

__all__ = ["AsymmetricPlan", "draw_asymmetric", "plan_asymmetric", "typical_differences"]

FloatArray = NDArray[np.float64]

# Random pairs of rows whose differences stand for all.
_PAIRS = 48
_DECOMPOSITIONS: tuple[Decomposition, ...] = ("polar", "weighted", "jordan")
_WITHIN: tuple[Coupling, ...] = ("orthogonal",)
_ACROSS: tuple[Coupling, ...] = ("shared", "comonotone")


@final
@dataclass(frozen=True, eq=False)
class AsymmetricPlan:
    """What is drawn: the table with its decomposition, the coupling, the split over the parts.

    Attributes
    ----------
    table : AsymmetricTable
    coupling : str
    counts : tuple of int
        Frequencies of each part.
    shifted : bool
        Whether frequencies are those of the radial kernel k of K(D) = k(D + r).
    """

    table: AsymmetricTable
    coupling: Coupling
    counts: tuple[int, ...]
    shifted: bool

    @property
    def name(self) -> Literal["jordan", "polar", "weighted", "shifted"]:
        """The decomposition, or "shifted" where radial frequencies serve shifted rows."""
        return "shifted" if self.shifted else self.table.decomposition

    def variance(self, differences: FloatArray, radii: Radii) -> FloatArray:
        """Exact variance of the estimate at differences D, shape (n, d).

        Raises
        ------
        ParameterError
            For stratified draws of modulated parts, whose variance is not known.
        """
        D = np.atleast_2d(np.asarray(differences, dtype=float))
        if self.shifted:
            table, shift = _shifted(self.table)
            model = VarianceModel(table, np.linalg.norm(D + shift, axis=1))
            return model.variance(self.counts, coupling=self.coupling, radii=radii)[0]
        if radii != "iid":
            raise ParameterError(
                f"The variance of {radii} frequencies of a modulated measure is not known; that of "
                "iid ones, which it does not exceed in practice, is given by radii='iid'."
            )
        if self.coupling == "orthogonal":
            return _blocks_variance(self.table, self.counts, D)
        return _iid_variance(self.table, self.counts, D)


def plan_asymmetric(
    table: AsymmetricTable,
    n: int,
    *,
    coupling: Coupling | Literal["auto"],
    allocation: Allocation,
    differences: FloatArray,
) -> AsymmetricPlan:
    """Choose decomposition and coupling of least mean exact variance over ``differences``.

    Parameters
    ----------
    table : AsymmetricTable
    n : int
        Number of frequencies.
    coupling : str
        "auto"; "iid" (the best decomposition); "orthogonal" (blocks of directions of the radial
        measure, weighted); any other needs a kernel K(D) = k(D + r).
    allocation : str
        "equal", "mass" or "optimal".
    differences : ndarray of shape (m, d)

    Raises
    ------
    ParameterError
        Where a coupling of directions is asked for a measure whose directions are not uniform, or
        there are more parts than frequencies.
    """
    plans: list[tuple[float, AsymmetricPlan]] = []
    if coupling in ("auto", "iid"):
        for decomposition in _DECOMPOSITIONS:
            other = table.decomposed(decomposition)
            if len(other.parts) <= n:
                counts = split_parts(other, n, allocation, differences)
                value = float(_iid_variance(other, counts, differences).mean())
                plans.append((value, AsymmetricPlan(other, "iid", counts, False)))
    if coupling in ("auto", "orthogonal") and table.shifted_table() is None:
        weighted = table.decomposed("weighted")
        if len(weighted.parts) <= n:
            counts = split_parts(weighted, n, allocation, differences)
            value = float(_blocks_variance(weighted, counts, differences).mean())
            plans.append((value, AsymmetricPlan(weighted, "orthogonal", counts, False)))
    if coupling != "iid":
        plans.extend(_shifted_plans(table, n, coupling, allocation, differences))
    if not plans:
        raise ParameterError(
            f"coupling={coupling!r} needs uniform directions and at least one frequency for each "
            f"part, and {table.formula} with {n} frequencies has not both: only K(D) = k(D + r) "
            "keeps the directions uniform. Take coupling='auto' or 'iid', and more columns."
        )
    return min(plans, key=lambda plan: plan[0])[1]


def _shifted_plans(
    table: AsymmetricTable,
    n: int,
    coupling: Coupling | Literal["auto"],
    allocation: Allocation,
    differences: FloatArray,
) -> list[tuple[float, AsymmetricPlan]]:
    if table.shifted_table() is None:
        return []
    radial, shift = _shifted(table)
    if len(radial.parts) > n:
        return []
    model = VarianceModel(radial, np.linalg.norm(differences + shift, axis=1))
    couplings: tuple[Coupling, ...] = _WITHIN + (_ACROSS if len(radial.parts) > 1 else ())
    plans = []
    for name in couplings if coupling == "auto" else (coupling,):
        counts = allocate(radial, n, allocation=allocation, coupling=name, distances=model)
        predicted = "iid" if name == "qmc" else name
        value = model.mean_variance(counts, coupling=predicted)
        plans.append((value, AsymmetricPlan(table, name, counts, True)))
    return plans


def split_parts(
    table: AsymmetricTable, n: int, allocation: Allocation, differences: FloatArray
) -> tuple[int, ...]:
    """Frequencies of each part: as many of each, by mass, or by Neyman's rule on the data."""
    sizes = np.ones(len(table.parts))
    if allocation == "mass":
        sizes = np.sqrt([p.mass for p in table.parts])
    elif allocation == "optimal":
        variances = np.array([p.variance(differences).mean() for p in table.parts])
        # A variance that is zero up to rounding can come out below it.
        sizes = np.sqrt(np.maximum(variances, 0.0))
    return apportion(sizes, n)


def draw_asymmetric(plan: AsymmetricPlan, radii: Radii, rng: np.random.Generator) -> Frequencies:
    """Draw the frequencies of a plan, with weights and phases."""
    if plan.shifted:
        radial, shift = _shifted(plan.table)
        drawn = draw_frequencies(radial, plan.counts, coupling=plan.coupling, radii=radii, rng=rng)
        phases = drawn.phases + drawn.frequencies @ shift
        return Frequencies(drawn.frequencies, drawn.weights, phases, drawn.part)
    if plan.coupling == "orthogonal":
        draws = [
            _orthogonal_draws(part, count, radii, rng)
            for part, count in zip(plan.table.parts, plan.counts, strict=True)
        ]
        return _joined(draws, plan.counts)
    draws = [
        part.draw(count, rng, stratified=radii != "iid")
        for part, count in zip(plan.table.parts, plan.counts, strict=True)
    ]
    return _joined(draws, plan.counts)


def _orthogonal_draws(part: AxialPart, n: int, radii: Radii, rng: np.random.Generator) -> Draws:
    """Weighted draws with orthogonal blocks of directions, and radii in layers."""
    u = RADII[radii](rng.random(n), rng.random(n))
    return part.draws_of(part.base.law.ppf(u)[:, None] * orthogonal(n, part.dim, rng))


def _joined(draws: list[Draws], counts: tuple[int, ...]) -> Frequencies:
    return Frequencies(
        frequencies=np.concatenate([d.frequencies for d in draws]),
        weights=np.concatenate([d.amplitudes / n for d, n in zip(draws, counts, strict=True)]),
        phases=np.concatenate([d.phases for d in draws]),
        part=np.repeat(np.arange(len(draws)), counts),
    )


def typical_differences(X: Any, rng: np.random.Generator) -> FloatArray:
    """Differences x - y of random pairs of distinct rows, shape (48, d); 0 for a single row."""
    rows = X.shape[0]
    if rows == 1:
        return np.zeros((1, X.shape[1]))
    first = rng.integers(rows, size=_PAIRS)
    second = (first + rng.integers(1, rows, size=_PAIRS)) % rows
    difference = X[first] - X[second]
    return np.asarray(difference.toarray() if issparse(X) else difference, dtype=float)


def _iid_variance(
    table: AsymmetricTable, counts: tuple[int, ...], differences: FloatArray
) -> FloatArray:
    return np.asarray(
        sum(
            (p.variance(differences) / n for p, n in zip(table.parts, counts, strict=True)),
            np.zeros(len(differences)),
        )
    )


def _blocks_variance(
    table: AsymmetricTable, counts: tuple[int, ...], differences: FloatArray
) -> FloatArray:
    return np.asarray(
        sum(
            (blocks_variance(p, n, differences) for p, n in zip(table.parts, counts, strict=True)),
            np.zeros(len(differences)),
        )
    )


def _shifted(table: AsymmetricTable) -> tuple[Any, FloatArray]:
    shifted = table.shifted_table()
    if shifted is None:
        raise ParameterError(f"The kernel {table.formula} is no single shifted kernel k(D + r).")
    return shifted
