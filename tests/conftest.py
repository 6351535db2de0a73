"""Settings for the whole suite: hypothesis repeats the same examples, and never fails for being slow."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ldpopt", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("ldpopt"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("LDPOPT_TESTS", "ldpopt"))
