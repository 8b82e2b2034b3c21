"""Figures 1 to 3 of He et al.: masses, errors, accuracy and time of asymmetric features."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from rf import AsKRFF, SpectralFeatures
from rf.papers.baselines import RFF
from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment, block
from rf.papers.experiments.measures import (
    Compute,
    computed_once,
    dataset,
    linear_accuracy,
    over_seeds,
    relative_error,
    sample_rows,
    seconds_to_draw,
    seconds_to_transform,
)
from spectra.base.arrays import FloatArray

__all__ = [
    "ASK_CURVES",
    "ASK_ERRORS",
    "ASK_MASSES",
    "GAUSSIAN_KERNEL",
    "KERNELS",
    "make_ask",
    "phi_columns",
    "published_kernel",
]

KERNELS = ("shift_gaussian", "sinh_gaussian", "cosh_gaussian")
GAUSSIAN_KERNEL = "exp(-z**2/8)"
_DATA = {"spambase": 57, "letter": 16, "ijcnn1": 22}
_EXACT, _FITTED, _RBF = "Algorithm 1, exact masses", "Algorithm 2, fitted masses", "RBF"
_SIZES = {"M=2d": 2, "M=8d": 8, "M=32d": 32, "M=128d": 128}
_PARTS = ("real+", "real-", "imaginary+")
_C = 32.0


def published_kernel(name: str, dim: int, *, transposed: bool = False) -> Any:
    """A kernel of the paper with its parameters: sigma = 2, r = 2/d and beta = pi/(2d).

    If ``transposed``, the kernel k(y, x).
    """
    # Imported here because most experiments do not use the catalogue.
    from spectra.kernels.catalogue import catalogue

    parameter, size = ("r", 2.0) if name == "shift_gaussian" else ("beta", 0.5 * np.pi)
    return catalogue[name](sigma=2, **{parameter: (-size if transposed else size) / dim})


@lru_cache(maxsize=16)
def _number_of_parts(kernel: Any, dim: int) -> int:
    return len(AsKRFF(kernel, n_components=8, random_state=0).fit(np.eye(dim)).measure_.parts)


def make_ask(kernel: Any, dim: int, M: int, seed: int, **options: Any) -> Any:
    """AsK-RFF with M frequencies for each part whose mass is not negligible."""
    columns = 2 * M * _number_of_parts(kernel, dim)
    return AsKRFF(kernel, n_components=columns, random_state=seed, **options)


def phi_columns(features: Any) -> Callable[[FloatArray], FloatArray]:
    """The columns Phi of section 5.3: the real part once, the imaginary part on both sides."""
    kinds = [part.selection for part in features.measure_.parts]
    frequencies = features.frequencies_
    real = np.isin(frequencies.part, [i for i, k in enumerate(kinds) if k == "real+"])
    odd = np.isin(frequencies.part, [i for i, k in enumerate(kinds) if k.startswith("imaginary")])

    def columns(X: FloatArray) -> FloatArray:
        angles = X @ frequencies.frequencies.T
        scale = np.sqrt(frequencies.weights)
        pairs = scale * np.cos(angles), scale * np.sin(angles)
        # The two sides of a sine wave are the same pair, up to order and sign.
        return np.hstack([pair[:, kept] for kept in (real, odd, odd) for pair in pairs])

    return columns


def _error(data: str, kernel: str, method: str, share: int) -> Compute:
    M = share * _DATA[data]

    def error(seed: int) -> float:
        X = sample_rows(data, scaling="interval", seed=seed)
        made = published_kernel(kernel, _DATA[data])
        if method == SPECTRA:
            features: Any = SpectralFeatures(made, n_components=6 * M, random_state=seed)
        else:
            masses: Any = "exact" if method == _EXACT else "least-squares"
            features = make_ask(made, _DATA[data], M, seed, masses=masses)
        return relative_error(features, X, made.gram(X))

    return over_seeds(error)


def _error_cells() -> list[Cell]:
    rows = (_EXACT, _FITTED, SPECTRA)
    return [
        cell
        for data in _DATA
        for kernel in KERNELS
        for cell in block(f"{kernel}, {data}", rows, _SIZES, partial(_error, data, kernel))
    ]


def _mass(kernel: str, part: str, M: int | None) -> Compute:
    """A fitted mass in d = 1, or the exact one for M = None; one of the two imaginary parts."""
    made = published_kernel(kernel, 1)

    def mass(seed: int) -> float:
        X = np.random.default_rng(seed).normal(size=(2000, 1))
        size, masses = (1, "exact") if M is None else (M, "least-squares")
        features = make_ask(made, 1, size, seed, masses=masses, n_samples=10).fit(X)
        kinds = [p.selection for p in features.measure_.parts]
        if part not in kinds:
            return 0.0
        return float(features.masses_[kinds.index(part)]) / (2.0 if part == _PARTS[2] else 1.0)

    return computed_once(lambda: mass(0)) if M is None else over_seeds(mass)


def _mass_cells() -> list[Cell]:
    columns: dict[str, int | None] = {f"M={2**n}": 2**n for n in range(1, 11)}
    columns["exact"] = None
    return [
        cell
        for kernel in KERNELS
        for cell in block(f"{kernel}, d=1", _PARTS, columns, partial(_mass, kernel))
    ]


def _curve(kernel: str, what: str, method: str, M: int) -> Compute:
    dim = _DATA["letter"]

    def number(seed: int) -> float:
        data = dataset("letter", "interval")
        X, options = data.X_train, {"n_components": 2 * M, "random_state": seed}
        if method == _FITTED:
            made = published_kernel(kernel, dim)
            features: Any = make_ask(made, dim, M, seed, masses="least-squares")
        else:
            features = RFF(GAUSSIAN_KERNEL, **options) if method == _RBF else RBFSampler(**options)
        drawing = seconds_to_draw(features, X)
        if what == "accuracy":
            columns = phi_columns(features) if method == _FITTED else features.transform
            return linear_accuracy(data, _C, columns)
        sides = [features.transform, *([features.transform_right] if method == _FITTED else [])]
        return 1e3 * (drawing + sum(seconds_to_transform(side, X) for side in sides))

    return over_seeds(number, np.mean if what == "accuracy" else np.median)


def _curve_cells() -> list[Cell]:
    sizes = {"M=d/2": 8, "M=d": 16, "M=2d": 32, "M=8d": 128}
    cells = []
    for kernel in KERNELS:
        accuracy, time = partial(_curve, kernel, "accuracy"), partial(_curve, kernel, "time")
        group = f"{kernel}, letter, test rows classified correctly (%)"
        cells += block(group, (_FITTED, _RBF), sizes, accuracy)
        group = f"{kernel}, letter, milliseconds to draw and transform"
        cells += block(group, (_FITTED, "RBFSampler"), sizes, time)
    return cells


_SOURCE = "He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022"
_FIXED_SIGN = """Algorithm 2 is run with the opposite sign in eq. (12), because the printed one
gives a mass of 0 to the sine part, and without the published rejection sampler, which almost never
accepts a draw of a part of mass 1e-11."""

ASK_MASSES = Experiment(
    title="Masses of asymmetric kernels fitted to ten rows",
    source=f"{_SOURCE}, Figure 1",
    measures="fitted masses of the real positive, real negative and one imaginary part",
    cells=_mass_cells,
    axes=("frequencies of each part, M", "mass"),
    notes=f"""
