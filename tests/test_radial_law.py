"""An inverse CDF as panels: what is drawn from it, and its exact mean of plane waves."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest
from grids import by_turns
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from scipy import stats

from spectra.base.compiled import using
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.table import PanelKind, Panels, RadialLaw
from spectra.table.radial import panel_integrals
from spectra.table.radial.plane_wave import hankel_amplitude, wave_envelope, wave_region
from spectra.verdict import spectral_measure

Z = np.array([0.0, 1e-8, 1e-3, 0.3, 1.0, 2.7, 10.0, 51.3, 333.3, 1000.0])


def fitted(edges, inverse, kinds=None, exponents=None, degree=13):
    """Panels through Chebyshev points of an inverse CDF, in the local variable of each kind."""
    edges = np.asarray(edges, dtype=float)
    n = edges.size - 1
    kinds = np.zeros(n, int) if kinds is None else np.asarray(kinds)
    exponents = np.ones(n) if exponents is None else np.asarray(exponents, dtype=float)
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    rows = []
    for i in range(n):
        x = {
            PanelKind.LINEAR: 0.5 * (1.0 + t),
            PanelKind.POWER_LOW: (0.5 * (1.0 + t)) ** exponents[i],
            PanelKind.POWER_HIGH: 1.0 - (0.5 * (1.0 - t)) ** exponents[i],
            PanelKind.SINE: np.sin(0.25 * np.pi * (1.0 + t)) ** 2,
        }[PanelKind(kinds[i])]
        rows.append(chebyshev.chebfit(t, inverse(edges[i] + (edges[i + 1] - edges[i]) * x), degree))
    return Panels.from_chebyshev(edges, rows, kinds, exponents)


def chi_law(dim):
    """Length of a standard normal vector, to about 5e-15 in probability."""
    chi = stats.chi(dim)
    low = np.append(0.0, 2.0 ** -np.arange(60.0, 0.5, -0.5))
    kinds = np.zeros(low.size - 1, int)
    powers = np.ones(low.size - 1)
    kinds[0], powers[0] = PanelKind.POWER_LOW, dim
    left = fitted(low, chi.ppf, kinds, powers)
    high = 2.0 ** -np.arange(64.0, 0.5, -0.5)
    right = fitted(high, chi.isf)
    top = np.zeros((1, right.coefficients.shape[1]))
    top[0, 0] = right.end_radii[0, 0]
    right = Panels(np.append(0.0, high), np.concatenate([top, right.coefficients]))
    return RadialLaw(left, right)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64])
def test_panels_reproduce_the_quantiles_of_chi_at_both_ends(dim):
    law, chi = chi_law(dim), stats.chi(dim)
    u = np.random.default_rng(dim).random(5000)
    assert np.max(np.abs(chi.cdf(law.ppf(u)) - u)) < 1e-14
    q = 10.0 ** -np.linspace(0.5, 18.0, 200)
    assert np.max(np.abs(chi.sf(law.isf(q)) / q - 1.0)) < 1e-9
    assert np.max(np.abs(chi.cdf(law.ppf(q)) / q - 1.0)) < 1e-9


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64])
def test_the_mean_plane_wave_of_chi_is_the_gaussian(dim):
    value, error = chi_law(dim).plane_wave_enclosure(dim, Z)
    assert np.max(np.abs(value - np.exp(-0.5 * Z**2))) < 5e-14
    assert np.all((error > 0.0) & (error < 1e-12))


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64, 1000])
def test_the_uniform_ball_has_the_plane_wave_of_two_dimensions_more(dim):
    """F(w) = w^d is one POWER_LOW panel, and the mean over a ball is Omega_{d+2}."""
    law = RadialLaw(Panels([0.0, 1.0], [[0.5, 0.5]], [PanelKind.POWER_LOW], [dim]))
    value, error = law.plane_wave_enclosure(dim, Z)
    truth = plane_wave_mean(dim + 2, Z)
    slack = error + (1e-14 if dim < 100 else 2e-13)
    assert np.all(np.abs(value - truth) <= slack)
    assert np.max(error) < 1e-12


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0, 33.3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_power_ends_of_either_side_have_their_hypergeometric_transform(power, mirrored):
    """F = w^e or F = 1 - (1 - w)^e on [0, 1], against 1F1 of Kummer."""
    kind = PanelKind.POWER_HIGH if mirrored else PanelKind.POWER_LOW
    law = RadialLaw(Panels([0.0, 1.0], [[0.5, 0.5]], [kind], [power]))
    for z in Z[:8]:
        wave = mpmath.hyp1f1(power, power + 1, 1j * z)
        truth = mpmath.exp(1j * z) * mpmath.conj(wave) if mirrored else wave
        assert abs(law.expected_plane_wave(1, z) - float(truth.real)) < 5e-14
    u = np.linspace(0.0, 1.0, 101)
    radius = 1.0 - (1.0 - u) ** (1.0 / power) if mirrored else u ** (1.0 / power)
    assert np.max(np.abs(law.ppf(u) - radius)) < 5e-16


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_a_half_wave_of_a_sine_is_linear_in_its_variable(dim):
    law = RadialLaw(Panels([0.0, 1.0], [[2.5, 0.5]], [PanelKind.SINE]))
    w = law.ppf(np.linspace(0.0, 1.0, 7))
    assert np.max(np.abs(np.sin(0.5 * np.pi * (w - 2.0)) ** 2 - np.linspace(0.0, 1.0, 7))) < 1e-15
    for z in (0.0, 0.7, 13.0, 400.0):
        nodes, weights = np.polynomial.legendre.leggauss(400)
        x = 2.0 + 0.5 * (1.0 + nodes)
        density = 0.5 * np.pi * np.sin(np.pi * (x - 2.0))
        truth = 0.5 * np.sum(weights * density * plane_wave_mean(dim, z * x))
        assert abs(law.expected_plane_wave(dim, z) - truth) < 5e-14


@pytest.mark.parametrize("tau", [0.3, 1.0, 2.5, 40.0])
def test_a_pure_power_tail_has_the_transform_of_pareto(tau):
    """P(w > x) = x^-tau from 1 on, against the exponential integral E_{tau+1}."""
    law = RadialLaw(right=Panels([0.0, 1.0], [[1.0]], [PanelKind.TAIL_POWER], [tau]))
    for z in (1e-3, 0.3, 2.0, 77.0, 1000.0):
        with mpmath.workdps(30):
            truth = float((tau * mpmath.expint(tau + 1, -1j * mpmath.mpf(z))).real)
        assert abs(law.expected_plane_wave(1, z) - truth) < 5e-14
    q = 10.0 ** -np.arange(0.0, 17.0)
    assert np.max(np.abs(law.isf(q) / q ** (-1.0 / tau) - 1.0)) < 1e-14
    assert law.isf(0.0) == law.ppf(1.0) == law.upper == np.inf


@pytest.mark.parametrize("tau", [0.1, 0.3, 2.5])
@pytest.mark.parametrize("dim", [1, 2, 4, 7, 16, 64])
def test_a_slow_power_tail_is_integrated_to_its_end_in_any_dimension(dim, tau, monkeypatch):
    """The Mellin transform of Omega less a hypergeometric series; few waves are evaluated."""
    law = RadialLaw(right=Panels([0.0, 1.0], [[1.0]], [PanelKind.TAIL_POWER], [tau]))
    evaluated = []

    def counted(name):
        wave = getattr(panel_integrals, name)

        def count(d, x):
            evaluated.append(np.size(x))
            return wave(d, x)

        monkeypatch.setattr(panel_integrals, name, count)

    counted("plane_wave_mean")
    counted("hankel_amplitude")
    z = np.array([1e-3, 0.3, 2.0, 77.0])
    value, error = law.plane_wave_enclosure(dim, z)
    assert sum(evaluated) < 40_000 * z.size
    with mpmath.workdps(60):
        half, t = mpmath.mpf(dim) / 2, mpmath.mpf(float(tau))
        whole = mpmath.gamma(half) * mpmath.gamma(-t / 2) / mpmath.gamma(half + t / 2)
        for x, v, e in zip(z, value, error, strict=True):
            y = mpmath.mpf(float(x))
            series = mpmath.hyp1f2(-t / 2, half, 1 - t / 2, -(y**2) / 4)
            assert abs(v - float(t * y**t * mpmath.mpf(2) ** (-t - 1) * whole + series)) <= e
            assert e < 2e-13


@pytest.mark.parametrize("dim", [2, 4, 7, 16, 64])
def test_the_amplitude_of_waves_is_hankels_at_every_size(dim):
    """Against K of Macdonald at complex arguments, and Hankel's limit where libraries give up."""
    order = mpmath.mpf(dim) / 2 - 1
    for x in (*(wave_region(dim) * np.array([1.0, 3.0 + 2.0j, 40.0 - 30.0j, 1e4])), 1e18, 1e200):
        with mpmath.workdps(40):
            exact = mpmath.mpc(complex(x))
            truth = (2 / exact) ** order * mpmath.gamma(order + 1) * 2 / (mpmath.pi * 1j)
            truth *= mpmath.expj(-order * mpmath.pi / 2)
            if abs(x) < 1e15:
                truth *= mpmath.besselk(order, -1j * exact) * mpmath.expj(-exact)
            else:
                truth *= mpmath.sqrt(mpmath.pi / (-2j * exact))
            truth = complex(truth)
        miss = abs(complex(hankel_amplitude(dim, np.array([x]))[0]) - truth)
        assert miss <= (1e-15 * (10.0 + 4.0 * dim)) * abs(truth)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64, 1000])
