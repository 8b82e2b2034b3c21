"""Every question has an answer or a refusal within a stated time, on which no answer depends.

Nothing here depends on how fast a machine is or on what else it does: what a short limit ends would
go on for half a minute at least, and ends within a third of that; what is within a limit takes a
small part of it; and the questions of the toolkit are such as a fast machine takes long for, too.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import sympy
from grids import by_turns
from mpmath import mp

import spectra as sp
import spectra.designs.methods.least_mass
from rf import SpectralFeatures
from spectra.base.limits import time_limit as steps
from spectra.base.limits.progress import stage, staged
from spectra.errors import AccuracyError, FormulaError, ParameterError, SpectraError, TimeLimitError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.reader.parsing import Z

SHORT = 0.2
# A thread is told within a tick of the watch, half a second; on a loaded machine the watch waits
# for a processor and is late with that, and what is measured here would last three times as long.
LATE = 10.0
# What a machine several times slower keeps with ease where this one takes a second.
AMPLE = 40.0
A_WHILE = 0.02
# Texts that would cause work without end; the verdict on the nested roots takes a minute and more.
HEAVY = {
    "a power of a polynomial": "(1+z+z**2)**400",
    "a product of powers": "(1+z)**999*(1-z)**999*exp(-z)",
    "a tower of exponentials": "exp(" * 20 + "z" + ")" * 20,
    "a tower as an exponent": "(1+z)**exp(exp(exp(exp(exp(z)))))",
    "waves of a tower": "sin(exp(exp(exp(exp(exp(z))))))",
    "nested powers": "((((1+z)**9)**9)**9)**(1/9)",
    "nested roots": "sqrt(1+" * 12 + "z" + ")" * 12,
    "nested cosines": "cos(" * 25 + "z" + ")" * 25,
    "algebraic numbers": "(sqrt(2)+sqrt(3)+sqrt(5)+sqrt(7)+sqrt(11))**20*exp(-z)",
    "a long product": "*".join(f"(1+z/{i})" for i in range(1, 150)) + "*exp(-z)",
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


def collects(work_of_collector):
    gc.callbacks.append(work_of_collector)
    try:
        while True:
            gc.collect(0)
            work(A_WHILE)
    finally:
        gc.callbacks.remove(work_of_collector)


def finalizes(work_of_finalizer):
    class Worker:
        def __del__(self):
            work_of_finalizer()

    while True:
        Worker()
        work(A_WHILE)


def forgets(work_of_reference):
    class Worker:
        pass

    while True:
        weakref.finalize(Worker(), work_of_reference)
        work(A_WHILE)


@pytest.mark.parametrize("goes_on", [collects, finalizes, forgets])
def test_a_limit_is_not_lost_where_python_drops_what_is_raised(goes_on, monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)

    def endless():
        with stage("counting"):
            goes_on(lambda *_: work(2.0 * A_WHILE))

    assert "counting" in refused(endless)[0]
    assert not lost


def test_work_beyond_the_limit_is_stopped_soon_after_it_and_says_what_it_was():
    said, spent = refused(lambda: endless(of="exp(-z)", advice="do without"))
    assert SHORT <= spent < SHORT + LATE
    assert said.startswith("counting of exp(-z): stopped after 0.2 s")
    assert "0.2 s are allowed" in said
    assert "spectra.time_limit" in said
    assert "SPECTRA_TIME_LIMIT" in said
    assert said.endswith("; or do without.")


def test_a_refusal_is_an_error_of_the_toolkit_and_is_not_in_the_way_of_others():
    assert issubclass(TimeLimitError, SpectraError)
    assert not issubclass(steps.OutOfTime, Exception)


def test_work_within_the_limit_returns_what_it_made():
    @staged("doubling")
    def twice(x):
        work(0.05)
        return 2 * x

    with sp.time_limit(0.5):
        assert [twice(i) for i in range(15)] == [2 * i for i in range(15)]  # more than it in all


def test_waiting_takes_no_processor_time():
    with sp.time_limit(SHORT), stage("waiting"):
        time.sleep(3 * SHORT)


def test_without_a_limit_nothing_is_stopped():
    with sp.time_limit(None), stage("working"):
        work(2 * SHORT)
    with sp.time_limit(SHORT), stage("a proof", has_limit=False):
        work(2 * SHORT)


def test_the_environment_sets_the_limit_and_a_context_goes_before_it(monkeypatch):
    monkeypatch.setenv("SPECTRA_TIME_LIMIT", str(SHORT))
    with pytest.raises(TimeLimitError, match=r"0\.2 s are allowed"):
        endless()
    with sp.time_limit(30.0), stage("working"):
        work(2 * SHORT)
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
    assert steps._innermost() is None


def test_a_longer_limit_inside_does_not_lift_the_outer_one():
    def nested():
        with stage("outside"), sp.time_limit(None), stage("inside"):
            work(60.0)

    said, _ = refused(nested)
    assert said.startswith("outside")


def test_steps_after_a_refusal_have_their_whole_time():
    for _ in range(2):
        refused(endless, seconds=0.3)
        with sp.time_limit(0.5), stage("short"):
            work(0.25)  # with what the step before it took, more than the limit


def test_each_thread_has_its_own_clock():
    said = []

    def alone():
        said.append(refused(endless)[0])

    thread = threading.Thread(target=alone)
    with sp.time_limit(60.0), stage("the main thread"):
        thread.start()
        thread.join()
        work(SHORT)
    assert len(said) == 1
    assert said[0].startswith("counting")


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

    both = (("short", SHORT, 60.0), ("long", 60.0, 4 * SHORT))
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
    while steps._WATCH._thread is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert steps._WATCH._thread is None
    assert not any(t.name == "spectra time limit" for t in threading.enumerate())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_process_watches_its_own_steps():
    code = """
