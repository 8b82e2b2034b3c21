"""Spectral measures of given spectra: formulas, Python functions and samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, checked_dim, positive_number, real_array
from spectra.errors import ParameterError
from spectra.formula.evaluate import numpy_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.parsing import Z, parse_formula
from spectra.kernels.kernel import radial
from spectra.measure import SpectralMeasure
from spectra.singularities import analyse
from spectra.spectral_input.component import (
    GivenComponent,
    convention_of,
    find_ends,
    measure_of_component,
)
from spectra.spectral_input.samples import sampled_component

__all__ = ["spectrum"]

# Powers kept in the expansion of a formula at 0 and at infinity.
_WINDOW = 8

_compile = lru_cache(maxsize=64)(partial(numpy_function, symbol=Z, relative=True))


@staged("reading a spectrum", advice="give fewer samples, a formula, or a band")
def spectrum(
    S: str | sympy.Expr | Callable[..., Any] | tuple[Any, Any],
    dim: int,
    *,
    kind: str,
    cycles: bool = False,
    band: tuple[float, float] = (0.0, np.inf),
    breaks: Iterable[float] = (),
    origin: float | None = None,
    decay: float | None = None,
    extend: bool = False,
    **parameters: Any,
) -> SpectralMeasure:
    """The spectral measure of an isotropic spectrum, with its covariance and variogram.

    Parameters
    ----------
    S : str, sympy expression, callable, or pair of arrays (k, values)
        A formula in k, w or f; a function of an array of radii k > 0; or samples at ascending
        radii.  Values may be negative.
    dim : int
        Dimension d of space.
    kind : {"density", "power", "shell", "log"}
        What is integrated to give the variance k(0): S dw over R^d; S dk/(2 pi)^d over R^d, such as
        P(k) in cosmology; S dk over k > 0, such as E(k) of turbulence and one-sided frequency
        spectra; or S dk/k over k > 0, such as Delta^2(k).
    cycles : bool
        Whether k is a frequency in cycles per unit, such as Hz; by default it is in radians.
    band : pair of floats
        S is 0 outside of low <= k <= high.
    breaks : iterable of floats
        Radii at which S has a kink, a jump or a line narrower than a percent of its radius.
        Kinks and jumps of a formula are found; lines that are not stated may be missed.
    extend : bool
        Continue samples by the power laws of the first and last four of them.
    origin, decay : float, optional
        Expert options: S is like k**origin at 0 and like k**(-decay) at infinity.  By default these
        exponents are found from the formula, or measured.
    **parameters : numbers
        Values of the other names in a formula.

    Raises
    ------
    InfiniteMassError
        If the variance is infinite.
    ParameterError, FormulaError, AccuracyError
        If S or an option is invalid, an exponent is unclear, or S is not smooth between its breaks.

    Examples
    --------
    The kernel exp(-z) in three dimensions, from its power spectrum:

    >>> measure = spectrum("8*pi/(1 + k**2)**2", 3, kind="power")
    >>> values, errors = measure.covariance([0.0, 1.0])
    >>> bool(np.abs(values - np.exp([-0.0, -1.0])).max() < errors.max() < 1e-12)
    True
    """
    dim, exponents = checked_dim(dim), [origin, None if decay is None else -decay]
    convention, limits = convention_of(kind, dim, cycles), real_array(band, "The band")
    if limits.shape != (2,) or not 0.0 <= limits[0] < limits[1]:
        raise ParameterError(f"band = {band!r}: give a pair (low, high) with 0 <= low < high.")
    radii, end, positive = [positive_number(b, "A break") for b in breaks], np.inf, False
    if isinstance(S, tuple | list) and len(S) == 2:
        if parameters or radii or exponents != [None, None] or limits[0] or limits[1] < np.inf:
            raise ParameterError("Samples have no options but kind, cycles and extend.")
        component, error, missing = sampled_component((S[0], S[1]), dim, convention, extend)
        label = f"{len(component.knots)} samples"
        return measure_of_component(component, label, error=error, missing=missing)
    if extend or (callable(S) and parameters):
        raise ParameterError("extend=True is for samples, and values of parameters for formulas.")
    if callable(S) and not isinstance(S, sympy.Basic):
        function, label, shape = S, "S(k)", None
        with suppress(TypeError):
            shape = np.shape(S(np.ones(2)))
        if shape not in ((), (2,)):
            raise ParameterError("S must take an array of radii: wrap it by np.vectorize.")
    else:
        expr, exprs, found, end = _read_formula(S, parameters, bool(radii))
        function, label, positive = partial(_values, expr), str(S), bool(expr.is_nonnegative)
        radii += found
        exponents = [_exponent(exprs[i], i) if e is None else e for i, e in enumerate(exponents)]
    low, high, *radii = (r / convention[2] for r in (limits[0], min(limits[1], end), *radii))
    if not low < high:
        raise ParameterError(f"The spectrum {label} is 0 on the band {band}.")
    options: Any = {"breaks": tuple((r, 0.0) for r in radii), "has_one_sign": positive}
    component = GivenComponent(function, dim, convention, (low, high), **options)
    component, error = find_ends(component, label, (exponents[0], exponents[1]))
    return measure_of_component(component, label, error=error)


def _values(expr: sympy.Expr, k: FloatArray) -> FloatArray:
    """The values of a formula; unlike a compiled function, this can be pickled."""
    return np.asarray(_compile(expr)(k))


def _read_formula(
    formula: Any, parameters: Mapping[str, Any], has_breaks: bool
) -> tuple[sympy.Expr, tuple[Any, Any], list[float], float]:
    """A formula in Z, its parts next to 0 and infinity, its breaks, and where it ends."""
    if not isinstance(formula, str | sympy.Basic):
        raise ParameterError(
            "A spectrum is a formula, a function or a pair of arrays (k, values), not a "
            f"{type(formula).__name__}."
        )
    names = {"k", "w", "f"} & set(re.findall(r"[^\W\d]\w*", str(formula))) - set(parameters)
    if len(names) > 1:
        raise ParameterError(
            f"The spectrum {formula} has the variables {' and '.join(sorted(names))}: write it in "
            "one of k, w and f, and give the others values."
        )
    variable = max(names, default="k")
    expr = parse_formula(formula, variable=variable, parameters=parameters)
    kernel = radial(expr.subs(sympy.Symbol(variable, nonnegative=True), Z))
    local = analyse(kernel)
    singular = any(t.exponent < 1 and t.exponent for _, p in local.radii for t in p.singularities)
    if singular or not kernel.pieces or not (local.exprs or has_breaks):
        raise ParameterError(
            f"The spectrum {formula} is 0, has an infinite value or slope at a radius, or it is "
            "not known where it is not smooth. State these radii by breaks=[...], smooth it there, "
            "or give a band=(low, high)."
        )
    expr = kernel.pieces[0].expr
    exprs = local.exprs or (expr,)
    end = float(local.radii[-1][0]) if exprs[-1] == 0 and local.radii else np.inf
    radii = [float(r) for r, point in local.radii if point.singularities or point.gaps]
    return expr, (exprs[0], exprs[-1]), radii, end


def _exponent(expr: sympy.Expr, side: int) -> float | None:
    """The exponent of a formula at 0 (side 0) or infinity (side 1); None if it is not known."""
    try:
        point = sympy.oo if side else sympy.Integer(0)
        terms = expand_at(expr, point, 1, _WINDOW).without_exponential.terms
    except ExpansionError:
        return None
    return (1 - 2 * side) * float(terms[0][0][0]) if terms else None
