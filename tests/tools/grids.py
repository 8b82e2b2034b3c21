"""Cases of a grid that prove the same: some by default, more of them in the slow run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def by_turns(cases: Iterable[Any], *, every: int, first: int = 0) -> list[Any]:
    """One case of so many as a parameter; of the others some rounds are slow, the rest left out.

    Of a product of axes ``every`` is coprime to their lengths, so that the values of each go by
    turns.  Of the others every second round is asked, or every third if ``every`` is above 2.

    Examples
    --------
    >>> [case.values[0] for case in by_turns("abcd", every=2, first=1) if not case.marks]
    ['b', 'd']
    """
    found = []
    for turn, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        if turn % every == first:
            found.append(pytest.param(*values))
        elif turn // every % min(every, 3) == 0:
            found.append(pytest.param(*values, marks=pytest.mark.slow))
    return found


def low_and_high(dims: Collection[int], turn: int) -> tuple[int, int]:
    """Two of some dimensions, which go by turns: one of the lower half, one of the upper.

    Examples
    --------
    >>> [low_and_high((1, 2, 3, 7, 16, 64), turn) for turn in range(6)]
    [(1, 7), (2, 16), (3, 64), (7, 1), (16, 2), (64, 3)]
    """
    ordered = sorted(dims)
    first = turn % len(ordered)
    return ordered[first], ordered[(first + len(ordered) // 2) % len(ordered)]