def test_the_envelope_bounds_the_wave_and_falls(dim):
    x = np.linspace(0.0, 4.0 * dim + 50.0, 20_001)
    envelope = wave_envelope(dim, x)
    assert np.all(np.abs(plane_wave_mean(dim, x)) <= envelope + 2e-13)
    assert np.all(np.diff(envelope) <= 1e-15)
    assert envelope[0] == 1.0


def test_atoms_whose_phase_is_lost_count_with_the_size_of_their_waves():
    law = RadialLaw.from_atoms([1.0, 1e90], [0.75, 0.25])
    for dim in (1, 2, 3, 16):
        value, error = law.plane_wave_enclosure(dim, 2.0)
        assert abs(value - 0.75 * plane_wave_mean(dim, 2.0)) <= error
        assert error <= (0.51 if dim == 1 else 2e-14)


def test_cauchy_radii_have_the_exponential_kernel():
    edges = np.concatenate([2.0 ** -np.arange(30.0, 0.0, -1.0)])
    body = fitted(edges, lambda q: 1.0 / np.tan(0.5 * np.pi * q), degree=17)
    rows = np.zeros((1, 18))
    rows[0, 0] = body.end_radii[0, 0]
    kinds = np.zeros(30, int)
    kinds[0] = PanelKind.TAIL_POWER
    right = Panels(np.append(0.0, edges), np.concatenate([rows, body.coefficients]), kinds)
    law = RadialLaw(fitted([0.0, 0.25, 0.5], lambda u: np.tan(0.5 * np.pi * u), degree=17), right)
    assert np.max(np.abs(law.expected_plane_wave(1, Z) - np.exp(-Z))) < 1e-13
    radii = law.rvs(40_000, random_state=3)
    assert stats.kstest(2.0 / np.pi * np.arctan(radii), "uniform").pvalue > 1e-6


