"""Model files: what they say is what is built, what is written reads back, and every mistake has its line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import constraints, neighbors, utility
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.modelfile import Expect, Model, build, load_model, parts, read_model, save_model
from ldpopt.modelfile.text import line_of
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.problem import Problem

GOOD = """\
title = "Survey"
source = "nobody"

[alphabet]
inputs = ["no", "yes"]

[prior]
values = [0.2, 0.8]

[utility]
kind = "identity"

[privacy]
kind = "pure"
epsilon = 0.1

[solver]
name = "highs"
time_limit = 60

[expect]
value = 0.8
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.toml"
    path.write_text(text, encoding="utf-8")
    return path


def privacy(lines: str, *, inputs: str = '["a", "b", "c"]') -> str:
    return f"[alphabet]\ninputs = {inputs}\n[prior]\nuniform = true\n[privacy]\n{lines}\n"


def same(one: Problem, other: Problem) -> bool:
    """Equal statements, part by part; the notion by the rows it writes and the exact budget it names."""

    def key(problem: Problem) -> list[Any]:
        rows = problem.privacy.rows(problem.inputs, len(problem.outputs))
        blocks = [rows, *problem.constraints]
        return [
            problem.inputs,
            problem.outputs,
            problem.objective,
            problem.utility.sense,
            problem.utility.matrix.tolist(),
            None if problem.prior is None else problem.prior.tolist(),
            type(problem.privacy),
            problem.privacy.epsilon.nats,
            problem.privacy.epsilon.ratio,
            getattr(problem.privacy, "form", None),
            *(
                (b.name, *(getattr(b, a).tolist() for a in ("row", "x", "y", "coefficient", "lower", "upper")))
                for b in blocks
            ),
        ]

    return key(one) == key(other)


def test_a_model_is_what_the_file_says(tmp_path: Path) -> None:
    model = read_model(write(tmp_path, GOOD))
    assert (model.title, model.source, model.solver, model.time_limit) == ("Survey", "nobody", "highs", 60.0)
    assert model.expect == Expect(0.8, 1e-9)
    assert model.problem.inputs == model.problem.outputs == ("no", "yes")
    assert model.problem.prior is not None
    assert model.problem.prior.tolist() == [0.2, 0.8]
    assert model.problem.privacy == PureLDP(0.1)
    assert same(load_model(write(tmp_path, GOOD)), model.problem)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ("values = [0.25, 0.75]", [0.25, 0.75]),
        ("weights = { no = 1, yes = 3 }", [0.25, 0.75]),
        ("weights = { yes = 3, no = 1 }", [0.25, 0.75]),
        ("uniform = true", [0.5, 0.5]),
        ('dataset = "fair:affairs"', [4313 / 6366, 2053 / 6366]),
    ],
)
def test_every_form_of_prior(tmp_path: Path, prior: str, expected: list[float]) -> None:
    problem = load_model(write(tmp_path, GOOD.replace("values = [0.2, 0.8]", prior)))
    assert problem.prior is not None
    np.testing.assert_allclose(problem.prior, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ('[prior]\nweights = { b = 1, a = 2 }\n[privacy]\nkind = "pure"\nepsilon = 1', ("b", "a")),
        ('[prior]\nvalues = [0.5, 0.5]\n[privacy]\nkind = "pure"\nepsilon = 1', (0, 1)),
        (
            '[prior]\ndataset = "fair:religious"\n[privacy]\nkind = "pure"\nepsilon = 1',
            ("not", "mildly", "fairly", "strongly"),
        ),
        (
            '[alphabet]\ninputs = [1, 2.5]\n[prior]\nweights = { 1 = 1, "2.5" = 1 }\n'
            '[privacy]\nkind = "pure"\nepsilon = 1',
            (1, 2.5),
        ),
        ('objective = "worst_case"\n[utility]\ngain = [[1, 0], [0, 1]]\n[privacy]\nkind = "pure"\nepsilon = 1', (0, 1)),
    ],
)
def test_the_alphabet_may_follow_from_the_rest(tmp_path: Path, text: str, inputs: tuple[Any, ...]) -> None:
    assert load_model(write(tmp_path, text)).inputs == inputs


