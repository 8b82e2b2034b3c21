r"""Features of a kernel of groups of columns made to order, term by term.

.. math:: k(D) = \sum_t c_t \prod_{g \in t} k_g(|D_g|)

Each k_g is served in the best way on the distances that its columns have.  The columns of a sum
stand side by side, those of a product are all products of a column of each factor, with the product
of their signs.  The error of a sum is at most the sum of the errors of its terms, in every norm,
and that is what is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast, final

import numpy as np
from numpy.typing import NDArray

from rf.dot_product.candidate import DrawnMap, MadeToOrder, Offer, dense
from rf.dot_product.comparison import SEED, SEEN_ROWS, mean_square, seen_error
from rf.dot_product.exact_powers import ExactMap
from rf.dot_product.problem import commission, made_to_order
from rf.feature_maps.monomials import MonomialMap
from rf.inputs.lengths import divided
from rf.inputs.rows import RowRange, centre_of, sample_of_rows
from rf.sampling.frequencies import Radii
from rf.schemes.feature_map import FeatureMap
from rf.variance.allocation import apportion
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectra.kernels.column_products import Factor, Product
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel

__all__ = ["GroupRanges", "TermsPlan", "plan_by_groups"]

# Columns with which every kernel of a group has features: a constant, a cosine and a sine.
_LEAST = 3
# A term whose error is this part of the kernel is served, and keeps the columns that it has.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class GroupRanges:
    """The rows that are served: up to a largest distance in the columns of each group.

    Attributes
    ----------
    ranges : tuple of (Factor, RowRange)
    """

    ranges: tuple[tuple[Factor, RowRange], ...]

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Refuse rows of which two are further apart in a group than is served.

        Raises
        ------
        DataError
            It names the group and the rows.
        """
        for factor, served in self.ranges:
            try:
                served.check(_rows_of(factor, X), at_any_distance=at_any_distance)
            except DataError as error:
                raise DataError(f"In {_named(factor)}: {error}") from error

    def check_between(self, X: Any, Y: Any) -> None:
        """Refuse a row of X and one of Y that are too far apart in a group.

        Raises
        ------
        DataError
            It names the group and the distance.
        """
        for factor, served in self.ranges:
            try:
                served.check_between(_rows_of(factor, X), _rows_of(factor, Y))
            except DataError as error:
                raise DataError(f"In {_named(factor)}: {error}") from error


@final
@dataclass(frozen=True, eq=False, repr=False)
class _ProductMap(DrawnMap):
    """All products of a column of each factor, at the rows of its group."""

    factors: tuple[tuple[Factor, DrawnMap], ...]
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        blocks = (made.columns(_rows_of(factor, X)) for factor, made in self.factors)
        return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), blocks)


@final
@dataclass(frozen=True, eq=False, repr=False)
class _SumMap(DrawnMap):
    """The columns of all terms, side by side."""

    terms: tuple[DrawnMap, ...]
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        return np.concatenate([term.columns(X) for term in self.terms], axis=1)


@final
@dataclass(frozen=True, eq=False)
class _MadeTerm:
    """A term with its features and the root mean square of their error on the data."""

    term: Product
    offer: Offer
    error: float


@final
@dataclass(frozen=True, eq=False)
class TermsPlan(MadeToOrder):
    """Features made to order for every term of a kernel of groups of columns.

    Attributes
    ----------
    made : tuple of _MadeTerm
    size : float
        Root mean square of the kernel over the pairs of rows.
    ranges : GroupRanges
        The distances that are served in each group.
    """

    made: tuple[_MadeTerm, ...]
    size: float
    ranges: GroupRanges
    coupling = "term by term"

    @property
    def error(self) -> float:
        """The sum of the errors of the terms, in parts of the kernel matrix: no sum errs by more.

        That of a term is seen on a sample of the rows.
        """
        return sum(made.error for made in self.made) / self.size

    def draw(self, n_columns: int, radii: Radii, rng: np.random.Generator) -> FeatureMap:
        drawn = tuple(made.offer.draw(rng) for made in self.made)
        return _SumMap(drawn, np.concatenate([term.signature for term in drawn]))

    def expected_error(self, radii: Radii, extra_variance: float) -> float:
        return self.error

    def explain(self) -> str:
        lines = [
            f"  {made.term}: {made.offer.columns} columns, error {made.error / self.size:.3g}"
            f"{'; ' if made.offer.detail else ''}{made.offer.detail}"
            for made in self.made
        ]
        head = f"The errors of the terms add up to {self.error:.3g} of the kernel matrix at most:"
        return "\n".join([head, *lines])


