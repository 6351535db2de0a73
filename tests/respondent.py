"""A survey with all that a page can ask, and the link of a person."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ldpopt import Survey

LINK = f"#i={'a' * 32}&region=North"
HEALTH = Path(__file__).parent / "browser" / "health.toml"


@cache
def whole_survey() -> Survey:
    """The survey of ``health.toml``."""
    return Survey.from_toml(HEALTH)
