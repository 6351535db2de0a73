"""Pictures: each function draws its object on the given axes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import ldpopt
from builders import refused, sample_or_all
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Mechanism,
    MetricDP,
    OneSided,
    Problem,
    PureLDP,
    Utility,
    UtilityOptimizedLDP,
    closed_forms,
    compare,
    compare_means,
    estimate_frequencies,
    layers,
    neighbors,
    noise,
    pareto_front,
    plotting,
    solve,
)
from ldpopt.plotting.plot import picture
from ldpopt.polytope.regions import prior_regions
from ldpopt.polytope.vertices import extreme_points
from ldpopt.studies.sweep import SweepResult, sweep

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def grid() -> SweepResult:
    first = np.linspace(0, 1, 5)
    problem = Problem([0.5, 0.5], "identity", PureLDP(1.0), inputs=["no", "yes"])
    return sweep(problem, [0.5, 1.0, 2.0], np.stack([first, 1 - first], axis=1))


def render(ax: object) -> None:
    ax.figure.canvas.draw()  # type: ignore[attr-defined]


def test_heat_map_has_labels_and_numbers() -> None:
    ax = plotting.mechanism(COIN)
    render(ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["no", "yes"]
    assert sorted(text.get_text() for text in ax.texts) == ["0.250", "0.250", "0.750", "0.750"]


def test_heat_map_of_a_large_mechanism_has_no_numbers_and_few_labels() -> None:
    names = [f"a rather long answer number {k} for $5" for k in range(70)]
    ax = plotting.mechanism(Mechanism(np.full((70, 70), 1 / 70), names))
    render(ax)
    assert not ax.texts
    assert len(ax.get_yticks()) <= plotting.MAX_AXIS_LABELS


def test_given_axes_are_used() -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert plotting.mechanism(COIN, ax) is ax
    assert plotting.delta_curve(COIN.audit(), Figure().add_subplot()).figure is not ax.figure


LINE = np.abs(np.subtract.outer(range(4), range(4))).astype(float)
TABLES = neighbors.histograms(3, 3)
PROTOCOLS = {
    "harmony": lambda e: ldpopt.mean.harmony(e, 2),
    "rcp": lambda e: ldpopt.mean.rcp_multiple(e, 2),
}


def answers(users, rng):
    return np.asarray(rng.random((users, 2)))


OBJECTS = {
    "mechanism": (lambda: COIN, "report"),
    "solution": (lambda: solve(Problem([0.5, 0.5], "identity", PureLDP(1.0))), "report"),
    "problem": (lambda: Problem([0.2, 0.3, 0.5], "absolute_error", PureLDP(1.0)), "report"),
    "utility": (lambda: ldpopt.utility.absolute_error({"low": 0, "high": 3}), "report"),
    "binary form": (lambda: closed_forms.binary([0.3, 0.7], 1.0, 0.1), "p_{00}"),
    "n-ary form": (lambda: closed_forms.top_k([0.5, 0.3, 0.2], 1.0), "report"),
    "convex": (
        lambda: ldpopt.convex.best_channel(ldpopt.convex.mutual_information([0.5, 0.5]), 1.0),
        "report",
    ),
    "extreme points of leakage": (
        lambda: extreme_points(ldpopt.PML(0.5, {"a": 3, "b": 1}), 2),
        "p_{00}",
    ),
    "extreme points of two answers": (lambda: extreme_points(PureLDP(1.0), 2), "p_{00}"),
    "extreme points of three reports": (lambda: extreme_points(PureLDP(1.0), 2, 3), "this column"),
    "audit": (lambda: COIN.audit(), "varepsilon"),
    "reports together": (lambda: ldpopt.accounting.compose([(COIN, 5)]), "varepsilon"),
    "graph mechanism": (lambda: layers.bfs_mechanism(TABLES, 1.0, max), ""),
    "lone node": (lambda: layers.bfs_mechanism(neighbors.path([7]), 1.0), ""),
    "partition": (lambda: noise.NeighborPartition([(0, 1), (20, 21)], 2), "noise"),
    "integer partition": (lambda: noise.NeighborPartition([1, 2, 9], 0), "noise"),
    "Laplace": (lambda: noise.Laplace(1, 0.5), "unit of the answer"),
    "staircase": (lambda: noise.Staircase(1, 1.0), "unit of the answer"),
    "geometric": (lambda: noise.Geometric(1, 0.5), "whole numbers"),
    "level noise": (
        lambda: noise.NeighborPartition([(0, 1), (20, 21)], 2).noise(2.0),
        "unit of the answer",
    ),
    "integer noise": (
        lambda: noise.NeighborPartition([1, 2, 9], 0).noise("log(2)"),
        "whole numbers",
    ),
    "lattice of numbers": (lambda: layers.LatticeNoise([2, 3], 0.5), "whole numbers"),
    "lattice of pairs": (
        lambda: layers.LatticeNoise([(1, 0), (0, 1), (3, 1)], 1.0),
        "first number",
    ),
    "lattice of triples": (
        lambda: layers.LatticeNoise(np.eye(3, dtype=int), 1.0, 1),
        "first number",
    ),
    "levels": (lambda: layers.optimal_levels([0, 70, 890], [0, 70, 840], 8.0), "layer"),
    "front": (
        lambda: pareto_front(Problem([0.5, 0.5], "identity", PureLDP(1.0)), [0]),
        "gain of the group: 0",
    ),
    "several reports": (lambda: ldpopt.accounting.compose([(COIN, 2)]), "varepsilon"),
    "counts": (lambda: ldpopt.Counts.of(COIN, ["no", "yes", "no"]), "report (3 in all)"),
    "questions": (
        lambda: ldpopt.design(ldpopt.Workload.marginals([2] * 10, 1), PureLDP(1.0)),
        "true answer",
    ),
    "schemes": (
        lambda: ldpopt.compare_schemes({"smokes": ["no", "yes"], "age": range(3)}, 1.0),
        "scheme",
    ),
    "experiment": (
        lambda: compare_means(PROTOCOLS, answers, epsilons=[1.0, 2.0], sets=2, users=100),
        "nats",
    ),
    "simulation": (
        lambda: ldpopt.simulate(COIN, [0.5, 0.5], population=100, repeats=20, rng=1),
        "100 people",
    ),
    "regions": (lambda: prior_regions(PureLDP("log(3)"), 3), ""),
    "pure": (lambda: PureLDP(1.0), "p_{00}"),
    "approximate": (lambda: ApproximateLDP(0.1, 0.2), "p_{00}"),
    "graph": (lambda: GraphDP(1.0, neighbors.path(["low", "mid", "high"])), ""),
    "metric": (lambda: MetricDP(1.0, LINE), "answer"),
    "named metric": (lambda: MetricDP.of_points(1.0, {"a": (0, 0), "b": (3, 4)}), "answer"),
    "one-sided": (lambda: OneSided(1.0, ["yes", "maybe"]), "answer"),
    "utility-optimized": (lambda: UtilityOptimizedLDP(1.0, ["yes"]), "answer"),
}


@functools.cache
def built(name: str) -> object:
    """An object that has a picture."""
    return OBJECTS[name][0]()


RENDERED = sample_or_all(OBJECTS, 6)
"""Objects whose pictures are made to the last pixel, which takes most of the time."""


@pytest.mark.parametrize("name", OBJECTS)
def test_plot_draws_every_object_with_labels(name: str) -> None:
    thing = built(name)
    label = OBJECTS[name][1]
    ax = ldpopt.plot(thing)
    if name in RENDERED:
        render(ax)
    assert ax.has_data()
    assert label in ax.get_xlabel()
    assert ax.get_ylabel() or not ax.axison
    assert ldpopt.plot(thing, ax) is ax


def test_every_class_with_a_picture_is_drawn_in_these_tests() -> None:
    drawn_elsewhere = {
        "SweepResult",
        "Estimate",
        "Comparison",
        "Design",
        "DesignComparison",
        "SurveyEstimate",
        "Regression",
    }
    drawn = [built(name) for name in OBJECTS]
    missing = {
        kind.__name__
        for kind in picture.registry
        if not any(isinstance(thing, kind) for thing in drawn)
    }
    assert missing <= drawn_elsewhere


def test_layers_are_drawn_in_their_colors() -> None:
    grid = neighbors.grid(3, 4)
    ax = plotting.layers(grid, (0, 0))
    dots = ax.collections[-1]
    assert len(np.unique(dots.get_facecolor(), axis=0)) == 6
    assert dots.get_offsets().tolist() == [list(node) for node in grid]
    texts = [text.get_text() for text in plotting.layers(grid, (0, 0), sum).texts]
    assert texts == [str(sum(node)) for node in grid]
    large = neighbors.grid(8, 8, [f"cell {k}" for k in range(64)])
    assert not plotting.layers(large, "cell 0").texts
    with refused("nodes") as caught:
        plotting.layers(neighbors.grid(45, 45), (0, 0))
    assert "2025" in str(caught.value)


def test_density_is_drawn_to_four_deviations() -> None:
    drawn = noise.Laplace(2.0, 1.0)
    curve = ldpopt.plot(drawn).get_lines()[0]
    r, density = (np.asarray(part) for part in curve.get_data())
    assert density == pytest.approx(drawn.pdf(r))
    assert np.trapezoid(density, r) == pytest.approx(1, abs=5e-3)


def test_sweep_draws_solver_and_closed_form(grid: SweepResult) -> None:
    ax = plotting.sweep(grid)
    render(ax)
    assert len(ax.get_lines()) == 10
    assert ax.get_title() == r"pure privacy, $\varepsilon$ = 0.5 to 2"
    curve, formula = ax.get_lines()[4:6]
    assert np.asarray(curve.get_ydata()) == pytest.approx(np.asarray(formula.get_ydata()))
    render(
        plotting.sweep(sweep(Problem([0.2, 0.3, 0.5], np.ones((3, 2)), PureLDP(1.0)), [1.0, 2.0]))
    )


def test_title_of_a_sweep_names_notions_and_deltas() -> None:
    problems = {"all": Problem([0.5, 0.5], "identity", ApproximateLDP(1.0, 0.1))}
    several = sweep(problems, [1.0], deltas=[0.0, 0.1])
    assert (
        plotting.sweep(several).get_title()
        == r"approximate privacy, $\varepsilon$ = 1, $\delta$ = 0 to 0.1"
    )
    problems["one"] = Problem([0.5, 0.5], "identity", PureLDP(1.0))
    mixed = plotting.sweep(sweep(problems, [1.0, 2.0])).get_title()
    assert (
        mixed == r"approximate privacy or pure privacy, $\varepsilon$ = 1 to 2, $\delta$ = 0 to 0.1"
    )


def test_surface_is_drawn_in_space_and_in_the_plane(grid: SweepResult) -> None:
    import matplotlib.pyplot as plt

    ax = plotting.surface(grid)
    render(ax)
    assert hasattr(ax, "plot_surface")
    assert ax.get_title() == r"pure privacy, $\varepsilon$ = 0.5 to 2"
    flat = plt.figure().add_subplot()
    assert plotting.surface(grid, flat, column="closed_form") is flat
    render(flat)
    with refused("surface"):
        plotting.surface(sweep(Problem([0.5, 0.5], "identity", PureLDP(1.0)), [1.0, 2.0]))


@pytest.mark.parametrize(
    "privacy, corners",
    [
        (PureLDP(0.1), {"A (0, 1)", "B (0.525, 0.525)", "C (1, 0)", "D (0.475, 0.475)"}),
        (
            ApproximateLDP(0.1, 0.2),
            {
                "A (0, 0.8)",
                "B (0, 1)",
                "C (0.2, 1)",
                "D (0.62, 0.62)",
                "E (1, 0.2)",
                "F (1, 0)",
                "G (0.8, 0)",
                "H (0.38, 0.38)",
            },
        ),
    ],
    ids=["figure 1", "figure 5"],
)
def test_polytope_names_the_corners_of_the_paper(privacy: object, corners: set[str]) -> None:
    ax = plotting.polytope(privacy)
    render(ax)
    assert {text.get_text() for text in ax.texts} == corners


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])
@pytest.mark.parametrize("privacy", [PureLDP(0.0), PureLDP(1.0), ApproximateLDP(1.0, 0.1)])
def test_polytope_has_a_level_line_that_touches(privacy: object, prior: list[float]) -> None:
    ax = plotting.polytope(privacy, prior=prior)
    face = next(line for line in ax.get_lines() if line.get_label() == "optimal")
    level = next(line for line in ax.get_lines() if str(line.get_label()).startswith("utility"))
    first = np.asarray(level.get_xdata(), float)
    second = np.asarray(level.get_ydata(), float)
    value = prior[0] * np.asarray(face.get_xdata(), float) + prior[1] * np.asarray(
        face.get_ydata(), float
    )
    assert prior[0] * first + prior[1] * second == pytest.approx(np.full(len(first), value[0]))


def test_polytope_rejects_notions_without_a_picture_in_the_plane() -> None:
    with refused("notion"):
        plotting.polytope(GraphDP(1.0, neighbors.path([0, 1, 2])))


def test_level_lines_of_any_utility_touch_the_polygon_at_the_best_points() -> None:
    privacy = ApproximateLDP(0.5, 0.1)
    prior = np.array([0.3, 0.7])
    loss = np.array([[0.2, 3.0], [1.0, 0.0]])
    problem = Problem(prior, Utility(loss, "loss"), privacy)
    points = extreme_points(privacy, 2)
    ax = ldpopt.plot(points, problem=problem)
    render(ax)
    level = next(line for line in ax.get_lines() if str(line.get_label()).startswith("utility"))
    for first, second in zip(*level.get_data(), strict=True):
        channel = np.array([[first, 1 - first], [1 - second, second]])
        assert prior @ (channel * loss).sum(axis=1) == pytest.approx(
            float(points.best(problem).value)
        )


def test_columns_of_three_answers_have_their_multiplicities() -> None:
    points = extreme_points(PureLDP(1.0), 3, inputs=["never", "once", "often"])
    ax = ldpopt.plot(points)
    render(ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["12"] * 6 + ["3"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["never", "once", "often"]
    table = np.asarray(ax.get_images()[0].get_array())
    assert sorted(set(np.round(table.ravel(), 12))) == pytest.approx([np.exp(-1.0), 1.0])
    assert {tuple(column > 0.9) for column in table.T} == set(
        itertools.product([True, False], repeat=3)
    ) - {(False,) * 3}
    with refused("points") as caught:
        ldpopt.plot(extreme_points(PureLDP(1.0), 5))
    assert "164,825" in str(caught.value)


@pytest.mark.parametrize("method", ["inversion", "maximum_likelihood"])
def test_estimate_has_error_bars(method: str) -> None:
    found = estimate_frequencies(COIN, {"no": 240, "yes": 760}, method=method)  # type: ignore[arg-type]
    ax = plotting.estimate(found)
    render(ax)
    assert len(ax.patches) == 2


def test_delta_curve_falls_to_zero_at_epsilon() -> None:
    ax = plotting.delta_curve(COIN.audit())
    render(ax)
    deltas = np.asarray(ax.get_lines()[0].get_ydata(), float)
    assert deltas[0] == pytest.approx(0.5)
    assert deltas[-1] == 0
    assert (np.diff(deltas) <= 0).all()
    render(plotting.delta_curve(Mechanism([[1.0, 0.0], [0.0, 1.0]]).audit()))
    render(plotting.delta_curve(Mechanism([[0.5, 0.5], [0.5, 0.5]]).audit()))


@pytest.mark.parametrize("ratio", ["3/2", "3", "12"])
def test_regions_names_every_cell(ratio: str) -> None:
    cells = prior_regions(PureLDP(f"log({ratio})"), 3)
    ax = plotting.regions(cells)
    render(ax)
    assert len(ax.patches) == 7
    shown = [text.get_text().replace("\n", " ").replace(":", "") for text in ax.texts]
    for cell in cells:
        assert sum(text.startswith(cell.label.replace(":", "")) for text in shown) == 1
    with refused("triangle"):
        plotting.regions(prior_regions(PureLDP(1.0), 2))


SQUARE = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (0.0, 2.0), "d": (2.0, 2.0)}


def test_places_have_their_coordinates_and_arrows_to_the_mean_of_their_reports() -> None:
    metric = MetricDP.of_points(0.5, SQUARE)
    mechanism = Mechanism(np.full((4, 4), 0.1) + 0.6 * np.eye(4), list("dcba"))
    prior = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    ax = plotting.places(mechanism, SQUARE, prior=prior, privacy=metric, unit="miles")
    render(ax)
    arrows, disks = sorted(ax.collections, key=lambda one: type(one).__name__ != "Quiver")
    assert np.asarray(disks.get_offsets()).tolist() == [list(SQUARE[name]) for name in "dcba"]
    assert np.asarray(disks.get_array()) == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert (arrows.U[0], arrows.V[0]) == pytest.approx((-0.4, -0.4))  # type: ignore[attr-defined]
    assert ax.get_title() == r"metric privacy, $\varepsilon$ = 0.5 per miles"
    assert ax.get_xlabel() == "east (miles)"


def test_places_show_the_loss_and_the_lines_of_an_origin() -> None:
    mechanism = Mechanism([[0.9, 0.1, 0.0, 0.0], *np.full((3, 4), 0.25)], list("abcd"))
    ax = plotting.places(
        mechanism,
        SQUARE,
        color="loss",
        origin="a",
        privacy=GraphDP(1.0, neighbors.path(list("abcd"))),
    )
    render(ax)
    assert len(ax.collections[0].get_segments()) == 2  # type: ignore[attr-defined]
    disks = next(one for one in ax.collections if one.get_array() is not None)
    assert np.asarray(disks.get_array())[:2] == pytest.approx([0.2, (4 + 8**0.5) / 4])
    assert ax.get_title() == r"privacy along a graph, $\varepsilon$ = 1"
    hops = plotting.places(mechanism, SQUARE, color="loss", loss=1 - np.eye(4))
    disks = next(one for one in hops.collections if one.get_array() is not None)
    assert np.asarray(disks.get_array())[:2] == pytest.approx([0.1, 0.75])


@pytest.mark.parametrize(
    "change, code, words",
    [
        ({"origin": "e"}, "origin", "'e'"),
        ({"color": "red"}, "choice", "color = 'red'"),
        ({"points": [(0, 0), (1, 1)]}, "shape", "(2, 2)"),
        (
            {"mechanism": Mechanism(np.full((4, 2), 0.5), list("abcd"), ["x", "y"])},
            "place",
            "'x'",
        ),
        ({"prior": {"a": 1.0}}, "missing-label", "input 'b'"),
    ],
)
def test_places_reject_arguments_that_do_not_fit(
    change: dict[str, object], code: str, words: str
) -> None:
    plain = {"mechanism": Mechanism(np.full((4, 4), 0.25), list("abcd")), "points": SQUARE}
    with refused(code) as caught:
        plotting.places(**plain | change)  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_comparison_has_a_bar_for_each_mechanism(objective: str) -> None:
    distance = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    prior = None if objective == "worst_case" else [0.2, 0.3, 0.5]
    problem = Problem(
        prior, Utility(distance, "loss"), MetricDP(1.0, distance), inputs="abc", objective=objective
    )
    found = compare(problem, best=solve(problem))
    ax = ldpopt.plot(found)
    render(ax)
    names = [row.name for row in found.literature]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["optimum", *names]
    assert [bar.get_width() for bar in ax.patches] == [
        row.value for row in (found.best, *found.literature)
    ]
    assert objective.replace("_", "-").split("-")[0] in ax.get_xlabel()
    assert "metric privacy" in ax.get_title()


def test_title_of_a_solution_is_its_notion() -> None:
    ax = ldpopt.plot(solve(Problem([0.5, 0.5], "identity", ApproximateLDP(0.7, 0.01))))
    assert "0.7" in ax.get_title()
    assert "0.01" in ax.get_title()


def test_title_of_a_heat_map_is_the_notion_or_the_audited_epsilon():
    import ldpopt
    from ldpopt.cli.solve import heat_map

    coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    assert (
        heat_map(coin).get_title() == r"Audit over all pairs of answers: true $\varepsilon$ = 1.099"
    )
    assert heat_map(coin, ldpopt.PureLDP(2.0)).get_title() == r"pure privacy, $\varepsilon$ = 2"


def coefficients(formula: str, n_answers: int, **how: object) -> ldpopt.Regression:
    rng = np.random.default_rng(0)
    answers = ["never", "some", "often", "every day $ of the week"][:n_answers]
    share = 0.5 / n_answers
    channel = np.full((n_answers, n_answers), share) + 0.5 * np.eye(n_answers)
    mechanism = Mechanism(channel, answers)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"age": rng.normal(size=900), "where do you live": ["n", "e", "s"] * 300})
    table["drinks"] = [answers[k] for k in rng.integers(0, n_answers, 900)]
    return ldpopt.regress(formula, table, {"drinks": mechanism}, **how)


def drawn(ax: object) -> list[tuple[float, float, float]]:
    """Estimate and ends of each interval."""
    found = []
    for container in ax.containers:  # type: ignore[attr-defined]
        points, _, (bars,) = container
        for estimate, bar in zip(points.get_xdata(), bars.get_segments(), strict=True):
            found.append((estimate, bar[0][0], bar[1][0]))
    return sorted(found)


@pytest.mark.parametrize(
    "n_answers, how", [(2, {}), (4, {}), (4, {"kind": "ordered"}), (2, {"kind": "mean"})]
)
def test_coefficients_have_their_intervals(n_answers: int, how: dict) -> None:
    pytest.importorskip("formulaic")
    found = coefficients("drinks ~ age + Q('where do you live')", n_answers, **how)
    ax = ldpopt.plot(found)
    render(ax)
    table = found.to_frame()
    expected = sorted(map(tuple, table[["estimate", "low", "high"]].to_numpy()))
    assert np.allclose(drawn(ax), expected)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == len(table.index.get_level_values("term").unique())
    assert "Q('where do you live')[T.s]" in names
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first coefficient is at the top"
    legend = ax.get_legend()
    if n_answers == 4 and not how:
        assert legend.get_title().get_text() == "against never"
        assert len(legend.get_texts()) == 3
    else:
        assert legend is None


def test_long_names_of_coefficients_keep_their_level() -> None:
    pytest.importorskip("formulaic")
    formula = "drinks ~ C(Q('where do you live'), contr.treatment(base='s'))"
    ax = coefficients(formula, 2).plot()
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 40
    assert any(name.endswith("[T.n]") for name in names)
    assert ax.get_xlabel().startswith("logit of some")


def test_only_a_regression_is_drawn_as_one() -> None:
    with refused("type"):
        plotting.regression(COIN)
