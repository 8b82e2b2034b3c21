r"""The variance of orthogonal blocks under a modulated measure.

A weighted draw of :math:`\sum_j c_j\, k(D + t_j e)` is :math:`\sum_j c_j \cos(w \cdot v_j)` with
v_j = D + t_j e.  For two orthogonal directions and independent radii the covariance of two draws is

.. math:: \sum_{j,k} c_j c_k \sum_{n = 2, 4, \dots} H_n(|v_j|)\, H_n(|v_k|)\, P_n(0)\,
          P_n(\cos\angle(v_j, v_k)), \qquad H_n(z) = E g_n(R z),

which is the sum of :mod:`rf.variance` for c_j = 1 and one j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rf.harmonics import gegenbauer, wave_coefficients
from spectra.modulated import AxialPart
from spectra.table import RadialLaw

__all__ = ["blocks_variance"]

FloatArray = NDArray[np.float64]

# Degrees are doubled until the waves lack less than this of their unit norm.
_TOLERANCE = 1e-7
_FIRST_DEGREE = 16
_LAST_DEGREE = 512


def blocks_variance(part: AxialPart, n: int, differences: FloatArray) -> FloatArray:
    """Variance of the mean of n weighted draws with orthogonal blocks of directions, iid radii.

    Parameters
    ----------
    part : AxialPart
        Of kind "weighted".
    n : int
    differences : ndarray of shape (m, d)

    Returns
    -------
    ndarray of shape (m,)
        In error by less than 1e-6 of the squared mass where the law has no tail beyond reach.
    """
    dim = part.dim
    single = part.variance(differences) / n
    full, rest = divmod(n, dim)
    pairs = full * dim * (dim - 1) + rest * (rest - 1)
    if dim == 1 or pairs == 0:
        return single
    weights, law = part.modulation.weights, part.base.law
    points = differences[:, None, :] + part.modulation.offsets[None, :, :]
    lengths = np.linalg.norm(points, axis=-1)
    waves = _even_waves(law, dim, lengths.ravel()).reshape(-1, *lengths.shape)
    # A vector of length 0 has no waves of degree 2 and more: its direction does not matter.
    units = points / np.where(lengths > 0.0, lengths, 1.0)[..., None]
    cosines = np.clip(np.einsum("mjd,mkd->mjk", units, units), -1.0, 1.0)
    degree = 2 * len(waves)
    right = gegenbauer(dim, degree, 0.0)[2::2]
    angular = gegenbauer(dim, degree, cosines)[2::2]
    weighted = waves * weights
    covariance = np.einsum("n,nmj,nmk,nmjk->m", right, weighted, weighted, angular)
    return np.asarray(single + pairs / n**2 * part.base.mass**2 * covariance)


def _even_waves(law: RadialLaw, dim: int, z: FloatArray) -> FloatArray:
    """H_n(z) for n = 2, 4, ..., shape (degree / 2, len(z)), to a sufficient degree."""
    radii, probabilities, _ = law.nodes(float(z.max()))
    degree = _FIRST_DEGREE
    while True:
        means = np.empty((degree + 1, z.size))
        lacking = 0.0
        for i, distance in enumerate(z):
            values = wave_coefficients(dim, degree, radii * distance)
            means[:, i] = values @ probabilities
            lacking = max(lacking, float(probabilities @ (1.0 - np.sum(values**2, axis=0))))
        if lacking < _TOLERANCE or degree >= _LAST_DEGREE:
            return means[2::2]
        degree *= 2
