"""Learning with an indefinite kernel: LIBSVM on the exact matrix, Krein learners on features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from rf import FlippedFeatures, KreinRidgeClassifier
from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import Compute, dataset, over_seeds
from rf.papers.experiments.methods import DELTA_GAUSSIAN, NEAR_GAUSSIANS, PaperKernel, make_features
from spectra.base.arrays import FloatArray

__all__ = ["KREIN_ACCURACY"]

_TEST_ROWS, _COLUMNS = 2000, 512
_SIZES = {"500 rows": 500, "2000 rows": 2000}
_CONSTANT, _PENALTY = 10.0, 1e-2
# Eigenvalues of the training matrix -> those of the matrix that LIBSVM gets.
_SPECTRA: dict[str, Callable[[FloatArray], FloatArray]] = {
    "LIBSVM, exact matrix": lambda values: values,
    "LIBSVM, clipped": lambda values: np.maximum(values, 0.0),
    "LIBSVM, flipped": np.abs,
    "LIBSVM, shifted": lambda values: values - min(float(values.min()), 0.0),
}
_RIDGES = {f"Krein ridge, {solver}": solver for solver in ("flip", "stationary")}
_SVM = "Krein SVM, flip"


def _matrix_accuracy(
    kernel: PaperKernel, row: str, X: FloatArray, y: Any, X_test: FloatArray, y_test: Any
) -> float:
    values, vectors = np.linalg.eigh(kernel.gram(X))
    changed = _SPECTRA[row](values)
    # Test rows are mapped as training rows: K_new U diag(changed/values) U'.
    ratio = np.divide(changed, values, out=np.ones_like(values), where=np.abs(values) > 1e-10)
    model = SVC(C=_CONSTANT, kernel="precomputed").fit((vectors * changed) @ vectors.T, y)
    right = kernel.gram(X_test, X) @ (vectors * ratio) @ vectors.T
    return float(model.score(right, y_test))


def _measure(name: str, kernel: PaperKernel, row: str, n: int) -> Compute:
    def accuracy(seed: int) -> float:
        data, rng = dataset(name), np.random.default_rng(seed)
        train = rng.choice(len(data.X_train), n, replace=False)
        test = rng.choice(len(data.X_test), _TEST_ROWS, replace=False)
        X, y = data.X_train[train], data.y_train[train]
        X_test, y_test = data.X_test[test], data.y_test[test]
        if row in _SPECTRA:
            return 100.0 * _matrix_accuracy(kernel, row, X, y, X_test, y_test)
        features = make_features(kernel, SPECTRA, _COLUMNS, seed)
        model: Any = make_pipeline(FlippedFeatures(features), LinearSVC(C=_CONSTANT))
        if row != _SVM:
            model = KreinRidgeClassifier(features, alpha=_PENALTY, solver=_RIDGES[row])
        return 100.0 * float(model.fit(X, y).score(X_test, y_test))

    return over_seeds(accuracy)


def _cells() -> list[Cell]:
    rows = (*_SPECTRA, _SVM, *_RIDGES)
    return [
        cell
        for name in ("letter", "ijcnn1")
        for kernel in (DELTA_GAUSSIAN, NEAR_GAUSSIANS)
        for cell in block(f"{kernel.name}, {name}", rows, _SIZES, partial(_measure, name, kernel))
    ]


KREIN_ACCURACY = Experiment(
    title="Learning with an indefinite kernel",
    source="The learners that the papers build on; no table of theirs",
    measures="percent of 2000 test rows classified correctly (more is better)",
    cells=_cells,
    axes=("training rows", "test rows classified correctly, %"),
    digits=2,
    notes=f"""
LIBSVM (scikit-learn's SVC, C = {_CONSTANT:g}) on the exact indefinite kernel matrix, whose solution
is a stationary point of a problem that is not convex, and on the matrix with clipped, flipped or
shifted eigenvalues (Wu, Chang, Zhang, 2005); Krein learners on {_COLUMNS} columns of {SPECTRA}: the
support vector machine of Loosli, Canu and Ong (2016), C = {_CONSTANT:g}, and ridge regression with
the solvers of Loosli (flip) and of Ong, Mary, Canu and Smola (2004; stationary),
alpha = {_PENALTY:g}.  Each run has other rows; the constants are fixed, not tuned.
""",
    percent_right=True,
)
