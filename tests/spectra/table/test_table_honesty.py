"""The u-error that a table states is at least the true one, wherever the law has a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

import spectra as sp
from tests.oracles.exact_radii import EXACT
from tests.oracles.kernels.problems import PROBLEMS

# Tables of closed forms without oscillation reach the first, others the second.
FLOOR, OSCILLATING_FLOOR = 3e-14, 1e-13
QUICK = {
    ("gaussian", 16), ("matern_0.1", 16), ("cauchy", 3), ("laguerre", 64),
}  # fmt: skip
# The exact sums over half-waves are followed up to this share of a part.
FAR = 0.05


@pytest.mark.parametrize(
    ("name", "dim"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in EXACT],
)
def test_the_stated_error_of_a_table_is_at_least_the_true_one(name, dim):
    exact = EXACT[name, dim]()
    measure = sp.spectral_measure(PROBLEMS[name].kernel, dim=dim)
    table = sp.tabulate(measure)
    oscillates, in_series = exact.change is not None, measure.density.route == "series"
    assert table.u_error <= (OSCILLATING_FLOOR if oscillates or in_series else FLOOR)
    probabilities = np.concatenate(
        [np.geomspace(1e-15, 0.3, 8), 0.5 * _golden(18 if oscillates else 26)]
    )
    for part in table.parts:
        jordan = measure.positive_mass if part.sign > 0 else measure.negative_mass
        # What is sampled is the Jordan part up to the tail, whose mass may be larger.
        scale = part.mass / jordan.mid if oscillates else 1.0
        for from_above in (False, True):
            c = probabilities
            if oscillates and from_above:
                c = c[c > FAR]
            w = part.law.isf(c) if from_above else part.law.ppf(c)
            for radius, p in zip(w, c, strict=True):
                share = 1.0 - (1.0 - p) * scale if from_above else p * scale
                true = exact.miss(
                    int(part.sign), float(radius), float(share), from_above=from_above
                )
                assert true <= table.u_error, (p, from_above)
                # Far out the radius is right relative to the probability that is left; the
                # density of a sum on a ray is right to a share of its peak only.
                assert in_series or true <= 2e-7 * p + 1e-15


@pytest.mark.slow
def test_the_stated_error_holds_where_the_law_jumps_between_two_clusters():
    """V = w^2 has a Gamma law in each, and beyond weight/(1 + weight) radii jump."""
    weight, dim, narrow = 2, 64, mp.mpf(1) / 50
    kernel = sp.radial(f"exp(-z**2) + {weight}*exp(-z**2/50)")
    table = sp.tabulate(sp.spectral_measure(kernel, dim))
    (part,) = table.parts

    def cdf(w):
        v = mp.mpf(float(w)) ** 2 / 4
        below = [mp.gammainc(dim // 2, 0, v / a, regularized=True) for a in (1, narrow)]
        return (below[0] + weight * below[1]) / (1 + weight)

    jump = weight / (1 + weight)
    beside = np.geomspace(2.0**-53, 1e-6, 40)
    u = np.concatenate([jump - beside, [jump], jump + beside, _golden(30)])
    with mp.workdps(30):
        for p, w in zip(u, part.law.ppf(u), strict=True):
            assert abs(cdf(w) - mp.mpf(float(p))) <= table.u_error
        for p, w in zip(u, part.law.isf(1.0 - u), strict=True):
            assert abs(cdf(w) - 1 + mp.mpf(float(1.0 - p))) <= table.u_error
    assert table.u_error <= FLOOR


def _golden(count):
    """Multiples of the golden ratio, which meet the panels of a table at all their places."""
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    return (0.5 + golden * np.arange(count)) % 1.0
