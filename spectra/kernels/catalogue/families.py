"""Families: kernels whose parameters are free, as functions of the distance and the parameters.

A family is called with the values of its parameters to get a kernel.  The entries of the catalogue
are families, and ``family`` (in ``reading``) makes one of any formula.  Fits evaluate a family in
doubles (:meth:`Family.values`), and ask which parameters scale z or k (:attr:`Family.exponents`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, final

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.errors import FormulaError, ParameterError
from spectra.formula.functions import Z
from spectra.formula.parameters import exact_parameter
from spectra.formula.program import double_function
from spectra.formula.text import Parser, normalize_text
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.dot_product import DotProductKernel
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = ["DIMENSION", "Family", "Parameter", "bounded_parameter", "parameter_symbol"]

#: The dimension d in the conditions of a family.
DIMENSION = sympy.Symbol("d", integer=True, positive=True)
# Exponents of scaling: points, the step of differences (exact to 1e-9 where the family is smooth),
# and the largest residual, relative to the largest |k|.
_POINTS, _STEP, _RESIDUAL = 60, 1e-4, 1e-6
_SPREAD = 1.5  # random values of parameters are between the default divided and multiplied by this


class Parameter(NamedTuple):
    """A parameter of a family.

    ``condition`` is a sympy relation in ``parameter_symbol(name)`` that a value must satisfy.  If
    the default is a tuple, the value is a sequence of numbers, one for each summand or column.
    """

    name: str
    default: Any
    condition: Any
    meaning: str


@final
@dataclass(frozen=True, repr=False)
class Family:
    """Kernels with parameters: call it with values of the parameters to get a kernel.

    Attributes
    ----------
    id, title, formula, reference, note : str
        Name (empty if it is not in the catalogue), description, formula in z or u with parameters,
        paper and equation, properties.
    finite, positive_definite : sympy condition or None
        Conditions on :data:`DIMENSION` and the parameters for a spectral measure of finite mass on
        R^d, and for a positive definite kernel on R^d; None if no condition is known.
    parameters, aliases : tuple of Parameter, tuple of str
        The free parameters, each with a default, and other names of the family.
    support, zonal : str, bool
        The parameter or number beyond which the kernel is zero, "2" for a zonal kernel, "" if the
        kernel has no support; whether the formula is in u.
    build : callable or None
        Makes the kernel from the exact values of its parameters, if ``formula`` is not parsed.
    fixed : tuple of (name, number)
        The parameters that have a value already.
    pinned : tuple of str
        "z" or "k" if a fixed parameter is one that scales z or k: a fit adds no length, or no
        variance, then.

    Examples
    --------
    >>> from spectra import catalogue, family
    >>> print(catalogue["matern"](nu=1.5, length=2))
    matern(nu=3/2, length=2)
    >>> stable = family("s*exp(-(z/l)**a)", a=(0, 2))
    >>> stable(s=2, l=10, a=1.5)(10.0)
    array(0.73575888)
    """

    id: str
    title: str
    formula: str
    finite: Any
    positive_definite: Any
    reference: str
    parameters: tuple[Parameter, ...] = ()
    support: str = ""
    zonal: bool = False
    note: str = ""
    aliases: tuple[str, ...] = ()
    build: Callable[..., Kernel | CompositeKernel | DotProductKernel] | None = None
    fixed: tuple[tuple[str, Any], ...] = ()
    pinned: tuple[str, ...] = ()

    def __call__(self, *positional: Any, **parameters: Any) -> Any:
        """Make the kernel from parameters given by name; the others have their defaults."""
        if positional:
            name = f'catalogue["{self.id}"]' if self.id else "family"
            raise ParameterError(
                f"The parameters of {self.id or self.formula} are given by name, and "
                f"{positional[0]!r} has none: write "
                f"{name}({next(iter(self.defaults), '')}={positional[0]!r})."
            )
        values = self._exact_values(parameters)
        if self.build is not None:
            kernel = self.build(**values)
        elif self.zonal:
            kernel = zonal(self.formula, **values)
        else:
            support = values.get(self.support, self.support) or None
            kernel = radial(self._text, support=support and sympy.sympify(support), **values)
        if self.id and isinstance(kernel, Kernel | DotProductKernel):
            kernel = replace(kernel, label=self.call_text(values))
        return kernel

    def __getstate__(self) -> dict[str, Any]:
        # Without cached properties, since compiled functions cannot be pickled.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def default_kernel(self) -> Kernel:
        """The kernel with the default parameters."""
        kernel: Kernel = self()
        return kernel

    @property
    def _text(self) -> str:
        """The formula without its support."""
        return self.formula.removesuffix(f" on z <= {self.support}")

    def _exact_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all parameters as exact numbers or tuples of them, checked."""
        if unknown := [name for name in given if name not in self.defaults]:
            known = ", ".join(f"{p.name} = {p.default} ({p.meaning})" for p in self.parameters)
            raise ParameterError(
                f"{self._subject} has no parameter {unknown[0]!r}. It has {known or 'none'}."
            )
        pairs = ((p, given.get(p.name, p.default)) for p in self.parameters)
        values = dict(self.fixed)
        values |= {p.name: _exact_value(p, value, self._subject) for p, value in pairs}
        lengths = {name: len(v) for name, v in values.items() if isinstance(v, tuple)}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ParameterError(
                f"The sequences of {self._subject} are empty or differ in length "
                f"({', '.join(f'{name}: {n}' for name, n in lengths.items())})."
            )
        return values

    @property
    def _subject(self) -> str:
        return f"the kernel {self.id}" if self.id else f"the family {self.formula}"

    def __repr__(self) -> str:
        if self.id:
            return f"Family({self.call_text(dict(self.fixed) | self.defaults)}: {self.title})"
        return f"Family({self})"

    def __str__(self) -> str:
        ranges = [f"{p.name}: {p.condition}" for p in self.parameters]
        fixed = [f"{name} = {value}" for name, value in self.fixed]
        return f"{self.id or self.formula} ({', '.join([*ranges, *fixed])})"

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the free parameters, by name."""
        return {p.name: p.default for p in self.parameters}

    def call_text(self, values: Mapping[str, Any]) -> str:
        """The call with these values, such as ``matern(nu=3/2, length=1)``, or the name alone."""
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"{self.id}({arguments})" if values else self.id

    def finite_for(self, **parameters: Any) -> Any:
        """The condition on d for finite mass with these parameters, or None."""
        return _substitute(self.finite, parameters)

    def positive_definite_for(self, **parameters: Any) -> Any:
        """The condition on d for a positive definite kernel with these parameters, or None."""
        return _substitute(self.positive_definite, parameters)

    def restrict(self, **given: Any) -> Family:
        """The family with numbers fixed, and with bounds (low, high) of other parameters."""
        if unknown := [name for name in given if name not in self.defaults]:
            raise ParameterError(
                f"{self._subject} has no free parameter {unknown[0]!r}; it has "
                f"{', '.join(self.defaults) or 'none'}."
            )
        free, fixed, pinned = [], list(self.fixed), list(self.pinned)
        for p in self.parameters:
            value = given.get(p.name, p)
            if value is p:
                free.append(p)
            elif np.shape(value) == (2,) and not isinstance(p.default, tuple):
                low, high = _interval(p.condition, p.name, self._subject)
                ends = max(low, float(value[0] or 0)), min(high, float(value[1] or np.inf))
                free.append(bounded_parameter(p.name, *ends, p.default, p.meaning))
            else:
                fixed.append((p.name, _exact_value(p, value, self._subject)))
                with suppress(ParameterError):  # a sequence, or a formula that is not known
                    pinned += [of for of, e in self.exponents.items() if p.name in e]
        return replace(self, parameters=tuple(free), fixed=tuple(fixed), pinned=tuple(pinned))

    # --- as a function of its parameters ----------------------------------------------------

    @cached_property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """The sympy symbols of the free parameters in formulas, by name."""
        return {name: sympy.Symbol(name, positive=True) for name in self.defaults}

    @cached_property
    def profile(self) -> tuple[sympy.Expr, sympy.Expr] | None:
        """The formula in z and :attr:`symbols`, and its support; None if it cannot be parsed."""
        if self.zonal or (self.build is not None and not isinstance(self(), Kernel)):
            return None
        if self.build is not None and set(self.defaults) <= {"length"}:
            kernel = self(length=1) if self.defaults else self()
            if not isinstance(kernel, Kernel) or len(kernel.pieces) != 1:
                return None
            length = self.symbols.get("length", sympy.Integer(1))
            (piece,) = kernel.pieces
            return piece.expr.subs(Z, Z / length), piece.support * length
        values = dict(self.fixed) | self.symbols
        try:
            expr = Parser(Z, values, normalize_text(self._text)).parse()
        except FormulaError:
            return None
        support = values.get(self.support, self.support or sympy.oo)
        return expr, sympy.sympify(support)

    def bounds(self, dim: int | None = None) -> dict[str, tuple[float, float]]:
        """The bounds of each free parameter, in which a named kernel is positive definite on R^dim.

        :func:`spectra.derivation.definite_bounds` asks for a verdict if there is no condition.
        """
        known: Any = sympy.true
        if dim is not None and self.positive_definite is not None:
            known = self.positive_definite_for(**dict(self.fixed)).subs(DIMENSION, dim)
        names = sorted(str(symbol) for symbol in known.free_symbols)
        if known == sympy.false or len(names) > 1:
            fix = f"if {known}: fix {names[0]}, such as {names[0]}=1" if names else "for no value"
            raise ParameterError(f"{self._subject} is positive definite on R^{dim} {fix}.")
        found = {}
        for p in self.parameters:
            condition = p.condition
            if p.name in names:
                condition = sympy.sympify(condition, strict=True) & known
            found[p.name] = _interval(condition, p.name, self._subject)
        return found

    def values(self, z: FloatArray, parameters: Mapping[str, float]) -> FloatArray:
        """k(z; parameters) in doubles: for many distances at many values of the parameters.

        The kernel itself, ``family(**parameters)``, is more accurate where its terms cancel.
        """
        z = np.asarray(z, dtype=float)
        if self._compiled is None:
            raise ParameterError(
                f"The values of {self._subject} are not known in doubles while "
                f"{', '.join(self.defaults)} are free: fix a parameter, family(..., name=number)."
            )
        function, support = self._compiled
        arguments = [parameters[name] for name in self.symbols]
        with np.errstate(all="ignore"):
            values = np.array(np.broadcast_to(function(z, *arguments), z.shape), dtype=float)
            values[z > support(*arguments)] = 0.0
        values[z == 0.0] = self.at_zero(parameters)
        failed = ~np.isfinite(values)
        if failed.any():
            # Factors overflow so near 0 (at 1e-300 in kv, for instance) that k is k(0), or so far
            # away that it is 0.  A formula that is not real is refused when the kernel is made.
            near = z < np.min(z[~failed], where=z[~failed] > 0.0, initial=np.inf)
            values[failed] = np.where(near[failed], self.at_zero(parameters), 0.0)
        return values

    def at_zero(self, parameters: Mapping[str, float]) -> float:
        """k(0; parameters)."""
        if self._at_zero is None:
            # A named kernel without its limit in closed form has the same k(0) for all parameters.
            kernel = self.default_kernel if self.id else self(**parameters)
            return kernel.at_zero
        return float(self._at_zero(*(parameters[name] for name in self.symbols)))

    @cached_property
    def _compiled(self) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
        if self.profile is None:
            return None
        symbols = tuple(self.symbols.values())
        try:
            function = double_function(self.profile[0], Z, *symbols)
        except FormulaError:  # special functions of free order that numpy and scipy do not have
            return None
        end = self.profile[1]
        typical = list(self.random_values(np.random.default_rng(0)).values())
        with np.errstate(all="ignore"):
            if not np.all(np.isfinite(function(np.array([0.3, 0.7]), *typical))):
                return None
        if end == sympy.oo:
            return function, lambda *p: np.inf
        support = double_function(end, Z, *symbols)
        return function, lambda *p: support(0.0, *p)

    @cached_property
    def _at_zero(self) -> Callable[..., Any] | None:
        if self.profile is None:
            return None
        value = self.profile[0].subs(Z, 0)
        if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.besselk, sympy.expint):
            return None
        function = double_function(value, Z, *self.symbols.values())
        return lambda *p: function(0.0, *p)

    @cached_property
    def exponents(self) -> dict[str, dict[str, float]]:
        """How parameters scale: k(c z; c^w p) = k(z; p) ("z": w), k(z; c^v p) = c k(z; p) ("k": v).

        The exponents that are not 0 by name; none if there are no such numbers.  They solve
        z k_z + sum w_i p_i k_(p_i) = 0 and sum v_i p_i k_(p_i) = k, linear equations at random z
        and p; the derivatives are differences.
        """
        rng, names, h = np.random.default_rng(0), list(self.defaults), np.exp(_STEP)
        rows, by_z, k = [], [], []
        for _ in range(_POINTS // 10):
            p, z = self.random_values(rng), rng.uniform(0.05, 2.0, 10)
            k.append(self.values(z, p))
            by_z.append((self.values(z * h, p) - self.values(z / h, p)) / (2 * _STEP))
            moved = [
                self.values(z, p | {n: p[n] * h}) - self.values(z, p | {n: p[n] / h}) for n in names
            ]
            rows.append(np.array(moved).reshape(len(names), len(z)).T / (2 * _STEP))
        matrix, size = np.concatenate(rows), np.concatenate(k)
        found = {}
        for of, right in (("z", -np.concatenate(by_z)), ("k", size)):
            # Multiples of 1/12, such as the 1/2 of exp(-z**2/s).
            solved = np.round(12 * np.linalg.lstsq(matrix, right, rcond=1e-8)[0]) / 12
            is_exact = np.abs(matrix @ solved - right).max() <= _RESIDUAL * np.abs(size).max()
            pairs = zip(names, solved.tolist(), strict=True)
            found[of] = {n: e for n, e in pairs if e} if is_exact else {}
        return found

    @cached_property
    def length(self) -> str | None:
        """The parameter that only scales z, else "length"; None if several or a fixed one do."""
        return self._only("z", "length")

    @cached_property
    def variance(self) -> str | None:
        """The parameter that only scales k, else "variance"; None if several or a fixed one do."""
        return self._only("k", "variance")

    def _only(self, of: str, added: str) -> str | None:
        names = self.exponents[of]
        return None if of in self.pinned or len(names) > 1 else next(iter(names), added)

    @property
    def shape(self) -> tuple[str, ...]:
        """The free parameters that are neither the length nor the variance."""
        return tuple(name for name in self.defaults if name not in (self.length, self.variance))

    def with_shape(self, values: Any) -> dict[str, float]:
        """The parameters with these values of the shape, unit length and unit variance."""
        ones = dict.fromkeys(self.defaults, 1.0)
        return ones | dict(zip(self.shape, map(float, np.atleast_1d(values)), strict=True))

    def random_values(self, rng: np.random.Generator) -> dict[str, float]:
        """Values of the parameters inside their bounds: near the defaults, moved from a bound."""
        found = {}
        for name, (low, high) in self.bounds().items():
            value = float(self.defaults[name])
            value = 0.5 * (low + high) if value in (low, high) and high < np.inf else value
            found[name] = float(np.clip(value * _SPREAD ** rng.uniform(-1, 1), low, high))
        return found

    def density(self, dim: int) -> sympy.Expr:
        """The spectral density on R^dim, a formula in w and :attr:`symbols`.

        It is compared with the numeric density at three random values of the parameters.

        Raises
        ------
        NoRouteError
            If no formula is known, or the formula differs from the numeric density.

        Examples
        --------
        >>> from spectra import family
        >>> family("s*exp(-(z/l)**2)").density(2)
        l**2*s*exp(-l**2*w**2/4)/(4*pi)
        """
        formula: sympy.Expr = import_module("spectra.density").family_density(self, dim)
        return formula


def parameter_symbol(name: str) -> sympy.Symbol:
    """The symbol of a parameter in the conditions of a family."""
    return sympy.Symbol(name, real=True)


def bounded_parameter(
    name: str, low: float = 0.0, high: float = np.inf, default: Any = 1, meaning: str = "a symbol"
) -> Parameter:
    """A parameter between two numbers; the default is moved inside."""
    if not low < high:
        raise ParameterError(f"The bounds ({low}, {high}) of {name} are not in ascending order.")
    x, least = parameter_symbol(name), exact_parameter(name, low)
    condition = x > 0 if low == 0.0 else x >= least
    if high < np.inf:
        condition &= x <= exact_parameter(name, high)
    if not low < default < high:
        default = 2 * least if high == np.inf else (least + exact_parameter(name, high)) / 2
    return Parameter(name, sympy.sympify(default), condition, meaning)


def _interval(condition: Any, name: str, subject: str) -> tuple[float, float]:
    """The ends of the positive numbers that satisfy a condition (True for sequences)."""
    try:
        values = sympy.sympify(condition, strict=True).as_set()
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        values = None
    if condition is True or not isinstance(values, sympy.Interval) or values.inf < 0:
        raise ParameterError(
            f"The parameter {name} of {subject} is not a positive number from an interval "
            f"({condition}), so it cannot be free in a fit: give its value, {name}=... ."
        )
    return float(values.inf), float(values.sup)


def _exact_value(parameter: Parameter, value: Any, subject: str) -> Any:
    """The value of a parameter as an exact number or a tuple of them; refused if out of range."""
    name, default, condition, meaning = parameter
    if isinstance(default, tuple):
        values = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
        return tuple(_exact_value(parameter._replace(default=0), v, subject) for v in values)
    number = exact_parameter(name, value)
    if sympy.sympify(condition, strict=True).subs(parameter_symbol(name), number) != sympy.true:
        raise ParameterError(
            f"The parameter {name!r} of {subject} is {value}, and the kernel is defined "
            f"for {condition} ({meaning})."
        )
    return number


def _substitute(condition: Any, parameters: Mapping[str, Any]) -> Any:
    if condition is None:
        return None
    values = {parameter_symbol(name): value for name, value in parameters.items()}
    return sympy.sympify(condition, strict=True).subs(values)
