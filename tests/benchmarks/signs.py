"""Do the signs of an indefinite kernel help a learner?  Signed columns beside unsigned ones."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from rf import KreinRidge, KreinRidgeClassifier, SpectralFeatures
from rf.papers.datasets import load_dataset

from .timing import Table

KERNELS = (
    "exp(-z**2/2) - exp(-z**2/8)/2",
    "exp(-z**2/2) - exp(-z**2/200)",
    "(1 - z**2)*exp(-z**2/2)",
)
DATA = ("housing", "spambase", "ijcnn1", "letter")
ROWS, COLUMNS, SEEDS = 600, 300, 4
LENGTHS, RIDGES = (1.0, 3.0), (1e-4, 1e-2, 1.0)


class Unsigned(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The same columns, all of sign +1: features of the kernel of |mu|."""

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the features."""
        self.signature_ = np.ones(self.features.fit(X).signature_.size)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Their columns."""
        columns: NDArray[Any] = self.features.transform(X)
        return columns


def run() -> list[Table]:
    """Accuracies, or R^2 on housing, with and without the signs."""
    table = Table(
        "Do signs help a learner?",
        f"Ridge in the Krein space (KreinRidge, solver 'flip') on {COLUMNS} columns, and on the "
        "same columns with every sign +1, whose kernel is that of |mu|. Percent of test rows (R^2 "
        f"for housing), mean and deviation of {SEEDS} draws; at most {ROWS} rows for training, "
        "validation and test, scaled to [0, 1]; length and ridge by validation.",
        ("data", "kernel", "signed", "unsigned"),
        [],
    )
    for name in DATA:
        for kernel in KERNELS:
            signed, unsigned = (
                np.array([_score(name, kernel, seed, signs) for seed in range(SEEDS)])
                for signs in (True, False)
            )
            table.add(name, f"`{kernel}`", *(f"{100 * s.mean():.2f}+-{100 * s.std():.2f}"
                                             for s in (signed, unsigned)))  # fmt: skip
    return [table]


def _score(name: str, kernel: str, seed: int, signed: bool) -> float:
    data = load_dataset(name, scaling="interval")
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(data.X_train))[: 2 * ROWS]
    half = len(rows) // 2
    train, valid = rows[:half], rows[half:]
    test = rng.permutation(len(data.X_test))[:ROWS]
    model = KreinRidge if name == "housing" else KreinRidgeClassifier
    best, chosen = -np.inf, 0.0
    for length in LENGTHS:
        features: Any = SpectralFeatures(
            kernel, n_components=COLUMNS, coupling="orthogonal", allocation="mass",
            mixed_signature="ignore", random_state=seed,
        )  # fmt: skip
        features = features if signed else Unsigned(features)
        for ridge in RIDGES:
            fitted = model(features, alpha=ridge * half / 100)
            fitted.fit(data.X_train[train] / length, data.y_train[train])
            value = fitted.score(data.X_train[valid] / length, data.y_train[valid])
            if value > best:
                best = value
                chosen = fitted.score(data.X_test[test] / length, data.y_test[test])
    return float(chosen)
