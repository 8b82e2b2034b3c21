r"""The law q dominates the measure of the truncated l1 distance in d = 3: a proof by a covering.

With a >= b >= c >= 0 and phi(a, b) = [a^2, b^2] cos(sqrt x) = -sinc((a + b)/2) sinc((a - b)/2)/2,

    pi^3 mu = (phi(a, b) - phi(b, c))/(a^2 - c^2) = f''(x)/2 at an x in [c^2, a^2], f = cos(sqrt x),

so that pi^3 |mu| is at most each of

    F1 = 2/((a^2 - b^2)(b^2 - c^2)),    F3 = min(1/24, sqrt(1 + 1/c^2)/(8 c^2)),
    F2 = (D((a + b)/2) D((a - b)/2) + D((b + c)/2) D((b - c)/2))/(2 (a^2 - c^2)), D = min(1, 1/x),

and F1 = F2 <= F3 where a - b and b - c are at least 2 and a is at least 6.  Up to a = 32 mu is
compared with its values at the corners of cubes as well, by its second derivatives; beyond 1024 F1
falls along rays like the fourth power, and q no faster, down to the walls a - b = 2 and b - c = 2
of three tubes, in which bounds of one variable do.
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

COMMON, OFFSET = _PROPOSALS[3]
# Doubles err by far less than this, and no bound is as near to c.
C, ROUNDING = dominance(3), 1e-9
NEAR, FAR = 32.0, 1024.0
CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


def t(x):
    return _student(x, *COMMON)


def u(x):
    return _student(x, *OFFSET)


def damping(x):
    """A bound of |sinc| on [x, oo)."""
    return 1.0 / np.maximum(x, 1.0)


def largest(low, high):
    """A bound of |mu| on boxes, whose F1 to F3 fall in all differences and in c."""
    (a, b, c), (_, last_b, last_c) = low, high
    ab, bc = (np.maximum(x**2 - y**2, 0.0) for x, y in ((a, last_b), (b, last_c)))
    ac = np.maximum(a**2 - last_c**2, 0.0)
    first = damping(0.5 * (a + b)) * damping(0.5 * np.maximum(a - last_b, 0.0))
    second = damping(0.5 * (b + c)) * damping(0.5 * np.maximum(b - last_c, 0.0))
    with np.errstate(divide="ignore"):
        third = np.minimum(1.0 / 24.0, np.sqrt(1.0 + c**-2.0) / (8.0 * c**2))
        return np.min([2.0 / (ab * bc), 0.5 * (first + second) / ac, third], axis=0) / np.pi**3


def least(low, high):
    """A bound of q on boxes from below: its laws fall."""
    (_, b, c), (last_a, last_b, last_c) = low, high
    ab, bc, ac = (
        0.5 * (u(x - y) + u(x + z))
        for x, y, z in ((last_a, b, last_b), (last_b, c, last_c), (last_a, c, last_c))
    )
    return (t(last_a) * ab * ac + t(last_b) * ab * bc + t(last_c) * ac * bc) / 3.0


def ordered(centres, half, start):
    """Boxes that hold a point with a >= b >= c and a >= start, and their ends within that order."""
    a, b, c = centres.T
    kept = (a + half > start) & (b - half < a + half) & (c - half < b + half)
    centres = centres[kept]
    low, high = np.maximum(centres.T - half, 0.0), centres.T + half
    low = np.maximum.accumulate(low[::-1])[::-1]
    high = np.minimum.accumulate(high)
    return centres, low, high


def quartered(centres, half):
    return (centres[:, None] + 0.5 * half * CORNERS).reshape(-1, 3)


def grid(end, half):
    axis = np.arange(half, end, 2.0 * half)
    return np.array(np.meshgrid(axis, axis, axis)).reshape(3, -1).T


# --- up to 32: values at corners and second derivatives -------------------------------------------

# The second derivative of mu in one coordinate is at most the mean of x_1^2 over the octahedron,
# (8/360) (2 pi)^-3.
BEND = 8.0 / 360.0 / (2.0 * np.pi) ** 3


def bends(tail, width):
    """Bounds of |f'|/f and of f''/f of f = (1 + (x/width)^2)^-p."""
    p = 0.5 * (tail + 1.0)
    # With y = (x/width)^2 it is ((4p^2 + 2p) y - 2p)/(1 + y)^2, largest at y = 1 + 4p/(4p^2 + 2p).
    y = 1.0 + 4.0 * p / (4.0 * p**2 + 2.0 * p)
    return p / width, ((4.0 * p**2 + 2.0 * p) * y - 2.0 * p) / (1.0 + y) ** 2 / width**2


