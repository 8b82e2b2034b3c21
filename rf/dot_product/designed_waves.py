"""Designed plane waves, and exact low powers of <x, y> or z^2 with designed waves for the rest.

:func:`spectra.design` makes the measure for the number of columns; all its radii share one set of
directions of least energy, rotated at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, DrawnMap, unavailable
from rf.dot_product.exact_powers import ExactMap, RadialMap
from rf.dot_product.problem import Problem
from rf.feature_maps.fourier_features import Rays, fourier_columns
from rf.feature_maps.monomials import MonomialMap
from rf.inputs.rows import FITTING_ADVICE
from rf.inputs.tables import Spectrum, layout_of
from rf.sampling.coupling import orthogonal
from rf.sampling.designed_directions import (
    balanced_sizes,
    designed,
    designed_angular_means,
    quick_angular_means,
)
from spectra.base.arrays import FloatArray
from spectra.base.limits import staged
from spectra.designs import (
    Coupling,
    Design,
    angular_means,
    checked_distances,
    design,
    design_for_columns,
    power_columns,
)

__all__ = ["WaveMap", "design_candidates", "designed_spectrum", "set_means"]

# The coupling that a design is made for, by the coupling of the features: one radius if directions
# form orthogonal blocks within a part, up to three if all parts share one set of directions.
_DESIGNED_FOR: dict[str, Coupling] = {
    "orthogonal": "orthogonal",
    "designed": "orthogonal",
    "kerdock": "orthogonal",
    "shared": "shared",
}
# Exact powers are tried up to this degree; each needs C(d + L, L) columns.
_MOST_EXACT = 4
# Exact powers may take up to this part of the columns: the rest must fall with the directions.
_MOST_SHARE = 0.6
# From this part of d (d + 2) directions on, sets of least energy are so much better than orthogonal
# blocks that their minimisation pays: 9 % at P = 64 in dimension 16, 30 % at 144, 38 % at 288.
_WORTH = 1.0 / 6.0
# Angular means are computed for all sizes up to this one, and for its multiples by powers of 2; for
# other sizes they are scaled.
_FREE_SIZE = 100
# Waves without exact powers on more directions than this, whose set costs half a second or more,
# are dropped if exact powers have an error smaller by this factor (far above ranking errors).
_FEW_DIRECTIONS, _HOPELESS = 400, 4.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class WaveMap(DrawnMap):
    """Cosines and sines of all waves, then the columns of the exact part.

    ``rays``: all radii on one set of directions; ``scale`` (n,): root of the weight of each wave;
    ``exact``: a constant, and powers of <x, y> or of z^2.
    """

    rays: Rays
    scale: FloatArray
    exact: DrawnMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        waves = fourier_columns(X, self.rays.frequencies, self.scale, rays=self.rays)
        if not self.exact.signature.size:
            return waves
        return np.concatenate([waves, self.exact.columns(X)], axis=1)


def design_candidates(problem: Problem) -> list[Candidate]:
    """Designs without and with exact powers, or the given design, if the columns suffice."""
    name, most = "designed waves", problem.n_components
    if problem.given is not None:
        made, name = problem.given, "the given design"
        if made.columns > most:
            return unavailable(name, f"needs {made.columns} columns")
        return [_candidate(problem, made, name)]
    if most < 3:
        return unavailable(name, "needs at least 3 columns")
    plain = _design(problem, 0)
    trials = [
        _design(problem, degree)
        for degree in range(1, _MOST_EXACT + 1)
        if power_columns(problem.kernel, problem.dim, degree) <= _MOST_SHARE * most
    ]
    best = min(trials, key=lambda d: d.expected_error, default=plain)
    found = []
    hopeless = plain.expected_error > _HOPELESS * best.expected_error
    if plain.n_directions <= _FEW_DIRECTIONS or not hopeless:
        found.append(_candidate(problem, plain, name))
    if trials:
        name = f"exact powers to degree {best.powers.size} + designed waves"
        found.append(_candidate(problem, best, name))
    return found


@staged("designing a table", advice=FITTING_ADVICE)
def designed_spectrum(problem: Problem, coupling: str) -> Spectrum:
    """The table of a design for a named coupling, and its layout if its masses may cancel.

    Masses cancel only with the directions that they were designed for: orthogonal blocks of one
    radius and a constant, or the same directions for all radii.  For other couplings the design
    assumes independent directions, with any split.
    """
    made = design(
        problem.kernel,
        problem.dim,
        (0.0, problem.z_max),
        n_components=problem.n_components,
        coupling=_DESIGNED_FOR.get(coupling, "iid"),
        distances=problem.distances,
    )
    if coupling not in _DESIGNED_FOR:
        return Spectrum(made.table, problem.kernel)
    return Spectrum(made.table, problem.kernel, replace(layout_of(made), coupling=coupling))


def _design(problem: Problem, degree: int) -> Design:
    return design_for_columns(
        problem.kernel,
        problem.dim,
        *checked_distances(problem.kernel, (0.0, problem.z_max), problem.distances),
        n_components=problem.n_components,
        angular_means=_means_for_ranking(problem.dim),
        exact_degree=degree,
        positive=problem.positive,
    )


@cache
def _means_for_ranking(dim: int) -> Callable[[int], FloatArray]:
    """The same function object for a dimension, so that lru_cache finds earlier designs."""
    return partial(_ranking_means, dim)


def _ranking_means(dim: int, n: int) -> FloatArray:
    """Angular means of n directions, scaled from those of the next smaller computed size.

    The mean of a degree that a set does not integrate exactly falls like 1/n.
    """
    if n <= _FREE_SIZE:
        return set_means(n, dim)
    size = _FREE_SIZE * 2 ** int(np.log2(n / _FREE_SIZE))
    means: FloatArray = _computed_means(size, dim) * (size / n)
    means[0] = 1.0
    return means


@lru_cache(maxsize=64)
def _computed_means(size: int, dim: int) -> FloatArray:
    if _direction_sampler(size, dim) is orthogonal:
        return angular_means(dim, size)
    return quick_angular_means(size, dim)


def _direction_sampler(n: int, dim: int) -> Callable[[int, int, np.random.Generator], FloatArray]:
    return designed if dim > 1 and n >= _WORTH * dim * (dim + 2) else orthogonal


@lru_cache(maxsize=256)
def set_means(n: int, dim: int) -> FloatArray:
    """S_0, S_2, ... of the n directions that a design gets: of least energy, or blocks if few."""
    if _direction_sampler(n, dim) is orthogonal:
        return angular_means(dim, n)
    sizes = balanced_sizes(n)
    parts = [np.square(s / n) * designed_angular_means(s, dim) for s in sizes]
    # Sets are independent: the terms between two of them have mean 0.
    means: FloatArray = np.sum(parts, axis=0)
    means[0] = 1.0
    return means


def _candidate(problem: Problem, made: Design, name: str) -> Candidate:
    sup = made.sup_error.mid + made.sup_error.rad
    waves = made.radii > 0.0
    radii, exact = int(np.count_nonzero(waves)), _exact_part(made, np.array(problem.centre))
    columns = 2 * radii * made.n_directions + exact.signature.size
    detail = (
        f"{radii} radi{'us' if radii == 1 else 'i'} on {made.n_directions} directions, bias at "
        f"most {sup:.2g} up to z = {problem.z_max:.4g}, mass {np.abs(made.masses[waves]).sum():.3g}"
    )
    return Candidate(name, columns, detail, partial(_draw, made, exact))


def _exact_part(made: Design, centre: FloatArray) -> DrawnMap:
    """The constant and the powers of u of a design."""
    constant = float(made.masses[made.radii == 0.0].sum())
    powers = [constant, *made.powers.tolist()]
    if made.kernel.is_zonal or not made.powers.size:
        monomials = MonomialMap.of(made.dim, powers)
        return ExactMap(monomials, monomials.signature)
    of_square: list[float] = Polynomial(powers)(Polynomial([1.0, -0.5])).coef.tolist()
    of_distance = [a / made.unit ** (2 * p) for p, a in enumerate(of_square)]
    return RadialMap.of(of_distance, centre, made.domain[1])


def _draw(made: Design, exact: DrawnMap, rng: np.random.Generator) -> WaveMap:
    n, dim = made.n_directions, made.dim
    directions = _direction_sampler(n, dim)(n, dim, rng)
    at = made.radii > 0.0
    weights = np.repeat(made.masses[at] / n, n)
    sign = np.where(weights < 0.0, -1.0, 1.0)
    signature = np.concatenate([sign, sign, exact.signature])
    return WaveMap(Rays(directions, made.radii[at]), np.sqrt(sign * weights), exact, signature)
