"""What a coupling says of its pairs is what it draws, and what Kerdock's lines integrate."""

from itertools import islice

import numpy as np
import pytest

from rf.sampling.coupling import RADII, pairs_across, pairs_within
from rf.sampling.designed_directions import angular_means as means_of_a_set
from rf.sampling.designed_directions import kerdock_bases, kerdock_lines
from rf.sampling.frequencies import COUPLINGS
from rf.variance.pairs import cosine_means
from rf.variance.variance import VarianceModel
from spectra.base.harmonics import gegenbauer_sequence
from tests.oracles.laws import gaussian_mixture

DEGREE = 6


def stated_sums(name, counts, dim):
    """Sums of E P_n(c), n = 2, 4, 6, over ordered pairs, by the parts of the two frequencies."""
    coupling, total = COUPLINGS[name], sum(counts)
    pairs = {(p, p): pairs_within(coupling, n, dim, total) for p, n in enumerate(counts)}
    pairs[0, 1] = pairs_across(coupling, *counts, dim, total)
    return {
        pq: sum(x.count * cosine_means(x.cosine, dim, DEGREE)[0] for x in found)
        for pq, found in pairs.items()
    }


@pytest.mark.parametrize(
    ("name", "dim"), [(name, (2, 3, 4, 16)[i % 4]) for i, name in enumerate(COUPLINGS)]
)
def test_the_pairs_that_are_stated_are_those_that_are_drawn(name, dim):
    """E P_n(c) over the pairs of one draw, within each part and of both; independent ones add 0."""
    counts, draws, rng = (2 * dim + 3, dim + 1), 400, np.random.default_rng(dim)
    drawn = COUPLINGS[name].draw(counts, dim, rng, radii=RADII["iid"], draws=draws)
    sums = stated_sums(name, counts, dim)
    for p, q in ((0, 0), (1, 1), (0, 1)):
        cosines = np.clip(drawn[p][1] @ drawn[q][1].swapaxes(1, 2), -1.0, 1.0)
        if p == q:
            each = np.arange(counts[p])
            cosines[:, each, each] = np.nan
        values = np.array(list(islice(gegenbauer_sequence(dim, cosines), 2, DEGREE + 1, 2)))
        found = np.nansum(values, axis=(2, 3))
        deviation = found.std(axis=1) / np.sqrt(draws)
        lack = np.abs(found.mean(axis=1) - sums[p, q])
        assert np.all(lack <= 6.0 * deviation + 1e-9 * cosines[0].size)


@pytest.mark.parametrize("dim", [4, 16])
def test_kerdock_lines_meet_at_two_angles_and_integrate_degrees_two_and_four_exactly(dim):
    lines = kerdock_lines(dim, kerdock_bases(dim))
    n = dim * (dim // 2 + 1)
    assert lines.shape == (n, dim)
    cosines = np.abs(lines @ lines.T)
    same = np.arange(n)[:, None] // dim == np.arange(n) // dim
    np.testing.assert_allclose(cosines[same], np.eye(n)[same], atol=1e-14)
    np.testing.assert_allclose(cosines[~same], dim**-0.5, atol=1e-14)
    means = means_of_a_set(lines, 6)
    np.testing.assert_allclose(means[1:3], 0.0, atol=1e-13)
    assert means[3] > 1e-6
    assert np.sum(cosines**4) == pytest.approx(3 * n**2 / (dim * (dim + 2)), rel=1e-12)


@pytest.mark.parametrize("dim", [1, 12])
def test_where_there_is_one_basis_kerdock_is_orthogonal(dim):
    assert kerdock_bases(dim) == 1
    table = gaussian_mixture(dim, [(1.0, 1.0)])
    model = VarianceModel(table, np.array([0.5, 1.5]))
    one, other = (model.variance((2 * dim + 1,), coupling=c)[0] for c in ("kerdock", "orthogonal"))
    np.testing.assert_array_equal(one, other)
