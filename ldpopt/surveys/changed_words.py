"""What is different in the words of a survey, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpopt.surveys.languages import Place, in_language, texts_of

SHOWN = 60  # most characters of a text in a message
SETTINGS = ("language", "languages", "wave", "waves", "until", "shared")
NAMED = {"questions": "question", "fields": "field", "sections": "section", "matrices": "matrix"}


def first_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Where two sets of words, as `FormWords.read_by_people`, differ first, in a sentence."""
    languages = [_languages(words) for words in (before, now)]
    if languages[0] != languages[1]:
        was, now_is = map(", ".join, languages)
        return f"languages were {was}, are {now_is}"
    old, new = map(_by_place, (before, now))
    place = next(place for place in sorted({*old, *new}) if old.get(place) != new.get(place))
    both = [str(texts.get(place, "")) for texts in (old, new)]
    places = (number for number, (a, b) in enumerate(zip(*both, strict=False)) if a != b)
    start = next(places, min(map(len, both)))
    was, now_is = (
        _excerpt(str(texts[place]), start) if place in texts else "not stated"
        for texts in (old, new)
    )
    return f"{_named(*place)} was {was}, is {now_is}"


def _languages(words: Mapping[str, Any]) -> list[str]:
    """The languages of words."""
    return list(words.get("languages") or [words.get("language", "en")])


def _by_place(words: Mapping[str, Any]) -> dict[tuple[Place, str], Any]:
    """Every text by its place and language; of one language, and of settings, without it."""
    languages = _languages(words)
    texts: dict[tuple[Place, str], Any] = {}
    for code in languages:
        data = in_language(words, code)
        if len(languages) > 1 and "words" in data:
            data["words"] = data["words"].get(code, {})
        for place, text in texts_of(data):
            is_text = len(languages) > 1 and place[0] not in SETTINGS
            texts[place, code if is_text else ""] = text
    return texts


def _named(place: Place, code: str) -> str:
    """A place in words."""
    of_language = f" in {code}" if code else ""
    kind = NAMED.get(place[0])
    if kind is None:
        return " ".join(place) + of_language
    part = place[2] if len(place) > 2 else "heading"
    part = f"answer {place[3]}" if part == "answers" else part
    return f"{kind} {place[1]}: the {part}{of_language}"


def _excerpt(text: str, start: int) -> str:
    """A text in quotes; of a long one what stands around a place."""
    first = max(0, start - SHOWN // 2) if len(text) > SHOWN else 0
    part = text[first : first + SHOWN]
    ends = ("... " if first else "", " ..." if first + SHOWN < len(text) else "")
    return f'"{ends[0]}{" ".join(part.split())}{ends[1]}"'
