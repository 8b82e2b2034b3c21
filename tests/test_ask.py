"""Features of asymmetric kernels: unbiased, with the variance that is stated, in every form."""

import pickle
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse
from grids import by_turns, graded
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GRFF, AsKRFF, SpectralFeatures
from rf.features.ask import DroppedPartWarning
from rf.sampling.frequencies import RADII
from rf.schemes.complex import AxialPlan, Decomposed, jordan_masses, layer_rule, layered_variance
from rf.schemes.scheme import Scheme, TablePlan, plan_table
from spectra.base.limits.time_limit import time_limit
from spectra.derivation.asymmetric_measure import asymmetric_table
from spectra.errors import AccuracyError, DataError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial

GAUSSIAN = radial("exp(-z**2/8)")


def published(name, dim):
    vector = {"r": 2 / dim} if name == "shift_gaussian" else {"beta": 0.5 * np.pi / dim}
    return catalogue[name](sigma=2, **vector)


NAMES = ("shift_gaussian", "sinh_gaussian", "cosh_gaussian")
DECOMPOSITIONS = ("jordan", "polar", "weighted")


def pooled(plan, radii, D, true, draws):
    estimates = np.array(
        [plan.frequencies(radii, np.random.default_rng(s)).estimate(D) for s in range(draws)]
    )
    spread = estimates.std(axis=0, ddof=1) / np.sqrt(draws)
    return (estimates.mean(axis=0) - true) / (spread + 1e-9), estimates


def differences(dim):
    rng = np.random.default_rng(dim)
    return np.vstack([np.zeros(dim), rng.normal(size=(3, dim)) / np.sqrt(dim)])


SIZES = [(1, "stratified"), (2, "iid"), (7, "stratified"), (16, "iid"), (64, "iid")]


