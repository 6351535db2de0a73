"""Keyed draws: one report for one person's answer, whatever table it is in; independent draws for
all else."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from builders import refused, truth_or_another
from ldpopt import Mechanism, SecretKey
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.mechanism.keyed import Keyed, KeyedDraws
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KEY = SecretKey(bytes(range(32)))
IDS = list(range(400))
ANSWERS = ["yes" if place % 3 else "no" for place in IDS]


def listed(column):
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def test_words_are_the_documented_hash() -> None:
    words = KeyedDraws(KEY, "smokes", [b"17", b"x"]).words(COIN.digest, np.array([1, 0]))
    for word, code, name in zip(words.tolist(), (1, 0), (b"17", b"x"), strict=True):
        message = (
            (6).to_bytes(8, "little")
            + b"smokes"
            + bytes.fromhex(COIN.digest)
            + code.to_bytes(8, "little")
            + name
        )
        digest = hashlib.blake2b(
            message, key=bytes(range(32)), person=b"ldpopt-draw-1", digest_size=8
        ).digest()
        assert word == int.from_bytes(digest, "little") >> 11
    # never another: kept reports are drawn again
    assert words.tolist() == [8533325700631285, 2861167406252925]


def test_one_report_for_one_answer_in_every_table_order_and_part(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ANSWERS, "id": IDS})
    expected = COIN.sample(ANSWERS, key=KEY, id=IDS, question="a").tolist()
    shuffled = frame.sample(frac=1, random_state=1)
    found = COIN.privatize(shuffled, "a", key=KEY, id="id")
    assert found.index.equals(shuffled.index)
    assert found.sort_index()["a"].tolist() == expected
    halves = [
        COIN.privatize(part, "a", key=bytes(range(32)), id="id")
        for part in (frame[:150], frame[150:])
    ]
    assert pd.concat(halves)["a"].tolist() == expected
    for table in (pl.DataFrame(frame.to_dict("list")), pa.Table.from_pandas(frame)):
        assert listed(COIN.privatize(table, "a", key=KEY, id="id")["a"]) == expected
    for ending, write, read in (
        ("csv", lambda path: frame.to_csv(path, index=False), pd.read_csv),
        ("parquet", frame.to_parquet, pd.read_parquet),
    ):
        write(tmp_path / f"in.{ending}")
        for keep in ([], ["id"]):
            out = tmp_path / f"out.{ending}"
            privatize_file(
                tmp_path / f"in.{ending}",
                out,
                {"a": Question(COIN)},
                keep=keep,
                keyed=Keyed(KEY, "id"),
            )
            assert read(out)["a"].tolist() == expected
            assert list(read(out).columns) == ["a", *keep]


def test_other_keys_questions_mechanisms_and_answers_have_other_draws() -> None:
    same = ["yes"] * 4000
    ids = list(range(4000))
    first = COIN.sample(same, key=KEY, id=ids, question="a")
    # other labels of the reports, and other masses: other digests, and the same code of the answer
    renamed = Mechanism(COIN.channel, ["no", "yes"], ["n", "y"])
    weaker = Mechanism([[0.7, 0.3], [0.3, 0.7]], ["no", "yes"])
    others = [
        (COIN.sample(same, key=SecretKey(bytes(32)), id=ids, question="a"), 0.75),
        (COIN.sample(same, key=KEY, id=ids, question="b"), 0.75),
        (renamed.sample(same, key=KEY, id=ids, question="a"), 0.75),
        (weaker.sample(same, key=KEY, id=ids, question="a"), 0.7),
        (COIN.sample(same, key=KEY, id=[f"p{name}" for name in ids], question="a"), 0.75),
    ]
    for other, kept in others:
        agree = [a[0] == b[0] for a, b in zip(first, other, strict=True)]
        # Independent draws agree with probability 0.75^2 + 0.25^2 = 0.625; 6 standard deviations
        # are 0.046.
        expected = 0.75 * kept + 0.25 * (1 - kept)
        assert abs(float(np.mean(agree)) - expected) < 0.046
    no = COIN.sample(["no"] * 4000, key=KEY, id=ids, question="a")
    assert abs(float(np.mean(first == no)) - 0.375) < 0.046


def test_the_masses_are_those_of_the_mechanism() -> None:
    channel = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])
    mechanism = Mechanism(channel, ["a", "b"], list("wxyz"))
    size = 20_000
    for place, answer in enumerate(mechanism.inputs):
        found = mechanism.sample([answer] * size, key=KEY, id=list(range(size)))
        seen = np.array([np.mean(found == label) for label in mechanism.outputs])
        assert (
            np.abs(seen - channel[place])
            <= 6 * np.sqrt(channel[place] * (1 - channel[place]) / size)
        ).all()


@pytest.mark.parametrize(
    ("ids", "code", "value"),
    [
        ([1, 2, 1], "duplicate-id", "rows 0 and 2"),
        (["a", "b", None], "missing-id", "row 2"),
        (["a", "", "b"], "missing-id", "row 1"),
        ([1.0, 2.0, 3.0], "id-type", "'double'"),
        ([1, "a", 2], "id-kinds", ""),
        ([[1], [2], [3]], "id-type", ""),
    ],
)
def test_invalid_ids_are_refused(ids, code, value) -> None:
    frame = pd.DataFrame(
        {"a": ["no"] * 3, "id": pd.Series(ids, dtype=None if ids[0] == 1.0 else object)}
    )
    with refused(code) as caught:
        COIN.privatize(frame, "a", key=KEY, id="id")
    assert value in str(caught.value)


def test_repeated_ids_in_a_file_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"a": ["no"] * 5, "country": ["x"] * 5}).to_csv(tmp_path / "in.csv", index=False)
    with refused("duplicate-id") as caught:
        privatize_file(
            tmp_path / "in.csv",
            tmp_path / "out.csv",
            {"a": Question(COIN)},
            keyed=Keyed(KEY, "country"),
        )
    assert "rows 2 and 3" in str(caught.value)
    assert "4 rows" in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


def test_arguments_that_contradict_each_other_are_refused() -> None:
    frame = pd.DataFrame({"a": ["no"], "id": [1]})
    for arguments, code, value in (
        ({"key": KEY}, "key-without-ids", ""),
        ({"id": "id"}, "ids-without-key", ""),
        ({"key": KEY, "id": "id", "rng": 1}, "key-and-rng", ""),
        ({"key": "secret", "id": "id"}, "secret", "16 to 64 secret bytes, not a str"),
        ({"key": b"short", "id": "id"}, "secret", "not 5 bytes"),
        ({"key": KEY, "id": "a"}, "ids-column", "'a'"),
    ):
        with refused(code) as caught:
            COIN.privatize(frame, "a", **arguments)
        assert value in str(caught.value)
    with pytest.raises(StatementError, match="'ID'"):
        COIN.privatize(frame, "a", key=KEY, id="ID")
    with refused("id-count") as caught:
        COIN.sample(["no"], key=KEY, id=[1, 2])
    assert "2 ids for 1" in str(caught.value)


def test_files_of_keys_are_private_never_replaced_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    key = SecretKey.new()
    key.save(path)
    assert SecretKey.load(path) == key
    assert key != SecretKey.new()
    assert path.stat().st_mode & 0o777 == 0o600
    assert key._secret.hex() not in repr(key)
    with refused("existing-file", ModelFileError):
        key.save(path)
    path.chmod(0o640)
    with refused("permissions", ModelFileError) as caught:
        SecretKey.load(path)
    assert "640" in str(caught.value)
    bad = tmp_path / "bad.key"
    bad.write_text('{"format": "ldpopt key 1", "key": "00ff"}')
    bad.chmod(0o600)
    with refused("key", ModelFileError) as error:
        SecretKey.load(bad)
    assert "00ff" not in str(error.value)


def written(path: Path, **changes: object) -> Path:
    """A file of a key, with some of its fields changed."""
    data = {"format": "ldpopt key 1", "name": KEY.name, "key": KEY._secret.hex()} | changes
    path.write_text(json.dumps(data))
    path.chmod(0o600)
    return path


DIGITS = KEY._secret.hex()
CHANGED = {
    "a digit": {"key": DIGITS[:-1] + "0"},
    "the first digit": {"key": "f" + DIGITS[1:]},
    "a key cut short": {"key": DIGITS[:-2]},
    "half a key": {"key": DIGITS[:32]},
    "digits behind": {"key": DIGITS + "00"},
    "another name": {"name": "0" * 16},
    "part of the name": {"name": KEY.name[:-1]},
    "a name that is no text": {"name": None},
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_key_is_refused_and_not_shown(tmp_path: Path, name: str) -> None:
    assert SecretKey.load(written(tmp_path / "whole.key")) == KEY
    with refused("key-name", ModelFileError) as caught:
        SecretKey.load(written(tmp_path / "a.key", **CHANGED[name]))
    assert "budgets add up" in str(caught.value)
    assert DIGITS[:32] not in str(caught.value)


def test_a_file_cut_at_any_place_is_refused(tmp_path: Path) -> None:
    text = written(tmp_path / "whole.key").read_text()
    for size in range(len(text)):
        path = tmp_path / "cut.key"
        path.write_text(text[:size])
        path.chmod(0o600)
        with pytest.raises(ModelFileError) as caught:
            SecretKey.load(path)
        shown = [
            str(part) + repr(vars(part))
            for part in (caught.value, caught.value.__context__)
            if part is not None
        ]
        assert DIGITS[:16] not in "".join(shown)
    data = json.loads(text)
    del data["name"]
    path.write_text(json.dumps(data))
    with refused("key", ModelFileError):
        SecretKey.load(path)


def test_a_full_device_is_reported(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no such device")
    with refused("existing-file", ModelFileError):
        KEY.save("/dev/full")


def test_a_file_system_without_links_has_keys_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", none)
    KEY.save(tmp_path / "survey.key")
    assert SecretKey.load(tmp_path / "survey.key") == KEY
    with refused("existing-file", ModelFileError):
        KEY.save(tmp_path / "survey.key")
    (tmp_path / "dangling.key").symlink_to(tmp_path / "nowhere")
    with refused("existing-file", ModelFileError):
        KEY.save(tmp_path / "dangling.key")


@pytest.mark.parametrize(("size", "chance"), [(2, 0.61), (4, 0.77), (10, 0.90)])
def test_a_changed_answer_shows_as_often_as_documented(size: int, chance: float) -> None:
    """The report changes with probability 1 - sum_y P(y|x) P(y|x'), and never if the answer
    stays."""
    response = Mechanism(truth_or_another(size, 1.0))
    first, second = response.channel[:2]
    expected = 1 - float(first @ second)
    assert round(expected, 2) == chance
    people = 20_000
    ids = [f"p{place}" for place in range(people)]
    was, same, now = (response.sample([label] * people, key=KEY, id=ids) for label in (0, 0, 1))
    assert (was == same).all()
    assert (was != now).mean() == pytest.approx(expected, abs=0.02)
    page = (Path(__file__).parents[3] / "docs" / "promises.md").read_text()
    assert f"{chance:.2f}" in page
