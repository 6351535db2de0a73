"""Files of mechanisms in JSON, and what files of mechanisms and reports record about their
origin.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.divergence import audit
from ldpopt.errors import ModelFileError
from ldpopt.foundation.budget import LARGEST, Budget, log_above
from ldpopt.foundation.documents import Entry, reading_json
from ldpopt.foundation.files import replacing, require_path, strict_object
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_text
from ldpopt.mechanism.channels import Channel
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.mechanism.sampling import BITS
from ldpopt.privacy import PureLDP
from ldpopt.privacy.notion import from_table, has_epsilon, to_table, with_epsilon
from ldpopt.tables.database import without_password
from ldpopt.tables.origin import merged, origin_beside, read_origin

# largest size of a mechanism's file in bytes; 5000 x 5000 probabilities take half of it
MAX_FILE_BYTES = 2**30
ABOUT_KEYS = ("title", "notion", "epsilon", "delta", "digest", "made_by")
CHANNEL_KEYS = ("inputs", "outputs", "channel")
MECHANISM_KEYS = (*CHANNEL_KEYS, "privacy", *ABOUT_KEYS)
DESIGN_KEYS = (
    *("format", "privacy", "objective", "inputs", "names", "workload", "weights", "masses"),
    *(
        "left_inverse",
        "caps",
        "values",
        "share",
        "people",
        "steps",
        "criterion",
        "least",
        "multipliers",
        "achieved",
        "bound",
        "bias",
        "about",
        "digest",
    ),
)
# by which part an epsilon in a file may be above the smallest one: more than audits in floats round
# up
LESS = Fraction(1, 1 << 40)
FORM = (
    "a mechanism has the keys inputs, outputs and channel, as `ldpopt solve MODEL -o "
    "FILE` writes them"
)
UNSOLVED = "a model is solved first: `ldpopt solve MODEL -o FILE` writes its mechanism"


def write_mechanism(
    mechanism: Channel, path: str | os.PathLike[str], title: str, audit: Audit, privacy: Any = None
) -> None:
    """Write a mechanism and its origin, with an audit for a notion that was made before; see
    `Mechanism.save`.
    """
    data = mechanism.to_dict()
    if privacy is not None:
        data["privacy"] = to_table(privacy.standing_alone(), mechanism.inputs)
    data |= origin_of_mechanism(mechanism.digest, title, audit)
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


class Saved(NamedTuple):
    """What the file of a mechanism or design says of the mechanism."""

    channel: Any
    inputs: Sequence[Hashable]
    outputs: Sequence[Hashable]
    origin: dict[str, Any] | None  # None if the channel stands alone, as somebody wrote it
    privacy: Any  # table of the notion of which the origin speaks; None for the pure one


def read_mechanism(path: str | os.PathLike[str]) -> Saved:
    """Read the file of a mechanism or design; nothing is compared yet, see `require_origin`."""
    require_path(path)
    with reading_json(path, "a mechanism", UNSOLVED if os.fspath(path).endswith(".toml") else FORM):
        data = strict_object(path, MAX_FILE_BYTES)
        where = os.fspath(path)
        data = data.get("mechanism", data)  # what `ldpopt solve --json` prints has it as a part
        if "masses" in data:  # its reports are numbered
            _require_known(data, DESIGN_KEYS)
            channel = _channel_of_masses(data["masses"])
            about = data.get("about")
            origin = None if about is None else read_about(Entry(about, where, "about"))
            reports = range(channel.shape[1])
            return Saved(channel, labels_of(data["inputs"]), reports, origin, data.get("privacy"))
        _require_known(data, MECHANISM_KEYS)
        stated = {key: part for key, part in data.items() if key in ABOUT_KEYS}
        origin = read_about(Entry(stated, where)) if stated else None
        if origin is None and "privacy" in data:
            raise ValueError("privacy is stated without what was found of it")
        labels = labels_of(data["inputs"]), labels_of(data["outputs"])
        return Saved(data["channel"], *labels, origin, data.get("privacy"))


def _require_known(data: dict[str, Any], known: Sequence[str]) -> None:
    """Refuse keys that nobody reads."""
    if unknown := [key for key in data if key not in known]:
        raise ValueError(f"unknown key {unknown[0]!r} of the mechanism")


def read_about(entry: Entry) -> dict[str, Any]:
    """Read an origin: all of its keys, or it is none."""
    table = entry.table(*ABOUT_KEYS)
    for key in ("title", "notion", "digest", "made_by"):
        table[key].text()
    for key in ("epsilon", "delta"):
        if table[key].value is not None and table[key].number() < 0:
            raise table[key].error("epsilon and delta are numbers from 0 on")
    return {key: part.value for key, part in table.items()}


def require_origin(mechanism: Channel, saved: Saved, where: str) -> None:
    """Refuse a file whose origin is not that of its mechanism: another digest, notion, epsilon or
    delta than those of its masses.
    """
    if saved.origin is None:
        return
    require_digest(saved.origin["digest"], mechanism.digest, where)
    privacy = None if saved.privacy is None else from_table(saved.privacy, mechanism.inputs)

    def audit_at(epsilon: Budget) -> Audit:
        return (PureLDP(epsilon) if privacy is None else with_epsilon(privacy, epsilon)).audit(
            mechanism
        )

    found = audit(mechanism, privacy)
    is_budgeted = privacy is None or has_epsilon(privacy)
    if flaws := flaws_of_origin(saved.origin, found, audit_at if is_budgeted else None):
        do = "restore the file as it was saved, or save the mechanism again"
        raise ModelFileError(flaws[0], code="origin", where=where, do=do)


def flaws_of_origin(
    origin: Mapping[str, Any], audit: Audit, audit_at: Callable[[Budget], Audit] | None
) -> list[str]:
    """What an origin says of privacy that its audit does not find; ``audit_at`` is that of the same
    notion at another budget, None if the notion has no single epsilon: its own audit decides.

    The epsilon in a file is the smallest one, rounded up. It was computed in floats, perhaps by
    another machine: hence it is decided exactly whether it is enough, and whether a little less
    (`LESS`) is not. Of several budgets, the largest log ratio is compared with the one found.
    """
    flaws = []
    if origin["notion"] != notion_of_audit(audit):
        flaws.append(
            f"the file speaks of the notion {origin['notion']!r}, its statement is "
            f"{notion_of_audit(audit)!r}"
        )
    stated = origin["epsilon"]
    if not _is_least(stated, audit.epsilon, audit_at):
        flaws.append(f"the file speaks of epsilon {stated}, its masses have {audit.epsilon:.9g}")
    delta = origin["delta"]
    if delta is None or not math.isclose(delta, audit.delta, rel_tol=float(LESS)):
        flaws.append(f"the file speaks of delta {delta}, its masses have {audit.delta:.9g}")
    return flaws


def _is_least(stated: Any, found: float, audit_at: Callable[[Budget], Audit] | None) -> bool:
    """Whether a budget is enough, and a little less is not; None is enough if no other one is."""
    if stated is None or math.isinf(found) or max(stated, found) > LARGEST:
        return bool(stated == finite_or_none(found))
    if audit_at is None:
        return math.isclose(stated, found, rel_tol=float(LESS))
    less = Fraction(stated) * (1 - LESS)
    is_enough = audit_at(Budget(stated)).verdict == "certified"
    return is_enough and (not less or audit_at(Budget(less)).verdict != "certified")


def labels_of(values: Any) -> Sequence[Hashable]:
    """Return the labels of a mechanism in a file."""
    try:
        return Entry(values, "labels").labels()
    except ModelFileError as error:
        raise ValueError(error.what) from None


def _channel_of_masses(masses: Any) -> Any:
    """Return the channel of integer masses over ``2**53``, exactly."""
    total = 1 << BITS
    rows = [list(row) for row in masses]
    if not all(type(mass) is int and 0 <= mass <= total for row in rows for mass in row):
        raise ValueError(f"masses are integers from 0 to {total}")
    if any(sum(row) != total for row in rows):
        raise ValueError(f"a row of the masses does not sum to {total}")
    return np.array(rows, dtype=np.float64) / total


def require_digest(written: Any, actual: str, where: str) -> None:
    """Refuse a file whose written digest, if there is one, is not that of its mechanism."""
    if written not in (None, actual):
        do = "restore the file as it was saved, or save the mechanism again"
        problem = "labels or channel do not match the digest: the file was changed"
        raise ModelFileError(problem, code="digest", where=where, do=do)


def made_by() -> str:
    """Return name and version of the program."""
    from ldpopt import __version__

    return f"ldpopt {__version__}"


def finite_or_none(number: float) -> float | None:
    """Return a number, or None if it is infinite: JSON has no infinity."""
    return float(number) if math.isfinite(number) else None


def origin_of_mechanism(digest: str, title: str, audit: Audit) -> dict[str, Any]:
    """Return the origin of a mechanism or design: digest of its randomizer, title of the model,
    privacy.
    """
    require_text(title, "title")
    privacy = {
        "title": title,
        "notion": notion_of_audit(audit),
        "epsilon": finite_or_none(audit.epsilon),
        "delta": audit.delta,
    }
    return {**privacy, "digest": digest, "made_by": made_by()}


def notion_of_audit(audit: Audit) -> str:
    """Return the notion of an audit in words."""
    return audit.claim or "the smallest epsilon of its masses"


def odds_of_person(
    questions: Iterable[Question], one_question: OneQuestion | None = None
) -> Fraction | float:
    """Return the largest ratio of the probabilities of a person's reports under other answers,
    exactly: the product over the questions, or the largest if one is drawn; perhaps infinite.
    """
    ratios = [question.randomizer.odds for question in questions]
    finite = [ratio for ratio in ratios if ratio is not None]
    if len(finite) < len(ratios):
        return math.inf
    return math.prod(finite) if one_question is None else max(finite)


def epsilon_of_odds(odds: Fraction | float) -> float:
    """Return the epsilon of the odds of a person, rounded up."""
    return log_above(odds) if isinstance(odds, (Fraction, int)) else math.inf


def origin_of_reports(
    questions: Mapping[str, Question],
    keep: Sequence[str],
    keyed: Keyed | None,
    one_question: OneQuestion | None = None,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the origin of a table of reports: the mechanism of each question, and the budget of a
    person.
    """
    # keep are the columns that are copied unprotected; before is the origin of the table of
    # answers, if any.
    epsilons = {name: question.epsilon for name, question in questions.items()}
    drawn = {name: question.randomizer for name, question in questions.items()}
    scheme = "all"
    if one_question is not None:
        drawn = {name: one_question.randomizer(mechanism) for name, mechanism in drawn.items()}
        scheme = "one, with fake data for the others" if one_question.fake_data else "one"
    epsilon = finite_or_none(epsilon_of_odds(odds_of_person(questions.values(), one_question)))
    origin: dict[str, Any] = {
        "made_by": made_by(),
        "epsilon": epsilon,
        "asked": scheme,
        "questions": {},
    }
    for name, question in questions.items():
        record = {"digest": drawn[name].digest, "epsilon": finite_or_none(epsilons[name])}
        missing = "answer" if question.missing_answer is not None else question.missing
        origin["questions"][name] = record | {"missing": missing}
    origin |= {"unprotected": list(keep), "key": None if keyed is None else keyed.key.name}
    return merged(origin, before)


