"""Is a function conditionally negative definite on R^d?  The cheapest tests come first."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import sympy
from mpmath import mp

from spectra.formula import Piece
from spectra.formula.evaluation import mpmath_function
from spectra.formula.reader import Z
from spectra.kernels import Kernel, radial
from spectra.singularities import analyse
from spectra.singularities.definiteness import is_complete_bernstein, is_completely_monotone
from spectra.verdict import Definiteness, existence

__all__ = ["decide", "limit_far_out"]

# Distances at which gamma(2z) is held against 4 gamma(z), and digits: an excess by one part in
# 10^12 is none of theirs.
_LOOKED_AT = np.geomspace(1e-6, 1e6, 49)
_DIGITS, _EXCESS = 30, mp.mpf(10) ** -12
_AS_A_MODEL = (
    " It is negative there: where it is meant to stay at its value beyond a distance, as models "
    "with a range do, give that distance as the reach."
)
_DRIFT = (
    " It grows like z^2, though, and geostatistics excludes that: z^2 is the variogram of a random "
    "linear trend. Model the trend as a drift."
)


def decide(minus: Kernel, covariance: Kernel | None, dim: int) -> Definiteness:
    """Whether gamma = -minus is conditionally negative definite on R^dim."""
    if covariance is not None:
        return _of_covariance(covariance, dim)
    gamma = -sum((piece.expr for piece in minus.pieces), sympy.Integer(0))
    refusal = _refuted_by_doubling(gamma)
    if refusal is not None:
        return Definiteness(False, refusal, 0.0)
    proof = _proof(gamma, dim)
    if proof is not None:
        drift = limit_far_out(gamma / Z**2)
        return proof if not drift else replace(proof, reason=proof.reason + _DRIFT)
    return Definiteness(
        None,
        "It is neither a Bernstein function of z^2 plus a variogram with a sill, nor does it break "
        "gamma(2z) <= 4 gamma(z): no proof and no refutation is known. If it is k(0) - k of a "
        "covariance k, give k.",
    )


def limit_far_out(gamma: sympy.Expr) -> sympy.Expr | None:
    """The finite limit of a formula as z grows; None where it has none, or none was found."""
    end = analyse(Kernel((Piece(sympy.oo, gamma),))).infinity
    is_bounded = all(g.from_dim > 1 for g in end.gaps) and all(
        r.largest_dim for r in end.requirements
    )
    return end.limit if is_bounded else None


def _of_covariance(covariance: Kernel, dim: int) -> Definiteness:
    found = existence(covariance, dim).positive_definite
    reason = f"It has a sill, and sill - gamma = {covariance} decides. {found.reason}"
    return Definiteness(found.answer, reason, found.max_dim)


def _proof(gamma: sympy.Expr, dim: int) -> Definiteness | None:
    """A Bernstein function of z^2, or one beside a bounded variogram."""
    if _is_bernstein(gamma):
        return Definiteness(
            True,
            "It is a Bernstein function of z^2 (its slope in z^2 is completely monotone): "
            "conditionally negative definite in every dimension, by Schoenberg's theorem.",
            math.inf,
        )
    terms = sympy.Add.make_args(sympy.expand(gamma))
    unbounded = [term for term in terms if _is_bernstein(term)]
    rest = sympy.Add(*(term for term in terms if term not in unbounded))
    sill = limit_far_out(rest)
    if not unbounded or rest == 0 or sill is None:
        return None
    beside = _of_covariance(radial(sill - rest), dim)
    if not beside.answer:
        return None
    return Definiteness(
        True,
        f"{sympy.Add(*unbounded)} is a Bernstein function of z^2, and the rest is a variogram. "
        f"{beside.reason}",
        beside.max_dim,
    )


def _is_bernstein(gamma: sympy.Expr) -> bool:
    if not gamma.has(Z):
        return False
    if is_complete_bernstein(gamma):
        return True
    slope = gamma.diff(Z) / (2 * Z)
    return any(is_completely_monotone(form) for form in (slope, sympy.expand(slope)))


def _refuted_by_doubling(gamma: sympy.Expr) -> str | None:
    """The root of a variogram is a distance: 0 <= gamma(2z) <= 4 gamma(z)."""
    function = mpmath_function(gamma, Z)
    with mp.workdps(_DIGITS):
        for z in _LOOKED_AT:
            near, far = function(mp.mpf(float(z))), function(2 * mp.mpf(float(z)))
            if near < -_EXCESS * abs(far) or far > 4 * near + _EXCESS * abs(far):
                return (
                    f"gamma({2 * z:.6g}) = {mp.nstr(far, 6)} and gamma({z:.6g}) = "
                    f"{mp.nstr(near, 6)}; but the root of a variogram is a distance, so that "
                    "gamma >= 0 and gamma(2z) <= 4 gamma(z)." + (_AS_A_MODEL if far < 0 else "")
                )
    return None
