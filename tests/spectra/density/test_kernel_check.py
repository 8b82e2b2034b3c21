"""Every route's density is checked against the kernel before it is returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from spectra.density import AUTO, ROUTES, routes, spectral_density
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.kernel_check import describe_mismatch
from spectra.errors import AccuracyError, SpectraError
from spectra.kernels.kernel import radial
from tests.oracles.kernels.problems import PROBLEMS
from tests.tools.grids import by_turns

DIMS = (1, 3, 16, 256)


class Spoilt(Component):
    """A component times a factor that its statements know nothing of."""

    def __init__(self, honest: Component, factor: Callable[[np.ndarray], np.ndarray]) -> None:
        self._honest, self._factor = honest, factor
        for name in ("total", "origin_exponent", "bulk", "breaks", "end", "decay", "tail"):
            setattr(self, name, getattr(honest, name))

    def evaluate(self, w):
        sign, log, size, error = self._honest.evaluate(w)
        factor = self._factor(w)
        with np.errstate(divide="ignore"):
            return sign * np.sign(factor), log + np.log(np.abs(factor)), size, error


def spoilt(density: SpectralDensity, factor: Callable[[np.ndarray], np.ndarray], which: int = 0):
    components = list(density.components)
    components[which] = Spoilt(components[which], factor)
    return replace(density, components=tuple(components))


def middle(density: SpectralDensity, which: int = 0) -> float:
    """The radius below which half of the mass of a law without oscillation is, roughly."""
    t = np.linspace(*np.log(density.components[which].bulk), 4001)
    log = density.components[which].log_envelope(np.exp(t)) + t
    share = np.cumsum(np.exp(log - log.max()))
    return float(np.exp(t[np.searchsorted(share, 0.5 * share[-1])]))


BOUNDED = [name for name, problem in PROBLEMS.items() if "unbounded" not in problem.tags]


@pytest.mark.parametrize(
    ("name", "dim"), by_turns([(n, DIMS[i % 4]) for i, n in enumerate(BOUNDED)], every=7, first=1)
)
def test_correct_densities_are_accepted(name, dim):
    """Of finite and of infinite mass, smooth and lobed, with atoms and bounded spectra."""
    kernel = PROBLEMS[name].kernel
    for route in AUTO:
        try:
            density = ROUTES[route](kernel, dim)
        except SpectraError:  # a plane wave of fewer than d dimensions, which has no density
            return
        if density is not None:
            assert describe_mismatch(density) == ""
            return


@pytest.mark.parametrize(
    ("dim", "name"), [(3, "laplace"), (256, "matern_0.1"), (16, "delta_gaussian")]
)
def test_a_relative_error_of_a_millionth_is_detected(name, dim):
    density = spectral_density(PROBLEMS[name].kernel, dim)
    assert describe_mismatch(spoilt(density, lambda w: np.full_like(w, 1 + 1e-6)))
    assert describe_mismatch(spoilt(density, lambda w: np.full_like(w, 1 - 1e-6)))


@pytest.mark.parametrize(
    ("dim", "name"), [(1, "matern_0.1"), (256, "gaussian"), (16, "delta_gaussian")]
)
def test_a_missing_bump_is_detected(name, dim):
    """A thousandth of the density on a tenth of an e-fold: at most 1e-4 of the mass."""
    density = spectral_density(PROBLEMS[name].kernel, dim)
    for centre in middle(density) * np.array([0.8, 1.0, 1.25]):
        width = 0.1 / np.sqrt(dim)

        def lacking(w, centre=centre, width=width):
            return 1.0 - 1e-3 * np.exp(-0.5 * (np.log(w / centre) / width) ** 2)

        assert describe_mismatch(spoilt(density, lacking)), centre


@pytest.mark.parametrize(
    ("dim", "name"),
    [(1, "laplace"), (256, "matern_3/2"), (3, "laplace_difference")],
)
def test_a_tail_that_falls_too_fast_is_detected(name, dim):
    density = spectral_density(PROBLEMS[name].kernel, dim)
    start = 4.0 * middle(density)
    false = spoilt(density, lambda w: np.minimum(1.0, (w / start) ** -0.25))
    assert describe_mismatch(false)


@pytest.mark.parametrize(("name", "dim"), [("spherical_polynomial_2_2", 16), ("ntk", 1)])
def test_missing_lobes_are_detected(name, dim):
    """Beyond the fifth wave, and only there: an edge that was left out."""
    kernel = PROBLEMS[name].kernel
    density = spectral_density(kernel, dim)
    start = (10.0 * np.pi + dim) / kernel.support
    assert describe_mismatch(spoilt(density, lambda w: np.where(w < start, 1.0, 1e-30)))
    assert describe_mismatch(spoilt(density, lambda w: np.where(w < start, 1.0, -1.0)))


@pytest.mark.parametrize("dim", [1, 3])
def test_a_false_atom_is_detected(dim):
    at_rest = spectral_density(radial("exp(-z**2/2) + 1/4"), dim)
    (atom,) = at_rest.atoms
    false = (replace(atom, mass=atom.mass + 1e-9), Atom(3.0, -1e-9))
    assert describe_mismatch(replace(at_rest, atoms=false))
    assert describe_mismatch(replace(at_rest, atoms=()))
    known = (replace(atom, mass=atom.mass + 1e-9, error=1e-9), Atom(3.0, -1e-9, 1e-9))
    assert describe_mismatch(replace(at_rest, atoms=known)) == ""


@pytest.mark.parametrize("dim", [1, 256])
def test_a_stated_error_is_accepted(dim):
    """What the check allows is what the density says of itself."""
    density = spectral_density(radial("exp(-z)"), dim)

    class Confessed(Spoilt):
        def evaluate(self, w):
            *values, error = super().evaluate(w)
            return *values, error + 1e-5

    wrong = tuple(Spoilt(c, lambda w: np.full_like(w, 1 + 1e-6)) for c in density.components)
    said = tuple(Confessed(c, lambda w: np.full_like(w, 1 + 1e-6)) for c in density.components)
    assert describe_mismatch(replace(density, components=wrong))
    assert describe_mismatch(replace(density, components=said)) == ""


# --- in spectral_density ------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 16])
@pytest.mark.parametrize(
    ("route", "kernel"),
    [("series", radial("exp(-z)")), ("lookup", radial("(1 - z)**5*(1 + 5*z)", support=1))],
)
def test_a_false_density_is_refused(route, kernel, dim, monkeypatch):
    def false_route(kernel, dim):
        return spoilt(ROUTES[route](kernel, dim), lambda w: np.full_like(w, 1.01))

    monkeypatch.setattr(routes, "ROUTES", {**ROUTES, route: false_route})
    routes._find_density.cache_clear()  # densities found before; a refusal is not kept
    with pytest.raises(AccuracyError, match="does not give back the kernel") as caught:
        spectral_density(kernel, dim, route=route)
    assert "around z = " in str(caught.value)
    assert "the kernel 0.9" in str(caught.value)


@pytest.mark.parametrize(
    ("power", "dim"), [("1/20", 3), pytest.param("1/10", 5, marks=pytest.mark.slow)]
)
def test_a_density_of_a_heavy_tail_is_believed(power, dim):
    """Far below its bulk it is not yet the power w^(d-1), and has 6e-10 of the mass there."""
    density = spectral_density(radial(f"exp(-z**({power}))"), dim)
    assert describe_mismatch(density) == ""
