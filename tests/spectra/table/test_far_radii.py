"""Quantiles of very small probabilities in the tail, against exact distributions."""

from __future__ import annotations

from functools import cache

import pytest
from mpmath import mp

import spectra as sp
from tests.oracles import exact_radii
from tests.oracles.exact_radii import EXACT
from tests.oracles.kernels.problems import PROBLEMS


@cache
def table_of(name, dim):
    return sp.tabulate(sp.spectral_measure(PROBLEMS[name].kernel, dim))


FAR = [1e-12, 1e-16, 6e-20]
FARTHER = [5e-20, 1e-30]


@pytest.mark.parametrize(
    ("name", "dim", "sign", "is_power"),
    [
        ("matern_0.1", 3, 1, True),
        ("laplace_difference", 3, -1, True),
        ("gaussian", 16, 1, False),
    ],
)
def test_quantiles_of_the_smallest_probabilities_are_accurate(
    monkeypatch, name, dim, sign, is_power
):
    """1 - F(isf(q)) is q, to the last power tail; a tail that falls faster gets no small radius."""
    monkeypatch.setattr(exact_radii, "DIGITS", 90)
    exact = EXACT[name, dim]()
    (part,) = (p for p in table_of(name, dim).parts if p.sign == sign)

    def beyond(q):
        (radius,) = part.law.isf([q])
        with mp.workdps(90):
            return float((1 - exact.part_below(sign, float(radius))) / mp.mpf(q))

    for q in FAR:
        assert abs(beyond(q) - 1.0) <= 1e-7, q
    for q in FARTHER:
        if is_power:
            assert abs(beyond(q) - 1.0) <= 1e-7, q
        else:
            assert beyond(q) <= 1.0 + 1e-7, q
    assert beyond(1e-30) > 0.99 or not is_power


@pytest.mark.parametrize("q", [1e-17, 1e-300])
def test_the_cauchy_law_is_right_to_its_smallest_probability(q):
    (part,) = table_of("laplace", 1).parts
    exact = float(1 / mp.tan(mp.pi * mp.mpf(q) / 2))
    assert abs(part.law.isf([q])[0] / exact - 1.0) <= 1e-7