import os, sys, spectra as sp, test_time_limit as tests
from spectra.base.limits.progress import stage
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
    _in_a_new_process(code)


def _in_a_new_process(code):
    here = __file__.rpartition("test_time_limit")[0]
    code = f"import sys; sys.path.insert(0, {here!r}){code}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_refusal_under_a_profiler_ends():
    _in_a_new_process("""
import cProfile, test_time_limit as tests
watched = cProfile.Profile()
watched.enable()
tests.refused(tests.endless)
for _ in (number for number in range(1000)):
    pass
""")


def _in_a_process(queue):
    queue.put(refused(endless)[0])


@pytest.mark.slow
def test_a_spawned_process_has_its_own_limit():
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_in_a_process, args=(queue,))
    process.start()
    process.join()
    assert queue.get().startswith("counting")


# --- what code may do with the signal ---------------------------------------------------------


def test_no_except_exception_holds_the_signal():
    def careless():
        with stage("careless"):
            for _ in range(1000):
                try:
                    work(0.05)
                except Exception:
                    continue

    assert refused(careless)[1] < SHORT + LATE


def test_code_that_swallows_the_signal_is_told_again_and_its_answer_is_not_believed():
    def deaf():
        with stage("deaf"):
            for _ in range(2):
                try:
                    work(60.0)
                except BaseException:
                    continue
            return "an answer that the limit made"

    said, spent = refused(deaf)
    assert said.startswith("deaf")
    assert spent < 2 * (SHORT + LATE)


def test_code_that_makes_another_error_of_the_signal_is_refused_for_its_time():
    def rewording():
        with stage("rewording"):
            try:
                work(60.0)
            except BaseException:
                raise FormulaError("no such function") from None

    assert refused(rewording)[0].startswith("rewording")


def test_errors_and_interruptions_pass_as_they_are():
    for kind in (FormulaError, KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), sp.time_limit(SHORT), stage("failing"):
            raise kind


def test_an_interruption_goes_before_a_refusal():
    def interrupted():
        with sp.time_limit(SHORT), stage("late"):
            try:
                work(60.0)
            except BaseException:
                raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_locks_caches_and_clean_up_survive_a_refusal():
    lock, left = threading.Lock(), []

    def holding():
        with stage("holding"):
            try:
                with lock:
                    work(60.0)
            finally:
                left.append(True)

    refused(holding)
    assert left == [True]
    assert lock.acquire(blocking=False)


@pytest.mark.slow
def test_steps_that_end_just_when_their_time_does_return_or_refuse_and_nothing_else():
    # The signal and the end of the step race: whoever wins, nothing is left behind.
    limit = 0.003
    for i in range(600):
        with sp.time_limit(limit):
            try:
                with stage("racing"):
                    work(limit + (i % 60 - 30) * 2e-5)
            except TimeLimitError:
                pass
    assert steps._innermost() is None
    gc.collect()
    assert not list(steps._WATCH._steps)


