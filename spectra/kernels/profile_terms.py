"""Profiles whose laws are known in closed form: sums of Gaussians, and of the l1 distance."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import sympy

from spectra.formula.parsing import Z
from spectra.formula.pieces import exponential_terms
from spectra.kernels.kernel import Kernel
from spectra.kernels.profile import Profile

__all__ = [
    "ExactTerms",
    "gaussian_components",
    "l1_components",
    "no_l1_route",
    "no_truncated_route",
]

_FOR_DATA = "rf.SpectralFeatures(kernel, domain='data') approximates any kernel on your data."
#: Pairs of a weight and a rate or radius.
ExactTerms = tuple[tuple[sympy.Expr, sympy.Expr], ...]


def gaussian_components(profile: Profile) -> ExactTerms | None:
    """The pairs (c, a) of a profile sum c exp(-a z^2), a > 0; None if it is not such a sum."""
    if not isinstance(profile, Kernel) or len(profile.pieces) != 1:
        return None
    if profile.pieces[0].support != sympy.oo:
        return None
    pairs = exponential_terms(profile.pieces[0].expr, 2)
    if pairs is None or any(rate == 0 for _, rate in pairs):
        return None
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


@lru_cache(maxsize=64)
def l1_components(profile: Profile) -> tuple[ExactTerms, ExactTerms] | None:
    """The pairs (c, tau) of c max(tau - z, 0) and (c, t) of c exp(-t z) that add up to a profile.

    None if it is not such a sum.
    """
    truncated, rest = [], sympy.Integer(0)
    if not isinstance(profile, Kernel) or any(p.support is not sympy.oo for p in profile.pieces):
        return None
    total = sympy.Add(*(piece.expr for piece in profile.pieces))
    for term in sympy.Add.make_args(sympy.expand(total)):
        c, factor = term.as_independent(Z, as_Add=False)
        if factor.func is sympy.Max and len(factor.args) == 2 and 0 in factor.args:
            line = sympy.Add(*factor.args)  # slope * (tau - z)
            slope = -line.diff(Z)
            if slope.has(Z) or not slope.is_positive:
                return None
            truncated.append((c * slope, sympy.cancel(line.subs(Z, 0) / slope)))
        else:
            rest += term
    exponentials = exponential_terms(rest.rewrite(sympy.exp), 1) if rest != 0 else []
    if exponentials is None or not all(c.is_real for c, _ in exponentials):
        return None
    return _merge(truncated), _merge(exponentials)


def no_l1_route(profile: Kernel) -> str:
    """The error message for a profile of which :func:`l1_components` is None."""
    return (
        f"{profile} at z = |x - y|_1 is not a sum of multiples of exp(-c*z), the only formulas of "
        "the l1 distance whose measure in several columns is known here. Approximate it by such a "
        "sum, or use the Euclidean distance (radial) and a finite measure for the range of "
        f"distances in your data (design). {_FOR_DATA}"
    )


def no_truncated_route(profile: Kernel) -> str:
    """The error message for a profile with truncated distances, in several columns."""
    return (
        f"{profile} at z = |x - y|_1 has finite spectral mass, but no table in several columns: "
        f"the mass of a truncated distance grows exponentially with their number. {_FOR_DATA}"
    )


def _merge(pairs: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> ExactTerms:
    """Add the weights of equal radii tau or rates t, and sort by these."""
    weights: dict[sympy.Expr, sympy.Expr] = {}
    for weight, x in pairs:
        weights[x] = sympy.expand(weights.get(x, sympy.Integer(0)) + weight)
    ascending = sorted(weights, key=sympy.default_sort_key)
    return tuple((weights[x], x) for x in ascending if weights[x] != 0)
