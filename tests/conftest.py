"""One run of the tests is like every other: the same draws, and no table kept from another run."""

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
