"""Numbered statements of the theory pages: their labels, marks and tests, read from the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

THEORY = Path(__file__).parent / "theory"
KINDS = ("Theorem", "Lemma", "Proposition", "Corollary", "Conjecture")
MARKS = ("Proved", "Cited", "Heuristic", "Measured", "Open")
HEADER = re.compile(
    rf"^\((?P<label>thm-[a-z0-9-]+)\)=\n\*\*(?P<kind>{'|'.join(KINDS)}) (?P<number>\d+) "
    r"\((?P<name>.+?)\)\.\*\*\s"
    rf"\*(?P<mark>(?:{'|'.join(MARKS)})\b.*?)\.\*\sTest:\s(?P<tests>.+?)\.$(?=\n\n)",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Statement:
    """One numbered statement of a page."""

    page: str
    label: str
    kind: str
    number: int
    name: str
    mark: str
    tests: tuple[str, ...]  # each "path::function"; empty if the page says that there is none


def pages() -> dict[str, str]:
    """Text of every theory page by its name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(THEORY.glob("*.md"))}


def statements(page: str, text: str) -> Iterator[Statement]:
    """Statements of a page in their order."""
    for found in HEADER.finditer(text):
        tests = tuple(re.findall(r"`([^`]+)`", found["tests"]))
        words = {key: " ".join(found[key].split()) for key in ("label", "kind", "name", "mark")}
        yield Statement(page, number=int(found["number"]), tests=tests, **words)


def table() -> str:
    """All statements as a table in Markdown, in the order of the pages in ``index.md``."""
    texts = pages()
    blocks = re.findall(
        r"^```\{toctree\}\n(.*?)^```", texts["index"], flags=re.MULTILINE | re.DOTALL
    )
    order = [page for block in blocks for page in re.findall(r"^(\w+)$", block, flags=re.MULTILINE)]
    titles = {page: re.search(r"^# (.+)$", texts[page], flags=re.MULTILINE)[1] for page in order}
    rows = ["| page | statement | mark |", "|---|---|---|"]
    for page in order:
        title = titles[page]
        for one in statements(page, texts[page]):
            sources = [
                word for word in ("new", "known", "standard") if re.search(rf"\b{word}\b", one.mark)
            ]
            link = f"[{one.kind} {one.number} ({one.name})](#{one.label})"
            rows.append(
                f"| {title} | {link} | {', '.join([one.mark.split()[0].strip(';:.,'), *sources])} |"
            )
            title = ""
    return "\n".join(rows)
