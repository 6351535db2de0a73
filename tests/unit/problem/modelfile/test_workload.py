"""Workloads in model files: every kind, and back; every mistake with its file, key and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builders import refused
from ldpopt import DesignProblem, Problem, PureLDP, Workload, load_model, save_model
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.problem.modelfile import Model, read_model
from ldpopt.problem.modelfile.schema import FORMS, kinds_of

HEAD = """[alphabet]
inputs = ["a", "b", "c"]
[privacy]
kind = "pure"
epsilon = 1.0
"""
INPUTS = ["a", "b", "c"]
KINDS = {
    '[workload]\nkind = "frequencies"': Workload.frequencies(INPUTS),
    '[workload]\nkind = "prefix"\nweight = 2': 2 * Workload.prefix(INPUTS),
    '[workload]\nkind = "ranges"': Workload.ranges(INPUTS),
    '[workload]\nkind = "mean"\nvalues = [1, 2, 4]': Workload.mean([1, 2, 4], INPUTS),
    '[workload]\nkind = "mean"\nvalues = { c = 4, a = 1, b = 2 }': Workload.mean([1, 2, 4], INPUTS),
    '[workload]\nkind = "means"\nvalues = { x = [1, 2, 4], "y z" = { b = 1, a = 0, c = 0 '
    "} }": Workload.means({"x": [1, 2, 4], "y z": [0, 1, 0]}, INPUTS),
    '[workload]\nkind = "marginals"\nshape = [3]\nk = 1': Workload.marginals([3], 1, INPUTS),
    '[workload]\nkind = "matrix"\nrows = [[1, 0, 0], [0, 1, 1]]': Workload(
        [[1, 0, 0], [0, 1, 1]], INPUTS
    ),
    '[workload]\nkind = "matrix"\nnames = ["u", 7]\nrows = [[1, 0, 0], [0, 1, 1]]': Workload(
        [[1, 0, 0], [0, 1, 1]], INPUTS, ["u", 7]
    ),
    '[workload]\nkind = "matrix"\nrows = { "u v" = [1, 0, 0], w = { c = 1, b = 0, a = 1 '
    "} }": Workload([[1, 0, 0], [1, 0, 1]], INPUTS, ["u v", "w"]),
    '[[workload.part]]\nkind = "prefix"\nweight = 0.5\n[[workload.part]]\nkind = "mean"\nvalues '
    "= [0, 1, 0]": (0.5 * Workload.prefix(INPUTS) + Workload.mean([0, 1, 0], INPUTS)),
}


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str) -> Path:
        (tmp_path / "model.toml").write_text(text)
        return tmp_path / "model.toml"

    return written


def same(one: Workload, other: Workload) -> bool:
    return (one.inputs, one.names) == (other.inputs, other.names) and np.array_equal(
        one.matrix, other.matrix
    )


@pytest.mark.parametrize("kind", [kind for form in FORMS["workload"] for kind in kinds_of(form)])
def test_every_kind_has_an_example(kind: str) -> None:
    assert any(f'kind = "{kind}"' in text for text in KINDS), (
        f"KINDS has no workload of the kind {kind!r}"
    )


@pytest.mark.parametrize("text", KINDS)
def test_every_kind_is_read_and_written(text: str, write, tmp_path: Path) -> None:
    model = read_model(write(HEAD + text))
    assert model.problem is None
    assert same(model.design.workload, KINDS[text])
    save_model(model, tmp_path / "again.toml")
    again = read_model(tmp_path / "again.toml").design
    assert same(again.workload, KINDS[text])
    assert again.workload.to_plain() == model.design.workload.to_plain()
    assert (again.privacy, again.weights, again.objective) == (PureLDP(1.0), None, "average")


def test_marginals_determine_their_answers(write, tmp_path: Path) -> None:
    text = '[privacy]\nkind = "pure"\nepsilon = 1\n[workload]\nkind = "marginals"\n'
    text += 'shape = { sex = ["f", "m"], age = 3 }\nk = 2\n'
    found = read_model(write(text)).design.workload
    assert found.inputs[:2] == (("f", 0), ("f", 1))
    save_model(DesignProblem(found, PureLDP(1.0)), tmp_path / "again.toml")
    assert same(read_model(tmp_path / "again.toml").design.workload, found)


def test_weights_and_objective(write, tmp_path: Path) -> None:
    weighted = write(
        HEAD + '[prior]\nweights = { c = 2, a = 1, b = 1 }\n[workload]\nkind = "prefix"\n'
    )
    assert read_model(weighted).design.weights.tolist() == [0.25, 0.25, 0.5]
    worst = read_model(write('objective = "worst_case"\n' + HEAD + '[workload]\nkind = "prefix"\n'))
    assert (worst.design.objective, worst.design.weights) == ("worst_case", None)
    average = read_model(
        write(
            'objective = "average"\n'
            + HEAD
            + '[prior]\nuniform = true\n[workload]\nkind = "prefix"\n'
        )
    )
    assert (average.design.objective, average.design.weights) == ("average", None)


def test_a_model_may_have_both(write, tmp_path: Path) -> None:
    both = (
        HEAD
        + '[prior]\nvalues = [0.5, 0.25, 0.25]\n[utility]\nkind = "identity"\n[workload]\nkind '
        '= "prefix"\n'
    )
    both += "[expect]\nvalue = 0.5\nvariance = 2.0\n"
    model = read_model(write(both))
    assert model.problem.inputs == model.design.workload.inputs
    assert (model.expect.value, model.expect.variance) == (0.5, 2.0)
    save_model(model, tmp_path / "again.toml")
    again = read_model(tmp_path / "again.toml")
    assert again.expect == model.expect
    assert again.design.weights.tolist() == model.problem.prior.tolist() == [0.5, 0.25, 0.25]
    assert load_model(tmp_path / "again.toml").utility.matrix.tolist() == np.eye(3).tolist()
    other = DesignProblem(Workload.prefix(["a", "b", "d"]), PureLDP(1.0))
    with refused("parts") as caught:
        save_model(Model(model.problem, design=other), tmp_path / "no.toml")
    assert "alphabet" in caught.value.what
    with refused("empty-model"):
        save_model(Model(None), tmp_path / "no.toml")


def test_the_value_of_a_workload_alone_is_its_variance(write) -> None:
    text = HEAD + '[workload]\nkind = "prefix"\n[expect]\n'
    assert read_model(write(text + "value = 3")).expect.variance == 3
    assert read_model(write(text + "variance = 3")).expect.variance == 3


def test_missing_utilities_and_workloads_are_named(write) -> None:
    with refused("utility") as caught:
        load_model(write(HEAD + '[workload]\nkind = "prefix"\n'))
    assert "model.toml" in caught.value.where
    with refused("workload"):
        Model(Problem([0.5, 0.5], "identity", PureLDP(1.0))).require_design()


MISTAKES = [
    ('[workload]\nkind = "prefixes"', 7, "workload.kind", "kind", "'prefix'"),
    ("[workload]\nkin = 'prefix'", 6, "workload.kind", "missing-kind", "frequencies, prefix"),
    (
        '[workload]\nkind = "mean"\nvalue = [1, 2, 3]',
        8,
        "workload.value",
        "unknown-key",
        "'values'",
    ),
    (
        '[workload]\nkind = "prefix"\nvalues = [1, 2, 3]',
        8,
        "workload.values",
        "unknown-key",
        "'values'",
    ),
    (
        '[workload]\nkind = "mean"\nvalues = [1, 2]',
        8,
        "workload.values",
        "entries",
        "2 entries for 3",
    ),
    ('[workload]\nkind = "mean"\nvalues = ["x", 2, 3]', 8, "workload.values", "type", "= 'x'"),
    (
        '[workload]\nkind = "mean"\nvalues = [nan, 2, 3]',
        8,
        "workload.values",
        "finite-number",
        "= nan",
    ),
    ('[workload]\nkind = "mean"', 6, "workload", "numbers", ""),
    (
        '[workload]\nkind = "mean"\nvalues = { a = 1, b = 2, d = 3 }',
        8,
        "workload.values",
        "",
        "'d'",
    ),
    (
        '[workload]\nkind = "matrix"\nrows = [[0, 0, 0]]',
        6,
        "workload",
        "zero-matrix",
        "",
    ),
    ('[workload]\nkind = "matrix"\nrows = [[1, 0]]', 6, "workload", "", "3"),
    ('[workload]\nkind = "matrix"\nrows = [[1, 0, 0], [1]]', 6, "workload", "", "rectangular"),
    (
        '[workload]\nkind = "matrix"\nrows = [[1, 0, 0]]\nnames = ["u", "v"]',
        9,
        "workload.names",
        "",
        "2",
    ),
    (
        '[workload]\nkind = "matrix"\nrows = {u = [1, 0, 0]}\nnames = ["u"]',
        9,
        "workload.names",
        "",
        "remove names",
    ),
    ('[workload]\nkind = "matrix"\nrows = []', 8, "workload.rows", "type", "= []"),
    ('[workload]\nkind = "marginals"\nshape = [2, 2]\nk = 1', 6, "workload", "", "3"),
    ('[workload]\nkind = "marginals"\nshape = [3]\nk = 2', 9, "workload.k", "", "k = 2"),
    ('[workload]\nkind = "prefix"\nweight = 0', 8, "workload.weight", "zero-factor", ""),
    (
        '[[workload.part]]\nkind = "prefix"\n[[workload.part]]\nkind = "mean"\nvales = [1]',
        *(10, "workload.part[1].vales", "unknown-key", "'values'"),
    ),
    (
        '[[workload.part]]\nkind = "prefix"\n[[workload.part]]\nkind = "x"',
        9,
        "workload.part[1].kind",
        "kind",
        "'x'",
    ),
    ("[workload]\npart = []", 7, "workload.part", "type", "= []"),
    ('[workload]\nkind = "prefix"\n[solver]\nname = "cbc"', 9, "solver.name", "solver", ""),
    (
        '[workload]\nkind = "prefix"\n[prior]\nvalues = [0.5, 0.5]',
        9,
        "prior.values",
        "entries",
        "2 values for 3",
    ),
    (
        '[workload]\nkind = "prefix"\n[expect]\ntolerance = 1',
        8,
        "expect",
        "empty-table",
        "[expect]",
    ),
    (
        '[workload]\nkind = "prefix"\n[[constraints]]\nkind = "unbiased"',
        8,
        "constraints",
        "objective-parts",
        "",
    ),
]


@pytest.mark.parametrize(
    ("text", "line", "key", "code", "value"),
    MISTAKES,
    ids=[m[0].replace("\n", " ") for m in MISTAKES],
)
def test_every_mistake_has_its_line(
    text: str, line: int, key: str, code: str, value: str, write
) -> None:
    with pytest.raises(LdpoptError) as caught:
        read_model(write(HEAD + text))
    said = caught.value.one_line
    assert isinstance(caught.value, ModelFileError)
    assert f"model.toml:{line}: {key}" in said, said
    assert not code or caught.value.code == code
    assert value in said, said


def test_average_needs_a_workload(write) -> None:
    with refused("objective", ModelFileError):
        read_model(write('objective = "average"\n' + HEAD + "[prior]\nuniform = true\n"))
