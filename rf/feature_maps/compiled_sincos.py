r"""Cosine and sine of an array in one loop, compiled by numba (the extra ``fast``).

With n the integer nearest to 2x/pi and r = x - n pi/2, sin x and cos x equal sin r and cos r up to
sign and order.  Polynomials approximate both on [-pi/4, pi/4].

The argument reduction splits pi/2 into three parts (Cody and Waite, "Software Manual for the
Elementary Functions", 1980).  The first two have so few bits that their products with n are exact.
With the rounding of the polynomials the errors in double precision, with or without fused
multiply-adds, are at most 1.9e-16 for the sine and 2.0e-16 for the cosine.

The polynomials P and Q solve

.. math::

    \min_P \max |r^2 P(r^2) - (\sin r / r - 1)|, \qquad
    \min_Q \max |r^4 Q(r^2) - (\cos r - 1 + r^2/2)|.

Their coefficients were computed with the Remez algorithm at sixty digits and rounded.
``tests/rf/feature_maps/test_waves_kernel.py`` measures the errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from spectra.base.compiled import compile_with_numba

__all__ = ["DOUBLE", "SINGLE", "SineCosine", "compiled_sincos"]


@dataclass(frozen=True)
class SineCosine:
    """Constants of the algorithm for one floating-point type.

    ``dtype``, ``integer``: the type, and the integer type of equal width; ``half_pi``: the parts of
    pi/2; ``sine``, ``cosine``: coefficients of P and Q, highest power first; ``limit``: largest
    |x|.
    """

    dtype: Any
    integer: Any
    half_pi: tuple[float, ...]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    limit: float


#: float64: parts of pi/2 with 33, 33 and 53 bits; n times the first two is exact for n < 2^20.
DOUBLE = SineCosine(
    dtype=np.float64,
    integer=np.int64,
    half_pi=(1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
    sine=(
        1.589682819564583e-10, -2.5050758658659324e-08, 2.7557313695268324e-06,
        -0.00019841269829817107, 0.008333333333322425, -0.16666666666666632,
    ),
    cosine=(
        -1.1359669674048838e-11, 2.0875723682057444e-09, -2.755731435523724e-07,
        2.4801587289491868e-05, -0.0013888888888874138, 0.0416666666666666,
    ),
    limit=2.0**20,
)  # fmt: skip

#: float32: parts of pi/2 with 11, 11 and 24 bits; n times the first two is exact for n < 2^13.
SINGLE = SineCosine(
    dtype=np.float32,
    integer=np.int32,
    half_pi=(1.5703125, 0.0004837512969970703, 7.549790126404332e-08),
    sine=(-0.00019516670727171004, 0.008332173340022564, -0.16666655242443085),
    cosine=(2.443774792482145e-05, -0.001388736185617745, 0.04166664555668831),
    limit=2.0**13,
)


@lru_cache(maxsize=2)
def compiled_sincos(constants: SineCosine) -> Any:
    """:func:`rf.feature_maps.sincos.write_sincos_numpy` for one type, compiled at its first call.

    |phase| is at most ``constants.limit``, and all arrays are contiguous.  The loop releases the
    interpreter lock.
    """
    # The constants are closure variables, part of numba's cache key.
    dtype, integer = constants.dtype, constants.integer
    info = np.finfo(dtype)
    sign_shift = integer(info.bits - 2)  # left shift from bit 1 to the sign bit
    # Adding this rounds to an integer, stored in the last bits of the sum.
    rounder = dtype(1.5 * 2.0**info.nmant)
    one, half, two_over_pi = dtype(1.0), dtype(0.5), dtype(2.0 / np.pi)
    large, middle, small = map(dtype, constants.half_pi)
    sine, cosine = tuple(map(dtype, constants.sine)), tuple(map(dtype, constants.cosine))

    def write_sincos(
        phase: Any, scale: Any, out: Any, columns: Any, first_cosine: Any, first_sine: Any
    ) -> None:
        first, stop = columns
        n = stop - first
        scales = scale[first:stop]
        for i in range(phase.shape[0]):
            row = phase[i, first:stop]
            cosines = out[i, first_cosine : first_cosine + n]
            sines = out[i, first_sine : first_sine + n]
            for j in range(n):
                x = row[j]
                shifted = x * two_over_pi + rounder
                quarter_turns = shifted - rounder
                r = ((x - quarter_turns * large) - quarter_turns * middle) - quarter_turns * small
                r2 = r * r
                p = sine[0]
                for a in sine[1:]:
                    p = p * r2 + a
                q = cosine[0]
                for a in cosine[1:]:
                    q = q * r2 + a
                sin_r = math.copysign(r + (r * r2) * p, r)
                cos_r = (one - half * r2) + (r2 * r2) * q
                quadrant = dtype(shifted).view(integer)
                odd = (quadrant & 1) != 0
                sin_bits = dtype(scales[j] * (cos_r if odd else sin_r)).view(integer)
                cos_bits = dtype(scales[j] * (sin_r if odd else cos_r)).view(integer)
                sines[j] = integer(sin_bits ^ ((quadrant & 2) << sign_shift)).view(dtype)
                cosines[j] = integer(cos_bits ^ (((quadrant + 1) & 2) << sign_shift)).view(dtype)

    return compile_with_numba(write_sincos, fused=True)
