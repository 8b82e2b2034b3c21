"""No answer has become worse than the frozen one; ``frozen`` says what that means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracles.frozen import answer, frozen, worse

#: Seconds that the frozen answers of a sample took together.
BUDGET = {"density": 12.0, "masses": 6.0, "table": 6.0}


def lost(stage: str, name: str, dim: int) -> list[str]:
    """What the toolkit has lost against the frozen answer."""
    return worse(stage, frozen()[stage, name, dim], answer(stage, name, dim))


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


def test_worse_sees_a_moved_value_a_larger_error_and_a_refusal():
    then = {"plus": [1.5, 1e-9], "minus": [0.5, 1e-9]}
    assert not worse("masses", then, {"plus": [1.5 + 1e-9, 5e-9], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"plus": [1.5 + 1e-8, 5e-9], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"plus": [1.5, 5e-8], "minus": [0.5, 1e-13]})
    assert worse("masses", then, {"refused": "NoRouteError"})
    assert not worse("masses", {"refused": "NoRouteError"}, then)
    seen = {"dim": 1, "rho": [0.5] * 8, "error": [1e-16] * 8}
    promised = 1e-12 * 60.0 * 0.5 / 4.0  # of the largest w |rho|, at the sixth radius
    for error in (0.9 * promised, 1.1 * promised):
        found = worse("density", seen, seen | {"error": [*[1e-16] * 5, error, 1e-16, 1e-16]})
        assert bool(found) == (error > promised)
    assert worse("density", seen, seen | {"rho": [*[0.5] * 7, 0.5 + 1e-14]})
    for error, is_worse in ((9e-13, False), (2e-12, True)):
        then, now = ({"u_error": e, "mass_error": 0.0} for e in (1e-16, error))
        assert bool(worse("table", then, now)) == is_worse


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
    assert {key: lines for key, lines in told.items() if lines} == {}
