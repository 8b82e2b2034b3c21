"""Laws whose tails are sums of lobed laws, seen along a line: values, bounds and variances."""

import sys
import threading
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import spectra as sp
from rf import SpectralFeatures
from rf.variance.radii.lobed_projection import LobedProjection
from rf.variance.radii.projection import Projection, projection_of
from rf.variance.variance import VarianceModel
from spectra.errors import ParameterError
from spectra.table import Panels, Part, RadialLaw, SpectralTable
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.mixed_tail import MixedTail
from tests.rf.variance.test_variance import monte_carlo

BEATING = "max(1 - z**2, 0)**2 + max(1 - z**2/2, 0)**2"


def mixed_law(first, second):
    """Uniform on [0, 2], and beyond it lobes of the periods 1 and 2 with two masses."""
    one = LobedTail(2.0, 1.0, 1.0, [2.0 * first], [[0.25, 0.25]])
    other = LobedTail(1.0, 2.0, 1.0, [second], [[0.25, 0.25]])
    tail = MixedTail(2.0, (one, other))
    return RadialLaw(right=Panels([tail.mass, 1.0], [[1.0, -1.0]]), tail=tail)


LAWS = [mixed_law(0.05, 0.02), mixed_law(0.002, 0.01)]


def mixed_table(dim):
    parts = (Part(1.3, 0.0, 0.0, LAWS[0]), Part(0.4, np.pi, 0.0, LAWS[1]))
    return SpectralTable(
        dim=dim, parts=parts, formula="lobes", k_zero=0.9, u_error=0.0, provenance="exact"
    )


@cache
def beating_table():
    return sp.tabulate(sp.spectral_measure(sp.radial(BEATING), 3))


def held(law, x, *, most):
    """Values within their bounds, bounds that are attained, and small but for few distances."""
    value, error = projection_of(law)(x)
    exact, rounding = law.plane_wave_enclosure(1, x)
    off = np.abs(value - exact)
    assert np.all(off <= error + rounding)
    assert off.max() > 0.5 * error.max()
    assert np.median(error) < most


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("reach", [1.7, 30.0])
def test_what_the_grid_and_its_tail_lack_is_bounded_and_the_bound_is_attained(law, reach):
    # The waves of all lobes agree at multiples of pi, where nothing is known but their mass.
    cusps = [0.0, 1e-6, 1.0, np.pi * (reach > np.pi), 2.0 * np.pi * (reach > 7.0)]
    held(law, np.concatenate([cusps, np.linspace(0.013, reach, 47)]), most=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1])
def test_a_law_of_beating_lobes_is_within_its_bound(part):
    cusps = [0.0, 1.0, 2**0.5, 2.0, 1.0 + 2**0.5, 1.00001]
    law = beating_table().parts[part].law
    held(law, np.concatenate([cusps, np.linspace(0.013, 7.0, 60)]), most=2e-5)


def test_a_few_values_come_from_the_law_itself():
    value, error = projection_of(LAWS[0])(np.array([np.pi, 1.0]))
    assert np.array_equal(value, LAWS[0].expected_plane_wave(1, [np.pi, 1.0]))
    assert error.max() < 1e-11


@pytest.mark.parametrize("size", [0, 2, 40])
def test_at_distance_zero_the_projection_is_one(size):
    value, error = LobedProjection(LAWS[0])(np.zeros(size))
    assert np.all(np.abs(value - 1.0) <= error)
    assert np.all(error < 1e-11)


def test_each_law_gets_the_projection_that_fits_its_tail():
    atoms = RadialLaw.from_atoms([1.0], [1.0])
    assert isinstance(projection_of(atoms), Projection)
    assert isinstance(projection_of(LAWS[0]), LobedProjection)
    with pytest.raises(ParameterError, match="projection_of"):
        LobedProjection(atoms)


def agrees_with_draws(table, counts, coupling, radii, z, *, draws, most):
    predicted, error = VarianceModel(table, z).variance(counts, coupling=coupling, radii=radii)
    rng = np.random.default_rng(7)
    measured, deviation = monte_carlo(rng, table, z, counts, coupling, radii, draws)
    assert np.all(np.abs(measured - predicted) < 6 * deviation + error)
    assert np.all(error < most * table.mass**2)


