"""Draw the packages of ldpopt in the order of the import contract: ``python docs/packages.py``
writes packages.svg."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
WIDTH, MARGIN, GAP, HEIGHT = 920, 20, 8, 42

PURPOSE = {
    "cli": "the command line, on files",
    "testing": "checks of solvers and notions of others",
    "plotting": "pictures, maps, the one-page report",
    "studies": "sweeps, simulations, experiments; comparison with the mechanisms of the literature",
    "surveys": "several questions to the same people: schemes, keys, missing answers, files",
    "accounting": "what several reports of a person reveal together",
    "designing": "from a workload to its optimal mechanism and estimator (Workload to Design)",
    "noise": "additive noise for queries",
    "frequencies": "protocols for frequencies",
    "mean": "protocols for means",
    "estimation": "from reports to numbers and intervals",
    "polytope": "extreme points of all mechanisms",
    "solving": "Problem to Solution: plan, methods",
    "certificate": "exact values, bounds, their files",
    "closed_forms": "optima that need no solver",
    "solvers": "linear programs; nothing of privacy",
    "mechanism": "the channel, exact sampling, repair",
    "problem": "inputs, prior, utility, constraints; workloads, data sets, model files",
    "privacy": "the notions, one per file: which rows of a channel are close to each other",
    "auditing": "true epsilon and delta of a channel",
    "tables": "CSV, Parquet, dataframes",
    "processes": "worker processes, checkpoints",
    "native": "loops in C over numpy arrays, their arguments checked",
    "foundation": "exact budgets, labels, checks of numbers, files, deadlines",
    "errors": "the exceptions: what is wrong, where, what to do",
}
STEPS = {
    "problem": "1 state a problem",
    "privacy": "2 write the constraints",
    "solving": "3 choose a method",
    "solvers": "4 solve",
    "mechanism": "5 repair",
    "auditing": "6 audit",
    "certificate": "7 prove",
}
TRUSTED = ("privacy", "auditing", "certificate")
SEARCHING = ("solvers", "solving", "designing")
GREEN, YELLOW, GRAY, RED = "#dcecd8", "#f7ebc8", "#f2f2f0", "#8a3324"


def layers() -> list[list[str]]:
    """Packages of each layer of the import contract, from the top down."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    found = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [[name.strip().removeprefix("ldpopt.") for name in layer.split(":")] for layer in found]
    return [layer for layer in names if layer != ["__main__"]]


def text(x: float, y: float, words: str, size: int, style: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {style}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, name: str) -> str:
    """A rectangle in the color of what a package may do."""
    color = GREEN if name in TRUSTED else YELLOW if name in SEARCHING else GRAY
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height}" rx="4" fill="{color}" '
        'stroke="#777"/>'
    )


def box(name: str, x: float, y: float, width: float) -> str:
    """Name, purpose and step of a package."""
    parts = [
        rectangle(x, y, width, HEIGHT, name),
        text(x + 10, y + 17, name, 13, 'font-weight="bold"'),
        text(x + 10, y + 33, PURPOSE[name], 12, 'fill="#333"'),
    ]
    if name in STEPS:
        parts.append(
            text(x + width - 10, y + 17, STEPS[name], 12, f'text-anchor="end" fill="{RED}"')
        )
    return "".join(parts)


def drawing() -> str:
    """The picture: one row for each layer; a package imports only packages in lower rows."""
    parts = [
        text(MARGIN, 24, "Each package imports only packages in lower rows.", 14),
        text(
            MARGIN, 44, "Numbers: the steps from a Problem to its certificate.", 12, f'fill="{RED}"'
        ),
        rectangle(470, 13, 14, 14, TRUSTED[0]),
        text(490, 24, "must be right: privacy and proofs; imports nothing that searches", 12),
        rectangle(470, 33, 14, 14, SEARCHING[0]),
        text(490, 44, "searches for the optimum: every result is checked", 12),
    ]
    y = 58
    for names in layers():
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        parts += [box(name, MARGIN + k * (width + GAP), y, width) for k, name in enumerate(names)]
        y += HEIGHT + GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8}" '
        'font-family="sans-serif" role="img">',
        "<title>The packages of ldpopt: each imports only packages in lower rows</title>",
        f'<rect width="{WIDTH}" height="{y + 8}" fill="white"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "packages.svg").write_text(drawing(), encoding="utf-8")