def test_a_step_whose_frame_is_gone_is_told_nothing():
    kept = []

    def begun_and_never_ended():
        kept.append(stage("lost"))
        kept[0].__enter__()

    with sp.time_limit(SHORT):
        begun_and_never_ended()
    end = time.thread_time() + 60.0
    while kept[0] in steps._WATCH._steps and time.thread_time() < end:
        work(SHORT)
    assert steps._innermost() is kept[0]
    assert kept[0].expired is None
    assert kept[0] not in steps._WATCH._steps
    kept.clear()
    gc.collect()
    assert steps._innermost() is None


# --- the toolkit's own steps ------------------------------------------------------------------


def test_sympy_itself_is_stopped_and_is_right_afterwards():
    z = sympy.Symbol("z", positive=True)
    hard = sympy.exp(-(z**3)) * sympy.cos(z) * sympy.log(1 + z) / (1 + z)

    def integrating():
        with stage("integrating"):
            sympy.integrate(hard, (z, 0, sympy.oo))

    assert refused(integrating)[1] < SHORT + LATE
    assert sympy.integrate(z * sympy.exp(-z), (z, 0, sympy.oo)) == 1


def test_a_density_that_is_refused_for_its_time_is_right_when_it_is_given_time():
    kernel = sp.radial("exp(-z**2/2)/(3 + z)")
    said, _ = refused(lambda: sp.spectral_density(kernel, 2), seconds=0.01)
    assert "exp(-z**2/2)/(3 + z) in d = 2" in said
    assert "the option route" in said
    measure = sp.spectral_measure(kernel, 2)
    assert abs(measure.mass.mid - 1 / 3) < 1e-9


def test_a_verdict_is_refused_under_a_limit_and_the_same_afterwards():
    kernel = sp.radial("exp(-z)/(1+z**2) + log(1+exp(-z))*cos(z)")
    before = sp.existence(kernel, dim=3).status
    dear = sp.radial(HEAVY["nested roots"])
    said, _ = refused(lambda: sp.existence(dear, dim=3))
    assert "spectra.time_limit" in said
    assert sp.existence(kernel, dim=3).status is before


def test_the_command_takes_a_limit(capsys):
    from spectra.cli.commands import main

    asked = ["check", HEAVY["nested roots"], "--dim", "3", "--time-limit", str(SHORT)]
    assert main(asked) == 2
    assert "stopped after" in capsys.readouterr().err
    assert main(["check", "exp(-z)/(5+z**2)", "--dim", "3", "--time-limit", "none"]) == 0
    assert main(["check", "exp(-z)", "--dim", "3", "--time-limit", "soon"]) == 2
    assert "positive number of seconds" in capsys.readouterr().err


# --- fits are steps too -----------------------------------------------------------------------

DELTA_GAUSSIAN = "exp(-z**2/2) - exp(-z**2/200)"


@pytest.mark.parametrize("unit", by_turns([1e4, 1e7], every=2))
@pytest.mark.parametrize("coupling", ["auto", "comonotone"])
def test_a_fit_on_rows_in_a_wrong_unit_is_refused_and_one_in_the_right_unit_is_not(unit, coupling):
    # The choice of the split integrates variances at distances of 1e4 and more lengths.
    rows = np.random.default_rng(0).normal(size=(200, 6))
    table = sp.derive(sp.radial(DELTA_GAUSSIAN), 6)
    features = SpectralFeatures(
        table, n_components=256, coupling=coupling, mixed_signature="ignore"
    )
    said, spent = refused(lambda: features.fit(unit * rows), seconds=1.0)
    assert said.startswith(f"fitting features of {table.formula}: stopped after ")
    assert "measure the rows in a unit in which the kernel varies" in said
    assert spent < 1.0 + LATE
    with sp.time_limit(AMPLE):
        fitted = features.fit(rows)
    assert fitted.transform(rows).shape == (200, 256)


@pytest.mark.parametrize("coupling", ["auto", "orthogonal"])
def test_making_features_to_order_is_a_step(coupling):
    rows = np.random.default_rng(0).normal(size=(50, 6))
    looks = None

    def laplace(z):
        if looks is not None:
            looks.append(z)
            # At the first look the values tell the unit of the rows, before anything is made.
            work(60.0 if len(looks) > 1 else 0.0)
        return np.exp(-z)

    features = SpectralFeatures(sp.radial(laplace), coupling=coupling, domain="data")
    looks = []
    said, spent = refused(lambda: features.fit(rows))
    assert "to order of laplace(z)" in said
    assert "spectra.time_limit" in said
    assert spent < SHORT + LATE