# ---------------------------------------------------------------------------------- sampling


def far_from(sample, cdf):
    """Kolmogorov distance times sqrt n; above 3.0 with probability 3e-8 under the law."""
    return np.sqrt(sample.size) * stats.ks_1samp(sample, cdf).statistic


def test_draws_follow_the_law_and_a_wrong_law_is_noticed():
    for dim in (1, 3, 16):
        radii = chi_law(dim).rvs(200_000, random_state=dim)
        assert far_from(radii, stats.chi(dim).cdf) < 3.0
        assert far_from(radii, stats.chi(dim + 0.1).cdf) > 3.0


def of_the_panels(law, u):
    """Radii at u in the left panels, summed with more digits, and a bound of their slopes."""
    panels = law.left
    i = np.searchsorted(panels.edges, u, side="right") - 1
    low, high = (panels.edges[j].astype(np.longdouble) for j in (i, i + 1))
    x = (u - low) / (high - low)
    t = 2.0 * x - 1.0
    warped = panels.kinds[i] == PanelKind.POWER_LOW
    t[warped] = 2.0 * x[warped] ** (1.0 / panels.exponents[i][warped].astype(np.longdouble)) - 1.0
    sine = panels.kinds[i] == PanelKind.SINE
    t[sine] = 4.0 / np.longdouble(np.pi) * np.arcsin(np.sqrt(x[sine])) - 1.0
    w = np.zeros(u.size, np.longdouble)
    for column in panels.coefficients.T[::-1]:
        w = w * t + column[i]
    return w, (np.abs(panels.coefficients) @ np.arange(1.0, len(panels.coefficients.T) + 1.0))[i]


