"""Variograms: validity in each dimension, and tables on a region."""

from __future__ import annotations

import numpy as np
import pytest

import spectra as sp
from rf import GaussianField
from spectra.errors import AccuracyError, FormulaError, ParameterError

EVERY = 99
# A formula, how far it grows, and the largest d where it is one: proved below, refuted above.
KNOWN = [
    ("z**(1/10)", None, EVERY), ("z**(19/10)", None, EVERY), ("z**2", None, EVERY),
    ("z**(21/10)", None, 0), ("z**2*log(1 + z)", None, 0), ("z**2*log(z)", None, 0),
    ("log(1 + z)", None, EVERY), ("sqrt(1 + z**2) - 1", None, EVERY),
    ("z - sin(z)", None, 0), ("1 - exp(-z**2)", None, EVERY),
    ("1 - exp(-z**3)", None, 0), ("z**2/sqrt(1 + z**2)", None, EVERY),
    ("z**(3/2)/(1 + z)", None, EVERY), ("z*log(1 + log(1 + z))", None, EVERY),
    ("1 - exp(-z)*cos(z)", None, 2), ("1 - sin(z)/z", None, 3),
    ("1 - besselj(0, z)", None, 2), ("z**3/(1 + z)", None, 0),
    ("3*z/2 - z**3/2", 1, 3), ("z", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "reach", "largest", "dim"),
    [(*known, (1, 2, 3, 7)[i % 4]) for i, known in enumerate(KNOWN)],
)
def test_a_variogram_is_one_in_the_known_dimensions(
    formula: str, reach: float | None, largest: int, dim: int
) -> None:
    found = sp.variogram(formula, reach=reach).definiteness(dim)
    assert found.answer is (dim <= largest), found.reason


@pytest.mark.parametrize(("dim", "answer"), [(3, True), (4, None)])
def test_a_sum_is_proved_by_its_parts_and_else_left_open(dim: int, answer: bool | None) -> None:
    found = sp.variogram("z + 1 - sin(z)/z").definiteness(dim)
    assert found.answer is answer
    if answer is None:
        assert "no proof" in found.reason


def test_a_variogram_that_grows_like_a_square_is_called_a_drift() -> None:
    for formula, grows in (("z**2", True), ("z**2 + z", True), ("z**(19/10)", False)):
        found = sp.variogram(formula).definiteness(2)
        assert found.answer
        assert ("geostatistics excludes" in found.reason) == grows


WAVES = ["1 - cos(z)", "z + 1 - cos(z)", "2 - exp(-z) - cos(z)", "log(1 + z) + 1 - cos(3*z)"]


@pytest.mark.parametrize("formula", WAVES)
def test_an_undamped_wave_is_a_variogram_on_the_line_alone(formula: str) -> None:
    gamma = sp.variogram(formula)
    for dim, answer in ((1, True), (2, False), (9, False)):
        assert gamma.definiteness(dim).answer is answer
    # The refutation from first principles: on a circle of radius r in the plane, the mean of
    # gamma(|x - y|) exp(i n (a - b)) of a variogram is at most 0 for n >= 1.
    angles = np.pi * (np.arange(4096) + 0.5) / 2048
    radii = np.linspace(10.0, 200.0, 381)[:, None]
    waves = gamma(2 * radii * np.abs(np.sin(angles / 2)))
    spectrum = np.fft.rfft(waves, axis=1).real[:, 1:500]
    assert spectrum.max() > 1e-3 * np.abs(spectrum).max()


def test_exp_of_minus_t_gamma_is_positive_definite_where_gamma_is_one() -> None:
    # Schoenberg's theorem, seen from its other side.
    X = np.random.default_rng(0).normal(size=(40, 3))
    z = np.linalg.norm(X[:, None] - X[None], axis=-1)
    for formula in ("z**(3/2)", "log(1 + z)", "z**2/(1 + z)", "z**(3/2)/(1 + z)"):
        gamma = sp.variogram(formula)
        assert gamma.definiteness(3).answer
        for t in (0.01, 1.0, 20.0):
            assert np.linalg.eigvalsh(np.exp(-t * gamma(z))).min() > -1e-13
        contrasts = np.random.default_rng(1).normal(size=(100, 40))
        contrasts -= contrasts.mean(axis=1, keepdims=True)
        assert np.einsum("ai,ij,aj->a", contrasts, gamma(z), contrasts).max() < 1e-10


def test_values_sills_and_kernels() -> None:
    z = np.array([0.0, 0.5, 1.0, 3.0])
    spherical = sp.variogram(sp.catalogue["spherical"]())
    np.testing.assert_allclose(spherical(z), sp.variogram("3*z/2 - z**3/2", reach=1)(z), atol=1e-15)
    assert spherical.sill == 1.0
    assert sp.variogram("s*z**(3/2)", s=2).sill is None
    np.testing.assert_allclose(sp.variogram("s*z**(3/2)", s=2)(z), 2 * z**1.5)


# --- on a region --------------------------------------------------------------------------------

