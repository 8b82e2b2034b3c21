"""The catalogue of named kernels, a mapping from names to kernels."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, final

from spectra.errors import ParameterError
from spectra.formula.wording import shorten
from spectra.kernels.catalogue.asymmetric import ASYMMETRIC
from spectra.kernels.catalogue.entries import ENTRIES
from spectra.kernels.catalogue.entry import Family

__all__ = ["Catalogue", "catalogue"]


@final
class Catalogue(Mapping[str, Any]):
    """The named kernels, each made on first use.

    A value is a :class:`~spectra.kernels.kernel.Kernel` if the kernel has no parameters; otherwise
    it is an :class:`Family`, to be called with parameters.  Iteration runs over the symmetric
    kernels; :attr:`asymmetric` has the others.

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
        aliases = {alias: entry for entry in ENTRIES for alias in entry.aliases}
        #: All entries by name and by alias, for ``catalogue[name]``.
        self.by_name: Mapping[str, Family] = {**self.entries, **self.asymmetric, **aliases}

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
        if name == "laplacian":
            hint = (
                " In scikit-learn it is exp(-gamma*|x - y|_1): use spectra.l1('exp(-gamma*z)', "
                "gamma=1). The catalogue's 'laplace' has the Euclidean distance."
            )
        return (
            f"The catalogue has no kernel named {shorten(name)!r}.{hint} It has {', '.join(self)}. "
            "A formula contains z = |x - y| or u = <x, y>: make a kernel of it with radial(...) or "
            "zonal(...)."
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"catalogue of {len(self)} kernels: {', '.join(self)}"


#: All named kernels.
catalogue: Catalogue = Catalogue()
