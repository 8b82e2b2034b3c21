"""Frequencies: every coupling is unbiased, and the test that says so catches known mistakes.

The pooled score of a scheme is the mean over draws of the estimate minus the kernel, in standard
errors.  Six of them neither flake nor let through what other libraries got wrong.
"""

import numpy as np
import pytest
from laws import gaussian_mixture, matern_law, table_of
from scipy import linalg, stats

from rf.directions import iid, orthogonal
from rf.frequencies import COUPLINGS, RADII, allocate, apportion, draw_frequencies
from rf.variance import VarianceModel
from spectra.errors import ParameterError

DIMS = (1, 2, 3, 7, 16, 64)
UNBIASED = [c for c in COUPLINGS if c != "hadamard"]
DISTANCES = np.array([0.3, 1.0, 2.0])


def differences(dim, rng):
    """One difference of rows for each distance, in a random direction."""
    return DISTANCES[:, None] * iid(len(DISTANCES), dim, rng)


def pooled_scores(estimates, expected, deviation=None):
    """Mean error in standard errors: the exact ones where they are given, else the sample's."""
    spread = estimates.std(axis=0, ddof=1) if deviation is None else deviation
    return (estimates.mean(axis=0) - expected) / (spread / np.sqrt(len(estimates)) + 1e-12)


def scheme_scores(table, kernel, counts, coupling, radii, *, draws, seed):
    rng = np.random.default_rng(seed)
    D = differences(table.dim, rng)
    estimates = np.array(
        [
            draw_frequencies(table, counts, coupling=coupling, radii=radii, rng=rng).estimate(D)
            for _ in range(draws)
        ]
    )
    deviation = None
    if coupling != "qmc" and radii == "iid":
        variance, _ = VarianceModel(table, DISTANCES).variance(counts, coupling=coupling)
        deviation = np.sqrt(variance)
    return pooled_scores(estimates, kernel(DISTANCES), deviation)


def signed_gaussians(z):
    return 1.5 * np.exp(-(z**2) / 2) - 0.5 * np.exp(-(z**2) / 8)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(
    ("coupling", "radii"),
    [*((c, "iid") for c in UNBIASED), *((c, "stratified") for c in UNBIASED if c != "qmc")],
)
def test_every_coupling_is_unbiased_for_signed_parts(dim, coupling, radii):
    table = gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])
    counts = (dim + 3, 5)
    draws = 500 if dim <= 16 else 300
    scores = scheme_scores(table, signed_gaussians, counts, coupling, radii, draws=draws, seed=dim)
    assert np.abs(scores).max() < 6.0


@pytest.mark.parametrize("coupling", ["iid", "orthogonal", "comonotone"])
def test_heavy_tails_are_unbiased_too(coupling):
    table = table_of(3, [(1.0, matern_law(3, 0.5))])
    scores = scheme_scores(
        table, lambda z: np.exp(-z), (7,), coupling, "systematic", draws=1000, seed=0
    )
    assert np.abs(scores).max() < 6.0


