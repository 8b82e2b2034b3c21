"""Sums of waves beyond a radius, and tails of laws that are made of them; truth by mpmath."""

from __future__ import annotations

import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy

from spectra import catalogue, radial, spectral_density
from spectra.base.arrays import panel_rule
from spectra.base.enclosures import Enclosure
from spectra.density.components import SpectralDensity
from spectra.errors import ParameterError
from spectra.measure.panels import fit_signed
from spectra.measure.waves import (
    mean_size,
    oscillating_masses,
    radius_for_masses,
    split_by_squares,
    tail_start,
    tail_waves,
)
from spectra.table.wave_tail import WaveSum, WaveTail

START = 100.0
RHO = WaveSum.of(
    START,
    [
        (2.0, 1.5, np.array([1.0 + 0.3j, 0.2 - 0.1j])),
        (3.0, 2.0, np.array([0.1 + 0.2j])),
        (0.0, 2.0, np.array([0.4 + 0j, 0.0, 0.2])),
    ],
)
# A density without zeros, as probabilities: the mean outweighs both waves.
TAIL = WaveTail(
    WaveSum.of(
        START,
        [
            (0.0, 1.5, np.array([1e-3 + 0j, 2e-4])),
            (2.0, 1.5, np.array([5e-4 - 2e-4j, 1e-4j])),
            (5.0, 2.5, np.array([3e-4 + 1e-4j])),
        ],
    )
)


def truth_at(waves: WaveSum, w: float) -> Any:
    """The sum at one radius, in 30 digits."""
    x = mp.mpf(waves.start) / mp.mpf(w)
    total = mp.mpf(0)
    for v in waves.waves:
        series = sum(mp.mpmathify(complex(c)) * x**k for k, c in enumerate(v[2]))
        total += (x ** mp.mpf(v[1]) * series * mp.expj(mp.mpf(v[0]) * mp.mpf(w))).real
    return total


def integral(power: Any, turns: Any) -> Any:
    """Integral of exp(i turns t) t^-power over t >= 1."""
    return mp.expint(power, -1j * turns) if turns else 1 / (power - 1)


def elementary(dim: int, y: Any) -> list[tuple[Any, Any]]:
    """Omega_dim(y t) for odd dim as pairs (power, c): the real part of sum of c t^-power e^iyt."""
    return {
        1: [(0, mp.mpf(1))],
        3: [(1, -1j / y)],
        5: [(2, -3 / y**2), (3, -3j / y**3)],
    }[dim]


def expected(tail: WaveTail, dim: int, z: float) -> Any:
    """Integral of Omega_dim(w z) against the density of a tail, for odd dim and z > 0."""
    start, total = mp.mpf(tail.start), mp.mpf(0)
    y = start * mp.mpf(z)
    for v in tail.density.waves:
        b = start * mp.mpf(v[0])
        for k, c in enumerate(v[2]):
            c = mp.mpmathify(complex(c))
            for power, factor in elementary(dim, y):
                a = mp.mpf(v[1]) + k + power
                up = c * factor * integral(a, b + y)
                down = c * mp.conj(factor) * integral(a, b - y)
                total += (up + down).real / 2
    return start * total


@pytest.mark.parametrize("w", [100.0, 133.7, 1e4])
def test_sums_products_and_integrals_are_those_of_their_values(w: float) -> None:
    with mp.workdps(30):
        rho, at = truth_at(RHO, w), np.array([w])
        scale = (START / w) ** 1.5
        assert abs(RHO(at)[0] - rho) <= 1e-14 * scale
        assert abs((RHO * RHO)(at)[0] - rho**2) <= 1e-14 * scale**2
        assert abs((RHO + RHO.scaled(3.0, 0.5))(at)[0] - rho * (1 + 3 * (START / w) ** 0.5)) <= (
            1e-13 * scale
        )
        beyond = mp.mpf(0)
        for v in RHO.waves:
            for k, c in enumerate(v[2]):
                a, b = mp.mpf(v[1]) + k, mp.mpf(v[0]) * mp.mpf(w)
                size = mp.mpf(w) * (mp.mpf(START) / mp.mpf(w)) ** a
                beyond += (mp.mpmathify(complex(c)) * size * integral(a, b)).real
        assert abs(RHO.integral()(at)[0] - beyond) <= 1e-14 * abs(beyond) + 1e-13 * scale


def test_waves_of_one_frequency_are_merged() -> None:
    one = (2.0, 1.5, np.array([1.0 + 0j]))
    two = (2.0 * (1.0 + 1e-16), 2.5, np.array([0.5 + 0j]))
    other = (2.0, 2.0, np.array([0.5 + 0j]))
    merged = WaveSum.of(10.0, [one, two, other])
    assert [(power, series.tolist()) for _, power, series in merged.waves] == [
        (1.5, [1.0, 0.5]),
        (2.0, [0.5]),
    ]
    # Leading terms that cancel leave a wave of a higher power.
    gone = merged + WaveSum.of(10.0, [one]).scaled(-1.0)
    assert sorted(power for _, power, _ in gone.waves) == [2.0, 2.5]


