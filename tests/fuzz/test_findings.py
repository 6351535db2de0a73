"""What fuzzing found, one named case each: once a traceback, a hang or a silent change, now a clean refusal."""

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
from builders import load_script
from ldpopt import closed_forms, constraints, neighbors, noise, utility
from ldpopt.errors import LdpoptError
from ldpopt.mechanism.repair import repair
from ldpopt.noise.layers.mechanism import level_matrix
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.highs_ import Highs
from ldpopt.solving.formulation import formulate

HALF, PURE = [0.5, 0.5], lo.PureLDP(1.0)
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
    "a time limit beyond floats": lambda: lo.solve(lo.Problem(HALF, "identity", PURE), time_limit=10**400),
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
    "squares beyond floats": lambda: lo.mean.designed([1e300, -1e300], [1e308, -1e308], 1.0),
    "ragged answers": lambda: lo.mean.sampled(lo.mean.Duchi(1.0), attributes=2).privatize([[0.1, 0.2], [0.3]], rng=0),
    "a confidence in words": lambda: lo.audit_sampler(
        lambda x, k, rng: rng.random(k), 0, 1, draws=99, confidence="high"
    ),
    "no intervals": lambda: noise.NeighborPartition(None, 4),
    "complex intervals": lambda: noise.NeighborPartition([[3 + 0j, 4]], 4),
    "whole numbers widened beyond memory": lambda: noise.NeighborPartition({0, 1}, 2**53 + 1).noise(1.0).expected_abs,
    "a widening beyond any unit": lambda: noise.NeighborPartition([[0, 3]], 6.5e102).noise(1.0).expected_abs,
    "outputs that are nothing beside the answers": lambda: lo.mean.designed([0.0, 0.25], [0.0, 2.3e-204], 1.0),
    "a list for a constraint's kind": lambda: read(COIN + "[[constraints]]\nkind = []"),
    "a list for a data set": lambda: lo.datasets.load([]),
    "a number for a solver": lambda: lo.solve(lo.Problem(HALF, "identity", PURE), solver=1),
    "numbers for a method": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), [0, 1], method=np.ones(2)),
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
    "a masked answer among lists": lambda: lo.mean.sampled(lo.mean.Duchi(1.0), attributes=1).privatize(
        [[np.ma.masked]]
    ),
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
    "a table of no dimension for a channel": lambda: lo.audit(np.array(1.0), lo.MetricDP(1.0, [[0, 1], [1, 0]])),
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
    "a box of priors beyond floats": lambda: closed_forms.worst_prior([1e308, 1e308], [1e308, 1e308]),
    "distances whose sum is beyond floats": lambda: lo.MetricDP(1.0, [[0, 1e308], [1e308, 0]]),
    "the same of a kernel": lambda: closed_forms.kernel([[0, 1e308], [1e308, 0]], HALF, 1.0),
    "distances next to nothing": lambda: lo.MetricDP(1.0, [[0, 1e-310], [1e-310, 0]]),
    "an exponential beyond memory": lambda: lo.Budget(1.0).enclosure(10**400),
    "a bound beyond floats": lambda: (
        lo.solve(lo.Problem(HALF, "identity", PURE, constraints=constraints.linear(np.eye(2), upper=-1e308))).mechanism
    ),
    "a set beyond any unit": lambda: noise.optimal_widening([(0, 10**400)], 1.0),
    "an answer that cannot be looked up": lambda: lo.Mechanism([[1.0]]).sample([Decimal("sNaN")]),
    "a time span of no unit for a label": lambda: lo.Mechanism(np.eye(2), [np.timedelta64(3), "b"]),
    "the same for a source": lambda: neighbors.bfs_partition(neighbors.path("ab"), np.timedelta64(3)),
    "a label that does not say what it equals": lambda: lo.Problem(HALF, "absolute_error", PURE, inputs=[pd.NA, 1]),
    "labels beyond floats": lambda: lo.Problem(HALF, "absolute_error", PURE, inputs=[10**400, 1]),
    "a probability of a billion digits": lambda: closed_forms.coin("1e-999999999"),
    "a probability of too many digits": lambda: closed_forms.coin(Fraction(1, 10**5000)),
    "a ratio below 1": lambda: closed_forms.top_k(HALF, 1.0).exact_dual(Fraction(0)),
    "reports whose squares are beyond floats": lambda: lo.mean.Laplace(1.0).estimate([1e308, 1e308]),
    "a count beyond any integer": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), {0: 10**30, 1: 1}),
    "a count of a million digits": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), {0: Decimal("1e999999")}),
    "a masked count": lambda: lo.estimate_frequencies(lo.Mechanism(np.eye(2)), {0: np.ma.masked}),
    "a masked code": lambda: closed_forms.top_k(HALF, 1.0).sampler.sample([np.ma.masked]),
    "masked answers": lambda: lo.frequencies.UnaryEncoding(2, 1.0).privatize(np.ma.masked_equal([0, 1], 1)),
    "a masked budget of no dimension": lambda: lo.PureLDP(np.ma.array(1.0, mask=True)),
    "a table of no dimension for an alphabet": lambda: lo.frequencies.UnaryEncoding(np.array(2.0), 1.0),
    "a trillion draws to audit": lambda: lo.audit_sampler(lambda x, k, rng: rng.random(k), 0, 1, draws=10**12),
    "a gap beyond floats": lambda: lo.certify(lo.solve(lo.Problem(HALF, "identity", PURE)), gap="1"),
    "no solution": lambda: lo.certify(None),
    "a query without end": lambda: noise.sensitivity(lambda x: float("inf"), neighbors.path([0, 1])),
    "NA for a step": lambda: noise.Geometric(1, 1.0).on_grid(pd.NA),
    "a solution to formulate": lambda: formulate(lo.solve(lo.Problem(HALF, "identity", PURE))),
    "a solution to write": lambda: lo.save_model(lo.solve(lo.Problem(HALF, "identity", PURE)), "coin.toml"),
    "a number for a file": lambda: lo.Mechanism(np.eye(2)).save(3),
    "a number for a graph": lambda: level_matrix(3),
    "no model to read": lambda: lo.load_model(None),
    "a number for a mechanism's file": lambda: lo.Mechanism.load(3.5),
    "no file to write to": lambda: lo.save_model(lo.Problem(HALF, "identity", PURE), None),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_is_refused_cleanly(call: Callable[[], Any]) -> None:
    with pytest.raises(LdpoptError) as caught:
        call()
    assert len(str(caught.value)) < 500


