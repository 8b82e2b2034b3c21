"""Kernels of deep networks: compositions of arc-cosine and tangent kernels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from scipy.special import eval_gegenbauer

from spectra.kernels.kernel import zonal
from spectra.verdict import D, Status, existence
from spectra.verdict.sphere_coefficients import sphere_coefficients


def step(c: object) -> object:
    """A layer of steps, of the cosine c below it."""
    return 1 - np.arccos(np.clip(c, -1, 1)) / np.pi


def rectifier(c: object) -> object:
    """A layer of rectifiers."""
    c = np.clip(c, -1, 1)
    return (c * (np.pi - np.arccos(c)) + np.sqrt(1 - c**2)) / np.pi


STEP = "(1 - acos({0})/pi)"
RECTIFIER = "((({0})*(pi - acos({0})) + sqrt(1 - ({0})**2))/pi)"
LAYER = RECTIFIER.format("u")
#: The neural tangent kernels of one layer and of two.
TANGENT = f"(u*{STEP.format('u')} + {LAYER})"
TANGENT_2 = f"({TANGENT}*{STEP.format(LAYER)} + {RECTIFIER.format(LAYER)})"


def tangent_2(u: float) -> float:
    one = u * step(u) + rectifier(u)
    return one * step(rectifier(u)) + rectifier(rectifier(u))


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (RECTIFIER.format(STEP.format("u")), lambda u: rectifier(step(u))),
        pytest.param(TANGENT_2, tangent_2, marks=pytest.mark.slow),
    ],
    ids=["rectifiers on steps", "tangent"],
)
def test_the_coefficients_of_a_network_agree_with_another_quadrature(text, function) -> None:
    dim = 5
    found = sphere_coefficients(zonal(text), dim, degree=1)
    assert found.nonnegative is True
    norm = quad(lambda t: np.sin(t) ** (dim - 2), 0, np.pi, epsabs=1e-14)[0]
    for n in range(2):

        def integrand(t: float, n: int = n) -> float:
            p = eval_gegenbauer(n, dim / 2 - 1, np.cos(t)) / eval_gegenbauer(n, dim / 2 - 1, 1.0)
            return function(np.cos(t)) * p * np.sin(t) ** (dim - 2)

        exact = quad(integrand, 0, np.pi, epsabs=1e-13, limit=400)[0] / norm
        assert abs(found.values[n] - exact) < found.error[n] + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("text", [STEP.format(STEP.format("u")), TANGENT_2])
def test_a_network_is_positive_definite_on_every_sphere_and_bounded_by_its_end(text) -> None:
    """The end of a step is like (2 - z)^(1/2), so that some continuation is finite in d = 1."""
    verdict = existence(zonal(text))
    for dim in (2, 16):
        on_sphere = verdict.on_sphere(dim, degree=1)
        assert on_sphere.status is Status.FINITE
        assert on_sphere.positive_definite is True
    assert verdict.on_domain().condition == (D < 2)
    assert verdict.on_domain(sympy.sqrt(2)).condition == sympy.true
    assert verdict.condition == sympy.false  # cut off at z = 2, where it is not zero
