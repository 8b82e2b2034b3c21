"""Every question has an answer or a refusal within a stated time, on which no answer depends.

Nothing here depends on how fast a machine is or on what else it does: what a short limit ends would
go on for half a minute at least, and ends within a third of that; what is within a limit takes a
small part of it; and the questions of the toolkit are such as a fast machine takes long for, too.
"""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
import time

import pytest

import spectra as sp
import spectra.designs.least_mass
from spectra.base import limits as steps
from spectra.base.limits import stage
from spectra.errors import AccuracyError, FormulaError, ParameterError, SpectraError, TimeLimitError

SHORT = 0.1
# A thread is told within a tick of the watch, half a second; on a loaded machine the watch waits
# for a processor and is late with that, and what is measured here would last three times as long.
LATE = 10.0
# Seconds that a machine several times slower keeps with ease where this one takes a second.
AMPLE = 40.0
# Texts that would cause work without end; the verdict on the nested roots takes a minute and more.
HEAVY = {
    "a power of a polynomial": "(1+z+z**2)**400",
    "a tower of exponentials": "exp(" * 20 + "z" + ")" * 20,
    "nested roots": "sqrt(1+" * 12 + "z" + ")" * 12,
    "algebraic numbers": "(sqrt(2)+sqrt(3)+sqrt(5)+sqrt(7)+sqrt(11))**20*exp(-z)",
    "many branches": "Max(" + ",".join(f"{i}-z" for i in range(60)) + ")",
}


def work(seconds):
    """Take this much processor time in pure Python."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def refused(call, seconds=SHORT):
    """The refusal of a call under a limit, and the processor time that it took."""
    begin = time.thread_time()
    with sp.time_limit(seconds), pytest.raises(TimeLimitError) as caught:
        call()
    return str(caught.value), time.thread_time() - begin


def endless(label="counting", **options):
    with stage(label, **options):
        work(60.0)


# --- the limit itself -------------------------------------------------------------------------


def test_a_refusal_says_what_was_stopped_and_what_to_do():
    said, spent = refused(lambda: endless(of="exp(-z)", advice="do without"))
    assert SHORT <= spent < SHORT + LATE
    assert said.startswith("counting of exp(-z): stopped after 0.")
    assert "limit for a step is 0.1 s" in said
    assert "spectra.time_limit" in said
    assert "SPECTRA_TIME_LIMIT" in said
    assert said.endswith("; or do without.")
    assert issubclass(TimeLimitError, SpectraError)
    assert not issubclass(steps.OutOfTime, Exception)
    with sp.time_limit(SHORT), stage("waiting"):
        time.sleep(3 * SHORT)  # takes no processor time


def test_without_a_limit_nothing_is_stopped():
    with sp.time_limit(None), stage("working"):
        work(SHORT)
    with sp.time_limit(0.01), stage("a proof", has_limit=False):
        work(2 * SHORT)


def test_the_environment_sets_the_limit_and_a_context_goes_before_it(monkeypatch):
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", str(SHORT))
    with pytest.raises(TimeLimitError, match=r"limit for a step is 0\.1 s"):
        endless()
    with sp.time_limit(30.0), stage("working"):
        work(SHORT)
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", "none")
    with stage("working"):
        assert steps.seconds_left() is None
    monkeypatch.delenv("SPECTRA_TIME_LIMIT")
    with stage("working"):
        assert 0.0 < steps.seconds_left() <= steps.DEFAULT


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan"), "ten", True, [1]])
def test_a_limit_is_a_positive_number_of_seconds(wrong):
    with pytest.raises(ParameterError, match="positive number of seconds"), sp.time_limit(wrong):
        pass


def test_a_wrong_limit_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", "soon")
    with pytest.raises(ParameterError, match="SPECTRA_TIME_LIMIT='soon'"):
        sp.radial("exp(-z)")


# --- steps in steps, threads, processes -------------------------------------------------------


def test_the_time_of_a_step_includes_all_steps_within_it_and_the_innermost_is_named():
    def several():
        gc.collect()  # a garbage collection between two inner steps may take longer than one
        with stage("a measure"):
            for _ in range(100):
                with stage("a density"):
                    work(0.7 * SHORT)  # so that the time is over in the middle of the second

    said, spent = refused(several)
    assert said.startswith("a measure: stopped")
    assert "busy with a density" in said
    assert spent < SHORT + LATE


def test_a_shorter_limit_inside_ends_the_inner_step_alone():
    with sp.time_limit(60.0), stage("outside"):
        said, _ = refused(lambda: endless("inside"))
        assert said.startswith("inside")
        work(SHORT)  # and the outer one goes on
    assert not steps._stages


def test_a_longer_limit_inside_does_not_lift_the_outer_one():
    def nested():
        with stage("outside"), sp.time_limit(None), stage("inside"):
            work(60.0)

    said, _ = refused(nested)
    assert said.startswith("outside")


def test_two_threads_are_stopped_each_for_itself():
    ends = {}

    def alone(name, seconds, needed):
        with sp.time_limit(seconds):
            try:
                with stage(name):
                    work(needed)
                ends[name] = "done"
            except TimeLimitError:
                ends[name] = "refused"

    both = (("short", 0.02, 60.0), ("long", 60.0, SHORT))
    threads = [threading.Thread(target=alone, args=a) for a in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == {"short": "refused", "long": "done"}


def test_the_watch_ends_when_there_is_nothing_to_watch():
    with stage("short"):
        pass
    end = time.monotonic() + 30.0
    while steps._watcher is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert steps._watcher is None
    assert not any(t.name == "spectra time limit" for t in threading.enumerate())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_process_watches_its_own_steps():
    here = __file__.rpartition("test_time_limit")[0]
    code = f"""
