"""Designed measures: right on their domain, no dearer than need be, and honest about both."""

import os
from pathlib import Path

import mpmath
import numpy as np
import pytest
from grids import but_for_dear, by_turns, graded

from rf.sampling.designed_directions import designed, designed_angular_means
from rf.sampling.directions import orthogonal
from rf.variance.variance import VarianceModel
from spectra.base.limits.time_limit import time_limit
from spectra.base.special.bessel import plane_wave_mean
from spectra.cli.commands import main
from spectra.designs import design, price_curve
from spectra.designs.certificate import estimated_sup_error, proved_sup_error
from spectra.designs.distances import Distances
from spectra.designs.wave_columns import angular_means, block_variance, tabulated_wave
from spectra.errors import AccuracyError, DataError, NoRouteError, ParameterError
from spectra.kernels.kernel import radial, zonal

SQUARE = radial("(1 - z**2/4)**2")
LINEAR = radial("1 - z**2/9")
STEP = zonal("1 - acos(u)/pi")
RAMP = zonal("(u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
NTK = zonal("(2*u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
GAUSS = radial("exp(-z**2/2)")


def omega(dim, t):
    return mpmath.hyp0f1(mpmath.mpf(dim) / 2, -(mpmath.mpf(t) ** 2) / 4)


@pytest.mark.parametrize("dim", [2, 3, 7, 16, 64, 256])
@pytest.mark.parametrize("t", [0.5, 3.9, 4.1, 30.0])
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


@pytest.mark.parametrize("dim", [1, 2, 3, 16, 256])
def test_tabulated_waves_are_within_their_error(dim):
    t = np.random.default_rng(0).uniform(0, 300, 2000)
    assert np.abs(tabulated_wave(dim, 300.0)(t) - plane_wave_mean(dim, t)).max() < 2e-12


# Least masses by an independent linear programme on a fine grid (w <= 400).
LEAST_MASSES = [
    (LINEAR, 3, 2.0, 1e-3, 1.08),
    (LINEAR, 16, 2.0, 1e-3, 1.61),
    (SQUARE, 3, 2.0, 1e-3, 1.23),
    (SQUARE, 16, 2.0, 1e-2, 1.53),
    (SQUARE, 16, 2.0, 1e-3, 7.72),
    (RAMP, 16, 2.0, 3e-3, 5.0),
    (RAMP, 16, np.sqrt(2), 1e-3, 1.58),
    (STEP, 16, np.sqrt(2), 1e-3, 1.03),
    (NTK, 16, np.sqrt(2), 1e-3, 3.34),
]


@pytest.mark.parametrize(("kernel", "dim", "z_max", "tol", "mass"), by_turns(LEAST_MASSES, every=2))
def test_the_least_mass_is_enclosed_by_the_design_and_its_dual(kernel, dim, z_max, tol, mass):
    d = design(kernel, dim, domain=(0, z_max), tol=tol, objective="mass")
    assert d.dual.least_mass <= mass * 1.01
    assert d.mass >= mass * 0.99
    assert 0 <= d.gap < 0.05
    assert d.sup_error.mid + d.sup_error.rad <= tol


@pytest.mark.parametrize("dim", by_turns([1, 2, 7, 64], every=2))
def test_no_measure_beats_the_gaussian_by_more_than_the_tolerance(dim):
    d = design(GAUSS, dim, domain=(0, 3), tol=1e-3, objective="mass")
    assert 1 - 1.1e-3 <= d.dual.least_mass <= 1
    assert 1 - 1.1e-3 <= d.mass <= 1


def test_the_dual_stays_below_one_and_touches_it_with_the_sign_of_each_mass():
    d = design(SQUARE, 16, domain=(0, 2), tol=1e-3, objective="mass")
    w = np.random.default_rng(1).uniform(0, d.dual.max_radius, 4000)
    assert np.abs(d.dual(w)).max() < 1.005
    np.testing.assert_allclose(d.dual(d.radii), np.sign(d.masses), atol=0.02)


@pytest.mark.parametrize(
    ("kernel", "dim", "domain", "objective", "coupling"),
    by_turns(
        [
            (SQUARE, 1, (0, 2), "mass", "orthogonal"),
            (SQUARE, 2, (0, 2), "mass", "orthogonal"),
            (GAUSS, 7, (0.5, 4), "variance", "iid"),
            (RAMP, 16, (0, 1.83), "variance", "shared"),
            pytest.param(NTK, 64, (0, 1.4), "variance", "orthogonal", marks=pytest.mark.slow),
            (SQUARE, 256, (0, 2), "variance", "orthogonal"),
            (SQUARE, 1000, (0, 2), "mass", "orthogonal"),
        ],
        every=2,
    ),
)
def test_the_stated_error_is_the_error_on_the_whole_domain(
    kernel, dim, domain, objective, coupling
):
    d = design(
        kernel,
        dim,
        domain=domain,
        tol=1e-3,
        objective=objective,
        coupling=coupling,
        max_radius=60.0 if dim < 3 else None,
    )
    rng = np.random.default_rng(2)
    z = np.concatenate([rng.uniform(*domain, 20_000), domain])
    seen = np.abs(d(z) - kernel(z)).max()
    assert seen <= d.sup_error.mid + d.sup_error.rad <= 1e-3
    # the bound is not idle: what was seen comes within 2 % of it
    assert seen > 0.98 * (d.sup_error.mid + d.sup_error.rad)


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        (radial("exp(-z)"), 1.0),
        (radial("cos(3*z)"), 1.0),
        (radial("1 - z/3", support=1), 1.0),
        (radial("z**2", support=1), 1.0),  # the largest value stands before a jump
        (radial("sqrt(z)"), np.sqrt(2)),
    ],
)
def test_the_largest_error_of_no_measure_is_the_largest_value_of_the_kernel(kernel, largest):
    nothing = np.zeros(0)
    error = estimated_sup_error(kernel, 3, nothing, nothing, (0.0, 2.0), tol=1e-3)
    assert largest in error
    assert error.rad < 0.01


