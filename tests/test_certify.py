"""Proved masses and tables hold the truth, are sharp, and fail where something is wrong."""

from dataclasses import replace
from itertools import pairwise

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.base.enclosures import Enclosure
from spectra.certify.ball_kernels import ball_density, bessel_density
from spectra.certify.balls import Unproved, enclosure, exact_ball, precision
from spectra.certify.expansions import (
    background_at_infinity,
    hankel_coefficients,
    hankel_remainder,
    wave_at_infinity,
)
from spectra.certify.signs import enclosed_zero, proved_ranges
from spectra.certify.waves import absolute_tail
from spectra.density.spectral_density import Atom
from spectra.errors import ParameterError
from spectra.measure import SpectralMeasure, truncate


def measure(kernel, dim):
    return sp.existence(kernel, dim=dim).measure


def bochner_riesz(power, support=2):
    return sp.radial(f"(1 - z**2/({support})**2)**({power})", support=support)


def delta_gaussian():
    return sp.radial("exp(-z**2/2) - exp(-z**2/200)")


def mp_number(ball):
    """The midpoint of a ball in mpmath."""
    return mp.mpf(ball.mid().str(60, radius=False))


def holds(ball, digits):
    """Whether the true number lies in the enclosure, up to the last of the digits given."""
    with mp.workdps(40):
        last = mp.mpf(10) ** -len(digits.partition(".")[2])
        return abs(mp.mpf(digits) - mp.mpf(ball.mid)) <= mp.mpf(ball.rad) + last


def agrees(fast, proved):
    """The proved ball lies within what the fast mass allows."""
    return abs(fast.mid - proved.mid) + proved.rad <= fast.rad


# --- numbers ----------------------------------------------------------------------------------


def test_exact_numbers_enter_as_they_are_and_others_are_refused():
    with precision(200):
        for text in ("sqrt(2)/3 - pi", "exp(1/3)*gamma(5/4)", "log(7)**2", "2**(1/3)"):
            number = sympy.sympify(text, rational=True)
            ball = exact_ball(number)
            reference = sympy.N(number, 50)
            assert ball.rad() < 1e-50
            assert abs(float(ball.mid()) - float(reference)) <= 1e-15 * abs(float(reference))
        with pytest.raises(Unproved, match="not read"):
            exact_ball(sympy.zeta(3))


def test_rounding_to_a_double_enlarges_the_radius():
    with precision(300):
        third = enclosure(flint.arb(1) / 3)
        exact = enclosure(flint.arb(0.1))
    assert third.rigorous
    assert holds(third, "0.33333333333333333333333333333333333333")
    assert not holds(replace(third, rad=0.0), "0.33333333333333333333333333333333333333")
    assert exact == Enclosure(0.1, 0.0, rigorous=True)


def test_ranges_of_proved_sign_find_a_close_pair_and_leave_a_double_zero_unresolved():
    def pair(x):
        gap = flint.arb(2.0**-40)
        return (x - 1) * (x - 1 - gap), (x - 1) + (x - 1 - gap)

    def double(x):
        return (x - 1) ** 2, 2 * (x - 1)

    width = flint.arb(2.0**-60)
    with precision(256):
        found = proved_ranges(pair, flint.arb(0), flint.arb(3), width=width)
        touched = proved_ranges(double, flint.arb(0), flint.arb(3), width=width)
    assert [r.sign for r in found] == [1, 0, -1, 0, 1]
    assert all(r.roots == 1 for r in found if r.sign == 0)
    assert [(r.sign, r.roots) for r in touched] == [(1, 0), (0, None), (1, 0)]


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 3.5, 4.7])
def test_hankel_remainders_hold_in_the_complex_plane(order):
    with mp.workdps(80), precision(160):
        for argument, terms in (("12", 6), ("9+5j", 4), ("15-7j", 10), ("30", 20)):
            z = mp.mpmathify(complex(argument))
            a = hankel_coefficients(flint.arb(order), terms)
            front = mp.sqrt(2 / (mp.pi * z)) * mp.exp(
                mp.mpc(0, 1) * (z - mp.mpf(order) * mp.pi / 2 - mp.pi / 4)
            )
            series = sum(
                mp.mpc(0, 1) ** k * mp.mpf(a[k].mid().str(50, radius=False)) / z**k
                for k in range(terms)
            )
            error = abs(mp.hankel1(order, z) / front - series) * abs(z) ** terms
            bound = hankel_remainder(
                flint.arb(order),
                a[terms],
                terms,
                flint.arb(float(z.real / abs(z))),
                flint.arb(float(abs(z))),
            )
            assert error <= float(bound.abs_upper()) * (1 + 1e-9) + 1e-12


# --- masses of lobes --------------------------------------------------------------------------