@pytest.mark.parametrize(
    ("lines", "edges"),
    [
        ('{ kind = "path" }', [("a", "b"), ("b", "c")]),
        ('{ kind = "cycle" }', [("a", "b"), ("b", "c"), ("a", "c")]),
        ('{ kind = "complete" }', [("a", "b"), ("b", "c"), ("a", "c")]),
        ('{ kind = "grid", rows = 3, columns = 1 }', [("a", "b"), ("b", "c")]),
        ('{ edges = [["a", "c"], ["c", "b"]] }', [("a", "c"), ("b", "c")]),
    ],
)
def test_every_neighbor_graph(tmp_path: Path, lines: str, edges: list[tuple[str, str]]) -> None:
    problem = load_model(write(tmp_path, privacy(f'kind = "graph"\nepsilon = "log(3)"\nneighbors = {lines}')))
    assert {frozenset(edge) for edge in problem.privacy.graph.edges} == {frozenset(edge) for edge in edges}
    assert problem.privacy.epsilon.ratio == 3


@pytest.mark.parametrize(
    ("lines", "first_row"),
    [
        ('distance = "absolute"', [0, 1, 2]),
        ('distance = "absolute"\nvalues = [0, 1, 4]', [0, 1, 4]),
        ('distance = "euclidean"\npoints = [[0, 0], [3, 4], [0, 1]]', [0, 5, 1]),
        ('distance = "euclidean"\nvalues = [1, 2, 5]', [0, 1, 4]),
        ("distance = [[0, 1, 2], [1, 0, 2], [2, 2, 0]]", [0, 1, 2]),
    ],
)
def test_every_distance(tmp_path: Path, lines: str, first_row: list[float]) -> None:
    problem = load_model(write(tmp_path, privacy(f'kind = "metric"\nepsilon = 1\n{lines}')))
    assert problem.privacy.distance[0].tolist() == first_row


def test_labels_that_are_numbers_give_the_distance(tmp_path: Path) -> None:
    text = privacy('kind = "metric"\nepsilon = 1\ndistance = "absolute"', inputs="[0, 2, 7]")
    assert load_model(write(tmp_path, text)).privacy.distance[0].tolist() == [0, 2, 7]


def test_utilities_with_numbers_of_their_own(tmp_path: Path) -> None:
    text = GOOD.replace('kind = "identity"', 'kind = "squared_error"\nvalues = [0, 3]\noutputs = [0, 1, 2]').replace(
        '"yes"]', '"yes"]\noutputs = ["low", "mid", "high"]'
    )
    problem = load_model(write(tmp_path, text))
    assert problem.utility.matrix.tolist() == [[0, 1, 4], [9, 4, 1]]
    assert problem.utility.sense == "loss"


