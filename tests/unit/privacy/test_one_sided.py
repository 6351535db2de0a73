"""One-sided privacy: its optimum by theory, its audit by hand, its extremes, its file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.certificate import recheck
from ldpopt.errors import NotRepresentableError, StatementError

LABELS = tuple("abcd")


def best_with_one_sensitive(prior, epsilon):
    """Value for the identity: docs, "Privacy notions"."""
    b = np.exp(-epsilon)
    first = prior[0]
    others = prior[1:]
    return (1 - first) * (1 - b) + max(first, b * others.max())


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0, 40.0, 800.0])
@pytest.mark.parametrize("prior", [(0.1, 0.6, 0.2, 0.1), (0.7, 0.1, 0.1, 0.1), (0.25,) * 4])
def test_one_sensitive_answer_has_a_closed_form(prior, epsilon):
    answer = lo.solve(lo.Problem(prior, "identity", lo.OneSided(epsilon, ["a"]), inputs=LABELS))
    assert answer.value == pytest.approx(
        best_with_one_sensitive(np.array(prior), epsilon), abs=1e-9
    )
    assert lo.certify(answer).relative_gap < 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.5, "log(3)"])
@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_all_sensitive_is_pure(epsilon, sense):
    utility = lo.Utility(np.random.default_rng(3).random((4, 5)), sense)
    one, pure = (
        lo.solve(lo.Problem([0.4, 0.3, 0.2, 0.1], utility, notion, inputs=LABELS))
        for notion in (lo.OneSided(epsilon, LABELS), lo.PureLDP(epsilon))
    )
    assert one.value == pytest.approx(pure.value, abs=1e-12)
    assert one.problem.ties().is_complete


def test_without_sensitive_answers_the_truth_is_reported():
    answer = lo.solve(
        lo.Problem([0.4, 0.3, 0.2, 0.1], "identity", lo.OneSided(1.0, []), inputs=LABELS)
    )
    assert np.array_equal(answer.mechanism.channel, np.eye(4))
    assert answer.repaired.audit.epsilon == 0.0


def test_audits_compare_in_one_direction():
    notion = lo.OneSided("log(2)", [0])
    assert lo.audit([[0.5, 0.5], [0.25, 0.75]], notion).verdict == "certified"
    # From the other answer to the sensitive one the ratio is unbounded, and nobody minds.
    found = lo.audit([[1.0, 0.0], [0.5, 0.5]], notion)
    assert (found.verdict, found.witness) == ("certified", (0, 1, 0))
    found = lo.audit([[1.0, 0.0], [0.25, 0.75]], notion)
    assert (found.verdict, found.delta) == ("violated", 0.5)
    assert found.epsilon == pytest.approx(np.log(4), abs=1e-15)
    assert found.delta_at("log(4)") == 0.0
    assert lo.audit([[1.0, 0.0], [0.0, 1.0]], notion).epsilon == np.inf
    assert lo.audit([[0.0, 1.0], [1.0, 0.0]], lo.OneSided("log(2)", [0, 1])).verdict == "violated"


def test_multipliers_of_missing_ties_are_rejected(tmp_path):
    problem = lo.Problem([0.4, 0.3, 0.2, 0.1], "identity", lo.OneSided(1.0, ["b"]), inputs=LABELS)
    proof = lo.certify(lo.solve(problem, form="pairwise"))
    other = lo.Problem([0.4, 0.3, 0.2, 0.1], "identity", lo.OneSided(1.0, ["c"]), inputs=LABELS)
    checked = recheck(replace(proof, problem=other))
    assert not checked.holds
    assert "does not tie 'b' to" in checked.failures[0]


def test_refusals():
    with refused("unknown-label") as caught:
        lo.Problem([0.5, 0.5], "identity", lo.OneSided(1.0, ["z"]), inputs=["a", "b"])
    assert "'z'" in str(caught.value)
    with pytest.raises(StatementError, match="sensitive label 'a'"):
        lo.OneSided(1.0, ["a", "a"])
    for odd in ("ab", 3, {"a": 1}, [["a"]]):
        with pytest.raises(StatementError, match=r"sensitive (=|label)"):
            lo.OneSided(1.0, odd)
    with refused("unknown-label") as caught:
        lo.audit(np.eye(2), lo.OneSided(1.0, ["a"]))
    assert "sensitive names 'a'" in str(caught.value)
    problem = lo.Problem([0.5, 0.5], "identity", lo.OneSided("log(2)", [0]))
    with refused("sifted-problem", NotRepresentableError):
        lo.solve(problem, solver="interior")
