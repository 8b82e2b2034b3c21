"""Features: unbiased for every coupling, exact on the diagonal, and honest about signs and rows."""

import contextlib
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse
from grids import by_turns
from laws import gaussian_law, gaussian_mixture, table_of
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GORF, GRFF, ORF, RFF, LengthScaleWarning, SignatureWarning, SpectralFeatures
from rf.feature_maps.fourier_features import wave_columns
from rf.papers.baselines import PublishedGRFF
from rf.sampling.frequencies import draw_repeatedly, pooled_frequencies
from spectra.errors import DataError, InfiniteMassError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.table import Part, SpectralTable
from spectra.table.radial.radial_law import RadialLaw
from spectra.verdict import spectral_measure

ESTIMATORS = [SpectralFeatures, RFF, ORF, GRFF, GORF]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture
def signed():
    """1.5 exp(-z^2 / 2) - 0.5 exp(-z^2 / 8) in dimension 4."""
    return gaussian_mixture(4, [(1.5, 1.0), (-0.5, 2.0)])


def signed_kernel(X, Y):
    z2 = np.sum((X[:, None] - Y[None]) ** 2, axis=-1)
    return 1.5 * np.exp(-z2 / 2) - 0.5 * np.exp(-z2 / 8)


def quiet(spectrum, **options):
    return SpectralFeatures(spectrum, mixed_signature="ignore", random_state=0, **options)


def plain(spectrum, **options):
    """Without "auto" and "optimal", which integrate: for tests that are not about the plan."""
    return quiet(spectrum, coupling="orthogonal", allocation="mass", **options)


SIGNED = "exp(-z**2/2) - exp(-z**2/8)"


@parametrize_with_checks(
    # One column, and a kernel of both signs (whose parts are more than the
    # one frequency that the checks ask for).
    [SpectralFeatures(n_components=1), ORF(SIGNED, mixed_signature="ignore")]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        *(estimator() for estimator in ESTIMATORS),
        *(estimator(n_components=1) for estimator in ESTIMATORS[1:]),
        *(
            estimator(SIGNED, mixed_signature="ignore")
            for estimator in (SpectralFeatures, GRFF, GORF)
        ),
    ]
)
def test_the_contract_of_scikit_learn_for_every_estimator(estimator, check):
    check(estimator)


class TestEstimate:
    @pytest.mark.parametrize(
        "coupling", by_turns(["iid", "orthogonal", "haar", "shared", "comonotone"], every=2)
    )
    def test_the_gram_matrix_is_the_signed_product_and_nears_the_kernel(self, X, signed, coupling):
        features = quiet(signed, n_components=1024, coupling=coupling, radii="iid").fit(X)
        Z = features.transform(X)
        assert Z.shape == (30, 1024)
        K = features.gram(X)
        np.testing.assert_allclose(K, (Z * features.signature_) @ Z.T, atol=1e-12)
        error = (K - signed_kernel(X, X))[0, 1:]
        deviation = np.sqrt(features.variance(np.linalg.norm(X[1:] - X[0], axis=1)))
        assert np.abs(error / deviation).max() < 6.0
        assert features.signature_.tolist().count(-1.0) == 2 * features.counts_[1]

    def test_two_sets_of_rows(self, X, signed):
        features = plain(signed, n_components=4096).fit(X)
        Y = X[:7] + 0.3
        np.testing.assert_allclose(features.gram(X, Y), features.gram(Y, X).T, atol=1e-12)
        assert np.abs(features.gram(X, Y) - signed_kernel(X, Y)).max() < 0.1

    def test_the_diagonal_is_k_of_zero_whatever_the_draw(self, X, signed):
        for n in (4, 10, 64):
            K = plain(signed, n_components=n).fit(X).gram(X)
            np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-13)

    def test_columns_are_cosines_then_sines(self, X, signed):
        features = plain(signed, n_components=12).fit(X)
        draw = features.frequencies_
        phase = X @ draw.frequencies.T
        root = np.sqrt(draw.weights)
        expected = np.hstack([root * np.cos(phase), root * np.sin(phase)])
        np.testing.assert_allclose(features.transform(X), expected, atol=1e-14)

    @pytest.mark.parametrize("n_components", by_turns([5, 9], every=2))
    def test_an_odd_number_of_columns_is_unbiased_and_its_variance_is_predicted(
        self, signed, n_components
    ):
        pair = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, -0.2, 0.4]])
        z = np.linalg.norm(pair[1])
        features = [
            SpectralFeatures(
                signed,
                n_components=n_components,
                coupling="iid",
                radii="iid",
                allocation="equal",
                mixed_signature="ignore",
                random_state=seed,
            ).fit(pair)
            for seed in range(800)
        ]
        assert features[0].transform(pair).shape == (2, n_components)
        values = np.array([f.gram(pair)[0, 1] for f in features])
        deviation = np.sqrt(features[0].variance(z))
        assert abs(values.mean() - signed_kernel(pair, pair)[0, 1]) < 6 * deviation / 800**0.5
        assert values.std() == pytest.approx(deviation, rel=0.15)

    def test_a_phase_shifts_the_left_columns(self, X):
        w = np.random.default_rng(1).normal(size=(3, 4))
        phases = np.array([0.0, 0.5, 2.0])
        left = wave_columns(X, w, np.ones(3), phases)
        right = wave_columns(X, w, np.ones(3))
        D = X[:, None] - X[None]
        np.testing.assert_allclose(left @ right.T, np.cos(D @ w.T + phases).sum(-1), atol=1e-12)

    def test_an_atom_at_zero_is_a_constant_column(self, X):
        table = table_of(4, [(2.0, gaussian_law(4)), (0.5, RadialLaw.from_atoms([0.0], [1.0]))])
        features = quiet(table, n_components=256).fit(X)
        assert features.counts_ == (127, 1)
        assert features.transform(X)[:, 127] == pytest.approx(np.sqrt(0.5))


