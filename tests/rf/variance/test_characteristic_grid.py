"""Laws with tails of waves, seen along a line: values, bounds and variances."""

import sys
import threading

import numpy as np
import pytest

import spectra as sp
from rf.variance.characteristic_function import CharacteristicFunction, characteristic_function_of
from spectra.table import Part, RadialLaw, SpectralTable, WaveSum, WaveTail
from tests.oracles.laws import panels_of
from tests.rf.variance.test_variance import agrees_with_draws

START = 40.0


def law_of(mass, frequencies):
    """Uniform on [0, START], and beyond it waves upon a mean that falls like w^-2."""
    level = mass / START
    waves = [(0.0, 2.0, np.array([level + 0j]))]
    waves += [(b, 2.0, np.array([level / len(frequencies) * np.exp(1j * b)])) for b in frequencies]
    tail = WaveTail(WaveSum.of(START, waves))
    panels = panels_of(np.ones_like, START * np.exp(-np.arange(60.0, -1.0, -1.0)))
    return RadialLaw(panels.scaled((1.0 - tail.mass) / panels.masses.sum()), tail=tail)


LAWS = [law_of(0.07, [1.0, 3.0]), law_of(0.012, [2.0])]


def oscillating_table(dim):
    parts = (Part(1.3, 0.0, 0.0, LAWS[0]), Part(0.4, np.pi, 0.0, LAWS[1]))
    return SpectralTable(
        dim=dim, parts=parts, formula="waves", k_zero=0.9, u_error=0.0, provenance="exact"
    )


def held(law, x, bound=1e-10):
    """Values within their errors, which are small at every distance."""
    value, error = characteristic_function_of(law)(x)
    exact, rounding = law.plane_wave_enclosure(1, x)
    assert np.all(np.abs(value - exact) <= error + rounding)
    assert error.max() < bound


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("reach", [1.7, 30.0])
def test_the_grid_and_the_tail_are_the_law(law, reach):
    cusps = [0.0, 1e-6, 1.0, 1.00001, 2.0, 3.0]
    held(law, np.concatenate([cusps, np.linspace(0.013, reach, 47)]))


@pytest.mark.parametrize("size", [0, 2, 40])
def test_at_distance_zero_the_characteristic_function_is_one(size):
    value, error = CharacteristicFunction(LAWS[0])(np.zeros(size))
    assert np.all(np.abs(value - 1.0) <= error)
    assert np.all(error < 1e-11)


@pytest.mark.parametrize("radii", ["iid", "stratified"])
@pytest.mark.parametrize("coupling", ["orthogonal", "shared"])
@pytest.mark.parametrize("dim", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_variances_of_parts_with_tails_of_waves_agree_with_draws(dim, coupling, radii):
    z = np.array([0.03, 0.1, 1.0])
    table = oscillating_table(dim)
    bound = 1e-3 * table.mass**2
    agrees_with_draws(table, z, (5, 4), bound, coupling=coupling, radii=radii)


@pytest.mark.parametrize("name", ["epanechnikov", "bochner_riesz"])
def test_a_law_is_seen_at_its_resonances_within_what_is_stated(name):
    law = sp.derive(name, dim=2).parts[0].law
    b = law.tail.density.frequencies[0]
    beside = [1e-9, 1e-6, 1e-3, 0.2]
    x = b * np.array([n + side * g for n in (1, 2) for g in [0.0, *beside] for side in (1, -1)])
    held(law, x, 1e-9)


def test_threads_that_extend_one_range_all_see_right_values():
    class Smooth:
        tail = None

        @staticmethod
        def plane_wave_enclosure(dim, x):
            return np.exp(-(x**2) / 2e4), np.full_like(x, 1e-14)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    seen = []

    def ask(phi, seed, start):
        rng = np.random.default_rng(seed)
        start.wait()
        for k in range(12):
            x = 2.0 ** (0.8 * k) * rng.random(40)
            value, error = phi(x)
            seen.append(float(np.max(np.abs(value - np.exp(-(x**2) / 2e4)) - error)))

    try:
        for _ in range(20):
            phi, start = CharacteristicFunction(Smooth()), threading.Barrier(4)
            threads = [threading.Thread(target=ask, args=(phi, s, start)) for s in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(seen) == 20 * 4 * 12
    assert max(seen) < 1e-9
