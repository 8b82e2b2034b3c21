"""The entry of a named kernel: formula, parameters, conditions and reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import sympy

from spectra.errors import ParameterError
from spectra.formula.parameters import exact_parameter
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = [
    "DIMENSION", "Entry", "Parameter", "compact_entry", "length_parameter", "parameter_symbol",
    "positive_definite_entry", "positive_parameter",
]  # fmt: skip

#: The dimension d in the conditions of an entry.
DIMENSION = sympy.Symbol("d", integer=True, positive=True)


class Parameter(NamedTuple):
    """A parameter of a named kernel.

    ``condition`` is a sympy relation in ``parameter_symbol(name)`` that a value must satisfy.  If
    the default is a tuple, the value is a sequence of numbers, one for each summand or column.
    """

    name: str
    default: Any
    condition: Any
    meaning: str


@dataclass(frozen=True, repr=False)
class Entry:
    """A named kernel; if it has parameters, call it with them to get the kernel.

    Attributes
    ----------
    id, title, formula, reference, note : str
        Name, description, formula in z or u with parameters, paper and equation, properties.
    finite, positive_definite : sympy condition or None
        Conditions on :data:`DIMENSION` and the parameters for a spectral measure of finite mass on
        R^d, and for a positive definite kernel on R^d; None if no condition is known.
    parameters, aliases : tuple of Parameter, tuple of str
        The parameters, each with a default, and other names of the kernel.
    support, zonal : str, bool
        Name of the parameter beyond which the kernel is zero, "2" for a zonal kernel, "" if the
        kernel has no support; whether the formula is in u.
    build : callable or None
        Makes the kernel from the exact values of its parameters, if ``formula`` is not parsed.

    Examples
    --------
    >>> from spectra import catalogue
    >>> print(catalogue["matern"](nu=1.5, length=2))
    matern(nu=3/2, length=2)
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
    build: Callable[..., Kernel | CompositeKernel] | None = None

    def __call__(self, *positional: Any, **parameters: Any) -> Any:
        """Make the kernel from parameters given by name; the others have their defaults."""
        if positional:
            raise ParameterError(
                f"The parameters of {self.id} are given by name, and {positional[0]!r} has none: "
                f'write catalogue["{self.id}"]({next(iter(self.defaults))}={positional[0]!r}).'
            )
        values = self._exact_values(parameters)
        if self.build is not None:
            kernel = self.build(**values)
        elif self.zonal:
            kernel = zonal(self.formula, **values)
        else:
            text = self.formula.removesuffix(f" on z <= {self.support}")
            kernel = radial(text, support=values.get(self.support), **values)
        if isinstance(kernel, Kernel):
            kernel = replace(kernel, label=self.call_text(values))
        return kernel

    @cached_property
    def default_kernel(self) -> Kernel:
        """The kernel with the default parameters."""
        kernel: Kernel = self()
        return kernel

    def _exact_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all parameters as exact numbers or tuples of them, checked."""
        if unknown := [name for name in given if name not in self.defaults]:
            known = ", ".join(f"{p.name} = {p.default} ({p.meaning})" for p in self.parameters)
            raise ParameterError(
                f"The kernel {self.id} has no parameter {unknown[0]!r}. It has {known or 'none'}."
            )
        pairs = ((p, given.get(p.name, p.default)) for p in self.parameters)
        values = {p.name: _exact_value(p, value, self.id) for p, value in pairs}
        lengths = {name: len(v) for name, v in values.items() if isinstance(v, tuple)}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ParameterError(
                f"The sequences of the kernel {self.id} are empty or differ in length "
                f"({', '.join(f'{name}: {n}' for name, n in lengths.items())})."
            )
        return values

    def __repr__(self) -> str:
        return f"Entry({self.call_text(self.defaults)}: {self.title})"

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the parameters, by name."""
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


def _exact_value(parameter: Parameter, value: Any, kernel: str) -> Any:
    """The value of a parameter as an exact number or a tuple of them; refused if out of range."""
    name, default, condition, meaning = parameter
    if isinstance(default, tuple):
        values = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
        return tuple(_exact_value(parameter._replace(default=0), v, kernel) for v in values)
    number = exact_parameter(name, value)
    if sympy.sympify(condition, strict=True).subs(parameter_symbol(name), number) != sympy.true:
        raise ParameterError(
            f"The parameter {name!r} of the kernel {kernel} is {value}, and the kernel is defined "
            f"for {condition} ({meaning})."
        )
    return number


def _substitute(condition: Any, parameters: Mapping[str, Any]) -> Any:
    if condition is None:
        return None
    values = {parameter_symbol(name): value for name, value in parameters.items()}
    return sympy.sympify(condition, strict=True).subs(values)


def parameter_symbol(name: str) -> sympy.Symbol:
    """The symbol of a parameter in the conditions of an entry."""
    return sympy.Symbol(name, real=True)


def positive_parameter(
    name: str, default: int | str, meaning: str, *, largest: int | None = None
) -> Parameter:
    """A parameter whose values are numbers above 0, up to ``largest``."""
    x = parameter_symbol(name)
    condition = x > 0 if largest is None else (x > 0) & (x <= largest)
    return Parameter(name, sympy.Rational(default), condition, meaning)


def length_parameter(meaning: str = "length scale") -> Parameter:
    """The parameter ``length``, which divides z."""
    return positive_parameter("length", 1, meaning)


#: Makes the entry of a kernel that is positive definite on every R^d.
positive_definite_entry = partial(Entry, finite=sympy.true, positive_definite=sympy.true)


def compact_entry(*, formula: str, parameters: tuple[Parameter, ...] = (), **fields: Any) -> Entry:
    """Make the entry of a kernel that is zero for z > length."""
    return Entry(
        formula=f"{formula} on z <= length",
        parameters=(*parameters, length_parameter("radius beyond which the kernel is zero")),
        support="length",
        **fields,
    )
