"""Loops in C against plain ones: the same trees, and the same numbers up to the rounding of an exponential."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, load_script, thorough_or
from ldpopt import native
from ldpopt.foundation.threads import max_product
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.trees import Trees
from ldpopt.solving.methods.rays.views import Views
from plain import pivots, trees, views

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 70, 5), (65, 130, 515)])
def test_max_products(shape):
    n, terms, m = shape
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(n, terms)), rng.normal(size=(terms, m))
    left[0, 0], right[0, 0] = 0.0, np.inf  # their product, nan, does not count
    with np.errstate(invalid="ignore"):
        plain = [np.nanmax(row[:, None] * right, axis=0, initial=0.0) for row in left]
    assert np.array_equal(max_product(left, right), plain)


def random_cone(n, seed, kind):
    """Points in the plane or on a grid, a graph, or a table with missing ties."""
    rng = np.random.default_rng(seed)
    if kind == "graph":
        graph = nx.path_graph(n)
        graph.add_edges_from(rng.integers(n, size=(n, 2)))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return Cone.of(lo.GraphDP(0.8, graph).ties(range(n)))
    points = rng.permutation(100)[:n, None] // [1, 10] % 10.0 if kind == "grid" else rng.normal(0, 3, (n, 2))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    if kind == "holes":
        is_far = rng.random((n, n)) < 0.3
        distance[(is_far | is_far.T) & (np.abs(np.subtract.outer(range(n), range(n))) > 1)] = 0.0
    first, second = np.nonzero(distance)
    return Cone(n, first, second, distance[first, second], is_of_metric=kind in ("plane", "grid"))


random_cones = given(
    st.integers(3, 24), st.integers(0, 10**6), st.sampled_from(["plane", "grid", "graph", "holes"]), st.integers(1, 60)
)


@cases(60)
@random_cones
def test_trees_have_the_same_pivots_rays_and_prices(n, seed, kind, most):
    cone, rng = random_cone(n, seed, kind), np.random.default_rng(seed)
    roots, costs, sums = rng.integers(n, size=4), rng.standard_normal((4, n)) + 0.3, 0.1 * rng.standard_normal(n)
    mine, outputs = Trees(cone, roots), np.array([0, 1, 3])
    plain, lengths = mine.copy(), trees.Lengths.of(cone.lengths)
    is_best, is_best_plain = np.zeros(4, bool), np.zeros(4, bool)
    count = native.improve_trees(outputs, *mine.forest, costs, sums, cone.lengths, most, is_best)
    assert count == pivots.improve_trees(outputs, *plain.forest, costs, sums, lengths, most, is_best_plain)
    assert is_best.tolist() == is_best_plain.tolist()
    assert not is_best[2]
    assert np.array_equal(mine.parent, plain.parent)
    assert np.array_equal(mine.side, plain.side)
    found = [[np.zeros(shape) for shape in [(3, n), n, (2, 4), n]] for _ in range(2)]
    nodes = [np.zeros(n, np.int64) for _ in range(2)]
    for module, many, of, (rays, share, prices, value), node in zip(
        (native, trees), (mine, plain), (cone.lengths, lengths), found, nodes, strict=True
    ):
        module.write_rays(outputs, *many.forest, of, rays)
        module.price_trees(outputs, *many.forest, costs, sums, of, share, prices)
        module.write_multipliers(roots[1], many.parent[1], many.side[1], costs[1], of, 0.1, node, value)
        module.reroot(n // 2, many.parent[3], many.side[3])
    assert all(a == pytest.approx(b, rel=1e-12, abs=1e-12) for a, b in zip(*found, strict=True))
    assert np.array_equal(*nodes)
    assert np.array_equal(mine.parent, plain.parent)
    assert np.array_equal(mine.side, plain.side)


@cases(30)
@given(st.integers(4, 24), st.integers(0, 10**6), st.sampled_from([0.0, 1.0]))
def test_views_have_the_same_trees_and_prices(n, seed, gap):
    cone, rng = random_cone(n, seed, "plane"), np.random.default_rng(seed)
    costs, sums, roots = rng.standard_normal((n, n)) + 0.3, np.zeros(n), np.arange(n)
    mine, plain = (Views(Trees(cone, roots), np.ones(n)) for _ in range(2))
    outputs, enough, found, rough = np.arange(0, n, 2), -gap * mine.unproved, [], cone.lengths.rough
    for module, one in ((native, mine), (views, plain)):
        handover = one.handover if module is native else [views.Handover(*one.handover)]
        price, rays, forest = np.zeros(n), np.zeros((len(outputs), n)), one.trees.forest
        count = module.improve_views(
            outputs, *forest, costs, sums, one.table, rough, *handover, one.seen, enough, price
        )
        module.write_extended_rays(outputs, *forest, one.table, one.seen, rays)
        found.append((count, *forest[1:], one.seen, price, rays))
    assert all(np.array_equal(a, b) for a, b in zip(found[0][:4], found[1][:4], strict=True))
    assert found[0][4] == pytest.approx(found[1][4], rel=1e-12, abs=1e-12)
    assert found[0][5] == pytest.approx(found[1][5], rel=1e-12)


@cases(30)
@given(st.integers(1, 5), st.integers(2, 9), st.integers(1, 30), st.integers(0, 10**6))
def test_loops_over_ties(m, n, pairs, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(n, size=pairs)
    second, edge, ratio = (first + rng.integers(1, n, pairs)) % n, rng.integers(4, size=pairs), rng.random(pairs)
    at, p, start = rng.random((3, m, n))
    t, ties, aim = rng.random((3, m, pairs)) + 0.1
    slacks = np.zeros((pairs, n))  # of entries p: slacks @ p
    slacks[range(pairs), second] = 1.0
    slacks[range(pairs), first] = -ratio
    found = start.copy()
    native.add_adjoint(first, second, ratio, ties, found)
    assert found == pytest.approx(start + ties @ slacks, rel=1e-12, abs=1e-12)
    step = (p + at) @ slacks.T - t
    change = (aim - ties * step) / t
    written = np.empty((2, m, pairs))
    native.write_steps(first, second, ratio, at, t, ties, aim, p, *written)
    assert written == pytest.approx(np.array([step, change]), rel=1e-10, abs=1e-12)
    found = start.copy()
    native.add_multiplier_steps(first, second, ratio, at, t, ties, aim, p, found)
    assert found == pytest.approx(start + change @ slacks, rel=1e-10, abs=1e-10)
    off = np.zeros((m, 4))
    native.add_weights(ratio, edge, t, ties, off)
    assert off == pytest.approx((ratio * ties / t) @ np.eye(4)[edge], rel=1e-12)


@pytest.mark.parametrize("limits", [lo.Limits(rays_entries=1), lo.Limits(graph_entries=1)], ids=["rays", "interior"])
def test_the_answer_is_the_same_bit_for_bit_with_any_number_of_threads(monkeypatch, limits):
    monkeypatch.setattr("ldpopt.solving.methods.rays.trees.CHUNK", 64)  # many parts, also of a small problem
    monkeypatch.setattr("ldpopt.foundation.threads.PART_OPERATIONS", 100)
    rng = np.random.default_rng(0)
    privacy = lo.MetricDP.of_points(1.0, rng.normal(0, 2, (16, 2)))
    problem = lo.Problem(rng.dirichlet(np.ones(16)), lo.utility.table(rng.random((16, 16)), sense="loss"), privacy)
    channels = []
    for count in (1, 2, 5):
        monkeypatch.setattr("ldpopt.foundation.threads.cores", lambda count=count: count)
        channels.append(lo.solve(problem, limits=limits).mechanism.channel)
    assert np.array_equal(channels[0], channels[1])
    assert np.array_equal(channels[0], channels[2])


SANITIZED = """
import sys
from pathlib import Path
from ldpopt import native
native.LIBRARY = Path(sys.argv[1])
import pytest
sys.exit(pytest.main(["-q", "-n0", "-p", "no:cacheprovider", "-k", "not sanitizers", *sys.argv[2:]]))
"""


@pytest.mark.skipif(not thorough_or(False, True), reason="only in the thorough set: a minute")
def test_sanitizers_find_nothing(tmp_path, monkeypatch):
    script, folder = load_script(ROOT / "hatch_build.py"), ROOT / "tests"
    compiler = script.compiler()
    shown = subprocess.run([*compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    runtime = Path(shown.stdout.strip())
    if shown.returncode or not runtime.is_absolute():
        pytest.skip("the compiler has no sanitizers")
    flags = "-g", "-O1", "-DPLAIN", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    library = script.build(tmp_path / "loops.bin", *flags)
    monkeypatch.setenv("LD_PRELOAD", str(runtime))
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # Python's own
    monkeypatch.setenv("LDPOPT_TESTS", "ldpopt")
    files = [__file__, folder / "agreement/test_pair_loops.py", folder / "unit/solving/test_levels.py"]
    command = [sys.executable, "-c", SANITIZED, library, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
