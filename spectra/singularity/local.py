r"""Where a kernel is not smooth and how: at zero, at finite radii and at infinity.

The formula is cut at every radius where it may not be analytic; contributions of different pieces
at one radius are added first, so that they cancel where they should.  Each place yields a
*requirement* on the dimension that is certain, or a *gap* that says what could not be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import sympy

from spectra.kernel import Kernel
from spectra.singularity.branches import (
    KINKS,
    UnresolvedZeros,
    branch_radii,
    is_analytic_at,
    is_periodic,
    resolve,
    same_radius,
)
from spectra.singularity.expansion import expand_at, has_oscillation
from spectra.singularity.germs import (
    FLAT,
    ONE,
    ZERO,
    ExpansionError,
    Germ,
    MoreTermsNeeded,
    Phase,
    Series,
    Size,
    compare,
    is_zero,
    sign,
)
from spectra.singularity.places import Ending, Gap, LocalAnalysis, Profile, Requirement, Singularity
from spectra.singularity.recurring import recurring_analysis
from spectra.singularity.verification import expansion_agrees

__all__ = ["analyse", "one_sided", "profile"]

#: Powers of t kept in an expansion, tried in turn until the singularity shows.
_WINDOWS = (5, 12, 30, 64)
_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
#: Neighbouring radii differ by this relatively: values between them have 30 digits.
_APART = sympy.Rational(1, 10**20)


def profile(kernel: Kernel) -> Profile:
    """Cut a kernel into intervals on each of which it is one formula of analytic functions."""
    radii: list[sympy.Expr] = []
    gaps: list[Gap] = []
    for piece in kernel.pieces:
        found: list[sympy.Expr] = []
        try:
            found += branch_radii(piece.expr, piece.support)
        except UnresolvedZeros as error:
            gaps.append(Gap(f"{error}. State its smoothness with assume=..."))
            if piece.expr.has(*KINKS):  # which branch holds where is then unknown too
                return Profile((), (), tuple(gaps))
        if piece.support is not sympy.oo:
            found.append(piece.support)
        for r in found:
            if not any(same_radius(r, s) for s in radii):
                radii.append(r)
    radii.sort(key=lambda r: float(r.evalf(30)))
    for a, b in pairwise(radii):
        if (b - a).evalf(15) < _APART * b.evalf(15):
            near = f"The radii {a} and {b} are too near to one another to tell what is between"
            return Profile((), (), (Gap(near),))
    inner = [*_midpoints([_NIL, *radii]), (2 * radii[-1] if radii else sympy.Integer(1))]
    exprs = []
    for z in inner:
        alive = [p for p in kernel.pieces if p.support is sympy.oo or p.support.evalf(30) > z]
        exprs.append(sum((resolve(p.expr, z) for p in alive), _NIL))
    return Profile(tuple(radii), tuple(exprs), tuple(gaps))


def _midpoints(radii: list[sympy.Expr]) -> list[sympy.Expr]:
    return [sympy.Rational(str(((a + b) / 2).evalf(30))) for a, b in pairwise(radii)]


def analyse(kernel: Kernel, *, window: int | None = None) -> LocalAnalysis:
    """Find all places where a kernel is not smooth, exactly, from its formula.

    Parameters
    ----------
    window
        How many powers to keep in the expansions; by default it grows until they show.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> print(*analyse(radial("(1 - z)**3", support=1)).singularities, sep="; ")
    -3*z at z = 0; (1 - z)^3 at z = 1
    """
    windows = _WINDOWS if window is None else (window,)
    cut = profile(kernel)
    far = sum((p.expr for p in kernel.pieces if p.support is sympy.oo), _NIL)
    endless = all(p.support is sympy.oo for p in kernel.pieces)
    if not cut.exprs:
        found = recurring_analysis(far, analyse) if endless else None
        if found is not None:
            return found
        return LocalAnalysis(cut, Ending(), (), _if_periodic(far, Ending()), cut.gaps)
    radii = tuple(
        (r, _first_settled(partial(_at_radius, cut, i, r), windows, r))
        for i, r in enumerate(cut.radii)
    )
    origin = _first_settled(lambda w: _at_origin(cut.exprs[0], w), windows, _NIL)
    infinity = _first_settled(lambda w: _at_infinity(cut.exprs[-1], w), windows, sympy.oo)
    if infinity.gaps and endless and is_periodic(far):
        found = recurring_analysis(far, analyse)
        if found is not None:
            return replace(found, profile=cut, gaps=())
    infinity = _if_periodic(far, infinity) if infinity.gaps else infinity
    return LocalAnalysis(cut, origin, radii, infinity, cut.gaps)


def _first_settled(
    look: Callable[[int], Ending], windows: tuple[int, ...], place: sympy.Expr
) -> Ending:
    """Widen the window until no gap matters, or return the best that was seen."""
    best: Ending | None = None
    error: ExpansionError | None = None
    for window in windows:
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


def _at_radius(cut: Profile, i: int, r: sympy.Expr, window: int) -> Ending:
    left_expr, right_expr = _without_shared_analytic(cut.exprs[i], cut.exprs[i + 1], r)
    left_kind, right_kind = is_analytic_at(left_expr, r), is_analytic_at(right_expr, r)
    if left_expr == right_expr and left_kind == "analytic":
        return Ending()
    if left_kind == right_kind == "analytic":
        # Only the difference matters, and it may be zero though it does not look it.  As it
        # stands it often shows its lead at once, where powers written out are long.
        difference = left_expr - right_expr
        if window > _WINDOWS[0]:
            difference = sympy.expand(difference)
        if difference == 0 or (window == _WINDOWS[-1] and sympy.simplify(difference) == 0):
            return Ending()
        left, right = expand_at(difference, r, -1, window), Germ(())
        _verify(difference, left, r, -1)
    else:
        left = expand_at(left_expr, r, -1, window)
        right = expand_at(right_expr, r, 1, window)
        _verify(left_expr, left, r, -1)
        _verify(right_expr, right, r, 1)
    for germ in (left, right):
        if any(p.growth > 0 for p, _ in germ.parts):
            return _unbounded(r)
    a, b = left.plain, right.plain
    sizes = _merged_sizes(a.terms, b.terms)
    order = min((o for o in (a.order, b.order) if o is not None), default=None, key=_SIZE_KEY)
    left_of, right_of = dict(a.terms), dict(b.terms)
    for size in sizes:
        if order is not None and compare(size, order) >= 0:
            break
        s, q = size[0], -size[1]
        x, y = left_of.get(size, _NIL), right_of.get(size, _NIL)
        if s.is_Integer and s >= 0 and q == 0:
            jump = sympy.expand(x - (-1) ** int(s) * y)
            if is_zero(jump):
                continue
            x, y = jump, _NIL
        return _singular(Singularity(r, s, x, y, q))
    if order is None or order == FLAT or (left_expr == right_expr and left_kind == "meromorphic"):
        return Ending()
    reason = f"No singularity of exponent below {order[0]} was found at z = {r}"
    return Ending(gaps=(Gap(reason, 2 * order[0] + 1, r, narrow=True),))


def one_sided(expr: sympy.Expr, r: sympy.Expr) -> Ending:
    """What bounds every continuation beyond r: the terms (r - z)^s log^q that are not smooth."""
    if is_analytic_at(expr, r) == "analytic":
        return Ending()
    return _first_settled(lambda w: _one_sided(expr, r, w), _WINDOWS, r)


def _one_sided(expr: sympy.Expr, r: sympy.Expr, window: int) -> Ending:
    germ = expand_at(expr, r, -1, window)
    _verify(expr, germ, r, -1)
    if any(p.growth > 0 for p, _ in germ.parts):
        return _unbounded(r)
    series = germ.plain
    for size, c in series.terms:
        s, q = size[0], -size[1]
        if s.is_Integer and s >= 0 and q == 0:
            continue
        at = Singularity(r, s, left=c, log_power=q)
        if compare(size, ONE) < 0:
            return _unbounded(r, at)
        bound = 2 * s + 1
        reason = (
            f"At z = {r} the kernel has the one-sided term {at.term}, which no continuation of "
            f"finite mass has for d >= {bound}."
        )
        gaps = (Gap(f"A logarithmic end {at} in d = {bound}", bound, r),) if q < 0 else ()
        return Ending((Requirement(bound, bool(q < 0), reason, at),), gaps, (at,))
    if series.order is None or series.order == FLAT or is_analytic_at(expr, r) == "meromorphic":
        return Ending()
    reason = f"No singularity of exponent below {series.order[0]} was found at z = {r}"
    return Ending(gaps=(Gap(reason, 2 * series.order[0] + 1, r, narrow=True),))


def _merged_sizes(*terms: tuple[tuple[Size, sympy.Expr], ...]) -> list[Size]:
    return sorted({size for part in terms for size, _ in part}, key=_SIZE_KEY)


def _singular(at: Singularity) -> Ending:
    s, q = at.exponent, at.log_power
    if compare((s, -q), ONE) < 0:
        return _unbounded(at.location, at)
    bound = 2 * s + 1
    closed = bool(at.effective_log_power < -1)
    sign_text = "<=" if closed else "<"
    reason = (
        f"At z = {at.location} the kernel has the term {at.term}; its spectrum is integrable "
        f"exactly for d {sign_text} {bound}."
    )
    return Ending((Requirement(bound, closed, reason, at),), (), (at,))


def _unbounded(r: sympy.Expr, at: Singularity | None = None) -> Ending:
    reason = (
        f"The kernel is unbounded at z = {r}, and a kernel with a finite spectral measure is "
        "bounded by its mass."
    )
    if r is sympy.oo and at is not None and at.frequency == 0:
        reason += (
            f" It grows like {at.term}: no kernel does that is conditionally positive definite of "
            f"an order below {_least_order(at)}."
        )
    requirement = Requirement(_NIL, True, reason, at)
    return Ending((requirement,), (), (at,) if at is not None else ())


def _least_order(at: Singularity) -> sympy.Expr:
    """The least m with z^a log^q = O(z^(2m)), which conditional positive definiteness implies."""
    half, log = -at.exponent / 2, at.log_power
    if half.is_Integer and log > 0:
        return half + 1
    return max(sympy.ceiling(half), sympy.Integer(1))


# --- the origin -----------------------------------------------------------------------------


def _at_origin(expr: sympy.Expr, window: int) -> Ending:
    germ = expand_at(expr, _NIL, 1, window)
    _verify(expr, germ, _NIL, 1)
    if any(p.growth > 0 for p, _ in germ.parts):
        return _unbounded(_NIL)
    if has_oscillation(germ):
        return _oscillating_origin(germ)
    series = germ.plain
    limit = _NIL
    for size, c in series.terms:
        s, q = size[0], -size[1]
        if compare(size, ONE) < 0:
            return _unbounded(_NIL, Singularity(_NIL, s, right=c, log_power=q))
        if size == ONE:
            limit = c
            continue
        if q != 0 or not (s.is_Integer and s % 2 == 0):
            return Ending(singularities=(Singularity(_NIL, s, right=c, log_power=q),), limit=limit)
    if series.order is not None and series.order[0] <= 0:
        raise MoreTermsNeeded("more terms are needed at z = 0")
    return Ending(limit=limit, regular_below=series.order[0] if series.order else sympy.oo)


def _oscillating_origin(germ: Germ) -> Ending:
    waves = [s.terms[0][0] for p, s in germ.parts if p != ZERO and p.growth == 0 and s.terms]
    if any(compare(size, ONE) <= 0 for size in waves):
        reason = "The kernel has no limit at z = 0, and a spectral measure makes it continuous."
        return Ending((Requirement(_NIL, True, reason),))
    return Ending(gaps=(Gap("The kernel oscillates ever faster towards z = 0", location=_NIL),))


# --- infinity -------------------------------------------------------------------------------


def _at_infinity(expr: sympy.Expr, window: int) -> Ending:
    if expr == 0:
        return Ending(limit=_NIL)
    germ = expand_at(expr, sympy.oo, 1, window)
    _verify(expr, germ, sympy.oo, 1)
    requirements: list[Requirement] = []
    gaps: list[Gap] = []
    seen: list[Singularity] = []
    limit: sympy.Expr | None = _NIL
    oscillates = has_oscillation(germ)
    germ = _with_frequencies_joined(germ)
    speed = max([_ONE, *(_degree(phase) for phase, _ in germ.parts if phase.growth == 0)])
    for phase, series in germ.parts:
        if phase.growth < 0:
            continue
        if phase.growth > 0:
            if series.terms:
                return _unbounded(sympy.oo)
            gaps.append(
                Gap(
                    "A growing part of the kernel at infinity may cancel",
                    location=sympy.oo,
                    narrow=True,
                )
            )
            continue
        frequency = _frequency(phase)
        for size, c in series.terms:
            if phase == ZERO and size == ONE:
                limit = c
                continue
            if frequency is not None and sign(frequency) < 0:  # the conjugate of another
                break
            ending = _at_infinity_term(size, c, phase, frequency)
            requirements += ending.requirements
            gaps += ending.gaps
            seen += ending.singularities
            break
        order = series.order
        if order is None or order == FLAT:
            continue
        if compare(order, ONE) <= 0:
            raise MoreTermsNeeded("more terms are needed at infinity")
        if oscillates:
            # A remainder O(z^-A) whose derivatives grow like those of exp(i z^p), p >= 1, is a
            # transform of an L1 function if A > dp/2.
            reason = f"The kernel is known at infinity up to z^(-{order[0]})"
            gaps.append(Gap(reason, 2 * order[0] / speed, sympy.oo, narrow=True))
    if any(s.frequency != 0 and s.exponent == 0 for s in seen):
        limit = None
    return Ending(tuple(requirements), tuple(gaps), tuple(seen), limit)


def _with_frequencies_joined(germ: Germ) -> Germ:
    """Add the parts of frequencies that are equal though they do not look it: they may cancel."""
    joined: list[tuple[Phase, Series]] = []
    for phase, series in germ.parts:
        w = _frequency(phase)
        for i, (known, _) in enumerate(joined):
            v = _frequency(known)
            if w is not None and v is not None and is_zero(w - v):
                joined[i] = (known, joined[i][1] + series)
                break
        else:
            joined.append((phase, series))
    return Germ.of(joined)


def _degree(phase: Phase) -> sympy.Expr:
    """The p of a phase that grows like z^p; 0 where there is none, or a logarithm beside it."""
    if not phase.terms or phase.terms[0][0][1] != 0:
        return _NIL
    return -phase.terms[0][0][0]


def _frequency(phase: Phase) -> sympy.Expr | None:
    """The w of exp(i w z), or None where the phase is another."""
    if phase == ZERO:
        return _NIL
    if len(phase.terms) == 1 and phase.terms[0][0] == (sympy.Integer(-1), _NIL):
        w = sympy.expand(phase.terms[0][1] / sympy.I)
        return w if is_zero(sympy.im(w)) else None
    return None


def _at_infinity_term(
    size: Size, c: sympy.Expr, phase: Phase, frequency: sympy.Expr | None
) -> Ending:
    beta, q = size[0], -size[1]
    if compare(size, ONE) < 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q, frequency=frequency or _NIL)
        return _unbounded(sympy.oo, at)
    if frequency is None:
        return _chirp(size, c, phase)
    if frequency == 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q)
        return Ending((), (), (at,))
    angle = sympy.arg(c)
    at = Singularity(sympy.oo, beta, _NIL, 2 * sympy.Abs(c), q, frequency, angle)
    bound = 2 * beta + 1
    turned = c * (sympy.cos(beta * sympy.pi / 2) + sympy.I * sympy.sin(beta * sympy.pi / 2))
    aligned = q == 0 and is_zero(sympy.im(sympy.expand(turned)))
    reason = (
        f"At infinity the kernel has the wave {at.term}: its spectrum is singular on the sphere "
        f"|w| = {frequency}, and integrable there for d < {bound}."
    )
    if bound.is_Integer:
        whole = "is" if aligned else "is not"
        reason += f" In d = {bound} its phase {whole} that of a finite measure on the sphere."
    gaps = (Gap(f"A logarithmic wave in d = {bound}", bound, sympy.oo),) if q < 0 else ()
    closed = bool((aligned or q < 0) and bound.is_Integer)
    return Ending((Requirement(bound, closed, reason, at),), gaps, (at,))


def _chirp(size: Size, c: sympy.Expr, phase: Phase) -> Ending:
    r"""z^(-a) log^q(z) cos(b z^p + ...), p != 1: finite exactly for d < 2a/p.

    The wave of radius z has the frequency w ~ z^(p-1), and by stationary phase a shell of it the
    mass :math:`z^{-a} z^{(d-1)/2} w^{(d-1)/2} |\varphi''|^{1/2} dz = z^{-a + dp/2 - 1} dz`.
    """
    a, q, p = size[0], -size[1], _degree(phase)
    if p in (0, 1):
        gap = Gap("The kernel oscillates at infinity like no power of z", location=sympy.oo)
        return Ending((_no_limit(),) if compare(size, ONE) == 0 else (), (gap,))
    rate = phase.terms[0][1] / sympy.I
    if sign(rate) < 0:  # the conjugate of another
        return Ending()
    at = Singularity(
        sympy.oo, a, _NIL, 2 * sympy.Abs(c), q, sympy.expand(rate), sympy.arg(c), degree=p
    )
    bound = max(2 * a / p, _NIL)
    reason = (
        f"At infinity the kernel has the chirp {at.term}: its spectrum is integrable exactly for d "
        f"{'<=' if q < -1 else '<'} {bound}."
    )
    return Ending((Requirement(bound, bool(q < -1), reason, at),), (), (at,))


def _if_periodic(expr: sympy.Expr, known: Ending) -> Ending:
    """Add that a periodic kernel has no limit at infinity, where it is visibly periodic."""
    if not is_periodic(expr):
        return known
    return replace(known, requirements=(*known.requirements, _no_limit()))


def _no_limit() -> Requirement:
    reason = "The kernel has no limit at infinity, which every finite mass gives it for d >= 2."
    return Requirement(sympy.Integer(1), True, reason)


# --- helpers --------------------------------------------------------------------------------


def _verify(expr: sympy.Expr, germ: Germ, place: sympy.Expr, side: int) -> None:
    """Compare an exact expansion with numbers, against a mistake of either."""
    if not expansion_agrees(expr, germ, place, side):
        raise ExpansionError(f"the expansion at z = {place} disagrees with numerical values")


class _SIZE_KEY:
    """Sort key of sizes, by exact comparison."""

    def __init__(self, size: Size) -> None:
        self.size = size

    def __lt__(self, other: _SIZE_KEY) -> bool:
        return compare(self.size, other.size) < 0
