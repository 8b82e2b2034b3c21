"""Designed plane waves, and exact low powers of <x, y> with designed waves for the rest.

The measure is made for the number of columns by :func:`spectra.designs.design_for_budget`; all its
radii share one set of directions of least energy, turned by one random rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from rf.designed_directions import designed, designed_angular_means, designed_sizes
from rf.directions import orthogonal
from rf.monomials import MonomialMap
from rf.portfolio.offer import DrawnMap, Offer, Order, monomial_part
from rf.waves import Rays, wave_columns
from spectra.designs import BudgetDesign, design_for_budget
from spectra.designs.budget import block_angular_means, monomial_count

__all__ = ["WaveMap", "design_offers", "set_means"]

FloatArray = NDArray[np.float64]

# Exact powers up to this degree are offered; each needs C(d + L, L) columns.
_MOST_EXACT = 4
# Exact powers may take up to this part of the columns: the rest must fall with the directions.
_MOST_SHARE = 0.6
# From this part of d (d + 2) directions, sets of least energy beat orthogonal blocks enough to be
# worth their minimisation: 9 % at P = 64 in dimension 16, 30 % at 144, 38 % at 288.
_WORTH = 1.0 / 6.0
# Sizes for which angular means are computed, as powers of this ratio: designs of all degrees are
# ranked with the means of few sets, and the last one made with its own.
_LADDER = 2.0**0.5
_FREE_SIZE = 100


@final
@dataclass(frozen=True, eq=False)
class WaveMap(DrawnMap):
    """Cosines and sines of all waves, then constants and monomials.

    Attributes
    ----------
    rays : Rays
        All radii on one set of directions.
    scale : ndarray of shape (n,)
        Root of the weight of each wave.
    monomials : MonomialMap
    signature : ndarray
    """

    rays: Rays
    scale: FloatArray
    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        waves = wave_columns(X, self.rays.frequencies, self.scale, rays=self.rays)
        if not self.monomials.kept:
            return waves
        return np.concatenate([waves, monomial_part(self.monomials, X)], axis=1)


def design_offers(order: Order) -> list[Offer] | str:
    """Designs without and with exact powers, where the columns suffice.

    Examples
    --------
    >>> from spectra.kernel import zonal
    >>> order = Order(zonal("exp(u)"), 5, 60, 2.0, np.linspace(0.0, 2.0, 50))
    >>> [offer.name for offer in design_offers(order)]
    ['designed waves', 'exact powers to degree 1 + designed waves']
    """
    if order.n_components < 3:
        return "needs at least 3 columns"
    plain = _design(order, 0)
    offers = [_offer(order, plain, "designed waves")]
    if not order.kernel.is_zonal:
        return offers
    trials = [
        _design(order, degree)
        for degree in range(1, _MOST_EXACT + 1)
        if monomial_count(order.dim, degree) <= _MOST_SHARE * order.n_components
    ]
    if trials:
        best = min(trials, key=lambda d: d.expected_error)
        name = f"exact powers to degree {best.powers.size} + designed waves"
        offers.append(_offer(order, best, name))
    return offers


def given_design(made: BudgetDesign, order: Order) -> list[Offer] | str:
    """A design that is made already, where the columns suffice."""
    if made.columns > order.n_components:
        return f"needs {made.columns} columns"
    return [_offer(order, made, "the given design")]


def _design(order: Order, degree: int) -> BudgetDesign:
    return design_for_budget(
        order.kernel,
        order.dim,
        budget=order.n_components,
        domain=(0.0, order.z_max),
        distances=order.distances,
        angular_means=partial(_ranking_means, order.dim),
        exact_degree=degree,
        positive=order.positive,
    )


def _ranking_means(dim: int, n: int) -> FloatArray:
    """Angular means of about n directions: those of the next smaller set on the ladder.

    What a set leaves of a degree that it does not integrate exactly falls like 1/n.
    """
    rung = n
    if n > _FREE_SIZE:
        steps = int(np.log(n / _FREE_SIZE) / np.log(_LADDER) + 1e-9)
        rung = int(_FREE_SIZE * _LADDER**steps)
    means = set_means(rung, dim) * (rung / n)
    means[0] = 1.0
    return means


def _scheme(n: int, dim: int) -> Callable[[int, int, np.random.Generator], FloatArray]:
    return designed if dim > 1 and n >= _WORTH * dim * (dim + 2) else orthogonal


@lru_cache(maxsize=256)
def set_means(n: int, dim: int) -> FloatArray:
    """S_0, S_2, ... of the n directions that a design gets: of least energy, or blocks if few.

    Examples
    --------
    >>> bool(set_means(24, 3)[1] < 1e-3)
    True
    """
    if _scheme(n, dim) is orthogonal:
        return block_angular_means(dim, n)
    sizes = designed_sizes(n)
    parts = [np.square(s / n) * designed_angular_means(s, dim) for s in sizes]
    # Independent sets add up: what is not of the mean has mean 0 between them.
    means: FloatArray = np.sum(parts, axis=0)
    means[0] = 1.0
    return means


def _offer(order: Order, made: BudgetDesign, name: str) -> Offer:
    radii = int(np.count_nonzero(made.radii))
    sup = made.sup_error.mid + made.sup_error.rad
    waves = made.radii > 0.0
    return Offer(
        name,
        made.columns,
        False,
        partial(_draw, made),
        f"{radii} radi{'us' if radii == 1 else 'i'} on {made.n_directions} directions, bias at "
        f"most {sup:.2g} up to z = {order.z_max:.4g}, mass {np.abs(made.masses[waves]).sum():.3g}",
    )


def _draw(made: BudgetDesign, rng: np.random.Generator) -> WaveMap:
    n, dim = made.n_directions, made.dim
    directions = _scheme(n, dim)(n, dim, rng)
    at = np.flatnonzero(made.radii > 0.0)
    radii, masses = made.radii[at], made.masses[at]
    constant = float(made.masses[made.radii == 0.0].sum())
    return _map(
        Rays(directions, radii),
        np.repeat(masses / n, n),
        MonomialMap.of(dim, [constant, *made.powers.tolist()]),
    )


def _map(rays: Rays, weights: FloatArray, monomials: MonomialMap) -> WaveMap:
    sign = np.where(weights < 0.0, -1.0, 1.0)
    return WaveMap(
        rays,
        np.sqrt(sign * weights),
        monomials,
        np.concatenate([sign, sign, monomials.signature]),
    )
