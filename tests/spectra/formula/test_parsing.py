"""Formulas are parsed exactly; everything else is refused and nothing is executed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spectra.errors import FormulaError, ParameterError
from spectra.formula.parameters import exact_parameter
from spectra.formula.parsing import U, Z, parse_formula

R = sympy.Rational


def radial(text: Any, **parameters: Any) -> sympy.Expr:
    return parse_formula(text, variable="z", parameters=parameters)


def zonal(text: str, **parameters: Any) -> sympy.Expr:
    return parse_formula(text, variable="u", parameters=parameters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", R(1, 1000)),
        (".5 + 1_000.25", R(100075, 100)),
        ("0.1 + 0.2", R(3, 10)),
        ("0.30000000000000004", R("0.30000000000000004")),
        ("2^3^2", sympy.Integer(512)),
        ("-2**2", sympy.Integer(-4)),
        ("pi*E", sympy.pi * sympy.E),
        ("ln(z) + arccos(1/2)", sympy.log(Z) + sympy.pi / 3),
        ("abs(z) + Abs(1 - z)", Z + sympy.Abs(1 - Z)),
        ("minimum(z, 1) + maximum(z, 2)", sympy.Min(Z, 1) + sympy.Max(Z, 2)),
        ("sqrt(z**2)", Z),
        ("Heaviside(1 - z, 1)", sympy.Heaviside(1 - Z, 1)),
        ("hyper([1/2, 1], [2], -z)", sympy.hyper([R(1, 2), 1], [2], -Z)),
        ("besselk(1/3, z)", sympy.besselk(R(1, 3), Z)),
        (
            "Piecewise((1, 1 < z <= 2), (2, (z > 3) & (z < 4)), (0, True))",
            sympy.Piecewise((1, (Z > 1) & (Z <= 2)), (2, (Z > 3) & (Z < 4)), (0, True)),
        ),
        (
            "Piecewise((1, z < 1 or not z < 2), (0, True))",
            sympy.Piecewise((1, (Z < 1) | (Z >= 2)), (0, True)),
        ),
        ("  exp(\n -z )  ", sympy.exp(-Z)),
    ],
)
def test_text_is_read_exactly(text: str, expected: sympy.Expr) -> None:
    assert radial(text) == expected


def test_the_variables_carry_their_assumptions() -> None:
    assert radial("z") == Z == sympy.Symbol("z", nonnegative=True)
    assert zonal("u") == U == sympy.Symbol("u", real=True)
    assert zonal("(u*(pi - acos(u)) + sqrt(1 - u**2))/pi").free_symbols == {U}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1e-20, R(1, 10**20)), (np.float32(0.1), R(1, 10)), (np.longdouble("0.1"), R(1, 10)),
     (Fraction(1, 3), R(1, 3)), (Decimal("0.25"), R(1, 4)), (sympy.pi / 2, sympy.pi / 2)],
)  # fmt: skip
def test_parameters_are_exact(value: Any, expected: Any) -> None:
    assert radial("a*z", a=value) == expected * Z
    assert exact_parameter("a", value) == expected


@pytest.mark.parametrize(
    ("text", "meant"),
    [("exp(-z^2) + exq(z)", "exq"), ("z^2*é + 1", "é"), ("1 +  * z^2", "*"), ("(1 + z^3)*2z", "2"),
     ("z + sin(z, z)", "sin(z, z)"), ("exp(-z", "(")],
)  # fmt: skip
def test_a_refusal_says_which_characters_it_is_about(text: str, meant: str) -> None:
    with pytest.raises((FormulaError, ParameterError)) as refused:
        parse_formula(text, variable="z")
    read, start, stop = refused.value.place
    assert read == " ".join(text.replace("^", "**").split())
    assert read[start:stop] == meant


def test_a_parameter_may_be_called_like_a_function() -> None:
    assert radial("gamma(3)*exp(-gamma*z)", gamma=2) == 2 * sympy.exp(-2 * Z)


REFUSED = [
    ("", "empty"),
    ("exp(-z", "never closed"),
    ("z^2^ + ", "character 9"),
    ("lambda*z", "such as lam"),
    ("exq(z)", "'exq'.*did you mean 'exp'"),
    ("where(z < 1, 1, 0)", "'where'.*Piecewise"),
    ("sinc(z)", r"sin\(a\)/a"),
    ("__import__('os').system('true')", "system"),
    ("numpy.pi*z", "write pi"),
    ("z.__class__", "__class__"),
    ("lambda z: z", "lambda"),
    ("'z'", "string"),
    ("exp(x=z)", "positional"),
    ("1 if z < 1 else 0", "Piecewise"),
    ("(z < 1)*2", "z < 1.*comparison"),
    ("[z]", "list"),
    ("z // 2", "operators"),
    ("z(1)", r"z\*\("),
    ("sin(z, z)", "sin takes 1 argument, not 2"),
    ("min()", "at least 1"),
    ("hyper(z)", "hyper takes 3"),
    ("hyper([z], [2], 1)", "z of hyper depends on the variable"),
    ("hyper([-1], [1], z)", "write polynomials out"),
    ("hyper([1], [], -z)", r"\(1 - x\)\*\*\(-a\)"),
    ("hyper([], [], -z)", r"exp\(x\) for hyper"),
    ("exp(-1e310*z)", r"beyond 1e\+300.*rescale"),
    ("besselj(z, 1)", "order z depends"),
    ("Piecewise((1, z))", "not a condition"),
    ("Piecewise((1, False))", "undefined"),
    ("I*z", "'I'.*imaginary"),
    ("sqrt(-z)", "complex"),
    ("acos(2)*z", "acos"),
    ("(-8)**(1/3)", "real"),
    ("1/0", "infinite"),
    ("log(0)", "infinite"),
    ("z" + " + z" * 6000, "20000 characters"),
    ("z # one", "no '#'"),
    ("exp(" * 60 + "z" + ")" * 60, "40 levels"),
    ("z**" * 1500 + "z", "40 levels"),
    ("9**9**9", "387420489 of 9"),
    ("1e99999999999999", "1e99999999999999"),
    ("10**900*10**900", "digits"),
    ("(1 + z)**100000", "100000 is beyond 10000"),
    ("exp(exp(exp(100)))", r"exp\(exp\(100\)\).*1000 digits"),
    ("gamma(10**6)", "beyond 10000"),
    ("-" * 1500 + "z", "40 levels"),
    ("z\x00", "null"),
    ("\ud800", "ud800"),
]


@pytest.mark.parametrize(("text", "named"), REFUSED)
def test_invalid_formulas_are_refused_by_name(text: Any, named: str) -> None:
    with pytest.raises(FormulaError, match=f"(?s){named}") as info:
        radial(text)
    str(info.value).encode()  # every message can be printed


@pytest.mark.parametrize(
    ("text", "parameters", "named"),
    [
        ("a*z", {}, "pass a=..."),
        ("u*z", {}, "the variable is z"),
        ("leng*z", {"length": 1}, "did you mean 'length'"),
        ("exp(-gamma*z)", {}, "pass gamma=..."),
        ("z", {"a": 1}, "does not use 'a'"),
        ("a*z", {"a": True}, "'a' = True is of type bool"),
        ("a*z", {"a": "2"}, "str; pass a real number"),
        ("a*z", {"a": 1j}, "complex"),
        ("a*z", {"a": float("nan")}, "not finite"),
        ("a*z", {"a": Decimal("1e999999")}, "exponent is beyond 1000"),
        ("a*z", {"a": sympy.Symbol("b")}, "depends on b"),
        ("a*z", {"a": sympy.zeta(3)}, "'a'.*zeta"),
        ("a*z", {"a": sympy.Pow(9, sympy.Pow(9, 9), evaluate=False)}, "'a'.*387420489"),
        ("a*z", {"a": 10**5000}, "1000 digits"),
        ("a*z", {"z": 1}, "'z' has a meaning"),
        ("a*z", {"a b": 3}, "identifier"),
    ],
)
def test_wrong_parameters_are_refused_by_name(
    text: str, parameters: dict[str, Any], named: str
) -> None:
    with pytest.raises(ParameterError, match=f"(?s){named}"):
        parse_formula(text, variable="z", parameters=parameters)


def test_an_unknown_variable_is_refused() -> None:
    with pytest.raises(ParameterError, match="'x' is unknown"):
        parse_formula("x", variable="x")


def test_a_long_sum_is_not_deep() -> None:
    text = " + ".join(f"z**{n}" for n in range(2, 200))
    assert len(radial(text).args) == 198


# --- sympy expressions --------------------------------------------------------------------------


@pytest.mark.parametrize("assumptions", [{}, {"positive": True}])
def test_any_symbol_of_that_name_is_the_variable(assumptions: dict[str, bool]) -> None:
    z, a = sympy.Symbol("z", **assumptions), sympy.Symbol("a")
    expr = sympy.exp(-a * sympy.sqrt(z**2)) + sympy.Piecewise((z, z < a), (0.1, True))
    checked = parse_formula(expr, variable="z", parameters={"a": 0.5})
    assert checked == sympy.exp(-Z / 2) + sympy.Piecewise((Z, R(1, 2) > Z), (R(1, 10), True))


@pytest.mark.parametrize(
    ("expr", "named"),
    [
        (sympy.zeta(Z), "zeta"),
        (sympy.Function("f")(Z), "'f' is not a function"),
        (sympy.I * Z, "I"),
        (sympy.oo * (Z + 1), "oo"),
        (Z < 1, "StrictLessThan"),
        (sympy.Pow(9, sympy.Pow(9, 9, evaluate=False), evaluate=False), "387420489"),
        (sympy.Add(*[sympy.sqrt(Z + n) for n in range(2000)]), "20000 characters"),
    ],
)
def test_sympy_expressions_pass_the_same_whitelist(expr: Any, named: str) -> None:
    with pytest.raises((FormulaError, ParameterError), match=named):
        parse_formula(expr, variable="z")


# --- properties ---------------------------------------------------------------------------------


_PIECES = (
    "z u a 0 1 9 99 1e5 0.5 + - * / ** ^ ( ) [ ] { } , . : = < > == & | ~ ' \" \\ @ # ! % "
    "exp( log( gamma( besselk( hyper([1],[2], Piecewise(( Max( Heaviside( True and or not "
    "lambda if else for in __import__ . _ os system pi E I 1j \n \x00 é ² ∞"
)
_SOUP = st.lists(st.sampled_from([*_PIECES.split(" "), " "]), max_size=20).map("".join)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.text(max_size=40), _SOUP))
@example("__import__('os').system('exit 1')")
@example("(lambda: exit())()")
@example("exit()")
@example("z.__class__.__mro__[1].__subclasses__()")
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    try:
        expr = radial(text)
    except (FormulaError, ParameterError) as error:
        str(error).encode()
    else:
        assert isinstance(expr, sympy.Expr)
        assert expr.free_symbols <= {Z}
