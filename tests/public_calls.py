"""Random calls of every public name: functions, classes, and the methods and properties of what
they return, with arguments from a pool of good and bad values.

A call ends in a result, in an `LdpoptError`, or in Python's own TypeError about the signature,
which is raised at the call itself and not inside of it. Anything else is a fault.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import operator
import random
import re
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

import ldpopt as lo
from ldpopt import (
    accounting,
    closed_forms,
    frequencies,
    hypotheses,
    layers,
    mean,
    neighbors,
    noise,
    stages,
    studies,
)
from ldpopt.errors import LdpoptError
from ldpopt.estimation.tallies import DIALECTS
from ldpopt.foundation.deadline import NO_LIMIT

PAGES = Path(__file__).parents[1] / "docs" / "reference"


class Target(NamedTuple):
    """Something to call: its name, the owner's class (None for a function), and the call."""

    name: str
    owner: type | None
    attribute: str


# What is public


@cache
def documented() -> dict[str, Any]:
    """Every class and function of the reference and of `__init__.pyi`, once, by name."""
    names = [f"ldpopt.{name}" for name in lo.__all__ if not inspect.ismodule(getattr(lo, name))]
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        names += re.findall(r"^\.\. auto(?:class|function):: (\S+)", text, re.M)
    found: dict[str, Any] = {}
    for name in sorted(set(names), key=lambda name: (name.count("."), name)):
        module, _, leaf = name.removeprefix("ldpopt.").rpartition(".")
        holder = getattr(lo, module, None) or importlib.import_module(f"ldpopt.{module}".strip("."))
        thing = getattr(holder, leaf)
        if callable(thing) and not any(thing is other for other in found.values()):
            found[name.removeprefix("ldpopt.")] = thing
    return found


def is_own(kind: type, attribute: str) -> bool:
    """Whether an attribute is public and of this library, not of ``float`` or ``tuple``."""
    if attribute.startswith("_") and attribute not in OPERATORS:
        return False
    home = next((each for each in kind.__mro__ if attribute in vars(each)), object)
    return home.__module__.startswith("ldpopt")


OPERATORS: dict[str, Callable[..., Any]] = {
    "__add__": operator.add,
    "__sub__": operator.sub,
    "__mul__": operator.mul,
    "__rmul__": lambda a, b: b * a,
    "__getitem__": operator.getitem,
    "__contains__": operator.contains,
    "__eq__": operator.eq,
    "__len__": len,
    "__iter__": iter,
    "__repr__": repr,
    "_repr_html_": lambda a: a._repr_html_(),
}
BINARY = {"__add__", "__sub__", "__mul__", "__rmul__", "__getitem__", "__contains__", "__eq__"}


@cache
def targets() -> tuple[Target, ...]:
    """Functions, constructors, methods, properties and operators."""
    found = []
    for name, thing in documented().items():
        found.append(Target(name, None, ""))
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for attribute in dir(thing):
                if is_own(thing, attribute):
                    found += [Target(f"{name}.{attribute}", thing, attribute)]
    return tuple(target for target in found if target.name not in EXCLUDED)


EXCLUDED = {
    "compare_means": "the experiment of its defaults takes seconds",
    "Status": "an enumeration: Python's own ValueError for an unknown value",
    "solvers.Feature": "as Status",
    "testing.check_notion": "a suite of tests: its failures are AssertionErrors, it takes seconds",
    "testing.check_solver": "as check_notion",
}
"""What is not called, with the reason."""


FOLDER = TemporaryDirectory()
"""Where good objects have files; removed at the end of the process."""


def _file(design: Any) -> str:
    """A file of a design."""
    path = f"{FOLDER.name}/design.json"
    design.save(path)
    return path


def sample_of_numbers(size: int, rng: np.random.Generator) -> Any:
    """Numbers of people, for an experiment."""
    return rng.uniform(0, 1, (size, 3))


