r"""Proofs of the tail of a table: all lobes to infinity, from two polynomials of two variables.

Lobe k has the index s = kappa + k and y = kappa/s in (0, 1].  With W(x) the signed mass beyond x,
the error at a place v of the lobe, where the table puts x(y, v), is D(s) - E(y, v),

.. math:: D(s) = S(x(y, 0)) - T(s), \qquad
          E(y, v) = \pm[W(x(y,0)) - W(x(y,v))]/M - f(v)\,[T(s) - T(s+1)] ,

S being the true survival function.  The expansion of W in 1/x, cut after some terms, makes
:math:`E\,y^{-q}` analytic in y and v, also at y = 0, which is infinity: :mod:`.nodes` bounds it in
both.  D is computed at the zeros that are enclosed; beyond them it is the sum of E(y, 1) over all
later lobes, :math:`\sum_{j\ge0} y_j^q \le y^q + \kappa y^\sigma/\sigma`.
"""

from __future__ import annotations

from collections.abc import Callable

import flint
import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.enclosures import EPS
from spectra.certify.ball_densities import BallDensity
from spectra.certify.balls import Ball, Unproved, upper_double
from spectra.certify.certificates import PartCertificate
from spectra.certify.nodes import chebyshev_poly, chosen_nodes, largest_on_segment
from spectra.certify.signed_laws import SignedLaw
from spectra.certify.waves import Wave, integrated
from spectra.table import LobedTail, RadialLaw
from spectra.table.radial.panels import powers_of_chebyshev

__all__ = ["lobed_tail_proof"]

# The expansion is cut here, relative to the first index.
_BEFORE = 0.98
# Terms that are tried in turn, and what the expansion may leave out, relative to the first one.
_TERMS, _GOAL = (40, 80, 120), 2.0**-80
# What may stay unseen between the nodes, relative to the mass of a lobe.
_UNSEEN = 2.0**-66
# Ranges of 1/x in which the amplitude and the phase are looked at.
_SLICES = 64
# The starts of lobes are looked at to this phase before they count as found.
_LOCKED = 1e-3
_UNIT = 2.0**-53
# Roundings of the share of a lobe and of its place: differences, a quotient, a root, an arc sine
# that numpy gives to four units, the factor 2/pi and 2 v - 1.
_SHARE_STEPS, _PLACE_STEPS = 4, 12
# Roundings of the radius: the period times the index, and the last terms of Horner's rule.
_RADIUS_STEPS = 4


def lobed_tail_proof(law: SignedLaw, tail: LobedTail, table: RadialLaw) -> PartCertificate:
    """What is proved of the lobed tail of a part.

    Raises
    ------
    Unproved
        Where the tail is of another kind, or is not that of the law to a rough accuracy.
    """
    if tail.root != 1 or tail.zeros != 1:
        raise Unproved("a tail in powers of a root, or with double zeros, has no proof")
    proof = _Tail(law, tail)
    rounding = _rounding(tail, proof.largest_density())
    joined, begins = float(table.right.end_radii[0, 0]), upper_double(proof.first / law.unit)
    return PartCertificate(
        upper_double(proof.error()),
        upper_double(rounding),
        0.0 if proof.radii.ascend() else tail.mass,
        max((joined - begins) / begins + 128 * EPS, 0.0),
        2,
    )


