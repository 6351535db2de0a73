"""Saved certificates of designs, with every field changed: refused, or the failure is named; never a traceback.

The digest is that of the changed file, so that only the proof can refuse it: a change that is accepted is one under
which the claim is still true, such as other labels or a smaller claim. With the old digest every change is named.
"""

from __future__ import annotations

import copy
import hashlib
import json
from fractions import Fraction

import numpy as np
import pytest

from builders import run_cli, thorough_or
from ldpopt import DesignCertificate, PureLDP, Workload, design
from ldpopt.certificate.documents import digest_of
from ldpopt.errors import LdpoptError

HARMLESS = ("inputs", "names")
"""Labels, of which nothing is claimed."""

ODD = [None, True, -7, 0, 2.5, 1e308, 10**400, float("nan"), float("inf"), "", "nan", "1/0", "1e999", "9" * 5000]
ODD += ["x" * 1000, [], {}, [[]], [None], {"a": 1}]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """By sets: of a workload with weights, as read from its file."""
    made = design(Workload.prefix(list("abcd")), PureLDP(1.0), weights=[1, 2, 3, 4], gap=1e-9)
    return saved(made, tmp_path_factory)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """By the elliptope."""
    return saved(design(Workload.prefix(24), PureLDP(1.0), gap=5e-3), tmp_path_factory)


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


@pytest.mark.parametrize("which", ["small", "large"])
def test_a_saved_certificate_holds(which, request, tmp_path):
    assert not fails(request.getfixturevalue(which), tmp_path / "proof.json")


def test_keys_are_the_known_ones(small, tmp_path):
    for key in small:
        assert fails({name: value for name, value in small.items() if name != key}, tmp_path / "proof.json"), key
    assert fails({**small, "extra": 1}, tmp_path / "proof.json")


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


def test_rows_and_lengths(small, tmp_path):
    """A row less, a row more; columns swapped, and rows except those of workload and labels."""
    for key, value in small.items():
        if not isinstance(value, list):
            continue
        for other in (value[:-1], [*value, value[-1]]):
            assert fails(changed(small, key, other), tmp_path / "proof.json"), key
        if key not in (*HARMLESS, "workload"):
            assert fails(changed(small, key, [value[1], value[0], *value[2:]]), tmp_path / "proof.json"), key
        if isinstance(value[0], list):
            swapped = [[row[1], row[0], *row[2:]] for row in value]
            assert fails(changed(small, key, swapped), tmp_path / "proof.json"), key


def numbers(data):
    """Other numbers for every field that has them, each of which makes the claim a false one."""
    achieved, bound = Fraction(data["achieved"]), Fraction(data["bound"])
    masses = np.array(data["masses"], dtype=object)
    moved, below = masses.copy(), masses.copy()
    moved[0, 0], moved[0, 1] = masses[0, 0] + masses[0, 1] // 2, masses[0, 1] - masses[0, 1] // 2
    below[0, 0], below[0, 1] = -1, masses[0, 0] + masses[0, 1] + 1
    yield "masses", moved.tolist()
    yield "masses", below.tolist()
    yield "masses", [[masses[0, 0] + 1, *masses[0, 1:]], *masses[1:].tolist()]
    yield "achieved", str(achieved * Fraction(999999, 1000000))
    yield "bound", str(bound * Fraction(1000001, 1000000) + Fraction(1, 1000) * (achieved - bound))
    yield "workload", (2 * np.array(data["workload"])).tolist()
    yield "workload", (np.array(data["workload"]) + np.eye(len(data["workload"]))).tolist()
    yield "weights", [*data["weights"][1:], 5.0]
    yield "objective", "worst_case"
    yield "left_inverse", (1.01 * np.array(data["left_inverse"])).tolist()
    yield "left_inverse", (0 * np.array(data["left_inverse"])).tolist()
    proof = data["multipliers"]
    for key, factor in (("inverse", 1.01), ("inverse", 0.99), ("line", 0.999), ("line", 1.001)):
        yield "multipliers", {**proof, key: (factor * np.array(proof[key])).tolist()}
    yield "multipliers", {"kind": "none"}
    yield "bias", "0"
    yield "format", data["format"].replace("3", "4")


