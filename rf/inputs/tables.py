"""From whatever names a kernel to the table of its spectral laws in the dimension of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable
from spectra.table.kept_tables import default_cache, load_text

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.asymmetric import AsymmetricKernel
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel
    from spectra.kernels.l1_kernel import L1Kernel

__all__ = [
    "Layout",
    "Spectrum",
    "kept_spectrum",
    "layout_of",
    "named_kernel",
    "resolve_spectrum",
    "without_lengths",
]

# Tables of recent kernels: a grid search fits the same kernel in the same dimension many times.
_RECENT_TABLES = 64


@final
@dataclass(frozen=True)
class Layout:
    """Frequencies that the masses of a table were made for: others would not cancel as they do.

    ``counts``: frequencies of each part; ``columns``: columns that they fill.
    """

    coupling: str
    counts: tuple[int, ...]
    columns: int


@final
@dataclass(frozen=True)
class Spectrum:
    """A table, and where it is known the exact kernel, or the text that it is read from."""

    table: SpectralTable
    source: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str | None
    layout: Layout | None = None

    @property
    def kernel(self) -> Any:
        """The exact kernel, or None; a text is read when it is asked for."""
        return named_kernel(self.source)


@lru_cache(maxsize=_RECENT_TABLES)
def kept_spectrum(text: str, dim: int) -> Spectrum | None:
    """The table that the cache has for the text of a radial kernel; found without sympy."""
    folder = default_cache()
    table = None if folder is None else load_text(folder, text, dim)
    return None if table is None else Spectrum(table, text)


def resolve_spectrum(spectrum: Any, dim: int) -> Spectrum:
    """Find the table of a kernel in a dimension; a bare or kept table does without sympy.

    ``spectrum``: a kernel, family, table, measure or design of any kind; or text: a name of
    ``spectra.catalogue`` (a family takes its default parameters) or else a formula in z = |x - y|
    or in u = <x, y>; ``dim``: number of columns of the data.
    """
    if isinstance(spectrum, SpectralTable):
        _check_dimension("table", spectrum.dim, dim)
        return Spectrum(spectrum, None)
    text = spectrum if isinstance(spectrum, str) else ""
    kept = kept_spectrum(text, dim) if text else None
    if kept is not None:
        return kept
    from spectra.kernels.asymmetric import AsymmetricKernel
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel
    from spectra.kernels.l1_kernel import L1Kernel

    spectrum = named_kernel(spectrum)
    if isinstance(spectrum, Kernel | AsymmetricKernel | GroupedKernel | L1Kernel):
        of_text = text and isinstance(spectrum, Kernel)
        return Spectrum(_table_of(text if of_text else spectrum, dim), spectrum)
    from spectra.designs import Design
    from spectra.measure import SpectralMeasure
    from spectra.measure.tabulation import tabulate

    if isinstance(spectrum, SpectralMeasure):
        _check_dimension("measure", spectrum.dim, dim)
        return Spectrum(tabulate(spectrum), spectrum.kernel)
    if isinstance(spectrum, Design):
        _check_dimension("design", spectrum.dim, dim)
        layout = None if spectrum.n_components is None else layout_of(spectrum)
        return Spectrum(spectrum.table, spectrum.kernel, layout)
    raise ParameterError(
        f"kernel is {spectrum!r}, of type {type(spectrum).__name__}. It must be a Kernel, a name "
        "of spectra.catalogue, a formula in z or u, a SpectralMeasure, a design or a SpectralTable."
        + _MAKE_IT_A_KERNEL
        * callable(spectrum)
    )


_MAKE_IT_A_KERNEL = (
    " Make a function k(z) a kernel with spectra.radial(k, support=...), or with decay=... if it "
    "does not end."
)


def without_lengths(kernel: Any, dim: int) -> tuple[Any, FloatArray | None]:
    """The radial kernel and the lengths of a ``rescale([...])``; anything else as it is, and None.

    A kernel of the l1 distance becomes the radial one, or the one of groups, that it is.
    """
    if isinstance(kernel, str | SpectralTable):
        return kernel, None
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.l1_kernel import L1Kernel

    if isinstance(kernel, L1Kernel):
        standing = kernel.standing(dim)
        return (kernel if standing is None else standing), None

    found = kernel.one_radial(dim) if isinstance(kernel, GroupedKernel) else None
    return (kernel, None) if found is None else found


def layout_of(made: Design) -> Layout:
    """The frequencies of a design for a number of columns; a mass of 0 has no part."""
    used = tuple(n for n, c in zip(made.counts, made.masses, strict=True) if c != 0.0)
    return Layout(made.coupling, used, made.columns)


def named_kernel(spectrum: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """The kernel that a name, a formula or a family stands for; anything else as it is.

    ``parameters`` are those of a family, of a name of the catalogue, or of a formula.
    """
    given = dict(parameters or {})
    if isinstance(spectrum, SpectralTable | None) and not given:
        return spectrum
    if isinstance(spectrum, str):
        return _from_text(spectrum, given) if given else _from_text_alone(spectrum)
    from spectra.kernels.catalogue import Entry

    if isinstance(spectrum, Entry):
        return spectrum(**given)
    if given:
        raise ParameterError(
            f"kernel_params gives {', '.join(given)}, and {spectrum!r} has no open parameters. "
            "Pass a family of the catalogue, its name, or a formula with these parameters."
        )
    return spectrum


@lru_cache(maxsize=_RECENT_TABLES)
def _from_text_alone(text: str) -> Any:
    return _from_text(text, {})


def _from_text(text: str, given: dict[str, Any]) -> Any:
    from spectra.kernels.catalogue import catalogue, named_by_text, named_with_parameters

    name, values = named_with_parameters(text, given)
    if name in catalogue.asymmetric:
        return catalogue[name](**values)
    return named_by_text(text, parameters=given)


@lru_cache(maxsize=_RECENT_TABLES)
def _table_of(
    kernel: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str, dim: int
) -> SpectralTable:
    from spectra.derivation.kernel_to_table import derive

    return derive(kernel, dim)


def _check_dimension(what: str, made_for: int, dim: int) -> None:
    if made_for != dim:
        raise DataError(
            f"The {what} was made for dimension {made_for}, and X has {dim} column(s). The law of "
            f"the radius depends on the dimension: tabulate the kernel for dim={dim}."
        )
