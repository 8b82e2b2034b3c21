r"""The exact map of a polynomial in <x, y> or in |x - y|^2, if it fits: no error but rounding.

On the sphere the columns of a polynomial in <x, y> are the monomials of x.  A polynomial in z^2
has columns for rows anywhere: with a = |x|^2, b = |y|^2, t = <x, y>,

.. math:: \sum_p c_p (a + b - 2t)^p = \sum_n t^n \sum_{i,j} M^{(n)}_{ij} a^i b^j, \qquad
          M^{(n)}_{ij} = c_{i+j+n} \frac{(i+j+n)!}{i!\,j!\,n!} (-2)^n,

and with the eigenvectors of the symmetric matrices M the columns are
:math:`\sqrt{|\lambda|} \sum_i v_i a^i` times the monomials of degree n, of the sign of lambda.
Rows are measured from their mean, in units of the largest distance, so that little cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, factorial
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import sympy
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, DrawnMap, monomial_part, unavailable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap, monomial_columns
from rf.inputs.rows import dense
from spectra.base.arrays import FloatArray
from spectra.formula.reader.parsing import U, Z

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = ["ExactMap", "RadialMap", "exact_candidates", "powers_of", "powers_of_square"]

# Eigenvalues below this part of the largest are rounding.
_ROUNDING = 1e-15


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExactMap(DrawnMap):
    """The columns of all monomials."""

    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        return monomial_part(self.monomials, X)


@final
@dataclass(frozen=True, eq=False, repr=False)
class RadialMap(DrawnMap):
    """The columns of a polynomial in |x - y|^2, for rows anywhere.

    ``centre`` (d,); ``parts``: for each degree n: columns of coefficients of 1, |x|^2, |x|^4, ...,
    and the monomials that each of them multiplies.
    """

    centre: FloatArray
    unit: float
    parts: tuple[tuple[FloatArray, MonomialMap], ...]
    signature: FloatArray

    @classmethod
    def of(cls, powers: Sequence[float], centre: FloatArray, unit: float) -> Self:
        """The map of sum_p powers[p] |x - y|^(2 p)."""
        degree = len(powers) - 1
        scaled = [c * unit ** (2 * p) for p, c in enumerate(powers)]
        parts, signs = [], []
        for n in range(degree + 1):
            size = degree - n + 1
            matrix = np.zeros((size, size))
            for i in range(size):
                for j in range(size - i):
                    p = i + j + n
                    ways = factorial(p) / (factorial(i) * factorial(j) * factorial(n))
                    matrix[i, j] = scaled[p] * ways * (-2.0) ** n
            values, vectors = np.linalg.eigh(matrix)
            kept = np.abs(values) > _ROUNDING * np.abs(values).max(initial=0.0)
            monomials = MonomialMap.of(centre.size, [*[0.0] * n, 1.0])
            parts.append((vectors[:, kept] * np.sqrt(np.abs(values[kept])), monomials))
            signs.append(np.repeat(np.sign(values[kept]), monomials.signature.size))
        return cls(centre, unit, tuple(parts), np.concatenate(signs))

    def columns(self, X: Any) -> NDArray[Any]:
        rows = (dense(X) - self.centre) / self.unit
        square = np.sum(rows**2, axis=1, keepdims=True)
        columns = []
        for weights, monomials in self.parts:
            radial = square ** np.arange(len(weights)) @ weights
            both = radial[:, :, None] * monomials.columns(rows)[:, None, :]
            columns.append(both.reshape(len(rows), -1))
        return np.concatenate(columns, axis=1).astype(X.dtype, copy=False)


def powers_of_square(kernel: Kernel, z_max: float) -> Sequence[float] | None:
    """Coefficients of a kernel that is a polynomial in z^2 up to z_max, or None."""
    if any(float(piece.support) < z_max for piece in kernel.pieces):
        return None
    formula = sympy.Add(*(piece.expr for piece in kernel.pieces))
    if not formula.is_polynomial(Z):
        return None
    powers = [float(a) for a in reversed(sympy.Poly(formula, Z).all_coeffs())]
    return None if any(powers[1::2]) else powers[::2]


def powers_of(kernel: Kernel, dim: int) -> Sequence[float] | None:
    """Coefficients of a kernel that is a polynomial in u, or None.

    In dimension 1 the sphere is two points, on which every kernel is a + b u.
    """
    if dim == 1:
        here, across = kernel(np.array([0.0, 2.0])).tolist()
        return [0.5 * (here + across), 0.5 * (here - across)]
    formula = kernel.zonal
    if formula is None or not formula.is_polynomial(U):
        return None
    return [float(a) for a in reversed(sympy.Poly(formula, U).all_coeffs())]


def exact_candidates(problem: Problem) -> list[Candidate]:
    """The exact polynomial map, or why there is none."""
    kernel, dim, name = problem.kernel, problem.dim, "exact polynomial"
    if kernel.is_zonal:
        powers, of = powers_of(kernel, dim), "u"
    else:
        powers, of = powers_of_square(kernel, problem.z_max), "z^2"
    if powers is None:
        return unavailable(name, f"the kernel is no polynomial in {of}")
    if kernel.is_zonal:
        most = monomial_columns(dim, powers)
    else:
        # At most 1 + degree - n radial factors for each monomial of degree n.
        most = sum((len(powers) - n) * comb(dim + n - 1, n) for n in range(len(powers)))
    if most > problem.n_components:
        return unavailable(name, f"needs {most} columns")
    name += f" of degree {len(powers) - 1}"
    drawn: DrawnMap
    if kernel.is_zonal:
        monomials = MonomialMap.of(dim, powers)
        drawn = ExactMap(monomials, monomials.signature)
    else:
        drawn = RadialMap.of(powers, np.array(problem.centre), problem.z_max)
        name += " in z^2"
    columns = drawn.signature.size
    return [Candidate(name, columns, "", partial(_same, drawn), everywhere=kernel.is_zonal)]


def _same(drawn: DrawnMap, rng: np.random.Generator) -> DrawnMap:
    """The map itself: nothing in it is random."""
    return drawn
