"""One rule for files: the library, the command line and the checker accept the same ones, and no
reader passes over a key."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import refused, run_cli, sample_or_all, thorough_or
from checker_cases import saved
from genuine import ACCOUNTS, COIN, SURVEYS, response, survey_of
from ldpopt.accounting import CurveCertificate, compose, permanent, shuffled
from ldpopt.accounting.privacy_loss import ChannelSource, Ratios
from ldpopt.certificate.design_certificate import load_certificate
from ldpopt.certificate.frequency_certificate import SubsetRandomizer
from ldpopt.certificate.questions_certificate import Kind, SetsOfKinds
from ldpopt.certificate.yes_no_certificate import TOTAL, PatternRandomizer
from ldpopt.errors import LdpoptError, ModelFileError
from tampering import Data, account_tamperings, tamperings, with_digest


def is_accepted(path: Path, data: Data) -> tuple[bool, bool, bool]:
    """Whether the library, the command line and the checker accept a file."""
    path.write_text(json.dumps(data))
    is_account = str(data.get("format")).startswith("ldpopt account")
    load = CurveCertificate.load if is_account else load_certificate
    try:
        own = not load(path).recheck()
    except LdpoptError:
        own = False
    return own, run_cli("certify", path).exit_code == 0, checker.main([str(path)]) == 0


@pytest.mark.parametrize("name", ACCOUNTS)
def test_accounts_are_accepted_by_all_or_by_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    ACCOUNTS[name]().prove(1e-3, 0.1).save(path)
    data = json.loads(path.read_text())
    assert is_accepted(path, data) == (True, True, True)
    for what, other, is_false in sample_or_all(account_tamperings(data), 8):
        assert is_accepted(path, other) == (not is_false,) * 3, what


SILENT = [[0.5, 0.5]] * 2
TRUE_ACCOUNTS: dict[str, Any] = {
    "silent": lambda: compose([SILENT]),
    "silent, often": lambda: compose([([[0.25, 0.25, 0.5]] * 3, 4)]),
    "silent and not": lambda: compose([SILENT, COIN]),
    "silent, permanent": lambda: permanent(lo.Mechanism(SILENT), lo.Mechanism(np.eye(2)), 3),
    "silent, shuffled": lambda: shuffled(lo.Mechanism(SILENT), 4),
    **{
        f"{n} answers of {people} people, shuffled": (
            lambda n=n, people=people: shuffled(response(n, 1.0), people)
        )
        for n in thorough_or((2, 3), (2, 3, 5))
        for people in thorough_or((1, 2, 6), (1, 2, 3, 20))
    },
    "shuffled and not": lambda: compose([shuffled(response(3, 1.0), 2), COIN]),
}
"""Channels that reveal nothing, and shuffled reports of few people."""


@pytest.mark.parametrize("name", sample_or_all(TRUE_ACCOUNTS, 6))
def test_true_accounts_hold_for_all(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    TRUE_ACCOUNTS[name]().prove(0.0, 1e-3, 0.1).save(path)
    assert is_accepted(path, json.loads(path.read_text())) == (True, True, True)


@pytest.mark.parametrize("name", ["worst", "frequencies", "questions", "edges"])
def test_designs_are_accepted_by_all_or_by_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    data = json.loads(saved(name))
    for what, other, is_false in tamperings(data, thorough_or(6, 30)):
        assert is_accepted(path, other) == (not is_false,) * 3, what


@pytest.mark.parametrize(
    "labels", ["[1, 1.0]", "[0.0, -0.0]", "[1, true]", "[0, 1e999]", "[[1], [1.0]]", "[0, null]"]
)
def test_labels_of_programs_are_refused_by_both(tmp_path: Path, labels: str) -> None:
    path = tmp_path / "a.json"
    solution = lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1.0)))
    lo.certify(solution).save(path)
    text = path.read_text()
    for side in ("inputs", "outputs"):
        path.write_text(text.replace(f'"{side}": [0, 1]', f'"{side}": {labels}'))
        assert path.read_text() != text
        with pytest.raises(LdpoptError):
            lo.Certificate.load(path)
        assert checker.main([str(path)]) == 2


def test_labels_that_are_true_and_false_are_read_by_both(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    workload = lo.Workload.frequencies([False, True, 2.0])
    lo.save_design(lo.design(workload, lo.PureLDP(1.0)), path)
    assert is_accepted(path, json.loads(path.read_text())) == (True, True, True)


# Every key of every file.


def places(data: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Where the objects of a file stand."""
    if isinstance(data, dict):
        yield path
    for key, part in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(part, (dict, list)):
            yield from places(part, *path, key)