@pytest.mark.parametrize(
    ("name", "dim", "radii"),
    graded(
        [(name, *size) for name in NAMES for size in SIZES],
        default=[(NAMES[i % len(NAMES)], *size) for i, size in enumerate(SIZES[:1])],
        slow=[(NAMES[(i + turn) % len(NAMES)], *s) for turn in (0, 1) for i, s in enumerate(SIZES)],
    ),
)
def test_every_decomposition_is_unbiased(name, dim, radii):
    kernel, D = published(name, dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    for decomposition in DECOMPOSITIONS:
        other = Decomposed(table, decomposition)
        plan = AxialPlan(other, (3,) * len(other.parts))
        z, _ = pooled(plan, radii, D, kernel(D), 150)
        assert np.abs(z).max() < 6, decomposition


@pytest.mark.parametrize("dim", by_turns([2, 7], every=2))
@pytest.mark.parametrize("coupling", ["orthogonal", "haar", "qmc"])
def test_shifted_rows_take_every_coupling(coupling, dim):
    kernel, D = published("cosh_gaussian", dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    plan = plan_table(table, 8, Scheme(coupling, "stratified", "equal"), D)
    assert plan.decomposition == "shifted"
    z, estimates = pooled(plan, "stratified", D, kernel(D), 500)
    assert np.abs(z).max() < 6
    if coupling != "qmc":
        ratio = estimates.var(axis=0, ddof=1) / plan.variance(D, "stratified")
        assert np.all(np.abs(ratio - 1) < 6 * np.sqrt(4 / 500))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dim"), [(7, 2), *(pytest.param(*c, marks=pytest.mark.slow) for c in ((12, 2), (12, 7)))]
)
def test_orthogonal_blocks_of_a_modulated_measure(dim, n):
    kernel, D = published("sinh_gaussian", dim), differences(dim)
    table = asymmetric_table(kernel, dim)
    plan = plan_table(table, n, Scheme("orthogonal", "stratified", "equal"), D)
    assert plan.decomposition == "weighted"
    for radii in ("iid", "stratified", "systematic"):
        z, estimates = pooled(plan, radii, D, kernel(D), 1000)
        assert np.abs(z).max() < 6
        found, stated = estimates.var(axis=0, ddof=1), plan.variance(D, radii)
        square = (estimates - estimates.mean(axis=0)) ** 2
        bound = 6 * square.std(axis=0) / np.sqrt(1000) + 1e-12
        assert np.all(np.abs(found - stated) < bound)
        iid = TablePlan(plan.table, "iid", plan.counts).variance(D, radii)
        # In d = 7 the blocks matter by more than the test allows.
        assert dim == 2 or np.any(np.abs(iid - stated) > bound)


MATERN = catalogue["matern"](nu=1.5)
LAYERED = {
    "tilt": lambda d: GAUSSIAN.tilt(0.5 * np.pi / d),
    "two shifts": lambda d: GAUSSIAN.shift(0.5 / d) - 0.7 * GAUSSIAN.shift(-1.0 / d),
    "moved twice": lambda d: MATERN.shift(0.4 / d) + MATERN.shift(-0.8 / d),
}


@pytest.mark.parametrize("n", by_turns([2, 9], every=2))
@pytest.mark.parametrize(
    ("name", "dim"),
    by_turns(
        [
            ("tilt", 1),
            ("tilt", 16),
            pytest.param("two shifts", 2, marks=pytest.mark.slow),
            pytest.param("moved twice", 3, marks=pytest.mark.slow),
        ],
        every=2,
    ),
)
def test_the_variance_of_draws_in_layers_is_exact(name, dim, n):
    """For every part of every decomposition, and lower than that of independent draws."""
    D, draws = differences(dim), 1200
    rng = np.random.default_rng(n)
    table = asymmetric_table(LAYERED[name](dim), dim)
    parts = [p for decomposition in DECOMPOSITIONS for p in Decomposed(table, decomposition).parts]
    for part in parts:
        for radii, rule in RADII.items():
            if radii != "iid" and not part.has_layers:
                continue
            u = np.concatenate([rule(rng.random(n), rng.random(n)) for _ in range(draws)])
            drawn = part.draw(n * draws, rng, u=u)
            waves = np.cos(drawn.frequencies @ D.T + drawn.phases[:, None])
            means = (drawn.amplitudes[:, None] * waves).reshape(draws, n, -1).mean(axis=1)
            spread = means.std(axis=0, ddof=1) / np.sqrt(draws)
            floor = 1e-7 * part.mass
            assert np.all(np.abs(means.mean(axis=0) - part.mean(D)) < 6 * spread + floor)
            square = (means - means.mean(axis=0)) ** 2
            bound = 6 * square.std(axis=0) / np.sqrt(draws) + floor * part.mass
            stated = layered_variance(part, n, D, radii)
            assert np.all(np.abs(square.mean(axis=0) - stated) < bound), (part.kind, radii)
            if radii == "stratified":
                assert np.all(stated < part.variance(D) / n + floor * part.mass)


@pytest.mark.parametrize("kind", ["real+", "real-", "imaginary+", "modulus"])
def test_layer_means_are_those_of_the_density_along_the_axis(kind):
    """Against fifty digits: mu_a = n E[X; layer a] with the ends of the layers by bisection."""
    n, c, along = 4, 0.9, 0.7
    table = asymmetric_table(0.6 * GAUSSIAN.shift(1.8) + 0.1 * GAUSSIAN, 1)
    chosen = Decomposed(table, "polar" if kind == "modulus" else "jordan", negligible=0.0)
    part = next(p for p in chosen.parts if p.kind == kind)
    rule = layer_rule(part, n, along)
    D = np.array([[along]])
    found = rule.means(part.mean_given(rule.coordinate, D), part.mean(D))[:, 0]

    def selected(g):
        value = 0.6 * mp.expj(c * g) + mp.mpf("0.1")
        if kind == "modulus":
            return abs(value)
        if kind == "imaginary+":
            return abs(value.imag)
        return max(mp.mpf(0), value.real if kind == "real+" else -value.real)

    def wave(g):
        value = 0.6 * mp.expj(c * g) + mp.mpf("0.1")
        angle = along * g / 2
        if kind == "modulus":
            return mp.cos(angle + mp.arg(value))
        if kind == "imaginary+":
            return -mp.sin(angle) * mp.sign(value.imag)
        return mp.cos(angle) * (1 if kind == "real+" else -1)

    turn = mp.acos(-mp.mpf(1) / 6)
    with mp.workdps(20):
        kinks = sorted(
            (t + 2 * mp.pi * k) / c for k in range(3) for t in (0, turn, mp.pi, 2 * mp.pi - turn)
        )

        def integral(function, low, high):
            inside = [k for k in kinks if low < k < high]
            grid = [low, *inside, high] if high < 12 else [low, *inside, 12]
            return mp.quad(lambda g: function(g) * mp.npdf(g) * 2 * selected(g), sorted(set(grid)))

        ends = [mp.mpf(x) / part.gaussian for x in part.coordinate(np.arange(1, n) / n)]
        total = integral(lambda g: 1, 0, 12)
        assert abs(total / part.mass - 1) < 1e-12
        for a, (low, high) in enumerate(pairwise([mp.mpf(0), *ends, mp.mpf(12)])):
            assert abs(integral(lambda g: 1, low, high) - total / n) < 1e-12
            assert abs(n * integral(wave, low, high) - found[a]) < 1e-8 * part.mass


HOSTILE = {
    "no shift": lambda d: GAUSSIAN.shift(0.0),
    "no tilt": lambda d: GAUSSIAN.tilt(0.0),
    "a denormal shift": lambda d: GAUSSIAN.shift(5e-324),
    "a tiny shift": lambda d: GAUSSIAN.shift(1e-12),
    "a long shift": lambda d: GAUSSIAN.shift(100.0),
    "a shift beyond sight": lambda d: GAUSSIAN.shift(1e10),
    "even": lambda d: GAUSSIAN.shift(0.3) + GAUSSIAN.shift(-0.3),
    "odd": lambda d: GAUSSIAN.shift(0.3) - GAUSSIAN.shift(-0.3),
    "multiples of one kernel": lambda d: 0.6 * GAUSSIAN.shift(0.9) + (0.1 * GAUSSIAN).shift(0.0),
}


# Laws that are no Gaussians are integrated, which takes seconds.
HOSTILE_SLOW = {"a tiny shift of a Matern kernel": lambda d: MATERN.shift(1e-7)}


@pytest.mark.parametrize("dim", [1, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    by_turns([*HOSTILE, *(pytest.param(n, marks=pytest.mark.slow) for n in HOSTILE_SLOW)], every=3),
)
def test_features_of_hostile_kernels(name, dim):
    """From one column to a thousand: bounded, and right within six deviations that they state."""
    kernel = (HOSTILE | HOSTILE_SLOW)[name](dim)
    X = np.random.default_rng(0).random((12, dim)) / np.sqrt(dim)
    D = X[:6] - X[6:]
    for columns in (1, 2, 7, 1000):
        features = SpectralFeatures(kernel, n_components=columns, random_state=1).fit(X)
        error = np.diag(features.gram(X[:6], X[6:])) - kernel(D)
        # One frequency has no normal law, but no more than its weight; an odd column doubles it.
        most = 2 * features.frequencies_.weights.sum() + np.abs(kernel(D))
        assert np.all(np.abs(error) <= most)
        stated = features.variance(D)
        assert np.all(np.isfinite(stated))
        if columns == 1000:
            assert np.all(error**2 < 36 * stated + 1e-12)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (GAUSSIAN.shift(0.3) - 0.5 * (2 * GAUSSIAN).shift(0.3), "zero"),
        (GAUSSIAN.tilt(50.0), "Tilt by less"),
    ],
)
def test_what_has_nothing_to_draw_is_refused(kernel, said):
    with pytest.raises(ParameterError, match=said):
        SpectralFeatures(kernel).fit(np.zeros((2, 4)))


