"""Proved masses hold the truth, are narrow, and everything else is refused."""

from fractions import Fraction
from itertools import pairwise

import flint
import pytest
from mpmath import mp

import spectra as sp
from spectra.errors import NoRouteError
from spectra.measure import certified, truncate


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


def masses(terms):
    """M+ and M-, from sign changes on a grid of log V and incomplete Gamma and Beta functions."""

    def value(t):
        values = [c * g(mp.exp(t)) for c, (_, g, _) in terms]
        return mp.fsum(values) / mp.fsum(values, absolute=True)

    grid = [mp.mpf(i) / 4 for i in range(-60, 50)]
    ends = [
        mp.exp(mp.findroot(value, (a, b), solver="anderson"))
        for a, b in pairwise(grid)
        if value(a) * value(b) < 0
    ]
    below = [mp.fsum(c * share(v) for c, (*_, share) in terms) for v in ends]
    below = [0, *below, sum(c for c, _ in terms)]
    parts = [b - a for a, b in pairwise(below)]
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
    # In d = 3 the densities nearly cancel: more digits are needed.
    "close Gaussians": [
        (1, gaussian, Fraction(1, 2)), (-1, gaussian, 1 / (2 + Fraction(1, 10**5))),
    ],
    "three Gaussians": [
        (1, gaussian, Fraction(1, 2)), (-2, gaussian, Fraction(1)), (1, gaussian, Fraction(3)),
    ],
    "Gaussian and Matern": [(1, gaussian, Fraction(1, 2)), (-1, laplace, Fraction(1))],
    "Matern": [(1, laplace, Fraction(1)), (-1, laplace, Fraction(2))],
}  # fmt: skip


QUICK = ("Gaussians", "Gaussian and Matern")


@pytest.mark.parametrize("dim", [1, 3, 16, 64])
@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
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


# --- cancellation, ends, constants and one sign -------------------------------------------------


@pytest.mark.parametrize(("formula", "dim", "mass"), [
    ("exp(-z**2/2) - exp(-z**2/8)/8", 3, 0.875),  # the densities are equal at w = 0
    ("exp(-z) - exp(-2*z)/2", 1, 0.5),  # and here at infinity
])  # fmt: skip
def test_densities_that_cancel_at_an_end_have_one_sign(formula, dim, mass):
    found = proof(formula, dim)
    assert abs(found.positive_mass.mid - mass) <= found.positive_mass.rad <= 1e-18
    assert 0 <= found.negative_mass.mid <= found.negative_mass.rad <= 1e-18


def test_a_gaussian_times_a_polynomial():
    """In d = 3 the density of (1 - z^2) exp(-z^2/2) is chi(w) (w^2 - 2), w^2 a Gamma variable."""
    found = proof("(1 - z**2)*exp(-z**2/2)", 3)
    with mp.workdps(30):
        below = [mp.gammainc(h, 0, 1, regularized=True) for h in (mp.mpf(5) / 2, mp.mpf(3) / 2)]
        assert holds(found.negative_mass, 2 * below[1] - 3 * below[0])
        assert holds(found.positive_mass, 1 + 2 * below[1] - 3 * below[0])


def test_constants_and_waves_count_with_their_sign():
    plain, found = (proof(f"exp(-z**2/2) - exp(-z**2/8){more}", 3) for more in ("", " - 1/3"))
    by = found.negative_mass.mid - plain.negative_mass.mid - 1 / 3
    assert abs(by) <= found.negative_mass.rad + plain.negative_mass.rad + 1e-16
    assert found.positive_mass == plain.positive_mass


@pytest.mark.parametrize(("formula", "dim"), [
    ("exp(-z**2)*cos(3*z)", 1), ("exp(-z) + exp(-z**2) + sin(z)/z", 3), ("-2*exp(-z)", 64),
])  # fmt: skip
def test_closed_forms_of_one_sign_have_the_mass_of_the_origin(formula, dim):
    kernel = sp.radial(formula)
    found, total = sp.spectral_measure(kernel, dim).certified(), float(kernel(1e-300))
    parts = found.positive_mass, found.negative_mass
    own, other = parts if total > 0 else parts[::-1]
    assert abs(own.mid - abs(total)) <= 1e-15
    assert own.rigorous
    assert other.mid == other.rad == 0


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda: sp.spectral_measure(sp.radial("(1 - z**2/4)**2", support=2), 3),
    lambda: sp.spectral_measure(sp.catalogue["arc_cosine_1"], 2),
    lambda: sp.spectral_measure(sp.radial("(1 - z)**3", support=1), 2),
    lambda: sp.spectral_measure(sp.radial("exp(-z)*cos(z)"), 1),
    lambda: sp.spectral_measure(sp.radial("exp(-z**2) - 1/(1 + z**2)"), 2),
    lambda: sp.spectral_measure(sp.radial("exp(-2*sin(pi*z)**2)"), 1),
    lambda: sp.spectral_measure(sp.radial("exp(-z**2) + (1 - z**2/4)**2*Heaviside(2 - z)"), 3),
    pytest.param(lambda: sp.spectral_measure(
        sp.radial(lambda z: (1 - z) ** 3, support=1, edge=3, breaks=(), origin=1), 1),
        marks=pytest.mark.slow),
    lambda: sp.SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25]),
    lambda: truncate(sp.spectral_density(sp.radial("exp(-z**2)"), 2), 3.0),
], ids=["lobed", "arc-cosine", "ball", "damped wave", "rational quadratic", "periodic", "sum",
        "callable", "atoms", "truncated"])  # fmt: skip
def test_everything_else_is_refused_with_what_is_proved(make):
    with pytest.raises(NoRouteError, match="Proofs cover sums of Gaussian") as error:
        make().certified()
    assert "measure.mass is an estimate with a stated error" in str(error.value)


# --- the proof itself -----------------------------------------------------------------------------


def test_a_wrong_density_does_not_add_up(monkeypatch):
    beta = certified._beta

    def wrong(*parameters):
        density, shares = beta(*parameters)
        return density, lambda v: [(1 + flint.arb(1e-14)) * share for share in shares(v)]

    monkeypatch.setattr(certified, "_beta", wrong)
    with pytest.raises(AssertionError, match="do not add up"):
        proof("exp(-z**2/2) - exp(-z)", 3)