def many_panels(kind):
    """A law of 299 panels of one kind."""
    edges = np.linspace(0.0, 1.0, 300)
    rows = np.tile([0.0, 1e-3, 1e-4], (299, 1))
    rows[:, 0] = np.linspace(1.0, 2.0, 299)
    return RadialLaw(Panels(edges, rows, np.full(299, kind)), Panels.empty())


STORED = {
    "chi_1": lambda: chi_law(1),
    "chi_3": lambda: chi_law(3),
    "chi_64": lambda: chi_law(64),
    "lines": lambda: many_panels(PanelKind.LINEAR),
    "sines": lambda: many_panels(PanelKind.SINE),
    "a high power": lambda: RadialLaw(Panels([0.0, 1.0], [[1.0] + [0.0] * 16 + [1.0]]), NONE),
    "points": lambda: RadialLaw.from_atoms([0.0, 1.0, 3.0, 9.0], [0.125, 0.2, 0.275, 0.4]),
}
NONE = Panels.empty()


@pytest.mark.parametrize("name", STORED)
def test_what_is_drawn_is_what_is_stored_but_for_roundings(name):
    law = STORED[name]()
    u = np.concatenate([np.linspace(0.0, law.split, 30_000)[:-1], np.geomspace(1e-300, 0.1, 500)])
    w, (exact, slope) = law.ppf(u), of_the_panels(law, u)
    assert np.all(np.abs(w - exact) <= 6e-16 * slope)
    assert np.array_equal(law.ppf(u[::7]), w[::7])


@pytest.mark.parametrize("name", STORED)
def test_the_compiled_loop_draws_the_same_bits(name):
    pytest.importorskip("numba")
    law = STORED[name]()
    u = np.random.default_rng(7).random(300_000)
    u[:4] = 0.0, 1.0, law.split, np.nextafter(law.split, 0.0)
    q = np.concatenate([u, np.geomspace(5e-324, 0.1, 500)])
    assert law.cells.loop(u.size) == law.cells._fill_with_numba
    with using("numpy"):
        assert law.cells.loop(u.size) == law.cells._fill_with_numpy
        below, above = law.ppf(u), law.isf(q)
    assert np.array_equal(law.ppf(u), below)
    assert np.array_equal(law.isf(q), above)
    assert np.array_equal(law.ppf(u[:1000]), below[:1000])
    assert np.array_equal(law.rvs(u.size, random_state=3)[:1000], law.rvs(1000, random_state=3))


@pytest.mark.parametrize("dim", [1, 2, 3, 16, 64])
def test_few_draws_have_to_ask_the_panels(dim):
    assert np.mean(chi_law(dim).cells.is_open) < 0.025


