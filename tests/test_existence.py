"""The verdict against everything that is known: a decision is never wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy
from generated_verdicts import GENERATED, coefficients, edges, rationals
from grids import WHOLE_GRID, by_turns
from hostile_verdicts import HOSTILE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from verdicts import ALL, CASES, Case

from spectra.density import spectral_density
from spectra.errors import InfiniteMassError, ParameterError, SpectraError, UndecidedError
from spectra.kernels.catalogue import Family, catalogue
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.verdict import D, Status, Verdict, existence, spectral_measure

DIMENSIONS = (1, 2, 3, 5, 7, 16, 64)


def _largest(condition: sympy.Basic) -> sympy.Expr:
    """The largest d that a condition allows."""
    if condition == sympy.true:
        return ALL
    allowed = [d for d in range(1, 200) if condition.subs(D, d) == sympy.true]
    assert allowed == list(range(1, len(allowed) + 1))
    return sympy.Integer(len(allowed))


# --- known answers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    by_turns(CASES, every=7),
    ids=lambda c: c.name,
)
def test_the_condition_on_d_is_the_known_one(case: Case) -> None:
    verdict = existence(case.kernel)
    assert verdict.condition is not None, verdict.reasons
    assert _largest(verdict.condition) == case.largest, (case.why, verdict.reasons)
    if case.largest is ALL:
        assert verdict.status is Status.FINITE
    elif case.largest == 0:
        assert verdict.status is Status.INFINITE
    else:
        assert verdict.status is Status.UNDECIDED
        assert "depends on d" in verdict.reasons[0]
        assert verdict.deciding is not None


@pytest.mark.parametrize(
    ("name", "kernel", "largest"),
    by_turns([pytest.param(*h, id=h[0][:40]) for h in HOSTILE], every=5),
)
def test_a_kernel_made_to_mislead_misleads_not(
    name: str, kernel: Kernel, largest: sympy.Expr
) -> None:
    verdict = existence(kernel)
    assert verdict.condition is not None, verdict.reasons
    assert _largest(verdict.condition) == largest, verdict.reasons


def test_radii_that_agree_to_many_digits_are_not_taken_for_one() -> None:
    # Their singularities do not cancel, however near they are: a decision would have to be d < 3.
    near = sympy.Rational(str(sympy.pi.evalf(70)))
    kernel = radial("1 - z/pi", support=sympy.pi) - radial("1 - z/pi", support=near)
    assert existence(kernel, 3).status is not Status.FINITE


@pytest.mark.slow
def test_one_dimension_agrees_with_the_condition() -> None:
    for case in CASES[::10]:
        for dim in DIMENSIONS:
            verdict = existence(case.kernel, dim)
            expected = Status.FINITE if dim <= case.largest else Status.INFINITE
            assert verdict.status is expected, (case.name, dim, verdict.reasons)


@pytest.mark.slow
def test_the_catalogue_says_what_the_verdict_says() -> None:
    given_parameters = {
        "matern": {"nu": sympy.Rational(7, 3)},
        "generalized_cauchy": {"power": sympy.Rational(1, 2), "tail": sympy.Rational(1, 3)},
        "spherical_polynomial": {"a": 2, "p": 3},
        "askey": {"power": sympy.Rational(7, 2)},
        "bochner_riesz": {"p": 4},
        "j_bessel": {"m": 6},
        "superspherical": {"nu": sympy.Rational(5, 2)},
        "generalized_wendland": {"mu": sympy.Rational(10, 3), "smoothness": 2},
        "dagum": {"power": sympy.Rational(3, 2), "tail": sympy.Rational(2, 3)},
    }
    for name, entry in catalogue.entries.items():
        item = catalogue[name]
        choices: list[dict[str, object]] = [{}]
        if isinstance(item, Family) and name in given_parameters:
            choices.append(given_parameters[name])
        for chosen in choices:
            kernel = item(**chosen) if isinstance(item, Family) else item
            values = {p.name: p.default for p in entry.parameters if not p.sequence} | chosen
            said = entry.finite_for(**values)
            verdict = existence(kernel)
            assert verdict.condition is not None, (name, verdict.reasons)
            for dim in DIMENSIONS:
                assert bool(said.subs(D, dim)) == (dim <= _largest(verdict.condition)), (name, dim)


# --- generated kernels ----------------------------------------------------------------------


def _check(sample: tuple[Kernel, sympy.Expr], dim: int) -> bool:
    """Assert that a decision is right; say whether there was one."""
    kernel, bound = sample
    verdict = existence(kernel, dim)
    if verdict.status is Status.UNDECIDED:
        return False
    assert (verdict.status is Status.FINITE) == (dim < bound), (str(kernel), verdict.reasons)
    return True


def _run(examples: int, *, draw: int) -> None:
    outcomes: list[bool] = []

    @seed(draw)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sample=GENERATED, dim=st.integers(1, 40))
    def theorem(sample: tuple[Kernel, sympy.Expr], dim: int) -> None:
        outcomes.append(_check(sample, dim))

    theorem()
    assert outcomes.count(False) <= 0.05 * len(outcomes)


def test_no_decision_on_a_generated_kernel_is_wrong() -> None:
    _run(8, draw=0)


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(1, 6 if WHOLE_GRID else 2))
def test_no_decision_on_many_generated_kernels_is_wrong(draw: int) -> None:
    _run(400 if WHOLE_GRID else 120, draw=draw)


@settings(max_examples=4, deadline=None, derandomize=True, database=None)
@given(sample=edges(), length=rationals, factor=coefficients)
def test_scaling_changes_no_verdict(
    sample: tuple[Kernel, sympy.Expr], length: sympy.Expr, factor: sympy.Expr
) -> None:
    kernel, _ = sample
    assert existence(kernel.rescale(length) * factor).condition == existence(kernel).condition


# --- what is not decided --------------------------------------------------------------------


def test_what_cannot_be_shown_is_undecided_and_an_assumption_decides_it() -> None:
    rectified = radial("Abs(sin(z) + sin(sqrt(2)*z))/(1 + z)**3")
    verdict = existence(rectified, 3)
    assert verdict.status is Status.UNDECIDED
    assert "sin(z)" in verdict.reasons[0]
    with pytest.raises(UndecidedError, match="assume="):
        _ = verdict.measure
    stated = existence(rectified, 2, assume={"smoothness": 0.9})
    assert stated.status is Status.FINITE
    assert any("Assumed" in reason for reason in stated.reasons)
    assert existence(rectified, 3, assume={"smoothness": 0.9}).status is Status.UNDECIDED


@pytest.mark.parametrize(
    ("text", "plain"),
    by_turns(
        [
            ("Max(0, 1 - acos(u)/pi)", "1 - acos(u)/pi"),
            ("Abs(1 - acos(u)/pi)", "1 - acos(u)/pi"),
            ("Min(3, exp(u))", "exp(u)"),
        ],
        every=3,
    ),
)
@pytest.mark.parametrize("dim", [3, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 16))])
def test_kinks_that_are_not_reached_on_the_sphere_decide_nothing(text, plain, dim) -> None:
    found, other = (existence(zonal(t), dim).on_sphere(degree=6) for t in (text, plain))
    assert found.positive_definite is True
    assert found.status is other.status is Status.FINITE
    reached = existence(zonal(f"{plain} - Max(0, u)"), dim).on_sphere(degree=6)
    assert reached.positive_definite is not True


def test_a_callable_decides_nothing_of_itself() -> None:
    assert existence(lambda z: z, 3).status is Status.UNDECIDED
    everything = {"smoothness": 4, "decay": 1, "origin": 1}
    assert existence(lambda z: z, 8, assume=everything).status is Status.FINITE
    assert existence(lambda z: z, 9, assume=everything).status is Status.UNDECIDED


def test_a_callable_is_told_what_would_decide_it() -> None:
    undecided = existence(lambda z: z, 3)
    assert all(word in str(undecided) for word in ("radial(", "smoothness", "decay", "origin"))
    half = existence(lambda z: z, 3, assume={"decay": 1, "origin": 1})
    assert "smoothness" in half.reasons[0]


@pytest.mark.parametrize(
    ("kernel", "way_out"),
    [
        (catalogue["matern"], "call it first"),
        (catalogue["shift_gaussian"], "call it first"),
        (5, "radial"),
        (b"exp(-z)", "radial"),
    ],
)
def test_what_is_no_kernel_is_not_taken_for_a_callable(kernel: object, way_out: str) -> None:
    with pytest.raises(ParameterError, match=way_out):
        existence(kernel, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formula", "order"),
    [
        ("-sqrt(1 + z**2)", 1),
        ("-z**(1/3)", 1),
        ("-log(1 + z**2)", 1),
        ("-z**2", 1),  # |x - y|^2 = |x|^2 + |y|^2 - 2 x.y
        ("z**2*log(z)", 2),
        ("z**3", 2),
        ("z**4*log(z)", 3),
        ("-z**5", 3),
    ],
)
def test_growth_tells_the_order_of_conditional_definiteness(formula: str, order: int) -> None:
    verdict = existence(radial(formula))
    assert verdict.condition == sympy.false
    assert f"conditionally positive definite only of order {order} or more." in verdict.reasons[0]


def test_a_gap_does_not_hide_what_is_certain() -> None:
    bent_wave = radial("cos(z + sqrt(z))")
    assert existence(bent_wave, 1).status is Status.UNDECIDED
    assert existence(bent_wave, 2).status is Status.INFINITE


def test_a_verdict_is_no_truth_value() -> None:
    verdict = existence(radial("exp(-z)"), 2)
    with pytest.raises(SpectraError, match="FINITE"):
        bool(verdict)
    with pytest.raises(SpectraError, match=r"status"):
        bool(verdict.on_domain(1))
    with pytest.raises(SpectraError, match="INFINITE"):
        bool(existence(radial("z"), 2).status)


@pytest.mark.parametrize("dim", [0, -1, 1.5, True, "3"])
def test_a_dimension_is_a_positive_integer(dim: object) -> None:
    with pytest.raises(ParameterError):
        existence(radial("exp(-z)"), dim)  # type: ignore[arg-type]


def test_an_unknown_assumption_is_refused() -> None:
    with pytest.raises(ParameterError, match="smoothness"):
        existence(radial("exp(-z)"), 2, assume={"finite": 1})
    with pytest.raises(ParameterError, match="smoothness"):
        existence(radial("exp(-z)"), 2, assume=3)  # type: ignore[arg-type]


def test_infinite_mass_has_no_measure_and_the_error_names_the_way_out() -> None:
    with pytest.raises(InfiniteMassError, match="design"):
        spectral_measure(radial("(1 - z**2/4)**2", support=2), 16)
    with pytest.raises(ParameterError, match="dim"):
        _ = existence(radial("exp(-z)")).measure
    with pytest.raises(ParameterError, match="double precision"):
        spectral_measure(radial("1e-400*exp(-z)"), 3)  # a mass of 0 would be wrong


def test_a_verdict_prints_for_a_person_and_for_a_program() -> None:
    verdict = existence(radial("(1 - z**2/4)**2", support=2))
    text = str(verdict)
    assert "exactly for d < 5" in text
    assert "(2 - z)^2" in text
    data = json.loads(json.dumps(verdict.as_dict()))
    assert data["condition"] == "d < 5"
    assert data["deciding"]["exponent"] == "2"
    assert "has infinite mass in d = 3" in str(existence(radial("sin(z)"), 3))


# --- on the data's range --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "z_max", "largest"),
    [
        (catalogue["ntk"], None, 1),
        (catalogue["arc_cosine_0"], None, 1),
        (catalogue["arc_cosine_1"], None, 3),
        (catalogue["arc_cosine_2"], None, 5),
        (catalogue["ntk"], sympy.sqrt(2), ALL),
        (radial("(1 - z**2/4)**2", support=2), 2, ALL),
        (radial("1 - z**2/9", support=2), 2, ALL),
        (radial("1 - z**2/9", support=2), 3, 0),
        (radial("-sqrt(1 + z**2)"), 5, ALL),
        (radial("z**2*log(z)"), 5, ALL),
        (radial("cos(z)"), 7, ALL),
        (radial("1/sqrt(z)"), 1, 0),
        (radial("Abs(z - 1)*exp(-z)"), 1, ALL),
        (radial("Abs(z - 1)*exp(-z)"), 2, 2),
        (radial("(1 - z)**(3/2)", support=1), 1, 3),
        (radial("Abs(sin(z))*exp(-z)"), 5, 2),  # beyond it has infinitely many kinks more
    ],
)
def test_a_continuation_exists_exactly_where_theorem_b_allows(
    kernel: Kernel, z_max: object, largest: object
) -> None:
    verdict = existence(kernel).on_domain(z_max)  # type: ignore[arg-type]
    assert verdict.condition is not None, verdict.reasons
    assert _largest(verdict.condition) == largest


def test_a_radial_kernel_has_no_range_of_its_own() -> None:
    with pytest.raises(ParameterError, match="z_max"):
        existence(radial("exp(-z)"), 2).on_domain()


# --- positive definiteness ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "dim", "answer"),
    [
        ("exp(-z**2/2)", 16, True),
        ("exp(-z**(3/2))", 3, True),
        ("(1 + z**2)**(-1/3)", 7, True),
        ("(1 + sqrt(3)*z)*exp(-sqrt(3)*z)", 64, True),
        ("z**(1/3)*besselk(1/3, 2*z)", 5, True),
        ("exp(-z) + 1/(1 + z**2)", 3, True),
        ("exp(-z)/(1 + log(1 + z))", 3, True),
        ("exp(-z**2/2) - exp(-z**2/200)", 16, False),
        ("exp(-z**3)", 1, False),
        ("exp(-z)*(1 - z)", 4, False),
        ("-exp(-z)", 2, False),
        ("cos(z)", 2, False),
        ("1/sqrt(z)", 2, False),  # completely monotone, and unbounded at 0
    ],
)
def test_positive_definiteness_is_proved_or_refuted(
    formula: str, dim: int, answer: bool | None
) -> None:
    assert existence(radial(formula), dim).positive_definite.answer is answer


@pytest.mark.parametrize("delta", [1, 2, 3, 5])
def test_askey_functions_are_positive_definite_up_to_their_dimension(delta: int) -> None:
    kernel = radial("(1 - z)**delta", support=1, delta=delta)
    for dim in range(1, 12):
        answer = existence(kernel, dim).positive_definite.answer
        assert answer is (dim <= 2 * delta - 1), (dim, delta)


_EVERY = float("inf")


@pytest.mark.parametrize(
    ("kernel", "largest"),
    by_turns(
        [
            (radial("exp(-z)/(1 + z**2)"), _EVERY),
            (radial("(1 - z)**(5/2)", support=1), 4),
            (radial("3*(1 - z/7)**2", support=7), 3),
            (radial("sqrt(1 - z)", support=1), 0),
            (catalogue["wendland_31"](), 3),
            (catalogue["wendland_32"](), 3),
            (catalogue["wendland_33"](), 3),
            (radial("1 - 10*z**2 + 20*z**3 - 15*z**4 + 4*z**5", support=1), 3),
            (radial("(1 - z)**(9/2)*(9*z/2 + 1)", support=1), 4),
            (catalogue["bochner_riesz"](p=3), 0),
            (catalogue["arc_cosine_1"], 0),
            (catalogue["j_bessel"](m=6), 6),
            (radial("cos(3*z)"), 1),
            (radial("sin(2*z)/z"), 3),
            (radial("(sin(z) - z*cos(z))/z**3"), 5),
            (radial("exp(-z)*cos(3*z)"), 1),
            (radial("exp(-z)*cos(z)"), 2),
            (radial("exp(-sqrt(3)*z)*cos(z)"), 3),
            (radial("exp(-z)*cos(z/5)"), 7),
            (radial("-exp(-z)"), 0),
            (radial("-sqrt(1 + z**2)"), 0),
        ],
        every=2,
    ),
    ids=str,
)
def test_the_largest_dimension_of_positive_definiteness_is_the_known_one(
    kernel: Kernel, largest: float
) -> None:
    every = existence(kernel).positive_definite
    assert every.max_dim == largest, every.reason
    assert every.answer is (largest == _EVERY)
    for dim in DIMENSIONS:
        assert existence(kernel, dim).positive_definite.answer is (dim <= largest)


@pytest.mark.parametrize(
    ("kernel", "largest"),
    by_turns(
        [
            (radial("(1 - z)**2", support=1), 3),
            (radial("(1 - z)**4", support=1), 7),
            (catalogue["wendland_31"](), 3),
            (catalogue["wendland_33"](), 3),
        ],
        every=2,
    ),
    ids=str,
)
def test_the_spectrum_turns_negative_in_the_dimension_after_the_largest(
    kernel: Kernel, largest: int
) -> None:
    w = np.geomspace(1e-2, 1e5, 20_001)  # the negative lobes begin far out, at w = 2500 for one
    for dim in (largest, largest + 1):
        values = spectral_density(kernel, dim).density(w)
        assert bool(np.any(values < 0)) is (dim > largest), dim


@pytest.mark.parametrize(("a", "largest"), [(0.3, 1), (1.0, 2), (1.7, 2), (3**0.5, 3), (4.9, 7)])
def test_damped_cosines_are_positive_definite_up_to_their_dimension(a: float, largest: int) -> None:
    # The spectrum of exp(-sz) in R^d is a multiple of s (s^2 + w^2)^(-(d+1)/2), also for complex s.
    found = existence(radial("exp(-a*z)*cos(z)", a=sympy.nsimplify(a))).positive_definite
    assert found.max_dim == largest
    w = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 4000)])
    for dim in range(1, 12):
        spectrum = ((a + 1j) * ((a + 1j) ** 2 + w**2) ** (-(dim + 1) / 2)).real
        assert bool(np.any(spectrum < -1e-13 * np.max(spectrum))) is (dim > largest), dim


@pytest.mark.parametrize("name", ["arc_cosine_0", "arc_cosine_1", "ntk"])
def test_the_cut_off_sphere_kernels_are_not_positive_definite_on_rd(name: str) -> None:
    assert existence(catalogue[name], 1).positive_definite.answer is False


# --- the ladder of masses -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "dim", "growth"),
    [
        (radial("(1 - z**2/4)**2", support=2), 3, -1.0),
        (radial("(1 - z**2/4)**2", support=2), 5, 0.0),
        (radial("(1 - z**2/4)**2", support=2), 16, 5.5),
        (catalogue["ntk"], 3, 0.5),
        (radial("exp(-z)"), 3, -1.0),
        (radial("exp(-z**2/2) - exp(-z**2/200)"), 16, float("-inf")),
    ],
)
def test_the_masses_grow_as_predicted(kernel: Kernel, dim: int, growth: float) -> None:
    verdict: Verdict = existence(kernel, dim)
    ladder = verdict.ladder
    assert ladder.predicted == growth
    assert ladder.agrees is True
    assert verdict.confirmed() is verdict


# --- on the sphere --------------------------------------------------------------------------


def test_the_sphere_and_the_space_are_different_questions() -> None:
    verdict = existence(catalogue["ntk"], 3)
    assert verdict.status is Status.INFINITE
    on_sphere = verdict.on_sphere(degree=6)
    assert on_sphere.status is Status.FINITE
    assert on_sphere.positive_definite is True
    signed = existence(zonal("(1 - (2 - 2*u)/(36/25))**3"), 3).on_sphere(degree=6)
    assert signed.status is Status.FINITE
    assert signed.positive_definite is False


@pytest.mark.parametrize(
    ("kernel", "largest"),
    by_turns(
        [
            (zonal("Abs(u)"), 3),
            (zonal("sqrt(Abs(u - 1/2))"), 2),
            (zonal("Heaviside(u)"), 1),
            (radial("(1 - z)**2", support=1), 5),  # in R^d only for d < 5
            (
                radial("Abs(sin(4*z))*exp(-z)"),
                3,
            ),  # one zero is on the sphere, infinitely many beyond
            (zonal("exp(-acos(u)**2/2)"), ALL),  # a kink at the antipode, which is one point
            (zonal("sqrt(1 + u)"), ALL),
            (radial("sqrt(2 - z)*log(2 - z)", support=2), ALL),
            (radial("Max(0, 3 - z)/z"), 0),
        ],
        every=4,
    ),
    ids=str,
)
def test_the_sphere_allows_one_dimension_more_and_every_antipode(
    kernel: Kernel, largest: sympy.Expr | int
) -> None:
    every = existence(kernel)
    for dim in (3, 40) if largest is ALL else {max(largest, 2), max(largest + 1, 2)}:
        verdict = every.on_sphere(dim, degree=0)
        expected = Status.FINITE if dim <= largest else Status.INFINITE
        assert verdict.status is expected, (dim, verdict.reasons)
    assert verdict.condition is not None
    assert _largest(verdict.condition) == largest


@pytest.mark.parametrize("dim", by_turns([3, 5], every=2))
def test_the_gegenbauer_sum_grows_as_the_rule_says(dim: int) -> None:
    # |u| has s = 1 at z = sqrt(2): from n to 2n the sum of N |lambda_n| grows like n^((d-2)/2 - s).
    found = existence(zonal("Abs(u)")).on_sphere(dim, degree=32).coefficients
    assert found is not None
    shares = found.multiplicity * np.abs(found.values)
    first, second = np.sum(shares[9:17]), np.sum(shares[17:33])
    assert np.log2(second / first) == pytest.approx((dim - 2) / 2 - 1, abs=0.2)


@pytest.mark.slow
def test_a_slow_antipode_is_allowed_in_every_dimension() -> None:
    for dim in (2, 3, 16):
        slow = existence(radial("1/log(4/(2 - z))", support=2), dim).on_sphere(degree=2)
        assert slow.status is Status.FINITE, slow.reasons


def test_positive_definite_on_the_space_is_so_on_the_sphere() -> None:
    assert existence(radial("exp(-z)"), 3).on_sphere(degree=3).positive_definite is True
    assert existence(radial("(1 - z)**2", support=1)).on_sphere(3, degree=3).positive_definite
    assert existence(radial("cos(9*z)")).on_sphere(3, degree=3).positive_definite is False


def test_the_condition_knows_no_scale() -> None:
    for support in (1, 10**48, 10**80):
        kernel = radial(f"(1 - z**2/{support}**2)**2", support=support)
        assert existence(kernel).condition == (D < 5)
