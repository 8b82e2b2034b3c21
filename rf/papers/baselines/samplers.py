"""Samplers of frequencies that Liu, Huang, Chen, Suykens (AISTATS 2021) compare in Figure 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rf.sampling import Frequencies
from spectra.base.arrays import FloatArray
from spectra.base.bessel import plane_wave_mean
from spectra.errors import ParameterError

__all__ = ["grid_frequencies", "grid_mean", "importance_frequencies", "leverage_frequencies"]

Density = Callable[[FloatArray], FloatArray]

# The interval [-10, 10] and the 10 000 points of Liu et al., section 5.
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
    """Draw radii from |mu(w)| on a grid, without the factor w^(d-1), which is biased for d >= 2.

    Both papers draw the radius from the density on R^d, as if it were that of the radius, and scale
    the weights to sum 1: Liu et al. by rejection sampling on [-10, 10], the public code of Luo et
    al. by the inverse distribution function on [0, 100].  :func:`grid_mean` is the mean.

    Parameters
    ----------
    density : callable
        mu(w), the signed spectral density on R^dim (``spectral_density(kernel, dim).density``);
        for law="exact" the density of the radius (``.radial``).
    dim : int
    n : int
        Number of frequencies; if the density changes sign, n // 2 are drawn for each sign.
    reach, points : float and int
        Largest radius and number of points of the grid.
    law : {"published", "exact"}
        Whether ``density`` is that of R^dim, used without the factor w^(d-1), or that of the
        radius; the latter only misses the mass beyond ``reach`` and has the error of the grid.
    rng : Generator, int or None
    """
    rng = np.random.default_rng(rng)
    radii, positive, negative, divisor = _grid(density, reach, points, law)
    # The phase pi gives a frequency a negative sign.
    parts = [(p, phase) for p, phase in ((positive, 0.0), (negative, np.pi)) if np.any(p)]
    count = n // max(len(parts), 1)
    if count < 1:
        raise ParameterError(
            f"n = {n} leaves a part of the density without frequencies, or the density is zero on "
            "the grid."
        )
    frequencies = []
    for part, _ in parts:
        drawn = radii[rng.choice(radii.size, count, p=part / part.sum())]
        directions = rng.standard_normal((count, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        frequencies.append(drawn[:, None] * directions)
    return Frequencies(
        np.concatenate(frequencies),
        np.repeat([part.sum() / divisor / count for part, _ in parts], count),
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
    r"""The expected kernel of :func:`grid_frequencies` as a function of the distance z.

    .. math:: \frac{\int \mu(w)\,\Omega_d(w z)\,dw}{\int |\mu(w)|\,dw}

    as sums over the grid.  With law="exact" it is :math:`\int \rho(w)\,\Omega_d(w z)\,dw`, with the
    density rho of the radius.  Omega_d(w z) is the mean of cos(w e.D) over unit vectors e, |D| = z.

    """
    z = np.asarray(z, dtype=float)
    radii, positive, negative, divisor = _grid(density, reach, points, law)
    waves = plane_wave_mean(dim, np.multiply.outer(z, radii))
    return np.asarray(waves @ (positive - negative) / divisor)


def _grid(
    density: Density, reach: float, points: int, law: Literal["published", "exact"]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Radii, positive and negative part of the density there, and the divisor of the weights."""
    radii = np.abs(np.linspace(-reach, reach, points))
    values = np.asarray(density(radii), dtype=float)
    if not np.all(np.isfinite(values)):
        raise ParameterError("The spectral density is not finite on the grid. Use rf.GRFF instead.")
    positive, negative = np.maximum(values, 0.0), np.maximum(-values, 0.0)
    if law == "exact":
        # The grid has each radius twice, as w and -w, so each point has half the step as weight.
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
    r"""Draw frequencies from a Gaussian q and weight them by mu(w)/q(w): unbiased, large variance.

    :math:`\hat k(D) = \frac1n \sum \frac{\mu(w_i)}{q(w_i)} \cos(w_i \cdot D)`, w_i ~ q = N(0,
    deviation^2 I), D = x - y.  The variance is finite only if mu^2/q is integrable: never for an
    algebraic tail of mu, and for a mixture of Gaussians N(0, tau^2 I) only if every tau^2 is less
    than 2 deviation^2.  It grows with d.

    ``density`` is mu(w) on R^dim as a function of the radius.
    """
    rng = np.random.default_rng(rng)
    w = deviation * rng.standard_normal((n, dim))
    radius = np.linalg.norm(w, axis=1)
    log_q = -0.5 * (radius / deviation) ** 2 - 0.5 * dim * np.log(2.0 * np.pi * deviation**2)
    values = np.asarray(density(radius), dtype=float)
    ratio = np.abs(values) * np.exp(-log_q)
    phases = np.where(values < 0.0, np.pi, 0.0)
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

    With the features Z of the pool on the rows X, the score of a frequency is the sum of the
    diagonal entries of :math:`Z'Z (Z'Z + \lambda\,I)^{-1}` for its cosine and sine.  A frequency
    is drawn in proportion to its score, and its weight is divided by n times its probability.
    This is unbiased if the pool is.

    ``frequencies`` is the pool, ``n`` the number to draw, with replacement, and ``ridge`` is lambda
    divided by the number of rows X.

    References
    ----------
    Li, Ton, Oglic, Sejdinovic, "Towards a unified analysis of random Fourier features", ICML 2019.
    """
    rng = np.random.default_rng(rng)
    angles = np.asarray(X, dtype=float) @ frequencies.frequencies.T
    scale = np.sqrt(frequencies.weights)
    Z = np.hstack([scale * np.cos(angles), scale * np.sin(angles)])
    penalty = ridge * len(angles)
    if len(Z) < Z.shape[1]:
        # The same diagonal from Z' (Z Z' + lambda I)^-1 Z, with a smaller matrix to invert.
        scores = np.sum(Z * np.linalg.solve(Z @ Z.T + penalty * np.eye(len(Z)), Z), axis=0)
    else:
        gram = Z.T @ Z
        scores = np.diag(np.linalg.solve(gram + penalty * np.eye(len(gram)), gram))
    size = len(frequencies)
    probabilities = scores[:size] + scores[size:]
    probabilities /= probabilities.sum()
    chosen = np.sort(rng.choice(size, n, p=probabilities))
    return replace(
        frequencies,
        frequencies=frequencies.frequencies[chosen],
        weights=frequencies.weights[chosen] / (n * probabilities[chosen]),
        phases=frequencies.phases[chosen],
        part=frequencies.part[chosen],
    )
