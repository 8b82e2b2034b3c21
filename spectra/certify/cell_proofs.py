r"""Proofs of the cells through which radii are drawn: see :mod:`spectra.table.cells`.

On a cell the radius is a polynomial q(s) of the share s in [0, 1], and the probability u(s) is
exactly linear, whatever panels the cell was made from.  So :math:`g(s) = F(q(s)) - u(s)` is
bounded directly.  F is the polynomial T of the law about the middle of some cells, up to a
remainder, so that g is a polynomial too, which is computed at nodes of all these cells at once to
twice the digits of a double.  In the ellipse of parameter r

.. math:: |T(q(s)) - T(q(0))| \le V \sum_k k|p_k| Y^{k-1}, \quad
          V = \sum_{k\ge1} |c_k||s|^k, \quad Y = |q(0) - \text{centre}| + V ,

and a polynomial of degree n is at most :math:`1/\cos(n\pi/2m)` times its largest value at m
Chebyshev nodes (Ehlich and Zeller, Math. Z. 86 (1964) 41-44).
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import flint
import numpy as np

from spectra.certify.balls import Ball, Unproved, upper_double
from spectra.certify.certificates import PartCertificate
from spectra.certify.double_double import STEP, Pair, plus, polynomial, two_sum
from spectra.certify.table_panels import LocalCdf, TabulatedLaw
from spectra.quadrature import EPS
from spectra.table import RadialLaw
from spectra.table.arrays import FloatArray

__all__ = ["cell_proof"]

_NODES = 24
# Degrees up to which the error and the density are taken as polynomials, and ellipses.
_DEGREES, _DENSITY_DEGREE = (8, 10, 12), 6
_ELLIPSES = (4.0, 8.0, 16.0, 32.0, 64.0)
# Powers whose sizes add up to less than this are summed in doubles.
_LIGHT = 2.0**-20
# What bounds lose that are computed in doubles, all of whose terms are positive.
_UP = 1.0 + 1e-11
# The nodes are rounded, which moves a polynomial of degree 12 by 8 * 12^2 units at most.
_NODES_ROUNDED = 1.0 + 1e-12
# Absolute errors of products of numbers that are nearly 0.
_TINY = 1e-280
_UNIT = 2.0**-53


def cell_proof(law: TabulatedLaw, table: RadialLaw) -> PartCertificate:
    """What is proved of the closed cells of one part.

    Raises
    ------
    Unproved
        Where a cell is too long for the series of the law.
    """
    cells, width = table.cells, 1.0 / table.cells.count
    keys = (cells.first + np.arange(cells.is_open.size)) / cells.count
    closed = np.flatnonzero(~cells.is_open)
    ends = [table.left.edges, -table.right.edges]
    if table.tail is not None:
        ends.append(table.tail.listed_ends)
    panel = np.searchsorted(np.unique(np.concatenate(ends)), keys[closed], side="right")
    waiting = np.split(closed, np.flatnonzero(np.diff(panel)) + 1) if closed.size else []
    found = [PartCertificate(0.0, 0.0, 0.0, _step_back(table, keys), 0)]
    while waiting:
        some = waiting.pop()
        proof = _proved(law, cells.columns[:, some], keys[some], width)
        if proof is not None:
            found.append(proof)
            continue
        if some.size == 1:
            raise Unproved("a cell of the table is too long for the series of the law")
        found.append(PartCertificate(0.0, 0.0, 0.0, 0.0, 1))
        waiting += np.array_split(some, 2)
    whole = PartCertificate.joined(found)
    # As for the panels: the sides add up to 1 but for a double, and signs may be unknown.
    return replace(whole, u_error=whole.u_error + 2.0**-52 + 3.0 * upper_double(law.loose))


def _ascend(columns: FloatArray) -> np.ndarray:
    """Whether the radius ascends, cell by cell: Bernstein's coefficients of its slope."""
    slopes = columns[1:] * np.arange(1.0, columns.shape[0])[:, None]
    slack = 16.0 * EPS * np.abs(slopes).sum(axis=0)
    return np.asarray((_bernstein(slopes) > slack).all(axis=0))


