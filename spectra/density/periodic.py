r"""Periodic kernels on the line: atoms at the multiples of one frequency, with exact coefficients.

.. math:: k(z) = \sum_{n \ge 0} a_n \cos(n v z), \qquad
          a_n = \frac{2 - [n = 0]}{N} \sum_{j < N} k(j T / N) \cos(2 \pi j n / N) + \epsilon,

with v = 2 pi / T.  Where k is analytic and at most M in the strip :math:`|\mathrm{Im}\,z| \le
\delta`, its coefficients are at most :math:`2 M e^{-n v \delta}`, and the sum of N values errs by
those that it aliases.  Analytic and M are found in ball arithmetic on boxes that cover the strip.

A product of periodic kernels whose periods have no ratio has atoms at the sums and differences,

.. math:: \cos(n v z) \cos(m u z) = \tfrac12 \cos((n v + m u) z) + \tfrac12 \cos((n v - m u) z).
"""

from __future__ import annotations

import heapq
from functools import reduce
from math import log

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, working
from spectra.density.components import Atom, SpectralDensity
from spectra.density.lookup import lookup
from spectra.density.numeric import numeric
from spectra.density.series import series
from spectra.errors import NoRouteError
from spectra.formula.evaluation.ball_function import BallFunction, continued
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.wave_formulas import is_of_waves, is_periodic, wave_rates

__all__ = ["fourier_atoms", "periodic"]

#: Entire functions: a composition of them, and of quotients, is analytic where it is finite.
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh)
# Bits of the values; coefficients keep them down to 2^-60 of the largest value.
_BITS = 192
# What is left away, in parts of the size of the kernel: below the rounding of its largest atom.
_LEFT = 2.0**-60
# The least probability of an atom that has others on both sides.
_DRAWN = 2.0**-51
# Numbers of values that are tried, of which every fourth gives an atom, and half-widths of strips
# in units of 1/v.  What needs more values than the coarse count has its widest strip looked for, by
# halvings in the logarithm.
_COUNTS = tuple(1 << n for n in range(5, 15))
_WIDTHS = tuple(2.0**n for n in range(-12, 4))
_HALVINGS, _COARSE_COUNT = 6, 1 << 10
# Boxes along half a period; those that are quartered until a pole is told apart, and until the
# largest value is known to a factor, so many more of them.
_ALONG, _MORE_BOXES = 32, 2000
_TIGHT, _TIGHTENED = 8.0, 200
# Strips narrower than the widest, of which one may be the best: it has the smaller size.
_NARROWER = 9
# Bits of values on boxes: more than the boxes are narrow, and few enough that no value is computed
# again for what the width of its box alone leaves open.
_BOX_BITS = 24


def periodic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """The density of a periodic kernel on the line, or of a sum of one with others.

    None for another dimension, in which no periodic kernel has a measure, and where the Fourier
    series is not that of an analytic function.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> found = periodic(radial("exp(cos(z))"), 1)
    >>> [(a.radius, round(a.mass, 12)) for a in found.atoms[:2]]    # I_0(1), 2 I_1(1)
    [(0.0, 1.266065877752), (1.0, 1.130318207985)]
    """
    if dim != 1 or len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    terms = sympy.Add.make_args(kernel.pieces[0].expr)
    turning = [term for term in terms if is_of_waves(term)]
    if not turning:
        return None
    atoms: list[Atom] = []
    for term in turning:
        found = fourier_atoms(term) if is_periodic(term) else _product_atoms(term)
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


