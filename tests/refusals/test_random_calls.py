"""Statements that hypothesis makes up, most of them wrong somewhere: right answers or clean
refusals, nothing else.

LDPOPT_FUZZ=100000 LDPOPT_NEW_CASES=1 pytest tests/refusals tries that many, with new seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import fuzz_cases, hops
from ldpopt import closed_forms, constraints, mean, neighbors, noise, utility
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.vertices import StaircasePoints

ODD = [
    *(
        True,
        False,
        None,
        1j,
        b"1",
        object(),
        [],
        {},
        (),
        [[]],
        [1.0],
        print,
        np.bool_(True),
        "",
        "1",
        "0.5",
        "log(3)",
    ),
    *(
        "log(0)",
        "log(1/0)",
        "log(-1)",
        "log(1e400)",
        "nan",
        "inf",
        "1e400",
        "-1",
        "0x1p3",
        "1_000",
        "\u0663",
        "\ud800",
    ),
    *(
        math.nan,
        math.inf,
        -math.inf,
        1e308,
        -1e308,
        5e-324,
        -5e-324,
        1e-300,
        -0.0,
        0,
        -1,
        2,
        7,
        2**53 + 1,
        2**64,
    ),
    *(
        10**400,
        -(10**400),
        Fraction(1, 3),
        Fraction(10**400),
        Decimal("0.1"),
        Decimal("NaN"),
        Decimal("sNaN"),
    ),
    *(
        np.float32(0.1),
        np.float64(0.5),
        np.int64(3),
        np.float64("nan"),
        np.datetime64("2020-01-01"),
        np.str_("1"),
    ),
    *(
        "a\x00b",
        "e\u0301",
        "x" * 5000,
        frozenset({1}),
        range(3),
        Exception,
        np.array(1.0),
        np.ma.masked,
        pd.NA,
        pd.NaT,
    ),
]
odd = st.sampled_from(ODD)
rare = st.integers(0, 5).map(lambda die: die == 0)


def maybe(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly something good, now and then anything."""
    return rare.flatmap(lambda wrong: st.one_of(odd, st.floats(), st.integers()) if wrong else good)