def test_the_four_parts_of_a_shift_beyond_sight_are_refused():
    with pytest.raises(AccuracyError, match="weighted"):
        AsKRFF(GAUSSIAN.shift(1e8)).fit(np.zeros((2, 4)))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_fewer_frequencies_than_parts_are_drawn_from_all_parts(name, n):
    kernel, D = published(name, 3), differences(3)
    measure = Decomposed(asymmetric_table(kernel, 3), negligible=0.0)
    plan = AxialPlan(measure, (n,), pooled=True)
    assert plan.frequencies("stratified", np.random.default_rng(0)).counts == (n,)
    draws = 4000
    whole = AxialPlan(measure, (n * draws,), pooled=True)
    drawn = whole.frequencies("iid", np.random.default_rng(1))
    waves = np.cos(D @ drawn.frequencies.T + drawn.phases) * drawn.weights * n * draws
    means = waves.reshape(len(D), draws, n).mean(axis=2)
    spread = means.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(means.mean(axis=1) - kernel(D)) < 6 * spread)
    square = (means - means.mean(axis=1, keepdims=True)) ** 2
    bound = 6 * square.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(square.mean(axis=1) - plan.variance(D, "stratified")) < bound)


@pytest.mark.slow
def test_features_state_the_variance_of_what_they_draw():
    X = np.random.default_rng(0).random((40, 3))
    D = np.array([[0.3, -0.2, 0.4]])
    for name in NAMES:
        features = SpectralFeatures(published(name, 3), n_components=25, random_state=0).fit(X)
        plan, stated = features._plan, features.variance(D)[0]
        _, estimates = pooled(plan, "stratified", D, published(name, 3)(D), 150)
        # The frequency that has a cosine alone adds half of its squared weight.
        stated -= features.frequencies_.weights.min() ** 2 / 2
        square = (estimates - estimates.mean()) ** 2
        assert abs(square.mean() - stated) < 6 * square.std() / np.sqrt(150), name
    with pytest.raises(ParameterError, match=r"shape \(n, 3\)"):
        features.variance([0.1, 0.2])
    with pytest.raises(ParameterError, match="exact masses"):
        AsKRFF(published("cosh_gaussian", 3), masses="least-squares").fit(X).variance(D)