The setting of the figure: 2000 points of a standard normal distribution in d = 1, N_s = 10,
sigma = 2, r = 2, beta = pi/2; the figure has curves without numbers.  The paper's mass xi_3 of the
imaginary part counts one of its two signs; `AsKRFF.masses_` counts both, so it is twice the number
here.  The column "exact" is the closed form.  {_FIXED_SIGN}
""",
)
ASK_ERRORS = Experiment(
    title="Errors of features of asymmetric kernels",
    source=f"{_SOURCE}, Figure 2",
    measures="|K - K^|/|K| in the Frobenius norm on 1000 random rows (less is better)",
    cells=_error_cells,
    axes=("frequencies of each part, M", "relative error"),
    notes=f"""
The figure has Algorithm 2 with N_s = 50 on spambase, letter, ijcnn1 and cod-RNA (which cannot be
had), without numbers.  Each run has other rows and other features.  Columns of the data are scaled
to [0, 1] over all rows.  Algorithms 1 and 2 have M frequencies for each part whose mass is not
negligible, so 2 or 3 times 2M columns a side; {SPECTRA} has 6M columns and chooses the
decomposition and the coupling of least exact variance.  {_FIXED_SIGN}
""",
)
ASK_CURVES = Experiment(
    title="Accuracy and time of asymmetric features",
    source=f"{_SOURCE}, Figure 3",
    measures="percent of test rows of letter, and milliseconds of processor time",
    cells=_curve_cells,
    axes=("frequencies of each part, M", ""),
    digits=1,
    notes=f"""
The figure has Algorithm 2 with N_s = 50 on four data sets, without numbers; here letter.  The
classifier has the columns Phi of section 5.3 (the real part once, the imaginary part twice) and
LIBLINEAR with C = 32, the largest constant of the paper's grid and the one that cross-validation
chooses on letter (see `ask-accuracy`).  "{_RBF}" has 2M columns, as in the paper's Table 1: a third
of the distinct columns of three parts.  Time is that of drawing the features and
transforming the 12 000 training rows on both sides, and of RBFSampler with 2M columns on one.
{_FIXED_SIGN}
""",
)