def spoilt(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nested lists, at times with one entry, one length or the container exchanged."""

    @st.composite
    def draw_spoilt(draw: Any) -> Any:
        value = draw(good)
        way = draw(
            st.sampled_from(
                ["as is"] * 7
                + ["entry", "entry", "length", "array", "tuple", "masked", "frame", "odd"]
            )
        )
        if way in ("odd", "as is") or not isinstance(value, list) or not value:
            return draw(odd) if way == "odd" else value
        if way in ("entry", "length"):
            place = draw(st.integers(0, len(value) - 1))
            if isinstance(value[place], list) and value[place] and draw(st.booleans()):
                value[place][draw(st.integers(0, len(value[place]) - 1))] = draw(odd)
            elif way == "length":
                value.pop(place)
            else:
                value[place] = draw(odd)
            return value
        kinds: dict[str, Callable[[Any], Any]] = {
            "array": lambda v: np.array(
                v, dtype=draw(st.sampled_from([float, object, np.float32, complex, str]))
            ),
            "tuple": tuple,
            "masked": lambda v: np.ma.masked_less(np.array(v, float), draw(st.floats(-1, 1))),
            "frame": lambda v: pd.DataFrame(v) if isinstance(v[0], list) else pd.Series(v),
        }
        try:
            return kinds[way](value)
        except (ValueError, TypeError):
            return value

    return draw_spoilt()


sizes = st.integers(1, 4)
numbers = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0, 3.0, 1e-6, 1e6]), st.floats(-10, 10)
)
epsilons = maybe(
    st.one_of(st.sampled_from([0, 0.1, 1.0, "log(3)", 37.0, 700.0, 1e4, 1e-9]), st.floats(0, 20))
)
deltas = maybe(st.one_of(st.sampled_from([0.0, 0.1, 1.0, 1e-300]), st.floats(0, 1)))
lists = spoilt(st.lists(numbers, min_size=0, max_size=5))
matrices = st.tuples(sizes, sizes).flatmap(
    lambda s: spoilt(
        st.lists(st.lists(numbers, min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0])
    )
)
weights = st.lists(st.integers(0, 8), min_size=1, max_size=5).filter(any)
priors = st.one_of(
    spoilt(weights.map(lambda w: [v / sum(w) for v in w])),
    spoilt(weights.map(lambda w: [v / sum(w) * 0.97 for v in w])),
    st.dictionaries(
        st.one_of(st.text(max_size=2), st.integers(0, 3)), maybe(st.integers(0, 4)), max_size=4
    ),
)
rows = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 8), min_size=m, max_size=m)
        .filter(any)
        .map(lambda w: [v / sum(w) for v in w]),
        min_size=1,
        max_size=4,
    )
)
channels = spoilt(rows)
labels = st.one_of(
    st.none(), spoilt(st.lists(st.one_of(st.text(max_size=3), st.integers(0, 3)), max_size=5))
)
graphs = maybe(
    st.one_of(
        sizes.map(nx.path_graph),
        sizes.map(nx.empty_graph),
        st.just(nx.DiGraph([(0, 1)])),
        st.just(nx.MultiGraph([(0, 1), (0, 1), (1, 1)])),
    )
)
distances = st.one_of(
    matrices, sizes.map(lambda n: hops(n).astype(int).tolist()), st.just(lambda a, b: "far")
)
sizes_or_odd = st.one_of(st.sampled_from(ODD), st.sampled_from([-1, 0, 1, 2, 3, 5, 200, 10**9]))
few = st.one_of(
    st.sampled_from([value for value in ODD if not isinstance(value, int)]),
    st.sampled_from([-1, 0, 1, 2, 3]),
)
seeds = st.just(0)


class Part(NamedTuple):
    """Part of a statement, made when it is asked for: its refusal is the statement's."""

    maker: Callable[..., Any]
    args: tuple[Any, ...]


def part(maker: Callable[..., Any], *args: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(*args).map(lambda drawn: Part(maker, drawn))


def made(value: Any) -> Any:
    return value.maker(*value.args) if isinstance(value, Part) else value


notions = maybe(
    st.one_of(
        part(lo.PureLDP, epsilons),
        part(lo.ApproximateLDP, epsilons, deltas, st.sampled_from(["event", "entry"])),
        part(lo.GraphDP, epsilons, graphs),
        part(lo.MetricDP, epsilons, distances),
    )
)

bounds = st.tuples(st.just(-math.inf), st.floats(0, 1))


def table_of(n: int, m: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n, max_size=n)


def fitting_notions(n: int) -> st.SearchStrategy[Any]:
    apart = hops(n).tolist()
    return st.one_of(
        part(lo.PureLDP, epsilons),
        part(lo.ApproximateLDP, epsilons, deltas, st.sampled_from(["event", "entry"])),
        part(lo.GraphDP, epsilons, st.just(nx.path_graph(n))),
        part(
            lo.MetricDP,
            epsilons,
            spoilt(st.just(apart).map(lambda rows: [list(row) for row in rows])),
        ),
    )


@st.composite
def statements(draw: Any, named: bool = True) -> list[Any]:
    """Parts of a problem that fit together; then one of them, or two, may be exchanged for one that
    does not."""
    n = draw(sizes)
    m = draw(sizes)
    worst = draw(st.booleans())
    weight = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n).filter(any))
    names = [
        draw(st.lists(st.one_of(st.text(max_size=2), st.integers()), min_size=k, max_size=k))
        for k in (n, m)
    ]
    parts = [
        None if worst else draw(spoilt(st.just([v / sum(weight) for v in weight]))),
        draw(spoilt(table_of(n, m))),
        draw(fitting_notions(n)),
        *(draw(st.one_of(st.none(), spoilt(st.just(given)))) if named else None for given in names),
        "worst_case" if worst else "expected",
        draw(
            st.one_of(
                st.just(()), part(lambda c, b: constraints.linear(c, *b), table_of(n, m), bounds)
            )
        ),
    ]
    others = [priors, utilities, notions, labels, labels, objectives, blocks]
    for place in draw(st.sampled_from([[], [], [0], [1], [2], [3], [4], [5], [6], [0, 1], [1, 2]])):
        if named or place not in (3, 4):
            parts[place] = draw(others[place])
    return parts


