r"""How much of a kernel is still seen at a radius, beside its expansion at zero.

Inside a disc the path of a density may follow the imaginary axis, where only the expansion at zero
is left of it.  The rest is on an arc and a ray, or on a line beside the half-line, no more than

.. math:: \frac{2^{1-d/2}}{\Gamma(d/2)} \int |k(z)\,G(wz)|\, \left|\frac{dz}{z}\right|,
          \qquad |G(y)| \sim |y|^{(d+1)/2} e^{-\Im y}.

It ends like an exponential, but in high dimension, or where a pole is close to the half-line, long
after the series of the expansion has settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hankel1e

from spectra.base.numbers import FloatArray

__all__ = ["Beyond", "Detour"]

ComplexArray = NDArray[np.complex128]

# From so many times (order + 1)^2 on a Hankel function has its asymptotic size.
_FAR = 1e4
# What sums of sizes may be short of integrals.
_MARGIN = 1.0
_TWO_PARTS = log(2.0)
_ROUNDED_UP = 1.0 + 1e-9


class Detour(NamedTuple):
    """Places beside the half-line, and log|k dz/z| there."""

    z: ComplexArray
    log_weight: FloatArray

    def followed_by(self, other: Detour) -> Detour:
        """Both, one after the other."""
        parts = zip(self, other, strict=True)
        return Detour(*(np.concatenate(pair) for pair in parts))

    def up_to(self, radius: float) -> Detour:
        """What of it is within a disc."""
        inside = np.abs(self.z) <= radius
        return Detour(self.z[inside], self.log_weight[inside])


class Beyond:
    """A kernel outside of a disc, on detours that the path of its density may take.

    Parameters
    ----------
    dim : int
        Dimension.
    detours : iterable of Detour
        Each is looked at only where those before it do not serve.
    """

    def __init__(self, dim: int, detours: Iterable[Detour]) -> None:
        self.dim = dim
        self._known: list[Detour] = []
        self._more = iter(detours)

    @property
    def is_known(self) -> bool:
        """Whether there is a detour at all."""
        return next(self._detours(), None) is not None

    def is_below(self, log: float, w: float, axis: Detour | None = None) -> bool:
        """Whether what is seen of it at a radius is less than exp(log), with what is seen of an
        axis up to where the detour leaves it."""
        if axis is None:
            return any(self._log_seen(detour, w) < log for detour in self._detours())
        each = log - _TWO_PARTS
        return any(
            self._log_seen(detour, w) < each
            and self._log_seen(axis.up_to(_ROUNDED_UP * abs(detour.z[0])), w) < each
            for detour in self._detours()
        )

    def fall(self, negligible: float, w: FloatArray) -> tuple[float, float] | None:
        """A radius among those of w and a rate: what is seen is less than
        exp(negligible - rate (v - radius)) at every v beyond it; None where that is not known.

        Parameters
        ----------
        negligible : float
            Logarithm of what is negligible.
        w : ndarray
            Radii, ascending.
        """
        # Beside a power of w what is seen is convex, in its logarithm: a chord is above it.
        power = 0.5 * self.dim + 1.0
        bent = power * (float((w[1:] / w[:-1]).max()) - 1.0) ** 2 / 8.0
        found = []
        for detour in self._detours():
            bounds = np.array([self._log_seen(detour, float(x)) for x in w]) + bent
            i = int(np.argmax(bounds < negligible))
            if i + 1 < w.size and bounds[i] < negligible:
                chords = (negligible - bounds[i + 1 :]) / (w[i + 1 :] - w[i])
                last = float(detour.z.imag.min()) - power / float(w[-1])
                found.append((-float(w[i]), min(float(chords.min()), last)))
                if i == 0 and found[-1][1] > 0.0:
                    break
        falls = [(-first, rate) for first, rate in sorted(found, reverse=True) if rate > 0.0]
        return falls[0] if falls else None

    def log_bound(self, w: float) -> float:
        """Logarithm of what is seen of it at a radius, at most; infinite without a detour."""
        return min((self._log_seen(detour, w) for detour in self._detours()), default=np.inf)

    def _detours(self) -> Iterator[Detour]:
        yield from self._known
        for detour in self._more:
            self._known.append(detour)
            yield detour

    def _log_seen(self, detour: Detour, w: float) -> float:
        order = 0.5 * self.dim - 1.0
        y = w * detour.z
        with np.errstate(all="ignore"):
            far = 0.5 * np.log(2.0 / (np.pi * np.abs(y)))
            near = np.log(np.abs(hankel1e(order, y)))
            # Near zero it leaves the doubles: |H| < Gamma(nu) (2/|y|)^nu / pi, times 2.
            power = gammaln(max(order, 0.5)) + order * np.log(2.0 / np.abs(y))
            near = np.where(np.isfinite(near), near, power)
            wave = np.where(np.abs(y) > _FAR * (order + 1.0) ** 2, far, near) - y.imag
            terms = detour.log_weight + wave + (order + 2.0) * np.log(np.abs(y))
        top = float(terms.max())
        if not np.isfinite(top):
            return np.inf
        found = top + float(np.log(np.exp(terms - top).sum()))
        return found - order * log(2.0) - float(gammaln(order + 1.0)) - log(w) + _MARGIN
