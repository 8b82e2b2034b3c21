"""The positive zeros of a formula: all of them, as exact numbers, or a proof of none."""

from __future__ import annotations

from collections.abc import Iterable

import flint
import sympy

from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero
from spectra.formula.functions import PIECEWISE
from spectra.formula.reader.parsing import Z
from spectra.singularities.power_series import is_below_its_end

__all__ = ["MAY_BE_ZERO", "distinct", "positive_zeros", "same_radius"]

_X = sympy.Symbol("x", nonnegative=True)
_NIL = sympy.Integer(0)
#: The antipode of the unit sphere, where u = <x, y> is -1.
_TWO = sympy.Integer(2)
#: A number below this may be zero: a place may then be singular, or a root real.
MAY_BE_ZERO = sympy.Float(10, 30) ** -40
#: More zeros than this on a support are taken as too many to follow.
_MOST_ZEROS = 200
#: Degrees beyond which exact root isolation takes too long.
_MOST_DEGREE = 60
#: Balls of a proof before it is given up, and their bits.
_MOST_BOXES, _BITS = 1000, 53
_QUARTER = sympy.pi / 2
#: Functions that take each value at most once: the values they take, and the inverse.
_INVERSES = {
    sympy.exp: (_NIL, sympy.oo, sympy.log),
    sympy.log: (-sympy.oo, sympy.oo, sympy.exp),
    sympy.sinh: (-sympy.oo, sympy.oo, sympy.asinh),
    sympy.tanh: (-1, 1, sympy.atanh),
    sympy.erf: (-1, 1, sympy.erfinv),
    sympy.atan: (-_QUARTER, _QUARTER, sympy.tan),
    sympy.asin: (-_QUARTER, _QUARTER, sympy.sin),
    sympy.acos: (_NIL, sympy.pi, sympy.cos),
}