class _Tail:
    """The tail of a table beside that of its law."""

    def __init__(self, law: SignedLaw, tail: LobedTail) -> None:
        self.law, self.tail = law, tail
        self.kappa = flint.arb(tail.kappa)
        # The index in units of the true period, 2 pi in x; what that changes is added.
        self.turn = 2 * flint.arb.pi()
        self.radii = _Radii(tail, law.unit, self.turn)
        self.first = self.radii.x(flint.arb(1), flint.arb(0))
        self.wave = _sharp_wave(law, _BEFORE * float(self.first.lower()))
        self.mass_wave = integrated(self.wave)
        self.power = self.wave.power
        self.sigma = self.power - 1
        if not self.sigma > 0:
            raise Unproved("the tail of the density has no finite mass")
        #: T(s) = s^-sigma P(kappa/s) of the table, whose exponent is rounded.
        self.stated = flint.arb(tail.sigma)
        self.series = [flint.arb(float(c)) for c in tail.mass_series]
        self.held = chebyshev_poly(self.series)
        self.front = self.kappa**-self.stated
        self.start = law.stretch_at(self.first + 1)
        if not abs(law.stretches[self.start][0] - self.first) < 0.5:
            raise Unproved("the tail of the table does not start at a lobe")
        self.known = len(law.stretches) - self.start

    def error(self) -> Ball:
        """Upper bound of the error in probability at every lobe and place."""
        last = self.kappa / (self.kappa + self.known - 1)
        zero, one = flint.arb(0), flint.arb(1)
        near, _ = self._along(last, one)
        far, far_mass = self._along(zero, last)
        known = flint.arb(0)
        for k in range(self.known):
            held = self._survival(self.kappa + k)
            known = known.max(abs(self.law.beyond(self.start + k) - held).abs_upper())
        # The sum of y^q over the lobes from y on.
        lobes = last**self.power + self.kappa * last**self.sigma / self.sigma
        beyond = far_mass * lobes + far * last**self.power
        loose = 3 * self.law.loose + 2 * self._exponent_error()
        error = (known + near).max(beyond) + self._locked() + self._drift() + loose
        if not error.is_finite():
            raise Unproved("the working precision was lost in the tail")
        return error.abs_upper()

    def _survival(self, s: Ball) -> Ball:
        """T(s) as the table has it."""
        return s**-self.stated * self.held(2 * self.kappa / s - 1)

    def _lobe(self, y: Ball) -> Ball:
        """(T(s) - T(s + 1)) y^(-sigma - 1), with the exponent of the law."""
        step = 1 + y / self.kappa
        after = step**-self.sigma * self.held(2 * y / step - 1)
        return self.front * (self.held(2 * y - 1) - after) / y

    def _exponent_error(self) -> Ball:
        """What the rounding of the exponent changes: y^sigma |log y| <= 1/(e sigma)."""
        least = self.sigma.min(self.stated)
        off = abs(self.stated - self.sigma)
        return (
            self.front * _sizes(self.series, flint.arb(1))[1] * off / (flint.arb(1).exp() * least)
        )

    def _along(self, low: Ball, high: Ball) -> tuple[Ball, Ball]:
        """Upper bounds of |E| y^-q on [low, high] of y: for all v, and for v = 1."""
        middle, half = (low + high) / 2, (high - low) / 2

        across = chosen_nodes(lambda r: self._size_across(low, high, r), flint.arb(_UNSEEN))
        along = chosen_nodes(lambda r: self._size_along(low, high, r), flint.arb(_UNSEEN))
        if across is None or along is None:
            raise Unproved("the series of the tail of the table are too steep")
        left = self._left_out(high)

        def seen(node: Ball) -> Ball:
            return largest_on_segment(self._at(middle + half * node), along)

        def at_end(node: Ball) -> Ball:
            return self._at(middle + half * node)(flint.arb(1))

        return largest_on_segment(seen, across) + left, largest_on_segment(at_end, across) + left

    def _at(self, y: Ball) -> Callable[[Ball], Ball]:
        """E y^-q at a place 2 v - 1."""
        radii = self.radii.along(y)
        lobe = self._lobe(y)
        begun = self._beyond(y, radii(flint.arb(-1)))
        front = self.law.sign / self.law.mass
        quarter = flint.arb.pi() / 4

        def value(t: Ball) -> Ball:
            mass = front * (begun - self._beyond(y, radii(t)))
            return mass - (quarter * (1 + t)).sin() ** 2 * lobe

        return value

    def _beyond(self, y: Ball, shift: Ball) -> Ball:
        """W y^-q where x = (turn kappa + y shift)/y, the expansion cut."""
        x = self.turn * self.kappa + y * shift
        return self._wave(self.mass_wave, y, shift) * x**-self.power

    def _wave(self, wave: Wave, y: Ball, shift: Ball) -> Ball:
        """x^q times a wave there."""
        turns = self.turn * self.kappa + shift - wave.phase
        u = y / (self.turn * self.kappa + y * shift)
        return (wave.series(u) * flint.acb(0, turns).exp()).real

    def _size_along(self, low: Ball, high: Ball, r: Ball) -> Ball:
        """Bound of |E| y^-q for v in the ellipse of parameter r."""
        lean, size = _sizes(self.radii.down, r)
        lobe = self._lobe_size(low, high, flint.arb(2))
        by_sine = (flint.arb.pi() / 4 * (r - 1 / r)).cosh() ** 2
        return self._wave_size(high, size, lean) + by_sine * lobe

    def _size_across(self, low: Ball, high: Ball, r: Ball) -> Ball:
        """Bound of |E| y^-q for y in the ellipse of parameter r around [low, high]."""
        axis = (high - low) / 2 * (r + 1 / r) / 2
        far = (low + high) / 2 + axis
        lean, size = _sizes(self.radii.across, _parameter(2 * axis + low + 1 - high))
        return self._wave_size(far, size, lean) + self._lobe_size(low, high, r)

    def _wave_size(self, far: Ball, shift: Ball, lean: Ball) -> Ball:
        """Bound of both W y^-q for |y| <= far, |shift| and its imaginary part."""
        x = self.turn * self.kappa - far * shift
        if not x > 0:
            return flint.arb("inf")
        size = self.mass_wave.largest(far / x)
        return 2 * size * x**-self.power * lean.exp() / self.law.mass

    def _lobe_size(self, low: Ball, high: Ball, r: Ball) -> Ball:
        """Bound of (T(s) - T(s + 1)) y^-q for y in the ellipse around [low, high]."""
        middle, axis = (low + high) / 2, (high - low) / 2 * (r + 1 / r) / 2
        far, near = middle + axis, abs(axis - middle)
        if not (near > 0 and far < self.kappa):
            return flint.arb("inf")
        moved = far * far / self.kappa / (1 - far / self.kappa)
        foci = 2 * axis + low + 1 - high
        here = _sizes(self.series, _parameter(foci))[1]
        there = _sizes(self.series, _parameter(foci + 2 * moved))[1]
        return self.front * (here + (1 - far / self.kappa) ** -self.sigma * there) / near

    def _left_out(self, high: Ball) -> Ball:
        """Bound of what the cut expansions of both W leave out, times y^-q."""
        x = self.turn * self.kappa - high * _sizes(self.radii.across, flint.arb(1))[1]
        rest = self.mass_wave.size(x / high)
        return (2 * rest * x**-self.power / self.law.mass).abs_upper()

    def largest_density(self) -> Ball:
        """Bound of the density of w in the tail, times (w / first w)^q."""
        x = self.radii.least_x()
        total = self.wave.size(x) + self.wave.largest(1 / x)
        return (total * x**-self.power * self.law.unit / self.law.mass).abs_upper()

    def _drift(self) -> Ball:
        """What the rounding of the period changes: radii move by that times the lobe."""
        off = abs(self.radii.period / self.turn - 1)
        # k periods lie below x, and k x^-q falls with x.
        x = self.radii.least_x()
        return (2 * self.largest_density() / self.law.unit * off * x).abs_upper()

    def _locked(self) -> Ball:
        """Bound of the mass on the wrong side of the starts and ends of the lobes, all together.

        Where the phase ascends, and the wave nearly vanishes at v = 0 and v = 1 for all y, which
        are connected with the start of the tail, every lobe of the table is a lobe of the law, and
        the wave has the other sign only within that phase of its ends.
        """
        least, drift = self._amplitude()
        if not drift < 0.5:
            raise Unproved(
                "the phase of the tail is not settled where the tail of the table starts"
            )
        off = (self._largest_at_ends() + self.wave.size(self.radii.least_x())) / least
        if not (off < _LOCKED and self.radii.half_turn()):
            raise Unproved("the lobes of the table are not those of the law")
        lobes = 1 + self.kappa / self.sigma
        return (16 * off**2 * lobes * self.largest_density() / self.law.unit).abs_upper()

    def _amplitude(self) -> tuple[Ball, Ball]:
        """The least x^q |E| of the cut expansion at real x, and the largest |psi' - 1|."""
        series = flint.acb_poly(self.wave.coefficients)
        slope = series.derivative()
        least, drift = flint.arb("inf"), flint.arb(0)
        for k in range(_SLICES):
            u = flint.acb((k + flint.arb(0.5, 0.5)) / self.radii.least_x() / _SLICES)
            value = series(u)
            size = abs(value).abs_lower()
            if not size > 0:
                raise Unproved("the amplitude of the tail was not proved to be positive")
            least = least.min(size)
            # d/dx = -u^2 d/du of the argument.
            drift = drift.max(abs((slope(u) / value).imag * u.real * u.real).abs_upper())
        return least, drift

    def _largest_at_ends(self) -> Ball:
        """Bound of x^q |rho| at v = 0 and v = 1, for the cut expansion."""

        def bound(r: Ball) -> Ball:
            axis = (r + 1 / r) / 4
            far = axis + flint.arb(1) / 2
            lean, size = _sizes(self.radii.across, _parameter(2 * axis))
            x = self.turn * self.kappa - far * size
            return self.wave.largest(far / x) * lean.exp() if x > 0 else flint.arb("inf")

        def value(node: Ball) -> Ball:
            y = (1 + node) / 2
            radii = self.radii.along(y)
            seen = flint.arb(0)
            for shift in (radii(flint.arb(-1)), radii(flint.arb(1))):
                seen = seen.max(abs(self._wave(self.wave, y, shift)).abs_upper())
            return seen

        nodes = chosen_nodes(bound, flint.arb(2.0**-40))
        if nodes is None:
            raise Unproved("the series of the radii of the tail are too steep")
        return largest_on_segment(value, nodes)