END, NIL = 1.7976931348623157e308, Fraction(1, 10**400)
APART = lo.GraphDP(800.0, neighbors.path(range(2)))
ANSWERED: dict[str, tuple[Callable[[], Any], Any]] = {
    "weights": (lambda: lo.Problem({"a": END, "b": END}, "identity", PURE).prior.tolist(), HALF),
    "weights of a closed form": (lambda: closed_forms.top_k({"a": END, "b": END}, 0.0).value, 0.5),
    "weights of a mechanism": (lambda: lo.Mechanism(np.eye(2)).expected({0: END, 1: END}), 1.0),
    "upper bounds": (lambda: closed_forms.worst_prior([0, 0], [END, END]).tolist(), HALF),
    "losses": (
        lambda: closed_forms.bins([5e-315, 1e-311, 1.0], [0.0, 1.0, END], 0.0).value,
        (5e-315 + 1e-311) * END,
    ),
    "a ratio": (lambda: lo.audit([[0.5, 0.5], [5e-324, 1.0]], APART).epsilon, 743.7469247408213),
    "a rational": (lambda: lo.audit([[NIL, 1 - NIL], [0, 1]], APART).verdict, "violated"),
    "a far pair": (lambda: lo.audit([HALF, [0, 1]], lo.MetricDP(1.0, [[0, 1e300], [1e300, 0]])).verdict, "violated"),
    "losses below 0": (lambda: closed_forms.bins(HALF, [0.0, 1.0], 1.0, lambda x, y: -1.0).value, -1.0),
    "a whole number of numpy's": (lambda: closed_forms.coin(np.int64(0), "1/2").value, 0.5),
    "the least budget": (lambda: repair([HALF, [0.3, 0.7]], lo.PureLDP(5e-324)).audit.verdict, "certified"),
    "the largest budget": (
        lambda: repair([[1e-10, 1, 1e-101], [1e-17, 5e-324, 1]], lo.GraphDP(5e3, APART.graph)).audit.verdict,
        "certified",
    ),
    "a point of no width": (
        lambda: noise.NeighborPartition([(0, 5e-324), (2.3e-308, 2.0)], 1e-150).level([1.0]).tolist(),
        [1],
    ),
    "extreme points": (
        lambda: float(lo.extreme_points(PURE, 2).best(lo.Problem(HALF, np.full((2, 2), END), PURE)).value),
        END,
    ),
}


