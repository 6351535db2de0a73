"""What a notion is, what it may declare, and what is said of one that answers nonsense."""

from __future__ import annotations

import time
import types
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from ldpopt.auditing.divergence import Audit
from ldpopt.certificate import recheck
from ldpopt.errors import CertificateError, ModelFileError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.foundation.rows import RowBlock
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import Notion, SeparableNotion, TiedNotion, Ties
from ldpopt.privacy import stated as codec
from ldpopt.privacy.answers import alphabet_of, definition_of, rows_of, separated, ties_of
from ldpopt.privacy.notion import with_epsilon
from ldpopt.solving.exact.optimum import exact_optimum
from ldpopt.testing import check_notion

PURE = lo.PureLDP(1.0)
UNIFORM = [1 / 3] * 3


@dataclass(frozen=True)
class Foreign:
    """A notion of somebody who imports nothing of ours: rows and audit."""

    epsilon: float

    def rows(self, inputs: Any, n_outputs: int) -> Any:
        return lo.PureLDP(self.epsilon).rows(inputs, n_outputs)

    def audit(self, channel: Any) -> Any:
        return lo.PureLDP(self.epsilon).audit(channel)


@dataclass(frozen=True)
class Halved(TiedNotion):
    """One file: ties and an audit make a notion with every capability of a tied one."""

    epsilon: float
    strict: bool = False

    def ties(self, inputs, outputs=None, deadline=None):
        return lo.PureLDP(self.epsilon / 2).ties(inputs)

    def audit(self, channel):
        return lo.PureLDP(self.epsilon / 2).audit(channel)


def test_objects_with_rows_and_audit_are_notions():
    assert isinstance(Foreign(1.0), Notion)
    assert not isinstance(Foreign(1.0), TiedNotion)
    assert not isinstance(Foreign(1.0), SeparableNotion)
    assert not isinstance(Foreign, Notion)
    assert not isinstance(lo.PureLDP, Notion)
    assert not isinstance(1.0, Notion)
    assert isinstance(lo.ApproximateLDP(1.0, 0.1), SeparableNotion)


@pytest.mark.parametrize("notion", [Foreign(1.0), Halved(2.0)], ids=lambda notion: type(notion).__name__)
def test_a_notion_of_ones_own_is_solved_and_certified(notion):
    check_notion(notion)
    answer = lo.solve(lo.Problem(UNIFORM, "identity", notion))
    assert answer.value == pytest.approx(np.e / (np.e + 2), abs=1e-12)
    assert lo.certify(answer).relative_gap < 1e-9
    assert with_epsilon(notion, 0.5).epsilon == 0.5


def test_what_is_not_a_notion_is_refused():
    for what in (1.0, lo.PureLDP, "pure", object()):
        with pytest.raises(StatementError, match="is not a privacy notion"):
            lo.Problem(UNIFORM, "identity", what)
    with pytest.raises(StatementError, match="is not a privacy notion"):
        lo.audit(np.eye(2), lo.PureLDP)
    with pytest.raises(StatementError, match="has no epsilon to sweep"):
        with_epsilon(object(), 1.0)


def test_a_statement_is_cheap_and_the_ties_heed_a_deadline():
    rng = np.random.default_rng(0)
    places = rng.random((700, 2))
    distance = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    began = time.process_time()
    problem = lo.Problem(np.full(700, 1 / 700), "identity", lo.MetricDP(1.0, distance))
    assert time.process_time() - began < 1.0
    began = time.process_time()
    with pytest.raises(OutOfTimeError, match="implied pairs"):
        problem.ties(Deadline.after(0.001))
    assert time.process_time() - began < 2.0


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
    assert len(calls) <= 2  # once for the problem, once for the definition that the certificate reads
    assert lo.Problem(UNIFORM, "identity", Foreign(1.0)).ties() is None


GOOD = PURE.rows(range(3), 3)


