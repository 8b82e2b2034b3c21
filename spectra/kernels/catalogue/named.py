"""The catalogue of named kernels; ``catalogue.entries`` holds the data behind each name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, final

from spectra.errors import ParameterError
from spectra.formula.reader.wording import shorten
from spectra.kernels.catalogue.asymmetric import ASYMMETRIC
from spectra.kernels.catalogue.entries import ENTRIES
from spectra.kernels.catalogue.entry import Entry

__all__ = ["Catalogue", "catalogue"]

_SCIKIT_LEARN_LAPLACIAN = (
    " In scikit-learn it is exp(-gamma*|x - y|_1), which is spectra.l1('exp(-gamma*z)', gamma=1) "
    "here; 'laplace' is exp(-z/length) of the Euclidean distance z."
)


@final
class Catalogue(Mapping[str, Any]):
    """The named kernels, in a fixed order; a kernel is built when it is first asked for.

    A value is a :class:`~spectra.kernels.kernel.Kernel`, or an :class:`Entry` to be called with
    parameters.  Iteration runs over the symmetric kernels; :attr:`asymmetric` lists the others.

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
        #: The data behind each name.
        self.entries: Mapping[str, Entry] = MappingProxyType({e.id: e for e in ENTRIES})
        #: The asymmetric kernels by name; they are found by ``catalogue[name]`` as well.
        self.asymmetric: Mapping[str, Entry] = MappingProxyType({e.id: e for e in ASYMMETRIC})
        aliases = {alias: entry for entry in ENTRIES for alias in entry.aliases}
        #: The same by every name, aliases among them.
        self.by_name: Mapping[str, Entry] = {**self.entries, **self.asymmetric, **aliases}

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ParameterError(self.unknown(name))
        entry = self.by_name[name]
        return entry if entry.parameters else entry.fixed

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.by_name

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or ``default`` for an unknown one."""
        try:
            return self[name]
        except ParameterError:
            return default

    def unknown(self, name: object) -> str:
        """The message for an unknown name, with the nearest one that is known."""
        close = difflib.get_close_matches(str(name), self, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        if name == "laplacian":
            hint = _SCIKIT_LEARN_LAPLACIAN
        return (
            f"The catalogue has no kernel named {shorten(name)!r}.{hint} It has {', '.join(self)}. "
            "A formula contains z = |x - y| or u = <x, y>, and radial(...) or zonal(...) makes a "
            "kernel of it."
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"catalogue of {len(self)} kernels: {', '.join(self)}"


#: Every kernel the toolkit knows by name.
catalogue: Catalogue = Catalogue()