def _step_back(table: RadialLaw, keys: FloatArray) -> float:
    """The largest step back at the edge of a cell: to the next cell, or to and from the panels."""
    columns, is_open = table.cells.columns, table.cells.is_open
    starts, ends = columns[0], columns.sum(axis=0)
    beyond = np.flatnonzero(is_open[1:] != is_open[:-1]) + 1
    both = np.flatnonzero(~is_open[1:] & ~is_open[:-1]) + 1
    steps = [(ends[both - 1] - starts[both]) / starts[both]]
    if beyond.size:
        there = table.panel_radii(keys[beyond])
        cell = np.where(is_open[beyond], ends[beyond - 1], starts[beyond])
        back = np.where(is_open[beyond], cell - there, there - cell)
        steps.append(back / cell)
    # The rounding of a panel, whose sizes add up to less than twice the radius, and a cell.
    return max(float(np.concatenate(steps).max(initial=0.0)), 0.0) + 128.0 * EPS


def _proved(
    law: TabulatedLaw, columns: FloatArray, keys: FloatArray, width: float
) -> PartCertificate | None:
    """What holds on some cells of one panel; None where they are too many."""
    hull = _bernstein(columns)
    # The coefficients of Bernstein's form are sums of the others, each taken at most once.
    slack = 16.0 * EPS * np.abs(columns).sum(axis=0)
    lowest, highest = (hull.min(axis=0) - slack).min(), (hull.max(axis=0) + slack).max()
    low, high = law.unit * flint.arb(float(lowest)), law.unit * flint.arb(float(highest))
    centre = flint.arb(float(((low + high) / 2).mid()))
    reach = (high - centre).max(centre - low).abs_upper()
    stretch = law.stretch_at(centre)
    local = law.local(stretch, centre, reach)
    if local is None:
        return None
    series = _Series(local, law.unit, lowest, highest, keys[0] < 0)
    scaled = series.scaled(columns)
    seen, density = series.at_nodes(scaled, keys, width)
    unseen, unseen_density = series.between_nodes(scaled)
    error = np.min([_between(seen, unseen, degree) for degree in _DEGREES], axis=0)
    steep = _between(density, unseen_density, _DENSITY_DEGREE)
    beyond = upper_double(law.beyond_ends(stretch, low, high))
    found = float(error.max()) * _UP + beyond
    rounding = float((steep * _rounding(scaled)).max()) * _UP
    if not (np.isfinite(found) and np.isfinite(rounding)):
        if keys.size > 1:
            return None
        raise Unproved("the working precision was lost in a cell of the table")
    not_ascending = float(np.sum(~_ascend(columns))) * width
    return PartCertificate(found, rounding, not_ascending, 0.0, 1)


def _between(seen: FloatArray, unseen: list[FloatArray], degree: int) -> FloatArray:
    """Bounds on cells of functions that are nearly of a degree: at nodes, and in each ellipse."""
    factor = _NODES_ROUNDED / np.cos(degree * np.pi / (2 * _NODES))
    sizes = zip(_ELLIPSES, unseen, strict=True)
    left = np.min([2.0 * size * r**-degree / (r - 1.0) for r, size in sizes], axis=0)
    return np.asarray(factor * seen + (1.0 + factor) * left)


