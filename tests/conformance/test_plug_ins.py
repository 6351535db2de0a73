"""A package outside of ldpopt adds a solver and a notion by its entry points, in a process of its
own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from builders import run_python, thorough_or

PACKAGE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpopt import Budget, solvers
from ldpopt.auditing.audits import Pairs
from ldpopt.auditing.divergence import max_divergence
from ldpopt.privacy import Ties, TiedNotion
from ldpopt.privacy.notion import require_known, shape_of


@dataclass(frozen=True)
class Pair(TiedNotion):
    "Two answers are hard to tell apart; every other answer may be revealed."
    kind: ClassVar[str] = "pair"
    epsilon: Budget
    alike: tuple

    def __init__(self, epsilon, alike):
        object.__setattr__(self, "epsilon", Budget(epsilon))
        object.__setattr__(self, "alike", tuple(alike))

    def ends(self, inputs):
        first, second = map(list(inputs).index, self.alike)
        return np.array([first, second]), np.array([second, first])

    def check(self, inputs, outputs):
        require_known(self.alike, inputs, "alike", "input")

    def ties(self, inputs, outputs=None, deadline=None):
        return Ties(self.epsilon, len(inputs), *self.ends(inputs))

    def audit(self, channel):
        pairs = Pairs(*self.ends(shape_of(channel)[0]), np.ones(2))
        return max_divergence(channel, self.epsilon, pairs)


class Other(solvers.Solver):
    name = "other"

    def solve(self, program, *, time_limit=None, **options):
        return solvers.find("highs").solve(program, time_limit=time_limit, **options)
"""

MODEL = """
[alphabet]
inputs = ["a", "b", "c"]
[prior]
uniform = true
[utility]
kind = "identity"
[privacy]
kind = "pair"
epsilon = "log(3)"
alike = ["a", "c"]
[solver]
name = "other"
"""

CHECKS = """
import json, sys
import ldpopt as lo
from ldpopt.problem.modelfile import read_model

lo.testing.check_solver("other", only=json.loads(sys.argv[3]))
model = read_model(sys.argv[1])
lo.testing.check_notion(model.problem.privacy, ["a", "b", "c"], only=json.loads(sys.argv[4]))
answer = lo.solve(model.problem, solver=model.solver)
lo.certify(answer).save(sys.argv[2])
again = lo.Certificate.load(sys.argv[2])
kind = type(again.problem.privacy).__name__
print(json.dumps([answer.value, answer.solver, again.recheck(), kind]))
print(json.dumps([lo.solvers.installed()["other"], lo.privacy.installed()["pair"].__module__]))
"""


def test_a_package_adds_a_solver_and_a_notion(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(PACKAGE)
    (tmp_path / "model.toml").write_text(MODEL)
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ldpopt.privacy]\npair = elsewhere:Pair\n[ldpopt.solvers]\nother = elsewhere:Other\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    arguments = [str(tmp_path / name) for name in ("model.toml", "proof.json")]
    some = ["optimum of a maximum"], ["results", "ties", "table"]
    arguments += [json.dumps(thorough_or(names, None)) for names in some]
    done = run_python(CHECKS, *arguments, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    (value, solver, wrong, notion), states = map(json.loads, done.stdout.splitlines())
    # a and c share two reports as a coin does; b has its own
    assert value == pytest.approx((0.75 + 1 + 0.75) / 3)
    assert (solver, wrong, notion) == ("other (pairwise)", [], "Pair")
    assert states == ["installed", "elsewhere"]
