"""A survey with all that a page can ask, and the link of a person."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ldpopt import Survey
from ldpopt.fieldwork import page

LINK = f"#i={'a' * 32}&region=North"
HEALTH = Path(__file__).parent / "browser" / "health.toml"


@cache
def whole_survey() -> Survey:
    """The survey of ``health.toml``."""
    return Survey.from_toml(HEALTH)


@cache
def whole_page() -> str:
    """Its page in all languages."""
    return page(whole_survey())
