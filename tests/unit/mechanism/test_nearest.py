"""The nearest private channel: audited, no farther than a repair, and as near as a cvxpy model of
the definition."""

import itertools
import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from ldpopt.mechanism import nearest
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import GaussianLDP
from ldpopt.privacy.notion import KINDS

cp = pytest.importorskip("cvxpy")


def random_channel(seed, n, m):
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.5), n)


def distance(mechanism, channel):
    return float(np.abs(mechanism.channel - channel).sum(axis=1).max() / 2)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(thorough_or(1, 4)))
def test_it_is_as_near_as_the_optimum_of_the_definition(kind, seed):
    inputs = ["a", "b", "c", "d"]
    privacy = KINDS[kind].example(0.7, inputs)
    channel = random_channel(seed, 4, 4)
    found = lo.Mechanism.private(channel, privacy, inputs)
    assert found.audit(privacy).verdict == "certified"
    assert distance(found, channel) <= repair(channel, privacy, inputs=inputs).moved + 1e-12
    if kind == "gaussian":
        return  # not a list of rows: `test_nearest_to_a_curved_notion`
    P = cp.Variable((4, 4))
    farthest = cp.max(cp.sum(cp.abs(P - channel), axis=1)) / 2
    model = cp.Problem(cp.Minimize(farthest), privacy.constraints(P, inputs=inputs))
    best = model.solve(solver="CLARABEL")
    assert best - 1e-6 <= distance(found, channel) <= best + nearest.AVERAGE_WEIGHT + 1e-6
    shown = re.search("at most ([0-9.e-]+) of a row's probability moved", found.notes[-1])
    off = 1e-14  # of sums of floats; some channels are private as they are
    moved = distance(found, channel)
    assert moved - off <= float(shown[1]) <= 1.01 * moved + off


@pytest.mark.parametrize("seed", range(thorough_or(1, 2)))
def test_nearest_to_a_curved_notion(seed):
    """No mixture with a constant channel is nearer, and the move is that of tangents: near the
    least one of a fine polygon of budgets around the curve."""
    channel = random_channel(seed, 3, 3)
    privacy = GaussianLDP(1)
    found = distance(lo.Mechanism.private(channel, privacy), channel)
    ratios = np.exp(-np.linspace(0, 5, 60))
    P = cp.Variable((3, 3))
    rows = [P >= 0, cp.sum(P, axis=1) == 1]
    for x, k in itertools.permutations(range(3), 2):
        for event in ([0], [1], [2], [0, 1], [0, 2], [1, 2]):
            heights = [float(privacy.excess(Fraction(b))) for b in ratios]
            rows += [ratios * cp.sum(P[x, event]) - cp.sum(P[k, event]) <= np.array(heights)]
    farthest = cp.max(cp.sum(cp.abs(P - channel), axis=1)) / 2
    best = cp.Problem(cp.Minimize(farthest), rows).solve(solver="CLARABEL")
    assert best - 1e-6 <= found <= best + nearest.AVERAGE_WEIGHT + 1e-3


def test_a_row_within_the_tolerance_of_the_solver_is_not_generated_without_end():
    found = lo.Mechanism.private(random_channel(0, 3, 3), GaussianLDP(0.7))
    assert not any("a nearer channel may exist" in note for note in found.notes)


def test_a_channel_that_is_private_stays():
    best = lo.solve(lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0))).mechanism
    found = lo.Mechanism.private(best.channel + 1e-10, lo.PureLDP(1.0), best.inputs)
    assert np.abs(found.channel - best.channel).max() < 1e-9
    assert (
        lo.Mechanism.private(best.channel, lo.PureLDP(1.0))
        .notes[0]
        .startswith("at most 0 of a row")
    )


def test_labels_and_notes_stay_with_the_mechanism():
    frame = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=["no", "yes"], columns=["no", "yes"])
    found = lo.Mechanism.private(frame, lo.PureLDP(1.0))
    assert found.inputs == found.outputs == ("no", "yes")
    assert pickle.loads(pickle.dumps(found)).notes == found.notes
    assert lo.Mechanism(frame).notes == ()


def test_without_time_the_channel_is_repaired(monkeypatch):
    monkeypatch.setattr(nearest, "MAX_SECONDS", 0.0)
    channel = random_channel(0, 5, 5)
    found = lo.Mechanism.private(channel, lo.PureLDP(1.0))
    assert distance(found, channel) == pytest.approx(repair(channel, lo.PureLDP(1.0)).moved)
    assert found.notes[0].startswith("a nearer channel may exist")


def test_a_channel_must_have_finite_rows():
    with refused("empty-rows", lo.errors.MechanismError):
        lo.Mechanism.private([[0.0, 0.0], [1.0, 0.0]], lo.PureLDP(1.0))
    with pytest.raises(lo.errors.StatementError):
        lo.Mechanism.private([[1.0, 0.0], [1.0, 0.0]], "pure")
