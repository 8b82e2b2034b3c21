r"""The expectation of the plane-wave mean :math:`\Omega_d(w z)` over a radius w given by panels.

Each series is integrated in its variable x in [-1, 1], which is cut into cells, by one of two
methods.  Gauss-Legendre nodes integrate a cell with few oscillations.  In a cell with many, Levin's
collocation (D. Levin, Math. Comp. 38 (1982) 531-538) finds a smooth p with
:math:`p' + i\theta' p = A`, so that the integral of :math:`A e^{i\theta}` is the difference of
:math:`p e^{i\theta}` at the ends.  The residual of that equation bounds the error; a cell is halved
if it is too large.  Cells with a negligible integral contribute their bound to the error.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.accuracy import DENSITY, EPS
from spectra.base.arrays import ComplexArray, FloatArray, IntArray, panel_rule
from spectra.base.bessel import (
    hankel_amplitude,
    plane_wave_bound,
    plane_wave_mean,
    plane_wave_rounding,
    smooth_amplitude_start,
)
from spectra.base.limits import check_time
from spectra.base.piecewise import Piecewise
from spectra.base.series import antiderivative

__all__ = ["CellNodes", "integrate_plane_wave", "integration_nodes", "prepare_cells"]

# Pairs (phase, n): n Gauss-Legendre nodes integrate a plane wave to rounding if its phase varies by
# at most this many radians on the cell.  The Chebyshev coefficients of the wave, J_k(phase/2), are
# negligible for k > 2n - 20; the density has a degree below 20.
_RULES = ((8.0, 24), (64.0, 56))
_LEVIN_PHASE = _RULES[-1][0]
_LEVIN_NODES = 32
# Integrals below this are left out: hundreds of them are below the rounding error of the sum.
_NEGLIGIBLE = EPS / 1024.0
# Largest residual, relative to the mass of the cell.
_LEVIN_TOLERANCE = 0.3 * DENSITY
# The integrals over cells that are left after this many halvings are replaced by error bounds.
_HALVINGS = 48
# Numbers of values of Omega, and of cells with Levin's method, computed at a time.
_BLOCK, _LEVIN_BLOCK = 8192, 512
# Cells with a larger phase have no nodes in integration_nodes().
_NODE_PHASE = 4096.0
# A cell is an interval [low, high] of x in a panel.  ``first`` and ``last`` are the radii at its
# ends, and ``width`` is (high - low) max dw/dx, which is at least last - first.
_NUMBERS = ("low", "high", "width", "mass", "first", "last")
_CELL = np.dtype([("panel", np.intp), *((name, float) for name in _NUMBERS)])
Cells = NDArray[np.void]
#: Cells, and their radii and weights for each of the _RULES.
CellNodes = tuple[Cells, tuple[tuple[FloatArray, FloatArray], ...]]


def prepare_cells(panels: Piecewise) -> CellNodes:
    """One cell for each series, with Gauss-Legendre nodes and weights."""
    which = np.flatnonzero(panels.are_series & (panels.masses > 0.0))
    cells = _make_cells(panels, which, np.full(which.size, -1.0), np.ones(which.size))
    return cells, tuple(_place_nodes(panels, cells, count) for _, count in _RULES)


def _make_cells(panels: Piecewise, panel: IntArray, low: FloatArray, high: FloatArray) -> Cells:
    """The cells [low, high] of the panels with these indices."""
    cells = np.zeros(panel.size, _CELL)
    cells["panel"], cells["low"], cells["high"] = panel, low, high
    ends = np.stack([low, high], axis=1)
    radii, slopes, _ = panels.series_at(panel, ends)
    cells["first"], cells["last"] = radii.T
    # dw/dx is an exponential of x, and largest at an end.
    cells["width"] = (high - low) * slopes.max(axis=1, initial=0.0)
    below = [antiderivative(panels.series[panel], x)[0] for x in ends.T]
    cells["mass"] = np.maximum(panels.half_widths[panel] * (below[1] - below[0]), 0.0)
    return cells


def _halve(panels: Piecewise, cells: Cells) -> Cells:
    """The lower halves of all cells, then the upper halves."""
    low, high = cells["low"], cells["high"]
    middle = 0.5 * (low + high)
    ends = np.concatenate([[low, middle], [middle, high]], axis=1)
    return _make_cells(panels, np.tile(cells["panel"], 2), *ends)


def _place_nodes(panels: Piecewise, cells: Cells, count: int) -> tuple[FloatArray, FloatArray]:
    """Radii of the Gauss-Legendre nodes of each cell, and their weights times the density."""
    x, weights = panel_rule(cells["low"], cells["high"], count)
    w, _, density = panels.series_at(cells["panel"], x)
    return w, weights * density


def integrate_plane_wave(
    panels: Piecewise, nodes: CellNodes, dim: int, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The integral of Ω_dim(w z) times the density for each z, shape (n,), and its error bound."""
    cells, value = nodes[0], np.zeros(z.size)
    # The rounding error of the sums over nodes and cells.
    error = np.full(z.size, EPS * max(22.0, cells.size / 8.0))
    # A power law up to infinity is left out; another one counts as a point at its largest radius.
    far, powers = np.isinf(panels.high), (panels.charts[:, 4] > 0.0)
    error += plane_wave_bound(dim, np.multiply.outer(z, panels.low[far])) @ panels.masses[far]
    width = (panels.high - panels.low)[powers]
    error += np.minimum(np.multiply.outer(z, width), 2.0) @ panels.masses[powers]
    radii, masses = _as_points(panels)
    for start in range(0, radii.size, _BLOCK):
        wz = z[:, None] * radii[start : start + _BLOCK]
        mass = masses[start : start + _BLOCK]
        rounding = plane_wave_rounding(dim, wz, wz)
        # Where rounding exceeds the bound, Ω is replaced by 0.
        known = rounding < plane_wave_bound(dim, wz)
        waves = np.zeros_like(wz)
        waves[known] = plane_wave_mean(dim, wz[known])
        value += waves @ mass
        error += rounding @ mass
    step = max(1, _BLOCK // max(cells.size, 1))
    for start in range(0, z.size if cells.size else 0, step):
        block = slice(start, start + step)
        _add_series(panels, nodes, dim, z[block], value[block], error[block])
    return value, error


def _as_points(panels: Piecewise) -> tuple[FloatArray, FloatArray]:
    """Radii and masses of the points, and of the power laws that do not extend to infinity."""
    points = ~panels.are_series & np.isfinite(panels.high)
    return panels.high[points], panels.masses[points]


def integration_nodes(
    panels: Piecewise, nodes: CellNodes, z_max: float
) -> tuple[FloatArray, FloatArray, float]:
    """Radii and weights that integrate cos(w z) for z <= z_max, and the mass that is left out."""
    cells = nodes[0]
    kept = z_max * cells["width"] <= _NODE_PHASE
    left_out = float(panels.masses[np.isinf(panels.high)].sum()) + float(cells["mass"][~kept].sum())
    radii, weights = ([array] for array in _as_points(panels))
    cells = cells[kept]
    while cells.size:
        check_time()
        phase, previous = z_max * cells["width"], -1.0
        for limit, count in _RULES:
            w, weight = _place_nodes(panels, cells[(phase > previous) & (phase <= limit)], count)
            radii.append(w.ravel())
            weights.append(weight.ravel())
            previous = limit
        cells = _halve(panels, cells[phase > previous])
    return np.concatenate(radii), np.concatenate(weights), left_out


def _add_series(
    panels: Piecewise,
    nodes: CellNodes,
    dim: int,
    z: FloatArray,
    value: FloatArray,
    error: FloatArray,
) -> None:
    """Add the integrals over all series at distances z to ``value``, and bounds to ``error``."""
    cells, unhalved_nodes = nodes
    # Pairs of a cell and a distance.
    which = np.tile(np.arange(cells.size), z.size)
    z_index = np.repeat(np.arange(z.size), cells.size)
    for halvings in range(_HALVINGS):
        wz_low = z[z_index] * cells["first"][which]
        bound = cells["mass"][which] * plane_wave_bound(dim, wz_low)
        negligible = bound <= _NEGLIGIBLE
        np.add.at(error, z_index[negligible], bound[negligible])
        z_index, which, wz_low = z_index[~negligible], which[~negligible], wz_low[~negligible]
        phase = z[z_index] * cells["width"][which]
        previous = -1.0
        for k, (limit, count) in enumerate(_RULES):
            few = np.flatnonzero((phase > previous) & (phase <= limit))
            previous = limit
            for start in range(0, few.size, _BLOCK // count):
                i = few[start : start + _BLOCK // count]
                if halvings:
                    w, weight = _place_nodes(panels, cells[which[i]], count)
                else:
                    w, weight = (a[which[i]] for a in unhalved_nodes[k])
                waves = plane_wave_mean(dim, z[z_index[i], None] * w)
                np.add.at(value, z_index[i], np.einsum("ij,ij->i", weight, waves))
            last, mass = cells["last"][which[few]], cells["mass"][which[few]]
            rounding = plane_wave_rounding(dim, wz_low[few], z[z_index[few]] * last)
            np.add.at(error, z_index[few], mass * rounding)
        many = np.flatnonzero((phase > _LEVIN_PHASE) & (wz_low > smooth_amplitude_start(dim)))
        left = phase > _LEVIN_PHASE
        for start in range(0, many.size, _LEVIN_BLOCK):
            i = many[start : start + _LEVIN_BLOCK]
            integral, residual, rounding = _levin(panels, dim, z[z_index[i]], cells[which[i]])
            # Halving a cell does not reduce the rounding error, so smaller residuals are no use.
            done = residual <= np.maximum(_LEVIN_TOLERANCE * cells["mass"][which[i]], rounding)
            np.add.at(value, z_index[i[done]], integral[done])
            np.add.at(error, z_index[i[done]], (residual + rounding)[done])
            left[i[done]] = False
        if not np.any(left):
            return
        z_index, cells = np.tile(z_index[left], 2), _halve(panels, cells[which[left]])
        which = np.arange(z_index.size)
    np.add.at(error, z_index, cells["mass"] * plane_wave_bound(dim, z[z_index] * cells["first"]))


def _levin(
    panels: Piecewise, dim: int, z: FloatArray, cells: Cells
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Integrals over cells by Levin's method, and errors due to the residual and to rounding."""
    low, high = cells["low"][:, None], cells["high"][:, None]
    points, derivative, check_points, check_values, check_derivative = _levin_matrices()

    def equation(s: FloatArray) -> tuple[FloatArray, FloatArray, ComplexArray]:
        """theta = w z, its derivative and A at s in [-1, 1], with Ω = Re[H exp(i theta)]."""
        half = 0.5 * (high - low)
        w, slope, density = panels.series_at(cells["panel"], 0.5 * (high + low) + half * s)
        theta = z[:, None] * w
        return theta, z[:, None] * slope * half, hankel_amplitude(dim, theta) * density * half

    theta, rate, amplitude = equation(points)
    matrix = derivative + 1j * rate[:, :, None] * np.eye(_LEVIN_NODES)
    p = np.linalg.solve(matrix, amplitude[:, :, None])[:, :, 0]
    ends = p[:, -1] * np.exp(1j * theta[:, -1]) - p[:, 0] * np.exp(1j * theta[:, 0])
    _, check_rate, check_amplitude = equation(check_points)
    left_side = p @ check_derivative.T + 1j * check_rate * (p @ check_values.T)
    residual = np.max(np.abs(left_side - check_amplitude), axis=1)
    # The phases at the ends are rounded by a few units of their size.
    rounding = 2.0 * EPS * np.sum(np.abs(p[:, [0, -1]] * theta[:, [0, -1]]), axis=1)
    return ends.real, 2.0 * residual, rounding


@cache
def _levin_matrices() -> tuple[FloatArray, ...]:
    """Collocation points and the derivative matrix there, and points in between at which the
    residual is computed, with matrices that map p to its values and derivative there."""
    n = _LEVIN_NODES
    points = -np.cos(np.linspace(0.0, np.pi, n))
    check = -np.cos(np.linspace(0.0, np.pi, 2 * n - 1))[1::2]
    to_series = np.linalg.inv(chebyshev.chebvander(points, n - 1))
    slope = chebyshev.chebder(np.eye(n))
    derivative = chebyshev.chebvander(points, n - 2) @ slope @ to_series
    values = chebyshev.chebvander(check, n - 1) @ to_series
    return points, derivative, check, values, values @ derivative