# Good values by the name of a parameter, and good objects by their class

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
THREE = lo.Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
PURE = lo.PureLDP(1.0)
PATH = neighbors.path(range(3))
PRIORS = [[0.5, 0.5], [0.2, 0.3, 0.5], {"no": 0.5, "yes": 0.5}]
FRAME = pd.DataFrame({"q": ["no", "yes"] * 10, "w": [1.0, 2.0] * 10})
TWICE = pd.DataFrame([["no", "yes"], ["yes", "no"]], columns=["q", "q"])


@cache
def subjects() -> dict[type, list[Any]]:
    """Good objects of every class that has some, also those that good ones return."""
    answers = ["no", "yes"] * 10
    two_answers = lo.Workload.frequencies(["no", "yes"])
    design = lo.design(two_answers, PURE)
    problem = lo.Problem([0.5, 0.5], "identity", PURE, inputs=["no", "yes"])
    path = lo.Problem([0.2, 0.3, 0.5], "absolute_error", lo.GraphDP("log(3)", PATH))
    survey = lo.Survey({"q": COIN})
    joint = lo.Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
    extreme = lo.extreme_points(PURE, 3)
    utility = lo.convex.mutual_information([0.5, 0.5])
    rays = lo.convex.best_channel(utility, lo.PML(0.5))
    designs = lo.compare_designs(lo.Workload.frequencies(3), PURE, others={"mine": THREE})
    score = lo.convex.best_channel(lo.convex.fisher_information([-1, 1], [0.5, 0.5]), 1.0)
    found: list[Any] = [
        *(COIN, THREE, PURE, problem, path, survey, joint, design, extreme, utility),
        *(lo.ApproximateLDP(1.0, 0.1), lo.GraphDP("log(3)", PATH), lo.OneSided(1.0, ["no"])),
        lo.MetricDP(1.0, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        lo.UtilityOptimizedLDP(1.0, ["no"]),
        *(lo.GaussianLDP(1), lo.CurveLDP([(0.5, 0.1), (1.0, 0.01)])),
        lo.ApproximateLDP(1.0, 0.1, graph=PATH),
        *(lo.PML(0.5), lo.InformationPrivacy(0.5, {"no": 1, "yes": 3}), lo.PML(0.5) & PURE),
        lo.Secrets(0.5, {"ill": {"no": 1, "yes": 3}, "well": {"no": 3, "yes": 1}}),
        *(lo.PairwiseLDP({("no", "yes"): 1.0}), lo.OddsBound({"no": 1}, {"yes": 1}, 1.0)),
        lo.ColumnCone([lo.OddsBound({"no": 1}, {"yes": 1}, 1.0)]),
        *(lo.Budget(1.0), lo.Budget("log(3)"), lo.SecretKey(b"0" * 32), lo.Limits()),
        *(lo.DesignLimits(), lo.Utility(np.eye(2)), lo.Workload.prefix(3), lo.Status.OPTIMAL),
        *(two_answers, lo.DesignProblem(two_answers, PURE)),
        lo.constraints.linear([[1.0, 0.0], [0.0, 1.0]], upper=0.9),
        lo.Counts.of(COIN, answers),
        lo.estimate_frequencies(COIN, answers),
        survey.estimate(survey.privatize(FRAME, rng=0)),
        *(lo.solve(problem), lo.solve(path), lo.certify(lo.solve(problem)), lo.audit(COIN)),
        lo.formulate(problem),
        *(lo.compare(problem), lo.pareto_front(path, [0], max_points=3)),
        *(lo.sweep(problem, [0.5, 1.0]), studies.best_of([problem, problem])),
        lo.simulate(COIN, [0.5, 0.5], population=100, repeats=3, rng=0),
        *(accounting.compose([COIN]), accounting.compose([COIN]).prove(1e-3)),
        *(closed_forms.binary([0.3, 0.7], 1.0), closed_forms.top_k([0.2, 0.3, 0.5], 1.0)),
        closed_forms.bins([0.5, 0.5], [0.0, 1.0], 1.0),
        *(closed_forms.coin(), closed_forms.minimax(3, 1.0)),
        closed_forms.kernel([[0, 1], [1, 0]], [0.5, 0.5], 1.0),
        closed_forms.path_graph([0.2, 0.3, 0.5], 1.0),
        closed_forms.robust_value([[0.5, 0.5], [0.2, 0.8]], 1.0),
        *(frequencies.LinearHash(20, 1.0), frequencies.LocalHashing(4, 1.0)),
        *(frequencies.RandomizedResponse(3, 1.0), frequencies.SubsetSelection(4, 1.0)),
        *(frequencies.UnaryEncoding(4, 1.0), frequencies.best(4, 1.0, 100)),
        *(mean.Duchi(1.0), mean.Hybrid(1.0), mean.Laplace(1.0), mean.Piecewise(1.0)),
        *(mean.RandomCensoring(1.0), mean.SquareWave(1.0), mean.DuchiVector(1.0, 3)),
        *(mean.sampled(mean.Duchi(1.0), attributes=3), mean.designed([-1, 1], [-3, 3], 1.0)),
        *(noise.Laplace(1.0, 1.0), noise.Geometric(1, 1.0), noise.Staircase(1.0, 1.0)),
        noise.NeighborPartition([(0, 1), (3, 4)], 0.1),
        noise.NeighborPartition([(0, 1), (3, 4)], 0.1).noise(1.0),
        noise.NeighborPartition({1, 3}, 1).noise(1.0),
        layers.LatticeNoise([(1, 0), (0, 1)], 1.0),
        layers.bfs_mechanism(PATH, 1.0, prior=[0.2, 0.3, 0.5]),
        layers.optimal_levels([1, 2, 2], [0, 1, 2], 1.0),
        *(lo.convex.best_channel(utility, 1.0), score, score.certificate),
        lo.certify_convex(COIN, PURE, lambda c: (c**2).sum(), lambda c: 2 * c),
        *(rays, rays.certificate),
        *lo.regions.prior_regions(lo.PureLDP("log(3)"), 2),
        *lo.regions.epsilon_breakpoints([0.2, 0.8]),
        *(designs, *designs.own, lo.Survey({"q": design})),
        lo.compare_schemes({"a": 2, "b": 2}, 1.0),
        *(extreme[0], extreme.best(lo.Problem([0.2, 0.3, 0.5], "identity", PURE))),
        lo.compare_means(
            {"harmony": lambda epsilon: mean.harmony(epsilon, 3)},
            sample_of_numbers,
            sets=2,
            users=50,
        ),
        lo.simplex.binary_standard_form([0.3, 0.7], 1.0),
        *(lo.solvers.find("highs"), lo.testing.Tolerances(), lo.plan(problem)[0]),
    ]
    two = hypotheses.best({"no": 0.5, "yes": 0.5}, {"no": 0.2, "yes": 0.8}, 1.0)
    found += [
        lo.find_refinement(COIN, COIN),
        lo.load_design(_file(design)),
        *(hypotheses.BinaryTest.of(COIN, [0.5, 0.5], [0.2, 0.8]), two.sequential()),
        *(stages.Rate((0.5, 4.0), most=3), stages.GaussianMean(1.0, (-3, 3), bins=12)),
        accounting.compose([(lo.Mechanism([[0.9, 0.1], [0.5, 0.5]]), 3)], answers="fixed"),
        *(two.test({"no": 5, "yes": 9}), two.sequential().decide(["no", "yes"])),
        lo.simplex.canonical_form(
            lo.simplex.binary_standard_form(["1/2", "1/2"], "log(3)"),
            lo.simplex.MODEL_I["B1"].columns,
        ),
        lo.simplex.MODEL_I["B1"],
        lo.design(lo.Workload.frequencies(60), PURE),
        survey.precision("q"),
        COIN.leakage([0.5, 0.5]),
        COIN.shannon_capacity(),
        lo.fieldwork.Store(f"sqlite:///{FOLDER.name}/reports.db", survey),
        lo.datasets.load("anes96:PID"),
        lo.techniques.cheating_detection("1/4", "3/4"),
        lo.regress(
            "q ~ 1", pd.DataFrame({"q": ["no", "yes", "yes"] * 40}), {"q": COIN}, kind="mean"
        ),
    ]
    by_class: dict[type, list[Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that other libraries give their objects
        for one in found:
            keep(by_class, one, 3)
    return by_class


def keep(by_class: dict[type, list[Any]], one: Any, depth: int) -> None:
    """List an object by its class, and what its properties return."""
    kind = type(one)
    if isinstance(one, (tuple, list)) and kind.__module__ == "builtins":
        for part in one[:3]:
            keep(by_class, part, depth)
        return
    if isinstance(one, dict):
        for part in itertools.islice(one.values(), 3):
            keep(by_class, part, depth)
        return
    if not kind.__module__.startswith("ldpopt") or len(by_class.setdefault(kind, [])) >= 4:
        return
    if any(one is other for other in by_class[kind]):
        return
    by_class[kind].append(one)
    for attribute in dir(kind) if depth else ():
        if not attribute.startswith("_") and not callable(getattr(kind, attribute, None)):
            try:
                keep(by_class, getattr(one, attribute), depth - 1)
            except LdpoptError:
                continue
    for attribute in getattr(one, "__dict__", {}) if depth else ():
        if not attribute.startswith("_"):
            keep(by_class, getattr(one, attribute), depth - 1)


class Odd:
    """An object that is nothing the library knows."""


def letters() -> Iterator[str]:
    """A generator, made anew for each call: it has no length and is read once."""
    return (letter for letter in ("no", "yes"))


BAD: list[Any] = [
    *(None, True, False, 0, -1, 2, 7, 10**6, 10**400, 0.5, -0.5, 1e308, 5e-324, 1e-300, 3.7),
    *(math.nan, math.inf, -math.inf, 1j, Fraction(1, 3), Decimal("0.1"), Decimal("NaN")),
    *("", "yes", "log(3)", "log(1/3)", "0.5", "nan", "a\x00b", "x" * 300, b"1", bytearray(b"12")),
    *([], (), {}, set(), frozenset({1}), {1, 2}, range(3), range(10**12), [[]], [None], ["no", 1]),
    *([1.0, 2.0], [[0.5, 0.5], [0.25]], [[1, 0], [0, 1]], [-1, 3], ["a", "a"], [[1, 2], 3]),
    *({"no": 1}, {"no": 1, "yes": 2}, {1: {2: 3}}, {"a": None}, [{"a": 1}], ((1, 2), (3, 4))),
    *(np.array(1.0), np.array("a"), np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.eye(2)),
    *(np.array([0.0, 1.0]), np.array([1, 0]), np.array([1j, 2]), np.array([None, 1], object)),
    *(np.array([True, False]), np.array(["no", "yes"]), np.array([math.nan, 1.0]), np.eye(3)),
    *(np.zeros((2, 2, 2)), np.array([np.inf, 1.0]), np.ma.masked_equal([0, 1], 1), np.float32(0.3)),
    *(np.array(["2020-01-01"], "datetime64[D]"), np.timedelta64(3), np.ma.masked, np.bool_(True)),
    *(pd.Series([1, 2], ["no", "no"]), pd.Series([1.0, 2.0]), pd.NA, pd.NaT, FRAME, TWICE),
    *(pd.DataFrame([[1, 2], [3, 4]]), pd.DataFrame(np.eye(2), ["a", "a"], ["a", "b"])),
    *(pd.DataFrame(), pd.Series([], dtype=float), pd.Index(["no", "yes"]), nx.Graph(), PATH),
    *(nx.DiGraph([(0, 1)]), Odd, Odd(), print, len, max, lambda *_: None, lambda *_: "far"),
    *(lo.Mechanism, lo.PureLDP, lo.Problem, Exception("x"), math, int, NotImplemented, ...),
]

PLAIN: list[Any] = [None, 0, 1.5, "no", (), [], {}, b"1", Fraction(1, 3)]

BUDGETS: list[Any] = [1.0, "log(3)", 0.5, 2, 0]
LABELS: list[Any] = [None, ["no", "yes"], [0, 1], [0, 1, 2], "ab"]
GOOD: dict[str, list[Any]] = {
    "epsilon": BUDGETS,
    "delta": [0.0, 0.1, 1e-6],
    "delta1": [0.0, 0.1],
    "delta2": [0.0, 0.1],
    "inputs": LABELS,
    "outputs": [*LABELS, 2, 3],
    "labels": LABELS,
    "names": LABELS,
    "answers": LABELS,
    "sensitive": [["no"], [0]],
    "protected": [None, ["no"], [0]],
    "prior": [*PRIORS, None],
    "weights": [None, [1.0, 2.0], [1.0] * 20, "w"],
    "confidence": [0.95, 0.5],
    "rng": [None, 0, np.random.default_rng(1), np.random.SeedSequence(3)],
    "seed": [0, 5],
    "ax": [None],
    "path": ["x.json", "y.toml", "nowhere/z.json", Path("p.json")],
    "source": ["q.csv", "x.json", COIN],
    "target": ["out.csv", "nowhere/out.csv"],
    "folder": ["folder"],
    "channel": [COIN, [[0.75, 0.25], [0.25, 0.75]], np.eye(2), np.full((3, 3), 1 / 3)],
    "channels": [[COIN], [(COIN, 2)], [COIN, THREE]],
    "mechanism": [COIN, THREE],
    "utility": ["identity", "absolute_error", np.eye(2), np.eye(3), None],
    "privacy": [PURE, lo.ApproximateLDP(1.0, 0.1), lo.GraphDP(1.0, PATH), None],
    "graph": [PATH, neighbors.path("ab"), neighbors.cycle(range(4))],
    "workload": [lo.Workload.frequencies(2), lo.Workload.prefix(3), np.eye(2)],
    "reports": [["no", "yes"] * 5, [0, 1, 2, 1], pd.Series(["no", "yes"]), [0.3, -0.2, 1.0]],
    "x": [["no", "yes"] * 5, [0, 1, 2], 0.3, [0.2, -0.4], "no", [[0.1, 0.2, 0.3]]],
    "table": [FRAME, FRAME[["q"]], "q.csv", [[0, 1], [1, 0]]],
    "columns": ["q", ["q"], {"q": COIN}],
    "column": ["q", None],
    "name": ["q", "a", "b", "coin", "highs"],
    "other": ["b", COIN],
    "n": [1, 2, 3, 5],
    "m": [None, 2, 3],
    "k": [1, 2, 3],
    "size": [3, (2, 2), 1],
    "n_outputs": [2, 3],
    "attributes": [1, 3],
    "values": [[0.0, 1.0], [0.0, 1.0, 2.0], [-1.0, 1.0]],
    "points": [[0, 1, 2], [(0, 0), (1, 1)], {"no": 0, "yes": 1}],
    "distance": [[[0, 1], [1, 0]], "absolute", lambda a, b: abs(a - b)],
    "share": [0.1, 0.5],
    "time_limit": [None, 5.0, 0.5],
    "gap": [None, 1e-6],
    "solver": ["auto", "highs", "interior", "rays"],
    "form": [None, "compact", "pairwise"],
    "jobs": [1],
    "executor": [None],
    "progress": [None],
    "checkpoint": [None, "c.ckpt"],
    "sets": [1, 2],
    "users": [20, 100],
    "population": [10, 100],
    "repeats": [1, 3],
    "epsilons": [[0.5, 1.0], [1.0], ["log(3)"]],
    "deltas": [None, [0.0, 0.1]],
    "missing": ["refuse", None, "leave_out"],
    "missing_answer": [None, "no"],
    "by": [None, "q", "w"],
    "key": [None, lo.SecretKey(b"1" * 32)],
    "id": [None, "w"],
    "r": [0.5, [0.0, 1.0, -3.0], 1],
    "half_width": [0.05, 0.2],
    "people": [None, 100],
    "draws": [100, 1000],
    "questions": [{"q": COIN}, {"a": 2, "b": 2}, {"a": ["no", "yes"], "b": ["no", "yes"]}],
    "scheme": ["split", "joint", "one_question"],
    "dialect": list(DIALECTS),
    "rows": [[("yes", None, None, 3, *[None] * 5)], [("no", None, 1, 2, 2, 0.5, 1.0, 1.5, 1.25)]],
    "algorithms": [{"harmony": lambda epsilon: mean.harmony(epsilon, 3)}],
    "data": [sample_of_numbers],
    "family": [2, 3, lambda epsilon: closed_forms.minimax(2, epsilon).mechanism],
    "randomize": [lambda _, size, rng: rng.random(size) < 0.5],
    "loss": ["absolute", "squared"],
    "norm": ["l1", 1, 2],
    "intervals": [[(0, 1), (3, 4)], {1, 3}, "score"],
    "url": ["sqlite:///reports.db"],
    "options": [{}],
    "order": [1, 2, math.inf],
    "sense": ["gain", "loss"],
    "objective": ["expected", "average", "worst_case"],
    "shape": [(2, 2), (2, 3)],
    "deadline": [NO_LIMIT],
    "first": [COIN, [0.5, 0.5], "q"],
    "second": [COIN, [0.2, 0.8], "q"],
    "counts": [lo.Counts.of(COIN, ["no", "yes", "yes"])],
    "P": [{(x, y): None for x in (0, 1) for y in (0, 1)}, COIN],
    "ratio": [None, 2.0],
    "mu": [1, 0.5, "1/3"],
    "codes": [[0, 1, 1], np.array([0, 1])],
    "value": [None, lambda c: ((c - np.eye(*np.shape(c))) ** 2).sum()],
    "gradient": [lambda c: 2 * (c - np.eye(*np.shape(c)))],
}
"""Good values by the name of a parameter; any other parameter gets an object that the library made,
or a value of `BAD`."""

ONLY_GOOD = {"jobs", "url", "solver", "time_limit_of_processes", "sets", "users"}
ONLY_GOOD |= {"randomize", "value", "gradient", "metric"}
"""Parameters that never get another value: they would start processes, or use the network, or
another solver's program; a function of the caller's own ends in errors of its own."""


def value_for(name: str, rng: random.Random, bad: bool) -> Any:
    """A value for a parameter."""
    known = GOOD.get(name)
    if name in ONLY_GOOD or (known and not bad and rng.random() < 0.9):
        return rng.choice(known or [None])
    objects = [kind for kind in subjects() if kind.__name__.casefold() == name.replace("_", "")]
    if objects and not bad:
        return rng.choice(subjects()[objects[0]])
    if rng.random() < 0.25:
        return rng.choice(subjects()[rng.choice(list(subjects()))])
    if rng.random() < 0.04:
        return letters()
    return rng.choice(BAD)


def arguments(call: Any, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a call: often one of them is bad, at times none or several, and at times one is
    missing or unknown."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    used = [
        each
        for each in parameters
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        and (rng.random() < 0.98 if each.default is each.empty else rng.random() < 0.35)
    ]
    way = rng.choice(["good", "one", "one", "one", "some"])
    wrong = {
        "good": set(),
        "one": {rng.choice(used).name} if used else set(),
        "some": {each.name for each in used if rng.random() < 0.5},
    }[way]
    by_place: list[Any] = []
    by_name: dict[str, Any] = {}
    for each in used:
        value = value_for(each.name, rng, each.name in wrong)
        is_next = each is (parameters[len(by_place)] if len(by_place) < len(parameters) else None)
        if each.kind is each.KEYWORD_ONLY or not is_next:
            if each.kind is not each.POSITIONAL_ONLY:
                by_name[each.name] = value
        else:
            by_place.append(value)
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL and len(by_place) == parameters.index(each):
            by_place += [value_for(each.name, rng, way != "good") for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.02:
        by_name["nonsense"] = 1
    return by_place, by_name


def takes_arguments(target: Target) -> bool:
    """Whether a target is called with arguments."""
    if target.owner is None or target.attribute in BINARY:
        return True
    static = inspect.getattr_static(target.owner, target.attribute)
    is_called = callable(static) or isinstance(static, (classmethod, staticmethod))
    return is_called and target.attribute not in OPERATORS


def number_of_calls(target: Target, place: int, thorough: bool) -> int:
    """How often a target is called, at some place of its group."""
    if not thorough:
        return int(place % 4 == 0 if not takes_arguments(target) else place % 2 == 0)
    return CALLS_WITH_ARGUMENTS if takes_arguments(target) else 5


CALLS_WITH_ARGUMENTS = 30


class Ended(NamedTuple):
    """How a call ended: "result", "refusal", "signature" or "fault", and what was seen."""

    how: str
    detail: str = ""


def thing_of(target: Target, rng: random.Random) -> tuple[Any, bool] | None:
    """What is called and whether it is called with arguments; None if there is no such object."""
    if target.owner is None:
        return documented()[target.name], True
    kind, attribute = target.owner, target.attribute
    static = inspect.getattr_static(kind, attribute)
    if isinstance(static, (classmethod, staticmethod)):
        concrete = [each for each in subjects() if issubclass(each, kind)]
        is_abstract = inspect.isabstract(kind) and concrete
        return getattr(rng.choice(concrete) if is_abstract else kind, attribute), True
    owners = [
        each for known, ones in subjects().items() if issubclass(known, kind) for each in ones
    ]
    if not owners:
        return None
    owner = rng.choice(owners)
    if attribute in OPERATORS:
        act = OPERATORS[attribute]
        if attribute == "__eq__":  # foreign objects answer for themselves, some by an error
            others = [*owners, *PLAIN, *itertools.chain.from_iterable(subjects().values())]
            other = rng.choice(others)
            return (lambda: act(owner, other)), False
        if attribute in BINARY:
            other = value_for("other", rng, True) if rng.random() < 0.8 else rng.choice(owners)
            return (lambda: act(owner, other)), False
        return (lambda: act(owner)), False
    if not callable(static) or isinstance(static, property):
        return (lambda: getattr(owner, attribute)), False
    return getattr(owner, attribute), True


def try_call(target: Target, seed: int, guard: Callable[[Callable[[], Any]], Any]) -> Ended:
    """Call a target once, with arguments that follow from the seed."""
    rng = random.Random(f"{target.name} {seed}")
    made = thing_of(target, rng)
    if made is None:
        return Ended("none")
    call, takes = made
    by_place, by_name = arguments(call, rng) if takes else ([], {})
    given = [*map(short, by_place), *(f"{name}={short(value)}" for name, value in by_name.items())]
    shown = f"{target.name}({', '.join(given)})"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            guard(lambda: consumed(call(*by_place, **by_name)))
            ended = Ended("result")
        except LdpoptError as error:
            ended = Ended("refusal", type(error).__name__)
        except TypeError as error:
            ended = (
                Ended("signature")
                if is_signature(error)
                else Ended("fault", f"{shown}\n{described(error)}")
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also the end of the time
            ended = Ended("fault", f"{shown}\n{described(error)}")
    leaks = [each for each in caught if issubclass(each.category, RuntimeWarning)]
    if leaks and ended.how != "fault":
        where = f"{leaks[0].filename}:{leaks[0].lineno}"
        return Ended("fault", f"{shown}\nwarning: {leaks[0].message} {where}")
    return ended


def consumed(result: Any) -> Any:
    """The result; a lazy one is read a little."""
    if hasattr(result, "__next__") and not hasattr(result, "read"):
        return list(itertools.islice(result, 3))
    return result


def is_signature(error: TypeError) -> bool:
    """Whether Python raised the error at the call itself: no frame of the library is in the
    traceback."""
    trace = error.__traceback__
    while trace is not None:
        if "/ldpopt/" in trace.tb_frame.f_code.co_filename:
            return False
        trace = trace.tb_next
    return True


def described(error: BaseException) -> str:
    """The error, and the last places in the library."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/ldpopt/" in name:
            places.append(f"{name.rpartition('/ldpopt/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:150]} at {' > '.join(places[:1] + places[-2:])}"


def short(value: Any) -> str:
    """A value on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 70 else f"{text[:66]} ..."
