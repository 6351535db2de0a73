"""What the command estimate concludes from estimates: differences of groups and waves, quantiles,
tests, tables that add up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from ldpopt.cli.printing import working
from ldpopt.foundation.display import Facts, Table, label

if TYPE_CHECKING:
    from ldpopt.estimation.options import Reading
    from ldpopt.surveys.estimates import SurveyEstimate
    from ldpopt.surveys.survey import Survey

EVERY_PAIR = "all"


@dataclass(frozen=True)
class Conclusions:
    """What is concluded, as the options say it."""

    differences: str | None = None  # a group with which all are compared, or `EVERY_PAIR`
    against: str | None = None  # reports of an earlier wave
    quantile: tuple[float, ...] = ()
    test: bool = False
    consistent: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given, by name."""
        return {
            "--differences": self.differences,
            "--against": self.against,
            "--quantile": self.quantile or None,
            "--test": self.test or None,
            "--consistent": self.consistent or None,
        }

    def require_fitting(self, reports: str, by: str | None, pair: Any, method: str) -> None:
        """Refuse conclusions that do not go with each other, or without groups, and a wave that is
        compared with itself.
        """
        given = [name for name, value in self.options.items() if value is not None]
        if not given:
            return
        if len(given) > 1:
            raise typer.BadParameter(f"{' and '.join(given)} are given: take one at a time")
        if pair is not None or method != "inversion":
            raise typer.BadParameter(f"{given[0]} goes with neither --pair nor --method")
        if given[0] in ("--differences", "--test", "--consistent") and by is None:
            raise typer.BadParameter(f"{given[0]} compares groups: give their column by --by")
        if given[0] == "--against" and by is not None:
            raise typer.BadParameter("--against compares all people: leave --by out")
        if self.against is not None and os.path.realpath(self.against) == os.path.realpath(reports):
            raise typer.BadParameter("--against names the same reports: name those of another wave")


def conclude(
    conclusions: Conclusions,
    estimates: SurveyEstimate,
    survey: Survey,
    options: dict[str, Any],
    reading: Reading,
) -> tuple[Facts, str, list[dict[str, Any]]] | None:
    """What follows from the estimates: facts, the name of the rows in JSON, and the rows; None if
    nothing was asked for.
    """
    if conclusions.differences is not None:
        base = None if conclusions.differences == EVERY_PAIR else conclusions.differences
        found = estimates.differences(base)
        return found.facts(), "differences", found.entries()
    if conclusions.against is not None:
        from ldpopt.surveys.estimates import estimate_survey
        from ldpopt.surveys.form import require_form_of

        earlier = conclusions.against
        with working(f"counting {earlier}"):
            require_form_of(survey, earlier, is_before=True)
            before = estimate_survey(survey, earlier, by=None, reading=reading, **options)
        changes = estimates - before
        return changes.facts(), "differences", changes.entries()
    if conclusions.quantile:
        return _quantiles(conclusions.quantile, estimates)
    if conclusions.test:
        return _tests(estimates)
    return None


def _quantiles(
    shares: tuple[float, ...], estimates: SurveyEstimate
) -> tuple[Facts, str, list[dict[str, Any]]]:
    """A quantile of each question whose answers are ordered, for all people or each group."""
    rows = []
    for p in shares:
        found = estimates.quantile(p)
        rows += [{**row, "answer": p} for row in found.entries()]
    entries = [
        {("quantile" if key == "answer" else key): cell for key, cell in row.items()}
        for row in rows
    ]
    has_groups = estimates.by is not None
    headings = [*([estimates.by or ""] if has_groups else []), "question", "quantile"]
    headings += ["estimate", "std error", "low", "high", "reports"]
    cells = [
        [
            cell if isinstance(cell, (int, float, type(None))) else label(cell)
            for cell in row.values()
        ]
        for row in entries
    ]
    confidence = next(iter(estimates.values())).confidence
    title = f"{estimates.title or 'survey'}: quantiles, {100 * confidence:g} % intervals"
    return (
        Facts(title, [Table(headings, cells, words=["question"], digits=5)]),
        "quantiles",
        entries,
    )


def _tests(estimates: SurveyEstimate) -> tuple[Facts, str, list[dict[str, Any]]]:
    """Whether all groups answer a question alike, for each question."""
    entries = []
    for name in estimates:
        test = estimates.independence(name)
        entry = {"question": name, "statistic": test.statistic, "freedom": test.freedom}
        entries.append(entry | {"p": test.p_value})
    headings = ["question", "statistic", "degrees of freedom", "p"]
    table = Table(headings, [[label(row["question"]), *list(row.values())[1:]] for row in entries])
    title = f"{estimates.title or 'survey'}: are the answers the same in all groups of "
    note = "p: probability of such a statistic or a larger one if they are"
    return Facts(f"{title}{estimates.by!r}?", [table, note]), "tests", entries
