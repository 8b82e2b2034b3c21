r"""Proofs about tables: how far each stored inverse CDF is from the law, and that it ascends.

On a panel the radius is a polynomial P(t) and the probability a function u(t), both exact.  The
error :math:`E(t) = F(P(t)) - u(t)` is enclosed by Taylor models: on a piece :math:`|t-t_0|\le h`,

.. math:: |E| \le \sum_{j<n}|e_j(t_0)|h^j + |e_n([t_0-h,t_0+h])|h^n ,

with the coefficients of power series in ball arithmetic.  Pieces are halved until the last term
is small.  What doubles add when the table is evaluated is bounded apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectra.certify.balls import Ball, Unproved, flint, precision, upper_double
from spectra.certify.parts import ProvedLaw
from spectra.errors import ParameterError
from spectra.measure import SpectralMeasure
from spectra.quadrature import EPS
from spectra.table import PanelKind, Panels, Part, RadialLaw, SpectralTable

__all__ = ["PartCertificate", "certify_table"]

_BITS = 160
_ORDER = 12
# A piece is halved until its last term is below this, or that many times.
_REST = 2.0**-62
_MOST_HALVINGS = 12
# Shorter pieces sharpen the bound, which adds absolute values: so many times for this bound.
_GOAL = 2.0**-49
_GOAL_HALVINGS = 8
# A panel of less probability than this needs no Taylor model: both CDFs lie within it.
_NOTHING = 2.0**-60
# Such a panel is looked at in so many slices.
_SLICES = 16


@dataclass(frozen=True)
class PartCertificate:
    """What was proved of one part of a table.

    Attributes
    ----------
    u_error : float
        Upper bound of |F(x(u)) - u| over all u in [0, 1], for the stored polynomials.
    rounding : float
        Upper bound of what the evaluation in doubles (round to nearest) adds to it.
    not_ascending : float
        Probability of the panels inside which the radius was not proved to ascend; 0 where it
        ascends everywhere.  At the ends, where a panel holds 1e-18, the radius is a constant.
    step_back : float
        The largest step back from one panel to the next, relative to the radius; computed in
        doubles, with their rounding added.
    pieces : int
        Taylor models used.
    rigorous : bool
        Whether the above was proved; otherwise ``u_error`` is what the table states.
    reason : str
        Why nothing was proved; empty where it was.
    """

    u_error: float
    rounding: float
    not_ascending: float
    step_back: float
    pieces: int
    rigorous: bool = True
    reason: str = ""


def certify_table(table: SpectralTable, measure: SpectralMeasure) -> tuple[PartCertificate, ...]:
    """Prove the error in probability and the monotony of every part of a table.

    Parameters
    ----------
    table : SpectralTable
        As ``tabulate(measure)`` made it, or as it was loaded.
    measure : SpectralMeasure
        The measure that it is to represent; its exact numbers are read.

    Returns
    -------
    tuple of PartCertificate
        One for each part of the table.  Proved are sums of Gaussians times polynomials and of
        Matern kernels; other parts come back with ``rigorous=False`` and the ``reason``.

    Raises
    ------
    ParameterError
        Where the two do not belong together.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> from spectra.tabulation import tabulate
    >>> from spectra.verdict import existence
    >>> measure = existence(radial("exp(-z**2/2)"), dim=3).measure
    >>> (proof,) = certify_table(tabulate(measure), measure)
    >>> proof.rigorous, proof.not_ascending < 1e-17, proof.u_error + proof.rounding < 2e-14
    (True, True, True)
    """
    if not isinstance(table, SpectralTable) or not isinstance(measure, SpectralMeasure):
        raise ParameterError(
            f"A certificate needs a table and its measure, not {type(table).__name__} and "
            f"{type(measure).__name__}."
        )
    if table.dim != measure.dim:
        raise ParameterError(
            f"The table is of R^{table.dim} and the measure of R^{measure.dim}: they do not "
            "belong together."
        )
    return tuple(_certified(part, table, measure) for part in table.parts)


def _certified(part: Part, table: SpectralTable, measure: SpectralMeasure) -> PartCertificate:
    try:
        if flint is None:
            raise Unproved("python-flint is missing: pip install kernel-spectra[certify]")
        if measure.atoms or measure.radius < float("inf"):
            raise Unproved("a measure with atoms or a truncation has no proof of its table")
        if part.law.tail is not None:
            raise Unproved("a table with lobes without end has no proof")
        if not measure.components:
            raise Unproved("the measure has no density")
        with precision(_BITS, cap=_ORDER + 1):
            law = ProvedLaw(measure.components, int(part.sign), _BITS)
            return _Proof(law, part.law).certificate()
    except Unproved as why:
        return PartCertificate(table.u_error, np.inf, 1.0, np.inf, 0, False, str(why))


class _Proof:
    """The bounds collected over the panels of one part."""

    def __init__(self, law: ProvedLaw, table: RadialLaw) -> None:
        self.law = law
        self.table = table
        self.error = flint.arb(0)
        self.seen = flint.arb(0)
        self.rounding = flint.arb(0)
        self.not_ascending = flint.arb(0)
        self.pieces = 0

    def certificate(self) -> PartCertificate:
        """The certificate of the part."""
        for side, panels in ((1, self.table.left), (-1, self.table.right)):
            for i in range(panels.size):
                self._panel(panels, i, side)
        # Mass of unknown sign shifts every probability by at most twice its share.
        extra = 3 * self.law.loose / self.law.mass
        # The sides add up to 1 but for the rounding of one double.
        extra = extra + flint.arb(2.0**-52)
        return PartCertificate(
            upper_double(self.error + extra),
            upper_double(self.rounding),
            upper_double(self.not_ascending),
            self._step_back(),
            self.pieces,
        )

    def _step_back(self) -> float:
        left, right = self.table.left.end_radii, self.table.right.end_radii[::-1, ::-1]
        ends = np.concatenate([left, right])
        before, after = ends[:-1, 1], ends[1:, 0]
        # Sums of at most 2^5 coefficients, each below the radius but for its rounding.
        steps = (before - after) / np.abs(before) + 128 * EPS
        return float(max(steps.max(initial=0.0), 0.0))

    def _panel(self, panels: Panels, i: int, side: int) -> None:
        low, high = (flint.arb(float(e)) for e in panels.edges[i : i + 2])
        kind, exponent = PanelKind(panels.kinds[i]), float(panels.exponents[i])
        coefficients = [flint.arb(float(c)) for c in panels.coefficients[i]]
        if kind == PanelKind.TAIL_POWER:
            self._tail(coefficients[0], high)
            return
        panel = _Panel(coefficients, kind, exponent, low, high, side)
        if high < _NOTHING:
            self._negligible(panel)
            return
        self._taylor(panel)

    def _tail(self, radius: Ball, mass: Ball) -> None:
        """The last panel of a side lies beyond a radius: both probabilities are below this."""
        if not mass < _NOTHING:
            raise Unproved("the power tail of the table is too heavy to be left out")
        beyond = 1 - self.law.cdf(radius, len(self.law.stretches) - 1)
        self.error = self.error.max(mass.max(beyond.abs_upper()))

    def _negligible(self, panel: _Panel) -> None:
        """A panel at an end of nearly no probability: both probabilities lie within its ends."""
        low = high = panel.at(flint.arb(1))
        ascends = True
        for k in range(_SLICES):
            t = flint.arb(2 * k + 1) / _SLICES - 1 + flint.arb(0, 1.0 / _SLICES)
            radius, slope = panel.radius(t)
            low, high = low.min(radius.lower()), high.max(radius.upper())
            ascends = ascends and bool(panel.side * slope > 0)
        if ascends:
            low = high = panel.at(flint.arb(1))
        else:
            self.not_ascending += panel.high - panel.low
        # The radius that is furthest from the end has the largest probability beyond it.
        end = high if panel.side > 0 else low
        stretch = self.law.stretch_at(end)
        probability = self.law.cdf(end, stretch)
        own = probability if panel.side > 0 else 1 - probability
        own = abs(own) + self.law.outside(end, end, stretch)
        self.error = self.error.max(panel.high.max(own.abs_upper()))

    def _taylor(self, panel: _Panel) -> None:
        stretch = self.law.stretch_at(panel.at(flint.arb(0)))
        waiting = [(flint.arb(0), flint.arb(1), 0)]
        largest = steepest = flint.arb(0)
        ascends = True
        low = high = panel.at(flint.arb(0))
        while waiting:
            middle, half, depth = waiting.pop()
            bound, rest, top = self._piece(panel, stretch, middle, half)
            rough = not rest < _REST and depth < _MOST_HALVINGS
            # A bound close to an error that was seen is sharp enough.
            loose = not (bound < _GOAL or bound < 1.25 * self.seen) and depth < _GOAL_HALVINGS
            if rough or loose:
                quarter = half / 2
                waiting += [
                    (middle - quarter, quarter, depth + 1),
                    (middle + quarter, quarter, depth + 1),
                ]
                continue
            ball = middle + flint.arb(0, 1) * half
            radius, slope = panel.radius(ball)
            ascends = ascends and bool(panel.side * slope > 0)
            low, high = low.min(radius.lower()), high.max(radius.upper())
            self.pieces += 1
            largest, steepest = largest.max(bound), steepest.max(top)
        if ascends:
            # The ends are closer than the balls of the pieces.
            ends = panel.at(flint.arb(-1)), panel.at(flint.arb(1))
            low, high = ends[0].min(ends[1]), ends[0].max(ends[1])
        else:
            self.not_ascending += panel.high - panel.low
        outside = self.law.outside(low, high, stretch)
        self.error = self.error.max(largest + outside + panel.exponent_error())
        self.rounding = self.rounding.max(panel.rounding(steepest))

    def _piece(
        self, panel: _Panel, stretch: int, middle: Ball, half: Ball
    ) -> tuple[Ball, Ball, Ball]:
        """Bounds of |E|, of its last term, and of the density on one piece."""
        e, _ = self._error_series(panel, stretch, middle, middle)
        ball = middle + flint.arb(0, 1) * half
        far, density = self._error_series(panel, stretch, ball, None)
        self.seen = self.seen.max(e[0].abs_lower())
        total = flint.arb(0)
        scale = flint.arb(1)
        for j in range(_ORDER):
            total = total + abs(e[j]).abs_upper() * scale
            scale = scale * half
        rest = abs(far[_ORDER]).abs_upper() * scale
        return total + rest, rest, abs(density[0]).abs_upper()

    def _error_series(
        self, panel: _Panel, stretch: int, t: Ball, centre: Ball | None
    ) -> tuple[Ball, Ball]:
        """Power series of F(P(t)) - u(t) at t, and of the density; without its value over balls."""
        variable = flint.arb_series([t, 1])
        p = panel.polynomial(variable)
        u = panel.probability(variable)
        density = self.law.density(p)
        error = (density * p.derivative() - u.derivative()).integral()
        if centre is not None:
            error = error + (self.law.cdf(p[0], stretch) - u[0])
        return error, density


@dataclass(frozen=True)
class _Panel:
    coefficients: list[Ball]
    kind: PanelKind
    exponent: float
    low: Ball
    high: Ball
    side: int

    def polynomial(self, t: Ball) -> Ball:
        """P at a power series."""
        total = flint.arb_series([0])
        for c in reversed(self.coefficients):
            total = total * t + c
        return total

    def at(self, t: Ball) -> Ball:
        """P at a number."""
        return self.polynomial(flint.arb_series([t]))[0]

    def radius(self, t: Ball) -> tuple[Ball, Ball]:
        """Balls of P and P' over a ball."""
        series = self.polynomial(flint.arb_series([t, 1]))
        return series[0], series[1]

    def probability(self, t: Ball) -> Ball:
        """u at a power series of t; 1 - q on the right side."""
        one = flint.arb_series([1])
        if self.kind == PanelKind.LINEAR:
            x = (one + t) / 2
        elif self.kind == PanelKind.POWER_LOW:
            x = ((one + t) / 2) ** round(self.exponent)
        elif self.kind == PanelKind.POWER_HIGH:
            x = one - ((one - t) / 2) ** round(self.exponent)
        else:
            x = (flint.arb.pi() / 4 * (one + t)).sin() ** 2
        share = self.low + (self.high - self.low) * x
        return share if self.side > 0 else one - share

    def exponent_error(self) -> Ball:
        """What an exponent e that is no integer n changes: |s^e - s^n| <= |e - n| / (2.7 e)."""
        if self.kind not in (PanelKind.POWER_LOW, PanelKind.POWER_HIGH):
            return flint.arb(0)
        given, near = flint.arb(self.exponent), flint.arb(max(round(self.exponent), 1))
        least = flint.arb(min(self.exponent, round(self.exponent)))
        if not least >= 1:
            raise Unproved(f"a panel has the exponent {self.exponent}")
        return (self.high - self.low) * abs(given - near) / (flint.arb(2.7) * least)

    def rounding(self, density: Ball) -> Ball:
        """What doubles add in probability where the density is at most ``density``."""
        unit = flint.arb(2.0**-53)
        steps = 2 * len(self.coefficients) + 2
        size = sum((abs(c) for c in self.coefficients), flint.arb(0))
        slope = sum((k * abs(c) for k, c in enumerate(self.coefficients)), flint.arb(0))
        gamma = steps * unit / (1 - steps * unit)
        # x is rounded three times, and t three times more, by at most one unit each.
        return density * (gamma * size + 6 * unit * slope) + 4 * unit * (self.high - self.low)
