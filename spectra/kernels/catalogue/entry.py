"""A kernel with a name: its formula, parameters, conditions and source, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, final

import sympy

from spectra.errors import ParameterError
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = [
    "DIMENSION",
    "Entry",
    "Parameter",
    "ending_at_length",
    "length",
    "parameter_symbol",
    "positive",
    "valid_everywhere",
]

#: The symbol d of the conditions.
DIMENSION = sympy.Symbol("d", integer=True, positive=True)


#: Name, exact default, condition and meaning of a parameter.  The condition is a sympy relation in
#: ``parameter_symbol(name)`` for the values allowed.  If the default is a tuple, so is every value:
#: a number for each summand, or for each column.
Parameter = tuple[str, Any, Any, str]


@final
@dataclass(frozen=True, repr=False)
class Entry:
    """A named kernel; if it has parameters, call it with them to get the kernel.

    Attributes
    ----------
    id, title, formula :
        The name, a line of words, and the formula in z (or u) with its parameters.
    finite, positive_definite : sympy condition
        When the spectral measure on R^d has finite mass, and when the kernel is positive definite,
        in :data:`DIMENSION` and the symbols of the parameters; None if it depends on more.
    reference :
        Paper and equation.
    parameters, support, zonal :
        What may be chosen; where the kernel ends, as text; whether it is in u = <x, y>.
    note, aliases :
        What to know before using it; other names in the catalogue.
    build :
        Makes the kernel from exact values of the parameters, if the formula is not its text.

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
    build: Callable[..., Kernel | AsymmetricKernel] | None = None

    def __call__(self, *unnamed: Any, **parameters: Any) -> Any:
        """Make the kernel from parameters by name; those left out have their defaults."""
        if unnamed:
            raise ParameterError(
                f"The parameters of {self.id} go by their names, and {unnamed[0]!r} has none: "
                f'write catalogue["{self.id}"]({next(iter(self.defaults))}={unnamed[0]!r}).'
            )
        values = self._exact_values(parameters)
        if self.build is not None:
            kernel = self.build(**values)
        elif self.zonal:
            kernel = zonal(self.formula, **values)
        else:
            text = self.formula.removesuffix(f" on z <= {self.support}")
            kernel = radial(text, support=values.get(self.support), **values)
        return replace(kernel, label=self.called(values)) if isinstance(kernel, Kernel) else kernel

    @cached_property
    def fixed(self) -> Kernel:
        """The kernel of the default parameters."""
        kernel: Kernel = self()
        return kernel

    def _exact_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := [name for name in given if name not in self.defaults]:
            known = ", ".join(f"{n} = {value} ({said})" for n, value, _, said in self.parameters)
            raise ParameterError(
                f"The kernel {self.id} has no parameter {unknown[0]!r}. It has {known or 'none'}."
            )
        values = {p[0]: _exact(p, given.get(p[0], p[1]), self.id) for p in self.parameters}
        lengths = {name: len(v) for name, v in values.items() if isinstance(v, tuple)}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ParameterError(
                f"The sequences of the kernel {self.id} are empty or differ in length "
                f"({', '.join(f'{name}: {n}' for name, n in lengths.items())}). Give one value of "
                "each for every summand."
            )
        return values

    def __repr__(self) -> str:
        return f"Entry({self.called(self.defaults)}: {self.title})"

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the parameters by name."""
        return {name: default for name, default, _, _ in self.parameters}

    def called(self, values: Mapping[str, Any]) -> str:
        """The name with values of its parameters, as it is called; the name alone without any."""
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"{self.id}({arguments})" if values else self.id

    def finite_for(self, **parameters: Any) -> Any:
        """The condition on d for finite mass, with these values of the parameters."""
        return _substituted(self.finite, parameters)

    def positive_definite_for(self, **parameters: Any) -> Any:
        """The condition on d for a positive definite kernel, with these values; None if unknown."""
        return _substituted(self.positive_definite, parameters)


def _exact(parameter: Parameter, value: Any, kernel: str) -> Any:
    """A value as an exact number (or a tuple of them) in the range of a parameter."""
    name, default, condition, meaning = parameter
    if isinstance(default, tuple):
        values = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
        return tuple(_exact((name, 0, condition, meaning), v, kernel) for v in values)
    number = exact_parameter(name, value)
    if sympy.sympify(condition, strict=True).subs(parameter_symbol(name), number) != sympy.true:
        raise ParameterError(
            f"The parameter {name!r} of the kernel {kernel} is {value}, and the kernel is defined "
            f"for {condition} ({meaning})."
        )
    return number


#: The entry of a kernel that is positive definite on every R^d.
valid_everywhere = partial(Entry, finite=sympy.true, positive_definite=sympy.true)


def _substituted(condition: Any, parameters: Mapping[str, Any]) -> Any:
    if condition is None:
        return None
    values = {parameter_symbol(name): value for name, value in parameters.items()}
    return sympy.sympify(condition, strict=True).subs(values)


def parameter_symbol(name: str) -> sympy.Symbol:
    """The symbol that stands for a parameter in the conditions of an entry."""
    return sympy.Symbol(name, real=True)


def positive(name: str, default: int | str, meaning: str, *, most: Any = sympy.oo) -> Parameter:
    """A parameter for the numbers above 0, up to ``most``."""
    x = parameter_symbol(name)
    condition = x > 0 if most is sympy.oo else (x > 0) & (x <= most)
    return name, sympy.Rational(default), condition, meaning


def length(meaning: str = "the length of z") -> Parameter:
    """The parameter that a distance is divided by."""
    return positive("length", 1, meaning)


def ending_at_length(*, formula: str, parameters: tuple[Parameter, ...] = (), **said: Any) -> Entry:
    """The entry of a kernel that is zero beyond its length."""
    return Entry(
        formula=f"{formula} on z <= length",
        parameters=(*parameters, length("where the kernel ends")),
        support="length",
        **said,
    )