@pytest.mark.parametrize("radii", ["iid", "stratified"])
@pytest.mark.parametrize("coupling", ["orthogonal", "shared", "comonotone"])
@pytest.mark.parametrize("dim", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_variances_of_parts_with_mixed_tails_agree_with_draws(dim, coupling, radii):
    most = 1e-2 if coupling == "comonotone" else 1e-3
    z = np.array([0.3, 1.0, np.pi])
    agrees_with_draws(mixed_table(dim), (5, 4), coupling, radii, z, draws=700, most=most)


@pytest.mark.slow
@pytest.mark.parametrize("radii", ["iid", "stratified"])
@pytest.mark.parametrize("coupling", ["orthogonal", "designed", "comonotone"])
def test_variances_of_beating_lobes_agree_with_draws(coupling, radii):
    z = np.array([0.3, 1.0, 2.2])
    agrees_with_draws(beating_table(), (12, 4), coupling, radii, z, draws=700, most=1e-3)


@pytest.mark.slow
def test_features_of_beating_lobes_choose_their_plan_by_exact_variances():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    features = SpectralFeatures(beating_table(), random_state=0, mixed_signature="ignore").fit(rows)
    plans = {plan.coupling: plan.variance for plan in features.plans_}
    assert features.coupling_ == min(plans, key=plans.get)
    assert plans[features.coupling_] < 0.9 * plans["iid"]
    assert np.array_equal(np.unique(features.signature_), [-1.0, 1.0])


@pytest.mark.parametrize("name", ["epanechnikov", "bochner_riesz"])
def test_a_lobed_law_is_seen_at_its_cusps_within_what_is_stated(name):
    law = sp.derive(name, dim=2).parts[0].law
    apart = 2.0 * np.pi / law.tail.period
    beside = [1e-9, 1e-6, 1e-3, 0.2]
    x = apart * np.array([n + side * b for n in (1, 2) for b in [0.0, *beside] for side in (1, -1)])
    value, error = projection_of(law)(x)
    exact, rounding = law.plane_wave_enclosure(1, x)
    assert np.all(np.abs(value - exact) <= error + rounding)
    assert np.all(error[np.abs(x / apart - np.round(x / apart)) > 1e-4] < 1e-9)


@dataclass(frozen=True)
class Cusps:
    """A stand-in for a law: the root of the distance from the next cusp, where values are cheap."""

    tail: LobedTail | None
    apart: float = 1.0

    @classmethod
    def of(cls, period):
        return cls(
            LobedTail(2.0, period, 1.0, [0.5], [[period / 4, period / 4]]), 2.0 * np.pi / period
        )

    def plane_wave_enclosure(self, dim, x):
        near = np.abs(x - self.apart * np.round(x / self.apart)) / self.apart
        return np.sqrt(near), np.full_like(x, 1e-13)


def beside_powers_of_two(least, most):
    """Distances at which the range may end, and on both sides of them."""
    beside = np.logspace(-15, -3, 40)
    return np.outer(2.0 ** np.arange(least, most), 1 + np.r_[-beside, 0.0, beside]).ravel()


@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-15, 1e-13, -1e-12, 1e-10, -1e-8, 1e-5])
def test_a_range_that_ends_at_a_cusp_or_next_to_one_is_known_on_both_sides(off):
    law = Cusps.of(2.0 * np.pi * (1.0 + off))
    phi, x = Projection(law), beside_powers_of_two(-3, 6)
    for reach in (0.3, 3.0, 70.0):
        phi.extend(reach)
    value, error = phi(x)
    assert np.all(np.abs(value - law.plane_wave_enclosure(1, x)[0]) <= error + 1e-12)


def test_no_half_between_two_cusps_is_missing_however_many_there_are():
    law = Cusps.of(2.0 * np.pi)
    x = np.arange(16384) / 2.0 + 0.23
    value, error = Projection(law)(x)
    assert np.all(np.abs(value - law.plane_wave_enclosure(1, x)[0]) <= error + 1e-7)


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
            phi, start = Projection(Smooth()), threading.Barrier(4)
            threads = [threading.Thread(target=ask, args=(phi, s, start)) for s in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(seen) == 20 * 4 * 12
    assert max(seen) < 1e-9