@pytest.mark.parametrize("call, expected", ANSWERED.values(), ids=ANSWERED)
def test_numbers_at_the_end_of_the_floats_are_answered(call: Callable[[], Any], expected: Any) -> None:
    found = call()
    assert found == (expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-15))


GAINS: dict[str, tuple[Any, Any, Any]] = {
    "duals beyond floats": (HALF, [[END, -END], [-END, END]], lo.GraphDP(0.0, neighbors.path(range(2)))),
    "inputs that are never the worst": (None, [[3.0], [1e6], [1.0], [9e307]], PURE),
    "the same of losses": (None, lo.Utility([[3.0, 2.0], [-1e17, -2e17]], "loss"), PURE),
    "the same beside nothing": (None, [[1e-150], [1e-15], [0.0]], PURE),
    "a weight next to nothing": ([0.5, 5e-192, 0.5], [[-1.0, 0.0], [9e307, 0.0], [3.0, 1.0]], PURE),
}


@pytest.mark.parametrize("prior, gain, privacy", GAINS.values(), ids=GAINS)
def test_gains_of_unlike_sizes_are_certified(prior: Any, gain: Any, privacy: Any) -> None:
    problem = lo.Problem(prior, gain, privacy, objective="worst_case" if prior is None else "expected")
    assert lo.certify(lo.solve(problem)).relative_gap <= 1e-12


def test_no_label_makes_a_message_endless() -> None:
    with pytest.raises(LdpoptError, match=r"(?s)^output 'x+ \.\.\. x+' is not an input of the next") as caught:
        lo.Mechanism([[1.0]], ["a"], ["x" * 5000]).then(lo.Mechanism([[1.0]], ["b"]))
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("scale", [1e-60, 1e-13, 1e13, 1e200, 1.7e308])
def test_the_unit_of_a_worst_case_does_not_matter(scale: float) -> None:
    """Solvers drop coefficients below 1e-12 and refuse those above 1e15."""
    gain = np.array([[1.0, 0.0], [0.3, 0.9]])
    plain, other = (lo.solve(lo.Problem(None, gain * s, PURE, objective="worst_case")) for s in (1.0, scale))
    assert other.value / scale == pytest.approx(plain.value, rel=1e-12)
    assert lo.certify(other).relative_gap <= 1e-12


@pytest.mark.parametrize("scale", [1e-100, 1e-280])
@pytest.mark.parametrize(
    "privacy", [PURE, lo.ApproximateLDP(1.0, 0.05, "event"), lo.GraphDP(1.0, neighbors.path(range(3)))]
)
def test_gains_near_nothing_are_certified_too(scale: float, privacy: Any) -> None:
    """The bound's whole numbers begin where the utility ends."""
    gain = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.2, 1.0]]) * scale
    assert lo.certify(lo.solve(lo.Problem([0.5, 0.3, 0.2], gain, privacy))).relative_gap <= 1e-12


