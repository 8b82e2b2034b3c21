r"""Published sampling schemes, to compare with: each says whether it is biased, and towards what.

They make :class:`rf.Frequencies` for a table, as :func:`rf.draw_frequencies` does, so that every
scheme can be set beside the exact one with the same features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rf.sampling import Frequencies
from spectra.base.arrays import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import ParameterError

__all__ = [
    "grid_frequencies",
    "grid_mean",
    "importance_frequencies",
    "leverage_frequencies",
]

Density = Callable[[FloatArray], FloatArray]

_GRID_REACH = 10.0
# Radii up to which a density is looked at, in deviations of its surrogate.
_FAR = 1e4
_GRID_POINTS = 10_000


def grid_frequencies(
    density: Density,
    dim: int,
    counts: tuple[int, int],
    *,
    reach: float = _GRID_REACH,
    points: int = _GRID_POINTS,
    law: Literal["published", "exact"] = "published",
    rng: np.random.Generator | int | None = None,
) -> Frequencies:
    r"""Frequencies with the published law of radii: |mu(w)| on a grid, without w^(d-1).  Biased.

    The published code of Liu et al. draws the radius from the density of the *measure on R^d* at
    the points of a grid on [-reach, reach], as if it were the density of the radius, which is
    :math:`S_{d-1} w^{d-1} |\mu(w)|`, and makes the weights add up to 1.  The estimate has the mean
    :func:`grid_mean`, which is another kernel for d >= 2, whatever the number of frequencies; for
    d = 1 it is k(z)/k(0) up to the grid.

    Parameters
    ----------
    density : callable
        mu(w), the signed spectral density on R^dim, finite at w = 0 (for instance
        ``spectral_density(kernel, dim).density``); for law="exact" that of the radius (its
        ``radial``).
    dim : int
    counts : (int, int)
        Frequencies of the positive and of the negative part; the latter is ignored where the
        density is nowhere negative.
    reach : float
        The grid is [-reach, reach]; the sign of a radius means nothing.
    points : int
        The paper compares 10 000 with 1 000 points, and reach 10 with 5.
    law : {"published", "exact"}
        With "exact" the radius has its factor w^(d-1), and the weights are the masses on the
        grid: all that is left of the bias is the mass beyond ``reach``, and the grid itself.
    rng : Generator, int or None

    Returns
    -------
    rf.Frequencies

    References
    ----------
    Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4 and the published code.

    Examples
    --------
    >>> drawn = grid_frequencies(lambda w: np.exp(-w**2 / 2), 16, (500, 0), rng=0)
    >>> bool(np.mean(np.linalg.norm(drawn.frequencies, axis=1)) < 1.0)    # chi_16 has mean 3.9
    True
    """
    rng = np.random.default_rng(rng)
    radii, positive, negative, mass = _grid(density, reach, points, law)
    parts = [(positive, 0.0, counts[0])]
    if negative.sum() > 0.0:
        parts.append((negative, np.pi, counts[1]))
    if min(count for _, _, count in parts) < 1 or positive.sum() == 0.0:
        raise ParameterError(
            f"counts = {counts} leaves a part of the density without frequencies, or the density "
            "is nowhere positive on the grid."
        )
    rows, weights, phases, index = [], [], [], []
    for number, (part, phase, count) in enumerate(parts):
        w = radii[rng.choice(radii.size, count, p=part / part.sum())]
        directions = rng.standard_normal((count, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        rows.append(w[:, None] * directions)
        weights.append(np.full(count, part.sum() / mass / count))
        phases.append(np.full(count, phase))
        index.append(np.full(count, number))
    together = np.concatenate
    return Frequencies(together(rows), together(weights), together(phases), together(index))


def grid_mean(
    density: Density,
    dim: int,
    z: ArrayLike,
    *,
    reach: float = _GRID_REACH,
    points: int = _GRID_POINTS,
    law: Literal["published", "exact"] = "published",
) -> FloatArray:
    r"""The kernel that :func:`grid_frequencies` estimates: its mean at distances z.

    .. math:: \frac{\int \mu(w)\,\Omega_d(w z)\,dw}{\int |\mu(w)|\,dw}

    over the grid, with no factor w^(d-1); with law="exact" it is :math:`\int \rho(w)\,\Omega_d(w
    z)\,dw` over the grid, rho the density of the radius.

    Examples
    --------
    >>> k = grid_mean(lambda w: np.exp(-w**2 / 2), 16, [0.0, 1.0, 2.0])
    >>> k.round(2), np.exp(-np.array([0.0, 1.0, 2.0])**2 / 2).round(2)
    (array([1.  , 0.97, 0.89]), array([1.  , 0.61, 0.14]))
    """
    z = np.asarray(z, dtype=float)
    radii, positive, negative, mass = _grid(density, reach, points, law)
    waves = plane_wave_mean(dim, np.multiply.outer(z, radii))
    return np.asarray(waves @ (positive - negative) / mass)


def _grid(
    density: Density, reach: float, points: int, law: Literal["published", "exact"]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Radii, the parts of the density there, and what a weight is divided by."""
    if not (reach > 0.0 and points >= 2):
        raise ParameterError(f"A grid needs reach > 0 and two points; got {reach}, {points}.")
    radii = np.abs(np.linspace(-reach, reach, points))
    value = np.asarray(density(radii), dtype=float)
    if not np.all(np.isfinite(value)):
        raise ParameterError(
            "The spectral density is not finite on the grid, so the published scheme has no "
            "weights for it. Its exact law of radii is a SpectralTable."
        )
    positive, negative = np.maximum(value, 0.0), np.maximum(-value, 0.0)
    if law == "exact":
        # Both signs of a radius are on the grid, so that a point stands for half a step.
        return radii, positive, negative, (points - 1) / reach
    return radii, positive, negative, float((positive + negative).sum())


