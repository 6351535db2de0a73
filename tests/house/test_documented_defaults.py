"""What docstrings say of parameters is what the code does: names, defaults and choices."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import ldpopt

ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<kind>.*))?$")
DEFAULT = re.compile(r"[Dd]efault: ((?:``[^`]+``(?: and )?)+)")


def documented(text: str) -> dict[str, tuple[str, str]]:
    """Type and description of every parameter of a numpydoc docstring."""
    found = re.search(r"\nParameters\n-+\n(.*?)(?:\n\n\w[^\n]*\n---|\Z)", inspect.cleandoc(text), re.S)
    entries: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in found.group(1).split("\n") if found else []:
        if line and not line[0].isspace():
            entry = ENTRY.match(line)
            assert entry, f"not an entry: {line!r}"
            names = [name.lstrip("*") for name in entry["names"].split(", ")]
            entries |= {name: (entry["kind"] or "", "") for name in names}
        else:
            entries |= {name: (entries[name][0], f"{entries[name][1]} {line.strip()}".strip()) for name in names}
    return entries


def public() -> Iterator[tuple[str, Any, Any]]:
    """Name, object and module of everything public that can be called."""
    for info in pkgutil.walk_packages(ldpopt.__path__, "ldpopt."):
        if info.name.startswith(("ldpopt.cli", "ldpopt.__main__")):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != info.name:
                continue
            if inspect.isclass(value):
                yield f"{info.name}.{name}", value, module
                for inner, method in vars(value).items():
                    plain = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
                    if inspect.isfunction(plain) and not inner.startswith("_"):
                        yield f"{info.name}.{name}.{inner}", plain, module
            elif inspect.isfunction(value):
                yield f"{info.name}.{name}", value, module


CASES = [pytest.param(value, module, id=name) for name, value, module in public() if documented(value.__doc__ or "")]


def stated_default(kind: str, text: str, place: int, module: Any) -> Any:
    """The value that a docstring states as default, or the empty signature where it states none."""
    found = DEFAULT.search(text)
    if not found:
        return inspect.Parameter.empty
    values = re.findall(r"``([^`]+)``", found.group(1))
    return eval(values[min(place, len(values) - 1)], {"inf": math.inf} | vars(module))


@pytest.mark.parametrize(("call", "module"), CASES)
def test_documented_defaults_are_those_of_the_code(call, module):
    signature = inspect.signature(call)
    entries = documented(call.__doc__)
    texts: dict[tuple[str, str], int] = {}
    for name, (kind, text) in entries.items():
        assert name in signature.parameters, f"{name} is documented but is not a parameter"
        parameter = signature.parameters[name]
        place = texts[kind, text] = texts.get((kind, text), -1) + 1
        if parameter.default is inspect.Parameter.empty:
            assert "optional" not in kind, f"{name} is documented as optional but must be given"
            continue
        if parameter.default is None:
            assert re.search(r"optional|None|[Dd]efault", f"{kind} {text}"), f"{name} is not documented as optional"
            continue
        stated = stated_default(kind, text, place, module)
        assert stated == parameter.default, f"default of {name}: {parameter.default!r} in the code, {stated} documented"


@pytest.mark.parametrize(("call", "module"), CASES)
def test_documented_choices_are_those_of_the_code(call, module):
    function = call.__init__ if inspect.isclass(call) and "__init__" in vars(call) else call
    hints = {}
    try:
        hints = get_type_hints(function, vars(module))
    except NameError:  # a name that is imported for type checkers only
        return
    for name, (kind, _) in documented(call.__doc__).items():
        listed = re.match(r"\{(.*?)\}", kind)
        if listed and get_origin(hints.get(name)) is Literal:
            assert {eval(choice) for choice in listed.group(1).split(",")} == set(get_args(hints[name])), name
