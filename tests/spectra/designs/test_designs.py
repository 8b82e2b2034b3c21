"""Designed measures: stated errors, masses and variances."""

import mpmath
import numpy as np
import pytest

from rf.sampling.coupling import orthogonal
from rf.sampling.designed_directions import designed, designed_angular_means
from rf.variance.variance import VarianceModel
from spectra.base.bessel import plane_wave_mean
from spectra.cli.commands import main
from spectra.designs import design, design_for_columns
from spectra.designs.distances import NODE_WEIGHTS, checked_distances, largest_error
from spectra.designs.wave_variance import angular_means, block_variance, tabulated_wave
from spectra.errors import AccuracyError, DataError, ParameterError
from spectra.kernels.kernel import radial, zonal

SQUARE = radial("(1 - z**2/4)**2")
LINEAR = radial("1 - z**2/9")
STEP = zonal("1 - acos(u)/pi")
RAMP = zonal("(u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
NTK = zonal("(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
GAUSS = radial("exp(-z**2/2)")


def omega(dim, t):
    return mpmath.hyp0f1(mpmath.mpf(dim) / 2, -(mpmath.mpf(t) ** 2) / 4)


@pytest.mark.parametrize("dim", [2, 256])
@pytest.mark.parametrize("t", [0.5, 3.9, 30.0])
def test_the_variance_of_a_block_keeps_its_digits_where_the_closed_form_cancels(dim, t):
    with mpmath.workdps(60):
        mean = omega(dim, t)
        square = (1 + omega(dim, 2 * t)) / 2
        block = (square + (dim - 1) * omega(dim, mpmath.sqrt(2) * t) - dim * mean**2) / dim
        independent = square - mean**2
    # beyond the switch the closed form may cancel to about 1e-16 of 1
    assert float(block) == pytest.approx(block_variance(dim, np.array([t]))[0], rel=1e-9)
    assert float(independent) == pytest.approx(
        block_variance(dim, np.array([t]), size=1)[0], rel=1e-11
    )


@pytest.mark.parametrize("dim", [1, 256])
def test_tabulated_waves_are_within_their_error(dim):
    t = np.random.default_rng(0).uniform(0, 300, 2000)
    assert np.abs(tabulated_wave(dim, 300.0)(t) - plane_wave_mean(dim, t)).max() < 2e-12


# Least masses by an independent linear programme on a fine grid (w <= 400).
LEAST_MASSES = [
    (LINEAR, 3, 2.0, 1e-3, 1.08),
    (SQUARE, 16, 2.0, 1e-3, 7.72),
    (RAMP, 16, 2.0, 3e-3, 5.0),
    (STEP, 16, np.sqrt(2), 1e-3, 1.03),
]


@pytest.mark.parametrize(("kernel", "dim", "z_max", "tol", "mass"), LEAST_MASSES)
def test_the_least_mass_is_enclosed_by_the_design_and_its_dual(kernel, dim, z_max, tol, mass):
    d = design(kernel, dim, domain=(0, z_max), tol=tol, objective="mass")
    assert d.lower_bound <= mass * 1.01
    assert d.mass >= mass * 0.99
    assert 0 <= d.gap < 0.05
    assert d.sup_error.mid + d.sup_error.rad <= tol


def test_the_dual_stays_below_one_and_touches_it_with_the_sign_of_each_mass():
    d = design(SQUARE, 16, domain=(0, 2), tol=1e-3, objective="mass")
    w = np.random.default_rng(1).uniform(0, 450, 4000)
    assert np.abs(d.certificate(w)).max() < 1.005
    np.testing.assert_allclose(d.certificate(d.radii), np.sign(d.masses), atol=0.02)


@pytest.mark.parametrize(
    ("kernel", "dim", "domain", "objective", "coupling"),
    [
        pytest.param(STEP, 2, (0, np.sqrt(2)), "mass", "orthogonal", marks=pytest.mark.slow),
        (GAUSS, 7, (0.5, 4), "variance", "iid"),
        pytest.param(RAMP, 16, (0, 1.83), "variance", "orthogonal", marks=pytest.mark.slow),
        pytest.param(SQUARE, 256, (0, 2), "variance", "orthogonal", marks=pytest.mark.slow),
    ],
)
def test_the_stated_error_is_the_error_on_the_whole_domain(
    kernel, dim, domain, objective, coupling
):
    d = design(kernel, dim, domain=domain, tol=1e-3, objective=objective, coupling=coupling)
    rng = np.random.default_rng(2)
    z = np.concatenate([rng.uniform(*domain, 20_000), domain])
    seen = np.abs(d(z) - kernel(z)).max()
    assert seen <= d.sup_error.mid + d.sup_error.rad <= 1e-3
    # the bound is not idle: what was seen comes within 2 % of it
    assert seen > 0.98 * (d.sup_error.mid + d.sup_error.rad)


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        (radial("cos(3*z)"), 1.0),
        (radial("z**2", support=1), 1.0),  # the largest value stands before a jump
        (radial("sqrt(z)"), np.sqrt(2)),
    ],
)
def test_the_largest_error_of_no_measure_is_the_largest_value_of_the_kernel(kernel, largest):
    nothing = np.zeros(0)
    error = largest_error(kernel, 3, nothing, nothing, (0.0, 2.0))
    assert largest in error
    assert error.rad < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("coupling", "dim"), [("orthogonal", 2), ("shared", 16), ("iid", 7)])
