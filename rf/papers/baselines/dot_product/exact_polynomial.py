"""The exact feature map of a polynomial in <x, y>: all weighted monomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, final

from sklearn.utils._param_validation import Interval

from rf.feature_maps import MonomialMap, count_monomials
from rf.papers.baselines.base import Baseline
from rf.papers.baselines.dot_product.power_series import check_coefficients
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["ExactPolynomial"]


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