@pytest.mark.parametrize("degree", [1, 17])
def test_the_last_radius_of_one_side_lies_beyond_the_smallest_probabilities(degree):
    """1 - q rounds to 1, which is no key of the left side."""
    row = [1.0] + [0.0] * (degree - 1) + [1.0]
    law = RadialLaw(Panels([0.0, 1.0], [row]), NONE)
    q = np.array([0.0, 5e-324, 1e-20, 2.0**-54, 1e-15, 1e-3])
    assert np.allclose(law.isf(q), 1.0 + (1.0 - 2.0 * q) ** degree, rtol=1e-15, atol=0.0)
    assert law.isf(1.0) == law.ppf(0.0)


def test_a_radius_of_zero_has_no_sign():
    law = RadialLaw(Panels([0.0, 1.0], [[1.0, 1.0]]), NONE)
    for radii in (law.ppf(np.zeros(9)), law.isf(np.ones(9))):
        assert not radii.any()
        assert not np.signbit(radii).any()


def test_one_double_is_used_per_draw_and_seeds_repeat():
    law = chi_law(3)
    u = np.random.default_rng(5).random(1000)
    assert np.array_equal(law.rvs(1000, random_state=5), law.ppf(u))
    assert np.array_equal(law.rvs((10, 100), random_state=5).ravel(), law.ppf(u))
    ascending = law.ppf(np.linspace(0.0, 1.0, 20_001))
    assert np.all(np.diff(ascending) >= -1e-14)
    for copy in (pickle.loads(pickle.dumps(law)), RadialLaw(law.left, law.right)):
        assert np.array_equal(copy.ppf(u), law.ppf(u))


@pytest.mark.slow
@given(
    st.lists(st.floats(0.0, 50.0), min_size=1, max_size=12),
    st.lists(st.floats(1e-6, 1.0), min_size=12, max_size=12),
    st.integers(1, 40),
)
def test_atoms_have_the_mean_of_their_plane_waves(radii, weights, dim):
    p = np.array(weights[: len(radii)])
    p /= p.sum()
    law = RadialLaw.from_atoms(radii, p)
    z = np.array([0.0, 0.4, 3.0])
    truth = plane_wave_mean(dim, z[:, None] * np.array(radii)) @ p
    assert np.max(np.abs(law.expected_plane_wave(dim, z) - truth)) < 1e-14
    order = np.argsort(radii, kind="stable")
    middle = np.cumsum(p[order]) - 0.5 * p[order]
    assert np.array_equal(law.ppf(middle), np.array(radii)[order])
    nodes, masses, leftover = law.nodes(10.0)
    assert leftover == 0.0
    assert abs(masses.sum() - 1.0) < 1e-14
    assert np.isin(nodes, radii).all()


@given(st.floats(0.01, 0.99), st.floats(0.0, 3.0), st.floats(1e-3, 5.0))
def test_a_mixture_of_an_atom_and_a_uniform_law_is_one_law(share, low, width):
    """An atom below a uniform density: constant and sloping panels side by side."""
    panels = Panels([0.0, share, 1.0], [[low, 0.0], [low + 0.5 * width, 0.5 * width]])
    law = RadialLaw(panels)
    z = np.array([0.3, 2.0, 40.0])
    uniform = np.cos((low + 0.5 * width) * z) * np.sinc(0.5 * width * z / np.pi)
    truth = share * np.cos(low * z) + (1.0 - share) * uniform
    assert np.max(np.abs(law.expected_plane_wave(1, z) - truth)) < 1e-13
    assert law.ppf(0.5 * share) == low


@pytest.mark.parametrize("z_max", [0.0, 1.0, 30.0])
def test_nodes_integrate_every_wave_up_to_their_distance(z_max):
    for dim in (1, 3, 16):
        law = chi_law(dim)
        radii, weights, leftover = law.nodes(z_max)
        z = np.linspace(0.0, z_max, 7)
        means = plane_wave_mean(dim, z[:, None] * radii) @ weights
        assert np.max(np.abs(means - law.expected_plane_wave(dim, z))) < 1e-13
        assert abs(weights.sum() + leftover - 1.0) < 1e-13
        assert abs(np.sum(weights * radii**2) - dim) < 1e-11 * dim