def with_keys(data: Data) -> Iterator[tuple[str, Data]]:
    """The file with an unread key in each of its objects, or with a key less; digests fit."""
    for path in places(data):
        for key in [None, *_at(data, path)]:
            other = copy.deepcopy(data)
            table = _at(other, path)
            if key is None:
                table["unread"] = 1
            elif key in ("digest", "words", "about") or "words" in path:
                continue
            elif key in ("edges", "technique") and path[:-1] == ("questions",):
                continue  # a question without them is another one
            elif path == ("fields",):
                continue  # a survey with other fields
            else:
                del table[key]
            yield f"{path} {key}", with_digests(other)


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def with_digests(data: Any) -> Any:
    """The file with digests that fit, also those of the certificates in it."""
    for path in sorted(places(data), key=len, reverse=True):
        table = _at(data, path)
        if "digest" in table and "format" in table:
            table["digest"] = with_digest(table)["digest"]
    return data


def require_no_reader(data: Data, path: Path, load: Any) -> None:
    """No file with a key more or less is read."""
    for what, other in sample_or_all(with_keys(data), 20):
        path.write_text(json.dumps(other))
        with pytest.raises(LdpoptError) as caught:
            load(path)
        assert caught.value.where or caught.value.do, what


@pytest.mark.parametrize("name", SURVEYS)
def test_each_key_of_a_survey_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.json"
    survey_of(name).save(path)
    data = json.loads(path.read_text())
    lo.Survey.load(path)
    require_no_reader(data, path, lo.Survey.load)


@pytest.mark.parametrize("name", ["worst", "frequencies", "questions", "cycle"])
def test_each_key_of_a_design_is_read(tmp_path: Path, name: str) -> None:
    data = json.loads(saved(name))
    require_no_reader(data, tmp_path / "a.json", load_certificate)
    for what, other in with_keys(data):
        (tmp_path / "a.json").write_text(json.dumps(other))
        assert checker.main([str(tmp_path / "a.json")]) == 2, what


@pytest.mark.parametrize("name", ACCOUNTS)
def test_each_key_of_an_account_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    ACCOUNTS[name]().prove(0.1).save(path)
    data = json.loads(path.read_text())
    require_no_reader(data, path, CurveCertificate.load)
    for what, other in with_keys(data):
        path.write_text(json.dumps(other))
        assert checker.main([str(path)]) == 2, what


def test_no_unread_key_of_a_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    lo.Mechanism(COIN).save(path)
    data = json.loads(path.read_text())
    for key, value in (("unread", 1), ("title", 3), ("epsilon", "x"), ("made_by", None)):
        path.write_text(json.dumps({**data, key: value}))
        with pytest.raises(ModelFileError):
            lo.Mechanism.load(path)


# What a file states twice.


def changed_survey(path: Path, name: str, change: Any) -> None:
    survey_of(name).save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(with_digests(data)))


def exchange(data: Data) -> None:
    rows = data["joint"]["workload"]
    half = len(rows) // 2
    data["joint"]["workload"] = [*rows[half:], *rows[:half]]


def exchange_names(data: Data) -> None:
    data["joint"]["names"].reverse()


@pytest.mark.parametrize("name", ["joint", "numbers"])
@pytest.mark.parametrize("change", [exchange, exchange_names])
def test_exchanged_questions_are_refused(tmp_path: Path, name: str, change: Any) -> None:
    changed_survey(tmp_path / "s.json", name, change)
    with refused("joint-questions", ModelFileError):
        lo.Survey.load(tmp_path / "s.json")
    assert run_cli("certify", tmp_path / "s.json").exit_code == 2