@pytest.mark.parametrize(
    ("kernel", "dim", "z_max"),
    by_turns(
        [(SQUARE, 2, 2.0), (SQUARE, 16, 2.0), (RAMP, 3, 2.0), (radial("exp(-z)"), 7, 1.0)], every=3
    ),
)
def test_a_proof_confirms_the_estimate(kernel, dim, z_max):
    d = design(kernel, dim, domain=(0, z_max), tol=1e-2, objective="mass", max_radius=80)
    proof = d.certified()
    assert proof.rigorous
    assert not d.sup_error.rigorous
    assert proof.mid + proof.rad <= 1e-2
    assert abs(proof.mid - d.sup_error.mid) <= proof.rad + d.sup_error.rad
    z = np.linspace(0, z_max, 300)
    with mpmath.workdps(30):
        largest = max(
            abs(
                mpmath.fsum(c * omega(dim, w * x) for w, c in zip(d.radii, d.masses, strict=True))
                - kernel(x)
            )
            for x in z
        )
    assert largest <= proof.mid + proof.rad


def test_a_formula_beyond_the_balls_is_refused_not_guessed():
    w, c = np.array([1.0]), np.array([1.0])
    with pytest.raises(NoRouteError, match="besselk"):
        proved_sup_error(radial("z*besselk(1, z)"), 3, w, c, (0.1, 2.0), tol=1e-2)
    with pytest.raises(NoRouteError, match="support"):
        proved_sup_error(radial("1 - z", support=1), 3, w, c, (0.0, 2.0), tol=1e-2)


def one_estimate(d, directions, shared, rng, z):
    """The estimate of the kernel at distances z along the first axis, from one block."""
    total = np.zeros_like(z)
    rows = directions(rng)
    for w, c in zip(d.radii, d.masses, strict=True):
        if not shared:
            rows = directions(rng)
        total += c * np.cos(w * rows[:, :1] * z).mean(axis=0)
    return total


