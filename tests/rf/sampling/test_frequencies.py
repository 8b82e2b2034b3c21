"""Frequencies: what one draw is, and how many each part gets."""

import numpy as np
import pytest
from scipy import stats

from rf.feature_maps.feature_map import FourierMap, Frequencies
from rf.sampling.frequencies import draw_frequencies, draw_repeatedly
from rf.variance.allocation import allocate, apportion
from spectra.errors import ParameterError
from tests.oracles.laws import gaussian_mixture

RNG = np.random.default_rng(0)


class TestDraws:
    def table(self, dim=3):
        return gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])

    def test_stratified_radii_have_one_in_each_layer(self):
        w = draw_frequencies(self.table(), (50, 20), radii="stratified", random_state=0)
        u = stats.chi(3).cdf(np.linalg.norm(w.frequencies[:50], axis=1))
        assert sorted((u * 50).astype(int).tolist()) == list(range(50))

    def test_draws_at_once_are_draws_one_by_one(self):
        for coupling in ("iid", "orthogonal", "shared", "haar"):
            options = {"coupling": coupling, "radii": "iid", "random_state": 3}
            single = draw_frequencies(self.table(), (5, 4), **options)
            (one,) = draw_repeatedly(self.table(), (5, 4), 1, **options)
            np.testing.assert_array_equal(single.frequencies, one.frequencies)
            two, three = draw_repeatedly(self.table(), (5, 4), 2, **options)
            assert two.counts == three.counts == (5, 4)
            assert np.abs(two.frequencies - three.frequencies).max() > 0.1

    @pytest.mark.parametrize("last", [0.0, 1.0])
    def test_other_weights_scale_the_columns_as_a_new_map_of_them_does(self, last):
        # The frequency of least weight has one column of random phase, or none if it is 0.
        w, zeros = np.array([[2.0], [3.0], [last]]), np.zeros(3)
        maps = [
            FourierMap.of(Frequencies(w, m, zeros, zeros.astype(int)), 5, RNG, signed=True)
            for m in (np.array([0.5, 0.4, 0.1]), np.array([0.6, 0.4, 0.2]))
        ]
        again = maps[0].reweighted(maps[1].frequencies.weights)
        np.testing.assert_array_equal(again.scale, maps[1].scale)
        assert again.extra_variance == maps[1].extra_variance

    def test_invalid_arguments_are_refused(self):
        for options, said in (
            ({"coupling": "nonsense"}, "orthogonal"),
            ({"radii": "nonsense"}, "stratified"),
        ):
            with pytest.raises(ParameterError, match=said):
                draw_frequencies(self.table(), (3, 3), **options)
        with pytest.raises(ParameterError, match="optimal"):
            allocate(self.table(), 8, allocation="nonsense")
        with pytest.raises(ParameterError, match="draws = 0"):
            draw_repeatedly(self.table(), (3, 3), 0)
        for counts in ((3,), (3, 0), (1, 1, 1)):
            with pytest.raises(ParameterError, match="counts"):
                draw_frequencies(self.table(), counts)


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
        with pytest.raises(ParameterError, match="n_components >= 4"):
            allocate(table, 1)

    def test_optimal_needs_distances_and_uses_them(self):
        table = gaussian_mixture(16, [(1.0, 1.0), (-1.0, 10.0)])
        with pytest.raises(ParameterError, match="distances"):
            allocate(table, 64, allocation="optimal")
        # At short distances the broad Gaussian hardly varies: most frequencies go to the narrow.
        narrow, broad = allocate(table, 64, allocation="optimal", distances=np.ones(1))
        assert narrow + broad == 64
        assert narrow > 55
