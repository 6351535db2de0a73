"""Utility-optimized privacy: its optimum by theory, its audit by hand, its extremes, its file."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair

LABELS = tuple("abcd")


def utility_optimized_rr(n, sensitive, epsilon):
    """Murakami and Kawamoto 2019, section 4.1: the first inputs are sensitive."""
    a = np.exp(epsilon)
    channel = np.zeros((n, n))
    channel[:, :sensitive] = 1 / (sensitive + a - 1)
    diagonal = np.where(np.arange(n) < sensitive, a, a - 1) / (sensitive + a - 1)
    channel[np.diag_indices(n)] = diagonal
    return channel


def best_by_theory(prior, sensitive, epsilon):
    """Value for the identity: the best number k of sensitive answers that are reported; docs,
    "Privacy notions"."""
    b = np.exp(-epsilon)
    own = np.sort(prior[:sensitive])[::-1]
    others = prior[sensitive:].sum()
    if not sensitive:
        return float(others)
    k = np.arange(1, sensitive + 1)
    return float(((own.cumsum() + (1 - b) * others) / (1 + (k - 1) * b)).max())


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0, 30.0, 800.0])
@pytest.mark.parametrize("sensitive", [0, 1, 3, 5])
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_the_identity_has_a_closed_form(seed, sensitive, epsilon):
    prior = np.full(5, 0.2) if seed is None else np.random.default_rng(seed).dirichlet(np.ones(5))
    answer = lo.solve(
        lo.Problem(prior, "identity", lo.UtilityOptimizedLDP(epsilon, range(sensitive)))
    )
    assert answer.value == pytest.approx(best_by_theory(prior, sensitive, epsilon), abs=1e-9)
    assert lo.certify(answer).relative_gap < 1e-9


def test_the_published_mechanism_is_private_and_not_always_best():
    prior = np.full(6, 1 / 6)
    notion = lo.UtilityOptimizedLDP(1.0, range(4))
    channel = utility_optimized_rr(6, 4, 1.0)
    assert repair(channel, notion).moved < 1e-12
    best = lo.solve(lo.Problem(prior, "identity", notion)).value
    assert best == pytest.approx(np.trace(channel) / 6, abs=1e-12)
    # With many answers that are not sensitive it is better to let all sensitive ones give one
    # report.
    prior = np.full(6, 1 / 6)
    notion = lo.UtilityOptimizedLDP(0.5, range(2))
    best = lo.solve(lo.Problem(prior, "identity", notion)).value
    assert best > np.trace(utility_optimized_rr(6, 2, 0.5)) / 6 + 0.01


@pytest.mark.parametrize("epsilon", [0.0, 0.5, "log(3)"])
def test_all_sensitive_is_pure(epsilon):
    utility = lo.Utility(np.random.default_rng(3).random((4, 4)), "gain")
    one, pure = (
        lo.solve(lo.Problem([0.4, 0.3, 0.2, 0.1], utility, notion, inputs=LABELS))
        for notion in (lo.UtilityOptimizedLDP(epsilon, LABELS), lo.PureLDP(epsilon))
    )
    assert one.value == pytest.approx(pure.value, abs=1e-12)


def test_without_sensitive_answers_the_truth_is_reported():
    answer = lo.solve(
        lo.Problem([0.4, 0.3, 0.2, 0.1], "identity", lo.UtilityOptimizedLDP(1.0, []), inputs=LABELS)
    )
    assert np.array_equal(answer.mechanism.channel, np.eye(4))


def test_audits_by_hand():
    notion = lo.UtilityOptimizedLDP("log(2)", [0])
    assert (
        lo.audit([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], notion).verdict == "certified"
    )
    # Input 0 gives the report of input 1: no budget allows that.
    found = lo.audit([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], notion)
    assert (found.verdict, found.epsilon, found.delta, found.witness) == (
        "violated",
        np.inf,
        0.25,
        (0, 1, 1),
    )
    found = lo.audit([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.0, 0.5]], notion)
    assert (found.verdict, found.delta, found.witness) == ("violated", 0.5, (0, 1, 0))
    # Both ways: the sensitive answer may not be denied either.
    assert (
        lo.audit([[0.2, 0.8], [1.0, 0.0]], lo.UtilityOptimizedLDP("log(2)", [0], [0, 1])).verdict
        == "violated"
    )
    named = Mechanism([[1.0, 0.0], [0.5, 0.5]], ["ill", "well"], ["?", "well"])
    assert named.audit(lo.UtilityOptimizedLDP("log(2)", ["ill"])).verdict == "certified"
    assert (
        named.audit(lo.UtilityOptimizedLDP("log(2)", ["ill"], ["?", "well"])).verdict == "violated"
    )


@pytest.mark.parametrize("seed", range(8))
def test_repair_of_any_channel(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    notion = lo.UtilityOptimizedLDP(
        float(rng.choice([0.0, 1e-9, 0.3, 2.0, 50.0])), range(int(rng.integers(0, n + 1)))
    )
    channel = rng.dirichlet(np.full(n, 0.2), n)
    assert repair(channel, notion).audit.verdict == "certified"
    wide = rng.dirichlet(np.full(n + 2, 0.2), n)
    wide[:, 0] = 0.0  # a report that nobody gives
    wide /= wide.sum(axis=1, keepdims=True)
    assert repair(wide, notion, outputs=range(n + 2)).audit.verdict == "certified"


def test_unused_outputs_keep_their_names():
    # Two of ten reports are used: what is repaired is a part of the channel, under the right
    # labels.
    names = [f"r{k}" for k in range(8)] + ["a", "b"]
    channel = np.zeros((2, 10))
    channel[:, 8:] = [[1.0, 0.0], [0.4, 0.6]]
    fixed = repair(
        channel, lo.UtilityOptimizedLDP("log(2)", ["a"]), inputs=["a", "b"], outputs=names
    )
    assert fixed.audit.verdict == "certified"
    assert fixed.mechanism.channel[0].tolist() == channel[0].tolist()
    assert fixed.audit.witness == ("a", "b", "a")


def test_rows_for_other_outputs_need_labels():
    notion = lo.UtilityOptimizedLDP(1.0, ["a"])
    # all pairs for report a, and two zeros for each of b and c
    assert len(notion.rows("abc", 3)) == 6 + 4
    with refused("output-labels", NotRepresentableError) as caught:
        notion.rows("abc", 4)
    assert "4 outputs" in str(caught.value)
    assert len(lo.UtilityOptimizedLDP(1.0, list("abc")).rows("abc", 4)) == 24


def test_refusals():
    def stated(*args, outputs="abc"):
        return lo.Problem(
            [0.5, 0.3, 0.2],
            np.ones((3, len(outputs))),
            lo.UtilityOptimizedLDP(1.0, *args),
            inputs="abc",
            outputs=outputs,
        )

    with refused("unknown-label") as caught:
        stated(["z"])
    assert "sensitive names 'z'" in str(caught.value)
    with refused("unknown-label") as caught:
        stated(["a"], ["z"])
    assert "protected names 'z'" in str(caught.value)
    with refused("unowned-report") as caught:
        stated(["a"], ["b"])
    assert "'a'" in str(caught.value)
    with refused("silent-input") as caught:
        stated(["a"], outputs="bc")
    assert "'a'" in str(caught.value)
    with pytest.raises(StatementError, match="protected label 'b'"):
        lo.UtilityOptimizedLDP(1.0, ["a"], ["b", "b"])
    with refused("unowned-report") as caught:
        Mechanism(np.eye(2), ["a", "b"], ["a", "y"]).audit(
            lo.UtilityOptimizedLDP(1.0, ["a"], ["a"])
        )
    assert "'y'" in str(caught.value)


OWN = lo.UtilityOptimizedLDP("log(2)", ["a"])


def test_owners_are_the_inputs_of_unprotected_reports() -> None:
    assert OWN.ties("abc").owner.tolist() == [-1, 1, 2]  # type: ignore[union-attr]
    assert OWN.ties("abc", "xca").owner.tolist() == [-1, 2, -1]  # type: ignore[union-attr]
    assert OWN.ties("bac", "bx").owner.tolist() == [0, -1]  # type: ignore[union-attr]
    assert lo.UtilityOptimizedLDP(1.0, list("abc")).ties("abc").owner is None
    with refused("silent-input") as caught:
        OWN.ties("abc", "bc")
    assert "'a'" in str(caught.value)
    with refused("silent-input") as caught:
        OWN.ties("bac", "bc")
    assert "'a'" in str(caught.value)
    for protected, outputs, label in ((["a"], "axyb", "'x'"), (["b"], "ab", "'a'")):
        with refused("unowned-report") as caught:
            lo.UtilityOptimizedLDP(1.0, ["a"], protected).ties("ab", outputs)
        assert label in str(caught.value)


def test_audits_read_arrays_by_position() -> None:
    notion = lo.UtilityOptimizedLDP("log(2)", [0])
    assert notion.audit([[1.0, 0.0], [0.5, 0.5]]).verdict == "certified"
    assert notion.audit([[0.75, 0.25], [0.5, 0.5]]).verdict == "violated"
    assert notion.audit([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]).verdict == "certified"
    kept = lo.UtilityOptimizedLDP("log(2)", ["a"], ["a", "x"])
    good = lo.Mechanism([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]], "ab", "axb")
    assert kept.audit(good).verdict == "certified"
    with refused("unowned-report") as caught:
        kept.audit(lo.Mechanism([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], "ab", "ayz"))
    assert "'y'" in str(caught.value)
