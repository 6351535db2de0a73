"""Every public name is in the reference once, under the name that users import."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import ldpopt

PAGES = Path(__file__).parents[2] / "docs" / "reference"
LISTED = [
    name
    for page in sorted(PAGES.glob("*.md"))
    for name in re.findall(
        r"^\.\. auto(?:class|function|data):: (\S+)", page.read_text(encoding="utf-8"), re.M
    )
]
MODULES = (
    *(name for name in ldpopt.__all__ if hasattr(getattr(ldpopt, name), "__all__")),
    "studies.literature",
)
"""Public modules with a list `__all__`."""

LIMITS = {"ldpopt.plotting.MAX_AXIS_LABELS"}
"""Limits: numbers that users do not need."""


def public_names() -> set[str]:
    """Classes and functions of `ldpopt` and of its public modules."""
    names = {
        f"ldpopt.{name}" for name in ldpopt.__all__ if not inspect.ismodule(getattr(ldpopt, name))
    }
    top = {getattr(ldpopt, name.removeprefix("ldpopt.")) for name in names}
    for module in MODULES:
        found = getattr(ldpopt, module, None) or importlib.import_module(f"ldpopt.{module}")
        for name in found.__all__:
            thing = getattr(found, name)
            if inspect.ismodule(thing):
                continue
            if not (callable(thing) and thing in top):
                names.add(f"ldpopt.{module}.{name}")
    return names - LIMITS


def test_every_public_name_is_in_the_reference() -> None:
    missing = sorted(public_names() - set(LISTED))
    assert not missing, f"docs/reference/*.md have no autoclass or autofunction of {missing}"


def test_every_name_of_the_reference_exists_and_is_there_once() -> None:
    assert sorted(name for name in set(LISTED) if LISTED.count(name) > 1) == []
    for name in LISTED:
        module, _, leaf = name.removeprefix("ldpopt.").rpartition(".")
        holder = getattr(ldpopt, module, None) or importlib.import_module(
            f"ldpopt.{module}".rstrip(".")
        )
        assert hasattr(holder, leaf), name


def test_the_index_of_tasks_names_what_exists() -> None:
    page = (PAGES.parent / "how_to.md").read_text(encoding="utf-8")
    names = re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)`", page)
    assert len(names) > 60
    for name in names:
        holder = ldpopt
        for part in name.split("."):
            assert hasattr(holder, part), name
            holder = getattr(holder, part)