class _Radii:
    """x(y, v) = turn kappa / y + B(y, v), with the series B of the table in x."""

    def __init__(self, tail: LobedTail, radius: Ball, turn: Ball) -> None:
        self.turn_kappa = turn * flint.arb(tail.kappa)
        self.period = radius * flint.arb(tail.period)
        rows = [[radius * flint.arb(float(b)) for b in row] for row in tail.radius_series]
        # The period of the table is rounded: at k = 0 the radii are those of the table.
        rows[0][0] = rows[0][0] + (self.period - turn) * flint.arb(tail.kappa)
        self.rows = rows
        self.turn = turn
        # One polynomial in 2 y - 1 for each Chebyshev polynomial of 2 v - 1.
        self.columns = [chebyshev_poly(list(column)) for column in zip(*rows, strict=True)]
        #: Sums of the absolute values of rows and of columns: of these as series in y and in v the
        #: sizes bound |B| where the other one is real.
        self.across = [sum(map(abs, row), flint.arb(0)) for row in rows]
        self.down = [sum(map(abs, column), flint.arb(0)) for column in zip(*rows, strict=True)]
        #: B(y, 1) - B(y, 0) is this, to within what follows.
        self.length = 2 * sum(rows[0][1::2], flint.arb(0))
        self.loose = 2 * sum(self.across[1:], flint.arb(0))

    def along(self, y: Ball) -> Ball:
        """B(y, .) as a polynomial in 2 v - 1."""
        place = 2 * y - 1
        return chebyshev_poly([column(place) for column in self.columns])

    def x(self, y: Ball, v: Ball) -> Ball:
        """x(y, v)."""
        return self.turn_kappa / y + self.along(y)(2 * v - 1)

    def least_x(self) -> Ball:
        """Lower bound of x over all lobes."""
        least = (self.turn_kappa - _sizes(self.across, flint.arb(1))[1]).lower()
        if not least > 0:
            raise Unproved("the radii of the tail were not proved to be positive")
        return least

    def ascend(self) -> bool:
        """Whether radii ascend along each lobe and from each lobe to the next."""
        slopes = [chebyshev.chebder(np.array(row, dtype=object)) for row in self.rows]
        sizes = sum((abs(c) for row in slopes for c in row), flint.arb(0))
        least = slopes[0][0] + abs(slopes[0][0]) - sizes
        return bool(least > 0) and bool(self.period > self.length + self.loose)

    def half_turn(self) -> bool:
        """Whether every lobe is about pi long, so that its end is the next zero."""
        return bool(abs(self.length - self.turn / 2) + self.loose < 1)