class _Series:
    """F less its constant about a centre, as a polynomial of radii in units near their size."""

    def __init__(self, local: LocalCdf, unit: Ball, low: float, high: float, right: bool) -> None:
        self.size = int(np.frexp(high)[1])
        scale = flint.arb(2) ** self.size
        centre = local.centre / unit / scale
        self.centre, off = _pair(centre)
        ends = np.ldexp(np.array([low, high]), -self.size) - self.centre[0]
        self.length = int(np.frexp(np.abs(ends).max() + EPS)[1])
        factor = unit * scale * flint.arb(2) ** self.length
        polynomial = local.polynomial - 1 if right else local.polynomial
        balls = [c * factor**k for k, c in enumerate(polynomial.coeffs())]
        found = [_pair(b) for b in balls]
        self.pairs = [pair for pair, _ in found]
        self.sizes = np.array([float(abs(h) + abs(b)) for (h, b), _ in found]) * _UP
        self.rest = (upper_double(local.rest) + sum(e for _, e in found)) * _UP
        #: Errors of the places, in units of the length.
        self.off = float(np.ldexp(off, -self.length))

    def scaled(self, columns: FloatArray) -> FloatArray:
        """Coefficients of radii in units of their size: exact."""
        return np.asarray(np.ldexp(columns, -self.size))

    def at_nodes(
        self, columns: FloatArray, keys: FloatArray, width: float
    ) -> tuple[FloatArray, FloatArray]:
        """Upper bounds of |g| and of the density (in units of the size) at the nodes of cells."""
        s = 0.5 + 0.5 * np.cos(np.pi * (2.0 * np.arange(_NODES)[:, None] + 1.0) / (2 * _NODES))
        zero = np.zeros((_NODES, keys.size))
        exact: list[Pair] = [(c, np.zeros_like(c)) for c in columns]
        q = polynomial(exact, (s, np.zeros_like(s)), (zero, zero))
        high, low = plus(q, (-self.centre[0], -self.centre[1]))
        place = np.ldexp(high, -self.length), np.ldexp(low, -self.length)
        rest_of = np.cumsum(self.sizes[::-1])[::-1]
        heavy = int(np.searchsorted(-rest_of, -_LIGHT))
        light = zero
        for h, _ in reversed(self.pairs[heavy:]):
            light = light * place[0] + h
        value = polynomial(self.pairs[:heavy], place, (light, zero))
        key = two_sum(np.broadcast_to(-keys, zero.shape), np.broadcast_to(-s * width, zero.shape))
        g_high, g_low = plus(value, key)
        far = np.abs(place[0]).max(axis=0) * _UP
        slope = _slope_size(self.sizes, far)
        # Each of the light powers is rounded twice, and loses its low half and that of the place.
        lost = 4.0 * self.sizes.size * _UNIT * far**heavy * _size(self.sizes[heavy:], far)
        lost += 4.0 * (heavy + 2) * STEP * (_size(self.sizes, far) + 1.0)
        lost += _UNIT * far**heavy * far * _slope_size(self.sizes[heavy:], far)
        moved = self.off + np.ldexp(
            64.0 * STEP * (np.abs(columns).sum(axis=0) + abs(self.centre[0])), -self.length
        )
        seen = np.abs(g_high + g_low).max(axis=0) * _UP
        seen = seen + _UP * (lost + slope * moved) + self.rest + _TINY
        density = zero
        for k in range(self.sizes.size - 1, 0, -1):
            density = density * place[0] + k * self.pairs[k][0]
        steep = np.abs(density).max(axis=0) + 4.0 * self.sizes.size * _UNIT * slope
        return seen, np.ldexp(steep, -self.length)

    def between_nodes(self, columns: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Bounds in the ellipses of g less a straight line, and of the density."""
        start = np.abs(columns[0] - self.centre[0]) + EPS
        errors, densities = [], []
        for r in _ELLIPSES:
            far = 0.5 + 0.25 * (r + 1.0 / r)
            away = np.zeros_like(start)
            for c in columns[:0:-1]:
                away = (away + np.abs(c)) * far
            with np.errstate(over="ignore", invalid="ignore"):
                slope = _slope_size(self.sizes, np.ldexp(start + away, -self.length) * _UP)
                slope = np.ldexp(slope, -self.length)
                # What is not a number bounds nothing.
                slope = np.where(np.isfinite(slope), slope, np.inf)
                errors.append(_UP * slope * away)
            densities.append(slope)
        return errors, densities


def _bernstein(columns: FloatArray) -> FloatArray:
    """Bernstein's coefficients on [0, 1] of polynomials: all values lie between them."""
    n = columns.shape[0] - 1
    rows = [[comb(j, k) / comb(n, k) for k in range(n + 1)] for j in range(n + 1)]
    return np.asarray(np.array(rows) @ columns)


def _pair(ball: Ball) -> tuple[Pair, float]:
    """The two doubles nearest to a ball, and what they leave."""
    high = float(ball.mid())
    low = float((ball - flint.arb(high)).mid())
    rest = upper_double(ball - flint.arb(high) - flint.arb(low))
    return (np.asarray(high), np.asarray(low)), rest


def _size(sizes: FloatArray, x: FloatArray) -> FloatArray:
    total = np.zeros_like(x)
    for c in sizes[::-1]:
        total = total * x + c
    return total


def _slope_size(sizes: FloatArray, x: FloatArray) -> FloatArray:
    return _size(sizes[1:] * np.arange(1.0, sizes.size), x)


def _rounding(columns: FloatArray) -> FloatArray:
    """What doubles add to the radius of a cell: Horner's rule, and the share s."""
    sizes = np.abs(columns)
    steps = 2.0 * columns.shape[0]
    slope = sizes.T @ np.arange(float(columns.shape[0]))
    return np.asarray(_UNIT * (steps * (1.0 + 1e-12) * sizes.sum(axis=0) + slope))
