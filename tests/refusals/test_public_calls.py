"""Random calls of every public name end in a result, in a refusal, or in Python's own TypeError
about the signature; what refuses arguments says so in its docstring.

LDPOPT_TESTS=thorough pytest tests/refusals/test_public_calls.py makes 50 000 calls.
``python benchmarks/calls.py`` prints how they end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import pytest

from builders import thorough_or
from public_calls import EXCLUDED, Target, documented, number_of_calls, targets, try_call

GROUPS: dict[str, list[Target]] = {}
for _target in targets():
    GROUPS.setdefault(_target.name.partition("." + _target.attribute)[0], []).append(_target)


@pytest.mark.parametrize("group", GROUPS)
def test_a_public_call_ends_in_a_result_or_a_refusal(
    group: str, limited: Callable[[Callable[[], Any]], Any]
) -> None:
    faults = []
    silent = set()
    for place, target in enumerate(GROUPS[group]):
        for seed in range(number_of_calls(target, place, thorough_or(False, True))):
            ended = try_call(target, seed, limited)
            plt.close("all")
            faults += [f"{target.name} {seed}: {ended.detail}"] if ended.how == "fault" else []
            if ended.how == "refusal" and lists_parameters_only(target):
                silent.add(target.name)
    assert not faults, "\n".join(faults)
    assert not silent, 'these refuse arguments: their docstrings need a section "Raises"'


def lists_parameters_only(target: Target) -> bool:
    """Whether the docstring lists parameters, but not what is raised."""
    thing = documented()[target.name] if target.owner is None else None
    if target.owner is not None:
        thing = inspect.getattr_static(target.owner, target.attribute)
    text = inspect.getdoc(thing) or ""
    return "Parameters\n---" in text and "Raises\n---" not in text


def test_the_thorough_set_makes_enough_calls() -> None:
    calls = sum(
        number_of_calls(target, place, True)
        for group in GROUPS.values()
        for place, target in enumerate(group)
    )
    assert calls >= 50_000


def test_what_is_not_called_exists_and_has_a_reason() -> None:
    assert set(EXCLUDED) <= {*documented(), *(target.name for target in targets())} | set(EXCLUDED)
    assert all(EXCLUDED.values())
