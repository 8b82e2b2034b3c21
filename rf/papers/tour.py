"""The tour: a kernel that everybody has, one that nobody else serves, and one that is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from rf import KreinRidgeClassifier, SpectralFeatures
from rf.papers.baselines import GRFF
from spectra.base.arrays import FloatArray
from spectra.base.limits.progress import progress
from spectra.cli.plot_kernel import (
    draw_kernel,
    draw_radial_density,
    label_decades,
    pyplot,
    write_figure,
)
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue
from spectra.measure import SpectralMeasure
from spectra.verdict import existence, in_words

__all__ = ["run"]

#: Number of columns and seed -> features that are not fitted yet.
Maker = Callable[[int, int], Any]

COLUMNS = (128, 256, 512, 1024, 2048)
SEEDS = 3
GRAM_ROWS = 500
# exp(-z^2/2) for scikit-learn, whose kernel is exp(-gamma z^2).
GAMMA = 0.5
# The ridge that every linear classifier gets, whatever the features.
RIDGE = 1e-2
MADE_TO_ORDER = 256


@dataclass(frozen=True)
class _Data:
    """The digits: all rows, those of the kernel matrices, and a split for the classifiers."""

    rows: FloatArray
    sample: FloatArray
    train: FloatArray
    test: FloatArray
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]


@dataclass(frozen=True)
class _Found:
    """What was measured of features of one name, by number of columns: one number for each draw."""

    errors: dict[int, list[float]] = field(default_factory=dict)
    milliseconds: dict[int, list[float]] = field(default_factory=dict)
    accuracies: dict[int, list[float]] = field(default_factory=dict)


def run(picture: Path) -> int:
    """Show errors, times and a verdict on scikit-learn's digits, and write a picture.

    Parameters
    ----------
    picture : Path
        Where to write the picture.

    Returns
    -------
    int
        0, the exit status of the command ``spectra tour``.
    """
    begin = time.perf_counter()
    plt = pyplot()
    data = _digits()
    count, dim = data.rows.shape
    print(
        f"scikit-learn's digits: {count} rows of length 1 in dimension {dim}. Errors are "
        f"|K - K^|/|K|, the Frobenius\nnorm of what the estimated kernel matrix of {GRAM_ROWS} "
        f"rows is off by, in the mean over {SEEDS} draws."
    )
    gaussian = _gaussian(data)
    difference = radial("exp(-z**2/2) - exp(-z**2/200)")
    measure = _told(difference, dim)
    signed = _signed(difference, data)
    _refused(data)
    _draw(plt, measure, gaussian, signed, picture)
    print(f"\nThe picture is {picture}. The tour took {time.perf_counter() - begin:.0f} s.")
    return 0


def _digits() -> _Data:
    rows, labels = load_digits(return_X_y=True)
    rows = normalize(rows)
    chosen = np.random.default_rng(0).choice(rows.shape[0], GRAM_ROWS, replace=False)
    train, test, train_labels, test_labels = train_test_split(
        rows, labels, test_size=0.3, random_state=0, stratify=labels
    )
    return _Data(rows, rows[chosen], train, test, train_labels, test_labels)


def _gaussian(data: _Data) -> Mapping[str, _Found]:
    """The kernel that everybody has, at equal columns."""
    kernel = radial("exp(-z**2/2)")
    print(f"\n1. The same kernel: {kernel}, where z = |x - y|\n")
    makers: dict[str, Maker] = {
        "RBFSampler": lambda n, seed: RBFSampler(gamma=GAMMA, n_components=n, random_state=seed),
        "SpectralFeatures": lambda n, seed: SpectralFeatures(
            kernel, n_components=n, random_state=seed
        ),
    }
    found = _measured(makers, kernel, data)
    _print_table(found)
    return found


def _told(kernel: Kernel, dim: int) -> SpectralMeasure:
    """The verdict on the second kernel, and the masses of its two parts."""
    verdict = existence(kernel, dim=dim)
    measure = verdict.measure
    assert verdict.condition is not None
    print(f"\n2. An indefinite kernel: {kernel}, which is 0 at z = 0\n")
    print(
        f"It is the difference of two positive definite kernels (finite spectral mass for "
        f"{in_words(verdict.condition)}), of mass\n"
        f"M+ = M- = 1 - {measure.cancelled_mass.mid:.3g} each."
    )
    return measure


def _signed(kernel: Kernel, data: _Data) -> Mapping[str, _Found]:
    """The kernel that nobody else serves: with independent frequencies, and as we draw it."""
    exact = kernel.gram(data.sample)
    everything = Nystroem(kernel="precomputed", n_components=GRAM_ROWS, random_state=0)
    Z = everything.fit_transform(exact)
    print(
        "RBFSampler has no such kernel. scikit-learn's Nystroem takes it, and with every row as a "
        f"landmark,\nwhere it should be exact, its error is {_relative(Z @ Z.T, exact):.2f}: it "
        "returns the matrix |K|.\n"
    )
    makers: dict[str, Maker] = {
        "GRFF: independent frequencies": lambda n, seed: GRFF(
            kernel, n_components=n, mixed_signature="ignore", random_state=seed
        ),
        "SpectralFeatures": lambda n, seed: SpectralFeatures(
            kernel, n_components=n, mixed_signature="ignore", random_state=seed
        ),
    }
    found = _measured(makers, kernel, data)
    _print_table(found)
    return found


def _refused(data: _Data) -> None:
    """The kernel that has no decomposition, and what is done for these rows instead."""
    kernel = catalogue["ntk"]
    print("\n3. A kernel without a decomposition: the neural tangent kernel of two layers\n")
    print(existence(kernel, dim=data.rows.shape[1]))
    features = SpectralFeatures(
        kernel, n_components=MADE_TO_ORDER, mixed_signature="ignore", random_state=0
    ).fit(data.rows)
    error = _relative(features.gram(data.sample), kernel.gram(data.sample))
    print(
        "The distances of these rows need less than all of R^d: made to order for them, "
        f"{MADE_TO_ORDER} columns err by {error:.4f}."
    )


def _measured(makers: Mapping[str, Maker], kernel: Kernel, data: _Data) -> Mapping[str, _Found]:
    exact = kernel.gram(data.sample)
    found = {name: _Found() for name in makers}
    for name, make in makers.items():
        # The first call loads what it needs, and reads the kernel.
        make(COLUMNS[0], 0).fit(data.rows).transform(data.rows)
        jobs = [(columns, seed) for columns in COLUMNS for seed in range(SEEDS)]
        for columns, seed in progress(jobs, label=name):
            features = make(columns, seed)
            begin = time.perf_counter()
            features.fit(data.rows).transform(data.rows)
            spent = 1e3 * (time.perf_counter() - begin)
            found[name].milliseconds.setdefault(columns, []).append(spent)
            error = _relative(_gram(features, data.sample), exact)
            found[name].errors.setdefault(columns, []).append(error)
            found[name].accuracies.setdefault(columns, []).append(_accuracy(features, data))
    return found


def _gram(features: Any, rows: FloatArray) -> FloatArray:
    """The estimated kernel matrix; features without signs have Z Z'."""
    if hasattr(features, "gram"):
        return np.asarray(features.gram(rows))
    Z = features.transform(rows)
    return np.asarray(Z @ Z.T)


