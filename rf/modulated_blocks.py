r"""The variance of orthogonal blocks under a modulated measure.

A weighted draw of :math:`\sum_j c_j\, k(D + t_j e)` is :math:`\sum_j c_j \cos(w \cdot v_j)` with
v_j = D + t_j e.  For two orthogonal directions the covariance of two draws is, apart from the
degree 0 that independent directions have as well,

.. math:: \sum_{j,k} c_j c_k \sum_{n = 2, 4, \dots} E[g_n(R |v_j|)\, g_n(R' |v_k|)]\, P_n(0)\,
          P_n(\cos\angle(v_j, v_k)),

which is the sum of :mod:`rf.variance` for c_j = 1 and one j.  For independent radii the mean is a
product H_n(|v_j|) H_n(|v_k|); for radii in different ones of s layers, dealt at random,

.. math:: \frac{1}{s - 1} \Bigl[s H_n H'_n - \frac1s \sum_a A_{n,a} A'_{n,a}\Bigr]

with the means A over layer a, and the same under one offset, which is then averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rf.cosines import Fixed
from rf.modulated_layers import Layers, layer_rule, layered_variance, offset_rule
from rf.radial_means import Waves
from spectra.harmonics import gegenbauer, wave_coefficients
from spectra.modulated import AxialPart

__all__ = ["blocks_variance"]

FloatArray = NDArray[np.float64]

# Radii of one block of waves.
_CHUNK = 1 << 14


def blocks_variance(
    part: AxialPart,
    n: int,
    differences: FloatArray,
    layers: Layers = "iid",
    *,
    most: int | None = None,
) -> FloatArray:
    """Variance of the mean of n draws with orthogonal blocks of directions.

    Parameters
    ----------
    part : AxialPart
        Of an isotropic law.
    n : int
    differences : ndarray of shape (m, d)
    layers : {"iid", "stratified", "systematic"}
        How the radii are drawn.
    most : int, optional
        As for :func:`rf.modulated_layers.layered_variance`.

    Returns
    -------
    ndarray of shape (m,)
        In error by less than 1e-6 of the squared mass where the law has no tail beyond reach.
    """
    dim = part.dim
    alone = layered_variance(part, n, differences, layers, most=most)
    full, rest = divmod(n, dim)
    pairs = full * dim * (dim - 1) + rest * (rest - 1)
    if dim == 1 or pairs == 0:
        return alone
    points = differences[:, None, :] + part.modulation.offsets[None, :, :]
    lengths = np.linalg.norm(points, axis=-1)
    harmonics = Waves(dim, [part.base.law], lengths.ravel())
    degree = harmonics.degree_of(0, 0, Fixed(0.0))
    moments = harmonics.moments(degree, 2 * harmonics.panels_for(degree))
    waves = moments.harmonics[0, 1:].reshape(-1, *lengths.shape)
    # A vector of length 0 has no waves of degree 2 and more: its direction does not matter.
    units = points / np.where(lengths > 0.0, lengths, 1.0)[..., None]
    cosines = np.minimum(np.einsum("mjd,mkd->mjk", units, units), 1.0)
    right = gegenbauer(dim, degree, 0.0)[2::2]
    angular = gegenbauer(dim, degree, np.maximum(cosines, -1.0))[2::2]
    if layers == "iid":
        products = np.einsum("nmj,nmk->nmjk", waves, waves)
    else:
        products = _layered_products(part, n, lengths, waves, layers, most)
    weights = part.modulation.weights
    covariance = np.einsum("n,j,k,nmjk,nmjk->m", right, weights, weights, products, angular)
    return np.asarray(alone + pairs / n**2 * part.base.mass**2 * covariance)


def _layered_products(
    part: AxialPart,
    n: int,
    lengths: FloatArray,
    waves: FloatArray,
    layers: Layers,
    most: int | None,
) -> FloatArray:
    """E[g g'] for radii in two layers of n, shape (degrees, m, j, k)."""
    degree, steps = 2 * len(waves), lengths.shape[1]
    out = np.empty((*waves.shape, steps))
    reach = float(lengths.max())
    if layers == "stratified":
        rule = layer_rule(part, n if most is None else min(n, most), reach)
        for i, z in enumerate(lengths):
            values = _waves_at(part.dim, degree, rule.coordinate, z)
            means = rule.means(values.T, waves[:, i].ravel()).reshape(rule.n, -1, steps)
            out[:, i] = n * np.einsum("nj,nk->njk", waves[:, i], waves[:, i])
            out[:, i] -= np.einsum("anj,ank->njk", means, means) / rule.n
        return out / (n - 1.0)
    offsets, weights = offset_rule(part, n, reach)
    out[:] = 0.0
    step = max(1, _CHUNK // n)
    for start in range(0, offsets.size, step):
        share = weights[start : start + step]
        u = (np.arange(n)[:, None] + offsets[start : start + step]) / n
        radii = part.coordinate(u.ravel())
        for i, z in enumerate(lengths):
            values = _waves_at(part.dim, degree, radii, z).T.reshape(*u.shape, -1, steps)
            sums = values.sum(axis=0)
            out[:, i] += np.einsum("o,onj,onk->njk", share, sums, sums)
            out[:, i] -= np.einsum("o,aonj,aonk->njk", share, values, values)
    return out / (n * (n - 1.0))


def _waves_at(dim: int, degree: int, radii: FloatArray, z: FloatArray) -> FloatArray:
    """g_n(R z) for n = 2, 4, ..., degree, shape (degree / 2 * len(z), len(radii))."""
    values = wave_coefficients(dim, degree, np.multiply.outer(z, radii))[2::2]
    # The signs with which the waves of a plane wave come, as in the moments of the law.
    values[::2] *= -1.0
    return values.reshape(-1, radii.size)