def test_numbers_of_another_claim(small, tmp_path):
    for key, value in numbers(small):
        assert fails(changed(small, key, value), tmp_path / "proof.json"), key


def test_numbers_of_another_claim_for_many_answers(large, tmp_path):
    others = list(numbers(large))
    for key, value in thorough_or(dict(others).items(), others):
        if key != "objective":
            assert fails(changed(large, key, value), tmp_path / "proof.json"), key
    proof = large["multipliers"]
    shift = proof["shift"]
    others = [("shift", value) for value in (None, shift[:-1], [shift[0], *(2 * entry for entry in shift[1:])])]
    for key, value in (*others, ("line", [1e308, *proof["line"][1:]])):
        assert fails(changed(large, "multipliers", {**proof, key: value}), tmp_path / "proof.json"), value


@pytest.mark.parametrize("which", ["small", "large"])
@pytest.mark.parametrize("epsilon", ["0.9", "1.1"])
def test_another_budget(which, epsilon, request, tmp_path):
    """A smaller one is not kept by the mechanism, a larger one allows columns that the multipliers do not."""
    assert fails(
        changed(request.getfixturevalue(which), "privacy", {"kind": "pure", "epsilon": epsilon}),
        tmp_path / "proof.json",
    )


def test_a_smaller_claim_is_still_true(small, tmp_path):
    more = str(Fraction(small["achieved"]) * 2)
    for key, value in (("achieved", more), ("bound", "0"), ("bound", "-7/3"), ("bias", "1"), ("names", list("wxyz"))):
        assert not fails(changed(small, key, value), tmp_path / "proof.json"), key


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
    path.write_text(json.dumps(sealed(changed(small, key, value)) if code == 2 else changed(small, key, value)))
    told = run_cli("certify", path)
    assert told.exit_code == code, told.stderr
    assert "Traceback" not in told.stderr
    assert 0 < len(told.stderr) < 600


DEEP = '{"format": "ldpopt design certificate 3", "digest": "", "inputs": ' + "[" * 900 + "]" * 900 + "}"
HUGE = '{"format": "ldpopt design certificate 3", "digest": "", "inputs": [1e999]}'


@pytest.mark.parametrize("text", [DEEP, HUGE, "", "{", "[]", "null", "[1", '{"format": "ldpopt design certificate 2"}'])
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
    text = json.dumps({key: value for key, value in small.items() if key != "digest"}, sort_keys=True)
    plain = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert digest_of(small) == hashlib.sha256(plain.encode()).hexdigest()


def old(data, number=2):
    """The file as format 2 or 1 had it."""
    data = {key: value for key, value in data.items() if key not in ("bias", "digest", "multipliers")} | {
        "format": f"ldpopt design certificate {number}",
        "proof": data["multipliers"]["kind"],
        **{key: value for key, value in data["multipliers"].items() if key != "kind"},
    }
    if number == 1:
        data["epsilon"] = data.pop("privacy")["epsilon"]
        del data["proof"], data["inequalities"]
    return data


@pytest.mark.parametrize("number", [1, 2])
def test_files_of_old_formats_are_read(number, small, tmp_path):
    """With a note; their value may be off by rounding, and a biased left inverse is refused."""
    path, data = tmp_path / "proof.json", old(small, number)
    data["achieved"] = str(Fraction(small["achieved"]) * Fraction(10**15 - 1, 10**15))
    path.write_text(json.dumps(data))
    told = run_cli("certify", path)
    assert told.exit_code == 0
    assert "old format" in told.stdout
    left = np.array(data["left_inverse"])
    forged = left + 1e-4 * np.array(data["weights"])[:, None]
    turned = left + np.outer([1, -1, 0, 0], np.full(left.shape[1], 1e-4))
    for wrong in (forged, turned):
        assert fails({**data, "left_inverse": wrong.tolist()}, path)
    assert fails({**data, "achieved": str(Fraction(small["achieved"]) * Fraction(999999, 1000000))}, path)
