"""A commented model file to begin with."""

from collections.abc import Sequence
from pathlib import Path

import jinja2

from ldpopt.foundation.budget import Budget
from ldpopt.privacy.notion import KINDS
from ldpopt.privacy.plain import plain_budget
from ldpopt.problem.modelfile.write import format_value

COMMENT = 34  # column of the comments


def template(
    title: str, inputs: Sequence[str], epsilon: str | float, *, estimate: bool = False
) -> str:
    """Text of a model file with comments."""
    matrix = [[float(x == y) for y in range(len(inputs))] for x in range(len(inputs))]
    source = Path(__file__).with_name("template.toml.j2").read_text(encoding="utf-8")
    text = jinja2.Template(source, trim_blocks=True).render(
        estimate=estimate,
        verb="design" if estimate else "solve",
        kinds=", ".join(kind for kind in KINDS if kind != "pure"),
        title=format_value(title),
        inputs=format_value(list(inputs)),
        weights=format_value(dict.fromkeys(inputs, 1)),
        matrix=format_value(matrix, flat=True),
        epsilon=format_value(plain_budget(Budget(epsilon))),
    )
    lines = []
    for line in text.splitlines():
        entry, mark, comment = line.rpartition("  # ")
        lines.append(
            f"{entry.rstrip():<{COMMENT - 1}} # {comment.strip()}"
            if mark and entry.strip()
            else line
        )
    return "\n".join(lines) + "\n"