def test_windows_text_reads_alike(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert same(load_model(path), load_model(write(tmp_path, GOOD)))


# --- Mistakes: one clear line each, with file, key and line ---------------------------------------------------------

BAD = [
    # what is wrong in GOOD: old text, new text, where it is said to be, words of the message
    ("epsilon = 0.1", "epsilom = 0.1", ":15: privacy.epsilom", "unknown key 'epsilom' do: did you mean 'epsilon'"),
    ("[solver]", "[sovler]", ":17: sovler", "unknown key 'sovler' do: did you mean 'solver'"),
    ("value = 0.8", "value = 0.8\nobjective = 'worst_case'", ":23: expect.objective", "belongs to the top of the file"),
    ("epsilon = 0.1", "epsilon = 0.1\ntime_limit = 3", ":16: privacy.time_limit", "it belongs to [solver]"),
    ("epsilon = 0.1", "epsilon = = 0.1", ":15", "no TOML: invalid value"),
    ("inputs = [", "inputs = [[", ":7", "no TOML: unclosed array"),
    ("epsilon = 0.1", "epsilon = 0.1\nepsilon = 0.2", ":16", "no TOML: cannot overwrite a value"),
    ("epsilon = 0.1", "", ":13: privacy.epsilon", "the key privacy.epsilon is missing"),
    ('kind = "pure"\n', "", ":13: privacy.kind", "kind is missing"),
    ('[privacy]\nkind = "pure"\nepsilon = 0.1\n', "", "model.toml: privacy", "the key privacy is missing"),
    ("[prior]\nvalues = [0.2, 0.8]\n", "", "model.toml: prior", "[prior] is missing do: worst_case"),
    ("epsilon = 0.1", "epsilon = -0.1", ":15: privacy.epsilon", "epsilon = -0.1 is negative"),
    ("epsilon = 0.1", "epsilon = nan", ":15: privacy.epsilon", "privacy.epsilon = nan is no finite number"),
    ("epsilon = 0.1", "epsilon = inf", ":15: privacy.epsilon", "privacy.epsilon = inf is no finite number"),
    ("epsilon = 0.1", "epsilon = true", ":15: privacy.epsilon", "= true: should be a valid number or a valid string"),
    ("epsilon = 0.1", "epsilon = [1]", ":15: privacy.epsilon", "should be a valid number or a valid string"),
    ("epsilon = 0.1", 'epsilon = "log(1/2)"', ":15: privacy.epsilon", "'log(1/2)' is negative"),
    ("epsilon = 0.1", 'epsilon = "__import__(1)"', ":15: privacy.epsilon", "is no number"),
    ("epsilon = 0.1", "epsilon = 2024-01-01", ":15: privacy.epsilon", "should be a valid number"),
    ("epsilon = 0.1", "epsilon = " + "9" * 400, ":15: privacy.epsilon", "beyond 2^53"),
    ("epsilon = 0.1", "epsilon = " + "9" * 5000, "model.toml", "no TOML: exceeds the limit"),
    ("epsilon = 0.1", "epsilon = " + "[" * 5000, "model.toml", "nested deeper than 8"),
    ("epsilon = 0.1", "epsilon = " + "[" * 20 + "]" * 20, ":15: privacy.epsilon", "nested deeper than 8"),
    ("epsilon = 0.1", "a." * 40 + "b = 1", ":15", "dotted parts"),
    ('kind = "pure"', 'kind = "pur"', ":14: privacy.kind", "unknown privacy notion 'pur' do: did you mean 'pure'"),
    ('kind = "pure"', 'kind = "approximate"', ":13: privacy.delta", "delta is missing"),
    ('kind = "pure"', 'kind = "approximate"\ndelta = 1.5', ":15: privacy.delta", "delta = 1.5 is not in [0, 1]"),
    ('kind = "pure"', 'kind = "approximate"\ndelta = 0\nform = "exact"', ":16: privacy.form", "'event' or 'entry'"),
    ('"no", "yes"', '"no", "no"', ":5: alphabet.inputs", "the input label 'no' stands twice"),
    ('"no", "yes"', '"no", true', ":5: alphabet.inputs[1]", "= true: should be"),
    ('"no", "yes"', "", ":5: alphabet.inputs", "should have at least 1 item"),
    ('"no", "yes"', '"no", "yes", "perhaps"', ":8: prior.values", "the prior has 2 values for 3 inputs"),
    ("[0.2, 0.8]", "[0.2, 0.7]", ":8: prior.values", "the prior sums to 0.9, not 1"),
    ("[0.2, 0.8]", "[-0.2, 1.2]", ":8: prior.values", "prior[0] = -0.2 is no probability"),
    ("[0.2, 0.8]", '[0.2, "x"]', ":8: prior.values[1]", "prior.values[1] = 'x': should be a valid number"),
    ("[0.2, 0.8]", "[0.2, 0.8]\nuniform = true", ":9: prior.uniform", "[prior] states values and uniform at once"),
    ("values = [0.2, 0.8]", "", ":7: prior", "[prior] is empty"),
    ("values = [0.2, 0.8]", "uniform = false", ":8: prior.uniform", "= false: should be"),
    ("values = [0.2, 0.8]", "weights = { no = 1, yse = 2 }", ":8: prior.weights", "'yse', which do: 'yes'"),
    ("values = [0.2, 0.8]", "weights = { no = 1 }", ":8: prior.weights", "gives no weight to input 'yes'"),
    ("values = [0.2, 0.8]", "weights = { no = 0, yes = 0 }", ":8: prior.weights", "the weights sum to 0"),
    ("values = [0.2, 0.8]", "weights = { no = 2, yes = -1 }", ":8: prior.weights.yes", "below zero"),
    ("values = [0.2, 0.8]", 'dataset = "fair:affair"', ":8: prior.dataset", "unknown data set do: 'fair:affairs'"),
    ("values = [0.2, 0.8]", 'dataset = "../prior.csv"', ":8: prior.dataset", "unknown data set"),
    ("values = [0.2, 0.8]", 'dataset = "fair:religious"', ":8: prior.dataset", "'not', which is no input"),
    ('kind = "identity"', 'kind = "identiti"', ":11: utility.kind", "unknown kind 'identiti' do: 'identity'"),
    ('kind = "identity"', "gain = [[1, 0], [0]]", ":11: utility.gain", "gain matrix is no rectangular array"),
    ('kind = "identity"', "gain = [[1, 0]]", ":11: utility.gain", "the utility has shape (1, 2)"),
    ('kind = "identity"', 'kind = "identity"\nloss = [[0]]', ":12: utility.loss", "states kind and loss at once"),
    ('kind = "identity"', 'kind = "identity"\nvalues = [0, 1]', ":12: utility.values", "values says nothing"),
    ('kind = "identity"', 'kind = "absolute_error"\noutputs = [0]', ":12: utility.outputs", "needs values"),
    ("time_limit = 60", "time_limit = 0", ":19: solver.time_limit", "greater than 0"),
    ("value = 0.8", 'value = "0.8"', ":22: expect.value", "expect.value = '0.8': should be a valid number"),
    ("[expect]\n", "[expect]\ntolerance = -1\n", ":22: expect.tolerance", "greater than or equal to 0"),
    ('title = "Survey"', "title = 3", ":1: title", "title = 3: should be a valid string"),
    ('title = "Survey"', 'objective = "best"', ":1: objective", "'expected' or 'worst_case'"),
    ('title = "Survey"', 'objective = "worst_case"', ":7: prior", "a worst case has no prior"),
    ("[expect]", '[[constraints]]\nkind = "fair"\n[expect]', ":22: constraints[0].kind", "unknown constraint 'fair'"),
    ("[expect]", '[[constraints]]\nkind = "unbiased"\n[expect]', ":21: constraints[0]", "values is missing"),
    ("[expect]", '[[constraints]]\nkind = "unbiased"\nvalue = [1]\n[expect]', ":23: constraints[0].value", "'values'"),
    ("[expect]", '[[constraints]]\nkind = "unbiased"\nvalues = [1]\n[expect]', ":23: constraints[0].values", "1 entr"),
]


def one_line(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    line = caught.value.one_line
    assert "\n" not in line
    assert len(line) < 600
    assert str(path) in line
    return line


@pytest.mark.parametrize(("old", "new", "where", "words"), BAD, ids=[new[:40] or old[:40] for old, new, _, _ in BAD])
def test_every_mistake_has_its_line(tmp_path: Path, old: str, new: str, where: str, words: str) -> None:
    assert old in GOOD
    line = one_line(write(tmp_path, GOOD.replace(old, new, 1)))
    assert line.split("where: ")[1].split(" | ")[0].endswith(where), line
    for part in words.split(" do: "):
        assert part in line


@pytest.mark.parametrize(
    ("lines", "where", "words"),
    [
        ('neighbors = { kind = "line" }', ":7: privacy.neighbors.kind", "'complete', 'path'"),
        ("neighbors = { }", ":7: privacy.neighbors", "state either a kind of neighbors or their edges"),
        ('neighbors = { kind = "path", edges = [["a", "b"]] }', ":7: privacy.neighbors", "either a kind"),
        ('neighbors = { kind = "grid" }', ":7: privacy.neighbors", "rows, columns"),
        ('neighbors = { kind = "grid", rows = 2, columns = 2 }', ":7: privacy.neighbors", "3 labels for a grid"),
        ('neighbors = { kind = "path", rows = 2 }', ":7: privacy.neighbors", "rows, columns"),
        ('neighbors = { kind = "path", kid = 2 }', ":7: privacy.neighbors.kid", "did you mean 'kind'"),
        ('neighbors = { edges = [["a", "b"], ["b", "d"]] }', ":7: privacy.neighbors.edges[1]", "'d', which is"),
        ('neighbors = { edges = [["a", "b", "c"]] }', ":7: privacy.neighbors.edges[0]", "at most 2 items"),
        ('neighbors = { edges = [["a", "a"]] }', ":7: privacy.neighbors.edges[0]", "ties an input to itself"),
        ('neighbors = { edges = [["a", "b"]] }', ":7: privacy.neighbors", "falls into 2 parts"),
        ("neighbors = 3", ":7: privacy.neighbors", "should be a valid dictionary"),
    ],
)
def test_mistakes_in_graphs(tmp_path: Path, lines: str, where: str, words: str) -> None:
    line = one_line(write(tmp_path, privacy(f'kind = "graph"\n{lines}\nepsilon = 1')))
    assert where in line
    assert words in line


@pytest.mark.parametrize(
    ("lines", "where", "words"),
    [
        ('distance = "euclid"', ":7: privacy.distance", "'absolute' or 'euclidean'"),
        ('distance = "euclidean"', ":7: privacy.distance", "needs points"),
        ('distance = "euclidean"\npoints = [[0, 0], [1, 1]]', ":8: privacy.points", "2 entries for 3 inputs"),
        ('distance = "euclidean"\npoints = [[0, 0], [1, 1], [2]]', ":8: privacy.points", "rectangular"),
        ('distance = "euclidean"\npoints = [[0, 0], [1, 1], [1, 1]]', ":7: privacy.distance", "not positive"),
        ('distance = "absolute"\npoints = [[0], [1], [2]]', ":8: privacy.points", "points are for"),
        ("distance = [[0, 1], [1, 0]]", ":7: privacy.distance", "there are 3 inputs"),
        ("distance = [[0, 1, 1], [2, 0, 1], [1, 1, 0]]", ":7: privacy.distance", "mirror"),
        ("distance = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]\nvalues = [1]", ":8: privacy.values", "beside a distance"),
    ],
)
def test_mistakes_in_distances(tmp_path: Path, lines: str, where: str, words: str) -> None:
    line = one_line(write(tmp_path, privacy(f'kind = "metric"\n{lines}\nepsilon = 1')))
    assert where in line
    assert words in line


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "No such file" in one_line(tmp_path / "nowhere.toml")
    assert "Is a directory" in one_line(tmp_path)
    binary = tmp_path / "image.png"
    binary.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    assert "no UTF-8 text (byte 0)" in one_line(binary)
    assert "the key privacy is missing" in one_line(write(tmp_path, ""))
    with pytest.raises(ModelFileError, match="null byte"):
        load_model("a\0b")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpopt.modelfile.text.LARGEST_FILE", 100)
    assert "larger than 100 bytes" in one_line(write(tmp_path, GOOD))


PIECES = [*"[]{}=\"'\n.-0#,\\\x00\u2028", "1e999", "nan", "kind", "true"]
EDITS = st.tuples(st.integers(0, len(GOOD)), st.integers(0, 8), st.sampled_from(PIECES))


@given(st.lists(EDITS, min_size=1, max_size=4))
def test_a_spoiled_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int, str]]
) -> None:
    text = GOOD
    for at, cut, piece in edits:
        text = text[:at] + piece + text[at + cut :]
    path = tmp_path_factory.getbasetemp() / "spoiled.toml"
    path.write_text(text, encoding="utf-8")
    refusal = None
    try:
        load_model(path)
    except ModelFileError as error:
        refusal = error
    if refusal is not None:
        assert str(path) in refusal.where
        assert "\n" not in refusal.one_line


