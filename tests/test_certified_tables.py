"""Certificates of tables hold the true error, are sharp, and show every damage."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import flint
import numpy as np
import pytest
import sympy
from grids import by_turns
from mpmath import mp
from scipy.integrate import quad
from scipy.special import gamma, kv

import spectra as sp
from spectra.certify.ball_kernels import ball_density
from spectra.certify.balls import precision
from spectra.certify.cauchy_law import CauchyLaw
from spectra.certify.lobes import proved_lobes
from spectra.certify.nodes import chosen_nodes, largest_on_segment
from spectra.certify.waves import integrated
from spectra.density.closed_pairs.rational_quadratic import RationalQuadratic
from spectra.errors import ParameterError
from spectra.table import LobedTail, Panels, RadialLaw


def measure(kernel, dim):
    return sp.existence(kernel, dim=dim).measure


def delta_gaussian():
    return sp.radial("exp(-z**2/2) - exp(-z**2/200)")


@cache
def bochner_riesz(dim, power):
    """The measure of (1 - z^2/4)^p, and its table."""
    of = measure(sp.radial(f"(1 - z**2/4)**({power})", support=2), dim)
    return of, sp.tabulate(of)


# --- smooth tables -----------------------------------------------------------------------------


def _shifted(law, side, row, by):
    panels = getattr(law, side)
    rows = panels.coefficients.copy()
    rows[row, 0] += by
    changed = Panels(panels.edges, rows, panels.kinds, panels.exponents)
    sides = {"left": law.left, "right": law.right, side: changed}
    return RadialLaw(sides["left"], sides["right"], law.tail)


def test_tables_of_signed_parts_are_proved_to_a_few_units_of_rounding():
    of = measure(delta_gaussian(), 3)
    table = sp.tabulate(of)
    for proof in table.certified(of):
        assert proof.rigorous
        assert proof.u_error <= 1e-14
        assert proof.rounding <= 2e-14
        assert proof.not_ascending <= 1e-15
        assert proof.u_error + proof.rounding >= table.u_error / 2


def test_the_certificate_holds_for_the_true_error_of_a_table():
    of = measure(sp.radial("exp(-z**2/2)"), 2)
    table = sp.tabulate(of)
    (proof,) = table.certified(of)
    u = np.linspace(0.0, 1.0, 401)[1:-1]
    radii = table.parts[0].law.ppf(u)
    # Rayleigh: F(w) = 1 - exp(-w^2/2).
    with mp.workdps(30):
        errors = [
            abs(-mp.expm1(-(mp.mpf(float(w)) ** 2) / 2) - mp.mpf(float(p)))
            for w, p in zip(radii, u, strict=True)
        ]
    assert max(errors) <= proof.u_error + proof.rounding


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_table_that_is_wrong_by_little_is_not_certified(side):
    of = measure(sp.radial("exp(-z**2/2)"), 3)
    table = sp.tabulate(of)
    (part,) = table.parts
    (honest,) = table.certified(of)
    row = getattr(part.law, side).size - 1
    wrong = replace(table, parts=(replace(part, law=_shifted(part.law, side, row, 1e-11)),))
    (proof,) = wrong.certified(of)
    assert proof.u_error > 100 * honest.u_error
    assert proof.u_error > 1e-12


def test_a_table_of_another_measure_is_not_certified():
    table = sp.tabulate(measure(sp.radial("exp(-z**2/2)"), 3))
    (proof,) = table.certified(measure(sp.radial("exp(-0.5000001*z**2)"), 3))
    assert 1e-8 < proof.u_error < 1e-6
    with pytest.raises(ParameterError, match="do not belong together"):
        table.certified(measure(sp.radial("exp(-z**2/2)"), 2))


def test_a_panel_that_descends_is_not_certified_to_ascend():
    of = measure(sp.radial("exp(-z**2/2)"), 3)
    table = sp.tabulate(of)
    (part,) = table.parts
    panels = part.law.left
    rows = panels.coefficients.copy()
    row = panels.size - 1
    rows[row, 1:] = 0.0
    rows[row, 1], rows[row, 3] = -0.1, 0.1  # -0.1 t + 0.1 t^3: no net ascent
    law = RadialLaw(
        Panels(panels.edges, rows, panels.kinds, panels.exponents), part.law.right, None
    )
    (proof,) = replace(table, parts=(replace(part, law=law),)).certified(of)
    assert proof.not_ascending >= float(np.diff(panels.edges)[row])
    assert proof.u_error > 1e-3


def test_heavy_tails_are_certified_to_the_last_panel():
    of = measure(sp.radial("exp(-z) - 0.7*exp(-2*z)"), 3)
    for proof in sp.tabulate(of).certified(of):
        assert proof.rigorous
        assert proof.u_error <= 1e-14


# --- bounds from values at nodes ----------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.3, 3.0, 12.0])
def test_a_bound_from_nodes_holds_on_the_whole_segment_and_is_sharp(slope):
    """cos(a t + 1) is at most cosh(a Im t): its largest value is found to a factor of 1.5."""
    with precision(128):
        a = flint.arb(slope)
        nodes = chosen_nodes(lambda r: (a * (r - 1 / r) / 2).cosh(), flint.arb(1e-20))
        bound = float(largest_on_segment(lambda t: (a * t + 1).cos(), nodes))
    largest = np.abs(np.cos(slope * np.linspace(-1.0, 1.0, 20001) + 1.0)).max()
    assert largest <= bound <= 1.5 * largest
    assert float(nodes[1]) <= 1e-20


def test_a_function_without_an_ellipse_has_no_nodes():
    assert chosen_nodes(lambda r: flint.arb("inf"), flint.arb(1e-20)) is None


# --- the law of a rational quadratic kernel -----------------------------------------------------


KINDS_OF_ORDER = [(1, "1"), (2, "1"), (3, "3/2"), (3, "7/10"), (2, "7/2"), (4, "1"), (16, "3")]


def cauchy_law(dim, alpha):
    """The law of V of 2 (1 + 4 z^2/9)^-alpha."""
    source = RationalQuadratic(dim, sympy.Rational(alpha), sympy.Rational(3, 2), sympy.Integer(2))
    return CauchyLaw(source)


@pytest.mark.parametrize(("dim", "alpha"), KINDS_OF_ORDER)
def test_shares_of_rational_quadratic_laws_are_integrals_of_bessel_functions(dim, alpha):
    """Orders of every kind, the integer ones with a logarithm, against quadrature of scipy."""
    h, a, b = dim / 2, float(sympy.Rational(alpha)), 1.5

    def density(w):
        front = 4.0 * (b / 2.0) ** (2.0 * h) / (gamma(h) * gamma(a))
        return front * w ** (2.0 * h - 1.0) * 2.0 * (b * w / 2.0) ** (a - h) * kv(a - h, b * w)

    with precision(160, cap=6):
        law = cauchy_law(dim, alpha)
        for top in (0.5, 4.0, 12.0):
            share, _ = quad(density, 0.0, top, epsabs=1e-13, epsrel=1e-13, limit=200)
            found = law.below(flint.arb(top * top))
            assert abs(float(found) - share) <= 1e-10
            assert float(found.rad()) <= 1e-40
            value = float(law.series(flint.arb_series([top * top, 1]))[0])
            assert value * 2.0 * top ** (dim - 1) == pytest.approx(density(top), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "alpha"), [(2, "1"), (3, "7/10")])
def test_rational_quadratic_laws_agree_with_mpmath_to_twenty_digits(dim, alpha):
    with precision(160, cap=4), mp.workdps(25):
        law = cauchy_law(dim, alpha)
        h, a, b = mp.mpf(dim) / 2, mp.mpf(sympy.Rational(alpha)), mp.mpf(3) / 2
        front = 2 * (b * b / 4) ** h / (mp.gamma(h) * mp.gamma(a))

        def density(v):
            return front * 2 * (b * b * v / 4) ** ((a - h) / 2) * mp.besselk(a - h, b * mp.sqrt(v))

        share = mp.quad(lambda w: 2 * w ** (2 * h - 1) * density(w * w), [0, 0.001, 0.02, 0.1, 0.5])
        assert abs(mp.mpf(law.below(flint.arb(0.25)).mid().str(24, radius=False)) - share) <= 1e-20
        series = law.series(flint.arb_series([0.25, 1]))
        for k, truth in enumerate(mp.taylor(density, mp.mpf("0.25"), 2)):
            assert abs(mp.mpf(series[k].mid().str(24, radius=False)) / truth - 1) <= 1e-12


@pytest.mark.parametrize("dim", by_turns([1, 2], every=2))
def test_certificates_hold_for_the_true_error_of_a_rational_quadratic_table(dim):
    """F = 1 - exp(-w) in one dimension, and 1 - w K_1(w) in two."""
    of = measure(sp.radial("1/(1 + z**2)"), dim)
    table = sp.tabulate(of)
    (proof,) = table.certified(of)
    u = np.concatenate([np.geomspace(1e-12, 0.4, 40), np.linspace(0.41, 0.9999, 80)])
    radii = table.parts[0].law.ppf(u)
    with mp.workdps(30):
        errors = []
        for w, p in zip(map(mp.mpf, radii.tolist()), map(mp.mpf, u.tolist()), strict=True):
            beyond = mp.exp(-w) if dim == 1 else w * mp.besselk(1, w)
            errors.append(abs(1 - beyond - p))
    assert proof.rigorous
    assert max(errors) <= proof.u_error + proof.rounding
    assert proof.u_error <= 100 * max(errors)


@pytest.mark.parametrize(
    ("formula", "dim"),
    by_turns(
        [
            ("1/(1 + z**2) - exp(-z**2/2)/2", 3),
            ("(1 + z**2/3)**(-7/10)", 3),
            ("exp(-z) - 1/(1 + z**2)", 2),
            pytest.param("exp(-z) - 1/(1 + z**2)", 16, marks=pytest.mark.slow),
            pytest.param("1/(1 + z**2) - 1/(1 + z**2)**2/2", 3, marks=pytest.mark.slow),
            pytest.param("exp(-z) - exp(-z**2)/2", 3, marks=pytest.mark.slow),
            pytest.param("exp(-z**2/2) - exp(-z**2/200)", 16, marks=pytest.mark.slow),
        ],
        every=2,
    ),
)
def test_masses_and_tables_of_differences_are_proved(formula, dim):
    of = measure(sp.radial(formula), dim)
    masses = of.certified()
    assert masses.rigorous
    assert abs(of.positive_mass.mid - masses.positive_mass.mid) <= of.positive_mass.rad
    assert abs(of.negative_mass.mid - masses.negative_mass.mid) <= of.negative_mass.rad
    table = sp.tabulate(of)
    for proof in table.certified(of):
        assert proof.rigorous
        assert proof.u_error <= max(1e-14, 2.0 * table.u_error)
        assert proof.not_ascending <= 1e-15


def test_rounding_is_that_of_the_radius_where_the_density_is_singular_at_the_origin():
    """w^(2 alpha - 1), seen in ranges down to 1e-16, must not lend its slope to the whole panel."""
    of = measure(sp.radial("(1 + z**2)**(-7/10)"), 16)
    (proof,) = sp.tabulate(of).certified(of)
    assert proof.rigorous
    assert 1e-16 <= proof.rounding <= 2e-14


# --- lobes without end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dim", "power"),
    [
        (3, "2"),
        pytest.param(2, "27/10", marks=pytest.mark.slow),
        pytest.param(7, "7/2", marks=pytest.mark.slow),
        pytest.param(1, "1", marks=pytest.mark.slow),
        pytest.param(5, "3", marks=pytest.mark.slow),
        pytest.param(7, "5", marks=pytest.mark.slow),
        pytest.param(16, "8", marks=pytest.mark.slow),
    ],
)
def test_tables_with_lobes_without_end_are_proved_to_infinity(dim, power):
    of, table = bochner_riesz(dim, power)
    for proof in table.certified(of):
        assert proof.rigorous
        assert proof.u_error <= max(1e-14, 2.0 * table.u_error)
        assert proof.rounding <= 4e-14
        assert proof.not_ascending == 0.0
        assert proof.step_back <= 1e-10


@pytest.mark.slow
def test_a_law_whose_tail_holds_nearly_all_mass_is_proved_too():
    """Index 51/100 in the plane: the mass beyond lobe s falls like s^-0.01.

    The sum over the lobes beyond is bounded by absolute values, which costs a factor of 1/0.01.
    """
    of, table = bochner_riesz(2, "51/100")
    for proof in table.certified(of):
        assert proof.rigorous
        assert proof.u_error <= 3e-13


def _exact_law(dim, power, zeros):
    """The signed mass below x, and its first zeros, from mpmath."""
    h = mp.mpf(dim) / 2
    m = h + power
    front = 2 ** (1 - 2 * h) * mp.gamma(power + 1) / (mp.gamma(h) * mp.gamma(m + 1) * dim)

    def signed(x):
        return front * x**dim * mp.hyp1f2(h, m + 1, h + 1, -x * x / 4)

    return signed, [mp.mpf(0)] + [mp.besseljzero(m, n) for n in range(1, zeros + 1)]


@pytest.mark.parametrize(("dim", "power", "norm"), [(3, 2, "1.577287259103741308659104678569209")])
def test_certificates_hold_for_the_true_error_of_a_table_of_lobes(dim, power, norm):
    """The CDF is a sum over lobes of a 1F2 at the zeros of a Bessel function, all in mpmath."""
    of, table = bochner_riesz(dim, str(power))
    proofs = table.certified(of)
    with mp.workdps(30):
        signed, ends = _exact_law(dim, power, 48)
        masses = [signed(b) - signed(a) for a, b in pairwise(ends)]
        for part, proof in zip(table.parts, proofs, strict=True):
            sign = int(part.sign)
            total = (mp.mpf(norm) + sign) / 2
            tail = part.law.tail
            lobes = tail.survival(tail.kappa + np.array([0.0, 1.0, 2.0]))
            q = np.concatenate(
                [
                    np.linspace(tail.mass, 0.999, 25)[1:],
                    lobes[1] + (lobes[0] - lobes[1]) * np.array([0.99, 0.5, 0.1]),
                    lobes[2] + (lobes[1] - lobes[2]) * np.array([0.7, 0.03]),
                ]
            )
            radii = part.law.isf(q)
            errors = []
            for w, p in zip(radii.tolist(), q.tolist(), strict=True):
                x = 2 * mp.mpf(w)
                n = max(i for i, z in enumerate(ends) if z <= x)
                below = sum((m for m in masses[:n] if m * sign > 0), mp.mpf(0)) * sign
                below += sign * (signed(x) - signed(ends[n])) if masses[n] * sign > 0 else 0
                errors.append(abs(1 - below / total - mp.mpf(p)))
            assert max(errors) <= proof.u_error + proof.rounding
            assert proof.u_error <= 100 * max(errors)


def _with(table, sign, law):
    parts = tuple(replace(p, law=law) if p.sign == sign else p for p in table.parts)
    return replace(table, parts=parts)


def _tail_with(law, **changes):
    tail = law.tail
    names = ("kappa", "period", "sigma", "mass_series", "radius_series", "root", "zeros")
    new = LobedTail(**({name: getattr(tail, name) for name in names} | changes))
    edges = law.right.edges.copy()
    edges[0] = new.mass
    right = Panels(edges, law.right.coefficients, law.right.kinds, law.right.exponents)
    return RadialLaw(law.left, right, new)


def _edge_moved(law, by):
    panels, edges = law.right, law.right.edges.copy()
    edges[panels.size // 2] += by
    moved = Panels(edges, panels.coefficients, panels.kinds, panels.exponents)
    return RadialLaw(law.left, moved, law.tail)


@pytest.mark.parametrize("damage", by_turns(["coefficient", "edge", "share", "radius"], every=2))
def test_no_damage_to_a_table_of_lobes_is_smaller_than_what_the_proof_reports(damage):
    of, table = bochner_riesz(3, "2")
    law = next(p.law for p in table.parts if p.sign > 0)
    tail = law.tail
    if damage == "coefficient":
        row = law.right.size // 2
        broken = _shifted(law, "right", row, 1e-12)
        width = law.right.edges[row + 1] - law.right.edges[row]
        # On average over a panel the density is its probability over its length.
        ends = law.right.end_radii[row]
        least = 0.5 * 1e-12 * width / abs(ends[1] - ends[0])
    elif damage == "edge":
        broken, least = _edge_moved(law, 1e-12), 0.99e-12
    elif damage == "share":
        series = tail.mass_series * (1.0 + 1e-10)
        broken, least = _tail_with(law, mass_series=series), 0.99e-10 * tail.mass
    else:
        series = tail.radius_series.copy()
        series[0, 0] += 1e-8
        # A lobe of the tail holds its mass on half of a period.
        held = tail.survival(tail.kappa + np.array([0.0, 1.0]))
        lobe = float(held[0] - held[1])
        broken, least = _tail_with(law, radius_series=series), 1e-8 * lobe / tail.period
    proofs = _with(table, 1.0, broken).certified(of)
    proof = next(p for p, part in zip(proofs, table.parts, strict=True) if part.sign > 0)
    assert proof.rigorous
    assert proof.u_error >= least
    assert proof.u_error > 1e-13 or damage == "coefficient"


@pytest.mark.slow
def test_a_table_of_lobes_of_another_kernel_is_not_certified():
    of, _ = bochner_riesz(3, "2")
    other = measure(sp.radial("(1 - z**2/4)**(2001/1000)", support=2), 3)
    for proof in sp.tabulate(of).certified(other):
        assert not proof.rigorous or proof.u_error > 1e-6


def test_the_mass_beyond_a_radius_is_a_wave_with_a_proved_remainder():
    """The expansion integrated term by term, against the 1F2."""
    of, _ = bochner_riesz(2, "27/10")
    with precision(192):
        density = ball_density(of.components[0])
        wave = integrated(density.tail(70.0, 0.0)[0])
        for x in (flint.arb(71.0), flint.arb(123.5)):
            total = flint.acb(0)
            for c in reversed(wave.coefficients):
                total = total / x + c
            value = (total * flint.acb(0, x - wave.phase).exp()).real * x**-wave.power
            beyond = density.total - density.mass_below(x)
            allowed = wave.size(x) * x**-wave.power
            assert abs(value - beyond).abs_lower() <= allowed
            assert allowed < 1e-22


@pytest.mark.parametrize(("dim", "power"), [(3, "2"), (2, "27/10")])
def test_the_density_of_a_lobed_law_stays_below_its_bound_in_the_complex_plane(dim, power):
    of, _ = bochner_riesz(dim, power)
    with precision(192), mp.workdps(30):
        density = ball_density(of.components[0])
        law = proved_lobes(of.components[0], density)[1]
        m, s = mp.mpf(dim) / 2 + mp.mpf(sympy.Rational(power)), 0
        height = mp.mpf(density.terms[0][0].mid().str(30, radius=False))
        front = height * 2**m * mp.gamma(m + 1)
        mass = mp.mpf(law.mass.mid().str(30, radius=False))
        for centre, reach in ((2.0, 3.0), (9.0, 2.5), (60.0, 4.0)):
            bound = float(law.size(flint.arb(centre), flint.arb(reach)))
            largest = 0
            for s in range(24):
                z = centre + reach * mp.expjpi(mp.mpf(s) / 12)
                value = front * z ** (dim - 1 - m) * mp.besselj(m, z) / mass
                largest = max(largest, abs(value))
            assert largest <= bound


def test_lobes_beside_another_component_say_that_they_have_no_proof():
    kernel = sp.radial("(1 - z**2/4)**2", support=2) + sp.radial("exp(-z**2)")
    of = measure(kernel, 3)
    for proof in sp.tabulate(of).certified(of):
        assert not proof.rigorous
        assert "another component" in proof.reason or "lobes" in proof.reason


@pytest.mark.slow
def test_a_bound_that_no_probability_exceeds_is_no_proof():
    measure = sp.existence(sp.radial("exp(-z**2/2)"), dim=400).measure
    (proof,) = sp.tabulate(measure).certified(measure)
    assert proof.rigorous == (proof.u_error + proof.rounding < 1.0)
    assert proof.rigorous or "probability" in proof.reason
