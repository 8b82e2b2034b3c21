"""Sums in ball arithmetic: right where a kernel decays on the axis and grows beside it.

The truth is integrated on the real axis by mpmath, or a closed form in mpmath; both share no code
with the toolkit.
"""

from dataclasses import replace

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.base.enclosures import NODES
from spectra.base.precision import working
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.continuation.bessel_k import bessel_k, k_half_way
from spectra.density.continuation.continuation import Continuation, number
from spectra.density.continuation.taylor import taylor
from spectra.density.half_line.endings import Vanishing
from spectra.density.half_line.half_line import half_line
from spectra.density.half_line.sums.hankel import hankel_waves
from spectra.density.half_line.sums.products import correlated, split
from spectra.density.half_line.sums.ray_sums import RaySums
from spectra.density.half_line.waves.windows import Piece, Span, pieces, window
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.reader.parsing import Z
from tests.oracles.real_axis import RealKernel, radial_densities
from tests.tools.grids import by_turns

SLOW = pytest.mark.slow


def on_the_axis(k, end):
    """rho by Gauss and Legendre on short panels of the real axis, where k ends at ``end``."""

    def density(w, d):
        order, half = mp.mpf(d) / 2 - 1, mp.mpf(d) / 2
        places = mp.linspace(0, end, 5 + int(end * w / 8))
        # z^(d/2) J is elementary in one and in three dimensions (DLMF 10.16.1).
        wave = {
            1: lambda z: mp.sqrt(2 / (mp.pi * w)) * mp.cos(w * z),
            3: lambda z: mp.sqrt(2 / (mp.pi * w)) * z * mp.sin(w * z),
        }.get(d, lambda z: z**half * mp.besselj(order, w * z))
        integral = mp.quad(lambda z: k(z) * wave(z), places, method="gauss-legendre")
        return 2 ** (1 - half) / mp.gamma(half) * w**half * integral

    return density


def bessel_mixture(n):
    """exp(-z^2) I_n(z^2) is the mean of cos(nt) exp(-(1 - cos t) z^2) over 0 < t < pi."""

    def density(w, d):
        def gaussian(t):
            a, half = 4 * (1 - mp.cos(t)), mp.mpf(d) / 2
            if a == 0:  # the Gaussian of width zero has nothing there
                return mp.mpf(0)
            return mp.cos(n * t) * a**-half * mp.exp(-w * w / a)

        front = 2 * w ** (d - 1) / mp.gamma(mp.mpf(d) / 2) / mp.pi
        return front * mp.quad(gaussian, mp.linspace(0, mp.pi, 9))

    return density


#: (formula, radial density, dimension, radii)
CASES = (
    ("exp(-z**4-z**2/10)", on_the_axis(lambda z: mp.exp(-(z**4) - z**2 / 10), 4), 2,
     (0.3, 2.08, 7.0)),
    ("exp(-z**4-z**2/20)", on_the_axis(lambda z: mp.exp(-(z**4) - z**2 / 20), 4), 3,
     (0.3, 2.08, 7.0, 21.0)),
    ("exp(-z**4)*cosh(z)", on_the_axis(lambda z: mp.exp(-(z**4)) * mp.cosh(z), 4), 1,
     (0.3, 8.16)),
    ("exp(-z**4)*cos(z/2)", on_the_axis(lambda z: mp.exp(-(z**4)) * mp.cos(z / 2), 4), 1,
     (0.3, 2.5, 8.16)),
    ("z**2*exp(-z**4-z**2/20)", on_the_axis(lambda z: z**2 * mp.exp(-(z**4) - z**2 / 20), 4), 7,
     (0.3, 4.0)),
    ("exp(-z**4-z)", on_the_axis(lambda z: mp.exp(-(z**4) - z), 4), 3, (0.3, 2.08, 7.0)),
    ("exp(-z**4)/(1+z)", on_the_axis(lambda z: mp.exp(-(z**4)) / (1 + z), 4), 3, (0.3, 7.0)),
    ("exp(-cosh(z))", on_the_axis(lambda z: mp.exp(-mp.cosh(z)), 6), 3, (0.3, 2.08, 7.0)),
    ("erfc(z**2)", on_the_axis(lambda z: mp.erfc(z**2), 4), 1, (0.3, 2.08, 7.0)),
    ("z**2/sinh(z**2)", on_the_axis(lambda z: z**2 / mp.sinh(z**2), 11), 3, (0.3, 2.08, 7.0)),
    ("exp(-2*sin(z)**2)*exp(-z**2/8)",
     on_the_axis(lambda z: mp.exp(-2 * mp.sin(z) ** 2 - z * z / 8), 29), 1, (0.3, 2.08, 7.0)),
    ("exp(-z**2)*besseli(1,z**2)", bessel_mixture(1), 1, (0.05, 0.7, 1.9, 4.0)),
    ("exp(-z**2)*besseli(0,z**2)", bessel_mixture(0), 3, (0.05, 0.7, 1.9, 4.0)),
)  # fmt: skip
# Refused by the paths, which do not follow the singularities of gamma.
CASES += (
    ("gamma(1+z)*exp(-z**2)", on_the_axis(lambda z: mp.gamma(1 + z) * mp.exp(-z * z), 12), 3,
     (0.3, 2.08)),
)  # fmt: skip
DEFAULT = set()
#: What is stated is at most this share of the envelope.
CLOSE = 1e-9


