"""What a model file says is what is built."""

from __future__ import annotations

import numpy as np
import pytest

from ldpopt.privacy import PureLDP
from ldpopt.problem.modelfile import Expect, load_model, read_model
from ldpopt.problem.utility import NAMED, named


def test_a_model_has_all_entries_of_its_file(survey, write, same):
    model = read_model(write(survey))
    assert (model.title, model.source, model.solver, model.time_limit) == (
        "Survey",
        "nobody",
        "highs",
        60.0,
    )
    assert model.expect == Expect(0.8, 1e-9)
    assert model.problem.inputs == model.problem.outputs == ("no", "yes")
    assert model.problem.prior is not None
    assert model.problem.prior.tolist() == [0.2, 0.8]
    assert model.problem.privacy == PureLDP(0.1)
    assert same(load_model(write(survey)), model.problem)


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
def test_every_form_of_prior(survey, write, prior, expected):
    problem = load_model(write(survey.replace("values = [0.2, 0.8]", prior)))
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
        (
            '[alphabet]\ninputs = 4\n[prior]\nuniform = true\n[privacy]\nkind = "pure"\nepsilon '
            "= 1",
            (0, 1, 2, 3),
        ),
        (
            'objective = "worst_case"\n[utility]\ngain = [[1, 0], [0, 1]]\n[privacy]\nkind = '
            '"pure"\nepsilon = 1',
            (0, 1),
        ),
    ],
)
def test_the_inputs_may_follow_from_other_tables(write, text, inputs):
    assert load_model(write(text)).inputs == inputs


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
def test_every_neighbor_graph(write, privacy, lines, edges):
    problem = load_model(write(privacy(f'kind = "graph"\nepsilon = "log(3)"\nneighbors = {lines}')))
    assert {frozenset(edge) for edge in problem.privacy.graph.edges} == {
        frozenset(edge) for edge in edges
    }
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
def test_every_distance(write, privacy, lines, first_row):
    problem = load_model(write(privacy(f'kind = "metric"\nepsilon = 1\n{lines}')))
    assert problem.privacy.distance[0].tolist() == first_row


def test_numeric_labels_give_the_distance(write, privacy):
    text = privacy('kind = "metric"\nepsilon = 1\ndistance = "absolute"', inputs="[0, 2, 7]")
    assert load_model(write(text)).privacy.distance[0].tolist() == [0, 2, 7]


UTILITIES = {
    "absolute_error": ("loss", [[0, 1, 2], [3, 2, 1]]),
    "squared_error": ("loss", [[0, 1, 4], [9, 4, 1]]),
}
"""Gains or losses between the numbers 0, 3 of the answers and 0, 1, 2 of the reports."""


@pytest.mark.parametrize("kind", [name for name in NAMED if name != "identity"])
def test_utilities_with_numbers_of_their_own(survey, write, kind):
    assert kind in UTILITIES, f"UTILITIES has no sense and table of {kind!r}"
    sense, table = UTILITIES[kind]
    text = survey.replace(
        'kind = "identity"', f'kind = "{kind}"\nvalues = [0, 3]\noutputs = [0, 1, 2]'
    ).replace('"yes"]', '"yes"]\noutputs = ["low", "mid", "high"]')
    problem = load_model(write(text))
    for utility in (problem.utility, named(kind, (0, 3), (0, 1, 2))):
        assert (utility.sense, utility.matrix.tolist()) == (sense, table)


def test_windows_text_is_read(survey, write, same, tmp_path):
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xef\xbb\xbf" + survey.replace("\n", "\r\n").encode())
    assert same(load_model(path), load_model(write(survey)))
