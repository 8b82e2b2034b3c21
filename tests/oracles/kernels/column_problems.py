"""Kernels of columns with known answers: of groups, of periods, of the l1 distance.

The twin of ``problems.py`` for kernels that are no function of one Euclidean distance.  What is
stated is from closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import spectra as sp

__all__ = ["COLUMN_PROBLEMS", "ColumnProblem"]


@dataclass(frozen=True)
class ColumnProblem:
    """A kernel of differences in some dimension, and what is known of it.

    ``formula`` gives k(D) at differences of shape (n, dim) with numpy alone; ``mass`` is the sum of
    the masses of the parts of its table, None if it is not known.
    """

    id: str
    build: Callable[[], Any]
    dim: int
    formula: Callable[[Any], Any]
    positive_definite: bool
    mass: float | None = None
    slow: bool = False

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return self.build()


def _listed() -> list[ColumnProblem]:

    def gauss() -> sp.Kernel:
        return sp.radial("exp(-z**2/2)")

    def laplace() -> sp.Kernel:
        return sp.radial("exp(-z)")

    def season() -> sp.Kernel:
        return sp.radial("exp(cos(z) - 1)")

    def l1(D: Any) -> Any:
        return np.abs(D).sum(axis=-1)

    def square(D: Any) -> Any:
        return (D**2).sum(axis=-1)

    return [
        ColumnProblem(
            "product",
            lambda: gauss().on([0, 1]) * laplace().rescale(2).on([2]),
            3,
            lambda D: np.exp(-square(D[:, :2]) / 2 - np.abs(D[:, 2]) / 2),
            True,
            1.0,
        ),
        ColumnProblem(
            "signed sum",
            lambda: gauss().on([0, 1]) - 0.5 * laplace().on([2]) + 0.25,
            3,
            lambda D: np.exp(-square(D[:, :2]) / 2) - np.exp(-np.abs(D[:, 2])) / 2 + 0.25,
            False,
            1.75,
        ),
        ColumnProblem(
            "season that fades",
            lambda: season().on([0]) * gauss().rescale(9).on([0]) + 0.5 * gauss().on([1]),
            2,
            lambda D: (
                np.exp(np.cos(D[:, 0]) - 1 - D[:, 0] ** 2 / 162) + np.exp(-(D[:, 1] ** 2) / 2) / 2
            ),
            True,
            1.5,
        ),
        ColumnProblem(
            "season of signs",
            lambda: sp.radial("exp(-cos(z))").on([1]) * laplace().on([0]),
            2,
            lambda D: np.exp(-np.cos(D[:, 1]) - np.abs(D[:, 0])),
            False,
            np.e,
        ),
        ColumnProblem(
            "l1 exponentials", lambda: sp.l1("exp(-z)"), 7, lambda D: np.exp(-l1(D)), True, 1.0
        ),
    ]


COLUMN_PROBLEMS = {problem.id: problem for problem in _listed()}
