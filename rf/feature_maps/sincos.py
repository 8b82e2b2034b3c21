"""Cosine and sine of an array with numpy, faster in double precision than np.cos and np.sin.

With n the integer nearest to N x / 2pi, N = 4096, and r = x - 2pi n/N,

.. math:: e^{ix} = e^{2\\pi i n / N} e^{ir},

where the root of unity comes from a table and e^{ir} from its Taylor series.  Since |r| <= pi/N,
the truncation errors are r^5/120 < 3e-18 for the sine and r^6/720 < 3e-22 for the cosine.  The
argument reduction splits 2pi/N into three parts (Cody and Waite, "Software Manual for the
Elementary Functions", 1980); the first two have so few bits that their products with n are exact.
With the rounding of the root, the product and the sum, the total error is below 2.2e-16.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LIMIT", "write_sincos_numpy"]

#: Largest |x| of the algorithm; the integers n stay below 2^31.
LIMIT = 2.0**20

_ROOTS = 4096
_PER_RADIAN = _ROOTS / (2.0 * np.pi)
# 2pi/4096 in parts of 22, 22 and 53 bits.
_STEP = tuple(map(float.fromhex, ("0x1.921fbp-10", "0x1.5110bp-32", "0x1.18469898cc517p-54")))
# Adding this rounds a double to an integer, stored in the last bits of the sum.
_ROUNDER = 1.5 * 2.0**52
# Elements in a strip: its arrays stay in a second-level cache of 512 kB, and the overhead of the
# calls of numpy is still negligible.
_STRIP = 8192


def write_sincos_numpy(
    phase: NDArray[Any],
    scale: NDArray[Any],
    out: NDArray[Any],
    columns: tuple[int, int],
    first_cosine: int,
    first_sine: int,
) -> None:
    """Write scale * cos(phase) and scale * sin(phase) into columns of ``out``.

    ``phase`` (rows, n): float64 with |phase| <= ``LIMIT``, or float32 without a limit, for which
    np.cos and np.sin are fast; ``scale`` (n,); ``out``: array with as many rows; ``columns``: the
    range (start, stop) of the columns of ``phase`` and entries of ``scale`` to use;
    ``first_cosine``, ``first_sine``: the first column of ``out`` for each.
    """
    phase, scale = phase[:, slice(*columns)], scale[slice(*columns)]
    n = scale.size
    strip = max(1, _STRIP // n)
    for start in range(0, len(phase), strip):
        rows = slice(start, start + strip)
        x = phase[rows]
        cosine, sine = (np.cos(x), np.sin(x)) if x.dtype == np.float32 else _sincos_double(x)
        np.multiply(cosine, scale, out=out[rows, first_cosine : first_cosine + n])
        np.multiply(sine, scale, out=out[rows, first_sine : first_sine + n])


def _sincos_double(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine and sine of x; ``n``, ``part`` and ``turn`` are reused as scratch arrays."""
    n = x * _PER_RADIAN
    n += _ROUNDER
    root = _roots().take(n.view(np.int64) & (_ROOTS - 1))
    n -= _ROUNDER
    part = n * _STEP[0]
    r = x - part
    for step in _STEP[1:]:
        r -= np.multiply(n, step, out=part)
    square, turn = np.multiply(r, r, out=part), np.empty(x.shape, complex)
    # sin r = r (1 - r^2/6), cos r - 1 = r^2 (r^2/24 - 1/2)
    np.multiply(square, -1.0 / 6.0, out=n)
    n += 1.0
    np.multiply(n, r, out=turn.imag)
    np.multiply(square, 1.0 / 24.0, out=n)
    n -= 0.5
    np.multiply(n, square, out=turn.real)
    turn *= root
    turn += root
    zero = x == 0.0
    turn.imag[zero] = x[zero]  # sin(-0) is -0
    return turn.real, turn.imag


@lru_cache(maxsize=1)
def _roots() -> NDArray[np.complex128]:
    """exp(2 pi i k / N) for k < N; real and imaginary parts have errors below 1.2e-16."""
    k = np.arange(_ROOTS)
    quadrant, offset = np.divmod(k + _ROOTS // 8, _ROOTS // 4)
    offset -= _ROOTS // 8
    # An angle of at most pi/4 is ``angle + rest``, where ``rest`` is below 2e-7.
    angle, rest = offset * _STEP[0], offset * (_STEP[1] + _STEP[2])
    root = np.exp(1j * angle)
    root += root * (1j * rest - 0.5 * rest**2)
    roots: NDArray[np.complex128] = root * np.array([1.0, 1.0j, -1.0, -1.0j])[quadrant % 4]
    return roots
