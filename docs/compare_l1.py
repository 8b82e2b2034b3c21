"""The truncated l1 distance on letter: waves of single columns beside indefinite Nystroem.

Run with ``python docs/compare_l1.py``; it prints the table of l1.md.  Rows are letter's 16 columns
divided by 15; the kernel is max(tau - |x - y|_1, 0) with tau = 0.7 d, as in the paper that proposed
it.  Errors are those of the kernel matrix of 2000 test rows, over its Frobenius norm, as it is and
after its rows and columns are centred (a constant says nothing to a learner with an intercept);
accuracies are those of a kernel ridge classifier on the features with their signs.  Times are those
of fit and transform of the 12 000 training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spectra as sp
from rf import KreinRidgeClassifier, SpectralFeatures, load_dataset
from rf.papers.baselines import IndefiniteNystroem

FloatArray = NDArray[np.float64]
SHOWN, SEEDS = 2000, 5


def centred(K: FloatArray) -> FloatArray:
    """K without the means of its rows and columns."""
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def errors(made: Any, X: FloatArray, exact: FloatArray) -> tuple[float, float]:
    """Relative errors of a matrix, and of it after centring."""
    wrong = made.gram(X) - exact
    inner = np.linalg.norm(centred(wrong)) / np.linalg.norm(centred(exact))
    return float(np.linalg.norm(wrong) / np.linalg.norm(exact)), float(inner)


if __name__ == "__main__":
    data = load_dataset("letter", scaling="raw")
    X, asked = np.asarray(data.X_train) / 15.0, np.asarray(data.X_test) / 15.0
    d = X.shape[1]
    kernel = sp.l1("Max(tau - z, 0)", tau=0.7 * d)
    exact = kernel.gram(asked[:SHOWN])
    # The first call compiles.
    SpectralFeatures("gaussian", n_components=4).fit(X[:50]).transform(X[:50])
    ways: dict[str, Callable[[int, int], Any]] = {
        "waves of single columns": lambda n, _: SpectralFeatures(
            kernel, n_components=n, domain="data", outside="ignore", mixed_signature="ignore"
        ),
        "indefinite Nystroem": lambda n, seed: IndefiniteNystroem(
            kernel, n_components=n, random_state=seed
        ),
        "the same, leverage scores": lambda n, seed: IndefiniteNystroem(
            kernel, n_components=n, landmarks="leverage", random_state=seed
        ),
    }
    print("| columns | features | error | centred | accuracy | seconds |")
    print("|---|---|---|---|---|---|")
    for share in (2, 8, 32):
        n = share * d
        for name, make in ways.items():
            found, seconds = [], []
            for seed in range(1 if name.startswith("waves") else SEEDS):
                begin = perf_counter()
                made = make(n, seed).fit(X)
                made.transform(X)
                seconds.append(perf_counter() - begin)
                model = KreinRidgeClassifier(make(n, seed), alpha=1e-3).fit(X, data.y_train)
                found.append([*errors(made, asked[:SHOWN], exact), model.score(asked, data.y_test)])
            whole, inner, score = np.mean(found, axis=0)
            print(
                f"| {n} = {share}d | {name} | {whole:.2g} | {inner:.2g} | {score:.3f} | "
                f"{np.median(seconds):.2f} |",
                flush=True,
            )