@pytest.mark.parametrize(
    ("coupling", "shared", "rows"),
    by_turns([("orthogonal", False, 5), ("shared", True, 5), ("iid", False, 1)], every=2),
)
def test_the_stated_deviation_is_that_of_drawn_features(coupling, shared, rows):
    z = np.array([0.5, 1.0, 1.5, 2.0])
    d = design(
        SQUARE, 5, domain=(0, 2), tol=1e-2, coupling=coupling, distances=np.repeat(z, 500),
        max_mass=20,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    draws = [one_estimate(d, lambda r: orthogonal(rows, 5, r), shared, rng, z) for _ in range(3000)]
    spread = np.mean(np.var(draws, axis=0))
    # the variance of 3000 draws is known to a few percent
    assert spread == pytest.approx(d.deviation**2, rel=0.15)
    assert d.deviation <= d.dual.value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("coupling", "dim"),
    graded(
        [(c, d) for c in ("orthogonal", "shared", "iid") for d in (2, 3, 7, 16)],
        slow=[("orthogonal", 2), ("orthogonal", 7), ("shared", 3), ("shared", 16), ("iid", 7)],
    ),
)
def test_the_variance_of_a_design_is_the_one_that_features_state(dim, coupling):
    served = Distances.of(SQUARE, (0, 2), None)
    for asked in ({"tol": 3e-2, "max_mass": 20}, {"n_components": 20 * dim + 1}):
        d = design(SQUARE, dim, (0, 2), coupling=coupling, **asked)
        used = tuple(n for n, c in zip(d.counts, d.masses, strict=True) if c != 0.0)
        model = VarianceModel(d.table, served.nodes)
        stated, error = model.variance(used, coupling=coupling)
        assert abs(d.deviation**2 - served.weights @ stated) < 1e-10 * d.deviation**2 + error.max()
        assert d.deviation <= np.abs(d.masses) @ d.deviations * (1 + 1e-9)


def test_a_design_knows_what_bounds_it_and_says_where_nothing_does():
    d = design("(1 - z**2/4)**2", 16, (0, 2), tol=1e-3, objective="mass")
    assert d.lower_bound == d.dual.lower_bound <= d.dual.value == pytest.approx(d.mass, rel=1e-3)
    assert d.columns == 2 * sum(n for n, w in zip(d.counts, d.radii, strict=True) if w) + (
        1 if 0.0 in d.radii else 0
    )
    best = design(SQUARE, 16, (0, 2), n_components=101)
    assert best.coupling == "shared"
    assert best.n_components == 101 >= best.columns
    with pytest.raises(ParameterError, match="no dual"):
        _ = best.lower_bound
    for made in (d, best):
        assert len(repr(made)) < 200
        assert "error at most" in str(made)


@pytest.mark.slow
def test_each_objective_is_best_at_its_own():
    options = {"domain": (0, 2), "tol": 1e-3, "max_mass": 500}
    light = design(SQUARE, 16, objective="mass", **options)
    steady = design(SQUARE, 16, objective="variance", **options)
    assert light.mass < 0.1 * steady.mass
    assert steady.deviation < 0.3 * light.deviation
    assert steady.mass <= 500 * (1 + 1e-9)
    assert steady.dual.least_mass == pytest.approx(light.dual.least_mass, rel=0.02)


def test_a_design_is_a_measure_like_any_other():
    d = design(SQUARE, 16, domain=(0, 2), tol=1e-3, objective="mass")
    m = d.measure
    assert m.mass.mid == pytest.approx(d.mass, rel=1e-14)
    assert m.k_zero == pytest.approx(float(d(0.0)), abs=1e-14)
    assert m.kernel == SQUARE


@pytest.mark.slow
def test_rounding_is_felt_in_proportion_to_the_mass():
    d = design(SQUARE, 16, domain=(0, 2), tol=1e-3, max_mass=1000)
    x = np.random.default_rng(4).standard_normal((200, 16))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    rows = orthogonal(16, 16, np.random.default_rng(5))

    def gram(dtype):
        total = np.zeros((200, 200), dtype=dtype)
        for w, c in zip(d.radii, d.masses, strict=True):
            phase = (x.astype(dtype) @ (w * rows.T).astype(dtype)).astype(dtype)
            waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
            total += dtype(c / 16) * (waves @ waves.T)
        return total

    seen = np.abs(gram(np.float64) - gram(np.float32)).max()
    assert d.rounding(np.float32) / 200 < seen < d.rounding(np.float32)
    assert d.rounding() < 1e-11


@pytest.mark.slow
def test_a_root_at_the_end_of_the_domain_has_a_price_and_a_smooth_kernel_has_none():
    steep = price_curve(STEP, 16, domain=(0, 2), tols=[3e-2, 2e-2, 1e-2])
    flat = price_curve(SQUARE, 3, domain=(0, 2), tols=[3e-2, 1e-2, 3e-3])
    assert steep.exponent > 3
    assert flat.exponent < 0.1
    # d = 16, z <= 2, tol 1e-2: 1.4e5 by an independent programme
    assert steep.lower_bounds[-1] < 1.46e5
    assert steep.masses[-1] > 1.38e5
    assert "sqrt(2)" in steep.explain()
    assert "sqrt(2)" not in flat.explain()


