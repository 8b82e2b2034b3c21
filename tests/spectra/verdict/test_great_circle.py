"""Kernels of the great-circle distance: the table of the literature, signs and shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_legendre

import spectra as sp
from spectra.base.harmonics import gegenbauer_shares
from spectra.definiteness import proved_on_sphere
from spectra.errors import ParameterError
from spectra.kernels.great_circle import function_of_angle
from spectra.verdict.refuted_on_sphere import refute_on_sphere
from tests.oracles.gneiting import ROWS

CASES = [(text, p, length, known) for text, p, lengths, known in ROWS for length in lengths]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "parameters", "length", "known"), CASES)
def test_the_verdict_is_that_of_the_literature(text, parameters, length, known):
    kernel = sp.great_circle(text, length=length, **parameters)
    found = sp.existence(kernel, 3).on_sphere()
    assert found.positive_definite is known


@pytest.mark.parametrize(
    ("text", "parameters", "length", "known"),
    [c for c in CASES if c[0] in ("spherical", "askey", "1 - z", "1 - z/pi")],
)
def test_proof_and_refutation_are_those_of_the_literature(text, parameters, length, known):
    kernel = sp.great_circle(text, length=length, **parameters)
    assert (proved_on_sphere(kernel, 3) is not None) is (known is True)
    assert (refute_on_sphere(kernel, 3) is not None) is (known is False)


def test_the_values_are_those_of_the_angle():
    kernel = sp.great_circle("spherical", length=1000, radius=6371)
    x = np.random.default_rng(0).standard_normal((6, 3))
    x[1] = x[0] + 1e-3 * x[1]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = 12.742 * np.arcsin(np.linalg.norm(x[:, None] - x, axis=2) / 2)
    expected = np.where(z < 1, 1 - 1.5 * z + 0.5 * z**3, 0)
    assert np.abs(kernel.gram(x) - expected).max() < 1e-13
    assert (2 * kernel + sp.zonal("u")).zonal == 2 * kernel.zonal + sp.zonal("u").zonal


def test_what_is_no_formula_of_the_distance_is_refused():
    with pytest.raises(ParameterError, match="variable is z"):
        sp.great_circle("exp(u)")
    for wrong in (sp.zonal("u"), sp.radial(lambda z: np.exp(-z), origin=1, decay="exponential")):
        with pytest.raises(ParameterError, match="great_circle"):
            sp.great_circle(wrong)


@pytest.mark.parametrize(("text", "dim"), [("exp(-z**2)", 3), ("1/(1+z**2)", 6), ("1 - z**2", 4)])
def test_a_refuted_kernel_has_a_matrix_with_a_negative_eigenvalue(text, dim):
    support = 1 if text == "1 - z**2" else None
    kernel = sp.great_circle(text, support=support)
    refutation = refute_on_sphere(kernel, dim)
    assert refutation is not None
    shares, errors = gegenbauer_shares(function_of_angle(kernel), dim, 100, (1.0,))
    n = int(np.argmin(shares))
    assert shares[n] < -10 * errors[n]
    assert refutation.mass >= -shares[n] - errors[n]


@pytest.mark.slow
def test_the_negative_mass_of_a_short_gaussian_is_harmless():
    short = refute_on_sphere(sp.great_circle("exp(-z**2)", length=0.1), 3)
    assert short is not None
    assert short.mass < 1e-300
    assert "harmless in double precision" in short.reason
    reasons = sp.existence(sp.great_circle("exp(-z**2)"), 3).on_sphere().reasons
    assert "add up to -1.7e-05 k(1)" in reasons[0]


@pytest.mark.parametrize("kinks", [(), (1.0,)])
def test_the_shares_are_integrals(kinks):
    def function(angle):
        return np.maximum(1 - angle, 0) ** 2 if kinks else np.exp(-np.sqrt(angle))

    shares, errors = gegenbauer_shares(function, 3, 40, kinks)
    for n in (0, 7, 40):
        exact = quad(
            lambda t, n=n: (
                2 * t * function(t * t) * eval_legendre(n, np.cos(t * t)) * np.sin(t * t)
            ),
            0,
            np.pi**0.5,
            epsabs=1e-14,
            limit=400,
            points=[1.0],
        )[0]
        assert abs(shares[n] - (n + 0.5) * exact) < errors[n] + 1e-12