def test_integrals_need_powers_and_frequencies_that_converge() -> None:
    with pytest.raises(ParameterError, match="infinite mass"):
        WaveSum.of(10.0, [(0.0, 1.0, np.array([1.0 + 0j]))]).integral()
    with pytest.raises(ParameterError, match="larger radius"):
        WaveSum.of(10.0, [(1.0, 2.0, np.array([1.0 + 0j]))]).integral()


def test_the_inverse_is_right_to_rounding_down_to_tiny_masses() -> None:
    q = TAIL.mass * np.concatenate([np.linspace(1e-4, 1.0, 3001), 10.0 ** -np.arange(5.0, 18.0)])
    w = TAIL.isf(q)
    assert np.all(np.diff(w[np.argsort(q)]) <= 0.0)
    assert np.abs(TAIL.sf(w) / q - 1.0).max() <= 4e-15
    assert np.isinf(TAIL.isf(0.0))
    assert float(TAIL.isf(TAIL.mass)) == pytest.approx(START, rel=1e-14)
    with pytest.raises(ParameterError, match="quantiles for 0"):
        TAIL.isf(2.0 * TAIL.mass)


def test_the_inverse_passes_double_zeros() -> None:
    wave = np.array([1e-3 + 0j])
    tail = WaveTail(WaveSum.of(START, [(0.0, 2.0, wave), (2.0, 2.0, wave)]))
    q = tail.mass * np.linspace(1e-3, 1.0, 2001)
    assert np.abs(tail.sf(tail.isf(q)) / q - 1.0).max() <= 4e-15


@pytest.mark.parametrize("dim", [1, 3, 5])
def test_expected_waves_are_right_at_every_distance(dim: int) -> None:
    """Before Omega oscillates, beside and at the resonances z = 2 and 5, and beyond."""
    near = np.array([1e-300, 1e-9, 1e-4, 0.01, 0.0999, 0.101, 0.14, 0.2, 0.7])
    beside = [b + s * g for b in (2.0, 5.0) for s in (-1, 1) for g in (1e-12, 1e-5, 1e-3, 0.2)]
    z = np.concatenate([near, [2.0, 5.0], beside, [7.0, 30.0, 1e4]])
    value, error = TAIL.plane_wave_enclosure(dim, z)
    with mp.workdps(40):
        for at, found, bound in zip(z, value, error, strict=True):
            exact = expected(TAIL, dim, at) if at > 1e-5 or dim == 1 else None
            if exact is not None:
                assert abs(found - exact) <= bound + 1e-17, (at, found, exact)
                assert abs(found - exact) <= 2e-14 * TAIL.mass
    assert TAIL.plane_wave_enclosure(dim, np.zeros(1))[0][0] == pytest.approx(TAIL.mass, rel=1e-13)


@pytest.mark.parametrize("dim", [2, 16])
def test_expected_waves_in_other_dimensions_are_means_over_the_sphere(dim: int) -> None:
    """Omega_d(y) is the mean of cos(y s) over the coordinate s of a uniform direction."""
    # Panels halve towards the equator, where the projection has a root of the coordinate.
    edges = 0.5 * np.pi * np.append(0.0, 2.0 ** np.arange(-40.0, 1.0))
    x, weights = panel_rule(edges[:-1], edges[1:], 40)
    s = np.sin(x.ravel())
    share = weights.ravel() * np.cos(x.ravel()) ** (dim - 2)
    share /= share.sum()
    z = np.array([1e-3, 0.02, 0.11, 1.3])  # below the resonances, where the mean is smooth
    direct, bound = TAIL.plane_wave_enclosure(dim, z)
    cosines, _ = TAIL.plane_wave_enclosure(1, np.multiply.outer(z, s))
    assert np.all(np.abs(direct - cosines @ share) <= bound + 1e-14 * TAIL.mass)


def test_tails_are_pickled_and_refuse_what_is_no_density() -> None:
    again = pickle.loads(pickle.dumps(TAIL))
    assert again.mass == TAIL.mass
    with pytest.raises(ParameterError, match="must be positive"):
        WaveTail(WaveSum.of(START, [(0.0, 2.0, np.array([-1e-3 + 0j]))]))
    with pytest.raises(ParameterError, match="mass at most 1"):
        WaveTail(WaveSum.of(START, [(0.0, 2.0, np.array([1.0 + 0j]))]))


# --- densities ----------------------------------------------------------------------------------