NORMS = {
    (3, 2): "1.577287259103741308659104678569209",
    (1, 1): "1.2325411052580975742",
    (2, 1): "2.0297939364875008782",
    (1, 2): "1.0705193731719585082",
    (2, 2): "1.2272080001638874052",
    (4, 2): "2.6619752057696677747",
    (3, 3): "1.2044304422240326377",
    (5, 3): "1.8469494569178636719",
}


ARC_COSINE = sp.zonal("(u*(pi - acos(u)) + sqrt(1 - u**2))/pi")
ARC_COSINE_1 = {
    1: "1.0873177623",
    2: "1.330092711370744070312206288",
    3: "2.132532404393271514261243",
}


@pytest.mark.parametrize(
    "numbers", [("5/2", "3", "3"), ("2", "25/4", "1/2"), ("3/2", "17/10", "9/4")]
)
def test_expansions_of_1f2_hold_in_the_complex_plane(numbers):
    """Wave and background to the remainders that they state, on the axis and beside it."""
    exact = [sympy.Rational(n) for n in numbers]
    with mp.workdps(60), precision(256):
        a, b, c = map(exact_ball, exact)
        for terms in (8, 30):
            at = ((a,), (b, c), flint.arb(30), flint.arb(0.75).sqrt(), terms)
            wave, background = wave_at_infinity(*at), background_at_infinity(*at)
            for x in (mp.mpf(31), 77 * mp.expj(0.3), 30 * mp.expj(-mp.pi / 6)):
                truth = mp.hyper([mp.mpf(exact[0])], [mp.mpf(n) for n in exact[1:]], -x * x / 4)
                value, allowed = mp.mpf(0), mp.mpf(0)
                for part, turns in ((wave, (1, -1)), (background, (0,))):
                    power, phase = mp_number(part.power), mp_number(part.phase)
                    for turn in turns:
                        # The wave on the axis is half of it and of its conjugate.
                        terms_of = (
                            mp.mpc(mp_number(k.real), (turn or 1) * mp_number(k.imag)) / x**n
                            for n, k in enumerate(part.coefficients)
                        )
                        away = mp.expj(turn * (x - phase)) * x**-power / len(turns)
                        value += away * mp.fsum(terms_of)
                        allowed += abs(away * x**-terms) * mp_number(part.remainder)
                assert abs(value - truth) <= allowed * (1 + mp.mpf(10) ** -9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "support", "dim"),
    [("(1 - z**2/4)**2*(1 + z**2)", 2, 3), ("(1 - z**2)**(5/2)*(1 - 3*z**2)", 1, 4)],
)
def test_sums_of_bessel_functions_have_all_their_zeros(formula, support, dim):
    of = measure(sp.radial(formula, support=support), dim)
    found = of.certified()
    assert found.rigorous
    assert found.complete
    assert found.mass.rad <= 1e-15
    assert agrees(of.positive_mass, found.positive_mass)
    assert agrees(of.negative_mass, found.negative_mass)


@pytest.mark.slow
def test_arc_cosine_masses_scale_with_the_height_and_not_with_the_length():
    one = measure(ARC_COSINE, 2).certified()
    other = measure((-3 * ARC_COSINE).rescale(sympy.Rational(1, 7)), 2).certified()
    assert other.rigorous
    assert (
        abs(other.positive_mass.mid - 3 * one.negative_mass.mid) <= other.positive_mass.rad + 1e-15
    )
    assert (
        abs(other.negative_mass.mid - 3 * one.positive_mass.mid) <= other.negative_mass.rad + 1e-15
    )


def test_expansions_of_waves_and_backgrounds_are_the_density():
    """The wave and the background of the arc-cosine kernel, against its 1F2 in mpmath."""
    with mp.workdps(60), precision(200):
        for dim in (1, 2, 3):
            (component,) = measure(ARC_COSINE, dim).components
            wave, background = ball_density(component).tail(60.0)
            ball, x = flint.arb(81.7), mp.mpf(81.7)
            e, b = (
                mp.fsum(
                    mp.mpc(mp_number(c.real), mp_number(c.imag)) / x**k
                    for k, c in enumerate(part.coefficients)
                )
                for part in (wave, background)
            )
            power, phase = mp_number(wave.power), mp_number(wave.phase)
            value = x**-power * mp.re(e * mp.expj(x - phase)) + mp.re(b) / x**4
            a, lower, half = mp.mpf(dim + 3) / 2, mp.mpf(dim) / 2 + 2, mp.mpf(dim) / 2
            front = 4 * mp.pi ** (half + 1 - a) * mp.gamma(a) / mp.gamma(half) / 2**dim
            truth = (
                front
                / mp.gamma(lower) ** 2
                * x ** (dim - 1)
                * mp.hyper([a], [lower, lower], -x * x / 4)
            )
            allowed = wave.size(ball) * ball**-wave.power
            allowed += background.remainder / ball ** (4 + len(background.coefficients))
            assert abs(value - truth) <= float(allowed.abs_upper()) + 1e-40
            assert float(allowed.abs_upper()) <= 1e-18


