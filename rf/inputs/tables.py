"""Find the table of what names a kernel: text, a kernel, a measure, a design or a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rf.inputs.arrays import user_stacklevel
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable
from spectra.table.kept_tables import default_cache, load_by_alias

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.base_kernel import BaseKernel

__all__ = [
    "DesignCounts",
    "Spectrum",
    "cached_spectrum",
    "counts_of_design",
    "resolve_kernel",
    "resolve_spectrum",
    "split_off_lengths",
]

# Size of the in-memory caches: a grid search fits the same kernel many times.
_CACHE_SIZE = 64


@dataclass(frozen=True)
class DesignCounts:
    """The numbers of frequencies for which a design optimized the masses of its table.

    ``counts``: number of frequencies of each part; ``columns``: number of features.
    """

    coupling: str
    counts: tuple[int, ...]
    columns: int


@dataclass(frozen=True)
class Spectrum:
    """A table, its exact kernel or the text of it (if known), and the counts of a design."""

    table: SpectralTable
    source: BaseKernel | str | None
    design: DesignCounts | None = None

    @property
    def kernel(self) -> Any:
        """The exact kernel, or None; a text is parsed here, which imports sympy."""
        return resolve_kernel(self.source)


@lru_cache(maxsize=_CACHE_SIZE)
def cached_spectrum(text: str, dim: int) -> Spectrum | None:
    """The table in the cache for the text of a radial kernel, or None; does not need sympy."""
    folder = default_cache()
    table = None if folder is None else load_by_alias(folder, text, dim)
    return None if table is None else Spectrum(table, text)


def resolve_spectrum(source: Any, dim: int) -> Spectrum:
    """Find the table of a kernel in a dimension; sympy is not imported for a given or cached table.

    ``source``: a kernel, catalogue entry, table, measure or design; or text: a name in
    ``spectra.catalogue`` (with default parameters), or a formula in z = |x - y| or u = <x, y>;
    ``dim``: number of columns of the data.
    """
    if isinstance(source, SpectralTable):
        _check_dimension("table", source.dim, dim)
        return Spectrum(source, None)
    text = source if isinstance(source, str) else ""
    cached = cached_spectrum(text, dim) if text else None
    if cached is not None:
        return cached
    from spectra.kernels.base_kernel import BaseKernel

    source = resolve_kernel(source)
    if isinstance(source, BaseKernel):
        return Spectrum(_derive(text if text and source.is_symmetric else source, dim), source)
    from spectra.designs import Design
    from spectra.kernels.tabulated import TabulatedKernel
    from spectra.measure import SpectralMeasure
    from spectra.measure.tabulation import tabulate

    if isinstance(source, SpectralMeasure):
        _check_dimension("measure", source.dim, dim)
        table = tabulate(source)
        return Spectrum(table, source.kernel or TabulatedKernel(table))
    if isinstance(source, Design):
        _check_dimension("design", source.dim, dim)
        counts = None if source.n_components is None else counts_of_design(source)
        return Spectrum(source.table, source.kernel, counts)
    raise ParameterError(
        f"kernel is {source!r}, of type {type(source).__name__}. It must be a Kernel, a name "
        "of spectra.catalogue, a formula in z or u, a SpectralMeasure, a design or a SpectralTable."
        + _CALLABLE_ADVICE
        * callable(source)
    )


_CALLABLE_ADVICE = (
    " Convert a function k(z) to a kernel with spectra.radial(k, support=...), or with decay=... "
    "if its support is unbounded."
)


def split_off_lengths(kernel: Any, dim: int) -> tuple[Any, FloatArray | None]:
    """Split ``kernel.rescale([...])`` into a radial kernel and lengths (None for other kernels)."""
    split = kernel.as_radial(dim) if hasattr(kernel, "as_radial") else None
    return (kernel, None) if split is None else split


def counts_of_design(design: Design) -> DesignCounts:
    """The counts of a design; its table has no part for a mass of 0."""
    counts = tuple(n for n, mass in zip(design.counts, design.masses, strict=True) if mass != 0.0)
    return DesignCounts(design.coupling, counts, design.columns)


def resolve_kernel(source: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """The kernel of a catalogue name, a catalogue entry or a formula; other objects unchanged.

    ``parameters``: values of the parameters of the entry or the formula.
    """
    given = dict(parameters or {})
    if isinstance(source, SpectralTable | None) and not given:
        return source
    if isinstance(source, str):
        return _parse(source, given) if given else _parse_cached(source)
    from spectra.kernels.catalogue import Family

    if isinstance(source, Family):
        return source(**given)
    if given:
        raise ParameterError(
            f"kernel_params sets {', '.join(given)}, but {source!r} has no free parameters. "
            "Pass a catalogue entry, its name, or a formula with these parameters."
        )
    return source


@lru_cache(maxsize=_CACHE_SIZE)
def _parse_cached(text: str) -> Any:
    kernel = _parse(text, {})
    if "max" in text.lower() and _is_truncated_distance(kernel):
        warnings.warn(
            f"z in {text!r} is the Euclidean distance. The truncated l1 distance of the literature "
            "is the catalogue's kernel 'tl1', or spectra.l1(...).",
            stacklevel=user_stacklevel(),
        )
    return kernel


def _is_truncated_distance(kernel: Any) -> bool:
    from spectra.kernels.metrics import EUCLIDEAN
    from spectra.kernels.profile_terms import l1_components

    is_radial = getattr(kernel, "metric", None) == EUCLIDEAN and hasattr(kernel, "pieces")
    return is_radial and bool((l1_components(kernel) or ((),))[0])


def _parse(text: str, given: dict[str, Any]) -> Any:
    from spectra.kernels.catalogue import any_kernel_from_text, catalogue, parse_name

    name, values = parse_name(text, given)
    if name in catalogue and catalogue.by_name[name].id not in catalogue.entries:
        return catalogue.by_name[name](**values)
    return any_kernel_from_text(text, parameters=given)


@lru_cache(maxsize=_CACHE_SIZE)
def _derive(kernel: Any, dim: int) -> SpectralTable:
    from spectra.derivation.kernel_to_table import derive

    return derive(kernel, dim)


def _check_dimension(what: str, own_dim: int, dim: int) -> None:
    if own_dim != dim:
        raise DataError(
            f"The {what} was made for dimension {own_dim}, and X has {dim} column(s). The table "
            f"depends on the dimension: tabulate the kernel for dim={dim}."
        )
