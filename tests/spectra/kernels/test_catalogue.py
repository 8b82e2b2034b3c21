"""The catalogue: formulas, conditions, densities and error messages."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import sympy

from spectra.density import spectral_density
from spectra.density.closed_pairs.pair import summands
from spectra.derivation import derive
from spectra.errors import AccuracyError, NoRouteError, ParameterError
from spectra.formula.parsing import Z
from spectra.kernels.catalogue import Family, catalogue
from spectra.kernels.catalogue.entry import Parameter
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.verdict import existence
from tests.oracles.kernels.problems import DIMENSION, PROBLEMS

NAMES = list(catalogue)


def default(name: str) -> Kernel:
    found = catalogue[name]
    return found if isinstance(found, Kernel) else found()


# --- the mapping ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_name_gives_a_kernel_or_a_family_that_makes_one(name: str) -> None:
    entry, found = catalogue.entries[name], catalogue[name]
    assert isinstance(found, Family) == bool(entry.parameters)
    kernel = default(name)
    assert str(kernel).startswith(name)
    assert np.isfinite(kernel.at_zero)
    assert kernel.is_zonal == entry.zonal
    assert (kernel.support < np.inf) == bool(entry.support)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert entry.reference
    assert entry.title


def test_the_catalogue_is_a_mapping_that_cannot_be_written() -> None:
    assert len(catalogue) == len(NAMES) >= 25
    assert "ntk" in catalogue
    assert "nt" not in catalogue
    assert catalogue.get("nothing") is None
    with pytest.raises(TypeError):
        catalogue["mine"] = radial("exp(-z)")  # type: ignore[index]
    with pytest.raises(ParameterError, match="Did you mean 'matern'"):
        catalogue["martern"]
    for name in ([], 3, None, "matern32"):
        assert name not in catalogue
        with pytest.raises(ParameterError, match="no kernel named"):
            catalogue[name]  # type: ignore[index]


def test_names_of_other_libraries_lead_to_the_kernel_or_to_what_it_is_here() -> None:
    assert catalogue["rbf"](length=2) == catalogue["gaussian"](length=2)
    for ask in (catalogue.__getitem__, lambda name: existence(name, 2)):
        with pytest.raises(ParameterError, match=r"In scikit-learn it is .*l1\('exp\(-gamma\*z\)'"):
            ask("laplacian")
    # Kernels that the papers name: the advice is a call or a name that works.
    for name, advice in (
        ("tanh", "zonal('tanh(a*u + b)', a=1, b=0)"),
        ("geodesic_gaussian", "zonal('exp(-acos(u)**2/(2*length**2))', length=1)"),
        ("shift", "'shift_gaussian'"),
        ("sinh", "'sinh_gaussian'"),
        ("cosh", "'cosh_gaussian'"),
    ):
        with pytest.raises(ParameterError, match=re.escape(advice)):
            catalogue[name]
    assert zonal("tanh(a*u + b)", a=1, b=0)(0.0) == pytest.approx(np.tanh(1.0))
    gaussian = zonal("exp(-acos(u)**2/(2*length**2))", length=1)
    assert gaussian(np.sqrt(2.0)) == pytest.approx(np.exp(-((np.pi / 2) ** 2) / 2))
    assert {"shift_gaussian", "sinh_gaussian", "cosh_gaussian"} <= set(catalogue.asymmetric)


def test_a_family_names_the_offending_parameter() -> None:
    matern = catalogue["matern"]
    with pytest.raises(ParameterError, match=r"'nu'.*-1.*nu > 0"):
        matern(nu=-1)
    with pytest.raises(ParameterError, match=r"no parameter 'sigma'.*length = 1"):
        matern(sigma=1)
    with pytest.raises(ParameterError, match="'length'"):
        catalogue["gaussian"](length=0)
    with pytest.raises(ParameterError, match=r"'nu'.*800.*above 400 it is the Gaussian"):
        matern(nu=800)
    with pytest.raises(ParameterError, match=r"write catalogue\[\"matern\"\]\(nu=0.5\)"):
        matern(0.5)
    with pytest.raises(ParameterError, match="'p'"):
        catalogue["spherical_polynomial"](a=2, p=1.5)
    assert catalogue["gaussian_mixture"](weights=2, lengths=3)(0.0) == 2.0
    with pytest.raises(ParameterError, match="differ in length"):
        catalogue["gaussian_mixture"](weights=[1, 2], lengths=[1, 2, 3])
    assert "nu=3/2" in repr(matern)
    with pytest.raises(ParameterError, match=r"becomes a kernel when it is called"):
        spectral_density(matern, 3)


@pytest.mark.slow
def test_a_kernel_that_falls_too_slowly_for_a_table_is_refused() -> None:
    with pytest.raises(AccuracyError, match="falls too slowly"):
        derive(catalogue["rational_quadratic"](alpha=0.001), 2)


@pytest.mark.parametrize("name", NAMES)
def test_the_entry_and_the_problems_agree_on_finite_mass(name: str) -> None:
    """Each statement was written on its own; both are for the default parameters."""
    entry: Family = catalogue.entries[name]
    values = {n: v for n, v in entry.defaults.items() if not isinstance(v, tuple)}
    condition = entry.finite_for(**values)
    kernel = default(name)
    for problem in PROBLEMS.values():
        if problem.id.startswith(name[:4]) and problem.kernel == kernel:
            for dim in range(1, 30):
                assert (condition.subs(DIMENSION, dim) == sympy.true) == problem.is_finite(dim)


# --- geostatistics ------------------------------------------------------------------------------

VALID = [
    ("spherical", {}, 3),
    ("circular", {"length": 2}, 2),
    ("pentaspherical", {}, 5),
    ("superspherical", {"nu": 1.5}, 4),
    ("cubic", {}, 3),
    ("generalized_wendland", {"mu": 5, "smoothness": 2, "length": 3}, 5),
    ("hole_effect", {"length": 2}, 1),
    ("damped_cosine", {"length": 2, "frequency": 0.25}, 3),
]


@pytest.mark.parametrize(
    ("name", "parameters", "largest"),
    [pytest.param(*case, marks=pytest.mark.slow if i % 6 else ()) for i, case in enumerate(VALID)],
    ids=str,
)
def test_a_model_is_valid_up_to_the_dimension_that_is_known_and_no_further(
    name: str, parameters: dict, largest: int
) -> None:
    entry, kernel = catalogue[name], catalogue[name](**parameters)
    values = entry.defaults | parameters
    said = entry.positive_definite_for(**values)
    for dim in range(1, 12):
        assert bool(sympy.sympify(said).subs(DIMENSION, dim)) == (dim <= largest)
    valid, beyond = existence(kernel, largest), existence(kernel, largest + 1)
    assert valid.positive_definite.answer is not False
    assert valid.measure.negative_mass.mid <= valid.measure.negative_mass.rad
    assert beyond.positive_definite.answer is False
    negative = beyond.measure.negative_mass
    assert negative.mid > negative.rad


@pytest.mark.parametrize(("power", "tail"), [(0.5, 1), (2, 2)])
def test_dagum_is_the_integral_that_its_note_states(power: float, tail: float) -> None:
    kernel = catalogue["dagum"](power=power, tail=tail)
    x, step = np.array([0.2, 1.0, 7.0]), 1e-5
    slope = (kernel(np.sqrt(x - step)) - kernel(np.sqrt(x + step))) / (2 * step)
    product = x ** (power / 2 - 1) * (1 + x ** (tail / 2)) ** (-power / tail - 1)
    np.testing.assert_allclose(slope, power / 2 * product, rtol=1e-7)


@pytest.mark.parametrize(("hurst", "power"), [(0.3, 1.0), (0.5, 1.5)])
def test_truncated_power_laws_are_the_mixtures_of_their_modes(hurst: float, power: float) -> None:
    kernel = catalogue["tpl_stable"](hurst=hurst, power=power, length=2)
    assert kernel.at_zero == 1.0
    for z in (0.01, 0.4, 2.0, 7.0):
        # l = 2 s^(1/(2 H)) makes the weights uniform in s.
        mixed = scipy.integrate.quad(
            lambda s, z=z: np.exp(-((0.5 * z * s ** (-0.5 / hurst)) ** power)),
            0, 1, epsabs=1e-12, epsrel=1e-11, limit=400,
        )[0]  # fmt: skip
        assert abs(kernel(np.array([z]))[0] - mixed) < 1e-9
    same = catalogue["tpl_gaussian"](hurst=hurst)
    assert same(1.3) == pytest.approx(catalogue["tpl_stable"](hurst=hurst, power=2)(1.3), rel=1e-14)


# --- formulas -----------------------------------------------------------------------------------


def test_summands_keep_denominators_and_cancel() -> None:
    assert summands((1 + Z**2) ** -2) == ((1 + Z**2) ** -2,)
    root = sympy.sqrt(2)
    assert summands(sympy.exp(-root * Z) - sympy.exp(-2 * Z / root)) == ()
    square = {sympy.exp(-2 * Z), 2 * sympy.exp(-Z), sympy.Integer(1)}
    assert set(summands((sympy.exp(-Z) + 1) ** 2)) == square
    assert summands(sympy.cosh(Z) / (1 + Z**4))[0].has(1 + Z**4)


# --- densities ----------------------------------------------------------------------------------


def test_a_plane_wave_of_fewer_dimensions_has_no_measure() -> None:
    assert spectral_density(radial("cos(2*z)"), 1).atoms[0].radius == 2.0
    assert spectral_density(radial("sin(z)/z"), 3).atoms[0].mass == 1.0
    for formula, dim in (("cos(z)", 2), ("sin(z)/z", 4), ("besselj(0, z)", 3)):
        with pytest.raises(NoRouteError, match="not a measure"):
            spectral_density(radial(formula), dim)


def test_no_route_names_the_summand_and_an_unknown_route_those_that_exist() -> None:
    with pytest.raises(NoRouteError, match=r"exp\(-z\)\*cos\(z\*\*2\)"):
        spectral_density(radial("exp(-z**2) + exp(-z)*cos(z**2)"), 2, route="lookup")
    for name in ("multiquadric", "negative_distance", "thin_plate"):
        with pytest.raises(NoRouteError):
            spectral_density(PROBLEMS[name].kernel, 2)
    with pytest.raises(ParameterError, match="'lookup'"):
        spectral_density(radial("exp(-z)"), 2, route="guess")


def test_a_condition_as_text_is_refused_and_not_evaluated() -> None:
    length = Parameter("length", 1, "length > 0", "a length")
    written = replace(catalogue["gaussian"], parameters=(length,))
    with pytest.raises(sympy.SympifyError):
        written(length=2)
