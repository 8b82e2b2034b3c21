"""The catalogue of named kernels, a mapping from names to kernels."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from spectra.errors import ParameterError
from spectra.formula.wording import shorten
from spectra.kernels.catalogue.asymmetric import ASYMMETRIC
from spectra.kernels.catalogue.entries import ENTRIES
from spectra.kernels.catalogue.entry import Family
from spectra.kernels.catalogue.on_data import ON_DATA

__all__ = ["Catalogue", "catalogue"]

# Names of kernels elsewhere -> what to write here.
_ADVICE = {
    "laplacian": " In scikit-learn it is exp(-gamma*|x - y|_1): use spectra.l1('exp(-gamma*z)', "
    "gamma=1). The catalogue's 'laplace' has the Euclidean distance.",
    "tanh": " The hyperbolic tangent kernel of unit rows is zonal('tanh(a*u + b)', a=1, b=0).",
    "geodesic_gaussian": " The Gaussian of the angle between unit rows is "
    "zonal('exp(-acos(u)**2/(2*length**2))', length=1).",
    "shift": " The shifted Gaussian is 'shift_gaussian'; kernel.shift(r) shifts any kernel.",
    "sinh": " The kernel exp(-|D|^2/(2*sigma^2))*(1 + sinh(beta.D)) is 'sinh_gaussian'.",
    "cosh": " The tilted Gaussian of the paper is 'cosh_gaussian'; kernel.tilt(beta) tilts others.",
}


class Catalogue(Mapping[str, Any]):
    """The named kernels, each made on first use.

    A value is a :class:`~spectra.kernels.kernel.Kernel` if the kernel has no parameters; otherwise
    it is a :class:`Family`, to be called with parameters.  Iteration runs over the symmetric
    kernels with a measure; :attr:`asymmetric` and :attr:`on_data` have the others.

    Examples
    --------
    >>> "ntk" in catalogue, len(catalogue) >= 25
    (True, True)
    >>> catalogue["ntk"]([0.0, 2.0])
    array([2., 0.])
    >>> catalogue.entries["ntk"].finite
    d < 2
    """

    def __init__(self) -> None:
        #: The entries of the symmetric kernels by name.
        self.entries: Mapping[str, Family] = MappingProxyType({e.id: e for e in ENTRIES})
        #: The entries of the asymmetric kernels by name.
        self.asymmetric: Mapping[str, Family] = MappingProxyType({e.id: e for e in ASYMMETRIC})
        #: The entries of symmetric kernels without a table, whose features are made for the data.
        self.on_data: Mapping[str, Family] = MappingProxyType({e.id: e for e in ON_DATA})
        aliases = {alias: entry for entry in (*ENTRIES, *ON_DATA) for alias in entry.aliases}
        #: All entries by name and by alias, for ``catalogue[name]``.
        self.by_name: Mapping[str, Family] = {
            **self.entries,
            **self.asymmetric,
            **self.on_data,
            **aliases,
        }

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ParameterError(self.unknown_name_message(name))
        entry = self.by_name[name]
        return entry if entry.parameters else entry.default_kernel

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.by_name

    def get(self, name: str, default: Any = None) -> Any:
        """The kernel or entry of a name, or ``default`` for an unknown name."""
        try:
            return self[name]
        except ParameterError:
            return default

    def unknown_name_message(self, name: object) -> str:
        """The error message for an unknown name, which suggests a similar known one."""
        close = difflib.get_close_matches(str(name), self, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        hint = _ADVICE.get(str(name), hint)
        return (
            f"The catalogue has no kernel named {shorten(name)!r}.{hint} It has {', '.join(self)}. "
            "A formula contains z = |x - y| or u = <x, y>: pass it to radial(...) or zonal(...)."
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"catalogue of {len(self)} kernels: {', '.join(self)}"


#: All named kernels.
catalogue: Catalogue = Catalogue()
