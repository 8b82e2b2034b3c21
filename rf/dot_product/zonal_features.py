r"""Random features of the sphere from the Gegenbauer coefficients, with the phases of a plane wave.

With :math:`k(u) = \sum_n \lambda_n N(n,d) P_n(u)` and uniform directions s, any signs e_n give

.. math:: g(t) = \sum_n e_n \sqrt{|\lambda_n|}\,N(n,d)\,P_n(t), \qquad
          E\,g(x \cdot s)\,g(y \cdot s) = \sum_n |\lambda_n| N(n,d) P_n(u),

and the signs decide the variance: all +1 make g a peak of height sum sqrt|lambda_n| N, and the
signs +, +, -, - of the real and imaginary parts of i^n, those of a plane wave, keep it flat (a step
and a ramp have them too).  Even and odd degrees go into columns of their own, as cosines and sines
do, so that products of the two, which only add variance, do not occur; so do degrees of different
sign of lambda_n, for the signature.  Monomials can represent the lowest degrees exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from rf.dot_product.candidate import Candidate, DrawnMap, monomial_part, unavailable
from rf.dot_product.problem import Problem
from rf.feature_maps.monomials import MonomialMap, monomial_columns
from rf.sampling.directions import orthogonal
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer, gegenbauer_sequence, harmonic_count_log

__all__ = ["ZonalMap", "gegenbauer_candidates", "gegenbauer_coefficients", "is_definite"]

# Quadrature nodes beyond the degree: a kernel with a square-root end needs them.
_EXTRA_NODES = 500
# Degrees kept; what lies beyond is a bias, which the comparison measures with all else.
_DEGREE = 60
# Coefficients below this part of the largest are rounding of their quadrature and have no sign.
_ROUNDING = 1e-13
# More degrees, and so nodes, of the rule that a coefficient is compared with, and how many times
# their difference it must exceed to have a sign.
_OTHER, _DOUBT = 37, 4.0
# Exact degrees are offered up to this one, whose polynomial is written out below.
_MOST_EXACT = 2
# Numbers in one block of projections.
_BLOCK = 1 << 17


@final
@dataclass(frozen=True, eq=False, repr=False)
class ZonalMap(DrawnMap):
    """Columns sum_n weights[c, n] P_n(x.s) for each class c of degrees and direction s.

    Attributes
    ----------
    directions : ndarray of shape (P, d)
    weights : ndarray of shape (classes, degree + 1)
    monomials : MonomialMap
    signature : ndarray
    """

    directions: FloatArray
    weights: FloatArray
    monomials: MonomialMap
    signature: FloatArray

    def columns(self, X: Any) -> NDArray[Any]:
        classes, n = len(self.weights), len(self.directions)
        waves = np.zeros((X.shape[0], classes, n), dtype=X.dtype)
        block = max(1, _BLOCK // n)
        for start in range(0, X.shape[0], block):
            rows = slice(start, start + block)
            self._add(waves[rows], np.asarray(X[rows] @ self.directions.T, dtype=float))
        flat = waves.reshape(X.shape[0], classes * n)
        return np.concatenate([flat, monomial_part(self.monomials, X)], axis=1)

    def _add(self, out: NDArray[Any], t: FloatArray) -> None:
        """Add the sum over degrees."""
        waves = gegenbauer_sequence(self.directions.shape[1], t)
        for weights, wave in zip(self.weights.T, waves, strict=False):
            for c, weight in enumerate(weights):
                if weight != 0.0:
                    out[:, c] += weight * wave


def gegenbauer_coefficients(
    kernel: Callable[[FloatArray], FloatArray], dim: int, degree: int
) -> FloatArray:
    r"""Coefficients c_n of f(u) = sum_n c_n P_n(u), n = 0 ... degree, by Gauss-Jacobi quadrature.

    .. math:: c_n = N(n, d) \int f P_n\, d\nu, \qquad d\nu \propto (1 - u^2)^{(d-3)/2} du

    Examples
    --------
    >>> gegenbauer_coefficients(lambda u: u**2, 3, 3).round(12) + 0.0
    array([0.33333333, 0.        , 0.66666667, 0.        ])
    """
    u, weights = _rule(degree + _EXTRA_NODES, dim)
    count = np.exp(harmonic_count_log(np.arange(degree + 1), dim))
    return np.asarray(count * (gegenbauer(dim, degree, u) @ (weights * kernel(u))))


@lru_cache(maxsize=4)
def _rule(nodes: int, dim: int) -> tuple[FloatArray, FloatArray]:
    u, weights = roots_jacobi(nodes, 0.5 * (dim - 3), 0.5 * (dim - 3))
    return u, weights / weights.sum()


def gegenbauer_candidates(problem: Problem) -> list[Candidate]:
    """Random Gegenbauer features, with none and with the lowest degrees exact."""
    name = "Gegenbauer features"
    if problem.dim < 2:
        return unavailable(name, "the sphere of dimension 1 is two points")
    c, root_count = _coefficients(problem)
    found = []
    for last in range(_MOST_EXACT + 1):
        if last and c[last] == 0.0:
            continue  # this degree is absent
        candidate = _candidate(problem, c, root_count, last)
        if candidate is not None:
            found.append(candidate)
    return found or unavailable(name, f"needs more than {problem.n_components} columns")


def is_definite(problem: Problem) -> bool:
    """Whether the kernel is zonal, and no Gegenbauer coefficient is negative beyond rounding."""
    if not problem.kernel.is_zonal or problem.dim < 2:
        return False
    return bool(np.all(_coefficients(problem)[0] >= 0.0))


def _coefficients(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Coefficients c_n of P_n, zero where they are rounding, and the roots of N(n, d)."""

    def kernel(u: FloatArray) -> FloatArray:
        return problem.kernel(np.sqrt(np.maximum(2.0 - 2.0 * u, 0.0)))

    c = gegenbauer_coefficients(kernel, problem.dim, _DEGREE)
    # Another number of nodes shows the error that a root at the end of [-1, 1] leaves.
    other = gegenbauer_coefficients(kernel, problem.dim, _DEGREE + _OTHER)[: c.size]
    root_count = np.exp(0.5 * harmonic_count_log(np.arange(c.size), problem.dim))
    noise = _ROUNDING * root_count * np.abs(c).max() + _DOUBT * np.abs(c - other)
    return np.where(np.abs(c) > noise, c, 0.0), root_count


