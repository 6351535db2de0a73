"""What is in a registry has the other parts of its checklist in docs/extending.md, too; a failure
names the part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ldpopt.cli.app import COMMANDS
from ldpopt.designing.plan import METHODS as DESIGN_METHODS
from ldpopt.foundation.plugins import registered
from ldpopt.frequencies import FrequencyProtocol
from ldpopt.mean import NumberProtocol
from ldpopt.privacy.notion import KINDS
from ldpopt.problem.modelfile.schema import FORMS, kinds_of
from ldpopt.problem.utility import NAMED
from ldpopt.solving.plan import METHODS
from ldpopt.studies.experiment import PROTOCOLS

ROOT = Path(__file__).parents[2]
LISTS = ("models", "examples", "solvers")
"""Commands whose output grows with what is installed or added: described without an example, if
need be."""


def parts() -> Iterator[tuple[str, str, str]]:
    """A thing in a registry, a document, and words that the document has if the thing is described
    there."""
    for kind, notion in KINDS.items():
        if notion.__module__.startswith("ldpopt."):
            name = notion.__name__
            yield f"the notion {name}", "docs/theory/notions.md", f"| `{name}"
            yield f"the notion {name}", "docs/reference/privacy.md", f"| `{name}("
            yield f"the notion {name}", "docs/model_files.md", f'"{kind}"'
            yield f"the notion {name}", "docs/which.md", f"`{name}"
            yield f"the notion {name}", "models", f'kind = "{kind}"'
    for name in registered("ldpopt.solvers"):
        yield f"the solver {name}", "docs/reference/solving.md", f'| `"{name}"'
    for method in (*METHODS, *DESIGN_METHODS):
        yield f"the method {method.name}", "docs/architecture.md", f"| {method.name} |"
    for protocol in FrequencyProtocol.PUBLISHED:
        yield (
            f"the protocol {protocol.__name__}",
            "docs/theory/frequencies.md",
            f"| `{protocol.__name__}`",
        )
    for protocol in NumberProtocol.PUBLISHED:
        yield f"the protocol {protocol.__name__}", "docs/theory/mean.md", f"| `{protocol.__name__}`"
    for command in COMMANDS:
        name = command.__name__
        yield (
            f"the command {name}",
            "docs/command_line.md",
            f"`{name}`" if name in LISTS else f"$ ldpopt {name} ",
        )
    kinds = {
        table: [kind for form in FORMS[table] for kind in kinds_of(form)]
        for table in ("workload", "constraints")
    }
    for table, names in {"utility": [*NAMED], **kinds}.items():
        for name in names:
            yield f"the kind {name} of [{table}]", "docs/model_files.md", f'"{name}"'
            if table != "workload":  # whose members the reference lists by itself
                word = f"ldpopt.{table}.{name}"
                yield f"the function {word}", "docs/reference/problem.md", word


@pytest.mark.parametrize(("thing", "page", "words"), list(parts()))
def test_what_is_registered_is_documented(thing: str, page: str, words: str) -> None:
    path = ROOT / page
    files = [path] if path.is_file() else sorted(path.iterdir())
    found = any(words in file.read_text(encoding="utf-8") for file in files)
    assert found, (
        f"{thing} is missing in {page}: no {words!r} (docs/extending.md has the checklist)"
    )


def test_an_experiment_takes_every_mean_protocol() -> None:
    names = {protocol.__name__ for protocol in NumberProtocol.PUBLISHED}
    missing = names - set(PROTOCOLS)
    assert not missing, f"PROTOCOLS of ldpopt/studies/experiment.py has no {missing}"