# A formula, dim, radius, relative tolerance, and whether the field has a gradient.
REGIONS = [
    ("z", 1, 1.0, 1e-2, False),
    pytest.param("z**(7/5)/2", 1, 1.0, 1e-4, False, marks=pytest.mark.slow),
    pytest.param("z**(3/5)/2", 64, 2.0, 1e-2, False, marks=pytest.mark.slow),
    pytest.param("z**(1/10) + 3*z", 2, 0.3, 1e-9, False, marks=pytest.mark.slow),
    pytest.param("z + 2 - exp(-z**2) - cos(z)", 1, 3.0, 1e-3, False, marks=pytest.mark.slow),
    ("z**2", 64, 2.0, 1e-3, True),
    ("log(1 + z)", 2, 3.0, 1e-2, False),
    ("sqrt(1 + z**2) - 1", 2, 3.0, 1e-3, True),
    pytest.param("log(1 + sqrt(z))", 2, 1.0, 3e-2, False, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("formula", "dim", "radius", "tol", "is_differentiable"), REGIONS)
def test_a_covariance_on_a_region_keeps_the_increments_at_every_scale(
    formula: str, dim: int, radius: float, tol: float, is_differentiable: bool
) -> None:
    gamma = sp.variogram(formula)
    table = gamma.on_region(radius, dim, tol=tol)
    z = np.concatenate([np.geomspace(1e-5, 1, 301), np.linspace(0, 1, 2002)[1:]]) * radius
    error = np.abs(table.expected_kernel([0.0]) - table.expected_kernel(z) - gamma(z))
    # Below z = 1e-5 rounding of k(0) - k(z) is all that is seen.
    rounding = 1e-11 * table.k_zero
    assert 0.1 * table.bias < error.max() <= table.bias + rounding
    assert np.all(error <= tol * gamma(z) + rounding)
    assert all(part.sign > 0 for part in table.parts)
    assert table.domain == radius
    assert GaussianField(table).is_differentiable is is_differentiable


def test_a_variogram_with_a_sill_has_its_covariance_on_every_region() -> None:
    table = sp.variogram("1 - exp(-z)").on_region(1.0, 2, tol=1e-2)
    assert (table.bias, table.domain) == (0.0, np.inf)
    np.testing.assert_allclose(table.expected_kernel([0.5, 7.0]), np.exp([-0.5, -7.0]), atol=1e-11)


@pytest.mark.slow
def test_fields_without_a_variance_are_drawn_on_a_region() -> None:
    # Empirical variograms of fields: fields, not points, are counted.
    gamma, dim, fields = sp.variogram("z**(3/2)"), 2, 80
    table = gamma.on_region(3.0, dim, tol=0.01)
    field = GaussianField(table, n_components=256, random_state=0)
    start = np.random.default_rng(0).uniform(0, 1.0, (50, dim))
    lags = np.array([0.1, 0.5, 1.0])
    paths = [field.path(j) for j in range(fields)]
    step = np.array([1.0, 0.0])
    found = np.array(
        [[0.5 * np.mean((p(start + h * step) - p(start)) ** 2) for h in lags] for p in paths]
    )
    error = found.std(axis=0, ddof=1) / np.sqrt(fields)
    assert np.all(np.abs(found.mean(axis=0) - gamma(lags)) < 6 * error + table.bias)


@pytest.mark.slow
def test_the_error_of_a_model_with_a_range_names_the_reach() -> None:
    model = "3*z/2 - z**3/2"
    without, within = (sp.variogram(model, reach=reach).definiteness(3) for reach in (None, 1))
    assert (without.answer, within.answer) == (False, True)
    assert "give that distance as the reach" in without.reason
    assert "reach" not in sp.variogram("z**3").definiteness(3).reason


def test_invalid_variograms_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"no variogram on R\^1.*gamma\(2z\) <= 4 gamma\(z\)"):
        sp.variogram("z**3").on_region(1.0, 1, tol=0.1)
    with pytest.raises(FormulaError, match="A nugget is"):
        sp.variogram("1 + z")
    with pytest.raises(ParameterError, match="unit sphere"):
        sp.variogram(sp.zonal("exp(u)"))
    with pytest.raises(ParameterError, match="positive distance"):
        sp.variogram("z", reach=-1)
    with pytest.raises(ParameterError, match="positive finite number"):
        sp.variogram("z").on_region(0.0, 2, tol=0.1)


def test_increments_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(AccuracyError, match="below the rounding errors"):
        sp.variogram("z").on_region(1.0, 2, tol=1e-15)
    with pytest.raises(AccuracyError, match="does not start with a power of z"):  # -z log(z) at 0
        sp.variogram("z*log(2 + 1/z)").on_region(1.0, 1, tol=0.01)
    table = sp.variogram("log(1 + z)").on_region(1.0, 1, tol=0.05)
    with pytest.raises(ParameterError, match="has no gradient"):
        GaussianField(table, n_components=16, random_state=0).gradient([[0.5]])
