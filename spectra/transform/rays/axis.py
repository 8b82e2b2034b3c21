r"""Densities of kernels that fall fast, by Gauss and Legendre on the half-line itself.

.. math:: w\rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} w^{d/2+1}
          \int_0^R k(z)\, z^{d/2} J_{d/2-1}(wz)\, dz

Nothing is continued, so that nothing can be missed: a kernel that grows in every sector, or is
singular close to the half-line, costs nodes and bits.  The kernel must be analytic at zero.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp

import flint

from spectra.transform.rays.precision import Ball, working
from spectra.transform.rays.ray import Ray

__all__ = ["AxisRule", "sum_at", "sums_over"]

# Nodes of a panel: they resolve a phase of twenty to exp(-80).
_NODES = 40
_PHASE = 20.0
# Radii within this factor share a Taylor series, which converges like 0.35^m or faster.
_WIDE = 1.7


@lru_cache(maxsize=32)
def _gauss_legendre(bits: int) -> tuple[tuple[Ball, Ball], ...]:
    """Nodes and weights on [0, 1]."""
    with working(bits + 16):
        pairs = [flint.arb.legendre_p_root(_NODES, i, weight=True) for i in range(_NODES)]
        return tuple(((x + 1) / 2, c / 2) for x, c in pairs)


class AxisRule:
    """Weights times kernel at the nodes of composite rules on [0, exp(end)].

    Parameters
    ----------
    axis : Ray
        The kernel on the half-line, which has the working precision.
    dim : int
        Dimension.
    """

    def __init__(self, axis: Ray, dim: int) -> None:
        self.axis, self.dim = axis, dim
        self._known: dict[tuple[float, int], list[tuple[Ball, Ball]]] = {}

    def panels(self, log_w: float, end: float) -> int:
        """How many panels resolve J up to the end of the rule, a power of two."""
        count = ceil(exp(log_w + end) / (2.0 * _PHASE))
        return 1 << max(count - 1, 0).bit_length()

    def terms(self, end: float, panels: int) -> list[tuple[Ball, Ball]]:
        """Pairs of z and weight * k(z) * z^(d/2)."""
        key = (end, panels)
        if key not in self._known:
            with working(self.axis.bits):
                width = flint.arb(end).exp() / panels
                found = []
                for i in range(panels):
                    for x, c in _gauss_legendre(self.axis.bits):
                        z = (x + i) * width
                        k = self.axis.kernel(flint.acb(z), self.axis.bits).real
                        found.append((z, c * width * k * _half_power(z, self.dim)))
            self._known[key] = found
        return self._known[key]


def _half_power(z: Ball, dim: int) -> Ball:
    """z^(d/2)."""
    return z ** (dim // 2) * (z.sqrt() if dim % 2 else 1)


def sums_over(
    dim: int, radii: list[Ball], terms: list[tuple[Ball, Ball]]
) -> list[tuple[Ball, Ball]]:
    """For each radius the sum of weight * J_(d/2-1)(wz) and that of sizes, times w^(d/2+1)."""
    if dim in (1, 3):
        found = [_elementary(dim, w, terms) for w in radii]
    else:
        found = []
        group: list[Ball] = []
        for w in [*radii, None]:
            if group and (w is None or float((w / group[0]).mid()) > _WIDE):
                found += _expanded(dim, group, terms)
                group = []
            if w is not None:
                group.append(w)
    fronts = [_half_power(w, dim) * w for w in radii]
    return [(t * f, size * f) for (t, size), f in zip(found, fronts, strict=True)]


def sum_at(dim: int, w: Ball, terms: list[tuple[Ball, Ball]]) -> Ball:
    """The same for one radius, each Bessel function by itself."""
    if dim in (1, 3):
        total = _elementary(dim, w, terms)[0]
    else:
        order, total = flint.arb(dim) / 2 - 1, flint.arb(0)
        for z, weight in terms:
            total += weight * (w * z).bessel_j(order)
    return total * _half_power(w, dim) * w


def _elementary(dim: int, w: Ball, terms: list[tuple[Ball, Ball]]) -> tuple[Ball, Ball]:
    """J of order -1/2 or 1/2 is sqrt(2/(pi y)) times a cosine or a sine."""
    total, size = flint.arb(0), flint.arb(0)
    for z, weight in terms:
        y = w * z
        wave = y.cos() if dim == 1 else y.sin()
        term = weight * wave * (2 / (flint.arb.pi() * y)).sqrt()
        total += term
        size += abs(term).mid()
    return total, size


def _expanded(
    dim: int, radii: list[Ball], terms: list[tuple[Ball, Ball]]
) -> list[tuple[Ball, Ball]]:
    """All radii at once, by the Taylor series of the sum in t = w/w_0 - 1.

    With y = y_0 (1 + t) Bessel's equation gives the coefficients b_m of J one after another.
    """
    arb = flint.arb
    order = arb(dim) / 2 - 1
    square = order * order
    middle = radii[len(radii) // 2].mid()
    shifts = [w / middle - 1 for w in radii]
    reach = max(abs(t).upper() for t in shifts)
    least = arb(2) ** (-flint.ctx.prec)
    series: list[Ball] = []
    size, rest = arb(0), arb(0)
    for z, weight in terms:
        y = middle * z
        q = y * y
        b = [y.bessel_j(order)]
        b.append(order * b[0] - y * y.bessel_j(order + 1))
        before = last = arb(0)
        power, m = arb(1), 0
        # Terms fall once m is beyond e y t; until then they may be small by chance.
        settled = int(4.0 * float((y * reach).mid())) + 8
        while m < settled or power * (abs(b[m]).mid() + abs(b[m + 1]).mid()) > least:
            sides = (2 * m + 1) * (m + 1) * b[m + 1] + (m * m - square) * b[m]
            following = sides + q * (b[m] + 2 * last + before)
            b.append(-following / ((m + 2) * (m + 1)))
            before, last = last, b[m]
            power, m = power * reach, m + 1
        if len(series) < len(b):
            series += [arb(0)] * (len(b) - len(series))
        for i, c in enumerate(b):
            series[i] += weight * c
        size += abs(weight * b[0]).mid() + abs(weight * b[1] / (1 + y)).mid()
        rest += abs(weight).mid() * least
    polynomial = flint.arb_poly(series)
    blur = arb(0, 4 * rest)
    return [(polynomial(t) + blur, size) for t in shifts]