# Variance times the number of frequencies, D orthogonal to the axis and of length 1: four parts
# with equal split, four parts with optimal split, polar.
STATED = [
    ("shift_gaussian", 57, (0.0786, 0.0407, 0.0276)),
    ("shift_gaussian", 16, (0.0915, 0.0568, 0.0360)),
    ("shift_gaussian", 8, (0.1080, 0.0713, 0.0489)),
    ("sinh_gaussian", 57, (0.0949, 0.0949, 0.0610)),
    ("sinh_gaussian", 16, (0.2404, 0.2170, 0.1623)),
    ("sinh_gaussian", 8, (0.5364, 0.4226, 0.3457)),
    ("cosh_gaussian", 57, (0.1424, 0.0949, 0.0708)),
    ("cosh_gaussian", 16, (0.3631, 0.2220, 0.3114)),
    ("cosh_gaussian", 8, (0.8248, 0.4742, 1.0265)),
]


@pytest.mark.parametrize(("name", "dim", "stated"), STATED)
def test_variances_are_those_of_the_theory(name, dim, stated):
    D = np.zeros((1, dim))
    D[0, :2] = 2**-0.5, -(2**-0.5)
    table = Decomposed(asymmetric_table(published(name, dim), dim), negligible=0.0)
    variances = np.array([p.variance(D)[0] for p in table.parts])
    # The papers give every part M frequencies, the part without mass included.
    sampled = 2 if name == "sinh_gaussian" else 3
    assert abs(sampled * variances.sum() - stated[0]) < 6e-5
    # The variance of a part of mass 1e-34 is zero up to rounding, of either sign.
    deviations = np.sqrt(np.maximum(variances, 0.0))
    assert abs(deviations.sum() ** 2 - stated[1]) < 6e-5
    assert abs(table.decomposed("polar").parts[0].variance(D)[0] - stated[2]) < 6e-5


def test_the_four_parts_are_exact_at_zero_and_polar_is_not():
    D = np.zeros((1, 16))
    table = Decomposed(asymmetric_table(published("cosh_gaussian", 16), 16))
    assert all(abs(p.variance(D)[0]) < 1e-12 for p in table.parts)
    assert table.decomposed("polar").parts[0].variance(D)[0] > 0.01


