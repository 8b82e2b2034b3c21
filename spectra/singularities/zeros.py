"""Find all positive zeros of a formula as exact numbers, or prove that it has none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import flint
import sympy

from spectra.formula.ball_function import BallFunction
from spectra.formula.callables import Opaque
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero
from spectra.formula.functions import PIECEWISE
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.power_series import has_no_zero_below_2
from spectra.singularities.results import number_text

__all__ = ["distinct", "positive_zeros", "same_radius", "with_exact_ends"]

_X = sympy.Symbol("x", nonnegative=True)
_ZERO, _ONE, _TWO, _HALF_PI = sympy.S.Zero, sympy.S.One, sympy.Integer(2), sympy.pi / 2
#: Limit on the zeros of one sine or cosine: the kernel is expanded at each, which takes time.
_MOST_ZEROS = 200
#: Degree of a polynomial above which exact root isolation takes too long.
_LARGEST_DEGREE = 60
#: Limit on the intervals in a proof by ball arithmetic, and its precision in bits.
_MOST_INTERVALS, _BITS = 1000, 53
#: A support with a larger denominator and up to 17 digits is a double; its rounding as a share.
_LARGEST_DENOMINATOR, _MOST_DIGITS, _ROUNDING = 10**12, 17, sympy.Rational(1, 2**51)
#: Injective functions: infimum, supremum, and the inverse.
_INVERSES = {
    sympy.exp: (_ZERO, sympy.oo, sympy.log),
    sympy.log: (-sympy.oo, sympy.oo, sympy.exp),
    sympy.sinh: (-sympy.oo, sympy.oo, lambda y: sympy.log(y + sympy.sqrt(y**2 + 1))),
    sympy.tanh: (-1, 1, lambda y: sympy.log((1 + y) / (1 - y)) / 2),
    sympy.erf: (-1, 1, sympy.erfinv),
    sympy.atan: (-_HALF_PI, _HALF_PI, sympy.tan),
    sympy.asin: (-_HALF_PI, _HALF_PI, sympy.sin),
    sympy.acos: (_ZERO, sympy.pi, sympy.cos),
}


def same_radius(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two exact radii are equal (by their digits if sympy does not know)."""
    if a == b:
        return True
    if a is sympy.oo or b is sympy.oo or (a.is_Rational and b.is_Rational):
        return False
    return is_zero(a - b)


def distinct(radii: Iterable[sympy.Expr]) -> list[sympy.Expr]:
    """Sort radii in ascending order and remove duplicates."""
    kept: list[sympy.Expr] = []
    for radius in radii:
        if not any(same_radius(radius, r) for r in kept):
            kept.append(radius)
    return sorted(kept, key=lambda r: float(r.evalf(30)))


