"""Names and labels as files of SPSS and Stata take them: short, and each another one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key")
# words of a program that are no names in one of them; also str1 and the like, of Stata
OF_SPSS = ("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with")
OF_STATA = ("byte", "double", "float", "if", "in", "int", "long", "strl", "using")
RESERVED = frozenset((*OF_SPSS, *OF_STATA))


@dataclass(frozen=True)
class SheetFormat:
    """How long the labels of a format may be.

    Attributes
    ----------
    name : int
        Most bytes of the name of a variable.
    variable, value, title : int
        Most characters of the label of a variable, of a value, and of the file; in ``bytes`` of
        UTF-8 if that is true.
    """

    name: int
    variable: int
    value: int
    title: int
    bytes: bool

    def cut(self, text: str, most: int) -> str:
        """The beginning of a text that fits, with an ellipsis if it is not all of it."""
        plain = " ".join(text.split())
        if self.size(plain) <= most:
            return plain
        end = "..."
        while plain and self.size(plain + end) > most:
            plain = plain[:-1]
        return plain.rstrip() + end

    def size(self, text: str) -> int:
        """Length of a text as the format counts it."""
        return len(text.encode()) if self.bytes else len(text)

    def variable_labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Labels of variables that fit, each another one."""
        return self._apart(labels, self.variable)

    def value_labels(self, labels: Mapping[int, str]) -> dict[int, str]:
        """Labels of the values of a variable that fit, each another one."""
        return self._apart(labels, self.value)

    def _apart(self, labels: Mapping[Key, str], most: int) -> dict[Key, str]:
        """Labels that are cut; those that would then be the same are numbered at their end."""
        fitting: dict[Key, str] = {}
        taken = set[str]()
        for key, text in labels.items():
            number = 1
            label = self.cut(text, most)
            while label and label in taken:
                number += 1
                ending = f" ({number})"
                label = self.cut(text, most - len(ending)) + ending
            taken.add(label)
            fitting[key] = label
        return fitting


# Longer labels are cut without a word, or refused. In Stata the labels of the values have the name
# of their variable, and one byte less for it.
FORMATS = {
    ".sav": SheetFormat(32, 256, 120, 64, True),
    ".dta": SheetFormat(31, 80, 32_000, 80, False),
}


def variable_names(names: Iterable[str], most: int) -> dict[str, str]:
    """Names of variables for names of columns: letters, digits and ``_``, of so many bytes at
    most, no word of a program, and different in any case.
    """
    found: dict[str, str] = {}
    taken = set[str]()
    for name in names:
        base = _variable(name, most)
        number = 1
        variable = base
        while variable.casefold() in taken or _is_reserved(variable):
            number += 1
            ending = f"_{number}"
            variable = _of_bytes(base, most - len(ending)) + ending
        taken.add(variable.casefold())
        found[name] = variable
    return found


def _variable(name: str, most: int) -> str:
    """The letters and digits of a name, with _ for all else; it begins with a letter."""
    signs = [
        sign if sign.isalpha() or sign in "0123456789_" else "_"
        for sign in unicodedata.normalize("NFC", name)
    ]
    text = "".join(signs)
    return _of_bytes(text if text[:1].isalpha() else f"v{text.lstrip('_') or ''}", most)


def _is_reserved(variable: str) -> bool:
    """Whether a name is a word of a program."""
    word = variable.casefold()
    return word in RESERVED or (word.startswith("str") and word[3:].isdigit())


def _of_bytes(text: str, most: int) -> str:
    """The beginning of a text that has at most some bytes."""
    return text.encode()[:most].decode(errors="ignore")
