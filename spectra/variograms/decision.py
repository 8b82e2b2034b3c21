"""Decide whether a function gamma(z) is conditionally negative definite on R^d."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import sympy
from mpmath import mp

from spectra.definiteness import is_bernstein
from spectra.formula import Piece, Z, mpmath_function
from spectra.kernels import Kernel, radial
from spectra.singularities import analyse
from spectra.verdict import Definiteness, Status, existence

__all__ = ["decide", "mean_at_infinity"]

# Distances at which gamma(2z) is compared with 4 gamma(z), digits of the values, and the least
# relative excess that counts, well above their rounding.
_DISTANCES = np.geomspace(1e-6, 1e6, 49)
_DIGITS, _EXCESS = 30, mp.mpf(10) ** -12
_USE_REACH = (
    " Here gamma is negative: if the model is constant beyond some distance, give that distance as "
    "the reach."
)
_DRIFT = (
    " But it grows like z^2, and geostatistics excludes that: z^2 is the variogram of a random "
    "linear trend. Model the trend as a drift."
)


def decide(minus_gamma: Kernel, covariance: Kernel | None, dim: int) -> Definiteness:
    """Whether gamma is a variogram on R^dim; ``covariance`` is sill - gamma, or None."""
    if covariance is not None:
        return _decide_by_covariance(covariance, dim)
    gamma = -sum((piece.expr for piece in minus_gamma.pieces), sympy.Integer(0))
    refutation = _refute_by_doubling(gamma)
    if refutation is not None:
        return Definiteness(False, refutation, max_dim=0.0)
    proof = _prove(gamma, dim)
    if proof is not None:
        grows_like_square = _limit_at_infinity(gamma / Z**2)
        return replace(proof, reason=proof.reason + _DRIFT) if grows_like_square else proof
    return Definiteness(
        None,
        "There is no proof: it is not known as a Bernstein function of z^2 plus a variogram with a "
        "sill. There is no refutation either: gamma(2z) <= 4 gamma(z) holds. If gamma = k(0) - k "
        "with a covariance k, give k.",
    )


def mean_at_infinity(gamma: sympy.Expr) -> sympy.Expr | None:
    """The limit of a formula as z -> oo without its waves c cos(b z); None if none was found."""
    return _limit_at_infinity(sympy.Add(*(t for t in _terms(gamma) if not _is_wave(t))))


def _terms(gamma: sympy.Expr) -> list[sympy.Expr]:
    return list(sympy.Add.make_args(sympy.expand(gamma)))


def _is_wave(term: sympy.Expr) -> bool:
    """Whether a term is c cos(b z)."""
    c, wave = term.as_independent(Z, as_Add=False)
    return bool(wave.func is sympy.cos and not wave.args[0].diff(Z).has(Z) and c.is_real)


def _limit_at_infinity(gamma: sympy.Expr) -> sympy.Expr | None:
    """The finite limit of a formula as z -> oo; None if there is none, or none was found."""
    end = analyse(Kernel((Piece(sympy.oo, gamma),))).infinity
    # If the limit is infinite or was not found, the analysis has a requirement that no dimension
    # meets, or a gap in the proofs from d = 1 on.
    is_known = all(r.largest_dim > 0 for r in end.requirements)
    is_known = is_known and all(g.from_dim > 1 for g in end.gaps)
    return end.limit if is_known else None


def _decide_by_covariance(covariance: Kernel, dim: int) -> Definiteness:
    definite = existence(covariance, dim).positive_definite
    reason = f"It has a sill, so the covariance sill - gamma = {covariance} decides. "
    return replace(definite, reason=reason + definite.reason)


def _prove(gamma: sympy.Expr, dim: int) -> Definiteness | None:
    """A proof if gamma, or gamma minus a bounded variogram, is a Bernstein function of z^2."""
    if is_bernstein(gamma):
        text = "It is a Bernstein function of z^2 (its slope in z^2 is completely monotone): "
        text += "conditionally negative definite in every dimension, by Schoenberg's theorem."
        return Definiteness(True, text, max_dim=math.inf)
    terms = _terms(gamma)
    unbounded = [term for term in terms if term.has(Z) and is_bernstein(term)]
    rest = sympy.Add(*(term for term in terms if term not in unbounded))
    sill = mean_at_infinity(rest)
    if not unbounded or rest == 0 or sill is None:
        return None
    bounded = _decide_by_covariance(radial(sill - rest), dim)
    if not bounded.answer:
        return _refute_waves(sill - rest, unbounded, dim)
    text = f"{sympy.Add(*unbounded)} is a Bernstein function of z^2, and the rest is a variogram. "
    return replace(bounded, reason=text + bounded.reason)


def _refute_waves(
    covariance: sympy.Expr, unbounded: list[sympy.Expr], dim: int
) -> Definiteness | None:
    """Refute a variogram plus a covariance with waves c cos(b z) in d > 1; None for other sums.

    The spectrum of cos(b z) is no measure near |w| = b for d > 1, and that of a variogram is one.
    """
    waves = [t for t in _terms(covariance) if _is_wave(t)]
    smooth = radial(covariance - sympy.Add(*waves))
    if dim == 1 or not waves or existence(smooth, dim).status is not Status.FINITE:
        return None
    text = f"{sympy.Add(*unbounded)} plus a covariance has a spectral measure away from 0, and "
    return Definiteness(False, f"{text}{sympy.Add(*waves)} has none on R^{dim}.")


def _refute_by_doubling(gamma: sympy.Expr) -> str | None:
    """The reason if gamma(z) >= 0 or gamma(2z) <= 4 gamma(z) fails at some distance; else None."""
    function = mpmath_function(gamma, Z)
    with mp.workdps(_DIGITS):
        for z in _DISTANCES:
            near, far = function(mp.mpf(float(z))), function(2 * mp.mpf(float(z)))
            if near < -_EXCESS * abs(far) or far > 4 * near + _EXCESS * abs(far):
                return (
                    f"gamma({2 * z:.6g}) = {mp.nstr(far, 6)} and gamma({z:.6g}) = "
                    f"{mp.nstr(near, 6)}. The square root of a variogram is a metric, so "
                    "gamma >= 0 and gamma(2z) <= 4 gamma(z)." + (_USE_REACH if far < 0 else "")
                )
    return None
