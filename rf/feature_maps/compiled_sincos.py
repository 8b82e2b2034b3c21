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
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from spectra.base.compiled import compile_with_numba

__all__ = ["DOUBLE", "SINGLE", "SineCosine", "write_sincos_numba"]


@final
@dataclass(frozen=True)
class SineCosine:
    """Constants of the algorithm for one floating-point type of p bits.

    ``two_over_pi``: 2/pi; ``rounder``: 1.5 * 2^(p - 1): adding it rounds to an integer, stored in
    the last bits of the sum; ``half_pi``: the parts of pi/2; ``sine``, ``cosine``: coefficients of
    P and Q, highest power first; ``integer``: the integer type of equal width; ``sign_shift``: left
    shift from bit 1 to the sign bit; ``limit``: largest |x|.
    """

    two_over_pi: Any
    rounder: Any
    half_pi: tuple[Any, ...]
    sine: tuple[Any, ...]
    cosine: tuple[Any, ...]
    integer: Any
    sign_shift: int
    limit: float


#: float64: parts of pi/2 with 33, 33 and 53 bits; n times the first two is exact for n < 2^20.
DOUBLE = SineCosine(
    two_over_pi=np.float64(2.0 / np.pi),
    rounder=np.float64(1.5 * 2.0**52),
    half_pi=(
        np.float64(float.fromhex("0x1.921fb544p+0")),
        np.float64(float.fromhex("0x1.0b4611a6p-34")),
        np.float64(float.fromhex("0x1.3198a2e037073p-69")),
    ),
    sine=(
        np.float64(1.589682819564583e-10),
        np.float64(-2.5050758658659324e-08),
        np.float64(2.7557313695268324e-06),
        np.float64(-0.00019841269829817107),
        np.float64(0.008333333333322425),
        np.float64(-0.16666666666666632),
    ),
    cosine=(
        np.float64(-1.1359669674048838e-11),
        np.float64(2.0875723682057444e-09),
        np.float64(-2.755731435523724e-07),
        np.float64(2.4801587289491868e-05),
        np.float64(-0.0013888888888874138),
        np.float64(0.0416666666666666),
    ),
    integer=np.int64,
    sign_shift=62,
    limit=2.0**20,
)

#: float32: parts of pi/2 with 11, 11 and 24 bits; n times the first two is exact for n < 2^13.
SINGLE = SineCosine(
    two_over_pi=np.float32(2.0 / np.pi),
    rounder=np.float32(1.5 * 2.0**23),
    half_pi=(
        np.float32(float.fromhex("0x1.92p+0")),
        np.float32(float.fromhex("0x1.fb4p-12")),
        np.float32(float.fromhex("0x1.4442d2p-24")),
    ),
    sine=(
        np.float32(-0.00019516670727171004),
        np.float32(0.008332173340022564),
        np.float32(-0.16666655242443085),
    ),
    cosine=(
        np.float32(2.443774792482145e-05),
        np.float32(-0.001388736185617745),
        np.float32(0.04166664555668831),
    ),
    integer=np.int32,
    sign_shift=30,
    limit=2.0**13,
)


def write_sincos_numba(
    phase: NDArray[Any],
    scale: NDArray[Any],
    out: NDArray[Any],
    columns: tuple[int, int],
    first_cosine: int,
    first_sine: int,
) -> None:
    """As :func:`rf.feature_maps.sincos.write_sincos_numpy`, for |phase| up to ``SineCosine.limit``.

    All arrays are contiguous.  The loop releases the interpreter lock.
    """
    _compiled_loop(phase.dtype.name)(phase, scale, out, columns, first_cosine, first_sine)


@lru_cache(maxsize=2)
def _compiled_loop(dtype_name: str) -> Any:
    """The loop for one type.  Its constants are closure variables, part of numba's cache key."""
    constants = DOUBLE if dtype_name == "float64" else SINGLE
    dtype: Any = np.dtype(dtype_name).type
    integer, sign_shift = constants.integer, constants.integer(constants.sign_shift)
    one, half = dtype(1.0), dtype(0.5)
    two_over_pi, rounder = constants.two_over_pi, constants.rounder
    large, middle, small = constants.half_pi
    sine, cosine = constants.sine, constants.cosine

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