class TestTypes:
    def test_float32_in_float32_out_and_close_to_float64(self, X, signed):
        features = plain(signed, n_components=64).fit(X)
        Z, Z32 = features.transform(X), features.transform(X.astype(np.float32))
        assert Z32.dtype == np.float32
        assert features.gram(X.astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(Z32, Z, atol=1e-5)

    def test_sparse_rows_give_the_same_columns(self, X, signed):
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        dense = plain(signed, n_components=64).fit(X)
        sparse = plain(signed, n_components=64).fit(scipy.sparse.csr_array(X))
        Z = sparse.transform(scipy.sparse.csr_matrix(X))
        assert isinstance(Z, np.ndarray)
        np.testing.assert_allclose(Z, dense.transform(X), atol=1e-13)

    def test_many_rows_in_blocks_equal_one_by_one(self, signed):
        X = np.random.default_rng(0).normal(size=(1000, 4))
        features = plain(signed, n_components=500).fit(X)
        Z = features.transform(X)
        rows = np.vstack([features.transform(x[None]) for x in X[::97]])
        np.testing.assert_allclose(Z[::97], rows, atol=1e-13)

    def test_pickle_and_clone_repeat_the_draw(self, X, signed):
        features = plain(signed, n_components=20).fit(X)
        again = pickle.loads(pickle.dumps(features))
        np.testing.assert_array_equal(again.transform(X), features.transform(X))
        fresh = clone(features).fit(X)
        np.testing.assert_array_equal(fresh.transform(X), features.transform(X))

    def test_data_frames_and_names(self, X, signed):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(X, columns=list("abcd"))
        features = plain(signed, n_components=4).set_output(transform="pandas")
        out = features.fit_transform(frame)
        assert list(out.columns) == [f"spectralfeatures{i}" for i in range(4)]
        assert features.feature_names_in_.tolist() == list("abcd")

    @pytest.mark.slow
    def test_a_table_needs_no_sympy(self, tmp_path, signed):
        path = tmp_path / "k.npz"
        signed.save(path)
        code = (
            "import sys, numpy as np\n"
            "from rf import SpectralFeatures\n"
            "from spectra import SpectralTable\n"
            f"table = SpectralTable.load({str(path)!r})\n"
            "f = SpectralFeatures(table, n_components=8, mixed_signature='ignore')\n"
            "f.fit(np.eye(4)).gram(np.eye(4))\n"
            "assert f.kernel_ is None\n"
            "assert 'sympy' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    @pytest.mark.parametrize("columns", [512, 511])
    def test_a_transform_holds_its_output_once(self, columns):
        table = table_of(16, [(1.0, gaussian_law(16))])
        X = np.random.default_rng(0).normal(size=(4000, 16))
        features = RFF(table, n_components=columns, random_state=0).fit(X)
        tracemalloc.start()
        Z = features.transform(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert Z.shape == (4000, columns)
        assert peak < 1.3 * Z.nbytes

    @pytest.mark.parametrize("lone", [0, 2])
    def test_leaving_out_a_sine_leaves_all_else(self, lone):
        rng = np.random.default_rng(0)
        X, w, scale = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), np.array([1.0, 2.0, 3.0])
        whole = wave_columns(X, w, scale)
        np.testing.assert_array_equal(
            wave_columns(X, w, scale, without_sine=lone), np.delete(whole, 3 + lone, axis=1)
        )


class TestSignature:
    def test_a_mixed_signature_warns_once_at_fit_with_the_remedy(self, X, signed):
        features = SpectralFeatures(signed, n_components=8)
        with pytest.warns(SignatureWarning, match=r"Z \* signature_") as record:
            make_pipeline(StandardScaler(), features).fit(X).transform(X)
        assert len(record) == 1

    def test_a_warning_names_the_line_that_fitted(self, X, signed):
        features = SpectralFeatures(signed, n_components=8)
        pipeline = make_pipeline(StandardScaler(), SpectralFeatures(signed, n_components=8))
        for fit in (features.fit, features.fit_transform, pipeline.fit, pipeline.fit_transform):
            with pytest.warns(SignatureWarning) as record:
                fit(X)
            assert record[0].filename == __file__

    def test_a_positive_kernel_does_not_warn(self, X):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SpectralFeatures(gaussian_mixture(4, [(1.0, 1.0)])).fit(X).transform(X)

    def test_a_mixed_signature_can_be_an_error_or_ignored(self, X, signed):
        with pytest.raises(ParameterError, match="signature -1"):
            SpectralFeatures(signed, mixed_signature="error").fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SpectralFeatures(signed, mixed_signature="ignore").fit(X)

    def test_rff_takes_one_positive_part_only(self, X, signed):
        with pytest.raises(ParameterError, match="GRFF"):
            RFF(signed).fit(X)
        negative = gaussian_mixture(4, [(-1.0, 1.0)])
        with pytest.raises(ParameterError, match="GRFF"):
            RFF(negative).fit(X)
        assert RFF(gaussian_mixture(4, [(1.0, 1.0)])).fit(X).coupling_ == "iid"


@pytest.mark.parametrize(
    "kernel", by_turns([SIGNED, catalogue["sinh_gaussian"](beta=0.3)], every=2), ids=str
)
def test_a_plan_is_a_function_of_the_rows_and_only_the_draw_of_the_seed(kernel):
    """Of more rows than a plan looks at: the stated error is that of every seed."""
    X = np.random.default_rng(0).normal(size=(700, 3))
    one, other = (
        SpectralFeatures(kernel, n_components=40, mixed_signature="ignore", random_state=s).fit(X)
        for s in (0, 1)
    )
    assert one.plans_ == other.plans_
    assert (one.counts_, one.coupling_) == (other.counts_, other.coupling_)
    assert one.expected_error_ == other.expected_error_
    assert np.abs(one.frequencies_.frequencies - other.frequencies_.frequencies).max() > 0.1
    moved = SpectralFeatures(kernel, n_components=40, mixed_signature="ignore").fit(0.3 * X)
    assert moved.expected_error_ != one.expected_error_


@pytest.mark.parametrize(("n", "dim"), by_turns(product([1, 2], [1, 2, 3, 7]), every=3))
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
    def test_a_table_of_another_dimension(self, X, signed):
        with pytest.raises(DataError, match=r"dimension 4.*3 column"):
            SpectralFeatures(signed).fit(X[:, :3])

    def test_a_layout_of_more_parts_than_frequencies(self, X, signed):
        with pytest.raises(ParameterError, match="n_components >= 4"):
            PublishedGRFF(SIGNED, n_components=2, mixed_signature="ignore").fit(X)

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

    def test_nonnegative_unit_rows_fit_a_domain_of_root_two(self):
        table = gaussian_mixture(4, [(1.0, 1.0)], domain=np.sqrt(2.0), sphere=True)
        SpectralFeatures(table).fit(np.eye(4)).transform(np.eye(4))
        with pytest.raises(DataError):
            SpectralFeatures(table).fit(np.vstack([np.eye(4), -np.eye(4)]))

    @pytest.mark.parametrize("spectrum", [None, 3.0, object()])
    def test_what_is_no_spectrum(self, X, spectrum):
        with pytest.raises(ParameterError, match="kernel is"):
            SpectralFeatures(spectrum).fit(X)

    def test_a_name_that_the_catalogue_does_not_hold(self, X):
        with pytest.raises(ParameterError, match=r"gausian.*gaussian"):
            SpectralFeatures("gausian").fit(X)

    @pytest.mark.parametrize("size", [1e160, 1e300])
    @pytest.mark.parametrize("domain", [None, "data"])
    def test_rows_whose_distances_are_no_numbers(self, X, size, domain):
        with pytest.raises(DataError, match=r"Row \d+ has a coordinate.*larger unit"):
            SpectralFeatures("gaussian", domain=domain).fit(size * X)
        fitted = SpectralFeatures("gaussian", n_components=8, coupling="iid").fit(X)
        with pytest.raises(DataError, match="larger unit"):
            fitted.transform(size * X)

    def test_a_kernel_of_infinite_mass(self, X):
        rows = X / np.linalg.norm(X, axis=1, keepdims=True)
        with pytest.raises(InfiniteMassError):
            RFF("ntk").fit(rows)

    def test_a_kernel_that_is_zero_everywhere(self, X):
        gaussian = radial("exp(-z**2/2)")
        for zero in ("0", gaussian - gaussian):
            with pytest.raises(ParameterError, match="within the error of its masses"):
                SpectralFeatures(zero, n_components=8).fit(X)


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
        with pytest.raises(ParameterError, match="no open parameters"):
            SpectralFeatures(radial("exp(-z)"), kernel_params={"a": 1}).fit(X)

    def test_the_exact_kernel_stands_beside(self, X):
        features = quiet("exp(-z**2/2) - 0.5*exp(-z**2/8)", n_components=4096).fit(X)
        assert np.abs(features.gram(X) - features.kernel_.gram(X)).max() < 0.1

    def test_a_zonal_formula_checks_the_sphere(self):
        rows = np.random.default_rng(0).normal(size=(20, 3))
        with pytest.raises(DataError, match="unit sphere"):
            quiet("((1 + u)/2)**2").fit(rows)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        features = plain("((1 + u)/2)**2", n_components=4096).fit(rows)
        assert np.abs(features.gram(rows) - features.kernel_.gram(rows)).max() < 0.1


class TestPlan:
    def test_auto_takes_the_least_predicted_variance(self, signed):
        X = 0.3 * np.random.default_rng(0).normal(size=(40, 4))
        auto = quiet(signed, n_components=32).fit(X)
        z = np.quantile(pdist(X), np.linspace(0.05, 0.95, 10))
        least = auto.variance(z).mean()
        assert auto.plans_[0].coupling == auto.coupling_
        assert auto.plans_[0].variance == pytest.approx(least, rel=0.1)
        for coupling in ("iid", "orthogonal", "haar", "shared", "comonotone", "simplex"):
            other = quiet(signed, n_components=32, coupling=coupling).fit(X)
            assert other.plans_ == ()
            assert least <= other.variance(z).mean() * 1.01

    def test_explain_says_what_auto_took_and_what_else_it_weighed(self, X, signed):
        auto = quiet(signed, n_components=32).fit(X)
        said = auto.explain()
        assert f"coupling {auto.coupling_!r}" in said
        for plan in auto.plans_:
            assert f"{plan.coupling} {plan.counts}" in said
        assert [p.variance for p in auto.plans_] == sorted(p.variance for p in auto.plans_)
        assert "Predicted" not in quiet(signed, coupling="iid").fit(X).explain()
        alike = quiet(signed, n_components=32).fit(np.zeros((3, 4)))
        assert "+" not in alike.explain().partition("Predicted")[2]  # no root of a rounding error

    def test_optimal_allocation_beats_equal_and_mass(self, X, signed):
        z = np.quantile(pdist(X), np.linspace(0.05, 0.95, 10))
        mean = {}
        for allocation in ("optimal", "mass", "equal"):
            features = quiet(
                signed, n_components=64, coupling="orthogonal", allocation=allocation
            ).fit(X)
            mean[allocation] = features.variance(z, radii="iid").mean()
        assert mean["optimal"] <= 1.01 * min(mean.values())

    def test_how_many_columns(self, X, signed):
        features = quiet(signed).fit(X)
        few = features.n_components_for(0.1, 0.01, n_points=1000)
        assert few < features.n_components_for(0.05, 0.01, n_points=1000)
        assert few % 2 == 0

    @pytest.mark.parametrize("coupling", ["auto", "comonotone"])
    def test_the_variance_of_a_fitted_scheme_is_known_and_met(self, coupling):
        """Parts with unequal numbers of stratified radii, as they are by default."""
        kernel = radial("exp(-z**2/2) - exp(-z**2/200)")
        X = np.random.default_rng(0).normal(size=(12, 3))
        fitted = quiet(kernel, n_components=30, coupling=coupling).fit(X)
        assert len(set(fitted.counts_)) == 2
        assert {type(n) for n in fitted.counts_} == {int}
        z = np.linalg.norm(X[1:] - X[0], axis=1)
        drawn = draw_repeatedly(
            fitted.table_, fitted.counts_, 2000, coupling=fitted.coupling_, rng=0
        )
        square = (np.array([f.estimate(X[1:] - X[0]) for f in drawn]) - kernel(z)) ** 2
        band = 6 * square.std(axis=0) / 2000**0.5
        assert np.all(np.abs(square.mean(axis=0) - fitted.variance(z)) < band)

    def test_the_presets_are_the_papers_systems(self, X, signed):
        plans = {
            E.__name__: E(signed, n_components=64, mixed_signature="ignore").fit(X)
            for E in (ORF, GRFF, GORF)
        }
        assert {name: f.coupling_ for name, f in plans.items()} == {
            "ORF": "orthogonal",
            "GRFF": "iid",
            "GORF": "haar",
        }
        assert all(f.counts_ == (16, 16) for f in plans.values())


@pytest.mark.parametrize(
    ("kernel", "options"),
    by_turns(
        [
            ("exp(-z**2/2) - exp(-z**2/8)", {"n_components": 40}),
            ("exp(-z)", {"n_components": 31, "coupling": "iid", "radii": "iid"}),
            ("gaussian", {"n_components": 1}),
            ("gaussian", {"n_components": 50, "coupling": "hadamard"}),
            (radial("exp(-z**2/2)").shift([0.5, 0.1, 0.0, 0.0]), {"n_components": 40}),
        ],
        every=3,
    ),
)
def test_the_expected_error_is_the_error_that_is_seen(X, kernel, options):
    fitted = [
        SpectralFeatures(kernel, mixed_signature="ignore", random_state=seed, **options).fit(X)
        for seed in range(20)
    ]
    exact = fitted[0].kernel_.gram(X)
    squares = np.array([np.sum((f.gram(X) - exact) ** 2) for f in fitted]) / np.sum(exact**2)
    stated = np.mean([f.expected_error_**2 for f in fitted])
    # The variance of all pairs is that at a few typical distances to some percent.
    assert abs(squares.mean() - stated) < 6 * squares.std() / 20**0.5 + 0.1 * stated


GAUSSIAN = radial("exp(-z**2)")


@pytest.mark.parametrize(
    ("kernel", "options", "shape"),
    [
        ("gaussian", {"length_scale": 0.2}, (300, 2)),
        ("exp(-z**2/2) - exp(-z**2/8)/2", {"length_scale": 0.05}, (300, 1)),
        (GAUSSIAN.shift(0.3), {"coupling": "iid"}, (40, 4)),
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


@pytest.mark.parametrize(("unit", "useless"), [(0.1, False), (30.0, True)])
def test_the_explanation_says_when_drawn_features_are_no_better_than_zero(X, unit, useless):
    with pytest.warns(LengthScaleWarning) if useless else contextlib.nullcontext():
        features = SpectralFeatures("gaussian", n_components=64, random_state=0).fit(unit * X)
    exact = features.kernel_.gram(unit * X)
    error = np.linalg.norm(features.gram(unit * X) - exact) / np.linalg.norm(exact)
    assert (features.expected_error_ > 0.5) == (error > 0.5) == useless
    said = features.explain().splitlines()[-1]
    assert f"err by {100 * features.expected_error_:.3g} % of the kernel matrix" in said
    assert ("zeros errs by 100 %" in said) == useless


def test_the_expected_error_is_not_known_where_no_variance_is(X):
    features = SpectralFeatures("gaussian", coupling="qmc", radii="iid", n_components=16).fit(X)
    assert np.isnan(features.expected_error_)


@pytest.mark.parametrize("method", ["transform", "transform_right", "gram", "variance"])
def test_what_is_asked_before_a_fit_is_refused_as_that(X, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(SpectralFeatures("gaussian"), method)(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = SpectralFeatures("gaussian").expected_error_


def test_an_odd_column_is_a_constant_where_the_measure_has_one():
    # Masses that cancel leave nothing of the kernel if one of them is drawn with a random phase.
    table = SpectralTable(
        dim=3,
        parts=(
            Part(1e4, 0.0, np.pi, RadialLaw.from_atoms([0.0], [1.0])),
            Part(1e4 + 1.0, 0.0, 0.0, RadialLaw.from_atoms([1e-3], [1.0])),
        ),
        formula="1 - z**2/600",
        k_zero=1.0,
        u_error=0.0,
        provenance="exact",
    )
    X = np.random.default_rng(0).normal(size=(6, 3))
    features = SpectralFeatures(table, n_components=7, mixed_signature="ignore", random_state=0)
    gram = features.fit(X).gram(X)
    assert features.transform(X).shape == (6, features.signature_.size) == (6, 7)
    np.testing.assert_allclose(np.diag(gram), 1.0, atol=1e-9)
    assert features.variance(0.0) < 10.0  # a random phase adds 5e6
