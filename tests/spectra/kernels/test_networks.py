"""Kernels of deep networks: compositions of arc-cosine and tangent kernels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from scipy.special import eval_gegenbauer

from spectra.kernels.kernel import radial, zonal
from spectra.verdict import D, Status, existence
from spectra.verdict.regions.sphere_coefficients import sphere_coefficients


def step(c: object) -> object:
    """A layer of steps, of the cosine c below it."""
    return 1 - np.arccos(np.clip(c, -1, 1)) / np.pi


def rectifier(c: object) -> object:
    """A layer of rectifiers."""
    c = np.clip(c, -1, 1)
    return (c * (np.pi - np.arccos(c)) + np.sqrt(1 - c**2)) / np.pi


def step_text(c: str) -> str:
    return f"(1 - acos({c})/pi)"


def rectifier_text(c: str) -> str:
    return f"((({c})*(pi - acos({c})) + sqrt(1 - ({c})**2))/pi)"


def tangent(layers: int) -> tuple[str, object]:
    """The neural tangent kernel as text, and as a function of numbers."""
    text = cosine = "u"
    for _ in range(layers):
        text = f"({text}*{step_text(cosine)} + {rectifier_text(cosine)})"
        cosine = rectifier_text(cosine)

    def function(u: float) -> float:
        value = c = u
        for _ in range(layers):
            value, c = value * step(c) + rectifier(c), rectifier(c)
        return value

    return text, function


#: Text, function, and the largest d in which some continuation beyond z = 2 has finite mass: the
#: end of the step is like (2 - z)^(1/2), that of the rectifier like (2 - z)^(3/2).
NETWORKS = {
    "steps on steps": (step_text(step_text("u")), lambda u: step(step(u)), 1),
    "rectifiers on steps": (rectifier_text(step_text("u")), lambda u: rectifier(step(u)), 1),
    "two rectifiers": (rectifier_text(rectifier_text("u")), lambda u: rectifier(rectifier(u)), 3),
    "tangent, 2": (*tangent(2), 1),
}


@pytest.mark.parametrize(
    "name",
    ["rectifiers on steps", pytest.param("tangent, 2", marks=pytest.mark.slow)],
)
def test_the_coefficients_of_a_network_agree_with_another_quadrature(name: str) -> None:
    text, function, _ = NETWORKS[name]
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
@pytest.mark.parametrize("name", ["steps on steps", "tangent, 2"])
def test_a_network_is_positive_definite_on_every_sphere_and_bounded_by_its_end(name: str) -> None:
    text, _, largest = NETWORKS[name]
    verdict = existence(zonal(text))
    for dim in (2, 16) if "tangent" in name else (16,):
        on_sphere = verdict.on_sphere(dim, degree=1)
        assert on_sphere.status is Status.FINITE
        assert on_sphere.positive_definite is True
    assert verdict.on_domain().condition == (largest + 1 > D)
    assert verdict.on_domain(sympy.sqrt(2)).condition == sympy.true
    assert verdict.condition == sympy.false  # cut off at z = 2, where it is not zero


@pytest.mark.slow
def test_a_network_of_a_positive_definite_kernel_is_one_on_the_whole_space() -> None:
    verdict = existence(radial(rectifier_text("exp(-z)")))
    assert verdict.condition == sympy.true
    assert verdict.positive_definite.max_dim == float("inf")
