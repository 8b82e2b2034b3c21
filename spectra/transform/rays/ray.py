r"""A kernel on a ray from the origin, and whether the ray may stand for the half-line.

With z = exp(s + i psi) the integrals of a kernel are sums over s = n h, which converge like
exp(-2 pi a/h), where a is the angle to the nearest direction in which the integrand stops being
analytic or begins to grow.  The ray and the half-line have one integral only if neither a
singularity nor growth lies between them.  That is looked at once for each ray, without any
oscillation: with :math:`g(u) = u^4 e^{-u}`, which is entire and falls in the right half plane,

.. math:: \int k(z)\, g(z/\sigma) \frac{dz}{z}

must have one value on both, for every scale sigma.  A singularity at r exp(i phi) would show at
sigma = r/4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import cos, log

import flint
import numpy as np
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.transform.rays.continuation import Continuation
from spectra.transform.rays.precision import Ball, log_of, working
from spectra.transform.rays.products import NOTHING, Split, split

__all__ = ["Ray", "Reach", "has_one_integral", "in_parts", "reach_of"]

ComplexArray = NDArray[np.complex128]

# The logarithm of the largest double, about.
_LARGEST = 700.0

# exp(-48) is 1e-21.
_DEPTH = 48.0
_POWER = 4
# Scales are looked at one e-fold apart, from exp(-12) to exp(14) times that of the kernel, and not
# where it is negligible.
_BELOW, _ABOVE = 12, 14
_NEGLIGIBLE = -60.0
# Steps 2^-k that are tried in turn.
_STEPS = (3, 4, 5, 6, 7, 8)
# Both sums must be known as well as that, and agree as well.
_KNOWN, _AGREEMENT = 1e-12, 4.0
_SURE = 1e-15
_ROUNDING, _ENDED = 4e-16, 1e-16
# Kernels are looked at from exp(-100) to exp(100); by then each has fallen by exp(-1/2) or more.
_FARTHEST, _DECAYED = 100.0, 0.5
# What falls faster than z^-12 where it becomes negligible is taken to fall fast: its sums on the
# half-line end, which is all that is asked.
_FAST = 12.0
_VANISHED = -1e4


class Ray:
    """Values of a kernel at exp(s + i psi), each computed once.

    Parameters
    ----------
    kernel : Continuation
        The kernel.
    angle : float
        psi.
    bits : int
        Working precision.
    """

    def __init__(self, kernel: Continuation, angle: float, bits: int) -> None:
        self.kernel, self.angle, self.bits = kernel, angle, bits
        self._known: dict[float, tuple[Ball, float]] = {}
        self._doubles: dict[float, complex] = {}
        self._parts: dict[float, tuple[Split, Split]] = {}

    def parts(self, s: float) -> tuple[Split, Split]:
        """Re k and Im k at exp(s + i psi), for sums of products."""
        found = self._parts.get(s)
        if found is None:
            found = self._parts[s] = in_parts(self(s)[0])
        return found

    def double(self, s: float) -> complex:
        """k as a double; infinite where it is beyond all."""
        found = self._doubles.get(s)
        if found is None:
            value, log_size = self(s)
            found = complex(np.inf)
            if log_size < _LARGEST:
                found = complex(float(value.real.mid()), float(value.imag.mid()))
            self._doubles[s] = found
        return found

    def __call__(self, s: float) -> tuple[Ball, float]:
        """k and log|k| at exp(s + i psi)."""
        found = self._known.get(s)
        if found is None:
            with working(self.bits + 16):
                z = flint.acb(flint.arb(s), flint.arb(self.angle)).exp()
                if self.angle == 0.0:
                    z = flint.acb(z.real)
                value = self.kernel(z, self.bits)
                if self.angle == 0.0:
                    value = flint.acb(value.real)
                found = (value, log_of(value))
            self._known[s] = found
        return found


def in_parts(value: Ball) -> tuple[Split, Split]:
    """A complex ball for sums of products."""
    return split(value.real), (NOTHING if value.imag.is_zero() else split(value.imag))


@lru_cache(maxsize=64)
def _weights(angle: float, k: int) -> tuple[int, ComplexArray]:
    """g at exp(n h + i psi), and the first n."""
    h = 2.0**-k
    first, last = int(-2.0 * _DEPTH / _POWER / h), int(log((_DEPTH + 20.0) / cos(angle)) / h)
    s = h * np.arange(first, last + 1) + 1j * angle
    with np.errstate(under="ignore"):
        return first, np.exp(_POWER * s - np.exp(s))


@dataclass(frozen=True)
class _Moment:
    """An integral at a scale, its error, and the sum of sizes."""

    value: complex
    error: float
    size: float


def _moment(ray: Ray, sigma: int, k: int) -> _Moment | None:
    """The integral at a scale; None where the kernel grows."""
    h = 2.0**-k
    first, weights = _weights(ray.angle, k)
    values = np.array([ray.double(sigma + n * h) for n in range(first, first + weights.size)])
    with np.errstate(all="ignore"):
        terms = values * weights
        sizes = np.abs(terms)
        size = float(sizes.sum())
    if not np.isfinite(size) or sizes[-1] > _ENDED * size:
        return None
    even, odd = complex(terms[::2].sum()), complex(terms[1::2].sum())
    error = h * (abs(even - odd) + _ROUNDING * size) + float(sizes[0]) / _POWER
    return _Moment(h * (even + odd), error, h * size)


def _settled(ray: Ray, sigma: int) -> _Moment | None:
    found = None
    for k in _STEPS:
        found = _moment(ray, sigma, k)
        if found is None or found.error <= _SURE * found.size:
            return found
    return found


@dataclass(frozen=True)
class Reach:
    """Where the kernel is, in log z.

    Attributes
    ----------
    scale : float
        Where it has fallen to half of its largest value.
    end : float
        Beyond which it is negligible, or infinity where it decays like a power.
    """

    scale: float
    end: float


def reach_of(axis: Ray) -> Reach:
    """The reach of a kernel, from values on the half-line.

    Raises
    ------
    FormulaError
        Where it does not decay.
    """
    s = np.arange(-2.0 * _FARTHEST, 2.0 * _FARTHEST + 1.0) / 2.0
    sizes = np.array([axis(float(x))[1] for x in s])
    # What is exp(-exp(z)) or less leaves even the exponents of Arb, which has no value for it then.
    lost = np.flatnonzero(sizes == np.inf)
    if lost.size and lost[0] > 0 and sizes[lost[0] - 1] < _VANISHED:
        sizes[lost[0] :] = -np.inf
    if not np.all(sizes < np.inf):
        raise FormulaError("the kernel is not known at every distance")
    top = int(np.argmax(sizes))
    # The largest of what follows: a kernel may pass through zero.
    after = np.maximum.accumulate(sizes[::-1])[::-1]
    if after[-1] > sizes[top] - _DECAYED:
        raise FormulaError("the kernel does not decay")
    low = int(np.flatnonzero(after > sizes[top] - log(2.0))[-1])
    alive = int(np.flatnonzero(after > sizes[top] + _NEGLIGIBLE)[-1])
    # A power falls by less than that between the last of these places.
    slope = (after[min(alive + 2, s.size - 1)] - after[alive]) / 1.0
    end = float(s[alive + 1]) if alive + 1 < s.size and slope < -_FAST else np.inf
    return Reach(float(s[low]), end)


def has_one_integral(ray: Ray, axis: Ray, reach: Reach) -> bool:
    """Whether a ray and the half-line have the same integrals at all scales."""
    middle = round(reach.scale)
    last = min(middle + _ABOVE, reach.end + 1.0)
    # Growth shows at the scale of the kernel or a little beyond, so that it is looked at first.
    for sigma in sorted(range(middle - _BELOW, int(last) + 1), key=lambda s: abs(s - middle - 1)):
        here, there = _settled(ray, sigma), _settled(axis, sigma)
        if here is None or there is None:
            return False
        size, error = max(here.size, there.size), here.error + there.error
        if error > _KNOWN * size or abs(here.value - there.value) > _AGREEMENT * error:
            return False
    return True
