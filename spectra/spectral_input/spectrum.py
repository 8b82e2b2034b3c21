"""Spectral measures of given spectra: formulas, Python functions and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import sympy

from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, checked_dim, positive_number, real_array
from spectra.errors import ParameterError
from spectra.measure import SpectralMeasure
from spectra.spectral_input.component import CallableSpectrum, Convention, GivenComponent
from spectra.spectral_input.ends import Exponent, find_ends, measure_of_component
from spectra.spectral_input.formulas import read_formula
from spectra.spectral_input.samples import sampled_component

__all__ = ["spectrum"]


@staged("reading a spectrum", advice="give a formula, or a band=(low, high)")
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
    r"""The spectral measure of a spectrum: its covariance, variogram, features and fields.

    Conventions differ by powers of :math:`2 \pi` and k, so ``kind`` says which integral of S is the
    variance k(0):

    ===========  ==========================================  ==================================
    kind         variance                                    used for
    ===========  ==========================================  ==================================
    "density"    :math:`\int_{R^d} S(w)\,dw`                 two-sided spectra, this package
    "power"      :math:`\int_{R^d} S(k)\,dk / (2 \pi)^d`     P(k) of cosmology, PyMC and GPy
    "shell"      :math:`\int_0^\infty S(k)\,dk`              E(k) of turbulence, one-sided spectra
    "log"        :math:`\int_0^\infty S(k)\,dk / k`          the dimensionless Delta^2(k)
    ===========  ==========================================  ==================================

    Parameters
    ----------
    S : str, sympy expression, callable, or pair of arrays (k, values)
        An isotropic spectrum, which may be negative: a formula in k, w or f; a function of the
        radius k > 0; or samples at ascending radii.
    dim : int
        Dimension d of space.
    kind : {"density", "power", "shell", "log"}
        What is integrated to give the variance.
    cycles : bool
        Whether k is a frequency in cycles per unit, such as Hz; by default it is in radians.
    band : pair of floats
        S is 0 outside of low <= k <= high.
    breaks : iterable of floats
        Radii at which a callable has a kink or a jump.  Those of a formula are found.
    extend : bool
        Continue samples by the power laws of the first and last four of them.
    origin, decay : float, optional
        Expert options: S behaves like k**origin at 0 and like k**(-decay) at infinity.  By default
        the exponents are those of the formula, or are measured for a callable.
    **parameters : numbers
        Values of the other names in a formula.

    Returns
    -------
    SpectralMeasure
        Its ``covariance(z)`` and ``variogram(z)`` have values and errors; ``missing`` is the
        estimated mass beyond samples.  It is accepted wherever a measure is:
        ``tabulate``, :class:`rf.SpectralFeatures`, :class:`rf.GaussianField` and the plug-ins.

    Raises
    ------
    InfiniteMassError
        If the variance is infinite; the message names the end and the remedy.
    ParameterError, FormulaError
        If S or an option is invalid, or exponents are unclear.
    AccuracyError
        If S is not smooth between its breaks.

    Examples
    --------
    The Matern kernel with nu = 1/2 in three dimensions, from its power spectrum:

    >>> measure = spectrum("8*pi/(1 + k**2)**2", 3, kind="power")
    >>> values, errors = measure.covariance([0.0, 1.0])
    >>> bool(np.abs(values - np.exp([-0.0, -1.0])).max() < errors.max() < 1e-12)
    True
    """
    convention = Convention(kind, checked_dim(dim), cycles)
    stated = (origin, None if decay is None else -decay)
    limits = _checked_band(band)
    if isinstance(S, tuple | list) and len(S) == 2:
        if parameters or (*stated, limits, tuple(breaks)) != (None, None, (0.0, np.inf), ()):
            raise ParameterError(
                "Samples take the options cycles and extend only: select a band by slicing the "
                "arrays."
            )
        component, unresolved, missing = sampled_component(*S, convention, extend=extend)
        label = f"{len(component.knots)} samples"
        return measure_of_component(component, label, unresolved=unresolved, missing=missing)
    if extend:
        raise ParameterError("extend=True continues samples, and the spectrum has none.")
    radii = [positive_number(b, "A break") for b in breaks]
    proved: Exponent = lambda side: None  # noqa: E731
    if callable(S) and not isinstance(S, sympy.Basic):
        if parameters:
            raise ParameterError(f"A callable has no parameters: bind {', '.join(parameters)}.")
        function: Any = CallableSpectrum(S)
        label, positive = function.name, False
    else:
        formula = read_formula(S, parameters, bool(radii))
        function, label, proved = formula.function, formula.label, formula.exponent
        radii += formula.breaks
        limits = limits[0], min(limits[1], formula.end)
        positive = bool(function.expr.is_nonnegative)
    if not limits[0] < limits[1]:
        raise ParameterError(f"The spectrum {label} is 0 on the band {band}.")
    low, high, *radii = (r / convention.unit for r in (*limits, *radii))
    raw = GivenComponent(
        function, convention, (low, high), breaks=tuple((r, 0.0) for r in radii),
        has_one_sign=positive,
    )  # fmt: skip
    component, unresolved = find_ends(raw, label, proved, stated)
    return measure_of_component(component, label, unresolved=unresolved)


def _checked_band(band: Any) -> tuple[float, float]:
    """The limits of the band: 0 <= low < high."""
    limits = real_array(band, "The band")
    if limits.shape != (2,) or not 0.0 <= limits[0] < limits[1]:
        raise ParameterError(f"band = {band!r}: give a pair (low, high) with 0 <= low < high.")
    return float(limits[0]), float(limits[1])
