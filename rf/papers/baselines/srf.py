"""Spherical random features: features of a mixture of Gaussians fitted to the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline, cosines_and_sines
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["SphericalRandomFeatures"]

# Weight of the equation sum c = k(0) in the least squares; the equation of a distance has weight 1.
_NORMALISATION_WEIGHT = 1e4


@final
@dataclass(eq=False, repr=False)
class SphericalRandomFeatures(Baseline):
    r"""Random Fourier features of the best fit of the kernel by a positive mixture of Gaussians.

    .. math:: k(z) \approx \sum_i c_i e^{-\sigma_i^2 z^2 / 2}, \qquad c_i \ge 0,\ \sum_i c_i = k(0),

    by least squares on [0, z_max] over a grid of widths; the frequencies are N(0, sigma_i^2) with
    probability c_i / k(0).  The features are **biased**: their mean is the mixture.

    Parameters
    ----------
    kernel : callable or str
        k(z) for an array of distances; or a formula, or a name of the catalogue.
    offset : float, default=0.0
        Fit k + offset instead of k, k(0) + offset > 0, and subtract the offset by one constant
        column of negative signature.  Luo et al. fit the delta-Gaussian, with k(0) = 0, with 1.
    z_max : float, default=2.0
        Largest distance of the data: 2 on the unit sphere.
    n_widths : int, default=60
        Number of candidates sigma_i, from 0 (a constant) to 30 / z_max.
    n_components : int, default=100
        Number of columns, that of the offset included: a cosine and a sine for each frequency; if
        their number is odd, the last frequency has only a cosine with a random phase.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    widths_, weights_ : ndarray
        sigma_i and c_i of the mixture, c_i > 0.
    fit_error_ : float
        Largest |k - mixture| on [0, z_max].

    References
    ----------
    Pennington, Yu, Kumar, "Spherical random features for polynomial kernels", NeurIPS 2015.

    Examples
    --------
    >>> f = SphericalRandomFeatures(random_state=0).fit(np.eye(3))
    >>> bool(0.01 < f.fit_error_ < 0.2)
    True
    """

    kernel: Callable[[FloatArray], FloatArray] | str = "(1 - z**2/4)**2"
    _: KW_ONLY
    offset: float = 0.0
    z_max: float = 2.0
    n_widths: int = 60
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [callable, str],
        "offset": [Interval(Real, 0, None, closed="left")],
        "z_max": [Interval(Real, 0, None, closed="neither")],
        "n_widths": [Interval(Integral, 2, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        z = np.linspace(0.0, self.z_max, 401)
        target = np.asarray(self._kernel()(z), dtype=float) + self.offset
        if not target[0] > 0:
            raise ParameterError(
                f"k(0) + offset = {target[0]}, but a positive mixture needs it to be "
                "positive. Give an offset > -k(0), such as offset=1 for the delta-Gaussian."
            )
        waves = self.n_components - (self.offset > 0.0)
        if waves < 1:
            raise ParameterError("With an offset, SRF needs n_components of at least 2.")
        widths = np.append(0.0, np.geomspace(0.05, 30.0, self.n_widths - 1)) / self.z_max
        design = np.exp(-0.5 * np.outer(z, widths) ** 2)
        weight = _NORMALISATION_WEIGHT
        c, _ = nnls(
            np.vstack([design, np.full(widths.size, weight)]), np.append(target, weight * target[0])
        )
        c *= target[0] / c.sum()
        self.widths_, self.weights_ = widths[c > 0], c[c > 0]
        self.fit_error_ = float(np.abs(design @ c - target).max())
        random = check_random_state(self.random_state)
        n = (waves + 1) // 2
        component = random.choice(self.weights_.size, size=n, p=self.weights_ / self.weights_.sum())
        self.frequencies_ = random.standard_normal((n, X.shape[1])) * self.widths_[component, None]
        self._phase = random.uniform(0.0, 2.0 * np.pi)
        self._waves, self._scale = waves, float(np.sqrt(2.0 * target[0] / waves))
        return np.append(np.ones(waves), -np.ones(self.n_components - waves))

    def _kernel(self) -> Callable[[FloatArray], FloatArray]:
        if not isinstance(self.kernel, str):
            return self.kernel
        # Imported here because a callable needs no formula.
        from spectra.kernels.catalogue import kernel_from_text

        return kernel_from_text(self.kernel)

    def expected_kernel(self, z: ArrayLike) -> FloatArray:
        """The mean of the approximate kernel at distances z: the mixture minus the offset."""
        widths = np.multiply.outer(np.asarray(z, dtype=float), self.widths_)
        return np.asarray(np.exp(-0.5 * widths**2) @ self.weights_) - self.offset

    def _columns(self, X: FloatArray) -> FloatArray:
        pairs = cosines_and_sines(X @ self.frequencies_.T, self._waves, self._phase)
        constant = np.full((len(X), self.n_components - self._waves), np.sqrt(self.offset))
        return np.concatenate([self._scale * pairs, constant], axis=1)