class Nonsense(TiedNotion, SeparableNotion):
    """Answers one method with what it is given, and the others well."""

    def __init__(self, method: str, answer: Any) -> None:
        self.method, self.answer = method, answer

    def _or(self, method: str, good: Any) -> Any:
        if self.method != method:
            return good
        return self.answer() if callable(self.answer) else self.answer

    def ties(self, inputs, outputs=None, deadline=None):
        return self._or("ties", PURE.ties(inputs))

    def rows(self, inputs, n_outputs):
        return self._or("rows", PURE.rows(inputs, n_outputs))

    def separate(self, channel, inputs):
        return self._or("separate", None)

    def audit(self, channel):
        return self._or("audit", PURE.audit(channel))

    def check(self, inputs, outputs):
        self._or("check", None)

    def notes(self, inputs):
        return self._or("notes", ())


def fails():
    raise IndexError("list index out of range")


PAIRS = PURE.ties(range(3)).pairs()
NONSENSE = [
    ("rows", None, "Nonsense.rows() returned None, not a RowBlock"),
    ("rows", replace(GOOD, x=GOOD.x + 7), "not rows of this channel: x has 9 for 3 inputs"),
    ("rows", replace(GOOD, y=GOOD.y - 1), "not rows of this channel: y has"),
    ("rows", replace(GOOD, x=GOOD.x * 0.5), "x has other things than integers"),
    ("rows", replace(GOOD, coefficient=GOOD.coefficient * np.nan), "a coefficient is not finite"),
    ("rows", replace(GOOD, upper=GOOD.upper * np.nan), "a bound is nan"),
    ("rows", replace(GOOD, row=GOOD.row[::-1]), "row numbers do not decrease"),
    ("rows", replace(GOOD, row=GOOD.row[1:]), "arrays of the same length"),
    ("rows", fails, "Nonsense.rows() failed: IndexError: list index out of range"),
    ("separate", [1, 2], "Nonsense.separate() returned a list, not a RowBlock"),
    ("ties", "all", "Nonsense.ties() returned 'all', not Ties"),
    ("ties", replace(PURE.ties(range(3)), n=4), "not ties of 3 inputs"),
    ("ties", replace(PURE.ties(range(3)), first=PAIRS[0], second=PAIRS[1] + 5), "pairs of two of the 3 inputs"),
    ("ties", replace(PURE.ties(range(3)), first=PAIRS[0]), "first, second and distance go together"),
    ("ties", Ties(PURE.epsilon, 3, *PAIRS, np.full(6, np.nan)), "distances that are positive and finite"),
    ("ties", replace(PURE.ties(range(3)), delta=float("nan")), "a delta in [0, 1]"),
    ("ties", replace(PURE.ties(range(3)), owner=np.array([0, 1, 9])), "an owner"),
    ("ties", replace(PURE.ties(range(3)), capped=np.ones(2, bool)), "capped of shape (3,)"),
    ("audit", None, "Nonsense.audit() returned None, not an Audit"),
    ("audit", Audit(float("nan"), 0.0, None, "certified"), "not an Audit with a verdict and numbers >= 0"),
    ("audit", Audit(1.0, 0.0, None, "fine"), "not an Audit with a verdict"),
    ("check", fails, "Nonsense.check() failed: IndexError"),
    ("notes", "a sentence", "Nonsense.notes() returned 'a sentence', not a tuple of sentences"),
]


@pytest.mark.parametrize("method, answer, words", NONSENSE, ids=[f"{row[0]}-{k}" for k, row in enumerate(NONSENSE)])
def test_nonsense_is_told_with_class_and_method(method, answer, words):
    notion = Nonsense(method, answer)

    def ask_for_all():
        problem = lo.Problem(UNIFORM, "identity", notion)
        rows_of(notion, range(3), 3)
        separated(notion, np.eye(3), range(3))
        lo.solve(problem)

    with pytest.raises(StatementError) as caught:
        ask_for_all()
    assert words in str(caught.value)
    with pytest.raises(AssertionError, match=r"Nonsense\." + method):
        check_notion(notion, range(3))