@pytest.mark.parametrize(
    ("text", "density", "dim", "radii"),
    [
        pytest.param(*case, id=f"{case[0]}-{case[2]}",
                     marks=() if (case[0], case[2]) in DEFAULT else SLOW)
        for case in CASES
    ],
)  # fmt: skip
def test_kernels_that_grow_in_sectors_have_their_true_densities(text, density, dim, radii):
    (component,), _ = half_line(sp.radial(text).pieces[0].expr, dim)
    w = np.array(radii)
    sign, log = component.signed_log(w)
    bound = np.exp(component.log_envelope(w)) * component.relative_error(w)
    with mp.workdps(40):
        for i, x in enumerate(radii):
            true = density(mp.mpf(x), dim)
            found = int(sign[i]) * mp.exp(mp.mpf(float(log[i])))
            assert abs(found - true) <= bound[i], (x, found, true)
    assert np.all(component.relative_error(w) < CLOSE)


@pytest.mark.parametrize("dim", [1, 3, 7, *(pytest.param(d, marks=SLOW) for d in (2, 16, 64))])
@pytest.mark.parametrize("angle", [0.0, 0.05, 0.7, 1.2])
def test_hankel_functions_on_rays_lie_in_their_balls(dim, angle):
    waves = hankel_waves(dim, angle, 160)
    for x in (-30.0, -11.9, 0.1, 2.6, 3.85, 4.35, 5.2, 6.1):
        found = waves(x)
        with mp.workdps(90):
            y = mp.exp(mp.mpf(x) + 1j * mp.mpf(angle))
            order = mp.mpf(dim) / 2 - 1
            if angle:
                front = 2 / (mp.pi * 1j) * mp.exp(-1j * mp.pi * order / 2)
                true = front * mp.besselk(order, -1j * y) * y ** (order + 2)
            else:
                true = mp.mpc(mp.besselj(order, y.real) * y.real ** (order + 2))
            pairs = ((found.real, true.real), (found.imag, true.imag))
            for ball, part in pairs:
                miss = abs(mp.mpf(ball.mid().str(60, radius=False)) - part)
                radius = mp.mpf(ball.rad().str(10, radius=False))
                assert miss <= radius * 1.01 + mp.mpf(10) ** -58 * abs(part)
                assert radius <= 1e-35 * abs(true)


@pytest.mark.parametrize(
    ("text", "serves", "fails"),
    by_turns(
        [
            ("exp(-z)/((z-1)**2+1/100)", 0.05, 0.17),  # poles at 1 +- i/10
            ("exp(-z**4)", 0.25, 0.55),  # grows between pi/8 and 3 pi/8
            ("exp(-z**4)", 0.17, 1.2),  # decays at 1.2 again, with another integral
            ("1/(1+z**3)", 0.8, 1.2),  # a pole at exp(i pi/3)
        ],
        every=2,
    ),
)
def test_a_ray_serves_up_to_the_first_singularity_or_growth(text, serves, fails):
    plane = AnalyticRegion(sp.radial(text).pieces[0].expr)
    assert plane.serves(serves, 3)
    assert not plane.serves(fails, 3)


@pytest.mark.parametrize(
    "text",
    ["exp(-2*z)*besseli(0,z)", "erfc(z**2)", "z**2/sinh(z**2)", "1/(1+z**(5/2))", "sqrt(1+z**2)-z",
     "besselk(1/3,z)*z**(1/3)", "atan(1/z)", "exp(-z)*atan(50*(z-2))"],
)  # fmt: skip
def test_a_formula_in_balls_is_the_formula(text):
    kernel = sp.radial(text)
    continued = Continuation(kernel.pieces[0].expr)
    z = np.array([1e-3, 0.4, 1.7, 12.0])
    found = [continued(flint.acb(x), 128) for x in z]
    np.testing.assert_allclose([float(v.real) for v in found], kernel(z), rtol=4e-13)
    assert all(v.rel_accuracy_bits() > 80 for v in found)


