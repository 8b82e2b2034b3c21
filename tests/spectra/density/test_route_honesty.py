"""No route understates the error of its density.

The truth is in ``exact_densities``.  At radii from 1e-3 to 1e4, and near the zeros, peaks and ends
of the density, the true error is at most the stated one, and at most 1e-12 of the local envelope
beyond the rounding of the logarithm by which densities are given.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.density import ROUTES, spectral_density
from spectra.density.ball.edge import ball_component
from spectra.density.ball.numeric import fitted_form
from spectra.density.components import SpectralDensity
from spectra.density.half_line.half_line import half_line_density
from spectra.kernels.kernel import Kernel
from tests.oracles.exact_densities import DIGITS, exact_radial
from tests.oracles.kernels.problems import PROBLEMS

EPS = float(np.finfo(float).eps)
LARGEST = float(np.finfo(float).max)
DIMS = (1, 2, 3, 5, 16, 64, 256)
RADII = np.geomspace(1e-3, 1e4, 12)
TOLERANCE = 1e-12


def quadrature(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """The numeric route without its way out through look-up: every piece is integrated."""
    components, atoms = [], []
    for piece in kernel.pieces:
        if piece.support == sympy.oo:
            found, constant = half_line_density(piece.expr, dim)
            components += found
            atoms += constant
        else:
            # The public function asks for a closed form first.
            form, _ = fitted_form(piece.expr, piece.support)
            components.append(ball_component(form, dim))
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric")


SOLVERS = {**ROUTES, "quadrature": quadrature, "auto": spectral_density}


# --- cases ----------------------------------------------------------------------------------------

#: What has no pair in the catalogue, and what has no density in closed form here.
NO_LOOKUP = (
    "stable_3/2", "cosine_fourth_on_a_ball", "shifted_inverse",
    "cauchy", "rational_quadratic_1/2", "rational_quadratic_3",
)  # fmt: skip
NO_TRUTH = ("dagum", "two_seasons", "spectral_mixture")
WAVES = ("cosine", "sinc", "bessel_j0", "j_bessel_16", "j_bessel_9/2", "sinc_minus_cosine")
DEFAULT = (
    ("series", "laplace", 1), ("series", "matern_1", 2), ("series", "cauchy", 16),
    ("quadrature", "half_disc", 3), ("quadrature", "epanechnikov", 64), ("numeric", "askey_3/2", 3),
)  # fmt: skip
SLOW = (
    ("series", "gaussian_minus_laplace", 5), ("series", "laplace_difference", 256),
    ("series", "rational_quadratic_1/2", 64), ("series", "rational_quadratic_3", 3),
    ("series", "stable_3/2", 3), ("series", "stable_3/2", 1), ("series", "shifted_inverse", 16),
    ("quadrature", "gaussian", 3), ("quadrature", "matern_0.1", 5),
    ("quadrature", "quartic_gaussian", 16), ("quadrature", "damped_wave", 1),
    ("quadrature", "shifted_inverse", 5), ("quadrature", "askey_1", 256),
)  # fmt: skip


def cases() -> list[Any]:
    """Look-up for each problem in one dimension, and the other routes for some problems."""
    looked_up = [
        ("lookup", name, DIMS[place % len(DIMS)])
        for place, (name, problem) in enumerate(PROBLEMS.items())
        if name not in (*NO_LOOKUP, *NO_TRUTH)
        and "unbounded" not in problem.tags
        and not (name in WAVES and not problem.is_finite(DIMS[place % len(DIMS)]))
    ]
    quick = [case for case in looked_up[::4] if "arc" not in case[1]]
    slow = [*SLOW, *(case for case in looked_up if case not in quick)]
    return [
        *DEFAULT,
        *quick,
        *(pytest.param(*case, marks=pytest.mark.slow) for case in slow),
    ]


@cache
def reference(name: str, dim: int) -> SpectralDensity:
    return spectral_density(PROBLEMS[name].kernel, dim)


@cache
def probes(name: str, dim: int) -> np.ndarray:
    """Radii of the whole range, and where something happens: the same for every route."""
    density = reference(name, dim)
    radii = [RADII]
    for c in density.components:
        radii.append(np.geomspace(*c.bulk, 4))
        if c.tail is not None:
            radii.append(c.tail.start * np.array([0.97, 1 - 1e-12, 1 + 1e-12, 1.03]))
        if np.isfinite(c.end):
            radii.append(c.end * np.array([1 - 1e-3, 1 - 1e-9, 1 + 1e-3]))
    # The first changes of sign, each from both sides.
    grid = np.geomspace(1e-2, 60.0, 400)
    sign, _ = density.signed_log_radial(grid)
    for i in np.flatnonzero(sign[1:] * sign[:-1] < 0)[:2]:
        low, high = grid[i], grid[i + 1]
        for _ in range(45):
            middle = 0.5 * (low + high)
            changed = density.signed_log_radial([middle])[0][0] != sign[i]
            low, high = (low, middle) if changed else (middle, high)
        radii.append(np.array([low, high]))
    return np.unique(np.concatenate(radii))


def true_and_stated(name: str, dim: int, density: SpectralDensity, w: np.ndarray):
    """Exact errors, stated ones and envelopes, as numbers without a smallest one."""
    values = [c.signed_log(w) for c in density.components]
    envelopes = [c.log_envelope(w) for c in density.components]
    errors = [c.relative_error(w) + 4 * EPS for c in density.components]
    out = []
    with mp.workdps(DIGITS):
        for i, x in enumerate(w):
            exact = exact_radial(name, dim, float(x))
            sizes = [mp.exp(mp.mpf(float(log[i]))) for log in envelopes]
            value = mp.fsum(int(s[i]) * mp.exp(mp.mpf(float(log[i]))) for s, log in values)
            stated = mp.fsum(
                size * mp.mpf(float(e[i])) for size, e in zip(sizes, errors, strict=True)
            )
            out.append((exact, abs(value - exact), stated, mp.fsum(sizes)))
    return out


@pytest.mark.parametrize(("route", "name", "dim"), cases())
def test_the_true_error_is_at_most_the_stated_one_and_small(route, name, dim):
    density = SOLVERS[route](PROBLEMS[name].kernel, dim)
    total = sum(c.total for c in density.components) + sum(a.mass for a in density.atoms)
    assert total == pytest.approx(PROBLEMS[name].kernel.at_zero, abs=1e-14)
    w = probes(name, dim)
    found = true_and_stated(name, dim, density, w)
    radial, stated = density.radial(w), density.error(w)
    worst = mp.mpf(0)
    peak = max((x * f[3] for x, f in zip(w, found, strict=True)), default=mp.mpf(0))
    with mp.workdps(DIGITS):
        for x, value, bound, (exact, miss, claim, size) in zip(
            w, radial, stated, found, strict=True
        ):
            assert miss <= claim, x
            if abs(exact) < LARGEST:
                assert abs(mp.mpf(float(value)) - exact) <= mp.mpf(float(bound)), x
            else:
                assert np.isinf(value), x
            if route not in ("lookup", "numeric"):  # right to a share of the largest w |rho|
                worst = max(worst, x * miss / peak)
                continue
            if size == 0 or (route != "lookup" and x * size < 1e-16 * peak):
                continue
            rounding = 2 * EPS * abs(mp.log(size))
            worst = max(worst, miss / size - rounding)
    assert worst <= TOLERANCE
