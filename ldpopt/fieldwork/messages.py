"""Messages from devices: their JSON is read strictly, and each report is checked to be one that the
survey can have.
"""

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ldpopt.foundation.files import parse_strictly
from ldpopt.surveys.fields import MAX_WEIGHT, is_value
from ldpopt.surveys.form import form_digest

RANDOM = re.compile(r"[0-9a-f]{32}")  # an id or an invitation: 128 random bits
POSITIONS = re.compile(r"[0-9]{1,6}( [0-9]{1,6})*")  # a set of answers
SPARE_BYTES = 256  # room for other spaces in the JSON of a message
CHOICE = "choice"  # the key of a choice in a message, and its column in a table
HEX = {"form": 64, "words": 64, "id": 32, "invitation": 32}  # digits of the parts of a message


class InvalidMessageError(ValueError):
    """A message that is not a report of the survey; the reason quotes nothing of the message."""


@dataclass(frozen=True)
class Message:
    """The reports of one person, None if there is none, under the id that the device drew, and the
    fields that came with the person's link.
    """

    id: str
    reports: dict[str, str | None]
    invitation: str | None = None  # its hash; None if no invitations are used
    fields: dict[str, str] = field(default_factory=dict)
    choice: str | None = None  # of an epsilon, if people choose it


def hash_of(invitation: str) -> str:
    """What is kept of an invitation."""
    return hashlib.sha256(invitation.encode()).hexdigest()


def message_bytes(form: dict[str, Any], *, escaped: bool = False) -> int:
    """Bytes in UTF-8 of the longest message of a form: devices fill up shorter ones with spaces,
    since its length would tell part of a report. With ``escaped`` letters are escaped, as some
    programs do.
    """

    def size(part: Any) -> int:
        return len(json.dumps(part, ensure_ascii=escaped, separators=(",", ":")).encode())

    reports = {name: max(_candidates(form, name), key=size) for name in form["columns"]}
    longest: dict[str, Any] = {"reports": reports}
    if choices := choices_of(form):
        longest["choice"] = max(choices, key=size)
    if fields := form.get("fields"):
        weight = MAX_WEIGHT * "0"
        longest["fields"] = {
            name: max(values, key=size, default=weight) for name, values in fields.items()
        }
    return size(longest | {part: digits * "0" for part, digits in HEX.items()})