TL2 = radial("1 - z/2", support=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "dim", "z_max"),
    [(TL2, 16, 1.6), (NTK, 7, np.sqrt(2))],
)
def test_a_closed_form_part_for_a_kink_leaves_a_rest_of_low_radii(kernel, dim, z_max):
    plain = design(kernel, dim, domain=(0, z_max), tol=3e-3, objective="mass")
    made = design(kernel, dim, (0, z_max), tol=3e-3, objective="mass", tail="laplace")
    assert made.radii.max() < 0.2 * plain.radii.max()
    assert made.mass < 1.05 * plain.mass
    z = np.linspace(0, z_max, 601)
    for seen in (made(z), made.table.expected_kernel(z)):
        worst = np.abs(seen - kernel(z)).max()
        assert 2.7e-3 < worst <= made.sup_error.mid + made.sup_error.rad <= 3e-3
    assert made.table.domain == z_max
    assert made.measure.mass.mid == pytest.approx(made.mass, rel=1e-9)
    assert made.measure.k_zero == pytest.approx(float(made(0.0)), abs=1e-9)
    proof = made.certified()
    assert proof.rigorous
    assert abs(proof.mid - made.sup_error.mid) <= proof.rad + made.sup_error.rad


def test_a_fixed_part_is_given_as_a_kernel_or_found_from_a_slope():
    part = radial("exp(-2*z)")
    made = design(
        radial("exp(-2*z) + exp(-z**2)"), 3, (0, 2), tol=1e-2, objective="mass", tail=part
    )
    assert made.mass < 2.01
    assert made.tail is part
    with pytest.raises(ParameterError, match="slope"):
        design(GAUSS, 3, (0, 2), tol=1e-2, tail="laplace")


def test_a_kink_is_cheap_before_it_and_dear_across_it():
    inside = price_curve(TL2, 16, domain=(0, 1.6), tols=[3e-2, 1e-2])
    across = price_curve(TL2, 16, domain=(0, 2.5), tols=[3e-2, 2e-2, 1e-2])
    assert inside.masses[-1] < 1.2
    assert across.lower_bounds[-1] > 20
    assert across.exponent > 3 > 1 > inside.exponent


def test_what_cannot_be_is_refused_with_the_way_out():
    with pytest.raises(AccuracyError, match=r"max_mass.*price_curve.*sqrt\(2\)"):
        design(NTK, 16, domain=(0, 2), tol=1e-3)
    jump = radial("1", support=1)
    with pytest.raises(AccuracyError):
        design(jump, 3, domain=(0, 2), tol=0.1, objective="mass", max_radius=20)
    with pytest.raises(ParameterError, match="dimension 1"):
        design(GAUSS, 1, domain=(0, 2), tol=1e-2)
    with pytest.raises(DataError, match="Widen"):
        design(GAUSS, 3, domain=(0, 2), tol=1e-2, distances=[1.0, 2.5])
    wrong_domains: list[dict[str, object]] = [{"domain": x} for x in ((2, 1), 2.0, None, [], "ab")]
    for bad in ({"tol": 0.0}, {"objective": "size"}, {"coupling": "haar"}, *wrong_domains):
        with pytest.raises(ParameterError):
            design(GAUSS, 3, **{"domain": (0, 2), "tol": 1e-2, **bad})
    with pytest.raises(ParameterError, match="n_components"):
        design(GAUSS, 3, n_components=2, domain=(0, 2))


