"""Every run is like every other: the same draws, one thread of BLAS, no table from another run.

A step gets 60 s of processor time here, so that a slow machine refuses nothing that a fast one
answers; tests of the limit set their own.

``--slow-third N`` (0, 1 or 2) keeps one third of the slow tests, chosen by a hash of their names,
and ``--third N`` keeps one third of all tests.
The end of each run lists the tests that took more than half a second of processor time.
"""

import gc
import os
import resource
import time
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# Before numpy loads: products of small matrices are slower on two threads than on one.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ["SPECTRA_CACHE"] = "off"
os.environ["SPECTRA_TIME_LIMIT"] = "60"

# Collecting makes half a million objects that live until the end: the garbage collector waits
# until they are made, and then ignores them.
gc.disable()

settings.register_profile(
    "reproducible",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")

LONG = 0.5  # seconds of processor time that a default test may cost


def pytest_addoption(parser) -> None:
    parser.addoption("--slow-third", type=int, choices=(0, 1, 2), help="a third of the slow tests")
    parser.addoption("--third", type=int, choices=(0, 1, 2), help="a third of all tests")


def pytest_report_header(config) -> list[str]:
    thirds = {name: config.getoption(name) for name in ("--slow-third", "--third")}
    return [f"{name}: {n} of 0, 1, 2" for name, n in thirds.items() if n is not None]


def pytest_collection_modifyitems(config, items) -> None:
    of_slow, of_all = config.getoption("--slow-third"), config.getoption("--third")

    def is_left_out(item) -> bool:
        own = crc32(item.nodeid.encode()) % 3
        third = of_slow if item.get_closest_marker("slow") else None
        return any(n is not None and n != own for n in (third, of_all))

    others = [item for item in items if is_left_out(item)]
    if not others:
        return
    config.hook.pytest_deselected(items=others)
    kept = set(items) - set(others)
    items[:] = [item for item in items if item in kept]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if call.when == "setup":
        # Setup has ended: what it took is counted, and what follows is measured from its start.
        item.stash[_START] = _processor_time() - (call.stop - call.start)
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("processor time", _processor_time() - item.stash[_START]))
    return report


_START = pytest.StashKey[float]()


def pytest_terminal_summary(terminalreporter) -> None:
    times = {
        report.nodeid: dict(report.user_properties)["processor time"]
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown" and report.user_properties
    }
    long = sorted(((t, name) for name, t in times.items() if t > LONG), reverse=True)
    terminalreporter.section(
        f"{sum(times.values()):.0f} s of processor time, {len(long)} tests above {LONG} s"
    )
    for seconds, name in long[:60]:
        terminalreporter.line(f"{seconds:6.2f} s  {name}")
