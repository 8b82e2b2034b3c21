"""Long work shows a line on a terminal; short work, and work without a terminal, shows nothing."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

import spectra as sp
from rf.sampling import designed_directions
from spectra.base import limits
from spectra.base.limits import check_time, stage

KERNEL = "exp(-z**2/2) - exp(-z**2/8)/2"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(limits, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.delenv("SPECTRA_PROGRESS", raising=False)
    return shown


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.0)
    monkeypatch.setattr(limits, "_REFRESH", 0.0)


def is_wiped(text):
    """What is left of the line is blank."""
    return text.endswith("\r") and not text.split("\r")[-2].strip()


def test_the_innermost_stage_is_named_until_its_end(terminal, impatient):
    with stage("outside"):
        with stage("inside"):
            check_time()
            assert terminal.getvalue().split("\r")[-1].startswith("inside")
        check_time()
        assert terminal.getvalue().split("\r")[-1].startswith("outside")
    assert is_wiped(terminal.getvalue())


def test_a_label_that_changes_is_shown(terminal, impatient):
    with stage("step") as progress:
        progress.label = "step 2"
        check_time()
        assert terminal.getvalue().split("\r")[-1].startswith("step 2 ...")


def test_a_line_is_wiped_after_an_interruption(terminal, impatient):
    def interrupted():
        with stage("interrupted"):
            check_time()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "interrupted" in terminal.getvalue()
    assert is_wiped(terminal.getvalue())


@pytest.mark.parametrize(("wish", "tty", "shown"), [
    ("", False, False), ("on", False, True), ("off", True, False), ("", True, True),
])  # fmt: skip
def test_one_rule_says_where_lines_are_shown(monkeypatch, terminal, impatient, wish, tty, shown):
    monkeypatch.setenv("SPECTRA_PROGRESS", wish)
    monkeypatch.setattr(terminal, "isatty", lambda: tty)
    with stage("thinking"):
        check_time()
    assert bool(terminal.getvalue()) == shown


SLOW = {
    "density by the route lookup, d = 3":
        lambda: sp.spectral_density(sp.radial("exp(-7*z**2/19)"), 3),
    "reading the singularities": lambda: sp.existence(sp.radial("exp(-z)"), dim=2),
    "deriving a table, d = 3": lambda: sp.derive(sp.radial(KERNEL), 3, cache=False),
    "designing a measure within a tolerance":
        lambda: sp.design(sp.radial("exp(-z**2/2)"), 3, domain=(0, 1), tol=0.2),
    "proving the masses": lambda: sp.spectral_measure(sp.radial(KERNEL), 3).certified(),
    "expanding on the sphere, d = 3":
        lambda: sp.sphere_coefficients(sp.zonal("exp(u)"), 3, degree=2),
    "designing 19 directions, d = 2":
        lambda: designed_directions.designed(19, 2, np.random.default_rng(0)),
}  # fmt: skip


@pytest.mark.parametrize("label", SLOW)
def test_whatever_may_take_seconds_is_a_stage(monkeypatch, terminal, label):
    begun = []
    # A loaded machine may need more than two seconds for them.
    monkeypatch.setattr(limits, "PATIENCE", 60.0)
    begin = limits.stage.__enter__
    monkeypatch.setattr(limits.stage, "__enter__", lambda s: begun.append(s.label) or begin(s))
    SLOW[label]()
    assert label in begun
    assert terminal.getvalue() == ""