def plan_by_groups(
    kernel: GroupedKernel,
    X: Any,
    n_components: int,
    *,
    domain: float | Literal["data"] | None = "data",
    positive: bool = False,
) -> TermsPlan:
    """Features of least error for the data, with the columns split over the terms by their errors.

    Parameters
    ----------
    kernel : GroupedKernel
    X : ndarray or sparse array of shape (n_samples, d)
    n_components : int
    domain : "data" or None
        One largest distance has no meaning for several groups.
    positive : bool
        As for :func:`rf.dot_product.problem.made_to_order`.

    Raises
    ------
    ParameterError
        For a number as domain, too few columns, or a kernel that is 0 on the data.
    DataError
        Where rows lack a column.

    Examples
    --------
    >>> from spectra import radial
    >>> X = np.random.default_rng(0).uniform(size=(20, 3))
    >>> kernel = radial("exp(-z)").on([0, 1]) + radial("exp(-z**2)").on([2])
    >>> plan = plan_by_groups(kernel, X, 40)
    >>> sum(made.offer.columns for made in plan.made) <= 40, plan.error < 0.05
    (True, True)
    """
    if domain not in ("data", None):
        raise ParameterError(
            f"domain = {domain}: each group of columns of {kernel} has distances of its own. Give "
            "domain='data', which finds them."
        )
    kernel.checked(X.shape[1])
    rows = dense(sample_of_rows(X, np.random.default_rng(SEED), SEEN_ROWS))
    exact = kernel.gram(rows)
    size = float(np.sqrt(mean_square(exact**2, X.shape[0])))
    if size == 0.0:
        raise ParameterError(
            f"The kernel {kernel} is 0 everywhere on the data, so there is nothing to draw. Check "
            "the formula, and the units of the columns."
        )
    least = [_LEAST ** len(term.factors) for term in kernel.terms]
    if sum(least) > n_components:
        raise ParameterError(
            f"n_components = {n_components}: features of {kernel} made to order take at least "
            f"{sum(least)} columns, {_LEAST} for each kernel of a group, and all products of the "
            "columns of factors."
        )
    make = partial(_made_terms, kernel, X, rows, positive=positive)
    moving = np.array([float(bool(term.factors)) for term in kernel.terms])
    made = make(_split(least, moving, n_components))
    if moving.sum() > 1:
        # An error falls like a root of the columns where it is a variance, and faster elsewhere.
        weight = [m.error * np.sqrt(m.offer.columns) for m in made]
        served = [m.error <= _ROUNDING * size for m in made]
        kept = [m.offer.columns if s else n for m, s, n in zip(made, served, least, strict=True)]
        shares = np.where(served, 0.0, weight)
        again = make(_split(kept, shares, n_components))
        made = min(made, again, key=lambda terms: sum(m.error for m in terms))
    ranges = tuple((factor, _range_of(factor, X)) for factor in kernel.factors)
    return TermsPlan(made, size, GroupRanges(ranges))


def _split(least: Sequence[int], weights: FloatArray, n: int) -> list[int]:
    """Columns of each term: at least what it takes, and the others by weight."""
    left = n - sum(least)
    if left < len(least) or not weights.any():
        return list(least)
    more = apportion(weights, left)
    return [a + (b if w > 0.0 else 0) for a, b, w in zip(least, more, weights, strict=True)]


def _made_terms(
    kernel: GroupedKernel, X: Any, rows: FloatArray, counts: Sequence[int], *, positive: bool
) -> tuple[_MadeTerm, ...]:
    found = []
    for term, n in zip(kernel.terms, counts, strict=True):
        offer = _offer(term, X, n, positive=positive)
        exact = type(kernel)((term,), kernel.dim).gram(rows)
        size = float(np.sqrt(mean_square(exact**2, X.shape[0])))
        rng = np.random.default_rng(SEED)
        error = size * seen_error(offer, rows, exact, X.shape[0], rng) if size > 0.0 else 0.0
        found.append(_MadeTerm(term, offer, error))
    return tuple(found)


def _offer(term: Product, X: Any, n: int, *, positive: bool) -> Offer:
    """The features of a term, its weight in those of its first factor."""
    if not term.factors:
        constant = MonomialMap.of(X.shape[1], [term.weight])
        return Offer("a constant", 1, True, lambda rng: ExactMap(constant, constant.signature))
    # All products of the columns of m factors are at most n where each has n^(1/m).
    each = int(np.floor(n ** (1.0 / len(term.factors)) + 1e-9))
    selected = []
    for i, factor in enumerate(term.factors):
        radial = term.weight * factor.kernel if i == 0 else factor.kernel
        Xg = _rows_of(factor, X)
        order = commission(cast("Kernel", radial), Xg, domain="data", why="")
        selected.append((factor, made_to_order(order, Xg, each, positive=positive).offer))

    def draw(rng: np.random.Generator) -> DrawnMap:
        drawn = tuple((factor, offer.draw(rng)) for factor, offer in selected)
        signs = reduce(np.multiply.outer, (made.signature for _, made in drawn)).ravel()
        return _ProductMap(drawn, signs)

    detail = "; ".join(f"{offer.name}, {offer.detail or 'no bias'}" for _, offer in selected)
    columns = prod(offer.columns for _, offer in selected)
    return Offer("term by term", columns, False, draw, detail)


def _range_of(factor: Factor, X: Any) -> RowRange:
    Xg = _rows_of(factor, X)
    z_max = commission(cast("Kernel", factor.kernel), Xg, domain="data", why="").z_max
    return RowRange(z_max, "", centre_of(Xg))


def _rows_of(factor: Factor, X: Any) -> Any:
    return divided(X[:, list(factor.columns)], np.array(factor.lengths))


def _named(factor: Factor) -> str:
    return f"the columns {list(factor.columns)}, over their lengths"
