"""Space and time, and a season, by signed features of groups of columns and by a Gaussian process.

Run with ``python docs/compare_groups.py``; it prints the table of groups.md.  The truth is known: a
function of place and day, and a year that fades beside a trend, both with noise of variance 0.01.
Lengths are found by cross-validation on the rows on which the Gaussian process of scikit-learn
maximises its likelihood; errors are those against the truth without noise, over its deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import spectra as sp
from rf import SpectralFeatures

FloatArray = NDArray[np.float64]
ROWS, ASKED, NOISE = 1500, 1000, 0.1


def space_and_time(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Two coordinates in kilometres and a day; what happens there."""
    X = rng.uniform(size=(n, 3)) * [10.0, 10.0, 365.0]
    place = np.sin(0.6 * X[:, 0]) * np.cos(0.4 * X[:, 1])
    return X, place * np.cos(X[:, 2] / 20.0) + 0.5 * np.sin(X[:, 2] / 60.0)


def season(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Ten years of days; a year whose swing fades, and a trend."""
    day = rng.uniform(0.0, 3650.0, size=(n, 1))
    turn = 2.0 * np.pi * day[:, 0] / 365.0
    swing = np.exp(np.cos(turn)) * np.exp(-day[:, 0] / 4000.0)
    return day, swing + 0.3 * np.sin(day[:, 0] / 500.0)


def of_groups(place: float, time: float) -> sp.GroupedKernel:
    """Place and time together, and time alone."""
    smooth = sp.radial("exp(-z**2/2)")
    return smooth.rescale(place).on([0, 1]) * smooth.rescale(time).on([2]) + 0.3 * (
        smooth.rescale(3.0 * time).on([2])
    )


def of_years(sharpness: float, fading: float) -> sp.GroupedKernel:
    """A season that fades, and what is left of it."""
    year = sp.radial("exp(-2*sin(pi*z/p)**2/l**2)", p=365, l=sharpness)
    slow = sp.radial("exp(-z**2/2)").rescale(fading)
    return year.on([0]) * slow.on([0]) + 0.5 * slow.on([0])


def by_features(kernels: list[sp.GroupedKernel], columns: int) -> Any:
    """Ridge regression on features, their kernel found by a grid search."""
    model = make_pipeline(
        SpectralFeatures(kernels[0], n_components=columns, random_state=0), Ridge()
    )
    grid = {"spectralfeatures__kernel": kernels, "ridge__alpha": [1e-3, 1e-2, 1e-1]}
    return GridSearchCV(model, grid, cv=3)


def by_process(kernel: Any) -> GaussianProcessRegressor:
    """The exact posterior mean, its lengths where the likelihood is largest."""
    return GaussianProcessRegressor(kernel + WhiteKernel(NOISE**2), normalize_y=True)


def compared(
    name: str,
    data: Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]],
    models: dict[str, Any],
) -> None:
    """Print the error of each model against the truth, and its time."""
    rng = np.random.default_rng(0)
    X, truth = data(rng, ROWS)
    asked, wanted = data(rng, ASKED)
    y = truth + NOISE * rng.normal(size=ROWS)
    for label, model in models.items():
        begin = perf_counter()
        found = model.fit(X, y).predict(asked)
        seconds = perf_counter() - begin
        error = np.sqrt(np.mean((found - wanted) ** 2)) / np.std(wanted)
        print(f"| {name} | {label} | {error:.4f} | {seconds:.1f} |")


if __name__ == "__main__":
    print("| data | model | error | seconds |\n|---|---|---|---|")
    kernels = [of_groups(place, time) for place in (1.0, 2.0, 4.0) for time in (10.0, 20.0, 40.0)]
    process = RBF([2.0, 2.0, 20.0]) + 0.3 * RBF([1e3, 1e3, 60.0])
    compared(
        "place and time",
        space_and_time,
        {"512 columns": by_features(kernels, 512), "Gaussian process": by_process(process)},
    )
    years = [of_years(sharp, fading) for sharp in (0.7, 1.4) for fading in (500.0, 1000.0, 2000.0)]
    seasonal = ExpSineSquared(1.0, 365.0, periodicity_bounds="fixed") * RBF(1000.0) + Matern(500.0)
    compared(
        "season",
        season,
        {"256 columns": by_features(years, 256), "Gaussian process": by_process(seasonal)},
    )
