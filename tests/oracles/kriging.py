"""Kriging by other libraries, frozen: ``python -m tests.oracles.kriging`` computes it again.

The covariance is 1.3 exp(-z/2) with errors of variance 0.1 at 25 random points of [0, 10]^2; the
values are predicted at six others.  PyKrige 1.7.3 and GSTools 1.7.0 made the file.  PyKrige's
variance has the nugget, and GSTools' ``cond_err`` is a variance.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
VARIANCE, LENGTH, NUGGET = 1.3, 2.0, 0.1


def data() -> tuple[np.ndarray, ...]:
    """Points, values, a column that explains them, errors of each row; new points, the column."""
    rng = np.random.default_rng(51)
    X, new = rng.uniform(0, 10, (25, 2)), rng.uniform(0, 10, (6, 2))
    column, new_column = np.sin(X[:, 0]) + X[:, 1] ** 2, np.sin(new[:, 0]) + new[:, 1] ** 2
    y = 2.0 + 0.3 * X[:, 0] + 0.05 * column + rng.standard_normal(25)
    return X, y, column, rng.uniform(0.1, 0.6, 25), new, new_column


def frozen() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and variances by name."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: tuple(map(np.array, pair)) for name, pair in stored.items()}


def compute() -> dict[str, tuple[list[float], list[float]]]:
    """The values by PyKrige and GSTools."""
    import gstools
    from pykrige.ok import OrdinaryKriging
    from pykrige.uk import UniversalKriging

    X, y, column, errors, new, new_column = data()
    model = {
        "variogram_model": "exponential",
        # PyKrige's exponential model has exp(-3 z / range).
        "variogram_parameters": {"psill": VARIANCE, "range": 3 * LENGTH, "nugget": NUGGET},
        "pseudo_inv": False,
    }
    found = {
        "ordinary": OrdinaryKriging(*X.T, y, **model).execute("points", *new.T),
        "linear": UniversalKriging(*X.T, y, drift_terms=["regional_linear"], **model).execute(
            "points", *new.T
        ),
        "column": UniversalKriging(
            *X.T, y, drift_terms=["specified"], specified_drift=[column], **model
        ).execute("points", *new.T, specified_drift_arrays=[new_column]),
    }
    covariance = gstools.Exponential(dim=2, var=VARIANCE, len_scale=LENGTH)
    noisy = gstools.krige.Ordinary(covariance, X.T, y, cond_err=errors**2, exact=False)
    found["noise"] = noisy(new.T)[:2]
    return {name: tuple(np.asarray(v).tolist() for v in pair) for name, pair in found.items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute()) + "\n", encoding="utf-8")