def test_nonsense_in_a_certificate_s_definition():
    class Undefined(lo.PureLDP):
        def definition(self, inputs, outputs=None):
            return 3

    with pytest.raises(StatementError, match=r"Undefined\.definition\(\) returned 3, not Ties"):
        definition_of(Undefined(1.0), range(3))


STATED = [
    (lambda self, inputs: ["epsilon"], "Stated.stated() returned ['epsilon'], not a dict"),
    (lambda self, inputs: {"epsilon": {1.0}}, "Stated.stated() returned {1.0} for 'epsilon'"),
    (lambda self, inputs: {"epsilon": float("nan")}, "returned nan for 'epsilon', which no file can hold"),
]


@pytest.mark.parametrize("stated, words", STATED)
def test_nonsense_in_a_table(monkeypatch, tmp_path, stated, words):
    notion = type("Stated", (lo.PureLDP,), {"stated": stated})
    monkeypatch.setattr(codec, "installed", lambda: {"stated": notion})
    problem = lo.Problem(UNIFORM, "identity", notion(1.0))
    with pytest.raises(StatementError) as caught:
        lo.save_model(problem, tmp_path / "model.toml")
    assert words in str(caught.value)
    proof = lo.certify(lo.solve(problem))
    with pytest.raises(CertificateError) as caught:
        proof.save(tmp_path / "proof.json")
    assert words in str(caught.value)


READ = [
    (lambda cls, table, inputs: 3, "from_stated() returned 3, not a privacy notion"),
    (lambda cls, table, inputs: table["delta"], "Read refused its keys: KeyError: 'delta'"),
]


@pytest.mark.parametrize("read, words", READ)
def test_nonsense_from_a_table(monkeypatch, read, words):
    notion = type("Read", (lo.PureLDP,), {"from_stated": classmethod(read)})
    monkeypatch.setattr(codec, "installed", lambda: {"read": notion})
    with pytest.raises(StatementError) as caught:
        codec.read_table({"kind": "read", "epsilon": 1.0}, range(3))
    assert words in str(caught.value)


def test_an_installed_notion_has_every_form(monkeypatch, tmp_path):
    monkeypatch.setattr(codec, "installed", lambda: {"halved": Halved})
    problem = lo.Problem(UNIFORM, "identity", Halved(2.0, True))
    lo.save_model(problem, tmp_path / "model.toml")
    assert lo.load_model(tmp_path / "model.toml").privacy == Halved(2.0, True)
    proof = lo.certify(lo.solve(problem))
    proof.save(tmp_path / "proof.json")
    read = lo.Certificate.load(tmp_path / "proof.json")
    assert read.problem.privacy == Halved(2.0, True)
    assert recheck(read).is_same
    low, high = exact_optimum(lo.Problem(UNIFORM, "identity", Halved(2.0)))
    assert low <= proof.bound
    assert proof.achieved <= high
    monkeypatch.setattr(codec, "installed", dict)
    with pytest.raises(ModelFileError, match="unknown privacy notion 'halved'"):
        lo.Certificate.load(tmp_path / "proof.json")


def test_a_foreign_notion_without_ties_has_no_certificate_in_a_file(tmp_path):
    proof = lo.certify(lo.solve(lo.Problem(UNIFORM, "identity", Foreign(1.0))))
    with pytest.raises(CertificateError, match="Foreign cannot be written to a certificate file"):
        proof.save(tmp_path / "proof.json")


class TooWeak(lo.PureLDP):
    """Its ties ask for less than its audit."""

    def ties(self, inputs, outputs=None, deadline=None):
        return Ties(lo.Budget(float(self.epsilon) + 0.5), len(inputs))


class TooStrict(lo.PureLDP):
    """Its audit refuses nothing."""

    def audit(self, channel):
        return replace(super().audit(channel), verdict="certified")


class Forgetful(lo.PureLDP):
    """Its table leaves the budget out."""

    def stated(self, inputs):
        return {"epsilon": 2.0}


