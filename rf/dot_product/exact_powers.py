r"""The exact feature map of a kernel that is a polynomial in <x, y> or in z^2 = |x - y|^2.

For a polynomial in <x, y> the columns are monomials of the coordinates of x.  A polynomial in z^2
with the coefficients c_p has exact features too: with a = |x|^2, b = |y|^2, t = <x, y>,

.. math:: \sum_p c_p (a + b - 2t)^p = \sum_n t^n \sum_{i,j} M^{(n)}_{ij} a^i b^j, \qquad
          M^{(n)}_{ij} = c_{i+j+n} \frac{(i+j+n)!}{i!\,j!\,n!} (-2)^n,

and every eigenpair :math:`(\lambda, v)` of the symmetric matrix :math:`M^{(n)}` gives the columns
:math:`\sqrt{|\lambda|} \sum_i v_i a^i` times the monomials of degree n, with the sign of lambda.
Rows are centred and divided by the largest distance, to reduce cancellation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from math import comb, factorial
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import sympy
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, SymmetricMap, evaluate_monomials, not_applicable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap, count_monomials
from rf.inputs.rows import dense
from spectra.base.arrays import FloatArray
from spectra.formula.parsing import T, U, Z
from spectra.kernels.metrics import InnerProduct, Sphere

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = ["MonomialFeatureMap", "RadialPolynomialMap", "even_coefficients", "exact_candidates"]

# Eigenvalues below this multiple of the largest one are rounding errors.
_ROUNDING = 1e-15
_NAME = "exact polynomial"


@final
@dataclass(frozen=True, eq=False, repr=False)
class MonomialFeatureMap(SymmetricMap):
    """The exact features of a polynomial in <x, y>."""

    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        return evaluate_monomials(self.monomials, X)


@final
@dataclass(frozen=True, eq=False, repr=False)
class RadialPolynomialMap(SymmetricMap):
    """The exact features of a polynomial in |x - y|^2.

    ``centre`` (d,), ``unit``: rows are transformed to (x - centre)/unit; ``parts``: for each n the
    scaled eigenvectors sqrt(|lambda|) v of M^(n) as columns, and the monomials of degree n.
    """

    centre: FloatArray
    unit: float
    parts: tuple[tuple[FloatArray, MonomialMap], ...]
    signature: FloatArray

    @classmethod
    def of(cls, coefficients: Sequence[float], centre: FloatArray, unit: float) -> Self:
        """The map of sum_p coefficients[p] |x - y|^(2 p)."""
        degree = len(coefficients) - 1
        scaled = [c * unit ** (2 * p) for p, c in enumerate(coefficients)]
        parts, signs = [], []
        for n in range(degree + 1):
            size = degree - n + 1
            matrix = np.zeros((size, size))
            for i in range(size):
                for j in range(size - i):
                    p = i + j + n
                    multinomial = factorial(p) / (factorial(i) * factorial(j) * factorial(n))
                    matrix[i, j] = scaled[p] * multinomial * (-2.0) ** n
            values, vectors = np.linalg.eigh(matrix)
            kept = np.abs(values) > _ROUNDING * np.abs(values).max(initial=0.0)
            monomials = MonomialMap.of(centre.size, [*[0.0] * n, 1.0])
            parts.append((vectors[:, kept] * np.sqrt(np.abs(values[kept])), monomials))
            signs.append(np.repeat(np.sign(values[kept]), monomials.signature.size))
        return cls(centre, unit, tuple(parts), np.concatenate(signs))

    def columns(self, X: Any) -> NDArray[Any]:
        rows = (dense(X) - self.centre) / self.unit
        square_norms = np.sum(rows**2, axis=1, keepdims=True)
        columns = []
        for coefficients, monomials in self.parts:
            radial = square_norms ** np.arange(len(coefficients)) @ coefficients
            products = radial[:, :, None] * monomials.columns(rows)[:, None, :]
            columns.append(products.reshape(len(rows), -1))
        return np.concatenate(columns, axis=1).astype(X.dtype, copy=False)


def even_coefficients(kernel: Kernel, z_max: float) -> Sequence[float] | None:
    """Coefficients of 1, z^2, z^4, ... if the kernel is a polynomial in z^2 up to z_max."""
    if any(float(piece.support) < z_max for piece in kernel.pieces):
        return None
    formula = sympy.Add(*(piece.expr for piece in kernel.pieces))
    if not formula.is_polynomial(Z):
        return None
    coefficients = [float(a) for a in reversed(sympy.Poly(formula, Z).all_coeffs())]
    return None if any(coefficients[1::2]) else coefficients[::2]


def _coefficients_in_u(kernel: Kernel, dim: int) -> Sequence[float] | None:
    """Coefficients of 1, u, u^2, ... if the kernel is a polynomial in u = <x, y>, else None.

    In dimension 1 the sphere has two points, u is 1 or -1, and every kernel is of the form a + b u.
    """
    if dim == 1:
        at_one, at_minus_one = kernel(np.array([0.0, 2.0])).tolist()  # u = 1 - z^2/2
        return [0.5 * (at_one + at_minus_one), 0.5 * (at_one - at_minus_one)]
    formula = kernel.zonal
    if formula is None or not formula.is_polynomial(U):
        return None
    return [float(a) for a in reversed(sympy.Poly(formula, U).all_coeffs())]


def exact_candidates(problem: Problem) -> list[Candidate]:
    """The exact map of a polynomial kernel, or why it does not apply."""
    return _exact_on(problem.kernel.metric, problem)


@singledispatch
def _exact_on(metric: Any, problem: Problem) -> list[Candidate]:
    """The exact map for the metric of the kernel, here of a polynomial in z^2."""
    coefficients = even_coefficients(problem.kernel, problem.z_max)
    if coefficients is None:
        return not_applicable(_NAME, "the kernel is not a polynomial in z^2")
    size = len(coefficients)
    # M^(n) has ``size - n`` eigenvectors, and there are C(d + n - 1, n) monomials of degree n.
    columns = sum((size - n) * comb(problem.dim + n - 1, n) for n in range(size))
    if columns > problem.n_components:
        return not_applicable(_NAME, f"needs {columns} columns")
    exact = RadialPolynomialMap.of(coefficients, np.array(problem.centre), problem.z_max)
    return [_candidate(f"of degree {size - 1} in z^2", exact, None)]


@_exact_on.register
def _(metric: InnerProduct, problem: Problem) -> list[Candidate]:
    formula = problem.kernel.expr
    if not formula.is_polynomial(T):
        return not_applicable(_NAME, "the kernel is not a polynomial in t")
    coefficients = [float(a) for a in reversed(sympy.Poly(formula, T).all_coeffs())]
    return _monomial_candidates(problem, coefficients, np.inf)


@_exact_on.register
def _(metric: Sphere, problem: Problem) -> list[Candidate]:
    coefficients = _coefficients_in_u(problem.kernel, problem.dim)
    if coefficients is None:
        return not_applicable(_NAME, "the kernel is not a polynomial in u")
    return _monomial_candidates(problem, coefficients, 2.0)


def _monomial_candidates(
    problem: Problem, coefficients: Sequence[float], z_max: float
) -> list[Candidate]:
    columns = count_monomials(problem.dim, coefficients)
    if columns > problem.n_components:
        return not_applicable(_NAME, f"needs {columns} columns")
    monomials = MonomialMap.of(problem.dim, coefficients)
    exact = MonomialFeatureMap(monomials, monomials.signature)
    return [_candidate(f"of degree {len(coefficients) - 1}", exact, z_max)]


def _candidate(kind: str, exact: SymmetricMap, z_max: float | None) -> Candidate:
    columns, draw = exact.signature.size, partial(_return_map, exact)
    return Candidate(f"{_NAME} {kind}", columns, "", draw, z_max, is_unbiased=True)


def _return_map(exact: SymmetricMap, rng: np.random.Generator) -> SymmetricMap:
    """The map itself, which is not random; a function of the module, so that it can be pickled."""
    return exact
