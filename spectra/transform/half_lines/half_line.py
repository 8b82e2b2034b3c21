r"""Spectral densities of formulas on the half-line that no closed form is known for.

One method for all: a kernel that is analytic beside the half-line and decays without oscillating
is integrated along the path on which it cancels least; its exact expansions at zero and at
infinity say how the density ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.density import Atom, Component, FastTail, PowerTail, Tail
from spectra.errors import AccuracyError, FormulaError, NoRouteError
from spectra.formula.at_zero import value_at_zero
from spectra.formula.parsing import Z
from spectra.kernel import Kernel, Piece
from spectra.quadrature import EPS
from spectra.singularity.local import profile
from spectra.transform.half_lines.continuation import Continuation, continuation
from spectra.transform.half_lines.contours import Hankel
from spectra.transform.half_lines.ends import (
    Expansion,
    PowerEnding,
    expansion_of,
    power_ending,
    stable_value,
)
from spectra.transform.half_lines.panelled import Ending, Panel, Panelled, fit_panel
from spectra.transform.half_lines.paths import PathFinder

__all__ = ["half_line"]

FloatArray = NDArray[np.float64]

# First panels are this wide in log w, and the widest ones that.
_FIRST_WIDTH = 0.5
_WIDEST = 2.0
_NARROWEST = 1e-3
_MOST_PANELS = 400
# log(1e-42): what is this far below the largest w |rho| is negligible in every table.
_NEGLIGIBLE = -96.0
# The first panel reaches from w = 0 to this multiple of 1/scale at most.
_LINEAR_REACH = 0.5
# Towards the origin the power law is taken over where it holds to this accuracy.
_SETTLED = 1e-13
# The join with the asymptotic series may miss by this many of the error bounds.
_JOIN_SLACK = 4.0
# Where they do not join, the series begins this many times further out, for so many times.
_NEXT_JOIN = 1.5
_MOST_JOINS = 6
_OUTSIDE = 0.01
# Where w |rho| is within exp(-14) of its largest value, errors above this share are refused.
_USELESS = 1e-4
_MATTERS = -14.0
# In higher dimension the bulk of a Gaussian is far from the turning point at its scale.
_LOW_DIMENSION = 3
_CENTRE_GRID = 301


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What every dimension needs of a formula."""

    expr: sympy.Expr
    limit: sympy.Expr
    total: float
    zero: Expansion
    infinity: Expansion
    kernel: Continuation


@lru_cache(maxsize=64)
def _prepared(expr: sympy.Expr) -> _Prepared:
    cut = profile(Kernel((Piece(sympy.oo, expr),)))
    if cut.gaps or cut.radii:
        where = f"z = {cut.radii[0]}" if cut.radii else "a radius that was not located"
        raise NoRouteError(
            f"The formula {expr} changes at {where}: the numeric route on the half-line takes "
            "formulas that are analytic for z > 0. Write it as pieces with support=..., or design "
            "a finite measure for your range of distances."
        )
    smooth = cut.exprs[0]
    infinity = expansion_of(smooth, sympy.oo)
    limit = next((c for a, q, c in infinity.terms if a == 0 and q == 0), sympy.Integer(0))
    if any(a.is_negative or (a == 0 and q > 0) for a, q, _ in infinity.terms):
        raise NoRouteError(f"The formula {expr} is unbounded at infinity: it has no measure.")
    if limit != 0:
        smooth = smooth - limit
        infinity = expansion_of(smooth, sympy.oo)
    zero = expansion_of(smooth, sympy.Integer(0))
    at_zero = value_at_zero(smooth, Z)
    if at_zero is None:
        raise NoRouteError(f"The formula {expr} has no finite value at z = 0 that could be found.")
    value = stable_value(smooth, zero, infinity)
    try:
        kernel = continuation(smooth, value, zero, decays_fast=not infinity.terms)
    except FormulaError as error:
        raise NoRouteError(
            f"The formula {expr} cannot be continued from the half-line into the plane: {error}. "
            "The numeric route integrates along paths in the plane. Write it in elementary and "
            "Bessel functions, or design a finite measure for your range of distances."
        ) from error
    return _Prepared(smooth, limit, float(at_zero), zero, infinity, kernel)


def half_line(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom]]:
    """Component and atoms of a formula on the whole half-line, by integration in the plane.

    Parameters
    ----------
    expr : sympy expression
        A formula in Z that is analytic for z > 0, has powers (and logarithms) at zero, and tends
        to a limit at infinity like a power or faster, without oscillating.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the formula is of another class; the message says in what.
    AccuracyError
        Where it cancels on every path, in high dimension or with many waves.

    Examples
    --------
    >>> (component,), atoms = half_line(1 / (1 + Z), 3)
    >>> _, log = component.signed_log(np.array([1.0]))
    >>> round(float(np.exp(log[0])), 10)
    0.240992654
    """
    found = _prepared(expr)
    atoms = []
    if found.limit != 0:
        mass = float(found.limit)
        atoms.append(Atom(0.0, mass, error=abs(mass) * EPS))
    return [_Builder(found, dim).component()], atoms