def test_cancellation_costs_bits_and_no_digits():
    k = Continuation(sympy.sqrt(1 + Z**2) - Z)
    far = k(flint.acb(10) ** 12, 128)
    with working(128):
        assert abs(far.real * 2 * flint.arb(10) ** 12 - 1) < 1e-20


@pytest.mark.parametrize("order", [0, 7, -3])
@pytest.mark.parametrize("size", [1e-9, 2.0, 400.0])
def test_bessel_k_of_whole_order_lies_in_its_ball(order, size):
    for angle in (-0.4, 1.57):
        q = flint.acb(size * np.cos(angle), size * np.sin(angle))
        with working(600):
            true = q.bessel_k(order)
        for wide in (q, q + flint.acb(flint.arb(0, 1e-20 * size), flint.arb(0, 1e-20 * size))):
            with working(128):
                found = bessel_k(order, wide, 128)
            assert found.overlaps(true)
            assert found.rel_accuracy_bits() > (100 if wide is q else 45)


@pytest.mark.parametrize("order", [0, 30])
@pytest.mark.parametrize("size", [1e-9, 2.0, 400.0])
def test_bessel_k_half_way_between_whole_orders_is_that_of_arb(order, size):
    for angle in (-0.4, 1.57, 2.5):
        q = flint.acb(size * np.cos(angle), size * np.sin(angle))
        with working(600):
            true = q.bessel_k(flint.arb(order) + flint.arb("0.5"))
        with working(128):
            found = k_half_way(order, q)
        assert found.overlaps(true)
        assert found.rel_accuracy_bits() > 70
        assert not (found * (1 + flint.arb(2) ** -50)).overlaps(true)


def test_functions_without_a_continuation_are_refused():
    with pytest.raises(FormulaError, match="Heaviside"):
        Continuation(sympy.exp(-Z) * sympy.Heaviside(Z - 1))


def test_a_number_without_a_ball_is_said_to_be_one():
    with working(64), pytest.raises(FormulaError, match="zeta is not known in ball arithmetic"):
        number(sympy.zeta(3))


@pytest.mark.slow
def test_a_wave_that_rises_where_it_is_last_seen_still_vanishes():
    """The last panel of this density may lie between two zeros of its tail."""
    (component,), _ = half_line(sp.radial("exp(-z**4)*cosh(z/3)").pieces[0].expr, 3)
    for panels in (component.panels[: i + 1] for i in range(30, len(component.panels))):
        ending = replace(component, panels=panels, ending=Vanishing.after(panels))
        far = np.exp(np.linspace(panels[-1].high, panels[-1].high + 20, 50))
        assert np.all(np.diff(ending.log_envelope(far)[1:]) < 0)


@pytest.mark.parametrize(("fall", "rise"), [(0.0, 0.0), (3.0, 0.0), (-2.0, 2.1), (40.0, -39.0)])
@pytest.mark.parametrize("radius", [0.0, 1e-25])
def test_sums_of_products_of_balls_lie_in_their_balls(fall, rise, radius):
    """Factors that fall and rise by up to hundreds of e-folds, with signs of all kinds."""
    rng = np.random.default_rng(5)

    def balls(count, slope):
        signed = rng.standard_normal(count)
        with working(128):
            return [
                flint.arb(v) * (flint.arb(slope) * i / 8).exp() * flint.arb(1, radius)
                for i, v in enumerate(signed)
            ]

    first, second = balls(60, -fall), balls(75, rise)
    with working(128):
        found = correlated([split(x) for x in first], [split(x) for x in second], 128)
    assert len(found) == 16
    with working(2000):
        for j, ball in enumerate(found):
            terms = [a.mid() * b.mid() for a, b in zip(first, second[j:], strict=False)]
            size = sum((abs(t) for t in terms), flint.arb(0))
            missed = abs(ball.mid() - sum(terms, flint.arb(0)))
            assert missed <= ball.rad()
            assert 1.9 * radius * size <= ball.rad() <= (60 * radius + 1e-30) * size


def test_a_ball_without_end_leaves_its_sums_unknown():
    one, lost = split(flint.arb(1)), split(flint.arb(0, "inf"))
    for first, second in (([one, lost], [one] * 3), ([one] * 2, [one, one, lost])):
        assert not correlated(first, second, 64)[-1].is_finite()


