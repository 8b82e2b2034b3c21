"""Random features of random mixtures have the mean, the variance and the symmetries of theory.

hypothesis draws a signed mixture, a dimension, a coupling, radii, an allocation, a number of
columns and three pairs of rows; kernels are closed forms, so that no formula is shared with the
library.  Each of ``MISTAKES``, patched in, moves the score that it names beyond the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from scipy import special

import rf.sampling.coupling
import rf.sampling.designed_directions
import rf.sampling.frequencies
from rf import SpectralFeatures
from rf.feature_maps.feature_map import FourierMap, Frequencies
from rf.sampling.frequencies import COUPLINGS, RADII
from rf.variance.variance import VarianceModel
from spectra.base.piecewise import Piecewise
from spectra.table import SpectralTable
from spectra.table.radial_law import RadialLaw
from tests.oracles.laws import gaussian_law, matern_law, table_of
from tests.oracles.pooling import mean_score, variance_score

BOUND = 6.0
NAMES, RULES = list(COUPLINGS), list(RADII)

# --- random cases -------------------------------------------------------------------------------

# Distributions of the radius, and the kernels of length 1 that they stand for.
LAWS: dict[str, Callable[[int], RadialLaw]] = {
    "gaussian": gaussian_law,
    "matern": lambda dim: matern_law(dim, 1.5),
    "sphere": lambda dim: RadialLaw.from_atoms([1.0], [1.0]),
}
KERNELS: dict[str, Callable[[int, Any], Any]] = {
    "gaussian": lambda dim, z: np.exp(-(z**2) / 2),
    "matern": lambda dim, z: (1 + np.sqrt(3) * z) * np.exp(-np.sqrt(3) * z),
    "sphere": lambda dim, z: special.hyp0f1(dim / 2, -(z**2) / 4),
}


class Case(NamedTuple):
    """A mixture of (mass, distribution, length), how it is drawn, and distances of three pairs."""

    dim: int
    parts: tuple[tuple[float, str, float], ...]
    coupling: str
    radii: str
    allocation: str
    columns: int
    distances: tuple[float, ...]
    seed: int

    @property
    def table(self) -> SpectralTable:
        return table_for(self.dim, self.parts)

    def kernel(self, z: Any) -> Any:
        return sum(mass * KERNELS[law](self.dim, z / length) for mass, law, length in self.parts)

    @property
    def mass(self) -> float:
        return sum(abs(mass) for mass, _, _ in self.parts)

    def rows(self) -> Any:
        """A row and three others at the distances, in random directions."""
        rng = np.random.default_rng(self.seed)
        first, steps = rng.standard_normal((1, self.dim)), rng.standard_normal((3, self.dim))
        steps *= np.array(self.distances)[:, None] / np.linalg.norm(steps, axis=1, keepdims=True)
        return np.concatenate([first, first + steps])

    def estimator(self, **options: Any) -> SpectralFeatures:
        return SpectralFeatures(
            self.table,
            n_components=self.columns,
            coupling=self.coupling,
            radii=self.radii,
            allocation=self.allocation,
            mixed_signature="ignore",
            random_state=self.seed % 2**32,
            **options,
        )


@cache
def unit_law(name: str, dim: int) -> RadialLaw:
    return LAWS[name](dim)


@cache
def table_for(dim: int, parts: tuple[tuple[float, str, float], ...]) -> SpectralTable:
    return table_of(dim, [(mass, stretched(law, dim, length)) for mass, law, length in parts])


def stretched(name: str, dim: int, length: float) -> RadialLaw:
    """The radii of length 1 divided by the length."""
    law = unit_law(name, dim)
    charts = law.panels.charts.copy()
    charts[:, 0] /= length
    charts[:, 2:4] -= charts[:, 1:2] * np.log(length)
    return RadialLaw(Piecewise(charts, law.panels.series))


# Dimensions in which a coupling is more than orthogonal blocks, or cheap.
DIMS = {
    "kerdock": st.sampled_from([3, 4, 16]),
    "designed": st.integers(1, 12),
    "haar": st.integers(1, 16),
}
MASS = st.builds(lambda sign, size: sign * size, st.sampled_from([1, -1]), st.floats(0.1, 2.0))
PART = st.tuples(MASS, st.sampled_from(list(LAWS)), st.floats(0.5, 2.0))


def cases(coupling: str) -> st.SearchStrategy[Case]:
    def with_parts(parts: list[Any]) -> st.SearchStrategy[Case]:
        return st.builds(
            Case,
            dim=DIMS.get(coupling, st.integers(1, 64)),
            parts=st.just(tuple(parts)),
            coupling=st.just(coupling),
            radii=st.sampled_from(RULES),
            allocation=st.sampled_from(["equal", "mass", "optimal"]),
            columns=st.integers(2 * len(parts), 40),
            distances=st.tuples(*[st.floats(0.05, 4.0)] * 3),
            seed=st.integers(0, 2**32 - 1),
        )

    return st.lists(PART, min_size=1, max_size=3).flatmap(with_parts)


# --- pooled draws -------------------------------------------------------------------------------


def pooled(case: Case, counts: tuple[int, ...]) -> Any:
    """Estimates of K at the three pairs, from the columns of many draws: shape (draws, 3)."""
    rows, rng = case.rows(), np.random.default_rng(case.seed)
    n, even = sum(counts), case.columns % 2 == 0
    cost = case.dim * max(n, case.dim)
    draws = int(np.clip(2**19 / cost, 500, 6000)) if even else 250
    drawn = rf.sampling.frequencies.draw_repeatedly(
        case.table, counts, draws, coupling=case.coupling, radii=case.radii, random_state=rng
    )
    if not even:
        return np.array([products(one, case.columns, rows, rng) for one in drawn])
    together = Frequencies(
        *(
            np.concatenate([getattr(one, name) for one in drawn])
            for name in ("frequencies", "weights", "phases", "part")
        )
    )
    terms = products(together, 2 * len(together), rows, rng, summed=False)
    return terms.reshape(3, 2, draws, n).sum(axis=(1, 3)).T


def products(
    drawn: Frequencies, columns: int, rows: Any, rng: np.random.Generator, *, summed: bool = True
) -> Any:
    """Products of the features of the first row and the others: shape (3,), or (3, columns)."""
    features = FourierMap.of(drawn, columns, rng, signed=True)
    left = features.left(rows)
    right = left if features.symmetric else features.right(rows)
    terms = left[0] * features.signature * right[1:]
    return terms.sum(axis=1) if summed else terms


def scores(case: Case) -> dict[str, float]:
    """The error of the mean and of the mean square over the draws, in standard errors."""
    z = np.array(case.distances)
    model = VarianceModel(case.table, z)
    counts = rf.variance.allocation.allocate(
        case.table,
        -(-case.columns // 2),
        allocation=case.allocation,
        coupling=case.coupling,
        distances=model,
    )
    values, expected = pooled(case, counts), case.kernel(z)
    variance, error = model.variance(counts, coupling=case.coupling, radii=case.radii)
    if case.columns % 2:
        masses = [abs(mass) / n for (mass, _, _), n in zip(case.parts, counts, strict=True)]
        variance = variance + 0.5 * min(masses) ** 2
    return {
        "mean": mean_score(values, expected, variance + error),
        "spread": variance_score(values, expected, variance, error),
    }


SCHEMES = [(c, r) for c in NAMES for r in RULES]


@pytest.mark.parametrize(("coupling", "radii"), SCHEMES)
def test_the_mean_is_the_kernel_and_the_mean_square_is_the_predicted_variance(coupling, radii):
    @seed(SCHEMES.index((coupling, radii)))
    @settings(max_examples=3)
    @given(cases(coupling))
    def check(case):
        assert max(scores(case._replace(radii=radii)).values()) < BOUND

    check()


# --- what holds for every draw ------------------------------------------------------------------


def flaws(case: Case) -> dict[str, float]:
    """What should be zero for the features of one draw, in units of what rounding allows."""
    rows, rng = case.rows(), np.random.default_rng(case.seed)
    features = case.estimator().fit(rows)
    drawn, K = features.frequencies_, features.gram(rows)
    order, step = rng.permutation(len(rows)), 3.0 * rng.standard_normal(case.dim)
    total = sum(mass for mass, _, _ in case.parts)
    lone = drawn.weights.min() if case.columns % 2 else 0.0
    found = {
        "counts": abs(sum(features.counts_) - -(-case.columns // 2)),
        "signature": abs(
            K - (features.transform(rows) * features.signature_) @ features.transform_right(rows).T
        ).max(),
        "symmetry": abs(K - K.T).max(),
        "two sets": abs(features.gram(rows[:1], rows) - K[:1]).max(),
        "permutation": abs(features.gram(rows[order]) - K[np.ix_(order, order)]).max(),
        "length": abs(case.estimator(length_scale=2.0).fit(2.0 * rows).gram(2.0 * rows) - K).max(),
        # A single cosine column a (1 + cos(2 w.x + 2 b)) is the weight a up to a.
        "diagonal": np.maximum(abs(np.diag(K) - total) - lone, 0.0).max(),
    }
    if not lone:
        differences = rows[:, None] - rows[None]
        terms = drawn.estimate(differences.reshape(-1, case.dim)).reshape(K.shape)
        found["cosines"] = abs(K - terms).max()
        found["translation"] = abs(features.gram(rows + step) - K).max()
        found["variance at zero"] = 1e-4 * float(features.variance([0.0])[0])
    # Rounding of the phases |w| (|x| + |step|), of which those of heavy tails are the largest.
    reach = np.linalg.norm(rows, axis=1).max() + np.linalg.norm(step)
    phase = 1.0 + np.linalg.norm(drawn.frequencies, axis=1) * reach
    return {k: v / (1e-15 * float(drawn.weights @ phase)) for k, v in found.items()}


# Three distances may be too short, or too long, for a kernel.
@pytest.mark.filterwarnings("ignore::rf.LengthScaleWarning")
@pytest.mark.parametrize("coupling", NAMES)
def test_every_draw_is_exact_on_the_diagonal_and_symmetric_under_what_the_kernel_is(coupling):
    @seed(NAMES.index(coupling))
    @settings(max_examples=3)
    @given(cases(coupling))
    def check(case):
        assert max(flaws(case).values()) < 1.0

    check()


# --- deliberate mistakes ------------------------------------------------------------------------


class Mistake(NamedTuple):
    """A wrong step: what is patched, by which function of the original, and what then fails."""

    owner: Any
    name: str
    wrong: Callable[[Any], Any]
    case: Case
    fails: str


TWO = ((1.5, "gaussian", 1.0), (-0.5, "gaussian", 2.0))
PLAIN = Case(3, TWO, "orthogonal", "stratified", "mass", 32, (0.5, 1.1, 2.3), 0)
CANCELLING = ((1.0, "gaussian", 1.0), (-1.0, "gaussian", 1.3))


def drawn(change: Callable[[Frequencies], Frequencies]) -> Callable[[Any], Any]:
    """draw_repeatedly with a change of every draw."""
    return lambda draw: lambda *args, **options: [change(one) for one in draw(*args, **options)]


def by_count(one: Frequencies) -> Frequencies:
    """Weights that forget the number of frequencies of their part."""
    counts = np.array(one.counts)
    return replace(one, weights=one.weights * counts[one.part] / counts.mean())


def stratified(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Stratified radii of keys and offsets that are changed before."""
    return lambda rules: {**rules, "stratified": lambda *u: rules["stratified"](*change(*u))}