SLOPE, SECOND = bends(*COMMON)
SLOPE_OFF, SECOND_OFF = bends(*OFFSET)
# Of a term of q: the sum of its logarithmic slopes in three coordinates, and of second derivatives,
# of the product of three laws in w_j and of one law in each other coordinate.
SLOPES = SLOPE + 4.0 * SLOPE_OFF
SECONDS = SECOND + 4.0 * SECOND_OFF + 2.0 * (2.0 * SLOPE * SLOPE_OFF + SLOPE_OFF**2)


def is_dominated_on_cubes(centres, half, c):
    """c q - |mu| at the corners, less what a function may fall below its interpolant."""
    points = (centres[:, None] + half * CORNERS).reshape(-1, 3)
    q = proposal_density(points).reshape(-1, 8)
    mu = np.abs(hat_density(points)).reshape(-1, 8)
    most = q.max(axis=1) * np.exp(SLOPES * half)
    below = 0.5 * half**2 * (3.0 * BEND + c * SECONDS * most)
    return ((c - ROUNDING) * q - mu).min(axis=1) >= below


def uncovered(c):
    """Cubes up to 32 on which neither shows |mu| <= c q."""
    half, centres = 1.0, grid(NEAR, 1.0)
    while len(centres) and half > 0.01:
        centres, low, high = ordered(centres, half, 0.0)
        centres = centres[~(largest(low, high) <= (c - ROUNDING) * least(low, high))]
        if half <= 0.5:
            centres = centres[~is_dominated_on_cubes(centres, half, c)]
        centres, half = quartered(centres, half), 0.5 * half
    return centres


def test_the_law_dominates_up_to_thirty_two():
    assert not len(uncovered(C))


@pytest.mark.slow
def test_no_smaller_bound_is_proved_than_is_true():
    # The largest ratio that a search found is 15.50, near (12.1, 9.5, 6.4).
    left = np.sort(uncovered(15.45), axis=1)
    assert len(left)
    assert np.all(np.abs(left - [6.4, 9.5, 12.1]) < 0.5)


def test_second_derivatives_are_bounded_as_it_is_written():
    rng = np.random.default_rng(0)
    w, step = rng.uniform(0.0, 12.0, (4000, 3)), 1e-3
    q = proposal_density(w)
    total = np.zeros(len(w))
    for j in range(3):
        e = step * np.eye(3)[j]
        bend = (hat_density(w + e) - 2.0 * hat_density(w) + hat_density(w - e)) / step**2
        assert np.all(np.abs(bend) <= BEND + 1e-9)
        total += (proposal_density(w + e) - 2.0 * q + proposal_density(w - e)) / step**2
    assert np.all(total <= SECONDS * q * np.exp(SLOPES * step))
    assert np.all(np.abs(np.log(proposal_density(w + step) / q)) <= SLOPES * step)
    at_zero = hat_density(np.array([[step, 0, 0], [0, 0, 0]]))
    assert 2.0 * (at_zero[1] - at_zero[0]) / step**2 == pytest.approx(BEND, rel=1e-3)


# --- from 32 to 1024: bounds that fall ------------------------------------------------------------


def test_the_bounds_hold_and_two_of_them_agree_away_from_the_tubes():
    rng = np.random.default_rng(1)
    w = rng.uniform(0.0, 1.0, (40_000, 3)) ** 2 * 10 ** rng.uniform(-1, 4, (40_000, 1))
    w[::2] = w[::2, :1] + rng.uniform(0.0, 6.0, (20_000, 3))
    w = np.sort(w, axis=1)[:, ::-1]
    assert np.all(
        np.abs(hat_density(w)) <= largest(w.T, w.T) * (1 + 1e-9) + 1e-13 * proposal_density(w)
    )
    assert np.allclose(least(w.T, w.T), proposal_density(w), rtol=1e-13)
    a, b, c = w[(w[:, 0] > 6) & (w[:, 0] - w[:, 1] > 2) & (w[:, 1] - w[:, 2] > 2)].T
    first = 2.0 / ((a**2 - b**2) * (b**2 - c**2)) / np.pi**3
    assert np.allclose(largest(np.array([a, b, c]), np.array([a, b, c])), first, rtol=1e-9)


