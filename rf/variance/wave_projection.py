r"""E cos(R x) for a radius R with an oscillating tail, from a Fourier grid and the tail.

As a function of x it oscillates with the period 2 pi / W, where W is the start of the tail, and has
cusps at the frequencies of the tail, so that polynomials need many panels.  Instead the radii up
to W are a sum of cosines,

.. math:: \phi(x) = \sum_i g_i \cos(w_i x) + \int_W^\infty \cos(w x)\,p(w)\,dw,
          \qquad 0 \le w_i \le W,

whose values at steps of pi / (2 W) determine it on [0, reach]: a nonuniform FFT with a
Kaiser-Bessel window.  :meth:`spectra.table.tails.wave_tail.WaveTail.expected_wave` integrates the
tail.

References
----------
Jackson, Meyer, Nishimura, Macovski, "Selection of a convolution function for Fourier inversion
using gridding", IEEE Trans. Medical Imaging 10 (1991) 473-478, doi:10.1109/42.97598.
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import RadialLaw

__all__ = ["WaveProjection"]

# Grid points under the window on each side of a point, and the best shape for an oversampling of 2
# by Jackson et al., whose error is 3e-12.
_HALF = 6
_SHAPE = 1.5 * np.pi * _HALF
_WINDOW_ERROR = 1e-11
# Largest number of grid points (32 MB); radii that need a finer grid count as error.
_MOST = 1 << 22
# Weights and points processed at one time.
_CHUNK = 1 << 16
# Up to this number, values are computed directly, without the error of a grid.
_FEW = 16
# Panels in the angle, and for each cusp.
_PANELS = 16


#: Values on [0, reach] at multiples of a step: reach, step, mass of radii left out, values.
_Grid = tuple[float, float, float, FloatArray]


@final
class WaveProjection:
    """phi(x) = E cos(R x) for a law with a tail of waves."""

    def __init__(self, law: RadialLaw) -> None:
        if law.tail is None:
            raise ParameterError(
                "A projection with waves is made for a law with a tail of waves; take "
                "projection_of(law), which chooses."
            )
        self._law, self._tail = law, law.tail
        # Replaced in one assignment, so that threads and time limits leave it consistent.
        self._grid: _Grid = (0.0, 1.0, 0.0, np.zeros(0))

    def panels_to(self, x_max: float) -> int:
        """Panels in the angle of a direction that resolve phi up to x_max."""
        cusps = np.searchsorted(self._tail.density.frequencies, x_max, side="right")
        return _PANELS * (1 + int(cusps))

    def _grid_to(self, x_max: float) -> _Grid:
        grid = self._grid
        if x_max > grid[0]:
            self._grid = grid = self._make_grid(float(2.0 ** np.ceil(np.log2(x_max))))
        return grid

    def _make_grid(self, reach: float) -> _Grid:
        radii, weights, beyond = self._law.nodes(reach)
        # Oversampling by 2: the points of the grid cover a quarter of the circle.
        kept = radii <= 0.5 * np.pi * (_MOST // 4 - 2 * _HALF) / reach
        lost = max(beyond - self._tail.mass, 0.0) + float(weights[~kept].sum())
        radii, weights = radii[kept], weights[kept]
        # If no radius is resolved, the error is that of the whole mass.
        step = 0.5 * np.pi / float(radii.max(initial=1.0 / reach))
        count = int(np.ceil(reach / step)) + 2 * _HALF
        size = 1 << int(np.ceil(np.log2(4 * count)))
        turns = radii * (step / (2.0 * np.pi))
        spread = np.zeros(size)
        for start in range(0, radii.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            at, window = _spread(turns[part] * size)
            shares = window * (weights[part] / _transform(turns[part]))[:, None]
            spread += np.bincount(at.ravel() % size, shares.ravel(), minlength=size)
        j = np.arange(count)
        return reach, step, lost, np.fft.rfft(spread).real[:count] / _transform(j / size)

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and a bound of their error."""
        if x.size <= _FEW:
            return self._law.plane_wave_enclosure(1, x)
        if not x.any():
            return np.ones(x.shape), np.zeros(x.shape)
        _, step, lost, values = self._grid_to(float(x.max()))
        flat = x.ravel()
        value = np.empty(flat.size)
        for start in range(0, flat.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            at, window = _spread(flat[part] / step)
            # phi is even, so that the points before 0 are those after it.
            value[part] = np.sum(values[np.abs(at)] * window, axis=1)
        tail, error = self._tail.expected_wave(1, flat)
        value, error = value + tail, error + (lost + _WINDOW_ERROR)
        return value.reshape(x.shape), error.reshape(x.shape)


def _spread(at: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The grid points next to each place, and the window there: shapes (len(at), 2 _HALF)."""
    index = np.floor(at).astype(np.intp)[:, None] + np.arange(1 - _HALF, 1 + _HALF)
    u = (at[:, None] - index) / _HALF
    return index, i0(_SHAPE * np.sqrt(np.maximum(1.0 - u**2, 0.0)))


def _transform(turns: FloatArray) -> FloatArray:
    """Integral of the window times cos(2 pi turns t) over its places t, for turns <= 1/4."""
    root = np.sqrt(_SHAPE**2 - (2.0 * np.pi * _HALF * turns) ** 2)
    return np.asarray(2.0 * _HALF * np.sinh(root) / root)
