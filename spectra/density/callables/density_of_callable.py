"""Spectral densities of Python callables, from values in double precision.

A callable with a support is replaced by a series through its values, which is transformed exactly.
A second, longer series through other values shows the error.  A callable without a support is
integrated by Gauss-Legendre panels at each radius w.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import sympy
from numpy.polynomial import Chebyshev, Polynomial, chebyshev
from scipy.fft import dct
from scipy.special import gammaln, rgamma

from spectra.base.enclosures import EPS, NODES, WEIGHTS
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.density.ball.compact import ball_component
from spectra.density.callables.fit import find_edge, find_origin, fit_ball_form, values_of
from spectra.density.components import Component
from spectra.density.panels.log_panels import Panelled, Powers, fit_panels
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import FAST_DECAYS, Opaque, OpaqueTerm, opaque_terms

__all__ = ["opaque_part"]

# The second sum of series has so many terms more in each.
_MORE = 5
# Half the difference of two results is the error of either; neighbouring zeros hide it.
_SAFETY = 4.0
# Two sums are compared from a hundredth of the bulk to where only rounding differs.
_FIRST, _LAST, _GRID, _NEIGHBOURS = 1e-2, 1e16, 420, 18
# A density that is nowhere known to this is refused, and an integral whose mass is not known to
# the second number.
_LEAST_DIGITS, _FEWEST_DIGITS = 1e-3, 1e-6
# Values below this share of the largest are negligible.
_ENDED, _LARGEST_REACH = 1e-19, 1e6
# Quadrature panels at w = 0, and their number for each radian of w z.
_PANELS, _PANELS_PER_RADIAN = 24, 0.15
# Lengths of the cosine series that shows the highest frequency, and what counts as rounding there.
_COSINES = (256, 1024, 4096, 16384, 65536)
_QUIET, _NOISE, _ROUNDING = 1e-12, 10.0, 4.0 * EPS
# Panels at the upper end that are known to less than this are left out.
_NOISE_LIMIT = 2e-3
# Below this w reach the density is a power; the first panels have this width in log w.
_NEAR, _WIDTH = 1e-4, 0.5
# The bulk leaves out this share of the mass on either side.
_OUTSIDE = 1e-7
# Two independent series at z = 0, and the powers of z that are read off them.
_ORIGIN_DEGREES, _ORIGIN_POWERS, _ORIGIN_HALVINGS = (19, 23), 13, 24


def opaque_part(
    expr: sympy.Expr, support: sympy.Expr, dim: int
) -> tuple[list[Component], sympy.Expr]:
    """Components of the callables in a formula, and the formula that is left."""
    if not expr.has(Opaque):
        return [], expr
    split = opaque_terms(expr)
    if split is None:
        raise NoRouteError(
            f"The formula {expr} multiplies a callable with something else. Make one callable of "
            "the product and state its facts."
        )
    terms, rest = split
    return [_component(term, support, dim) for term in terms], rest


def _component(term: OpaqueTerm, support: sympy.Expr, dim: int) -> Component:
    function, name = term.function, term.function.__name__
    inside = [r for r, _ in function.breaks or () if float(r * term.scale) < float(support)]
    if inside:
        raise NoRouteError(
            f"The callable {name} is not smooth at z = {inside[0] * term.scale}, and values give "
            "the density of one that is smooth inside its support only. Give what ends at the "
            "break as a callable with a support of its own, and add it to one that is smooth."
        )
    origin, half_line = find_origin(term), support is sympy.oo
    if half_line and not (function.decay is None or function.decay in FAST_DECAYS):
        raise NoRouteError(
            f"The callable {name} decays like z^(-{function.decay}), and values alone do not give "
            "the density of a kernel that decays like a power. Write it as a formula."
        )
    root = 1 if half_line else 2
    if origin is not sympy.oo and not (origin.is_Rational and origin.q <= root):
        raise NoRouteError(
            f"The callable {name} starts like z^({origin}), and values are followed in powers of "
            "z, and of its root inside a support, only. Write it as a formula."
        )
    if half_line:
        return _Quadrature(term, dim).component(origin)
    # A series through the values; a second series shows its error.
    power = sympy.Integer(2) if origin is sympy.oo else sympy.Rational(1, origin.q)
    edge = function.edge if function.support * term.scale == support else None
    edge = find_edge(term, support) if edge is None else edge
    (first, miss), (second, _) = (
        fit_ball_form(term, support, edge, power, more=more) for more in (0, _MORE)
    )
    density = ball_component(first, dim)
    return replace(density, doubt=_difference(density, ball_component(second, dim), miss))


def _difference(first: Panelled, second: Panelled, miss: float) -> tuple[FloatArray, FloatArray]:
    """Logarithms of radii, and what two densities differ by there, relative to the envelope."""
    w = np.geomspace(_FIRST * first.bulk[0], _LAST * first.bulk[1], _GRID)
    # Points between those of the grid meet other phases of the wave.
    w = np.sort(np.concatenate([w, w * 1.003, w * 1.011]))
    envelope = first.log_envelope(w)
    (sign, log), (other, size) = (density.signed_log(w) for density in (first, second))
    difference = sign * np.exp(log - envelope) - other * np.exp(size - envelope)
    padded = np.pad(np.abs(difference), _NEIGHBOURS, mode="edge")
    window = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
    differs = _SAFETY * window.max(axis=1) + miss
    if not differs.min() < _LEAST_DIGITS:
        raise AccuracyError(
            "The values of a callable in double precision leave no digit of its density: two "
            f"series through them differ by {differs.min():.1e} of it at best. Write the kernel "
            "as a formula."
        )
    return np.log(w), differs


# --- callables without a support ------------------------------------------------------------------


class _Quadrature:
    """The transform of a callable that is negligible beyond a distance, by quadrature."""

    def __init__(self, term: OpaqueTerm, dim: int) -> None:
        self.name, self.dim = term.function.__name__, dim
        self.values = partial(values_of, term)
        self.reach, self.frequency = self._find_reach(float(term.scale)), 0.0

    def _find_reach(self, scale: float) -> float:
        """A distance beyond which the callable is negligible in the integral over R^d."""
        z = scale * np.geomspace(1e-3, _LARGEST_REACH, 401)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.values(z))) + (self.dim - 1) * np.log(z)
        alive = np.flatnonzero(size > size.max() + np.log(_ENDED))
        if alive.size and alive[-1] < z.size - 1:
            return float(z[alive[-1] + 1])
        found = "has not decayed at" if alive.size else f"is 0 at every distance from {z[0]:g} to"
        raise NoRouteError(
            f"The callable {self.name} {found} z = {z[-1]:g}. Values give the density of a kernel "
            "with a support or a fast decay: measure distances in another unit, or write it as a "
            "formula."
        )

    def component(self, origin: sympy.Expr) -> Component:
        """The density; odd powers of z at 0 give its tail."""
        first = _NEAR / self.reach
        odd = None if origin is sympy.oo else self._odd_powers(origin)
        if odd is None:
            self.frequency = self._highest_frequency()
        last = self.frequency if odd is None else self._start_of(odd, first)
        count = max(int(np.log(last / first) / _WIDTH), 1)
        panels = fit_panels(self.sample, np.linspace(np.log(first), np.log(last), count + 1))
        weight = np.exp(panels.level - panels.level.max()) * panels.half
        share = float(weight @ panels.error) / float(weight @ panels.top)
        if share > _FEWEST_DIGITS:
            raise AccuracyError(
                f"The integral of the callable {self.name} cancels in dimension {self.dim}: "
                f"double precision leaves an error of {share:.1e} of the density. Write the "
                "kernel as a formula."
            )
        if odd is None:
            # What is not known well at the upper end is left out, and counts as error.
            kept = 1 + int(np.flatnonzero(panels.error <= _NOISE_LIMIT * panels.top)[-1])
            sizes = panels.level + np.log(panels.top + panels.error)
            panels = panels.first(kept)
            at_end = np.log(abs(panels.series[-1].sum()) + panels.error[-1])
            at_end += panels.level[-1] + panels.slope[-1] * panels.half[-1]
            end, size = float(np.exp(panels.high[-1])), float(max([at_end, *sizes[kept:]]))
            ending = Powers.vanishing(end, size + 6.0 * np.log(last / end) - np.log(end))
        return Panelled(
            panels=panels,
            total=float(self.values(np.zeros(1))[0]),
            origin_exponent=float(self.dim - 1),
            bulk=panels.bulk(_OUTSIDE),
            decay=np.inf if odd is None else -float(odd.exponents[0]),
            beginning=self._beginning(first),
            ending=ending if odd is None else odd,
        )

    def _weights(self, phase: float, refinement: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Nodes z, and weights times k (z / reach)^(d-1), for waves of so many radians."""
        count = int(refinement * (_PANELS + _PANELS_PER_RADIAN * phase)) + 1
        # Squares make narrow panels next to z = 0, where callables vary most.
        edges = self.reach * np.linspace(0.0, 1.0, count + 1) ** 2
        half = 0.5 * np.diff(edges)
        z = ((edges[:-1] + half)[:, None] + half[:, None] * NODES).ravel()
        weight = (half[:, None] * WEIGHTS).ravel() * self.values(z)
        return z, weight * np.exp((self.dim - 1) * np.log(z / self.reach))

    def _front(self, w: FloatArray) -> FloatArray:
        """Logarithm of the factor of the integral in w rho(w)."""
        d = self.dim
        constant = (2 - d) * np.log(2.0) - 2.0 * gammaln(0.5 * d)
        return np.asarray(constant + (d - 1) * np.log(w * self.reach) + np.log(w))

    def sample(self, centre: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """w rho and its error, as :func:`fit_panels` takes them."""
        w = centre * np.exp(offsets)
        results, rounding = [], np.zeros_like(w)
        for refinement in (1.0, 1.5):
            z, weight = self._weights((float(w.max()) + self.frequency) * self.reach, refinement)
            terms = plane_wave_mean(self.dim, w[:, None] * z) * weight
            results.append(terms.sum(axis=1))
            rounding = EPS * (2.0 * np.abs(weight).sum() + np.abs(terms).sum(axis=1))
        front = self._front(w)
        # The logarithm of the factor is rounded too.
        rounding += EPS * (4.0 + 4.0 * np.abs(front)) * np.abs(results[1])
        log = float(front.max())
        factor = np.exp(front - log)
        error = _SAFETY * np.abs(results[1] - results[0]) + rounding
        return results[1] * factor, error * factor, log

    def _beginning(self, w: float) -> Powers:
        """The density below a small radius: a power, and the size of the next one."""
        (value,), (error,), log = self.sample(w, np.zeros(1))
        size = abs(value) + error
        logs = log - np.log(w) + np.log(size) + np.array([0.0, 2.0 * np.log(w * self.reach)])
        signs, wrong = np.array([value, 0.0]) / size, np.array([error / size, 1.0])
        return Powers(np.asarray(self.dim + np.array([-1.0, 1.0])), signs, logs, wrong, w)

    def _highest_frequency(self) -> float:
        """The highest frequency that the callable holds above the rounding of its values.

        A smooth even function that has ended at ``reach`` is a cosine series on [0, reach], whose
        coefficients are its spectrum on a line; in R^d the spectrum ends where it ends on a line.
        """
        highest = 0.0
        for count in _COSINES:
            z = self.reach * np.arange(count + 1) / count
            spectrum = np.abs(dct(self.values(z), type=1))
            top, rest = float(spectrum.max()), float(np.median(spectrum[count // 2 :]))
            above = np.flatnonzero(spectrum > max(_NOISE * rest, _ROUNDING * top))
            highest = float(np.pi * above[-1] / self.reach) if above.size else np.inf
            if rest <= _QUIET * top and above.size and above[-1] < count // 2:
                return 1.2 * highest + 4.0 / self.reach
        raise AccuracyError(
            f"The callable {self.name} holds frequencies up to {highest:.3g} or more on "
            f"z <= {self.reach:.3g}: {_COSINES[-1]} values do not resolve it. It is not as smooth "
            "as was stated (origin=), or it varies much faster than it ends: write it as a formula."
        )

    def _odd_powers(self, origin: sympy.Expr) -> Powers:
        """The density at large w from the odd powers of z at 0."""
        found, second = (self._taylor(degree) for degree in _ORIGIN_DEGREES)
        powers = np.arange(float(origin), _ORIGIN_POWERS, 2.0)
        growth = powers * np.log(2.0) + gammaln(0.5 * (self.dim + powers))
        front = 2.0 * np.exp(growth - gammaln(0.5 * self.dim)) * rgamma(-0.5 * powers)
        at = powers.astype(int)
        value, error = front * found[at], _SAFETY * np.abs(front * (found[at] - second[at]))
        size = np.maximum(np.abs(value), error) + 5e-324
        return Powers(-(powers + 1.0), value / size, np.log(size), error / size)

    def _start_of(self, odd: Powers, first: float) -> float:
        """The radius from which the tail is at least as accurate as the integral."""
        w = np.geomspace(4.0 * first, 1e4 / self.reach * 10.0, 200)
        _, weight = self._weights(0.0)
        noise = np.log(2.0 * EPS * np.abs(weight).sum()) + self._front(w) - np.log(w)
        wrong = odd.log_envelope(w) + np.log(odd.relative_error(w))
        good = np.flatnonzero(wrong <= noise)
        return float(w[good[0]] if good.size else w[-1])

    def _taylor(self, degree: int) -> FloatArray:
        """Coefficients of powers of z at 0, from the longest interval that the degree resolves."""
        for end in 0.25 * self.reach * 0.5 ** np.arange(_ORIGIN_HALVINGS):
            z = 0.5 * end * (1.0 + chebyshev.chebpts1(2 * degree))
            value = self.values(z)
            series = Chebyshev.fit(z, value, degree, [0.0, end])
            if np.abs(series(z) - value).max() <= 16.0 * EPS * np.abs(value).max():
                least = EPS * float(np.abs(series.coef).max())
                plain = series.trim(least).convert(domain=[-1.0, 1.0], kind=Polynomial).coef
                found = np.pad(plain, (0, _ORIGIN_POWERS))[: _ORIGIN_POWERS + 1]
                return np.asarray(found, dtype=float)
        raise AccuracyError(
            f"The callable {self.name} is no power series next to z = 0 as far as its values "
            "show, so its density has no tail that can be read off. State origin=..., or write it "
            "as a formula."
        )