utilities = maybe(
    st.one_of(
        st.sampled_from(["identity", "absolute_error", "squared_error", "identify"]), matrices
    )
)
blocks = st.one_of(
    st.just(()), st.just(()), part(lambda c, b: constraints.linear(c, *b), matrices, bounds), odd
)
objectives = maybe(st.sampled_from(["expected", "worst_case"]))
mechanisms = part(lo.Mechanism, rows, labels)


def plain(value: Any) -> None:
    """No number of an answer is nan or infinite."""
    assert np.isfinite(np.asarray(value, float)).all(), value


def stated(
    is_honest: Any,
    prior: Any,
    gain: Any,
    privacy: Any,
    inputs: Any,
    outputs: Any,
    aim: Any,
    rows: Any,
) -> Any:
    problem = lo.Problem(
        prior, gain, privacy, inputs=inputs, outputs=outputs, objective=aim, constraints=rows
    )
    if problem.prior is not None and not isinstance(prior, (dict, pd.Series)):
        assert is_honest(prior)
        assert abs(math.fsum(problem.prior) - 1) <= 2e-9
        assert problem.prior.tolist() == [float(v) for v in prior]
    if not isinstance(gain, (str, lo.Utility)):
        assert is_honest(gain if not isinstance(gain, pd.DataFrame) else gain.to_numpy())
    assert len(set(problem.inputs)) == len(problem.inputs) == problem.utility.shape[0]
    return problem


def solved(is_honest: Any, *parts: Any) -> None:
    problem = stated(is_honest, *parts)
    answer = lo.solve(problem)
    proof = lo.certify(answer)
    plain([answer.value, proof.relative_gap, float(proof.bound)])
    assert answer.mechanism.audit(problem.privacy).verdict == "certified"
    spread = np.ptp(problem.utility.matrix, axis=1)
    close = proof.relative_gap <= 1e-9
    if problem.prior is None and spread.min() < 1e-3 * spread.max():
        # A worst case among rows of 1 and 1e-90 is solved to their common scale, which the
        # certificate says.
        scale = max(abs(float(proof.bound)), 0.01 * float(np.abs(problem.utility.matrix).max()))
        close = abs(float(proof.bound - proof.achieved)) <= 1e-9 * scale
    assert close or problem.constraints or np.abs(problem.utility.matrix).max() < 1e-90


def held(is_honest: Any, channel: Any, inputs: Any, outputs: Any) -> None:
    mechanism = lo.Mechanism(channel, inputs, outputs)
    assert is_honest(channel if not isinstance(channel, pd.DataFrame) else channel.to_numpy())
    assert mechanism.channel.tolist() == np.asarray(channel, float).tolist()
    assert mechanism.audit().epsilon >= 0
    assert mechanism.masses.sum(axis=1).tolist() == [2**53] * len(mechanism.inputs)


def audited(_: Any, channel: Any, privacy: Any) -> None:
    found = lo.audit(channel, privacy)
    assert found.epsilon >= 0
    assert 0 <= found.delta <= 1 + 1e-9
    assert found.verdict in ("certified", "violated", "undecided")


def drawn(_: Any, mechanism: Any, x: Any, rng: Any) -> None:
    assert len(mechanism.sample(x, rng=rng)) == len(x)


def weighed(_: Any, mechanism: Any, prior: Any, gain: Any) -> None:
    plain(mechanism.expected(prior, gain))
    assert mechanism.posterior(prior).shape == mechanism.channel.T.shape


def estimated(_: Any, mechanism: Any, reports: Any, method: Any, confidence: Any) -> None:
    plain(lo.estimate_frequencies(mechanism, reports, method=method, confidence=confidence).values)


def form_of(maker: Callable[..., Any]) -> Callable[..., None]:
    def form(_: Any, *args: Any) -> None:
        found = maker(*args)
        plain(found.value)
        if len(found.inputs) < 100:
            assert abs(found.mechanism.channel.sum(axis=1) - 1).max() < 1e-12

    return form


