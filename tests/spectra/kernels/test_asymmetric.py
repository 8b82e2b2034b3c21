"""Shifts and tilts: kernels, their complex measures, exact masses, exact draws, files."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from rf.schemes.axis_law import AxisLaw
from rf.schemes.decomposition import AxialTable
from spectra.density import spectral_density
from spectra.derivation import derive
from spectra.errors import DataError, NoRouteError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial, zonal
from spectra.measure.tabulation import tabulate
from spectra.table import SpectralTable
from spectra.verdict import spectral_measure
from tests.oracles.jordan_masses import jordan_masses

GAUSSIAN = radial("exp(-z**2/8)")
DELTA = radial("exp(-z**2/2) - exp(-z**2/8)")


def published(name, dim):
    vector = {"r": 2 / dim} if name == "shift_gaussian" else {"beta": 0.5 * np.pi / dim}
    return catalogue[name](sigma=2, **vector)


KERNELS = {
    "shift": lambda d: published("shift_gaussian", d),
    "sinh": lambda d: published("sinh_gaussian", d),
    "cosh": lambda d: published("cosh_gaussian", d),
    "two shifts": lambda d: GAUSSIAN.shift(0.5) - 0.7 * GAUSSIAN.shift(-1.0),
    "two axes": lambda d: GAUSSIAN.shift(np.eye(d)[0]) + GAUSSIAN.shift(0.3),
    "tilted delta": lambda d: DELTA.tilt(0.1),
}


SLOW = pytest.mark.slow
CASES = [
    *((name, 3) for name in ("shift", "sinh", "two axes", "tilted delta")),
    *(pytest.param(name, 2, marks=SLOW) for name in ("cosh", "two shifts")),
]


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


@pytest.mark.parametrize("dim", [8, 57])
def test_masses_of_a_shifted_gaussian_are_exact_relative_to_themselves(dim):
    masses = jordan_masses(derive(published("shift_gaussian", dim), dim))
    c = 1 / mp.sqrt(dim)
    for kind, true in zip(("real+", "real-", "imaginary+"), exact_masses(c), strict=True):
        assert abs(masses[kind] / true - 1) < 1e-13, kind


@pytest.mark.parametrize("dim", [8, 57])
def test_masses_of_tilted_gaussians(dim):
    c = mp.pi / mp.sqrt(dim)
    scale = mp.exp(c * c / 2)
    plus, minus, imaginary = exact_masses(c)
    cosh = derive(published("cosh_gaussian", dim), dim)
    sinh = derive(published("sinh_gaussian", dim), dim)
    for table, true in (
        (cosh, (scale * plus, scale * minus, scale * imaginary)),
        (sinh, (1, 0, scale * imaginary)),
    ):
        masses = jordan_masses(table)
        for kind, value in zip(("real+", "real-", "imaginary+"), true, strict=True):
            assert abs(masses[kind] - value) <= 1e-13 * abs(value), kind
    polar = {57: 1.079674511, 8: 1.556320351}[dim]
    assert abs(AxialTable(sinh, "polar").mass - polar) < 1e-9
    assert abs(AxialTable(cosh, "polar").mass - float(scale)) < 1e-13 * float(scale)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_every_decomposition_has_the_kernel_as_its_mean(name, dim):
    kernel = KERNELS[name](dim)
    rng = np.random.default_rng(dim)
    D = np.vstack([np.zeros(dim), rng.normal(size=(4, dim)) / np.sqrt(dim)])
    table = derive(kernel, dim)
    for decomposition in ("jordan", "polar"):
        other = AxialTable(table, decomposition)
        error = np.abs(other.expected_kernel(D) - kernel(D)).max()
        assert error < 1e-6 * other.mass + other.bias, decomposition


def test_what_has_no_meaning_is_refused():
    for make, said in (
        (lambda: GAUSSIAN.shift("x"), "real numbers"),
        (lambda: zonal("(1 + u)/2").shift(0.1), "unit sphere"),
        (lambda: GAUSSIAN.shift(np.inf), "finite"),
        (lambda: GAUSSIAN.shift([1.0, 2.0]) + GAUSSIAN.shift([1.0, 2.0, 3.0]), "different data"),
    ):
        with pytest.raises(ParameterError, match=said):
            make()
    with pytest.raises(NoRouteError, match="not a sum of Gaussians"):
        derive(catalogue["matern"]().tilt(0.01), 3)
    with pytest.raises(DataError, match="2 coordinates"):
        derive(GAUSSIAN.shift([1.0, 2.0]), 3)
    for function in (
        lambda: spectral_measure(GAUSSIAN.shift(0.3), 3),
        lambda: tabulate(GAUSSIAN.shift(0.3)),
        lambda: tabulate(derive(GAUSSIAN.shift(0.3), 3)),
        lambda: spectral_density(GAUSSIAN.shift(0.3), 3),
    ):
        with pytest.raises(ParameterError, match=r"derive\(kernel, dim\)"):
            function()


@pytest.mark.parametrize("name", ["shift", "two shifts"])
def test_a_file_gives_the_same_table_back(name, tmp_path):
    table = derive(KERNELS[name](3), 3)
    table.save(tmp_path / "k.npz")
    again = SpectralTable.load(tmp_path / "k.npz")
    for one, other in ((again, table), (AxialTable(again, "polar"), AxialTable(table, "polar"))):
        found, saved = (t.sample(50, rng=np.random.default_rng(1)) for t in (one, other))
        assert np.array_equal(found.frequencies, saved.frequencies)
        assert np.array_equal(found.phases, saved.phases)
    assert (again.k_zero, again.bias, again.is_radial) == (table.k_zero, table.bias, False)
    assert [part.deviation for part in again.parts] == [part.deviation for part in table.parts]


def test_a_table_of_shifts_that_makes_no_sense_is_refused():
    table = derive(GAUSSIAN.shift([0.3, 0.0]), 2)
    for wrong, said in (
        ({"k_zero": 1.0}, "add up"),
        ({"dim": 3}, "another dimension"),
        ({"domain": 2.0}, "changes distances"),
    ):
        with pytest.raises(ParameterError, match=said):
            replace(table, **wrong)
    with pytest.raises(DataError, match="difference"):
        table.expected_kernel([0.1, 0.2, 0.3])


def test_a_negligible_part_is_dropped_and_counted():
    table = derive(published("shift_gaussian", 57), 57)
    measure = AxialTable(table)
    assert [part.selection for part in measure.parts] == ["real+", "imaginary+"]
    assert [part.selection for part in measure.dropped] == ["real-"]
    assert 0 < measure.bias < 3e-34
    kept = AxialTable(table, negligible=0.0)
    rare = kept.parts[1]
    w = rare.draw(100, np.random.default_rng(0)).frequencies
    # The part of mass 2e-34 lives where cos(w.r) is negative: it is drawn there and at once.
    assert np.all(np.cos(w @ np.full(57, 2 / 57)) < 0)


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