# ------------------------------------------------------------------------------ what is refused


def test_probabilities_and_distances_outside_their_meaning_are_refused():
    law = chi_law(3)
    for bad in (-1e-9, 1.0 + 1e-9, np.nan):
        with pytest.raises(ParameterError, match="probability"):
            law.ppf([0.5, bad])
        with pytest.raises(ParameterError, match="probability"):
            law.isf(bad)
    for bad in (-1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match=r"[Dd]istance"):
            law.expected_plane_wave(3, bad)
        with pytest.raises(ParameterError, match=r"[Dd]istance"):
            law.nodes(bad)
    for bad in (0, -1, 2.0, True):
        with pytest.raises(ParameterError, match="dimension"):
            law.expected_plane_wave(bad, 1.0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda law: law.ppf("a"),
        lambda law: law.isf(1j),
        lambda law: law.cdf("a"),
        lambda law: law.sf([[1.0], [1.0, 2.0]]),
        lambda law: law.pdf(1j),
        lambda law: law.rvs(-1),
        lambda law: law.rvs(1.5),
        lambda law: law.rvs((2, "a")),
        lambda law: law.expected_plane_wave(3, 1e300),
    ],
)
def test_what_is_no_number_and_what_no_double_tells_is_refused_in_words(ask):
    law = RadialLaw(Panels([0.0, 1.0], [[1.0, 1.0]]))
    with pytest.raises(ParameterError, match=r"real numbers|whole number|1e100 times"):
        ask(law)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Panels([0.0, 0.5], [[1.0]]), Panels.empty()),  # half of the probability is missing
        (Panels([0.0, 0.6], [[1.0]]), Panels([0.0, 0.5], [[2.0]])),  # too much
        (Panels([0.0, 1.0], [[1.0, -0.5]]), Panels.empty()),  # falls
        (Panels([0.0, 1.0], [[0.0, 0.5]]), Panels.empty()),  # negative
        (Panels([0.0, 0.5], [[2.0]]), Panels([0.0, 0.5], [[1.0]])),  # falls at the join
        (Panels([0.1, 1.0], [[2.0]]), Panels.empty()),  # does not start at 0
    ],
)
def test_panels_that_are_no_law_are_refused(left, right):
    with pytest.raises(ParameterError):
        RadialLaw(left, right)


@pytest.mark.parametrize(
    "arguments",
    [
        ([0.0, 0.5, 0.5], [[1.0], [1.0]]),
        ([0.0, 0.5], [[np.nan]]),
        ([0.0, 0.5], [[1.0], [1.0]]),
        ([0.0, 0.5], [[1.0]], [9]),
        ([0.0, 0.5], [[1.0]], [1], [0.0]),
        ([0.0, 0.2, 0.5], [[1.0], [1.0]], [0, 4]),
        ([-0.1, 0.5], [[1.0]]),
        ([0.0, 1.5], [[1.0]]),
        ([], np.zeros((0, 1))),
    ],
)
def test_panels_with_wrong_shapes_or_numbers_are_refused(arguments):
    with pytest.raises(ParameterError):
        Panels(*arguments)


def test_atoms_that_are_no_law_are_refused():
    for radii, p in (([1.0], [0.9]), ([1.0, 2.0], [1.0]), ([], []), ([1.0, 2.0], [1.5, -0.5])):
        with pytest.raises(ParameterError, match="Atoms"):
            RadialLaw.from_atoms(radii, p)
    with pytest.raises(ParameterError, match="vanishes"):
        RadialLaw.from_atoms([1.0, 2.0, 3.0], [0.5, 1e-20, 0.5])
    with pytest.raises(ParameterError, match="negative"):
        RadialLaw.from_atoms([-1.0], [1.0])


def test_arrays_of_a_law_cannot_be_written_to():
    law = chi_law(3)
    for array in (law.left.edges, law.left.coefficients, law.right.kinds):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# --- probabilities and densities ----------------------------------------------------------------

