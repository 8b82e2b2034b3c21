r"""Kernels of the l1 distance: k(x, y) = f(|x - y|_1), the sum of the distances of all columns.

Where f is a sum of exponentials the kernel is a product of kernels of one column each,
:math:`e^{-t |x|_1} = \prod_i e^{-t |x_i|}`, and so a kernel of groups of columns; in one column it
is the radial kernel f.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray, checked_dim, differences_of_rows
from spectra.errors import ParameterError
from spectra.formula.pieces import exponential_terms
from spectra.formula.reader.parsing import Z
from spectra.kernels.asymmetric import is_number
from spectra.kernels.column_products import Product
from spectra.kernels.grouped import GroupedKernel, on_columns
from spectra.kernels.kernel import Algebra, Kernel, radial

__all__ = ["L1Kernel", "l1"]


@final
@dataclass(frozen=True, repr=False)
class L1Kernel(Algebra):
    """A kernel f(|x - y|_1) of the l1 distance; make one with :func:`l1`.

    It adds, subtracts and multiplies with others of its kind and with numbers.

    Attributes
    ----------
    profile : Kernel
        f, as a radial kernel.
    label : str
        How to print it where it was named.

    Examples
    --------
    >>> kernel = l1("Max(tau - z, 0)", tau=2)
    >>> kernel([[0.5, -0.5], [2.0, 2.0]])
    array([1., 0.])
    """

    profile: Kernel
    label: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.label or f"{self.profile} at z = |x - y|_1"

    @property
    def formula(self) -> str:
        """f as text in z = |x - y|_1."""
        return f"{self.profile.formula} at z = |x - y|_1"

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        return self.profile.at_zero

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = differences_of_rows(differences, "A kernel of the l1 distance")
        return self.profile(np.abs(D).sum(axis=-1))

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self.profile(cdist(X, Y, metric="cityblock"))

    def rescale(self, length: float | sympy.Expr) -> L1Kernel:
        """The kernel f(|x - y|_1 / length).

        Raises
        ------
        ParameterError
            Where the length is no positive number; a length for each column is for the rows.
        """
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            raise ParameterError(
                "A kernel of the l1 distance has one length. Divide the columns of the rows, or "
                "give an estimator length_scale=[...], which does."
            )
        return L1Kernel(self.profile.rescale(length))

    def standing(self, dim: int) -> Kernel | GroupedKernel | None:
        """The radial kernel, or the one of groups, that this is in d columns; None where neither.

        Examples
        --------
        >>> print(l1("exp(-z) + 1").standing(2))
        1 + (exp(-z)).on([0])*(exp(-z)).on([1])
        >>> print(l1("1/(1 + z)").standing(1), l1("1/(1 + z)").standing(2))
        1/(1 + z) None
        """
        dim = checked_dim(dim)
        if dim == 1:
            return self.profile
        rates = exponentials(self.profile)
        if rates is None:
            return None
        terms = []
        for weight, rate in rates:
            one = radial(sympy.exp(-rate * Z))
            columns = [on_columns(one, j) for j in range(dim)] if rate != 0 else []
            constant = GroupedKernel((Product(float(weight), ()),), dim)
            terms.append(reduce(lambda a, b: a * b, columns, constant))
        return reduce(lambda a, b: a + b, terms)

    def __add__(self, other: Any) -> L1Kernel:
        inner = _profile_of(other)
        return NotImplemented if inner is None else L1Kernel(self.profile + inner)

    def __mul__(self, other: Any) -> L1Kernel:
        inner = _profile_of(other)
        return NotImplemented if inner is None else L1Kernel(self.profile * inner)


def l1(
    formula: str | sympy.Expr,
    *,
    support: float | sympy.Expr | None = None,
    **parameters: Any,
) -> L1Kernel:
    """Make a kernel of the l1 distance from a formula in z = |x - y|_1 = sum of |x_i - y_i|.

    Parameters
    ----------
    formula, support, **parameters :
        As for :func:`radial`, with the l1 distance for z.

    Returns
    -------
    L1Kernel

    Raises
    ------
    FormulaError, ParameterError
        As :func:`radial` does.

    References
    ----------
    S. Cambanis, R. Keener and G. Simons, "On alpha-symmetric multivariate distributions", J.
    Multivariate Anal. 13 (1983) 213; X. Huang et al., "Classification with truncated l1 distance
    kernel", IEEE Trans. Neural Netw. Learn. Syst. 29 (2018) 2025.

    Examples
    --------
    >>> kernel = l1("Max(tau - z, 0)", tau=3)
    >>> kernel.gram([[0.0, 0.0], [1.0, 1.0]])
    array([[3., 1.],
           [1., 3.]])
    """
    profile = radial(formula, support=support, **parameters)
    return L1Kernel(profile, f"{profile.label} at z = |x - y|_1" if profile.label else "")


def exponentials(profile: Kernel) -> list[tuple[sympy.Expr, sympy.Expr]] | None:
    """The weights c and rates t >= 0 of a sum of c exp(-t z); None for anything else.

    Examples
    --------
    >>> exponentials(radial("2*exp(-z/3) - 1"))
    [(-1, 0), (2, 1/3)]
    """
    if len(profile.pieces) != 1 or profile.pieces[0].support is not sympy.oo:
        return None
    found = exponential_terms(profile.pieces[0].expr.rewrite(sympy.exp), 1)
    if found is None or not all(weight.is_real for weight, _ in found):
        return None
    return sorted(found, key=lambda pair: sympy.default_sort_key(pair[1]))


def _profile_of(other: Any) -> Kernel | float | None:
    if isinstance(other, L1Kernel):
        return other.profile
    return other if is_number(other) else None
