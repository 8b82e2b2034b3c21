"""The positive zeros of a formula: all of them, as exact numbers, or a proof of none."""

from __future__ import annotations

from collections.abc import Iterable

import flint
import sympy

from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero
from spectra.formula.expansions.kinks import KINKS
from spectra.formula.reader.parsing import Z
from spectra.singularities.power_series import is_below_its_end

__all__ = ["MAY_BE_ZERO", "distinct", "positive_zeros", "same_radius"]

_X = sympy.Symbol("x", nonnegative=True)
_Y = sympy.Symbol("y", real=True)
#: The antipode of the unit sphere, where u = <x, y> is -1.
_NIL, _TWO = sympy.Integer(0), sympy.Integer(2)
#: A number below this may be zero: a place may then be singular, or a root real.
MAY_BE_ZERO = sympy.Float(10, 30) ** -40
#: More zeros than this on a support are taken as too many to follow.
_MOST_ZEROS = 200
#: Degrees beyond which exact root isolation takes too long.
_MOST_DEGREE = 60
#: Balls of a proof before it is given up, and their bits.
_MOST_BOXES, _BITS = 1000, 53


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
        found = [r for r in _zeros(expr, upper) if not r.free_symbols]
    except (NotImplementedError, sympy.PolynomialError) as error:
        raise ExpansionError(f"the zeros of {expr} on z > 0 could not be found") from error
    kept = []
    for r in found:
        value = r.evalf(30)
        if not value.is_real and not is_zero(sympy.im(r)):
            continue
        if sympy.re(value) > 0 and (upper is sympy.oo or r == upper or r.evalf(30) <= upper):
            kept.append(r)
        elif upper is not sympy.oo and same_radius(r, upper):
            kept.append(upper)
    return tuple(kept)


def _zeros(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr]:
    if not expr.free_symbols or expr.is_positive or expr.is_negative:
        return []
    if expr.has(*KINKS):
        return [r for branch in _all_branches(expr) for r in _zeros(branch, upper)]
    if expr == Z:
        return []
    if expr.is_Mul:
        return [r for factor in expr.args for r in _zeros(factor, upper)]
    if expr.is_Pow and not expr.exp.free_symbols:
        if not expr.exp.is_negative:
            return _zeros(expr.base, upper)
        # 1/base has none where base is finite, and poles are critical themselves.
        if expr.base.func == sympy.gamma and not expr.base.args[0].is_nonnegative:
            raise ExpansionError(f"the poles of {expr.base} could not be found")
        return []
    if expr.func == sympy.exp or (expr.is_Pow and expr.base.is_positive):
        return []
    if expr.func in (sympy.Abs, sympy.asin, sympy.atan, sympy.sinh, sympy.tanh, sympy.erf):
        return _zeros(expr.args[0], upper)
    if expr.func in (sympy.log, sympy.acos):
        return _zeros(expr.args[0] - 1, upper)
    if expr.func in _CIRCULAR:
        return _circular_zeros(expr, _NIL, upper)
    if upper is not sympy.oo and upper.evalf(30) <= 2 and is_below_its_end(expr):
        return [_TWO] if is_zero(expr.subs(Z, _TWO)) else []
    numerator = sympy.fraction(sympy.together(expr))[0]
    if numerator.is_positive or numerator.is_negative:
        return []
    roots = _algebraic_zeros(numerator)
    for form in (numerator, sympy.expand(numerator)):  # expanding takes roots of sums apart
        if roots is None:
            roots = _zeros_through_a_function(form, upper)
    if roots is None and (_is_sum_of_positives(expr) or _has_one_sign(expr, upper)):
        roots = []
    if roots is None:
        raise ExpansionError(f"the zeros of {expr} on z > 0 could not be found")
    return roots


def _all_branches(expr: sympy.Expr) -> list[sympy.Expr]:
    """Every expression that the kinks can make of this one; its zeros are among theirs."""
    done: list[sympy.Expr] = []
    todo = [expr]
    while todo:
        branch = todo.pop()
        kinks = [n for n in sympy.postorder_traversal(branch) if isinstance(n, KINKS)]
        if not kinks:
            done.append(branch)
            continue
        kink = kinks[0]
        if isinstance(kink, sympy.Abs):
            choices = [kink.args[0], -kink.args[0]]
        elif isinstance(kink, sympy.Heaviside):
            choices = [sympy.Integer(0), sympy.Integer(1)]
        elif isinstance(kink, sympy.Piecewise):
            choices = [value for value, _ in kink.args]
        else:
            choices = list(kink.args)
        todo += [branch.xreplace({kink: choice}) for choice in choices]
        if len(todo) + len(done) > _MOST_ZEROS:
            raise ExpansionError(f"{expr} has too many branches to follow")
    return [b for b in dict.fromkeys(done) if sympy.expand(b) != 0]


