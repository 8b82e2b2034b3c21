"""Spherical harmonics: polynomials in any arithmetic, and waves whose energies sum to one."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import roots_jacobi

from spectra.base.harmonics import (
    gegenbauer_sequence,
    harmonic_count,
    orthonormal_sequence,
    wave_coefficients,
)

PHASES = [1e-200, 1e-9, 0.3, 5.0, 40.0, 900.0, 2040.0]


def exact_coefficient(dim, degree, x):
    """sqrt(N) Gamma(d/2) (2/x)^(d/2-1) J_(n+d/2-1)(x) in ball arithmetic."""
    before, ctx.prec = ctx.prec, 20_000
    try:
        x, order = arb(x), arb(dim) / 2 - 1
        root = arb(harmonic_count(degree, dim)).sqrt()
        value = root * (order + 1).gamma() * (2 / x) ** order * x.bessel_j(order + degree)
        return float(value.mid())
    finally:
        ctx.prec = before


@pytest.mark.parametrize("dim", [1, 3, 1000])
def test_the_energies_of_a_wave_sum_to_one_to_degree_2048(dim):
    x = np.array([0.0, *PHASES[:-1]])
    g = wave_coefficients(dim, 2048, x)
    np.testing.assert_allclose(np.sum(g**2, axis=0), 1.0, rtol=0, atol=1e-13)
    # The energy of the wave on the sphere, x^2 (d - 1)/d, is the mean of n (n + d - 2).
    n = np.arange(2049.0)
    mean = (n * (n + dim - 2)) @ g**2
    np.testing.assert_allclose(mean, x**2 * (dim - 1) / dim, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dim", [2, 1000])
@pytest.mark.parametrize("degree", [1, 2048])
def test_coefficients_are_those_of_ball_arithmetic_and_small_ones_keep_their_digits(dim, degree):
    g = wave_coefficients(dim, degree, PHASES)
    for n in {0, 1, degree // 2, degree}:
        exact = np.array([exact_coefficient(dim, n, x) for x in PHASES])
        np.testing.assert_allclose(g[n], exact, rtol=0, atol=4e-15)
        small = (np.array(PHASES) < 10.0) & (np.abs(exact) > 1e-225)
        np.testing.assert_allclose(g[n][small], exact[small], rtol=1e-12, atol=0)


@pytest.mark.parametrize("dim", [2, 64])
def test_polynomials_are_orthogonal_with_the_counts_of_harmonics(dim):
    u, weights = roots_jacobi(40, 0.5 * (dim - 3), 0.5 * (dim - 3))
    p = np.array(list(islice(gegenbauer_sequence(dim, u), 21)))
    products = (p * weights / weights.sum()) @ p.T
    counts = np.array([float(harmonic_count(n, dim)) for n in range(21)])
    np.testing.assert_allclose(products * np.sqrt(np.outer(counts, counts)), np.eye(21), atol=1e-10)
    unit = np.array(list(islice(orthonormal_sequence(dim, u), 21)))
    np.testing.assert_allclose(unit, p * np.sqrt(counts)[:, None], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3, 16])
def test_the_recurrence_is_exact_in_exact_arithmetic(dim):
    at_zero = list(islice(gegenbauer_sequence(dim, Fraction(0)), 41))
    at_one = list(islice(gegenbauer_sequence(dim, Fraction(1)), 41))
    assert set(at_one) == {1}
    for n in range(0, 41, 2):
        i = 2.0 * np.arange(n // 2)
        assert float(at_zero[n]) == pytest.approx(np.prod(-(1 + i) / (dim - 1 + i)), rel=1e-14)
        assert n == 40 or at_zero[n + 1] == 0