class _Builder:
    """Panels from the bulk outwards until both ends are known."""

    def __init__(self, found: _Prepared, dim: int) -> None:
        self.found = found
        self.dim = dim
        self.sample = PathFinder(Hankel(found.kernel, dim))
        self.peak = -np.inf

    def component(self) -> Panelled:
        centre = self._centre()
        ending = power_ending(self.found.zero, self.dim)
        right = self._to_the_right(centre, ending)
        for _ in range(_MOST_JOINS):
            if ending is None or self._joins(right[-1], ending):
                break
            ending = replace(ending, start=_NEXT_JOIN * ending.start)
            right += self._to_the_right(right[-1].high, ending)
        left, exponent, share, drift = self._to_the_left(centre)
        panels = (*left, *right)
        tail: Tail = FastTail() if ending is None else PowerTail(ending.exponent)
        beyond: Ending = _Vanishing.after(panels[-1]) if ending is None else ending
        if ending is not None and not self._joins(panels[-1], ending):
            raise NoRouteError(
                f"The density of {self.found.expr} in d = {self.dim} does not join its asymptotic "
                f"series at w = {ending.start:.4g}. One of the two is wrong, so neither is given."
            )
        return Panelled(
            panels=panels,
            total=self.found.total,
            origin_exponent=exponent,
            bulk=_bulk(panels),
            tail=tail,
            ending=beyond,
            origin_log_share=share,
            origin_error=drift,
        )

    def _centre(self) -> float:
        """A radius in the bulk: the turning point at the scale, or where k z^(d-1) is largest."""
        kernel = self.found.kernel
        first = 0.5 * self.dim / kernel.scale
        if self.dim <= _LOW_DIMENSION or not kernel.decays_fast:
            return float(np.log(first))
        z = np.geomspace(1e-3 * kernel.scale, kernel.reach, _CENTRE_GRID)
        log = np.log(np.abs(kernel.value(z)) + np.finfo(float).tiny) + (self.dim - 1) * np.log(z)
        second = self.dim / float(z[int(np.argmax(log))])
        heights = []
        for w in (first, second):
            value, error = self.sample(w * np.array([1.0, 1.1]))
            known = np.maximum(np.abs(value) - error, 0.0)
            heights.append(w * float(known.max()))
        return float(np.log(first if heights[0] >= heights[1] else second))

    # --- towards infinity ---------------------------------------------------------------------

    def _to_the_right(self, start: float, ending: PowerEnding | None) -> list[Panel]:
        panels: list[Panel] = []
        x, width = start, _FIRST_WIDTH
        end = np.inf if ending is None else float(np.log(ending.start))
        while x < end or not panels:
            panel = self._fitted(x, min(x + width, max(end, x + _NARROWEST)))
            panels.append(panel)
            x, width = panel.high, self._next_width(panel)
            if ending is None and self._is_negligible(panel, panel.high):
                break
            self._count(panels)
        return panels

    def _next_width(self, panel: Panel) -> float:
        return min(2.0 * (panel.high - panel.low), _WIDEST)

    def _fitted(self, low: float, high: float, *, downwards: bool = False) -> Panel:
        """The widest panel from ``low`` upwards (or ``high`` downwards) that is resolved."""
        while True:
            panel, resolved = fit_panel(low, high, self.sample)
            if resolved:
                self.peak = max(self.peak, _height(panel))
                self._check_accuracy(panel)
                return panel
            half = 0.5 * (low + high)
            low, high = (half, high) if downwards else (low, half)
            if high - low < _NARROWEST:
                raise NoRouteError(
                    f"The density of {self.found.expr} in d = {self.dim} is not smooth near w = "
                    f"{np.exp(low):.6g}, so the numeric route cannot follow it."
                )

    def _check_accuracy(self, panel: Panel) -> None:
        lost = panel.error / panel.top
        if lost > _USELESS and _height(panel) > self.peak + _MATTERS:
            raise AccuracyError(
                f"The density of {self.found.expr} in d = {self.dim} is known to {lost:.1e} only "
                f"near w = {np.exp(panel.low):.4g}: on every path of integration the kernel "
                "cancels or oscillates too much for doubles. Try a smaller dimension, or design a "
                "finite measure for your range of distances."
            )

    def _is_negligible(self, panel: Panel, end: float) -> bool:
        height = panel.level + (panel.slope + 1.0) * end + float(np.log(panel.top))
        return height < self.peak + _NEGLIGIBLE

    def _count(self, panels: list[Panel]) -> None:
        if len(panels) > _MOST_PANELS:
            raise NoRouteError(
                f"The density of {self.found.expr} in d = {self.dim} needs more than "
                f"{_MOST_PANELS} panels: its tail settles too slowly for the numeric route."
            )

    def _joins(self, last: Panel, ending: PowerEnding) -> bool:
        x = np.array([last.low + 0.9 * (last.high - last.low), last.high])
        w = np.exp(x)
        inside = x >= np.log(ending.start)
        value, error = self.sample(w)
        sign, log = ending.signed_log(w)
        series = sign * np.exp(log)
        bound = error + np.abs(series) * ending.relative_error(w)
        return not np.any((np.abs(value - series) > _JOIN_SLACK * bound)[inside])

    # --- towards the origin -------------------------------------------------------------------

    def _to_the_left(self, start: float) -> tuple[list[Panel], float, float, float]:
        """Panels, and the exponent, the share of the logarithm and the error below them."""
        panels: list[Panel] = []
        x, width = start, _FIRST_WIDTH
        decay = next((a for a, _, _ in self.found.infinity.terms), None)
        exponent = float(self.dim - 1 if decay is None else min(decay, self.dim) - 1)
        first = float(np.log(_LINEAR_REACH / self.found.kernel.scale))
        while True:
            if decay is None and x <= first:
                panel, resolved = fit_panel(x - 1.0, x, self.sample, power=exponent)
                if resolved:
                    return [panel, *panels], exponent, 0.0, 0.0
            panel = self._fitted(x - width, x, downwards=True)
            panels.insert(0, panel)
            x, width = panel.low, self._next_width(panel)
            if decay is not None:
                with_log = decay == self.dim
                share, bend, noise = _power_law(panel, exponent, with_log=with_log)
                drift = bend + noise
                if bend < max(_SETTLED, noise) or self._is_negligible(panel, panel.low):
                    return panels, exponent, share, drift
            self._count(panels)