class MessageReader:
    """Reads the messages that a form makes under some words, by their digests; with ``invited``,
    each must have an invitation.
    """

    def __init__(self, form: dict[str, Any], words: Collection[str], invited: bool) -> None:
        self.digest = form_digest(form)
        self.words = frozenset(words)
        self._columns = form["columns"]
        self._fields: dict[str, list[str]] = form.get("fields", {})
        self._keys = {"form", "words", "id", "reports"} | ({"invitation"} if invited else set())
        self._keys |= {"fields"} if self._fields else set()
        self._choices = choices_of(form)
        self._keys |= {"choice"} if self._choices else set()
        self._one_question = form["scheme"] == "one_question"
        self._may_have_none = any(
            column["missing"] == "leave_out" for column in self._columns.values()
        )
        self._reports = {
            choice: {
                name: frozenset(law_of(column, choice).get("reports", ()))
                for name, column in self._columns.items()
            }
            for choice in self._choices or (None,)
        }
        self.max_bytes = message_bytes(form, escaped=True) + SPARE_BYTES

    def read(self, body: bytes) -> Message:
        """Return the message in the body of a request; anything else is an
        `InvalidMessageError`.
        """
        try:
            message = parse_strictly(body)
        except ValueError:
            raise InvalidMessageError(
                "the message is not JSON in UTF-8, or has a key twice"
            ) from None
        if not isinstance(message, dict) or message.keys() != self._keys:
            raise InvalidMessageError(
                f"the message is not an object with the keys {', '.join(sorted(self._keys))}"
            )
        if message["form"] != self.digest:
            raise InvalidMessageError("the message is for another form")
        if not isinstance(message["words"], str) or message["words"] not in self.words:
            raise InvalidMessageError("the message was answered under other words")
        for key in sorted(self._keys & {"id", "invitation"}):
            if not isinstance(message[key], str) or not RANDOM.fullmatch(message[key]):
                raise InvalidMessageError(f"the {key} is not 32 hexadecimal digits")
        choice = message.get("choice")
        if self._choices and choice not in self._choices:
            raise InvalidMessageError("the choice is none of those of the form")
        self._require_reports(message["reports"], choice)
        self._require_fields(fields := message.get("fields", {}))
        invitation = message.get("invitation")
        hashed = None if invitation is None else hash_of(invitation)
        return Message(message["id"], message["reports"], hashed, fields, choice)

    def _require_reports(self, reports: Any, choice: str | None) -> None:
        """Refuse reports that no answers to the questions can give."""
        if not isinstance(reports, dict) or reports.keys() != self._columns.keys():
            raise InvalidMessageError("the reports are not those of the questions of the form")
        for name, report in reports.items():
            if not self._is_possible(name, report, choice):
                raise InvalidMessageError(
                    f"the report of {name!r} is not one that the question can have"
                )
        count = sum(report is not None for report in reports.values())
        if self._one_question and (count > 1 or (count == 0 and not self._may_have_none)):
            raise InvalidMessageError(f"{count} questions have a report, in a form that asks one")

    def _require_fields(self, fields: Any) -> None:
        """Refuse fields that no link of the survey has."""
        if not isinstance(fields, dict) or fields.keys() != self._fields.keys():
            raise InvalidMessageError("the fields are not those of the form")
        for name, values in self._fields.items():
            if not is_value(values, fields[name]):
                raise InvalidMessageError(f"the field {name!r} has none of its values")

    def _is_possible(self, name: str, report: Any, choice: str | None) -> bool:
        """Whether a question can have this report, of a person with a choice."""
        column = law_of(self._columns[name], choice)
        if report is None:
            return self._one_question or bool(column["missing"] == "leave_out")
        if not isinstance(report, str):
            return False
        if "masses" in column:
            return report in self._reports[choice][name]
        if not POSITIONS.fullmatch(report):
            return False
        places = list(map(int, report.split(" ")))
        drawn = column.get("set") or column["patterns"]
        is_set = places == sorted(set(places)) and len(places) == drawn["size"]
        if "set" in column:
            is_set = is_set and places[-1] < drawn["count"]
        else:  # one of the two answers to each of some questions
            named = {place // 2 for place in places}
            is_set = is_set and len(named) == drawn["size"] and max(named) < drawn["questions"]
        return is_set and report == " ".join(map(str, places))


def _candidates(form: dict[str, Any], name: str) -> list[str | None]:
    """Reports of a column, the longest one among them."""
    column = form["columns"][name]
    may_be_none = form["scheme"] == "one_question" or column["missing"] == "leave_out"
    none: list[str | None] = [None] if may_be_none else []
    if "set" in column:
        drawn = column["set"]
        places = range(drawn["count"] - drawn["size"], drawn["count"])
        return [*none, " ".join(map(str, places))]
    if "patterns" in column:
        drawn = column["patterns"]
        named = range(drawn["questions"] - drawn["size"], drawn["questions"])
        return [*none, " ".join(str(2 * place + 1) for place in named)]
    every = [column, *column.get("chosen", {}).values()]
    return [*none, *(report for law in every for report in law.get("reports", ()))]


def choices_of(form: dict[str, Any]) -> tuple[str, ...]:
    """The choices of an epsilon in a form; none if everybody has the same."""
    return tuple(each["choice"] for each in form.get("choices", ()))


def law_of(column: dict[str, Any], choice: str | None) -> dict[str, Any]:
    """A column with what draws its reports for a person with a choice."""
    return column if choice is None else column | column["chosen"][choice]
