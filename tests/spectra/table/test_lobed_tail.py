"""Infinitely many lobes as one tail of a law: radii, masses, and the exact mean of plane waves."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import AccuracyError, ParameterError
from spectra.table import LobedTail, Panels, RadialLaw
from spectra.table.tails.lobe_shares import place_in_lobe, share_before, share_slope
from spectra.table.tails.lobed_waves import lobed_plane_wave


def lobes(sigma, kappa=5.25):
    mass = 0.2 * kappa**sigma * np.array([1.0, 0.05, 0.01])
    radius = [[0.3, 0.7, 0.01], [0.05, 0.02, 0.003], [0.01, 0.002, 0.001]]
    return LobedTail(kappa, np.pi, sigma, mass, radius)


def smooth_cut_sum(tail, dim, z, count):
    """Sum over the lobes under a smooth window: exact up to super-algebraically small terms.

    The terms oscillate in k, so that what the window takes away has no slow Fourier component.
    """
    v, weights = np.polynomial.legendre.leggauss(24 + int(2.0 * z))
    v = 0.5 * (v + 1.0)
    share = 0.25 * np.pi * weights * np.sin(np.pi * v)
    total = 0.0
    for start in range(0, count, 10_000):
        k = np.arange(start, min(start + 10_000, count))
        x = np.clip((k / count - 0.2) / 0.8, 1e-9, 1.0 - 1e-9)
        up, down = np.exp(-1.0 / (1.0 - x)), np.exp(-1.0 / x)
        s = tail.kappa + k
        waves = plane_wave_mean(dim, z * tail.radius(s, v)) @ share
        masses = tail.survival(s) - tail.survival(s + 1.0)
        total += np.sum(masses * waves * up / (up + down))
    return total


@pytest.mark.parametrize(("sigma", "dim"), [(4.0, 3), pytest.param(0.5, 1, marks=pytest.mark.slow)])
def test_the_mean_over_infinitely_many_lobes_is_their_sum(sigma, dim):
    tail = lobes(sigma)
    z = np.array([0.1, 0.5, 0.99, 1.01, 1.7, 3.0, 10.3])
    if dim < 3:
        z = np.append(z, 33.3)
    value, error = lobed_plane_wave(tail, dim, z)
    truth = [smooth_cut_sum(tail, dim, x, 6000) for x in z]
    # The windowed sum itself loses digits in the differences of T: 1e-13 of its mass.
    assert np.all(np.abs(value - truth) <= error + 2e-14)
    assert np.max(error) < 2e-13


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.0])
def test_lobes_on_a_lattice_have_the_transcendent_of_lerch(sigma):
    """With w = pi s + 0.37 and T = s^-sigma in one dimension, with the resonance at z = 2."""
    for kappa in (5.0, 40.25):
        tail = LobedTail(kappa, np.pi, sigma, [0.2 * kappa**sigma], [[0.37]])
        z = np.array([1e-8, 1e-5, 1e-3, 0.01, 0.3, 0.999999, 1.0, 2.0, 2.0000001, 77.7])
        value, error = lobed_plane_wave(tail, 1, z)
        with mpmath.workdps(25):
            for x, v, e in zip(z, value, error, strict=True):
                step = mpmath.mpf(float(x)) * mpmath.mpf(np.pi)
                unit = mpmath.expj(step)
                sums = mpmath.lerchphi(unit, sigma, kappa) - mpmath.lerchphi(unit, sigma, kappa + 1)
                start = mpmath.expj(step * kappa + mpmath.mpf(float(x)) * mpmath.mpf(0.37))
                truth = 0.2 * mpmath.mpf(kappa) ** sigma * (start * sums).real
                assert abs(v - float(truth)) <= e
                assert e < 1e-12


def test_a_sum_over_endless_lobes_is_refused_and_not_begun():
    tail = LobedTail(5.0, np.pi, 1.0, [1.0], [[0.37, 0.2], [0.1, 0.0]])
    for z in (1e7, 1e12):
        with pytest.raises(AccuracyError, match="Ask for smaller distances"):
            lobed_plane_wave(tail, 1, np.array([z]))
        # In many dimensions the waves have died out before the first lobe.
        value, error = lobed_plane_wave(tail, 16, np.array([z]))
        assert value[0] == 0.0
        assert 0.0 < error[0] < 1e-14
    assert np.all(np.isfinite(lobed_plane_wave(tail, 1, np.array([100.0]))))


@pytest.mark.parametrize("sigma", [0.1, 4.0])
def test_radii_of_lobes_invert_their_masses(sigma):
    tail = lobes(sigma)
    q = tail.mass * np.random.default_rng(1).random(2000)
    w = tail.isf(q)
    # An independent inversion: the lobe by bisection of T over the integers, then v in closed form.
    low, high = np.zeros(q.size), np.full(q.size, 1e7)
    near = q > tail.survival(np.array([tail.kappa + 1e7]))
    for _ in range(24):
        middle = np.floor(0.5 * (low + high))
        beyond = tail.survival(tail.kappa + middle) >= q
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    s = tail.kappa + low
    share = (tail.survival(s) - q) / (tail.survival(s) - tail.survival(s + 1.0))
    v = 2.0 / np.pi * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))
    radius = np.array([tail.radius(s[i : i + 1], v[i : i + 1])[0, 0] for i in np.flatnonzero(near)])
    # An error of 4e-16 in the probability moves the radius by that over the density.
    density = (tail.survival(s) - tail.survival(s + 1.0))[near]
    assert np.max(np.abs(w[near] - radius) * density) < 1e-7 * tail.mass
    assert np.median(np.abs(w[near] - radius) / radius) < 1e-12
    tiny = tail.isf(np.array([0.0, 1e-16, 2.0**-53, 1e-10, tail.mass]))
    assert tiny[0] == np.inf
    assert np.all(np.diff(tiny) < 0.0)
    assert np.all(np.isfinite(tiny[1:]))
    ratio = tail.isf(2.0**-53) / tail.isf(2.0**-50)
    assert abs(ratio / 8.0 ** (1.0 / sigma) - 1.0) < (1e-6 if sigma <= 1.0 else 1e-3)


@pytest.mark.parametrize("zeros", [1, 2])
def test_the_place_in_a_lobe_inverts_its_share(zeros):
    """Against sin^2 and v - sin v at many digits, in relative terms next to the zero."""
    f = np.concatenate([np.geomspace(1e-290, 0.4, 60), np.linspace(0.41, 1.0, 20)])
    v = place_in_lobe(zeros, f)
    assert np.all(np.diff(v) > 0.0)
    with mpmath.workdps(260):
        for share, place in zip(f, v, strict=True):
            x = mpmath.pi * mpmath.mpf(place)
            truth = mpmath.sin(x / 2) ** 2 if zeros == 1 else (2 * x - mpmath.sin(2 * x)) / 2
            truth = truth if zeros == 1 else truth / mpmath.pi
            assert abs(truth - mpmath.mpf(share)) <= 4e-15 * share
    assert share_before(zeros, v) == pytest.approx(f, rel=1e-14)
    h = 1e-5
    middle = np.linspace(0.1, 0.9, 9)
    slope = (share_before(zeros, middle + h) - share_before(zeros, middle - h)) / (2.0 * h)
    assert share_slope(zeros, middle) == pytest.approx(slope, rel=1e-8)
    assert v[-1] == 1.0


@pytest.mark.parametrize("zeros", [0, 3])
def test_zeros_of_other_orders_are_refused(zeros):
    with pytest.raises(ParameterError, match="simple or double"):
        LobedTail(2.0, 1.0, 1.0, [0.5], [[0.25, 0.25]], 1, zeros)


@pytest.mark.parametrize("dim", [1, 3])
def test_a_law_may_end_in_lobes(dim):
    tail = lobes(1.0)
    first = tail.radius(np.array([tail.kappa]), np.zeros(1))[0, 0]
    right = Panels([tail.mass, 0.5], [[0.75 * first, -0.25 * first]])
    law = RadialLaw(Panels([0.0, 0.5], [[0.25 * first, 0.25 * first]]), right, tail)
    z = np.array([0.0, 0.5, 2.0])
    lobe_sum = lobed_plane_wave(tail, dim, z)[0]
    nodes, weights = np.polynomial.legendre.leggauss(60)
    uniform = 0.5 * plane_wave_mean(dim, z[:, None] * first * (0.25 + 0.25 * nodes)) @ weights
    upper = 0.5 * plane_wave_mean(dim, z[:, None] * first * (0.75 + 0.25 * nodes)) @ weights
    truth = 0.5 * uniform + (0.5 - tail.mass) * upper + lobe_sum
    assert np.max(np.abs(law.expected_plane_wave(dim, z) - truth)) < 1e-14
    u = np.random.default_rng(0).random(20_000)
    assert np.array_equal(law.rvs(20_000, random_state=0), law.ppf(u))
    beyond = 1.0 - u <= tail.mass
    assert np.max(np.abs(law.ppf(u)[beyond] / tail.isf(1.0 - u[beyond]) - 1.0)) < 1e-15
    radii, weights, leftover = law.nodes(2.0)
    assert abs(weights.sum() + leftover - 1.0) < 1e-13
    means = plane_wave_mean(dim, z[:, None] * radii) @ weights
    assert np.max(np.abs(means - law.expected_plane_wave(dim, z))) <= leftover + 1e-13
    assert np.array_equal(pickle.loads(pickle.dumps(law)).ppf(u), law.ppf(u))


def test_lobes_that_are_no_tail_are_refused():
    with pytest.raises(ParameterError, match="positive"):
        LobedTail(0.0, 1.0, 1.0, [0.1], [[0.0]])
    with pytest.raises(ParameterError, match="fall"):
        LobedTail(1.0, 1.0, 1.0, [-0.1], [[0.0]])
    with pytest.raises(ParameterError, match="at most 1"):
        LobedTail(1.0, 1.0, 1.0, [1.5], [[0.0]])
    with pytest.raises(ParameterError, match="ascend"):
        LobedTail(1.0, 1.0, 1.0, [0.1], [[0.0, -0.2]])
    with pytest.raises(ParameterError, match="tail of mass"):
        lobes(1.0).isf(0.9)


def test_the_series_of_a_tail_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        lobes(1.0).mass_series[...] = 0
