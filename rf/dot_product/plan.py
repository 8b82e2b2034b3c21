"""The plans of features that are designed for the data, by the metric of the kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from rf.dot_product.comparison import compare
from rf.dot_product.designed_waves import designed_spectrum
from rf.dot_product.problem import make_problem
from rf.inputs.rows import RowRange, centre_of, refuse_matrix
from rf.inputs.tables import resolve_spectrum
from rf.inputs.unit_warning import warn_if_wrong_unit
from rf.schemes.choose import FittedPlan, Request, draw_from, refuse_lengths
from spectra.designs import Design
from spectra.errors import InfiniteMassError, ParameterError
from spectra.kernels.base_kernel import BaseKernel
from spectra.kernels.metrics import EUCLIDEAN, Euclidean, InnerProduct, L1Metric, Sphere
from spectra.verdict import Status, existence

__all__ = ["design_plan"]

Error = Exception | None


def design_plan(kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    """The plan of features that are designed for the rows; None if the kernel's table is preferred.

    A design is preferred if a domain is given, for a kernel on the sphere with coupling "auto", and
    if the table has raised ``error`` because its mass is infinite; for functions of the l1 distance
    methods are also compared if their measure is not known.
    """
    if isinstance(kernel, Design) and kernel.powers.size and request.domain is None:
        return _design(kernel, request, "A design was given.")
    metric = kernel.metric if isinstance(kernel, BaseKernel) else EUCLIDEAN
    return _plan_for(metric, kernel, request, error)


@singledispatch
def _plan_for(metric: Any, kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    """The plan for the metric of a kernel, here for groups of columns with separate distances."""
    if request.domain == "data":
        return _design(kernel, request, "The domain 'data' was asked for.")
    if request.domain is not None:
        raise ParameterError(
            f"domain={request.domain!r} is not supported for {kernel}, which is not a function of "
            "one Euclidean distance. Omit domain, or take domain='data'."
        )
    if isinstance(error, InfiniteMassError) and (message := _infinite_group(kernel)):
        raise InfiniteMassError(message) from error
    return None


@_plan_for.register
def _(metric: Euclidean, kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    if request.domain is not None:
        return _design(kernel, request, "A domain was asked for.")
    if not isinstance(error, InfiniteMassError):
        return None
    dim = request.rows.shape[1]
    return _design(
        kernel, request, f"The spectral mass of {kernel} in dimension {dim} is infinite."
    )


@_plan_for.register
def _(metric: Sphere, kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    refuse_lengths(kernel, request)
    compares_methods = request.domain is None and request.options.coupling == "auto"
    if compares_methods or isinstance(error, InfiniteMassError):
        return _design(kernel, request, "The kernel is defined on the unit sphere.")
    return _plan_for(EUCLIDEAN, kernel, request, error)


@_plan_for.register
def _(metric: L1Metric, kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    if request.domain is None and error is None:
        return None
    refuse_matrix(request.lengths, kernel)
    if error is None:
        return _plan_for(None, kernel, request, error)
    data_request = replace(request, domain="data")
    return _design(
        kernel, data_request, f"{kernel} has no table in {request.rows.shape[1]} columns."
    )


@_plan_for.register
def _(metric: InnerProduct, kernel: Any, request: Request, error: Error) -> FittedPlan | None:
    if request.domain not in (None, "data") or request.options.coupling != "auto":
        raise ParameterError(
            f"{kernel} is a kernel of the inner product, without distances or frequencies: omit "
            "coupling, and take domain=None or 'data'."
        )
    return _design(kernel, request, "The kernel is defined for rows of any length.")


def _design(source: Any, request: Request, why: str) -> FittedPlan:
    """The best of several methods for the rows; for a chosen coupling, a table that is designed."""
    X, coupling = request.rows, request.options.coupling
    options: Any = {"domain": request.domain, "why": why, "positive": request.positive}
    if request.domain == "data" and coupling == "auto":
        options |= {"compares_all": True, "options": request.options}
    problem = make_problem(source, X, request.n_components, **options)
    if coupling != "auto":
        plan = draw_from(designed_spectrum(problem, coupling), request)
        return replace(plan, scheme=replace(plan.scheme, note=problem.note))  # type: ignore[type-var]
    warn_if_wrong_unit(problem.kernel, X)
    comparison = compare(problem)
    if comparison.best.scheme is not None:
        plan = draw_from(resolve_spectrum(problem.kernel, problem.dim), request)
        return replace(plan, scheme=replace(plan.scheme, note=comparison.explain()))  # type: ignore[type-var]
    if isinstance(problem.kernel.metric, InnerProduct) and comparison.method == "split powers":
        refuses = comparison.best.z_max is None
        rows = replace(problem.row_range, refuses=refuses)
        z_max = 2.0 * rows.largest if refuses else np.inf
        return FittedPlan(comparison, problem.kernel, rows, z_max)
    domain = comparison.z_max if comparison.best.z_max is None else np.inf
    # X needs no check: its range was checked by make_problem.
    row_range = RowRange(domain, problem.sphere, centre_of(X))
    return FittedPlan(comparison, problem.kernel, row_range, comparison.z_max)


def _infinite_group(kernel: Any) -> str:
    """Which group of columns has infinite spectral mass, why, and a remedy; or no text."""
    by_group = existence(kernel).by_group
    infinite = [(f, v) for f, v in by_group if v.status is Status.INFINITE and f.columns]
    if not infinite:
        return ""
    factor, verdict = infinite[0]
    columns = list(factor.columns or ())
    dim = len(columns)
    design = f"design(k, {dim}, domain=(0, z_max), tol=1e-3, objective='mass')"
    return (
        f"The group of columns {columns} of {kernel} has the kernel {factor.profile}, whose "
        f"spectral mass is infinite in d = {dim}: {verdict.reasons[0]} You have two options: use a "
        "named kernel of finite mass for this group, or approximate its kernel k on the range of "
        f"distances of its columns, with SpectralFeatures({design}). If the kernel is a sum, "
        "scikit-learn's ColumnTransformer joins these columns and the features of the other terms."
    )