def importance_frequencies(
    density: Density,
    dim: int,
    n: int,
    *,
    deviation: float,
    rng: np.random.Generator | int | None = None,
) -> Frequencies:
    r"""Frequencies of a Gaussian surrogate, weighted by mu(w)/q(w).  Unbiased, of large variance.

    :math:`\hat k(D) = \frac1n \sum \frac{\mu(w_i)}{q(w_i)} \cos(w_i \cdot D)`, w_i ~ q = N(0,
    deviation^2 I).  The variance is finite only where mu^2/q has a finite integral: never for an
    algebraic tail of mu, and for Gaussian parts of deviation tau in frequency only where
    tau^2 < 2 deviation^2 for all of them.  It grows with d.  An infinite one is refused.

    Parameters
    ----------
    density : callable
        mu(w), the signed spectral density on R^dim as a function of the radius.
    dim, n : int
    deviation : float
        Standard deviation of a coordinate of the surrogate.
    rng : Generator, int or None

    Raises
    ------
    ParameterError
        For a deviation that is not positive, and where mu^2/q still grows at the largest radius
        at which mu is a double: the variance is infinite then, or beyond all use.

    References
    ----------
    Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4.
    """
    if not 0.0 < deviation < np.inf:
        raise ParameterError(f"The deviation of the surrogate must be positive; got {deviation}.")
    _refuse_infinite_variance(density, dim, deviation)
    rng = np.random.default_rng(rng)
    w = deviation * rng.standard_normal((n, dim))
    radius = np.linalg.norm(w, axis=1)
    log_surrogate = -0.5 * (radius / deviation) ** 2 - 0.5 * dim * np.log(
        2.0 * np.pi * deviation**2
    )
    value = np.asarray(density(radius), dtype=float)
    ratio = np.abs(value) * np.exp(-log_surrogate)
    phases = np.where(value < 0.0, np.pi, 0.0)
    order = np.argsort(phases, kind="stable")
    return Frequencies(
        w[order], ratio[order] / n, phases[order], (phases[order] > 0.0).astype(np.intp)
    )


def _refuse_infinite_variance(density: Density, dim: int, deviation: float) -> None:
    """Look whether w^(d-1) mu(w)^2 / q(w) falls where mu ends, as an integrable function does."""
    radius = deviation * np.geomspace(1.0, _FAR, 400)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(np.asarray(density(radius), dtype=float)))
    log_square = 2.0 * size + 0.5 * (radius / deviation) ** 2 + (dim - 1.0) * np.log(radius)
    seen = log_square[size > np.log(np.finfo(float).tiny)]
    # The envelope of a density that changes its sign: the largest value from each radius on.
    if seen.size and seen[-(seen.size // 4) - 1 :].max() >= seen.max():
        raise ParameterError(
            "The variance of importance sampling from this Gaussian surrogate is infinite, or "
            f"beyond all use: mu^2/q still grows where mu ends (deviation {deviation:.4g} of q, "
            f"dimension {dim}), since q falls faster than the square of the density. Take "
            "sampling='inverse-cdf', which samples the measure itself."
        )


def leverage_frequencies(
    frequencies: Frequencies,
    X: ArrayLike,
    n: int,
    *,
    ridge: float,
    rng: np.random.Generator | int | None = None,
) -> Frequencies:
    r"""Resample a pool of frequencies by ridge leverage scores, with inverse weights.

    With the features Z of the pool on the rows X, the score of a frequency is the trace of its
    two rows of :math:`Z'Z (Z'Z + \lambda\,I)^{-1}`, signs apart; n frequencies are drawn from the
    pool in proportion to their scores, and each weight is divided by n times its probability.
    Given the pool the estimate has the pool's estimate as its mean, so it is unbiased where the
    pool is; it is adapted to X, and its variance on other data can be larger.

    Parameters
    ----------
    frequencies : rf.Frequencies
        The pool.
    X : array_like of shape (rows, d)
    n : int
        Frequencies to draw, with replacement.
    ridge : float
        lambda > 0 of the scores, in units of the kernel times the number of rows.

    References
    ----------
    Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4; Li, Ton, Oglic, Sejdinovic, "Towards a
    unified analysis of random Fourier features", ICML 2019.
    """
    if not 0.0 < ridge < np.inf:
        raise ParameterError(f"The ridge of the leverage scores must be positive; got {ridge}.")
    rng = np.random.default_rng(rng)
    angles = np.asarray(X, dtype=float) @ frequencies.frequencies.T
    scale = np.sqrt(frequencies.weights)
    Z = np.hstack([scale * np.cos(angles), scale * np.sin(angles)])
    level = ridge * len(angles)
    if len(Z) < Z.shape[1]:
        # The same diagonal by Z' (Z Z' + level I)^-1 Z, whose inverse is smaller.
        scores = np.sum(Z * np.linalg.solve(Z @ Z.T + level * np.eye(len(Z)), Z), axis=0)
    else:
        gram = Z.T @ Z
        scores = np.diag(np.linalg.solve(gram + level * np.eye(len(gram)), gram))
    size = len(frequencies)
    share = scores[:size] + scores[size:]
    share = share / share.sum()
    chosen = np.sort(rng.choice(size, n, p=share))
    return replace(
        frequencies,
        frequencies=frequencies.frequencies[chosen],
        weights=frequencies.weights[chosen] / (n * share[chosen]),
        phases=frequencies.phases[chosen],
        part=frequencies.part[chosen],
    )