def _height(panel: Panel) -> float:
    """The largest log(w |rho|) on a panel, about."""
    ends = [panel.level + (panel.slope + 1.0) * x for x in (panel.low, panel.high)]
    return max(ends) + float(np.log(panel.top))


def _values(panel: Panel, s: FloatArray) -> FloatArray:
    return np.asarray(np.polynomial.legendre.legval(s, panel.series))


def _power_law(panel: Panel, exponent: float, *, with_log: bool) -> tuple[float, float, float]:
    """Share of a logarithm at the lower end, how far the panel is from the power law, and noise."""
    s = np.array([-1.0, 0.0, 1.0])
    x = panel.low + 0.5 * (panel.high - panel.low) * (1.0 + s)
    ratio = _values(panel, s) * np.exp((panel.slope - exponent) * (x - panel.low))
    ratio = ratio / ratio[0]
    noise = panel.error / panel.top
    if not with_log:
        return 0.0, float(np.abs(ratio - 1.0).max()), noise
    share = float(ratio[2] - 1.0) / (panel.high - panel.low)
    bend = abs(float(ratio[1]) - 1.0 - share * float(x[1] - x[0]))
    return share, 4.0 * bend, noise


def _bulk(panels: tuple[Panel, ...]) -> tuple[float, float]:
    """Radii between which all but a hundredth of the mass on either side lies."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    radii, masses = [], []
    for panel in panels:
        x = panel.low + 0.5 * (panel.high - panel.low) * (1.0 + nodes)
        s = 2.0 * np.exp(x - panel.high) - 1.0 if panel.linear else nodes
        size = np.abs(_values(panel, s)) * np.exp(panel.level + (panel.slope + 1.0) * x)
        radii.append(x)
        masses.append(size * weights * 0.5 * (panel.high - panel.low))
    x, share = np.concatenate(radii), np.cumsum(np.concatenate(masses))
    share /= share[-1]
    low = x[np.searchsorted(share, _OUTSIDE)]
    high = x[min(int(np.searchsorted(share, 1.0 - _OUTSIDE)), x.size - 1)]
    return float(np.exp(low)), float(np.exp(max(high, low + _FIRST_WIDTH)))


@dataclass(frozen=True)
class _Vanishing:
    """Beyond the last panel: less than the exponential that the panel ends with."""

    start: float
    log: float
    rate: float

    @classmethod
    def after(cls, panel: Panel) -> _Vanishing:
        """Continue the fall over the last panel."""
        log = panel.level + panel.slope * panel.high + float(np.log(panel.top))
        return cls(float(np.exp(panel.high)), log, -panel.slope / float(np.exp(panel.high)))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|: a bound of its size, since nothing more is known."""
        return np.ones_like(w), self.log - self.rate * (w - self.start)

    def relative_error(self, w: FloatArray) -> FloatArray:
        """All of it."""
        return np.full_like(w, 2.0)
