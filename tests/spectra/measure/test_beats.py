"""Sums of kernels that end at different radii: their lobes beat, and have masses and tables.

Oracles: in one dimension the density of triangles is periodic over w^2, and the sum over all
periods is a sine; Bochner-Riesz kernels have Bessel densities, whose masses over one common period
after another are a series in its number; what has no period is compared with itself at far cuts.
"""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy.special import gammaln, jv, zeta

import spectra as sp
from spectra.errors import AccuracyError, ParameterError
from spectra.measure import measure_of
from spectra.measure.oscillating import several_frequencies as beats
from spectra.measure.oscillating.phase_means import mean_size, mode_sizes, orbits_of
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.mixed_tail import MixedTail

TWO_RADII = "max(1 - z**2, 0)**2 + max(1 - z**2/2, 0)**2"
DOUBLE_RADIUS = "max(1 - z**2, 0)**{p} + max(1 - z**2/4, 0)**{p}"
DISTANCES = np.array([0.0, 1e-6, 0.31, 1.0, 1.27, 2**0.5, 1.9, 2.0, 5.3])


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@cache
def measure(text, dim):
    return sp.spectral_measure(sp.radial(text), dim)


@cache
def table(text, dim):
    return sp.tabulate(measure(text, dim))


# --- masses ------------------------------------------------------------------------------------


def triangles(weights):
    """The kernel sum of c R max(1 - z/R, 0), with density 2/pi sum of c (1 - cos R w)/w^2."""
    return " + ".join(f"({c * r})*max(1 - z/{r}, 0)" for r, c in weights.items())


def norm_of_triangles(weights):
    """Over all periods of 2 pi, 1/w^2 sums to 1/(4 sin^2(w/2))."""
    with mp.workdps(30):

        def size(w):
            g = mp.fsum(c * (1 - mp.cos(r * w)) for r, c in weights.items())
            return abs(g) / (4 * mp.sin(w / 2) ** 2)

        grid = np.linspace(1e-9, np.pi, 4001)
        g = sum(c * (1 - np.cos(r * grid)) for r, c in weights.items())
        near = np.flatnonzero(g[1:] * g[:-1] < 0)
        zeros = [
            mp.findroot(
                lambda w: mp.fsum(c * (1 - mp.cos(r * w)) for r, c in weights.items()),
                (grid[i], grid[i + 1]),
                solver="anderson",
            )
            for i in near
        ]
        return 2 / mp.pi * mp.quad(size, [0, *zeros, mp.pi])


def test_the_difference_of_a_triangle_and_one_three_times_as_wide_has_the_norm_8_over_pi():
    m = measure(triangles({3: 1, 1: -1}), 1)
    for mass, exact in ((m.positive_mass, 4 / np.pi + 1), (m.negative_mass, 4 / np.pi - 1)):
        assert abs(mass.mid - exact) <= mass.rad <= 1e-11
    assert abs(m.mass.mid - 8 / np.pi) <= 1e-14


@pytest.mark.parametrize("weights", [{2: 1, 1: -3}, slow({5: 1, 4: -1})])
def test_norms_of_triangles_of_whole_radii_are_integrals_over_one_period(weights):
    m = measure(triangles(weights), 1)
    assert abs(mp.mpf(m.mass.mid) - norm_of_triangles(weights)) <= m.mass.rad
    assert m.mass.rad <= 1e-12 * m.mass.mid


def bochner_riesz(w, dim, power, radius):
    """rho of (1 - z^2/R^2)^p: S_(d-1) w^(d-1) 2^p p! (2 pi)^(-d/2) R^d J_(d/2+p)(R w)/(R w)^..."""
    order = 0.5 * dim + power
    log = power * np.log(2.0) + gammaln(power + 1.0) + (1.0 - 0.5 * dim) * np.log(2.0)
    log += -gammaln(0.5 * dim) + dim * np.log(radius) + (dim - 1.0) * np.log(w)
    return np.exp(log - order * np.log(radius * w)) * jv(order, radius * w)


