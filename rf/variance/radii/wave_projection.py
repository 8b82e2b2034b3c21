r"""The projection of a law with a tail of waves: E cos(R x) from a Fourier grid and the tail.

Where such a law passes to its tail at the radius W, its transform gets waves of length 2 pi / W,
and it has cusps at the frequencies of the tail: polynomials resolve them only one by one.  But
all radii up to W are a finite sum of cosines,

.. math:: \phi(x) = \sum_i g_i \cos(w_i x) + \int_W^\infty \cos(w x)\,p(w)\,dw,
          \qquad 0 \le w_i \le W,

which is known on [0, reach] from its values at steps of pi / (2 W).  They come from one FFT, after
each weight is spread over its neighbours by a Kaiser-Bessel window, and values between them are
means with the same window.  The tail has its own integral,
:meth:`spectra.table.tails.wave_tail.WaveTail.expected_wave`.

References
----------
Jackson, Meyer, Nishimura, Macovski, "Selection of a convolution function for Fourier inversion
using gridding", IEEE Trans. Medical Imaging 10 (1991) 473-478, doi:10.1109/42.97598.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import RadialLaw

__all__ = ["WaveProjection"]

# Grid points under the window on each side of a point, and the window's shape for a grid of twice
# the density that the band needs: the best one of Jackson et al., which errs by 3e-12.
_HALF = 6
_SHAPE = 1.5 * np.pi * _HALF
_WINDOW_ERROR = 1e-11
# Points of the Fourier grid, at most (32 MB); radii that need a finer one count as error.
_MOST = 1 << 22
# Weights and points that are spread at one time.
_CHUNK = 1 << 16
# So few values are taken from the law itself, which has them without the error of a grid.
_FEW = 16
# Panels in the angle that the projection asks for, and each of its cusps.
_PANELS = 16


class _Grid(NamedTuple):
    """Values on [0, reach] at the multiples of a step, and what they lack by what was left out."""

    reach: float
    step: float
    lost: float
    values: FloatArray


@final
class WaveProjection:
    """phi(x) = E cos(R x) on [0, reach] for one law with a tail of waves.

    Parameters
    ----------
    law : RadialLaw

    Raises
    ------
    ParameterError
        Where the law has none.
    """

    def __init__(self, law: RadialLaw) -> None:
        if law.tail is None:
            raise ParameterError(
                "A projection with waves is made for a law with a tail of waves; take "
                "projection_of(law), which chooses."
            )
        self._law, self._tail = law, law.tail
        # Made whole and put in place at once: a thread, or a limit on time, may come between.
        self._grid = _Grid(0.0, 1.0, 0.0, np.zeros(0))

    def panels_to(self, x_max: float) -> int:
        """Panels in the angle of a direction that the values up to x_max ask for."""
        cusps = np.searchsorted(self._tail.density.frequencies, x_max, side="right")
        return _PANELS * (1 + int(cusps))

    def _grid_to(self, x_max: float) -> _Grid:
        grid = self._grid
        if x_max > grid.reach:
            self._grid = grid = self._made_to(float(2.0 ** np.ceil(np.log2(x_max))))
        return grid

    def _made_to(self, reach: float) -> _Grid:
        radii, weights, beyond = self._law.nodes(reach)
        # The points j of the grid reach to a quarter of the circle, and so do the turns of a step.
        kept = radii <= 0.5 * np.pi * (_MOST // 4 - 2 * _HALF) / reach
        lost = max(beyond - self._tail.mass, 0.0) + float(weights[~kept].sum())
        radii, weights = radii[kept], weights[kept]
        # Where no radius is resolved, nothing is known of phi, and its error says so.
        step = 0.5 * np.pi / float(radii.max(initial=1.0 / reach))
        count = int(np.ceil(reach / step)) + 2 * _HALF
        size = 1 << int(np.ceil(np.log2(4 * count)))
        turns = radii * (step / (2.0 * np.pi))
        spread = np.zeros(size)
        for start in range(0, radii.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            at, window = _neighbours(turns[part] * size)
            shares = window * (weights[part] / _transform(turns[part]))[:, None]
            spread += np.bincount(at.ravel() % size, shares.ravel(), minlength=size)
        j = np.arange(count)
        return _Grid(reach, step, lost, np.fft.rfft(spread).real[:count] / _transform(j / size))

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and a bound of their error."""
        if x.size <= _FEW:
            return self._law.plane_wave_enclosure(1, x)
        if not x.any():
            return np.ones(x.shape), np.zeros(x.shape)
        grid = self._grid_to(float(x.max()))
        flat = x.ravel()
        value = np.empty(flat.size)
        for start in range(0, flat.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            at, window = _neighbours(flat[part] / grid.step)
            # phi is even, so that the points before 0 are those after it.
            value[part] = np.sum(grid.values[np.abs(at)] * window, axis=1)
        tail, error = self._tail.expected_wave(1, flat)
        value, error = value + tail, error + (grid.lost + _WINDOW_ERROR)
        return value.reshape(x.shape), error.reshape(x.shape)


def _neighbours(at: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The grid points next to each place, and the window there: shapes (len(at), 2 _HALF)."""
    index = np.floor(at).astype(np.intp)[:, None] + np.arange(1 - _HALF, 1 + _HALF)
    u = (at[:, None] - index) / _HALF
    return index, i0(_SHAPE * np.sqrt(np.maximum(1.0 - u**2, 0.0)))


def _transform(turns: FloatArray) -> FloatArray:
    """Integral of the window times cos(2 pi turns t) over its places t, for turns <= 1/4."""
    root = np.sqrt(_SHAPE**2 - (2.0 * np.pi * _HALF * turns) ** 2)
    return np.asarray(2.0 * _HALF * np.sinh(root) / root)
