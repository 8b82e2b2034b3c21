"""GRFF and GORF with the radii of the papers, which leave out the factor w^(d-1) and are biased."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.papers.baselines.base import Baseline
from rf.papers.baselines.samplers import grid_frequencies
from rf.sampling import COUPLINGS
from spectra.base.arrays import FloatArray
from spectra.base.bessel import plane_wave_mean, signed_log_0f1
from spectra.errors import ParameterError
from spectra.kernels import Kernel

__all__ = ["PolynomialGRFF", "PublishedGRFF"]


class _CosineSinePairs(Baseline):
    """Weighted cosines of all frequencies, then their sines."""

    frequencies_: FloatArray
    _scale: FloatArray

    def _columns(self, X: FloatArray) -> FloatArray:
        phase = X @ self.frequencies_.T
        return np.concatenate([np.cos(phase) * self._scale, np.sin(phase) * self._scale], axis=1)


@final
@dataclass(eq=False, repr=False)
class PublishedGRFF(_CosineSinePairs):
    """GRFF of any kernel, with radii as Liu et al. describe them.

    The radius w is drawn from the spectral density |mu(w)| on [-10, 10] (the paper: rejection
    sampling of 10 000 uniform points), without the factor w^(d-1), and the weights are scaled to
    sum 1.  The features are **biased** for d >= 2: their mean is
    :func:`rf.papers.baselines.samplers.grid_mean`.  :class:`rf.GRFF` is unbiased.

    Parameters
    ----------
    kernel : Kernel or str, default="gaussian"
    n_components : int, default=100
        Number of columns, rounded so that each sign has the same number of cosine-sine pairs.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021, Algorithm 1 and section 5.

    Examples
    --------
    >>> features = PublishedGRFF("exp(-z**2/2) - exp(-z**2/8)", n_components=8)
    >>> features.fit(np.eye(3)).signature_
    array([ 1.,  1., -1., -1.,  1.,  1., -1., -1.])
    """

    kernel: Kernel | str = "gaussian"
    _: KW_ONLY
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [Kernel, str],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        # Imported here because other baselines do not derive a density.
        from spectra.density import spectral_density
        from spectra.kernels.catalogue import kernel_from_text

        kernel = kernel_from_text(self.kernel) if isinstance(self.kernel, str) else self.kernel
        density = spectral_density(kernel, X.shape[1]).density
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        drawn = grid_frequencies(density, X.shape[1], (self.n_components + 1) // 2, rng=rng)
        self.frequencies_, self._scale = drawn.frequencies, np.sqrt(drawn.weights)
        return np.tile(np.cos(drawn.phases), 2)


@final
@dataclass(eq=False, repr=False, kw_only=True)
class PolynomialGRFF(_CosineSinePairs):
    r"""GRFF or GORF of (1 - z^2/a^2)^p, z = |x - y| <= 2, as in the public code of Luo et al.

    Radii w are drawn from |mu(w)| on a grid, without the factor w^(d-1), and the masses are scaled
    to sum 1.  The features are **biased**: the mean of the approximate kernel is another kernel,
    int mu(w) Omega_d(w z) dw / int |mu(w)| dw, where Omega_d(w z) is the mean of cos(w e.(x - y))
    over unit vectors e.  For large d, it tends to (1 + z^2/4)^(-1/2).  The published density is

    .. math:: \mu(w) \propto \sum_{i=0}^p \frac{p!}{(p-i)!} (1 - 4/a^2)^{p-i} (2/a^2)^i
              (2/w)^{d/2+i} J_{d/2+i}(2w).

    Parameters
    ----------
    a : float, default=2.0
        At least 2, so that the kernel is not negative.
    degree : int, default=2
        The exponent p.
    n_frequencies : int, default=25
        Number s of frequencies of each sign; there are 4s columns.
    coupling : {"iid", "haar"}, default="iid"
        "iid" for GRFF; "haar" for GORF, one random orthogonal matrix for both signs.
    w_max, n_grid : float and int, default=100 and 20000
        Largest radius and number of points of the grid; the defaults are those of the public code
        (``signedmeasure.m``).
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    masses_ : ndarray of shape (2,)
        Masses of the positive and the negative part, with sum 1.

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021; Luo, Fang, Yang, Huang, arXiv:2104.06204.

    Examples
    --------
    >>> f = PolynomialGRFF(a=3.0, degree=1, random_state=0).fit(np.eye(16))
    >>> f.masses_.round(5)
    array([9.9923e-01, 7.7000e-04])
    """

    a: float = 2.0
    degree: int = 2
    n_frequencies: int = 25
    coupling: Literal["iid", "haar"] = "iid"
    w_max: float = 100.0
    n_grid: int = 20_000
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "a": [Interval(Real, 2, None, closed="left")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "coupling": [StrOptions({"iid", "haar"})],
        "w_max": [Interval(Real, 0, None, closed="neither")],
        "n_grid": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def grid_masses(self, dim: int) -> tuple[FloatArray, FloatArray]:
        """Midpoints of the grid cells, and their signed masses, whose absolute values sum to 1."""
        w = (np.arange(self.n_grid, dtype=float) + 0.5) * (self.w_max / self.n_grid)
        p = self.degree
        density = np.zeros_like(w)
        for i in range(p + 1):
            order = 0.5 * dim + i
            sign, log = signed_log_0f1(order + 1.0, 2.0 * w)
            # The factor Gamma(d/2 + 1) cancels when scaling, and avoids overflow.
            log_factor = i * np.log(4.0 / self.a**2) - gammaln(order + 1.0)
            log_factor += gammaln(0.5 * dim + 1.0) + gammaln(p + 1.0) - gammaln(p - i + 1.0)
            density += (1.0 - 4.0 / self.a**2) ** (p - i) * sign * np.exp(log + log_factor)
        return w, density / np.abs(density).sum()

    def expected_kernel(self, z: ArrayLike) -> FloatArray:
        """The mean of the approximate kernel, as a function of the distance z."""
        w, mass = self.grid_masses(self.n_features_in_)
        waves = plane_wave_mean(self.n_features_in_, np.multiply.outer(np.asarray(z, float), w))
        return np.asarray(waves @ mass)

    def _draw(self, X: FloatArray) -> FloatArray:
        dim, s = X.shape[1], self.n_frequencies
        w, mass = self.grid_masses(dim)
        random = check_random_state(self.random_state)
        rng = np.random.default_rng(random.randint(0, 2**31))
        directions = COUPLINGS[self.coupling].directions(2 * s, dim, rng)
        frequencies, masses = [], []
        for part, (sign, name) in enumerate(((1.0, "positive"), (-1.0, "negative"))):
            weights = np.where(sign * mass > 0, np.abs(mass), 0.0)
            if not np.any(weights):
                raise ParameterError(
                    f"The grid up to w_max = {self.w_max} has no {name} mass in dimension {dim}. "
                    f"The density changes sign near w = {dim / 2:g}: choose w_max well above it."
                )
            masses.append(weights.sum())
            radii = random.choice(w, size=s, p=weights / weights.sum())
            radii = radii + (random.uniform(size=s) - 0.5) * (self.w_max / self.n_grid)
            frequencies.append(radii[:, None] * directions[part * s : (part + 1) * s])
        self.masses_ = np.array(masses)
        self.frequencies_ = np.concatenate(frequencies)
        self._scale = np.sqrt(np.repeat(self.masses_, s) / s)
        return np.tile(np.repeat([1.0, -1.0], s), 2)
