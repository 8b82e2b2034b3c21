"""Inverse CDFs as panels: quantiles, draws and the mean of plane waves."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from spectra.base.bessel import plane_wave_bound, plane_wave_mean
from spectra.base.compiled import IMPLEMENTATION_VARIABLE
from spectra.base.series import ORDER, antiderivative, invert_integrals
from spectra.errors import ParameterError
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.table import Piecewise, RadialLaw
from spectra.verdict import spectral_measure
from tests.oracles.laws import ball_law, gaussian_law

Z = np.array([0.0, 1e-8, 1e-3, 0.3, 1.0, 2.7, 10.0, 51.3, 333.3, 1000.0])


@pytest.mark.parametrize("dim", [1, 64])
def test_panels_reproduce_the_quantiles_of_chi_at_both_ends(dim):
    law, chi = gaussian_law(dim), stats.chi(dim)
    u = np.random.default_rng(dim).random(5000)
    assert np.max(np.abs(chi.cdf(law.ppf(u)) - u)) < 1e-14
    q = 10.0 ** -np.linspace(0.5, 18.0, 200)
    assert np.max(np.abs(chi.sf(law.isf(q)) / q - 1.0)) < 1e-9
    assert np.max(np.abs(chi.cdf(law.ppf(q)) / q - 1.0)) < 1e-9
    w, far = chi.ppf(np.linspace(1e-6, 1.0 - 1e-6, 301)), chi.isf(np.geomspace(1e-14, 1e-3, 30))
    assert np.max(np.abs(law.cdf(w) - chi.cdf(w))) < 1e-14
    assert np.max(np.abs(law.pdf(w) / chi.pdf(w) - 1.0)) < 1e-6
    assert np.max(np.abs(law.sf(far) / chi.sf(far) - 1.0)) < 1e-7


@pytest.mark.parametrize("dim", [1, 2, 1000])
def test_the_uniform_ball_has_the_plane_wave_of_two_dimensions_more(dim):
    """F(w) = w^d, and the mean over a ball is Omega_{d+2}."""
    value, error = ball_law(dim).plane_wave_enclosure(dim, Z)
    truth = plane_wave_mean(dim + 2, Z)
    slack = error + (1e-14 if dim < 100 else 2e-13)
    assert np.all(np.abs(value - truth) <= slack)
    assert np.max(error) < 1e-12


def test_the_mass_of_an_end_counts_as_error():
    """Tables have next to nothing in one; here it has all of the mass."""
    law = RadialLaw(Piecewise([[0.0, 1.0, 0.0, 0.0, -0.4]], [[1.0]]))
    assert np.allclose(law.isf([1.0, 1e-5]), [1.0, 100.0], rtol=1e-15)
    value, error = law.plane_wave_enclosure(3, [0.0, 5.0])
    assert np.array_equal(value, [0.0, 0.0])
    assert 1.0 <= error[0] < 1.1
    assert np.all(error >= plane_wave_bound(3, np.array([0.0, 5.0])))
    assert law.nodes(1.0)[2] == 1.0


@pytest.mark.parametrize("dim", [1, 2, 1000])
def test_the_envelope_bounds_the_wave_and_falls(dim):
    x = np.linspace(0.0, 4.0 * dim + 50.0, 20_001)
    envelope = plane_wave_bound(dim, x)
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


def half_waves():
    """A law whose density has simple zeros at the radii 1, ..., 9."""
    t = np.log(np.arange(1.0, 10.0))
    rows = [[0.0, 1.0, *ends, 0.0] for ends in pairwise(t)]
    return RadialLaw(Piecewise(rows, np.outer(0.125 / np.diff(t), [1.0, 0.0, -1.0])))


STORED = {
    "half waves": half_waves,
    "chi_3": lambda: gaussian_law(3),
    "chi_64": lambda: gaussian_law(64),
    "a ball": lambda: ball_law(7),
    "points": lambda: RadialLaw.from_atoms([0.0, 1.0, 3.0, 9.0], [0.125, 0.2, 0.275, 0.4]),
}


@pytest.mark.parametrize("name", STORED)
def test_draws_are_the_quantiles_of_the_panels_up_to_rounding(name):
    law = STORED[name]()
    u = np.concatenate([np.linspace(0.0, law.split, 10_000)[:-1], np.geomspace(1e-300, 0.1, 500)])
    w, exact = law.ppf(u), law.radii_by_panels(u)
    # Beside a zero of the density a radius moves without probability.
    same = np.abs(law.cdf(w) - law.cdf(exact)) <= 2e-16
    assert np.all((np.abs(w - exact) <= 1e-15 * exact) | same & (name == "half waves"))
    assert np.array_equal(law.ppf(u[::7]), w[::7])


@pytest.mark.parametrize("name", STORED)
def test_the_compiled_loop_draws_the_same_bits(name, monkeypatch):
    pytest.importorskip("numba")
    law = STORED[name]()
    u = np.random.default_rng(7).random(300_000)
    u[:4] = 0.0, 1.0, law.split, np.nextafter(law.split, 0.0)
    q = np.concatenate([u, np.geomspace(5e-324, 0.1, 500)])
    with monkeypatch.context() as environment:
        environment.setenv(IMPLEMENTATION_VARIABLE, "numpy")
        below, above = law.ppf(u), law.isf(q)
    assert np.array_equal(law.ppf(u), below)
    assert np.array_equal(law.isf(q), above)
    assert np.array_equal(law.ppf(u[:1000]), below[:1000])
    assert np.array_equal(law.rvs(u.size, random_state=3)[:1000], law.rvs(1000, random_state=3))


def test_one_double_is_used_per_draw_and_seeds_repeat():
    law = gaussian_law(3)
    u = np.random.default_rng(5).random(1000)
    assert np.array_equal(law.rvs(1000, random_state=5), law.ppf(u))
    assert np.array_equal(law.rvs((10, 100), random_state=5).ravel(), law.ppf(u))
    ascending = law.ppf(np.linspace(0.0, 1.0, 20_001))
    assert np.all(np.diff(ascending) >= -1e-14)
    for copy in (pickle.loads(pickle.dumps(law)), RadialLaw(law.panels)):
        assert np.array_equal(copy.ppf(u), law.ppf(u))


@pytest.mark.parametrize("z_max", [0.0, 30.0])
def test_nodes_integrate_every_wave_up_to_their_distance(z_max):
    for dim in (1, 16):
        law = gaussian_law(dim)
        radii, weights, leftover = law.nodes(z_max)
        z = np.linspace(0.0, z_max, 7)
        means = plane_wave_mean(dim, z[:, None] * radii) @ weights
        assert np.max(np.abs(means - law.expected_plane_wave(dim, z))) < 1e-13
        assert abs(weights.sum() + leftover - 1.0) < 1e-13
        assert abs(np.sum(weights * radii**2) - dim) < 1e-11 * dim


# ------------------------------------------------------------------------------ what is refused


def test_probabilities_and_distances_out_of_range_are_refused():
    law = gaussian_law(3)
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
    point = [1.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(ParameterError, match="add up"):
        RadialLaw(Piecewise([point], [[0.5]]))
    for charts, series in (
        ([point, [0.5, 0.0, 0.0, 0.0, 0.0]], [[0.5], [0.5]]),  # radii that fall
        ([point], [[-1.0]]),
        ([point], [[np.nan]]),
        ([point], [[0.5], [0.5]]),
        ([point], [[0.5] * 21]),
        ([point[:4]], [[1.0]]),
        ([[-1.0, *point[1:]]], [[1.0]]),
        ([[0.0, 2.0, 0.0, 1.0, 0.0]], [[1.0]]),
        ([[0.0, 1.0, 1.0, 0.0, 0.0]], [[1.0]]),
    ):
        with pytest.raises(ParameterError):
            RadialLaw(Piecewise(charts, series))
    for radii, p in (([1.0], [0.9]), ([1.0, 2.0], [1.0]), ([], []), ([1.0, 2.0], [1.5, -0.5])):
        with pytest.raises(ParameterError, match="Atoms"):
            RadialLaw.from_atoms(radii, p)
    for radii, p, said in (
        ([1.0, 2.0, 3.0], [0.5, 1e-20, 0.5], "vanishes"),
        ([-1.0], [1.0], "below 0"),
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
        # Tails are right to their own digits, and both ends to a rounding of 1.
        assert np.all(np.abs(law.cdf(law.ppf(u)) - u) < 1e-7 * u + 1e-15)
        assert np.all(np.abs(law.sf(law.isf(q)) - q) < 1e-7 * q + 1e-15)
        w = law.ppf(np.linspace(0.0, 1.0, 97)[1:-1])
        assert np.max(np.abs(law.cdf(w) + law.sf(w) - 1.0)) < 1e-15
        assert law.cdf(-1.0) == law.pdf(-1.0) == law.sf(np.inf) == law.pdf(np.inf) == 0.0
        assert law.sf(-1.0) == law.cdf(np.inf) == 1.0


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


def test_the_inverse_of_a_series_is_right_beside_its_ends():
    """The mass of 1 + x/2 is found from each end to the rounding of the whole."""
    series = np.eye(ORDER)[:1] + 0.5 * np.eye(ORDER)[1:2]
    part, rows = 2.0 * np.geomspace(1e-15, 0.5, 300), np.zeros(300, np.intp)
    for side, ends in enumerate(((part, 2.0 - part), (2.0 - part, part))):
        x = invert_integrals(series)(rows, *ends)
        found = antiderivative(np.repeat(series, 300, axis=0), x)[side]
        assert np.abs(found - part).max() <= 4e-15
