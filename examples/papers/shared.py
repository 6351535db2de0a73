"""What the scripts of this folder share: CSV files, pictures, and the record of printed values
beside ours."""

import csv
import math
import re
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BLUE, RED, GREEN, GRAY = "#08519c", "#cb181d", "#238b45", "#737373"


@dataclass(frozen=True)
class Row:
    """One printed value or claim of a source, and what it is here."""

    row: str
    what: str
    printed: str
    ours: str
    difference: str
    verdict: str
    where: str
    because: str


class Record:
    """Rows of the sources, written to ``rows.csv`` in the folder of a script.

    The verdict of a row is "agrees" (to the printed digits, or the claim holds), "differs" (with
    the reason), or "shown" where the source prints no value.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rows = []

    def value(self, row, what, ours, printed="", *, where, because="", within=None):
        """A number. `printed` is a string: its digits are the accuracy, unless `within` gives a
        relative one."""
        if printed == "":
            self._add(row, what, "", _short(ours), "", "shown", where, because)
            return
        target = float(printed)
        allowed = abs(target) * within if within is not None else 0.5000001 * _unit(printed)
        agrees = abs(ours - target) <= allowed
        share = abs(ours - target) / abs(target) if target else abs(ours)
        verdict = "agrees" if agrees else "differs"
        self._add(
            row,
            what,
            printed,
            _short(ours),
            f"{share:.1e}" if share else "0",
            verdict,
            where,
            because,
        )

    def claim(self, row, what, holds, ours, *, where, because=""):
        """A statement of the source in words, and whether it holds."""
        self._add(row, what, "claim", ours, "", "agrees" if holds else "differs", where, because)

    def shown(self, row, what, *, where, ours=""):
        """Something that the source draws or defines without a number of its own."""
        self._add(row, what, "", ours, "", "shown", where, "")

    def save(self):
        """Write the rows; a row that differs must say why."""
        for row in self.rows:
            assert row.verdict != "differs" or row.because, (
                f"{row.row}, {row.what}: {row.ours}, printed {row.printed}"
            )
        write_csv(
            self.folder / "rows.csv",
            [field.name for field in fields(Row)],
            [astuple(row) for row in self.rows],
        )

    def _add(self, *parts):
        self.rows.append(Row(*parts))


def read_rows(path):
    """The rows that a script wrote."""
    with open(path, newline="", encoding="utf-8") as stream:
        return [Row(**row) for row in csv.DictReader(stream)]


def write_csv(path, header, rows):
    """Write a table."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def fill(path, parts):
    """Replace the text of a page between ``<!-- NAME -->`` and ``<!-- end -->`` for each part."""
    text = path.read_text(encoding="utf-8")
    for name, part in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.DOTALL)
        assert pattern.search(text), f"{path} has no part {name!r}"
        text = pattern.sub(lambda marks, part=part: marks[1] + part + "\n" + marks[2], text)
    path.write_text(text, encoding="utf-8")


def save(figure, path):
    """Write a picture and close it."""
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(path)


def _unit(printed):
    """Size of the last printed digit."""
    digits, _, power = printed.lower().partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def _short(number):
    return f"{number:.7g}" if isinstance(number, float) and math.isfinite(number) else str(number)
