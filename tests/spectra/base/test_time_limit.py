"""A step ends with an answer or a refusal near its limit, and no answer depends on the limit."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

import spectra as sp
import spectra.designs.least_mass
from spectra.base import limits
from spectra.base.limits import check_time, stage
from spectra.errors import AccuracyError, FormulaError, ParameterError, TimeLimitError

SHORT = 0.05
# Texts that once caused work without end.
HEAVY = {
    "a power of a polynomial": "(1+z+z**2)**400",
    "a tower of exponentials": "exp(" * 20 + "z" + ")" * 20,
    "nested roots": "sqrt(1+" * 12 + "z" + ")" * 12,
    "algebraic numbers": "(sqrt(2)+sqrt(3)+sqrt(5)+sqrt(7)+sqrt(11))**20*exp(-z)",
    "many branches": "Max(" + ",".join(f"{i}-z" for i in range(60)) + ")",
    "a power in the denominator": "1/(1+z+z**2+z**3)**200",
    "many poles": "exp(-z)*sin(z)**40",
    "a polynomial of high degree": "exp(-z**2)+exp(-50*(z-6)**2)",
}


def work(seconds):
    """Take this much processor time in a loop that checks the time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        check_time()


def refusal(call, seconds=SHORT):
    with sp.time_limit(seconds), pytest.raises(TimeLimitError) as caught:
        call()
    return str(caught.value)


def endless(label="counting", **options):
    with stage(label, **options):
        work(60.0)


# --- the limit itself -------------------------------------------------------------------------


def test_a_refusal_says_what_was_stopped_and_what_to_do():
    message = refusal(lambda: endless(of="exp(-z)", dim=3, advice="do without"))
    assert message.startswith("counting of exp(-z) in d = 3: stopped after 0.")
    assert "limit for a step is 0.05 s" in message
    assert "spectra.time_limit" in message
    assert "SPECTRA_TIME_LIMIT" in message
    assert message.endswith("; or do without.")
    assert not issubclass(limits.OutOfTime, Exception)


def test_nothing_is_stopped_without_a_limit_a_check_or_processor_time():
    with sp.time_limit(None), stage("working"):
        work(SHORT)
    with sp.time_limit(0.001), stage("a proof", has_limit=False):
        work(SHORT)
    with sp.time_limit(SHORT), stage("waiting"):
        time.sleep(2 * SHORT)
        check_time()
    with sp.time_limit(0.001), stage("late, but complete"):
        sum(range(10**6))
    check_time()


def test_the_environment_sets_the_limit_and_a_context_replaces_it(monkeypatch):
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", str(SHORT))
    with pytest.raises(TimeLimitError, match=r"limit for a step is 0\.05 s"):
        endless()
    with sp.time_limit(30.0), stage("working"):
        work(SHORT)
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", "none")
    with stage("working"):
        assert limits.seconds_left() is None
    monkeypatch.delenv("SPECTRA_TIME_LIMIT")
    with stage("working"):
        assert 0.0 < limits.seconds_left() <= limits.DEFAULT
    assert limits.seconds_left() is None
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", "soon")
    with pytest.raises(ParameterError, match="SPECTRA_TIME_LIMIT='soon'"):
        sp.radial("exp(-z)")


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan"), "ten", True, [1]])
def test_a_limit_is_a_positive_number_of_seconds(wrong):
    with pytest.raises(ParameterError, match="positive number of seconds"), sp.time_limit(wrong):
        pass


# --- steps in steps, threads, errors ------------------------------------------------------------


def test_the_time_of_a_step_includes_the_steps_within_it_and_the_innermost_is_named():
    def several():
        with stage("a measure"):
            while True:
                with stage("a density"):
                    work(0.4 * SHORT)

    message = refusal(several)
    assert message.startswith("a measure: stopped")
    assert "busy with a density" in message


def test_the_shortest_limit_decides_and_ends_its_own_step_only():
    with sp.time_limit(60.0), stage("outside"):
        assert refusal(lambda: endless("inside")).startswith("inside")
        work(SHORT)

    def nested():
        with stage("outside"), sp.time_limit(None), stage("inside"):
            work(60.0)

    assert refusal(nested).startswith("outside")
    assert not limits._here.stack


def test_threads_are_stopped_each_for_itself():
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
    assert {t.name for t in threading.enumerate()} >= {t.name for t in threads}
    for thread in threads:
        thread.join()
    assert ends == {"short": "refused", "long": "done"}


def test_a_step_that_catches_the_signal_is_still_refused():
    def deaf():
        with stage("deaf"):
            with contextlib.suppress(BaseException):
                work(60.0)
            return "an answer that the limit made"

    def rewording():
        with stage("rewording"):
            try:
                work(60.0)
            except BaseException:
                raise FormulaError("no such function") from None

    assert refusal(deaf).startswith("deaf")
    assert refusal(rewording).startswith("rewording")


def test_errors_and_interruptions_pass_as_they_are():
    for kind in (FormulaError, KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), sp.time_limit(SHORT), stage("failing"):
            raise kind

    def late():
        with sp.time_limit(SHORT), stage("late"):
            with contextlib.suppress(limits.OutOfTime):
                work(60.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        late()
    assert not limits._here.stack


# --- the steps of the library -----------------------------------------------------------------


def test_a_density_that_is_refused_for_its_time_is_right_when_it_is_given_time():
    kernel = sp.radial("exp(-z**2/2)/(3 + z)")
    message = refusal(lambda: sp.spectral_density(kernel, 2), seconds=0.005)
    assert "exp(-z**2/2)/(3 + z) in d = 2" in message
    assert "the option route" in message
    assert abs(sp.spectral_measure(kernel, 2).mass.mid - 1 / 3) < 1e-9


def test_the_command_takes_a_limit(capsys):
    from spectra.cli.commands import main

    asked = ["check", HEAVY["nested roots"], "--dim", "3", "--time-limit", "0.1"]
    assert main(asked) == 2
    assert "stopped after" in capsys.readouterr().err
    assert main(["check", "exp(-z)", "--dim", "3", "--time-limit", "none"]) == 0
    assert main(["check", "exp(-z)", "--dim", "3", "--time-limit", "soon"]) == 2
    assert "positive number of seconds" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_every_text_has_an_answer_or_a_refusal(text):
    with contextlib.suppress(FormulaError, AccuracyError, TimeLimitError), sp.time_limit(1.0):
        verdict = sp.existence(sp.radial(text), dim=1)
        assert verdict.positive_definite.answer in (True, False, None)


@pytest.mark.slow
def test_a_linear_programme_is_stopped_though_its_solver_is_compiled(monkeypatch):
    # Below the rounding of its sums, where the solver finds no end.
    monkeypatch.setattr(spectra.designs.least_mass, "_ROUNDING_OF_A_SUM", 0.0)
    kernel = sp.radial("exp(-z**2/2)")
    asked = {"domain": (0, 2), "tol": 1e-12, "objective": "mass"}
    message = refusal(lambda: sp.design(kernel, 3, **asked), seconds=2.0)
    assert "designing a measure" in message
    assert "a larger tol" in message
