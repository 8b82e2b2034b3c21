"""The kernels of the papers, and methods by the names of rows in their tables.

GRFF and GORF of a polynomial kernel are as published: they estimate another kernel.  GORF of the
delta-Gaussian kernel has orthogonal blocks within each sign, which fits the published numbers;
"GORF, Algorithm 1" is the joint Haar matrix of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.spatial.distance import cdist

from rf import SpectralFeatures
from rf.papers.baselines import (
    DIGMM,
    ExactPolynomial,
    IndefiniteNystroem,
    PolynomialGRFF,
    RandomMaclaurin,
    SphericalRandomFeatures,
    TensorizedRandomProjection,
    TensorSketch,
)
from rf.papers.baselines.dot_product.power_series import spherical_polynomial
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import interpolate

__all__ = [
    "DELTA_GAUSSIAN",
    "GAUSSIAN",
    "LINEAR_POLYNOMIAL",
    "NEAR_GAUSSIANS",
    "SCHEMES",
    "SQUARED_POLYNOMIAL",
    "PaperKernel",
    "counted",
    "features_of",
    "mean_gram",
]

# The published grid ends at 100, below the first negative values in d = 256; this one is longer.
_GRID_REACH = 400.0
# Error of a mean kernel between the distances where it is looked at, far below every bias shown.
_MEAN_ERROR = 1e-5
_REACH_ON_SPHERE = 2.0

_OURS = "ours (auto, stratified, optimal)"
#: How a row of a table of signed Gaussians is drawn: coupling, radii, allocation.
SCHEMES = {
    "GRFF": ("iid", "iid", "equal"),
    "GORF": ("orthogonal", "iid", "equal"),
    "GORF, Algorithm 1": ("haar", "iid", "equal"),
    "shared, equal split": ("shared", "iid", "equal"),
    _OURS: ("auto", "stratified", "optimal"),
}


@final
@dataclass(frozen=True)
class PaperKernel:
    """A kernel of unit rows x, y with z = |x - y|: a polynomial of z^2, or signed Gaussians.

    ``text`` is its formula.  ``power`` is (a, p) of (1 - z^2/a^2)^p; if it is None, ``length`` is
    tau of exp(-z^2/2) - exp(-z^2/(2 tau^2)), or 0 for exp(-z^2/2) alone.

    Examples
    --------
    >>> DELTA_GAUSSIAN.gram(np.eye(2)).round(4)
    array([[ 0.    , -0.6222],
           [-0.6222,  0.    ]])
    """

    name: str
    text: str
    power: tuple[float, int] | None = None
    length: float = 10.0

    def __call__(self, z: FloatArray) -> FloatArray:
        """k(z)."""
        if self.power is None:
            wide = np.exp(-(z**2) / (2.0 * self.length**2)) if self.length > 0.0 else 0.0
            return np.asarray(np.exp(-(z**2) / 2.0) - wide)
        a, p = self.power
        return np.asarray((1.0 - z**2 / a**2) ** p)

    def gram(self, X: FloatArray, Y: FloatArray | None = None) -> FloatArray:
        """The matrix k(x_i, y_j); of X and X if Y is left out."""
        return self(cdist(X, X if Y is None else Y))


LINEAR_POLYNOMIAL = PaperKernel("polynomial", "(7 + 2*u)/9", (3.0, 1))
SQUARED_POLYNOMIAL = PaperKernel("squared polynomial", "((1 + u)/2)**2", (2.0, 2))
DELTA_GAUSSIAN = PaperKernel("delta-Gaussian", "exp(-z**2/2) - exp(-z**2/200)")
GAUSSIAN = PaperKernel("Gaussian", "exp(-z**2/2)", length=0.0)
NEAR_GAUSSIANS = PaperKernel("near Gaussians", "exp(-z**2/2) - exp(-z**2/8)", length=2.0)


def counted(s: int, method: str, *, equal: bool) -> int:
    """Columns of a method: GRFF, GORF and ours have 4s in the papers, and their rivals s.

    Examples
    --------
    >>> counted(8, "GORF", equal=False), counted(8, "RM", equal=False), counted(8, "RM", equal=True)
    (32, 8, 32)
    """
    return 4 * s if equal or method in SCHEMES or method == "ours" else s


def features_of(kernel: PaperKernel, method: str, columns: int, seed: int) -> Any:
    """Features that are not fitted yet, of at most so many columns.

    Examples
    --------
    >>> features_of(LINEAR_POLYNOMIAL, "GORF", 32, 0).fit_transform(np.eye(16)).shape
    (16, 32)
    """
    options: dict[str, Any] = {"n_components": columns, "random_state": seed}
    if method == "DIGMM":
        return DIGMM(kernel.gram, **options)
    if method.startswith("Nystroem"):
        landmarks: Any = "leverage" if method.endswith("leverage") else "uniform"
        return IndefiniteNystroem(kernel.gram, landmarks=landmarks, **options)
    if method == "ours" or (kernel.power is None and method in SCHEMES):
        coupling, radii, allocation = SCHEMES.get(method, SCHEMES[_OURS])
        return SpectralFeatures(
            kernel.text,
            coupling=coupling,
            radii=radii,
            allocation=allocation,
            mixed_signature="ignore",
            **options,
        )
    name = method.partition(",")[0]
    if kernel.power is None or name not in _OF_POLYNOMIAL:
        raise ParameterError(f"{method} makes no features of the kernel {kernel.name}.")
    return _OF_POLYNOMIAL[name](kernel, *kernel.power, options)


def _sketch(sketch: type[Any]) -> Callable[..., Any]:
    return lambda kernel, a, p, options: sketch(
        degree=p, gamma=2.0 / a**2, coef0=1.0 - 2.0 / a**2, **options
    )


def _published(coupling: str) -> Callable[..., Any]:
    return lambda kernel, a, p, options: PolynomialGRFF(
        a=a,
        degree=p,
        n_frequencies=options["n_components"] // 4,
        coupling=coupling,  # type: ignore[arg-type]
        w_max=_GRID_REACH,
        random_state=options["random_state"],
    )


# Features of (1 - z^2/a^2)^p from (kernel, a, p, options).
_OF_POLYNOMIAL: dict[str, Callable[..., Any]] = {
    "RM": lambda kernel, a, p, options: RandomMaclaurin(spherical_polynomial(a, p), **options),
    "TS": _sketch(TensorSketch),
    "TRP": _sketch(TensorizedRandomProjection),
    "SRF": lambda kernel, a, p, options: SphericalRandomFeatures(kernel, **options),
    "GRFF": _published("iid"),
    "GORF": _published("haar"),
    "exact map": lambda kernel, a, p, options: ExactPolynomial(spherical_polynomial(a, p)),
}


def mean_gram(kernel: PaperKernel, method: str, X: FloatArray) -> FloatArray:
    """The mean of the matrix of a biased method.

    Examples
    --------
    >>> rows = np.eye(16)
    >>> K = LINEAR_POLYNOMIAL.gram(rows)
    >>> error = mean_gram(LINEAR_POLYNOMIAL, "GRFF", rows) - K
    >>> bool(0.01 < np.linalg.norm(error) / np.linalg.norm(K) < 0.05)
    True
    """
    features = features_of(kernel, method, 4, 0).fit(X)
    if isinstance(features, DIGMM):
        return features.expected_gram(X, X)
    if not isinstance(features, PolynomialGRFF | SphericalRandomFeatures):
        raise ParameterError(f"{method} is unbiased, or its mean is not known.")
    mean = interpolate(features.expected_kernel, _REACH_ON_SPHERE, _MEAN_ERROR)
    return np.asarray(mean(np.minimum(cdist(X, X), _REACH_ON_SPHERE)))