def norm_by_periods(density, period, decay, *, listed, seen):
    """Mass of one period after another, and a fitted series in 1/n for all others."""
    x, weights = np.polynomial.legendre.leggauss(16)
    fine = np.linspace(0.0, period, 129)
    masses = []
    for n in range(seen):
        w = n * period + fine
        w[0] = max(w[0], 1e-12)
        f = density(w)
        where = np.flatnonzero(f[1:] * f[:-1] < 0.0)
        low, high = w[where], w[where + 1]
        sign = np.sign(f[where])
        for _ in range(60):
            middle = 0.5 * (low + high)
            same = np.sign(density(middle)) == sign
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        ends = np.sort(np.concatenate([w, low]))
        half = 0.5 * np.diff(ends)[:, None]
        values = density(ends[:-1, None] + half * (1.0 + x)) * half
        masses.append(np.abs(values @ weights).sum())
    masses = np.array(masses)
    n = np.arange(listed, seen) + 0.5
    terms = np.arange(10)
    scaled = n[:, None] ** -terms.astype(float) * listed**terms
    fit = np.linalg.lstsq(scaled, masses[listed:] * n**decay, rcond=None)[0] * listed**terms
    beyond = sum(c * zeta(decay + j, seen + 0.5) for j, c in zip(terms, fit, strict=True))
    return masses.sum() + beyond


@pytest.mark.parametrize(("dim", "power"), [slow(3, 2), slow(7, 4)])
def test_masses_of_commensurable_radii_are_sums_over_their_common_period(dim, power):
    def density(w):
        return bochner_riesz(w, dim, power, 1.0) + bochner_riesz(w, dim, power, 2.0)

    m = measure(DOUBLE_RADIUS.format(p=power), dim)
    decay = power + 1.5 - 0.5 * dim
    exact = norm_by_periods(density, 2 * np.pi, decay, listed=40, seen=160)
    assert abs(m.mass.mid - exact) <= m.mass.rad + 3e-12 * exact
    assert m.mass.rad <= 1e-12 * m.mass.mid
    assert abs(m.positive_mass.mid - m.negative_mass.mid - 2.0) <= m.mass.rad


def far_cut(monkeypatch, components, dim, lobes):
    monkeypatch.setattr(beats, "_LOBES", (lobes,))
    tail = beats.BeatingTail(components, dim)
    return tail.mass(1), tail.mass(-1)


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        slow(TWO_RADII, 3),
        slow("max(1 - z**2, 0)**2 - max(1 - z**2/1.0002, 0)**2", 3),
        slow("max(1 - z**2, 0)**2 + max(1 - z**2/2, 0)**2 - exp(-z)", 2),
    ],
)
def test_a_cut_differs_from_a_far_one_by_less_than_its_error(text, dim, monkeypatch):
    components = measure(text, dim).components
    far = far_cut(monkeypatch, components, dim, 9_000)
    for lobes in (500, 1_500, 4_000):
        for near, exact in zip(far_cut(monkeypatch, components, dim, lobes), far, strict=True):
            assert abs(near.mid - exact.mid) <= near.rad


@pytest.mark.parametrize(("dim", "digits"), [(1, 1e-13), slow(3, 2e-11), slow(4, 5e-9)])
def test_the_masses_of_incommensurable_radii_are_known_to_what_their_tail_allows(dim, digits):
    m = measure(TWO_RADII, dim)
    assert m.mass.rad <= digits * m.mass.mid
    assert abs(m.positive_mass.mid - m.negative_mass.mid - 2.0) <= 1e-14 * m.mass.mid


