"""Designed plane waves, and exact low powers of <x, y> or z^2 with designed waves for the rest.

The measure is made for the number of columns by :func:`spectra.design`; all its
radii share one set of directions of least energy, turned by one random rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from rf.dot_product.candidate import DrawnMap, Offer, Order
from rf.dot_product.exact_powers import ExactMap, RadialMap
from rf.feature_maps.fourier_features import Rays, wave_columns
from rf.feature_maps.monomials import MonomialMap
from rf.sampling.designed_directions import (
    designed,
    designed_angular_means,
    designed_sizes,
    quick_angular_means,
)
from rf.sampling.directions import orthogonal
from spectra.base.arrays import FloatArray
from spectra.designs import Design, angular_means, design, power_columns

__all__ = ["WaveMap", "design_offers", "set_means"]

# Exact powers up to this degree are offered; each needs C(d + L, L) columns.
_MOST_EXACT = 4
# Exact powers may take up to this part of the columns: the rest must fall with the directions.
_MOST_SHARE = 0.6
# From this part of d (d + 2) directions, sets of least energy beat orthogonal blocks enough to be
# worth their minimisation: 9 % at P = 64 in dimension 16, 30 % at 144, 38 % at 288.
_WORTH = 1.0 / 6.0
# Sizes for which angular means are computed: all up to this one, and its doubles.  Designs of all
# degrees are ranked with the means of few sets.
_FREE_SIZE = 100
# Waves alone on more directions than this, whose set would cost half a second and more, are not
# offered where exact powers leave so much less (chosen, well above what a ranking errs by).
_CHEAP, _HOPELESS = 400, 4.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class WaveMap(DrawnMap):
    """Cosines and sines of all waves, then what is served exactly.

    Attributes
    ----------
    rays : Rays
        All radii on one set of directions.
    scale : ndarray of shape (n,)
        Root of the weight of each wave.
    exact : DrawnMap
        A constant, and powers of <x, y> or of z^2.
    signature : ndarray
    """

    rays: Rays
    scale: FloatArray
    exact: DrawnMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        waves = wave_columns(X, self.rays.frequencies, self.scale, rays=self.rays)
        if not self.exact.signature.size:
            return waves
        return np.concatenate([waves, self.exact.columns(X)], axis=1)


def design_offers(order: Order) -> list[Offer] | str:
    """Designs without and with exact powers, where the columns suffice.

    Examples
    --------
    >>> from spectra.kernels.kernel import zonal
    >>> order = Order(zonal("exp(u)"), 5, 60, 2.0, np.linspace(0.0, 2.0, 50))
    >>> [offer.name for offer in design_offers(order)]
    ['designed waves', 'exact powers to degree 1 + designed waves']
    """
    if order.n_components < 3:
        return "needs at least 3 columns"
    plain = _design(order, 0)
    trials = [
        _design(order, degree)
        for degree in range(1, _MOST_EXACT + 1)
        if power_columns(order.kernel, order.dim, degree) <= _MOST_SHARE * order.n_components
    ]
    best = min(trials, key=lambda d: d.expected_error, default=plain)
    offers = []
    hopeless = plain.expected_error > _HOPELESS * best.expected_error
    if plain.n_directions <= _CHEAP or not hopeless:
        offers.append(_offer(order, plain, "designed waves"))
    if trials:
        name = f"exact powers to degree {best.powers.size} + designed waves"
        offers.append(_offer(order, best, name))
    return offers


def given_design(made: Design, order: Order) -> list[Offer] | str:
    """A design that is made already, where the columns suffice."""
    if made.columns > order.n_components:
        return f"needs {made.columns} columns"
    return [_offer(order, made, "the given design")]


def _design(order: Order, degree: int) -> Design:
    return design(
        order.kernel,
        order.dim,
        (0.0, order.z_max),
        n_components=order.n_components,
        distances=order.distances,
        angular_means=_means_for_ranking(order.dim),
        exact_degree=degree,
        positive=order.positive,
    )


@cache
def _means_for_ranking(dim: int) -> Callable[[int], FloatArray]:
    """One function for a dimension, by which designs that were made before are known."""
    return partial(_ranking_means, dim)


def _ranking_means(dim: int, n: int) -> FloatArray:
    """Angular means of about n directions: those of a set that is the next smaller on the ladder.

    What a set leaves of a degree that it does not integrate exactly falls like 1/n.
    """
    if n <= _FREE_SIZE:
        return set_means(n, dim)
    rung = _FREE_SIZE * 2 ** int(np.log2(n / _FREE_SIZE))
    means: FloatArray = _rung_means(rung, dim) * (rung / n)
    means[0] = 1.0
    return means


@lru_cache(maxsize=64)
def _rung_means(rung: int, dim: int) -> FloatArray:
    if _scheme(rung, dim) is orthogonal:
        return angular_means(dim, rung)
    return quick_angular_means(rung, dim)


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
        return angular_means(dim, n)
    sizes = designed_sizes(n)
    parts = [np.square(s / n) * designed_angular_means(s, dim) for s in sizes]
    # Independent sets add up: what is not of the mean has mean 0 between them.
    means: FloatArray = np.sum(parts, axis=0)
    means[0] = 1.0
    return means


def _offer(order: Order, made: Design, name: str) -> Offer:
    sup = made.sup_error.mid + made.sup_error.rad
    waves = made.radii > 0.0
    radii, exact = int(np.count_nonzero(waves)), _exact_part(made, order.centre)
    return Offer(
        name,
        2 * radii * made.n_directions + exact.signature.size,
        False,
        partial(_draw, made, exact),
        f"{radii} radi{'us' if radii == 1 else 'i'} on {made.n_directions} directions, bias at "
        f"most {sup:.2g} up to z = {order.z_max:.4g}, mass {np.abs(made.masses[waves]).sum():.3g}",
    )


def _exact_part(made: Design, centre: FloatArray | None) -> DrawnMap:
    """The constant and the powers of u of a design."""
    constant = float(made.masses[made.radii == 0.0].sum())
    powers = [constant, *made.powers.tolist()]
    if made.kernel.is_zonal or not made.powers.size:
        monomials = MonomialMap.of(made.dim, powers)
        return ExactMap(monomials, monomials.signature)
    of_square: list[float] = Polynomial(powers)(Polynomial([1.0, -0.5])).coef.tolist()
    of_distance = [a / made.unit ** (2 * p) for p, a in enumerate(of_square)]
    middle = np.zeros(made.dim) if centre is None else centre
    return RadialMap.of(of_distance, middle, made.domain[1])


def _draw(made: Design, exact: DrawnMap, rng: np.random.Generator) -> WaveMap:
    n, dim = made.n_directions, made.dim
    directions = _scheme(n, dim)(n, dim, rng)
    at = made.radii > 0.0
    weights = np.repeat(made.masses[at] / n, n)
    sign = np.where(weights < 0.0, -1.0, 1.0)
    signature = np.concatenate([sign, sign, exact.signature])
    return WaveMap(Rays(directions, made.radii[at]), np.sqrt(sign * weights), exact, signature)