def _candidate(
    problem: Problem, c: FloatArray, root_count: FloatArray, last: int
) -> Candidate | None:
    degree = np.arange(c.size)
    # Degrees 0..last as powers of u, from the explicit polynomials.
    powers = _powers(problem.dim, c[: last + 1])
    exact = monomial_columns(problem.dim, powers)
    rest = np.where(degree > last, c, 0.0)
    phase = np.where((degree // 2) % 2 == 0, 1.0, -1.0)
    classes, signs = [], []
    for parity in (0, 1):
        for sign in (1.0, -1.0):
            chosen = (degree % 2 == parity) & (sign * rest > 0.0)
            if chosen.any():
                classes.append(np.where(chosen, phase * np.sqrt(np.abs(rest)) * root_count, 0.0))
                signs.append(sign)
    if not classes:
        return None
    n = (problem.n_components - exact) // len(classes)
    if n < 1:
        return None
    used = 1 + int(np.flatnonzero(rest).max())
    weights = np.array(classes)[:, :used] / np.sqrt(n)
    monomials = MonomialMap.of(problem.dim, powers)
    signature = np.concatenate([np.repeat(signs, n), monomials.signature])
    draw = partial(_draw, n, weights, monomials, signature)
    name = "Gegenbauer features" + (f", exact to degree {last}" if last else "")
    return Candidate(name, signature.size, f"{n} orthogonal directions", draw, everywhere=True)


def _draw(
    n: int,
    weights: FloatArray,
    monomials: MonomialMap,
    signature: FloatArray,
    rng: np.random.Generator,
) -> ZonalMap:
    return ZonalMap(orthogonal(n, monomials.dim, rng), weights, monomials, signature)


def _powers(dim: int, c: FloatArray) -> list[float]:
    """Coefficients of sum_n c_n P_n(u), n <= 2, in powers of u: P_2 = (d u^2 - 1) / (d - 1)."""
    powers = [0.0, 0.0, 0.0]
    powers[: c.size] = c.tolist()
    second = powers[2] / (dim - 1)
    return [powers[0] - second, powers[1], dim * second]
