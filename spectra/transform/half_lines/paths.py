"""The best path for each radius: several are tried, and the one of the least error is followed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spectra.errors import NoRouteError
from spectra.numeric import FloatArray
from spectra.quadrature import NODES
from spectra.transform.half_lines.contours import Hankel
from spectra.transform.half_lines.path_sums import Contour, Integral, Radii
from spectra.transform.half_lines.quarter_plane import ANGLES, QuarterPlane
from spectra.transform.rays.sampled import Sampled, Sampler, Shape

__all__ = ["PathFinder", "shape_on_paths"]

# Corners on the real axis, in units of the turning point y = n + 3/2 of the Bessel function.
_CORNERS = (0.5, 1.0, 2.0)
# Where waves part, in units of their turns.
_PARTINGS = (0.5, 1.0, 2.0, 4.0, 8.0)
# Heights below a singularity, in units of 1/w.
_GAPS = (8.0, 4.0, 2.0, 1.0, 0.5)
# Heights are powers of two to the quarters, times the scale.
_STEPS_PER_DOUBLING = 4
# Heights that are tried first, in units of 1/w.
_FIRST_HEIGHTS = (2.0, 6.0, 18.0, 54.0)
_MIDDLE_HEIGHTS = (4.0, 8.0, 16.0)
# A path is kept while its error stays below this share of the value; then all are tried again,
# at most once in 0.7 of log w.
_GOOD = 1e-13
_SEARCH_EVERY = 0.7
_SEARCHES = 4
# A search goes on while it makes the error smaller by this factor.
_CLIMB = 0.5
# Values on two paths may differ by this many of their error bounds.
_AGREEMENT = 10.0
_COMPARABLE = 1e-6
# Most kernels take a few hundred.
_MOST_TRIALS = 4000
_TINY = float(np.finfo(float).tiny)

Key = tuple[str, int, int]


@dataclass(eq=False)
class PathFinder(Sampler):
    """Values of rho by the path that gives the least error; it remembers which one did.

    Parameters
    ----------
    hankel : Hankel
        The integrals.
    pivot, side : float
        Radii are given as their distance from the pivot, above it (side 1) or below it (-1).
    """

    hankel: Hankel
    pivot: float = 0.0
    side: float = 1.0
    _known: list[tuple[float, Key]] = field(default_factory=list)
    _searched: list[float] = field(default_factory=list)
    _tried: int = 0

    @property
    def _kernel(self) -> QuarterPlane:
        return self.hankel.kernel

    def __call__(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values and error bounds at distances, from the pivot, close to one another."""
        probe = np.array([distance.min(), distance.max()])
        x = float(np.log(np.sqrt(probe[0] * probe[1])))
        middle = self._middle(probe)
        found: dict[Key, Integral] = {}
        if self._known:
            nearest = min(self._known, key=lambda pair: abs(pair[0] - x))[1]
            found = self._try(self._neighbours(nearest), probe)
        best = _best(found)
        far = all(abs(x - y) >= _SEARCH_EVERY for y in self._searched)
        # Beside a frequency nothing but waves serves, and little changes on the way to it.
        far = far and not (self.pivot and best is not None and len(self._searched) >= _SEARCHES)
        if best is None or _relative(found[best]) > _GOOD:
            everything = best is None or far
            if everything:
                self._searched.append(x)
            keys = self._all(middle) if everything else self._other_kind(best, middle)
            found |= self._try(keys, probe)
            best = self._climbed(found, probe)
        if best is not None:
            self._check_agreement(found, best, middle)
        contour = None if best is None else self._contour(best, middle)
        result = None if contour is None else self._integral(distance, contour)
        if best is None or result is None:
            w = self._radii(probe).w
            raise NoRouteError(
                f"No path of integration serves between w = {w.min():.3g} and {w.max():.3g}: the "
                "kernel grows, or is singular, too close to the real axis. A callable with decay= "
                "or support= is read by its values (docs/callables.md)."
            )
        self._known.append((x, best))
        return result.value, result.error

    def on_panel(self, low: float, high: float, power: float | None = None) -> Sampled:
        """Values at the nodes of a panel of the logarithm of the distance."""
        if power is None:
            distance = np.exp(low + 0.5 * (high - low) * (1.0 + NODES))
        else:
            distance = np.exp(high) * 0.5 * (1.0 + NODES)
        value, error = self(distance)
        size = np.abs(value) + error
        return Sampled(value / size, error / size, np.log(size))

    def _radii(self, distance: FloatArray) -> Radii:
        return Radii(self.pivot, self.side * distance)

    def _integral(self, distance: FloatArray, contour: Contour) -> Integral | None:
        return self.hankel(self._radii(distance), contour)

    def _climbed(self, found: dict[Key, Integral], probe: FloatArray) -> Key | None:
        """The best path, once its neighbours are no better."""
        best = _best(found)
        while best is not None and _relative(found[best]) > _GOOD:
            before = _relative(found[best])
            keys = [key for key in self._neighbours(best) if key not in found]
            found |= self._try(keys, probe)
            best = _best(found)
            if best is None or _relative(found[best]) > _CLIMB * before:
                break
        return best

    def _check_agreement(self, found: dict[Key, Integral], best: Key, w: float) -> None:
        """Hold all paths that were tried to one another: that would show a singularity between."""
        reference = found[best]
        size = np.abs(reference.value).max()
        for other in found.values():
            apart = np.abs(other.value - reference.value)
            allowed = _AGREEMENT * (other.error + reference.error)
            if other.error.max() < _COMPARABLE * size and np.any(apart > allowed):
                raise NoRouteError(
                    f"Two paths of integration differ by {apart.max():.1e} at w = {w:.3g}, where "
                    f"their errors are below {allowed.max():.1e}: the kernel is singular between "
                    "them, so that its continuation cannot be trusted. A callable with decay= or "
                    "support= is read by its values (docs/callables.md)."
                )

    def _try(self, keys: list[Key], probe: FloatArray) -> dict[Key, Integral]:
        found = {}
        for key in keys:
            contour = self._contour(key, self._middle(probe))
            if contour is None:
                continue
            self._tried += 1
            if self._tried > _MOST_TRIALS:
                raise NoRouteError(
                    f"After {_MOST_TRIALS} integrals the density is still not resolved at w = "
                    f"{self._middle(probe):.3g}: the kernel has too many scales for the numeric "
                    "route. Design a finite measure for your range of distances (design)."
                )
            result = self._integral(probe, contour)
            if result is not None:
                found[key] = result
        return found

    def _middle(self, probe: FloatArray) -> float:
        w = self._radii(probe).w
        return float(np.sqrt(w[0] * w[-1]))

    def _angle(self, j: int) -> float:
        return 0.0 if j < 0 else ANGLES[j]

    def _contour(self, key: Key, w: float) -> Contour | None:
        kind, i, j = key
        if kind == "real":
            return Contour(corner=np.inf) if self._kernel.decays_fast else None
        if not -1 <= j < len(ANGLES) or (j < 0 and not self._kernel.decays_fast):
            return None
        angle = self._angle(j)
        if kind == "corner":
            if not 0 <= i < len(_CORNERS) or angle not in self._kernel.angles:
                return None
            return Contour(corner=_CORNERS[i] * (self.hankel.order + 1.5), angle=angle)
        if kind == "wave":
            served = bool(self._kernel.waves) and angle in self._kernel.angles
            if not (served and 0 <= i < len(_PARTINGS)):
                return None
            return Contour(corner=_PARTINGS[i], angle=angle, by_waves=True)
        top = self._kernel.rise(angle)
        if kind == "gap":
            if not (self._kernel.is_even and 0 <= i < len(_GAPS) and np.isfinite(top)):
                return None
            height = top - _GAPS[i] / w
            return Contour(height=height, angle=angle) if height > 0.3 * top else None
        if self._kernel.is_even:
            height = self._kernel.scale * 2.0 ** (i / _STEPS_PER_DOUBLING)
        else:
            height = self._kernel.odd.edge(i)
        return Contour(height=height, angle=angle) if height < 0.8 * top else None

    def _height_index(self, height: float) -> int:
        if self._kernel.is_even:
            return int(np.round(_STEPS_PER_DOUBLING * np.log2(height / self._kernel.scale)))
        return self._kernel.odd.panel(height)

    def _all(self, w: float) -> list[Key]:
        angles = range(-1, len(ANGLES))
        keys: list[Key] = [("real", 0, 0)]
        keys += [("corner", i, j) for i in range(len(_CORNERS)) for j in angles]
        keys += [("gap", i, j) for i in range(len(_GAPS)) for j in angles]
        if self._kernel.waves:
            keys += [("wave", i, j) for i in range(len(_PARTINGS)) for j in angles]
        heights = {self._height_index(h / w) for h in _FIRST_HEIGHTS}
        return keys + [("height", i, j) for i in sorted(heights) for j in angles]

    def _other_kind(self, key: Key | None, w: float) -> list[Key]:
        """A few paths of the kind that takes over where the radius grows or falls."""
        if key is not None and key[0] == "height":
            return [("corner", i, j) for i in range(len(_CORNERS)) for j in range(3)]
        heights = {self._height_index(h / w) for h in _MIDDLE_HEIGHTS}
        return [("height", i, j) for i in sorted(heights) for j in range(3)]

    def _neighbours(self, key: Key) -> list[Key]:
        kind, i, j = key
        keys: list[Key] = [key, ("real", 0, 0)]
        if kind in ("corner", "gap", "height", "wave"):
            keys += [(kind, i + 1, j), (kind, i - 1, j), (kind, i, j + 1), (kind, i, j - 1)]
        if kind == "real":
            keys += [("corner", 2, 0), ("corner", 2, 1)]
        if kind == "height" and self._kernel.is_even:
            keys += [(kind, i + 3, j), (kind, i - 3, j)]
        return keys


def _best(found: dict[Key, Integral]) -> Key | None:
    """The path whose error is least where it is worst, relative to the values at both ends."""
    if not found:
        return None
    errors = np.array([integral.error for integral in found.values()])
    values = np.abs([integral.value for integral in found.values()])
    columns = np.arange(errors.shape[1])
    reference = (values + errors)[errors.argmin(axis=0), columns] + _TINY
    worst = (np.log(errors + _TINY) - np.log(reference)).max(axis=1)
    return list(found)[int(worst.argmin())]


def _relative(found: Integral) -> float:
    return float((found.error / (np.abs(found.value) + found.error + _TINY)).max())


def shape_on_paths(kernel: QuarterPlane, dim: int) -> Shape:
    """Where a kernel is, as its continuation knows it."""
    here = kernel.in_dimension(dim)

    def log_size(z: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(here.size(z) + _TINY))

    frequencies = tuple(wave.frequency for wave in here.waves)
    return Shape(here.scale, here.reach, here.decays_fast, log_size, frequencies)
