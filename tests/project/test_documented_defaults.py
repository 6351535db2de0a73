"""Docstrings agree with signatures: names of parameters, defaults and choices."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import ldpopt

ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<kind>.*))?$")
DEFAULT = re.compile(r"[Dd]efault: ((?:``[^`]+``(?: and )?)+)")

Entries = dict[str, tuple[str, str]]


def documented(text: str) -> Entries:
    """Type and description of every parameter of a numpydoc docstring."""
    found = re.search(
        r"\nParameters\n-+\n(.*?)(?:\n\n\w[^\n]*\n---|\Z)", inspect.cleandoc(text), re.S
    )
    entries: Entries = {}
    names: list[str] = []
    for line in found.group(1).split("\n") if found else []:
        if line and not line[0].isspace():
            entry = ENTRY.match(line)
            assert entry, f"not an entry: {line!r}"
            names = [name.lstrip("*") for name in entry["names"].split(", ")]
            entries |= {name: (entry["kind"] or "", "") for name in names}
        else:
            entries |= {
                name: (entries[name][0], f"{entries[name][1]} {line.strip()}".strip())
                for name in names
            }
    return entries


def callables() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Name, object and module of each function, class and method whose name has no underscore in
    front."""
    for info in pkgutil.walk_packages(ldpopt.__path__, "ldpopt."):
        if info.name.startswith(("ldpopt.cli", "ldpopt.__main__")):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != info.name:
                continue
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{info.name}.{name}", value, module
            for inner, method in vars(value).items() if inspect.isclass(value) else ():
                function = (
                    method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
                )
                if inspect.isfunction(function) and not inner.startswith("_"):
                    yield f"{info.name}.{name}.{inner}", function, module


def differences(call: Callable[..., Any], module: Any, entries: Entries) -> Iterator[str]:
    """What a docstring says otherwise than the signature."""
    parameters = inspect.signature(call).parameters
    # one entry may name several parameters, and give a default for each
    uses: dict[tuple[str, str], int] = {}
    for name, (kind, text) in entries.items():
        place = uses[kind, text] = uses.get((kind, text), -1) + 1
        default = parameters[name].default if name in parameters else None
        given = (
            re.findall(r"``([^`]+)``", found.group(1)) if (found := DEFAULT.search(text)) else []
        )
        if name not in parameters:
            yield f"{name} is documented but is not a parameter"
        elif default is inspect.Parameter.empty:
            if "optional" in kind:
                yield f"{name} is documented as optional but is required"
        elif default is None:
            if not re.search(r"optional|None|[Dd]efault", f"{kind} {text}"):
                yield f"{name} is not documented as optional"
        elif (
            not given
            or eval(given[min(place, len(given) - 1)], {"inf": math.inf} | vars(module)) != default
        ):
            yield f"{name} has the default {default!r}, documented: {given or 'none'}"


def wrong_choices(call: Callable[..., Any], module: Any, entries: Entries) -> Iterator[str]:
    """Parameters whose documented choices, in braces, are not those of the type
    ``Literal[...]``."""
    try:
        hints = get_type_hints(
            call.__init__ if inspect.isclass(call) and "__init__" in vars(call) else call,
            vars(module),
        )
    except NameError:  # a name that is imported for type checkers only
        return
    for name, (kind, _) in entries.items():
        listed = re.match(r"\{(.*?)\}", kind)
        if not listed or get_origin(hints.get(name)) is not Literal:
            continue
        if {eval(choice) for choice in listed.group(1).split(",")} != set(get_args(hints[name])):
            yield f"{name} has the choices {get_args(hints[name])}, documented: {kind}"


def test_documented_parameters_are_those_of_the_code() -> None:
    found = 0
    wrong = []
    for place, call, module in callables():
        if entries := documented(call.__doc__ or ""):
            found += 1
            wrong += [f"{place}: a type is written as Python prints it"] * (
                "<class" in call.__doc__
            )
            wrong += [f"{place}: {one}" for one in differences(call, module, entries)]
            wrong += [f"{place}: {one}" for one in wrong_choices(call, module, entries)]
    assert wrong == []
    assert found > 200


def test_public_functions_document_each_parameter() -> None:
    holders = [(ldpopt, ldpopt.__all__), (ldpopt.closed_forms, ldpopt.closed_forms.__all__)]
    functions = [getattr(holder, name) for holder, names in holders for name in names]
    for function in filter(inspect.isfunction, functions):
        parameters = inspect.signature(function).parameters.values()
        names = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
        assert names <= set(documented(function.__doc__ or "")), function.__name__
