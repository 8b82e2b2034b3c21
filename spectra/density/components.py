r"""The spectral density of a kernel in one dimension, as a sum of components on the radius.

The signed radial density is :math:`\rho(w) = S_{d-1} w^{d-1} \mu(w)`, so that
:math:`k(z) = \int_0^\infty \Omega_d(w z)\,\rho(w)\,dw` plus the atoms.  It is handled through
logarithms, because neither :math:`w^{d-1}` nor :math:`S_{d-1}` fits a double at d = 1000.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import NumberArray
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, real_array
from spectra.base.special.bessel import log_sphere_area
from spectra.errors import NoRouteError, ParameterError

if TYPE_CHECKING:
    import sympy

    from spectra.density.panels.oscillating_tail import OscillatingTail
    from spectra.kernels.kernel import Kernel

__all__ = [
    "Atom",
    "Component",
    "Evaluation",
    "Radial",
    "SizedFunction",
    "SpectralDensity",
]

#: A function of the radius as a factor of modulus 1 and the logarithm of its absolute value.
SizedFunction = Callable[[FloatArray], tuple[NumberArray, FloatArray]]
#: What :meth:`Radial.evaluate` returns.
Evaluation = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Atom:
    """A signed mass spread evenly over the sphere |w| = radius (a point when radius is 0)."""

    radius: float
    mass: float
    error: float = 0.0

    @classmethod
    def of(cls, radius: sympy.Expr, mass: sympy.Expr) -> Atom:
        """One that is known exactly, rounded."""
        value = float(mass)
        return cls(float(radius), value, error=abs(value) * 2.0**-52)


class Radial(ABC):
    """What is known of a signed density at radii: logarithms, and how far they may be off."""

    @abstractmethod
    def evaluate(self, w: FloatArray) -> Evaluation:
        """Sign, logarithms of absolute value and local size, and relative error at radii w > 0.

        The local size is the absolute value unless it oscillates; the bound of the error is
        relative to it.
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


class Component(Radial):
    """One summand of the signed radial density; its coefficient is included.

    Attributes
    ----------
    total : float
        The integral of the component over all radii, which is its share of k(0).
    origin_exponent : float
        The component behaves like ``w**origin_exponent`` near w = 0 (greater than -1).
    bulk : tuple of float
        Two positive radii between which most of the mass lies; searches and panels start there.
    breaks : tuple of (radius, exponent)
        Radii at which it is not smooth: there it behaves like ``|w - radius|**exponent`` at most,
        with -1 < exponent <= 0, times at most a logarithm.  A kernel with a wave exp(ibz) that
        decays slowly has one at b.
    end : float
        The radius beyond which it vanishes, ``inf`` without one.  It is the last one of the breaks,
        before which the component behaves like ``(end - w)**exponent``, with any exponent.
    decay : float
        At infinity it falls like ``w**-decay``; ``inf`` where it falls faster than every power.
    tail : OscillatingTail or None
        How it behaves beyond the bulk where it oscillates on to infinity.
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

        None if it has no such form, which avoids the rounding of w next to a break.
        """
        return None

    def feature_radii(self) -> FloatArray:
        """Radii that resolve the component; empty if it is a formula."""
        return np.empty(0)


@dataclass(frozen=True, eq=False)
class SpectralDensity:
    r"""Density of the spectral measure of a kernel on R^dim, with its route and its error.

    .. math:: k(z) = \sum_{atoms} m\,\Omega_d(r z) + \int_0^\infty \Omega_d(w z) \rho(w) dw

    Attributes
    ----------
    kernel, dim :
        What was transformed, and in which dimension.
    components : tuple of Component
        The summands of the absolutely continuous part.
    atoms : tuple of Atom
        Masses on spheres |w| = radius (at the origin for a constant).
    route : str
        The route that found it: "lookup", "periodic", "symbolic", "series" or "numeric".
    expr : sympy expression or None
        mu(w) as a formula in ``w`` for this dimension, where one is known.
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
        """Sign and log|rho(w)|, which is safe in every dimension."""
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
        """Signed radial density rho(w) = S_{d-1} w^(d-1) mu(w); the atoms are apart.

        Where a measure is infinite it may exceed every double, and then it is given as infinite.
        """
        sign, log = self.signed_log_radial(w)
        return np.asarray(sign * _exp(log))

    def density(self, w: ArrayLike) -> FloatArray:
        """Density mu(w) on R^dim with respect to Lebesgue measure; the atoms are apart."""
        sign, log = self.signed_log_radial(w)
        w = _positive_radii(w)
        return np.asarray(sign * _exp(log - log_sphere_area(self.dim) - (self.dim - 1) * np.log(w)))

    def latex(self) -> str:
        """The formula of mu(w) as LaTeX.

        Raises
        ------
        NoRouteError
            Where the route found numbers and no formula.
        """
        if self.expr is None:
            raise NoRouteError(
                f"The {self.route} route gives numbers for the density of {self.kernel}, and no "
                'formula: ask spectral_density(kernel, dim, route="symbolic") for one.'
            )
        import sympy

        return str(sympy.latex(self.expr))

    @staged("evaluating the error of a spectral density")
    def error(self, w: ArrayLike) -> FloatArray:
        """Bound of |error| of :meth:`radial` at w."""
        w = _positive_radii(w)
        bound = np.zeros_like(w)
        for c in self.components:
            *_, size, share = c.evaluate(w)
            # Numbers below the smallest normal one lose their digits, down to a logarithm of -inf.
            bound += _exp(size) * (share + 4 * np.finfo(float).eps) + np.finfo(float).tiny
        return bound


def _exp(log: FloatArray) -> FloatArray:
    """The exponential; infinite beyond the doubles."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log))


def _positive_radii(w: ArrayLike) -> FloatArray:
    w = real_array(w, "w")
    good = (w > 0) & np.isfinite(w)
    if not np.all(good):
        raise ParameterError(
            f"A spectral density was asked for at the radius {w[~good].ravel()[0]}. It is a "
            "function of the length of a frequency: give finite radii greater than 0 (atoms are "
            "listed apart)."
        )
    return w