@pytest.mark.parametrize("name", ["split", "patterns", "joint"])
def test_another_epsilon_is_refused(tmp_path: Path, name: str) -> None:
    for key, value in (("epsilon", 0.1), ("stated_epsilon", "9")):
        if (name, key) == ("split", "stated_epsilon"):
            continue  # it is a limit, and another one is another true statement
        changed_survey(tmp_path / "s.json", name, lambda data, k=key, v=value: data.update({k: v}))
        with pytest.raises(ModelFileError):
            lo.Survey.load(tmp_path / "s.json")


@pytest.mark.parametrize("name", SURVEYS)
def test_a_survey_without_its_digest_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.json"
    survey_of(name).save(path)
    data = json.loads(path.read_text())
    for key in data:
        if key not in ("format", "digest"):
            path.write_text(json.dumps({**data, key: "other"}))
            with refused("changed-file", ModelFileError):
                lo.Survey.load(path)
    del data["digest"]
    path.write_text(json.dumps(data))
    with refused("no-digest", ModelFileError) as caught:
        lo.Survey.load(path)
    assert "ldpopt survey solve" in str(caught.value)


# Who is compared.


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ("equal-pairs", {"pairs": [(0, 0)]}),
        ("equal-pairs", {"pairs": [(0, 1), (1, 1)]}),
        ("no-pairs", {"pairs": lo.OneSided(1.0, [])}),
    ],
)
def test_nobody_is_not_compared(code: str, given: Any) -> None:
    for account in (
        lambda: compose([np.eye(2)], **given),
        lambda: shuffled(np.eye(2), 5, **given),
        lambda: permanent(np.eye(2), np.eye(2), 2, **given),
    ):
        with refused(code):
            account()


def test_no_reports_and_one_answer_are_no_account() -> None:
    with pytest.raises(LdpoptError):
        compose([(np.eye(2), 0)])
    with refused("no-pairs"):
        compose([[[0.5, 0.5]]])


def test_sentences_say_which_pairs_were_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mechanism = lo.Mechanism(np.full((4, 2), 0.5), inputs=list("abcd"))
    path = tmp_path / "a.json"
    for pairs, own, both in (
        (None, ["of two equally likely answers"], "all pairs"),
        (
            [("a", "b")],
            ["Not all pairs of answers are compared, only a and b: "],
            "only the pairs [(0, 1)]",
        ),
        (
            [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("a", "d")],
            ["a and d", "1 more"],
            "only the pairs [(0, 1)",
        ),
    ):
        curve = compose([mechanism], pairs=pairs)
        assert all(words in curve.in_words for words in own), curve.in_words
        curve.prove(0.5).save(path)
        assert checker.main([str(path)]) == 0
        assert both in capsys.readouterr().out
        assert both in run_cli("certify", path).stdout.replace("\n", " ")


# Odds.


