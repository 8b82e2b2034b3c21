"""Features of kernels of the inner product: exact monomials, random Maclaurin, sketches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.feature_maps import MonomialMap, count_monomials
from rf.papers.baselines.base import Baseline
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "ExactPolynomial",
    "RandomMaclaurin",
    "TensorSketch",
    "TensorizedRandomProjection",
    "spherical_polynomial",
    "taylor_coefficients",
]


def taylor_coefficients(derivatives: Sequence[float]) -> tuple[float, ...]:
    """Coefficients a_n = f^(n)(0) / n! from the derivatives of f at 0.

    Examples
    --------
    >>> taylor_coefficients([1, 1, 1, 1])             # exp(u)
    (1.0, 1.0, 0.5, 0.16666666666666666)
    """
    return tuple(float(f) / math.factorial(n) for n, f in enumerate(derivatives))


def spherical_polynomial(a: float, p: int) -> tuple[float, ...]:
    """Coefficients of (1 - |x - y|^2 / a^2)^p = (1 - 2/a^2 + 2u/a^2)^p on the unit sphere.

    Examples
    --------
    >>> spherical_polynomial(2, 2)                    # ((1 + u)/2)^2
    (0.25, 0.5, 0.25)
    """
    r = 2.0 / a**2
    return tuple(math.comb(p, n) * (1.0 - r) ** (p - n) * r**n for n in range(p + 1))


def check_coefficients(coefficients: Sequence[float]) -> FloatArray:
    """Convert the coefficients to an array; raise ParameterError if not finite or all zero."""
    a = np.asarray(coefficients, dtype=float)
    if a.ndim != 1 or not np.all(np.isfinite(a)) or not np.any(a):
        raise ParameterError(
            f"The coefficients of a dot-product kernel are {coefficients}, but must be finite "
            "numbers a_0, a_1, ..., not all zero."
        )
    return a


@final
@dataclass(eq=False, repr=False)
class ExactPolynomial(Baseline):
    r"""Exact features of f(u) = sum_n a_n u^n, u = <x, y>, without random numbers.

    .. math:: \langle x, y \rangle^n = \sum_{|m| = n} \frac{n!}{m!}\, x^m y^m

    with multi-indices m.  A polynomial of degree p has at most C(d + p, p) columns: for d = 16,
    (q + r u) has 17 and (q + r u)^2 has 153, often fewer than random features need.

    Parameters
    ----------
    coefficients : sequence of float
        a_0, a_1, ..., positive or negative.
    max_columns : int, default=100000
        Raise ParameterError if more columns are needed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> ExactPolynomial((0.25, 0.5, 0.25)).fit(X).gram(X).round(12)
    array([[1.  , 0.64],
           [0.64, 1.  ]])
    """

    coefficients: Sequence[float] = (0.25, 0.5, 0.25)
    _: KW_ONLY
    max_columns: int = 100_000

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        n_columns = count_monomials(X.shape[1], a.tolist())
        if n_columns > self.max_columns:
            raise ParameterError(
                f"The exact map of degree {a.size - 1} in dimension {X.shape[1]} has {n_columns} "
                f"columns, more than max_columns = {self.max_columns}. Increase it, or "
                "use random features."
            )
        self._monomials = MonomialMap.of(X.shape[1], a.tolist())
        return self._monomials.signature

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._monomials.columns(X)


@final
@dataclass(eq=False, repr=False)
class RandomMaclaurin(Baseline):
    r"""Unbiased features of a dot-product kernel f(u) = sum_n a_n u^n, u = <x, y>.

    Column j has degree n with probability P(n), proportional to 2^-(n+1) on the degrees with
    a_n != 0, and is

    .. math:: \sqrt{|a_n| / (D\,P(n))} \prod_{i \le n} \langle \omega_{ij}, x \rangle,

    with Rademacher vectors omega (entries +1 and -1) and the signature sign(a_n).

    Parameters
    ----------
    coefficients : sequence of float
        a_n = f^(n)(0)/n! for n = 0, 1, ..., positive or negative
        (see :func:`taylor_coefficients`).
    n_components : int, default=100
        Number of columns D.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    Two published implementations are biased: one draws the degree whose cumulative probability is
    nearest to a uniform number, the other omits 1/n!.

    References
    ----------
    Kar and Karnick, "Random feature maps for dot product kernels", AISTATS 2012.

    Examples
    --------
    >>> x = np.array([[0.6, 0.8]])
    >>> f = RandomMaclaurin((0.25, 0.5, 0.25), n_components=20000, random_state=0).fit(x)
    >>> bool(abs(f.gram(x)[0, 0] - 1.0) < 0.1)
    True
    """

    coefficients: Sequence[float] = (0.25, 0.5, 0.25)
    _: KW_ONLY
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "coefficients": ["array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        a = check_coefficients(self.coefficients)
        probabilities = np.where(a == 0, 0.0, 0.5 ** np.arange(1.0, a.size + 1))
        probabilities = probabilities / probabilities.sum()
        random, columns = check_random_state(self.random_state), self.n_components
        self.degrees_ = np.sort(random.choice(a.size, size=columns, p=probabilities))
        self._scale = np.sqrt(np.abs(a[self.degrees_]) / probabilities[self.degrees_] / columns)
        # Columns are sorted by degree, so factor i multiplies all columns from _starts[i] on.
        highest = int(self.degrees_.max())
        self._starts = np.searchsorted(self.degrees_, np.arange(highest), side="right").tolist()
        self._signs = [
            2.0 * random.randint(0, 2, size=(X.shape[1], columns - start)) - 1.0
            for start in self._starts
        ]
        return np.asarray(np.sign(a)[self.degrees_])

    def _columns(self, X: FloatArray) -> FloatArray:
        Z = np.tile(self._scale, (X.shape[0], 1))
        for start, signs in zip(self._starts, self._signs, strict=True):
            Z[:, start:] *= X @ signs
        return Z


@dataclass(eq=False, repr=False, kw_only=True)
class _PowerSketch(Baseline):
    """Features of (coef0 + gamma <x, y>)^degree.

    Parameters
    ----------
    degree : int, default=2
    gamma : float, default=1.0
    coef0 : float, default=0.0
        At least 0, like gamma.  On the unit sphere (1 - |x - y|^2/a^2)^p has gamma = 2/a^2 and
        coef0 = 1 - 2/a^2.
    n_components : int, default=100
    random_state : int, RandomState instance or None, default=None
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 0.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }


@final
class TensorSketch(_PowerSketch):
    """Unbiased features of (coef0 + gamma <x, y>)^degree by FFTs of count sketches.

    References
    ----------
    Pham and Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.

    Examples
    --------
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> f = TensorSketch(n_components=4096, random_state=0).fit(X)
    >>> bool(np.abs(f.gram(X) - (X @ X.T) ** 2).max() < 0.2)
    True
    """

    def _draw(self, X: FloatArray) -> FloatArray:
        self._sketch = PolynomialCountSketch(
            degree=self.degree,
            gamma=float(self.gamma),
            coef0=self.coef0,
            n_components=self.n_components,
            random_state=self.random_state,
        ).fit(X)
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        return np.asarray(self._sketch.transform(X), dtype=float)


@final
class TensorizedRandomProjection(_PowerSketch):
    r"""Unbiased features of (coef0 + gamma <x, y>)^degree by products of random projections.

    .. math:: Z_j(x) = D^{-1/2} \prod_{i \le p} \langle \omega_{ij}, \tilde x \rangle,
              \qquad \tilde x = (\sqrt{c_0}, \sqrt{\gamma}\,x),

    with Rademacher vectors omega (entries +1 and -1), p = degree, c_0 = coef0, D = n_components.

    References
    ----------
    Meister, Sarlos, Woodruff, "Tight dimensionality reduction for sketching low degree polynomial
    kernels", NeurIPS 2019.

    Examples
    --------
    >>> X = np.array([[0.6, 0.8], [1.0, 0.0]])
    >>> f = TensorizedRandomProjection(n_components=20000, random_state=0).fit(X)
    >>> bool(np.abs(f.gram(X) - (X @ X.T) ** 2).max() < 0.1)
    True
    """

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        shape = (self.degree, X.shape[1] + 1, self.n_components)
        self._signs = 2.0 * random.randint(0, 2, size=shape) - 1.0
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        Z = np.full((X.shape[0], self.n_components), 1.0 / math.sqrt(self.n_components))
        for signs in self._signs:
            Z *= math.sqrt(self.gamma) * (X @ signs[1:]) + math.sqrt(self.coef0) * signs[0]
        return Z
