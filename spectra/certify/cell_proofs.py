r"""Proofs of the cells through which radii are drawn: see :mod:`spectra.table.radial.cells`.

On a cell the radius is a polynomial q(s) of the share s in [0, 1], and the probability u(s) is
exactly linear, whatever panels the cell was made from.  So :math:`g(s) = F(q(s)) - u(s)` is
bounded directly.  F is the polynomial T of the law about the middle of some cells, up to a
remainder, so that g is a polynomial too.  It is computed at the start of each cell in balls, and
from there to nodes of all these cells at once in doubles, since it changes by the probability of a
cell at most.  In the ellipse of parameter r

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

from spectra.base.arrays import FloatArray
from spectra.base.enclosures import EPS
from spectra.certify.balls import Ball, Unproved, upper_double
from spectra.certify.certificates import PartCertificate
from spectra.certify.signed_laws import SignedLaw
from spectra.table import RadialLaw

__all__ = ["cell_proof"]

_NODES = 24
# Degrees up to which the error and the density are taken as polynomials, and ellipses.
_DEGREES, _DENSITY_DEGREE = (8, 10, 12), 6
_ELLIPSES = (4.0, 8.0, 16.0, 32.0, 64.0)
# What bounds lose that are computed in doubles, all of whose terms are positive.
_UP = 1.0 + 1e-11
# The nodes are rounded, which moves a polynomial of degree 12 by 8 * 12^2 units at most.
_NODES_ROUNDED = 1.0 + 1e-12
# Absolute errors of products of numbers that are nearly 0.
_TINY = 1e-280
_UNIT = 2.0**-53


def cell_proof(law: SignedLaw, table: RadialLaw) -> PartCertificate:
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
    law: SignedLaw, columns: FloatArray, keys: FloatArray, width: float
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
    series = _Series(local, law.unit, float(lowest), float(highest))
    seen, density = series.at_nodes(columns, keys, width)
    unseen, unseen_density = series.between_nodes(columns)
    error = np.min([_between(seen, unseen, degree) for degree in _DEGREES], axis=0)
    steep = _between(density, unseen_density, _DENSITY_DEGREE)
    beyond = upper_double(law.beyond_ends(stretch, low, high))
    found = float(error.max()) * _UP + beyond
    rounding = float((steep * _rounding(columns)).max()) * _UP
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
    """F as a polynomial of (w - centre)/length, in balls and in doubles."""

    def __init__(self, local: tuple[Ball, Ball], unit: Ball, low: float, high: float) -> None:
        self.centre = 0.5 * (low + high)
        #: A power of two, by which division is exact.
        self.length = float(np.ldexp(1.0, int(np.frexp(high - low + EPS * high)[1])))
        at, cdf = local
        self.exact = cdf(flint.arb_poly([unit * self.centre - at, unit * self.length]))
        balls = self.exact.coeffs()
        self.coefficients = [float(c.mid()) for c in balls]
        pairs = zip(balls, self.coefficients, strict=True)
        self.off = np.array([upper_double(c - flint.arb(p)) for c, p in pairs])
        self.sizes = np.array([upper_double(c) for c in balls])

    def at_starts(self, starts: FloatArray, keys: FloatArray) -> tuple[FloatArray, FloatArray]:
        """g at the start of each cell, computed in balls, and how far off the doubles are."""
        found = []
        for w, key in zip(starts.tolist(), keys.tolist(), strict=True):
            # A key below 0 is u - 1.
            g = self.exact((flint.arb(w) - self.centre) / self.length) - key - int(key < 0.0)
            found.append((float(g.mid()), float(g.rad())))
        values, radii = np.array(found).T
        return values, (4.0 * _UNIT * np.abs(values) + radii) * _UP

    def at_nodes(
        self, columns: FloatArray, keys: FloatArray, width: float
    ) -> tuple[FloatArray, FloatArray]:
        """Upper bounds of |g| and of the density at the nodes of cells.

        From the start of a cell on g changes by a divided difference of F, which doubles give to
        their accuracy times the probability of a cell.
        """
        begun, lost = self.at_starts(columns[0], keys)
        s = 0.5 + 0.5 * np.cos(np.pi * (2.0 * np.arange(_NODES)[:, None] + 1.0) / (2 * _NODES))
        away = np.zeros((_NODES, keys.size))
        for c in columns[:0:-1]:
            away = (away + c / self.length) * s
        start = (columns[0] - self.centre) / self.length
        place = start + away
        # Horner's rules for the sum of p_k x0^(k-j-1) x^j, and for the slope.
        inner = change = slope = np.zeros_like(away)
        for k in range(len(self.coefficients) - 1, 0, -1):
            inner = inner * start + self.coefficients[k]
            change = change * place + inner
            slope = slope * place + k * self.coefficients[k]
        g = begun + (change * away - s * width)
        reach = np.abs(columns[1:]).sum(axis=0) / self.length * _UP
        far = (np.abs(start) + reach) * _UP
        # Each rule rounds twice in a step, x and x0 are right to a unit, and the way between them
        # to two for each coefficient of the cell, times its reach.
        steps = (2.0 * len(columns) + 4.0) * np.arange(self.sizes.size) + 4.0
        rounded = _slope_size(self.off + _UNIT * steps * self.sizes, far) * _UP
        lost = lost + 4.0 * _UNIT * (width + np.abs(begun) + np.abs(g).max(axis=0))
        seen = (np.abs(g).max(axis=0) + lost + reach * rounded) * _UP + _TINY
        return seen, (np.abs(slope).max(axis=0) + rounded) / self.length

    def between_nodes(self, columns: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Bounds in the ellipses of g less a straight line, and of the density."""
        start = np.abs(columns[0] - self.centre) * _UP
        errors, densities = [], []
        for r in _ELLIPSES:
            far = 0.5 + 0.25 * (r + 1.0 / r)
            away = np.zeros_like(start)
            for c in columns[:0:-1]:
                away = (away + np.abs(c)) * far
            with np.errstate(over="ignore", invalid="ignore"):
                slope = _slope_size(self.sizes, (start + away) / self.length * _UP) / self.length
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


def _slope_size(sizes: FloatArray, x: FloatArray) -> FloatArray:
    """The slope at x of the polynomial with these coefficients."""
    total = np.zeros_like(x)
    for k in range(sizes.size - 1, 0, -1):
        total = total * x + k * sizes[k]
    return total


def _rounding(columns: FloatArray) -> FloatArray:
    """What doubles add to the radius of a cell: Horner's rule, and the share s."""
    sizes = np.abs(columns)
    steps = 2.0 * columns.shape[0]
    slope = sizes.T @ np.arange(float(columns.shape[0]))
    return np.asarray(_UNIT * (steps * (1.0 + 1e-12) * sizes.sum(axis=0) + slope))
