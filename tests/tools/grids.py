"""How much of a grid of cases is asked: a line by default, more of it in the slow run, or all.

Where the cases of a product prove the same of the same lines, each value of each axis is met, in
combinations that go by turns, and the edges with them.  The rest is asked where the environment has
SPECTRA_WHOLE_GRID.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

WHOLE_GRID = "SPECTRA_WHOLE_GRID" in os.environ


def graded(
    cases: Iterable[tuple[Any, ...]],
    *,
    default: Collection[tuple[Any, ...]] = (),
    slow: Collection[tuple[Any, ...]] = (),
) -> list[Any]:
    """The cases as parameters: those of the default run, those of the slow run, and the others.

    Examples
    --------
    >>> [case.values for case in graded([(1,), (2,), (3,)], default=[(1,)], slow=[(3,)])]
    [(1,), (3,)]
    """
    return [
        pytest.param(*case, marks=() if case in default else pytest.mark.slow)
        for case in cases
        if case in default or case in slow or WHOLE_GRID
    ]


def by_turns(
    cases: Iterable[Any], *, every: int = 1, first: int = 0, dear: Collection[Any] = ()
) -> list[Any]:
    """Cases that prove the same as parameters: one of so many by default, the others slow.

    Of a product of axes ``every`` is coprime to their lengths, so that the values of each go by
    turns.  Of the others every second round is asked in the slow run, every third where it is three
    or more, and the rest is left to the whole grid.
    Cases that are marked slow already stay so, and do not count; those that are ``dear`` are slow
    whatever their turn.

    Examples
    --------
    >>> [case.values[0] for case in by_turns("abcd", every=2, first=1) if not case.marks]
    ['b', 'd']
    >>> [case.values[0] for case in by_turns("abcd", dear="c") if not case.marks]
    ['a', 'b', 'd']
    """
    found, turn = [], 0
    for case in cases:
        if hasattr(case, "marks"):
            values, marks, name = case.values, case.marks, case.id
        else:
            values, marks, name = case if isinstance(case, tuple) else (case,), (), None
        if not marks:
            is_asked = (
                turn % every == first and (values if len(values) > 1 else values[0]) not in dear
            )
            marks = () if is_asked else (pytest.mark.slow,)
            is_kept = is_asked or WHOLE_GRID or turn // every % min(every, 3) == 0
            turn += 1
            if not is_kept:
                continue
        found.append(pytest.param(*values, marks=marks, id=name))
    return found


def but_for_dear(cases: Iterable[Any], *names: str) -> list[Any]:
    """The cases, without those that are dear unless the whole grid is asked; by their names.

    Examples
    --------
    >>> [c.id for c in but_for_dear([pytest.param(1, id="a"), pytest.param(2, id="b")], "b")]
    ['a']
    """
    return [case for case in cases if WHOLE_GRID or case.id not in names]


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
