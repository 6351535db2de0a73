"""Settings for all tests: hypothesis repeats the same examples, and does not fail when it is slow."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from builders import NEW_CASES, seconds, thorough_or

settings.register_profile(
    "ldpopt",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=40,
)
settings.register_profile("thorough", settings.get_profile("ldpopt"), derandomize=not NEW_CASES, max_examples=500)
settings.load_profile(os.environ.get("LDPOPT_TESTS", "ldpopt"))

# The limit for a test that hangs: pytest-timeout reads it before the number in pyproject.toml.
os.environ.setdefault("PYTEST_TIMEOUT", f"{seconds(thorough_or(240, 1200)):.0f}")


@pytest.fixture(autouse=True, scope="session")
def _files_need_not_reach_the_disk() -> Iterator[None]:
    """Syncing to disk takes a millisecond to a second each time, and no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
