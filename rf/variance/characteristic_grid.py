r"""phi(x) = E cos(R x) for a radius R whose density p has an oscillating tail on [W, inf).

phi oscillates with the period 2 pi / W and has cusps at the frequencies of the tail, so that a
piecewise polynomial needs many panels.  Instead, a quadrature rule for the radii up to W gives

.. math:: \phi(x) = \sum_i g_i \cos(w_i x) + \int_W^\infty \cos(w x)\,p(w)\,dw,
          \qquad 0 \le w_i \le W.

The sum is computed by a nonuniform FFT: it is interpolated from its values at multiples of
pi / (2 W) with a Kaiser-Bessel window.  The integral is computed by
:meth:`spectra.table.wave_tail.WaveTail.plane_wave_enclosure`.

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
from spectra.base.limits import check_time
from spectra.table import RadialLaw

__all__ = ["Grid", "evaluate_grid", "make_grid", "panels_with_cusps"]

# Grid points in the window on each side of a point; the shape parameter of the window for an
# oversampling by 2 (Jackson et al.), and a bound of the interpolation error, which is about 3e-12.
_HALF = 6
_SHAPE = 1.5 * np.pi * _HALF
_WINDOW_ERROR = 1e-11
# Largest size of the FFT (32 MB); the mass of radii that need a finer grid is added to the error.
_MOST_POINTS = 1 << 22
# Radii or points processed at one time.
_CHUNK = 1 << 16
# Panels in the angle of a direction, at least, and for each cusp.
_PANELS = 16

#: End of the grid, its step, mass of the radii left out, and values at multiples of the step.
Grid = tuple[float, float, float, FloatArray]


def panels_with_cusps(law: RadialLaw, x_max: float) -> int:
    """Number of panels in the angle of a direction that resolve phi up to x_max."""
    assert law.tail is not None
    return _PANELS * (1 + int(np.searchsorted(law.tail.density.frequencies, x_max, side="right")))


def make_grid(law: RadialLaw, reach: float) -> Grid:
    """The sum over the radii up to W on a grid of [0, reach]."""
    assert law.tail is not None
    radii, weights, mass_beyond = law.nodes(reach)
    # Oversampling by 2: the grid on [0, reach] is at most a quarter of the points of the FFT.
    kept = radii <= 0.5 * np.pi * (_MOST_POINTS // 4 - 2 * _HALF) / reach
    omitted_mass = max(mass_beyond - law.tail.mass, 0.0) + float(weights[~kept].sum())
    radii, weights = radii[kept], weights[kept]
    # If no radius is resolved, the error is that of the whole mass.
    step = 0.5 * np.pi / float(radii.max(initial=1.0 / reach))
    count = int(np.ceil(reach / step)) + 2 * _HALF
    size = 1 << int(np.ceil(np.log2(4 * count)))
    cycles = radii * (step / (2.0 * np.pi))
    coefficients = np.zeros(size)
    for start in range(0, radii.size, _CHUNK):
        check_time()
        part = slice(start, start + _CHUNK)
        index, window = _window(cycles[part] * size)
        terms = window * (weights[part] / _transform(cycles[part]))[:, None]
        coefficients += np.bincount(index.ravel() % size, terms.ravel(), minlength=size)
    values = np.fft.rfft(coefficients).real[:count] / _transform(np.arange(count) / size)
    return reach, step, omitted_mass, values


def evaluate_grid(law: RadialLaw, grid: Grid, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """phi at x >= 0, shape (n,), from a grid and the tail, and a bound of its error."""
    assert law.tail is not None
    _, step, omitted_mass, values = grid
    value, error = law.tail.plane_wave_enclosure(1, x)
    for start in range(0, x.size, _CHUNK):
        check_time()
        part = slice(start, start + _CHUNK)
        index, window = _window(x[part] / step)
        # phi is even: its value at a negative index is that at the positive one.
        value[part] += np.sum(values[np.abs(index)] * window, axis=1)
    return value, error + (omitted_mass + _WINDOW_ERROR)


def _window(position: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The 2 _HALF grid points nearest to each position, and the window at each of them."""
    index = np.floor(position).astype(np.intp)[:, None] + np.arange(1 - _HALF, 1 + _HALF)
    u = (position[:, None] - index) / _HALF
    return index, i0(_SHAPE * np.sqrt(np.maximum(1.0 - u**2, 0.0)))


def _transform(cycles: FloatArray) -> FloatArray:
    """Fourier transform of the window at ``cycles`` <= 1/4 per grid step."""
    root = np.sqrt(_SHAPE**2 - (2.0 * np.pi * _HALF * cycles) ** 2)
    return np.asarray(2.0 * _HALF * np.sinh(root) / root)
