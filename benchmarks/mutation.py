"""Mutation testing of the exact core: which small changes of the code does no test notice? It
writes mutation.md.

Cosmic Ray makes the mutants. The tests are collected once; each mutant is a fork of that process in
which the code of one function is replaced, and the tests that call it run until one fails, first
those that kill most in a second. Settings: mutation.toml beside it.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import gc
import importlib
import json
import os
import re
import resource
import signal
import sys
import threading
import time
import tomllib
import types
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / ".mutation" / "results.json"
PYTEST = [
    "-o",
    "addopts=",
    "--import-mode=importlib",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:terminal",
]
PLAIN = (int, float, str, tuple, Fraction, re.Pattern)


def cpu() -> float:
    """Processor time of this process and of those that ended, in seconds."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def in_fork(work: Callable[[], Any], seconds: int) -> Any:
    """Result of a function in a fork of this process; None if it takes too long or dies."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        with os.fdopen(write, "w") as answer:
            json.dump(work(), answer)
        os._exit(0)
    os.close(write)
    with suppress(OSError):
        os.setpgid(child, child)
    before = signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(20 * seconds)
    with os.fdopen(read) as answer:
        text = answer.read()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests started
    os.waitpid(child, 0)
    return json.loads(text) if text else None


class Mutation:
    """Pytest plugin: in place of running the tests once, run them for every mutant."""

    def __init__(
        self, settings: dict[str, Any], chosen: list[str], results: dict[str, Any], again: bool
    ) -> None:
        self.settings, self.chosen, self.results, self.again = settings, chosen, results, again
        self.failed = ""
        self.out = os.fdopen(os.dup(1), "w", buffering=1)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember the first test that fails."""
        self.failed = self.failed or (report.nodeid if report.failed else "")

    def pytest_runtestloop(self, session: Any) -> bool:
        """Test every module."""
        self.items = {item.nodeid: item for item in session.items}
        for path in self.chosen:
            known = self.results.setdefault(path, {"mutants": {}, "seconds": 0.0})
            if self.again:
                known["mutants"].clear()
            self._test_module(path, known)
        return True

    def _test_module(self, path: str, result: dict[str, Any]) -> None:
        module = self.settings["modules"][path]
        known = result["mutants"]
        start = cpu()
        found = mutants(path, self.settings, module.get("most", self.settings["most"]))
        for name in set(known) - {mutant.name for mutant in found}:
            del known[name]
        survivors = {name for name, test in known.items() if not test}
        done = known.keys() - {
            name for name in survivors if not is_equivalent(self.settings, path, name)
        }
        left = [mutant for mutant in found if mutant.name not in done]
        names = [name for name in self.items if name.startswith(tuple(module["tests"]))]
        calls = in_fork(lambda: self._calls(names, path), 600) if left else None
        if left and (calls is None or "failed" in calls):
            raise SystemExit(f"{path}: {calls} without a mutant")
        print(f"{path}: {len(left)} of {len(found)} mutants left, {cpu():.0f} s", file=self.out)
        killers = Counter(known.values())
        for mutant in left:
            tests = [
                name for name in names if not mutant.function or mutant.function in calls[name][1]
            ]
            # those that kill most in a second
            tests.sort(key=lambda name: calls[name][0] / (1 + killers[name]))
            total = list(accumulate(calls[name][0] for name in tests))
            tests = tests[: bisect(total, self.settings["seconds"]) + 1]
            seconds = 2 * int(self.settings["seconds"]) + 3
            known[mutant.name] = self._verdict(path, mutant, tests, seconds)
            killers[known[mutant.name]] += 1
            if not known[mutant.name]:
                print(f"  {mutant.line} {mutant.name}   ({len(tests)} tests)", file=self.out)
            start, result["seconds"] = cpu(), result["seconds"] + cpu() - start
            RESULTS.write_text(json.dumps(self.results, indent=1))

    def _verdict(self, path: str, mutant: Mutant, tests: list[str], seconds: int) -> str:
        """The test that killed a mutant, or empty."""
        found = in_fork(lambda: self._first_failure(path, mutant, tests), seconds)
        return "time" if found is None else str(found)

    def _first_failure(self, path: str, mutant: Mutant, tests: list[str]) -> str:
        try:
            replace(path, mutant.code)
        except (Exception, SystemExit) as error:
            return f"import: {type(error).__name__}"
        for name in tests:
            self._run(name)
            if self.failed:
                return self.failed
        return ""

    def _calls(self, names: list[str], path: str) -> dict[str, Any]:
        """Seconds of each test, and the functions of a module that it calls."""
        file = str(ROOT / path)
        found = {}
        caches = [
            thing for thing in gc.get_objects() if isinstance(thing, functools._lru_cache_wrapper)
        ]
        for name in names:
            called: set[str] = set()

            def note(frame: Any, event: str, _: Any, called: set[str] = called) -> None:
                if event == "call" and frame.f_code.co_filename == file:
                    called.add(frame.f_code.co_qualname.partition(".<locals>")[0])

            for cache in caches:
                if cache.__module__.startswith("ldpopt"):
                    cache.cache_clear()
            start = cpu()
            threading.setprofile(note)
            sys.setprofile(note)
            self._run(name)
            sys.setprofile(None)
            if self.failed:
                return {"failed": self.failed}
            found[name] = cpu() - start, sorted(called)
        return found

    def _run(self, name: str) -> None:
        item = self.items[name]
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)


