r"""Periodic kernels on the line: atoms at the multiples of one frequency, with exact coefficients.

.. math:: k(z) = \sum_{n \ge 0} a_n \cos(n v z), \qquad
          a_n = \frac{2 - [n = 0]}{N} \sum_{j < N} k(j T / N) \cos(2 \pi j n / N) + \epsilon,

with v = 2 pi / T.  Where k is analytic and at most M in the strip :math:`|\mathrm{Im}\,z| \le
\delta`, its coefficients are at most :math:`2 M e^{-n v \delta}`, and the sum of N values errs by
those that it aliases.  Analytic and M are found in ball arithmetic on boxes that cover the strip.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import log

import flint
import numpy as np
import sympy

from spectra.density import Atom, SpectralDensity
from spectra.formula.parsing import Z
from spectra.kernel import Kernel, Piece
from spectra.singularity.branches import is_periodic, wave_rates
from spectra.transform.lookup import lookup
from spectra.transform.numeric import numeric
from spectra.transform.rays.continuation import Continuation
from spectra.transform.rays.precision import Ball, working
from spectra.transform.series import series

__all__ = ["fourier_atoms", "periodic"]

#: Entire functions: a composition of them, and of quotients, is analytic where it is finite.
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh)
# Bits of the values; coefficients keep them down to 2^-60 of the largest value.
_BITS = 192
# What is left away, in parts of the size of the kernel: below the rounding of its largest atom.
_LEFT = 2.0**-60
# Numbers of values that are tried, and half-widths of strips in units of 1/v.
_COUNTS = tuple(1 << n for n in range(5, 13))
_WIDTHS = tuple(2.0**n for n in range(-5, 4))
# Boxes along half a period, and the most of them over one strip: halved until a pole is told apart.
_BOXES = (32, 128)
# Bits of values on boxes: more than the boxes are narrow, and few enough that no value is computed
# again for what the width of its box alone leaves open.
_BOX_BITS = 24


def periodic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """The density of a periodic kernel on the line, or of a sum of one with others.

    None for another dimension, in which no periodic kernel has a measure, and where the Fourier
    series is not that of an analytic function.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> found = periodic(radial("exp(cos(z))"), 1)
    >>> [(a.radius, round(a.mass, 12)) for a in found.atoms[:2]]    # I_0(1), 2 I_1(1)
    [(0.0, 1.266065877752), (1.0, 1.130318207985)]
    """
    if dim != 1 or len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    terms = sympy.Add.make_args(kernel.pieces[0].expr)
    turning = [term for term in terms if is_periodic(term)]
    if not turning:
        return None
    atoms: list[Atom] = []
    for term in turning:
        found = fourier_atoms(term)
        if found is None:
            return None
        atoms.extend(found)
    rest = sympy.Add(*(term for term in terms if term not in turning))
    if rest == 0:
        return SpectralDensity(kernel, 1, (), tuple(atoms), "periodic")
    left = Kernel((Piece(sympy.oo, rest),))
    for route in (lookup, series, numeric):
        density = route(left, 1)
        if density is not None:
            return SpectralDensity(
                kernel, 1, density.components, (*atoms, *density.atoms), "periodic"
            )
    return None


def fourier_atoms(expr: sympy.Expr) -> tuple[Atom, ...] | None:
    """The cosine series of an even periodic formula in Z, analytic about the real line; else None.

    The error of the first atom holds what is left away of the others.

    Examples
    --------
    >>> atoms = fourier_atoms(1 / (2 - sympy.cos(Z)))
    >>> bool(abs(atoms[3].mass - 2 / 3**0.5 * (2 - 3**0.5) ** 3) < 1e-16)
    True
    """
    if not (is_periodic(expr) and _is_analytic(expr)) or expr.subs(Z, -Z) != expr:
        return None
    rate = _rate(expr)
    # In x = v z the period is 2 pi.
    k = Continuation(expr.subs(Z, Z / rate))
    size = float(abs(k(flint.acb(0), _BITS)).upper()) + float(abs(k(flint.acb(1), _BITS)).upper())
    strips = [s for s in (_strip(k, width) for width in _WIDTHS) if s is not None]
    for count in _COUNTS:
        last = count // 4
        left = min((s.beyond(last) for s in strips), default=np.inf)
        if left <= _LEFT * size:
            aliased = min(s.beyond(count - last - 1) for s in strips)
            return _atoms(k, float(rate), count, left, aliased)
    return None


@dataclass(frozen=True)
class _Strip:
    """A bound of log |k| where |Im x| <= width."""

    width: float
    log_size: float

    def beyond(self, last: int) -> float:
        """Bound of the sum of |a_n| over n > last, a geometric series."""
        with np.errstate(over="ignore"):
            first = np.exp(self.log_size + log(2.0) - (last + 1) * self.width)
        return float(first / -np.expm1(-self.width))


def _is_analytic(expr: sympy.Expr) -> bool:
    """Whether only poles can end the strip: entire functions, sums, products, whole powers."""
    for node in sympy.preorder_traversal(expr):
        if not node.has(Z) or node == Z or node.is_Add or node.is_Mul or node.func in _ENTIRE:
            continue
        if not (node.is_Pow and node.exp.is_Integer):
            return False
    return True


def _rate(expr: sympy.Expr) -> sympy.Expr:
    """The frequency of which all waves are multiples."""
    rates = [sympy.Abs(rate) for rate in wave_rates(expr)]
    shares = [sympy.nsimplify(r / rates[0]) for r in rates]
    return rates[0] * reduce(sympy.gcd, shares)


def _strip(k: Continuation, width: float) -> _Strip | None:
    """The strip, where boxes over a quarter of it show that k is analytic; None where they do not.

    k is real and even, and has the period 2 pi: 0 <= Re x <= pi, 0 <= Im x <= width is enough.
    """
    for along in _BOXES:
        upwards = max(1, round(width * along / np.pi))
        if along * upwards > 4096:
            break
        largest = 0.0
        for i in range(along):
            for j in range(upwards):
                value = abs(_at_box(k, i, along, j, upwards, width))
                largest = max(largest, float(value.upper()) if value.is_finite() else np.inf)
            if not np.isfinite(largest):
                break
        if 0.0 < largest < np.inf:
            return _Strip(width, log(largest) + 1e-9)
    return None


def _at_box(k: Continuation, i: int, along: int, j: int, upwards: int, width: float) -> Ball:
    with working(64):
        x = (flint.arb(2 * i + 1) / (2 * along) + flint.arb(0, 0.5 / along)) * flint.arb.pi()
        half = 0.5 * width / upwards
        # Upwards a hair wider than its share, so that neighbours overlap.
        y = flint.arb((2 * j + 1) * half, half * (1.0 + 1e-9))
        box = flint.acb(x, y)
    return k(box, _BOX_BITS)


def _atoms(
    k: Continuation, rate: float, count: int, left: float, aliased: float
) -> tuple[Atom, ...]:
    half = count // 2
    with working(_BITS):
        turn = 2 * flint.arb.pi() / count
        # k(x) = k(-x): the values between 0 and pi, those inside twice.
        values = [k(flint.acb(turn * j), _BITS).real for j in range(half + 1)]
        weights = [values[0], *(2 * v for v in values[1:half]), values[half]]
        cosines = [(turn * j).cos() for j in range(count)]
        sums = [
            sum((w * cosines[j * n % count] for j, w in enumerate(weights)), flint.arb(0)) / count
            for n in range(count // 4 + 1)
        ]
    masses = [(1 if n == 0 else 2) * s for n, s in enumerate(sums)]
    total = sum(abs(float(m.mid())) for m in masses)
    atoms, lost = [], left
    for n, m in enumerate(masses):
        mass = float(m.mid())
        if abs(mass) < _LEFT * total:
            lost += abs(mass) + float(m.rad()) + 2.0 * aliased
        else:
            error = float(m.rad()) + 2.0 * aliased + 2.0**-53 * abs(mass)
            atoms.append(Atom(n * rate, mass, error))
    first = atoms[0]
    return (Atom(first.radius, first.mass, first.error + lost), *atoms[1:])
