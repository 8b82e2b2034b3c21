"""Derive the table of a kernel, or read it from the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache as memoize
from itertools import product
from numbers import Real
from pathlib import Path
from typing import cast

import numpy as np
import sympy

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim
from spectra.density import spectral_density
from spectra.derivation.asymmetric_measure import asymmetric_table
from spectra.errors import AccuracyError, FormulaError
from spectra.formula.reader.parsing import parse_formula
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue import Entry, as_kernel
from spectra.kernels.catalogue.reading import any_kernel_from_text
from spectra.kernels.grouped import Factor, GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate
from spectra.table import Group, Part, ProductPart, SpectralTable
from spectra.table.kept_tables import (
    code_digest,
    default_cache,
    keep_table,
    load_kept,
    save_alias,
)
from spectra.table.l1_part import check_l1_kernel, l1_parts
from spectra.table.parts import error_of_product
from spectra.verdict import existence, spectral_measure

__all__ = ["address_of", "derive"]


def derive(
    kernel: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | Entry | str,
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
    kernel : Kernel, AsymmetricKernel, GroupedKernel, L1Kernel, Entry or str
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
        Its ``kind`` is "radial", "shifted", "grouped" or "l1".  An L1Kernel that equals a radial or
        grouped kernel in this dimension has a table of that kind.

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

    def radial_table(radial: Kernel, dim: int) -> SpectralTable:
        return derive(radial, dim, u_error=u_error, cache=cache)

    text = kernel if isinstance(kernel, str) else ""
    if isinstance(kernel, str):
        kernel = any_kernel_from_text(kernel)
    if isinstance(kernel, AsymmetricKernel):
        return asymmetric_table(kernel, dim, radial_table)
    if isinstance(kernel, GroupedKernel):
        return _grouped_table(kernel, dim, radial_table)
    if isinstance(kernel, L1Kernel):
        return _l1_table(kernel, dim, radial_table)
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


def _grouped_table(
    kernel: GroupedKernel, dim: int, table_of: Callable[[Kernel, int], SpectralTable]
) -> SpectralTable:
    """The table of products over groups; ``table_of`` derives the tables of radial kernels."""
    kernel.check_dim(dim)
    tables: dict[Factor, SpectralTable] = {}
    groups: dict[Factor, list[tuple[Part, Group]]] = {}
    cached_table = memoize(table_of)
    for factor in kernel.factors:
        table = cached_table(cast("Kernel", factor.kernel), len(factor.columns))
        lengths = np.array(factor.lengths)
        tables[factor] = table
        groups[factor] = [(p, Group(p.law, factor.columns, lengths)) for p in table.parts]
    parts: list[ProductPart] = []
    u_error = bias = 0.0
    for weight, factors in kernel.terms:
        parts += (ProductPart.of(weight, p) for p in product(*(groups[f] for f in factors)))
        factor_tables = [tables[f] for f in factors]
        # The error in probability of a product is at most the sum of the errors of its factors.
        u_error = max(u_error, sum(t.u_error for t in factor_tables))
        bias += abs(weight) * float(error_of_product((t.mass, t.bias) for t in factor_tables))
    return SpectralTable(
        dim=dim,
        parts=tuple(parts),
        formula=str(kernel),
        k_zero=float(kernel.at_zero),
        u_error=u_error,
        bias=bias,
        provenance="; ".join(dict.fromkeys(table.provenance for table in tables.values())),
    )


def _l1_table(
    kernel: L1Kernel, dim: int, table_of: Callable[[Kernel, int], SpectralTable]
) -> SpectralTable:
    """The table of the equivalent radial or grouped kernel, or of the terms in closed form."""
    equivalent = kernel.equivalent(dim)
    if isinstance(equivalent, GroupedKernel):
        return _grouped_table(equivalent, dim, table_of)
    if equivalent is not None:
        return table_of(equivalent, dim)
    existence(kernel, dim).raise_unless_finite()
    truncated_distances, exponentials = kernel.numeric_terms()
    check_l1_kernel(dim, truncated_distances, str(kernel))
    return SpectralTable(
        dim=dim,
        parts=l1_parts(dim, truncated_distances, exponentials),
        formula=str(kernel),
        k_zero=float(kernel.at_zero),
        u_error=0.0,
        provenance="closed form",
    )
