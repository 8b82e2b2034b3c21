"""What the catalogue records of a kernel: its formula, parameters, conditions and source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = [
    "DIMENSION",
    "Entry",
    "Parameter",
    "ending_at_length",
    "length",
    "parameter_symbol",
    "positive",
]

#: The symbol d of the conditions.
DIMENSION = sympy.Symbol("d", integer=True, positive=True)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family: its name, exact default, range and meaning.

    ``condition`` is a sympy relation in ``symbol`` that holds for the values allowed; the default
    is a tuple where the parameter is a ``sequence``, one number for each summand.
    """

    name: str
    default: Any
    condition: Any
    meaning: str
    sequence: bool = False

    @property
    def symbol(self) -> sympy.Symbol:
        """The symbol that stands for the parameter in conditions."""
        return parameter_symbol(self.name)

    def described(self) -> str:
        """The parameter in a sentence."""
        return f"{self.name} = {self.default} ({self.meaning}, {self.condition})"


@dataclass(frozen=True)
class Entry:
    """What is known of one named kernel.

    Attributes
    ----------
    id, title, formula :
        The name, a line of words, and the formula in z (or u) with its parameters.
    finite, positive_definite : sympy condition
        When the spectral measure on R^d has finite mass, and when the kernel is positive definite,
        in :data:`DIMENSION` and the symbols of the parameters; None if it depends on more.
    support, zonal :
        Where the kernel ends, as text; whether it is one of the unit sphere, in u = <x, y>.
    reference, note, aliases :
        Paper and equation; what to know before using it; other names in the catalogue.
    build :
        Makes the kernel from exact values of the parameters, where the formula is not its text.
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
    build: Callable[..., Kernel] | None = None

    def __repr__(self) -> str:
        return f"Entry({self.called(self.defaults)}: {self.title})"

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters by name, as they are where they are not given."""
        return {p.name: p.default for p in self.parameters}

    def called(self, values: Mapping[str, Any]) -> str:
        """The name with values of its parameters, as it is called; the name alone without any."""
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"{self.id}({arguments})" if values else self.id

    def kernel(self, values: Mapping[str, Any]) -> Kernel:
        """The kernel of exact values of all parameters."""
        if self.build is not None:
            return self.build(**values)
        if self.zonal:
            return zonal(self.formula, **values)
        text = self.formula.removesuffix(f" on z <= {self.support}")
        return radial(text, support=values[self.support] if self.support else None, **values)

    def finite_for(self, **parameters: Any) -> Any:
        """The condition on d for finite mass, with these values of the parameters."""
        return self.finite.subs(_by_symbol(parameters))

    def positive_definite_for(self, **parameters: Any) -> Any:
        """The condition on d for a positive definite kernel, with these values; None if unknown."""
        if self.positive_definite is None:
            return None
        return sympy.sympify(self.positive_definite, strict=True).subs(_by_symbol(parameters))


def _by_symbol(parameters: Mapping[str, Any]) -> dict[sympy.Symbol, Any]:
    return {parameter_symbol(name): value for name, value in parameters.items()}


def parameter_symbol(name: str) -> sympy.Symbol:
    """The symbol that stands for a parameter in the conditions of an entry."""
    return sympy.Symbol(name, real=True)


def positive(name: str, default: int | str, meaning: str, *, most: Any = sympy.oo) -> Parameter:
    """A parameter for the numbers above 0, up to ``most``."""
    x = parameter_symbol(name)
    condition = x > 0 if most is sympy.oo else (x > 0) & (x <= most)
    return Parameter(name, sympy.Rational(default), condition, meaning)


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
