r"""Integrals of waves against the law of a radius, exact for the panels as they are stored.

The integral of cos or of :math:`\Omega_d(w z)` over a panel is taken in the variable in which the
radius is a polynomial.  Where it has few waves, Gauss-Legendre nodes do it.  Where it has many,
Levin's collocation (D. Levin, Math. Comp. 38 (1982) 531-538) finds a smooth p with
:math:`p' + i\theta' p = A`, so that the integral of :math:`A e^{i\theta}` is a difference of two
end values whatever the number of waves; the residual of that equation bounds the error, and a
panel with too large a residual is halved.  A piece whose mass times the size of its waves is
nothing beside the law counts as error, so that the far cells of a slow tail cost nothing.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import ComplexArray, FloatArray, IntArray, panel_rule
from spectra.base.special.bessel import plane_wave_mean
from spectra.table.radial.panels import PanelKind, Panels, sine_share
from spectra.table.radial.plane_wave import (
    hankel_amplitude,
    wave_envelope,
    wave_region,
    wave_rounding,
)

__all__ = ["PanelIntegrals"]

# Gauss-Legendre with these numbers of nodes is exact to rounding for waves of at most these
# phases (Bessel coefficients J_k(phase/2) beyond k = 2n), with panels of degree 17 to spare.
_RULES = ((8.0, 24), (64.0, 56))
_MANY_WAVES = _RULES[-1][0]
_LEVIN_NODES = 32
# A panel is cut where its Jacobian r^(e-1) falls by 2^-8, or r by 4 where it has a branch point.
_JACOBIAN_DROP = 8.0
_RADIUS_DROP = 0.25
# Mass below which a piece of a law is bounded by its mass instead of integrated.
_NO_MASS = 2.0**-64
# The same for its mass times its waves: of these there are some hundreds, each a thousandth of
# the rounding error of the sum.
_NO_WAVE = 2.0**-62
_LEVIN_TOLERANCE = 3e-13
# Halvings after which a cell is bounded too: a double has no more to give.
_HALVINGS = 48
_ITEMS = 8192
_LEVIN_BLOCK = 512
# Beyond this phase a cell is left out of :meth:`PanelIntegrals.nodes`.
_NODE_PHASE = 4096.0
_LARGEST = 1e300
# An interval [low, high] of r in a panel: its length in w if it were as steep all along as where it
# is steepest, its mass, and the radii at its ends.
_NUMBERS = ("low", "high", "slope", "mass", "first", "last")
_CELL = np.dtype([("panel", np.intp), *((name, float) for name in _NUMBERS)])
Cells = NDArray[np.void]


@final
class PanelIntegrals:
    """The panels of both sides of a law in a variable r with t = +-(2 r - 1), cut into cells.

    In r the radius is a polynomial and the probability is a power of r, or sin^2 in a half wave.
    """

    def __init__(self, *sides: Panels) -> None:
        width = max(2, *(s.coefficients.shape[1] for s in sides))
        padded = [
            np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in (s.coefficients for s in sides)
        ]
        self.rows = rows = np.concatenate(padded)
        self.masses = np.concatenate([np.diff(s.edges) for s in sides])
        kinds = np.concatenate([s.kinds for s in sides])
        exponents = np.concatenate([s.exponents for s in sides])
        tail = kinds == PanelKind.TAIL_POWER
        atom = ~tail & ~np.any(rows[:, 1:], axis=1)
        self.atom_radii, self.atom_masses = rows[atom, 0], self.masses[atom]
        # w = a r is the polynomial (a/2)(1 + t), continued to r > 1.
        rows[tail, 0] *= 0.5
        rows[tail, 1] = rows[tail, 0]
        self.signs = np.where(kinds == PanelKind.POWER_HIGH, -1.0, 1.0)
        self.sines = kinds == PanelKind.SINE
        power = (kinds == PanelKind.POWER_LOW) | (kinds == PanelKind.POWER_HIGH)
        self.powers = np.where(tail, -exponents, np.where(power, exponents, 1.0))
        panel, ends = [np.zeros(0, np.intp)], [np.zeros((0, 2))]
        #: Mass beyond the cells.
        self.beyond = 0.0
        for i in np.flatnonzero(~atom):
            cuts = _cuts(float(self.powers[i]), 2.0 * float(rows[i, 0]) if tail[i] else 1.0)
            if tail[i]:
                self.beyond += float(self.masses[i] * cuts[-1] ** self.powers[i])
            panel.append(np.full(cuts.size - 1, i))
            ends.append(np.stack([cuts[:-1], cuts[1:]], axis=1))
        #: Cells on which every factor of the integrand is resolved, and together all the panels.
        self.cells = self._cells(np.concatenate(panel), *np.concatenate(ends).T)

    def radii(self, panel: IntArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Radius w and dw/dr at r, shape (m, n), of the panels, shape (m,)."""
        sign = self.signs[panel][:, None]
        t = sign * (2.0 * r - 1.0)
        rows = self.rows[panel]
        w = np.zeros_like(t)
        slope = np.zeros_like(t)
        for j in range(rows.shape[1] - 1, -1, -1):
            slope = slope * t + w
            w = w * t + rows[:, j, None]
        return w, 2.0 * sign * slope

    def jacobian(self, panel: IntArray, r: FloatArray) -> FloatArray:
        """Probability per unit of r, the size of dc/dr."""
        e = self.powers[panel][:, None]
        shape = np.abs(e) * r ** (e - 1.0)
        sine = self.sines[panel]
        shape[sine] = 0.5 * np.pi * np.sin(np.pi * r[sine])
        return self.masses[panel][:, None] * shape

    def plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and error bounds of the mean of Ω_dim(w z) over atoms and panels, for each z."""
        value = np.zeros(z.size)
        # What is beyond the cells, and the rounding of the sums: few thousand nodes, or many cells.
        rounded = max(1e-14, 2.0**-55 * self.cells.size)
        error = np.full(z.size, self.beyond + rounded)
        for start in range(0, self.atom_radii.size, _ITEMS):
            part = slice(start, start + _ITEMS)
            x = z[:, None] * self.atom_radii[part]
            rounding = wave_rounding(dim, x, x)
            # Where the phase is lost, all that is known of a wave is its size.
            known = rounding < wave_envelope(dim, x)
            waves = np.zeros_like(x)
            waves[known] = plane_wave_mean(dim, x[known])
            value += waves @ self.atom_masses[part]
            error += rounding @ self.atom_masses[part]
        step = max(1, _ITEMS // max(self.cells.size, 1))
        for start in range(0, z.size if self.cells.size else 0, step):
            part = slice(start, start + step)
            self._add_cells(dim, z[part], value[part], error[part])
        return value, error

    def nodes(self, z_max: float) -> tuple[FloatArray, FloatArray, float]:
        """Radii, weights and the mass left out, such that cos(w z) is resolved for z <= z_max."""
        kept = z_max * self.cells["slope"] <= _NODE_PHASE
        leftover = self.beyond + float(np.sum(self.cells["mass"][~kept]))
        cells = self.cells[kept]
        radii, weights = [self.atom_radii], [self.atom_masses]
        while cells.size:
            phase, previous = z_max * cells["slope"], -1.0
            for limit, count in _RULES:
                w, weight = self._rule(cells[(phase > previous) & (phase <= limit)], count)
                radii.append(w.ravel())
                weights.append(weight.ravel())
                previous = limit
            cells = self._halves(cells[phase > previous])
        return np.concatenate(radii), np.concatenate(weights), leftover

    @cached_property
    def _whole_nodes(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        return tuple(self._rule(self.cells, count) for _, count in _RULES)

    def _cells(self, panel: IntArray, low: FloatArray, high: FloatArray) -> Cells:
        radii = np.sort(self.radii(panel, np.stack([low, high], axis=1))[0], axis=1)
        cells = np.zeros(panel.size, _CELL)
        cells["panel"], cells["low"], cells["high"] = panel, low, high
        half, turn = 0.5 * (high - low)[:, None], np.cos(np.linspace(0.0, np.pi, 17))
        _, slope = self.radii(panel, 0.5 * (low + high)[:, None] - half * turn)
        # Between these points a resolved polynomial rises by a few percent at most.
        cells["slope"] = 1.1 * (high - low) * np.max(np.abs(slope), axis=1, initial=0.0)
        e, sine = self.powers[panel], self.sines[panel]
        with np.errstate(divide="ignore"):
            share = np.abs(high**e - low**e)
        share[sine] = sine_share(high[sine]) - sine_share(low[sine])
        cells["mass"] = self.masses[panel] * share
        cells["first"], cells["last"] = np.maximum(radii, 0.0).T
        return cells

    def _halves(self, cells: Cells) -> Cells:
        """Both halves of every cell: first all lower ones, then all upper ones."""
        low, high = cells["low"], cells["high"]
        middle = 0.5 * (low + high)
        ends = np.concatenate([[low, middle], [middle, high]], axis=1)
        return self._cells(np.tile(cells["panel"], 2), *ends)

    def _rule(self, cells: Cells, count: int) -> tuple[FloatArray, FloatArray]:
        """Radii and weights of Gauss-Legendre nodes in each cell."""
        r, rule = panel_rule(cells["low"], cells["high"], count)
        panel = cells["panel"]
        return self.radii(panel, r)[0], rule * self.jacobian(panel, r)

    def _add_cells(self, dim: int, z: FloatArray, value: FloatArray, error: FloatArray) -> None:
        cells = self.cells
        which = np.tile(np.arange(cells.size), z.size)
        who = np.repeat(np.arange(z.size), cells.size)
        for level in range(_HALVINGS):
            x_low = z[who] * cells["first"][which]
            bound = cells["mass"][which] * wave_envelope(dim, x_low)
            nothing = bound <= _NO_WAVE
            np.add.at(error, who[nothing], bound[nothing])
            who, which, x_low = who[~nothing], which[~nothing], x_low[~nothing]
            phase = z[who] * cells["slope"][which]
            previous = -1.0
            for k, (limit, count) in enumerate(_RULES):
                now = np.flatnonzero((phase > previous) & (phase <= limit))
                previous = limit
                for start in range(0, now.size, _ITEMS // count):
                    i = now[start : start + _ITEMS // count]
                    if level:
                        w, weight = self._rule(cells[which[i]], count)
                    else:
                        w, weight = (a[which[i]] for a in self._whole_nodes[k])
                    waves = plane_wave_mean(dim, z[who[i], None] * w)
                    np.add.at(value, who[i], np.einsum("ij,ij->i", weight, waves))
                last, mass = cells["last"][which[now]], cells["mass"][which[now]]
                rounding = wave_rounding(dim, x_low[now], z[who[now]] * last)
                np.add.at(error, who[now], mass * rounding)
            ready = np.flatnonzero((phase > _MANY_WAVES) & (x_low > wave_region(dim)))
            left = phase > _MANY_WAVES
            for start in range(0, ready.size, _LEVIN_BLOCK):
                i = ready[start : start + _LEVIN_BLOCK]
                part, worst, rounding = self._levin(dim, z[who[i]], cells[which[i]])
                # Halves have the same rounding, so that a smaller residual gains nothing.
                done = worst <= np.maximum(_LEVIN_TOLERANCE * cells["mass"][which[i]], rounding)
                np.add.at(value, who[i[done]], part[done])
                np.add.at(error, who[i[done]], (worst + rounding)[done])
                left[i[done]] = False
            if not np.any(left):
                return
            who, cells = np.tile(who[left], 2), self._halves(cells[which[left]])
            which = np.arange(who.size)
        np.add.at(error, who, cells["mass"] * wave_envelope(dim, z[who] * cells["first"]))

    def _levin(
        self, dim: int, z: FloatArray, cells: Cells
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrals of Ω over cells with many waves, their residuals' bounds and the rounding."""
        panel, low, high = cells["panel"], cells["low"], cells["high"]
        points, derivative, check_points, check_values, check_derivative = _levin_rule()

        def equation(s: FloatArray) -> tuple[FloatArray, FloatArray, ComplexArray]:
            half = 0.5 * (high - low)[:, None]
            r = 0.5 * (high + low)[:, None] + half * s
            w, slope = self.radii(panel, r)
            x = z[:, None] * w
            amplitude = hankel_amplitude(dim, x) * self.jacobian(panel, r) * half
            return x, z[:, None] * slope * half, amplitude

        x, rate, amplitude = equation(points)
        matrix = derivative + 1j * rate[:, :, None] * np.eye(_LEVIN_NODES)
        p = np.linalg.solve(matrix, amplitude[:, :, None])[:, :, 0]
        ends = p[:, -1] * np.exp(1j * x[:, -1]) - p[:, 0] * np.exp(1j * x[:, 0])
        _, check_rate, check_amplitude = equation(check_points)
        residual = p @ check_derivative.T + 1j * check_rate * (p @ check_values.T)
        worst = np.max(np.abs(residual - check_amplitude), axis=1)
        # The phases at the ends are rounded by a few units of their size.
        rounding = 2.0**-51 * np.sum(np.abs(p[:, [0, -1]] * x[:, [0, -1]]), axis=1)
        return ends.real, 2.0 * worst, rounding


