"""Draw the rooms of the package in the order of the import contract: ``python docs/rooms.py`` writes docs/rooms.svg."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
WIDTH, GAP = 920, 10
ALONE, BESIDE = 44, 66  # heights of a room that has its floor to itself, and of one that shares it

WAY = {
    "problem": "1  a Problem is stated",
    "privacy": "2  its ties are written",
    "solving": "3  the plan chooses a method",
    "solvers": "4  a program is solved",
    "mechanism": "5  the channel is repaired",
    "auditing": "6  and audited",
    "certificate": "7  value and bound are proved",
}
"""The way of one problem through the rooms."""


def floors() -> list[list[str]]:
    """Rooms of each floor, from the top down, as import-linter checks them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [[name.strip().removeprefix("ldpopt.") for name in layer.split(":")] for layer in layers]
    return [[name for name in layer if name != "__main__"] for layer in names if layer != ["__main__"]]


def purpose(room: str) -> str:
    """First line of the room's docstring."""
    path = ROOT / "ldpopt" / room / "__init__.py"
    path = path if path.exists() else ROOT / "ldpopt" / f"{room}.py"
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.splitlines()[0].replace("`", "")


def wrapped(text: str, size: int) -> list[str]:
    """Lines of at most so many characters, three at most."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= size:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:2] + ([lines[2] + " ..."] if len(lines) > 3 else lines[2:3])


def box(room: str, x: float, y: float, width: float, height: float) -> str:
    """Name and purpose in a rectangle, with the room's part in the way of a problem."""
    lines = wrapped(purpose(room), int(width / 6.1))
    text = "".join(
        f'<text x="{x + 12:g}" y="{y + 34 + 12.5 * k:g}" font-size="11" fill="#333">{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    frame = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height}" rx="5" fill="#f4f1ea" stroke="#6b6b6b"/>'
    name = f'<text x="{x + 12:g}" y="{y + 19:g}" font-size="13" font-weight="bold" fill="#111">{escape(room)}</text>'
    end = f'x="{x + width - 12:g}" y="{y + 19:g}" text-anchor="end"'
    step = f'<text {end} font-size="12" fill="#8a3324">{escape(WAY[room])}</text>' if room in WAY else ""
    return frame + name + step + text


def drawing() -> str:
    """The picture: one row for each floor; every room imports only rooms below it."""
    parts, y = [], 58.0
    for rooms in floors():
        width = (WIDTH - 40 - GAP * (len(rooms) - 1)) / len(rooms)
        height = ALONE if len(rooms) == 1 else BESIDE
        parts += [box(room, 20 + k * (width + GAP), y, width, height) for k, room in enumerate(rooms)]
        y += height + GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8:g}" font-family="sans-serif" role="img">',
        "<title>The rooms of ldpopt: each imports only rooms below it</title>",
        f'<rect width="{WIDTH}" height="{y + 8:g}" fill="white"/>',
        '<text x="20" y="26" font-size="14" fill="#111">Imports go down only: a room uses what stands below it.</text>',
        '<text x="20" y="46" font-size="12" fill="#8a3324">The way of a problem to its certificate: 1 to 7.</text>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "rooms.svg").write_text(drawing(), encoding="utf-8")
