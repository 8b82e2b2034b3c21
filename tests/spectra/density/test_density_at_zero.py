"""The density at w = 0: the integral of the kernel over R^d."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from spectra.density import spectral_density
from spectra.errors import AccuracyError, ParameterError


def integral(function, dim: int) -> float:
    """(2 pi)^-d times the integral of a radial function over R^dim."""
    area = 2 * mp.pi ** (mp.mpf(dim) / 2) / mp.gamma(mp.mpf(dim) / 2)
    edges = [0, 1, 3, 10, 30, 100, 1e3, 1e5, 1e8, mp.inf]
    return float(area * mp.quad(lambda z: function(z) * z ** (dim - 1), edges) / (2 * mp.pi) ** dim)


@pytest.mark.parametrize(
    ("text", "function", "dim", "tolerance"),
    [
        ("exp(-z) - exp(-z**2)/5", lambda z: mp.exp(-z) - mp.exp(-z * z) / 5, 2, 1e-12),
        ("exp(-z**2)", lambda z: mp.exp(-z * z), 300, 1e-10),
        ("1/cosh(z)", mp.sech, 3, 1e-8),
        ("1/cosh(z)", mp.sech, 8, 1e-6),
        ("exp(-z**3)", lambda z: mp.exp(-(z**3)), 2, 1e-8),
        ("1/(1+z)**4", lambda z: (1 + z) ** -4, 3, 5e-3),
        ("1/(1+z**2)", lambda z: 1 / (1 + z * z), 1, 1e-6),
    ],
)
def test_the_density_at_zero_is_the_integral_of_the_kernel(text, function, dim, tolerance):
    density = spectral_density(text, dim)
    assert density(0.0) == pytest.approx(integral(function, dim), rel=tolerance)
    w = np.array([[0.0, 0.7], [2.0, 0.0]])
    values = density(w)
    assert values[0, 0] == values[1, 1] == density(0.0)
    assert values[0, 1] == density.density(0.7)


@pytest.mark.parametrize(
    ("text", "dim", "limit"),
    [
        ("1/(1+z)", 3, np.inf),
        ("1/(1+z)", 1, np.inf),  # a logarithm
        ("sin(z)**2/z**2", 2, np.inf),  # a logarithm, too
        ("-1/(1+z**2)", 3, -np.inf),
        ("(1-z**2)*exp(-z**2/2)", 1, 0.0),
        ("cos(z)", 1, 0.0),  # an atom alone
    ],
)
def test_the_limit_at_zero_may_be_infinite_or_zero(text, dim, limit):
    assert spectral_density(text, dim)(0.0) == pytest.approx(limit, abs=1e-30)


def test_values_without_digits_at_zero_are_refused():
    for text, dim in (("1/cosh(z)", 16), ("1/(1+z)**(13/4)", 3)):
        with pytest.raises(AccuracyError, match="at w = 0 is lost in its errors"):
            spectral_density(text, dim)(0.0)
    with pytest.raises(ParameterError, match="radius -1"):
        spectral_density("exp(-z)", 2)(-1.0)
