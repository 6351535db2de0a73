"""The page of a mutation run: score of each module, and every mutant that survived once."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

INTRODUCTION = """# Mutation testing of the exact core

    pip install -e ".[test,mutation]"
    python benchmarks/mutation.py                # new mutants and survivors; --again: all; budget: one module

Written by `benchmarks/mutation.py` on {today}: {total} mutants of {modules} modules in {minutes:.0f} minutes of
processor time. A mutant is one change of the code: another operator, comparison or number, a condition negated, a loop
left out, `floor` for `ceil`, `min` for `max`, `low` for `high`, `_taylor_down` for `_taylor_up` (`[tool.mutation]` in
`pyproject.toml`). Annotations, decorators, the words of errors and thresholds such as 1e-9 or
20_000 are left alone. Of modules with many
mutants a sample is drawn, the same one each time. A mutant is killed by the first failing test of its module's unit,
law and tightness tests; those that kill most in a second come first, up to a few seconds.

**{killed} of {counted} mutants that are not equivalent are killed: {score:.1%}.** {equivalent} are argued to be
equivalent: every promise holds with them. {once} of the killed ones survived before the tests that came with this page.
"""


def write(results: dict[str, Any]) -> None:
    """Write mutation.md from the results of `mutation.py` and the arguments in mutation.toml."""
    rows, survivors, open_, equivalent = [], [], 0, 0
    for path, module in results.items():
        found = module["mutants"]
        whys = {name: argument(path, name) for name, test in found.items() if not test}
        argued = sum(bool(why) for why in whys.values())
        killed, counted = sum(map(bool, found.values())), len(found) - argued
        open_, equivalent = open_ + len(whys) - argued, equivalent + argued
        numbers = (len(found), killed, argued, len(whys) - argued)
        rows.append(f"| `{path}` | {' | '.join(map(str, numbers))} | {killed / counted:.1%} |")
        for name in sorted(set(module.get("once", ())) | set(whys)):
            if name in found:
                since = f"killed by `{found[name].rpartition('/')[2]}`" if found[name] else ""
                survivors.append(f"| {_code(path, name)} | {since or whys[name] or 'open'} |")
    total = sum(len(module["mutants"]) for module in results.values())
    counted = total - equivalent
    text = INTRODUCTION.format(
        today=datetime.date.today(),
        total=total,
        modules=len(results),
        minutes=sum(module["seconds"] for module in results.values()) / 60,
        killed=counted - open_,
        counted=counted,
        score=(counted - open_) / counted,
        equivalent=equivalent,
        once=len(survivors) - equivalent - open_,
    )
    head = "| module | mutants | killed | equivalent | open | killed of the rest |\n|---|---|---|---|---|---|\n"
    modules = tomllib.loads((HERE / "mutation.toml").read_text())["modules"]
    left = ", ".join(f"`{path.removeprefix('ldpopt/')}`" for path in modules if path not in results)
    rows += [f"\nNot run yet: {left}."] if left else []
    listed = "\n## Survivors\n\n| mutant | since |\n|---|---|\n"
    (HERE / "mutation.md").write_text("\n".join([text, head + "\n".join(rows), listed + "\n".join(survivors), ""]))


def argument(path: str, name: str) -> str:
    """Why a mutant keeps every promise, or empty."""
    arguments = tomllib.loads((HERE / "mutation.toml").read_text())["equivalent"]
    return next((a["because"] for a in arguments if a["module"] in path and a["change"] in name), "")


def _code(path: str, name: str) -> str:
    module = path.removeprefix("ldpopt/").removesuffix(".py")
    before, _, after = name.replace("|", "\\|").partition(" => ")
    function, _, before = before.partition(": ")
    return f"{module} {function}: `{before}` → `{after}`"
