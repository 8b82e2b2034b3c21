"""The verdict against everything that is known: a decision is never wrong."""

from __future__ import annotations

import pytest
import sympy
from verdicts import ALL, CASES, Case

from spectra.catalogue import Family, catalogue
from spectra.errors import InfiniteMassError, ParameterError, SpectraError, UndecidedError
from spectra.existence import D, Status, existence
from spectra.kernel import radial, zonal

DIMENSIONS = (1, 2, 3, 5, 7, 16, 64)


def _largest(condition: sympy.Basic) -> sympy.Expr:
    """The largest d that a condition allows."""
    if condition == sympy.true:
        return ALL
    if condition == sympy.false:
        return sympy.Integer(0)
    allowed = [d for d in range(1, 200) if condition.subs(D, d) == sympy.true]
    assert allowed == list(range(1, len(allowed) + 1))
    return sympy.Integer(len(allowed))


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


def test_one_dimension_agrees_with_the_condition() -> None:
    for case in CASES[::4]:
        for dim in DIMENSIONS:
            verdict = existence(case.kernel, dim)
            expected = Status.FINITE if dim <= case.largest else Status.INFINITE
            assert verdict.status is expected, (case.name, dim, verdict.reasons)