def columns(change: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    """Left and right columns with a change, which is told how many of them are cosines."""

    def wrong(waves: Any) -> Any:
        def changed(features: FourierMap, *args: Any) -> Any:
            return change(waves(features, *args).copy(), len(features.frequencies))

        return changed

    return wrong


def cosines_again(Z: Any, n: int) -> Any:
    Z[:, n:] = Z[:, : Z.shape[1] - n]
    return Z


def no_sines(Z: Any, n: int) -> Any:
    Z[:, :n] *= np.sqrt(2.0)
    Z[:, n:] = 0.0
    return Z


def made_of(change: Callable[[FourierMap], FourierMap]) -> Callable[[Any], Any]:
    """FourierMap.of with a change of the map."""
    return lambda of: staticmethod(lambda *args, **options: change(of(*args, **options)))


class NoPhase:
    """A generator whose random phase is 0."""

    def uniform(self, low: float, high: float) -> float:
        return 0.0


def not_turned(haar_columns: Any) -> Any:
    return lambda count, order, columns, rng: np.tile(np.eye(order)[:, :columns], (count, 1, 1))


def at(coupling: str, **changes: Any) -> Case:
    return PLAIN._replace(coupling=coupling, **changes)


MISTAKES = {
    # radii
    "u^1.02 in place of u": Mistake(
        RadialLaw,
        "ppf",
        lambda f: lambda law, u: f(law, u**1.02),
        at("designed", dim=2, columns=64, parts=TWO[:1]),
        "mean",
    ),
    "radii of the middles of the layers": Mistake(
        rf.sampling.frequencies,
        "RADII",
        stratified(lambda k, o: (k, np.full_like(o, 0.5))),
        PLAIN._replace(columns=6),
        "mean",
    ),
    "layers in the order of the directions": Mistake(
        rf.sampling.frequencies,
        "RADII",
        stratified(lambda k, o: (np.sort(k), o)),
        at("orthogonal", dim=2, distances=(1.0, 2.0, 3.0)),
        "spread",
    ),
    "one offset for all layers": Mistake(
        rf.sampling.frequencies,
        "RADII",
        stratified(lambda k, o: (k, o[..., :1])),
        at("orthogonal", dim=1),
        "spread",
    ),
    "a length that is 2 % off": Mistake(
        rf.sampling.frequencies,
        "draw_repeatedly",
        drawn(lambda one: replace(one, frequencies=one.frequencies / 1.02)),
        PLAIN,
        "mean",
    ),
    # directions
    "directions that are not unit vectors": Mistake(
        rf.sampling.coupling,
        "unit_rows",
        lambda f: lambda rows: rows / np.sqrt(rows.shape[-1]),
        at("iid", dim=7),
        "mean",
    ),
    "directions along the axes": Mistake(
        rf.sampling.coupling, "haar_columns", not_turned, at("orthogonal"), "mean"
    ),
    "blocks of one part used for another": Mistake(
        rf.sampling.frequencies,
        "COUPLINGS",
        lambda known: {**known, "orthogonal": known["shared"]},
        PLAIN._replace(parts=CANCELLING),
        "spread",
    ),
    "shared blocks that are not shared": Mistake(
        rf.sampling.frequencies,
        "COUPLINGS",
        lambda known: {**known, "shared": replace(known["shared"], joint=None)},
        at("shared", parts=CANCELLING),
        "spread",
    ),
    "a Haar matrix that is not cut": Mistake(
        rf.sampling.coupling,
        "haar_columns",
        lambda f: lambda count, order, columns, rng: f(count, order // 2, columns, rng),
        at("haar", parts=TWO[:1], columns=6),
        "spread",
    ),
    "Kerdock lines that are not turned": Mistake(
        rf.sampling.designed_directions,
        "haar_columns",
        not_turned,
        at("kerdock", dim=4, columns=16, distances=(1.0, 2.0, 3.0)),
        "mean",
    ),
    "a designed set that is not turned": Mistake(
        rf.sampling.designed_directions,
        "orthogonal",
        lambda f: lambda n, dim, rng, draws=None: np.eye(dim)[:n],
        at("designed", columns=12, distances=(1.5, 2.5, 3.5)),
        "mean",
    ),
    # masses and signs
    "a weight that is 2 % off": Mistake(
        rf.sampling.frequencies,
        "draw_repeatedly",
        drawn(lambda one: replace(one, weights=one.weights * (1 + 0.02 * (one.part == 0)))),
        PLAIN,
        "mean",
    ),
    "a sign that is flipped": Mistake(
        rf.sampling.frequencies,
        "draw_repeatedly",
        drawn(lambda one: replace(one, phases=np.zeros(len(one)))),
        PLAIN,
        "mean",
    ),
    "weights that are not divided by the counts": Mistake(
        rf.sampling.frequencies, "draw_repeatedly", drawn(by_count), PLAIN, "mean"
    ),
    "a negative part of signature +1": Mistake(
        FourierMap,
        "of",
        made_of(lambda one: replace(one, signature=np.abs(one.signature))),
        PLAIN,
        "diagonal",
    ),
    # columns
    "cosines in place of sines": Mistake(
        FourierMap, "_columns", columns(cosines_again), PLAIN, "diagonal"
    ),
    "cosines without sines": Mistake(
        FourierMap, "_columns", columns(no_sines), PLAIN, "translation"
    ),
    "a single column without the root of 2": Mistake(
        FourierMap,
        "of",
        lambda of: staticmethod(
            lambda drawn, n, rng, signed: replace(
                of(drawn, n, rng, signed=signed), scale=np.sqrt(drawn.weights)
            )
        ),
        PLAIN._replace(columns=3),
        "mean",
    ),
    "a single column without a random phase": Mistake(
        FourierMap,
        "of",
        lambda of: staticmethod(
            lambda drawn, n, rng, signed: of(drawn, n, NoPhase(), signed=signed)
        ),
        PLAIN._replace(columns=3),
        "mean",
    ),
    "a random phase on one side": Mistake(
        FourierMap,
        "of",
        made_of(lambda one: replace(one, right_phases=None, symmetric=False)),
        PLAIN._replace(columns=3),
        "mean",
    ),
}


def score(case: Case, name: str) -> float:
    """The score of a name, over its bound."""
    return scores(case)[name] / BOUND if name in ("mean", "spread") else flaws(case)[name]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_the_right_step_passes(name, monkeypatch):
    mistake = MISTAKES[name]
    assert score(mistake.case, mistake.fails) < 1.0
    wrong = mistake.wrong(getattr(mistake.owner, mistake.name))
    monkeypatch.setattr(mistake.owner, mistake.name, wrong)
    assert score(mistake.case, mistake.fails) > 1.0
