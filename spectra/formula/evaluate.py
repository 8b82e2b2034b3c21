"""Numbers from formulas, by walking the expression tree: nothing is compiled from text.

An expression in one symbol becomes a short program: one step for each different node, so a
common subexpression is computed once per call.  Every head (``Add``, ``exp``, ``besselk``, ...)
has one entry in a table with two backends, NumPy for speed and mpmath for digits; a function
is added to the toolkit by adding one :class:`Function` to :data:`FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import mpmath
import numpy as np
import scipy.special
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import AccuracyError, FormulaError

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "Function",
    "is_supported",
    "mpmath_function",
    "numpy_function",
    "value_at_zero",
]

Array = NDArray[Any]
#: What a backend knows of one node: a function of numbers, and the nodes it is applied to.
Step = tuple[Callable[..., Any], tuple[sympy.Basic, ...]]
Planner = Callable[[sympy.Basic], Step]

CONSTANTS: dict[str, sympy.Expr] = {"pi": sympy.pi, "E": sympy.E}


@dataclass(frozen=True)
class Function:
    """One function of the formula language: its spellings, its sympy head, and its two backends.

    Parameters
    ----------
    names
        The spellings accepted in text; the first is sympy's.
    head
        The sympy class.
    arity
        The least and largest number of arguments; ``None`` for no upper limit.
    numpy, mpmath
        The function of arrays and the function of ``mpf`` / ``mpc``.
    analytic
        False where the function has no analytic continuation (complex input is refused).
    largest
        The largest size of a numeric argument; sympy may do unbounded exact work beyond it.
    fixed
        How many leading arguments have to be numbers (the order of a Bessel function).
    """

    names: tuple[str, ...]
    head: Any
    arity: tuple[int, int | None]
    numpy: Callable[..., Any]
    mpmath: Callable[..., Any]
    analytic: bool = True
    largest: int | None = None
    fixed: int = 0


# --- the functions, NumPy backend -----------------------------------------------------------


def _np_least(*values: Any) -> Any:
    return reduce(np.minimum, values)


def _np_greatest(*values: Any) -> Any:
    return reduce(np.maximum, values)


def _np_bessel(function: Callable[..., Any]) -> Callable[..., Any]:
    # scipy refuses integer orders beside float32 and warns on complex ones: orders are float.
    return lambda order, x: function(float(order), x)


def _np_hyper(a: tuple[float, ...], b: tuple[float, ...], x: Array) -> Array:
    """Evaluate pFq by scipy where it has the function, point by point in mpmath elsewhere."""
    match (a, b):
        case ((), (c,)):
            return np.asarray(scipy.special.hyp0f1(c, x))
        case ((s, t), (c,)) if not np.iscomplexobj(x):
            inside = np.abs(x) < 0.9  # scipy's own power series; beyond it loses digits
            near = scipy.special.hyp2f1(s, t, c, np.where(inside, x, 0.0))
            if np.all(inside):
                return np.asarray(near)
    return _hyper_pointwise(a, b, np.asarray(x))


def _hyper_pointwise(a: tuple[float, ...], b: tuple[float, ...], x: Array) -> Array:
    is_complex = np.iscomplexobj(x)
    out = np.empty(x.shape, dtype=complex if is_complex else float)
    with mp.workprec(80):
        for index, point in np.ndenumerate(x):
            value = _mp_hyper(a, b, mp.mpmathify(complex(point) if is_complex else float(point)))
            if is_complex:
                out[index] = complex(value)
            else:
                out[index] = np.nan if isinstance(value, mpmath.mpc) else float(value)
    return out


# --- the functions, mpmath backend ----------------------------------------------------------


def _mp_hyper(a: tuple[Any, ...], b: tuple[Any, ...], x: Any) -> Any:
    if mp.isnan(x):
        return mp.nan
    try:
        return mp.hyper(list(a), list(b), x)
    except (ValueError, mp.NoConvergence) as error:
        raise AccuracyError(
            f"hyper({list(a)}, {list(b)}, x) did not converge at x = {mp.nstr(x, 8)}: {error}; "
            "keep the argument where the series converges"
        ) from error


def _mp_gamma(x: Any) -> Any:
    if mp.im(x) == 0 and mp.re(x) <= 0 and mp.isint(mp.re(x)):
        return mp.nan
    return mp.gamma(x)


def _mp_besselk(order: Any, x: Any) -> Any:
    if mp.isint(order) and 0 < abs(x) <= 1:
        return _mp_besselk_integer(abs(int(order)), x)
    return mp.besselk(order, x)


def _mp_besselk_integer(n: int, x: Any) -> Any:
    """Sum K_n(x) for integer n and small x by its series, DLMF 10.31.1.

    mpmath perturbs the order instead, which takes seconds at hundreds of digits.
    """
    with mp.extraprec(2 * n + 20):
        quarter, log_half = (x / 2) ** 2, mp.log(x / 2)
        poles = mp.fsum(
            (-quarter) ** k * mp.factorial(n - k - 1) / mp.factorial(k) for k in range(n)
        )
        total, k, term = mp.mpf(0), 0, 1 / mp.factorial(n)
        psi = 2 * -mp.euler + mp.fsum(mp.mpf(1) / j for j in range(1, n + 1))
        while k == 0 or abs(term * psi) > mp.eps * abs(total):
            total += term * (psi - 2 * log_half)
            k += 1
            term *= quarter / (k * (n + k))
            psi += mp.mpf(1) / k + mp.mpf(1) / (n + k)
        return (poles * (x / 2) ** -n + (-1) ** n * (x / 2) ** n * total) / 2


def _mp_heaviside(x: Any, at_zero: Any) -> Any:
    return at_zero if x == 0 else mp.mpf(x > 0)


_MATRIX_OF_NAMES: tuple[tuple[tuple[str, ...], Any, Any, Any, int | None], ...] = (
    (("exp",), sympy.exp, np.exp, mp.exp, 2000),
    (("log", "ln"), sympy.log, np.log, mp.log, None),
    (("sin",), sympy.sin, np.sin, mp.sin, None),
    (("cos",), sympy.cos, np.cos, mp.cos, None),
    (("tan",), sympy.tan, np.tan, mp.tan, None),
    (("asin", "arcsin"), sympy.asin, np.arcsin, mp.asin, None),
    (("acos", "arccos"), sympy.acos, np.arccos, mp.acos, None),
    (("atan", "arctan"), sympy.atan, np.arctan, mp.atan, None),
    (("sinh",), sympy.sinh, np.sinh, mp.sinh, 2000),
    (("cosh",), sympy.cosh, np.cosh, mp.cosh, 2000),
    (("tanh",), sympy.tanh, np.tanh, mp.tanh, 2000),
    (("gamma",), sympy.gamma, scipy.special.gamma, _mp_gamma, 400),
    (("erf",), sympy.erf, scipy.special.erf, mp.erf, 10_000),
    (("erfc",), sympy.erfc, scipy.special.erfc, mp.erfc, 10_000),
)

FUNCTIONS: tuple[Function, ...] = (
    *(Function(names, head, (1, 1), f, g, largest=n) for names, head, f, g, n in _MATRIX_OF_NAMES),
    *(
        Function((head.__name__,), head, (2, 2), _np_bessel(f), g, largest=10_000, fixed=1)
        for head, f, g in (
            (sympy.besselj, scipy.special.jv, mp.besselj),
            (sympy.besseli, scipy.special.iv, mp.besseli),
            (sympy.besselk, scipy.special.kv, _mp_besselk),
        )
    ),
    Function(("Abs", "abs"), sympy.Abs, (1, 1), np.abs, mp.fabs, analytic=False),
    Function(("Heaviside",), sympy.Heaviside, (1, 2), np.heaviside, _mp_heaviside, analytic=False),
    Function(("Min", "min", "minimum"), sympy.Min, (1, None), _np_least, min, analytic=False),
    Function(("Max", "max", "maximum"), sympy.Max, (1, None), _np_greatest, max, analytic=False),
)


# --- the structure of expressions: sums, products, powers, conditions ------------------------


def _add(*terms: Any) -> Any:
    return reduce(lambda left, right: left + right, terms)


def _mul(*factors: Any) -> Any:
    return reduce(lambda left, right: left * right, factors)


def _plan_mul_numpy(node: sympy.Mul) -> Step:
    """Divide once instead of multiplying by a reciprocal: sin(z)/z then rounds once less."""
    above, below = [], []
    for factor in node.args:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            below.append(sympy.Pow(factor.base, -factor.exp))
        else:
            above.append(factor)
    if not below or not above:
        return _mul, tuple(node.args)
    count = len(above)
    return lambda *values: _mul(*values[:count]) / _mul(*values[count:]), (*above, *below)


_NUMPY_POWERS: dict[sympy.Rational, Callable[[Any], Any]] = {
    sympy.Integer(2): np.square,
    sympy.Integer(-1): lambda x: 1.0 / x,
    sympy.Integer(-2): lambda x: 1.0 / np.square(x),
    sympy.Rational(1, 2): np.sqrt,
    sympy.Rational(3, 2): lambda x: x * np.sqrt(x),
    sympy.Rational(-1, 2): lambda x: 1.0 / np.sqrt(x),
}


def _plan_pow_numpy(node: sympy.Pow) -> Step:
    base, exponent = node.args
    if exponent in _NUMPY_POWERS:
        return _NUMPY_POWERS[exponent], (base,)
    if exponent.is_Integer:
        n = int(exponent)
        # A float base with a Python int exponent keeps the sign of negative bases.
        return lambda x: np.power(x, n), (base,)
    return np.power, (base, exponent)


def _plan_pow_mpmath(node: sympy.Pow) -> Step:
    base, exponent = node.args
    if exponent.is_Integer:
        n = int(exponent)
        return lambda x: x**n, (base,)
    if exponent == sympy.S.Half:
        return mp.sqrt, (base,)
    return mp.power, (base, exponent)


def _hyper_parameters(node: sympy.hyper) -> tuple[sympy.Expr, ...]:
    if node.ap.free_symbols or node.bq.free_symbols:
        raise FormulaError(
            f"the parameters of {node} depend on the variable; "
            "only the last argument of hyper(...) may"
        )
    return (*node.ap, *node.bq)


def _plan_hyper_numpy(node: sympy.hyper) -> Step:
    values = tuple(_to_float(p) for p in _hyper_parameters(node))
    p = len(node.ap)
    if any(value.is_integer and value <= 0 for value in node.ap):
        # A polynomial: valid everywhere, also where scipy's continuation is not.
        return partial(_hyper_pointwise, values[:p], values[p:]), (node.argument,)
    return partial(_np_hyper, values[:p], values[p:]), (node.argument,)


def _plan_hyper_mpmath(node: sympy.hyper) -> Step:
    parameters = _hyper_parameters(node)
    p = len(node.ap)

    def evaluate(*values: Any) -> Any:
        return _mp_hyper(values[:p], values[p:-1], values[-1])

    return evaluate, (*parameters, node.argument)


# Truth is the number 1 or 0, and nan where a side of a comparison is undefined: minimum and
# maximum are then "and" and "or", and an undefined condition is never read as false.
def _np_compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def truth(left: Any, right: Any) -> Any:
        defined = ~(np.isnan(left) | np.isnan(right))
        return np.where(defined, compare(left, right).astype(float), np.nan)

    return truth


def _mp_compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: mp.mpf(bool(compare(left, right)))


def _not(truth: Any) -> Any:
    return 1 - truth


@dataclass(frozen=True)
class _Rule:
    numpy: Planner
    mpmath: Planner
    analytic: bool = True


def _applied(function: Callable[..., Any]) -> Planner:
    return lambda node: (function, tuple(node.args))


def _function_rule(function: Function) -> _Rule:
    def plan(evaluate: Callable[..., Any], node: sympy.Basic) -> Step:
        if any(argument.free_symbols for argument in node.args[: function.fixed]):
            raise FormulaError(
                f"the order of {node} depends on the variable; give it as a number or a parameter"
            )
        return evaluate, tuple(node.args)

    return _Rule(partial(plan, function.numpy), partial(plan, function.mpmath), function.analytic)


def _relation(numpy: Any, plain: Callable[[Any, Any], Any]) -> _Rule:
    return _Rule(_applied(_np_compare(numpy)), _applied(_mp_compare(plain)), analytic=False)


_RULES: dict[Any, _Rule] = {
    sympy.Add: _Rule(_applied(_add), _applied(_add)),
    sympy.Mul: _Rule(_plan_mul_numpy, _applied(_mul)),
    sympy.Pow: _Rule(_plan_pow_numpy, _plan_pow_mpmath),
    sympy.hyper: _Rule(_plan_hyper_numpy, _plan_hyper_mpmath),
    sympy.StrictLessThan: _relation(np.less, lambda a, b: a < b),
    sympy.LessThan: _relation(np.less_equal, lambda a, b: a <= b),
    sympy.StrictGreaterThan: _relation(np.greater, lambda a, b: a > b),
    sympy.GreaterThan: _relation(np.greater_equal, lambda a, b: a >= b),
    sympy.Equality: _relation(np.equal, lambda a, b: a == b),
    sympy.Unequality: _relation(np.not_equal, lambda a, b: a != b),
    sympy.And: _Rule(_applied(_np_least), _applied(min), analytic=False),
    sympy.Or: _Rule(_applied(_np_greatest), _applied(max), analytic=False),
    sympy.Not: _Rule(_applied(_not), _applied(_not), analytic=False),
    **{function.head: _function_rule(function) for function in FUNCTIONS},
}


def is_supported(node: sympy.Basic) -> bool:
    """Say whether a node's own head is in the table; its arguments are not looked at.

    Examples
    --------
    >>> import sympy
    >>> is_supported(sympy.exp(sympy.Symbol("z"))), is_supported(sympy.zeta(sympy.Symbol("z")))
    (True, False)
    """
    return (
        node.is_Symbol
        or node.is_Rational
        or node in (sympy.pi, sympy.E, sympy.true, sympy.false)
        or isinstance(node, sympy.Piecewise | sympy.functions.elementary.piecewise.ExprCondPair)
        or node.func in _RULES
    )


# --- programs -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Instruction:
    function: Callable[..., Any]
    operands: tuple[int, ...]
    finished: tuple[int, ...]  # registers that no later step reads


@dataclass(frozen=True)
class _Program:
    """Register 0 is the variable; instruction i writes register i + 1; the last is the value."""

    instructions: tuple[_Instruction, ...]

    def __call__(self, x: Any) -> Any:
        registers: list[Any] = [x]
        for step in self.instructions:
            registers.append(step.function(*[registers[i] for i in step.operands]))
            for i in step.finished:
                registers[i] = None
        return registers[-1]


class _Compiler:
    """Turn an expression into a program for one backend; equal nodes share a register."""

    def __init__(self, symbol: sympy.Symbol, backend: str) -> None:
        self._symbol = symbol
        self._backend = backend
        self._place: dict[sympy.Basic, int] = {symbol: 0}
        self._steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []

    def compile(self, expr: sympy.Basic) -> _Program:
        place = self._visit(expr)
        if place != len(self._steps):
            self._steps.append((lambda value: value, (place,)))
        last_use: dict[int, int] = {}
        for index, (_, operands) in enumerate(self._steps):
            last_use.update(dict.fromkeys(operands, index))
        return _Program(
            tuple(
                _Instruction(f, operands, tuple(i for i, n in last_use.items() if n == index))
                for index, (f, operands) in enumerate(self._steps)
            )
        )

    def _visit(self, node: sympy.Basic) -> int:
        if node not in self._place:
            function, operands = self._plan(node)
            if self._backend == "mpmath" and operands:
                function = _strict(function)
            places = tuple(self._visit(operand) for operand in operands)
            self._steps.append((function, places))
            self._place[node] = len(self._steps)
        return self._place[node]

    def _plan(self, node: sympy.Basic) -> Step:
        if node in (sympy.true, sympy.false):
            return partial(_truth, self._backend, bool(node)), ()
        if not node.free_symbols and (self._backend == "numpy" or not node.args):
            return self._plan_number(node)
        if isinstance(node, sympy.Piecewise):
            return self._plan_piecewise(node)
        rule = _RULES.get(node.func)
        if rule is None:
            raise FormulaError(
                f"cannot evaluate {node}: {node.func.__name__} is not a function of the toolkit"
            )
        return getattr(rule, self._backend)(node)  # type: ignore[no-any-return]

    def _plan_number(self, node: sympy.Basic) -> Step:
        if self._backend == "numpy":
            value = _to_float(node)
            return lambda: value, ()
        if node.is_Rational:
            return partial(_mp_ratio, int(node.p), int(node.q)), ()
        if node is sympy.pi:
            return lambda: +mp.pi, ()
        if node is sympy.E:
            return lambda: +mp.e, ()
        raise FormulaError(f"cannot evaluate the constant {node}: it is not a real number")

    def _plan_piecewise(self, node: sympy.Piecewise) -> Step:
        branches = tuple((self._sub(cond), self._sub(expr)) for expr, cond in node.args)
        choose = _np_piecewise if self._backend == "numpy" else _mp_piecewise
        return partial(choose, branches), (self._symbol,)

    def _sub(self, node: sympy.Basic) -> _Program:
        return _Compiler(self._symbol, self._backend).compile(node)


def _truth(backend: str, value: bool) -> Any:
    return float(value) if backend == "numpy" else mp.mpf(value)


def _mp_ratio(p: int, q: int) -> Any:
    return mp.mpf(p) / q


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Propagate nan, read a pole as nan, and never leave the reals from real arguments."""

    def evaluate(*values: Any) -> Any:
        if any(mp.isnan(value) for value in values):
            return mp.nan
        try:
            result = function(*values)
        except ZeroDivisionError:
            return mp.nan
        left_the_reals = isinstance(result, mpmath.mpc) and not any(
            isinstance(value, mpmath.mpc) for value in values
        )
        return mp.nan if left_the_reals else result

    return evaluate