def test_the_command_designs_and_draws(capsys, tmp_path):
    common = ["design", "(1 - z**2/4)**2", "--dim", "16", "--z-max", "2"]
    picture = tmp_path / "design.png"
    assert main([*common, "--tol", "1e-2", "--objective", "mass", "--plot", str(picture)]) == 0
    assert "no measure within 0.01 has less than 1.5" in capsys.readouterr().out
    assert picture.stat().st_size > 5000
    for number_of_columns in ("--budget", "--n-components"):
        assert main([*common, number_of_columns, "101"]) == 0
        assert "50 shared directions" in capsys.readouterr().out
    assert main(common) == 2
    assert "--tol or --budget" in capsys.readouterr().err
    assert main([*common, "--tol", "1e-2", "--budget", "101"]) == 2
    assert main(["design", "ntk", "--dim", "16", "--z-max", "2", "--tol", "1e-3"]) == 2
    assert "'rf approximate'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_takes_the_end_of_the_kernel_for_that_of_the_range(capsys):
    assert main(["design", "exp(u)", "--dim", "3", "--tol", "1e-2"]) == 0
    assert "on distances 0 to 2:" in capsys.readouterr().out
    options = ["--support", "1.5", "--dim", "3", "--tol", "1e-2"]
    assert main(["design", "(1 - z**2/4)**2", *options]) == 0
    assert "on distances 0 to 1.5:" in capsys.readouterr().out
    assert main(["design", "exp(-z)", "--dim", "3", "--tol", "1e-2"]) == 2
    assert "--z-max" in capsys.readouterr().err


def test_equal_rows_know_no_distances_and_get_the_default_law():
    order = {"domain": (0, 2), "tol": 1e-2, "objective": "mass"}
    made, same = design(GAUSS, 4, distances=np.zeros(3), **order), design(GAUSS, 4, **order)
    assert np.array_equal(made.deviations, same.deviations)
    assert made.sup_error.mid <= 1e-2


@pytest.mark.slow
def test_a_histogram_of_distances_serves_as_their_sample():
    rng = np.random.default_rng(6)
    sample = rng.beta(5, 3, 20_000) * 2
    histogram = np.histogram(sample, bins=60, range=(0, 2))
    options = {"domain": (0, 2), "tol": 1e-2, "max_mass": 50}
    a = design(SQUARE, 7, distances=sample, **options)
    b = design(SQUARE, 7, distances=histogram, **options)
    assert a.dual.value == pytest.approx(b.dual.value, rel=0.02)


def features(d, rng, rows, scheme):
    """The mean of drawn plane waves at all distances of some rows, with its directions shared."""
    u = scheme(d.n_directions, d.dim, rng)
    z = rows @ u.T
    gram = np.full((rows.shape[0],) * 2, d.masses[0])
    for w, c in zip(d.radii[1:], d.masses[1:], strict=True):
        waves = np.concatenate([np.cos(w * z), np.sin(w * z)], axis=1)
        gram += c / d.n_directions * (waves @ waves.T)
    return gram


def block_means(n, dim=7):
    return angular_means(dim, n)


def designed_means(n, dim=7):
    return designed_angular_means(n, dim)


@pytest.mark.parametrize(
    ("means", "scheme"), [(block_means, orthogonal), (designed_means, designed)]
)
def test_the_expected_error_of_a_budget_is_the_error_that_is_seen(means, scheme):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((60, 7))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    upper = np.triu_indices(60, 1)
    z = np.sqrt(2 - 2 * np.clip(x @ x.T, -1, 1))[upper]
    d = design(
        RAMP, 7, n_components=113, domain=(0, 2), distances=z, angular_means=means, most_radii=2
    )
    assert d.columns <= 113
    exact = RAMP(z)
    errors = [features(d, rng, x, scheme)[upper] - exact for _ in range(150)]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(d.expected_error, rel=0.12)
    worst = np.abs(d(np.linspace(0, 2, 3000)) - RAMP(np.linspace(0, 2, 3000))).max()
    assert worst == pytest.approx(d.sup_error.mid, rel=0.02)


@pytest.mark.slow
def test_more_columns_are_better_and_designed_directions_are_better_still():
    small = design(RAMP, 7, n_components=57, domain=(0, 2), angular_means=block_means)
    large = design(RAMP, 7, n_components=449, domain=(0, 2), angular_means=block_means)
    best = design(RAMP, 7, n_components=449, domain=(0, 2), angular_means=designed_means)
    assert large.expected_error < 0.5 * small.expected_error
    assert best.expected_error < 0.5 * large.expected_error


# --- the papers' kernels on letter --------------------------------------------------------------