@cache
def _levin_rule() -> tuple[FloatArray, ...]:
    """Chebyshev points and the derivative there; on a finer grid, where the residual is measured,
    its places, the values and the derivative."""
    n = _LEVIN_NODES
    points = -np.cos(np.linspace(0.0, np.pi, n))
    check = -np.cos(np.linspace(0.0, np.pi, 2 * n - 1))[1::2]
    to_series = np.linalg.inv(chebyshev.chebvander(points, n - 1))
    slope = chebyshev.chebder(np.eye(n))
    derivative = chebyshev.chebvander(points, n - 2) @ slope @ to_series
    values = chebyshev.chebvander(check, n - 1) @ to_series
    return points, derivative, check, values, values @ derivative


def _cuts(power: float, scale: float) -> FloatArray:
    """Ends of the cells of a panel whose probability is r^power, up to where no mass is left."""
    if power > 0.0 and power == int(power) and power <= 16.0:
        return np.array([0.0, 1.0])
    ratio = max(2.0 ** (-_JACOBIAN_DROP / abs(power)), _RADIUS_DROP)
    count = int(np.ceil(np.log(_NO_MASS) / (abs(power) * np.log(ratio))))
    if power > 0.0:
        inner = ratio ** np.arange(count, -1.0, -1.0)
        return np.concatenate([[0.0], inner[inner > 0.0]])
    reach = int(np.log(_LARGEST / max(scale, 1.0)) / -np.log(ratio))
    return np.asarray(ratio ** -np.arange(0.0, min(count, reach) + 1.0))