def _sizes(series: list[Ball], r: Ball) -> tuple[Ball, Ball]:
    """Bounds of the imaginary part and of the size of a Chebyshev series in the ellipse of r."""
    terms = [(abs(c) / 2 * r**k, abs(c) / 2 * r**-k) for k, c in enumerate(series)]
    lean = sum((grown - fallen for grown, fallen in terms), flint.arb(0))
    size = sum((grown + fallen for grown, fallen in terms), flint.arb(0))
    return lean.abs_upper(), size.abs_upper()


def _sharp_wave(law: SignedLaw, start: float) -> Wave:
    """The expansion of the density from a point on, with as many terms as it needs."""
    assert isinstance(law.density, BallDensity)  # no other has lobes
    for terms in _TERMS:
        wave, _ = law.density.tail(start, 0.0, terms)
        if wave.size(flint.arb(start)) < _GOAL * abs(wave.coefficients[0]):
            return wave
    raise Unproved("the tail of the table starts where the expansion of the density is too rough")


def _parameter(foci: Ball) -> Ball:
    """The ellipse around [0, 1] whose distances to 0 and 1 add up to ``foci`` at most."""
    foci = flint.arb(1).max(foci)
    return foci + (foci * foci - 1).max(flint.arb(0)).sqrt()


# --- what doubles add ----------------------------------------------------------------------------


