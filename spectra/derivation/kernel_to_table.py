"""Derive the table of a kernel, or read it from the cache."""

from __future__ import annotations

import hashlib
import json
from numbers import Real
from pathlib import Path
from typing import Any

import sympy

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim
from spectra.density import spectral_density
from spectra.derivation.terms import composite_table
from spectra.errors import AccuracyError, FormulaError
from spectra.formula.parsing import parse_formula
from spectra.kernels.catalogue import Family, as_kernel
from spectra.kernels.catalogue.reading import any_kernel_from_text
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.tabulated import TabulatedKernel
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate
from spectra.table import SpectralTable
from spectra.table.kept_tables import code_digest, default_cache, keep_table, load_kept, save_alias
from spectra.verdict import spectral_measure

__all__ = ["address_of", "derive"]


def derive(
    kernel: Kernel | CompositeKernel | TabulatedKernel | Family | str,
    dim: int,
    *,
    u_error: float | None = None,
    cache: Path | str | bool = True,
) -> SpectralTable:
    """Spectral table of a kernel on R^dim, from the cache if it was derived before.

    For a radial kernel it is ``tabulate(spectral_measure(kernel, dim))``, saved by formula,
    dimension, tolerance and version of the code; shifted and grouped kernels use the tables of
    their radial kernels.  Tables of Python callables are not saved.

    Parameters
    ----------
    kernel : Kernel, CompositeKernel, Family or str
        A kernel, an entry of the catalogue, or a text: a name in the catalogue or a formula, as in
        :func:`spectra.kernels.catalogue.kernel_from_text`.
    dim : int
        Dimension d >= 1.
    u_error : float, optional
        Largest error in probability, as for ``tabulate``.
    cache : bool or path
        Where tables are saved: True for the folder of the environment variable SPECTRA_CACHE, or by
        default the cache folder of the platform; False to save none; or a folder.

    Returns
    -------
    SpectralTable
        Its ``kind`` is "radial", "shifted", "grouped" or "l1".

    Raises
    ------
    InfiniteMassError, UndecidedError
        If the verdict is not FINITE.
    NoRouteError, AccuracyError
        If the spectral density is not known, or the tolerance is not reached.
    ParameterError, FormulaError
        If an argument is invalid, or a text is not a formula.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> round(derive(radial("exp(-z**2/2)"), 3, cache=False).mass, 12)
    1.0
    >>> derive("matern(nu=5/2)", dim=3, cache=False).formula
    'matern(nu=5/2, length=1)'
    >>> shifted = radial("exp(-z**2/2)").shift([1.0, 0.0])
    >>> float(derive(shifted, 2, cache=False).expected_kernel([-1.0, 0.0]))
    1.0
    """
    dim = checked_dim(dim)

    def profile_table(profile: Any, dim: int) -> SpectralTable:
        return derive(profile, dim, u_error=u_error, cache=cache)

    text = kernel if isinstance(kernel, str) else ""
    if isinstance(kernel, str):
        kernel = any_kernel_from_text(kernel)
    if isinstance(kernel, CompositeKernel):
        if (same := kernel.as_radial(dim)) is not None and same[1] is None:
            return profile_table(same[0], dim)
        return composite_table(kernel, dim, profile_table)
    if isinstance(kernel, TabulatedKernel):
        return kernel.table_on(dim)
    kernel = as_kernel(kernel, "derive")
    folder = default_cache() if cache is True else Path(cache) if cache else None
    is_saved = folder is not None and isinstance(u_error, Real | None)
    address = address_of(kernel, dim, u_error=u_error) if is_saved else None
    formula, table = str(kernel), None
    if folder is not None and address is not None:
        table = load_kept(folder, address, formula=formula, dim=dim)
    if table is None:
        with stage(f"deriving a table, d = {dim}", has_limit=False):
            table = _tabulate_kernel(kernel, dim, u_error)
        if folder is not None and address is not None:
            keep_table(folder, address, table)
    # The alias finds the table of a text without parsing it.
    if text and folder is not None and address is not None and u_error is None:
        save_alias(folder, text, table, address)
    return table


def address_of(kernel: Kernel, dim: int, *, u_error: float | None) -> str | None:
    """File name of a table in the cache: a SHA-256 of all inputs; None for a callable."""
    try:
        pieces = [
            [sympy.srepr(p.support), sympy.srepr(parse_formula(p.expr, variable="z"))]
            for p in kernel.pieces
        ]
    except FormulaError:
        return None
    key = {
        "kernel": pieces,
        "zonal": None if kernel.zonal is None else sympy.srepr(kernel.zonal),
        "printed": str(kernel),
        "dim": dim,
        "u_error": None if u_error is None else float(u_error).hex(),
        "code": code_digest(),
    }
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def _tabulate_kernel(kernel: Kernel, dim: int, u_error: float | None) -> SpectralTable:
    """Tabulate by the automatic route, or by the numeric route if a series loses accuracy."""
    measure = spectral_measure(kernel, dim)
    try:
        return tabulate(measure, u_error=u_error)
    except AccuracyError:
        if measure.density is None or measure.density.route != "series":
            raise
    density = spectral_density(kernel, dim, route="numeric")
    return tabulate(measure_of(density), u_error=u_error)