import os, sys
sys.path.insert(0, {here!r})
import spectra as sp, test_time_limit as tests
from spectra.base.limits import stage
with stage("the parent has a watch"):
    child = os.fork()
    if child == 0:
        try:
            tests.refused(tests.endless)
        except BaseException:
            os._exit(1)
        os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# --- what code may do with the signal ---------------------------------------------------------


def test_a_step_that_swallows_the_signal_is_still_refused(monkeypatch):
    monkeypatch.setattr(steps, "_LONGEST_WAIT", 0.05)

    def deaf():
        with stage("deaf"):
            for _ in range(2):
                try:
                    work(60.0)
                except BaseException:
                    continue
            return "an answer that the limit made"

    def rewording():
        with stage("rewording"):
            try:
                work(60.0)
            except BaseException:
                raise FormulaError("no such function") from None

    said, spent = refused(deaf)
    assert said.startswith("deaf")
    assert spent < 2 * (SHORT + LATE)
    assert refused(rewording)[0].startswith("rewording")


def test_errors_and_interruptions_pass_as_they_are():
    for kind in (FormulaError, KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), sp.time_limit(SHORT), stage("failing"):
            raise kind

    def interrupted():
        with sp.time_limit(SHORT), stage("late"):
            try:
                work(60.0)
            except BaseException:
                raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.slow
def test_steps_that_end_just_when_their_time_does_return_or_refuse_and_nothing_else(monkeypatch):
    monkeypatch.setattr(steps, "_LONGEST_WAIT", 0.001)
    monkeypatch.setattr(steps, "_LEAST_WAIT", 0.0005)
    # The signal and the end of the step race: whoever wins, nothing is left behind.
    limit, race = 0.003, steps.staged("racing")(work)
    for i in range(300):
        with sp.time_limit(limit), contextlib.suppress(TimeLimitError):
            race(limit + (i % 60 - 30) * 2e-5)
    assert not steps._stages
    gc.collect()
    assert not steps._stages


# --- the toolkit's own steps ------------------------------------------------------------------


def test_a_density_that_is_refused_for_its_time_is_right_when_it_is_given_time():
    kernel = sp.radial("exp(-z**2/2)/(3 + z)")
    said, _ = refused(lambda: sp.spectral_density(kernel, 2), seconds=0.005)
    assert "exp(-z**2/2)/(3 + z) in d = 2" in said
    assert "the option route" in said
    measure = sp.spectral_measure(kernel, 2)
    assert abs(measure.mass.mid - 1 / 3) < 1e-9


def test_the_command_takes_a_limit(capsys):
    from spectra.cli.commands import main

    asked = ["check", HEAVY["nested roots"], "--dim", "3", "--time-limit", str(SHORT)]
    assert main(asked) == 2
    assert "stopped after" in capsys.readouterr().err
    assert main(["check", "exp(-z)", "--dim", "3", "--time-limit", "none"]) == 0
    assert main(["check", "exp(-z)", "--dim", "3", "--time-limit", "soon"]) == 2
    assert "positive number of seconds" in capsys.readouterr().err


# --- texts that would cause work without end --------------------------------------------------


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_reading_takes_seconds_whatever_the_text(text):
    # A true refusal is an answer; one for its time is none, and without end is what they once took.
    begin = time.thread_time()
    with sp.time_limit(AMPLE), contextlib.suppress(FormulaError, AccuracyError):
        assert isinstance(sp.radial(text), sp.Kernel)
    assert time.thread_time() - begin < AMPLE


@pytest.mark.slow
def test_a_linear_programme_is_stopped_in_time_though_the_solver_is_compiled(monkeypatch):
    # Below the rounding of its sums, where the solver finds no end.
    monkeypatch.setattr(spectra.designs.least_mass, "_ROUNDING_OF_A_SUM", 0.0)
    kernel = sp.radial("exp(-z**2/2)")

    def asked():
        sp.design(kernel, 3, domain=(0, 2), tol=1e-12, objective="mass")

    said, spent = refused(asked, seconds=3.0)
    assert "designing a measure" in said
    assert "a larger tol" in said
    assert spent < 3.0 + 2 * LATE
