"""Every question on every formula of the tests has its answer or its refusal within the limit.

What is late is late by tens of seconds of the thread's own time: one call of a compiled library or
one number of a billion digits that nothing stops.  A loaded machine cannot make a question late.
"""

from __future__ import annotations

import contextlib
import gc
import time
import zlib
from functools import cache

import frozen
import numpy as np
import pytest
from grids import WHOLE_GRID, by_turns
from test_time_limit import HEAVY, LATE

import spectra as sp
from spectra.base.limits import time_limit as steps
from spectra.errors import SpectraError

#: A limit under which most questions are refused that are refused under any.
SHORT = 0.25
#: One question in so many is asked under the limit that holds where nothing is said.
SHARE = 11 if WHOLE_GRID else 66
DIMS = (1, 3, 16)
#: Formulas that took long, or that no rule reads, beside those of the other tables.
LISTED = {
    **HEAVY,
    "a root of a root of a root": "exp(-sqrt(1+sqrt(1+sqrt(1+z))))",
    "a power of a logarithm": "1/log(2+z)",
    "a logarithm of a logarithm": "1/(1+log(1+log(2+z)))",
    "a removable point": "(z-1)**4*log(Abs(z-1))*exp(-z)",
    "a fractional power beside a corner": "exp(-z)/(1+Abs(z-2)**(5/2)+Abs(z-1))",
    "corners without end": "Abs(sin(z))/(1+z)**3",
    "a chirp": "cos(z**3)/(1+z)**5",
    "an exponential of an exponential": "exp(-exp(z))",
    "a reciprocal of Gamma": "1/gamma(1+z)",
    "radii that agree": "Max(0,1-z/log(6))-Max(0,1-z/(log(2)+log(3)))",
    "a Bessel wave with corners": "Abs(besselj(0,z))*exp(-z)",
    "two lengths that nearly agree": "exp(-z**2/2)-exp(-z**2/(2*(1+10**(-12))))",
}


@pytest.fixture(autouse=True)
def no_callbacks_of_the_collector():
    """Hypothesis counts the collector's time, and would swallow a signal that comes meanwhile."""
    kept = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = kept


def existence(kernel, dim):
    sp.existence(kernel, dim=dim)


def definiteness(kernel, dim):
    sp.existence(kernel, dim=dim).positive_definite  # noqa: B018  (the question)


def density(kernel, dim):
    sp.spectral_density(kernel, dim).radial(frozen.RADII * np.sqrt(dim))


def mass(kernel, dim):
    sp.existence(kernel, dim=dim).measure.mass  # noqa: B018  (the question)


QUESTIONS = {
    "existence": (existence, 1),
    "definiteness": (definiteness, 2),
    "density": (density, 2),
    "mass": (mass, 3),
}


def names():
    return [*frozen.names(), *LISTED]


@cache
def kernel(name):
    """The kernel of a name, or None where reading refuses the text."""
    if name not in LISTED:
        return frozen.kernel(name)
    try:
        return sp.radial(LISTED[name])
    except SpectraError:
        return None


def late(question, cases, seconds):
    """What took longer than its steps may, by name and dimension, with its seconds."""
    ask, most_steps = QUESTIONS[question]
    found = {}
    with sp.time_limit(seconds):
        for name, dim in cases:
            k = kernel(name)
            if k is None:
                continue
            begin = time.thread_time()
            with contextlib.suppress(SpectraError):  # a refusal is an answer
                ask(k, dim)
            spent = time.thread_time() - begin
            if spent > most_steps * seconds + LATE:
                found[name, dim] = round(spent, 2)
    return found


def spread(question, name, dim=""):
    """A number that spreads the cases, the same in every run."""
    return zlib.crc32(f"{question} {name} {dim}".encode())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_on_every_formula_ends_soon_after_a_short_limit(question):
    """Each in one dimension, which go by turns; of the dear questions each is asked one, or all."""
    dear = [q for q in QUESTIONS if q != "existence"]
    cases = [
        (name, DIMS[spread(question, name) % len(DIMS)])
        for name in names()
        if WHOLE_GRID or question == "existence" or question == dear[spread("", name) % len(dear)]
    ]
    assert len({dim for _, dim in cases}) == len(DIMS)
    assert late(question, cases, SHORT) == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_sample_of_the_questions_ends_within_the_limit_of_a_step(question):
    every = [(name, dim) for name in names() for dim in DIMS]
    cases = [case for case in every if spread(question, *case) % SHARE == 1]
    assert len(cases) > 550 / SHARE
    assert late(question, cases, steps.DEFAULT) == {}


@pytest.mark.parametrize(
    "text", by_turns([pytest.param(text, id=name) for name, text in HEAVY.items()], every=5)
)
def test_verdicts_take_seconds_whatever_the_text(text):
    """A tower of exponentials had numbers of a billion digits, in one call that nothing stops."""
    k = next((kernel(name) for name, t in HEAVY.items() if t == text), None)
    if k is None:
        pytest.skip("reading refuses it, with its reason")
    for ask in (existence, definiteness):
        begin = time.thread_time()
        with sp.time_limit(1.0), contextlib.suppress(SpectraError):
            ask(k, 3)
        assert time.thread_time() - begin < 2.0 + LATE  # two steps
