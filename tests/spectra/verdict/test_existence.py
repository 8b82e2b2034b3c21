"""Verdicts agree with known answers, and a decision is never wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from spectra.errors import InfiniteMassError, ParameterError, SpectraError, UndecidedError
from spectra.kernels.catalogue import Family, catalogue
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.verdict import D, Status, existence, spectral_measure
from tests.oracles.kernels.generated_verdicts import GENERATED
from tests.oracles.kernels.verdicts import ALL, CASES, Case

DIMENSIONS = (1, 2, 3, 5, 7, 16, 64)


def _largest(condition: sympy.Basic) -> sympy.Expr:
    """The largest d that a condition allows."""
    if condition == sympy.true:
        return ALL
    allowed = [d for d in range(1, 200) if condition.subs(D, d) == sympy.true]
    assert allowed == list(range(1, len(allowed) + 1))
    return sympy.Integer(len(allowed))


# --- known answers --------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
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


def test_radii_that_agree_to_many_digits_do_not_cancel() -> None:
    near = sympy.Rational(str(sympy.pi.evalf(70)))
    kernel = radial("1 - z/pi", support=sympy.pi) - radial("1 - z/pi", support=near)
    assert existence(kernel, 3).status is not Status.FINITE


@pytest.mark.parametrize(
    ("text", "rounded", "exact"),
    [
        ("sqrt(2) - z", np.sqrt(2), "sqrt(2)"),
        ("cos(z)", np.pi / 2, "pi/2"),
        ("(1 + cos(z))/2", np.pi, "pi"),
        ("(1 - z/sqrt(3))**(3/2)", np.sqrt(3), "sqrt(3)"),
        ("log(3) - z", np.log(3), "log(3)"),
    ],
)
def test_a_support_that_is_a_zero_up_to_rounding_is_that_zero(text, rounded, exact) -> None:
    """Kernels on a rounded support have the verdict and the measure of those on the exact one."""
    found, truth = (existence(radial(text, support=s), 1) for s in (rounded, exact))
    assert truth.condition not in (None, sympy.false)
    assert (found.condition, found.positive_definite) == (truth.condition, truth.positive_definite)
    assert found.measure.mass == truth.measure.mass
    assert any(f"is rounded: the kernel is taken to end at z = {exact} with" in r
               for r in found.reasons)  # fmt: skip
    assert not any("rounded" in r for r in truth.reasons)


def test_a_support_near_a_zero_without_a_closed_form_ends_at_zero() -> None:
    verdict = existence(radial("besselj(0, z)", support=2.404825557695773))
    assert verdict.condition == (D < 3)
    assert "is rounded" in verdict.reasons[-1]


@pytest.mark.parametrize(
    ("text", "support", "size"),
    [("exp(-z**2/2)", 8.94427190999916, "4.24835E-18"), ("2 - z", 1, "1.00000")],
)
def test_a_jump_that_is_no_rounding_is_shown_by_its_size(text, support, size) -> None:
    verdict = existence(radial(text, support=support))
    assert verdict.condition == sympy.false
    assert f"the kernel has a jump of {size}; its spectrum" in verdict.reasons[0]


@pytest.mark.slow
def test_the_conditions_of_the_catalogue_agree_with_the_verdict() -> None:
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
            values = {n: v for n, v in entry.defaults.items() if not isinstance(v, tuple)} | chosen
            said = entry.finite_for(**values)
            verdict = existence(kernel)
            assert verdict.condition is not None, (name, verdict.reasons)
            for dim in DIMENSIONS:
                assert bool(said.subs(D, dim)) == (dim <= _largest(verdict.condition)), (name, dim)


# --- generated kernels ----------------------------------------------------------------------


@pytest.mark.slow
def test_no_decision_on_a_generated_kernel_is_wrong() -> None:
    decided: list[bool] = []

    @seed(1)
    @settings(
        max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(sample=GENERATED, dim=st.integers(1, 40))
    def theorem(sample: tuple[Kernel, sympy.Expr], dim: int) -> None:
        kernel, bound = sample
        verdict = existence(kernel, dim)
        decided.append(verdict.status is not Status.UNDECIDED)
        if decided[-1]:
            right = (verdict.status is Status.FINITE) == (dim < bound)
            assert right, (str(kernel), verdict.reasons)

    theorem()
    assert decided.count(False) <= 0.05 * len(decided)


# --- what is not decided --------------------------------------------------------------------


def test_an_undecided_kernel_is_decided_by_an_assumption() -> None:
    rectified = radial("Abs(sin(z) + sin(sqrt(2)*z))/(1 + z)**3")
    verdict = existence(rectified, 3)
    assert "sin(z)" in verdict.reasons[0]
    with pytest.raises(UndecidedError, match="assume="):
        _ = verdict.measure
    assumed = existence(rectified, 2, assume={"smoothness": 0.9})
    assert assumed.status is Status.FINITE
    assert any("Assumed" in reason for reason in assumed.reasons)


@pytest.mark.parametrize(
    "text", ["Abs(sin(z))*exp(-z)", "Abs(sin(z))**3/(1 + z)**(1/4)", "Heaviside(cos(z))*exp(-z)"]
)
def test_infinitely_many_kinks_under_a_weight_are_undecided(text: str) -> None:
    for dim in (1, 3):
        verdict = existence(text, dim)
        assert verdict.status is Status.UNDECIDED
        assert "infinitely many zeros" in verdict.reasons[0]
        assert "can be stated (assume)" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("kernel", "way_out"), [(catalogue["matern"], "call it first"), (lambda z: z, "radial")]
)
def test_objects_that_are_no_kernels_are_refused(kernel: object, way_out: str) -> None:
    with pytest.raises(ParameterError, match=way_out):
        existence(kernel, 3)  # type: ignore[arg-type]


def test_an_undecided_term_does_not_hide_an_infinite_mass() -> None:
    bent_wave = radial("cos(z + sqrt(z))")
    assert existence(bent_wave, 1).status is Status.UNDECIDED
    assert existence(bent_wave, 2).status is Status.INFINITE


def test_a_verdict_has_no_truth_value() -> None:
    verdict = existence(radial("exp(-z)"), 2)
    with pytest.raises(SpectraError, match="FINITE"):
        bool(verdict)
    with pytest.raises(SpectraError, match=r"status"):
        bool(verdict.on_domain(1))
    with pytest.raises(SpectraError, match="INFINITE"):
        bool(existence(radial("z"), 2).status)
    for question in (verdict, existence(radial("z"), 2)):
        with pytest.raises(SpectraError, match=r"\.answer"):
            bool(question.positive_definite)


@pytest.mark.parametrize("dim", [0, 1.5, True, "3"])
def test_a_dimension_is_a_positive_integer(dim: object) -> None:
    with pytest.raises(ParameterError):
        existence(radial("exp(-z)"), dim)  # type: ignore[arg-type]


def test_an_unknown_assumption_is_refused() -> None:
    with pytest.raises(ParameterError, match="smoothness"):
        existence(radial("exp(-z)"), 2, assume={"finite": 1})
    with pytest.raises(ParameterError, match="smoothness"):
        existence(radial("exp(-z)"), 2, assume=3)  # type: ignore[arg-type]


def test_the_error_of_an_infinite_mass_names_an_alternative() -> None:
    with pytest.raises(InfiniteMassError, match="design"):
        spectral_measure(radial("(1 - z**2/4)**2", support=2), 16)
    with pytest.raises(ParameterError, match="dim"):
        _ = existence(radial("exp(-z)")).measure
    with pytest.raises(ParameterError, match="z_max"):
        existence(radial("exp(-z)"), 2).on_domain()
    with pytest.raises(ParameterError, match="double precision"):
        spectral_measure(radial("1e-400*exp(-z)"), 3)  # a mass of 0 would be wrong


def test_a_verdict_has_a_text_and_a_json_form() -> None:
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
        (catalogue["ntk"], sympy.sqrt(2), ALL),
        (radial("(1 - z**2/4)**2", support=2), 2, ALL),
        (radial("1 - z**2/9", support=2), 2, ALL),
        (radial("1 - z**2/9", support=2), 3, 0),
        (radial("z**2*log(z)"), 5, ALL),
        (radial("cos(z)"), 7, ALL),
        (radial("1/sqrt(z)"), 1, 0),
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


# --- positive definiteness ------------------------------------------------------------------


_EVERY = float("inf")


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        (radial("exp(-z)/(1 + z**2)"), _EVERY),
        (radial("(1 - z)**(5/2)", support=1), 4),
        (catalogue["wendland_31"](), 3),
        (radial("(1 - z)**(9/2)*(9*z/2 + 1)", support=1), 4),
        (catalogue["bochner_riesz"](p=3), 0),
        (catalogue["arc_cosine_0"], 0),
        (catalogue["j_bessel"](m=6), 6),
        (radial("cos(3*z)"), 1),
        (radial("-sqrt(1 + z**2)"), 0),
        (radial("1/sqrt(z)"), 0),  # completely monotone, and unbounded at 0
        (catalogue["delta_gaussian"](), 0),
    ],
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


# --- on the sphere --------------------------------------------------------------------------


def test_the_sphere_and_the_space_are_different_questions() -> None:
    verdict = existence(catalogue["ntk"], 3)
    assert verdict.status is Status.INFINITE
    on_sphere = verdict.on_sphere(degree=3)
    assert on_sphere.status is Status.FINITE
    assert on_sphere.positive_definite is True


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        (zonal("Abs(u)"), 3),
        (zonal("Heaviside(u)"), 1),
        (radial("(1 - z)**2", support=1), 5),  # in R^d only for d < 5
        (zonal("sqrt(1 + u)"), ALL),  # a kink at the antipode, which is one point
        (radial("1/log(4/(2 - z))", support=2), ALL),
    ],
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