EXTREME: dict[str, tuple[Any, Any, Any, str]] = {
    "losses of 1e-12": ([0.4, 0.3, 0.3], 1e-12, lo.PureLDP(30.0), "expected"),
    "losses of 1e12": ([0.4, 0.3, 0.3], 1e12, lo.ApproximateLDP(1e-6, 0.1, "entry"), "expected"),
    "gains of 1e-12 along a path": ([0.4, 0.3, 0.3], 1e-12, lo.GraphDP(2.0, neighbors.path(range(3))), "expected"),
    "gains of 1e11, the worst case": (None, 1e11, lo.GraphDP(0.01, neighbors.path(range(3))), "worst_case"),
}


@pytest.mark.parametrize("solver", ["auto", "highs", "interior", "cbc", "cvxpy"])
@pytest.mark.parametrize("prior, scale, privacy, objective", EXTREME.values(), ids=EXTREME)
def test_what_is_called_optimal_is(prior: Any, scale: float, privacy: Any, objective: Any, solver: str) -> None:
    """Solvers called costs of 1e12 unbounded, and anything an optimum where costs are 1e-12."""
    if solver in ("cbc", "cvxpy"):
        pytest.importorskip({"cbc": "pulp"}.get(solver, solver), reason="an optional solver")
    gain = scale * np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.2, 1.0]])
    answer = lo.solve(lo.Problem(prior, gain, privacy, objective=objective), solver=solver)
    gap = lo.certify(answer).relative_gap
    assert gap <= 1e-6 if answer.status.value == "optimal" else answer.status.value == "limit"


