"""The kernels of the papers, and methods by the names of rows in their tables.

GRFF and GORF of a polynomial kernel are the published, biased ones.  GORF of the delta-Gaussian
kernel exp(-z^2/2) - exp(-z^2/200) has orthogonal blocks within each sign, which agrees with the
published numbers; "GORF, Algorithm 1" makes the frequencies of both signs orthogonal.
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
from spectra.base.fitting import interpolate
from spectra.errors import ParameterError

__all__ = [
    "DELTA_GAUSSIAN",
    "GAUSSIAN",
    "LINEAR_POLYNOMIAL",
    "NEAR_GAUSSIANS",
    "SCHEMES",
    "SQUARED_POLYNOMIAL",
    "PaperKernel",
    "columns_of",
    "make_features",
    "mean_gram",
]

# Largest radius of the grid, well above the first negative values, at w = 69 for d = 256.
_GRID_REACH = 400.0
# Interpolation error of a mean kernel, far below every bias in the tables.
_MEAN_ERROR = 1e-5
# Largest distance on the unit sphere.
_MAX_DISTANCE = 2.0

_OURS = "ours (auto, stratified, optimal)"
#: Row of the delta-Gaussian tables -> coupling, radii, allocation of SpectralFeatures.
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
    """A kernel k(z), z = |x - y|, on unit rows: a polynomial of z^2 or a difference of Gaussians.

    ``text`` is its formula in z or u = <x, y>.  ``power`` is (a, p) of (1 - z^2/a^2)^p.  If it is
    None, ``length`` is tau of exp(-z^2/2) - exp(-z^2/(2 tau^2)), or 0 for exp(-z^2/2) alone.

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
        """The kernel k(z) at distances z."""
        if self.power is None:
            wide = np.exp(-(z**2) / (2.0 * self.length**2)) if self.length > 0.0 else 0.0
            return np.asarray(np.exp(-(z**2) / 2.0) - wide)
        a, p = self.power
        return np.asarray((1.0 - z**2 / a**2) ** p)

    def gram(self, X: FloatArray, Y: FloatArray | None = None) -> FloatArray:
        """The matrix k(|x_i - y_j|), with Y = X by default."""
        return self(cdist(X, X if Y is None else Y))


LINEAR_POLYNOMIAL = PaperKernel("polynomial", "(7 + 2*u)/9", (3.0, 1))
SQUARED_POLYNOMIAL = PaperKernel("squared polynomial", "((1 + u)/2)**2", (2.0, 2))
DELTA_GAUSSIAN = PaperKernel("delta-Gaussian", "exp(-z**2/2) - exp(-z**2/200)")
GAUSSIAN = PaperKernel("Gaussian", "exp(-z**2/2)", length=0.0)
NEAR_GAUSSIANS = PaperKernel("near Gaussians", "exp(-z**2/2) - exp(-z**2/8)", length=2.0)


def columns_of(s: int, method: str, *, equal: bool) -> int:
    """Columns for s frequencies of each sign: 4s for GRFF, GORF, ours or if ``equal``, else s.

    Examples
    --------
    >>> columns_of(8, "GORF", equal=False), columns_of(8, "RM", equal=False)
    (32, 8)
    """
    return 4 * s if equal or method in SCHEMES or method == "ours" else s


def make_features(kernel: PaperKernel, method: str, columns: int, seed: int) -> Any:
    """Features of a kernel by the name of a method, not fitted, with at most ``columns`` columns.

    Examples
    --------
    >>> make_features(LINEAR_POLYNOMIAL, "GORF", 32, 0).fit_transform(np.eye(16)).shape
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
    if kernel.power is None or name not in _POLYNOMIAL_FEATURES:
        raise ParameterError(f"{method} does not support the kernel {kernel.name}.")
    return _POLYNOMIAL_FEATURES[name](kernel, *kernel.power, options)


def _sketch_maker(sketch: type[Any]) -> Callable[..., Any]:
    return lambda kernel, a, p, options: sketch(
        degree=p, gamma=2.0 / a**2, coef0=1.0 - 2.0 / a**2, **options
    )


def _published_maker(coupling: str) -> Callable[..., Any]:
    return lambda kernel, a, p, options: PolynomialGRFF(
        a=a,
        degree=p,
        n_frequencies=options["n_components"] // 4,
        coupling=coupling,  # type: ignore[arg-type]
        w_max=_GRID_REACH,
        random_state=options["random_state"],
    )


# Method -> function (kernel, a, p, options) that returns features of (1 - z^2/a^2)^p.
_POLYNOMIAL_FEATURES: dict[str, Callable[..., Any]] = {
    "RM": lambda kernel, a, p, options: RandomMaclaurin(spherical_polynomial(a, p), **options),
    "TS": _sketch_maker(TensorSketch),
    "TRP": _sketch_maker(TensorizedRandomProjection),
    "SRF": lambda kernel, a, p, options: SphericalRandomFeatures(kernel, **options),
    "GRFF": _published_maker("iid"),
    "GORF": _published_maker("haar"),
    "exact map": lambda kernel, a, p, options: ExactPolynomial(spherical_polynomial(a, p)),
}


def mean_gram(kernel: PaperKernel, method: str, X: FloatArray) -> FloatArray:
    """The expected kernel matrix of a biased method.

    Examples
    --------
    >>> rows = np.eye(16)
    >>> K = LINEAR_POLYNOMIAL.gram(rows)
    >>> error = mean_gram(LINEAR_POLYNOMIAL, "GRFF", rows) - K
    >>> bool(0.01 < np.linalg.norm(error) / np.linalg.norm(K) < 0.05)
    True
    """
    features = make_features(kernel, method, 4, 0).fit(X)
    if isinstance(features, DIGMM):
        return features.expected_gram(X, X)
    if not isinstance(features, PolynomialGRFF | SphericalRandomFeatures):
        raise ParameterError(f"{method} is unbiased, or its mean is not known.")
    mean = interpolate(features.expected_kernel, _MAX_DISTANCE, _MEAN_ERROR)
    return np.asarray(mean(np.minimum(cdist(X, X), _MAX_DISTANCE)))