def _product_atoms(expr: sympy.Expr) -> tuple[Atom, ...] | None:
    """The atoms of a product of periodic formulas; None where a factor is not seen to be analytic.

    Raises
    ------
    NoRouteError
        Where waves of periods without a ratio are in one factor.
    """
    groups: list[tuple[sympy.Expr, sympy.Expr]] = []
    for factor in sympy.Mul.make_args(sympy.expand_power_exp(expr)):
        if not factor.has(Z):
            groups.append((sympy.Integer(0), factor))
            continue
        if not is_periodic(factor):
            raise NoRouteError(
                f"{factor} has waves whose periods have no ratio, and atoms of such functions are "
                "known where they are products of periodic ones:",
                in_python="make a finite measure for the distances of your data with design(...).",
                at_shell="'spectra design' makes a finite measure for the distances of your data.",
            )
        rate = wave_rates(factor)[0]
        for i, (other, product) in enumerate(groups):
            if other != 0 and (rate / other).is_Rational:
                groups[i] = (other, product * factor)
                break
        else:
            groups.append((rate, factor))
    weight = float(sympy.Mul(*(factor for rate, factor in groups if rate == 0)))
    found = [fourier_atoms(product) for rate, product in groups if rate != 0]
    known = [atoms for atoms in found if atoms is not None]
    if len(known) < len(found):
        return None
    rounding = 2.0**-52 * abs(weight)
    constant: tuple[Atom, ...] = (Atom(0.0, weight, rounding),)
    return reduce(_convolved, known, constant)