LINE = neighbors.path(range(5))
FAR = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
ROW = constraints.linear(np.outer([1.0, 2.0, 0.5, 0.1, 1.0], [0.3, -1.0, 0.2, 0.7, -0.5]), upper=0.4)
KINDS: dict[str, tuple[str, Any, int, float, str, list[Any]]] = {
    "a path, gains of 1e11": ("interior", lo.GraphDP(1.0, LINE), 5, 1e11, "worst_case", []),
    "a path, gains of 1e-12": ("interior", lo.GraphDP(1.0, LINE), 5, 1e-12, "worst_case", []),
    "a metric, four outputs": ("interior", lo.MetricDP(1.0, FAR), 4, 1.0, "worst_case", []),
    "a metric at 60 nats": ("interior", lo.MetricDP(60.0, FAR), 5, 1.0, "worst_case", []),
    "outputs at 745 nats": ("interior", lo.PureLDP(745.0), 5, 1.0, "expected", []),
    "events at 745 nats": ("auto", lo.ApproximateLDP(745.0, 1e-6), 5, 1.0, "worst_case", []),
    "a side constraint at 5e-9 nats": ("auto", lo.PureLDP(5e-9), 5, 1.0, "expected", [ROW]),
    "events and a side constraint at 5e-9 nats": ("auto", lo.ApproximateLDP(5e-9, 1e-9), 5, 1.0, "expected", [ROW]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver, privacy, m, scale, objective, rows", KINDS.values(), ids=KINDS)
def test_by_kind_and_scale(solver: str, privacy: Any, m: int, scale: float, objective: Any, rows: list[Any]) -> None:
    """Once a gap of 1 that was called optimal, no mechanism, or a warning of an overflow."""
    gain = scale * np.random.default_rng(5).random((5, m))
    prior = [0.2] * 5 if objective == "expected" else None
    answer = lo.solve(lo.Problem(prior, gain, privacy, objective=objective, constraints=rows), solver=solver)
    gap = lo.certify(answer).relative_gap
    assert gap <= (1e-9 if solver == "auto" else 1e-6) if answer.status is Status.OPTIMAL else gap < 1e-3


TRUST = load_script(Path(__file__).parents[2] / "benchmarks" / "trust.py")
DRAWN = {
    "multipliers of an input that nothing concerns": (1, 7335),
    "the same of a gain": (1, 5901),
    "spreads that differ by a thousand": (3, 469),
    "ratios of 1e-13 that simplex takes for zero": (3, 6189),
    "events all but parallel": (3, 3627),
    "a worst case of events": (2, 3107),
    "a singular matrix": (1, 5497),
}


@pytest.mark.parametrize("seed, index", DRAWN.values(), ids=DRAWN)
def test_what_random_problems_missed(seed: int, index: int) -> None:
    """Problems of `benchmarks/trust.py` that ended with a gap over 1e-9, with an infinite one, or with a traceback."""
    answer = lo.solve(TRUST.draw(seed, index)[1])
    assert answer.status is Status.OPTIMAL
    assert lo.certify(answer).relative_gap <= 1e-9


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_the_least_gain_is_not_called_optimal_without_proof(objective: str) -> None:
    """A multiplier of half the least float is none."""
    prior = [0.5, 0.3, 0.2] if objective == "expected" else None
    answer = lo.solve(lo.Problem(prior, 5e-324 * np.eye(3), PURE, objective=objective))
    assert answer.status is Status.LIMIT or lo.certify(answer).relative_gap <= 1e-6


def test_mass_taken_from_forbidden_reports_counts_as_moved() -> None:
    privacy = lo.UtilityOptimizedLDP(1.0, sensitive=["a"], protected=["a"])
    given = {"a": {"a": 0.7, "b": 0.3}, "b": {"a": 0.5, "b": 0.5}}
    fixed = repair(given, privacy)
    assert fixed.mechanism.channel[0, 1] == 0
    assert fixed.moved >= 0.3


@pytest.mark.parametrize("power", [55, 60, 130, 400])
def test_an_audit_rounds_up(power: int) -> None:
    """Losses and deltas far below the distance of floats at 1."""
    more, tiny = Fraction(1, 2) + Fraction(1, 2**power), Fraction(1, 3 * 2**power)
    assert Fraction(lo.audit([[more, 1 - more], [Fraction(1, 2)] * 2]).epsilon) >= Fraction(2, 2**power)
    found = lo.audit([[tiny, 1 - tiny], [Fraction(0), Fraction(1)]], lo.ApproximateLDP(1.0, 0.5))
    assert tiny <= Fraction(found.delta) <= tiny * Fraction(1 + 2.0**-50)


def test_a_channel_is_never_called_unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entries are at most 1: the solver has failed."""
    monkeypatch.setattr(Highs, "solve", lambda self, program, **_: Outcome(Status.UNBOUNDED, "unbounded"))
    answer = lo.solve(lo.Problem(HALF, "identity", PURE))
    assert answer.status is not Status.UNBOUNDED
    assert any("no channel" in text for text in (*answer.notes, answer.raw_status))


def test_places_at_the_end_of_the_floats() -> None:
    """Whole numbers of steps end before floats do."""
    far = [-1e308, 1e308]
    for law in (
        noise.NeighborPartition([(0, 1), (3, 4)], 0.1).noise(1.0),
        noise.NeighborPartition([(0, 1), (3, 4), (7, 8)], 0.1).noise(1.0),
        noise.NeighborPartition({1, 3}, 1).noise(1.0),
        noise.NeighborPartition({5, 6}, 1).noise(12.0),
        noise.Staircase(1.0, 1.0),
        noise.Staircase(1e-3, 1.0),
        noise.Laplace(1e-3, 1.0),
        noise.Geometric(1, 1.0),
        noise.Geometric(4, 9.0),
        noise.Geometric(1, 10.0),
    ):
        assert law.pdf(far).tolist() == [0.0, 0.0]
        assert law.cdf(far).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("n, m", [(1000, 2), (1000, 1), (3, 2)])
@pytest.mark.parametrize("privacy", [PURE, lo.PureLDP("log(3)"), lo.ApproximateLDP("log(3)", 0.1)])
def test_extreme_points_are_counted_or_refused(privacy: Any, n: int, m: int) -> None:
    """Neither a memory error nor minutes."""
    if n > 8:
        with pytest.raises(LdpoptError, match="too many") as caught:
            _ = lo.extreme_points(privacy, n, m).count
        assert len(str(caught.value)) < 500
    else:
        assert lo.extreme_points(privacy, n, m).count >= 1
