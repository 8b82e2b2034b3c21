"""Gaussians times cosines: the closed-form pair in d = 1 and 3, masses and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import spectra as sp
from spectra.density import spectral_density
from spectra.density.closed_pairs.gaussian import gaussian_wave
from spectra.density.closed_pairs.pair import make_pair
from spectra.errors import ParameterError

POSITIVE = st.fractions(min_value="1/1000", max_value=1000, max_denominator=1000)


def exact_radial(a: Any, b: Any, w: Any, dim: int) -> Any:
    """rho of exp(-a z^2) cos(b z), by normal laws; the slope by their derivative."""
    s = mp.sqrt(2 * a)
    if dim == 1:
        return mp.npdf(w, b, s) + mp.npdf(w, -b, s)
    return w / s**2 * ((w - b) * mp.npdf(w, b, s) + (w + b) * mp.npdf(w, -b, s))


@pytest.mark.parametrize("dim", [1, 3])
@settings(max_examples=40)
@given(a=POSITIVE, b=POSITIVE, share=st.floats(1e-3, 6.0))
def test_values_are_right_within_their_errors(dim, a, b, share):
    pair = make_pair(gaussian_wave, dim, sympy.Rational(a), sympy.Rational(b), sympy.Integer(-2))
    w = np.array([share * max(np.sqrt(2.0 * float(a)), float(b) / 3.0)], dtype=float)
    sign, log = pair.signed_log(w)
    bound = pair.relative_error(w) * np.exp(pair.log_envelope(w))
    with mp.workdps(40):
        true = -2 * exact_radial(sympy_to_mp(a), sympy_to_mp(b), mp.mpf(w[0]), dim)
        assert abs(sign[0] * mp.exp(mp.mpf(log[0])) - true) <= bound[0] + 1e-300
    bell = (w[0] - float(b)) ** 2 / (4.0 * float(a))
    # The radius is rounded, too.
    steep = w[0] * abs(w[0] - float(b)) / (2.0 * float(a))
    assert pair.relative_error(w)[0] <= 4e-15 * (10.0 + bell + steep)


def sympy_to_mp(value: Any) -> Any:
    return mp.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("b", ["1.1", "1.0000001"])
def test_a_sign_change_near_zero_is_found(b):
    """Where b^2 is a little above 2a terms of the size of b cancel, to 0 in doubles."""
    found = sp.spectral_measure(sp.radial(f"exp(-z**2/2)*cos({b}*z)"), 3).sign_changes()
    with mp.workdps(30):
        zero = mp.findroot(
            lambda w: w - mp.mpf(b) * mp.tanh(mp.mpf(b) * w),
            (found[0] * 0.99, found[0] * 1.01),
            solver="anderson",
        )
        assert abs(found[0] - zero) <= 1e-8


def test_even_dimensions_have_no_closed_pair():
    kernel = sp.radial("exp(-z**2/2)*cos(3*z)")
    assert spectral_density(kernel, 1).route == spectral_density(kernel, 3).route == "lookup"
    assert spectral_density(kernel, 5).route != "lookup"


def test_a_mixture_needs_as_many_of_each_parameter():
    with pytest.raises(ParameterError, match="frequencies"):
        sp.catalogue["spectral_mixture"](weights=[1, 2], frequencies=[1], lengths=[1, 1])
    plain = sp.catalogue["spectral_mixture"](weights=[2], frequencies=[0], lengths=[3])
    assert plain(1.5) == pytest.approx(2.0 * np.exp(-(0.5**2) / 2.0), rel=1e-15)