def test_line_of_sees_through_strings_and_arrays() -> None:
    text = 'a = """\n[b]\nc = 1\n"""\nd = [\n  ["x"],\n  [ "e = 1" ],\n] # [b]\n[[b]]\nc = 1\n[[b]]\nq.c = 2\n"c" = 3\n'
    assert line_of(text, ("b", 0, "c")) == 10
    assert line_of(text, ("b", 1, "c")) == 13
    assert line_of(text, ("b", 1, "q", "c")) == 12
    assert line_of(text, ("d", 1, 0)) == 5
    assert line_of(text, ("z",)) is None


# --- What is written reads back -------------------------------------------------------------------------------------

LETTERS = ["a", "b", "c"]
MATRIX = [[0.1, 1 / 3, -2.0], [0.0, 1e-300, 7.0], [3.0, 2.0, 1.0]]
PROBLEMS = [
    Problem([0.2, 0.8], "identity", PureLDP(0.1), inputs=["no", "yes"]),
    Problem([1 / 3, 1 / 3, 1 / 3], "absolute_error", PureLDP("log(7/2)"), inputs=LETTERS),
    Problem({"x": 1, 'quo"te\\ \t\u00e9\x7f': 2}, "identity", PureLDP("1/3")),
    Problem([0.5, 0.3, 0.2], MATRIX, PureLDP("0.1"), inputs=LETTERS, outputs=[1, 2.5, "z"]),
    Problem([0.5, 0.3, 0.2], utility.table(MATRIX, "loss"), ApproximateLDP(1, 0.1, form="entry")),
    Problem([0.5, 0.3, 0.2], "squared_error", ApproximateLDP("log(2)", 0.0), inputs=[1, 2, 4]),
    Problem([0.5, 0.3, 0.2], "identity", GraphDP(1, neighbors.path(LETTERS)), inputs=LETTERS),
    Problem([0.5, 0.3, 0.2], "identity", GraphDP(1, nx.star_graph(2))),
    Problem([0.25] * 4, "identity", GraphDP(1, neighbors.cycle(range(4)))),
    Problem([1 / 6] * 6, "identity", GraphDP(1, neighbors.grid(2, 3, "abcdef")), inputs=list("abcdef")),
    Problem([0.5, 0.5], "identity", GraphDP(2.5, neighbors.path([0, 1]))),
    Problem([0.5, 0.3, 0.2], "identity", MetricDP(1, lambda x, y: abs(x - y) / 3)),
    Problem(None, "identity", PureLDP(1), inputs=LETTERS, objective="worst_case"),
    Problem(
        [0.5, 0.5], utility.squared_error([-1, 1], [-3, 0, 3]), PureLDP(1),
        constraints=[constraints.unbiased([-1, 1], [-3, 0, 3]), constraints.linear([[1, 0, 0.0]] * 2, upper=0.7)],
    ),
]  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem.privacy).__name__)
def test_a_problem_reads_back_equal(tmp_path: Path, problem: Problem) -> None:
    save_model(problem, tmp_path / "saved.toml")
    again = load_model(tmp_path / "saved.toml")
    assert same(problem, again)
    save_model(again, tmp_path / "twice.toml")
    assert (tmp_path / "twice.toml").read_bytes() == (tmp_path / "saved.toml").read_bytes()


