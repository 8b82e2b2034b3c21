r"""Kernels of the l1 distance: k(x, y) = f(|x - y|_1) with |x - y|_1 = sum_i |x_i - y_i|.

In one dimension k is the radial kernel f.  In several dimensions the spectral measure is known if f
is a sum of truncated distances c max(tau - z, 0) and exponentials c exp(-t z).  An exponential is
a product of kernels of one column, :math:`e^{-t |x|_1} = \prod_i e^{-t |x_i|}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray, check_differences, checked_dim
from spectra.errors import NoRouteError, ParameterError
from spectra.formula.pieces import exponential_terms
from spectra.formula.reader.parsing import Z
from spectra.kernels.base_kernel import BaseKernel, finite_number
from spectra.kernels.grouped import Factor, GroupedKernel, add_terms
from spectra.kernels.kernel import Kernel, radial

__all__ = ["L1Kernel", "l1"]

#: Pairs (c, tau) of truncated distances or (c, t) of exponentials.
ExactTerms = tuple[tuple[sympy.Expr, sympy.Expr], ...]
FloatTerms = tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, repr=False)
class L1Kernel(BaseKernel):
    """A kernel f(|x - y|_1) with a radial kernel f, its ``profile``; see :func:`l1`."""

    profile: Kernel

    @property
    def formula(self) -> str:
        """f as text in z = |x - y|_1."""
        return f"{self.profile} at z = |x - y|_1"

    @property
    def at_zero(self) -> float:
        """The value at x = y."""
        return self.profile.at_zero

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "A kernel of the l1 distance")
        return self.profile(np.abs(D).sum(axis=-1))

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self.profile(cdist(X, Y, metric="cityblock"))

    def rescale(self, length: float | sympy.Expr) -> L1Kernel:
        """The kernel f(|x - y|_1 / length), for a single positive length."""
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            raise ParameterError(
                "A kernel of the l1 distance has a single length. Divide the columns of the data, "
                "or pass length_scale=[...] to an estimator."
            )
        return L1Kernel(self.profile.rescale(length))

    @cached_property
    def terms(self) -> tuple[ExactTerms, ExactTerms] | None:
        """The pairs (c, tau) of c max(tau - z, 0) and (c, t) of c exp(-t z) that add up to f.

        None if f is not such a sum.
        """
        truncated, rest = [], sympy.Integer(0)
        if any(piece.support is not sympy.oo for piece in self.profile.pieces):
            return None
        total = sympy.Add(*(piece.expr for piece in self.profile.pieces))
        for term in sympy.Add.make_args(sympy.expand(total)):
            c, factor = term.as_independent(Z, as_Add=False)
            if factor.func is sympy.Max and len(factor.args) == 2 and 0 in factor.args:
                line = sympy.Add(*factor.args)  # slope * (tau - z)
                slope = -line.diff(Z)
                if slope.has(Z) or not slope.is_positive:
                    return None
                truncated.append((c * slope, sympy.cancel(line.subs(Z, 0) / slope)))
            else:
                rest += term
        exponentials = exponential_terms(rest.rewrite(sympy.exp), 1) if rest != 0 else []
        if exponentials is None or not all(c.is_real for c, _ in exponentials):
            return None
        return _merge_terms(truncated), _merge_terms(exponentials)

    def numeric_terms(self) -> tuple[FloatTerms, FloatTerms]:
        """The :attr:`terms` as floats; a NoRouteError if they are None."""
        if self.terms is None:
            raise NoRouteError(self.no_route_message())
        truncated, exponentials = (tuple((float(c), float(x)) for c, x in p) for p in self.terms)
        return truncated, exponentials

    def no_route_message(self) -> str:
        """The error message for a kernel whose :attr:`terms` are None."""
        return (
            f"{self} is not a sum of multiples of Max(tau - z, 0) and exp(-c*z), the only formulas "
            "of the l1 distance whose measure in several columns is known here. Approximate it by "
            "such a sum, or use the Euclidean distance (radial) and a finite measure for the range "
            "of distances in your data (design)."
        )

    def equivalent(self, dim: int) -> Kernel | GroupedKernel | None:
        """The radial or grouped kernel that equals this one in d columns; None if there is none."""
        if checked_dim(dim) == 1:
            return self.profile
        if self.terms is None:
            return None
        truncated, exponentials = self.terms
        if truncated:
            return None
        products = []
        for weight, rate in exponentials:
            exponential = radial(sympy.exp(-rate * Z))
            columns = range(dim) if rate != 0 else ()  # exp(-0 z) is a constant
            factors = tuple(Factor(exponential, (j,), (1.0,)) for j in columns)
            products.append((float(weight), factors))
        return GroupedKernel(add_terms(products), dim)

    def __add__(self, other: Any) -> L1Kernel:
        operand = other.profile if isinstance(other, L1Kernel) else finite_number(other)
        return NotImplemented if operand is None else L1Kernel(self.profile + operand)

    def __mul__(self, other: Any) -> L1Kernel:
        operand = other.profile if isinstance(other, L1Kernel) else finite_number(other)
        return NotImplemented if operand is None else L1Kernel(self.profile * operand)


def l1(formula: str | sympy.Expr, **parameters: Any) -> L1Kernel:
    """Make a kernel of the l1 distance from a formula in z = |x - y|_1 = sum_i |x_i - y_i|.

    Parameters
    ----------
    formula, **parameters :
        As for :func:`radial`, including ``support``; z is the l1 distance.

    Returns
    -------
    L1Kernel
        Every formula has values and kernel matrices.  In several columns, spectral measures and
        features are available for sums of multiples of ``Max(tau - z, 0)`` and ``exp(-c*z)`` only.

    References
    ----------
    X. Huang et al., "Classification with truncated l1 distance kernel", IEEE Trans. Neural Netw.
    Learn. Syst. 29 (2018) 2025.

    Examples
    --------
    >>> kernel = l1("Max(tau - z, 0)", tau=3)
    >>> kernel.gram([[0.0, 0.0], [1.0, 1.0]])
    array([[3., 1.],
           [1., 3.]])
    """
    return L1Kernel(radial(formula, **parameters))


def _merge_terms(pairs: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> ExactTerms:
    """Add the weights of equal radii tau or rates t, and sort by these."""
    weights: dict[sympy.Expr, sympy.Expr] = {}
    for weight, x in pairs:
        weights[x] = sympy.expand(weights.get(x, sympy.Integer(0)) + weight)
    ascending = sorted(weights, key=sympy.default_sort_key)
    return tuple((weights[x], x) for x in ascending if weights[x] != 0)
