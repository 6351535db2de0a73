"""What is written reads back; what has no form is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused, without_blanks
from ldpopt import (
    PML,
    ColumnCone,
    InformationPrivacy,
    OddsBound,
    PairwiseLDP,
    Secrets,
    constraints,
    neighbors,
    utility,
)
from ldpopt.errors import ModelFileError
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, Notion, PureLDP
from ldpopt.privacy.notion import KINDS
from ldpopt.problem.modelfile import Expect, Model, load_model, read_model, save_model
from ldpopt.problem.modelfile.schema import FORMS, kinds_of
from ldpopt.problem.problem import Problem

LETTERS = ["a", "b", "c"]
ODD = ["young man", 'a "quote"', "\u00e9.t\u00e9", ""]
LAWS = [dict(zip(ODD, weights, strict=True)) for weights in ((1, 2, 3, 4), ("1/3", 0, 0.1, 2))]
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
    Problem(
        [1 / 6] * 6, "identity", GraphDP(1, neighbors.grid(2, 3, "abcdef")), inputs=list("abcdef")
    ),
    Problem([0.5, 0.5], "identity", GraphDP(2.5, neighbors.path([0, 1]))),
    Problem([0.25] * 4, "identity", Secrets(1, {"a b": LAWS[0], "": LAWS[1]}), inputs=ODD),
    Problem([0.25] * 4, "identity", ColumnCone([OddsBound(LAWS[0], LAWS[1], 1)]), inputs=ODD),
    Problem([0.25] * 4, "identity", PML("log(2)", LAWS[1]) & PureLDP(3), inputs=ODD),
    Problem([0.2, 0.8], "identity", PML("log(2)")),
    Problem([0.2, 0.8], "identity", InformationPrivacy(0.3, {7: 1, 2.5: 3}), inputs=[2.5, 7]),
    Problem([0.2, 0.8], "identity", PairwiseLDP({(7, 4): 1, (4, 7): "log(3)"}), inputs=[4, 7]),
    Problem([0.5, 0.3, 0.2], "identity", MetricDP(1, lambda x, y: abs(x - y) / 3)),
    Problem(None, "identity", PureLDP(1), inputs=LETTERS, objective="worst_case"),
    Problem(
        [0.5, 0.5],
        utility.squared_error([-1, 1], [-3, 0, 3]),
        PureLDP(1),
        constraints=[
            constraints.unbiased([-1, 1], [-3, 0, 3]),
            constraints.linear([[1, 0, 0.0]] * 2, upper=0.7),
        ],
    ),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem.privacy).__name__)
def test_a_problem_reads_back_equal(same, tmp_path, problem):
    save_model(problem, tmp_path / "saved.toml")
    again = load_model(tmp_path / "saved.toml")
    assert same(problem, again)
    save_model(again, tmp_path / "twice.toml")
    assert (tmp_path / "twice.toml").read_bytes() == (tmp_path / "saved.toml").read_bytes()


@pytest.mark.parametrize("kind", [kind for form in FORMS["constraints"] for kind in kinds_of(form)])
def test_every_kind_of_constraint_is_written(tmp_path, kind):
    for problem in PROBLEMS:
        save_model(problem, tmp_path / "saved.toml")
        if f'kind = "{kind}"' in (tmp_path / "saved.toml").read_text():
            return
    pytest.fail(
        f"no problem of PROBLEMS is written with a constraint of the kind {kind!r}: see write.py"
    )


def test_a_model_reads_back_whole(tmp_path):
    model = Model(PROBLEMS[0], 'A "title"', "line\nline", "cbc", 1.5, Expect(0.8, 0.0))
    save_model(model, tmp_path / "saved.toml")
    again = read_model(tmp_path / "saved.toml")
    assert (again.title, again.source, again.solver, again.time_limit, again.expect) == (
        model.title,
        model.source,
        model.solver,
        model.time_limit,
        model.expect,
    )


labels = st.one_of(st.text(st.characters(codec="utf-8")), st.integers(-99, 99), st.floats(-9, 9))


@given(st.lists(labels, min_size=2, max_size=5, unique_by=without_blanks), st.data())
def test_any_problem_reads_back(same, tmp_path_factory, names, data):
    n = len(names)
    numbers = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2)
    gain = data.draw(st.lists(numbers, min_size=n, max_size=n))
    epsilon = data.draw(
        st.one_of(st.floats(0, 100), st.fractions(0, 50).map(str), st.just("log(5/3)"))
    )
    problem = Problem([1 / n] * n, gain, PureLDP(epsilon), inputs=names, outputs=["u", "v"])
    path = tmp_path_factory.getbasetemp() / "any.toml"
    save_model(problem, path)
    assert same(problem, load_model(path))


def test_parts_that_cannot_be_written_leave_the_file_unchanged(survey, write, monkeypatch):
    path = write(survey)
    cells = Problem([0.5, 0.5], "identity", PureLDP(1), inputs=[(0, 0), (0, 1)])
    with refused("labels") as caught:
        save_model(cells, path)
    assert "(0, 0)" in caught.value.what
    rows = constraints.unbiased([1, 1], [0, 2])
    by_hand = type(rows)(
        "mine", rows.row, rows.x, rows.y, rows.coefficient, rows.lower - 1, rows.upper
    )
    with refused("constraint") as caught:
        save_model(Problem([0.5, 0.5], "identity", PureLDP(1), constraints=by_hand), path)
    assert "'mine'" in caught.value.what
    monkeypatch.setattr("ldpopt.problem.modelfile.write.LARGEST_FILE", 10)
    with refused("file-size"):
        save_model(PROBLEMS[0], path)
    assert path.read_text() == survey


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ModelFileError, match=r"x\.toml"):
        save_model(PROBLEMS[0], tmp_path / "no" / "folder" / "x.toml")


@dataclass(frozen=True)
class Doubled(Notion):
    """A notion of a plug-in, to be given a kind."""

    epsilon: float
    factor: int = 2

    def rows(self, inputs: Any, n_outputs: int) -> Any:
        return PureLDP(self.epsilon * self.factor).rows(inputs, n_outputs)

    def audit(self, channel: Any) -> Any:
        return PureLDP(self.epsilon * self.factor).audit(channel)


def test_a_plug_in_is_read_and_written(survey, write, one_line, tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "doubled", Doubled)
    monkeypatch.setattr(Doubled, "kind", "doubled")
    problem = load_model(write(survey.replace('kind = "pure"', 'kind = "doubled"\nfactor = 3')))
    assert problem.privacy == Doubled(0.1, 3)
    save_model(problem, tmp_path / "saved.toml")
    assert load_model(tmp_path / "saved.toml").privacy == Doubled(0.1, 3)
    line = one_line(write(survey.replace('kind = "pure"', 'kind = "doubled"\nfacto = 3')))
    assert ":15: privacy.facto" in line
    assert "did you mean 'factor'" in line
    line = one_line(write(survey.replace('kind = "pure"\nepsilon = 0.1', 'kind = "doubled"')))
    assert ":13: privacy.epsilon" in line
    assert "the key privacy.epsilon is missing" in line
