r"""Sine and cosine together, compiled by numba (the extra ``fast``) for the processor at hand.

With n the integer nearest to 2x/pi and r = x - n pi/2, both functions of x are, up to signs and
order, those of r, which polynomials give on [-pi/4, pi/4].

The reduction takes pi/2 in three parts (Cody and Waite, "Software Manual for the Elementary
Functions", 1980).  The first two are so short that their products with n are exact: the first
difference is exact, and the other two are rounded once each.  With the roundings of the polynomials
that leaves less than 1 ulp of 1 for both functions, with fused multiplications or without: 1.9e-16
of the sine and 2.0e-16 of the cosine, at most, in double precision.

The polynomials are minimax,

.. math::

    \min_P \max |r^2 P(r^2) - (\sin r / r - 1)|, \qquad
    \min_Q \max |r^4 Q(r^2) - (\cos r - 1 + r^2/2)|,

by the exchange algorithm of Remez at sixty digits, then rounded.
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

__all__ = ["DOUBLE", "SINGLE", "SineCosine", "waves_with_numba"]


@final
@dataclass(frozen=True)
class SineCosine:
    """What one precision needs.

    ``inverse``: 2/pi; ``magic``: 1.5 times 2^(digits - 1): adding it rounds to an integer, in the
    last bits of the sum; ``half_pi``: parts of pi/2; ``sine``, ``cosine``: coefficients of P and Q,
    the highest power first; ``integer``: as wide as the float; ``to_sign``: from the second bit to
    the sign; ``limit``: the largest |x| that is reduced.
    """

    inverse: Any
    magic: Any
    half_pi: tuple[Any, ...]
    sine: tuple[Any, ...]
    cosine: tuple[Any, ...]
    integer: Any
    to_sign: int
    limit: float


#: Products with n < 2^20 are exact: parts of 33, 33 and 53 bits.
DOUBLE = SineCosine(
    inverse=np.float64(2.0 / np.pi),
    magic=np.float64(1.5 * 2.0**52),
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
    to_sign=62,
    limit=2.0**20,
)

#: Products with n < 2^13 are exact: parts of 11, 11 and 24 bits.
SINGLE = SineCosine(
    inverse=np.float32(2.0 / np.pi),
    magic=np.float32(1.5 * 2.0**23),
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
    to_sign=30,
    limit=2.0**13,
)


def waves_with_numba(
    phase: NDArray[Any],
    scale: NDArray[Any],
    out: NDArray[Any],
    columns: tuple[int, int],
    cosines: int,
    sines: int,
) -> None:
    """As :func:`waves_with_numpy`, in one pass; |phase| is below the limit of its type.

    All arrays are contiguous.  Other threads run meanwhile.
    """
    _kernel(phase.dtype.name)(phase, scale, out, columns, cosines, sines)


@lru_cache(maxsize=2)
def _kernel(name: str) -> Any:
    """The loop for one type.  Its constants are cells of a closure, which name it in the cache."""
    constants = DOUBLE if name == "float64" else SINGLE
    dtype: Any = np.dtype(name).type
    integer, to_sign = constants.integer, constants.integer(constants.to_sign)
    one, half = dtype(1.0), dtype(0.5)
    inverse, magic = constants.inverse, constants.magic
    large, middle, small = constants.half_pi
    sine, cosine = constants.sine, constants.cosine

    def waves(
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
                shifted = x * inverse + magic
                turns = shifted - magic
                r = ((x - turns * large) - turns * middle) - turns * small
                z = r * r
                p = sine[0]
                for a in sine[1:]:
                    p = p * z + a
                q = cosine[0]
                for a in cosine[1:]:
                    q = q * z + a
                s = math.copysign(r + (r * z) * p, r)
                c = (one - half * z) + (z * z) * q
                quadrant = dtype(shifted).view(integer)
                odd = (quadrant & 1) != 0
                u = dtype(scales[j] * (c if odd else s)).view(integer)
                v = dtype(scales[j] * (s if odd else c)).view(integer)
                sines[j] = integer(u ^ ((quadrant & 2) << to_sign)).view(dtype)
                cosines[j] = integer(v ^ (((quadrant + 1) & 2) << to_sign)).view(dtype)

    return compile_with_numba(waves, fused=True)
