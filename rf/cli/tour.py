"""``spectra tour``: features of a Gaussian, an indefinite kernel, and one of infinite mass."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from rf import KreinRidgeClassifier, SpectralFeatures
from rf.papers.baselines import GRFF
from rf.papers.experiments.measures import matrix_error
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.cli.pictures import (
    draw_kernel,
    draw_radial_density,
    label_decades,
    pyplot,
    write_figure,
)
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue
from spectra.verdict import existence, in_words

__all__ = ["run"]

COLUMNS = (128, 256, 512, 1024, 2048)
SEEDS = 3
GRAM_ROWS = 500
# Ridge penalty of every linear classifier.
RIDGE = 1e-2
DESIGNED_COLUMNS = 256
# Measured quantity -> how it is averaged over draws, and its digits after the point.  Times have
# outliers when other programs run, so their median is shown.
_QUANTITIES: dict[str, tuple[Callable[[list[float]], Any], int]] = {
    "error": (np.mean, 4),
    "milliseconds to fit and transform": (np.median, 0),
    "accuracy of a ridge classifier": (np.mean, 3),
}
#: Measured quantity -> name of the features -> number of columns -> one value for each draw.
Results = dict[str, dict[str, dict[int, list[float]]]]


class _Data:
    """The digits: all rows, a sample for the kernel matrices, and a split for the classifiers."""

    def __init__(self) -> None:
        rows, labels = load_digits(return_X_y=True)
        self.rows: FloatArray = normalize(rows)
        sampled = np.random.default_rng(0).choice(len(rows), GRAM_ROWS, replace=False)
        self.sample = self.rows[sampled]
        self.classifier_split = train_test_split(
            self.rows, labels, test_size=0.3, random_state=0, stratify=labels
        )


def run(picture: Path) -> int:
    """Print errors, times and verdicts for scikit-learn's digits, and write a picture.

    Parameters
    ----------
    picture : Path
        Where to write the picture.

    Returns
    -------
    int
        0, the exit status of the command.
    """
    start = time.perf_counter()
    plt, data = pyplot(), _Data()
    count, dim = data.rows.shape
    print(
        f"scikit-learn's digits: {count} rows of length 1 in dimension {dim}. Errors are "
        f"|K - K^|/|K| in the Frobenius\nnorm, on {GRAM_ROWS} rows, averaged over {SEEDS} draws."
    )
    gaussian, difference = radial("exp(-z**2/2)"), radial("exp(-z**2/2) - exp(-z**2/200)")
    print(f"\n1. A common kernel: {gaussian}, where z = |x - y|\n")
    gaussian_results = _print_comparison(
        {"RBFSampler": partial(RBFSampler, gamma=0.5)}, gaussian, data
    )
    difference_results = _show_indefinite(difference, data)
    _show_designed(data)
    figure, panels = plt.subplots(3, 2, figsize=(9.5, 10), layout="constrained")
    _draw(panels[0], gaussian_results, str(gaussian))
    _draw(panels[2], difference_results, str(difference))
    measure = existence(difference, dim=dim).measure
    draw_kernel(panels[1, 0], measure, z_max=12.0)
    draw_radial_density(panels[1, 1], measure)
    panels[1, 0].set_title(str(difference), fontsize=10)
    write_figure(figure, picture, dpi=110)
    print(f"\nThe picture is {picture}. The tour took {time.perf_counter() - start:.0f} s.")
    return 0


def _show_indefinite(kernel: Kernel, data: _Data) -> Results:
    """Compare features of an indefinite kernel, which scikit-learn approximates incorrectly."""
    verdict = existence(kernel, dim=data.rows.shape[1])
    assert verdict.condition is not None
    measure = verdict.measure
    print(f"\n2. An indefinite kernel: {kernel}, which is 0 at z = 0\n")
    exact = kernel.gram(data.sample)
    Z = Nystroem(kernel="precomputed", n_components=GRAM_ROWS, random_state=0).fit_transform(exact)
    print(
        f"It is the difference of two positive definite kernels (finite spectral mass for "
        f"{in_words(verdict.condition)}), of mass\n"
        f"M+ = {measure.positive_mass.mid:.6g} and M- = {measure.negative_mass.mid:.6g}.\n"
        "RBFSampler does not support this kernel. scikit-learn's Nystroem does, but its error\n"
        f"with every row as landmark is {matrix_error(Z @ Z.T, exact):.2f}: it approximates |K|.\n"
    )
    independent = partial(GRFF, kernel, mixed_signature="ignore")
    return _print_comparison({"GRFF: independent frequencies": independent}, kernel, data)


def _show_designed(data: _Data) -> None:
    """Explain why a kernel has no spectral measure, and design features for these rows."""
    kernel = catalogue["ntk"]
    print("\n3. A kernel without a decomposition: the neural tangent kernel of two layers\n")
    print(existence(kernel, dim=data.rows.shape[1]))
    features = SpectralFeatures(
        kernel, n_components=DESIGNED_COLUMNS, mixed_signature="ignore", random_state=0
    ).fit(data.rows)
    error = matrix_error(features.gram(data.sample), kernel.gram(data.sample))
    print(
        f"Features designed for the distances of these rows have the error {error:.4f} with "
        f"{DESIGNED_COLUMNS} columns."
    )


def _print_comparison(others: Mapping[str, Any], kernel: Kernel, data: _Data) -> Results:
    """Measure and print errors, times and accuracies of SpectralFeatures and other features."""
    spectral = partial(SpectralFeatures, kernel, mixed_signature="ignore")
    makers: dict[str, Any] = {**others, "SpectralFeatures": spectral}
    sample, exact = data.sample, kernel.gram(data.sample)
    results: Results = {q: {name: {n: [] for n in COLUMNS} for name in makers} for q in _QUANTITIES}
    for name, make in makers.items():
        # The first call imports modules and derives the table of the kernel, so it is not timed.
        make(n_components=COLUMNS[0]).fit(data.rows).transform(data.rows)
        with stage(name, has_limit=False):
            for columns, seed in itertools.product(COLUMNS, range(SEEDS)):
                features = make(n_components=columns, random_state=seed)
                start = time.perf_counter()
                features.fit(data.rows).transform(data.rows)
                milliseconds = 1e3 * (time.perf_counter() - start)
                Z = features.transform(sample)
                K = Z * getattr(features, "signature_", 1.0) @ Z.T
                measured = matrix_error(K, exact), milliseconds, _accuracy(features, data)
                for quantity, value in zip(_QUANTITIES, measured, strict=True):
                    results[quantity][name][columns].append(value)
    print(f"{'columns':44s}" + "".join(f"{columns:>9d}" for columns in COLUMNS))
    for quantity, (average, digits) in _QUANTITIES.items():
        print(quantity)
        for name, values in results[quantity].items():
            cells = "".join(f"{average(values[c]):9.{digits}f}" for c in COLUMNS)
            print(f"    {name:40s}{cells}")
    return results


def _accuracy(features: Any, data: _Data) -> float:
    """Test accuracy of a ridge classifier, of Krein ridge if some columns have a negative sign."""
    train_rows, test_rows, train_labels, test_labels = data.classifier_split
    if np.any(getattr(features, "signature_", np.ones(1)) < 0.0):
        model = KreinRidgeClassifier(features, alpha=RIDGE).fit(train_rows, train_labels)
        return float(model.score(test_rows, test_labels))
    classifier = RidgeClassifier(alpha=RIDGE).fit(features.transform(train_rows), train_labels)
    return float(classifier.score(features.transform(test_rows), test_labels))


def _draw(panels: Any, results: Results, title: str) -> None:
    """Draw errors and times against the number of columns."""
    for axes, (quantity, (average, _)) in zip(panels, list(_QUANTITIES.items())[:2], strict=True):
        for (name, values), marker in zip(results[quantity].items(), ("o", "s"), strict=True):
            averages = [float(average(values[c])) for c in COLUMNS]
            axes.loglog(COLUMNS, averages, marker=marker, label=name)
        axes.set(xlabel="columns", ylabel=quantity)
        axes.set_xticks(COLUMNS, [str(c) for c in COLUMNS])
        axes.minorticks_off()
        label_decades(axes.yaxis)
    panels[0].set_title(title, fontsize=10)
    panels[0].legend(frameon=False)
