r"""The spectral density of a kernel on R^d: components, which are functions of w, and atoms.

The radial density :math:`\rho(w) = S_{d-1} w^{d-1} \mu(w)` may have either sign.  It is computed as
a sign and a logarithm, since at d = 1000 neither :math:`w^{d-1}` nor :math:`S_{d-1}` is a double.

Per unit of the variable t of a chart of w, it decays at least exponentially at both ends, so that
series resolve it: a chi distribution at d = 1000 as well as a tail w^-1.1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial.polynomial import polyfit
from numpy.typing import ArrayLike, NDArray

from spectra.base.accuracy import EPS
from spectra.base.arrays import ComplexArray, NumberArray
from spectra.base.bessel import log_sphere_area
from spectra.base.fitting import Integrand
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, real_array
from spectra.base.piecewise import Chart, Piecewise
from spectra.errors import AccuracyError, NoRouteError, ParameterError

if TYPE_CHECKING:
    import sympy


__all__ = ["Atom", "Component", "Evaluation", "OscillatingTail", "RadialFunction", "SignedLog",
           "SpectralDensity", "break_depths", "charts_between", "proved_sign",
           "require_moderate_scale", "sample_density"]  # fmt: skip

# At w = 0: the relative error of a closed form, the agreement of two polynomials, and that of two
# other estimates.
_EXACT, _SAME, _NEAR = 1e-10, 1e-6, 1e-2

#: A function of the radius, as its sign (or phase factor) and the logarithm of its absolute value.
SignedLog = Callable[[FloatArray], tuple[NumberArray, FloatArray]]
#: Sign, log of the absolute value, log of the local size and relative error of a RadialFunction.
Evaluation = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
# The relative rounding error of R w as a long double, and a bound that keeps R w a finite double.
_PHASE_EPS, _LARGEST_PHASE = float(np.finfo(np.longdouble).eps), 2.0**1020
# Products and powers of radii must stay within the range of doubles.
_LARGEST_RADIUS = 1e50
# A difference of two doubles loses digits if it is below this share of them.
_CLOSE = 1.0 / 16.0


@dataclass(frozen=True)
class Atom:
    """A signed mass spread evenly over the sphere |omega| = radius (a point if radius is 0)."""

    radius: float
    mass: float
    error: float = 0.0  # bound of the absolute error of the mass

    @classmethod
    def of(cls, radius: sympy.Expr, mass: sympy.Expr) -> Atom:
        """An atom with an exact radius and mass, rounded to doubles."""
        value = float(mass)
        return cls(float(radius), value, error=abs(value) * EPS)


class RadialFunction(ABC):
    """A function of the radius with either sign: logarithms of values, and bounds of errors."""

    @abstractmethod
    def evaluate(self, w: FloatArray) -> Evaluation:
        """Sign, logarithms of absolute value and local size, and relative error at radii w > 0.

        The local size is the amplitude if the function oscillates, else the absolute value.  The
        error bound is relative to it.
        """

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of the absolute value at radii w > 0."""
        return self.evaluate(w)[:2]

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the local size."""
        return self.evaluate(w)[2]

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error at w, relative to the exponential of :meth:`log_envelope`."""
        return self.evaluate(w)[3]


