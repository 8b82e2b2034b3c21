"""The kernels of the papers, and methods by the names of rows in their tables.

GRFF and GORF of a polynomial kernel are those of Luo's public code, which are biased; of other
kernels they draw the exact measure.  "GORF, Algorithm 1" draws the directions of both signs from
one truncated Haar matrix, as the paper states; "GORF, blocks in signs" has orthogonal blocks within
each sign, which agrees with the published errors of the delta-Gaussian kernel.
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
from rf.papers.baselines.dot_product import spherical_polynomial
from rf.papers.experiments.experiment import SPECTRA
from spectra.base.arrays import FloatArray
from spectra.base.fitting import interpolate
from spectra.errors import ParameterError

__all__ = [
    "DELTA_GAUSSIAN",
    "GAUSSIAN",
    "GORF",
    "GORF_BLOCKS",
    "LINEAR_POLYNOMIAL",
    "NEAR_GAUSSIANS",
    "SQUARED_POLYNOMIAL",
    "PaperKernel",
    "columns_of",
    "make_features",
    "mean_gram",
]

# Interpolation error of a mean kernel, far below every bias in the tables.
_MEAN_ERROR = 1e-5
# Largest distance on the unit sphere.
_MAX_DISTANCE = 2.0

GORF, GORF_BLOCKS = "GORF, Algorithm 1", "GORF, blocks in signs"
# Methods that draw the exact measure -> coupling of SpectralFeatures.
_COUPLINGS = {"GRFF": "iid", GORF: "haar", GORF_BLOCKS: "orthogonal"}


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
    >>> PaperKernel.polynomial(2, 3).text
    '((1 + u)/2)**3'
    """

    name: str
    text: str
    power: tuple[float, int] | None = None
    length: float = 10.0

    @classmethod
    def polynomial(cls, a: int, p: int) -> PaperKernel:
        """(1 - z^2/a^2)^p for a = 2 or 3."""
        base = {2: "((1 + u)/2)", 3: "((7 + 2*u)/9)"}[a]
        return cls(f"polynomial a={a} p={p}", f"{base}**{p}", (float(a), p))

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


LINEAR_POLYNOMIAL = PaperKernel.polynomial(3, 1)
SQUARED_POLYNOMIAL = PaperKernel.polynomial(2, 2)
DELTA_GAUSSIAN = PaperKernel("delta-Gaussian", "exp(-z**2/2) - exp(-z**2/200)")
GAUSSIAN = PaperKernel("Gaussian", "exp(-z**2/2)", length=0.0)
NEAR_GAUSSIANS = PaperKernel("near Gaussians", "exp(-z**2/2) - exp(-z**2/8)", length=2.0)


def columns_of(s: int, method: str, *, equal: bool) -> int:
    """Columns for s frequencies of each sign: 4s for GRFF and GORF, or if ``equal``, else s."""
    return 4 * s if equal or method in (*_COUPLINGS, SPECTRA) else s


def make_features(kernel: PaperKernel, method: str, columns: int, seed: int) -> Any:
    """Features by the name of a method, not fitted, with at most ``columns`` columns."""
    options: dict[str, Any] = {"n_components": columns, "random_state": seed}
    if method in ("DIGMM", "SRF"):
        if method == "DIGMM":
            return DIGMM(kernel.gram, **options)
        at_zero = float(kernel(np.zeros(1))[0])
        return SphericalRandomFeatures(kernel, offset=0.0 if at_zero > 0.0 else 1.0, **options)
    if method.startswith("Nystroem"):
        landmarks: Any = "leverage" if method.endswith("leverage") else "uniform"
        return IndefiniteNystroem(kernel.gram, landmarks=landmarks, **options)
    if method == SPECTRA:
        return SpectralFeatures(kernel.text, mixed_signature="ignore", **options)
    if kernel.power is not None and method in _POLYNOMIAL_FEATURES:
        return _POLYNOMIAL_FEATURES[method](kernel, *kernel.power, options)
    if kernel.power is not None or method not in _COUPLINGS:
        raise ParameterError(f"{method} does not support the kernel {kernel.name}.")
    return SpectralFeatures(
        kernel.text,
        coupling=_COUPLINGS[method],
        radii="iid",
        allocation="equal",
        mixed_signature="ignore",
        **options,
    )


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
        random_state=options["random_state"],
    )


# Method -> function (kernel, a, p, options) that returns features of (1 - z^2/a^2)^p.
_POLYNOMIAL_FEATURES: dict[str, Callable[..., Any]] = {
    "RM": lambda kernel, a, p, options: RandomMaclaurin(spherical_polynomial(a, p), **options),
    "TS": _sketch_maker(TensorSketch),
    "TRP": _sketch_maker(TensorizedRandomProjection),
    "GRFF": _published_maker("iid"),
    GORF: _published_maker("haar"),
    "exact map": lambda kernel, a, p, options: ExactPolynomial(spherical_polynomial(a, p)),
}


def mean_gram(kernel: PaperKernel, method: str, X: FloatArray) -> FloatArray:
    """The expected kernel matrix of GRFF of a polynomial, or of SRF."""
    features = make_features(kernel, method, 4, 0).fit(X)
    if not isinstance(features, PolynomialGRFF | SphericalRandomFeatures):
        raise ParameterError(f"{method} is unbiased, or its mean is not known.")
    mean = interpolate(features.expected_kernel, _MAX_DISTANCE, _MEAN_ERROR)
    return np.asarray(mean(np.minimum(cdist(X, X), _MAX_DISTANCE)))
