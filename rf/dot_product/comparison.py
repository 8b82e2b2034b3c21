"""Every way to serve a kernel on the data, compared by its error, and the best one drawn.

The error of an offer is not a bound but what is seen: it is drawn a few times, and its kernel
matrix compared with the exact one on a sample of the data.  Bias, variance and rounding are all in
it, for every member alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from rf.dot_product.candidate import DrawnMap, MadeToOrder, Member, Offer, Order, dense
from rf.dot_product.designed_waves import design_offers
from rf.dot_product.exact_powers import exact_offers
from rf.dot_product.neurons import neuron_offers
from rf.dot_product.zonal_features import gegenbauer_offers
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from rf.sampling.frequencies import Radii

__all__ = [
    "PORTFOLIO",
    "SEED",
    "SEEN_ROWS",
    "Prediction",
    "Selection",
    "mean_square",
    "seen_error",
    "select",
]

#: The members by name, first come first served on ties.
PORTFOLIO: Mapping[str, Member] = MappingProxyType(
    {
        "exact polynomial": exact_offers,
        "designed waves": design_offers,
        "steps and ramps": neuron_offers,
        "Gegenbauer features": gegenbauer_offers,
    }
)

#: Rows on which offers are compared: 130 816 pairs.
SEEN_ROWS = 512
# Draws of each offer; the errors of two draws differ by some ten percent.
_DRAWS = 4
# An error below this part of the exact matrix is rounding, which no other way improves.
_ROUNDING = 1e-12
#: The comparison is the same for every random_state.
SEED = 20_240_301


@final
@dataclass(frozen=True)
class Prediction:
    """What one way to serve the kernel would cost and give.

    Attributes
    ----------
    name : str
    columns : int or None
        None where the way is closed; ``detail`` says why.
    error : float
        Expected relative error of the kernel matrix in the Frobenius norm, nan where closed.
    detail : str
    """

    name: str
    columns: int | None
    error: float
    detail: str


@final
@dataclass(frozen=True, eq=False)
class Selection(MadeToOrder):
    """The offer that was chosen, and the comparison that chose it.

    Attributes
    ----------
    offer : Offer
    comparison : tuple of Prediction
        All of them, the chosen one first, closed ways last.
    z_max : float
        Largest distance that is served.
    """

    offer: Offer
    comparison: tuple[Prediction, ...]
    z_max: float

    @property
    def chosen(self) -> Prediction:
        """What was chosen."""
        return self.comparison[0]

    @property
    def coupling(self) -> str:  # type: ignore[override]
        """Its name."""
        return self.chosen.name

    @property
    def everywhere(self) -> bool:
        """Whether the features serve the whole sphere, not only distances up to z_max."""
        return self.offer.everywhere

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> DrawnMap:
        return self.offer.draw(rng)

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        return self.chosen.error

    def explain(self) -> str:
        """The comparison as a table in plain text."""
        lines = ["  error     columns  method"]
        for p in self.comparison:
            mark = "*" if p is self.chosen else " "
            error = "closed" if p.columns is None else f"{p.error:.3g}"
            columns = "" if p.columns is None else str(p.columns)
            lines.append(f"{mark} {error:<9} {columns:>7}  {p.name}: {p.detail or 'no bias'}")
        return "\n".join(lines)


def select(
    order: Order,
    rows: Any,
    *,
    n_rows: int,
    members: Mapping[str, Member] = PORTFOLIO,
) -> Selection:
    """Ask all members, predict the error of every offer on sampled rows, and choose the best one.

    What is chosen depends on the order and the rows alone.

    Parameters
    ----------
    order : Order
    rows : ndarray or sparse array of shape (m, d)
        A sample of the data; at most 512 of them are used.
    n_rows : int
        Rows of the data, of which the diagonal is one part in n_rows.

    Raises
    ------
    ParameterError
        Where no member has an offer; the message holds every reason.

    Examples
    --------
    >>> from spectra.kernels.kernel import zonal
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> order = Order(zonal("(1 + u)/2"), 3, 20, 2.0, np.linspace(0.0, 2.0, 50))
    >>> made = select(order, X, n_rows=50)
    >>> made.chosen.name, made.chosen.columns
    ('exact polynomial of degree 1', 4)
    """
    rows = np.asarray(dense(rows[:SEEN_ROWS]), dtype=float)
    best, comparison = _compare(order, rows, n_rows, members)
    return Selection(best, comparison, 2.0 if best.everywhere else order.z_max)


def _compare(
    order: Order, rows: FloatArray, n_rows: int, members: Mapping[str, Member]
) -> tuple[Offer, tuple[Prediction, ...]]:
    """The best offer, and all predictions with its own first."""
    exact = order.kernel.gram(rows)
    if not np.any(exact):
        raise ParameterError(
            f"The kernel {order.kernel} is 0 everywhere on the data, so there is nothing to draw. "
            "Check the formula, and the unit of the distances."
        )
    rng = np.random.default_rng(SEED)
    offers: list[tuple[Offer, Prediction]] = []
    closed = []
    for title, member in members.items():
        if offers and offers[0][1].error <= _ROUNDING:
            answer: list[Offer] | str = "not compared, since nothing is closer than rounding"
        else:
            answer = member(order)
        if isinstance(answer, str):
            closed.append(Prediction(title, None, float("nan"), answer))
            continue
        for offer in answer:
            if order.positive and np.any(offer.draw(rng).signature < 0):
                closed.append(
                    Prediction(offer.name, None, float("nan"), "has columns of signature -1")
                )
                continue
            error = seen_error(offer, rows, exact, n_rows, rng)
            offers.append((offer, Prediction(offer.name, offer.columns, error, offer.detail)))
    if not offers:
        reasons = "; ".join(f"{p.name}: {p.detail}" for p in closed)
        raise ParameterError(
            f"No features of {order.kernel} fit n_components = {order.n_components} in dimension "
            f"{order.dim} ({reasons}). Allow more columns."
        )
    offers.sort(key=lambda pair: pair[1].error)
    return offers[0][0], (*(prediction for _, prediction in offers), *closed)


def seen_error(
    offer: Offer, rows: FloatArray, exact: FloatArray, n_rows: int, rng: np.random.Generator
) -> float:
    """Relative error of a kernel matrix of n_rows, from drawn ones on a sample of the rows."""
    square, size = mean_square(exact**2, n_rows), 0.0
    for _ in range(_DRAWS):
        drawn = offer.draw(rng)
        Z = drawn.columns(rows)
        size += mean_square(((Z * drawn.signature) @ Z.T - exact) ** 2, n_rows) / _DRAWS
    return float(np.sqrt(size / square))


def mean_square(squares: FloatArray, n_rows: int) -> float:
    """Mean over all pairs of n_rows, of which the diagonal is one part in n_rows."""
    m = len(squares)
    diagonal = float(np.trace(squares))
    if m == 1:
        return diagonal
    off = (float(squares.sum()) - diagonal) / (m * (m - 1))
    return off * (1.0 - 1.0 / n_rows) + diagonal / m / n_rows
