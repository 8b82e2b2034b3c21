"""Choose how features of a kernel are sampled for the rows: one function, :func:`choose`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rf.inputs.rows import FITTING_ADVICE, RowRange, centre_of, refuse_matrix
from rf.inputs.tables import Spectrum, cached_spectrum, resolve_kernel, resolve_spectrum
from rf.inputs.unit_warning import warn_if_wrong_unit
from rf.schemes.scheme import Scheme
from rf.schemes.table_scheme import SamplingOptions, scheme_for
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.errors import InfiniteMassError, NoRouteError, ParameterError, UndecidedError
from spectra.table import SpectralTable

__all__ = ["FittedPlan", "Request", "choose", "draw_from", "range_of_table", "refuse_lengths"]


@dataclass(frozen=True)
class FittedPlan:
    """What is decided for the rows, before features are drawn.

    ``scheme``: how they are sampled; ``kernel``: the exact kernel, its text, or None;
    ``row_range``: the rows that are supported, a RowRange or a BoxRange; ``z_max``: the largest
    distance at which the features approximate the kernel.
    """

    scheme: Scheme
    kernel: Any
    row_range: Any
    z_max: float


@dataclass(frozen=True, eq=False)
class Request:
    """What features are asked for.

    ``rows``: divided by their lengths; ``n_components``: largest number of columns; ``options``:
    how frequencies are drawn; ``domain``: as in :class:`rf.SpectralFeatures`; ``positive``: whether
    a kernel that is positive definite on the sphere needs features of signature +1;
    ``any_distance``: whether rows may be further apart than the features allow; ``lengths``: what
    the rows were divided by, or None.
    """

    rows: Any
    n_components: int
    options: SamplingOptions
    domain: Any = None
    positive: bool = False
    any_distance: bool = False
    lengths: FloatArray | None = None

    @property
    def n_frequencies(self) -> int:
        """The number of frequencies, each of which has two columns."""
        return -(-self.n_components // 2)


#: (kernel, request, error) -> the plan of features that are designed for the data, or None if the
#: table of the kernel is preferred, which raised the error if there is one.
Design = Callable[[Any, Request, Exception | None], FittedPlan | None]


def choose(
    source: Any,
    request: Request,
    *,
    parameters: Mapping[str, Any] | None = None,
    design: Design | None = None,
) -> FittedPlan:
    """The plan for a kernel, a table or what names them: from its table or, by ``design``, without.

    ``parameters``: of a text or an entry of the catalogue.
    """
    dim, is_text = request.rows.shape[1], isinstance(source, str) and not parameters
    spectrum = cached_spectrum(source, dim) if is_text and request.domain is None else None
    is_table = isinstance(source, SpectralTable) and request.domain is None
    if spectrum is None and (parameters or (design is not None and not is_table)):
        kernel = resolve_kernel(source, parameters)
        if design is not None and (plan := design(kernel, request, None)) is not None:
            return plan
        source = source if is_text else kernel
    if spectrum is None:
        try:
            spectrum = resolve_spectrum(source, dim)
        except (InfiniteMassError, NoRouteError, UndecidedError) as error:
            plan = None if design is None else design(resolve_kernel(source), request, error)
            if plan is None:
                raise
            return plan
    return draw_from(spectrum, request)


def draw_from(spectrum: Spectrum, request: Request) -> FittedPlan:
    """The plan that draws frequencies from a table."""
    table, options = spectrum.table, request.options
    row_range = range_of_table(spectrum, request)
    if spectrum.design is not None:  # the numbers of frequencies of a design
        options = options.with_design(spectrum.design, request.n_components)
    with stage("fitting features", of=table.formula, advice=FITTING_ADVICE):
        scheme = scheme_for(table, request.n_frequencies, options, request.rows)
        if np.isfinite(table.domain):
            scheme = replace(scheme, kernel=spectrum.kernel)
        if not table.is_symmetric and options.coupling in ("auto", "iid"):
            from rf.schemes.complex_scheme import least_axial_scheme

            how: Any = {"allocation": options.allocation, "radii": options.radii}
            scheme = least_axial_scheme(scheme, request.n_frequencies, **how)
    return FittedPlan(scheme, spectrum.source, row_range, row_range.domain)


def range_of_table(spectrum: Spectrum, request: Request) -> RowRange:
    """The range of rows that a table supports; an error if the rows are not in it."""
    table, X = spectrum.table, request.rows
    if not table.parts:
        raise ParameterError(
            f"The spectral measure of {table.formula} is 0 to within the error of its masses, "
            "so there are no frequencies to draw: the kernel is 0, or a difference whose terms "
            "cancel to rounding error. Check the formula, or scale the difference up."
        )
    if table.sphere:
        refuse_lengths(table.formula, request)
    if not table.is_radial:
        refuse_matrix(request.lengths, table.formula)
    row_range = RowRange(table.domain, table.formula if table.sphere else "", centre_of(X))
    row_range.check(X, at_any_distance=request.any_distance)
    kernel = spectrum.source
    warn_if_wrong_unit(table if isinstance(kernel, str | None) else kernel, X)
    return row_range


def refuse_lengths(kernel: Any, request: Request) -> None:
    """Refuse length scales for a kernel on the unit sphere."""
    if request.lengths is not None:
        raise ParameterError(
            f"{kernel} lives on the unit sphere, and rows divided by a length do not. Omit "
            "length_scale, or make the kernel radial with rescale(1)."
        )
