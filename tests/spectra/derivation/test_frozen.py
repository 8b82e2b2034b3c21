"""No answer has become worse than the frozen one; ``frozen`` says what that means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spectra.errors import SpectraError
from tests.oracles.frozen import ask, frozen, worse

#: Answers of a sample that are worse than the frozen ones, each with the reason; no others are.
WORSE = {
    ("density", "sinh(z)*exp(-2*z)/z", 1): "At w = 60, where the density has fallen to 1e-3 of its "
    "size, it is 3.53e-4 +- 2e-16 where it was +- 2e-17: the error that is stated is that of "
    "doubles beside the whole density, and the answer itself is the exact one to the last digit.",
    ("table", "spherical_polynomial_2_2", 1): "The tail of its smaller part, of mass 0.035, is a "
    "sum of waves, which errs by 4e-14 of that probability; tables promise 1e-12.",
    ("table", "spherical_polynomial_2_3", 1): "Its smaller part, of mass 0.015, is known to 5e-16 "
    "beside one of mass 1, which k(0) cannot tell more closely: that is 4e-14 of its probability.",
}

#: Seconds that the frozen answers of a sample took together.
BUDGET = {"density": 12.0, "masses": 6.0, "table": 6.0}


def lost(stage: str, name: str, dim: int) -> list[str]:
    """What the toolkit has lost against the frozen answer."""
    try:
        now = ask(name, dim, stage)
    except SpectraError as error:
        now = {"refused": type(error).__name__, "reason": str(error)}
    return worse(stage, frozen()[stage, name, dim], now)


def sample(stage: str) -> Iterator[tuple[str, int]]:
    """Kernels and dimensions whose answers were quick, spread over all of them by their names."""
    left = BUDGET[stage]
    longest = left / 15
    served = [
        (name, dim, entry["seconds"])
        for (at, name, dim), entry in frozen().items()
        if at == stage and "refused" not in entry and entry["seconds"] <= longest
    ]
    for name, dim, seconds in sorted(served, key=lambda s: (sum(map(ord, s[0])) * s[1]) % 101):
        left -= seconds
        if left < 0:
            return
        yield name, dim


def test_the_frozen_file_is_whole():
    stages = {stage for stage, _, _ in frozen()}
    assert stages == {"verdict", "density", "masses", "table"}
    assert len({name for _, name, _ in frozen()}) > 150


def test_a_zero_with_the_smallest_error_is_no_loss():
    then = {"plus": [0.0, 0.0], "minus": [0.0, 0.0]}
    assert not worse("masses", then, {"plus": [0.0, 2.23e-308], "minus": [0.0, 0.0]})
    assert worse("masses", then, {"plus": [0.0, 1e-307], "minus": [0.0, 0.0]})


def test_worse_sees_a_moved_value_a_larger_error_and_a_refusal():
    then = {"plus": [1.5, 1e-12], "minus": [0.5, 1e-12]}
    assert not worse("masses", then, {"plus": [1.5 + 1e-12, 5e-12], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"plus": [1.5 + 1e-11, 5e-12], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"plus": [1.5, 5e-11], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"refused": "NoRouteError"})
    far = [1e-90, *[0.5] * 7]
    seen = {"dim": 1, "rho": far, "error": [2e-90, *[1e-16] * 7]}
    assert not worse("density", seen, seen | {"error": [1e-80, *[1e-16] * 7]})
    assert worse("density", seen, seen | {"error": [1e-50, *[1e-16] * 7]})
    assert worse("density", seen | {"error": [1e-96] * 8}, seen | {"error": [1e-80] * 8})
    assert not worse("masses", {"refused": "NoRouteError"}, then)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("dim", [1, 3, 16, 64])
def test_no_verdict_is_lost(dim):
    names = [name for stage, name, d in frozen() if stage == "verdict" and d == dim]
    assert {name: told for name in names if (told := lost("verdict", name, dim))} == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("stage", BUDGET)
def test_no_answer_of_a_sample_is_worse(stage):
    told = {(stage, name, dim): lost(stage, name, dim) for name, dim in sample(stage)}
    assert len(told) >= 15
    assert {key: lines for key, lines in told.items() if lines and key not in WORSE} == {}


def test_what_is_known_to_be_worse_is_in_a_sample():
    asked = {(stage, name, dim) for stage in BUDGET for name, dim in sample(stage)}
    assert set(WORSE) <= asked
