"""Texts in several languages: the digest changes exactly if a text does, a file keeps all of them,
and each language shows its own."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ldpopt import Mechanism, Survey
from ldpopt.surveys.changed_words import first_difference

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
TAGS = ("en", "de", "fr", "ar", "de-AT")
SINGLE = ("consent", "contact", "retention")
SHOWN = st.text("abcäß د!", min_size=1, max_size=4)


@st.composite
def words_and_languages(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Words with texts for all of some languages, each one text or a table."""
    languages = draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=3, unique=True))
    text = SHOWN | st.fixed_dictionaries(dict.fromkeys(languages, SHOWN))
    different = st.tuples(SHOWN, SHOWN).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(different, min_size=len(languages), max_size=len(languages)))
    answers = {
        label: {code: pair[k] for code, pair in zip(languages, pairs, strict=True)}
        for k, label in enumerate(("no", "yes"))
    }
    words: dict[str, Any] = {"languages": languages} | {key: draw(text) for key in SINGLE}
    words["title"] = draw(text)
    words["sections"] = {"one": draw(text)}
    words["questions"] = {
        "a": {"text": draw(text), "section": "one", "answers": answers},
        "b": {"text": draw(text)},
    }
    return words, languages


def survey(words: dict[str, Any]) -> Survey:
    """The two questions under these words."""
    return Survey({"a": COIN, "b": COIN}, words=words)


def shown(words: dict[str, Any], code: str) -> dict[tuple[str, ...], str]:
    """What is read in a language, by hand."""
    flat: dict[tuple[str, ...], Any] = {(key,): words[key] for key in (*SINGLE, "title")}
    flat["sections", "one"] = words["sections"]["one"]
    for name, asked in words["questions"].items():
        flat[name, "text"] = asked["text"]
        flat |= {(name, label): text for label, text in asked.get("answers", {}).items()}
    return {place: text if isinstance(text, str) else text[code] for place, text in flat.items()}


@given(words_and_languages(), words_and_languages())
def test_the_digest_is_the_same_exactly_if_all_texts_are(
    one: tuple[dict[str, Any], list[str]], other: tuple[dict[str, Any], list[str]]
) -> None:
    sides = [
        [(code, shown(words, code)) for code in languages] for words, languages in (one, other)
    ]
    first, second = (survey(words) for words, _ in (one, other))
    assert (first.words_digest == second.words_digest) == (sides[0] == sides[1])
    assert (first.words == second.words) == (sides[0] == sides[1])


@given(words_and_languages(), st.data())
def test_a_change_of_one_text_in_one_language_is_named(
    one: tuple[dict[str, Any], list[str]], data: st.DataObject
) -> None:
    words, languages = one
    code = data.draw(st.sampled_from(languages))
    changed = copy.deepcopy(words)
    place = data.draw(st.sampled_from([*((key,) for key in SINGLE), ("questions", "b", "text")]))
    table = changed
    for key in place[:-1]:
        table = table[key]
    text = table[place[-1]]
    texts = dict.fromkeys(languages, text) if isinstance(text, str) else dict(text)
    table[place[-1]] = texts  # another way of writing the same
    before = survey(words)
    assert survey(changed).words_digest == before.words_digest
    texts[code] += "?"
    after = survey(changed)
    assert after.words_digest != before.words_digest
    named = first_difference(before.words.read_by_people, after.words.read_by_people)
    assert named.startswith("question b: the text" if len(place) > 1 else place[0])
    assert (f" in {code} was" in named) == (len(languages) > 1)


@given(words_and_languages())
def test_all_languages_come_back_from_a_file(
    tmp_path_factory: Any, one: tuple[dict[str, Any], list[str]]
) -> None:
    words, languages = one
    path = tmp_path_factory.mktemp("languages") / "survey.json"
    before = survey(words)
    before.save(path)
    again = Survey.load(path)
    assert again.words == before.words
    assert (again.words_digest, again.title) == (before.words_digest, before.title)
    assert again.words.languages == tuple(languages)
    for code in languages:
        texts = shown(words, code)
        told = again.words.in_language(code)
        assert told == before.words.in_language(code)
        assert [getattr(told, key) for key in SINGLE] == [texts[key,] for key in SINGLE]
        assert told.sections == {"one": texts["sections", "one"]}
        assert told.questions["b"].text == texts["b", "text"]
        assert told.questions["a"].answers == {label: texts["a", label] for label in ("no", "yes")}