def same_radius(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two exact radii are equal (by their digits where sympy cannot tell)."""
    if a is sympy.oo or b is sympy.oo:
        return bool(a == b)
    if a == b:
        return True
    if a.is_Rational and b.is_Rational:
        return False
    return is_zero(a - b)


def distinct(radii: Iterable[sympy.Expr]) -> list[sympy.Expr]:
    """Radii in ascending order, each once."""
    found: list[sympy.Expr] = []
    for radius in radii:
        if not any(same_radius(radius, r) for r in found):
            found.append(radius)
    return sorted(found, key=lambda r: float(r.evalf(30)))


def positive_zeros(expr: sympy.Expr, upper: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """All zeros of an expression with 0 < z <= upper, as exact numbers."""
    try:
        found = _zeros(expr, upper)
    except (NotImplementedError, sympy.PolynomialError) as error:
        raise _not_found(expr) from error
    kept = []
    for r in found:
        value = r.evalf(30)
        if (value.is_real or is_zero(sympy.im(r))) and sympy.re(value) > 0:
            kept += [r] if sympy.re(value) <= upper or same_radius(r, upper) else []
    return tuple(kept)


def _not_found(expr: sympy.Expr) -> ExpansionError:
    return ExpansionError(f"the zeros of {expr} on z > 0 could not be found")


def _zeros(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr]:
    """All positive zeros up to a radius; some of them may be beyond it or below 0."""
    if not expr.free_symbols or expr == Z or expr.is_positive or expr.is_negative:
        return []
    for kink in (n for n in sympy.postorder_traversal(expr) if isinstance(n, PIECEWISE)):
        branches = [expr.xreplace({kink: choice}) for choice in _choices(kink)]
        return [r for branch in branches for r in _zeros(branch, upper)]
    if expr.is_Mul:
        return [r for factor in expr.args for r in _zeros(factor, upper)]
    if expr.is_Pow and not expr.exp.free_symbols:
        if not expr.exp.is_negative:
            return _zeros(expr.base, upper)
        if expr.base.func == sympy.gamma and not expr.base.args[0].is_nonnegative:
            raise _not_found(expr)
        return []  # 1/base has none where base is finite, and poles are critical themselves
    if upper is not sympy.oo and upper.evalf(30) <= 2 and is_below_its_end(expr):
        return [_TWO] if is_zero(expr.subs(Z, _TWO)) else []
    numerator = sympy.fraction(sympy.together(expr))[0]
    if numerator.is_positive or numerator.is_negative:
        return []
    roots = _algebraic_zeros(numerator)
    for form in (numerator, sympy.expand(numerator)):  # expanding takes roots of sums apart
        if roots is None:
            roots = _zeros_by_inverse(form, upper)
    if roots is None and (_is_sum_of_positives(expr) or _has_one_sign(expr, upper)):
        return []
    if roots is None:
        raise _not_found(expr)
    return roots


def _choices(kink: sympy.Expr) -> list[sympy.Expr]:
    """What |.|, Min, Max, Heaviside and Piecewise may be somewhere."""
    if isinstance(kink, sympy.Abs):
        return [kink.args[0], -kink.args[0]]
    if isinstance(kink, sympy.Heaviside):
        return [_NIL, sympy.Integer(1)]
    return [a[0] if isinstance(kink, sympy.Piecewise) else a for a in kink.args]


def _algebraic_zeros(expr: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a polynomial in a root z^(1/m), or None where it is not one."""
    powers = {p.exp for p in expr.atoms(sympy.Pow) if p.base == Z}
    if not all(e.is_Rational for e in powers):
        return None
    m = sympy.ilcm(1, 1, *[e.q for e in powers])
    poly_expr = sympy.powdenest(expr.subs(Z, _X**m), force=True)
    if not poly_expr.is_polynomial(_X):
        return None
    poly = sympy.Poly(poly_expr, _X)
    if poly.degree() > _MOST_DEGREE:
        raise ExpansionError(f"{expr} has too high a degree to isolate its zeros")
    if all(c.is_Rational for c in poly.all_coeffs()):
        roots = [r for r, _ in poly.real_roots(multiple=False)]
    elif poly.degree() <= 2:
        roots = [r for r in sympy.roots(poly, multiple=True) if is_zero(sympy.im(r))]
    else:
        return None
    return [sympy.powdenest(r**m) for r in roots if r.evalf(30) > 0]


def _zeros_by_inverse(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a f(h(z)) + b: those of h - f^-1(-b/a), if f is known."""
    constant, rest = expr.as_independent(Z, as_Add=True)
    factor, node = rest.as_independent(Z, as_Add=False)
    y = -constant / factor
    if node.func in (sympy.sin, sympy.cos):
        return _circular_zeros(node, y, upper)
    if _is_root(node):
        return _zeros(node.base - y ** (1 / node.exp), upper) if y.evalf(30) > 0 else []
    if node.func not in _INVERSES:
        return None
    low, high, inverse = _INVERSES[node.func]
    if not low <= y.evalf(30) <= high or inverse(y).is_infinite:
        return []
    return _zeros(node.args[0] - inverse(y), upper)


def _is_root(node: sympy.Basic) -> bool:
    return bool(node.is_Pow and node.exp.is_real and not (node.exp.has(Z) or node.exp.is_Integer))


def _circular_zeros(node: sympy.Expr, y: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr] | None:
    """Where sin or cos of a linear argument is y on a bounded range; None for other arguments."""
    if abs(y.evalf(30)) > 1 and not is_zero(abs(y) - 1):
        return []
    argument, turn = node.args[0], 2 * sympy.pi
    slope = sympy.diff(argument, Z)
    if slope.free_symbols:
        return None
    if upper is sympy.oo:
        raise ExpansionError(f"{node - y} has infinitely many zeros, or none that could be found")
    start = argument.subs(Z, 0)
    low, high = sorted(float((a / turn).evalf()) for a in (start, start + slope * upper))
    if high - low > _MOST_ZEROS / 2:
        raise ExpansionError(f"the formula has more than {_MOST_ZEROS} radii of this kind")
    angle = sympy.acos(y) if node.func == sympy.cos else sympy.asin(y)
    angles = {angle, -angle if node.func == sympy.cos else sympy.pi - angle}
    turns = range(int(low) - 2, int(high) + 3)
    return [(angle + n * turn - start) / slope for angle in angles for n in turns]


def _is_sum_of_positives(expr: sympy.Expr) -> bool:
    """A sum of positive multiples of powers that are real, and so >= 0, where the formula is."""
    factors = [f for term in sympy.Add.make_args(expr) for f in sympy.Mul.make_args(term)]
    return any(term.is_positive or (term / Z).is_positive for term in expr.args) and all(
        f.is_nonnegative or (_is_root(f) and f.exp.is_positive) for f in factors
    )


def _has_one_sign(expr: sympy.Expr, upper: sympy.Expr) -> bool:
    """Prove with balls that an expression does not vanish on 0 <= z <= upper."""
    if upper is sympy.oo:
        return False
    value, todo = BallFunction(expr, Z, real=True), [(0.0, float(upper) * (1.0 + 1e-15))]
    for _ in range(_MOST_BOXES):
        if not todo:
            return True
        low, high = todo.pop()
        middle, half = (low + high) / 2, (high - low) / 2
        try:
            ball = value.at_precision(flint.acb(flint.arb(middle, half)), _BITS).real
        except ArithmeticError:
            continue  # no real value there: another branch of the formula holds
        if not (ball > 0 or ball < 0):
            todo += [(low, middle), (middle, high)]
    return False