class TestKnownMistakes:
    """What other libraries got wrong, put in on purpose: the pooled score must find each."""

    draws = 1500

    def scores(self, dim, frequencies, kernel):
        rng = np.random.default_rng(0)
        D = differences(dim, rng)
        estimates = np.array(
            [np.cos(D @ frequencies(rng).T).mean(axis=1) for _ in range(self.draws)]
        )
        return np.abs(pooled_scores(estimates, kernel(DISTANCES))).max()

    @staticmethod
    def matern_32(z):
        return (1.0 + np.sqrt(3.0) * z) * np.exp(-np.sqrt(3.0) * z)

    def test_matern_as_it_should_be(self):
        def right(rng):
            scale = np.sqrt(3.0 / rng.chisquare(3.0, size=(16, 1)))
            return scale * rng.standard_normal((16, 16))

        assert self.scores(16, right, self.matern_32) < 6.0

    def test_matern_drawn_for_each_coordinate(self):
        def wrong(rng):
            return rng.standard_t(3.0, size=(16, 16))

        assert self.scores(16, wrong, self.matern_32) > 6.0

    def test_matern_with_nu_for_two_nu_degrees_of_freedom(self):
        def wrong(rng):
            scale = np.sqrt(1.5 / rng.chisquare(1.5, size=(16, 1)))
            return scale * rng.standard_normal((16, 16))

        assert self.scores(16, wrong, self.matern_32) > 6.0

    @staticmethod
    def gaussian(z):
        return np.exp(-(z**2) / 2)

    def test_orthogonal_blocks_scaled_by_rows_are_right_and_by_columns_wrong(self):
        def by_rows(rng):
            return stats.chi.rvs(3, size=(3, 1), random_state=rng) * orthogonal(3, 3, rng)

        def by_columns(rng):
            return orthogonal(3, 3, rng) * stats.chi.rvs(3, size=(1, 3), random_state=rng)

        assert self.scores(3, by_rows, self.gaussian) < 6.0
        assert self.scores(3, by_columns, self.gaussian) > 6.0

    def test_radii_without_the_power_of_w(self):
        def wrong(rng):
            return np.abs(rng.standard_normal((16, 1))) * iid(16, 16, rng)

        assert self.scores(16, wrong, self.gaussian) > 6.0

    def test_fixed_norms(self):
        def wrong(rng):
            return np.sqrt(16.0) * orthogonal(16, 16, rng)

        assert self.scores(16, wrong, self.gaussian) > 6.0

    def test_fastfood_with_its_scaling_in_the_wrong_place(self):
        """S H G P H B has rows of chi norms in uniform directions; H S G P H B has not."""
        dim = 4
        H = linalg.hadamard(dim) / np.sqrt(dim)

        def fastfood(rng, *, misplaced):
            signs, normal = rng.choice([-1.0, 1.0], size=dim), rng.standard_normal(dim)
            inner = np.sqrt(dim) * normal[:, None] * (H * signs)[rng.permutation(dim)]
            chi = np.sqrt(rng.chisquare(dim, size=(dim, 1))) / np.linalg.norm(normal)
            return H @ (chi * inner) if misplaced else chi * (H @ inner)

        right = self.scores(dim, lambda rng: fastfood(rng, misplaced=False), self.gaussian)
        wrong = self.scores(dim, lambda rng: fastfood(rng, misplaced=True), self.gaussian)
        assert right < 6.0 < wrong

    def test_the_absolute_value_of_a_negative_part(self):
        table = gaussian_mixture(3, [(1.5, 1.0), (-0.5, 2.0)])
        rng = np.random.default_rng(0)
        D = differences(3, rng)
        draws = [draw_frequencies(table, (8, 8), rng=rng) for _ in range(300)]
        wrong = np.array([np.cos(D @ f.frequencies.T) @ f.weights for f in draws])
        assert np.abs(pooled_scores(wrong, signed_gaussians(DISTANCES))).max() > 6.0


