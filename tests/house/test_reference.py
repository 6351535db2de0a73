"""Every public name has its place in the reference, under the name that users import, and once."""

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
    for name in re.findall(r"^\.\. auto(?:class|function|data):: (\S+)", page.read_text(encoding="utf-8"), re.M)
]
MODULES = (
    *("closed_forms", "frequencies", "layers", "mean", "neighbors", "noise", "plotting", "simplex", "solvers"),
    "studies.literature",
)
"""Public modules that state their public names."""

LIMITS = {"ldpopt.plotting.MAX_AXIS_LABELS"}
"""Numbers that nobody calls."""


def public_names() -> set[str]:
    """Classes and functions of `ldpopt`, and what its public modules list."""
    names = {f"ldpopt.{name}" for name in ldpopt.__all__ if not inspect.ismodule(getattr(ldpopt, name))}
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
    assert sorted(public_names() - set(LISTED)) == []


def test_every_name_of_the_reference_exists_and_stands_there_once() -> None:
    assert sorted(name for name in set(LISTED) if LISTED.count(name) > 1) == []
    for name in LISTED:
        module, _, leaf = name.removeprefix("ldpopt.").rpartition(".")
        holder = getattr(ldpopt, module, None) or importlib.import_module(f"ldpopt.{module}".rstrip("."))
        assert hasattr(holder, leaf), name


def test_links_of_the_task_table_lead_to_names_of_the_reference() -> None:
    linked = re.findall(r"<(ldpopt\.\S+)>`", (PAGES / "index.md").read_text(encoding="utf-8"))
    errors = {f"ldpopt.errors.{name}" for name in dir(ldpopt.errors)}
    assert len(linked) > 50
    assert sorted(set(linked) - set(LISTED) - errors) == []