TENTH = radial("(1 - z**2/16)**10")
WIDE = radial("exp(-z**2/8)")
# kernel, rows, {frequencies n: largest relative Frobenius error, mean of 10 seeds}: half of what
# separate orthogonal blocks of a least-variance design reach, where n is 240 or 1008 (arc-cosine 0
# at 1008 falls a little short of half).  The columns are 2n and one for the constant.
LETTER = [
    pytest.param(LINEAR, "signed", {16: 1.2e-3, 32: 1.2e-4, 240: 1.2e-4}, id="a3p1"),
    pytest.param(SQUARE, "signed", {32: 0.055, 240: 0.00825, 1008: 0.00405}, id="a2p2"),
    pytest.param(TENTH, "signed", {240: 0.0105, 1008: 0.0051}, id="a4p10"),
    pytest.param(RAMP, "signed", {48: 0.034, 240: 0.0054, 1008: 0.0026}, id="arc-cosine 1"),
    pytest.param(NTK, "raw", {240: 0.0025, 1008: 0.0011}, id="NTK"),
    pytest.param(STEP, "raw", {240: 0.0034, 1008: 0.0016}, id="arc-cosine 0"),
    pytest.param(GAUSS, "signed", {288: 0.0092, 1440: 0.0026}, id="sigma=1"),
    pytest.param(WIDE, "signed", {1440: 6e-5}, id="sigma=2"),
]


def letter_rows(kind):
    folder = os.environ.get("SPECTRA_DATA", "")
    path = Path(folder) / "letter.npz"
    if not folder or not path.exists():
        pytest.skip("letter.npz is not in the folder SPECTRA_DATA")
    with np.load(path) as data:
        x = data["X_train"].astype(float)
    if kind == "signed":  # LIBSVM's scaling, column by column to [-1, 1]
        low, high = x.min(axis=0), x.max(axis=0)
        x = 2 * (x - low) / (high - low) - 1
    x = x[np.random.default_rng(5).permutation(x.shape[0])[:1000]]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "kind", "targets"), but_for_dear(LETTER, "a2p2", "sigma=1", "arc-cosine 0")
)
def test_designs_on_letter_halve_the_errors_of_the_prototype(kernel, kind, targets):
    rows = letter_rows(kind)
    distances = np.sqrt(np.maximum(2 - 2 * rows @ rows.T, 0))
    np.fill_diagonal(distances, 0)
    exact = kernel(distances)
    z = distances.ravel()  # the diagonal counts in the norm
    for n, target in targets.items():
        with time_limit(None):
            d = design(
                kernel,
                16,
                n_components=2 * n + 1,
                domain=(0, float(z.max())),
                distances=z,
                angular_means=lambda count: designed_angular_means(count, 16),
            )
        errors = [
            np.linalg.norm(features(d, np.random.default_rng(seed), rows, designed) - exact)
            for seed in range(5)
        ]
        assert np.mean(errors) / np.linalg.norm(exact) <= target


@pytest.mark.parametrize(
    ("formula", "dim", "high"),
    [("exp(-z)", 3, 2.0), pytest.param("max(1-z/2,0)", 1, 3.0, marks=pytest.mark.slow)],
)
def test_the_least_mass_of_a_positive_definite_kink_is_settled(formula, dim, high):
    kernel = radial(formula)
    made = design(kernel, dim, domain=(0, high), tol=1e-2, objective="mass")
    assert made.dual.least_mass == pytest.approx(0.99, abs=1e-6)
    assert made.mass < 0.995
    z = np.linspace(0, high, 5001)
    assert np.abs(made(z) - kernel(z)).max() <= 1e-2


@pytest.mark.parametrize("objective", ["mass", "variance"])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_tolerance_below_the_rounding_of_sums_is_refused_at_once(objective, size):
    kernel = size * radial("exp(-z**2/2)")
    # Without this refusal the solver finds no end, and is refused for its time in other words.
    with pytest.raises(AccuracyError, match=r"beyond double precision.*Ask for tol >= ") as refused:
        design(kernel, 3, domain=(0, 2), tol=1e-12 * size, objective=objective)
    advised = float(str(refused.value).split("Ask for tol >= ")[1].split()[0].rstrip("."))
    assert 3.6e-12 * size <= advised <= 4.2e-12 * size


def test_ten_digits_are_served():
    made = design(radial("exp(-z**2/2)"), 3, domain=(0, 2), tol=1e-10, objective="mass")
    assert made.sup_error.mid + made.sup_error.rad <= 1e-10
    assert made.mass == pytest.approx(1.0, rel=3e-3)
