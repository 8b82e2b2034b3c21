"""One run of the tests is like every other: the same draws, no table from another run, no clock.

What is right must not depend on how fast a machine is: a step has so much time here that only what
would never end is refused for it.  Tests of the limit set their own.

Collecting makes half a million objects that stay until the end: the collector of garbage waits
while they are made, and does not look at them again.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

gc.disable()

settings.register_profile(
    "reproducible",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")

os.environ["SPECTRA_CACHE"] = "off"
os.environ["SPECTRA_TIME_LIMIT"] = "60"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
