"""Wrong calls from Python, one named case each: most of them once a traceback, a hang or a silent
change."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from ldpopt import closed_forms, constraints, neighbors, noise, utility
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.mechanism.repair import repair
from ldpopt.noise.layers.mechanism import level_matrix
from ldpopt.solving.formulation import formulate

HALF = [0.5, 0.5]
PURE = lo.PureLDP(1.0)
MASKED = np.ma.masked_less(np.array([[0.5, 0.5], [0.5, -1.0]]), 0)
COIN = """
[alphabet]
inputs = ["a", "b"]
[prior]
uniform = true
[utility]
kind = "identity"
[privacy]
kind = "pure"
epsilon = 1.0
"""


def read(text: str) -> Any:
    Path("model.toml").write_text(text)
    return lo.load_model("model.toml")


REFUSED: dict[str, Callable[[], Any]] = {
    "a truth value among numbers": lambda: lo.Problem([1.0, False], "identity", PURE),
    "a text among objects": lambda: lo.Utility(np.array([[1, "2"]], dtype=object)),
    "a truth value among rationals": lambda: lo.audit([[True, Fraction(0)]]),
    "an integer beyond floats": lambda: lo.Utility([[10**400, 0]]),
    "a masked number": lambda: lo.Utility(MASKED),
    "a masked number in a list": lambda: utility.absolute_error([1.0, np.ma.masked]),
    "a masked channel": lambda: lo.Mechanism(MASKED),
    "a masked budget": lambda: lo.PureLDP(np.ma.masked),
    "a budget of bytes": lambda: lo.PureLDP(b"1"),
    "a budget of numpy's truth": lambda: lo.PureLDP(np.bool_(True)),
    "delta as text": lambda: lo.ApproximateLDP(1.0, "0.1"),
    "delta as truth": lambda: closed_forms.top_k(HALF, 1.0, True),
    "delta beyond floats": lambda: lo.ApproximateLDP(1.0, 10**400),
    "a form that cannot be looked up": lambda: lo.ApproximateLDP(1.0, 0.1, []),
    "a class for a notion": lambda: lo.Problem(HALF, "identity", lo.PureLDP),
    "a number for a notion": lambda: lo.audit([[1.0]], 0.5),
    "bytes for a notion": lambda: repair([[1.0]], b"1"),
    "a number for a channel": lambda: lo.audit(0.5, lo.GraphDP(1.0, neighbors.path("ab"))),
    "a number for labels": lambda: lo.Mechanism([[1.0]], True),
    "labels in no order": lambda: lo.Problem(HALF, "identity", PURE, inputs={"a", "b"}),
    "labels that cannot be looked up": lambda: lo.Problem(HALF, "identity", PURE, inputs=[[], "b"]),
    "labels that are nan": lambda: lo.Mechanism([[1.0], [1.0]], [float("nan"), "b"]),
    "a number for constraints": lambda: lo.Problem(HALF, "identity", PURE, constraints=1),
    "a table for a bound": lambda: constraints.linear([[1.0]], {}, 0.0),
    "a text for a bound": lambda: constraints.linear([[1.0]], "0", 1.0),
    "a text for a time limit": lambda: lo.solve(lo.Problem(HALF, "identity", PURE), time_limit="3"),
    "a time limit beyond floats": lambda: lo.solve(
        lo.Problem(HALF, "identity", PURE), time_limit=10**400
    ),
    "an array for a form": lambda: lo.solve(lo.Problem(HALF, "identity", PURE), form=np.ones(2)),
    "a range beyond memory for a channel": lambda: lo.audit(range(10**12)),
    "a list for a mechanism": lambda: lo.estimate_frequencies([[1, 0], [0, 1]], [0, 1]),
    "a negative size": lambda: utility.identity(1, -1),
    "a truth value for a size": lambda: utility.identity(True),
    "a size beyond memory": lambda: utility.identity(10**9, 10**9),
    "no value": lambda: closed_forms.least_epsilon(HALF, None),
    "no labels": lambda: neighbors.complete(None),
    "half a bin": lambda: neighbors.histograms(1, 0.5),
    "histograms beyond memory": lambda: neighbors.histograms(40, 40),
    "a grid beyond memory": lambda: neighbors.grid(10**9, 10**9),
    "no radius": lambda: neighbors.within([0.0, 1.0], r=None),
    "a table among points": lambda: noise.Laplace(1, 1.0).pdf([0.5, {}]),
    "a place that is nan": lambda: noise.Laplace(1, 1.0).cdf(float("nan")),
    "draws beyond memory": lambda: noise.Laplace(1, 1.0).sample(10**12),
    "a sensitivity below any unit": lambda: noise.Staircase(2.3e-308, 1e-9),
    "levels without end": lambda: noise.Geometric(1, 1e-17).sample(2, rng=0),
    "a grid that takes seconds": lambda: neighbors.grid(694, 694),
    "an interval of a thousand letters": lambda: noise.NeighborPartition([[0, "x" * 3000]], 4),
    "a table of no dimension for labels": lambda: lo.Mechanism([[1.0], [1.0]], np.array(1)),
    "a quiet refusal to compare": lambda: lo.Mechanism([[1.0], [1.0]], [Decimal("sNaN"), "b"]),
    "a domain whose square is beyond floats": lambda: lo.mean.Duchi(1.0, domain=(0.0, 1e160)),
    "a channel for a problem of a plan": lambda: lo.plan(lo.Mechanism(np.eye(2))),
    "a channel for a problem of a front": lambda: lo.pareto_front(lo.Mechanism(np.eye(2)), [0]),
    "a channel for a problem of extreme points": lambda: lo.extreme_points(PURE, 2).best(
        lo.Mechanism(np.eye(2))
    ),
    "a design for a mechanism": lambda: lo.simulate(
        lo.design(lo.Workload.frequencies(2), PURE), HALF, population=9, repeats=2
    ),
    "squares beyond floats": lambda: lo.mean.designed([1e300, -1e300], [1e308, -1e308], 1.0),
    "ragged answers": lambda: lo.mean.sampled(lo.mean.Duchi(1.0), attributes=2).privatize(
        [[0.1, 0.2], [0.3]], rng=0
    ),
    "a confidence in words": lambda: lo.audit_sampler(
        lambda x, k, rng: rng.random(k), 0, 1, draws=99, confidence="high"
    ),
    "no intervals": lambda: noise.NeighborPartition(None, 4),
    "complex intervals": lambda: noise.NeighborPartition([[3 + 0j, 4]], 4),
    "whole numbers widened beyond memory": lambda: (
        noise.NeighborPartition({0, 1}, 2**53 + 1).noise(1.0).expected_abs
    ),
    "a widening beyond any unit": lambda: (
        noise.NeighborPartition([[0, 3]], 6.5e102).noise(1.0).expected_abs
    ),
    "outputs that are nothing beside the answers": lambda: lo.mean.designed(
        [0.0, 0.25], [0.0, 2.3e-204], 1.0
    ),
    "a list for a constraint's kind": lambda: read(COIN + "[[constraints]]\nkind = []"),
    "a list for a data set": lambda: lo.datasets.load([]),
    "a number for a solver": lambda: lo.solve(lo.Problem(HALF, "identity", PURE), solver=1),
    "numbers for a method": lambda: lo.estimate_frequencies(
        lo.Mechanism(np.eye(2)), [0, 1], method=np.ones(2)
    ),
    "draws beyond any integer": lambda: noise.Geometric(1, 0.1).sample(10**400),
    "an identity beyond any integer": lambda: utility.identity(10**400),
    "answers beyond memory": lambda: noise.Geometric(1, 1.0).truncated(10**12),
    "no answers": lambda: noise.Geometric(1, 1.0).truncated(None),
    "a probability of a trillion digits": lambda: noise.Geometric(1, 1.0).mass(10**12),
    "the same of a partition": lambda: noise.NeighborPartition({1, 3}, 1).noise(1.0).mass(10**12),
    "a place that is none": lambda: noise.Geometric(1, 1.0).mass(float("nan")),
    "a core of half a step": lambda: noise.NeighborPartition([(0, 1), (3, 4)], 0.1).core(2.5),
    "a core without end": lambda: noise.NeighborPartition([(0, 1), (3, 4)], 0.1).core(10**12),
    "signs without end": lambda: lo.mean.DuchiVector(1.0, 10**12),
    "a probability of five thousand letters": lambda: closed_forms.coin(0.0, "x" * 5000),
    "a width of five thousand digits": lambda: noise.NeighborPartition([(0, 1)], 10**5000),
    "a table of no dimension for answers": lambda: lo.Mechanism(np.eye(2)).sample(np.array(1.0)),
    "a frame for answers": lambda: lo.Mechanism(np.eye(2)).sample(pd.DataFrame([[1, 0]])),
    "a set for reports": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), {0, 1}),
    "a frame for labels": lambda: lo.Mechanism(np.eye(2), pd.DataFrame([[1, 0]])),
    "None for a label": lambda: neighbors.complete([None]),
    "nan for a label": lambda: neighbors.path([0, float("nan")]),
    "no number twice": lambda: neighbors.path([pd.NA, 1, 1]),
    "a frame for a graph's labels": lambda: neighbors.cycle(pd.DataFrame(np.eye(3))),
    "a table of no dimension for intervals": lambda: noise.NeighborPartition(np.array(1.0), 1),
    "a distance beyond floats": lambda: utility.absolute_error([-1.5e308], [1.5e308]),
    "a square beyond floats": lambda: utility.squared_error([0.0], [1e308]),
    "a masked label": lambda: lo.Mechanism([[1.0]]).sample([np.ma.masked]),
    "a masked answer among lists": lambda: lo.mean.sampled(
        lo.mean.Duchi(1.0), attributes=1
    ).privatize([[np.ma.masked]]),
    "a masked answer": lambda: lo.mean.sampled(lo.mean.Duchi(1.0), attributes=2).privatize(MASKED),
    "masked reports": lambda: lo.mean.Duchi(1.0).estimate(MASKED[1]),
    "ragged reports": lambda: lo.mean.Duchi(1.0).estimate([[1.0], [1.0, 2.0]]),
    "a number beyond floats for the shape": lambda: lo.mean.RandomCensoring(1.0, 10**400, 0.1),
    "a float beyond floats": lambda: utility.absolute_error(np.longdouble("1e4000") * np.ones(2)),
    "a trillion values": lambda: utility.absolute_error(range(10**12)),
    "a trillion labels": lambda: lo.Mechanism(np.eye(2), range(10**12)),
    "a trillion answers": lambda: lo.Mechanism(np.eye(2)).sample(range(10**12)),
    "a trillion points": lambda: neighbors.within(range(10**12)),
    "a billion histograms": lambda: neighbors.histograms(1, 10**9),
    "ragged labels": lambda: lo.Mechanism(np.eye(2)).sample([[1, 2], [3]]),
    "a metric that returns nothing": lambda: neighbors.within([0.0, 1.0], lambda x, y: None),
    "a table of no dimension for a channel": lambda: lo.audit(
        np.array(1.0), lo.MetricDP(1.0, [[0, 1], [1, 0]])
    ),
    "a frame for a loss": lambda: closed_forms.bins(HALF, [0.0, 1.0], 1.0, pd.DataFrame(HALF)),
    "five thousand digits for a form": lambda: lo.ApproximateLDP(1.0, 0.1, 10**5000),
    "five thousand digits for a sense": lambda: lo.Utility([[1.0]], 10**5000),
    "a trillion nodes": lambda: neighbors.path(range(10**12)),
    "a trillion members": lambda: noise.NeighborPartition(range(10**12), 1),
    "nodes beyond any integer": lambda: neighbors.path(range(10**400)),
    "five thousand digits for a table's sense": lambda: utility.table([[1.0]], 10**5000),
    "gamma as text": lambda: noise.Staircase(1.0, 1.0, "a"),
    "a size beyond floats": lambda: utility.identity(10**400),
    "draws beyond floats": lambda: noise.Laplace(1, 1.0).sample(10**400),
    "labels beyond any list": lambda: lo.frequencies.UnaryEncoding(10**400, 1.0),
    "a size of too many digits": lambda: lo.frequencies.LocalHashing(4, 1.0, buckets=-(10**5000)),
    "a budget of too many digits": lambda: lo.PureLDP(-(10**5000)),
    "a time span for a seed": lambda: noise.Laplace(1, 1.0).sample(3, rng=np.timedelta64(3)),
    "a prior whose sum is beyond floats": lambda: lo.Problem([1e308, 1e308], "identity", PURE),
    "the same of a closed form": lambda: closed_forms.top_k([1e308, 1e308], 1.0),
    "the same of a mechanism": lambda: lo.Mechanism(np.eye(2)).expected([1e308, 1e308]),
    "a prior that is nan": lambda: lo.Mechanism(np.eye(2)).expected([float("nan"), 1.0]),
    "a prior next to nothing": lambda: lo.Mechanism(np.eye(2)).expected([5e-324, 5e-324]),
    "a rational probability beyond floats": lambda: lo.audit([[Fraction(10**400)]]),
    "a whole one": lambda: lo.audit(np.array([[10**400]], dtype=object)),
    "a row whose sum is beyond floats": lambda: lo.Mechanism([[1e308, 1e308]]),
    "the same of a plain array": lambda: lo.audit([[1e308, 1e308]]),
    "the same to be repaired": lambda: repair([[1e308, 1e308]], PURE),
    "a box of priors beyond floats": lambda: closed_forms.worst_prior(
        [1e308, 1e308], [1e308, 1e308]
    ),
    "distances whose sum is beyond floats": lambda: lo.MetricDP(1.0, [[0, 1e308], [1e308, 0]]),
    "the same of a kernel": lambda: closed_forms.kernel([[0, 1e308], [1e308, 0]], HALF, 1.0),
    "distances next to nothing": lambda: lo.MetricDP(1.0, [[0, 1e-310], [1e-310, 0]]),
    "an exponential beyond memory": lambda: lo.Budget(1.0).enclosure(10**400),
    "a bound beyond floats": lambda: (
        lo.solve(
            lo.Problem(
                HALF, "identity", PURE, constraints=constraints.linear(np.eye(2), upper=-1e308)
            )
        ).mechanism
    ),
    "a set beyond any unit": lambda: noise.optimal_widening([(0, 10**400)], 1.0),
    "an answer that cannot be looked up": lambda: lo.Mechanism([[1.0]]).sample([Decimal("sNaN")]),
    "a time span of no unit for a label": lambda: lo.Mechanism(np.eye(2), [np.timedelta64(3), "b"]),
    "the same for a source": lambda: neighbors.bfs_partition(
        neighbors.path("ab"), np.timedelta64(3)
    ),
    "a label that does not say what it equals": lambda: lo.Problem(
        HALF, "absolute_error", PURE, inputs=[pd.NA, 1]
    ),
    "labels beyond floats": lambda: lo.Problem(HALF, "absolute_error", PURE, inputs=[10**400, 1]),
    "a probability of a billion digits": lambda: closed_forms.coin("1e-999999999"),
    "a probability of too many digits": lambda: closed_forms.coin(Fraction(1, 10**5000)),
    "a ratio below 1": lambda: closed_forms.top_k(HALF, 1.0).exact_dual(Fraction(0)),
    "reports whose squares are beyond floats": lambda: lo.mean.Laplace(1.0).estimate(
        [1e308, 1e308]
    ),
    "a count beyond any integer": lambda: lo.estimate_frequencies(
        lo.Mechanism(np.eye(2)), {0: 10**30, 1: 1}
    ),
    "a count of a million digits": lambda: lo.estimate_frequencies(
        lo.Mechanism(np.eye(2)), {0: Decimal("1e999999")}
    ),
    "a masked count": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), {0: np.ma.masked}),
    "a masked code": lambda: closed_forms.top_k(HALF, 1.0).sampler.sample([np.ma.masked]),
    "masked answers": lambda: lo.frequencies.UnaryEncoding(2, 1.0).privatize(
        np.ma.masked_equal([0, 1], 1)
    ),
    "a masked budget of no dimension": lambda: lo.PureLDP(np.ma.array(1.0, mask=True)),
    "a table of no dimension for an alphabet": lambda: lo.frequencies.UnaryEncoding(
        np.array(2.0), 1.0
    ),
    "a trillion draws to audit": lambda: lo.audit_sampler(
        lambda x, k, rng: rng.random(k), 0, 1, draws=10**12
    ),
    "a gap beyond floats": lambda: lo.certify(
        lo.solve(lo.Problem(HALF, "identity", PURE)), gap="1"
    ),
    "no solution": lambda: lo.certify(None),
    "a query without end": lambda: noise.sensitivity(
        lambda x: float("inf"), neighbors.path([0, 1])
    ),
    "NA for a step": lambda: noise.Geometric(1, 1.0).on_grid(pd.NA),
    "a solution to formulate": lambda: formulate(lo.solve(lo.Problem(HALF, "identity", PURE))),
    "a solution to write": lambda: lo.save_model(
        lo.solve(lo.Problem(HALF, "identity", PURE)), "coin.toml"
    ),
    "a number for a file": lambda: lo.Mechanism(np.eye(2)).save(3),
    "a number for a graph": lambda: level_matrix(3),
    "no model to read": lambda: lo.load_model(None),
    "a number for a mechanism's file": lambda: lo.Mechanism.load(3.5),
    "no file to write to": lambda: lo.save_model(lo.Problem(HALF, "identity", PURE), None),
}


SECRET = "zxqsecret"
FLIP = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
HABITS = lo.Survey({"smokes": FLIP, "drinks": FLIP})
PEOPLE = pd.DataFrame({"smokes": ["no", "yes"] * 10, "drinks": ["no", "no"] * 10})
REPORTS = HABITS.privatize(PEOPLE, rng=1)
JOINED = lo.Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=1.0, scheme="joint")
HASH = lo.frequencies.LinearHash(100, 1.0)
ONCE = lo.accounting.compose([FLIP])

OF_SURVEYS: dict[str, tuple[Callable[[], Any], str]] = {
    "no questions": (lambda: lo.Survey({}), "pass {"),
    "a list of mechanisms": (lambda: lo.Survey([FLIP]), "pass {"),
    "answers without a mechanism": (lambda: lo.Survey({"a": ["no", "yes"]}), "pass a mechanism"),
    "a number for a question": (lambda: lo.Survey({"a": 3}), "pass a mechanism"),
    "a number for a name": (lambda: lo.Survey({1: FLIP}), "name the column"),
    "a scheme": (lambda: lo.Survey({"a": FLIP}, scheme="splt"), "'split'"),
    "a small budget": (lambda: lo.Survey({"a": FLIP}, epsilon=0.5), "allow a larger budget"),
    "a number for weights": (
        lambda: lo.Survey({"a": FLIP}, weights=3),
        "name the column of the weights",
    ),
    "a number for a title": (lambda: lo.Survey({"a": FLIP}, title=3), "pass text"),
    "a joint report without a budget": (
        lambda: lo.Survey({"a": "xy", "b": "xy"}, scheme="joint"),
        "pass epsilon=",
    ),
    "an unknown column": (lambda: HABITS.privatize(PEOPLE[["smokes"]]), "known: smokes"),
    "no frame": (lambda: HABITS.privatize([["no", "no"]]), "pass a dataframe"),
    "an unknown answer": (lambda: HABITS.privatize(PEOPLE.assign(smokes=SECRET)), "known: no, yes"),
    "an answer of another type": (lambda: HABITS.privatize(PEOPLE.assign(smokes=1)), "of type int"),
    "a missing answer": (lambda: FLIP.sample(["no", None]), "is missing"),
    "a label of another type": (
        lambda: lo.Mechanism(np.eye(2), [1, 2]).sample(["1"]),
        "of type str",
    ),
    "unknown reports": (lambda: HABITS.estimate(REPORTS.assign(smokes=SECRET)), "known: no, yes"),
    "weights that are reports": (
        lambda: HABITS.estimate(REPORTS, weights="drinks"),
        "another column",
    ),
    "negative weights": (lambda: HABITS.estimate(REPORTS, weights=[-1] * 20), "a weight >= 0"),
    "no reports": (lambda: HABITS.estimate(REPORTS.iloc[:0]), "collect reports first"),
    "counts of no question": (lambda: HABITS.estimate({"smoke": 1}), "did you mean 'smokes'"),
    "precision of no question": (lambda: HABITS.precision("smoke"), "did you mean 'smokes'"),
    "an estimate of no question": (
        lambda: HABITS.estimate_question("smoke", None),
        "did you mean 'smokes'",
    ),
    "a pair of one question": (
        lambda: JOINED.estimate_pair(REPORTS, "a", "a"),
        "name two questions",
    ),
    "half a wave": (lambda: HABITS.account(1.5), "a whole number"),
    "wave 0": (lambda: HABITS.form(0), "from 1 to 1000"),
    "a number for a file": (lambda: lo.Survey.load(3), "name a file"),
    "a prior of no question": (
        lambda: lo.compare_schemes({"a": 2}, 1.0, priors={"b": HALF}),
        "known: a",
    ),
    "no channels": (lambda: lo.accounting.compose(None), "pass [mechanism, ...]"),
    "a mechanism for channels": (lambda: lo.accounting.compose(FLIP), "pass [mechanism, ...]"),
    "no pairs": (lambda: lo.accounting.compose([FLIP], pairs=[]), 'give [("yes", "no"), ...]'),
    "an unknown pair": (
        lambda: lo.accounting.compose([FLIP], pairs=[("no", "maybe")]),
        "known: no, yes",
    ),
    "minus one report": (lambda: lo.accounting.compose([(FLIP, -1)]), "at least 1"),
    "delta 2": (lambda: ONCE.epsilon(2), "from 0 to 1"),
    "a certain prior": (lambda: ONCE.guess(0), "between 0 and 1"),
    "a small order": (lambda: ONCE.renyi(0.5), "from 1 to inf"),
    "nobody to shuffle with": (lambda: lo.accounting.shuffled(FLIP, 0), "from 1 to"),
    "a coin that is a text": (
        lambda: lo.frequencies.LinearHash(10, 1.0, public_coin="yes"),
        "True for a hash",
    ),
    "messages that are a text": (lambda: lo.fieldwork.Store.add(None, "text"), "store.reader.read"),
    "a family of coins": (lambda: lo.accounting.target(1000, 1.0, 1e-6, "coin"), "at least 2"),
    "a page of a mechanism": (lambda: lo.fieldwork.page(FLIP), "pass a Survey"),
    "a language": (lambda: lo.fieldwork.page(HABITS, language="xx"), "use de, en, fr"),
    "a number for an address": (lambda: lo.fieldwork.page(HABITS, to=3), "pass the address"),
    "a store of a mechanism": (lambda: lo.fieldwork.Store("sqlite:///x.db", FLIP), "pass a Survey"),
    "no address": (lambda: lo.fieldwork.Store(None, HABITS), "sqlite:///FILE"),
    "a folder that is missing": (
        lambda: lo.fieldwork.Store("sqlite:///nowhere/x.db", HABITS),
        "check the address",
    ),
    "a hash of one label": (lambda: lo.frequencies.LinearHash(1, 1.0), "pass more labels"),
    "a hash without budget": (lambda: lo.frequencies.LinearHash(100, 0), "give epsilon > 0"),
    "a hash of a billion labels": (
        lambda: lo.frequencies.LinearHash(10**9, 1.0),
        "join rare labels",
    ),
    "a label that is not hashed": (lambda: HASH.privatize([SECRET]), "pass a list"),
    "a label beyond the hash": (lambda: HASH.privatize([100]), "more than 100 labels"),
    "reports that are not hashes": (lambda: HASH.estimate([SECRET]), "what privatize returned"),
    "a picture of a survey": (lambda: lo.plot(HABITS), "pass one of Audit"),
    "a number for axes": (lambda: lo.plot(FLIP, 3), "pass ax="),
    "a picture of a problem as a mechanism": (lambda: lo.plotting.mechanism(3), "pass a Mechanism"),
    "a curve of a mechanism": (lambda: lo.plotting.privacy_curve(FLIP), "pass a PrivacyCurve"),
    "a curve without points": (lambda: lo.plotting.privacy_curve(ONCE, points=0), "at least 2"),
    "an audit of a mechanism": (lambda: lo.plotting.delta_curve(FLIP), "pass a Audit"),
    "a picture of estimates": (lambda: lo.plotting.estimate({}), "pass a Estimate"),
    "corners of a mechanism": (lambda: lo.plotting.corners(FLIP), "pass a ExtremePoints"),
    "a design of a mechanism": (lambda: lo.plotting.design(FLIP), "Design or"),
    "a budget for a sweep": (
        lambda: lo.sweep(lo.Problem(HALF, "identity", PURE), 1.0),
        "pass a list",
    ),
    "a text for a sweep": (
        lambda: lo.sweep(lo.Problem(HALF, "identity", PURE), "1.0"),
        "pass a list",
    ),
    "a mechanism for a sweep": (lambda: lo.sweep(FLIP, [1.0]), "pass a Problem"),
    "a mechanism to certify": (lambda: lo.certify(FLIP), "audit(mechanism)"),
    "answers for a workload": (
        lambda: lo.design(["no", "yes"], PURE),
        "Workload.frequencies(answers)",
    ),
    "a problem for a workload": (
        lambda: lo.design(lo.Problem(HALF, "identity", PURE), PURE),
        "solve(problem)",
    ),
    "a budget for a notion": (
        lambda: lo.design(lo.Workload.frequencies(["a", "b"]), 1.0),
        "PureLDP",
    ),
    "a table for reports": (
        lambda: lo.Counts.of(FLIP, pd.DataFrame({"q": [0, 1]})),
        "table['NAME']",
    ),
    "a name for weights": (lambda: lo.Counts.of(FLIP, ["no", "yes"], weights="w"), "table['NAME']"),
    "no answer for a mean": (
        lambda: lo.mean.Duchi(1.0).privatize([float("nan")]),
        "did not answer",
    ),
    "a number for a workload": (lambda: lo.design(3, PURE), "pass a Workload"),
    "a one-sided distance": (
        lambda: lo.MetricDP(1.0, pd.DataFrame([[0, 1], [2, 0]], ["a", "b"], ["a", "b"])),
        "distance['a', 'b'] = 1",
    ),
}
"""Wrong calls about surveys, accounting, fieldwork, hashes and pictures, with a part of the
message."""


@pytest.mark.parametrize(("call", "words"), OF_SURVEYS.values(), ids=OF_SURVEYS)
def test_surveys_refuse_with_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(LdpoptError) as caught:
        call()
    assert words in str(caught.value)
    assert caught.value.do
    assert SECRET not in str(caught.value)


def test_weights_by_label_that_look_like_probabilities_are_questioned() -> None:
    with pytest.warns(UserWarning, match=r"1\.1: .*weights"):
        lo.Problem({"a": 0.5, "b": 0.6}, "identity", PURE)
    lo.Problem({"a": 3, "b": 1}, "identity", PURE)  # weights: no warning


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_is_refused_cleanly(call: Callable[[], Any]) -> None:
    with pytest.raises(LdpoptError) as caught:
        call()
    assert len(str(caught.value)) < 500


def test_no_label_makes_a_message_endless() -> None:
    with pytest.raises(LdpoptError, match=r"(?s)^output 'x+ \.\.\. x+' ") as caught:
        lo.Mechanism([[1.0]], ["a"], ["x" * 5000]).then(lo.Mechanism([[1.0]], ["b"]))
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lo.MetricDP(1.0, "euclidean"), "needs points"),
        (lambda: lo.MetricDP(1.0, "manhatan", points=[0, 1]), "'manhattan'"),
        (lambda: lo.MetricDP(1.0, "absolute").matrix(["a", "b"]), "numbers"),
        (
            lambda: lo.estimate_frequencies(lo.solve(lo.Problem(HALF, "identity", PURE)), [0, 1]),
            "solution.mechanism",
        ),
        (lambda: lo.mean.Designed(1.0), "mean.designed("),
        (
            lambda: utility.named("absolute_error", ["1", "more"], ["1", "more"]),
            "'1' is a number, 'more' is not",
        ),
    ],
)
def test_a_mistake_is_answered_by_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(StatementError) as caught:
        call()
    assert words in str(caught.value)


def test_numbers_as_text_are_numbers() -> None:
    problem = lo.Problem({"1": 0.5, "10": 0.3, "1e2": 0.2}, "absolute_error", PURE)
    assert problem.utility.matrix[0].tolist() == [0, 9, 99]
    assert lo.MetricDP(1.0, "absolute").matrix(["1", "10"])[0, 1] == 9
    corners = {"home": (0, 0), "work": (3, 4)}
    assert lo.MetricDP(1.0, "euclidean", points=corners).matrix(["work", "home"])[0, 1] == 5


def test_a_bare_matrix_that_looks_like_a_loss_is_questioned() -> None:
    loss = np.array([[0.0, 1.0], [2.0, 0.0]])
    with pytest.warns(UserWarning, match="a loss"):
        assert lo.Problem(HALF, loss, PURE).utility.sense == "gain"
    lo.Problem(HALF, lo.Utility(loss, "gain"), PURE)  # explicit: no warning