def test_a_model_reads_back_whole(tmp_path: Path) -> None:
    model = Model(PROBLEMS[0], 'A "title"', "line\nline", "cbc", 1.5, Expect(0.8, 0.0))
    save_model(model, tmp_path / "saved.toml")
    again = read_model(tmp_path / "saved.toml")
    assert (again.title, again.source, again.solver, again.time_limit, again.expect) == (
        model.title, model.source, model.solver, model.time_limit, model.expect,
    )  # fmt: skip


labels = st.one_of(st.text(st.characters(codec="utf-8")), st.integers(-99, 99), st.floats(-9, 9))


@given(st.lists(labels, min_size=2, max_size=5, unique=True), st.data())
def test_any_statement_reads_back(tmp_path_factory: pytest.TempPathFactory, names: list[Any], data: Any) -> None:
    n = len(names)
    numbers = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2)
    gain = data.draw(st.lists(numbers, min_size=n, max_size=n))
    epsilon = data.draw(st.one_of(st.floats(0, 100), st.fractions(0, 50).map(str), st.just("log(5/3)")))
    problem = Problem([1 / n] * n, gain, PureLDP(epsilon), inputs=names, outputs=["u", "v"])
    path = tmp_path_factory.getbasetemp() / "any.toml"
    save_model(problem, path)
    assert same(problem, load_model(path))