def test_auto_takes_the_least_variance():
    X = np.random.default_rng(0).random((60, 16))
    for name in NAMES[1:]:
        features = SpectralFeatures(published(name, 16), n_components=120, random_state=0).fit(X)
        chosen = features._plan
        D = X[:30] - X[30:]
        table = asymmetric_table(published(name, 16), 16)
        for decomposition in DECOMPOSITIONS:
            other = Decomposed(table, decomposition)
            counts = (60 // len(other.parts),) * len(other.parts)
            iid = AxialPlan(other, counts).variance(D, "iid").mean()
            assert chosen.variance(D, "iid").mean() < 1.02 * iid


@pytest.mark.parametrize("columns", [12, 13])
@pytest.mark.parametrize("name", NAMES)
def test_left_and_right_features_give_the_gram_matrix(name, columns):
    rng = np.random.default_rng(0)
    X, Y = rng.random((5, 3)), rng.random((4, 3))
    for features in (
        SpectralFeatures(published(name, 3), n_components=columns, random_state=0),
        AsKRFF(published(name, 3), n_components=columns, random_state=0),
    ):
        features = clone(features).fit(X)
        product = features.transform(X) @ features.transform_right(Y).T
        assert product.shape == (5, 4)
        assert np.allclose(features.gram(X, Y), product, atol=1e-14)
        assert np.all(features.signature_ == 1.0)
        assert np.abs(features.gram(X) - features.gram(X).T).max() > 1e-3
        expected = features.frequencies_.estimate((X[:, None] - Y[None]).reshape(-1, 3))
        if columns % 2 == 0:
            assert np.allclose(product.ravel(), expected, atol=1e-13)


@pytest.mark.slow
def test_exact_masses_are_unbiased_and_fitted_ones_shrink():
    dim, M = 16, 8
    kernel = published("cosh_gaussian", dim)
    X = np.random.default_rng(0).random((60, dim))
    true = jordan_masses(asymmetric_table(kernel, dim))
    fitted, error = [], []
    for seed in range(60):
        options = {"n_components": 6 * M, "random_state": seed}
        error.append(AsKRFF(kernel, **options).fit(X).gram(X[:8]) - kernel.gram(X[:8]))
        fitted.append(AsKRFF(kernel, masses="least-squares", **options).fit(X).masses_)
    error, fitted = np.array(error), np.array(fitted)
    spread = error.std(axis=0, ddof=1) / np.sqrt(60) + 1e-12
    assert np.abs(error.mean(axis=0) / spread).max() < 6
    # At D = 0 the fit is exact; the mass of the sine comes out too small.
    assert np.allclose(fitted[:, 0] - fitted[:, 1], 1.0, atol=1e-6)
    sine = fitted[:, 2].mean() / (2 * true["imaginary+"])
    assert 0.2 < sine < 0.9


def test_a_dropped_part_is_announced():
    X = np.random.default_rng(0).random((10, 16))
    with pytest.warns(DroppedPartWarning, match="real-"):
        features = AsKRFF(published("shift_gaussian", 16), n_components=8).fit(X)
    assert features.counts_ == (2, 2)


def test_the_presets_for_symmetric_kernels_say_so():
    X = np.zeros((2, 3))
    with pytest.raises(ParameterError, match="AsKRFF"):
        GRFF(GAUSSIAN.shift(0.1)).fit(X)
    with pytest.raises(ParameterError, match="uniform directions"):
        SpectralFeatures(published("sinh_gaussian", 3), coupling="haar").fit(X)
    with pytest.raises(ParameterError, match="asymmetric"):
        AsKRFF(GAUSSIAN).fit(X)


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@parametrize_with_checks([AsKRFF()])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@parametrize_with_checks([AsKRFF(n_components=1)])
def test_the_contract_of_scikit_learn_with_one_column(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@pytest.mark.parametrize(
    "estimator", [AsKRFF(random_state=0), AsKRFF(masses="least-squares", random_state=0)]
)
def test_sparse_rows_float32_and_data_frames(estimator):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).random((60, 3))
    X[X < 0.4] = 0.0
    fitted = clone(estimator).fit(X)
    Z = fitted.transform(X)
    sparse = clone(estimator).fit(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.transform(scipy.sparse.csr_matrix(X)), Z, atol=1e-12)
    single = X.astype(np.float32)
    assert fitted.transform(single).dtype == fitted.transform_right(single).dtype == np.float32
    np.testing.assert_allclose(fitted.transform(single), Z, atol=1e-5)
    frame = pandas.DataFrame(X, columns=list("abc"))
    out = clone(estimator).set_output(transform="pandas").fit(frame).transform(frame)
    np.testing.assert_allclose(out.to_numpy(), Z, atol=1e-12)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        clone(estimator).fit(frame).transform(frame[["a", "b"]])


def test_a_name_of_the_catalogue_will_do():
    X = np.random.default_rng(0).random((5, 4))
    features = SpectralFeatures("shift_gaussian", n_components=400, random_state=0).fit(X)
    assert np.abs(features.gram(X) - catalogue["shift_gaussian"]().gram(X)).max() < 0.1


@pytest.mark.parametrize("moved", [GAUSSIAN.shift([0.5, 0.0]), GAUSSIAN.tilt([0.5, 0.0])])
def test_fitted_features_of_an_asymmetric_kernel_are_pickled(moved):
    X = np.random.default_rng(0).normal(size=(10, 2))
    features = SpectralFeatures(moved, n_components=20, mixed_signature="ignore", random_state=0)
    again = pickle.loads(pickle.dumps(features.fit(X)))
    np.testing.assert_array_equal(again.gram(X), features.gram(X))


@pytest.mark.slow
def test_a_difference_that_cancels_is_served_as_far_as_its_mass_is_known():
    matern = radial("(1 + z)*exp(-z)")
    X = np.random.default_rng(0).normal(size=(20, 3))
    small = matern.shift(1e-6) - matern
    features = SpectralFeatures(small, n_components=4000, random_state=0).fit(X)
    exact = small.gram(X)
    assert np.linalg.norm(features.gram(X) - exact) < 0.2 * np.linalg.norm(exact)
    with pytest.raises(ParameterError, match="within the error of its masses"):
        SpectralFeatures(matern.shift(1e-9) - matern, n_components=8).fit(X)


def test_fitted_masses_take_any_rows_that_determine_them():
    X = np.random.default_rng(0).random((20, 2))
    features = AsKRFF(
        GAUSSIAN.shift([0.9, 0.2]), n_components=600, masses="least-squares", random_state=0
    )
    masses = clone(features).fit(X).masses_
    np.testing.assert_array_equal(clone(features).fit(X.tolist()).masses_, masses)
    np.testing.assert_allclose(
        clone(features).fit(scipy.sparse.csr_array(X)).masses_, masses, rtol=1e-12
    )
    for rows in (X[:1], np.repeat(X[:1], 5, axis=0)):
        with pytest.raises(DataError, match="does not determine the masses"):
            clone(features).fit(rows)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_variance_at_no_finite_difference_is_refused(value):
    features = AsKRFF(GAUSSIAN.shift([0.9, 0.2]), n_components=20, random_state=0).fit(np.eye(2))
    with pytest.raises(ParameterError, match="not finite"):
        features.variance([value, 0.0])
    with pytest.raises(ParameterError, match="real numbers"):
        features.variance("near")


@pytest.mark.slow
def test_a_shifted_kernel_of_compact_support_is_served_in_time():
    """Its law has lobes without end, whose waves are dear: a thousand of them took minutes."""
    kernel = radial("(1 - z**2/4)**3", support=2).shift([0.3, 0.0])
    X = np.random.default_rng(0).random((12, 2))
    features = AsKRFF(kernel, n_components=4000, random_state=0).fit(X)
    assert 0.0 < features.measure_.mass_error < 1e-4
    D = X[:6] - X[6:]
    deviation = np.abs(np.diag(features.gram(X[:6], X[6:])) - kernel(D))
    assert np.all(deviation < 6 * np.sqrt(np.sum(features.masses_**2) / 333))
    auto = SpectralFeatures(kernel, n_components=16, mixed_signature="ignore", random_state=0)
    with time_limit(40.0):
        assert auto.fit(X).decomposition_ in ("shifted", "weighted")
