"""The command ``spectra tour``: a common kernel, an indefinite one, and one without a measure."""

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
from rf.papers.experiments.approximation import relative
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
# The ridge of every linear classifier.
RIDGE = 1e-2
DESIGNED_COLUMNS = 256
# Measured numbers: their names, the average over draws, and digits.  Other work on the machine
# only lengthens times, so that their median is shown.
_MEASURED: dict[str, tuple[Callable[[list[float]], Any], int]] = {
    "error": (np.mean, 4),
    "milliseconds to fit and transform": (np.median, 0),
    "accuracy of a ridge classifier": (np.mean, 3),
}
#: Measured number -> features -> number of columns -> draws.
Found = dict[str, dict[str, dict[int, list[float]]]]


class _Data:
    """The digits: all rows, those of the kernel matrices, and a split for the classifiers."""

    def __init__(self) -> None:
        rows, labels = load_digits(return_X_y=True)
        self.rows: FloatArray = normalize(rows)
        chosen = np.random.default_rng(0).choice(len(rows), GRAM_ROWS, replace=False)
        self.sample = self.rows[chosen]
        self.split = train_test_split(
            self.rows, labels, test_size=0.3, random_state=0, stratify=labels
        )


def run(picture: Path) -> int:
    """Show errors, times and a verdict on scikit-learn's digits, and write a picture.

    Parameters
    ----------
    picture : Path
        Where to write the picture.

    Returns
    -------
    int
        0, the exit status of the command.
    """
    begin = time.perf_counter()
    plt, data = pyplot(), _Data()
    count, dim = data.rows.shape
    print(
        f"scikit-learn's digits: {count} rows of length 1 in dimension {dim}. Errors are "
        f"|K - K^|/|K|, the Frobenius\nnorm for {GRAM_ROWS} rows, in the mean over {SEEDS} draws."
    )
    gaussian, difference = radial("exp(-z**2/2)"), radial("exp(-z**2/2) - exp(-z**2/200)")
    print(f"\n1. A common kernel: {gaussian}, where z = |x - y|\n")
    common = _measure({"RBFSampler": partial(RBFSampler, gamma=0.5)}, gaussian, data)
    signed = _indefinite(difference, data)
    _without_measure(data)
    figure, panels = plt.subplots(3, 2, figsize=(9.5, 10), layout="constrained")
    for kernel, found, axes in ((gaussian, common, panels[0]), (difference, signed, panels[2])):
        _draw(axes, found, str(kernel))
    measure = existence(difference, dim=dim).measure
    draw_kernel(panels[1, 0], measure, z_max=12.0)
    draw_radial_density(panels[1, 1], measure)
    panels[1, 0].set_title(str(difference), fontsize=10)
    write_figure(figure, picture, dpi=110)
    print(f"\nThe picture is {picture}. The tour took {time.perf_counter() - begin:.0f} s.")
    return 0


def _indefinite(kernel: Kernel, data: _Data) -> Found:
    """A kernel that scikit-learn does not approximate."""
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
        "RBFSampler has no such kernel. scikit-learn's Nystroem takes it, and with every row as a "
        f"landmark,\nits error is {relative(Z @ Z.T, exact):.2f}: it returns the matrix |K|.\n"
    )
    independent = partial(GRFF, kernel, mixed_signature="ignore")
    return _measure({"GRFF: independent frequencies": independent}, kernel, data)


def _without_measure(data: _Data) -> None:
    """A kernel that has no decomposition, and features for the distances of these rows."""
    kernel = catalogue["ntk"]
    print("\n3. A kernel without a decomposition: the neural tangent kernel of two layers\n")
    print(existence(kernel, dim=data.rows.shape[1]))
    features = SpectralFeatures(
        kernel, n_components=DESIGNED_COLUMNS, mixed_signature="ignore", random_state=0
    ).fit(data.rows)
    error = relative(features.gram(data.sample), kernel.gram(data.sample))
    print(
        f"Designed for the distances of these rows, {DESIGNED_COLUMNS} columns have the error "
        f"{error:.4f}."
    )


def _measure(others: Mapping[str, Callable[..., Any]], kernel: Kernel, data: _Data) -> Found:
    """Errors, times and accuracies of other features and ours, which are printed."""
    ours = partial(SpectralFeatures, kernel, mixed_signature="ignore")
    makers: dict[str, Callable[..., Any]] = {**others, "SpectralFeatures": ours}
    sample, exact = data.sample, kernel.gram(data.sample)
    found: Found = {what: {name: {n: [] for n in COLUMNS} for name in makers} for what in _MEASURED}
    for name, make in makers.items():
        # The first call loads what it needs, and derives the table of the kernel.
        make(n_components=COLUMNS[0]).fit(data.rows).transform(data.rows)
        with stage(name, has_limit=False):
            for columns, seed in itertools.product(COLUMNS, range(SEEDS)):
                features = make(n_components=columns, random_state=seed)
                begin = time.perf_counter()
                features.fit(data.rows).transform(data.rows)
                spent = 1e3 * (time.perf_counter() - begin)
                Z = features.transform(sample)
                K = Z * getattr(features, "signature_", 1.0) @ Z.T
                numbers = relative(K, exact), spent, _accuracy(features, data)
                for what, number in zip(_MEASURED, numbers, strict=True):
                    found[what][name][columns].append(number)
    print(f"{'columns':44s}" + "".join(f"{columns:>9d}" for columns in COLUMNS))
    for what, (average, digits) in _MEASURED.items():
        print(what)
        for name, values in found[what].items():
            cells = "".join(f"{average(values[c]):9.{digits}f}" for c in COLUMNS)
            print(f"    {name:40s}{cells}")
    return found


def _accuracy(features: Any, data: _Data) -> float:
    """Of a ridge classifier, which follows the signs of the columns if there are some."""
    train, test, train_labels, test_labels = data.split
    if np.any(getattr(features, "signature_", np.ones(1)) < 0.0):
        model = KreinRidgeClassifier(features, alpha=RIDGE).fit(train, train_labels)
        return float(model.score(test, test_labels))
    classifier = RidgeClassifier(alpha=RIDGE).fit(features.transform(train), train_labels)
    return float(classifier.score(features.transform(test), test_labels))


def _draw(panels: Any, found: Found, title: str) -> None:
    """Errors and times against the number of columns."""
    for axes, what in zip(panels, list(_MEASURED)[:2], strict=True):
        average = _MEASURED[what][0]
        for (name, values), marker in zip(found[what].items(), ("o", "s"), strict=True):
            means = [float(average(values[c])) for c in COLUMNS]
            axes.loglog(COLUMNS, means, marker=marker, label=name)
        axes.set(xlabel="columns", ylabel=what)
        axes.set_xticks(COLUMNS, [str(c) for c in COLUMNS])
        axes.minorticks_off()
        label_decades(axes.yaxis)
    panels[0].set_title(title, fontsize=10)
    panels[0].legend(frameon=False)