def positive_zeros(expr: sympy.Expr, upper: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """All zeros of an expression with 0 < z <= upper, as exact numbers."""
    try:
        candidates = _zeros(expr, upper)
    except (NotImplementedError, sympy.PolynomialError) as error:
        raise _zeros_not_found(expr) from error
    kept = []
    for r in candidates:
        value = r.evalf(30)
        is_positive = (value.is_real or is_zero(sympy.im(r))) and sympy.re(value) > 0
        if is_positive and (sympy.re(value) <= upper or same_radius(r, upper)):
            kept.append(r)
    return tuple(kept)


def with_exact_ends(kernel: Kernel) -> tuple[Kernel, tuple[str, ...]]:
    """Let formulas that are 0 at their support up to its rounding end with 0; and what changed.

    The support becomes the exact zero next to it.  Without one in closed form, the formula becomes
    k(z) - k(R).
    """
    ends = [(p, _exact_end(p)) for p in kernel.pieces]
    notes = tuple(
        f"The support {float(p.support)!r} is rounded: the kernel is taken to end at z = "
        f"{number_text(end.support)} with the value 0, not "
        f"{float(p.expr.subs(Z, p.support).evalf(20)):.1e}."
        for p, end in ends
        if end != p
    )
    return (replace(kernel, pieces=tuple(end for _, end in ends)), notes) if notes else (kernel, ())


def _exact_end(piece: Piece) -> Piece:
    expr, radius = piece.expr, piece.support
    is_double = radius.is_Rational and radius.q > _LARGEST_DENOMINATOR
    if not is_double or radius.p >= 10**_MOST_DIGITS or expr.has(Opaque):
        return piece
    value, step = expr.subs(Z, radius), _ROUNDING * radius
    # The largest change of the formula over the rounding of its support, by the third derivative.
    changes = (expr.diff(Z, n).subs(Z, radius) * step**n for n in (1, 2, 3))
    slope, *others = (sympy.Abs(change.evalf(20)) for change in changes)
    if value == 0 or not sympy.Abs(value.evalf(20)) <= max(slope, *others):
        return piece
    try:
        zeros = positive_zeros(expr, radius + step)
    except ExpansionError:
        zeros = ()
    near = [r for r in zeros if abs((r - radius).evalf(30)) <= step]
    return Piece(near[0], expr) if near else Piece(radius, expr - value)


def _zeros_not_found(expr: sympy.Expr) -> ExpansionError:
    return ExpansionError(f"the zeros of {expr} on z > 0 could not be found")


def _zeros(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr]:
    """Numbers that include all zeros on 0 < z <= upper; some may be outside, or complex."""
    if not expr.free_symbols or expr == Z or expr.is_positive or expr.is_negative:
        return []
    kink = next((n for n in sympy.postorder_traversal(expr) if isinstance(n, PIECEWISE)), None)
    if kink is not None:
        branches = [expr.xreplace({kink: value}) for value in _branch_values(kink)]
        return [r for branch in branches for r in _zeros(branch, upper)]
    if expr.is_Mul:
        return [r for factor in expr.args for r in _zeros(factor, upper)]
    if expr.is_Pow and not expr.exp.free_symbols:
        if not expr.exp.is_negative:
            return _zeros(expr.base, upper)
        if expr.base.func == sympy.gamma and not expr.base.args[0].is_nonnegative:
            raise _zeros_not_found(expr)
        return []  # zeros of 1/base are poles of base, which branch_radii finds as such
    if upper is not sympy.oo and upper.evalf(30) <= 2 and has_no_zero_below_2(expr):
        return [_TWO] if is_zero(expr.subs(Z, _TWO)) else []  # z = 2 is u = -1
    numerator = sympy.fraction(sympy.together(expr))[0]
    if numerator.is_positive or numerator.is_negative:
        return []
    roots = _algebraic_zeros(numerator)
    for form in (numerator, sympy.expand(numerator)):  # either may have the form a f(h(z)) + b
        if roots is None:
            roots = _zeros_by_inverse(form, upper)
    if roots is not None:
        return roots
    if _is_positive_sum(expr) or _has_one_sign(expr, upper):
        return []
    raise _zeros_not_found(expr)


def _branch_values(kink: sympy.Expr) -> list[sympy.Expr]:
    """The formulas of all branches of |.|, Min, Max, Heaviside or Piecewise."""
    if isinstance(kink, sympy.Abs):
        return [kink.args[0], -kink.args[0]]
    if isinstance(kink, sympy.Heaviside):
        return [_ZERO, _ONE]
    return [a[0] if isinstance(kink, sympy.Piecewise) else a for a in kink.args]


def _algebraic_zeros(expr: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a polynomial in a root z^(1/m), or None for other expressions."""
    powers = {p.exp for p in expr.atoms(sympy.Pow) if p.base == Z}
    if not all(e.is_Rational for e in powers):
        return None
    m = sympy.ilcm(1, 1, *[e.q for e in powers])
    poly_expr = sympy.powdenest(expr.subs(Z, _X**m), force=True)
    if not poly_expr.is_polynomial(_X):
        return None
    poly = sympy.Poly(poly_expr, _X)
    if poly.degree() > _LARGEST_DEGREE:
        raise ExpansionError(f"{expr} has too high a degree to isolate its zeros")
    if all(c.is_Rational for c in poly.all_coeffs()):
        roots = [r for r, _ in poly.real_roots(multiple=False)]
    elif poly.degree() <= 2:
        roots = [r for r in sympy.roots(poly, multiple=True) if is_zero(sympy.im(r))]
    else:
        return None
    return [sympy.powdenest(r**m) for r in roots if r.evalf(30) > 0]


def _zeros_by_inverse(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a f(h(z)) + b, which are those of h - f^-1(-b/a); None if f^-1 is not known."""
    constant, rest = expr.as_independent(Z, as_Add=True)
    factor, node = rest.as_independent(Z, as_Add=False)
    y = -constant / factor
    if node.func in (sympy.sin, sympy.cos):
        return _wave_zeros(node, y, upper)
    if _is_noninteger_power(node):
        return _zeros(node.base - y ** (1 / node.exp), upper) if y.evalf(30) > 0 else []
    if node.func not in _INVERSES:
        return None
    low, high, inverse = _INVERSES[node.func]
    if not low <= y.evalf(30) <= high or inverse(y).is_infinite:
        return []
    return _zeros(node.args[0] - inverse(y), upper)


def _is_noninteger_power(node: sympy.Basic) -> bool:
    return bool(node.is_Pow and node.exp.is_real and not (node.exp.has(Z) or node.exp.is_Integer))


def _wave_zeros(wave: sympy.Expr, y: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr] | None:
    """The z <= upper at which sin or cos of a linear argument is y; None for other arguments."""
    if abs(y.evalf(30)) > 1 and not is_zero(abs(y) - 1):
        return []
    argument, period = wave.args[0], 2 * sympy.pi
    slope = sympy.diff(argument, Z)
    if slope.free_symbols:
        return None
    if upper is sympy.oo:
        raise ExpansionError(f"{wave - y} has infinitely many zeros, or none that could be found")
    start = argument.subs(Z, 0)
    low, high = sorted(float((a / period).evalf()) for a in (start, start + slope * upper))
    if high - low > _MOST_ZEROS / 2:  # two zeros in each period
        raise ExpansionError(f"{wave - y} has more than {_MOST_ZEROS} zeros")
    angle = sympy.acos(y) if wave.func == sympy.cos else sympy.asin(y)
    angles = {angle, -angle if wave.func == sympy.cos else sympy.pi - angle}
    periods = range(int(low) - 2, int(high) + 3)  # more than there are, against rounding
    return [(angle + n * period - start) / slope for angle in angles for n in periods]


def _is_positive_sum(expr: sympy.Expr) -> bool:
    """Whether all terms are visibly >= 0, as real noninteger powers are, and one is positive."""
    factors = [f for term in sympy.Add.make_args(expr) for f in sympy.Mul.make_args(term)]
    return any(term.is_positive or (term / Z).is_positive for term in expr.args) and all(
        f.is_nonnegative or (_is_noninteger_power(f) and f.exp.is_positive) for f in factors
    )


def _has_one_sign(expr: sympy.Expr, upper: sympy.Expr) -> bool:
    """Whether ball arithmetic proves that an expression has no zero on 0 <= z <= upper."""
    if upper is sympy.oo:
        return False
    # The relative margin exceeds the rounding error of float(upper).
    function, intervals = BallFunction(expr, Z, real=True), [(0.0, float(upper) * (1.0 + 1e-15))]
    for _ in range(_MOST_INTERVALS):
        if not intervals:
            return True
        low, high = intervals.pop()
        middle, half = (low + high) / 2, (high - low) / 2
        try:
            ball = function.at_precision(flint.acb(flint.arb(middle, half)), _BITS).real
        except ArithmeticError:
            continue  # no real value there: another branch of the formula holds
        if not (ball > 0 or ball < 0):
            intervals += [(low, middle), (middle, high)]
    return False
