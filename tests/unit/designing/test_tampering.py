"""Saved certificates of designs with odd values, and on the command line: refused in words.

The digest is that of the changed file, so that only the proof can refuse it. Forged claims of every
kind are in tests/agreement/test_checker.py.
"""

from __future__ import annotations

import copy
import hashlib
import json

import pytest

from builders import run_cli
from ldpopt import DesignCertificate, PureLDP, Workload, design
from ldpopt.certificate.documents import digest_of
from ldpopt.errors import LdpoptError

HARMLESS = ("inputs", "names")
"""Labels, of which nothing is claimed."""

ODD = [
    None,
    True,
    -7,
    0,
    2.5,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "nan",
    "1/0",
    "1e999",
    "9" * 5000,
]
ODD += ["x" * 1000, [], {}, [[]], [None], {"a": 1}]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """By sets: of a workload with weights, as read from its file."""
    made = design(Workload.prefix(list("abcd")), PureLDP(1.0), weights=[1, 2, 3, 4], gap=1e-9)
    return saved(made, tmp_path_factory)


def saved(made, factory):
    path = factory.mktemp("proof") / "proof.json"
    made.certificate.save(path)
    data = json.loads(path.read_text())
    del data["about"]  # its digest would refuse most changes before anything is proved
    return data


def fails(data, path):
    """Whether the changed certificate is refused in words, or does not hold."""
    path.write_text(json.dumps(sealed(data)))
    try:
        return bool(DesignCertificate.load(path).recheck())
    except LdpoptError:
        return True


def sealed(data):
    """With its own digest."""
    try:
        return {**data, "digest": digest_of(data)} if "digest" in data else data
    except ValueError:  # no finite number: no JSON
        return data


def changed(data, key, value):
    data = copy.deepcopy(data)
    data[key] = value
    return data


def test_a_saved_certificate_holds(small, tmp_path):
    assert not fails(small, tmp_path / "proof.json")


def test_odd_values_are_refused(small, tmp_path):
    """In place of a field, of its first entry, and of the first entry of its first row."""
    for key, value in small.items():
        for odd in ODD:
            tried = {key: odd}
            if isinstance(value, list):
                tried[f"{key}[0]"] = [odd, *value[1:]]
                if isinstance(value[0], list):
                    tried[f"{key}[0][0]"] = [[odd, *value[0][1:]], *value[1:]]
            for name, found in tried.items():
                if found == value or (key in HARMLESS and name != key) or key == "digest":
                    continue
                assert fails(changed(small, key, found), tmp_path / "proof.json"), (name, odd)


@pytest.mark.parametrize(
    "key, value, code",
    [
        ("bound", "100", 1),
        ("achieved", "0", 1),
        ("weights", [4, 3, 2, 1], 1),
        ("masses", [], 2),
        ("privacy", {"kind": "pure", "epsilon": "-1"}, 2),
        ("privacy", 1.0, 2),
        ("multipliers", {"kind": "form"}, 2),
        ("achieved", "1e999999999", 2),
        ("bound", "1/1e999999999", 2),
        ("bias", "1e999999999", 2),
        ("workload", [[float("nan")]], 2),
        ("format", "other", 2),
        ("achieved", "9" * 5000, 2),
    ],
)
def test_the_command_line_prints_one_line(small, key, value, code, tmp_path):
    """Exit 1 for a claim that does not hold, 2 for a file that is none."""
    path = tmp_path / "proof.json"
    path.write_text(
        json.dumps(sealed(changed(small, key, value)) if code == 2 else changed(small, key, value))
    )
    told = run_cli("certify", path)
    assert told.exit_code == code, told.stderr
    assert "Traceback" not in told.stderr
    assert 0 < len(told.stderr) < 600


DEEP = (
    '{"format": "ldpopt design certificate 3", "digest": "", "inputs": '
    + "[" * 900
    + "]" * 900
    + "}"
)
HUGE = '{"format": "ldpopt design certificate 3", "digest": "", "inputs": [1e999]}'


@pytest.mark.parametrize(
    "text", [DEEP, HUGE, "", "{", "[]", "null", "[1", '{"format": "ldpopt design certificate 2"}']
)
def test_other_files_are_not_certificates(text, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(text)
    with pytest.raises(LdpoptError):
        DesignCertificate.load(path)
    assert run_cli("certify", path).exit_code == 2


def test_every_change_is_named_by_the_digest(small, tmp_path):
    """Labels and names too, of which nothing else is claimed."""
    path = tmp_path / "proof.json"
    others = {"inputs": list("dcba"), "names": list("wxyz"), "digest": "0" * 64}
    for key, value in others.items():
        path.write_text(json.dumps(changed(small, key, value)))
        assert DesignCertificate.load(path).recheck() == (
            "the file was changed after it was written: its digest does not fit",
        )
        told = run_cli("certify", path)
        assert told.exit_code == 1
        assert "digest" in told.stderr


def test_the_digest_is_that_of_the_plain_text(small):
    text = json.dumps(
        {key: value for key, value in small.items() if key != "digest"}, sort_keys=True
    )
    plain = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert digest_of(small) == hashlib.sha256(plain.encode()).hexdigest()
