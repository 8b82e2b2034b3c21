"""Designed plane waves, with or without exact features of the low powers of <x, y> or z^2.

A design is a measure with few radii whose error for a number of columns is smallest
(:func:`spectra.design`).  All radii share one set of directions, rotated at random: a set of least
pairwise energy (:mod:`rf.sampling.designed_directions`), or orthogonal blocks for few directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from rf.dot_product.candidate import Candidate, SymmetricMap, not_applicable
from rf.dot_product.exact_powers import MonomialFeatureMap, RadialPolynomialMap
from rf.dot_product.problem import Problem
from rf.feature_maps.fourier_features import Rays, fourier_columns
from rf.feature_maps.monomials import MonomialMap
from rf.inputs.rows import FITTING_ADVICE
from rf.inputs.tables import Spectrum, counts_of_design
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

__all__ = ["DesignMap", "design_candidates", "designed_spectrum"]

# The coupling that a design assumes, by that of the features; "iid" for all others.  Designs
# for "orthogonal" have one radius, those for "shared" up to three radii with the same directions.
_DESIGN_COUPLING: dict[str, Coupling] = {
    "orthogonal": "orthogonal",
    "designed": "orthogonal",
    "kerdock": "orthogonal",
    "shared": "shared",
}
# Largest degree L of exact powers; on the sphere degree L needs C(d + L, L) columns or fewer.
_MAX_DEGREE = 4
# Largest share of the columns for exact powers; the others must suffice for enough directions.
_MAX_SHARE = 0.6
# The energy of at least this times d (d + 2) directions is minimised.  For the NTK in dimension 16,
# the error is 5 % less than with orthogonal blocks for 64 directions, 35 % for 144, 65 % for 288.
_WORTHWHILE = 1.0 / 6.0
# Angular means are computed for every number of directions up to this one, and beyond for this
# number times a power of 2; the others are scaled.
_MAX_UNSCALED_SIZE = 100
# Minimising the energy of more than 400 directions takes half a second or more.  A design without
# exact powers that needs it is omitted if they reduce the predicted error by a factor over 4.
_FEW_DIRECTIONS, _MUCH_WORSE = 400, 4.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class DesignMap(SymmetricMap):
    """The features of a design: cosines and sines, then the columns of the exact powers.

    ``rays``: the frequencies, each radius times each direction; ``scale`` (n,): square root of the
    weight of each frequency; ``exact``: map of a constant and powers of <x, y> or of z^2.
    """

    rays: Rays
    scale: FloatArray
    exact: SymmetricMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        cosines_and_sines = fourier_columns(X, self.rays.frequencies, self.scale, rays=self.rays)
        if not self.exact.signature.size:
            return cosines_and_sines
        return np.concatenate([cosines_and_sines, self.exact.columns(X)], axis=1)


def design_candidates(problem: Problem) -> list[Candidate]:
    """A design without exact powers and the best one with them, or only the given design."""
    name, max_columns, given = "designed waves", problem.n_components, problem.given_design
    if given is not None:
        if given.columns > max_columns:
            return not_applicable("the given design", f"needs {given.columns} columns")
        return [_candidate(problem, given, "the given design")]
    if max_columns < 3:
        return not_applicable(name, "needs at least 3 columns")
    plain = _design(problem, 0)
    with_powers = [
        _design(problem, degree)
        for degree in range(1, _MAX_DEGREE + 1)
        if power_columns(problem.kernel, problem.dim, degree) <= _MAX_SHARE * max_columns
    ]
    best = min(with_powers, key=lambda d: d.expected_error, default=plain)
    candidates = []
    much_worse = plain.expected_error > _MUCH_WORSE * best.expected_error
    if plain.n_directions <= _FEW_DIRECTIONS or not much_worse:
        candidates.append(_candidate(problem, plain, name))
    if with_powers:
        name = f"exact powers to degree {best.powers.size} + designed waves"
        candidates.append(_candidate(problem, best, name))
    return candidates


@staged("designing a table", advice=FITTING_ADVICE)
def designed_spectrum(problem: Problem, coupling: str) -> Spectrum:
    """The table of a design for a coupling that the user chose."""
    solution = design(
        problem.kernel,
        problem.dim,
        (0.0, problem.z_max),
        n_components=problem.n_components,
        coupling=_DESIGN_COUPLING.get(coupling, "iid"),
        distances=problem.distances,
    )
    if coupling not in _DESIGN_COUPLING:
        return Spectrum(solution.table, problem.kernel)
    # Large masses cancel only with the coupling and numbers of directions that the design assumes.
    counts = replace(counts_of_design(solution), coupling=coupling)
    return Spectrum(solution.table, problem.kernel, counts)


def _design(problem: Problem, degree: int) -> Design:
    return design_for_columns(
        problem.kernel,
        problem.dim,
        *checked_distances(problem.kernel, (0.0, problem.z_max), problem.distances),
        n_components=problem.n_components,
        angular_means=_angular_means_in(problem.dim),
        exact_degree=degree,
        positive=problem.positive,
    )


@cache
def _angular_means_in(dim: int) -> Callable[[int], FloatArray]:
    """The function n -> angular means; one object for each dimension, as the design cache needs."""
    return partial(_approximate_angular_means, dim)


def _approximate_angular_means(dim: int, n: int) -> FloatArray:
    """Angular means of n directions: for n > 100 those of a smaller set, scaled like 1/n."""
    if n <= _MAX_UNSCALED_SIZE:
        return _angular_means(n, dim)
    size = _MAX_UNSCALED_SIZE * 2 ** int(np.log2(n / _MAX_UNSCALED_SIZE))
    means: FloatArray = _quick_angular_means(size, dim) * (size / n)
    means[0] = 1.0
    return means


@lru_cache(maxsize=64)
def _quick_angular_means(size: int, dim: int) -> FloatArray:
    if _direction_sampler(size, dim) is orthogonal:
        return angular_means(dim, size)
    return quick_angular_means(size, dim)


def _direction_sampler(n: int, dim: int) -> Callable[[int, int, np.random.Generator], FloatArray]:
    return designed if dim > 1 and n >= _WORTHWHILE * dim * (dim + 2) else orthogonal


@lru_cache(maxsize=256)
def _angular_means(n: int, dim: int) -> FloatArray:
    """S_0, S_2, ... of the n directions that are drawn: means of P_m(s.t) over all n^2 pairs.

    P_m is the Gegenbauer polynomial with P_m(1) = 1.
    """
    if _direction_sampler(n, dim) is orthogonal:
        return angular_means(dim, n)
    sizes = balanced_sizes(n)
    within_sets = [np.square(size / n) * designed_angular_means(size, dim) for size in sizes]
    # The sets are rotated independently, so the mean over pairs from two sets is 0.
    means: FloatArray = np.sum(within_sets, axis=0)
    means[0] = 1.0
    return means


def _candidate(problem: Problem, solution: Design, name: str) -> Candidate:
    bias = solution.sup_error.mid + solution.sup_error.rad
    positive = solution.radii > 0.0
    mass = np.abs(solution.masses[positive]).sum()
    n_radii, exact = int(np.count_nonzero(positive)), _exact_map(solution, np.array(problem.centre))
    columns = 2 * n_radii * solution.n_directions + exact.signature.size
    detail = (
        f"{n_radii} radi{'us' if n_radii == 1 else 'i'} on {solution.n_directions} directions, "
        f"bias at most {bias:.2g} up to z = {problem.z_max:.4g}, mass {mass:.3g}"
    )
    return Candidate(name, columns, detail, partial(_draw, solution, exact))


def _exact_map(solution: Design, centre: FloatArray) -> SymmetricMap:
    """The exact features of the constant and the powers of u of a design."""
    constant = float(solution.masses[solution.radii == 0.0].sum())
    powers = [constant, *solution.powers.tolist()]
    if solution.kernel.is_zonal or not solution.powers.size:
        monomials = MonomialMap.of(solution.dim, powers)
        return MonomialFeatureMap(monomials, monomials.signature)
    # Off the sphere u = 1 - (z/unit)^2/2.
    in_units: list[float] = Polynomial(powers)(Polynomial([1.0, -0.5])).coef.tolist()
    coefficients = [a / solution.unit ** (2 * p) for p, a in enumerate(in_units)]
    return RadialPolynomialMap.of(coefficients, centre, solution.domain[1])


def _draw(solution: Design, exact: SymmetricMap, rng: np.random.Generator) -> DesignMap:
    n, dim = solution.n_directions, solution.dim
    directions = _direction_sampler(n, dim)(n, dim, rng)
    positive = solution.radii > 0.0
    weights = np.repeat(solution.masses[positive] / n, n)
    sign = np.where(weights < 0.0, -1.0, 1.0)
    signature = np.concatenate([sign, sign, exact.signature])
    rays = Rays(directions, solution.radii[positive])
    return DesignMap(rays, np.sqrt(sign * weights), exact, signature)
