r"""The spectral density of a kernel on R^d: components, which are functions of w, and atoms.

The radial density :math:`\rho(w) = S_{d-1} w^{d-1} \mu(w)` may have either sign.  It is computed as
a sign and a logarithm, since at d = 1000 neither :math:`w^{d-1}` nor :math:`S_{d-1}` is a double.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.polynomial import polyfit
from numpy.typing import ArrayLike

from spectra.base.accuracy import EPS
from spectra.base.arrays import NumberArray
from spectra.base.bessel import log_sphere_area
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, real_array
from spectra.errors import AccuracyError, NoRouteError, ParameterError

if TYPE_CHECKING:
    import sympy

    from spectra.base.piecewise import Chart, Piecewise
    from spectra.density.oscillating_tail import OscillatingTail
    from spectra.kernels.kernel import Kernel

__all__ = ["Atom", "Component", "Evaluation", "RadialFunction", "SignedLog", "SpectralDensity"]

# At w = 0: the relative error of a closed form, the agreement of two polynomials, and that of two
# other estimates.
_EXACT, _SAME, _NEAR = 1e-10, 1e-6, 1e-2

#: A function of the radius, as its sign (or phase factor) and the logarithm of its absolute value.
SignedLog = Callable[[FloatArray], tuple[NumberArray, FloatArray]]
#: Sign, log of the absolute value, log of the local size and relative error of a RadialFunction.
Evaluation = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


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
        The kernel, and the dimension of its inputs.
    components : tuple of Component
        The summands of the absolutely continuous part.
    atoms : tuple of Atom
        Masses on spheres |omega| = radius (at the origin for a constant).
    route : str
        The route that found it: "lookup", "periodic", "symbolic", "series" or "numeric".
    expr : sympy expression or None
        mu(w) as a formula in ``w`` for this dimension, if one is known.
    """

    kernel: Kernel
    dim: int
    components: tuple[Component, ...]
    atoms: tuple[Atom, ...]
    route: str
    expr: sympy.Expr | None = None

    def __repr__(self) -> str:
        return (
            f"SpectralDensity of {self.kernel} on R^{self.dim} by {self.route} "
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
        """RadialFunction density rho(w) = S_{d-1} w^(d-1) mu(w), without the atoms.

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
                f"The density of {self.kernel} on R^{self.dim} at w = 0 is lost in its errors: "
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
                f"The {self.route} route gives numbers for the density of {self.kernel}, and no "
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