@pytest.mark.parametrize(
    "notion, words",
    [
        (TooWeak(1.0), "rows and audit: rows() allow a channel"),
        (TooStrict(1.0), "rows and audit: audit() says 'certified' for a channel that violates a row"),
        (Forgetful(1.0), "table: the notion read from its table has different rows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_notion_finds_what_disagrees(notion, words):
    with pytest.raises(AssertionError) as caught:
        check_notion(notion)
    assert words in str(caught.value)


def test_post_processing_is_checked_where_it_is_claimed():
    notion = lo.ApproximateLDP(0.3, 0.2, "entry")
    check_notion(notion, range(4))
    with pytest.raises(AssertionError, match="post-processing: the channel with randomized reports"):
        check_notion(notion, range(4), post_processing=True)


def test_a_complete_graph_is_compact():
    problem = lo.Problem(UNIFORM, "identity", lo.GraphDP("log(3)", nx.complete_graph(3)))
    assert problem.ties().is_complete
    answer = lo.solve(problem)
    assert answer.solver == "highs (compact)"
    assert answer.value == pytest.approx(0.6, abs=1e-12)
    assert lo.certify(answer).relative_gap < 1e-12
    assert lo.extreme_points(problem.privacy, 3).count == 33


def test_separate_parts_are_allowed_by_name(tmp_path):
    graph = nx.Graph([("a", "b"), ("c", "d")])
    graph.add_node("e")
    with pytest.raises(StatementError, match="falls into 3 parts"):
        lo.GraphDP(1.0, graph)
    notion = lo.GraphDP("log(3)", graph, parts="separate")
    problem = lo.Problem([0.2] * 5, "identity", notion, inputs=list("abcde"))
    answer = lo.solve(problem)
    assert answer.value == pytest.approx((4 * 0.75 + 1) / 5, abs=1e-12)
    assert "the neighbor graph has 3 parts, which reports may distinguish: {a, b}, {c, d}, {e}" in answer.notes
    assert lo.certify(answer).relative_gap < 1e-12
    lo.save_model(problem, tmp_path / "parts.toml")
    assert lo.load_model(tmp_path / "parts.toml").privacy.parts == "separate"
    lo.certify(answer).save(tmp_path / "proof.json")
    assert lo.Certificate.load(tmp_path / "proof.json").problem.privacy.parts == "separate"
    assert repair(np.eye(5), notion, inputs=list("abcde")).audit.verdict == "certified"
    assert lo.GraphDP(1.0, nx.path_graph(3), parts="separate").notes(range(3)) == ()
    with pytest.raises(StatementError, match="parts = 'both' is unknown"):
        lo.GraphDP(1.0, graph, parts="both")


def test_extreme_points_of_separate_parts():
    graph = nx.Graph([(0, 1)])
    graph.add_node(2)
    points = lo.extreme_points(lo.GraphDP("log(3)", graph, "separate"), 3, 2)
    # Four of the pair, each with two of the third input.
    assert points.count == 8


def test_helpers_of_other_notions():
    assert alphabet_of(lo.GraphDP(1.0, nx.path_graph("abc"))) == ("a", "b", "c")
    assert alphabet_of(Foreign(1.0)) is None
    assert ties_of(Foreign(1.0), range(3)) is None
    assert isinstance(GOOD, RowBlock)


def test_a_broken_plug_in_does_not_hide_the_others(monkeypatch):
    point = types.SimpleNamespace(name="broken", load=lambda: __import__("no_such_module"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    assert codec.notion_of("pure") is lo.PureLDP
    assert codec.table_of(lo.PureLDP(1.0), (0, 1)) == {"kind": "pure", "epsilon": 1.0}
    with pytest.warns(UserWarning, match="the plug-in notion 'broken' cannot be loaded"):
        assert "pure" in codec.kinds()


def test_ties_take_lists_and_plain_numbers():
    ties = Ties(1.0, 3, [0, 1], [1, 0], [1, 1])
    assert ties.budget == lo.PureLDP(1.0).epsilon
    assert ties.rows(2).violation(np.full((3, 2), 0.5)).max() == 0


def test_an_unknown_check_is_named():
    with pytest.raises(StatementError, match=r"unknown check 'tight'"):
        check_notion(lo.PureLDP(1.0), only=["tight"])
