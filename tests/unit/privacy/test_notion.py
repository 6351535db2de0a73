"""Base classes and registry of notions: what a plug-in has to be, how it is found, and what
`check_notion` finds."""

from __future__ import annotations

import types
from dataclasses import dataclass

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.certificate import recheck
from ldpopt.errors import CertificateError, MechanismError, ModelFileError, StatementError
from ldpopt.privacy import installed
from ldpopt.privacy import notion as module
from ldpopt.privacy.notion import (
    from_table,
    match_labels,
    notion_of,
    read_labels,
    shape_of,
    to_table,
    with_epsilon,
)
from ldpopt.solving.exact.optimum import exact_optimum
from plug_in_notions import Halved, RowsOnly

UNIFORM = [1 / 3] * 3


@pytest.fixture
def halved(monkeypatch):
    """A plug-in of the kind ``halved``, known during the test."""
    monkeypatch.setattr(module, "KINDS", dict(module.KINDS))
    return dataclass(frozen=True)(type("Halved", (Halved,), {"kind": "halved"}))


def test_a_plug_in_with_a_kind_has_every_form(halved, tmp_path):
    problem = lo.Problem(UNIFORM, "identity", halved(2.0, True))
    lo.save_model(problem, tmp_path / "model.toml")
    assert lo.load_model(tmp_path / "model.toml").privacy == halved(2.0, True)
    proof = lo.certify(lo.solve(problem))
    proof.save(tmp_path / "proof.json")
    read = lo.Certificate.load(tmp_path / "proof.json")
    assert read.problem.privacy == halved(2.0, True)
    assert recheck(read).is_same
    low, high = exact_optimum(lo.Problem(UNIFORM, "identity", halved(2.0)))
    assert low <= proof.bound
    assert proof.achieved <= high
    del module.KINDS["halved"]
    with pytest.raises(ModelFileError, match="'halved'"):
        lo.Certificate.load(tmp_path / "proof.json")


def test_notions_are_found_by_entry_points(monkeypatch):
    """A broken package is left out with a warning, and does not hide the others."""
    monkeypatch.setattr(module, "KINDS", dict(module.KINDS))

    def load():
        return type("Offered", (lo.PureLDP,), {"kind": "offered"})

    points = [types.SimpleNamespace(name="broken", load=lambda: __import__("no_such_module"))]
    points.append(types.SimpleNamespace(name="offered", load=load))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    assert notion_of("pure") is lo.PureLDP
    with pytest.warns(UserWarning, match="notion 'broken' cannot"):
        assert notion_of("offered").__name__ == "Offered"
    with pytest.warns(UserWarning, match="broken"):
        assert {"pure", "offered"} <= set(installed())


def test_a_kind_belongs_to_one_module(monkeypatch):
    monkeypatch.setattr(module, "KINDS", dict(module.KINDS))
    with pytest.raises(TypeError, match=r"Mine .*PureLDP"):
        type("Mine", (lo.PureLDP,), {"kind": "pure"})
    for _ in range(2):  # as when a cell of a notebook is run again
        again = type("Mine", (lo.PureLDP,), {"kind": "mine"})
    assert notion_of("mine") is again


@pytest.mark.parametrize(
    ("other", "code"),
    [(1.0, "notion"), (lo.PureLDP, "notion-class"), ("pure", "notion"), (object(), "notion")],
)
def test_other_objects_are_not_notions(other, code):
    with refused(code):
        lo.Problem(UNIFORM, "identity", other)
    with pytest.raises(StatementError, match="privacy notion"):
        lo.audit(np.eye(2), other)


def test_ties_are_computed_once():
    calls = []

    class Counted(lo.PureLDP):
        def ties(self, inputs, outputs=None, deadline=None):
            calls.append(inputs)
            return super().ties(inputs)

    problem = lo.Problem(UNIFORM, "identity", Counted(1.0))
    assert not calls
    assert problem.ties() is problem.ties()
    lo.certify(lo.solve(problem, form="compact", solver="highs"))
    # once for the problem, once for the definition that the certificate reads
    assert len(calls) <= 2
    assert lo.Problem(UNIFORM, "identity", RowsOnly(1.0)).ties() is None


def test_a_subclass_without_a_kind_is_not_written(tmp_path):
    class Mine(lo.PureLDP):
        pass

    with refused("notion-kind") as caught:
        to_table(Mine(1.0), range(3))
    assert "Mine" in str(caught.value)
    proof = lo.certify(lo.solve(lo.Problem(UNIFORM, "identity", RowsOnly(1.0))))
    with refused("notion-rows", CertificateError) as caught:
        proof.save(tmp_path / "proof.json")
    assert "RowsOnly" in str(caught.value)


@pytest.mark.parametrize("value", [{1.0}, float("nan"), None])
def test_values_that_no_file_can_hold_are_refused(monkeypatch, tmp_path, value):
    monkeypatch.setattr(module, "KINDS", dict(module.KINDS))
    plain = {"epsilon": value}
    notion = type(
        "Odd",
        (lo.PureLDP,),
        {"kind": "odd", "to_plain": lambda self, inputs, explicit=False: plain},
    )
    problem = lo.Problem(UNIFORM, "identity", notion(1.0))
    with refused("file-value") as caught:
        lo.save_model(problem, tmp_path / "model.toml")
    assert "'epsilon'" in str(caught.value)
    with refused("file-value", CertificateError):
        lo.certify(lo.solve(problem)).save(tmp_path / "proof.json")


def test_errors_of_a_reader_are_named(monkeypatch):
    monkeypatch.setattr(module, "KINDS", dict(module.KINDS))
    type(
        "Read",
        (lo.PureLDP,),
        {"kind": "read", "from_plain": classmethod(lambda cls, table, inputs: table["delta"])},
    )
    with refused("notion-keys") as caught:
        from_table({"kind": "read", "epsilon": 1.0}, range(3))
    assert "Read refused" in str(caught.value)


def test_labels_and_positions_are_matched_one_to_one() -> None:
    assert match_labels("ba", "ab", "it") == {"a": 0, "b": 1}
    for labels, inputs in (("abc", "ab"), ("a", "ab")):
        with pytest.raises(StatementError, match=r"'c'|'b'"):
            match_labels(labels, inputs, "it")
    assert shape_of(np.eye(2)) == ((0, 1), False)
    assert shape_of([[1], [1], [1]]) == ((0, 1, 2), False)
    for wrong in (3.0, np.array(3.0)):
        with pytest.raises(MechanismError):
            shape_of(wrong)
    with pytest.raises(StatementError, match="sensitive label 'b'"):
        read_labels(["a", "b", "b"], "sensitive")
    for wrong in ("ab", {"a": 1}, 3, [[]]):
        with pytest.raises(StatementError):
            read_labels(wrong, "sensitive")


def test_a_budget_is_changed_only_where_there_is_one() -> None:
    assert with_epsilon(lo.PureLDP(1.0), 2.0) == lo.PureLDP(2.0)

    @dataclass(frozen=True)
    class Other:
        size: float = 1.0

    for wrong in (Other(), lo.PureLDP, object()):
        with pytest.raises(StatementError):
            with_epsilon(wrong, 2.0)