def test_the_tail_of_a_wave_is_the_same_wherever_it_starts():
    """Two starts of the tail differ by the lobes in between, to the proved remainders."""
    density = bessel_density(3, sympy.Integer(2), (sympy.Integer(1),))
    with precision(192):
        grid = np.arange(60.0, 126.0, 0.5)
        signs = [float(density.value(flint.arb(x)).mid()) > 0 for x in grid]
        zeros = [
            enclosed_zero(density.value, density.slope, float(a), float(b))
            for a, b, left, right in zip(grid, grid[1:], signs, signs[1:], strict=False)
            if left != right
        ]
        masses = [density.mass_below(z.mid()) for z in zeros]
        inner = sum((abs(b - a) for a, b in pairwise(masses)), flint.arb(0))
        first, last = (
            absolute_tail(density.tail(float(z.lower()))[0], z) for z in (zeros[0], zeros[-1])
        )
        assert len(zeros) == 21
        assert abs(first - last - inner).abs_lower() <= 1e-26
        assert first.rad() + last.rad() <= 1e-17
        assert last > 1e-4


# --- masses of mixtures -----------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 16, 64, 256])
def test_delta_gaussians_are_proved_to_the_relative_accuracy_of_what_is_missing(dim):
    of = measure(delta_gaussian(), dim)
    found = of.certified()
    with mp.workdps(200):
        square = 2 * dim * mp.log(10) / 99
        half = mp.mpf(dim) / 2
        # M+ = Q(h, w*^2/2) - Q(h, 50 w*^2), from the two closed forms.
        missing = mp.gammainc(half, 0, square / 2, regularized=True) + mp.gammainc(
            half, 50 * square, mp.inf, regularized=True
        )
        assert abs(missing - mp.mpf(found.cancelled_mass.mid)) <= mp.mpf(found.cancelled_mass.rad)
        assert found.cancelled_mass.rad <= 2e-16 * missing
        for mass in (found.positive_mass, found.negative_mass):
            assert abs(1 - missing - mp.mpf(mass.mid)) <= mp.mpf(mass.rad)
            assert mass.rad <= 2e-16
        assert len(found.sign_changes) == 1
        assert abs(mp.sqrt(square) - found.sign_changes[0].mid) <= found.sign_changes[0].rad
    assert found.complete
    assert agrees(of.mass, found.mass)


def _naive_mass(terms, dim):
    """M+ and M- of sum c exp(-a z^2) from mpmath: roots on a grid, then incomplete gammas."""
    with mp.workdps(40):
        half = mp.mpf(dim) / 2
        rows = [(mp.mpf(c), 1 / (4 * mp.mpf(a))) for c, a in terms]

        def density(t):
            v, slowest = mp.exp(t), min(lam for _, lam in rows)
            return sum(c * (lam / slowest) ** half * mp.exp((slowest - lam) * v) for c, lam in rows)

        grid = [mp.mpf(i) / 20 for i in range(-200, 240)]
        signs = [mp.sign(density(t)) for t in grid]
        roots = [
            mp.exp(mp.findroot(density, (grid[i], grid[i + 1]), solver="anderson"))
            for i in range(len(grid) - 1)
            if signs[i] != signs[i + 1]
        ]
        ends = [mp.mpf(0), *roots, mp.inf]
        masses = {1: mp.mpf(0), -1: mp.mpf(0)}
        for a, b in pairwise(ends):
            share = sum(
                c * mp.gammainc(half, lam * a, lam * b if b < mp.inf else b, regularized=True)
                for c, lam in rows
            )
            masses[1 if share > 0 else -1] += abs(share)
        return masses[1], masses[-1], roots


@pytest.mark.parametrize("dim", [1, 3, 16])
def test_mixtures_of_five_gaussians_have_all_their_sign_changes(dim):
    terms = [("1", "0.5"), ("-2", "0.25"), ("1.5", "0.125"), ("-1", "0.01"), ("1", "0.0025")]
    kernel = sp.radial(" + ".join(f"({c})*exp(-{a}*z**2)" for c, a in terms))
    of = measure(kernel, dim)
    found = of.certified()
    positive, negative, roots = _naive_mass(terms, dim)
    assert found.complete
    assert len(found.sign_changes) == len(roots)
    with mp.workdps(40):
        for ball, root in zip(found.sign_changes, roots, strict=True):
            assert abs(mp.sqrt(root) - mp.mpf(ball.mid)) <= ball.rad + mp.mpf(10) ** -30
        assert (
            abs(positive - mp.mpf(found.positive_mass.mid))
            <= found.positive_mass.rad + mp.mpf(10) ** -30
        )
        assert (
            abs(negative - mp.mpf(found.negative_mass.mid))
            <= found.negative_mass.rad + mp.mpf(10) ** -30
        )
    assert found.mass.rad <= 1e-15
    assert agrees(of.mass, found.mass)