@pytest.mark.slow
def test_lobes_of_incommensurable_radii_weigh_what_plain_sums_say():
    """To W = 1000 by a dense sum, and by the mean over both phases beyond."""
    w = (np.arange(1_000_000) + 0.5) * 1e-3
    f = 2 / np.pi * (np.cos(w) - np.cos(np.sqrt(2) * w)) / w**2
    beyond = 2 / np.pi * 8 / np.pi**2 / 1000.0
    m = measure("sqrt(2)*max(1 - z/sqrt(2), 0) - max(1 - z, 0)", 1)
    assert abs(m.mass.mid - (np.abs(f).sum() * 1e-3 + beyond)) <= 2e-6


def test_three_waves_of_whole_radii_share_an_orbit():
    m = measure(DOUBLE_RADIUS.format(p=2) + " - max(1 - z**2/9, 0)**2", 3)
    assert m.mass.rad <= 1e-12 * m.mass.mid


@pytest.mark.slow
def test_three_free_waves_have_means_and_four_a_bound():
    three = measure(TWO_RADII + " - max(1 - z**2/3, 0)**2", 2)
    assert three.mass.rad <= 1e-9
    four = measure(TWO_RADII + " - max(1 - z**2/3, 0)**2 + max(1 - z**2/5, 0)**2", 2)
    assert 1e-6 < four.mass.rad < 1e-2


def test_components_of_one_support_share_an_orbit():
    whole = measure("max(1 - z**2, 0)**2", 3)
    component = replace(whole.density, components=whole.components * 2)
    found = measure_of(replace(component, kernel=None))
    assert abs(found.mass.mid - 2.0 * whole.mass.mid) <= found.mass.rad + 2.0 * whole.mass.rad
    assert found.mass.rad <= 1e-12


NEAR = [
    ("-468233/1000000*max(1 - z/{}, 0) + 63249/100000*max(1 - z/{}, 0) - 3/4*max(1 - z/{}, 0)"
     " + 1/2*max(1 - z/{}, 0)", (1.5, 3, 4.5, 6), 0.0834239564627),
    ("615941/200000*max(1 - z/{}, 0) - 53/20*max(1 - z/{}, 0) + 3/4*max(1 - z/{}, 0)",
     (1.5, 3, 4.5), None),
    ("1518899/1000000*max(1 - z/{}, 0) - 83/50*max(1 - z/{}, 0) + 3/4*max(1 - z/{}, 0)",
     (100, 200, 300), 0.608899000449599385195),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "radii", "positive"), NEAR)
def test_a_lobe_between_two_near_zeros_is_not_missed(text, radii, positive):
    """Sums over 800 lobes by mpmath; places of panels nearly meet those of the grid of signs."""
    m = measure(text.format(*radii), 1)
    if positive is None:
        # Its two zeros in a period are 0.1 of a turn of the fastest wave apart.
        c = {1: 615941 / 200000 / 1.0, 2: -53 / 20 / 2.0, 3: 3 / 4 / 3.0}
        positive = 0.5 * (norm_of_triangles(c) + sum(w * r for r, w in c.items()))
    assert abs(m.positive_mass.mid - positive) <= m.positive_mass.rad + 1e-13


@pytest.mark.slow
def test_a_zero_without_a_change_of_sign_is_none_at_the_end_of_a_list():
    # rho ~ (1 - cos w)(2 cos w - 1)/w^2
    m = measure("Max(0, 1 - z/2) - 3*Max(0, 1 - z)/2", 1)
    for n in (1, 14, 100, 137, 1000):
        found, error = m.sign_changes(up_to=2.0 * np.pi * n, return_error=True)
        periods = 2.0 * np.pi * np.arange(n)
        exact = np.sort([*(periods + np.pi / 3), *(periods + 5 * np.pi / 3)])
        assert found.size == exact.size
        assert np.all(np.abs(found - exact) <= error)
        assert error.max() <= 1e-12 * found[-1]