# --- the half-line in parts -------------------------------------------------------------------


@pytest.mark.parametrize("step", [8, 11])
def test_windows_part_one_in_their_overlap(step):
    parts = pieces(Span(-20.0, 4.0, 0.0, 3.0), 400.0, 60.0, step, 3)
    assert len(parts) >= 3
    with working(256):
        for s in np.linspace(-19.0, 3.9, 97):
            whole = sum(float(window(*p.edges, float(s)).mid()) for p in parts)
            assert abs(whole - 1.0) < 1e-15
            outside = [window(*p.edges, float(s)) for p in parts if not p.low <= s <= p.high]
            assert all(abs(w) < np.exp(-60.0) for w in outside)


@pytest.mark.slow
def test_parts_take_far_fewer_terms_and_have_the_sum_of_one_part():
    """exp(-3z/2)/(2 + cos(7z/2)) has poles .38 beside the whole half-line."""
    plane = AnalyticRegion(sympy.exp(-3 * Z / 2) / (2 + sympy.cos(7 * Z / 2)))
    sums, whole = RaySums(plane, 3), RaySums(plane, 3)
    whole._pieces = lambda block, angle, span, step: [Piece(1, span.low, span.high)]
    for x in (-1.0, 1.5):
        found, true = (s.on_panel(x, x + 0.125) for s in (sums, whole))
        size = np.exp(found.log - true.log)
        missed = np.abs(found.value * size - true.value)
        assert np.all(missed <= found.wrong * size + true.wrong)
        assert np.all(found.wrong <= 1e-14 * np.abs(found.value).max())
    span = Span(-20.0, 4.0, 0.0, 3.0)
    parts = pieces(span, 400.0, 60.0, 11, 3)
    assert sum(p.terms(11) for p in parts) < 0.3 * (span.high - span.low) * 2.0**11


# --- the circle about zero --------------------------------------------------------------------


@pytest.mark.slow
def test_a_circle_gives_the_coefficients_of_a_kernel_that_is_analytic_at_zero():
    x = sympy.Symbol("x")
    for expr in (1 / (1 + Z), sympy.exp(-Z) * sympy.cos(Z**2), sympy.besselj(0, 3 * Z) / (2 - Z)):
        found = taylor(Continuation(expr), 4.0, 20)
        true = sympy.Poly(sympy.series(expr.subs(Z, x), x, 0, 20).removeO(), x)
        with working(256):
            for n in range(20):
                exact = flint.arb(str(sympy.N(true.coeff_monomial(x**n), 60)))
                assert abs(found[n] - exact) < 1e-30


@pytest.mark.slow
@pytest.mark.parametrize("expr", [sympy.sqrt(Z), Z * sympy.log(Z)])
def test_a_kernel_that_is_not_analytic_at_zero_has_no_circle(expr):
    assert taylor(Continuation(expr), 1.0, 20) is None


@pytest.mark.slow
def test_lobes_that_fall_exponentially_are_followed_until_the_series_is_alone():
    """Between two lobes the first radius past 70 agreed to 1e-16, and 80 was off by 2e-5."""
    text = "(exp(-(3/2)*z)*(1+(3/2)*z))*(1/(2+cos((7/2)*z)))"
    (component,), _ = half_line(sp.radial(text).pieces[0].expr, 3)
    w = np.array([0.3, 5.0, 30.0, 70.0, 75.0, 80.0, 90.0])
    sign, log = component.signed_log(w)
    found = sign * np.exp(log)
    error = component.relative_error(w) * np.abs(found)
    truth = radial_densities(RealKernel(text), 3, w.tolist(), within=(error / 20).tolist())
    for rho, wrong, true in zip(found, error, truth, strict=True):
        assert true is not None
        assert abs(flint.arb(float(rho)) - true).mid() <= wrong
        assert wrong <= 1e-12 * abs(rho)


def test_hypergeometric_functions_are_continued():
    half = sympy.Rational(1, 2)
    found = Continuation(sympy.hyper([half], [3 * half], -Z))(flint.acb(2, 1), 128)
    true = flint.acb(-2, -1).hypgeom([flint.acb(0.5)], [flint.acb(1.5)])
    with mp.workdps(30):
        exact = mp.hyp1f1(0.5, 1.5, mp.mpc(-2, -1))
    assert found.overlaps(true)
    assert abs(complex(found.real.mid(), found.imag.mid()) - complex(exact)) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3])