@pytest.mark.parametrize("dim", [1, 2, 7, 64])
@pytest.mark.parametrize(
    "formula",
    [
        "exp(-z) - 0.7*exp(-2*z)",
        "exp(-z)*(1 + z) - 0.7*exp(-2*z) - 0.1*exp(-z**2)",
        "exp(-z**2/2)*(1 - z**2)",
        "0.3 + 0.7*exp(-z**2) - 0.2*exp(-z**2/3)",
    ],
)
def test_proved_masses_of_smooth_kernels_lie_within_the_fast_ones(formula, dim):
    of = measure(sp.radial(formula), dim)
    found = of.certified()
    assert found.rigorous
    assert found.complete
    assert found.mass.rad <= 4e-16 * max(found.mass.mid, 1.0)
    assert agrees(of.positive_mass, found.positive_mass)
    assert agrees(of.negative_mass, found.negative_mass)


def test_a_positive_density_has_no_negative_mass_at_all():
    for formula in ("exp(-z**2)", "2*exp(-z**2) - 0.1*exp(-z**2/3)"):
        found = measure(sp.radial(formula), 5).certified()
        assert found.negative_mass == Enclosure(0.0, 0.0, rigorous=True)
        assert found.sign_changes == ()


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    "formula", ["1/(1 + z**2)", "sin(z)/z + exp(-z)", "-3*exp(-z**2)/7 - 2/sqrt(1 + z**2)"]
)
def test_sums_of_positive_definite_kernels_have_the_mass_of_the_origin(formula, dim):
    of = measure(sp.radial(formula), dim)
    found = of.certified()
    assert found.rigorous
    assert found.complete
    part, nothing = found.positive_mass, found.negative_mass
    if of.k_zero < 0:
        part, nothing = nothing, part
    assert nothing == Enclosure(0.0, 0.0, rigorous=True)
    assert abs(part.mid - abs(of.k_zero)) <= 4e-16 * abs(of.k_zero)
    assert part.rad <= 4e-16 * abs(of.k_zero)


def test_a_density_that_vanishes_at_the_origin_is_proved_without_a_claim_of_completeness():
    # sqrt(1/2)^-3 = (1/8) sqrt(1/8)^-3: the two densities are equal at w = 0.
    found = measure(sp.radial("exp(-z**2/2) - exp(-z**2/8)/8"), 3).certified()
    assert found.rigorous
    assert 0.0 <= found.negative_mass.mid <= found.negative_mass.rad <= 1e-50
    assert holds(found.positive_mass, "0.875")


def test_atoms_count_with_the_errors_that_they_state():
    of = SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25], errors=[1e-9, 0.0])
    found = of.certified()
    assert found.rigorous
    assert 1e-9 <= found.positive_mass.rad <= 1.1e-9
    assert found.negative_mass.rad == 0.0


# --- what is not proved -----------------------------------------------------------------------


def test_what_has_no_proof_says_so_and_keeps_its_estimate():
    cases = [
        measure(bochner_riesz(2) + sp.radial("exp(-z)"), 3),
        truncate(sp.spectral_density(sp.radial("exp(-z**2)"), 2), 3.0),
        measure(sp.radial("exp(-z) - sin(z)/(2*z)"), 1),
    ]
    for of in cases:
        found = of.certified()
        assert not found.rigorous
        assert found.reason
        assert found.mass == of.mass
        assert "not proved" in str(found)
    table = sp.tabulate(cases[0])
    with pytest.raises(ParameterError, match="is none"):
        table.certified(delta_gaussian())


def test_a_wrong_component_is_found_out():
    """The masses of another kernel are not those of this one, and the balls tell."""
    of = measure(delta_gaussian(), 3)
    other = measure(sp.radial("exp(-z**2/2) - exp(-z**2/200.0000001)"), 3)
    found, wrong = of.certified().positive_mass, other.certified().positive_mass
    assert abs(found.mid - wrong.mid) > 1e3 * (found.rad + wrong.rad)
    shifted = SpectralMeasure(3, of.kernel, (Atom(0.0, 1e-12),), of.density)
    assert shifted.certified().positive_mass.mid - found.mid > 9e-13
