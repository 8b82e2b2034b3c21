r"""Where a kernel is not smooth and how: at zero, at finite radii and at infinity.

The formula is cut at every radius where it may not be analytic; contributions of different pieces
at one radius are added first, so that they cancel where they should.  Each place yields a
*requirement* on the dimension that is certain, or a *gap* that says what could not be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import sympy

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
from spectra.singularities.at_infinity import at_infinity, if_recurring
from spectra.singularities.branches import branch_radii, is_analytic_at, value_at
from spectra.singularities.periodic import is_periodic, periodic_analysis
from spectra.singularities.places import (
    Ending,
    Gap,
    LocalAnalysis,
    Requirement,
    Singularity,
)
from spectra.singularities.rules import at_radius, unbounded, unseen
from spectra.singularities.zeros import distinct

__all__ = ["analyse", "one_sided", "profile"]

#: Powers of t kept in an expansion, tried in turn until the singularity shows.
_WINDOWS = (5, 12, 30, 64)
_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
#: Neighbouring radii differ by this relatively: values between them have 30 digits.
_APART = sympy.Rational(1, 10**20)


def profile(
    kernel: Kernel,
) -> tuple[tuple[sympy.Expr, ...], tuple[sympy.Expr, ...], tuple[Gap, ...]]:
    """Cut a kernel into intervals on each of which it is one formula of analytic functions.

    Returns the radii, the formula before each and beyond all, and what could not be shown.  There
    are no formulas if the branches could not be told apart.
    """
    found: list[sympy.Expr] = []
    gaps: list[Gap] = []
    for piece in kernel.pieces:
        try:
            found += branch_radii(piece.expr, piece.support)
        except ExpansionError as error:
            gaps.append(Gap(f"{error}. Its smoothness, where you know it, can be stated (assume)"))
            if piece.expr.has(*PIECEWISE):  # which branch holds where is then unknown too
                return (), (), tuple(gaps)
        if piece.support is not sympy.oo:
            found.append(piece.support)
    radii = distinct(found)
    for a, b in pairwise(radii):
        if (b - a).evalf(15) < _APART * b.evalf(15):
            near = f"The radii {a} and {b} are too near to one another to tell what is between"
            return (), (), (Gap(near),)
    inner = [sympy.Rational(str(((a + b) / 2).evalf(30))) for a, b in pairwise([_NIL, *radii])]
    inner.append(2 * radii[-1] if radii else _ONE)
    exprs = []
    for z in inner:
        alive = [p for p in kernel.pieces if p.support is sympy.oo or p.support.evalf(30) > z]
        exprs.append(sum((choose_cases(p.expr, partial(value_at, z=z)) for p in alive), _NIL))
    return tuple(radii), tuple(exprs), tuple(gaps)


def analyse(kernel: Kernel) -> LocalAnalysis:
    """Find all places where a kernel is not smooth, exactly, from its formula."""
    cut_radii, exprs, gaps = profile(kernel)
    far = sum((p.expr for p in kernel.pieces if p.support is sympy.oo), _NIL)
    endless = all(p.support is sympy.oo for p in kernel.pieces)
    turns = endless and is_periodic(far)
    if not exprs:
        if turns:
            return periodic_analysis(far, analyse)
        return LocalAnalysis((), Ending(), (), if_recurring(far, Ending()), gaps)
    radii = tuple(
        (r, _first_settled(partial(_at_radius, *sides, r), r))
        for sides, r in zip(pairwise(exprs), cut_radii, strict=True)
    )
    origin = _first_settled(partial(_at_origin, exprs[0]), _NIL)
    infinity = _first_settled(partial(at_infinity, exprs[-1]), sympy.oo)
    if infinity.gaps and turns:
        return periodic_analysis(far, analyse)
    infinity = if_recurring(far, infinity) if infinity.gaps else infinity
    return LocalAnalysis(exprs, origin, radii, infinity, gaps)


def _first_settled(look: Callable[[int], Ending], place: sympy.Expr) -> Ending:
    """Widen the window until no gap matters, or return the best that was seen."""
    best: Ending | None = None
    error: ExpansionError | None = None
    for window in _WINDOWS:
        try:
            seen = look(window)
        except MoreTermsNeeded as failure:
            error = failure
            continue
        except ExpansionError as failure:
            error = failure
            break
        best = seen
        top = min((r.largest for r in seen.requirements), default=sympy.oo)
        if all(g.from_dim > top or not g.narrow for g in seen.gaps):
            return seen
    if best is None:
        reason = f"The behaviour at z = {place} could not be expanded ({error})"
        return Ending(gaps=(Gap(reason, location=place),))
    return best


# --- finite radii ---------------------------------------------------------------------------


def _without_shared_analytic(
    left: sympy.Expr, right: sympy.Expr, r: sympy.Expr
) -> tuple[sympy.Expr, sympy.Expr]:
    """Both sides without the summands that pass through r analytically: they decide nothing."""
    shared = set(sympy.Add.make_args(left)) & set(sympy.Add.make_args(right))
    smooth = sympy.Add(*(t for t in shared if is_analytic_at(t, r) == "analytic"))
    return left - smooth, right - smooth


def _at_radius(left: sympy.Expr, right: sympy.Expr, r: sympy.Expr, window: int) -> Ending:
    left_expr, right_expr = _without_shared_analytic(left, right, r)
    left_kind, right_kind = is_analytic_at(left_expr, r), is_analytic_at(right_expr, r)
    if left_expr == right_expr and left_kind == "analytic":
        return Ending()
    if left_kind == right_kind == "analytic":
        # Only the difference matters, and it may be zero though it does not look it.  As it
        # stands it often shows its lead at once, where powers written out are long.
        difference = left_expr - right_expr
        if window > _WINDOWS[0]:
            difference = sympy.expand(difference)
        if difference == 0:
            return Ending()
        before, beyond = expand_at(difference, r, -1, window), Expansion((), window)
    else:
        before = expand_at(left_expr, r, -1, window)
        beyond = expand_at(right_expr, r, 1, window)
    smooth = left_expr == right_expr and left_kind == "meromorphic"
    return _first_singular_term(before, beyond, r, smooth)


def one_sided(expr: sympy.Expr, r: sympy.Expr) -> Ending:
    """What bounds every continuation beyond r: the terms (r - z)^s log^q that are not smooth."""
    kind = is_analytic_at(expr, r)
    if kind == "analytic":
        return Ending()

    def look(window: int) -> Ending:
        before = expand_at(expr, r, -1, window)
        return _first_singular_term(before, None, r, kind == "meromorphic")

    return _first_settled(look, r)


def _first_singular_term(
    before: Expansion, beyond: Expansion | None, r: sympy.Expr, smooth: bool
) -> Ending:
    """The lowest term at a radius that is not smooth; without ``beyond``, for any continuation."""
    if before.grows or (beyond is not None and beyond.grows):
        return unbounded(r)
    a, b = before.as_series(), Series(()) if beyond is None else beyond.as_series()
    order = coarsest(a.remainder, b.remainder)
    left_of, right_of = dict(a.terms), dict(b.terms)
    for size in sorted({*left_of, *right_of}, key=by_order):
        if order is not None and compare(size, order) >= 0:
            break
        s, q = size[0], -size[1]
        x, y = left_of.get(size, _NIL), right_of.get(size, _NIL)
        if s.is_Integer and s >= 0 and q == 0:
            x, y = sympy.expand(x - (-1) ** int(s) * y), _NIL
            if beyond is None or is_zero(x):
                continue
        return at_radius(Singularity(r, s, x, y, q), at_end=beyond is None)
    if order is None or order == FLAT or smooth:
        return Ending()
    return Ending(gaps=(unseen(order[0], r),))


# --- the origin -----------------------------------------------------------------------------


def _at_origin(expr: sympy.Expr, window: int) -> Ending:
    expanded = expand_at(expr, _NIL, 1, window)
    if expanded.grows:
        return unbounded(_NIL)
    if any(f.terms and compare(f.terms[0][0], CONSTANT) <= 0 for _, f in expanded.waves):
        reason = "The kernel has no limit at z = 0, and a spectral measure makes it continuous."
        return Ending((Requirement(_NIL, True, reason),))
    if expanded.waves:
        return Ending(gaps=(Gap("The kernel oscillates ever faster towards z = 0", location=_NIL),))
    series = expanded.as_series()
    limit = _NIL
    for size, c in series.terms:
        s, q = size[0], -size[1]
        if compare(size, CONSTANT) < 0:
            return unbounded(_NIL, Singularity(_NIL, s, right=c, log_power=q))
        if size == CONSTANT:
            limit = c
            continue
        if q != 0 or not (s.is_Integer and s % 2 == 0):
            return Ending(singularities=(Singularity(_NIL, s, right=c, log_power=q),), limit=limit)
    if series.remainder is not None and series.remainder[0] <= 0:
        raise MoreTermsNeeded("more terms are needed at z = 0")
    return Ending(limit=limit, regular_below=series.remainder[0] if series.remainder else sympy.oo)
