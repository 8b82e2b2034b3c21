"""The tour: from three formulas to features of real images, with a table and a picture."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from rf.rivals import GRFF, ORF
from spectra.families import catalogue
from spectra.kernel import Kernel, radial
from spectra.measure import SpectralMeasure
from spectra.plot import draw_kernel, draw_radial_density, label_decades, pyplot, write_figure
from spectra.progress import progress
from spectra.table import SpectralTable
from spectra.tabulation import tabulate
from spectra.verdict import existence

__all__ = ["run"]

FloatArray = NDArray[np.float64]

COLUMNS = (128, 256, 512, 1024, 2048)
SEEDS = 5
GRAM_ROWS = 500
# The ridge that the linear classifier on features gets, whatever the features.
RIDGE = 1e-2


@dataclass
class _Stop:
    """One kernel of the tour, and what was measured on it."""

    kernel: Kernel
    measure: SpectralMeasure
    table: SpectralTable
    errors: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    accuracies: dict[tuple[str, int], list[float]] = field(default_factory=dict)


def run(picture: Path) -> int:
    """Check, derive and tabulate three kernels, draw features on digits, and write a picture.

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
    rows, labels = load_digits(return_X_y=True)
    rows = normalize(rows)
    dim = rows.shape[1]
    print(f"scikit-learn's digits: {rows.shape[0]} unit rows in dimension {dim}\n")

    _show_a_refusal(dim)
    stops = [_derive(kernel, dim) for kernel in _kernels()]
    _measure(stops, rows, labels)
    _print_table(stops)
    _draw(plt, stops, picture)
    print(f"\nThe picture is {picture}. The tour took {time.perf_counter() - begin:.0f} s.")
    return 0


def _kernels() -> list[Kernel]:
    return [
        radial("exp(-z**2/2) - exp(-z**2/16)/2"),
        catalogue["matern"](nu=1.5, length=1),
        radial("(1 - z**2/64)**40", support=8),
    ]


def _show_a_refusal(dim: int) -> None:
    verdict = existence(catalogue["ntk"], dim=dim)
    print("What cannot be done is said, with the reason:\n")
    print(f"{verdict}\n")


def _derive(kernel: Kernel, dim: int) -> _Stop:
    verdict = existence(kernel, dim=dim)
    measure = verdict.measure
    table = tabulate(measure)
    print(f"{kernel}")
    print(
        f"    finite in dimension d iff: {verdict.condition}\n"
        f"    M+ = {measure.positive_mass.mid:.12g}, M- = {measure.negative_mass.mid:.6g}, "
        f"u-error of the table {table.u_error:.0e}\n"
    )
    return _Stop(kernel, measure, table)


def _measure(stops: list[_Stop], rows: FloatArray, labels: FloatArray) -> None:
    sample = rows[np.random.default_rng(0).choice(rows.shape[0], GRAM_ROWS, replace=False)]
    train, test, train_labels, test_labels = train_test_split(
        rows, labels, test_size=0.3, random_state=0, stratify=labels
    )
    jobs = [(stop, columns, seed) for stop in stops for columns in COLUMNS for seed in range(SEEDS)]
    exact = {id(stop): stop.kernel.gram(sample) for stop in stops}
    for stop, columns, seed in progress(jobs, label="features"):
        for estimator in (GRFF, ORF):
            name = estimator.__name__
            features = estimator(
                stop.table, n_components=columns, mixed_signature="ignore", random_state=seed
            ).fit(train)
            truth = exact[id(stop)]
            error = np.linalg.norm(features.gram(sample) - truth) / np.linalg.norm(truth)
            stop.errors.setdefault((name, columns), []).append(float(error))
            if name == "ORF" and seed == 0:
                score = _accuracy(features, train, train_labels, test, test_labels)
                stop.accuracies.setdefault((name, columns), []).append(score)
        if stop is stops[0] and seed == 0:
            sampler = RBFSampler(gamma=2.0, n_components=columns, random_state=seed).fit(train)
            score = _accuracy(sampler, train, train_labels, test, test_labels)
            for other in stops:
                other.accuracies.setdefault(("RBFSampler", columns), []).append(score)


def _accuracy(
    features: GRFF | ORF | RBFSampler,
    train: FloatArray,
    train_labels: FloatArray,
    test: FloatArray,
    test_labels: FloatArray,
) -> float:
    classifier = RidgeClassifier(alpha=RIDGE).fit(features.transform(train), train_labels)
    return float(classifier.score(features.transform(test), test_labels))


def _print_table(stops: list[_Stop]) -> None:
    print(
        f"Relative error |K - K^|/|K| on {GRAM_ROWS} rows (mean of {SEEDS} draws), and accuracy of "
        "a ridge classifier\non the ORF columns, next to RBFSampler(gamma=2):\n"
    )
    header = "".join(f"{columns:>9d}" for columns in COLUMNS)
    print(f"{'columns':34s}{header}")
    for stop in stops:
        print(f"{stop.kernel}")
        for name in ("GRFF", "ORF"):
            cells = "".join(f"{np.mean(stop.errors[name, c]):9.4f}" for c in COLUMNS)
            print(f"    {name + ' error':30s}{cells}")
        for name in ("ORF", "RBFSampler"):
            cells = "".join(f"{np.mean(stop.accuracies[name, c]):9.3f}" for c in COLUMNS)
            print(f"    {name + ' accuracy':30s}{cells}")


def _draw(plt: object, stops: list[_Stop], picture: Path) -> None:
    figure, axes = plt.subplots(  # type: ignore[attr-defined]
        len(stops), 3, figsize=(13, 3.3 * len(stops)), layout="constrained"
    )
    for (left, middle, right), stop in zip(axes, stops, strict=True):
        draw_kernel(left, stop.measure, z_max=2.2)
        left.set_ylabel(str(stop.kernel), fontsize=8)
        draw_radial_density(middle, stop.measure)
        for name, marker in (("GRFF", "o"), ("ORF", "s")):
            means = [float(np.mean(stop.errors[name, c])) for c in COLUMNS]
            right.loglog(COLUMNS, means, marker=marker, label=name)
        guide = stop.errors["GRFF", COLUMNS[0]][0] * np.sqrt(COLUMNS[0] / np.array(COLUMNS))
        right.loglog(COLUMNS, guide, color="0.7", ls="--", lw=0.8, label=r"$1/\sqrt{n}$")
        right.set(xlabel="columns", title=r"$\|K - \hat K\| / \|K\|$")
        right.set_xticks(COLUMNS, [str(c) for c in COLUMNS])
        right.minorticks_off()
        label_decades(right.yaxis)
        right.legend(frameon=False)
    write_figure(figure, picture, dpi=110)