@dataclass(frozen=True, eq=False)
class OscillatingTail:
    r"""The radial density for w >= start of a kernel that vanishes beyond the distance R.

    With s = R w and n = ``order``,

    .. math:: \rho(w) = A(w) \cos\theta(w) + b(w),\quad
              A e^{i\theta} = (1-n^2/s^2)^{-1/4} e^{i\theta_n(s)} a(w),\quad
              \theta_n(s) = \sqrt{s^2-n^2} - n \arccos(n/s) - \pi/4 ,

    with Debye's phase theta_n of the Hankel function of order n.
    """

    support: tuple[float, float]  # R as the sum of two doubles
    start: float
    order: float
    quarter_turns: float  # n + 1/2 modulo 4: theta_n(s) - s tends to -pi/2 times this
    # The complex a and the real b behave like w^-exponent and w^-background_exponent: with
    # x = start/w they are x to these powers times polynomials in a root of x on [0, 1].
    exponent: float
    amplitude_series: Piecewise
    fit_error: float  # the error of both series, relative to their units
    background_exponent: float = math.inf
    background_series: Piecewise | None = None

    @property
    def frequency(self) -> float:
        """The number R: at large w the wave is close to cos(R w + constant)."""
        return self.support[0]

    def _phase_variable(self, w: FloatArray) -> NDArray[np.longdouble]:
        """R w as long doubles, so that large phases keep their digits."""
        high, low = self.support
        return np.minimum((np.longdouble(high) + low) * w, _LARGEST_PHASE)

    def _evaluate(
        self, exponent: float, series: Piecewise, w: FloatArray
    ) -> tuple[NDArray[Any], FloatArray]:
        """The polynomials at w, and the logarithm of the factor in front of them."""
        x = self.start / w
        return series(x), series.unit[0] + exponent * np.log(x)

    def _evaluate_background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.background_series is None:
            return np.zeros_like(w), np.full_like(w, -np.inf)
        return self._evaluate(self.background_exponent, self.background_series, w)

    def _wave(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """A exp(i (theta - R w)) as a complex number of modulus about 1 and a log factor."""
        s, n = self._phase_variable(w).astype(float), self.order
        q = n / s
        value, log_factor = self._evaluate(self.exponent, self.amplitude_series, w)
        # sqrt(s^2 - n^2) - s without cancellation; two roots, since s^2 may overflow.
        phase = n * np.arcsin(q) - n * (n / (s + np.sqrt(s - n) * np.sqrt(s + n)))
        rotation = np.exp(1j * (phase - 0.5 * np.pi * self.quarter_turns))
        return value * rotation, log_factor - 0.25 * np.log1p(-q * q)

    def amplitude(self, w: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """exp(i (theta - R w)), which tends to a constant, and log A."""
        value, log_factor = self._wave(w)
        return value / np.abs(value), log_factor + np.log(np.abs(value))

    def background(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The sign of b and log|b|."""
        value, log_factor = self._evaluate_background(w)
        with np.errstate(divide="ignore"):
            return np.sign(value), log_factor + np.log(np.abs(value))

    def evaluate(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sign, logarithms of absolute value and local size A + |b|, and relative error."""
        wave, log_wave = self._wave(w)
        background, log_background = self._evaluate_background(w)
        s = self._phase_variable(w)
        exp_is = (np.cos(s) + 1j * np.sin(s)).astype(complex)
        s = s.astype(float)
        top = np.maximum(log_wave, log_background)
        unit, background_unit = np.exp(log_wave - top), np.exp(log_background - top)
        value = (wave * exp_is).real * unit + background * background_unit
        size = np.abs(wave) * unit + np.abs(background) * background_unit
        envelope = top + np.log(size)
        # ``fit_error`` is relative to the units of the two series, which may exceed ``size``.
        weight = np.maximum((unit + background_unit) / size, 1.0)
        # The phase sums terms of size n asin(n/s), each rounded; n/s itself is rounded too.
        phase = self.order * (np.arcsin(self.order / s) + 2.0 * self.order / s) + 16.0
        power = (abs(self.exponent) + 1.0) * np.abs(np.log(w / self.start))
        error = self.fit_error * weight + EPS * (phase + power + np.abs(envelope))
        error += np.minimum(_PHASE_EPS * s, 2.0)
        with np.errstate(divide="ignore"):
            return np.sign(value), top + np.log(np.abs(value)), envelope, error


class Component(RadialFunction):
    """One summand of the radial density, including its coefficient.

    Attributes
    ----------
    total : float
        The integral of the component over all radii, which is its share of k(0).
    origin_exponent : float
        The component behaves like ``w**origin_exponent`` near w = 0 (greater than -1).  A factor
        log(w) counts as a slightly smaller exponent.
    bulk : tuple of float
        Two positive radii between which most of the mass lies; searches and panels start there.
    breaks : tuple of (radius, exponent)
        Radii at which it is not smooth: there it grows at most like ``|w - radius|**exponent``
        times a logarithm, with -1 < exponent <= 0.  A wave exp(ibz) in the kernel that decays
        slowly makes a break at w = b.
    end : float
        The radius beyond which it vanishes, or ``inf``.  A finite end is the last of the breaks;
        there the component behaves like ``(end - w)**exponent``, and the exponent may be positive.
    decay : float
        At infinity it falls like ``w**-decay``; ``inf`` if it falls faster than every power.
    tail : OscillatingTail or None
        Its form at large radii if it oscillates there.
    has_one_sign : bool
        Whether its formula proves that it has the sign of its total everywhere.
    """

    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...] = ()
    end: float = np.inf
    tail: OscillatingTail | None = None
    has_one_sign: bool = False

    def by_distance(self, radius: float, side: float) -> Component | None:
        """The component at ``radius + side * distance`` as a function of the distance.

        None if it has no such form.  Next to a break, the form avoids the rounding of w.
        """
        return None

    def panels_in(self, chart: Chart) -> Piecewise | None:
        """The density per unit of t on panels of a chart, if they are stored; else None."""
        return None

    def edges(self) -> FloatArray:
        """Radii where its panels begin; none if it is a formula."""
        return np.empty(0)


@dataclass(frozen=True, eq=False)
class SpectralDensity:
    r"""Density of the spectral measure of a kernel on R^dim.

    .. math:: k(z) = \sum_{atoms} m\,\Omega_d(r z) + \int_0^\infty \Omega_d(w z) \rho(w) dw

    Attributes
    ----------
    kernel, dim :
        The kernel (None for a given spectrum), and the dimension of its inputs.
    components : tuple of Component
        The summands of the absolutely continuous part.
    atoms : tuple of Atom
        Masses on spheres |omega| = radius (at the origin for a constant).
    route : str
        The route that found it: "lookup", "periodic", "symbolic", "series", "numeric", or "given".
    expr : sympy expression or None
        mu(w) as a formula in ``w`` for this dimension, if one is known.
    """

    kernel: Any
    dim: int
    components: tuple[Component, ...]
    atoms: tuple[Atom, ...]
    route: str
    expr: sympy.Expr | None = None
    label: str = ""  # of a given spectrum

    @property
    def name(self) -> str:
        """The kernel or the given spectrum as text."""
        return str(self.kernel or self.label)

    def __repr__(self) -> str:
        return (
            f"SpectralDensity of {self.name} on R^{self.dim} by {self.route} "
            f"(components: {len(self.components)}, atoms: {len(self.atoms)})"
        )

    @staged("evaluating a spectral density")
    def signed_log_radial(self, w: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho(w)|, which does not overflow in any dimension."""
        w = _positive_radii(w)
        if not self.components:
            return np.ones_like(w), np.full_like(w, -np.inf)
        pairs = [c.signed_log(w) for c in self.components]
        top = np.max([log for _, log in pairs], axis=0)
        safe_top = np.where(np.isfinite(top), top, 0.0)
        total = np.sum([s * np.exp(log - safe_top) for s, log in pairs], axis=0)
        with np.errstate(divide="ignore"):
            return np.sign(total), np.log(np.abs(total)) + safe_top

    def radial(self, w: ArrayLike) -> FloatArray:
        """The radial density rho(w) = S_{d-1} w^(d-1) mu(w), without the atoms.

        It is ``inf`` where it exceeds the largest double.
        """
        sign, log = self.signed_log_radial(w)
        return np.asarray(sign * _exp(log))

    def density(self, w: ArrayLike) -> FloatArray:
        """Density mu(w) on R^dim with respect to Lebesgue measure, without the atoms.

        The value at w = 0 is the limit, which may be infinite.  A numeric density has six digits
        there if it is smooth, and otherwise at least two or an AccuracyError.
        """
        w = real_array(w, "w")
        if np.any(w == 0.0):
            value = np.full_like(w, self._density_at_zero)
            value[w != 0.0] = self.density(w[w != 0.0])
            return value
        sign, log = self.signed_log_radial(w)
        return np.asarray(sign * _exp(log - log_sphere_area(self.dim) - (self.dim - 1) * np.log(w)))

    __call__ = density

    @cached_property
    def _density_at_zero(self) -> float:
        """The limit of the density at w = 0."""
        if not self.components:
            return 0.0
        bulk = min(c.bulk[0] for c in self.components)
        w = bulk * 2.0 ** np.array([-60.0, -120.0])
        near, nearest = self.density(w)
        least = min(c.origin_exponent for c in self.components)
        if least < self.dim - 1.0 or abs(nearest) > 1.001 * abs(near):
            return float(np.copysign(np.inf, near))
        if max(c.relative_error(w)[0] for c in self.components) < _EXACT:
            return float(nearest)
        # Samples have few digits there; if the density is smooth, polynomials in w^2 through nine
        # radii of the bulk have more.
        x = np.arange(1.0, 10.0) / 9.0
        first, second = (
            polyfit((s * x) ** 2, self.density(s * bulk * x), 8)[0] for s in (1.0, 0.7)
        )
        if abs(first - second) < _SAME * abs(second):
            return float(second)
        # Else the density approaches its limit like a power.  Aitken's extrapolation confirms it,
        # from radii that have samples up to d = 6.
        a, b, c = self.density(bulk * 0.5 ** np.arange(3.0, 6.0))
        limit = c - (c - b) ** 2 / (c - 2.0 * b + a)
        if self.dim > 6 or not abs(near - limit) < _NEAR * abs(limit):
            raise AccuracyError(
                f"The density of {self.name} on R^{self.dim} at w = 0 is lost in its errors: "
                "evaluate it at small w > 0."
            )
        return float(near)

    def latex(self) -> str:
        """The formula of mu(w) as LaTeX.

        Raises
        ------
        NoRouteError
            If the route found numbers and no formula.
        """
        if self.expr is None:
            raise NoRouteError(
                f"The {self.route} route gives numbers for the density of {self.name}, and no "
                'formula. Try spectral_density(kernel, dim, route="symbolic").'
            )
        import sympy

        return str(sympy.latex(self.expr))

    @staged("evaluating the error of a spectral density")
    def error(self, w: ArrayLike) -> FloatArray:
        """Bound of the absolute error of :meth:`radial` at w."""
        w = _positive_radii(w)
        bound = np.zeros_like(w)
        for c in self.components:
            *_, log_size, relative = c.evaluate(w)
            # Doubles below ``tiny`` have fewer digits.
            bound += _exp(log_size) * (relative + 4.0 * EPS) + np.finfo(float).tiny
        return bound


def _exp(log: FloatArray) -> FloatArray:
    """The exponential; ``inf`` beyond the largest double."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log))


def _positive_radii(w: ArrayLike) -> FloatArray:
    w = real_array(w, "w")
    good = (w > 0) & np.isfinite(w)
    if not np.all(good):
        raise ParameterError(
            f"A spectral density was evaluated at the radius {w[~good].ravel()[0]}. Radii are "
            "lengths of frequencies: give finite values greater than 0. The attribute atoms lists "
            "the masses at single radii."
        )
    return w


def charts_between(
    breaks: Mapping[float, float], low: float, high: float
) -> list[tuple[Chart, float, float]]:
    """Charts that cover the radii from exp(low) to exp(high), ascending: (chart, start, stop) in t.

    Parameters
    ----------
    breaks : mapping of radius to depth
        Radii b at which a function is not smooth, and the e-folds of |w - b| / b that are covered.
        Charts end and begin at each b, and halfway to the next one below it (or to 0).
    low, high : float
        Logarithms of radii.

    Examples
    --------
    >>> [(c.origin, c.side) for c, *_ in charts_between({1.0: 40.0}, -9.0, 9.0)]
    [(0.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
    """
    # Relative error of exp(high) from the rounding of high.
    rounding = (4.0 + abs(high)) * EPS
    end = float(np.exp(high)) * (1.0 + rounding)
    ranges, origin, start = [], 0.0, low
    for radius, depth in sorted(breaks.items()):
        if radius > end:
            break
        middle = 0.5 * (origin + radius)
        ranges.append((Chart(origin), start, float(np.log(middle - origin))))
        stop = depth - float(np.log(radius))
        ranges.append((Chart(radius, -1.0), -float(np.log(radius - middle)), stop))
        origin, start = radius, float(np.log(radius)) - depth
    if not origin:
        ranges.append((Chart(), low, high))
    elif np.exp(high) > origin * (1.0 + rounding):
        ranges.append((Chart(origin), start, float(np.log(np.exp(high) - origin))))
    return [(chart, start, stop) for chart, start, stop in ranges if stop > start]


def break_depths(components: Iterable[Component], depth: float) -> dict[float, float]:
    """The breaks of all components, each with the e-folds of the distance that an integral needs.

    The integral over smaller distances is below exp(-depth) of the component.
    """
    found: dict[float, float] = {}
    for component in components:
        for radius, exponent in component.breaks:
            sides = (component.by_distance(radius, side) for side in (-1.0, 1.0))
            width = min((part.bulk[1] for part in sides if part is not None), default=radius)
            folds = depth / (1.0 + min(exponent, 0.0)) + max(float(np.log(radius / width)), 0.0)
            found[radius] = max(found.get(radius, 0.0), folds)
    return found


def proved_sign(components: Iterable[Component]) -> int:
    """The sign that all components provably have at every radius; 0 if there is none."""
    signs = {int(np.sign(c.total)) if c.has_one_sign else 0 for c in components}
    return signs.pop() if len(signs) == 1 else 0


def sample_density(components: Iterable[Component], dim: int, chart: Chart) -> Integrand:
    """The sum rho(w) dw/dt as a function of t, for :func:`~spectra.base.fitting.fit`."""
    summands = list(components)

    def values(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        sampled = np.array([_sample_component(c, dim, chart, t) for c in summands])
        sign, log, log_error = np.moveaxis(sampled, 1, 0)
        log_unit = np.maximum(log, log_error).max(axis=(0, -1))[..., None]
        log_unit = np.where(np.isfinite(log_unit), log_unit, 0.0)
        value = (sign * np.exp(log - log_unit)).sum(axis=0)
        return value, np.exp(log_error - log_unit).sum(axis=0), log_unit[..., 0]

    return values


def _sample_component(component: Component, dim: int, chart: Chart, t: FloatArray) -> FloatArray:
    """Sign, logarithm and logarithm of the error of rho(w) dw/dt of one component."""
    found = np.multiply.outer((0.0, -np.inf, -np.inf), np.ones_like(t))
    radii, end = chart.radius(t), component.end
    inside = radii < end
    w, log_slope = radii[inside], chart.log_slope(t)[inside]
    if not w.size:
        return found
    by_distance = component.by_distance(chart.origin, chart.side) if chart.origin else None
    if by_distance is not None:
        sign, log, log_size, relative = by_distance.evaluate(np.exp(log_slope))
    else:
        sign, log, log_size, relative = component.evaluate(w)
    if by_distance is None and chart.side < 0.0 and end == chart.origin:
        # rho ~ (end - w)^power: w is rounded, the distance exp(log_slope) is not.  Correct the
        # value, and take the error from radii where end - w keeps its digits.
        power = dict(component.breaks)[end]
        log_slope = log_slope + power * (log_slope - np.log(np.abs(w - end)))
        relative = component.relative_error(np.minimum(w, end - _CLOSE * end))
    # Rounding of w and of the terms of log|rho|, one of which is (dim - 1) log w, in units of EPS.
    roundings = 4 + dim * (1.0 + np.abs(np.log(w)))
    roundings += 2.0 * np.where(np.isfinite(log), np.abs(log), 0.0)
    if component.tail is not None:
        # Rounding of t and of w changes the phase of the wave: errors in EPS for each radian.
        per_radian = np.maximum(0.25 * (1.0 + np.abs(t[inside])), 1.0)
        roundings += component.tail.frequency * w * per_radian
    log_error = log_size + log_slope + np.log(relative + EPS * roundings)
    found[:, inside] = sign, log + log_slope, log_error
    return found


def require_moderate_scale(components: Iterable[Component], atoms: Iterable[Atom] = ()) -> None:
    """Raise an AccuracyError if radii are too large or too small for powers of them in doubles."""
    bulks = [component.bulk for component in components]
    for low, high in (*bulks, *((a.radius, a.radius) for a in atoms if a.radius > 0.0)):
        if not (low >= 1.0 / _LARGEST_RADIUS and high <= _LARGEST_RADIUS):
            raise AccuracyError(
                f"A part of the spectrum has its mass at radii from {low:.1e} to {high:.1e}, and "
                "powers of such numbers leave the range of doubles. Measure distances in another "
                "unit: k.rescale(c) is k(z/c) and divides radii by c. If the radii span too many "
                "decades, k decays too slowly: make a measure for the distances in your data with "
                "design(...)."
            )