def test_a_kernel_that_is_zero_where_sizes_are_looked_at_does_not_end_there(dim):
    """The search for the lower end of a sum on the axis met the zero at z = 1, and stopped."""
    text = "(1-z)*exp(-z**2/8)/(2+cos((7/2)*z))"
    source = RaySums(
        AnalyticRegion(sympy.sympify(text.replace("z", "Z"), {"Z": Z}, rational=True)), dim
    )
    low, high = -0.75, -0.75 + 1 / 64
    found = source.on_panel(low, high)
    w = np.exp(low + 0.5 * (high - low) * (1.0 + NODES))
    truth = radial_densities(RealKernel(text), dim, [float(x) for x in w[::9]])
    for value, wrong, log, exact in zip(
        found.value[::9], found.wrong[::9], found.log[::9], truth, strict=True
    ):
        unit = float(np.exp(-log))
        assert abs(value - float(exact.mid()) * unit) <= wrong + 1e-13
        assert wrong < 1e-13


HIDDEN = [
    "exp(-z**2)*(1/(2+cos(z))+exp(-10**8*(z**2-2)**2)/1000)",
    "(1+exp(-10**8*(z**2-2)**2))/cosh(z)",
    "exp(-z**2)*(1+1/(10**16*(z**2-2)**2+1))",
    "exp(-z)/(1+z)*(1+exp(-10**8*(z**2-2)**2))",
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "dim"), [(HIDDEN[0], 1), (HIDDEN[3], 2)])
def test_what_is_narrow_between_all_values_is_seen_by_its_bounds_and_refused(text, dim):
    """Sums at steps of 1/1000 and of half of that miss a width of 1e-5, and agree."""
    with pytest.raises(NoRouteError, match=r"far larger near z = 1\.4"):
        half_line(sympy.sympify(text.replace("z", "Z"), {"Z": Z}, rational=True), dim)


@pytest.mark.parametrize("place", [0.1, 1.95])
def test_narrow_peaks_of_compact_kernels_are_refused(place):
    text = f"(1 - z/2)**2*exp(-z)*(1 + exp(-10**9*(z - {place})**2))"
    with pytest.raises(NoRouteError, match="far larger near z"):
        sp.spectral_density(sp.radial(text, support=2), 3)


@pytest.mark.parametrize(
    "text",
    [
        "exp(-Z**4)",
        "1/cosh(Z)",
        "exp(-cosh(3*Z))",
        "exp(-Z**2)*cos(200*Z**2)",
        "exp(-Z)*atan(50*(Z - 2))",
        "exp(-Z**2)*besseli(0, Z**2)",
        "besselk(0, 1 + Z)",
        "besselk(Rational(1, 3), Z)*Z**Rational(1, 3)",
        "besselj(Rational(5, 4), Z)/Z**Rational(5, 4)",
        "exp(-Z)/((Z - 1)**2 + Rational(1, 1000))",
    ],
)
def test_what_is_only_steep_hides_nothing(text):
    assert AnalyticRegion(sympy.sympify(text, {"Z": Z}, rational=True)).hidden(3) is None


@SLOW
def test_a_wave_far_beyond_the_bulk_is_followed():
    """exp(-z^4) has nothing between w = 72 and the wave at 200, of which the tail is no part."""
    expr = sympy.exp(-(Z**4)) * (1 + sympy.cos(200 * Z) / 10**4)
    components, _ = half_line(expr, 1)
    bulk, _ = half_line(sympy.exp(-(Z**4)), 1)
    middle = float(np.exp(bulk[0].signed_log(np.array([1e-9]))[1][0]))
    sign, log = components[0].signed_log(np.array([200.0]))
    # cos(b z) k(z) has half of the density of k at w - b, of which k has both sides.
    assert sign[0] * np.exp(log[0]) == pytest.approx(middle / 2 / 10**4, rel=1e-9)


@SLOW
def test_the_rounding_of_log_w_is_part_of_the_error_where_waves_turn_fast():
    """In d = 64 a panel about w = 128 is 1/128 wide, and its series turns with w/(2 pi)."""
    text = "exp(-z**4-z**2/10)*log(2+z**2)"
    (component,), _ = half_line(sympy.sympify(text.replace("z", "Z"), {"Z": Z}, rational=True), 64)
    radii = np.array([125.0, 127.5, 128.0])
    truth = radial_densities(RealKernel(text), 64, list(radii))
    sign, log = component.signed_log(radii)
    bounds = component.relative_error(radii) * np.exp(component.log_envelope(radii))
    for value, bound, exact in zip(sign * np.exp(log), bounds, truth, strict=True):
        assert abs(value - float(exact.mid())) <= bound + float(exact.rad())