def _rounding(tail: LobedTail, density: Ball) -> Ball:
    """Upper bound of what doubles add in probability in the tail.

    Parameters
    ----------
    tail : LobedTail
    density : arb
        Largest density of the radius in the tail; w times it falls with w.
    """
    unit = flint.arb(_UNIT)
    front = flint.arb(tail.kappa) ** -flint.arb(tail.sigma)
    masses = np.abs(tail.mass_series)
    held = flint.arb(tail.mass)
    # The power and the product, the place 2 x - 1 in the series of the mass, and Clenshaw's rule.
    slope = float(np.sum(np.arange(masses.size) ** 2 * masses))
    survival = 4 * unit * held + front * unit * (4 * slope + _clenshaw_rounding(masses))
    # A lobe holds at most the density times its length, which is half of a period.
    lobe = density * flint.arb(tail.period)
    place = unit * (_SHARE_STEPS + 2 * _PLACE_STEPS) * lobe
    first = flint.arb(float(tail.radius(np.array([tail.kappa]), np.array([1.0]))[0, 0]))
    radius = unit * (_RADIUS_STEPS * first + _radius_rounding(tail))
    return (survival + place + density * radius).abs_upper()


def _clenshaw_rounding(sizes: np.ndarray) -> float:
    """Rounding of Clenshaw's rule in units: an error made at a term counts as one in it."""
    n = sizes.size
    later = np.zeros(n + 2)
    for k in range(n - 1, -1, -1):
        later[k] = float(np.sum(np.arange(1, n - k + 1) * sizes[k:]))
    return float(np.sum(4.0 * (sizes + 2.0 * later[1 : n + 1] + later[2 : n + 2])))


def _radius_rounding(tail: LobedTail) -> float:
    """Rounding of the series of the radius beside its period, in units."""
    sizes = np.abs(tail.radius_series)
    rows, columns = sizes.shape
    powers = np.abs(powers_of_chebyshev(columns)).sum(axis=1)
    # Chebyshev polynomials from their recurrence, two sums of products, and the power form.
    steps = 2.0 * np.arange(rows)[:, None] ** 2 + 2.0 * (rows + columns) + 8.0
    return float(np.sum(sizes * steps * powers))