def require_drawn_by(path: str, column: str, digest: str) -> None:
    """Refuse a file whose recorded origin is another mechanism; a file without an origin is
    accepted.
    """
    origin = read_origin(path)
    beside = None if origin is None else origin_beside(path)
    # another program that writes the table anew leaves the origin of the earlier one there
    stale = "" if beside is None else f"; or remove {beside}, if the table was written anew"
    require_origin_of(origin, column, digest, without_password(path), stale)


def require_origin_of(
    origin: dict[str, Any] | None, column: str, digest: str, table: str, stale: str = ""
) -> None:
    """Refuse an origin that names another mechanism for a column; there may be no origin. ``stale``
    says what to do if the origin is not that of the table.
    """
    if origin is None:
        return
    questions = origin["questions"]
    where = f"{table}, column {column}"
    if column not in questions:
        problem = "this column was copied unprotected, or added later: it has no reports"
        do = f"name a column of reports; {nearest(column, questions)}{stale}"
        raise ModelFileError(problem, code="copied-column", where=where, do=do)
    drawn = str(questions[column].get("digest"))
    layers = drawn.split("+")
    if len(layers) > 1:
        if digest not in layers:
            return  # privatized again; the digest of the composition is not known
        problem = (
            f"these reports were privatized {len(layers)} times, one of them by the mechanism "
            f"given ({digest[:12]})"
        )
        do = "estimate with first.then(second), saved as a mechanism"
        raise ModelFileError(problem, code="layers", where=where, do=do)
    if drawn != digest:
        problem = (
            f"these reports were drawn by another mechanism (digest {drawn[:12]}) than the one "
            f"given ({digest[:12]})"
        )
        do = f"estimate with the file that privatize was given{stale}"
        raise ModelFileError(problem, code="other-mechanism", where=where, do=do)
