"""Fields of a person that come with the link to the page, such as a region or a weight: they are
sent beside the reports, and are not protected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import first_duplicate, text_of
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.tables.coding import MISSING_TEXTS

MAX_VALUES = 500  # largest number of values of a field
MAX_LETTERS = 100  # longest value, which is a part of a link
WEIGHT = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?")  # a weight as people write it
MAX_WEIGHT = 12  # characters of a weight
# i: the invitation in a link; id, weights of a table: its rows; people, link: columns of lists
RESERVED = ("i", "id", "people", "link")


def read_fields(fields: Any, weights: str | None) -> dict[str, tuple[str, ...]]:
    """Check the values of each field, none for a weight, and return them as texts.

    ``weights`` is the column of the weights, which must be numbers.
    """
    if not isinstance(fields, (Mapping, type(None))):
        raise StatementError(
            f"fields = {short_repr(fields)} is not a mapping",
            code="mapping",
            do='pass {"region": ["North", "South"], "weight": []}',
        )
    found = {_field(name): _values(name, values) for name, values in dict(fields or {}).items()}
    if (twice := first_duplicate([name.casefold() for name in found])) is not None:
        raise StatementError(
            f"two fields are called {twice[0]!r} in upper or lower case",
            code="same-field",
            do="rename one of them",
        )
    if (wrong := next((v for v in found.get(weights or "", ()) if not is_weight(v)), None)) is None:
        return found
    raise StatementError(
        f"the value {wrong!r} of the weights {weights!r} is not a number",
        code="weights",
        do="leave the values out: a field without values is a weight",
    )


def is_weight(text: str) -> bool:
    """Whether a text is a weight: a decimal number of at most 12 characters, ``>= 0``."""
    return len(text) <= MAX_WEIGHT and WEIGHT.fullmatch(text) is not None


def is_value(values: Iterable[str], text: Any) -> bool:
    """Whether a field with some values, or a weight, can have a text."""
    known = tuple(values)
    return isinstance(text, str) and (text in known if known else is_weight(text))


def described(values: Iterable[str]) -> str:
    """What a field can have, in words."""
    known = tuple(values)
    if not known:
        return f"a decimal number of at most {MAX_WEIGHT} characters"
    return "one of " + ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")


def _field(name: Any) -> str:
    """The name of a field."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise StatementError(
            f"{short_repr(name)} is not the name of a field",
            code="field-name",
            do="name a column, such as region",
        )
    if name.casefold() in RESERVED:
        raise StatementError(
            f"a field cannot be called {name!r}, which links and tables have already",
            code="reserved-field",
            do=f"use another name than {', '.join(RESERVED)}",
        )
    return name


def _values(name: str, values: Any) -> tuple[str, ...]:
    """The values of a field as texts."""
    listed = listed_items(values, f"field {name!r}", "pass a list of texts, [] for a weight")
    texts = tuple(map(text_of, listed))
    do = f"use 1 to {MAX_LETTERS} letters, digits and signs, without spaces at the ends"
    for text in texts:
        is_shown = text.isprintable() and text == text.strip()
        if not is_shown or text in MISSING_TEXTS or len(text) > MAX_LETTERS:
            raise StatementError(
                f"field {name!r} cannot have the value {short_repr(text)}",
                code="field-value",
                do=f"{do}; {text} would mean that it is missing" if text in MISSING_TEXTS else do,
            )
    if (twice := first_duplicate(texts)) is not None:
        raise StatementError(
            f"field {name!r} has the value {twice[0]!r} twice",
            code="same-value",
            do="leave one of them out",
        )
    if len(texts) > MAX_VALUES:
        raise StatementError(
            f"field {name!r} has {len(texts):,} values",
            code="value-count",
            do=f"group them: at most {MAX_VALUES}, for a small group says who it is",
        )
    return texts
