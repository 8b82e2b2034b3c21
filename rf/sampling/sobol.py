r"""Scrambled Sobol points, many independent draws at one time.

A Sobol point is the exclusive or of direction numbers: x_0 = 0, and x_{i+1} = x_i ^ v_j with j the
number of trailing zeros of i + 1.  Matousek's scrambling multiplies every direction number by a
random lower triangular matrix of bits and adds a random shift; each point is then uniform, and the
points of one draw fill the layers of every coordinate as before.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from rf.sampling.directions import checked_draws, first_or_all
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["sobol", "sobol_points"]

_Bits = NDArray[np.uint32]

# Bits of a coordinate; the cells below them are filled by a uniform jitter.
_BITS = 30


def sobol(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """First ``n`` points of a scrambled Sobol sequence, each exactly uniform on the unit cube.

    Parameters and errors as :func:`rf.sampling.directions.iid`; see :func:`sobol_points`.
    """
    return first_or_all(sobol_points(checked_draws(n, dim, draws), n, dim, rng), draws)


def sobol_points(draws: int, n: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """First ``n`` points of independently scrambled Sobol sequences, each uniform on (0, 1)^dim.

    A uniform jitter inside the finest cell makes the law of each point continuous.

    Parameters
    ----------
    draws, n, dim : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (draws, n, dim)

    References
    ----------
    J. Matousek, "On the L2-discrepancy for anchored boxes", Journal of Complexity 14 (1998),
    527-556.
    """
    if dim > qmc.Sobol.MAXDIM:
        raise ParameterError(
            f"Sobol points were asked in dimension {dim}, and their direction numbers are "
            f"tabulated up to {qmc.Sobol.MAXDIM}. Take another coupling."
        )
    if n > 1 << _BITS:
        raise ParameterError(f"A Sobol sequence has 2^{_BITS} points here, and {n} were asked for.")
    numbers = _scrambled(_direction_numbers(dim, (n - 1).bit_length()), draws, rng)
    points = np.empty((draws, n, dim), dtype=np.uint32)
    points[:, 0] = rng.integers(1 << _BITS, size=(draws, dim), dtype=np.uint32)
    if n > 1:
        index = np.arange(1, n)
        trailing = np.log2(index & -index).astype(np.intp)
        points[:, 1:] = numbers[:, trailing]
        np.bitwise_xor.accumulate(points, axis=1, out=points)
    jitter = rng.random(points.shape)
    # One point in 2^54 would round to an end of the cube, where a normal quantile is infinite.
    return np.clip((points + jitter) * 2.0**-_BITS, np.finfo(float).tiny, np.nextafter(1.0, 0.0))


def _scrambled(numbers: _Bits, draws: int, rng: np.random.Generator) -> _Bits:
    """Direction numbers (count, dim) times random lower triangular matrices: (draws, count, dim).

    Bit i of the result, from the top, is the parity of the bits above it that a random mask
    takes, and of bit i itself.
    """
    count, dim = numbers.shape
    masks = rng.integers(1 << _BITS, size=(_BITS, draws, 1, dim), dtype=np.uint32)
    scrambled = np.zeros((draws, count, dim), dtype=np.uint32)
    for i, mask in enumerate(masks):
        place = np.uint32(1 << (_BITS - 1 - i))
        above = np.uint32(((1 << i) - 1) << (_BITS - i))
        parity = np.bitwise_count(numbers & ((mask & above) | place)) & np.uint32(1)
        scrambled |= parity * place
    return scrambled


@lru_cache(maxsize=32)
def _direction_numbers(dim: int, count: int) -> _Bits:
    """v_0 ... v_{count-1} of every coordinate: shape (count, dim)."""
    numbers = np.zeros((count, dim), dtype=np.uint32)
    for j in range(count):
        engine = qmc.Sobol(dim, scramble=False, bits=_BITS)
        if j > 0:
            engine.fast_forward((1 << j) - 1)
        before, after = (engine.random(2) * 2.0**_BITS).astype(np.uint32)
        numbers[j] = before ^ after
    numbers.setflags(write=False)
    return numbers
