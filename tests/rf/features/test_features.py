"""Features: unbiased for every coupling, exact on the diagonal, and honest about signs and rows."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rf.schemes.table_scheme
import spectra
from rf import GORF, GRFF, ORF, RFF, SignatureWarning, SpectralFeatures, UselessFeaturesWarning
from rf.sampling.frequencies import pooled_frequencies
from spectra.errors import DataError, InfiniteMassError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.table.radial_law import RadialLaw
from spectra.verdict import spectral_measure
from tests.oracles.laws import gaussian_law, gaussian_mixture, table_of

ESTIMATORS = [SpectralFeatures, RFF, ORF, GRFF, GORF]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture
def signed():
    """1.5 exp(-z^2 / 2) - 0.5 exp(-z^2 / 8) in dimension 4."""
    return gaussian_mixture(4, [(1.5, 1.0), (-0.5, 2.0)])


def quiet(spectrum, **options):
    return SpectralFeatures(spectrum, mixed_signature="ignore", random_state=0, **options)


def plain(spectrum, **options):
    """Without "auto" and "optimal", which integrate: for tests that are not about the plan."""
    return quiet(spectrum, coupling="orthogonal", allocation="mass", **options)


SIGNED = "exp(-z**2/2) - exp(-z**2/8)"


@parametrize_with_checks(
    # A kernel of both signs: it has more parts than the one frequency that the checks ask for.
    [ORF(SIGNED, mixed_signature="ignore")]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        *(estimator() for estimator in ESTIMATORS),
        SpectralFeatures(n_components=1),
        SpectralFeatures(SIGNED, mixed_signature="ignore"),
    ]
)
def test_the_contract_of_scikit_learn_for_every_estimator(estimator, check):
    check(estimator)


class TestEstimate:
    def test_columns_are_cosines_then_sines(self, X, signed):
        features = plain(signed, n_components=12).fit(X)
        assert features.kernel_ is None
        draw = features.frequencies_
        phase = X @ draw.frequencies.T
        root = np.sqrt(draw.weights)
        expected = np.hstack([root * np.cos(phase), root * np.sin(phase)])
        np.testing.assert_allclose(features.transform(X), expected, atol=1e-14)

    def test_an_atom_at_zero_is_a_constant_column(self, X):
        table = table_of(4, [(2.0, gaussian_law(4)), (0.5, RadialLaw.from_atoms([0.0], [1.0]))])
        features = quiet(table, n_components=256).fit(X)
        assert features.counts_ == (127, 1)
        assert features.transform(X)[:, 127] == pytest.approx(np.sqrt(0.5))


class TestTypes:
    def test_float32_and_sparse_rows_give_the_same_columns(self, X, signed):
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        features = plain(signed, n_components=64).fit(X)
        Z, Z32 = features.transform(X), features.transform(X.astype(np.float32))
        assert Z32.dtype == features.gram(X.astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(Z32, Z, atol=1e-5)
        sparse = clone(features).fit(scipy.sparse.csr_array(X))
        found = sparse.transform(scipy.sparse.csr_matrix(X))
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, Z, atol=1e-13)

    def test_pickle_and_clone_repeat_the_draw(self, X, signed):
        features = plain(signed, n_components=20).fit(X)
        for same in (pickle.loads(pickle.dumps(features)), clone(features).fit(X)):
            np.testing.assert_array_equal(same.transform(X), features.transform(X))

    @pytest.mark.slow
    def test_a_kept_table_needs_no_sympy(self, tmp_path, monkeypatch):
        code = (
            "import sys, numpy as np\n"
            "from rf import SpectralFeatures\n"
            "f = SpectralFeatures('exp(-z**2/3)', n_components=8).fit(np.eye(4))\n"
            "assert 'sympy' not in sys.modules\n"
            "assert str(f.kernel_) == 'exp(-z**2/3)'\n"
        )
        monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path / "tables"))
        spectra.derive("exp(-z**2/3)", 4)
        subprocess.run([sys.executable, "-c", code], check=True)


class TestSignature:
    def test_a_mixed_signature_warns_once_at_the_line_that_fits(self, X, signed):
        features = SpectralFeatures(signed, n_components=256)
        pipeline = make_pipeline(StandardScaler(), SpectralFeatures(signed, n_components=256))
        for fit in (features.fit, features.fit_transform, pipeline.fit, pipeline.fit_transform):
            with pytest.warns(SignatureWarning, match=r"Z \* signature_") as record:
                fit(X)
            assert len(record) == 1
            assert record[0].filename == __file__

    def test_a_mixed_signature_can_be_an_error_or_ignored(self, X, signed):
        with pytest.raises(ParameterError, match="signature -1"):
            SpectralFeatures(signed, mixed_signature="error").fit(X)
        SpectralFeatures(signed, mixed_signature="ignore").fit(X)  # warnings are errors here
        SpectralFeatures(gaussian_mixture(4, [(1.0, 1.0)])).fit(X).transform(X)

    def test_rff_takes_one_positive_part_only(self, X, signed):
        for table in (signed, gaussian_mixture(4, [(-1.0, 1.0)])):
            with pytest.raises(ParameterError, match="GRFF"):
                RFF(table).fit(X)
        assert RFF(gaussian_mixture(4, [(1.0, 1.0)])).fit(X).coupling_ == "iid"


def test_a_plan_depends_on_the_rows_and_only_the_draw_on_the_seed():
    """Of more rows than a plan looks at: the stated error is that of every seed."""
    kernel, X = SIGNED, np.random.default_rng(0).normal(size=(700, 3))
    one, other = (
        SpectralFeatures(kernel, n_components=40, mixed_signature="ignore", random_state=s).fit(X)
        for s in (0, 1)
    )
    assert one.report_ == other.report_
    assert (one.counts_, one.coupling_) == (other.counts_, other.coupling_)
    assert one.expected_error_ == other.expected_error_
    assert np.abs(one.frequencies_.frequencies - other.frequencies_.frequencies).max() > 0.1
    moved = SpectralFeatures(kernel, n_components=40, mixed_signature="ignore").fit(0.3 * X)
    assert moved.expected_error_ != one.expected_error_


@pytest.mark.parametrize(("n", "dim"), [(1, 1), (2, 7)])
def test_fewer_frequencies_than_parts_are_a_pool_without_bias(dim, n):
    """Each is of a part that is drawn by mass: the mean is k, the variance what is stated."""
    table = gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0), (0.4, 0.5)])
    X = np.random.default_rng(dim).normal(size=(30, dim))
    fitted = SpectralFeatures(table, n_components=2 * n, mixed_signature="ignore").fit(X)
    assert (fitted.counts_, fitted.coupling_, len(fitted.signature_)) == ((n,), "iid", 2 * n)
    z = np.array([0.0, 0.5, 1.5])
    D, draws = np.outer(z, np.eye(dim)[0]), 4000
    whole = pooled_frequencies(table, n * draws, np.random.default_rng(n))
    waves = np.cos(D @ whole.frequencies.T + whole.phases) * whole.weights * n * draws
    means = waves.reshape(z.size, draws, n).mean(axis=2)
    exact, stated = table.expected_kernel(z), fitted.variance(z)
    assert np.all(np.abs(means.mean(axis=1) - exact) < 6 * means.std(axis=1) / np.sqrt(draws))
    square = (means - exact[:, None]) ** 2
    bound = 6 * square.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(square.mean(axis=1) - stated) < bound)
    assert 0.1 < fitted.expected_error_ < np.inf


class TestRefusals:
    def test_rows_off_the_sphere(self, X):
        table = gaussian_mixture(4, [(1.0, 1.0)], sphere=True)
        rows = X / np.linalg.norm(X, axis=1, keepdims=True)
        features = SpectralFeatures(table).fit(rows)
        features.transform(rows.astype(np.float32))
        rows[3] *= 1.001
        with pytest.raises(DataError, match=r"Row 3 .*unit sphere"):
            features.transform(rows)
        with pytest.raises(DataError, match="Row 3"):
            SpectralFeatures(table).fit(scipy.sparse.csr_array(rows))
        # Unit rows without negative entries are at most sqrt(2) apart.
        root = gaussian_mixture(4, [(1.0, 1.0)], domain=np.sqrt(2.0), sphere=True)
        SpectralFeatures(root).fit(np.eye(4)).transform(np.eye(4)[:1])
        with pytest.raises(DataError):
            SpectralFeatures(root).fit(np.vstack([np.eye(4), -np.eye(4)]))

    def test_rows_further_apart_than_the_domain(self, X):
        reach = np.max(np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=-1)))
        features = SpectralFeatures(gaussian_mixture(4, [(1.0, 1.0)], domain=reach))
        features.fit(X).transform(X)
        features.fit(scipy.sparse.csr_array(X))
        short = SpectralFeatures(gaussian_mixture(4, [(1.0, 1.0)], domain=0.999 * reach))
        with pytest.raises(DataError, match="apart"):
            short.fit(X)
        with pytest.raises(DataError, match="apart"):
            short.fit(scipy.sparse.csr_array(X))
        with pytest.raises(DataError, match="mean of the fitted rows"):
            features.fit(X).transform(X[:1] + 2.0 * reach)
        features.fit(X)
        with pytest.raises(DataError, match="apart"):
            features.gram(X[:3] - 0.275 * reach, X[:3] + 0.275 * reach)

    def test_what_is_no_kernel_or_no_kernel_of_these_rows(self, X, signed):
        zero = radial("exp(-z**2/2)") - radial("exp(-z**2/2)")
        for kernel, said in (
            (None, "kernel is"),
            (object(), "kernel is"),
            ("gausian", r"gausian.*gaussian"),
            ("0", "within the error of its masses"),
            (zero, "within the error of its masses"),
        ):
            with pytest.raises(ParameterError, match=said):
                SpectralFeatures(kernel, n_components=8).fit(X)
        with pytest.raises(DataError, match=r"dimension 4.*3 column"):
            SpectralFeatures(signed).fit(X[:, :3])
        with pytest.raises(InfiniteMassError):
            RFF("ntk").fit(X / np.linalg.norm(X, axis=1, keepdims=True))

    def test_rows_whose_distances_are_no_numbers(self, X):
        for domain in (None, "data"):
            with pytest.raises(DataError, match=r"Row \d+ has a coordinate.*larger unit"):
                SpectralFeatures("gaussian", domain=domain).fit(1e160 * X)
        fitted = SpectralFeatures("gaussian", n_components=8, coupling="iid").fit(X)
        with pytest.raises(DataError, match="larger unit"):
            fitted.transform(1e300 * X)


class TestSpectra:
    """Every way to name a kernel leads to features of that kernel."""

    def test_names_formulas_kernels_measures_and_tables_agree(self, X):
        kernel = radial("exp(-z**2/2)")
        measure = spectral_measure(kernel, dim=4)
        named = [
            "gaussian",
            "exp(-z**2/2)",
            catalogue["gaussian"],
            catalogue["gaussian"](length=1),
            kernel,
            measure,
            tabulate(measure),
        ]
        grams = [RFF(s, n_components=16, random_state=0).fit(X).gram(X) for s in named]
        for gram in grams[1:]:
            np.testing.assert_allclose(gram, grams[0], atol=1e-9)

    def test_a_name_takes_parameters_in_text(self, X):
        options = {"n_components": 16, "random_state": 0, "coupling": "iid"}
        text = SpectralFeatures("matern(nu=5/2, length=2)", **options).fit(X)
        family = SpectralFeatures(catalogue["matern"](nu=2.5, length=2), **options).fit(X)
        assert text.kernel_ == family.kernel_
        np.testing.assert_array_equal(text.transform(X), family.transform(X))
        shifted = SpectralFeatures("shift_gaussian(r=(0.5, 0, 0, 0), sigma=2)", **options).fit(X)
        same = catalogue["shift_gaussian"](r=[0.5, 0, 0, 0], sigma=2)
        np.testing.assert_allclose(shifted.kernel_.gram(X), same.gram(X), atol=1e-15)

    def test_a_grid_searches_the_parameters_of_a_family(self, X):
        named = {"nu": 2.5, "length": 2}
        for spectrum in ("matern", catalogue["matern"]):
            features = SpectralFeatures(spectrum, n_components=8, coupling="iid")
            features.set_params(kernel_params=named)
            assert clone(features).fit(X).kernel_ == catalogue["matern"](**named)
        formula = SpectralFeatures("exp(-a*z)", coupling="iid", kernel_params={"a": 2})
        assert formula.fit(X).kernel_(0.5) == pytest.approx(np.exp(-1.0), rel=1e-12)
        steps = make_pipeline(SpectralFeatures("matern", n_components=8, random_state=0), Ridge())
        grid = {"spectralfeatures__kernel_params": [{"nu": 1.5}, {"nu": 2.5}]}
        found = GridSearchCV(steps, grid, cv=2).fit(X, X[:, 0])
        assert found.best_params_["spectralfeatures__kernel_params"]["nu"] in (1.5, 2.5)
        with pytest.raises(ParameterError, match="no free parameters"):
            SpectralFeatures(radial("exp(-z)"), kernel_params={"a": 1}).fit(X)


class TestPlan:
    def test_explain_says_what_auto_took_and_what_else_it_weighed(self, X, signed):
        auto = quiet(signed, n_components=32).fit(X)
        said = auto.explain()
        assert f"coupling {auto.coupling_!r}" in said
        for plan in auto.report_:
            assert f"{plan.coupling} {plan.counts}" in said
        assert [p.variance for p in auto.report_] == sorted(p.variance for p in auto.report_)
        assert "Predicted" not in quiet(signed, coupling="iid").fit(X).explain()
        alike = quiet(signed, n_components=32).fit(np.zeros((3, 4)))
        assert "+" not in alike.explain().partition("Predicted")[2]  # no root of a rounding error

    def test_how_many_columns(self, X, signed):
        features = quiet(signed).fit(X)
        few = features.n_components_for(0.1, 0.01, n_points=1000)
        assert few < features.n_components_for(0.05, 0.01, n_points=1000)
        assert few % 2 == 0


GAUSSIAN = radial("exp(-z**2)")


@pytest.mark.parametrize(
    ("kernel", "options", "shape"),
    [
        ("gaussian", {"length_scale": 0.2}, (300, 2)),
        (GAUSSIAN.shift(0.3) - 0.5 * GAUSSIAN.shift(-0.3), {"coupling": "iid"}, (40, 4)),
        (GAUSSIAN.on([0]) * radial("exp(-z)").on([1]), {"length_scale": 0.1}, (300, 2)),
    ],
)
def test_the_expected_error_knows_the_few_pairs_that_rule_the_kernel(kernel, options, shape):
    """Most pairs are further apart than the kernel reaches; its size is in those that are not."""
    X = np.random.default_rng(0).normal(size=shape)
    fitted = [
        quiet(kernel, n_components=16, **options).set_params(random_state=seed).fit(X)
        for seed in range(8)
    ]
    rows = X if fitted[0].length_scale_ is None else X / fitted[0].length_scale_
    exact = fitted[0].kernel_.gram(rows)
    squares = np.array([np.sum((f.gram(X) - exact) ** 2) for f in fitted]) / np.sum(exact**2)
    stated = fitted[0].expected_error_ ** 2
    assert abs(squares.mean() - stated) < 6 * squares.std() / 8**0.5 + 0.05 * stated


def test_a_group_of_infinite_mass_is_refused_with_advice():
    X = np.random.default_rng(0).uniform(size=(50, 3))
    kernel = radial("exp(-z**2/2)").on([0, 1]) - 0.5 * radial("z").on([2])
    with pytest.raises(InfiniteMassError, match=r"columns \[2\].*in d = 1.*unbounded.*design\("):
        SpectralFeatures(kernel, n_components=40).fit(X)
    with pytest.raises(ParameterError, match="one Euclidean distance"):
        SpectralFeatures(kernel, n_components=40, domain=2.0).fit(X)
    with pytest.raises(ParameterError, match="one Euclidean distance"):
        SpectralFeatures(radial("exp(-z)").on([0, 1]), n_components=40, domain=2.0).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_warns_of_an_error_above_half_and_says_what_helps(estimator, recwarn):
    X, table = np.random.default_rng(0).normal(size=(60, 8)), gaussian_mixture(8, [(1.0, 1.0)])
    with pytest.warns(
        UselessFeaturesWarning, match=r"The 64 features .* err by [0-9.]+ %"
    ) as record:
        fitted = estimator(table, n_components=64, random_state=0).fit(X)
    said, error = str(record[0].message), fitted.expected_error_
    assert record[0].filename == __file__
    assert f"{100 * error:.3g} %" in said
    assert f"{float(f'{64 * (error / 0.1) ** 2:.2g}'):g} for 10 %" in said
    estimator(table, n_components=64, length_scale="median", random_state=0).fit(X)
    assert not recwarn.list


def test_a_single_frequency_has_any_coupling_and_too_few_are_refused():
    X, three = np.eye(4), gaussian_mixture(4, [(1.5, 1.0), (-0.5, 2.0), (0.4, 0.5)])
    fitted = GORF(three, n_components=2, mixed_signature="ignore").fit(X)
    assert (fitted.coupling_, fitted.counts_) == ("haar", (1,))
    with pytest.raises(ParameterError, match=r"'haar' needs .* 3 parts .* n_components >= 6"):
        GORF(three, n_components=4, mixed_signature="ignore").fit(X)


def test_variances_at_many_distances_come_from_few(monkeypatch):
    X, sizes = np.random.default_rng(0).normal(size=(30, 4)), []
    fitted = plain(gaussian_mixture(4, [(1.0, 1.0)]), n_components=16).fit(X)
    model_at = rf.schemes.table_scheme.model_at

    def counted(table, points, **options):
        sizes.append(points.values.size)
        return model_at(table, points, **options)

    monkeypatch.setattr(rf.schemes.table_scheme, "model_at", counted)
    z = np.linspace(0.0, 6.0, 2000)
    many, few = fitted.variance(z), fitted.variance(z[::250])
    assert max(sizes) < 300
    np.testing.assert_allclose(many[::250], few, rtol=0, atol=1e-8)


def test_a_function_is_refused_with_what_makes_it_a_kernel() -> None:
    with pytest.raises(ParameterError, match=r"spectra.radial\(k, support=...\)"):
        SpectralFeatures(np.cos).fit(np.zeros((2, 3)))