# --- texts that would cause work without end --------------------------------------------------


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_reading_takes_seconds_whatever_the_text(text):
    # A true refusal is an answer; one for its time is none, and without end is what they once took.
    begin = time.thread_time()
    with sp.time_limit(AMPLE), contextlib.suppress(FormulaError, AccuracyError):
        assert isinstance(sp.radial(text), sp.Kernel)
    assert time.thread_time() - begin < AMPLE


@pytest.mark.parametrize(
    "text", ["1/cosh(z)", "z/sinh(z)", "1/log(3+exp(z))", "exp(-z)*atan(exp(z))"]
)
def test_numbers_beyond_doubles_are_refused_only_where_they_cost(text):
    # The paths of integration look at these where the exponential has a million digits.
    function = mpmath_function(sp.radial(text).pieces[0].expr, Z)
    value = function(mp.mpf(10) ** 6)
    assert mp.isfinite(value)
    assert 0 <= value <= 2e-6


def test_an_exponential_of_a_tower_falls_to_nothing():
    falling = sp.radial("exp(-exp(z))").pieces[0].expr
    assert mpmath_function(falling, Z)(mp.mpf(10) ** 6) == 0


def test_kernels_whose_terms_cancel_are_still_nothing():
    for text in ("(1+z)**2 - 1 - 2*z - z**2", "((1+z)**2 - 1 - 2*z - z**2)*exp(-z)"):
        assert sp.radial(text).pieces == ()
    whole = sp.radial("(1+z)**9*exp(-z)")
    assert (whole - sp.radial("exp(-z)") * sp.radial("(1+z)**9")).pieces == ()
    assert (whole - 1e-9 * sp.radial("exp(-z)") - whole).pieces != ()


# --- questions that took minutes --------------------------------------------------------------


def exact_radial(k, dim, w):
    """rho(w) of a kernel on z <= 1 by quadrature of its values, DLMF 10.22 for the measure."""
    half = mp.mpf(dim) / 2
    waves = [mp.mpf(j) / 12 for j in range(13)] if w < 60 else mp.linspace(0, 1, int(w / 3))
    integral = mp.quad(lambda z: k(z) * z**half * mp.besselj(half - 1, w * z), waves)
    return 2 ** (1 - half) / mp.gamma(half) * mp.mpf(w) ** half * integral


SLOW_ONCE = {
    "flat at its edge": ("(1-z)**60", lambda z: (1 - z) ** 60, (1, 3, 7)),
    "flatter": ("(1-z)**200", lambda z: (1 - z) ** 200, (3,)),
    "no first odd powers": (
        "(1-z)**6*(35*z**2+18*z+3)/3*cos(z)",
        lambda z: (1 - z) ** 6 * (35 * z**2 + 18 * z + 3) / 3 * mp.cos(z),
        (1, 3),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "k", "dim"),
    [pytest.param(t, k, d, id=f"{n}, {d}") for n, (t, k, ds) in SLOW_ONCE.items() for d in ds],
)
def test_kernels_on_a_ball_that_took_minutes_take_seconds_and_are_right(text, k, dim):
    radii = [0.4, 17.0, 140.0]
    with sp.time_limit(AMPLE):
        density = sp.spectral_density(sp.radial(text, support=1), dim)
        found, errors = density.radial(radii), density.error(radii)
    with mp.workdps(30):
        exact = [exact_radial(k, dim, w) for w in radii]
    for value, error, true in zip(found, errors, exact, strict=True):
        assert abs(value - float(true)) <= error
        assert error <= 1e-12 * float(max(map(abs, exact)))


@pytest.mark.slow
def test_a_linear_programme_is_stopped_in_time_though_the_solver_is_compiled(monkeypatch):
    # Below the rounding of its sums, where the solver finds no end.
    monkeypatch.setattr(spectra.designs.methods.least_mass, "_ROUNDING_OF_A_SUM", 0.0)
    kernel = sp.radial("exp(-z**2/2)")

    def asked():
        sp.design(kernel, 3, domain=(0, 2), tol=1e-12, objective="mass")

    said, spent = refused(asked, seconds=3.0)
    assert "designing a measure" in said
    assert "a larger tol" in said
    assert spent < 3.0 + 2 * LATE
