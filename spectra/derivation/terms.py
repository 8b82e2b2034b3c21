"""Tables of composite kernels: one loop over terms and factors.

Terms of the same factors that differ in their shifts form one part of the table: the measure of the
product times sum c exp(i w.r).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, singledispatch
from itertools import product
from typing import Any

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.errors import NoRouteError, ParameterError
from spectra.formula import Piece
from spectra.formula.parsing import Z
from spectra.kernels.composite import CompositeKernel, Factor, Term, of_factor
from spectra.kernels.kernel import Kernel
from spectra.kernels.metrics import EUCLIDEAN, Euclidean, L1Metric
from spectra.kernels.profile_terms import (
    gaussian_components,
    l1_components,
    no_l1_route,
    no_truncated_route,
)
from spectra.table import Group, Part, Shifts, SpectralTable
from spectra.table.parts import error_of_product
from spectra.verdict import existence

__all__ = ["composite_table", "elementary_terms"]

# Relative rounding error of offsets that are equal.
_TOLERANCE = 1e-14
# Largest log c: a tilt multiplies the measure of a Gaussian by c, and variances by c^2 < inf.
_LARGEST_LOG_FACTOR = 350.0

#: Derives the table of a radial kernel in a dimension.
TableOf = Callable[[Kernel, int], SpectralTable]


@dataclass(frozen=True, eq=False)
class _Law:
    """The parts of a factor, in the columns of the factor, and the numbers of its table."""

    parts: tuple[Part, ...]
    mass: float
    u_error: float = 0.0
    bias: float = 0.0
    provenance: str = "closed form"


def composite_table(kernel: CompositeKernel, dim: int, table_of: TableOf) -> SpectralTable:
    """The table of a composite kernel on R^dim; ``table_of`` derives the tables of profiles."""
    kernel.check_dim(dim)
    table_of = cache(table_of)
    law_of = cache(lambda factor: law_of_factor(factor.metric, factor, dim, table_of))
    parts: list[Part] = []
    laws: dict[Factor, _Law] = {}
    u_error = bias = 0.0
    shifted: dict[tuple[Factor, ...], list[tuple[float, FloatArray]]] = {}
    for term in elementary_terms(kernel, dim):
        own = [laws.setdefault(f, law_of(f)) for f in term.factors]
        # The error in probability of a product is at most the sum of the errors of its factors.
        u_error = max(u_error, sum(law.u_error for law in own))
        bias += abs(term.weight) * float(error_of_product((law.mass, law.bias) for law in own))
        if kernel.is_symmetric:
            products = product(*(law.parts for law in own))
            parts += (Part.product(term.weight, factors) for factors in products)
        else:
            offset = np.zeros(dim) + np.array(term.offset)
            shifted.setdefault(term.factors, []).append((term.weight, offset))
    for factors, terms in shifted.items():
        if not factors:
            parts.append(Part.product(sum(weight for weight, _ in terms), ()))
        elif (shifts := _shifts(terms)) is not None:
            products = product(*(laws[f].parts for f in factors))
            parts += (replace(Part.product(1.0, own), shifts=shifts) for own in products)
    if not kernel.is_symmetric:
        # Where shifts cancel, the size of a part may be below its error; such parts are omitted.
        sizes = [part.root_mean_square(dim) for part in parts]
        bias += sum(size + error for size, error in sizes if size <= error)
        parts = [p for p, (size, error) in zip(parts, sizes, strict=True) if size > error]
    return SpectralTable(
        dim=dim,
        parts=tuple(parts),
        formula=str(kernel),
        k_zero=float(kernel(np.zeros(dim))),
        u_error=u_error,
        bias=bias,
        provenance="; ".join(dict.fromkeys(law.provenance for law in laws.values())),
    )


@singledispatch
def law_of_factor(metric: Any, factor: Factor, dim: int, table_of: TableOf) -> _Law:
    """The law of a factor, dispatched on its metric."""
    raise NoRouteError(f"No measure is known for kernels of {metric.text}.")


@law_of_factor.register
def _(metric: Euclidean, factor: Factor, dim: int, table_of: TableOf) -> _Law:
    table = table_of(factor.profile, factor.size(dim))
    parts = table.parts
    if factor.columns is not None:
        parts = tuple(p.on(factor.columns, np.array(factor.lengths)) for p in parts)
    elif deviation := _gaussian_deviation(factor.profile):
        parts = tuple(replace(p, groups=(Group(p.law, deviation=deviation),)) for p in parts)
    return _Law(parts, table.mass, table.u_error, table.bias, table.provenance)


def _gaussian_deviation(kernel: Kernel) -> float:
    """Standard deviation of the coordinates of a frequency for a Gaussian kernel, else 0."""
    rates = [float(rate) for _, rate in gaussian_components(kernel) or ()]
    return float(np.sqrt(2.0 * rates[0])) if len(rates) == 1 else 0.0


def elementary_terms(kernel: CompositeKernel, dim: int) -> list[Term]:
    """The terms as products of factors whose law is known, none of them tilted; or NoRouteError."""
    weights: dict[Term, float] = {}
    for term in kernel.terms:
        split = _gaussians if any(term.tilt) else elementary
        for chosen in product(*(split(f.metric, f, dim) for f in term.factors)):
            weight = term.weight * float(np.prod([c for c, _ in chosen]))
            factors = tuple(f for _, own in chosen for f in own)
            new = _untilt(replace(term, weight=weight, factors=factors), dim)
            key = replace(new, weight=1.0)
            weights[key] = weights.get(key, 0.0) + new.weight
    return [replace(term, weight=weight) for term, weight in weights.items() if weight != 0.0]


#: A factor as a sum of weighted products of factors.
Sum = list[tuple[float, tuple[Factor, ...]]]


@singledispatch
def elementary(metric: Any, factor: Factor, dim: int) -> Sum:
    """A factor as a sum of products of factors whose laws :func:`law_of_factor` knows."""
    return [(1.0, (factor,))]


@elementary.register
def _(metric: L1Metric, factor: Factor, dim: int) -> Sum:
    if factor.size(dim) == 1:
        return [(1.0, (replace(factor, metric=EUCLIDEAN),))]
    if (components := l1_components(factor.profile)) is None:
        existence(of_factor(factor.profile, metric=metric), factor.size(dim)).raise_unless_finite()
        raise NoRouteError(no_l1_route(factor.profile))
    truncated, exponentials = components
    if truncated:
        raise NoRouteError(no_truncated_route(factor.profile))
    columns = factor.named_columns(dim)
    places = [Factor.of(factor.profile, [j], x, EUCLIDEAN)
              for j, x in zip(columns, np.broadcast_to(factor.lengths, len(columns)),
                              strict=True)]  # fmt: skip
    found: Sum = []
    for c, rate in exponentials:
        exponential = _formula(sympy.exp(-rate * Z))
        own = places if rate != 0 else []  # exp(-0 z) is a constant
        found.append((float(c), tuple(replace(place, profile=exponential) for place in own)))
    return found


def _gaussians(metric: Any, factor: Factor, dim: int) -> Sum:
    """A factor as a sum of Gaussians."""
    components = gaussian_components(factor.profile) if metric == EUCLIDEAN else None
    if components is None:
        raise NoRouteError(
            f"The kernel {factor.profile} is not a sum of Gaussians c exp(-a z**2), and only for "
            "these the measure of exp(tilt.D) k(D) is known. Tilt Gaussians, or use "
            "shift, which is defined for every kernel of finite mass."
        )
    return [
        (float(c), (replace(factor, profile=_formula(sympy.exp(-a * Z**2))),))
        for c, a in components
    ]


def _formula(expr: sympy.Expr) -> Kernel:
    """A profile that needs no check."""
    return Kernel((Piece(sympy.oo, expr),))


def _untilt(term: Term, dim: int) -> Term:
    """A product of tilted Gaussians as one of shifted Gaussians."""
    if not any(term.tilt):
        return term
    tilt, offset = np.zeros(dim) + np.array(term.tilt), np.zeros(dim) + np.array(term.offset)
    precision = np.zeros(dim)  # the product is exp(-sum of precision_j D_j^2 / 2)
    for f in term.factors:
        ((_, rate),) = gaussian_components(f.profile) or ()
        columns = slice(None) if f.columns is None else list(f.columns)
        precision[columns] += 2.0 * float(rate) / np.array(f.lengths) ** 2
    if np.any(tilt[precision == 0.0]):
        raise NoRouteError(f"The term {term} is tilted in a column on which it does not depend.")
    step = np.divide(tilt, precision, out=np.zeros(dim), where=precision > 0.0)
    # exp(tilt.D) G(D + r) = exp(tilt.step/2 - tilt.r) G(D + r - step)
    log_factor = float(0.5 * tilt @ step - tilt @ offset)
    if log_factor > _LARGEST_LOG_FACTOR:
        raise ParameterError(
            f"The tilt of {term} multiplies its measure by exp({log_factor:.6g}), "
            "too much for features. Use a smaller tilt or a shorter length."
        )
    offset = tuple((offset - step).tolist())
    weight = term.weight * float(np.exp(log_factor))
    return Term(weight, term.factors, offset)


def _shifts(terms: list[tuple[float, FloatArray]]) -> Shifts | None:
    """The shifts of terms (weight, offset), with equal offsets merged; None if all cancel."""
    found: list[tuple[float, FloatArray]] = []
    for weight, offset in terms:
        for i, (other, place) in enumerate(found):
            if np.allclose(place, offset, rtol=_TOLERANCE, atol=0.0):
                found[i] = other + weight, place
                break
        else:
            found.append((weight, offset))
    kept = [(weight, offset) for weight, offset in found if weight != 0.0]
    if not kept:
        return None
    return Shifts(np.array([offset for _, offset in kept]), np.array([w for w, _ in kept]))