@pytest.mark.slow
def test_the_sign_changes_of_a_sum_are_all_of_its_zeros():
    m = measure(TWO_RADII, 3)
    changes = m.sign_changes(up_to=250.0)
    w = np.linspace(1.0, 250.0, 150_001)
    f = bochner_riesz(w, 3, 2, 1.0) + bochner_riesz(w, 3, 2, np.sqrt(2.0))
    crossed = np.flatnonzero(f[1:] * f[:-1] < 0.0)
    assert changes.size == crossed.size
    assert np.all((w[crossed] <= changes) & (changes <= w[crossed + 1]))
    with pytest.raises(ParameterError, match="infinitely often"):
        m.sign_changes()
    assert measure("max(1 - z, 0)**2 - max(1 - z/2, 0)**2/2", 1).sign_changes().size == 0


# --- means over phases -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [(1, 1, 0), (1, 0.999, 0.002), (0.5, 1, 0.5), (1, 0.5, 1.4999), (1, 1e-9, 0.3), (1, 0.3, -0.9)],
)
def test_the_mean_size_of_two_free_waves_is_an_integral_of_that_of_one(a, b, x):
    free = np.array([[a], [b]], dtype=float)
    found = mean_size(orbits_of((1.0, 2**0.5)), free, 0 * free, np.array([x], dtype=float))[0]
    with mp.workdps(20):

        def one(y):
            if abs(y) >= a:
                return abs(y)
            return 2 / mp.pi * (mp.sqrt(a * a - y * y) + y * mp.asin(y / a))

        ends = [mp.acos((v - x) / mp.mpf(b)) for v in (a, -a) if abs(v - x) < b]
        exact = mp.quad(lambda t: one(x + b * mp.cos(t)), [0, *sorted(ends), mp.pi]) / mp.pi
    assert abs(found - exact) <= 3e-14


@pytest.mark.parametrize("frequencies", [(1.0, 2.0), (3.0, 2.0), (1.0, 1.0), (1.0, 2.0, 3.0)])
def test_the_mean_size_on_an_orbit_is_that_over_its_points(frequencies):
    rng = np.random.default_rng(3)
    a, alpha = rng.random((2, len(frequencies), 4))
    x = np.array([0.0, 0.3, -0.6, 5.0])
    found = mean_size(orbits_of(frequencies), a, 6.0 * alpha, x)
    psi = 2 * np.pi * (np.arange(400_000) + 0.5) / 400_000
    for i in range(4):
        waves = [
            c[i] * np.cos(f * psi + 6.0 * s[i])
            for f, c, s in zip(frequencies, a, alpha, strict=True)
        ]
        assert abs(found[i] - np.abs(x[i] + sum(waves)).mean()) <= 1e-9


def test_an_orbit_and_a_free_wave_have_the_mean_of_a_torus():
    rng = np.random.default_rng(5)
    a, alpha = rng.random((2, 3, 1))
    found = mean_size(orbits_of((1.0, 2.0, 3**0.5)), a, alpha, np.array([0.2]))[0]
    psi, theta = np.meshgrid(*(2 * np.pi * (np.arange(1500) + 0.5) / 1500,) * 2)
    f = 0.2 + a[0] * np.cos(psi + alpha[0]) + a[1] * np.cos(2 * psi + alpha[1])
    assert abs(found - np.abs(f + a[2] * np.cos(theta)).mean()) <= 1e-6


def test_modes_of_the_size_are_those_of_a_fine_grid():
    theta = 2 * np.pi * np.arange(512) / 512
    for a, b, x in ((1.0, 0.5, 0.6), (0.3, 1.0, 0.8), (1.0, 1.0, 0.0)):
        size = np.abs(a * np.cos(theta)[:, None] + b * np.cos(theta) + x)
        exact = np.abs(np.fft.fft2(size)) / 512**2
        modes = np.array([[0, 0], [1, 0], [0, 1], [1, -1], [2, 3], [5, 7], [12, 9]], dtype=float)
        waves = np.array([[a], [b]])
        pair = orbits_of((1.0, 2**0.5))
        found = mode_sizes(pair, waves, 0 * waves, np.array([x]), modes)[:, 0]
        expected = [exact[abs(int(m)), abs(int(n))] for m, n in modes]
        np.testing.assert_allclose(found, expected, atol=3e-5)