def _np_piecewise(branches: tuple[tuple[_Program, _Program], ...], x: Any) -> Array:
    """Evaluate each branch on its own points only: none is asked outside its domain."""
    points = np.asarray(x)
    flat = points.reshape(-1)
    out = np.full(flat.shape, np.nan)
    left = np.arange(flat.size)
    for condition, value in branches:
        truth = np.broadcast_to(condition(flat[left]), left.shape)
        chosen = left[truth == 1.0]
        if chosen.size:
            out[chosen] = value(flat[chosen])
        left = left[truth == 0.0]
    return out.reshape(points.shape)


def _mp_piecewise(branches: tuple[tuple[_Program, _Program], ...], x: Any) -> Any:
    for condition, value in branches:
        truth = condition(x)
        if mp.isnan(truth):
            break
        if truth == 1:
            return value(x)
    return mp.nan


def _to_float(number: sympy.Expr) -> float:
    """Round an exact real number to the nearest double (to one ulp where it is irrational)."""
    if number.is_Rational:
        try:
            return int(number.p) / int(number.q)
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    value = number.evalf(30)
    if not value.is_Float:
        raise FormulaError(f"cannot evaluate the constant {number}: it is not a real number")
    return float(value)


def _non_analytic(expr: sympy.Expr) -> str | None:
    for node in sympy.preorder_traversal(expr):
        rule = _RULES.get(node.func)
        kinked = isinstance(node, sympy.Piecewise) or (rule is not None and not rule.analytic)
        if kinked and node.free_symbols:
            return str(node.func.__name__)
    return None


