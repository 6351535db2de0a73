"""Order of arguments: the data, then the budget; notions, mean protocols and extreme points begin
with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import ldpopt
from ldpopt.studies.sweep import Row

BUDGETS = {"epsilon", "epsilons", "privacy"}
BEGIN_WITH_THE_BUDGET = {"extreme_points"}
"""Besides notions, their pictures and `ldpopt.mean`: it depends on a budget and a number of
answers."""
RECORDS = {ldpopt.Audit, ldpopt.Budget, ldpopt.ExtremePoints, Row}
"""Results, which users do not construct."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions, and classes that are not records of results."""
    for name in ldpopt.__all__:
        one = getattr(ldpopt, name)
        if not isinstance(one, ModuleType):
            yield name, one
            continue
        inside = getattr(one, "__all__", None) or [
            key for key in vars(one) if not key.startswith("_")
        ]
        yield from ((f"{name}.{key}", getattr(one, key)) for key in inside)


def begins_with_the_budget(function: Callable[..., Any]) -> bool:
    """Whether the first argument is a budget or notion."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return bool(names) and names[0] in BUDGETS


def test_data_come_before_the_budget() -> None:
    named = {
        one: name for name, one in functions() if inspect.isfunction(one) or inspect.isclass(one)
    }
    first = {one: name for one, name in named.items() if begins_with_the_budget(one)}
    assert {ldpopt.PureLDP, ldpopt.MetricDP, ldpopt.mean.Duchi} <= first.keys()
    # a picture of a notion has no other data
    packages = ("ldpopt.privacy", "ldpopt.mean", "ldpopt.plotting")
    others = {
        one.__name__
        for one in first
        if not one.__module__.startswith(packages) and one not in RECORDS
    }
    assert others == BEGIN_WITH_THE_BUDGET
