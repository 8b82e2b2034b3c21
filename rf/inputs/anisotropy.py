"""Matrices of length scales along rotated axes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import ParameterError

__all__ = ["anisotropy"]


def anisotropy(lengths: ArrayLike, angles: ArrayLike = 0.0) -> FloatArray:
    """The matrix M of lengths along rotated axes, for ``length_scale``: k(|M^-1 (x - y)|).

    Parameters
    ----------
    lengths : array_like of shape (d,)
        Lengths along the rotated axes, d >= 2.
    angles : array_like of at most d (d - 1)/2 numbers
        Radians, as in GSTools: counter-clockwise from the first axis for d = 2; yaw, pitch and roll
        for d = 3; in general for the planes of the axes (0, 1), (0, 2), (1, 2), (0, 3), ...  An
        azimuth a of GSLIB, in degrees clockwise from north, is radians(90 - a).

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> M = anisotropy([30.0, 10.0], np.radians(90 - 45))  # 30 towards the north-east, 10 across
    >>> np.linalg.norm(np.linalg.solve(M, [30.0, 30.0])).round(12)
    np.float64(1.414213562373)
    """
    scales, turns = real_array(lengths, "The lengths"), np.atleast_1d(real_array(angles, "angles"))
    dim = scales.size
    planes = sorted(combinations(range(dim), 2), key=lambda plane: plane[1])
    are_lengths = scales.ndim == 1 and dim > 1 and np.all((scales > 0.0) & (scales < np.inf))
    if not are_lengths or turns.size > len(planes) or not np.all(np.isfinite(turns)):
        raise ParameterError(
            f"lengths = {lengths!r}, angles = {angles!r}: give d >= 2 positive lengths, and at "
            "most d (d - 1)/2 angles in radians."
        )
    rotation = np.eye(dim)
    for number, ((i, j), angle) in enumerate(zip(planes, turns, strict=False)):
        turn, signed = np.eye(dim), (-1.0) ** number * angle
        turn[[i, j], [i, j]] = np.cos(signed)
        turn[i, j], turn[j, i] = -np.sin(signed), np.sin(signed)
        rotation = turn @ rotation
    return rotation * scales
