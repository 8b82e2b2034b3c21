"""The exact map of a polynomial in <x, y>, where it fits: no randomness, no error but rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import sympy
from numpy.typing import NDArray

from rf.monomials import MonomialMap, monomial_columns
from rf.portfolio.offer import DrawnMap, Offer, Order, dense
from spectra.formula.parsing import U

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["ExactMap", "exact_offers", "powers_of"]

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class ExactMap(DrawnMap):
    """The columns of all monomials."""

    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        return self.monomials.columns(dense(X))


def powers_of(kernel: Kernel, dim: int) -> Sequence[float] | None:
    """Coefficients of a kernel that is a polynomial in u, or None.

    In dimension 1 the sphere is two points, on which every kernel is a + b u.

    Examples
    --------
    >>> from spectra.kernel import zonal
    >>> powers_of(zonal("((1 + u)/2)**2"), 16)
    [0.25, 0.5, 0.25]
    """
    if dim == 1:
        here, across = kernel(np.array([0.0, 2.0])).tolist()
        return [0.5 * (here + across), 0.5 * (here - across)]
    formula = kernel.zonal
    if formula is None or not formula.is_polynomial(U):
        return None
    return [float(a) for a in reversed(sympy.Poly(formula, U).all_coeffs())]


def exact_offers(order: Order) -> list[Offer] | str:
    """The exact polynomial map, or why there is none.

    Examples
    --------
    >>> from spectra.kernel import zonal
    >>> order = Order(zonal("((1 + u)/2)**2"), 16, 200, 2.0, np.ones(1))
    >>> [offer.columns for offer in exact_offers(order)]
    [153]
    """
    if not order.kernel.is_zonal:
        return "powers of <x, y> serve a formula in u"
    powers = powers_of(order.kernel, order.dim)
    if powers is None:
        return "the kernel is no polynomial in u"
    columns = monomial_columns(order.dim, powers)
    if columns > order.n_components:
        return f"needs {columns} columns"

    def draw(rng: np.random.Generator) -> ExactMap:
        chart = MonomialMap.of(order.dim, powers)
        return ExactMap(chart, chart.signature)

    return [Offer(f"exact polynomial of degree {len(powers) - 1}", columns, True, draw)]
