"""Techniques of practitioners by name, as a survey file states them: `{ crosswise = "1/6" }`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation import techniques
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.mechanism import Mechanism

MADE_BY: dict[str, Callable[..., Mechanism]] = {
    make.__name__: make
    for make in (
        techniques.warner,
        techniques.crosswise,
        techniques.forced,
        techniques.polytomous,
        techniques.unrelated,
        techniques.mangat,
        techniques.two_stage,
        techniques.triangular,
        techniques.kuk,
        techniques.item_count,
    )
}
LISTS = ("shares", "answers")  # arguments that are lists


@dataclass(frozen=True)
class Technique:
    """A technique and its arguments by name, as numbers, texts and lists of them."""

    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def read(cls, stated: Any) -> Technique:
        """Read ``{name: arguments}``: a number or text is the first argument, a list has the
        arguments in their order (or is the one list of a technique), a table has them by name.

        Raises
        ------
        StatementError
            If there is no such technique, or an argument is missing, unknown or of another type.
        """
        if not isinstance(stated, Mapping) or len(stated) != 1:
            number = f"{len(stated)} techniques" if isinstance(stated, Mapping) else "no table"
            raise StatementError(
                f"a question has one technique, not {number}",
                code="technique-count",
                do='write one, such as { crosswise = "1/6" }',
            )
        ((name, values),) = stated.items()
        if name not in MADE_BY:
            raise StatementError(
                f"unknown technique {short_repr(name)}",
                code="technique",
                do=nearest(name, MADE_BY),
            )
        parameters = signature(MADE_BY[name]).parameters
        arguments = _by_name(name, values, parameters)
        for key, value in arguments.items():
            if key not in parameters:
                raise StatementError(
                    f"the technique {name} has no argument {key!r}",
                    code="technique-argument",
                    do=nearest(key, parameters),
                )
            _require_plain(name, key, value)
        for key, parameter in parameters.items():
            if key not in arguments and parameter.default is Parameter.empty:
                raise StatementError(
                    f"the technique {name} needs the argument {key!r}",
                    code="missing-argument",
                    do=f"give {_form_of(name, parameters)}",
                )
        return cls(name, arguments)

    def mechanism(self) -> Mechanism:
        """The channel from answers to reports.

        Raises
        ------
        StatementError
            If an argument is out of its range.
        """
        return MADE_BY[self.name](**self.arguments)

    def to_dict(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {self.name: dict(self.arguments)}

    @property
    def in_words(self) -> str:
        """The name with the arguments."""
        shown = "; ".join(f"{key} {_shown(value)}" for key, value in self.arguments.items())
        return f"{self.name.replace('_', ' ')} ({shown})"


def _by_name(name: str, stated: Any, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Arguments by name."""
    if isinstance(stated, Mapping):
        return dict(stated)
    by_place = [key for key, each in parameters.items() if each.kind != Parameter.KEYWORD_ONLY]
    values = stated if isinstance(stated, list) and by_place[0] not in LISTS else [stated]
    if len(values) > len(by_place):
        raise StatementError(
            f"the technique {name} has {len(by_place)} arguments, not {len(values)}",
            code="argument-count",
            do=f"give {_form_of(name, parameters)}",
        )
    return dict(zip(by_place, values, strict=False))


def _form_of(name: str, parameters: Mapping[str, Parameter]) -> str:
    """How a technique is written."""
    keys = [f"{key} = {'[...]' if key in LISTS else '...'}" for key in parameters]
    return f"{{ {name} = {{ {', '.join(keys)} }} }}"


def _require_plain(name: str, key: str, value: Any) -> None:
    """Refuse arguments that are neither numbers nor texts, or a list where there is none."""
    values = value if isinstance(value, list) else [value]
    is_plain = all(type(each) in (int, float, str) for each in values)
    if not is_plain or isinstance(value, list) != (key in LISTS):
        wanted = "a list of numbers or texts" if key in LISTS else 'a number such as 0.2 or "1/6"'
        raise StatementError(
            f"{key} = {short_repr(value)} of the technique {name}: should be {wanted}",
            code="argument-type",
            do=f"give {wanted}",
        )


def _shown(value: Any) -> str:
    """An argument as text."""
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