def replace(path: str, code: str) -> None:
    """Give the functions and constants of a loaded module those of other source text."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = importlib.import_module(name)
    fresh = types.ModuleType(name)
    fresh.__file__ = str(ROOT / path)
    exec(compile(code, str(ROOT / path), "exec"), fresh.__dict__)
    for key, new in list(vars(fresh).items()):
        old = vars(module).get(key)
        if isinstance(new, type) and new.__module__ == name:
            for attribute, value in list(vars(new).items()):
                before = vars(old).get(attribute)
                if (
                    not _put(before, value)
                    and isinstance(value, PLAIN)
                    and attribute[:2] != "__"
                    and value != before
                ):
                    setattr(old, attribute, value)
        elif not _put(old, new) and isinstance(new, PLAIN) and key[:2] != "__" and new != old:
            for other in list(sys.modules.values()):  # names imported from the module, too
                if (
                    getattr(other, "__name__", "").startswith("ldpopt")
                    and vars(other).get(key) == old
                ):
                    setattr(other, key, new)


def _put(old: Any, new: Any) -> bool:
    """Give a function, or what holds functions, the code of another; whether it was one."""
    pairs = list(zip(_functions_in(old), _functions_in(new), strict=False))
    for one, other in pairs:
        one.__code__, one.__defaults__, one.__kwdefaults__ = (
            other.__code__,
            other.__defaults__,
            other.__kwdefaults__,
        )
    if isinstance(old, functools._lru_cache_wrapper):
        old.cache_clear()
    return bool(pairs)


def _functions_in(thing: Any) -> Iterator[types.FunctionType]:
    parts = [getattr(thing, part, None) for part in ("__func__", "fget", "func", "__wrapped__")]
    yield from (part for part in (thing, *parts) if isinstance(part, types.FunctionType))


def _files(prefix: str) -> list[str]:
    if not (files := sorted(map(str, Path().glob(f"{prefix}*")))):
        raise SystemExit(
            f"no test file begins with {prefix}: mend [modules] in benchmarks/mutation.toml"
        )
    return files


PAGE = """# Mutation testing of the exact core

    pip install -e ".[all,test]" --group mutation
    python benchmarks/mutation.py  # new mutants and survivors; --again: all; budget: one module

A mutant is one change of the code: another operator, comparison or number, a negated condition, a
skipped loop, `floor` for `ceil`, `low` for `high`. It is killed if one of the module's tests
fails. `mutation.toml` has the settings, the tests of each module, and for each equivalent mutant
the reason why every promise holds with it.

Run on {today}: {total} mutants of {modules} modules in {minutes:.0f} minutes of processor time.
**{killed} of the
{counted} that are not equivalent are killed: {score:.1%}.**

| module | mutants | killed | equivalent | open |
|---|---|---|---|---|
"""


def write(results: dict[str, Any], settings: dict[str, Any]) -> None:
    """Write mutation.md: the score of each module, and the mutants that no test kills."""
    rows = []
    left = []
    totals = [0, 0, 0, 0]
    for path in filter(results.get, settings["modules"]):
        found = results[path]["mutants"]
        survivors = [name for name, test in found.items() if not test]
        unknown = [name for name in survivors if not is_equivalent(settings, path, name)]
        numbers = (
            len(found),
            len(found) - len(survivors),
            len(survivors) - len(unknown),
            len(unknown),
        )
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        rows.append(f"| `{path}` | {' | '.join(map(str, numbers))} |\n")
        left += [f"- `{path}`: `{name}`\n" for name in unknown]
    text = PAGE.format(
        today=datetime.date.today(),
        total=totals[0],
        modules=len(rows),
        minutes=sum(module["seconds"] for module in results.values()) / 60,
        killed=totals[1],
        counted=totals[0] - totals[2],
        score=totals[1] / max(1, totals[0] - totals[2]),
    )
    page = text + "".join(rows) + ("\nOpen:\n\n" + "".join(left) if left else "")
    Path(__file__).with_suffix(".md").write_text(page, encoding="utf-8")


def is_equivalent(settings: dict[str, Any], path: str, name: str) -> bool:
    """Whether the settings argue that every promise holds with a mutant."""
    return any(
        change in name
        for part, whys in settings["equivalent"].items()
        if part in path
        for change in whys
    )


def main() -> None:
    """Test the modules named, or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "modules", nargs="*", help="parts of paths; default: every module of the settings"
    )
    parser.add_argument(
        "--again", action="store_true", help="test all again, not only new mutants and survivors"
    )
    parser.add_argument(
        "--page", action="store_true", help="write the page from the results at hand"
    )
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    settings = tomllib.loads((ROOT / "benchmarks/mutation.toml").read_text())
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    if not options.page:
        os.environ["LDPOPT_SLOWNESS"] = "10"
        parts = options.modules or [""]
        chosen = [path for path in settings["modules"] if any(part in path for part in parts)]
        prefixes = {test for path in chosen for test in settings["modules"][path]["tests"]}
        tests = {file for prefix in prefixes for file in _files(prefix)}
        import pytest

        code = pytest.main(
            [*PYTEST, *sorted(tests)], plugins=[Mutation(settings, chosen, results, options.again)]
        )
        if code:
            raise SystemExit(int(code))
    write(results, settings)


if __name__ == "__main__":
    main()