def _refuse_other_symbols(expr: sympy.Expr, symbol: sympy.Symbol) -> None:
    others = sorted(str(s) for s in expr.free_symbols if s != symbol)
    if others:
        raise FormulaError(
            f"cannot evaluate {expr}: {', '.join(others)} has no value; "
            f"give it one first, the only variable here is {symbol}"
        )


def _complex_refusal(head: str) -> FormulaError:
    return FormulaError(
        f"{head} has no analytic continuation, so this formula takes real arguments only; "
        "write the formula without it to evaluate it at complex points"
    )


def numpy_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Array]:
    """Make a function of arrays from an expression in one symbol.

    Parameters
    ----------
    expr
        An expression of the whitelist of :mod:`spectra.formula.parsing`, free of every symbol but
        `symbol`.
    symbol
        The variable.

    Returns
    -------
    callable
        Takes a real or complex array of any shape and returns one of the same shape, float64 or
        complex128.  It is nan where the formula is undefined over the reals (``acos(1.5)``,
        ``0/0``) and follows IEEE arithmetic at poles (``1/0`` is inf); it never warns.

    Raises
    ------
    FormulaError
        If the expression has another free symbol or a head without a rule; at the call, if a
        complex array meets a function without an analytic continuation (Abs, Piecewise, ...).

    Examples
    --------
    >>> import numpy as np, sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = numpy_function(1 - z**2 / 4, z)
    >>> f(np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    _refuse_other_symbols(expr, symbol)
    program = _Compiler(symbol, "numpy").compile(expr)
    kink = _non_analytic(expr)

    def evaluate(x: Any) -> Array:
        points = np.asarray(x)
        points = points.astype(complex if np.iscomplexobj(points) else float, copy=False)
        if kink is not None and np.iscomplexobj(points):
            raise _complex_refusal(kink)
        with np.errstate(all="ignore"):
            value = np.asarray(program(points), dtype=points.dtype)
        if value.shape != points.shape or value is points:
            value = np.array(np.broadcast_to(value, points.shape))
        return value

    return evaluate


def mpmath_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Make a function of one mpmath number from an expression; mpmath's working precision rules.

    Parameters
    ----------
    expr, symbol
        As for :func:`numpy_function`.

    Returns
    -------
    callable
        Takes ``mpf`` or ``mpc`` (or what mpmath converts) and returns the same kind.  At a real
        argument it is nan where the formula is undefined over the reals or has a pole.

    Raises
    ------
    FormulaError
        As for :func:`numpy_function`.
    AccuracyError
        At the call, if a hypergeometric series does not converge.

    Examples
    --------
    >>> import mpmath, sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = mpmath_function(sympy.exp(-z / 3), z)
    >>> with mpmath.workdps(30):
    ...     print(f(mpmath.mpf(1)))
    0.716531310573789250425604096925
    """
    _refuse_other_symbols(expr, symbol)
    program = _Compiler(symbol, "mpmath").compile(expr)
    kink = _non_analytic(expr)

    def evaluate(x: Any) -> Any:
        point = mp.mpmathify(x)
        if kink is not None and isinstance(point, mpmath.mpc):
            raise _complex_refusal(kink)
        return program(point)

    return evaluate


