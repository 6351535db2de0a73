"""Every key of every file is read or refused: taken away, renamed, with another value or with an
unread sister, at every depth, the file is refused, unless `TRUE` says why it is still true."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ldpopt as lo
from builders import refused, sample_or_all, thorough_or
from checker_cases import SLOW
from every_key import changes, sealed, shown
from every_key import places as places_of
from forged_bytes import forged_bytes
from genuine import KINDS, SEALED, accepted, files
from ldpopt.errors import ModelFileError

PROVED = "another statement or another proof, and everything is proved again from it"
SET = "the order and repetitions of a set mean nothing"
COMMENT = "a comment"
ANOTHER = "another notion, under which the masses have the epsilon and delta that the file states"
AVERAGES = ("prior", "secrets", "pairs", "table", "bounds", "notions")

OF_DESIGNS = {
    "about": "it may be left out: the file then says nothing of its mechanism once more",
    "about.title": COMMENT,
    "about.made_by": COMMENT,
    "names": "the names of the numbers that are estimated: another statement",
    "questions.*.*": "the names of questions: another statement",
    "privacy.epsilon": "spaces around log(3); another epsilon contradicts that of about",
    "privacy.sensitive": SET,
    "privacy.neighbors.edges": SET,
    **dict.fromkeys(("workload", "weights", "unit", "tables", "left_inverse", "kinds"), PROVED),
    **dict.fromkeys(("multipliers", "achieved", "bound", "bias"), PROVED),
}
TRUE: dict[str, dict[str, str]] = {
    "design": OF_DESIGNS,
    "account": {"made_by": COMMENT, "reports": PROVED, "claims": PROVED},
    "program": {
        **dict.fromkeys(("statement.inputs", "statement.outputs"), PROVED),
        **dict.fromkeys(("statement.utility", "mechanism.masses", "multipliers"), PROVED),
        "statement.privacy.edges": SET,
        "statement.privacy.sensitive": SET,
        "statement.privacy.form": "the event-wise form is what is meant without it",
        "statement.privacy.epsilon": "capitals and spaces of log(3)",
        **dict.fromkeys([f"statement.privacy.{key}" for key in AVERAGES], PROVED),
        "claim.residuals": PROVED,
    },
    "mechanism": {
        "title": COMMENT,
        "made_by": COMMENT,
        "privacy.epsilon": "spaces around log(3); another epsilon has another notion in words",
        "privacy.sensitive": SET,
        "privacy.neighbors": SET,
        **dict.fromkeys([f"privacy.{key}" for key in AVERAGES], ANOTHER),
        "privacy.form": "the event-wise form is what is meant without it",
        "channel": "another probability with the same masses over 2**53, which are drawn",
    },
    "survey": {
        **dict.fromkeys(("title", "made_by", "weights", "words"), "what the survey asks: no claim"),
        "fields": "what comes with a person's link beside the reports: no claim",
        "order": "another survey: its joint report has another digest, as its reports",
        "stated_epsilon": "another limit, which the questions keep",
        "questions": "names of questions and answers, and designs that are proved again",
        "joint": PROVED,
    },
    "origin": {
        part: "a record, which nothing in the file contradicts: the digest is of all of it"
        for part in ("made_by", "epsilon", "asked", "questions", "unprotected", "key")
    },
    "counts": {
        part: "data, as those of a table: other reports were counted"
        for part in ("source", "labels", "values", "squares", *("total", "total_squares"))
    }
    | {"n_reports": "data"},
    "key": {},
}
"""Changes that leave a file true, by kind and place, and the reason."""

NEVER = ("an unread key", "an unread empty key", "renamed")
"""Changes after which a file is refused wherever they are made, but for names in an object."""
NAMES = (
    *("words", "fields", "questions", "constraints", "claim.residuals", "privacy.secrets"),
    *("statement.privacy.secrets", "privacy.notions.*.secrets"),
    "statement.privacy.notions.*.secrets",
)
"""Objects whose keys are names."""


def is_same(left: Any, right: Any) -> bool:
    """Whether two values of a file are the same: equal numbers, and equal fractions as text."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if left == right:
        return True
    try:
        is_text = isinstance(left, str), isinstance(right, str)
        return any(is_text) and Fraction(left) == Fraction(right)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        return False


def plain(data: Any) -> Any:
    """The file without what its digests are, which are computed again."""
    return sealed(data, lambda _: "")


def is_declared(kind: str, place: str, what: str) -> bool:
    """Whether the table says that the change leaves a file true."""
    if what in NEVER and not place.startswith(NAMES):
        return False
    return any(place == known or place.startswith(f"{known}.") for known in TRUE[kind])


USUAL = (
    *("worst", "questions", "one_sided", "pairs", "one question", "metric", "split", "numbers"),
    *("models", "languages"),
    *("leakage", "leakage, stated", "secrets, pairs", "pairwise", "cone", "all, owned"),
)
"""Names of the files that are tried; those of kinds with a single file, too."""


def tried_names(kind: str) -> list[str]:
    left_out = thorough_or(SLOW, ()) if kind == "design" else ()
    names = [name for name in files(kind) if name in ("", *USUAL) and name not in left_out]
    assert names
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_no_change_of_a_file_is_accepted_but_those_of_the_table(tmp_path: Path, kind: str) -> None:
    step = thorough_or(61, 29)  # all changes of all files are tried by benchmarks/forgeries.py
    for name in tried_names(kind):
        data = json.loads(files(kind)[name])
        path = tmp_path / "a.json"
        assert set(accepted(kind, path, json.dumps(data))) <= {True, None}
        for place, what, other in changes(data, step if name else 5, len(name) % step):
            where = f"{name}, {shown(place)}: {what}"
            new = sealed(other)
            ours, theirs = accepted(kind, path, json.dumps(new))
            assert theirs in (ours, None), where
            if ours:
                assert is_same(plain(new), plain(data)) or is_declared(kind, shown(place), what), (
                    where
                )
            if kind in SEALED and not is_same(other, data):
                assert True not in accepted(kind, path, json.dumps(other)), f"{where}, not sealed"


@pytest.mark.parametrize("kind", KINDS)
def test_what_json_leaves_open_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    """Repeated keys, numbers that are none, other alphabets, and depths, by all readers."""
    text = min((files(kind)[name] for name in tried_names(kind)), key=len)
    for what, raw in sample_or_all(forged_bytes(text), 6):
        assert True not in accepted(kind, tmp_path / "a.json", raw), what


@pytest.mark.parametrize("name", ["split", "patterns", "joint", "numbers"])
def test_questions_have_the_order_that_the_file_states(tmp_path: Path, name: str) -> None:
    """The digest is the same for keys in another order: places in a joint report are not theirs."""
    path = tmp_path / "s.json"
    text = files("survey")[name]
    data = json.loads(text)
    path.write_text(text)
    names = list(lo.Survey.load(path).questions)
    data["questions"] = dict(reversed(data["questions"].items()))
    path.write_text(json.dumps(data))
    assert list(lo.Survey.load(path).questions) == names
    for order in (names[1:], [*names, names[0]], [*names[1:], "other"], [names[1]] * len(names)):
        path.write_text(json.dumps(sealed({**data, "order": order})))
        with refused("order", ModelFileError):
            lo.Survey.load(path)


@pytest.mark.long
def test_the_table_names_places_that_are_there() -> None:
    for kind, places in TRUE.items():
        data = map(json.loads, files(kind).values())
        found = {shown(place) for text in data for place in places_of(text)}
        assert not [place for place in places if place not in found], kind
