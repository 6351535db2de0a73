"""Texts in several languages: each is one text, or a table with a text for every language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.plain import MisstatedError

Tag = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
Text = str | dict[str, str]
Place = tuple[str, ...]
Change = Callable[[Place, Text], Any]

SINGLE = ("title", "consent", "contact", "retention")  # keys of one text
LISTED = ("sections", "matrices")  # tables of texts
NAMED = ("questions", "fields")  # tables of what has texts of its own, and texts of answers
OF_NAMED = ("text", "row")  # texts that a question or a field has


def with_texts(words: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Words with every text replaced by what ``change`` makes of it and of its place."""
    data = dict(words)
    for key in SINGLE:
        if key in data:
            data[key] = change((key,), data[key])
    for key in LISTED:
        if key in data:
            data[key] = _each(data[key], (key,), change)
    for key in NAMED:
        if key in data:
            data[key] = {
                name: _of_named(stated, (key, name), change) for name, stated in data[key].items()
            }
    return data


def _of_named(stated: Mapping[str, Any], place: Place, change: Change) -> dict[str, Any]:
    """The texts of a question or a field, and those of its answers."""
    data = dict(stated)
    for key in OF_NAMED:
        if key in data:
            data[key] = change((*place, key), data[key])
    if "answers" in data:
        data["answers"] = _each(data["answers"], (*place, "answers"), change)
    return data


def _each(texts: Mapping[str, Text], place: Place, change: Change) -> dict[str, Any]:
    """A table of texts."""
    return {key: change((*place, key), text) for key, text in texts.items()}


def in_language(words: Mapping[str, Any], code: str) -> dict[str, Any]:
    """Words whose texts are those of a language."""
    return with_texts(words, lambda _, text: text if isinstance(text, str) else text[code])


def one_way_of_writing(words: Mapping[str, Any], languages: Sequence[str]) -> dict[str, Any]:
    """Words in the only form that these texts have: one text where all languages have the same,
    refused where a language has none.
    """

    def change(place: Place, text: Text) -> Text:
        if isinstance(text, str):
            return text
        _require_languages(place, text, languages)
        texts = {code: text[code] for code in languages}
        return texts if len(set(texts.values())) > 1 else texts[languages[0]]

    return with_texts(words, change)


def _require_languages(place: Place, text: Mapping[str, str], languages: Sequence[str]) -> None:
    """Refuse a text that is not there in every language, or in another one."""
    for code in text:
        if code not in languages:
            raise MisstatedError(
                f"there is a text in {short_repr(code)}, which is no language of the survey",
                *place,
                code,
                code="language",
                do=f"{nearest(code, languages)}; name it in languages = [...] of [form]",
            )
    for code in languages:
        if not text.get(code):
            raise MisstatedError(
                f"{'.'.join(place)} has no text in {short_repr(code)}",
                *place,
                code="translation",
                do="write it, or one text for all languages",
            )


def words_by_language(
    words: Mapping[str, str | Mapping[str, str]], languages: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Words of the page by language; those without one are of the first language."""
    data: dict[str, dict[str, str]] = {}
    for key, stated in words.items():
        code = languages[0] if isinstance(stated, str) else key
        texts = {key: stated} if isinstance(stated, str) else stated
        if code not in languages:
            raise MisstatedError(
                f"there are words in {short_repr(code)}, which is no language of the survey",
                *("words", key),
                code="language",
                do=f"{nearest(code, languages)}; name it in languages = [...] of [form]",
            )
        table = data.setdefault(code, {})
        if twice := [name for name in texts if name in table]:
            raise MisstatedError(
                f"the word {twice[0]!r} is stated twice in {code!r}",
                *("words", key),
                code="word-twice",
                do=f"state it in [form.words.{code}] only",
            )
        table |= texts
        if table.get("direction", "ltr") not in ("ltr", "rtl"):
            raise MisstatedError(
                f"direction = {short_repr(table['direction'])}",
                *("words", key),
                code="direction",
                do='use "ltr", from left to right, or "rtl", from right to left',
            )
    return {code: data[code] for code in languages if data.get(code)}


def texts_of(words: Mapping[str, Any], *place: str) -> Iterator[tuple[Place, Any]]:
    """Every text or number of words, by the keys that lead to it."""
    for key, value in words.items():
        if isinstance(value, Mapping):
            yield from texts_of(value, *place, key)
        else:
            yield (*place, key), value
