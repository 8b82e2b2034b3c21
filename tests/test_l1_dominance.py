"""The law q dominates the measure of the truncated l1 distance in d = 2: a proof by a covering.

With a >= b >= 0, s = (a + b)/2 and h = (a - b)/2,

    mu = (sinc s cos h - cos s sinc h)/(2 pi^2 a b),    |mu| <= (|sinc h| + |sinc b|)/(2 pi^2 s a),

and q = (t(a) + t(b))/2 (u(a - b) + u(a + b))/2, t and u proportional to (1 + (x/width)^2)^(-3/4).
"""

import numpy as np
import pytest

from spectra.table.l1.truncated import (
    _PROPOSALS,
    _student,
    dominance,
    hat_density,
    proposal_density,
)

COMMON, OFFSET = _PROPOSALS[2]
# The slope of mu in one coordinate is the mean of |x_1| over the pyramid, 1/6, over (2 pi)^2.
SLOPE = 1.0 / 6.0 / (2.0 * np.pi) ** 2
# That of log t is at most 3/(4 width).
LOG_SLOPE = 0.75 * (1.0 / COMMON[1] + 1.0 / OFFSET[1])
END = 60.0
# Doubles err by far less than this, and no bound is as near to c.
ROUNDING = 1e-9


def t(x):
    return _student(x, *COMMON)


def u(x):
    return _student(x, *OFFSET)


def damping(x):
    """A bound of |sinc| on [x, oo)."""
    return 1.0 / np.maximum(x, 1.0)


def ratio_on_boxes(a, b, half):
    """A bound of |mu|/q on squares about (a, b), by the slopes and by the falling bound."""
    w = np.stack([a, b], axis=-1)
    near = (np.abs(hat_density(w)) + 2.0 * half * SLOPE) / proposal_density(w)
    near *= np.exp(2.0 * half * LOG_SLOPE)
    low_a, low_b, high_a, high_b = (
        np.maximum(v, 0.0) for v in (a - half, b - half, a + half, b + half)
    )
    s, h = 0.5 * (low_a + low_b), np.maximum(0.5 * (low_a - high_b), 0.0)
    with np.errstate(divide="ignore"):
        bound = (damping(h) + damping(low_b)) / (2.0 * np.pi**2 * s * low_a)
    q = 0.25 * (t(high_a) + t(high_b)) * (u(high_a - low_b) + u(high_a + high_b))
    return np.minimum(near, bound / q)


def test_slopes_are_bounded_as_it_is_written():
    rng = np.random.default_rng(0)
    w = rng.uniform(0.0, 12.0, (4000, 2))
    for j in range(2):
        step = 1e-4 * np.eye(2)[j]
        assert np.all(np.abs(hat_density(w + step) - hat_density(w)) <= 1e-4 * SLOPE + 1e-15)
    change = np.abs(np.log(proposal_density(w + 1e-3) / proposal_density(w)))
    assert np.all(change <= 2e-3 * LOG_SLOPE)


def test_the_bound_of_waves_holds():
    rng = np.random.default_rng(1)
    w = np.sort(rng.uniform(0.0, 1.0, (20_000, 2)) * 10 ** rng.uniform(-1, 4, (20_000, 1)))
    b, a = w.T
    s, h = 0.5 * (a + b), 0.5 * (a - b)
    bound = (np.abs(np.sinc(h / np.pi)) + np.abs(np.sinc(b / np.pi))) / (2 * np.pi**2 * s * a)
    assert np.all(np.abs(hat_density(w)) <= bound + 1e-13 * proposal_density(w))
    assert np.all(np.abs(np.sinc(w / np.pi)) <= damping(w) * (1 + 1e-15))


def is_covered(c):
    """Whether squares of side 2^-9 or more show |mu| <= c q up to the end."""
    half = 0.5
    centres = np.arange(half, END, 2 * half)
    a, b = (v.ravel() for v in np.meshgrid(centres, centres))
    a, b = a[b <= a], b[b <= a]
    while a.size and half > 1e-3:
        left = ~(ratio_on_boxes(a, b, half) <= c - ROUNDING)
        half *= 0.5
        a, b = (
            np.concatenate([v[left] + sign * half for sign in signs])
            for v, signs in ((a, (-1, -1, 1, 1)), (b, (-1, 1, -1, 1)))
        )
        kept = b <= a + 2.0 * half
        a, b = a[kept], b[kept]
    return not a.size


def test_the_law_dominates_up_to_sixty():
    assert is_covered(dominance(2))
    # The largest ratio is 3.7085, at (3.83, 1.53).
    assert not is_covered(3.7)


def test_the_law_dominates_from_sixty_on():
    # In r = b/a: a^3 times the bound does not depend on a, and a^3 q rises with a.
    c, a = dominance(2), END
    edges = np.linspace(0.02, 0.98, 400)
    low, high = edges[:-1], edges[1:]
    bound = (2.0 / (1.0 - high) + 1.0 / low) / (np.pi**2 * (1.0 + low))
    q = 0.25 * (t(a) + t(high * a)) * (u((1.0 - low) * a) + u((1.0 + high) * a))
    assert np.all(bound <= (c - ROUNDING) * a**3 * q)
    # b < r a: damping(b)/t(b) is largest at 1 or at the end, and rises with a no faster than the
    # other factors fall.
    r = low[0]
    ratio = max(damping(x) / t(x) for x in (1.0, r * a))
    along_axis = ratio * 4.0 / (2.0 * np.pi**2 * 0.5 * a**2 * 2.0 * u((1.0 + r) * a))
    other = 2.0 / (1.0 - r) / np.pi**2 / (a**3 * 0.25 * t(r * a) * 2.0 * u((1.0 + r) * a))
    assert along_axis + other <= c - ROUNDING
    # b > r a, where h < (1 - r) a/2.
    r = high[-1]
    h = 0.5 * (1.0 - r) * a
    ratio = max(damping(x) / u(2.0 * x) for x in (1.0, h))
    along_diagonal = ratio * 4.0 / (2.0 * np.pi**2 * 0.5 * (1.0 + r) * a**2 * 2.0 * t(a))
    other = 1.0 / r / (np.pi**2 * (1.0 + r)) / (a**3 * 0.25 * 2.0 * t(a) * u(2.0 * h))
    assert along_diagonal + other <= c - ROUNDING


@pytest.mark.parametrize("width", [COMMON[1], 0.5 * OFFSET[1]])
def test_the_ratio_beside_an_axis_is_largest_at_one_or_at_the_end(width):
    # min(1, 1/x) (1 + (x/width)^2)^(3/4) rises up to 1, and from sqrt(2) width on.
    x = np.geomspace(1e-3, 1e6, 20_000)
    rises = np.diff(damping(x) * (1.0 + (x / width) ** 2) ** 0.75) > 0.0
    between = (x[1:] > 1.0) & (x[:-1] < np.sqrt(2.0) * width)
    assert np.all(rises[~between])