LAWS = [
    ("exp(-z**2/2)", None, 3),
    ("exp(-z)", None, 1),
    ("exp(-z)", None, 16),
    ("(1 - z**2/4)**2", 2, 2),
    ("(1 - z**2/4)**3*(1 - z**2)", 2, 3),
    ("exp(-z**2/2) - exp(-z**2/200)", None, 7),
]


@pytest.mark.parametrize(("formula", "support", "dim"), by_turns(LAWS, every=2))
def test_probabilities_undo_quantiles_on_both_sides(formula, support, dim):
    table = tabulate(spectral_measure(radial(formula, support=support), dim))
    u, q = np.geomspace(1e-12, 0.5, 60), np.geomspace(1e-14, 0.5, 60)
    for part in table.parts:
        law = part.law
        # A tail is right to 1e-7 of its probability, by cells as by panels.
        assert np.max(np.abs(law.cdf(law.ppf(u)) / u - 1.0)) < 1e-7
        assert np.max(np.abs(law.sf(law.isf(q)) / q - 1.0)) < 1e-7
        w = law.ppf(np.linspace(0.0, 1.0, 97)[1:-1])
        assert np.max(np.abs(law.cdf(w) + law.sf(w) - 1.0)) < 1e-15
        assert law.cdf(-1.0) == law.pdf(-1.0) == law.sf(np.inf) == law.pdf(np.inf) == 0.0
        assert law.sf(-1.0) == law.cdf(np.inf) == 1.0


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("formula", ["exp(-z**2/2)", "exp(-z**2)", "exp(-z)", "1/(1+z**2)"])
def test_probabilities_beside_the_origin_have_digits_of_their_own(formula, dim):
    (part,) = tabulate(spectral_measure(radial(formula), dim)).parts
    u = np.geomspace(1e-290, 1e-3, 100)
    assert np.max(np.abs(part.law.cdf(part.law.ppf(u)) / u - 1.0)) < 1e-11
    assert part.law.cdf(0.0) == 0.0


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 64])
def test_the_law_of_a_gaussian_has_the_density_of_chi(dim):
    law, chi = chi_law(dim), stats.chi(dim)
    w = chi.ppf(np.linspace(1e-6, 1.0 - 1e-6, 301))
    assert np.max(np.abs(law.cdf(w) - chi.cdf(w))) < 1e-14
    assert np.max(np.abs(law.pdf(w) / chi.pdf(w) - 1.0)) < 1e-6
    far = chi.isf(np.geomspace(1e-14, 1e-3, 30))
    assert np.max(np.abs(law.sf(far) / chi.sf(far) - 1.0)) < 1e-7


@pytest.mark.parametrize(("formula", "support", "dim"), LAWS[3:])
def test_the_density_of_a_part_is_that_of_the_measure(formula, support, dim):
    measure = spectral_measure(radial(formula, support=support), dim)
    for part in tabulate(measure).parts:
        w = part.law.ppf(np.linspace(0.01, 0.999, 173))
        # An oscillating tail is split by squares, and is not the density of a sign.
        w = w[w < part.law.tail.start] if part.law.tail is not None else w
        assert w.size > 100
        exact = part.sign * measure.density.radial(w) / part.mass
        assert np.max(np.abs(part.law.pdf(w) - exact)) < 1e-9 * exact.max()


def test_atoms_are_steps_of_the_probability():
    law = RadialLaw.from_atoms([0.0, 1.0, 2.0], [0.25, 0.5, 0.25])
    w = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    assert law.cdf(w).tolist() == [0.0, 0.25, 0.25, 0.75, 0.75, 1.0, 1.0]
    assert law.sf(w).tolist() == [1.0, 0.75, 0.75, 0.25, 0.25, 0.0, 0.0]
    assert law.pdf(w).tolist() == [0.0, np.inf, 0.0, np.inf, 0.0, np.inf, 0.0]
    with pytest.raises(ParameterError, match="not a number"):
        law.cdf(np.nan)
