"""Published ways to draw frequencies (Liu, Huang, Chen, Suykens, AISTATS 2021, Figure 4)."""

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
_GRID_POINTS = 10_000


def grid_frequencies(
    density: Density,
    dim: int,
    n: int,
    *,
    reach: float = _GRID_REACH,
    points: int = _GRID_POINTS,
    law: Literal["published", "exact"] = "published",
    rng: np.random.Generator | int | None = None,
) -> Frequencies:
    """Frequencies with radii from |mu(w)| on a grid, without the factor w^(d-1).  Biased.

    The published code uses the density on R^d at the points of a grid on [-reach, reach] as if it
    were that of the radius, and weights that add up to 1.  The mean is :func:`grid_mean`, which is
    another kernel for d >= 2.

    Parameters
    ----------
    density : callable
        mu(w), the signed spectral density on R^dim (``spectral_density(kernel, dim).density``);
        for law="exact" that of the radius (its ``radial``).
    dim : int
    n : int
        Frequencies, half of them of each sign if the density has both; an odd one is dropped.
    reach, points : float and int
        The grid.
    law : {"published", "exact"}
        With "exact" the radius has its factor w^(d-1), and only the mass beyond ``reach`` and the
        grid itself are missing.
    rng : Generator, int or None

    Examples
    --------
    >>> drawn = grid_frequencies(lambda w: np.exp(-w**2 / 2), 16, 500, rng=0)
    >>> bool(np.mean(np.linalg.norm(drawn.frequencies, axis=1)) < 1.0)    # chi_16 has mean 3.9
    True
    """
    rng = np.random.default_rng(rng)
    radii, positive, negative, mass = _grid(density, reach, points, law)
    parts = [(p, phase) for p, phase in ((positive, 0.0), (negative, np.pi)) if p.sum() > 0.0]
    count = n // max(len(parts), 1)
    if count < 1:
        raise ParameterError(
            f"n = {n} leaves a part of the density without frequencies, or the density is zero on "
            "the grid."
        )
    rows = []
    for part, _ in parts:
        w = radii[rng.choice(radii.size, count, p=part / part.sum())]
        directions = rng.standard_normal((count, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        rows.append(w[:, None] * directions)
    return Frequencies(
        np.concatenate(rows),
        np.repeat([part.sum() / mass / count for part, _ in parts], count),
        np.repeat([phase for _, phase in parts], count),
        np.repeat(np.arange(len(parts)), count),
    )


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

    over the grid, without w^(d-1); with law="exact" :math:`\int \rho(w)\,\Omega_d(w z)\,dw`.

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
    tau^2 < 2 deviation^2 for all of them.  It grows with d.

    ``density`` is mu(w) on R^dim as a function of the radius.
    """
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
    Given the pool, the mean is the pool's estimate, so it is unbiased if the pool is.

    Parameters
    ----------
    frequencies : rf.Frequencies
        The pool.
    X : array_like of shape (rows, d)
    n : int
        Frequencies to draw, with replacement.
    ridge : float
        lambda over the number of rows.

    References
    ----------
    Li, Ton, Oglic, Sejdinovic, "Towards a unified analysis of random Fourier features", ICML 2019.
    """
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
