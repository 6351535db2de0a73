"""Where mechanisms and reports come from, as their files say it, and the check of one against the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.labels import nearest
from ldpopt.mechanism.asking import Asking
from ldpopt.mechanism.keyed import Keyed
from ldpopt.tables.origin import merged, read_origin

if TYPE_CHECKING:
    from ldpopt.auditing.divergence import Audit
    from ldpopt.mechanism.privatizing import Rule


def made_by() -> str:
    """Name and version of the program."""
    from ldpopt import __version__

    return f"ldpopt {__version__}"


def finite(number: float) -> float | None:
    """A number as JSON has it: None where it is infinite."""
    return float(number) if math.isfinite(number) else None


def of_law(digest: str, title: str, audit: Audit) -> dict[str, Any]:
    """What the file of a mechanism or design says of itself: digest of what draws, title of the model, its audit."""
    return {
        "title": title,
        "notion": audit.claim or "the smallest epsilon of its masses",
        "epsilon": finite(audit.epsilon),
        "delta": audit.delta,
        "digest": digest,
        "made_by": made_by(),
    }


def budget_of_person(budgets: Iterable[float], asking: Asking | None = None) -> float:
    """Epsilon of one person: the sum over the questions, rounded up; the largest where only one is asked.

    Examples
    --------
    >>> budget_of_person([1.0, 0.5])
    1.5
    """
    found = list(budgets)
    if asking is not None or not all(map(math.isfinite, found)):
        return max(found)
    return round_up(sum(map(Fraction, found), Fraction(0)))


def of_reports(
    rules: Mapping[str, Rule],
    keep: Sequence[str],
    keyed: Keyed | None,
    asking: Asking | None = None,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What a file of reports says of itself: the mechanism of each question, and the budget of a person."""
    budgets = {name: rule.budget for name, rule in rules.items()}
    origin = {
        "made_by": made_by(),
        "epsilon": finite(budget_of_person(budgets.values(), asking)),
        "asked": "all" if asking is None else "one, with fake data for the others" if asking.fake else "one",
        "questions": {
            name: {
                "digest": (rule.mechanism if asking is None else asking.law(rule.mechanism)).digest,
                "epsilon": finite(budgets[name]),
                "missing": "answer" if rule.missing_answer is not None else rule.missing,
            }
            for name, rule in rules.items()
        },
        "unprotected": list(keep),
        "key": None if keyed is None else keyed.key.name,
    }
    return merged(origin, before)


def require_drawn_by(path: str, column: str, digest: str) -> None:
    """Refuse a file that says that its reports were drawn by another mechanism; one that says nothing is accepted."""
    origin = read_origin(path)
    if origin is None:
        return
    questions = origin["questions"]
    where = f"{path}, column {column}"
    if column not in questions:
        raise ModelFileError(
            "this column was copied unprotected, or added later: it has no reports",
            where=where,
            do=f"the reports of this file: {nearest(column, questions)}",
        )
    drawn = str(questions[column].get("digest"))
    layers = drawn.split("+")
    if len(layers) > 1 and digest not in layers:
        return  # privatized again; the digest of the composition is not known
    if len(layers) > 1:
        raise ModelFileError(
            f"these reports were privatized {len(layers)} times, once of them by the mechanism given ({digest[:12]})",
            where=where,
            do="estimate with first.then(second), saved as a mechanism",
        )
    if drawn != digest:
        raise ModelFileError(
            f"these reports were drawn by another mechanism (digest {drawn[:12]}) than the one given ({digest[:12]})",
            where=where,
            do="estimate with the file that privatize was given",
        )
