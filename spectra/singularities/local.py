r"""Find where a kernel is not smooth, and its behaviour there: at zero, at radii and at infinity.

The formula is divided at every radius where it may not be analytic.  At one radius the expansions
from both sides are added first, so that terms which cancel impose no condition.  The analysis of
each point gives *requirements* on the dimension, which are proved, and *gaps*, which are open.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import sympy
from sympy import Expr

from spectra.formula.expansions.cases import choose_cases
from spectra.formula.expansions.exact_numbers import ExpansionError, MoreTermsNeeded, is_zero
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import (
    CONSTANT,
    FLAT,
    Expansion,
    Series,
    by_order,
    coarsest,
    compare,
)
from spectra.formula.functions import PIECEWISE
from spectra.kernels.kernel import Kernel
from spectra.singularities.at_infinity import add_recurrence, analyse_infinity
from spectra.singularities.branches import branch_radii, classify_at, unwrap_inverses, value_at
from spectra.singularities.periodic import analyse_periodic, is_periodic
from spectra.singularities.results import (
    Gap,
    LocalAnalysis,
    PointAnalysis,
    Requirement,
    Singularity,
)
from spectra.singularities.rules import radius_gap, radius_rule, unbounded_rule
from spectra.singularities.zeros import distinct

__all__ = ["analyse", "analyse_end", "analyse_inside", "analytic_intervals"]

#: Powers of t kept in an expansion, tried in turn until it shows the singularity.
_WINDOWS = (5, 12, 30, 64)
_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)
#: Least relative distance of two radii: the formula between them is evaluated in 30 digits.
_LEAST_DISTANCE = sympy.Rational(1, 10**20)


def analytic_intervals(
    kernel: Kernel,
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Gap, ...]]:
    """Divide z > 0 into intervals on each of which the kernel is one analytic formula.

    Returns the radii between the intervals, the formula on each interval, and gaps.  The radii and
    formulas are empty if it is unknown which branch of the kernel holds on an interval.
    """
    found: list[Expr] = []
    gaps: list[Gap] = []
    for piece in kernel.pieces:
        try:
            found += branch_radii(piece.expr, piece.support)
        except ExpansionError as error:
            gaps.append(Gap(f"{error}. If you know how smooth k is, that can be stated (assume)"))
            if piece.expr.has(*PIECEWISE):  # its branches change at unknown radii
                return (), (), tuple(gaps)
        if piece.support is not sympy.oo:
            found.append(piece.support)
    radii = distinct(found)
    for a, b in pairwise(radii):
        if (b - a).evalf(15) < _LEAST_DISTANCE * b.evalf(15):
            reason = f"The radii {a} and {b} are too close to find the formula between them"
            return (), (), (Gap(reason),)
    inside = [sympy.Rational(str(((a + b) / 2).evalf(30))) for a, b in pairwise([_ZERO, *radii])]
    inside.append(2 * radii[-1] if radii else _ONE)
    exprs = []
    for z in inside:
        pieces = [p for p in kernel.pieces if p.support is sympy.oo or p.support.evalf(30) > z]
        chosen = [choose_cases(p.expr, partial(value_at, z=z)) for p in pieces]
        exprs.append(sum((e if gaps else unwrap_inverses(e, z) for e in chosen), _ZERO))
    return tuple(radii), tuple(exprs), tuple(gaps)


def analyse(kernel: Kernel) -> LocalAnalysis:
    """Find all points where a kernel is not smooth, exactly, from its formula."""
    radii, exprs, gaps = analytic_intervals(kernel)
    on_half_line = [p.support is sympy.oo for p in kernel.pieces]
    half_line_expr = sum((p.expr for p in kernel.pieces if p.support is sympy.oo), _ZERO)
    periodic = all(on_half_line) and is_periodic(half_line_expr)
    if not exprs:
        if periodic:
            return analyse_periodic(half_line_expr, analyse)
        infinity = add_recurrence(half_line_expr, PointAnalysis())
        return LocalAnalysis((), PointAnalysis(), (), infinity, gaps)
    at_radii = tuple(
        (r, _expand_until_decided(partial(_analyse_radius, *sides, r), r))
        for sides, r in zip(pairwise(exprs), radii, strict=True)
    )
    origin = _expand_until_decided(partial(_analyse_origin, exprs[0]), _ZERO)
    infinity = _expand_until_decided(partial(analyse_infinity, exprs[-1]), sympy.oo)
    if infinity.gaps and periodic:
        return analyse_periodic(half_line_expr, analyse)
    infinity = add_recurrence(half_line_expr, infinity) if infinity.gaps else infinity
    return LocalAnalysis(exprs, origin, at_radii, infinity, gaps)


def analyse_inside(kernel: Kernel, end: Expr) -> LocalAnalysis:
    """The analysis at 0 and at the radii below ``end``; the last formula is that below ``end``."""
    radii, exprs, gaps = analytic_intervals(kernel)
    if not exprs:
        return LocalAnalysis((), PointAnalysis(), (), PointAnalysis(), gaps)
    inside = [r for r in radii if r.evalf(30) < end.evalf(30)]
    points = tuple(
        (r, _expand_until_decided(partial(_analyse_radius, *sides, r), r))
        for sides, r in zip(pairwise(exprs), inside, strict=False)
    )
    origin = _expand_until_decided(partial(_analyse_origin, exprs[0]), _ZERO)
    return LocalAnalysis(exprs[: len(inside) + 1], origin, points, PointAnalysis(), gaps)


def _expand_until_decided(
    analyse_with: Callable[[int], PointAnalysis], location: Expr, up_to_dim: Expr = sympy.oo
) -> PointAnalysis:
    """Expand with more and more powers until more cannot change the verdict for d <= up_to_dim."""
    point: PointAnalysis | None = None
    error: ExpansionError | None = None
    for window in _WINDOWS:
        try:
            point = analyse_with(window)
        except MoreTermsNeeded as failure:
            error = failure
            continue
        except ExpansionError as failure:
            error = failure
            break
        largest_dim = min([up_to_dim, *(r.largest_dim for r in point.requirements)])
        if all(g.from_dim > largest_dim or not g.improvable for g in point.gaps):
            return point
    if point is None:
        reason = f"The behaviour at z = {location} could not be expanded ({error})"
        return PointAnalysis(gaps=(Gap(reason, location=location),))
    return point


def _remove_shared_terms(left: Expr, right: Expr, r: Expr) -> tuple[Expr, Expr]:
    """Subtract from both formulas the terms that they share and that are analytic at r."""
    shared = set(sympy.Add.make_args(left)) & set(sympy.Add.make_args(right))
    analytic = sympy.Add(*(t for t in shared if classify_at(t, r) == "analytic"))
    return left - analytic, right - analytic


def _analyse_radius(left: Expr, right: Expr, r: Expr, window: int) -> PointAnalysis:
    left, right = _remove_shared_terms(left, right, r)
    left_class, right_class = classify_at(left, r), classify_at(right, r)
    if left == right and left_class == "analytic":
        return PointAnalysis()
    if left_class == right_class == "analytic":
        # Only the difference matters.  Without sympy.expand its first term is often visible; with
        # sympy.expand a difference that is zero becomes 0.
        difference = left - right
        if window > _WINDOWS[0]:
            difference = sympy.expand(difference)
        if difference == 0:
            return PointAnalysis()
        from_left, from_right = expand_at(difference, r, -1, window), Expansion((), window)
    else:
        from_left = expand_at(left, r, -1, window)
        from_right = expand_at(right, r, 1, window)
    is_meromorphic = left == right and left_class == "meromorphic"
    return _first_singular_term(from_left, from_right, r, is_meromorphic)


def analyse_end(expr: Expr, r: Expr, *, up_to_dim: Expr = sympy.oo) -> PointAnalysis:
    """Find the first term (r - z)^s log^q(1/(r - z)) that is not smooth, of a formula below r.

    Terms that matter in dimensions above ``up_to_dim`` only may be left out.
    """
    singularity_class = classify_at(expr, r)
    if singularity_class == "analytic":
        return PointAnalysis()

    def analyse_with(window: int) -> PointAnalysis:
        from_left = expand_at(expr, r, -1, window)
        return _first_singular_term(from_left, None, r, singularity_class == "meromorphic")

    return _expand_until_decided(analyse_with, r, up_to_dim)


def _first_singular_term(
    left: Expansion, right: Expansion | None, r: Expr, is_meromorphic: bool
) -> PointAnalysis:
    """Find the term of least exponent at r that is not smooth; ``right`` is None at an end.

    A meromorphic function without a term of negative exponent has a removable singularity.
    """
    if left.grows or (right is not None and right.grows):
        return unbounded_rule(r)
    left_series, right_series = left.as_series(), Series(()) if right is None else right.as_series()
    remainder = coarsest(left_series.remainder, right_series.remainder)
    left_terms, right_terms = dict(left_series.terms), dict(right_series.terms)
    for order in sorted({*left_terms, *right_terms}, key=by_order):
        if remainder is not None and compare(order, remainder) >= 0:
            break
        s, q = order[0], -order[1]
        a, b = left_terms.get(order, _ZERO), right_terms.get(order, _ZERO)
        if s.is_Integer and s >= 0 and q == 0:
            a, b = sympy.expand(a - (-1) ** int(s) * b), _ZERO
            if right is None or is_zero(a):
                continue
        return radius_rule(Singularity(r, s, a, b, q), at_end=right is None)
    if remainder is None or remainder == FLAT or is_meromorphic:
        return PointAnalysis()
    return PointAnalysis(gaps=(radius_gap(remainder[0], r),))


def _analyse_origin(expr: Expr, window: int) -> PointAnalysis:
    expansion = expand_at(expr, _ZERO, 1, window)
    if expansion.grows:
        return unbounded_rule(_ZERO)
    if any(s.terms and compare(s.terms[0][0], CONSTANT) <= 0 for _, s in expansion.waves):
        reason = "The kernel has no limit at z = 0; kernels of finite mass are continuous there."
        return PointAnalysis((Requirement(_ZERO, inclusive=True, reason=reason),))
    if expansion.waves:
        reason = "The kernel oscillates ever faster towards z = 0"
        return PointAnalysis(gaps=(Gap(reason, location=_ZERO),))
    series = expansion.as_series()
    limit = _ZERO
    for order, c in series.terms:
        s, q = order[0], -order[1]
        term = Singularity(_ZERO, s, right=c, log_power=q)
        if compare(order, CONSTANT) < 0:
            return unbounded_rule(_ZERO, term)
        if order == CONSTANT:
            limit = c
        elif q != 0 or not (s.is_Integer and s % 2 == 0):
            return PointAnalysis(singularities=(term,), limit=limit)
    if series.remainder is not None and series.remainder[0] <= 0:
        raise MoreTermsNeeded("more terms are needed at z = 0")
    return PointAnalysis(
        limit=limit, regular_below=series.remainder[0] if series.remainder else sympy.oo
    )
