"""Errors for a number of columns, of all methods, on rows that the features have not seen.

Features are fitted to up to 2000 training rows; the error is that of the kernel matrix of up to 500
other rows.  "domain='data'" is the method that SpectralFeatures chooses, Nystroem included; "random
features" is the best of the others that it compared; "default" is unbiased.  Lengths are the
median distance of the rows, but for published cells, whose rows and kernels are those of the papers
as far as they tell: rows of letter and usps divided by the largest norm (quadrature) or
standardised (Maclaurin).  Quadrature features have one column more than stated, for the origin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.preprocessing import normalize

from rf import ORF, RFF, SpectralFeatures
from rf.papers.baselines import (
    IndefiniteNystroem,
    OptimisedMaclaurin,
    QuadratureFeatures,
    QuasiMonteCarlo,
)
from rf.papers.datasets import load_dataset
from rf.papers.experiments.experiment import Cell, Experiment
from rf.papers.experiments.measures import Compute, matrix_error, over_seeds
from spectra import radial, zonal
from spectra.base.arrays import FloatArray

__all__ = ["COLUMNS"]

_TRAINING, _NEW = 2000, 500
_MACLAURIN_DEGREES = 40


@dataclass(frozen=True)
class _Setting:
    """A kernel, rows, and columns; ``published``: method -> numbers for the columns."""

    name: str
    data: str
    kernel: str
    scaling: str = "median"
    columns: tuple[int, ...] = (64, 256, 1024)
    published: tuple[tuple[str, tuple[float, ...]], ...] = ()


def _scaled(train: FloatArray, new: FloatArray, scaling: str) -> tuple[FloatArray, FloatArray]:
    if scaling == "unit":
        return normalize(train), normalize(new)
    if scaling == "largest":
        norm = np.linalg.norm(train, axis=1).max()
        return train / norm, new / norm
    centre, deviation = train.mean(axis=0), train.std(axis=0)
    deviation = np.where(deviation > 0.0, deviation, 1.0)
    X, Y = (train - centre) / deviation, (new - centre) / deviation
    length = np.median(pdist(X[:500])) if scaling == "median" else 1.0
    return X / length, Y / length


@lru_cache(maxsize=2)
def _rows(data: str, scaling: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Training rows and new rows of a seed."""
    found, rng = load_dataset(data, scaling="raw"), np.random.default_rng(seed)
    X = rng.permutation(np.concatenate([found.X_train, found.X_test]))
    new = min(_NEW, len(X) // 4)
    return _scaled(X[new : new + _TRAINING], X[:new], scaling)


@lru_cache(maxsize=16)
def _kernel(text: str, dim: int) -> Any:
    return zonal(text) if "u" in text else radial(text.replace("/d", f"/{dim}"))


@lru_cache(maxsize=4)
def _chosen(setting: _Setting, columns: int, seed: int) -> SpectralFeatures:
    train, _ = _rows(setting.data, setting.scaling, seed)
    options: Any = {"domain": "data", "mixed_signature": "ignore", "outside": "ignore"}
    kernel = _kernel(setting.kernel, train.shape[1])
    return SpectralFeatures(kernel, n_components=columns, random_state=seed, **options).fit(train)


def _gram(setting: _Setting, method: str, columns: int, seed: int) -> FloatArray:
    """The approximate kernel matrix of the new rows."""
    train, new = _rows(setting.data, setting.scaling, seed)
    kernel = _kernel(setting.kernel, train.shape[1])
    options: dict[str, Any] = {"n_components": columns, "random_state": seed}
    if method in ("domain='data'", "random features"):
        features = _chosen(setting, columns, seed)
        if method == "domain='data'":
            return np.asarray(features.gram(new))
        others = [c for c in features.report_ if c.draw is not None and c.name != "Nystroem"]
        feature_map = others[0].draw(np.random.default_rng(seed))
        Z = feature_map.left(new)
        return np.asarray((Z * feature_map.signature) @ Z.T)
    gamma = _gaussian_rate(setting.kernel, train.shape[1])
    makers: dict[str, Callable[[], Any]] = {
        "default": lambda: SpectralFeatures(
            kernel, mixed_signature="ignore", outside="ignore", **options
        ),
        "RBFSampler": lambda: RFF(kernel, **options),
        "ORF": lambda: ORF(kernel, **options),
        "QMC": lambda: QuasiMonteCarlo(length_scale=(2.0 * gamma) ** -0.5, **options),
        "Maclaurin": lambda: OptimisedMaclaurin(
            [(2.0 * gamma) ** n / math.factorial(n) for n in range(_MACLAURIN_DEGREES)],
            rate=gamma,
            **options,
        ),
        "quadrature": lambda: QuadratureFeatures(
            activation=_activation(setting.kernel),  # type: ignore[arg-type]
            length_scale=(2.0 * gamma) ** -0.5 if gamma else 1.0,
            **options,
        ),
    }
    if method.startswith("Nystroem"):
        landmarks: Any = method.partition(", ")[2]
        made: Any = IndefiniteNystroem(kernel, landmarks=landmarks, **options)
    else:
        made = makers[method]()
    return np.asarray(made.fit(train).gram(new))


def _gaussian_rate(kernel: str, dim: int) -> float:
    """gamma of exp(-gamma z^2); 0 for other kernels."""
    return _RATES[kernel](dim) if kernel in _RATES else 0.0


def _activation(kernel: str) -> str:
    return {_STEPS: "step", _RAMPS: "ramp"}.get(kernel, "wave")


_UNIT_LENGTH, _LENGTH_538 = "exp(-z**2/2)", "exp(-z**2/(2*269**2/50**2))"
_PER_COLUMN = "exp(-z**2/d)"
_STEPS, _RAMPS = "1 - acos(u)/pi", "(u*(pi - acos(u)) + sqrt(1 - u**2))/pi"
_NTK = "u*(pi - acos(u))/pi + (u*(pi - acos(u)) + sqrt(1 - u**2))/pi"
_DIFFERENCE = "exp(-z**2/2) - exp(-2*z**2)"
_RATES: dict[str, Callable[[int], float]] = {
    _UNIT_LENGTH: lambda dim: 0.5,
    _LENGTH_538: lambda dim: 0.5 / 5.38**2,
    _PER_COLUMN: lambda dim: 1.0 / dim,
}
_RADIAL = ("RBFSampler", "ORF")
_NYSTROEM = ("Nystroem, uniform", "Nystroem, leverage")
_OURS = ("default", "random features", "domain='data'")


def _methods(kernel: str) -> tuple[str, ...]:
    if kernel in _RATES:
        return (
            *_RADIAL,
            "QMC",
            "quadrature",
            "Maclaurin",
            *_NYSTROEM,
            "Nystroem, cholesky",
            *_OURS,
        )
    if kernel in (_STEPS, _RAMPS):
        return ("quadrature", *_NYSTROEM, *_OURS)
    if "u" in kernel or kernel == _DIFFERENCE:
        return (*_NYSTROEM, *_OURS)
    return (*_RADIAL, *_NYSTROEM, *_OURS)


def _error(setting: _Setting, method: str, columns: int) -> Compute:
    def measure(seed: int) -> float:
        _, new = _rows(setting.data, setting.scaling, seed)
        exact = _kernel(setting.kernel, new.shape[1]).gram(new)
        return matrix_error(_gram(setting, method, columns, seed), exact)

    return over_seeds(measure)


_PUBLISHED = (
    _Setting("quadrature", "letter", _PER_COLUMN, "largest", (68, 204, 340),
             (("quadrature", (0.0005, 0.0003, 0.0002)),)),
    _Setting("quadrature, arc-cosine 1", "letter", _RAMPS, "unit", (34, 102, 170),
             (("quadrature", (0.0105, 0.0061, 0.0047)),)),
    _Setting("quadrature, arc-cosine 0", "letter", _STEPS, "unit", (34, 102, 170),
             (("quadrature", (0.103, 0.059, 0.047)),)),
    _Setting("quadrature", "usps", _PER_COLUMN, "largest", (1028,), (("quadrature", (0.0113,)),)),
    _Setting("quadrature, arc-cosine 1", "usps", _RAMPS, "unit", (514,),
             (("quadrature", (0.0119,)),)),
    _Setting("quadrature, arc-cosine 0", "usps", _STEPS, "unit", (514,),
             (("quadrature", (0.0329,)),)),
    _Setting("Maclaurin, length 5.38", "letter", _LENGTH_538, "standard", (16, 48, 80, 160),
             (("Maclaurin", (0.110, 0.039, 0.027, 0.014)),)),
    _Setting("Nystroem", "letter", _UNIT_LENGTH, "unit", (64, 144, 288, 576),
             (("Nystroem, cholesky", (0.0084, 0.0024, 0.00053, 0.00005)),
              ("Nystroem, uniform", (0.0107, 0.0039, 0.0014, 0.0004)))),
)  # fmt: skip
_KERNELS = {
    "Gaussian": (_UNIT_LENGTH, "median"),
    "Matern 3/2": ("(1 + sqrt(3)*z)*exp(-sqrt(3)*z)", "median"),
    "exponential": ("exp(-z)", "median"),
    "delta-Gaussian": (_DIFFERENCE, "median"),
    "NTK": (_NTK, "unit"),
    "arc-cosine 0": (_STEPS, "unit"),
    "arc-cosine 1": (_RAMPS, "unit"),
    "tanh(u)": ("tanh(u)", "unit"),
}
_DIMENSIONS = {"digits": 64, "letter": 16, "breast-cancer": 30, "usps": 256}
_DATA = {"digits": (64, 256, 1024), "letter": (64, 256, 1024), "breast-cancer": (64, 256)}


def _cells() -> list[Cell]:
    settings = [*_PUBLISHED] + [
        _Setting(name, data, text, scaling, columns)
        for data, columns in _DATA.items()
        for name, (text, scaling) in _KERNELS.items()
    ]
    return [
        Cell(
            f"{s.name}, {s.data}", method, str(n), _error(s, method, n), published, "domain='data'"
        )
        for s in settings
        for i, n in enumerate(s.columns)
        for method in _methods(s.kernel)
        if method != "quadrature" or n >= 2 * (_DIMENSIONS[s.data] + 1)  # the columns of a rule
        for published in [dict(s.published).get(method, (None,) * len(s.columns))[i]]
    ]


COLUMNS = Experiment(
    title="Errors for a number of columns",
    source="Munkhoeva et al. 2018 (quadrature), Wacker et al. 2022 (Maclaurin), and data of "
    "scikit-learn",
    measures="|K - K^|/|K| on rows not used (less is better)",
    cells=partial(_cells),
    axes=("columns", "relative error"),
    digits=5,
    notes=__doc__,
)