def is_covered_beyond(start):
    """Whether boxes show the bounds for a between start and twice as much."""
    half = start / NEAR
    centres = grid(2.0 * start, half)
    for _ in range(9):
        centres, low, high = ordered(centres, half, start)
        centres = centres[~(largest(low, high) <= (C - ROUNDING) * least(low, high))]
        if not len(centres):
            return True
        centres, half = quartered(centres, half), 0.5 * half
    return False


@pytest.mark.slow
@pytest.mark.parametrize("start", NEAR * 2.0 ** np.arange(5))
def test_the_law_dominates_from_thirty_two_on(start):
    assert is_covered_beyond(start)


def test_bounds_alone_do_not_show_it_nearer():
    w = np.array([12.0, 10.0, 8.0])
    assert largest(w, w) > C * least(w, w)


# --- beyond 1024: three tubes ---------------------------------------------------------------------


def cells(first, last):
    """The ends of intervals between the two, narrow beside both."""
    wide = np.geomspace(first, last, 4001)
    edges = np.unique(np.clip([*wide, *(last - wide + first)], first, last))
    return edges[:-1], edges[1:]


FRONT = 12.0 / np.pi**3 / u(2.0)


def test_where_the_two_largest_are_close():
    # a - b <= 2 <= x = b - c, in which pi^3 |mu| <= (1/(2b) + 2/(x (b + c)))/(x (b + c)) and
    # q >= u(2) (t(b + 2) u(x + 2) + t(b) u(x))/12.  At one x it falls in b, and so does its value
    # at b = x: b is 1022, or x beyond.
    def ratio(b, low, high):
        double = low * (2.0 * b - low)
        q = t(b + 2.0) * u(high + 2.0) + t(b) * u(high)
        return FRONT * (0.5 / b + 2.0 / double) / double / q

    low, high = cells(2.0, FAR - 2.0)
    assert np.max(ratio(FAR - 2.0, low, high)) <= C - ROUNDING
    b = np.geomspace(FAR - 2.0, 1e12, 400)
    for x in (2.0, 10.0, 1000.0):
        assert np.all(np.diff(ratio(b, x, x)) < 0.0)
    assert np.all(np.diff(ratio(b, b, b)) < 0.0)


def test_where_the_two_smallest_are_close():
    # b - c <= 2 <= x = a - b: pi^3 |mu| <= (2/(x (a + b)) + D(b - 1)/2)/(x (a + b)), and
    # q >= u(2) t(b) (u(x) + u(x + 2))/12.  D(b - 1)/t(b) is at most its largest up to b.  Where
    # b > a/3 it falls in a at one x; else along rays: a is 1024.
    def most(b):
        b = np.maximum(b, 2.0)
        return np.maximum(1.0 / t(2.0), damping(b - 1.0) / t(b))

    def ratio(a, low, high):
        double = low * (2.0 * a - low)
        share = 2.0 / double / t(a - low) + 0.5 * most(a - low)
        return FRONT * share / double / (u(high) + u(high + 2.0))

    low, high = cells(2.0, FAR)
    assert np.max(ratio(FAR, low, high)) <= C - ROUNDING
    b = np.geomspace(2.0, 1e9, 20_000)
    assert np.all(np.maximum.accumulate(damping(b - 1.0) / t(b)) <= most(b) * (1.0 + 1e-12))
    a = np.geomspace(FAR, 1e12, 400)
    for x in (2.0, 10.0, 600.0):
        assert np.all(np.diff(ratio(a, x, x)) < 0.0)
    for share in (0.67, 0.9, 1.0):
        assert np.all(np.diff(ratio(a, share * a, share * a)) < 0.0)


def test_where_all_three_are_close():
    # a - c <= 4, in which F3 falls faster than t.
    def ratio(a):
        third = np.sqrt(1.0 + (a - 4.0) ** -2.0) / (8.0 * (a - 4.0) ** 2)
        return FRONT * third / t(a) / (2.0 * u(4.0) + u(2.0))

    assert ratio(FAR) <= C - ROUNDING
    assert np.all(np.diff(ratio(np.geomspace(FAR, 1e12, 400))) < 0.0)


def test_beyond_the_tubes_the_bound_falls_along_rays():
    # s^(3/2) t(s x) and s^(5/4) u(s x) rise with s, so that s^4 q does; s^4 F1 is constant.
    s = np.geomspace(1.0, 1e4, 200)
    for x in (0.0, 0.3, 2.0, 50.0):
        assert np.all(np.diff(s**1.5 * t(s * x)) > 0.0)
        assert np.all(np.diff(s**1.25 * u(s * x)) > 0.0)
