"""Fields drawn through the plug-in have the correlation of their model; GSTools' own may not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import spectra as sp
from spectra.base.bessel import plane_wave_mean
from spectra.errors import ParameterError
from tests.oracles.kernels.problems import DIMENSION

gstools = pytest.importorskip("gstools", reason="GSTools is an extra: pip install gstools")
from spectra.plugins.gstools import _kernel_of as kernel_of  # noqa: E402
from spectra.plugins.gstools import cov_model, of  # noqa: E402

LAGS = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0])
SEEDS, MODES, ROUNDING = 40, 1000, 1e-10

OWN = [
    ("Spherical", {}, 3),
    ("Circular", {}, 2),
    ("Linear", {}, 1),
    ("Rational", {"alpha": 1.0}, 3),
    ("Stable", {"alpha": 1.5}, 2),
    ("Matern", {"nu": 1.0}, 1),
    ("SuperSpherical", {"nu": 1.3}, 3),
    ("HyperSpherical", {}, 3),
    ("JBessel", {"nu": 2.5}, 2),
    ("TPLSimple", {"nu": 2.0}, 2),
    ("TPLGaussian", {"hurst": 0.3, "len_low": 0.5}, 2),
    ("TPLExponential", {"hurst": 0.6, "len_low": 0.02}, 3),
    ("TPLStable", {"hurst": 0.3, "alpha": 0.7, "len_low": 2.0}, 1),
    ("Gaussian", {}, 2),
]


def deviations(model: object, dim: int) -> np.ndarray:
    """Of the mean correlation that generators imply, in standard errors, at the lags.

    The wave of a frequency is averaged over all directions, so that nothing but its radius counts.
    """
    rows = []
    for seed in range(SEEDS):
        waves = gstools.field.generator.RandMeth(model, mode_no=MODES, seed=seed)._cov_sample
        radii = np.linalg.norm(waves, axis=0)
        rows.append(plane_wave_mean(dim, np.outer(LAGS, radii)).mean(axis=1))
    values = np.array(rows)
    # A law of one radius has no spread but its rounding.
    error = values.std(axis=0, ddof=1) / np.sqrt(SEEDS) + ROUNDING
    return (values.mean(axis=0) - model.correlation(LAGS)) / error


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "dim"), OWN, ids=str)
def test_the_implied_correlation_is_that_of_the_model(name: str, options: dict, dim: int) -> None:
    model = of(getattr(gstools, name)(dim=dim, **options))
    assert np.abs(deviations(model, dim)).max() < 6.0


def valid_models() -> list[tuple[str, int]]:
    """Models of the catalogue, each in the largest dimension of space where it is valid."""
    found = []
    for name, entry in sp.catalogue.entries.items():
        values = {n: v for n, v in entry.defaults.items() if not isinstance(v, tuple)}
        condition = entry.positive_definite_for(**values)
        if entry.zonal or condition is None or name == "constant":
            continue
        dims = [d for d in (1, 2, 3) if bool(condition.subs(DIMENSION, d))]
        found += [(name, dims[-1])] if dims else []
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dim"), valid_models())
def test_every_valid_model_of_the_catalogue_is_drawn_correctly(name: str, dim: int) -> None:
    assert np.abs(deviations(cov_model(name, dim), dim)).max() < 4.0


@pytest.mark.parametrize(
    ("name", "low", "dim"),
    [("TPLGaussian", 1e-4, 1), ("TPLExponential", 0.5, 7), ("TPLStable", 30, 2)],
)
def test_a_lower_length_costs_no_time_and_no_digits(name: str, low: float, dim: int) -> None:
    model = getattr(gstools, name)(dim=1, len_scale=3.0, len_low=low, hurst=0.35)
    kernel = kernel_of(model)
    with sp.time_limit(60.0):
        table = sp.derive(kernel, dim, cache=False)
    z = np.concatenate([[0.0], np.geomspace(1e-5, 1e3, 80)])
    truth = model.correlation(z * model.len_rescaled)
    assert np.abs(table.expected_kernel(z) - truth).max() < 1e-12


@pytest.mark.parametrize("dim", [1, 3])
def test_the_spectrum_and_its_quantiles_belong_together(dim: int) -> None:
    model = of(gstools.Spherical(dim=dim, len_scale=2.0))
    exact = gstools.Exponential(dim=dim, len_scale=2.0)
    ours = cov_model("exp(-z)", dim, len_scale=2.0)
    w = np.array([0.0, 0.1, 1.0, 5.0])
    assert np.abs(ours.spectral_density(w) / exact.spectral_density(w) - 1).max() < 1e-12
    u = np.array([0.1, 0.5, 0.9])
    assert np.abs(exact.spectral_rad_cdf(ours.spectral_rad_ppf(u)) - u).max() < 1e-12
    assert np.all(np.diff(model.spectral_rad_ppf(u)) > 0)


def test_variances_lengths_and_directions_are_those_of_gstools() -> None:
    options = {"var": 2.0, "len_scale": [4.0, 2.0], "angles": 0.3, "nugget": 0.1}
    model, own = of(gstools.Spherical(dim=2, **options)), gstools.Spherical(dim=2, **options)
    points = np.random.default_rng(0).normal(size=(2, 20))
    assert np.abs(model.cov_spatial(points) - own.cov_spatial(points)).max() < 1e-12
    field = gstools.SRF(copy.deepcopy(model), mode_no=100, seed=1)
    assert field(points).shape == (20,)
    kriged = gstools.krige.Ordinary(model, points[:, :5], np.arange(5.0))
    assert np.isfinite(kriged(points)[0]).all()


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(ParameterError, match="no covariance in dimension 3"):
        cov_model("(2/pi)*(acos(z) - z*sqrt(1 - z**2))", 3, support=1)
    with pytest.raises(ParameterError, match="not a radial kernel"):
        cov_model(sp.zonal("exp(u)"), 3)

    class Unknown(gstools.CovModel):
        def cor(self, h):
            return np.exp(-(h**2))

    with pytest.raises(ParameterError, match="not known here"):
        of(Unknown(dim=2))


LONG, SHORT = gstools.Spherical(dim=3, len_scale=10), gstools.Spherical(dim=3, len_scale=2, var=3.0)


@pytest.mark.parametrize(
    "summed", [lambda: of(SHORT) + of(LONG), lambda: of(SHORT + LONG), lambda: of(SHORT) + LONG]
)
def test_a_sum_is_drawn_from_the_mixture_of_its_spectra(summed) -> None:
    model, u = summed(), (np.arange(2000) + 0.5) / 2000
    x = np.geomspace(0.01, 20.0, 40)
    drawn = np.searchsorted(np.sort(model.spectral_rad_ppf(u)), x) / u.size
    single = [np.searchsorted(of(m).spectral_rad_ppf(u), x) / u.size for m in (SHORT, LONG)]
    assert np.abs(drawn - (0.75 * single[0] + 0.25 * single[1])).max() < 2e-3
    waves = gstools.field.generator.RandMeth(model, mode_no=4000, seed=1)._cov_sample
    implied = plane_wave_mean(3, np.outer(LAGS, np.linalg.norm(waves, axis=0)))
    error = implied.std(axis=1) / np.sqrt(4000)
    assert np.abs((implied.mean(axis=1) - model.correlation(LAGS)) / error).max() < 6.0


@pytest.mark.parametrize("options", [{"latlon": True}, {"temporal": True, "spatial_dim": 2}])
def test_a_model_on_the_globe_or_in_time_stays_there(options) -> None:
    own = gstools.Spherical(var=2.0, len_scale=3.0, nugget=0.5, **options)
    made = of(own)
    assert (made.dim, made.latlon, made.temporal) == (own.dim, own.latlon, own.temporal)
    r = np.linspace(0.0, 4.0, 9)
    assert np.abs(made.variogram(r) - own.variogram(r)).max() < 1e-12


def test_lengths_variances_and_shapes_can_be_fitted() -> None:
    x, stable = np.linspace(0.1, 8.0, 60), of(gstools.Stable(dim=2))
    stable.fit_variogram(x, gstools.Stable(dim=2, len_scale=2.0, var=3.0, alpha=1.2).variogram(x))
    found = [stable.var, stable.len_scale, stable.alpha, stable.nugget]
    assert np.abs(np.subtract(found, [3.0, 2.0, 1.2, 0.0])).max() < 1e-3
    again = of(gstools.Stable(dim=2, len_scale=stable.len_scale, alpha=stable.alpha))
    assert abs(stable.spectral_rad_ppf(0.7) / again.spectral_rad_ppf(0.7) - 1.0) < 1e-9


def test_a_model_keeps_the_attributes_of_its_class() -> None:
    power_law = of(gstools.TPLGaussian(dim=3, len_scale=9, len_low=1, rescale=2))
    assert (power_law.len_up_rescaled, power_law.len_scale) == (5.0, 9.0)
    ball = of(gstools.HyperSpherical(dim=2))
    ball.dim = 3
    assert ball.spectral_rad_ppf(0.3) == of(gstools.HyperSpherical(dim=3)).spectral_rad_ppf(0.3)


@pytest.mark.parametrize("nu", [0.5, 7.0, 50.0])
def test_the_integral_model_has_the_spectrum_of_gstools(nu: float) -> None:
    own = gstools.Integral(dim=2, nu=nu, len_scale=3.0)
    w = np.linspace(0.1, 2.0, 20)
    with np.errstate(all="ignore"):
        truth = own.spectral_density(w)
    assert np.abs(of(own).spectral_density(w) / truth - 1.0).max() < 1e-9


def test_models_can_be_pickled() -> None:
    for model in (of(SHORT), of(SHORT + LONG), cov_model("cubic", 2, len_scale=3.0)):
        again = pickle.loads(pickle.dumps(model))
        assert type(again) is type(model)
        assert again.spectral_rad_ppf(0.3) == model.spectral_rad_ppf(0.3)


def test_a_family_has_its_shape_as_optional_arguments() -> None:
    model = cov_model(sp.family("powered_exponential"), dim=2)
    assert model.opt_arg == ["power"]
    assert model.opt_arg_bounds["power"] == [0.05, 2.0]
    z = np.linspace(0.1, 3.0, 15)
    exact = sp.catalogue["powered_exponential"](power=1.3)
    model.fit_variogram(z, 2 * (1 - exact(z / 0.8)) + 0.1, nugget=True)
    found = model.var, model.len_scale, model.nugget, model.power
    assert found == pytest.approx((2.0, 0.8, 0.1, 1.3), rel=1e-4)
    np.testing.assert_allclose(model.cor(z), exact(z), atol=1e-4)
    assert gstools.SRF(model, seed=1)((0.0, 1.0)).shape == (1,)
    with pytest.raises(ParameterError, match="positive definite on R"):
        cov_model(sp.family("spherical"), dim=4)
