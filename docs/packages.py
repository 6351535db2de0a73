"""Draw the packages of ldpopt as floors of boxes: ``python docs/packages.py`` writes packages.svg.

The exact order of imports is the layers contract in pyproject.toml; the picture shows what one
keeps in the head: products above a double line, the core below it.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
WIDTH, MARGIN, GAP, LINE, HEAD = 920, 20, 8, 17, 24

PURPOSE = {
    "cli": "the command line, on files",
    "testing": "checks of solvers and notions of others",
    "plotting": "pictures, maps, the one-page report",
    "studies": "sweeps, simulations, comparison with the literature",
    "surveys": "several questions to the same people",
    "accounting": "what several reports of a person reveal",
    "stages": "a pilot, then the best mechanism there",
    "hypotheses": "which of two distributions, with few people",
    "designing": "Workload to Design: mechanism, estimator",
    "fieldwork": "the page for respondents, and the collector",
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
    "problem": "prior, utility, constraints; workloads, model files",
    "privacy": "the notions: which rows of a channel are close",
    "auditing": "true epsilon and delta of a channel",
    "tables": "CSV, Parquet, dataframes",
    "processes": "worker processes, checkpoints",
    "native": "loops in C over numpy arrays",
    "foundation": "budgets, labels, numbers, files",
    "errors": "what is wrong, where, what to do",
}

GREEN, YELLOW, GRAY, WHITE, RED = "#dcecd8", "#f7ebc8", "#f2f2f0", "#ffffff", "#8a3324"
STEPS = {
    "problem": "1 state a problem",
    "privacy": "2 write the constraints",
    "solving": "3 choose a method",
    "solvers": "4 solve",
    "mechanism": "5 repair",
    "auditing": "6 audit",
    "certificate": "7 prove",
}

# Floors from the top down; a box is (title, packages, color).
Box = tuple[str, tuple[str, ...], str]
PRODUCTS: list[list[Box]] = [
    [("SHOW", ("cli", "plotting", "testing"), WHITE)],
    [
        ("SURVEYS", ("surveys", "fieldwork", "accounting"), WHITE),
        ("STUDIES", ("studies",), WHITE),
    ],
    [
        (
            "DESIGNS  search; their proofs are below",
            ("designing", "estimation", "frequencies", "hypotheses", "stages"),
            YELLOW,
        ),
        ("PAPERS", ("closed_forms", "polytope", "noise", "mean"), WHITE),
    ],
]
CORE: list[list[Box]] = [
    [("SEARCH  may be wrong without harm", ("solving", "solvers", "processes"), YELLOW)],
    [
        (
            "PROOF  must be right, imports nothing that searches",
            ("certificate", "auditing", "privacy"),
            GREEN,
        )
    ],
    [("OBJECTS", ("problem", "mechanism"), GRAY)],
    [("GROUND", ("tables", "native", "foundation", "errors"), GRAY)],
]


def text(x: float, y: float, words: str, size: int, style: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {style}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, color: str) -> str:
    """A rectangle with rounded corners."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{color}" '
        'stroke="#777"/>'
    )


def rows_of(packages: tuple[str, ...], columns: int) -> list[tuple[str, ...]]:
    """Packages in rows of a box."""
    return [packages[k : k + columns] for k in range(0, len(packages), columns)]


def draw_box(box: Box, x: float, y: float, width: float, height: float, columns: int) -> str:
    """A box with its title, and a line for each package: name, purpose, step of a solve."""
    title, packages, color = box
    parts = [
        rectangle(x, y, width, height, color),
        text(x + 10, y + 16, title, 11, 'font-weight="bold" letter-spacing="1" fill="#555"'),
    ]
    for row, names in enumerate(rows_of(packages, columns)):
        for column, name in enumerate(names):
            left = x + 10 + column * (width - 20) / columns
            base = y + HEAD + LINE * row + 11
            parts.append(text(left, base, name, 13, 'font-weight="bold"'))
            parts.append(text(left + 106, base, PURPOSE[name], 12, 'fill="#333"'))
            if name in STEPS:
                right = left + (width - 20) / columns
                style = f'text-anchor="end" fill="{RED}"'
                parts.append(text(right, base, STEPS[name], 12, style))
    return "".join(parts)


def draw_floor(boxes: list[Box], y: float) -> tuple[str, float]:
    """The boxes of a floor, and where the next floor begins."""
    width = (WIDTH - 2 * MARGIN - GAP * (len(boxes) - 1)) / len(boxes)
    has_steps = any(name in STEPS for _, packages, _ in boxes for name in packages)
    columns = 1 if len(boxes) > 1 or has_steps else 2
    height = HEAD + 8 + LINE * max(len(rows_of(packages, columns)) for _, packages, _ in boxes)
    drawn = [
        draw_box(box, MARGIN + k * (width + GAP), y, width, height, columns)
        for k, box in enumerate(boxes)
    ]
    return "".join(drawn), y + height + GAP


def drawing() -> str:
    """The picture: products, a double line, the core."""
    y = 40.0
    parts = [
        text(MARGIN, 24, "Products: each can be removed.", 14),
        text(
            WIDTH - MARGIN,
            24,
            "Numbers: from a Problem to its certificate",
            12,
            f'text-anchor="end" fill="{RED}"',
        ),
    ]
    for floor in PRODUCTS:
        drawn, y = draw_floor(floor, y)
        parts.append(drawn)
    for shift in (2, 6):
        line = f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y + shift:g}" y2="{y + shift:g}" '
        parts.append(line + 'stroke="#333" stroke-width="1.5"/>')
    y += 16
    parts.append(text(MARGIN, y + 12, "Core: imports no product.", 14))
    y += 24
    for floor in CORE:
        drawn, y = draw_floor(floor, y)
        parts.append(drawn)
    apart = "Apart from all: ldpopt_check.py, one file that imports nothing but Python."
    parts.append(text(MARGIN, y + 14, apart, 14))
    y += 24
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:g}" '
        'font-family="sans-serif" role="img">',
        "<title>The packages of ldpopt: products above, the core below</title>",
        f'<rect width="{WIDTH}" height="{y:g}" fill="white"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "packages.svg").write_text(drawing(), encoding="utf-8")