def test_what_has_no_form_is_refused_and_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD)
    cells = Problem([0.5, 0.5], "identity", PureLDP(1), inputs=[(0, 0), (0, 1)])
    with pytest.raises(StatementError, match=r"the label \(0, 0\) has no form"):
        save_model(cells, path)
    rows = constraints.unbiased([1, 1], [0, 2])
    by_hand = type(rows)("mine", rows.row, rows.x, rows.y, rows.coefficient, rows.lower - 1, rows.upper)
    with pytest.raises(StatementError, match="'mine' has no form"):
        save_model(Problem([0.5, 0.5], "identity", PureLDP(1), constraints=by_hand), path)
    monkeypatch.setattr("ldpopt.modelfile.LARGEST_FILE", 10)
    with pytest.raises(StatementError, match="a model file has at most 10"):
        save_model(PROBLEMS[0], path)
    assert path.read_text() == GOOD


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot write the file"):
        save_model(PROBLEMS[0], tmp_path / "no" / "folder" / "x.toml")


@dataclass(frozen=True)
class Doubled:
    """A notion of somebody else."""

    epsilon: float
    factor: int = 2

    def rows(self, inputs: Any, n_outputs: int) -> Any:
        return PureLDP(self.epsilon * self.factor).rows(inputs, n_outputs)

    def audit(self, channel: Any) -> Any:
        return PureLDP(self.epsilon * self.factor).audit(channel)


def test_an_installed_notion_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (build, parts):
        monkeypatch.setattr(module, "installed", lambda: {"doubled": Doubled})
    problem = load_model(write(tmp_path, GOOD.replace('kind = "pure"', 'kind = "doubled"\nfactor = 3')))
    assert problem.privacy == Doubled(0.1, 3)
    save_model(problem, tmp_path / "saved.toml")
    assert load_model(tmp_path / "saved.toml").privacy == Doubled(0.1, 3)
    line = one_line(write(tmp_path, GOOD.replace('kind = "pure"', 'kind = "doubled"\nfacto = 3')))
    assert ":15: privacy.facto" in line
    assert "did you mean 'factor'" in line
    line = one_line(write(tmp_path, GOOD.replace('kind = "pure"\nepsilon = 0.1', 'kind = "doubled"')))
    assert ":13: privacy" in line
    assert "refused its keys" in line