# --- the value at the origin ----------------------------------------------------------------

# Two points 10**-n and the digits to work with.  At the near one all cancellations up to z**20
# are resolved; at the far one z**0.3 is below 1e-36 in the first round, z**0.1 in the second,
# which is much slower.
_ROUNDS = (((20, 120), 400), ((40, 400), 1300))
_SYMPY_FAILURES = (
    ArithmeticError,
    AttributeError,
    KeyError,
    IndexError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


def value_at_zero(expr: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """Return the exact limit of an expression as its variable decreases to 0, if it is finite.

    Substitution is tried first, then recognition of the value at 1e-120 (for Bessel functions,
    whose limits sympy often does not know), then ``sympy.limit``.  Each candidate has to agree with
    mpmath close to the origin; if none does the answer is None.

    Parameters
    ----------
    expr, symbol
        As for :func:`numpy_function`.

    Returns
    -------
    sympy.Expr or None
        None means infinite, oscillating, undefined, or not found.

    Examples
    --------
    >>> import sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> value_at_zero(sympy.sin(z) / z, z), value_at_zero(sympy.exp(-z), z)
    (1, 1)
    >>> print(value_at_zero(1 / z, z))
    None
    """
    for exponents, digits in _ROUNDS:
        with mp.workdps(digits):
            value = _limit_in_round(expr, symbol, exponents)
        if value is not None:
            return sympy.expand_func(value)
    return None


def _limit_in_round(
    expr: sympy.Expr, symbol: sympy.Symbol, exponents: tuple[int, ...]
) -> sympy.Expr | None:
    near = _values_near_zero(expr, symbol, exponents)
    if near is None:
        return None
    for route in (_by_substitution, _by_recognition, _by_limit):
        try:
            value = route(expr, symbol, near)
            if value is not None and _agrees(value, near):
                return value
        except _SYMPY_FAILURES:
            # sympy's limits and substitutions fail in these ways; the next route may not.
            continue
    return None


def _values_near_zero(
    expr: sympy.Expr, symbol: sympy.Symbol, exponents: tuple[int, ...]
) -> tuple[Any, ...] | None:
    function = mpmath_function(expr, symbol)
    try:
        values = tuple(function(mp.mpf(10) ** -n) for n in exponents)
    except (AccuracyError, ArithmeticError, ValueError, mp.NoConvergence):
        return None
    return values if all(mp.isfinite(value) for value in values) else None


def _agrees(value: sympy.Expr, near: tuple[Any, ...]) -> bool:
    if value.free_symbols or not value.is_finite or value.is_real is False:
        return False
    limit = mpmath_function(value, sympy.Dummy())(mp.mpf(0))
    errors = [abs(v - limit) for v in near]
    scale = 1 + abs(limit)
    # 1e-20 is below the distance of any two limits that a formula confuses; 1e-2 at the nearer
    # point unmasks a cancellation that the digits at the far point did not resolve.
    return bool(errors[1] <= errors[0] <= scale / 100 and errors[1] <= mp.mpf("1e-20") * scale)


def _by_substitution(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    value = expr.subs(symbol, 0)
    return value if value.is_finite else None


def _by_limit(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    if any(not (2 * bessel.order).is_integer for bessel in expr.atoms(sympy.besselk)):
        return None  # sympy's limit of these is wrong or endless
    return sympy.limit(sympy.expand_func(expr), symbol, 0, "+")


def _by_recognition(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    """Recognise rational multiples of 1 and of (2**nu gamma(nu))**+-1, the Bessel constants."""
    bessels = expr.atoms(sympy.besselj, sympy.besseli, sympy.besselk)
    if not bessels:
        return None
    orders = sorted({abs(bessel.order) for bessel in bessels} - {sympy.S.Zero}, key=str)
    scales = [2**nu * sympy.gamma(nu) for nu in orders]
    for unit in (sympy.S.One, *scales, *(1 / scale for scale in scales)):
        ratio = near[1] / mpmath_function(unit, sympy.Dummy())(mp.mpf(0))
        found = Fraction(int(mp.nint(ratio * mp.mpf(10) ** 60)), 10**60)
        simple = found.limit_denominator(10**9)
        # Two such fractions differ by 1e-18 at least: 36 digits are no coincidence.
        if abs(ratio - mp.mpf(simple.numerator) / simple.denominator) <= mp.mpf(10) ** -36:
            return unit * sympy.Rational(simple.numerator, simple.denominator)
    return None