def mean_of(protocol: Any, *args: Any) -> None:
    *shape, x, confidence = args
    protocol = protocol(*shape)
    plain(protocol.variance(0.3))
    reports = protocol.privatize(x, rng=0)
    plain(reports)
    if len(reports):
        plain(protocol.estimate(reports, confidence).values)


def noise_of(maker: Any, *args: Any) -> None:
    *shape, r, size = args
    law = maker(*shape)
    plain([law.cdf(0.0), law.expected_abs])
    plain(law.pdf(r))
    plain(law.sample(size, rng=0))


def listed(_: Any, privacy: Any, n: Any, m: Any) -> None:
    points = lo.extreme_points(privacy, n, m)
    # between them listing takes its time
    if n <= 3 or n >= 1000 or isinstance(points, StaircasePoints):
        assert points.count >= 1


TARGETS: dict[str, tuple[Callable[..., Any], tuple[st.SearchStrategy[Any], ...]]] = {
    "Budget": (
        lambda _, e: plain(float(lo.Budget(e).enclosure()[0] > 0)),
        (st.one_of(epsilons, odd, st.text(max_size=9)),),
    ),
    "PureLDP": (lambda _, e: plain(lo.PureLDP(e).epsilon), (epsilons,)),
    "ApproximateLDP": (
        lambda _, *a: plain(lo.ApproximateLDP(*a).delta),
        (epsilons, deltas, maybe(st.just("event"))),
    ),
    "GraphDP": (lambda _, *a: lo.GraphDP(*a), (epsilons, graphs)),
    "MetricDP": (lambda _, *a: lo.MetricDP(*a).ties(range(3)), (epsilons, distances)),
    "Utility": (lambda _, *a: plain(lo.Utility(*a).matrix), (matrices, maybe(st.just("gain")))),
    "table": (lambda _, *a: plain(utility.table(*a).matrix), (matrices, maybe(st.just("loss")))),
    "identity": (lambda _, *a: utility.identity(*a), (sizes_or_odd, sizes_or_odd)),
    "absolute_error": (lambda _, *a: plain(utility.absolute_error(*a).matrix), (lists, lists)),
    "squared_error": (lambda _, *a: plain(utility.squared_error(*a).matrix), (lists, lists)),
    "linear": (
        lambda _, *a: len(constraints.linear(*a)),
        (matrices, maybe(numbers), maybe(numbers), maybe(st.text())),
    ),
    "unbiased": (lambda _, *a: len(constraints.unbiased(*a)), (lists, lists)),
    "Problem": (lambda h, parts: stated(h, *map(made, parts)), (statements(),)),
    "solve": (lambda h, parts: solved(h, *map(made, parts)), (statements(named=False),)),
    "Mechanism": (held, (channels, labels, labels)),
    "audit": (audited, (channels, notions)),
    "sample": (drawn, (mechanisms, spoilt(st.lists(st.integers(0, 3), max_size=4)), maybe(seeds))),
    "expected": (weighed, (mechanisms, priors, utilities)),
    "estimate_frequencies": (
        estimated,
        (
            mechanisms,
            spoilt(st.lists(st.integers(0, 3), max_size=6)),
            maybe(st.sampled_from(["inversion", "maximum_likelihood"])),
            maybe(st.just(0.95)),
        ),
    ),
    "repair": (lambda _, c, p: plain(repair(c, p).moved), (channels, notions)),
    "binary": (form_of(closed_forms.binary), (priors, epsilons, deltas)),
    "top_k": (form_of(closed_forms.top_k), (priors, epsilons, deltas)),
    "bins": (form_of(closed_forms.bins), (priors, lists, epsilons, maybe(st.just("absolute")))),
    "path_graph": (form_of(closed_forms.path_graph), (priors, epsilons)),
    "kernel": (form_of(closed_forms.kernel), (distances, priors, epsilons)),
    "minimax": (form_of(closed_forms.minimax), (sizes_or_odd, epsilons, deltas)),
    "randomized_response": (form_of(closed_forms.randomized_response), (sizes_or_odd, epsilons)),
    "coin": (form_of(closed_forms.coin), (maybe(st.floats(0, 1)), maybe(st.floats(0, 1)))),
    "robust_value": (
        form_of(closed_forms.robust_value),
        (st.one_of(matrices, rows), epsilons, deltas),
    ),
    "least_epsilon": (
        lambda _, *a: closed_forms.least_epsilon(*a) >= 0 or 1 / 0,
        (priors, deltas, deltas),
    ),
    "worst_prior": (lambda _, *a: plain(closed_forms.worst_prior(*a)), (lists, lists)),
    "worst_prior_in_ball": (
        lambda _, *a: plain(closed_forms.worst_prior_in_ball(*a)),
        (priors, maybe(st.floats(0, 2))),
    ),
    "Laplace": (
        lambda _, *a: noise_of(noise.Laplace, *a),
        (maybe(numbers), epsilons, lists, sizes_or_odd),
    ),
    "Geometric": (
        lambda _, *a: noise_of(noise.Geometric, *a),
        (maybe(sizes), epsilons, lists, sizes_or_odd),
    ),
    "Staircase": (
        lambda _, *a: noise_of(noise.Staircase, *a),
        (maybe(numbers), epsilons, maybe(st.floats(0, 1)), lists, sizes_or_odd),
    ),
    "NeighborPartition": (
        lambda _, i, w, e: plain(noise.NeighborPartition(i, w).noise(e).expected_abs),
        (
            spoilt(st.lists(st.tuples(st.integers(0, 3), st.integers(3, 9)).map(list), max_size=2)),
            maybe(sizes),
            epsilons,
        ),
    ),
    "RandomCensoring": (
        lambda _, *a: mean_of(mean.RandomCensoring, *a),
        (epsilons, deltas, deltas, lists, maybe(st.just(0.9))),
    ),
    "sampled": (
        lambda _, e, k, x: plain(
            mean.sampled(mean.Duchi(e), attributes=k).privatize(x, rng=0)["report"]
        ),
        (epsilons, sizes_or_odd, matrices),
    ),
    "designed": (
        lambda _, *a: plain(mean.designed(*a).worst_case_variance),
        (lists, lists, epsilons),
    ),
    "extreme_points": (
        listed,
        (
            notions,
            st.one_of(odd, st.sampled_from([-1, 0, 1, 2, 3, 5, 7, 1000, 10**9])),
            maybe(st.sampled_from([None, 1, 2, 3])),
        ),
    ),
    "neighbors.grid": (lambda _, *a: neighbors.grid(*a), (sizes_or_odd, sizes_or_odd)),
    "neighbors.path": (lambda _, *a: neighbors.path(*a), (labels,)),
    "neighbors.cycle": (lambda _, *a: neighbors.cycle(*a), (labels,)),
    "neighbors.complete": (lambda _, *a: neighbors.complete(*a), (labels,)),
    "neighbors.within": (
        lambda _, *a: neighbors.within(*a),
        (matrices, maybe(st.just("euclidean")), maybe(numbers)),
    ),
    "neighbors.bfs_partition": (
        lambda _, *a: neighbors.bfs_partition(*a),
        (graphs, maybe(st.just(0))),
    ),
    "neighbors.histograms": (lambda _, *a: neighbors.histograms(*a), (maybe(sizes), maybe(sizes))),
}
for _protocol in mean.NumberProtocol.PUBLISHED:
    TARGETS[f"mean.{_protocol.__name__}"] = (
        lambda _, *a, protocol=_protocol: mean_of(protocol, *a),
        (epsilons, lists, maybe(st.just(0.9))),
    )

calls = st.sampled_from(sorted(TARGETS)).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*TARGETS[name][1]))
)


@fuzz_cases(0.8)
@given(calls)
def test_statements_are_answered_or_refused(
    answers_or_refuses: Any, is_honest: Any, call: tuple[str, tuple[Any, ...]]
) -> None:
    name, args = call
    answers_or_refuses(lambda: TARGETS[name][0](is_honest, *map(made, args)))