class TestDraws:
    def table(self, dim=3):
        return gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])

    def test_weights_sum_to_the_mass_and_signed_weights_to_k_of_zero(self):
        draw = draw_frequencies(self.table(), (5, 2), rng=0)
        assert draw.weights.sum() == pytest.approx(2.0)
        assert draw.estimate(np.zeros((1, 3)))[0] == pytest.approx(1.0)
        assert draw.counts == (5, 2)
        assert len(draw) == 7

    def test_one_part_alone_has_the_law_of_its_radii(self):
        table = gaussian_mixture(3, [(1.0, 1.0)])
        for radii in RADII:
            w = draw_frequencies(table, (4000,), coupling="orthogonal", radii=radii, rng=0)
            radius = np.linalg.norm(w.frequencies, axis=1)
            # The Kolmogorov distance of 4000 iid radii exceeds 0.045 with probability 1e-7.
            assert stats.kstest(radius, stats.chi(3).cdf).statistic < 0.045

    def test_stratified_radii_have_one_in_each_layer(self):
        for radii in ("stratified", "systematic"):
            w = draw_frequencies(self.table(), (50, 20), radii=radii, rng=0)
            u = stats.chi(3).cdf(np.linalg.norm(w.frequencies[:50], axis=1))
            assert sorted((u * 50).astype(int).tolist()) == list(range(50))
        offset = (u * 50) % 1.0
        np.testing.assert_allclose(offset, offset[0], atol=1e-8)

    def test_shared_directions_are_shared_and_radii_are_not(self):
        w = draw_frequencies(self.table(), (6, 4), coupling="shared", rng=0).frequencies
        cosine = np.sum(w[:4] * w[6:], axis=1)
        norms = np.linalg.norm(w, axis=1)
        np.testing.assert_allclose(cosine, norms[:4] * norms[6:])
        assert np.ptp(norms[:4] / norms[6:]) > 0.1

    @pytest.mark.parametrize("radii", ["iid", "stratified", "systematic"])
    def test_comonotone_radii_are_functions_of_one_another(self, radii):
        w = draw_frequencies(
            self.table(), (6, 6), coupling="comonotone", radii=radii, rng=0
        ).frequencies
        # chi_3 / 2 against chi_3: at the same u the second radius is half of the first.
        np.testing.assert_allclose(w[6:], 0.5 * w[:6], rtol=1e-9)

    def test_comonotone_radii_of_unequal_numbers_keep_the_order(self):
        w = draw_frequencies(self.table(), (9, 4), coupling="comonotone", rng=0).frequencies
        norms = np.linalg.norm(w, axis=1)
        assert np.argsort(norms[:4]).tolist() == np.argsort(norms[9:]).tolist()

    def test_the_joint_coupling_is_one_matrix(self):
        table = gaussian_mixture(16, [(1.0, 1.0), (-0.5, 2.0)])
        squares = []
        rng = np.random.default_rng(0)
        for _ in range(60):
            w = draw_frequencies(table, (16, 16), coupling="haar", rng=rng).frequencies
            unit = w / np.linalg.norm(w, axis=1, keepdims=True)
            squares.append(np.mean((unit[:16] @ unit[16:].T) ** 2))
        assert abs(np.mean(squares) - 0.034073) < 6.0 * np.std(squares) / np.sqrt(60)

    def test_arrays_are_read_only_and_a_seed_repeats_them(self):
        one, two = (draw_frequencies(self.table(), (3, 3), rng=7) for _ in range(2))
        np.testing.assert_array_equal(one.frequencies, two.frequencies)
        with pytest.raises(ValueError, match="read-only"):
            one.frequencies[0, 0] = 0.0

    def test_unknown_names_list_the_known_ones(self):
        with pytest.raises(ParameterError, match="comonotone"):
            draw_frequencies(self.table(), (3, 3), coupling="nonsense")
        with pytest.raises(ParameterError, match="systematic"):
            draw_frequencies(self.table(), (3, 3), radii="nonsense")
        with pytest.raises(ParameterError, match="optimal"):
            allocate(self.table(), 8, allocation="nonsense")

    def test_counts_must_fit_the_parts(self):
        for counts in ((3,), (3, 0), (1, 1, 1)):
            with pytest.raises(ParameterError, match="counts"):
                draw_frequencies(self.table(), counts)

    def test_systematic_radii_mean_nothing_to_sobol(self):
        with pytest.raises(ParameterError, match="systematic"):
            draw_frequencies(self.table(), (3, 3), coupling="qmc", radii="systematic")


class TestAllocation:
    def test_apportionment_is_the_integer_optimum(self):
        rng = np.random.default_rng(0)
        for _ in range(30):
            weights = rng.exponential(size=3)
            n = int(rng.integers(3, 15))
            best = min(
                ((i, j, n - i - j) for i in range(1, n - 1) for j in range(1, n - i)),
                key=lambda c: np.sum(weights**2 / np.array(c)),
            )
            assert apportion(weights, n) == best

    def test_equal_and_mass(self):
        table = gaussian_mixture(3, [(3.0, 1.0), (-1.0, 2.0)])
        assert allocate(table, 8, allocation="equal") == (4, 4)
        assert allocate(table, 8, allocation="mass") == (6, 2)
        assert sum(allocate(table, 9, allocation="equal")) == 9

    def test_optimal_needs_distances_and_uses_them(self):
        table = gaussian_mixture(16, [(1.0, 1.0), (-1.0, 10.0)])
        with pytest.raises(ParameterError, match="distances"):
            allocate(table, 64, allocation="optimal")
        # At short distances the broad Gaussian hardly varies: most frequencies go to the narrow.
        narrow, broad = allocate(table, 64, allocation="optimal", distances=np.ones(1))
        assert narrow + broad == 64
        assert narrow > 55

    def test_every_part_needs_a_frequency(self):
        table = gaussian_mixture(3, [(1.0, 1.0), (-0.5, 2.0), (0.1, 3.0)])
        with pytest.raises(ParameterError, match="n_components >= 6"):
            allocate(table, 2)