def test_the_variance_of_a_design_is_the_one_that_features_state(dim, coupling):
    served = checked_distances(SQUARE, (0, 2))
    made = [design(SQUARE, dim, (0, 2), n_components=20 * dim + 1, coupling=coupling)]
    if coupling != "shared":
        made += [design(SQUARE, dim, (0, 2), tol=3e-2, coupling=coupling)]
    for d in made:
        used = tuple(n for n, c in zip(d.counts, d.masses, strict=True) if c != 0.0)
        model = VarianceModel(d.table, np.array(served[1]))
        stated, error = model.variance(used, coupling=coupling)
        assert abs(d.deviation**2 - NODE_WEIGHTS @ stated) < 1e-10 * d.deviation**2 + error.max()


def test_a_design_states_its_lower_bound_or_refuses():
    d = design("(1 - z**2/4)**2", 16, (0, 2), tol=1e-3, objective="mass")
    assert d.lower_bound <= d.value == pytest.approx(d.mass, rel=1e-3)
    waves = sum(n for n, w in zip(d.counts, d.radii, strict=True) if w)
    assert d.columns == 2 * waves + (0.0 in d.radii)
    best = design(SQUARE, 16, (0, 2), n_components=101)
    assert best.coupling == "shared"
    assert best.n_components == 101 >= best.columns
    assert best.lower_bound is best.gap is None
    with pytest.raises(ParameterError, match="no dual"):
        best.certificate(1.0)
    for made in (d, best):
        assert len(repr(made)) < 200
        assert "error at most" in str(made)


def test_a_design_is_a_measure_like_any_other():
    d = design(SQUARE, 16, domain=(0, 2), tol=1e-3, objective="mass")
    m = d.measure
    assert m.mass.mid == pytest.approx(d.mass, rel=1e-14)
    assert m.k_zero == pytest.approx(float(d(0.0)), abs=1e-14)
    assert m.kernel == SQUARE


def test_impossible_designs_are_refused_with_an_alternative():
    with pytest.raises(AccuracyError, match=r"larger tol.*sqrt\(2\)"):
        design(NTK, 16, domain=(0, 2), tol=1e-3)
    with pytest.raises(ParameterError, match="dimension 1"):
        design(GAUSS, 1, domain=(0, 2), tol=1e-2)
    with pytest.raises(DataError, match="Widen"):
        design(GAUSS, 3, domain=(0, 2), tol=1e-2, distances=[1.0, 2.5])
    wrong_domains: list[dict[str, object]] = [{"domain": x} for x in ((2, 1), 2.0, None, [], "ab")]
    for bad in ({"tol": 0.0}, {"objective": "size"}, {"coupling": "shared"}, *wrong_domains):
        with pytest.raises(ParameterError):
            design(GAUSS, 3, **{"domain": (0, 2), "tol": 1e-2, **bad})
    with pytest.raises(ParameterError, match="n_components"):
        design(GAUSS, 3, n_components=2, domain=(0, 2))