def two_radii(dim: int) -> SpectralDensity:
    """A signed density of two frequencies whose ratio is no fraction."""
    first = radial("(1 - z**2/2)**2", support=sympy.sqrt(2))
    return spectral_density(first + 0.75 * radial("(1 - z**2)**2", support=1), dim)


DENSITIES = {
    **{f"polynomial, d = {d}": (radial("(1 - z**2/4)**2", support=2), d) for d in (1, 2, 3, 4)},
    "ntk": (catalogue["ntk"], 1),
    **{f"arc-cosine 1, d = {d}": (catalogue["arc_cosine_1"], d) for d in (1, 2, 3)},
    "spherical": (catalogue["spherical"](), 3),
    "three radii": (
        radial("(1 - z**2/4)**2", support=2)
        + radial("(1 - z)**3", support=1)
        - radial("(1 - z**2/9)**2", support=3),
        2,
    ),
    "halves of powers": (radial("(1 - z**(3/2))**2", support=1), 1),
}


@pytest.mark.parametrize("name", list(DENSITIES))
def test_waves_are_the_density_and_its_parts_are_not_negative(name: str) -> None:
    density = spectral_density(*DENSITIES[name])
    start = max(tail_start(density.components), 500.0)
    rho = tail_waves(density.components, start)
    w = start * np.concatenate([np.linspace(1.0, 1.05, 4001), np.geomspace(1.05, 50.0, 500)])
    size = np.exp(np.max([c.log_envelope(w) for c in density.components], axis=0))
    assert np.abs(rho(w) - density.radial(w)).max(initial=0.0) <= 1e-13 * size.max()
    assert np.all(np.abs(rho(w) - density.radial(w)) <= 5e-14 * size)
    parts = split_by_squares(rho)
    difference = sum(sign * part(w) for sign, part in parts.items())
    assert np.all(np.abs(difference - density.radial(w)) <= 1e-13 * size)
    for part in parts.values():
        assert np.all(part(w) >= -1e-13 * size)


# M+ + M- of (1 - z^2)^p, by Richardson extrapolation over the zeros of Bessel functions.
NORMS = {
    (1, 1): 1.2325411052580975742,
    (2, 1): 2.0297939364875008782,
    (1, 2): 1.0705193731719585082,
    (2, 2): 1.2272080001638874052,
    (4, 2): 2.6619752057696677747,
    (3, 3): 1.2044304422240326377,
    (5, 3): 1.8469494569178636719,
}


def jordan_masses(density: SpectralDensity) -> dict[int, Enclosure]:
    radius = radius_for_masses(density.components)
    panels = fit_signed(density.components, density.dim, cut=radius)
    return oscillating_masses(density.components, panels, radius)


@pytest.mark.parametrize(("dim", "power"), list(NORMS))
def test_masses_by_a_window_are_those_of_all_lobes(dim: int, power: int) -> None:
    kernel = radial(f"(1 - z**2)**{power}", support=1)
    masses = jordan_masses(spectral_density(kernel, dim))
    norm = masses[1] + masses[-1]
    assert NORMS[dim, power] in norm
    assert abs(norm.mid - NORMS[dim, power]) <= 4e-15 * NORMS[dim, power]
    assert abs(masses[1].mid - masses[-1].mid - 1.0) <= 4e-15


def test_masses_of_two_radii_do_not_depend_on_the_window() -> None:
    """Twice the window leaves seven digits, and k(0) many more."""
    density = two_radii(3)
    masses = jordan_masses(density)
    assert abs(masses[1].mid - masses[-1].mid - 1.75) <= 1e-13
    radius = 3.0 * radius_for_masses(density.components)
    panels = fit_signed(density.components, 3, cut=radius)
    again = oscillating_masses(density.components, panels, radius)
    for sign in (1, -1):
        assert abs(masses[sign].mid - again[sign].mid) <= masses[sign].rad <= 1e-7


def test_means_over_phases_are_those_of_a_grid() -> None:
    x, a, b, c = np.array([0.3, -0.1]), 1.0 + 0.5j, 0.7 - 0.2j, 0.4 + 0.1j
    theta = (np.arange(2048) + 0.5) * (2.0 * np.pi / 2048)
    turn = np.exp(1j * theta)
    for groups, grid in (
        ([[(a, 1)]], [(a * turn).real]),
        ([[(a, 1), (b, 3)]], [(a * turn + b * turn**3).real]),
        ([[(a, 1), (b, 2)], [(c, 1)]], [(a * turn + b * turn**2).real, (c * turn).real]),
    ):
        sums = grid[0] if len(grid) == 1 else np.add.outer(*grid).ravel()
        truth = np.array([np.abs(sums + at).mean() for at in x])
        wide = [[(np.full(2, z), m) for z, m in group] for group in groups]
        assert mean_size(x, wide) == pytest.approx(truth, rel=1e-5)