def test_ratios_are_rational_only_where_doubles_say_so():
    assert orbits_of((0.3, 0.1)) == ({0: 3, 1: 1},)
    assert len(orbits_of((1.0, 1.0 + 1e-9))) == 2
    assert len(orbits_of((1.0, 1000.0 / 1001.0))) == 2


# --- tables ------------------------------------------------------------------------------------


TABLES = [
    slow(TWO_RADII, 3),
    slow(TWO_RADII + " - exp(-z**2) + cos(3*z)", 1),
    slow(TWO_RADII + " - max(1 - z**2/3, 0)**2 + exp(-z)", 2),
    slow(DOUBLE_RADIUS.format(p=9), 16),
]


@pytest.mark.parametrize(("text", "dim"), TABLES)
def test_a_table_of_beating_lobes_gives_the_kernel_exactly(text, dim):
    k, m, made = sp.radial(text), measure(text, dim), table(text, dim)
    assert made.u_error <= 1e-11
    assert np.abs(made.expected_kernel(DISTANCES) - k(DISTANCES)).max() <= 1e-12 * m.mass.mid
    assert -m.mass.rad <= made.mass - m.mass.mid <= 0.02 * m.mass.mid
    assert len(made.parts) == 2


@pytest.mark.parametrize("length", [slow(1e-6)])
def test_lobes_that_touch_zero_are_tabulated_at_every_length(length):
    """sin(3w/2) sin(w/2)/w^2 is 0 at 2 pi n/3, without a change of sign where 3 divides n."""
    text = f"max(1 - z/{length}, 0) - 2*max(1 - z/{2.0 * length}, 0)"
    k, m, made = sp.radial(text), measure(text, 1), table(text, 1)
    norm = norm_of_triangles({1: 1.0, 2: -1.0})
    assert abs(m.mass.mid - norm) <= m.mass.rad <= 1e-12
    lags = length * DISTANCES
    assert np.abs(made.expected_kernel(lags) - k(lags)).max() <= 1e-12 * m.mass.mid
    periods = m.sign_changes(up_to=400.0 / length) * (length / (2.0 * np.pi / 3.0))
    n = np.arange(1, 191)
    assert periods == pytest.approx(n[n % 3 > 0], rel=1e-9)


@pytest.mark.slow
def test_a_positive_definite_sum_has_one_part_and_no_mass_too_much():
    made = table("max(1 - z, 0)**2 - max(1 - z/2, 0)**2/2", 1)
    assert len(made.parts) == 1
    assert abs(made.mass - 0.5) <= 1e-13


@pytest.mark.slow
def test_waves_that_never_meet_at_their_lowest_are_refused_a_negative_part():
    """2 (1 - cos w) - (1 - cos 2w)/2 = (1 - cos w)^2, and neither wave alone is of one sign."""
    m = measure(triangles({1: 2, 2: -0.5}), 1)
    assert m.negative_mass.mid <= m.negative_mass.rad
    with pytest.raises(AccuracyError, match=r"of one sign|nearly vanishes"):
        sp.tabulate(m)


@pytest.mark.slow
def test_parts_of_a_beating_measure_are_jordan_only_up_to_a_radius():
    m = measure(TWO_RADII, 3)
    with pytest.raises(AccuracyError, match="apart"):
        m.parts()
    plus, minus = m.parts("apart")
    assert plus.mass.mid - minus.mass.mid == pytest.approx(2.0, abs=1e-13)
    assert m.positive_mass.mid <= plus.mass.mid <= m.positive_mass.mid + 1e-3
    with pytest.raises(ParameterError, match="apart"):
        m.parts("polar")


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["", "max(1 - z**2/2, 0)**3 + "])
def test_powers_that_no_series_holds_are_stated_in_the_error_of_the_kernel(formula):
    """w^-3.5 and w^-1.7: at z = 1 the waves and the lobes are in resonance."""
    text = formula + "max(1 - z**2, 0)**3 + 0.1*exp(-z**0.7)"
    made, z = table(text, 2), np.array([1e-6, 1e-3, 0.3, 0.999, 1.0, 1.7, 7.3])
    error = np.abs(made.expected_kernel(z) - sp.radial(text)(z))
    assert np.all(error <= made.expected_kernel_error(z))
    assert error.max() <= 1e-6


