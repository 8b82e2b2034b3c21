"""Quadrature features: spherical-radial rules for Gaussian means of plane waves and neurons."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.papers.baselines.base import Baseline
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["QuadratureFeatures"]


@final
@dataclass(eq=False, repr=False, kw_only=True)
class QuadratureFeatures(Baseline):
    r"""Unbiased features of a Gaussian or an arc-cosine kernel by stochastic rules of degree 3.

    A rule approximates the mean of f(w) over a normally distributed w in R^d by

    .. math:: \Bigl(1 - \frac d{\rho^2}\Bigr) f(0) + \frac{d}{2(d+1)\rho^2}
              \sum_{j=0}^{d} \bigl(f(\rho Q v_j) + f(-\rho Q v_j)\bigr)

    with the vertices v_j of a regular simplex, a random orthogonal matrix Q, and rho distributed
    as chi with d + 2 degrees of freedom.  A rule has 2 (d + 1) columns; the terms f(0) of all rules
    share one further column, whose signature is the sign of their weight.

    Parameters
    ----------
    activation : {"wave", "step", "ramp"}, default="wave"
        For the kernel exp(-|x - y|^2 / (2 length_scale^2)), or the arc-cosine kernel of order 0 or
        1 of unit rows.
    length_scale : float, default=1.0
        Of the Gaussian kernel.
    n_components : int, default=100
        Number of columns without that of f(0): rounded down to whole rules.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    M. Munkhoeva, Y. Kapushev, E. Burnaev and I. Oseledets, "Quadrature-based features for kernel
    approximation", NeurIPS 2018.

    Examples
    --------
    >>> X = np.array([[0.3, 0.1], [0.0, -0.2]])
    >>> f = QuadratureFeatures(n_components=3000, random_state=0).fit(X)
    >>> bool(abs(f.gram(X)[0, 1] - np.exp(-0.09)) < 0.01)
    True
    """

    activation: Literal["wave", "step", "ramp"] = "wave"
    length_scale: float = 1.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "activation": [StrOptions({"wave", "step", "ramp"})],
        "length_scale": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        d, random = X.shape[1], check_random_state(self.random_state)
        rules = self.n_components // (2 * (d + 1))
        if not rules:
            raise ParameterError(
                f"n_components = {self.n_components}: a rule in dimension {d} takes {2 * (d + 1)} "
                "columns. Use more columns."
            )
        rng = np.random.default_rng(random.randint(2**31))
        # Rows of a centred basis of R^(d+1) are the vertices of a regular simplex in R^d.
        centred = np.eye(d + 1) - 1.0 / (d + 1)
        vertices = np.linalg.svd(centred)[0][:, :d]
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
        rho = np.sqrt(rng.chisquare(d + 2, size=rules))
        # The signs make the orthogonal factors Haar distributed.
        factors = [np.linalg.qr(rng.normal(size=(d, d))) for _ in rho]
        rotations = [Q * np.sign(np.diag(R)) for Q, R in factors]
        self._points = np.concatenate(
            [r * vertices @ Q for r, Q in zip(rho, rotations, strict=True)]
        )
        self._weights = np.repeat(d / ((d + 1) * rho**2 * rules), d + 1)
        at_zero = float(np.mean(1.0 - d / rho**2))
        self._at_zero = np.sqrt(abs(at_zero))
        return np.concatenate([np.ones(2 * len(self._points)), [np.sign(at_zero)]])

    def _columns(self, X: FloatArray) -> FloatArray:
        n, waves = len(X), self.activation == "wave"
        projections = X @ self._points.T / (self.length_scale if waves else 1.0)
        if waves:
            columns, value_at_zero = [np.cos(projections), np.sin(projections)], 1.0
        elif self.activation == "step":
            columns, value_at_zero = [projections > 0.0, projections < 0.0], 0.5
        else:
            columns, value_at_zero = [np.maximum(projections, 0), np.maximum(-projections, 0)], 0.0
        # 2 E f(w.x) f(w.y) is the arc-cosine kernel, and half of the weight is at -w.
        Z = np.concatenate(columns, axis=1) * np.sqrt(np.tile(self._weights, 2))
        zero = np.full((n, 1), self._at_zero * value_at_zero * np.sqrt(1.0 if waves else 2.0))
        return np.concatenate([Z, zero], axis=1)
