"""Long work shows a line on a terminal; short work, and work without a terminal, shows nothing."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import spectra as sp
from rf.sampling import designed_directions
from spectra.base import limits as room
from spectra.base.limits import stage

KERNEL = "exp(-z**2/2) - exp(-z**2/8)/2"
# Much longer than any line takes to appear, so that no test waits for it in vain.
LONG = 20.0


class Terminal(io.StringIO):
    """A stderr that says when something is written to it."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        done = super().write(text)
        self.written.set()
        return done


@pytest.fixture
def terminal(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(room, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.delenv("SPECTRA_PROGRESS", raising=False)
    return shown


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(room, "PATIENCE", 0.0)


def is_wiped(text):
    """What is left of the line is blank."""
    return text.endswith("\r") and not text.split("\r")[-2].strip()


def see_the_present_line(terminal):
    """Wait for two lines: the first may have been under way when the present stage began."""
    for _ in range(2):
        terminal.written.clear()
        assert terminal.written.wait(LONG)


def test_the_innermost_stage_is_named(terminal, impatient):
    with stage("outside"), stage("inside"):
        see_the_present_line(terminal)
        assert terminal.getvalue().split("\r")[-1].startswith("inside")


def test_a_stage_that_is_interrupted_is_wiped(terminal, impatient):
    def interrupted():
        with stage("interrupted"):
            assert terminal.written.wait(LONG)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert is_wiped(terminal.getvalue())
    assert not room._stages


@pytest.mark.parametrize(("wish", "tty", "shown"), [
    ("", False, False), ("on", False, True), ("off", True, False), ("", True, True),
])  # fmt: skip
def test_one_rule_says_where_lines_are_shown(monkeypatch, terminal, impatient, wish, tty, shown):
    monkeypatch.setenv("SPECTRA_PROGRESS", wish)
    monkeypatch.setattr(terminal, "isatty", lambda: tty)
    with stage("thinking"):
        assert not shown or terminal.written.wait(LONG)
    assert bool(terminal.getvalue()) == shown


SLOW = {
    "density": lambda: sp.spectral_density(sp.radial("exp(-7*z**2/19)"), 3),
    "verdict": lambda: sp.existence(sp.radial("exp(-z)"), dim=2),
    "derive": lambda: sp.derive(sp.radial(KERNEL), 3, cache=False),
    "design": lambda: sp.design(sp.radial("exp(-z**2/2)"), 3, domain=(0, 1), tol=0.2),
    "masses": lambda: sp.spectral_measure(sp.radial(KERNEL), 3).certified(),
    "sphere": lambda: sp.sphere_coefficients(sp.zonal("exp(u)"), 3, degree=2),
    "directions": lambda: designed_directions.designed(19, 2, np.random.default_rng(0)),
}
LABELS = {
    "density": "density by the route lookup, d = 3",
    "verdict": "reading the singularities",
    "derive": "deriving a table, d = 3",
    "design": "designing a measure within a tolerance",
    "masses": "proving the masses",
    "sphere": "expanding on the sphere, d = 3",
    "directions": "designing 19 directions, d = 2",
}


@pytest.mark.parametrize("work", SLOW)
def test_whatever_may_take_seconds_is_a_stage(monkeypatch, terminal, work):
    begun = []
    # A loaded machine may need more than two seconds for them.
    monkeypatch.setattr(room, "PATIENCE", LONG)
    begin = room.stage.__enter__
    monkeypatch.setattr(room.stage, "__enter__", lambda s: begun.append(s.label) or begin(s))
    SLOW[work]()
    assert LABELS[work] in begun
    assert terminal.getvalue() == ""
