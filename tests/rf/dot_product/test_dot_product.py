"""Features designed for the data: right on average, as good as stated, refused if not possible."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from rf import KreinRidgeClassifier, SpectralFeatures, UselessFeaturesWarning
from rf.dot_product.comparison import compare
from rf.dot_product.exact_powers import even_coefficients, exact_candidates
from rf.dot_product.neurons import arc_cosine_weights, neuron_candidates
from rf.dot_product.problem import Problem
from rf.inputs.rows import range_of_distances
from spectra.designs import checked_distances, design, design_for_columns
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import radial, zonal

RAMP = "(u*(pi - acos(u)) + sqrt(1 - u**2))/pi"
NTK = "(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi"
STEP = "1 - acos(u)/pi"


def sphere_rows(n, dim, seed=0, *, spread=1.0):
    """Unit rows around one direction: the smaller the spread, the closer together."""
    x = spread * np.random.default_rng(seed).standard_normal((n, dim))
    x[:, 0] += 1.0
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def gram_of(candidate, X, rng):
    drawn = candidate.draw(rng)
    Z = drawn.columns(X)
    assert Z.shape == (len(X), candidate.columns)
    return (Z * drawn.signature) @ Z.T


def assert_right_on_average(candidate, X, expected, draws=200):
    """The mean over draws is within six of its own standard errors, entry by entry."""
    rng = np.random.default_rng(1)
    grams = np.array([gram_of(candidate, X, rng) for _ in range(draws)])
    deviation = grams.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(grams.mean(axis=0) - expected) <= 6.0 * deviation + 1e-12)
    assert grams.std() > 1e-6  # else the test would say nothing


@pytest.mark.parametrize("dim", [1, 2, 16])
def test_a_polynomial_of_u_is_exact(dim):
    kernel = zonal("1/5 - u/2 + 3*u**2/2")
    X = sphere_rows(40, dim)
    features = SpectralFeatures(kernel, n_components=2300, mixed_signature="ignore").fit(X)
    np.testing.assert_allclose(features.gram(X), kernel.gram(X), atol=1e-12)
    assert features.expected_error_ < 1e-12
    assert features.z_max_ == 2.0
    # all monomials; on two points a line is enough
    monomials = 1 + dim + dim * (dim + 1) // 2 if dim > 1 else 2
    assert features.transform(X).shape == (40, monomials)
    assert "exact polynomial" in features.explain()


@pytest.mark.parametrize(("dim", "degree"), [(1, 2), (3, 0), (7, 1), (16, 2)])
def test_a_polynomial_of_the_squared_distance_is_exact_on_any_rows(dim, degree):
    kernel = radial(["3", "1 - z**2/9", "1/2 - z**2/5 + z**4/40"][degree], support=2)
    rng = np.random.default_rng(0)
    columns = {0: 1, 1: dim + 2, 2: 3 + 2 * dim + dim * (dim + 1) // 2}[degree]
    options = {"n_components": 200, "mixed_signature": "ignore", "domain": "data"}
    for dtype in (np.float64, np.float32):
        X = (5.0 + rng.uniform(-1.0, 1.0, (40, dim)) / np.sqrt(dim)).astype(dtype)
        features = SpectralFeatures(kernel, **options).fit(X)
        # The rows lie 5 from the origin, so that their own rounding enters every distance.
        atol = 60 * np.finfo(dtype).eps
        Z = features.transform(X)
        np.testing.assert_allclose(features.gram(X), kernel.gram(X), atol=atol)
        np.testing.assert_allclose(features.transform(scipy.sparse.csr_array(X)), Z, atol=atol)
        assert (Z.dtype, Z.shape) == (dtype, (40, columns))
        assert features.method_ == f"exact polynomial of degree {degree} in z^2"
        assert features.z_max_ <= 2.0
        with pytest.raises(DataError):
            features.transform(np.zeros((1, dim), dtype=dtype))


@pytest.mark.parametrize(
    ("kernel", "coupling", "least"),
    [
        (radial("1 - z**2/9", support=2), "auto", 1.0),
        (radial("1 - z**2/9", support=2), "orthogonal", 5.0),
        ("gaussian", "auto", 1.0),
    ],
)
def test_rounding_is_that_of_the_mass(kernel, coupling, least):
    """In single precision, where it is seen: masses that cancel cost the digits that are said."""
    X = sphere_rows(60, 7)
    options = {"n_components": 24, "coupling": coupling, "mixed_signature": "ignore"}
    features = SpectralFeatures(kernel, random_state=0, **options).fit(X)
    assert features.cancellation_bound_ >= least
    # Rows that are exact in single precision, so that nothing but the work is rounded.
    X = X.astype(np.float32)
    error = np.abs(features.gram(X) - features.gram(X.astype(float))).max()
    stated = 8 * 2.0**-24 * features.cancellation_bound_
    assert stated / 300 < error < stated


def test_what_is_no_polynomial_on_the_range_is_none():
    for kernel, z_max in (
        (radial("1 - z**2/9", support=2), 2.1),
        (radial("1 - z"), 1.0),
        (radial("exp(-z**2)"), 1.0),
        (radial("1 - z**2/9", support=2) + radial("z**2", support=1), 1.5),
    ):
        assert even_coefficients(kernel, z_max) is None
    both = radial("1 - z**2/9", support=2) + radial("z**2", support=1)
    assert even_coefficients(both, 1.0) == [1.0, pytest.approx(8 / 9)]


def test_the_error_of_a_design_with_a_coupling_counts_its_bias_where_the_rows_are():
    X = np.random.default_rng(0).normal(size=(200, 16))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    features = SpectralFeatures(
        "exp(u)", n_components=64, coupling="orthogonal", mixed_signature="ignore"
    )
    exact, seen = np.exp(X @ X.T), []
    for seed in range(6):
        error = features.set_params(random_state=seed).fit(X).gram(X) - exact
        seen.append(np.linalg.norm(error) / np.linalg.norm(exact))
    assert np.mean(seen) == pytest.approx(features.expected_error_, rel=0.3)


@pytest.mark.slow
def test_useless_features_give_a_warning():
    X = np.random.default_rng(0).normal(size=(200, 16)) / 4
    features = SpectralFeatures("Heaviside(1-z)", n_components=256, mixed_signature="ignore")
    with pytest.warns(UselessFeaturesWarning, match="zeros errs by 100 %") as record:
        features.fit(X)
    assert record[0].filename == __file__
    exact = features.kernel_.gram(X)
    error = np.linalg.norm(features.gram(X) - exact) / np.linalg.norm(exact)
    assert error == pytest.approx(features.expected_error_, rel=0.1)
    assert error > 0.5


@pytest.mark.parametrize(
    ("formula", "dim"), [(NTK, 16), ("acos(u) - 3*u*acos(u)/2 - sqrt(1 - u**2)", 2)]
)
def test_features_are_the_kernel_on_average(formula, dim):
    kernel = zonal(formula)
    X = np.vstack([sphere_rows(3, dim), -sphere_rows(1, dim)])
    for candidate in neuron_candidates(Problem.of(kernel, X, 40, 2.0)):
        assert_right_on_average(candidate, X, kernel.gram(X))


def test_the_arc_cosine_family_is_recognised_exactly():
    assert arc_cosine_weights(zonal(STEP)) == (1, 0, 0, 0, 0)
    assert arc_cosine_weights(zonal(RAMP)) == (0, 1, 0, 0, 0)
    assert arc_cosine_weights(zonal(NTK)) == (0, 1, 1, 0, 0)
    assert arc_cosine_weights(zonal(f"2*({RAMP}) - 3*({STEP}) + 5 - u/2")) == (-3, 2, 0, 5, -0.5)
    for other in ("exp(u)", "(1 + u)/2", "acos(u)**2", "sqrt(1 - u**2)*acos(u)"):
        assert arc_cosine_weights(zonal(other)) is None


def test_exact_powers_of_a_design_are_part_of_its_certificate():
    kernel = zonal("exp(2*u)")
    served = checked_distances(kernel, (0, 2))
    made = design_for_columns(kernel, 5, *served, n_components=120, exact_degree=2)
    assert made.powers.shape == (2,)
    assert made.columns <= 120
    with pytest.raises(ParameterError, match="exact_degree=0"):
        _ = made.measure
    with pytest.raises(ParameterError, match="which take 56"):
        design_for_columns(kernel, 5, *served, n_components=50, exact_degree=3)


@pytest.mark.parametrize(
    ("degree", "dim"), [(1, 7), (2, 2), pytest.param(2, 16, marks=pytest.mark.slow)]
)
def test_exact_powers_off_the_sphere_are_those_of_the_distance(dim, degree):
    """Drawn features have the design for their mean, on rows of any length, and its columns."""
    kernel = radial("exp(-z**2/2)")
    X = 3.0 + np.random.default_rng(0).uniform(-1, 1, (30, dim)) / np.sqrt(dim)
    served = checked_distances(kernel, (0, 2))
    made = design_for_columns(kernel, dim, *served, n_components=150 + dim**2, exact_degree=degree)
    z = np.linspace(0, 2, 2001)
    seen = np.abs(made(z) - kernel(z)).max()
    stated = made.sup_error.mid + made.sup_error.rad
    assert 0.98 * stated < seen <= stated
    features = [
        SpectralFeatures(
            made, n_components=made.columns, random_state=s, mixed_signature="ignore"
        ).fit(X)
        for s in range(15)
    ]
    assert features[0].transform(X).shape == (30, made.columns)
    grams = np.array([f.gram(X) for f in features])
    mean = made(np.linalg.norm(X[:, None] - X[None], axis=2))
    bound = 6.0 * grams.std(axis=0) / np.sqrt(14)
    assert np.all(np.abs(grams.mean(axis=0) - mean) <= bound + 1e-12)
    far = np.zeros((1, dim))
    with pytest.raises(DataError):
        features[0].transform(far)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rf.UselessFeaturesWarning")
@pytest.mark.parametrize(
    "formula", [NTK, STEP, "arc_cosine_2", "exp(u)", "tanh(u)", pytest.param("(1+u)**3", id="cube")]
)
def test_rows_of_784_columns_have_features(formula):
    """As many columns as the images of MNIST; weights of Gauss-Jacobi rules ended at 456."""
    X = sphere_rows(120, 784, spread=0.1)
    features = SpectralFeatures(formula, n_components=64, mixed_signature="ignore").fit(X[:100])
    exact = features.kernel_.gram(X[100:])
    error = np.linalg.norm(features.gram(X[100:]) - exact) / np.linalg.norm(exact)
    assert error < 3.0 * features.expected_error_
    model = KreinRidgeClassifier(features).fit(X, X[:, 1] > 0.0)
    assert model.score(X, X[:, 1] > 0.0) > 0.6


def test_the_errors_of_all_methods_are_predicted_not_of_the_best_alone():
    kernel, X = zonal(RAMP), sphere_rows(60, 3)
    exact = kernel.gram(X)
    compared = [c for c in compare(Problem.of(kernel, X, 20, 2.0)).compared if c.draw]
    assert len({c.name.split(",")[0] for c in compared}) >= 3
    for candidate in compared:
        rng = np.random.default_rng(2)
        squares = [np.sum((gram_of(candidate, X, rng) - exact) ** 2) for _ in range(10)]
        seen = np.sqrt(np.mean(squares)) / np.linalg.norm(exact)
        assert seen == pytest.approx(candidate.error, rel=0.35)


def test_what_is_chosen_does_not_depend_on_the_random_state():
    X = sphere_rows(530, 3)
    options = {"n_components": 9, "mixed_signature": "ignore"}
    a, b = (SpectralFeatures(NTK, random_state=s, **options).fit(X) for s in (0, 1))
    assert a.explain() == b.explain()
    assert np.abs(a.transform(X) - b.transform(X)).max() > 1e-3
    again = SpectralFeatures(NTK, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(again.transform(X), a.transform(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).transform(X), a.transform(X))


@pytest.mark.parametrize("formula", ["(1 + u)/2", STEP])
def test_types_of_rows(formula):
    X = sphere_rows(30, 5)
    X[np.abs(X) < 0.1] = 0.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    features = SpectralFeatures(formula, n_components=16, mixed_signature="ignore").fit(X)
    Z = features.transform(X)
    narrow = features.transform(X.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, Z, atol=1e-4)
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(features.transform(sparse), Z, atol=1e-12)
    again = clone(features).set_params(random_state=0).fit(sparse)
    same = clone(features).set_params(random_state=0).fit(X)
    np.testing.assert_allclose(again.transform(sparse), same.transform(X), atol=1e-9)
    assert features.get_feature_names_out().size == Z.shape[1]
    np.testing.assert_allclose(features.gram(X[:9], X), features.gram(X)[:9], atol=1e-12)


def test_rows_outside_the_range_are_refused_unless_told_otherwise():
    X = sphere_rows(60, 5, spread=0.1)
    features = SpectralFeatures(STEP, n_components=20, mixed_signature="ignore").fit(X)
    largest = np.sqrt(2 - 2 * (X @ X.T).min())
    assert 1.04 * largest < features.z_max_ < 1.06 * largest
    assert "5 % more" in features.explain()
    far = np.vstack([X, -X[:1]])
    with pytest.raises(DataError, match=r"apart|mean of the fitted rows"):
        features.transform(far)
    with pytest.raises(DataError):
        features.gram(X, -X)
    free = clone(features).set_params(outside="ignore").fit(X)
    assert free.transform(far).shape == (61, free.transform(X).shape[1])
    with pytest.raises(DataError, match="unit sphere"):
        free.transform(1.1 * X)
    with pytest.raises(DataError):
        free.set_params(outside="error").transform(far)


def test_the_range_of_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    largest = np.max(np.linalg.norm(X[:, None] - X[None], axis=2))
    z_max, _ = range_of_distances(X, np.inf)
    assert z_max == pytest.approx(1.05 * largest, rel=1e-9)
    unit = sphere_rows(300, 4, spread=30)
    assert range_of_distances(unit, 2.0)[0] == 2.0
    positive = np.abs(unit)
    assert range_of_distances(positive, 2.0)[0] == pytest.approx(np.sqrt(2))
    assert range_of_distances(scipy.sparse.csr_matrix(positive), 2.0)[0] <= 1.5
    # too many rows for all pairs: the bounds, which no pair exceeds
    many = rng.standard_normal((20_001, 2))
    assert range_of_distances(many, np.inf)[0] >= 2.0 * np.linalg.norm(many, axis=1).max()
    assert range_of_distances(np.zeros((3, 2)), np.inf)[0] > 0


@pytest.mark.parametrize("dim", [1, 16])
def test_a_kernel_of_infinite_mass_has_features_on_the_distances_of_the_data(dim):
    X = np.random.default_rng(0).uniform(-1, 1, (80, dim)) / np.sqrt(dim)
    features = SpectralFeatures("1 - z**2/4", n_components=120, mixed_signature="ignore").fit(X)
    assert "infinite" in features.explain()
    assert features.z_max_ < 2.1
    exact = features.kernel_.gram(X)
    error = np.linalg.norm(features.gram(X) - exact) / np.linalg.norm(exact)
    assert error < 0.02
    assert error < 3 * features.expected_error_
    with pytest.raises(ParameterError, match="designed for the data"):
        features.variance(1.0)
    with pytest.raises(ParameterError, match="designed for the data"):
        features.n_components_for(0.1, 0.1)


@pytest.mark.slow
def test_a_domain_is_served_and_one_that_is_too_small_is_refused():
    X = np.random.default_rng(0).uniform(0, 1, (100, 4))
    options = {"n_components": 41, "mixed_signature": "ignore"}
    made = SpectralFeatures("matern", domain="data", **options).fit(X)
    assert (made.method_, made.z_max_) == ("Nystroem", np.inf)  # it takes rows at any distance
    assert "A domain was asked for" in made.explain()
    given = SpectralFeatures("matern", domain=3.0, **options).fit(X)
    assert given.z_max_ == 3.0
    with pytest.raises(DataError):
        SpectralFeatures("matern", domain=0.5, **options).fit(X)
    own = SpectralFeatures("matern", **options).fit(X)
    assert own.z_max_ == np.inf
    assert "coupling" in own.explain()
    with pytest.raises(ParameterError, match="SpectralTable"):
        SpectralFeatures(own.table_, domain=3.0, **options).fit(X)


@pytest.mark.parametrize("coupling", ["shared", pytest.param("iid", marks=pytest.mark.slow)])
def test_a_design_for_a_budget_is_drawn_as_it_was_made(coupling):
    """Its mean is the design; its variance and its columns are those stated."""
    kernel, X = radial("exp(-z**2/2)"), sphere_rows(9, 5)
    made = design(kernel, 5, domain=(0, 2), n_components=41, coupling=coupling)
    options, draws = {"n_components": made.columns, "mixed_signature": "ignore"}, 40
    fitted = [SpectralFeatures(made, random_state=seed, **options).fit(X) for seed in range(draws)]
    # A single radius is drawn with the directions of least variance, several as the design assumes.
    is_free = coupling != "iid" and np.count_nonzero(made.radii) == 1
    assert fitted[0].coupling_ == ("designed" if is_free else coupling)
    assert fitted[0].transform(X).shape[1] == made.columns <= 41
    assert sum(fitted[0].counts_) == sum(made.counts)
    z = np.linalg.norm(X[0] - X[1:], axis=1)
    values = np.array([f.gram(X[:1], X[1:])[0] for f in fitted])
    deviation = np.sqrt(fitted[0].variance(z))
    assert np.all(np.abs(values.mean(axis=0) - made(z)) < 6 * deviation / draws**0.5 + 1e-12)
    np.testing.assert_allclose(values.std(axis=0), deviation, rtol=0.5)
    other = {"shared": "iid"}.get(coupling, "shared")
    with pytest.raises(ParameterError, match="masses cancel"):
        SpectralFeatures(made, coupling=other, **options).fit(X)
    with pytest.raises(ParameterError, match=f"{made.columns} columns"):
        SpectralFeatures(made, n_components=made.columns - 1).fit(X)


def test_a_design_for_a_budget_errs_less_than_a_plain_draw():
    X, kernel = sphere_rows(300, 8), radial("exp(-z**2)")
    exact = kernel.gram(X)

    def error(source):
        made = [
            SpectralFeatures(
                source, n_components=256, random_state=s, mixed_signature="ignore"
            ).fit(X)
            for s in range(3)
        ]  # fmt: skip
        return np.mean([np.linalg.norm(f.gram(X) - exact) for f in made]) / np.linalg.norm(exact)

    assert error(design(kernel, 8, domain=(0, 2), n_components=256)) < 0.6 * error(kernel)


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "dim", "columns"), [(STEP, 16, 150), ("exp(u)", 3, 9)])
def test_a_definite_kernel_has_features_without_signature(formula, dim, columns):
    X = sphere_rows(100, dim)
    features = SpectralFeatures(formula, n_components=columns, mixed_signature="error").fit(X)
    assert np.all(features.signature_ == 1.0)
    exact = features.kernel_.gram(X)
    seen = np.linalg.norm(features.gram(X) - exact) / np.linalg.norm(exact)
    assert seen < 0.1
    assert seen == pytest.approx(features.expected_error_, rel=0.5)
    with pytest.raises(ParameterError, match="signature -1"):
        SpectralFeatures("2*u - 1", n_components=9, mixed_signature="error").fit(X)


def test_what_no_way_can_serve_is_refused_with_every_reason():
    X = sphere_rows(20, 3)
    with pytest.raises(ParameterError, match=r"needs at least 3 columns.*arc-cosine"):
        SpectralFeatures("exp(u)", n_components=1).fit(X)
    with pytest.raises(ParameterError, match="0 everywhere"):
        SpectralFeatures(zonal("u") - zonal("u"), n_components=8).fit(X)
    kernel = zonal("u")
    with pytest.raises(ParameterError, match="one of the two"):
        design(kernel, 3, domain=(0, 2))
    with pytest.raises(ParameterError, match="one of the two"):
        design(kernel, 3, domain=(0, 2), tol=1e-2, n_components=100)
    with pytest.raises(ParameterError, match="objective"):
        design(kernel, 3, domain=(0, 2), objective="mass", n_components=100)
    with pytest.raises(ParameterError, match="takes a kernel"):
        design(3.0, 3, domain=(0, 2), tol=1e-2)
    assert exact_candidates(Problem.of(zonal("exp(u)"), X, 50, 2.0))[0].columns is None


def test_a_design_is_kept_in_memory():
    options = {"domain": (0, 2), "tol": 1e-2, "objective": "mass"}
    a = design(radial("(1 - z**2/4)**2"), 3, **options)
    assert design(radial("(1 - z**2/4)**2"), 3, **options) is a
    assert design(radial("(1 - z**2/4)**2"), 3, **{**options, "tol": 2e-2}) is not a
