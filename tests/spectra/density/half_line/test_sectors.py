"""What no values show: poles, lobes and waves where a kernel is next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import gammaln

import spectra as sp
from spectra.base.enclosures import NODES
from spectra.density import spectral_density
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.continuation.continuation import Continuation
from spectra.density.continuation.negligible import Beyond
from spectra.density.continuation.sector import Box, is_analytic, log_most
from spectra.density.half_line.endings import Vanishing
from spectra.density.half_line.half_line import half_line
from spectra.density.half_line.sums.ray_sums import RaySums
from spectra.errors import NoRouteError, SpectraError
from spectra.formula.reader.parsing import Z
from tests.oracles.real_axis import RealKernel, radial_densities
from tests.tools.grids import by_turns


def continued(text):
    return Continuation(sympy.sympify(text.replace("z", "Z"), {"Z": Z}, rational=True))


@settings(max_examples=5, deadline=None)
@given(st.floats(0.05, 1.1), st.floats(-3.0, 3.0))
def test_a_kernel_is_analytic_up_to_its_first_pole_wherever_that_is(angle, log_distance):
    """At log z = 3 the kernel is exp(-400) of its size."""
    x, y = (
        sympy.Rational(float(np.exp(log_distance) * f(angle))).limit_denominator(10**6)
        for f in (np.cos, np.sin)
    )
    kernel = Continuation(sympy.exp(-(Z**2) - Z) / ((Z - x) ** 2 + y**2))
    assert is_analytic(kernel, Box(-24.0, 5.0, 0.0, 0.97 * angle))
    assert not is_analytic(kernel, Box(-24.0, 5.0, 0.0, 1.03 * angle))
    assert is_analytic(kernel, Box(-24.0, log_distance - 0.03, 0.0, 1.2))


@pytest.mark.parametrize(
    ("text", "angle"),
    [
        ("sqrt(1+z**2-z)", np.pi / 3),  # branch points
        ("log(2+2*z**2-2*z)", np.pi / 3),
        ("atan(z-1/2)", np.arctan(2.0)),
        ("1/cosh(z**2)", np.pi / 4),
        ("1/(exp(z*(1+z))+1)", 1.15),  # poles far out come close to pi/4
        ("1-exp(-z)/(1+z**3)", np.pi / 3),
    ],
)
def test_cuts_and_poles_end_a_sector(text, angle):
    kernel = continued(text)
    if text != "1/(exp(z*(1+z))+1)":
        assert is_analytic(kernel, Box(-12.0, 4.0, 0.0, angle - 0.02))
    assert not is_analytic(kernel, Box(-12.0, 4.0, 0.0, min(angle + 0.02, 1.5)))


def test_what_is_nearly_removable_is_not_removed():
    """1e-30 beside 1 is no rounding of a kernel that falls like a Gaussian, in any dimension."""
    kernel = continued("exp(-z**2+1/(10**30*((z**2-4)**2+1/16)))")
    assert not is_analytic(kernel, Box(-12.0, 3.0, 0.0, 0.05))
    assert is_analytic(kernel, Box(-12.0, 3.0, 0.0, 0.025))
    assert not is_analytic(
        continued("exp(-z)+(z-2)/(z-2-1/10**60)/10**60"), Box(0.0, 1.0, 0.0, 0.05)
    )


@pytest.mark.parametrize(
    "text",
    ["exp(-z**2)*sin(z-2)/(z-2)", "z*log(z)/(z-1)*exp(-z)", "(1-cos(z))/z**2", "1/cosh(z)",
     "1/(1+sinh(3*z/2)**2)", "tanh(1+z)", "z**(3/2)*besselk(3/2,z)", "erfc(z)", "besselk(0,1+z)"],
)  # fmt: skip
def test_what_is_analytic_is_seen_to_be(text):
    assert is_analytic(continued(text), Box(-12.0, 5.5, 0.0, 1.2))


@pytest.mark.parametrize("dim", [1, 3, 16, 64])
def test_what_is_seen_beyond_an_expansion_is_no_less_than_it_is(dim):
    """The Gaussian is even, so that all of its density is beyond its expansion at zero."""
    beyond = AnalyticRegion(sympy.exp(-(Z**2) / 2)).beyond(dim)
    w = np.sqrt(dim) * np.array([1.0, 2.0, 3.0, 6.0])
    exact = (dim - 1) * np.log(w) - w**2 / 2 - (dim / 2 - 1) * np.log(2) - gammaln(dim / 2)
    bounds = np.array([beyond.log_bound(float(x)) for x in w])
    assert np.all(bounds >= exact)
    # And it falls, though not as fast.
    assert beyond.is_below(-60.0, 200.0)


@pytest.mark.slow
def test_values_so_far_apart_that_a_lobe_is_between_them_are_not_enough():
    assert AnalyticRegion(sympy.exp(-Z - Z**3)).resolution == 3
    lobe = AnalyticRegion(sympy.exp(-Z - Z**3) + sympy.exp(-9000 * (Z - 3) ** 2) / 10**19)
    assert lobe.resolution > 5
    assert lobe.hidden(3) is None
    # Steps of z at z = 3 see it within four of its deviations.
    assert lobe.finest < 4 / np.sqrt(18000)
    needle = AnalyticRegion(sympy.exp(-Z) + sympy.exp(-(10**8) * (Z**2 - 2) ** 2))
    assert needle.hidden(3) == pytest.approx(np.sqrt(2), rel=1e-2)


@pytest.mark.parametrize("share", [115, 128])
def test_a_needle_beyond_the_end_of_a_kernel_is_found_where_powers_of_z_reveal_it(share):
    # At z = 40 it is 1e-115 of the kernel, and 1e-47 of it times z^63.
    needle = sympy.exp(-sympy.Rational(25, 2) * (Z**2 - 1600) ** 2) / 10**share
    assert AnalyticRegion(sympy.exp(-(Z**2)) + needle).hidden(64) == pytest.approx(40.0, rel=0.1)
    assert AnalyticRegion(sympy.exp(-(Z**2))).hidden(64) is None


# A lobe, or a pole, that is less than rounding where it is, and rules the density far out.
FAR = [
    ("exp(-z-z**3)+exp(-9000*(z-3)**2)/10**19", 5, (60.0, 134.0, 200.0)),
    ("exp(-z-z**3)+exp(-9000*(z-3)**2)*2/10**18", 3, (60.0, 100.0, 200.0)),
    ("exp(-z**2-z)/((z-33/4)**2+1/400)", 16, (20.0, 60.0, 100.0, 200.0)),
    ("exp(-z**2-z)/((z-11)**2+1/100)", 64, (33.0, 100.0)),
    ("exp(-z**2-z+1/(10**26*((z-4)**2+1/400)))", 31, (60.0, 200.0)),
]


@pytest.mark.slow
def test_a_wave_that_turns_by_a_whole_number_at_each_step_is_seen():
    """At w = 200 cos(3w) turns by 3 pi from one radius of a grid of 64 an e-fold to the next."""
    text, dim, _ = FAR[0]
    low = 5.296875
    found = RaySums(AnalyticRegion(sp.radial(text).pieces[0].expr), dim).on_panel(
        low, low + 1.0 / 64.0
    )
    w = np.exp(low + (1.0 + NODES[::7]) / 128.0)
    truth = radial_densities(RealKernel(text), dim, w.tolist(), digits=60)
    size = np.exp(found.log[::7])
    for value, wrong, exact in zip(
        found.value[::7] * size, found.wrong[::7] * size, truth, strict=True
    ):
        assert abs(value - float(exact.mid())) <= wrong + 4e-16 * abs(value)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "dim", "radii"), FAR)
def test_what_is_next_to_nothing_is_in_the_density_or_it_is_refused(text, dim, radii):
    try:
        with sp.time_limit(10.0):
            density = spectral_density(sp.radial(text), dim)
    except SpectraError:
        return
    w = np.array(radii)
    truth = radial_densities(RealKernel(text), dim, list(radii), digits=110)
    for value, error, exact in zip(density.radial(w), density.error(w), truth, strict=True):
        assert abs(value - float(exact.mid())) <= error + float(exact.rad())


@pytest.mark.slow
def test_an_even_kernel_that_rises_again_is_followed():
    """exp(-z^2) falls below every limit before the lobes at z = +-4 begin to be seen."""
    text = "exp(-z**2)+(exp(-100*(z-4)**2)+exp(-100*(z+4)**2))/10**24"
    density = spectral_density(sp.radial(text), 3)
    w = np.array([3.0, 10.0, 13.0, 16.0, 40.0, 60.0])
    truth = radial_densities(RealKernel(text), 3, w.tolist(), digits=80)
    for value, error, exact in zip(density.radial(w), density.error(w), truth, strict=True):
        assert abs(value - float(exact.mid())) <= error + float(exact.rad())


@pytest.mark.slow
def test_a_ray_on_which_numbers_have_no_end_is_not_summed():
    density = spectral_density(sp.radial("exp(-z**2+exp(-(z**2-100)**2)/10**10)"), 3)
    assert density.radial([2.0])[0] == pytest.approx(4.0 / np.sqrt(4.0 * np.pi) / np.e, rel=1e-9)


@pytest.mark.slow
def test_a_density_that_no_ray_gives_is_refused_within_its_time():
    with pytest.raises(SpectraError), sp.time_limit(1.0):
        spectral_density(sp.radial("exp(-z**2+exp(-(z**2-100)**2)/10**10)"), 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dim", "radii"),
    [
        ("exp(-z**2)/(1+exp(z**2-100))", 1, (22.0, 60.0)),
        ("exp(-z**2)/(1+exp(z**2-121))", 5, (22.0, 60.0)),
    ],
)
def test_beyond_the_last_panel_no_less_is_stated_than_may_be_there(text, dim, radii):
    """A density of 1e-49 begins to fall like exp(-w^2/4) and goes on with its poles."""
    density = spectral_density(sp.radial(text), dim)
    truth = radial_densities(RealKernel(text), dim, list(radii), digits=90)
    w = np.array(radii)
    for value, error, exact in zip(density.radial(w), density.error(w), truth, strict=True):
        assert abs(value - float(exact.mid())) <= error


@pytest.mark.parametrize("text", ["cosh(z)", "exp(exp(z))"])
def test_a_kernel_that_grows_beyond_all_numbers_is_refused(text):
    with pytest.raises(NoRouteError, match="could not be expanded"):
        spectral_density(sp.radial(text), 1)


# --- what an expansion, a disc and a look at some places leave unsaid ---------------------------


def _power_of_a_gaussian(dim, n, w, c=1):
    """The density of z^n exp(-c z^2)."""
    half, place = mp.mpf(dim) / 2, (n + mp.mpf(dim)) / 2
    front = w ** (dim - 1) * mp.mpf(2) ** (1 - dim) * mp.gamma(place) / mp.gamma(half) ** 2
    return front / mp.mpf(c) ** place * mp.hyp1f1(place, half, -w * w / 4 / c)


@pytest.mark.parametrize(
    ("text", "even"),
    [
        ("exp(-z**2)", True),
        ("z**2/sinh(z**2)", True),
        ("besselj(1,z)/z*exp(-z**2)", True),
        ("exp(-z**2)+1/(10**30*(1+10**24*z**2))", True),
        ("exp(-z**2)*(1+z**25/10**30)", False),
        ("exp(-z**2)*sqrt(z**2+z**4)", False),
    ],
)
def test_even_is_what_has_no_odd_part_at_all(text, even):
    assert AnalyticRegion(sp.radial(text).pieces[0].expr).is_even is even


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_an_odd_power_far_behind_the_others_is_the_end_of_a_density(dim):
    """Twelve terms of exp(-z^2) + z^25 exp(-z^2)/10^30 are even, and a Gaussian has no tail."""
    expr = sp.radial("exp(-z**2)+z**25*exp(-z**2)/10**30").pieces[0].expr
    (component,), _ = half_line(expr, dim)
    w = np.array([10.0, 40.0, 160.0, 400.0, 1e4, 1e6])
    sign, log = component.signed_log(w)
    wrong = component.relative_error(w)
    with mp.workdps(60):
        for x, s, value, error in zip(w.tolist(), sign, log, wrong, strict=True):
            exact = _power_of_a_gaussian(dim, 0, mp.mpf(x))
            exact += _power_of_a_gaussian(dim, 25, mp.mpf(x)) / mp.mpf(10) ** 30
            size = mp.exp(mp.mpf(float(value)))
            assert abs(int(s) * size - exact) <= size * mp.mpf(float(error) + 1e-15)


@pytest.mark.slow
def test_a_pole_far_below_the_scale_is_seen_at_radii_as_far_out():
    """exp(-w/10^12)/10^42 is left of the Gaussian in d = 1."""
    beyond = AnalyticRegion(
        sp.radial("exp(-z**2)+1/(10**30*(1+10**24*z**2))").pieces[0].expr
    ).beyond(1)
    for w in (1e3, 1e12, 3.8e13, 1e15):
        assert beyond.log_bound(w) >= -42.0 * np.log(10.0) - w / 1e12


def test_a_lobe_where_the_kernel_has_long_been_negligible_is_seen_beside_it():
    """At z = 30 a Gaussian is exp(-900); a lobe of exp(-152) there falls like exp(-w^2/3600)."""
    text = "exp(-z**2)+exp(-(z**2-900)**2/4)/10**66"
    beyond = AnalyticRegion(sp.radial(text).pieces[0].expr).beyond(3)
    z = np.linspace(29.0, 31.0, 4001)
    lobe = z * np.exp(-((z**2 - 900.0) ** 2) / 4.0)
    for w in (120.0, 200.0, 240.0):
        share = abs(2.0 / np.pi * w * np.sum(lobe * np.sin(w * z)) * (z[1] - z[0]))
        assert beyond.log_bound(w) >= np.log(share) - 66.0 * np.log(10.0)


@pytest.mark.parametrize("text", ["exp(-z-z**3)", "exp(-cosh(z))"])
def test_what_ends_is_bounded_all_the_way(text):
    assert AnalyticRegion(sp.radial(text).pieces[0].expr).beyond(3).log_bound(1e4) < -500.0


@pytest.mark.slow
@pytest.mark.parametrize("dim", by_turns([2, 3], every=2))
def test_a_kernel_that_is_nearly_zero_before_its_bulk_is_summed_from_where_it_began(dim):
    """Between a needle at 0 and its bulk the kernel is less than any depth that sums are cut at."""
    expr = sp.radial("z**40*exp(-z**2)/10**17+exp(-10**10*z**2)/10**14").pieces[0].expr
    sums = RaySums(AnalyticRegion(expr), dim)
    sums.on_panel(1.0, 1.0 + 1.0 / 64.0)
    found = sums.on_panel(3.5, 3.5 + 1.0 / 64.0)
    w = np.exp(3.5 + (1.0 + NODES[::7]) / 128.0)
    for x, value, wrong, log in zip(
        w.tolist(), found.value[::7], found.wrong[::7], found.log[::7], strict=True
    ):
        with mp.workdps(60):
            exact = _power_of_a_gaussian(dim, 40, mp.mpf(x)) / mp.mpf(10) ** 17
            exact += _power_of_a_gaussian(dim, 0, mp.mpf(x), 10**10) / mp.mpf(10) ** 14
            unit = mp.exp(float(log))
            assert abs(float(value) * unit - exact) <= (float(wrong) + 1e-13) * unit


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 3, 64])
def test_a_fall_is_no_faster_than_what_is_seen_between_and_beyond_the_looks(dim):
    beyond = AnalyticRegion(1 / sympy.cosh(Z)).beyond(dim)
    start, rate = beyond.fall(-96.0, (200.0 + dim) * 1.25 ** np.arange(40))
    w = start * np.geomspace(1.0, 1e6, 101)
    bounds = np.array([beyond.log_bound(float(x)) for x in w])
    assert np.all(bounds <= -96.0 - rate * (w - start))


@pytest.mark.slow
def test_without_a_bound_nothing_is_said_of_what_is_beyond():
    (component,), _ = half_line(sympy.exp(-(Z**2)) / (1 + Z**2), 1)
    assert Vanishing.unseen(component.panels, -96.0, Beyond(1, []), 0.0) is None


def test_a_box_that_waves_cross_is_bounded_wherever_no_pole_is():
    """Im z is .1 to .3, the poles are at .376; squares of balls as wide as 2 + cos reach zero."""
    box = Box(5.47, 5.485, 0.00075, 0.00123)
    assert log_most(continued("exp(-z)/(2+cos(7*z/2))"), box, -np.inf, 0) < -200.0
    assert log_most(continued("exp(-z)/(2+cos(9*z/2))"), box, -np.inf, 0) == np.inf


def test_lines_are_found_as_high_as_a_kernel_is_analytic_however_early_it_falls():
    plane = AnalyticRegion(sympy.exp(-(Z**2)) * (1 / (1 + 30 * Z) - sympy.Rational(1, 2)))
    assert plane.disc(3) >= plane.scale + 3.0


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 3])
def test_a_look_has_the_values_of_the_density(dim):
    sums = RaySums(AnalyticRegion(sympy.exp(-Z) / (1 + Z**2)), dim)
    density = spectral_density(sp.radial("exp(-z)/(1 + z**2)"), dim)
    for x in (-2.0, 1.0, 3.5):
        seen, places = sums.look(x)
        off = np.abs(seen.value * np.exp(seen.log) - density.radial(np.exp(places)))
        assert np.all(off <= seen.wrong * np.exp(seen.log) + density.error(np.exp(places)))
        assert np.all(seen.wrong <= 1e-15 * np.abs(seen.value))


def test_a_quotient_that_cancels_at_zero_is_served_by_rays():
    """exp(z) - 1 loses all of a hundred e-folds below the scale; z/(exp(z) - 1) is analytic."""
    assert AnalyticRegion(sp.radial("z/(exp(z)-1)").pieces[0].expr).is_tame(3)
