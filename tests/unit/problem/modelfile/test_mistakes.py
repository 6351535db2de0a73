"""Every mistake in a model file has one clear line, with file, key and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused
from ldpopt.errors import ModelFileError
from ldpopt.problem.modelfile import load_model
from ldpopt.problem.modelfile.page import line_of

BAD = [
    # what is wrong in the survey: old text, new text, place in the message, code ("" if the part
    # that refuses has none), value in the message
    (
        "epsilon = 0.1",
        "epsilom = 0.1",
        ":15: privacy.epsilom",
        "unknown-key",
        "'epsilon'",
    ),
    ("[solver]", "[sovler]", ":17: sovler", "unknown-key", "'solver'"),
    (
        "value = 0.8",
        "value = 0.8\nobjective = 'worst_case'",
        ":23: expect.objective",
        "unknown-key",
        "",
    ),
    (
        "epsilon = 0.1",
        "epsilon = 0.1\ntime_limit = 3",
        ":16: privacy.time_limit",
        "unknown-key",
        "[solver]",
    ),
    ("epsilon = 0.1", "epsilon = = 0.1", ":15", "syntax", "invalid value"),
    ("inputs = [", "inputs = [[", ":7", "syntax", "unclosed array"),
    ("epsilon = 0.1", "epsilon = 0.1\nepsilon = 0.2", ":16", "syntax", "cannot overwrite"),
    ("epsilon = 0.1", "", ":13: privacy.epsilon", "", "privacy.epsilon"),
    ('kind = "pure"\n', "", ":13: privacy.kind", "missing-kind", ""),
    (
        '[privacy]\nkind = "pure"\nepsilon = 0.1\n',
        "",
        "model.toml: privacy",
        "missing-key",
        "",
    ),
    (
        "[prior]\nvalues = [0.2, 0.8]\n",
        "",
        "model.toml: prior",
        "missing-prior",
        "worst_case",
    ),
    ("epsilon = 0.1", "epsilon = -0.1", ":15: privacy.epsilon", "", "epsilon = -0.1"),
    (
        "epsilon = 0.1",
        "epsilon = nan",
        ":15: privacy.epsilon",
        "finite-number",
        "= nan",
    ),
    (
        "epsilon = 0.1",
        "epsilon = inf",
        ":15: privacy.epsilon",
        "finite-number",
        "= inf",
    ),
    ("epsilon = 0.1", "epsilon = true", ":15: privacy.epsilon", "", "epsilon = True"),
    ("epsilon = 0.1", "epsilon = [1]", ":15: privacy.epsilon", "", "epsilon = [1]"),
    ("epsilon = 0.1", 'epsilon = "log(1/2)"', ":15: privacy.epsilon", "", "'log(1/2)'"),
    ("epsilon = 0.1", 'epsilon = "__import__(1)"', ":15: privacy.epsilon", "", "'__import__(1)'"),
    ("epsilon = 0.1", "epsilon = 2024-01-01", ":15: privacy.epsilon", "", "date(2024, 1, 1)"),
    ("epsilon = 0.1", "epsilon = " + "9" * 400, ":15: privacy.epsilon", "large-integer", "2^53"),
    ("epsilon = 0.1", "epsilon = " + "9" * 5000, "model.toml", "syntax", ""),
    ("epsilon = 0.1", "epsilon = " + "[" * 5000, "model.toml", "depth", "8"),
    (
        "epsilon = 0.1",
        "epsilon = " + "[" * 20 + "]" * 20,
        ":15: privacy.epsilon",
        "depth",
        "8",
    ),
    ("epsilon = 0.1", "a." * 40 + "b = 1", ":15", "long-name", ""),
    (
        'kind = "pure"',
        'kind = "pur"',
        ":14: privacy.kind",
        "",
        "'pure'",
    ),
    ('kind = "pure"', 'kind = "approximate"', ":13: privacy.delta", "", "privacy.delta"),
    (
        'kind = "pure"',
        'kind = "approximate"\ndelta = 1.5',
        ":15: privacy.delta",
        "",
        "delta = 1.5",
    ),
    (
        'kind = "pure"',
        'kind = "approximate"\ndelta = 0\nform = "exact"',
        ":16: privacy.form",
        "",
        "form = 'exact'",
    ),
    ('"no", "yes"', '"no", "no"', ":5: alphabet.inputs", "", "label 'no'"),
    ('"no", "yes"', '"no", true', ":5: alphabet.inputs[1]", "type", "= true"),
    ('"no", "yes"', "", ":5: alphabet.inputs", "type", "= []"),
    (
        '["no", "yes"]',
        "1",
        ":5: alphabet.inputs",
        "number-of-answers",
        "10000000",
    ),
    ('["no", "yes"]', "true", ":5: alphabet.inputs", "type", "= true"),
    (
        '"no", "yes"',
        '"no", "yes", "perhaps"',
        ":8: prior.values",
        "entries",
        "2 values for 3",
    ),
    ("[0.2, 0.8]", "[0.2, 0.7]", ":8: prior.values", "sum", "0.9"),
    ("[0.2, 0.8]", "[-0.2, 1.2]", ":8: prior.values", "probability", "prior['no'] = -0.2"),
    (
        "[0.2, 0.8]",
        '[0.2, "x"]',
        ":8: prior.values[1]",
        "type",
        "= 'x'",
    ),
    (
        "[0.2, 0.8]",
        "[0.2, 0.8]\nuniform = true",
        ":9: prior.uniform",
        "forms",
        "values and uniform",
    ),
    ("values = [0.2, 0.8]", "", ":7: prior", "empty-table", "[prior]"),
    ("values = [0.2, 0.8]", "uniform = false", ":8: prior.uniform", "type", "= false"),
    (
        "values = [0.2, 0.8]",
        "weights = { no = 1, yse = 2 }",
        ":8: prior.weights",
        "",
        "'yes'",
    ),
    (
        "values = [0.2, 0.8]",
        "weights = { no = 1 }",
        ":8: prior.weights",
        "",
        "input 'yes'",
    ),
    (
        "values = [0.2, 0.8]",
        "weights = { no = 0, yes = 0 }",
        ":8: prior.weights",
        "",
        "sum to 0",
    ),
    (
        "values = [0.2, 0.8]",
        "weights = { no = 2, yes = -1 }",
        ":8: prior.weights.yes",
        "negative-weight",
        "'yes'",
    ),
    (
        "values = [0.2, 0.8]",
        'dataset = "fair:affair"',
        ":8: prior.dataset",
        "data-set",
        "'fair:affairs'",
    ),
    (
        "values = [0.2, 0.8]",
        'dataset = "../prior.csv"',
        ":8: prior.dataset",
        "data-set",
        "'../prior.csv'",
    ),
    (
        "values = [0.2, 0.8]",
        'dataset = "fair:religious"',
        ":8: prior.dataset",
        "",
        "'not'",
    ),
    (
        'kind = "identity"',
        'kind = "identiti"',
        ":11: utility.kind",
        "kind",
        "'identity'",
    ),
    (
        'kind = "identity"',
        "gain = [[1, 0], [0]]",
        ":11: utility.gain",
        "",
        "gain matrix",
    ),
    ('kind = "identity"', "gain = [[1, 0]]", ":11: utility.gain", "utility-shape", "(1, 2)"),
    (
        'kind = "identity"',
        'kind = "identity"\nloss = [[0]]',
        ":12: utility.loss",
        "forms",
        "kind and loss",
    ),
    (
        'kind = "identity"',
        'kind = "identity"\nvalues = [0, 1]',
        ":12: utility.values",
        "unused-key",
        "kind = 'identity'",
    ),
    (
        'kind = "identity"',
        'kind = "absolute_error"\noutputs = [0]',
        ":12: utility.outputs",
        "missing-values",
        "outputs",
    ),
    ('title = "Survey"', "workload = 3", ":1: workload", "type", "= 3"),
    (
        'title = "Survey"',
        "constraints = [3]",
        ":1: constraints[0]",
        "type",
        "= 3",
    ),
    (
        "[expect]",
        "[workload]\npart = []\n[expect]",
        ":22: workload.part",
        "type",
        "= []",
    ),
    ("time_limit = 60", "time_limit = 0", ":19: solver.time_limit", "type", "greater than 0"),
    (
        "value = 0.8",
        'value = "0.8"',
        ":22: expect.value",
        "type",
        "= '0.8'",
    ),
    (
        "[expect]\n",
        "[expect]\ntolerance = -1\n",
        ":22: expect.tolerance",
        "type",
        "= -1",
    ),
    ('title = "Survey"', "title = 3", ":1: title", "type", "= 3"),
    (
        'title = "Survey"',
        'objective = "best"',
        ":1: objective",
        "type",
        "'worst_case'",
    ),
    ('title = "Survey"', 'objective = "worst_case"', ":7: prior", "worst-case-prior", ""),
    (
        "[expect]",
        '[[constraints]]\nkind = "fair"\n[expect]',
        ":22: constraints[0].kind",
        "kind",
        "'fair'",
    ),
    (
        "[expect]",
        '[[constraints]]\nkind = "unbiased"\n[expect]',
        ":21: constraints[0]",
        "numbers",
        "",
    ),
    (
        "[expect]",
        '[[constraints]]\nkind = "unbiased"\nvalue = [1]\n[expect]',
        ":23: constraints[0].value",
        "unknown-key",
        "'values'",
    ),
    (
        "[expect]",
        '[[constraints]]\nkind = "unbiased"\nvalues = [1]\n[expect]',
        ":23: constraints[0].values",
        "entries",
        "1 entries",
    ),
    (
        "[expect]",
        '[[constraints]]\nkind = "linear"\ncoefficients = [[1.0]]\nupper = 0.5\n[expect]',
        ":21: constraints",
        "shape",
        "it is about 1 inputs",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "where", "code", "value"),
    BAD,
    ids=[new[:40] or old[:40] for old, new, *_ in BAD],
)
def test_every_mistake_has_its_line(survey, write, refusal, old, new, where, code, value):
    assert old in survey
    error = refusal(write(survey.replace(old, new, 1)))
    assert error.where.endswith(where), error
    assert not code or error.code == code
    assert value in error.one_line


@pytest.mark.parametrize(
    ("lines", "where", "words"),
    [
        ('neighbors = { kind = "line" }', ":7: privacy.neighbors.kind", "'complete', 'path'"),
        (
            "neighbors = { }",
            ":7: privacy.neighbors",
            "give either a kind of neighbors or their edges",
        ),
        (
            'neighbors = { kind = "path", edges = [["a", "b"]] }',
            ":7: privacy.neighbors",
            "either a kind",
        ),
        ('neighbors = { kind = "grid" }', ":7: privacy.neighbors", "rows, columns"),
        (
            'neighbors = { kind = "grid", rows = 2, columns = 2 }',
            ":7: privacy.neighbors",
            "3 labels for a grid",
        ),
        ('neighbors = { kind = "path", rows = 2 }', ":7: privacy.neighbors", "rows, columns"),
        (
            'neighbors = { kind = "path", kid = 2 }',
            ":7: privacy.neighbors.kid",
            "did you mean 'kind'",
        ),
        (
            'neighbors = { edges = [["a", "b"], ["b", "d"]] }',
            ":7: privacy.neighbors.edges[1]",
            "'d', which is",
        ),
        (
            'neighbors = { edges = [["a", "b", "c"]] }',
            ":7: privacy.neighbors.edges[0]",
            "should be a pair of labels",
        ),
        (
            'neighbors = { edges = [["a", "a"]] }',
            ":7: privacy.neighbors.edges[0]",
            "ties an input to itself",
        ),
        ('neighbors = { edges = [["a", "b"]] }', ":7: privacy.neighbors", "falls into 2 parts"),
        ("neighbors = 3", ":7: privacy.neighbors", "should be a table"),
    ],
)
def test_mistakes_in_graphs(write, privacy, one_line, lines, where, words):
    line = one_line(write(privacy(f'kind = "graph"\n{lines}\nepsilon = 1')))
    assert where in line
    assert words in line


@pytest.mark.parametrize(
    ("lines", "where", "words"),
    [
        ('distance = "euclid"', ":7: privacy.distance", "one of 'absolute', 'euclidean'"),
        ('distance = "euclidean"', ":7: privacy.distance", "needs points"),
        (
            'distance = "euclidean"\npoints = [[0, 0], [1, 1]]',
            ":8: privacy.points",
            "3 input labels for 2 points",
        ),
        (
            'distance = "euclidean"\npoints = [[0, 0], [1, 1], [2]]',
            ":8: privacy.points",
            "rectangular",
        ),
        (
            'distance = "euclidean"\npoints = [[0, 0], [1, 1], [1, 1]]',
            ":8: privacy.points",
            "coincide",
        ),
        ('distance = "absolute"\npoints = [[0], [1], [2]]', ":8: privacy.points", "points are for"),
        ("distance = [[0, 1], [1, 0]]", ":7: privacy.distance", "there are 3 inputs"),
        ("distance = [[0, 1, 1], [2, 0, 1], [1, 1, 0]]", ":7: privacy.distance", "other direction"),
        (
            "distance = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]\nvalues = [1]",
            ":8: privacy.values",
            "not used with a distance",
        ),
    ],
)
def test_mistakes_in_distances(write, privacy, one_line, lines, where, words):
    line = one_line(write(privacy(f'kind = "metric"\n{lines}\nepsilon = 1')))
    assert where in line
    assert words in line


def test_files_that_cannot_be_read(write, one_line, tmp_path):
    assert "No such file" in one_line(tmp_path / "nowhere.toml")
    assert "Is a directory" in one_line(tmp_path)
    binary = tmp_path / "image.png"
    binary.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    assert "not UTF-8 text (byte 0x89)" in one_line(binary)
    assert "the key privacy is missing" in one_line(write(""))
    with refused("file", ModelFileError):
        load_model("a\0b")


def test_a_huge_file_is_refused_before_it_is_read(survey, write, one_line, monkeypatch):
    monkeypatch.setattr("ldpopt.problem.modelfile.page.LARGEST_FILE", 100)
    assert "larger than 100 bytes" in one_line(write(survey))


PIECES = [*"[]{}=\"'\n.-0#,\\\x00\u2028", "1e999", "nan", "kind", "true"]
EDITS = st.tuples(st.integers(0, 230), st.integers(0, 8), st.sampled_from(PIECES))


@given(st.lists(EDITS, min_size=1, max_size=4))
def test_a_damaged_file_is_read_or_refused(survey, tmp_path_factory, edits):
    text = survey
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


def test_lines_of_keys_beside_texts_and_arrays():
    text = (
        'a = """\n[b]\nc = 1\n"""\nd = [\n  ["x"],\n  [ "e = 1" ],\n] # [b]\n[[b]]\nc = '
        '1\n[[b]]\nq.c = 2\n"c" = 3\n'
    )
    assert line_of(text, ("b", 0, "c")) == 10
    assert line_of(text, ("b", 1, "c")) == 13
    assert line_of(text, ("b", 1, "q", "c")) == 12
    assert line_of(text, ("d", 1, 0)) == 5
    assert line_of(text, ("z",)) is None
