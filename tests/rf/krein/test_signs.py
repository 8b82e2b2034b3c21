"""The signs of columns come through every composite of scikit-learn, or are refused."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rf import KreinRidge, KreinRidgeClassifier, SpectralFeatures
from rf.krein.signs import signature_of
from spectra.errors import ParameterError

SIGNED = "exp(-z**2/2) - exp(-z**2/8)"


def signed(n=8, spectrum=SIGNED, **options):
    return SpectralFeatures(
        spectrum,
        n_components=n,
        **{"coupling": "iid", "allocation": "equal", **options},
        mixed_signature="ignore",
        random_state=0,
    )


def plain(n=6):
    return RBFSampler(n_components=n, random_state=0)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


# Each composite beside the signs of its columns: S those of ``signed``, and +1 for all else.
S = np.array([1, 1, -1, -1, 1, 1, -1, -1.0])
ONE = np.ones
COMPOSITES = {
    "alone": (signed(), S),
    "union with the rows": (FeatureUnion([("s", signed()), ("x", "passthrough")]), [*S, *ONE(4)]),
    "union without a block": (FeatureUnion([("x", "drop"), ("s", signed())]), S),
    "weighted union": (
        FeatureUnion([("s", signed()), ("p", plain())], transformer_weights={"s": 0.5}),
        [*S, *ONE(6)],
    ),
    "passthrough at the end": (Pipeline([("s", signed()), ("end", "passthrough")]), S),
    "identity at the end": (make_pipeline(signed(), FunctionTransformer()), S),
    "union in a pipeline in a union": (
        make_union(make_pipeline(StandardScaler(), make_union(signed(), plain())), signed()),
        [*S, *ONE(6), *S],
    ),
    "columns with a remainder": (
        ColumnTransformer([("s", signed(), slice(0, 2))], remainder="passthrough"),
        [*S, 1, 1],
    ),
    "columns that are left out": (
        ColumnTransformer([("x", "drop", [0]), ("p", "passthrough", [1]), ("s", signed(), [2, 3])]),
        [1, *S],
    ),
    "columns of signed columns": (
        make_pipeline(
            signed(), make_column_transformer(("passthrough", [3, 0]), (StandardScaler(), [1]))
        ),
        [-1, 1, 1],
    ),
    "a selection": (make_pipeline(signed(), VarianceThreshold(0.0)), S),
    "unsigned": (make_pipeline(plain(), StandardScaler()), ONE(6)),
}


def test_a_frozen_composite_has_the_signs_of_what_it_froze(X):
    y = np.sin(X[:, 0])
    pipe = make_pipeline(StandardScaler(), signed())
    frozen = FrozenEstimator(pipe.fit(X))
    assert signature_of(make_union(frozen, plain()).fit(X), X).tolist() == [*S, *ONE(6)]
    model, own = KreinRidge(frozen).fit(X, y), KreinRidge(pipe).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), own.predict(X))


@pytest.mark.parametrize("model", [KreinRidge(alpha=0.3), KreinRidgeClassifier(alpha=0.3)])
def test_columns_of_a_data_frame_are_chosen_by_name(model, X):
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame(X, columns=list("abcd")), np.digitize(X[:, 0], [0.0])
    by_name = ColumnTransformer([("s", signed(), ["d", "a"])], remainder="passthrough")
    by_number = ColumnTransformer([("s", signed(), [3, 0])], remainder="passthrough")
    named = clone(model).set_params(features=by_name).fit(frame, y)
    assert named.feature_names_in_.tolist() == list("abcd")
    numbered = clone(model).set_params(features=by_number).fit(X, y)
    np.testing.assert_array_equal(named.predict(frame), numbered.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[list("bacd")])
    framed = StandardScaler().set_output(transform="pandas")
    inside = ColumnTransformer([("s", signed(), ["x1"]), ("rest", "passthrough", ["x0"])])
    assert signature_of(make_pipeline(framed, inside).fit(X), X).tolist() == [*S, 1.0]


def test_the_signs_of_a_composite_are_those_of_its_blocks(X):
    for name, (composite, expected) in COMPOSITES.items():
        fitted = composite.fit(X)
        assert signature_of(fitted, X).tolist() == list(expected), name
        assert fitted.transform(X).shape[1] == len(expected)


@pytest.mark.parametrize("name", ["columns of signed columns", "union in a pipeline in a union"])
def test_a_model_of_a_composite_learns_with_its_signed_kernel(name, X):
    composite, signs = COMPOSITES[name]
    y = np.sin(X[:, 0])
    model = KreinRidge(composite, alpha=0.3, solver="stationary", fit_intercept=False).fit(X, y)
    Z = model.features_.transform(X)
    K = (Z * np.array(signs)) @ Z.T
    expected = K @ np.linalg.solve(K + 0.3 * np.eye(30), y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)
    assert model.eigenvalues_.min() < -1e-3


def test_a_selection_keeps_the_signs_of_what_it_selects(X):
    y = np.sin(X[:, 0])
    selected = make_pipeline(signed(64), SelectKBest(f_regression, k=20)).fit(X, y)
    support = selected[-1].get_support()
    signs = signature_of(selected, X)
    assert signs.tolist() == selected[0].signature_[support].tolist()
    assert 0 < np.sum(signs < 0) < 20


class Halved(TransformerMixin, BaseEstimator):
    """A composite of another make: it says nothing of signs."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y=None):
        self.inner_ = [self.inner.fit(X)]
        return self

    def transform(self, X):
        return 0.5 * self.inner_[0].transform(X)


@pytest.mark.parametrize(
    "composite",
    [
        make_pipeline(signed(), StandardScaler()),
        make_pipeline(signed(), FunctionTransformer(np.abs)),
        make_pipeline(signed(), plain()),
        make_pipeline(signed(), signed()),
        make_pipeline(signed(), make_union(FunctionTransformer(), PCA(2))),
        make_pipeline(signed(), make_column_transformer((StandardScaler(), [2, 3]))),
        Halved(signed()),
        make_pipeline(StandardScaler(), Halved(make_pipeline(signed()))),
    ],
)
def test_signs_that_would_be_lost_are_refused(composite, X):
    with pytest.raises(ParameterError, match="signature -1"):
        KreinRidge(composite).fit(X, X[:, 0])


def test_a_composite_that_states_its_signs_is_believed(X):
    class Signed(Halved):
        @property
        def signature_(self):
            return self.inner_[0].signature_

    assert signature_of(Signed(signed()).fit(X), X).tolist() == S.tolist()
