"""Bounds of the parameters of a family in which its kernels are positive definite on R^d."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sympy

from spectra.base.limits import time_limit
from spectra.errors import ParameterError, TimeLimitError
from spectra.kernels.catalogue import Family
from spectra.verdict import existence

__all__ = ["definite_bounds"]

# A parameter that scales neither z nor k is tried at so many values between these limits, if its
# own bounds are further apart; the end of its range is then bisected this often.
_TRIED, _LEAST, _MOST, _BISECTIONS = 9, 1e-2, 1e2, 12
_SECONDS = 0.5  # for a verdict


@lru_cache(maxsize=64)
def _bounds(family: Family, dim: int) -> tuple[tuple[str, tuple[float, float]], ...]:
    bounds = family.bounds(dim)
    scaled = {n for e in family.scaling if e for n, power in e.items() if power}
    shapes = [n for n in bounds if n not in scaled]
    is_known = family.positive_definite is not None or family.zonal
    if not is_known and len(shapes) == 1:
        bounds[shapes[0]] = _bisected(family, dim, shapes[0], bounds[shapes[0]])
    elif not is_known and not shapes and _is_refuted(family, dim, {}):
        _refuse(family, dim)
    return tuple(bounds.items())


def definite_bounds(family: Family, dim: int) -> dict[str, tuple[float, float]]:
    """The bounds of the free parameters, narrowed to where a kernel on R^dim is not refuted.

    A named kernel has its own condition.  For another family with one parameter that scales neither
    z nor k, verdicts at several values are used; with several of them, check the fitted kernel.

    Raises
    ------
    ParameterError
        If the kernel is positive definite for no value.

    Examples
    --------
    >>> from spectra import family
    >>> definite_bounds(family("exp(-(z/l)**a)"), 2)["a"]
    (0.0, 2.0)
    """
    return dict(_bounds(family, dim))


def _bisected(
    family: Family, dim: int, name: str, bounds: tuple[float, float]
) -> tuple[float, float]:
    """The bounds of the parameter around its default, without refuted values."""
    low, high = bounds
    if low >= 0:
        tried = np.geomspace(max(low, _LEAST), max(min(high, _MOST), 2 * _LEAST), _TRIED)
    else:
        tried = np.linspace(low, min(high, _MOST), _TRIED)
    good = [not _is_refuted(family, dim, {name: _rounded(x)}) for x in tried]
    if not any(good):
        _refuse(family, dim)
    first, last = good.index(True), len(good) - 1 - good[::-1].index(True)
    if first > 0:
        low = _edge(family, dim, name, tried[first], tried[first - 1])
    if last < len(tried) - 1:
        high = _edge(family, dim, name, tried[last], tried[last + 1])
    return float(low), float(high)


def _edge(family: Family, dim: int, name: str, good: float, bad: float) -> float:
    """The last value that is not refuted between a good and a bad one, to two decimals."""
    wholes = {round(0.5 * (good + bad)), round(good), round(bad)}
    for _ in range(_BISECTIONS):
        inside = [x for x in wholes if min(good, bad) < x < max(good, bad)]
        middle = float(inside[0]) if inside else float(_rounded(0.5 * (good + bad)))
        if middle in (good, bad):
            break
        if _is_refuted(family, dim, {name: _rounded(middle)}):
            bad = middle
        else:
            good = middle
    return good


def _rounded(value: float) -> sympy.Rational:
    """The value with two decimals, or three digits if it is small: verdicts on these are fast."""
    return sympy.Rational(f"{value:.2f}" if abs(value) > 0.1 else f"{value:.2g}")


def _is_refuted(family: Family, dim: int, values: dict[str, sympy.Rational]) -> bool:
    """Whether the kernel is refuted; a verdict that takes too long counts as a refutation."""
    try:
        with time_limit(_SECONDS):
            found = existence(family(**values), dim).positive_definite
    except TimeLimitError:
        return True
    return found is not None and found.answer is False


def _refuse(family: Family, dim: int) -> None:
    found = existence(family(), dim).positive_definite
    raise ParameterError(
        f"{family} is not positive definite on R^{dim}, so it is no covariance there. "
        f"{'' if found is None else found.reason} See spectra.existence(kernel, dim)."
    )
