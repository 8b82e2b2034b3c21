"""Shifts and tilts: kernels, their complex measures, exact masses, exact draws, files."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from grids import by_turns

from rf.schemes.complex import SELECTIONS, AxisLaw, Decomposed, Modulation, jordan_masses
from spectra.density import spectral_density
from spectra.derivation.asymmetric_measure import asymmetric_table
from spectra.errors import DataError, NoRouteError, ParameterError, TableFileError
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial, zonal
from spectra.measure.tabulation import tabulate
from spectra.table import SpectralTable
from spectra.table.table_file import read_arrays, write_arrays
from spectra.verdict import Status, existence, spectral_measure

GAUSSIAN = radial("exp(-z**2/8)")
DELTA = radial("exp(-z**2/2) - exp(-z**2/8)")
DIFFERENCE = radial("exp(-z**2/2) - exp(-z**2/8)/2")


def published(name, dim):
    vector = {"r": 2 / dim} if name == "shift_gaussian" else {"beta": 0.5 * np.pi / dim}
    return catalogue[name](sigma=2, **vector)


KERNELS = {
    "shift": lambda d: published("shift_gaussian", d),
    "sinh": lambda d: published("sinh_gaussian", d),
    "cosh": lambda d: published("cosh_gaussian", d),
    "matern": lambda d: catalogue["matern"](nu=1.5).shift(0.4),
    "delta": lambda d: DELTA.shift(0.3),
    "two shifts": lambda d: GAUSSIAN.shift(0.5) - 0.7 * GAUSSIAN.shift(-1.0),
    "two axes": lambda d: GAUSSIAN.shift(np.eye(d)[0]) + GAUSSIAN.shift(0.3),
    "tilted delta": lambda d: DELTA.tilt(0.1),
}


# Laws that are no Gaussians need integrals over the radius: two dimensions each stand for all.
CASES = [
    pytest.param(
        name,
        dim,
        marks=[pytest.mark.slow] if name in ("matern", "delta") and dim not in (1, 3) else [],
        id=f"{name}-{dim}",
    )
    for name in KERNELS
    for dim in (1, 2, 3, 7, 16)
]
DEAR = {("delta", 1), ("matern", 3)}


def exact_masses(c):
    """M_R+, M_R-, M_I+ of a shift by c lengths, by their Fourier series in 50 digits."""
    with mp.workdps(50):
        c = mp.mpf(c)
        terms = range(1, int(16 / c) + 4)
        waves = [mp.exp(-2 * n * n * c * c) / (4 * n * n - 1) for n in terms]
        alternating = sum(w * (-1) ** (n + 1) for n, w in zip(terms, waves, strict=True))
        half = mp.exp(-c * c / 2) / 2
        plus = 1 / mp.pi + half + 2 / mp.pi * alternating
        minus = 1 / mp.pi - half + 2 / mp.pi * alternating
        imaginary = 1 / mp.pi - 2 / mp.pi * sum(waves)
        return plus, minus, imaginary


@pytest.mark.parametrize("dim", [8, 16, 22, 57])
def test_masses_of_a_shifted_gaussian_are_exact_relative_to_themselves(dim):
    masses = jordan_masses(asymmetric_table(published("shift_gaussian", dim), dim))
    c = 1 / mp.sqrt(dim)
    for kind, true in zip(("real+", "real-", "imaginary+"), exact_masses(c), strict=True):
        assert abs(masses[kind] / true - 1) < 1e-13, kind


@pytest.mark.parametrize("dim", [8, 16, 22, 57])
def test_masses_of_tilted_gaussians(dim):
    c = mp.pi / mp.sqrt(dim)
    scale = mp.exp(c * c / 2)
    plus, minus, imaginary = exact_masses(c)
    cosh = asymmetric_table(published("cosh_gaussian", dim), dim)
    sinh = asymmetric_table(published("sinh_gaussian", dim), dim)
    for table, true in (
        (cosh, (scale * plus, scale * minus, scale * imaginary)),
        (sinh, (1, 0, scale * imaginary)),
    ):
        masses = jordan_masses(table)
        for kind, value in zip(("real+", "real-", "imaginary+"), true, strict=True):
            assert abs(masses[kind] - value) <= 1e-13 * abs(value), kind
    polar = {57: 1.079674511, 16: 1.267055234, 22: 1.196076318, 8: 1.556320351}[dim]
    assert abs(Decomposed(sinh, "polar").mass - polar) < 1e-9
    assert abs(Decomposed(cosh, "polar").mass - float(scale)) < 1e-13 * float(scale)


@pytest.mark.parametrize("dim", by_turns([1, 2, 7], every=3, first=1))
def test_masses_of_a_shifted_matern_are_honest(dim):
    """Against the radial law by brute quadrature in the coordinate along the shift."""
    kernel = catalogue["matern"](nu=1.5).shift(0.4)
    table = asymmetric_table(kernel, dim)
    shift = 0.4 * np.sqrt(dim)
    # The marginal along an axis is the measure of the same kernel on the line.
    with mp.workdps(20):

        def density(x):
            return 6 * mp.sqrt(3) / (mp.pi * (3 + x * x) ** 2)

        def cosine(x):
            return abs(mp.cos(shift * x)) * density(x)

        ends = [0] + [(n + mp.mpf(1) / 2) * mp.pi / shift for n in range(120)]
        total = 2 * mp.quad(cosine, ends)
    masses = jordan_masses(table)
    assert abs(masses["real+"] + masses["real-"] - total) < 1e-6
    assert abs(masses["real+"] - masses["real-"] - kernel(np.zeros(dim))) < 1e-12


@pytest.mark.parametrize(("name", "dim"), by_turns(CASES, every=2, first=1, dear=DEAR))
def test_every_decomposition_has_the_kernel_as_its_mean(name, dim):
    kernel = KERNELS[name](dim)
    rng = np.random.default_rng(dim)
    D = np.vstack([np.zeros(dim), rng.normal(size=(4, dim)) / np.sqrt(dim)])
    table = asymmetric_table(kernel, dim)
    for decomposition in ("jordan", "polar", "weighted"):
        other = Decomposed(table, decomposition)
        error = np.abs(other.expected_kernel(D) - kernel(D)).max()
        assert error < 1e-6 * other.mass + other.bias, decomposition


@pytest.mark.parametrize(("name", "dim"), by_turns(CASES, every=4, dear=DEAR))
def test_draws_have_the_exact_mean_and_variance(name, dim):
    n = 4000
    rng = np.random.default_rng(7)
    D = np.vstack([np.zeros(dim), rng.normal(size=(2, dim)) / np.sqrt(dim)])
    table = asymmetric_table(KERNELS[name](dim), dim)
    for decomposition in ("jordan", "polar", "weighted"):
        for part in Decomposed(table, decomposition).parts:
            draws = part.draw(n, rng)
            waves = np.cos(draws.frequencies @ D.T + draws.phases[:, None])
            x = draws.amplitudes[:, None] * waves
            mean, variance = part.mean(D), part.variance(D)
            floor = 1e-6 * part.mass
            error = np.abs(x.mean(axis=0) - mean)
            assert np.all(error < 6 * x.std(axis=0) / np.sqrt(n) + floor)
            square = (x - mean) ** 2
            spread = 6 * square.std(axis=0) / np.sqrt(n) + floor * part.mass
            assert np.all(np.abs(square.mean(axis=0) - variance) < spread)


@pytest.mark.parametrize("dim", [1, 3])
def test_gram_is_the_function_of_differences_and_is_asymmetric(dim):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4, dim)), rng.normal(size=(3, dim))
    kernel = 2.0 * GAUSSIAN.shift(0.5) - GAUSSIAN.tilt(np.full(dim, -0.2))
    D = X[:, None, :] - Y[None, :, :]
    true = 2.0 * GAUSSIAN(np.linalg.norm(D + 0.5, axis=-1))
    true -= GAUSSIAN(np.linalg.norm(D, axis=-1)) * np.exp(-0.2 * D.sum(axis=-1))
    assert np.allclose(kernel.gram(X, Y), true, rtol=1e-13, atol=1e-14)
    assert np.allclose(kernel(D), true, rtol=1e-13, atol=1e-14)
    assert np.abs(kernel.gram(X) - kernel.gram(X).T).max() > 0.01


def test_a_tilt_is_a_rescaled_shift():
    beta = np.array([0.3, -0.2])
    shift = float(np.exp(0.5 * 4 * beta @ beta)) * GAUSSIAN.shift(-4 * beta)
    D = np.random.default_rng(0).normal(size=(5, 2))
    assert np.allclose(GAUSSIAN.tilt(beta)(D), shift(D), rtol=1e-13)


def test_terms_that_cancel_are_gone():
    assert (GAUSSIAN.shift(1.0) - GAUSSIAN.shift(1.0)).terms == ()
    assert GAUSSIAN.shift(0.5) == GAUSSIAN.shift(0.5) + 0 * GAUSSIAN.tilt(1.0)
    assert isinstance(-GAUSSIAN.shift(1.0), AsymmetricKernel)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GAUSSIAN.shift("x"), "real numbers"),
        (lambda: GAUSSIAN.tilt(1j), "real numbers"),
        (lambda: zonal("(1 + u)/2").shift(0.1), "unit sphere"),
        (lambda: GAUSSIAN.shift(np.inf), "finite"),
        (lambda: GAUSSIAN.shift([1.0, 2.0]) + GAUSSIAN.shift([1.0, 2.0, 3.0]), "coordinates"),
    ],
)
def test_what_has_no_meaning_is_refused(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


def test_a_tilt_without_a_known_measure_makes_no_table():
    with pytest.raises(NoRouteError, match="no sum of Gaussians"):
        asymmetric_table(catalogue["matern"]().tilt(0.01), 3)


# M_R+, M_R- and M_I+ of the shift of He et al., r = 2/d and sigma = 2, to twelve digits or less.
STATED = {
    57: (0.991266431303, 2.12227e-34, 0.0525332646012),
    22: (0.977529046253, 4.850224e-15, 0.0837777110209),
    16: (0.969233234489, 1.258424e-11, 0.0976834882292),
    8: (0.939413707941, 6.451272e-7, 0.135314757809),
}


@pytest.mark.parametrize("dim", sorted(STATED))
def test_masses_are_those_that_the_theory_states(dim):
    table = asymmetric_table(published("shift_gaussian", dim), dim)
    masses = jordan_masses(table)
    found = masses["real+"], masses["real-"], masses["imaginary+"]
    for mass, stated, digits in zip(found, STATED[dim], (1e-12, 5e-6, 1e-11), strict=True):
        assert abs(mass / stated - 1) < digits


def test_what_is_for_real_measures_names_the_door_for_complex_ones():
    kernel = GAUSSIAN.shift(0.3)
    for door in (
        lambda: spectral_measure(kernel, 3),
        lambda: tabulate(kernel),
        lambda: tabulate(asymmetric_table(kernel, 3)),
        lambda: spectral_density(kernel, 3),
    ):
        with pytest.raises(ParameterError, match=r"derive\(kernel, dim\)"):
            door()


def test_a_wrong_dimension_is_refused():
    with pytest.raises(DataError, match="2 coordinates"):
        asymmetric_table(GAUSSIAN.shift([1.0, 2.0]), 3)


@pytest.mark.parametrize("name", ["shift", "two shifts", "delta"])
def test_a_file_gives_the_same_table_back(name, tmp_path):
    table = asymmetric_table(KERNELS[name](3), 3)
    table.save(tmp_path / "k.npz")
    again = SpectralTable.load(tmp_path / "k.npz")
    for one, other in ((again, table), (Decomposed(again, "polar"), Decomposed(table, "polar"))):
        found, saved = (t.sample(50, rng=np.random.default_rng(1)) for t in (one, other))
        assert np.array_equal(found.frequencies, saved.frequencies)
        assert np.array_equal(found.phases, saved.phases)
    assert (again.k_zero, again.bias, again.is_radial) == (table.k_zero, table.bias, False)
    assert [part.deviation for part in again.parts] == [part.deviation for part in table.parts]


def test_a_file_of_an_unknown_version_is_refused(tmp_path):
    asymmetric_table(DIFFERENCE.shift([0.3, -0.1, 0.0]), 3).save(tmp_path / "k.npz")
    header, arrays = read_arrays(tmp_path / "k.npz")
    write_arrays(tmp_path / "k.npz", {**header, "version": 3}, arrays)
    with pytest.raises(TableFileError, match="SpectralTable' and version 3"):
        SpectralTable.load(tmp_path / "k.npz")


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_draws_of_a_table_of_shifts_have_its_mean(dim):
    kernel = KERNELS["two axes"](dim) - 0.4 * DIFFERENCE.shift(-0.2)
    table = asymmetric_table(kernel, dim)
    D = np.vstack([np.zeros(dim), np.random.default_rng(dim).normal(size=(3, dim))])
    assert np.abs(table.expected_kernel(D) - kernel(D)).max() <= table.bias + 1e-12
    drawn, n = table.sample(40_000, rng=dim), 40_000
    waves = drawn.weights * np.cos(D @ drawn.frequencies.T + drawn.phases)
    lack = np.abs(waves.mean(axis=1) - kernel(D))
    assert np.all(lack < 6 * waves.std(axis=1) / np.sqrt(n))
    assert np.all(np.abs(waves) <= table.mass * (1 + 1e-12))


def test_only_one_shift_of_all_parts_is_the_radial_kernel_elsewhere():
    moved = asymmetric_table(DIFFERENCE.shift([0.3, 0.0]), 2)
    alone, r = moved.one_shift()
    assert alone.is_radial
    np.testing.assert_allclose(r, [0.3, 0.0], rtol=1e-14)
    negative, _ = asymmetric_table(-DIFFERENCE.shift([0.3, 0.0]), 2).one_shift()
    assert [p.sign for p in negative.parts] == [-p.sign for p in alone.parts]
    assert asymmetric_table(KERNELS["two axes"](2), 2).one_shift() is None
    assert alone.one_shift()[0] is alone


def test_a_table_of_shifts_that_makes_no_sense_is_refused():
    table = asymmetric_table(GAUSSIAN.shift([0.3, 0.0]), 2)
    for wrong, said in (
        ({"k_zero": 1.0}, "add up"),
        ({"dim": 3}, "number of coordinates"),
        ({"domain": 2.0}, "leaves its domain"),
    ):
        with pytest.raises(ParameterError, match=said):
            replace(table, **wrong)
    with pytest.raises(ParameterError, match="radial measure"):
        table.certified()
    with pytest.raises(DataError, match="difference"):
        table.expected_kernel([0.1, 0.2, 0.3])


def test_a_negligible_part_is_dropped_and_counted():
    table = asymmetric_table(published("shift_gaussian", 57), 57)
    measure = Decomposed(table)
    assert [part.kind for part in measure.parts] == ["real+", "imaginary+"]
    assert [part.kind for part in measure.dropped] == ["real-"]
    assert 0 < measure.bias < 3e-34
    kept = Decomposed(table, negligible=0.0)
    rare = kept.parts[1]
    w = rare.draw(100, np.random.default_rng(0)).frequencies
    # The part of mass 2e-34 lives where cos(w.r) is negative: it is drawn there and at once.
    assert np.all(np.cos(w @ np.full(57, 2 / 57)) < 0)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_fourier_coefficients_are_those_of_the_selection(selection):
    modulation = Modulation([1.0], 1.0, [0, 1, -1, 3], [0.1, 0.6, -0.4, 0.5])
    theta = 2 * np.pi * np.arange(1 << 15) / (1 << 15)
    value = modulation.selected(selection, theta)
    if selection == "imaginary+":
        value = value + modulation.at_angle(theta).imag
    sampled = np.fft.fft(value) / theta.size
    found = modulation.fourier(selection, 20)
    assert np.abs(found - sampled[np.arange(-20, 21)]).max() < 1e-8


def test_the_axis_law_inverts_its_own_distribution():
    law = AxisLaw(lambda t: np.abs(np.sin(t)), np.empty(0), 0.7, 1)
    u = np.array([1e-6, 0.1, 0.5, 0.9, 0.999])
    with mp.workdps(25):

        def density(g):
            return abs(mp.sin(0.7 * g)) * mp.exp(-g * g / 2) * mp.sqrt(2 / mp.pi)

        for probability, g in zip(u, law.ppf(u), strict=True):
            kinks = [n * mp.pi / 0.7 for n in range(8) if n * np.pi / 0.7 < g]
            share = mp.quad(density, [*kinks, g]) / law.mass
            assert abs(share - probability) < 1e-13


def test_moves_may_follow_one_another():
    gaussian, r, beta = radial("exp(-z**2/2)"), np.array([0.7, -0.2]), np.array([0.3, 0.5])
    D = np.random.default_rng(0).normal(size=(40, 2))
    moved = gaussian(np.linalg.norm(D + r, axis=1)) * np.exp(D @ beta)
    np.testing.assert_allclose(gaussian.shift(r).tilt(beta)(D), moved, rtol=1e-14)
    later = gaussian(np.linalg.norm(D + r, axis=1)) * np.exp((D + r) @ beta)
    np.testing.assert_allclose(gaussian.tilt(beta).shift(r)(D), later, rtol=1e-14)
    assert gaussian.shift(r).shift(-r).terms == (gaussian.shift(0.0)).shift([0.0, 0.0]).terms
    table = asymmetric_table(gaussian.tilt(beta).shift(r) + 0.5 * gaussian, 2)
    exact = later + 0.5 * gaussian(np.linalg.norm(D, axis=1))
    np.testing.assert_allclose(table.expected_kernel(D), exact, atol=1e-12)
    assert existence(gaussian.tilt(beta).shift(r), 2).status is Status.FINITE
    with pytest.raises(ParameterError, match="depends on their number"):
        gaussian.tilt(0.5).shift(0.5)
    with pytest.raises(ParameterError, match="coordinates"):
        gaussian.shift([1.0, 2.0]).shift([1.0, 2.0, 3.0])