def _algebraic_zeros(expr: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a polynomial in a root z^(1/m), or None where it is not one."""
    powers = {p.exp for p in expr.atoms(sympy.Pow) if p.base == Z}
    if not all(e.is_Rational for e in powers):
        return None
    m = sympy.ilcm(1, 1, *[e.q for e in powers])
    poly_expr = expr.subs(Z, _X**m) if m > 1 else expr.subs(Z, _X)
    poly_expr = sympy.powdenest(poly_expr, force=True)
    if not poly_expr.is_polynomial(_X):
        return None
    poly = sympy.Poly(poly_expr, _X)
    if poly.is_zero:
        raise ExpansionError(f"{expr} vanishes everywhere")
    if poly.degree() > _MOST_DEGREE:
        raise ExpansionError(f"{expr} has too high a degree to isolate its zeros")
    if all(sympy.sign(c) == sympy.sign(poly.LC()) for c in poly.coeffs()):
        return []
    roots = _real_roots(poly)
    return None if roots is None else [sympy.powdenest(r**m) for r in roots if r.evalf(30) > 0]


def _real_roots(poly: sympy.Poly) -> list[sympy.Expr] | None:
    """The real roots of a polynomial of rational coefficients, or of degree 1 or 2; else None."""
    if all(c.is_Rational for c in poly.all_coeffs()):
        return [r for r, _ in poly.real_roots(multiple=False)]
    if poly.degree() > 2:
        return None
    return [r for r in sympy.roots(poly, multiple=True) if is_zero(sympy.im(r))]


def _zeros_through_a_function(expr: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr] | None:
    """Zeros of a polynomial in one f(h(z)): the roots y, then the zeros of h - f^-1(y)."""
    inner = {
        node
        for node in sympy.preorder_traversal(expr)
        if node.free_symbols and (node.func in (*_INVERSES, *_CIRCULAR) or _is_root(node))
    }
    outer = [n for n in inner if not any(n != m and m.has(n) for m in inner)]
    if len(outer) != 1:
        return None
    node = outer[0]
    rest = expr.subs(node, _Y)
    if rest.has(Z) or not rest.is_polynomial(_Y):
        return None
    poly = sympy.Poly(rest, _Y)
    values = _real_roots(poly) if poly.degree() <= _MOST_DEGREE else None
    if values is None:
        return None
    found: list[sympy.Expr] = []
    for y in values:
        if _is_root(node):
            if y.evalf(30) > MAY_BE_ZERO or (y == 0 and node.exp.is_positive):
                found += _zeros(node.base - y ** (1 / node.exp), upper)
            continue
        if node.func in _CIRCULAR:
            found += _circular_zeros(node, y, upper)
            continue
        target = _INVERSES[node.func](y)
        if target is not None:
            found += _zeros(node.args[0] - target, upper)
    return found


def _is_root(node: sympy.Basic) -> bool:
    return bool(node.is_Pow and node.exp.is_real and not (node.exp.has(Z) or node.exp.is_Integer))


_CIRCULAR = (sympy.sin, sympy.cos)
#: Where f(h) = y: h is the result, or there is no such place.
_INVERSES = {
    sympy.exp: lambda y: sympy.log(y) if y.evalf(30) > 0 else None,
    sympy.log: sympy.exp,
    sympy.sinh: sympy.asinh,
    sympy.tanh: lambda y: sympy.atanh(y) if abs(y.evalf(30)) < 1 else None,
    sympy.atan: lambda y: sympy.tan(y) if abs(y.evalf(30)) < sympy.pi / 2 else None,
    sympy.acos: lambda y: sympy.cos(y) if 0 <= y.evalf(30) <= sympy.pi else None,
    sympy.asin: lambda y: sympy.sin(y) if abs(y.evalf(30)) <= sympy.pi / 2 else None,
}


def _circular_zeros(node: sympy.Expr, y: sympy.Expr, upper: sympy.Expr) -> list[sympy.Expr]:
    """Where sin or cos of a linear argument is y on a bounded range, if it is not nowhere."""
    if abs(y.evalf(30)) > 1 and not is_zero(abs(y) - 1):
        return []
    argument, turn = node.args[0], 2 * sympy.pi
    slope = sympy.diff(argument, Z)
    if slope.free_symbols or upper is sympy.oo:
        if _has_one_sign(node - y, upper):
            return []
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
            ball = value.once(flint.acb(flint.arb(middle, half)), _BITS).real
        except ArithmeticError:
            continue  # no real value there: another branch of the formula holds
        if not (ball > 0 or ball < 0):
            todo += [(low, middle), (middle, high)]
    return False
