"""One run of the tests is like every other: the same draws, no table from another run, no clock.

What is right must not depend on how fast a machine is: a step has so much time here that only what
would never end is refused for it.  Tests of the limit set their own.
"""

import os

from hypothesis import HealthCheck, settings

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
