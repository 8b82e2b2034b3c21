"""Inverse CDFs as panels: quantiles, draws and the mean of plane waves."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy import stats

from spectra.base.compiled import VARIABLE
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.table import PanelKind, Panels, RadialLaw
from spectra.table.radial.plane_wave import wave_envelope
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


@pytest.mark.parametrize("dim", [1, 64])
def test_panels_reproduce_the_quantiles_of_chi_at_both_ends(dim):
    law, chi = chi_law(dim), stats.chi(dim)
    u = np.random.default_rng(dim).random(5000)
    assert np.max(np.abs(chi.cdf(law.ppf(u)) - u)) < 1e-14
    q = 10.0 ** -np.linspace(0.5, 18.0, 200)
    assert np.max(np.abs(chi.sf(law.isf(q)) / q - 1.0)) < 1e-9
    assert np.max(np.abs(chi.cdf(law.ppf(q)) / q - 1.0)) < 1e-9


@pytest.mark.parametrize("dim", [1, 2, 1000])
def test_the_uniform_ball_has_the_plane_wave_of_two_dimensions_more(dim):
    """F(w) = w^d is one POWER_LOW panel, and the mean over a ball is Omega_{d+2}."""
    law = RadialLaw(Panels([0.0, 1.0], [[0.5, 0.5]], [PanelKind.POWER_LOW], [dim]))
    value, error = law.plane_wave_enclosure(dim, Z)
    truth = plane_wave_mean(dim + 2, Z)
    slack = error + (1e-14 if dim < 100 else 2e-13)
    assert np.all(np.abs(value - truth) <= slack)
    assert np.max(error) < 1e-12


@pytest.mark.parametrize("power", [0.5, 33.3])
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


@pytest.mark.parametrize("dim", [1, 7])
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


def test_a_power_tail_counts_as_error():
    """Tables have one below the probability 2^-64; here it has all of the mass."""
    law = RadialLaw(right=Panels([0.0, 1.0], [[1.0]], [PanelKind.TAIL_POWER], [2.5]))
    assert np.allclose(law.isf([1.0, 1e-5]), [1.0, 100.0], rtol=1e-15)
    value, error = law.plane_wave_enclosure(3, [0.0, 5.0])
    assert np.array_equal(value, [0.0, 0.0])
    assert 1.0 <= error[0] < 1.1
    assert np.all(error >= wave_envelope(3, np.array([0.0, 5.0])))
    assert law.nodes(1.0)[2] == 1.0


@pytest.mark.parametrize("dim", [1, 2, 1000])
def test_the_envelope_bounds_the_wave_and_falls(dim):
    x = np.linspace(0.0, 4.0 * dim + 50.0, 20_001)
    envelope = wave_envelope(dim, x)
    assert np.all(np.abs(plane_wave_mean(dim, x)) <= envelope + 2e-13)
    assert np.all(np.diff(envelope) <= 1e-15)
    assert envelope[0] == 1.0


def test_the_error_includes_atoms_whose_phase_is_unknown():
    law = RadialLaw.from_atoms([1.0, 1e90], [0.75, 0.25])
    for dim in (1, 2, 3, 16):
        value, error = law.plane_wave_enclosure(dim, 2.0)
        assert abs(value - 0.75 * plane_wave_mean(dim, 2.0)) <= error
        assert error <= (0.51 if dim == 1 else 2e-14)


# ---------------------------------------------------------------------------------- sampling


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
    return np.maximum(w, 0.0), (
        np.abs(panels.coefficients) @ np.arange(1.0, len(panels.coefficients.T) + 1.0)
    )[i]


def many_panels(kind):
    """A law of 299 panels of one kind."""
    edges = np.linspace(0.0, 1.0, 300)
    rows = np.tile([0.0, 1e-3, 1e-4], (299, 1))
    rows[:, 0] = np.linspace(1.0, 2.0, 299)
    return RadialLaw(Panels(edges, rows, np.full(299, kind)), Panels.empty())


STORED = {
    "chi_3": lambda: chi_law(3),
    "chi_64": lambda: chi_law(64),
    "lines": lambda: many_panels(PanelKind.LINEAR),
    "sines": lambda: many_panels(PanelKind.SINE),
    "a high power": lambda: RadialLaw(Panels([0.0, 1.0], [[1.0] + [0.0] * 16 + [1.0]]), NONE),
    "points": lambda: RadialLaw.from_atoms([0.0, 1.0, 3.0, 9.0], [0.125, 0.2, 0.275, 0.4]),
}
NONE = Panels.empty()


@pytest.mark.parametrize("name", STORED)
def test_draws_are_the_stored_quantiles_up_to_rounding(name):
    law = STORED[name]()
    u = np.concatenate([np.linspace(0.0, law.split, 10_000)[:-1], np.geomspace(1e-300, 0.1, 500)])
    w, (exact, slope) = law.ppf(u), of_the_panels(law, u)
    assert np.all(np.abs(w - exact) <= 6e-16 * slope)
    assert np.array_equal(law.ppf(u[::7]), w[::7])


@pytest.mark.parametrize("name", STORED)
def test_the_compiled_loop_draws_the_same_bits(name, monkeypatch):
    pytest.importorskip("numba")
    law = STORED[name]()
    u = np.random.default_rng(7).random(300_000)
    u[:4] = 0.0, 1.0, law.split, np.nextafter(law.split, 0.0)
    q = np.concatenate([u, np.geomspace(5e-324, 0.1, 500)])
    with monkeypatch.context() as environment:
        environment.setenv(VARIABLE, "numpy")
        below, above = law.ppf(u), law.isf(q)
    assert np.array_equal(law.ppf(u), below)
    assert np.array_equal(law.isf(q), above)
    assert np.array_equal(law.ppf(u[:1000]), below[:1000])
    assert np.array_equal(law.rvs(u.size, random_state=3)[:1000], law.rvs(1000, random_state=3))


def test_one_double_is_used_per_draw_and_seeds_repeat():
    law = chi_law(3)
    u = np.random.default_rng(5).random(1000)
    assert np.array_equal(law.rvs(1000, random_state=5), law.ppf(u))
    assert np.array_equal(law.rvs((10, 100), random_state=5).ravel(), law.ppf(u))
    ascending = law.ppf(np.linspace(0.0, 1.0, 20_001))
    assert np.all(np.diff(ascending) >= -1e-14)
    for copy in (pickle.loads(pickle.dumps(law)), RadialLaw(law.left, law.right)):
        assert np.array_equal(copy.ppf(u), law.ppf(u))


@pytest.mark.parametrize("z_max", [0.0, 30.0])
def test_nodes_integrate_every_wave_up_to_their_distance(z_max):
    for dim in (1, 16):
        law = chi_law(dim)
        radii, weights, leftover = law.nodes(z_max)
        z = np.linspace(0.0, z_max, 7)
        means = plane_wave_mean(dim, z[:, None] * radii) @ weights
        assert np.max(np.abs(means - law.expected_plane_wave(dim, z))) < 1e-13
        assert abs(weights.sum() + leftover - 1.0) < 1e-13
        assert abs(np.sum(weights * radii**2) - dim) < 1e-11 * dim


# ------------------------------------------------------------------------------ what is refused


def test_probabilities_and_distances_out_of_range_are_refused():
    law = chi_law(3)
    for bad in (-1e-9, 1.0 + 1e-9, np.nan, "a", 1j):
        with pytest.raises(ParameterError, match=r"probability|real numbers"):
            law.ppf([0.5, bad])
        with pytest.raises(ParameterError, match=r"probability|real numbers"):
            law.isf(bad)
    for bad in (-1.0, np.inf, np.nan, 1e300):
        with pytest.raises(ParameterError, match=r"[Dd]istance|1e100 times"):
            law.expected_plane_wave(3, bad)
    for bad in (0, -1, 2.0, True):
        with pytest.raises(ParameterError, match="dimension"):
            law.expected_plane_wave(bad, 1.0)
    for bad in (-1, 1.5, (2, "a")):
        with pytest.raises(ParameterError, match="whole number"):
            law.rvs(bad)
    for ask, bad in ((law.nodes, np.nan), (law.cdf, "a"), (law.sf, [[1.0], [1.0, 2.0]])):
        with pytest.raises(ParameterError, match=r"[Dd]istance|real numbers"):
            ask(bad)


def test_panels_that_are_no_distribution_are_refused():
    for left, right in (
        (Panels([0.0, 0.5], [[1.0]]), NONE),  # half of the probability is missing
        (Panels([0.0, 0.6], [[1.0]]), Panels([0.0, 0.5], [[2.0]])),  # too much
        (Panels([0.0, 1.0], [[1.0, -0.5]]), NONE),  # falls
        (Panels([0.0, 1.0], [[0.0, 0.5]]), NONE),  # negative
        (Panels([0.0, 0.5], [[2.0]]), Panels([0.0, 0.5], [[1.0]])),  # falls at the join
        (Panels([0.1, 1.0], [[2.0]]), NONE),  # does not start at 0
    ):
        with pytest.raises(ParameterError):
            RadialLaw(left, right)
    for wrong in (
        ([0.0, 0.5, 0.5], [[1.0], [1.0]]),
        ([0.0, 0.5], [[np.nan]]),
        ([0.0, 0.5], [[1.0], [1.0]]),
        ([0.0, 0.5], [[1.0]], [9]),
        ([0.0, 0.5], [[1.0]], [1], [0.0]),
        ([0.0, 0.2, 0.5], [[1.0], [1.0]], [0, 4]),
        ([-0.1, 0.5], [[1.0]]),
        ([], np.zeros((0, 1))),
    ):
        with pytest.raises(ParameterError):
            Panels(*wrong)
    for radii, p in (([1.0], [0.9]), ([1.0, 2.0], [1.0]), ([], []), ([1.0, 2.0], [1.5, -0.5])):
        with pytest.raises(ParameterError, match="Atoms"):
            RadialLaw.from_atoms(radii, p)
    for radii, p, said in (
        ([1.0, 2.0, 3.0], [0.5, 1e-20, 0.5], "vanishes"),
        ([-1.0], [1.0], "negative"),
    ):
        with pytest.raises(ParameterError, match=said):
            RadialLaw.from_atoms(radii, p)


# --- probabilities and densities ----------------------------------------------------------------

LAWS = [
    ("exp(-z)", None, 16),
    ("(1 - z**2/4)**2", 2, 2),
    ("exp(-z**2/2) - exp(-z**2/200)", None, 7),
]


@pytest.mark.parametrize(("formula", "support", "dim"), LAWS)
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


@pytest.mark.parametrize("dim", [1, 64])
def test_the_law_of_a_gaussian_has_the_density_of_chi(dim):
    law, chi = chi_law(dim), stats.chi(dim)
    w = chi.ppf(np.linspace(1e-6, 1.0 - 1e-6, 301))
    assert np.max(np.abs(law.cdf(w) - chi.cdf(w))) < 1e-14
    assert np.max(np.abs(law.pdf(w) / chi.pdf(w) - 1.0)) < 1e-6
    far = chi.isf(np.geomspace(1e-14, 1e-3, 30))
    assert np.max(np.abs(law.sf(far) / chi.sf(far) - 1.0)) < 1e-7


@pytest.mark.parametrize(("formula", "support", "dim"), LAWS[1:])
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