def _convolved(left: tuple[Atom, ...], right: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The atoms of a product of two cosine series.

    Small atoms lie between large ones here, where a law has no room for them: what is below the
    rounding of a probability is in the error of the first.
    """
    found = []
    for a in left:
        for b in right:
            mass = a.mass * b.mass
            error = abs(a.mass) * b.error + abs(b.mass) * a.error + a.error * b.error
            error += 2.0**-52 * abs(mass)
            if a.radius == 0.0 or b.radius == 0.0:
                found.append(Atom(a.radius + b.radius, mass, error))
                continue
            for radius in (abs(a.radius - b.radius), a.radius + b.radius):
                found.append(Atom(radius, 0.5 * mass, 0.5 * error))
    total = sum(abs(atom.mass) for atom in found)
    kept = [atom for atom in found if abs(atom.mass) >= _DRAWN * total]
    lost = sum(abs(atom.mass) + atom.error for atom in found if abs(atom.mass) < _DRAWN * total)
    kept.sort(key=lambda atom: atom.radius)
    return (Atom(kept[0].radius, kept[0].mass, kept[0].error + lost), *kept[1:])


def fourier_atoms(expr: sympy.Expr) -> tuple[Atom, ...] | None:
    """The cosine series of an even periodic formula in Z, analytic about the real line; else None.

    The error of the first atom holds what is left away of the others.

    Raises
    ------
    NoRouteError
        Where too many coefficients are above rounding, or a pole meets the real line.

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
    k = continued(expr.subs(Z, Z / rate), Z)
    size = float(abs(k.resolved(flint.acb(0), _BITS)).upper()) + float(
        abs(k.resolved(flint.acb(1), _BITS)).upper()
    )
    strips, looked_further = _strips(k), False
    for count in _COUNTS:
        last = count // 4
        if count > _COARSE_COUNT and not looked_further:
            strips, looked_further = [*strips, *_widest(k, strips)], True
        left = min((_beyond(last, s) for s in strips), default=np.inf)
        if left <= _LEFT * size:
            aliased = min(_beyond(count - last - 1, s) for s in strips)
            return _atoms(k, float(rate), count, left, aliased)
    width = max((width for width, _ in strips), default=0.0)
    within = "no strip" if width == 0.0 else f"a strip of half-width {float(width / rate):.3g}"
    raise NoRouteError(
        f"The Fourier series of {expr} has more than {_COUNTS[-1] // 4} terms above rounding, or "
        f"none: it was seen to be analytic in {within} about the real line, and its coefficients "
        "fall by 1/e in the inverse of that. What can be done:",
        in_python="make a finite measure for the distances of your data with design(...).",
        at_shell="'spectra design' makes a finite measure for the distances of your data.",
    )


#: A half-width, and a bound of log |k| where |Im x| is at most that.
_Strip = tuple[float, float]


def _beyond(last: int, strip: _Strip) -> float:
    """Bound of the sum of |a_n| over n > last, a geometric series."""
    width, log_size = strip
    with np.errstate(over="ignore"):
        first = np.exp(log_size + log(2.0) - (last + 1) * width)
    return float(first / -np.expm1(-width))


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


def _strips(k: BallFunction) -> list[_Strip]:
    """From wide to narrow; none narrower than the widest but three can be of use."""
    found: list[_Strip] = []
    for width in reversed(_WIDTHS):
        strip = _strip(k, width)
        found += [] if strip is None else [strip]
        if len(found) > _NARROWER:
            break
    return found


def _widest(k: BallFunction, strips: list[_Strip]) -> list[_Strip]:
    """Strips between the widest of these and twice its width, towards the nearest pole."""
    found: list[_Strip] = []
    low = max((width for width, _ in strips), default=0.0)
    high = 2.0 * low
    for _ in range(_HALVINGS if low else 0):
        middle = (low * high) ** 0.5
        strip = _strip(k, middle)
        if strip is None:
            high = middle
        else:
            found.append(strip)
            low = middle
    return found


def _strip(k: BallFunction, width: float) -> _Strip | None:
    """The strip, where boxes over a quarter of it show that k is analytic; None where they do not.

    k is real and even, and has the period 2 pi: 0 <= Re x <= pi, 0 <= Im x <= width is enough.
    """
    upwards = max(1, round(width * _ALONG / np.pi))
    half_x, half_y = 0.5 / _ALONG, 0.5 * width / upwards
    heap: list[tuple[float, int, tuple[float, float, float, float]]] = []
    least, seen = 0.0, 0

    def look(x: float, y: float, half_x: float, half_y: float) -> None:
        nonlocal least, seen
        value = abs(_at_box(k, x, y, half_x, half_y))
        finite = value.is_finite()
        least = max(least, float(value.lower())) if finite else least
        seen += 1
        heapq.heappush(
            heap, (-float(value.upper()) if finite else -np.inf, seen, (x, y, half_x, half_y))
        )

    for i in range(_ALONG):
        for j in range(upwards):
            look((2 * i + 1) * half_x, (2 * j + 1) * half_y, half_x, half_y)
    first = seen
    while True:
        size, (x, y, half_x, half_y) = -heap[0][0], heap[0][2]
        if np.isfinite(size) and (size <= _TIGHT * least or seen > first + _TIGHTENED):
            return (width, log(size) + 1e-9) if size > 0.0 else None
        if seen > first + _MORE_BOXES or half_x < 2.0**-40:
            return None
        heapq.heappop(heap)
        half_x, half_y = 0.5 * half_x, 0.5 * half_y
        for s, t in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            look(x + s * half_x, y + t * half_y, half_x, half_y)


def _at_box(k: BallFunction, x: float, y: float, half_x: float, half_y: float) -> Ball:
    """On the box about x + i y, x and half_x in units of pi; a hair wider, so that all overlap."""
    with working(64):
        along = flint.arb(x, half_x * (1.0 + 1e-9)) * flint.arb.pi()
        box = flint.acb(along, flint.arb(y, half_y * (1.0 + 1e-9)))
    return k.resolved(box, _BOX_BITS)


def _atoms(
    k: BallFunction, rate: float, count: int, left: float, aliased: float
) -> tuple[Atom, ...]:
    half = count // 2
    with working(_BITS):
        turn = 2 * flint.arb.pi() / count
        # k(x) = k(-x): the values between 0 and pi, those inside twice.
        values = [k.resolved(flint.acb(turn * j), _BITS).real for j in range(half + 1)]
        period = [flint.acb(v) for v in [*values, *values[half - 1 : 0 : -1]]]
        sums = [s.real / count for s in flint.acb.dft(period)[: count // 4 + 1]]
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