def _relative(estimate: FloatArray, exact: FloatArray) -> float:
    return float(np.linalg.norm(estimate - exact) / np.linalg.norm(exact))


def _accuracy(features: Any, data: _Data) -> float:
    """Of a ridge classifier, which follows the signs of the columns where there are some."""
    if np.any(getattr(features, "signature_", np.ones(1)) < 0.0):
        model = KreinRidgeClassifier(features, alpha=RIDGE).fit(data.train, data.train_labels)
        return float(model.score(data.test, data.test_labels))
    classifier = RidgeClassifier(alpha=RIDGE)
    classifier.fit(features.transform(data.train), data.train_labels)
    return float(classifier.score(features.transform(data.test), data.test_labels))


def _print_table(found: Mapping[str, _Found]) -> None:
    print(f"{'columns':44s}" + "".join(f"{columns:>9d}" for columns in COLUMNS))
    # The middle of the times, since other work on the machine only lengthens them.
    for label, attribute, average, digits in (
        ("error", "errors", np.mean, 4),
        ("milliseconds to fit and transform", "milliseconds", np.median, 0),
        ("accuracy of a ridge classifier", "accuracies", np.mean, 3),
    ):
        print(label)
        for name, of_name in found.items():
            values = getattr(of_name, attribute)
            cells = "".join(f"{average(values[c]):9.{digits}f}" for c in COLUMNS)
            print(f"    {name:40s}{cells}")


def _draw(
    plt: Any,
    measure: SpectralMeasure,
    gaussian: Mapping[str, _Found],
    signed: Mapping[str, _Found],
    picture: Path,
) -> None:
    figure, ((errors, times), (kernel, density), (signed_errors, signed_times)) = plt.subplots(
        3, 2, figsize=(9.5, 10), layout="constrained"
    )
    for found, left, right, title in (
        (gaussian, errors, times, "exp(-z**2/2)"),
        (signed, signed_errors, signed_times, str(measure.kernel)),
    ):
        _draw_against_columns(left, found, "errors", np.mean, r"$\|K - \hat K\| / \|K\|$")
        _draw_against_columns(right, found, "milliseconds", np.median, "ms to fit and transform")
        left.set_title(title, fontsize=10)
        left.legend(frameon=False)
    draw_kernel(kernel, measure, z_max=12.0)
    draw_radial_density(density, measure)
    kernel.set_title(str(measure.kernel), fontsize=10)
    write_figure(figure, picture, dpi=110)


def _draw_against_columns(
    axes: Any, found: Mapping[str, _Found], attribute: str, average: Any, label: str
) -> None:
    for (name, of_name), marker in zip(found.items(), ("o", "s"), strict=True):
        values = getattr(of_name, attribute)
        means = [float(average(values[c])) for c in COLUMNS]
        axes.loglog(COLUMNS, means, marker=marker, label=name)
    axes.set(xlabel="columns", ylabel=label)
    axes.set_xticks(COLUMNS, [str(c) for c in COLUMNS])
    axes.minorticks_off()
    label_decades(axes.yaxis)
