r"""Integrals of plane-wave means over the panels of a law, to rounding error.

The integral of :math:`\Omega_d(w z)` over a panel is taken in the variable x of its series, and
panels are cut into cells on which every factor is resolved.  Gauss-Legendre nodes
integrate a cell with few waves.  In one with many, Levin's collocation (D. Levin, Math. Comp. 38
(1982) 531-538) finds a smooth p with :math:`p' + i\theta' p = A`, so that the integral of
:math:`A e^{i\theta}` is a difference of two end values; the residual of that equation bounds the
error, and a cell with too large a residual is halved.  A cell whose mass times the size of its
waves is negligible counts as error.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import ComplexArray, FloatArray, IntArray, panel_rule
from spectra.base.enclosures import legendre_antiderivative
from spectra.base.special.bessel import plane_wave_mean
from spectra.table.radial.panels import Panels
from spectra.table.radial.plane_wave import (
    hankel_amplitude,
    wave_envelope,
    wave_region,
    wave_rounding,
)

__all__ = ["CutPanels", "cut_panels", "integrate_waves", "integration_nodes"]

# Gauss-Legendre with these numbers of nodes is exact to rounding for waves of at most these
# phases (Bessel coefficients J_k(phase/2) beyond k = 2n), with panels of degree 17 to spare.
_RULES = ((8.0, 24), (64.0, 56))
_MANY_WAVES = _RULES[-1][0]
_LEVIN_NODES = 32
# A cell whose mass times wave is below this counts as error: of these there are some hundreds, each
# a thousandth of the rounding error of the sum.
_NEGLIGIBLE = 2.0**-62
_LEVIN_TOLERANCE = 3e-13
# Cells that are left after this many halvings count as error, too.
_HALVINGS = 48
_ITEMS = 8192
_LEVIN_BLOCK = 512
# Cells with a larger phase get no nodes.
_NODE_PHASE = 4096.0
# An interval [low, high] of x in a panel: its length in w if it were as steep all along as where it
# is steepest, its mass, and the radii at its ends.
_NUMBERS = ("low", "high", "slope", "mass", "first", "last")
_CELL = np.dtype([("panel", np.intp), *((name, float) for name in _NUMBERS)])
Cells = NDArray[np.void]
#: Cells, and their nodes and weights by each rule.
CutPanels = tuple[Cells, tuple[tuple[FloatArray, FloatArray], ...]]


def cut_panels(panels: Panels) -> CutPanels:
    """The series as cells, with their nodes and weights."""
    which = np.flatnonzero(panels.are_series & (panels.masses > 0.0))
    cells = _cells(panels, which, np.full(which.size, -1.0), np.ones(which.size))
    return cells, tuple(_rule(panels, cells, count) for _, count in _RULES)


def _cells(panels: Panels, panel: IntArray, low: FloatArray, high: FloatArray) -> Cells:
    """Cells [low, high] of panels with their numbers."""
    cells = np.zeros(panel.size, _CELL)
    cells["panel"], cells["low"], cells["high"] = panel, low, high
    ends = np.stack([low, high], axis=1)
    radii, slopes, _ = panels.at(panel, ends)
    cells["first"], cells["last"] = radii.T
    # The distance to an origin is an exponential of t, and steepest at an end.
    cells["slope"] = (high - low) * slopes.max(axis=1, initial=0.0)
    below = [legendre_antiderivative(panels.series[panel], x)[0] for x in ends.T]
    half = 0.5 * (panels.charts[panel, 3] - panels.charts[panel, 2])
    cells["mass"] = np.maximum(half * (below[1] - below[0]), 0.0)
    return cells


def _halves(panels: Panels, cells: Cells) -> Cells:
    """Both halves of every cell: first all lower ones, then all upper ones."""
    low, high = cells["low"], cells["high"]
    middle = 0.5 * (low + high)
    ends = np.concatenate([[low, middle], [middle, high]], axis=1)
    return _cells(panels, np.tile(cells["panel"], 2), *ends)


def _rule(panels: Panels, cells: Cells, count: int) -> tuple[FloatArray, FloatArray]:
    """Radii and weights of Gauss-Legendre nodes in each cell."""
    r, rule = panel_rule(cells["low"], cells["high"], count)
    w, _, density = panels.at(cells["panel"], r)
    return w, rule * density


def integrate_waves(
    panels: Panels, cut: CutPanels, dim: int, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values and errors of the integral of Ω_dim(w z) over the panels, for each z, shape (n,)."""
    cells, value = cut[0], np.zeros(z.size)
    # The rounding of the sums: few thousand nodes, or many cells.
    error = np.full(z.size, max(5e-15, 2.0**-55 * cells.size))
    far, ends = np.isinf(panels.high), (panels.charts[:, 4] > 0.0)
    error += wave_envelope(dim, np.multiply.outer(z, panels.low[far])) @ panels.masses[far]
    width = (panels.high - panels.low)[ends]
    error += np.minimum(np.multiply.outer(z, width), 2.0) @ panels.masses[ends]
    radii, masses = _points(panels)
    for start in range(0, radii.size, _ITEMS):
        x = z[:, None] * radii[start : start + _ITEMS]
        mass = masses[start : start + _ITEMS]
        rounding = wave_rounding(dim, x, x)
        # If rounding makes the phase unknown, only the bound of the wave is known.
        known = rounding < wave_envelope(dim, x)
        waves = np.zeros_like(x)
        waves[known] = plane_wave_mean(dim, x[known])
        value += waves @ mass
        error += rounding @ mass
    step = max(1, _ITEMS // max(cells.size, 1))
    for start in range(0, z.size if cells.size else 0, step):
        part = slice(start, start + step)
        _add_cells(panels, cut, dim, (z[part], value[part], error[part]))
    return value, error


def _points(panels: Panels) -> tuple[FloatArray, FloatArray]:
    """Radii and masses of the points, to which ends of a finite radius belong."""
    points = ~panels.are_series & np.isfinite(panels.high)
    return panels.high[points], panels.masses[points]


def integration_nodes(
    panels: Panels, cut: CutPanels, z_max: float
) -> tuple[FloatArray, FloatArray, float]:
    """Radii, weights and the mass left out, such that cos(w z) is resolved for z <= z_max."""
    cells = cut[0]
    kept = z_max * cells["slope"] <= _NODE_PHASE
    leftover = float(panels.masses[np.isinf(panels.high)].sum()) + float(cells["mass"][~kept].sum())
    radii, weights = ([array] for array in _points(panels))
    cells = cells[kept]
    while cells.size:
        phase, previous = z_max * cells["slope"], -1.0
        for limit, count in _RULES:
            w, weight = _rule(panels, cells[(phase > previous) & (phase <= limit)], count)
            radii.append(w.ravel())
            weights.append(weight.ravel())
            previous = limit
        cells = _halves(panels, cells[phase > previous])
    return np.concatenate(radii), np.concatenate(weights), leftover


def _add_cells(
    panels: Panels, cut: CutPanels, dim: int, at: tuple[FloatArray, FloatArray, FloatArray]
) -> None:
    """Add the integrals over all cells at distances z to values and errors: ``at`` holds these."""
    (z, value, error), (cells, whole_nodes) = at, cut
    which = np.tile(np.arange(cells.size), z.size)
    z_index = np.repeat(np.arange(z.size), cells.size)
    for level in range(_HALVINGS):
        x_low = z[z_index] * cells["first"][which]
        bound = cells["mass"][which] * wave_envelope(dim, x_low)
        negligible = bound <= _NEGLIGIBLE
        np.add.at(error, z_index[negligible], bound[negligible])
        z_index, which, x_low = z_index[~negligible], which[~negligible], x_low[~negligible]
        phase = z[z_index] * cells["slope"][which]
        previous = -1.0
        for k, (limit, count) in enumerate(_RULES):
            now = np.flatnonzero((phase > previous) & (phase <= limit))
            previous = limit
            for start in range(0, now.size, _ITEMS // count):
                i = now[start : start + _ITEMS // count]
                if level:
                    w, weight = _rule(panels, cells[which[i]], count)
                else:
                    w, weight = (a[which[i]] for a in whole_nodes[k])
                waves = plane_wave_mean(dim, z[z_index[i], None] * w)
                np.add.at(value, z_index[i], np.einsum("ij,ij->i", weight, waves))
            last, mass = cells["last"][which[now]], cells["mass"][which[now]]
            rounding = wave_rounding(dim, x_low[now], z[z_index[now]] * last)
            np.add.at(error, z_index[now], mass * rounding)
        many = np.flatnonzero((phase > _MANY_WAVES) & (x_low > wave_region(dim)))
        left = phase > _MANY_WAVES
        for start in range(0, many.size, _LEVIN_BLOCK):
            i = many[start : start + _LEVIN_BLOCK]
            part, worst, rounding = _levin(panels, dim, z[z_index[i]], cells[which[i]])
            # Halves have the same rounding, so a smaller residual does not help.
            done = worst <= np.maximum(_LEVIN_TOLERANCE * cells["mass"][which[i]], rounding)
            np.add.at(value, z_index[i[done]], part[done])
            np.add.at(error, z_index[i[done]], (worst + rounding)[done])
            left[i[done]] = False
        if not np.any(left):
            return
        z_index, cells = np.tile(z_index[left], 2), _halves(panels, cells[which[left]])
        which = np.arange(z_index.size)
    np.add.at(error, z_index, cells["mass"] * wave_envelope(dim, z[z_index] * cells["first"]))


def _levin(
    panels: Panels, dim: int, z: FloatArray, cells: Cells
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Integrals of Ω over cells with many waves, their residuals' bounds and the rounding."""
    low, high = cells["low"][:, None], cells["high"][:, None]
    points, derivative, check_points, check_values, check_derivative = _levin_rule()

    def equation(s: FloatArray) -> tuple[FloatArray, FloatArray, ComplexArray]:
        half = 0.5 * (high - low)
        w, slope, density = panels.at(cells["panel"], 0.5 * (high + low) + half * s)
        x = z[:, None] * w
        return x, z[:, None] * slope * half, hankel_amplitude(dim, x) * density * half

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