def mixed_tail():
    law = table(TWO_RADII, 3).parts[1].law
    assert isinstance(law.tail, MixedTail)
    return law, law.tail


@pytest.mark.slow
def test_a_mixed_tail_inverts_the_sum_of_its_members():
    _, tail = mixed_tail()
    q = np.geomspace(1e-250, tail.mass, 1501)
    w = tail.isf(q)
    assert np.all(np.diff(w) <= 0.0)
    assert np.abs(tail.beyond(w) / q - 1.0).max() <= 1e-12
    assert tail.isf(0.0) == np.inf
    assert tail.isf(tail.mass) == pytest.approx(tail.start, rel=1e-9)


@pytest.mark.slow
def test_draws_of_a_mixed_tail_follow_its_law():
    """At five radii the share of draws beyond is that of the law, to six standard errors."""
    law, tail = mixed_tail()
    n = 400_000
    radii = tail.draws(tail.mass * (np.arange(n) + 0.5) / n)
    for share in (0.9, 0.5, 0.1, 0.01, 1e-3):
        beyond = np.mean(radii > tail.isf(share * tail.mass))
        assert abs(beyond - share) <= 6.0 / n
    draws = law.rvs(200_000, random_state=1)
    sigma = np.sqrt(tail.mass / draws.size)
    assert abs(np.mean(draws > tail.start) - tail.mass) <= 6.0 * sigma


@pytest.mark.slow
def test_the_waves_of_a_mixed_tail_are_those_of_its_nodes():
    _, tail = mixed_tail()
    z = np.array([0.0, 1e-3, 0.02])
    value, error = tail.plane_wave(3, z)
    for i, distance in enumerate(z):
        radii, weights, beyond = tail.nodes(float(distance))
        assert np.all(radii >= tail.start * (1.0 - 1e-12))
        assert abs(weights.sum() + beyond - tail.mass) <= 1e-14
        mean = np.sum(weights * np.sinc(radii * distance / np.pi))
        assert abs(value[i] - mean) <= beyond + error[i] + 1e-15
    assert abs(value[0] - tail.mass) <= 1e-15


@pytest.mark.slow
def test_a_mixed_tail_comes_back_from_files_and_pickles(tmp_path):
    made = table(TWO_RADII, 3)
    made.save(tmp_path / "k.npz")
    u = np.concatenate([np.linspace(0.0, 1.0, 301), 1.0 - np.geomspace(1e-12, 1e-2, 99)])
    for again in (sp.SpectralTable.load(tmp_path / "k.npz"), pickle.loads(pickle.dumps(made))):
        for before, after in zip(made.parts, again.parts, strict=True):
            assert np.array_equal(before.law.ppf(u), after.law.ppf(u))


@pytest.mark.slow
def test_lobes_that_no_series_holds_beside_other_waves_are_refused_in_words():
    with pytest.raises(AccuracyError, match="Tabulate the summands"):
        table("max(1 - z, 0) + max(1 - z, 0)**2*z**2 + max(1 - z/sqrt(2), 0)", 1)


def test_a_mixed_tail_begins_in_the_first_lobes_of_its_members():
    one = LobedTail(2.0, 1.0, 1.0, [0.5], [[0.25, 0.25]])
    for start in (1.9, 3.1):
        with pytest.raises(ParameterError, match="first lobes"):
            MixedTail(start, (one,))
    with pytest.raises(ParameterError, match="at least one"):
        MixedTail(2.0, ())
