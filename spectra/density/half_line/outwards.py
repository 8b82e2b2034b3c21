"""Panels of a density from its bulk outwards, until both ends are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from spectra.base.numbers import FloatArray
from spectra.density.components import Radial
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.continuation.negligible import Beyond
from spectra.density.half_line.endings import PowerEnding, Vanishing, power_ending, remainder
from spectra.density.half_line.ends import long_expansion_of
from spectra.density.half_line.prepared import Expanded, plane
from spectra.density.half_line.sums.sampled import Sampled, Sampler
from spectra.density.panels.panel import Panel, bulk_of, panel_through
from spectra.density.panels.panelled_density import Panelled
from spectra.errors import AccuracyError, FormulaError, NoRouteError

__all__ = ["Builder"]

# The integral of |k| z^(d-1) by the trapezoidal rule in log z, from this share of the scale on.
_LEAST_DISTANCE, _SUM_NODES = 1e-6, 4000
_LARGEST_LOG = 700.0
# First panels are this wide in log w, and the widest ones that.
_FIRST_WIDTH = 0.5
_WIDEST = 2.0
_NARROWEST = 1e-3
_MOST_PANELS = 400
# log(1e-42): what is this far below the largest w |rho| is negligible in every table.
_NEGLIGIBLE = -96.0
# log(1e-13): noise so far below the largest w |rho| is less than the rounding of a mass.
_NOISE = -30.0
# Beside a radius inside, where no tail begins, what is below 1e-17 is.
_NEGLIGIBLE_INSIDE = -39.0
# The first panel reaches from w = 0 to this multiple of 1/scale at most.
_LINEAR_REACH = 0.5
_SHARE_OF_FREQUENCY = 0.25
# Towards the origin the power law is taken over where it holds to this accuracy.
_SETTLED = 1e-13
# Where they do not join, the series begins this many times further out, for so many times.
_NEXT_JOIN = 1.25
_MOST_JOINS = 12
# Beyond, they are compared at radii so far apart, for so many times, where the rest of the kernel
# may be more than half of the errors of the series.
_NEXT_LOOK, _MOST_LOOKS, _SHARE = 1.5, 40, 0.5
# Values that are known less well say nothing of a series.
_LOOKED = 2e-14
# Stretches overlap by this share, so that rounding leaves nothing between them.
_OVERLAP = 1e-9
# Where w |rho| is within exp(-14) of its largest value, errors above this share are refused.
_USELESS = 1e-4
_MATTERS = -14.0
# In higher dimension the bulk of a Gaussian is far from the turning point at its scale.
_LOW_DIMENSION = 3
# So close to a frequency, relative to it, a density has begun to rise if it does.
_CLOSE = 1e-6
# Frequencies are met that much more closely than other radii.
_FINE = 128.0
_CENTRE_GRID = 301


@dataclass(eq=False)
class Builder:
    """Panels from the bulk outwards until both ends are known.

    Attributes
    ----------
    found : Expanded
        The kernel, expanded at both ends.
    rays : Plane
        Where it is.
    sample : Sampler
        Its density.
    dim : int
        Dimension.
    exponent : float
        It begins at distance 0 like distance**exponent,
    with_log : bool
        times a logarithm.
    frequencies : tuple of float
        Those of its waves that panels have to meet.
    beyond : Beyond or None
        What is seen of the kernel beside its expansion at zero.
    pivot, side : float
        The density is taken at w = pivot + side * distance, as a function of the distance.
    peak : float
        The largest value of log(w |rho|) that is known.
    """

    found: Expanded
    rays: AnalyticRegion
    sample: Sampler
    dim: int
    exponent: float
    with_log: bool
    frequencies: tuple[float, ...]
    beyond: Beyond | None
    pivot: float = 0.0
    side: float = 1.0
    peak: float = -np.inf

    @classmethod
    def at_origin(
        cls, found: Expanded, sample: Sampler, dim: int, frequencies: tuple[float, ...] = ()
    ) -> Builder:
        """That of the density as a function of the radius, which begins as the kernel decays."""
        rays, decay = plane(found.expr), next((a for a, _, _ in found.infinity), np.inf)
        exponent, with_log = float(min(decay, dim) - 1), decay == dim
        beyond = rays.beyond(dim)
        return cls(found, rays, sample, dim, exponent, with_log, frequencies, beyond)

    @property
    def _scale(self) -> float:
        """The distance at which the kernel has fallen to half of its largest value."""
        return float(np.exp(self.rays.scale))

    def up_to(self, distance: float) -> Panelled:
        """The density from distance 0 to this one, and a little beyond."""
        left, share, drift = self._to_the_left(float(np.log(distance)) + _OVERLAP)
        return self._panelled(tuple(left), Vanishing.after(left), share, drift)

    def component(self) -> Panelled:
        """The density at all distances."""
        ending = self._series()
        return self._vanishing() if ending is None else self._ending_in(ending)

    def _series(self) -> PowerEnding | None:
        """The asymptotic series; None of an even kernel, which is proved to be one.

        That no odd power is seen in an expansion says nothing of those that follow.
        """
        found, ending = self.found, power_ending(self.found.zero, self.dim)
        if ending is None and not _is_even(found):
            self.found = replace(found, zero=long_expansion_of(found.expr))
            ending = power_ending(self.found.zero, self.dim)
            if ending is None:
                raise NoRouteError(
                    f"The formula {found.expr} has even powers alone in its expansion at zero, as "
                    "far as that is known, and is not seen to be even: how its density ends is not "
                    "known. Give what is odd in it as a summand of its own, or design a finite "
                    "measure for your range of distances (design)."
                )
        return ending

    def _vanishing(self) -> Panelled:
        centre, beyond = self._centre(), self.beyond
        right = self._to_the_right(centre, np.exp(centre))
        if (last := self._last_seen(right)) is not None:
            right += self._to_the_right(right[-1].high, last)
        left, share, drift = self._to_the_left(centre)
        panels = (*left, *right)
        if beyond is None:
            return self._panelled(panels, Vanishing.after(panels), share, drift)
        ending = Vanishing.unseen(panels, self.peak + _NEGLIGIBLE, beyond, self.pivot)
        if ending is None:
            raise NoRouteError(
                f"The density of {self.found.expr} in d = {self.dim} is negligible at w = "
                f"{self.pivot + np.exp(right[-1].high):.4g}, and nothing says that it stays so: "
                "the kernel is singular, or grows, too close to the half-line. Design a finite "
                "measure for your range of distances (design)."
            )
        return self._panelled(panels, ending, share, drift)

    def _ending_in(self, ending: PowerEnding) -> Panelled:
        centre = self._centre(ending.start)
        ending = replace(ending, start=self._settled(ending))
        right = self._to_the_right(centre, ending.start, ends=True)
        for _ in range(_MOST_JOINS):
            if self._joins(right, ending):
                break
            ending = replace(ending, start=_NEXT_JOIN * ending.start)
            right += self._to_the_right(right[-1].high, ending.start, ends=True)
        if not self._joins(right, ending):
            raise NoRouteError(
                f"The density of {self.found.expr} in d = {self.dim} does not join its asymptotic "
                f"series at w = {ending.start:.4g}. One of the two is wrong, so neither is given."
            )
        left, share, drift = self._to_the_left(centre)
        ending = replace(ending, pivot=self.pivot)
        return self._panelled((*left, *right), ending, share, drift, ending.exponent)

    def _panelled(
        self,
        panels: tuple[Panel, ...],
        ending: Radial,
        share: float,
        drift: float,
        decay: float = np.inf,
    ) -> Panelled:
        return Panelled(
            panels=panels,
            total=self.found.total,
            origin_exponent=self.exponent,
            bulk=bulk_of(panels, _FIRST_WIDTH),
            ending=ending,
            decay=decay,
            origin_log_share=share,
            origin_error=drift,
        )

    def _centre(self, tail: float = np.inf) -> float:
        """A radius in the bulk: the turning point at the scale, or where k z^(d-1) is largest.

        A kernel of fast waves has its mass at their frequencies; and no bulk is in a tail.
        """
        if self.pivot:
            return _dyadic(float(np.log(self.pivot)))
        rays, scale = self.rays, self._scale
        places = [0.5 * self.dim / scale]
        if rays.decays_fast:
            places += [b for b in self.frequencies if b > 0.0]
        if self.dim > _LOW_DIMENSION and rays.decays_fast:
            z = np.geomspace(1e-3 * scale, rays.reach(self.dim), _CENTRE_GRID)
            log = rays.log_size(z) + (self.dim - 1) * np.log(z)
            # It comes first, so that what is negligible elsewhere is seen to be.
            places.insert(0, self.dim / float(z[int(np.argmax(log))]))
        places = [w for w in places if np.log(w) < np.log(tail) - _FIRST_WIDTH] or places[:1]
        # Beside a frequency a density may be as narrow as the amplitude of its wave is wide.
        centres = [
            _dyadic(float(np.log(w)), finer=_FINE if w in self.frequencies else 1.0) for w in places
        ]
        heights = []
        for x in centres if len(centres) > 1 else ():
            sampled, _ = self.sample.look(x)
            known = np.maximum(np.abs(sampled.value) - sampled.wrong, np.finfo(float).tiny)
            heights.append(x + float((np.log(known) + sampled.log).max()))
        return centres[int(np.argmax(heights)) if heights else 0]

    # --- towards infinity ---------------------------------------------------------------------

    def _to_the_right(self, start: float, least: float, *, ends: bool = False) -> list[Panel]:
        """Panels to a radius, or from there on until the density is negligible."""
        panels: list[Panel] = []
        x, width = start, _FIRST_WIDTH
        end = _dyadic(float(np.log(max(least - self.pivot, np.exp(start)))), up=True)
        limit = end if ends else np.inf
        while x < limit or not panels:
            panel = self._fitted(x, min(x + width, max(limit, x + _NARROWEST)))
            panels.append(panel)
            x, width = panel.high, _next_width(panel, width)
            if not ends and x >= end and self._is_negligible(panel, x):
                break
            self._count(panels)
        return panels

    def _fitted(self, low: float, high: float, *, downwards: bool = False) -> Panel:
        """The widest panel from ``low`` upwards (or ``high`` downwards) that is resolved."""
        while True:
            panel, resolved = panel_through(low, high, self.sample.on_panel(low, high))
            if resolved and not self._is_useless(panel):
                self.peak = max(self.peak, panel.height)
                return panel
            half = 0.5 * (low + high)
            low, high = (half, high) if downwards else (low, half)
            if high - low < _NARROWEST:
                raise self._refusal(panel, resolved)

    def _is_useless(self, panel: Panel) -> bool:
        """Whether nothing is known of it where the density may be large: one end may be noise, and
        a narrower panel without it is better."""
        return panel.error > _USELESS * panel.top and panel.height > self.peak + _MATTERS

    def _refusal(self, panel: Panel, resolved: bool) -> AccuracyError | NoRouteError:
        near = self.pivot + self.side * float(np.exp(panel.low))
        density = f"The density of {self.found.expr} in d = {self.dim}"
        if not resolved:
            return NoRouteError(
                f"{density} is not smooth near w = {near:.6g}, so the numeric route cannot follow "
                "it. Design a finite measure for your range of distances (design)."
            )
        return AccuracyError(
            f"{density} is known to {panel.error / panel.top:.1e} only near w = {near:.4g}: it "
            "cancels or oscillates too much on every ray that the formula allows. Write its "
            "oscillation as sines, cosines or Bessel functions of multiples of z, which are "
            "followed one by one, or design a finite measure for your range of distances (design)."
        )

    def _is_negligible(self, panel: Panel, end: float) -> bool:
        share = _NEGLIGIBLE_INSIDE if self.pivot and end < 0.0 else _NEGLIGIBLE
        return panel.height_at(end) < self.peak + share

    def _count(self, panels: list[Panel]) -> None:
        if len(panels) > _MOST_PANELS:
            raise NoRouteError(
                f"The density of {self.found.expr} in d = {self.dim} needs more than "
                f"{_MOST_PANELS} panels: its tail settles too slowly for the numeric route."
            )

    def _settled(self, ending: PowerEnding) -> float:
        """The radius from which values are those of the series.

        What falls exponentially is in no series, and in high dimension it grows beside one before
        it falls; nor are powers that come after those which were looked at.
        """
        first, beyond = ending.start, self.beyond
        if beyond is None:
            return first
        looks: FloatArray = first * _NEXT_LOOK ** np.arange(float(_MOST_LOOKS))
        allowed = ending.signed_log(looks)[1] + np.log(_SHARE * ending.relative_error(looks))
        least = float(allowed.min())
        axis = remainder(self.rays, self.found.zero, self.dim, least)
        for w, log in zip(looks[::-1], allowed[::-1], strict=True):
            if beyond.is_below(float(log), float(w), axis):
                continue
            sampled, places = self.sample.look(_dyadic(float(np.log(w)), up=True))
            known = np.all(sampled.wrong <= _LOOKED * np.abs(sampled.value))
            if not (known and self._agrees(sampled, np.exp(places), ending)):
                return float(_NEXT_LOOK * w)
        return first

    def _last_seen(self, panels: list[Panel]) -> float | None:
        """The last radius at which a density that has become negligible is not, if any."""
        end, beyond = float(np.exp(panels[-1].high)), self.beyond
        if beyond is None:
            return None
        for w in end * _NEXT_LOOK ** np.arange(_MOST_LOOKS - 1.0, 0.0, -1.0):
            ignored = self.peak + _NEGLIGIBLE - float(np.log(w))
            if not beyond.is_below(ignored, self.pivot + float(w)):
                sampled, _ = self.sample.look(_dyadic(float(np.log(w)), up=True))
                seen = np.abs(sampled.value) - sampled.wrong
                if np.any(seen > np.exp(np.minimum(ignored - sampled.log, _LARGEST_LOG))):
                    return float(_NEXT_LOOK * w)
        return None

    def _joins(self, panels: list[Panel], ending: PowerEnding) -> bool:
        """Whether values and series agree over the last radii before the series is alone."""
        for panel in reversed(panels):
            w = self.pivot + panel.radii
            inside = w >= ending.start / _NEXT_JOIN
            if not inside.any():
                return True
            sampled = self.sample.on_panel(panel.low, panel.high)
            if not self._agrees(sampled, w, ending, inside):
                return False
        return True

    def _agrees(
        self, sampled: Sampled, w: FloatArray, ending: PowerEnding, where: Any = slice(None)
    ) -> bool:
        """Whether values at radii are those of the series."""
        value, wrong = sampled.value[where], sampled.wrong[where]
        sign, log = ending.signed_log(w)
        series = (sign * np.exp(log - sampled.log))[where]
        bound = wrong + np.abs(series) * ending.relative_error(w)[where]
        return bool(np.all(np.abs(value - series) <= bound))

    # --- towards the origin -------------------------------------------------------------------

    def _to_the_left(self, start: float) -> tuple[list[Panel], float, float]:
        """Panels, and the share of the logarithm and the error below them."""
        panels: list[Panel] = []
        x, width = start, _FIRST_WIDTH
        # Beside w^(d-1) the density of a kernel without powers at infinity is smooth at w = 0.
        exponent, is_smooth = self.exponent, not (self.pivot or self.found.infinity)
        first = float(np.log(min(_LINEAR_REACH / self._scale, self._before_waves())))
        while True:
            if is_smooth and x <= first:
                try:
                    sampled = self.sample.on_panel(x - 1.0, x, exponent)
                    panel, resolved = panel_through(x - 1.0, x, sampled, power=exponent)
                except NoRouteError:
                    # In high dimension w^(d-1) is below every double there, and all of no account.
                    if not panels or not self._is_lost(panels[0]):
                        raise
                    return panels, 0.0, self._largest_below(panels[0])
                if resolved and (panel.error < panel.top or self._is_noise(panel)):
                    return [panel, *panels], 0.0, 0.0
                if panels and self._has_met_the_bulk(panels) and self._is_lost(panels[0]):
                    return panels, 0.0, self._largest_below(panels[0])
            panel = self._fitted(x - width, x, downwards=True)
            panels.insert(0, panel)
            x, width = panel.low, _next_width(panel, width)
            if not is_smooth:
                share, bend, noise = panel.power_law(exponent, with_log=self.with_log)
                # What a panel bends by, w^1 or a higher power times what it bends by on to w = 0;
                # of a narrow one little is seen, and noise hides some of it.
                seen = min(float(np.expm1(panel.high - panel.low)), 1.0)
                drift = (bend + 2.0 * noise) / seen + noise
                ends = bend < noise or self._is_negligible(panel, panel.low)
                if bend < _SETTLED or (ends and self._has_met_the_bulk(panels)):
                    return panels, share, drift
            self._count(panels)

    def _has_met_the_bulk(self, panels: list[Panel]) -> bool:
        """Whether nothing more comes towards the origin: always but beside a frequency, where a
        density is largest, and may have been lost between it and the next one."""
        far = self.pivot == 0.0 or panels[0].low < float(np.log(_CLOSE * self.pivot))
        return far or max(panel.height for panel in panels) > self.peak + _MATTERS

    def _is_lost(self, panel: Panel) -> bool:
        """Whether a panel is negligible at its lower end, or is noise that is no matter."""
        height = panel.height + float(np.log(max(panel.error / panel.top, 1.0)))
        noise = panel.error >= panel.top and height < self.peak + _NOISE
        return noise or self._is_negligible(panel, panel.low)

    def _is_noise(self, panel: Panel) -> bool:
        """Whether a kernel of fast waves has next to nothing on a panel, and errors as small."""
        height = panel.level + (panel.slope + 1.0) * panel.high + float(np.log(panel.error))
        return bool(self.frequencies) and height < self.peak + _NOISE

    def _largest_below(self, panel: Panel) -> float:
        """What w^(1-d) rho may be below a panel, relative to what it is at its lower end.

        |w^(1-d) rho| is largest where no wave cancels: 2^(2-d)/Gamma(d/2)^2 int |k| z^(d-1) dz.
        """
        low, high = _LEAST_DISTANCE * self._scale, self.rays.reach(self.dim)
        x = np.linspace(np.log(low), np.log(high), _SUM_NODES)
        terms = self.rays.log_size(np.exp(x)) + self.dim * x
        top = float(terms.max())
        log = top + float(np.log(np.exp(terms - top).sum() * (x[1] - x[0])))
        log += (2.0 - self.dim) * float(np.log(2.0)) - 2.0 * float(gammaln(0.5 * self.dim))
        value = abs(float(panel.values(np.array([-1.0]))[0]))
        own = panel.level + (panel.slope - self.exponent) * panel.low + float(np.log(value))
        # Twice: a positive kernel reaches the bound at w = 0.
        return 2.0 * float(np.exp(min(log - own, _LARGEST_LOG)))

    def _before_waves(self) -> float:
        """A radius that is small against every frequency."""
        turning = (b for b in self.frequencies if b > 0.0)
        return _SHARE_OF_FREQUENCY * min(turning, default=np.inf)


def _is_even(found: Expanded) -> bool:
    try:
        return plane(found.expr).is_even
    except FormulaError:
        return False


def _dyadic(x: float, *, up: bool = False, finer: float = 1.0) -> float:
    """A multiple of 1/8, so that panels share the values of what is sampled, or a finer one."""
    steps = 8.0 * finer
    return float((np.ceil if up else np.round)(steps * x) / steps)


def _next_width(panel: Panel, tried: float) -> float:
    """Twice the width of a panel that was resolved at once; that of one that had to be halved."""
    width = panel.high - panel.low
    return min(2.0 * width, _WIDEST) if width >= tried else width
