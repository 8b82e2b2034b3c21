r"""E cos(R x) for a radius R with an oscillating tail, from a Fourier grid and the tail.

As a function of x it oscillates with the period 2 pi / W, where W is the start of the tail, and has
cusps at the frequencies of the tail, so that polynomials need many panels.  Instead the radii up
to W are a sum of cosines,

.. math:: \phi(x) = \sum_i g_i \cos(w_i x) + \int_W^\infty \cos(w x)\,p(w)\,dw,
          \qquad 0 \le w_i \le W,

whose values at steps of pi / (2 W) determine it on [0, reach]: a nonuniform FFT with a
Kaiser-Bessel window.  The tail is integrated by
:meth:`spectra.table.tails.wave_tail.WaveTail.plane_wave_enclosure`.

References
----------
Jackson, Meyer, Nishimura, Macovski, "Selection of a convolution function for Fourier inversion
using gridding", IEEE Trans. Medical Imaging 10 (1991) 473-478, doi:10.1109/42.97598.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0

from spectra.base.arrays import FloatArray
from spectra.table import RadialLaw

__all__ = ["Grid", "evaluate_grid", "make_grid", "panels_with_cusps"]

# Grid points under the window on each side of a point, and the best shape for an oversampling of 2
# by Jackson et al., whose error is 3e-12.
_HALF = 6
_SHAPE = 1.5 * np.pi * _HALF
_WINDOW_ERROR = 1e-11
# Largest number of grid points (32 MB); radii that need a finer grid count as error.
_MOST = 1 << 22
# Weights and points processed at one time.
_CHUNK = 1 << 16
# Panels in the angle, and for each cusp.
_PANELS = 16


#: Values of the cosines at multiples of a step: reach, step, mass of radii left out, values.
Grid = tuple[float, float, float, FloatArray]


def panels_with_cusps(law: RadialLaw, x_max: float) -> int:
    """Panels in the angle of a direction that resolve phi up to x_max."""
    assert law.tail is not None
    return _PANELS * (1 + int(np.searchsorted(law.tail.density.frequencies, x_max, side="right")))


def make_grid(law: RadialLaw, reach: float) -> Grid:
    """The cosines of the radii up to W on a grid of [0, reach]."""
    assert law.tail is not None
    radii, weights, beyond = law.nodes(reach)
    # Oversampling by 2: the grid is at most a quarter of the points of the FFT.
    kept = radii <= 0.5 * np.pi * (_MOST // 4 - 2 * _HALF) / reach
    lost = max(beyond - law.tail.mass, 0.0) + float(weights[~kept].sum())
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
    values = np.fft.rfft(spread).real[:count] / _transform(np.arange(count) / size)
    return reach, step, lost, values


def evaluate_grid(law: RadialLaw, grid: Grid, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """phi at x >= 0, shape (n,), from a grid and the tail, and a bound of its error."""
    assert law.tail is not None
    _, step, lost, values = grid
    value, error = law.tail.plane_wave_enclosure(1, x)
    for start in range(0, x.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        at, window = _spread(x[part] / step)
        # phi is even, so that the points before 0 are those after it.
        value[part] += np.sum(values[np.abs(at)] * window, axis=1)
    return value, error + (lost + _WINDOW_ERROR)


def _spread(at: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The grid points next to each place, and the window there: shapes (len(at), 2 _HALF)."""
    index = np.floor(at).astype(np.intp)[:, None] + np.arange(1 - _HALF, 1 + _HALF)
    u = (at[:, None] - index) / _HALF
    return index, i0(_SHAPE * np.sqrt(np.maximum(1.0 - u**2, 0.0)))


def _transform(turns: FloatArray) -> FloatArray:
    """Integral of the window times cos(2 pi turns t) over its places t, for turns <= 1/4."""
    root = np.sqrt(_SHAPE**2 - (2.0 * np.pi * _HALF * turns) ** 2)
    return np.asarray(2.0 * _HALF * np.sinh(root) / root)
