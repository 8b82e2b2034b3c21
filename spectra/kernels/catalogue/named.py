"""The catalogue of named kernels; ``catalogue.entries`` holds the data behind each name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, final

import sympy

from spectra.errors import ParameterError
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.catalogue.asymmetric import ASYMMETRIC, AsymmetricFamily
from spectra.kernels.catalogue.entries import ENTRIES
from spectra.kernels.catalogue.entry import Entry, Parameter
from spectra.kernels.kernel import Kernel

__all__ = ["Catalogue", "Family", "UnknownKernelError", "catalogue", "unknown_kernel"]


class UnknownKernelError(ParameterError, KeyError):
    """The catalogue has no kernel of that name; the message lists those that it has."""

    __str__ = Exception.__str__


@final
@dataclass(frozen=True, repr=False)
class Family:
    """A kernel of the catalogue whose parameters are still open; call it to get the kernel.

    Examples
    --------
    >>> print(catalogue["matern"](nu=1.5, length=2))
    matern(nu=3/2, length=2)
    """

    entry: Entry

    def __call__(self, *unnamed: Any, **parameters: Any) -> Kernel:
        """Make the kernel from parameters by name; those left out have their defaults."""
        if unnamed:
            first = next(iter(self.entry.defaults))
            raise ParameterError(
                f"The parameters of {self.entry.id} go by their names, and {unnamed[0]!r} has "
                f'none: write catalogue["{self.entry.id}"]({first}={unnamed[0]!r}).'
            )
        return _build(self.entry, _checked(self.entry, parameters))

    def __repr__(self) -> str:
        call = self.entry.called(self.entry.defaults)
        arguments = call.removeprefix(self.entry.id)
        return f'Family {call}: call it, for instance catalogue["{self.entry.id}"]{arguments}'


@final
class Catalogue(Mapping[str, Any]):
    """The named kernels, in a fixed order; a kernel is built when it is first asked for.

    A value is a :class:`~spectra.kernels.kernel.Kernel`, or a :class:`Family` of them.  Iteration
    runs over the symmetric kernels; :attr:`asymmetric` lists the others.

    Examples
    --------
    >>> "ntk" in catalogue, len(catalogue) >= 25
    (True, True)
    >>> catalogue["ntk"]([0.0, 2.0])
    array([2., 0.])
    >>> catalogue.entries["ntk"].finite
    d < 2
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = MappingProxyType({entry.id: entry for entry in entries})
        self._ids = MappingProxyType({alias: e.id for e in entries for alias in e.aliases})

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The data behind each name."""
        return self._entries

    @property
    def asymmetric(self) -> Mapping[str, AsymmetricFamily]:
        """The asymmetric kernels by name; they are found by ``catalogue[name]`` as well."""
        return ASYMMETRIC

    def __getitem__(self, name: str) -> Any:
        is_text = isinstance(name, str)  # other keys may have no hash
        if is_text and name in ASYMMETRIC:
            return ASYMMETRIC[name]
        entry = self._entries.get(self._ids.get(name, name)) if is_text else None
        if entry is None:
            raise UnknownKernelError(unknown_kernel(name, tuple(self._entries)))
        return Family(entry) if entry.parameters else _fixed(entry)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"catalogue of {len(self)} kernels: {', '.join(self)}"


@cache
def _fixed(entry: Entry) -> Kernel:
    return _build(entry, {})


def _build(entry: Entry, values: Mapping[str, Any]) -> Kernel:
    return replace(entry.kernel(values), label=entry.called(values))


def _checked(entry: Entry, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {p.name: p for p in entry.parameters}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ParameterError(
            f"The kernel {entry.id} has no parameter {unknown[0]!r}. It has "
            f"{', '.join(p.described() for p in entry.parameters)}."
        )
    values = {name: _value(entry, p, given.get(name, p.default)) for name, p in known.items()}
    lengths = {len(v) for v in values.values() if isinstance(v, tuple)}
    if len(lengths) > 1:
        raise ParameterError(
            f"The sequences of the kernel {entry.id} differ in length "
            f"({', '.join(f'{n}: {len(v)}' for n, v in values.items() if isinstance(v, tuple))}). "
            "Give one value of each for every summand."
        )
    return values


def _value(entry: Entry, parameter: Parameter, value: Any) -> Any:
    if not parameter.sequence:
        return _number(entry, parameter, value)
    values = tuple(value) if hasattr(value, "__iter__") and not isinstance(value, str) else ()
    if not values:
        raise ParameterError(
            f"The parameter {parameter.name!r} of the kernel {entry.id} is {value!r}. It is a "
            "sequence of numbers, one for each summand: pass a list."
        )
    return tuple(_number(entry, parameter, v) for v in values)


def _number(entry: Entry, parameter: Parameter, value: Any) -> sympy.Expr:
    number = exact_parameter(parameter.name, value)
    if parameter.condition.subs(parameter.symbol, number) != sympy.true:
        raise ParameterError(
            f"The parameter {parameter.name!r} of the kernel {entry.id} is {value}, and the "
            f"kernel is defined for {parameter.condition} ({parameter.meaning})."
        )
    return number


# Longer names are cut in messages.
_LONGEST_NAME = 60


def unknown_kernel(name: object, known: Sequence[str]) -> str:
    """The message for a name that the catalogue does not have, the nearest one first."""
    close = difflib.get_close_matches(str(name), known, n=1)
    shown = repr(name) if len(repr(name)) <= _LONGEST_NAME else repr(name)[:_LONGEST_NAME] + "..."
    hint = f" Did you mean {close[0]!r}?" if close else ""
    if name == "laplacian":
        hint = (
            " In scikit-learn it is exp(-gamma*|x - y|_1), which is spectra.l1('exp(-gamma*z)', "
            "gamma=1) here; 'laplace' is exp(-z/length) of the Euclidean distance z."
        )
    return (
        f"The catalogue has no kernel named {shown}.{hint} It has {', '.join(known)}. A formula "
        "contains z = |x - y| or u = <x, y>, and radial(...) or zonal(...) makes a kernel of it."
    )


#: Every kernel the toolkit knows by name.
catalogue: Catalogue = Catalogue(ENTRIES)