def test_odds_are_the_larger_ratio_of_the_two() -> None:
    """Sets that avoid the truth tell as much as those that favor it."""
    for held in (TOTAL // 4, 3 * TOTAL // 4):
        sets = SetsOfKinds(1, (Kind((1,), (0, 1), TOTAL, held),))
        patterns = PatternRandomizer(1, 1, 1, held)
        subset = SubsetRandomizer(2, 1, held)
        for drawn in (sets, patterns, subset):
            assert drawn.odds == 3
            assert drawn.delta(checker.Fraction(1)) == checker.Fraction(1, 2)


@pytest.mark.parametrize("name", ["questions", "four", "frequencies"])
def test_a_file_of_sets_that_avoid_the_truth_is_refused(tmp_path: Path, name: str) -> None:
    data = json.loads(saved(name))
    data.pop("about", None)
    if "kinds" in data:
        for kind in data["kinds"]:
            kind[3] = 2**53 - kind[3]
    else:
        data["mass"] = data["mass"] // 1000
    assert is_accepted(tmp_path / "a.json", with_digest(data)) == (False, False, False)


def test_the_source_of_an_account_refuses_nobody() -> None:
    with refused("no-pairs"):
        ChannelSource(np.full((1, 2), 1 << 52), np.array([], int), np.array([], int))
    assert Ratios(checker.Fraction(3), checker.Fraction(3, 4), is_attained=False).named_pairs == []


# What a survey states twice of its techniques and mechanisms.


def another_technique(data: Data) -> None:
    data["questions"]["c"]["technique"] = {"crosswise": {"share": "1/7"}}


def another_name(data: Data) -> None:
    data["questions"]["b"]["technique"] = {"mangat": {"p": "5/6"}}


def another_channel(data: Data) -> None:
    (first, second) = data["questions"]["a"]["model"]["mechanisms"]
    first["mechanism"] = second["mechanism"]


def no_column(data: Data) -> None:
    data["questions"]["a"]["model"]["column"] = None


def same_names(data: Data) -> None:
    data["questions"]["a"]["model"]["mechanisms"][1]["name"] = 1


def same_behaviors(data: Data) -> None:
    data["questions"]["a"]["model"]["behaviors"][1]["name"] = "u"


def column_of_one(data: Data) -> None:
    data["questions"]["b"]["model"]["column"] = "half"


def not_assigned(data: Data) -> None:
    data["questions"]["a"]["model"]["assigned"] = "yes"


def too_likely(data: Data) -> None:
    data["questions"]["a"]["model"]["behaviors"][2]["gives"]["shares"] = ["1/2", "3/4"]


def falling_edges(data: Data) -> None:
    data["questions"]["d"]["edges"].reverse()


def inner_infinity(data: Data) -> None:
    data["questions"]["d"]["edges"][1] = "inf"


def texts_as_edges(data: Data) -> None:
    data["questions"]["d"]["edges"] = ["0", "1", "2", "3"]


def column_that_is_a_question(data: Data) -> None:
    data["questions"]["a"]["model"]["column"] = "c"


def ticks_of_a_model(data: Data) -> None:
    data["questions"]["b"] |= {"ticks": ["x", "y"], "columns": []}


FORGED = {
    another_technique: "technique",
    another_name: "technique",
    another_channel: "digest",
    no_column: "channel-column",
    same_names: "same-name",
    same_behaviors: "same-name",
    column_of_one: "one-mechanism",
    not_assigned: "truth-value",
    too_likely: "sum",
    falling_edges: "edges",
    inner_infinity: "edges",
    texts_as_edges: "finite-number",
    column_that_is_a_question: "channel-column",
    ticks_of_a_model: "ticks-of-model",
}


@pytest.mark.parametrize("change", FORGED, ids=lambda change: change.__name__)
def test_forged_models_are_refused(tmp_path: Path, change: Any) -> None:
    changed_survey(tmp_path / "s.json", "models", change)
    with refused(FORGED[change], ModelFileError) as caught:
        lo.Survey.load(tmp_path / "s.json")
    assert "s.json" in caught.value.where
    assert run_cli("certify", tmp_path / "s.json").exit_code == 2


def test_models_are_the_same_after_a_round_trip(tmp_path: Path) -> None:
    survey = survey_of("models")
    survey.save(tmp_path / "s.json")
    again = lo.Survey.load(tmp_path / "s.json")
    again.save(tmp_path / "t.json")
    assert (tmp_path / "s.json").read_text() == (tmp_path / "t.json").read_text()
    for name, question in survey.questions.items():
        other = again.questions[name]
        assert (question.edges, question.beside.keys()) == (other.edges, other.beside.keys())
        assert question.randomizer.digest == other.randomizer.digest
        if name in ("a", "b"):
            for left, right in zip(question.source.parts, other.source.parts, strict=True):
                assert left.name == right.name
                assert np.array_equal(left.channel, right.channel)
    assert again.words_digest == survey.words_digest