def test_the_command_draws_a_design(capsys, tmp_path):
    picture = tmp_path / "design.png"
    options = ["--dim", "3", "--z-max", "1", "--tol", "1e-1", "--objective", "mass"]
    assert main(["design", "(1 - z**2/4)**2", *options, "--plot", str(picture)]) == 0
    assert "no measure within 0.1 has less than" in capsys.readouterr().out
    assert picture.stat().st_size > 5000


def test_the_command_designs(capsys):
    common = ["design", "(1 - z**2/4)**2", "--dim", "16", "--z-max", "2"]
    assert main([*common, "--n-components", "481"]) == 0
    assert "240 shared directions" in capsys.readouterr().out
    assert main(["design", "ntk", "--dim", "16", "--z-max", "2", "--tol", "1e-3"]) == 2
    assert "'rf approximate'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_uses_the_support_as_the_range(capsys):
    assert main(["design", "exp(u)", "--dim", "3", "--tol", "1e-2"]) == 0
    assert "on distances 0 to 2:" in capsys.readouterr().out
    options = ["--support", "1.5", "--dim", "3", "--tol", "1e-2"]
    assert main(["design", "(1 - z**2/4)**2", *options]) == 0
    assert "on distances 0 to 1.5:" in capsys.readouterr().out
    assert main(["design", "exp(-z)", "--dim", "3", "--tol", "1e-2"]) == 2
    assert "--z-max" in capsys.readouterr().err


def features(d, rng, rows, scheme):
    """The mean of drawn plane waves at all distances of some rows, with its directions shared."""
    u = scheme(d.n_directions, d.dim, rng)
    z = rows @ u.T
    gram = np.full((rows.shape[0],) * 2, d.masses[0])
    for w, c in zip(d.radii[1:], d.masses[1:], strict=True):
        waves = np.concatenate([np.cos(w * z), np.sin(w * z)], axis=1)
        gram += c / d.n_directions * (waves @ waves.T)
    return gram


@pytest.mark.parametrize(
    ("means", "scheme"),
    [
        (lambda n: angular_means(7, n), orthogonal),
        (lambda n: designed_angular_means(n, 7), designed),
    ],
)
def test_the_expected_error_of_a_budget_is_the_error_that_is_seen(means, scheme):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((60, 7))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    upper = np.triu_indices(60, 1)
    z = np.sqrt(2 - 2 * np.clip(x @ x.T, -1, 1))[upper]
    served = checked_distances(RAMP, (0, 2), z)
    d = design_for_columns(RAMP, 7, *served, n_components=113, angular_means=means)
    assert d.columns <= 113
    exact = RAMP(z)
    errors = [features(d, rng, x, scheme)[upper] - exact for _ in range(60)]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(d.expected_error, rel=0.12)
    worst = np.abs(d(np.linspace(0, 2, 3000)) - RAMP(np.linspace(0, 2, 3000))).max()
    assert worst == pytest.approx(d.sup_error.mid, rel=0.02)


@pytest.mark.parametrize(("objective", "size"), [("mass", 1.0), ("variance", 1e6)])
def test_a_tolerance_below_rounding_is_refused(objective, size):
    kernel = size * radial("exp(-z**2/2)")
    # Without this refusal the solver finds no end, and is refused for its time in other words.
    with pytest.raises(AccuracyError, match=r"beyond double precision.*Ask for tol >= ") as refused:
        design(kernel, 3, domain=(0, 2), tol=1e-12 * size, objective=objective)
    advised = float(str(refused.value).split("Ask for tol >= ")[1].split()[0].rstrip("."))
    assert 3.6e-12 * size <= advised <= 4.2e-12 * size
