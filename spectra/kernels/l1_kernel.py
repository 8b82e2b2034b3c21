r"""Kernels of the l1 distance: k(x, y) = f(|x - y|_1), the sum of the distances of all columns.

In one column k is the radial kernel f.  In several columns the measure is known if f is a sum of
truncated distances c max(tau - z, 0) and exponentials, which are products of kernels of one column,
:math:`e^{-t |x|_1} = \prod_i e^{-t |x_i|}`.
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
from spectra.kernels.algebra import Algebra, finite_factor
from spectra.kernels.grouped import Factor, GroupedKernel, collected
from spectra.kernels.kernel import Kernel, radial

__all__ = ["L1Kernel", "l1"]

Pairs = tuple[tuple[sympy.Expr, sympy.Expr], ...]
Numbers = tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, repr=False)
class L1Kernel(Algebra):
    """A kernel f(|x - y|_1) of the l1 distance, with f as a radial kernel; see :func:`l1`."""

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
        """The kernel f(|x - y|_1 / length), for one positive number as length."""
        if not isinstance(length, sympy.Basic) and np.ndim(length):
            raise ParameterError(
                "A kernel of the l1 distance has one length. Divide the columns of the rows, or "
                "give an estimator length_scale=[...], which does."
            )
        return L1Kernel(self.profile.rescale(length))

    @cached_property
    def terms(self) -> tuple[Pairs, Pairs] | None:
        """The pairs (c, tau) of c max(tau - z, 0) and (c, t) of c exp(-t z) that add up to f.

        None if f is not such a sum.
        """
        truncated, smooth = [], sympy.Integer(0)
        if any(piece.support is not sympy.oo for piece in self.profile.pieces):
            return None
        total = sympy.Add(*(piece.expr for piece in self.profile.pieces))
        for term in sympy.Add.make_args(sympy.expand(total)):
            c, factor = term.as_independent(Z, as_Add=False)
            if factor.func is sympy.Max and len(factor.args) == 2 and 0 in factor.args:
                line = sympy.Add(*factor.args)
                slope = -line.diff(Z)
                if slope.has(Z) or not slope.is_positive:
                    return None
                truncated.append((c * slope, sympy.cancel(line.subs(Z, 0) / slope)))
            else:
                smooth += term
        exponentials = exponential_terms(smooth.rewrite(sympy.exp), 1) if smooth != 0 else []
        if exponentials is None or not all(c.is_real for c, _ in exponentials):
            return None
        return _merge_terms(truncated), _merge_terms(exponentials)

    def numeric_terms(self) -> tuple[Numbers, Numbers]:
        """The :attr:`terms` as floats; NoRouteError if :attr:`terms` is None."""
        if self.terms is None:
            raise NoRouteError(self.why_refused())
        truncated, exponentials = (tuple((float(a), float(b)) for a, b in p) for p in self.terms)
        return truncated, exponentials

    def why_refused(self) -> str:
        """The message for an f without :attr:`terms`."""
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
        if self.terms is None or self.terms[0]:
            return None
        products = []
        for weight, rate in self.terms[1]:
            one, columns = radial(sympy.exp(-rate * Z)), range(dim) if rate != 0 else ()
            products.append((float(weight), tuple(Factor(one, (j,), (1.0,)) for j in columns)))
        return GroupedKernel(collected(products), dim)

    def __add__(self, other: Any) -> L1Kernel:
        inner = other.profile if isinstance(other, L1Kernel) else finite_factor(other)
        return NotImplemented if inner is None else L1Kernel(self.profile + inner)

    def __mul__(self, other: Any) -> L1Kernel:
        inner = other.profile if isinstance(other, L1Kernel) else finite_factor(other)
        return NotImplemented if inner is None else L1Kernel(self.profile * inner)


def l1(formula: str | sympy.Expr, **parameters: Any) -> L1Kernel:
    """Make a kernel of the l1 distance from a formula in z = |x - y|_1 = sum of |x_i - y_i|.

    Parameters
    ----------
    formula, **parameters :
        As for :func:`radial`, ``support`` among them, with the l1 distance for z.

    Returns
    -------
    L1Kernel
        Any formula has values and kernel matrices.  In several columns, only sums of multiples of
        ``Max(tau - z, 0)`` and ``exp(-c*z)`` have measures and features.

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


def _merge_terms(pairs: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> Pairs:
    """The weights of equal radii or rates added up, in ascending order."""
    weights: dict[sympy.Expr, sympy.Expr] = {}
    for weight, key in pairs:
        weights[key] = sympy.expand(weights.get(key, sympy.Integer(0)) + weight)
    ascending = sorted(weights, key=sympy.default_sort_key)
    return tuple((weights[key], key) for key in ascending if weights[key] != 0)
