"""Proved masses hold the truth, are narrow, and everything else is refused."""

import itertools
from fractions import Fraction

import pytest
from mpmath import mp

import spectra as sp


def proof(formula, dim):
    return sp.spectral_measure(sp.radial(formula), dim).certified()


# --- independent truth: k, the density of V = w^2 over V^(d/2-1), and the share of [0, v] --------


def gaussian(a, h):
    rate = 1 / (4 * mp.mpf(a.numerator) / a.denominator)
    return (
        f"exp(-{a}*z**2)",
        lambda v: rate**h * mp.exp(-rate * v) / mp.gamma(h),
        lambda v: mp.gammainc(h, 0, rate * v, regularized=True),
    )


def laplace(a, h):
    """A Matern kernel of order 1/2."""
    half, square = mp.mpf(1) / 2, mp.mpf(a.numerator) ** 2 / a.denominator**2
    return (
        f"exp(-{a}*z)",
        lambda v: mp.sqrt(square) * (square + v) ** (-half - h) / mp.beta(h, half),
        lambda v: mp.betainc(h, half, 0, v / (square + v), regularized=True),
    )


def poisson(b, h):
    """The rational quadratic kernel with alpha = (d + 1)/2: b w has the law Gamma(d)."""
    length, d = mp.mpf(b.numerator) / b.denominator, int(2 * h)
    return (
        f"(1 + z**2/({b})**2)**(-{Fraction(d + 1, 2)})".replace("(-", "(-(", 1) + ")",
        lambda v: length**d * mp.exp(-length * mp.sqrt(v)) / (2 * mp.gamma(d)),
        lambda v: mp.gammainc(d, 0, length * mp.sqrt(v), regularized=True),
    )


def masses(terms):
    """M+ and M-, from sign changes on a grid of log V and incomplete Gamma and Beta functions."""

    def value(t):
        values = [c * g(mp.exp(t)) for c, (_, g, _) in terms]
        return mp.fsum(values) / mp.fsum(values, absolute=True)

    grid = [mp.mpf(i) / 4 for i in range(-60, 50)]
    ends = [
        mp.exp(mp.findroot(value, (a, b), solver="anderson"))
        for a, b in itertools.pairwise(grid)
        if value(a) * value(b) < 0
    ]
    below = [mp.fsum(c * share(v) for c, (*_, share) in terms) for v in ends]
    below = [0, *below, sum(c for c, _ in terms)]
    parts = [b - a for a, b in itertools.pairwise(below)]
    return sum(p for p in parts if p > 0), -sum(p for p in parts if p < 0), len(ends)


def holds(ball, truth, width=4e-16):
    """Whether the enclosure is proved and narrow, and holds the truth and no mutated one."""
    inside = [
        abs(truth + by - mp.mpf(ball.mid)) <= mp.mpf(ball.rad) + mp.mpf(10) ** -24
        for by in (0, 2 * width, -2 * width)
    ]
    return ball.rigorous and ball.rad <= width and inside == [True, False, False]


CASES = {
    "Gaussians": [(1, gaussian, Fraction(1, 2)), (-1, gaussian, Fraction(1, 200))],
    "three Gaussians": [
        (1, gaussian, Fraction(1, 2)), (-2, gaussian, Fraction(1)), (1, gaussian, Fraction(3)),
    ],
    "Gaussian and Matern": [(1, gaussian, Fraction(1, 2)), (-1, laplace, Fraction(1))],
    "Maternen": [(2, laplace, Fraction(1)), (-1, laplace, Fraction(3))],
    "Gaussian and rational quadratic": [(1, gaussian, Fraction(1, 2)), (-1, poisson, Fraction(2))],
    "Matern and rational quadratic": [(1, laplace, Fraction(1)), (-2, poisson, Fraction(1))],
}  # fmt: skip
GRID = [(name, d) for name in CASES for d in (1, 3, 16, 64)]


@pytest.mark.parametrize(("name", "dim"), GRID)
def test_masses_hold_the_truth(name, dim):
    with mp.workdps(40):
        terms = [(c, kind(number, mp.mpf(dim) / 2)) for c, kind, number in CASES[name]]
        formula = " + ".join(f"({c})*{text}" for c, (text, *_) in terms)
        up, down, changes = masses(terms)
        found = proof(formula, dim)
        assert changes >= 1
        assert holds(found.positive_mass, up, 4e-16 * len(terms))
        assert holds(found.negative_mass, down, 4e-16 * len(terms))
        assert holds(found.mass, up + down, 8e-16 * len(terms))
