"""Verdicts of shifted and tilted kernels and of their sums."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from spectra.errors import DataError, ParameterError
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue import catalogue
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


@pytest.mark.parametrize(
    ("kernel", "rate"),
    [
        (LAPLACE, 1),
        (radial("z**(1/4)*besselk(1/4, z)"), 1),  # z^(-1/4) exp(-z)
        (radial("exp(-z - sqrt(z))"), 1),
        (radial("exp(-3*z)*cos(z)"), 3),
    ],
    ids=str,
)
def test_a_tilt_needs_a_kernel_that_decays_faster(kernel: Kernel, rate: int) -> None:
    a, b = 3 * rate / 5, 4 * rate / 5  # |(a, b)| = rate, exactly as decimals
    weaker, equal, stronger = [a, b - 0.01], [a, b], [a, b + 0.01]
    assert existence(kernel.tilt(weaker)).status is Status.FINITE
    assert existence(kernel.tilt(equal)).status is Status.UNDECIDED
    assert existence(kernel.tilt(stronger)).status is Status.INFINITE
    # One number tilts every coordinate: |beta| = t sqrt(d), equal to the rate in d = 4.
    for dim, status in ((3, Status.FINITE), (4, Status.UNDECIDED), (5, Status.INFINITE)):
        assert existence(kernel.tilt(rate / 2), dim).status is status
    assert "in one dimension" in existence(kernel.tilt(rate / 2)).reasons[0]


def test_a_tilt_keeps_gaussians_and_edges_and_nothing_of_slow_decay() -> None:
    assert existence(GAUSSIAN.tilt(50)).condition == sympy.true
    assert existence(EDGE.tilt(50)).condition == existence(EDGE).condition
    for slow in ("exp(-sqrt(z))", "3 + exp(-z)", "sqrt(1 + z**2)", "cos(z)"):
        assert existence(radial(slow).tilt(1e-6)).status is Status.INFINITE
        assert existence(radial(slow).tilt(0)).status is existence(radial(slow)).status


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
    kernel: AsymmetricKernel, dim: int, status: Status
) -> None:
    assert existence(kernel, dim).status is status


def test_unproved_cases_are_undecided() -> None:
    slow = existence(radial("exp(-z)/log(2 + z)").tilt([1.0]))
    assert slow.status is Status.UNDECIDED
    assert "tilt" in slow.reasons[0]
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
