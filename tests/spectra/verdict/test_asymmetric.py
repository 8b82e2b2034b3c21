"""Verdicts of shifted and tilted kernels and of their sums."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from spectra.errors import DataError, ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel, radial
from spectra.verdict import Status, existence

GAUSSIAN = radial("exp(-z**2/2)")
LAPLACE = radial("exp(-z)")
EDGE = radial("(1 - z)**2", support=1)
BOX = radial("1", support=1)


@pytest.mark.parametrize("kernel", [GAUSSIAN, EDGE, catalogue["ntk"].rescale(1), radial("cos(z)")])
def test_a_shift_keeps_the_verdict(kernel: Kernel) -> None:
    alone = existence(kernel)
    assert existence(kernel.shift(0.7)).condition == alone.condition
    for dim in (1, 3):
        expected = existence(kernel, dim).status
        assert existence(kernel.shift(np.linspace(0.1, 1, dim)), dim).status is expected


def test_a_tilt_keeps_gaussians_and_edges_and_leaves_others_open() -> None:
    assert existence(GAUSSIAN.tilt(50)).condition == sympy.true
    assert existence(EDGE.tilt(50)).condition == existence(EDGE).condition
    for other in (LAPLACE, radial("exp(-z**3)"), radial("3 + exp(-z**2)"), radial("cos(z)")):
        assert existence(other.tilt(1e-6)).status is Status.UNDECIDED
        assert existence(other.tilt(0)).status is existence(other).status


@pytest.mark.parametrize(
    ("kernel", "dim", "status"),
    [
        (GAUSSIAN.tilt(1) - LAPLACE.shift(2), 16, Status.FINITE),
        (EDGE.shift(1) + GAUSSIAN.tilt(1), 16, Status.INFINITE),
        # Several summands of infinite mass may cancel: not decided.
        (EDGE.shift(1) + EDGE.shift(-1), 16, Status.UNDECIDED),
        (EDGE.shift(1) + EDGE.shift(-1), 4, Status.FINITE),
        # 1 - z - (1 - z^2)/2 = (1 - z)^2/2: the edges cancel to a weaker one, for d < 5.
        (radial("1 - z", support=1).shift(1) - 0.5 * radial("1 - z**2", support=1).shift(1), 4,
         Status.FINITE),
        # Almost everywhere zero.
        (BOX.shift(1) + BOX.shift(-1) - BOX.rescale(2), 1, Status.UNDECIDED),
        # Bounded, with another limit in each direction: not decided.
        (radial("sqrt(1 + z**2)").shift(1) - radial("sqrt(1 + z**2)"), 3, Status.UNDECIDED),
    ],
    ids=str,
)  # fmt: skip
def test_a_sum_is_decided_where_no_cancellation_could_change_it(
    kernel: CompositeKernel, dim: int, status: Status
) -> None:
    assert existence(kernel, dim).status is status


def test_unproved_cases_are_undecided() -> None:
    assert "tilt" in existence(LAPLACE.tilt([0.1])).reasons[0]
    rectified = radial("Abs(sin(z) + sin(sqrt(2)*z))/(1 + z)**3").shift(1)
    assert existence(rectified, 2, assume={"smoothness": 0.9}).status is Status.FINITE


def test_vectors_fix_the_dimension_and_radial_questions_are_refused() -> None:
    verdict = existence(GAUSSIAN.shift([1.0, 2.0]))
    assert verdict.dim == 2
    assert verdict.positive_definite.answer is False
    with pytest.raises(DataError, match="2 coordinates"):
        existence(GAUSSIAN.shift([1.0, 2.0]), 3)
    for question in (lambda: verdict.measure, lambda: verdict.on_domain(1), verdict.on_sphere):
        with pytest.raises(ParameterError, match="x - y"):
            question()
