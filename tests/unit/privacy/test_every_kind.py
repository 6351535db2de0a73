"""Every kind of notion in the registry: checks, files, certificates, model files and the command
line."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ldpopt as lo
from builders import pairs_or_turns, thorough_or
from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.notion import KINDS, to_table
from ldpopt.problem.plain import from_plain, plain

LABELS = ("a", "b", "c", "d")
OURS = [kind for kind, notion in KINDS.items() if notion.__module__.startswith("ldpopt.")]
EVERY_KIND = pytest.mark.parametrize("kind", OURS)


def problem_of(kind, epsilon=1.0):
    return lo.Problem([0.25] * 4, "identity", KINDS[kind].example(epsilon, LABELS), inputs=LABELS)


@EVERY_KIND
@pytest.mark.parametrize("epsilon", thorough_or([0.1, 4.0], [0.1, 1.0, 4.0, "log(3)"]))
def test_its_optimum_has_exactly_its_epsilon(kind, epsilon):
    case = problem_of(kind, epsilon)
    mechanism = lo.solve(case).mechanism
    found = mechanism.audit(case.privacy)
    assert found.verdict == "certified"
    budget = float(lo.PureLDP(epsilon).epsilon)
    if hasattr(case.privacy, "epsilon"):
        assert found.epsilon <= math.nextafter(budget, math.inf)
    if hasattr(case.privacy, "mu"):
        assert found.mu <= math.nextafter(float(case.privacy.mu), math.inf)
    # an average over a prior bounds nothing from a budget on
    if lo.Mechanism(np.eye(4), LABELS, LABELS).audit(case.privacy).verdict == "violated":
        smaller = KINDS[kind].example(budget - 1e-3, LABELS)
        assert mechanism.audit(smaller).verdict == "violated"


WRITTEN = (1.0, "log(7/2)", "1/3")
"""Budgets that are written in different ways."""


@pytest.mark.parametrize(("kind", "epsilon"), pairs_or_turns(OURS, WRITTEN))
def test_model_files_certificates_and_plain_values_read_back(kind, epsilon, tmp_path):
    case = problem_of(kind, epsilon)
    lo.save_model(case, tmp_path / "model.toml")
    lo.certify(lo.solve(case)).save(tmp_path / "proof.json")
    certificate = lo.Certificate.load(tmp_path / "proof.json")
    assert certificate.recheck() == ()
    for again in (
        lo.load_model(tmp_path / "model.toml"),
        certificate.problem,
        from_plain(Entry(plain(case), "file")),
    ):
        assert type(again.privacy) is KINDS[kind]
        assert to_table(again.privacy, LABELS) == to_table(case.privacy, LABELS)
        if hasattr(case.privacy, "epsilon"):
            assert (again.privacy.epsilon.nats, again.privacy.epsilon.ratio) == (
                case.privacy.epsilon.nats,
                case.privacy.epsilon.ratio,
            )


WRONG_EPSILON = (
    ("epsilon = 1.0", "epsilom = 1.0", "did you mean 'epsilon'"),
    ("epsilon = 1.0", "epsilon = -1.0", "epsilon = -1.0 is negative"),
)
WRONG = {
    "curve": (
        ("points = ", "pointsx = ", "did you mean 'points'"),
        ("1.0, 0.05", "-1.0, 0.05", "epsilon = -1.0 is negative"),
    ),
    "gaussian": (
        ("mu = 1.0", "mux = 1.0", "did you mean 'mu'"),
        ("mu = 1.0", "mu = -1.0", "mu = -1.0 is not"),
        ("mu = 1.0\n", "", "the key privacy.mu is missing"),
    ),
    "cone": (*WRONG_EPSILON, (", epsilon = 1.0", "", "the key epsilon of a bound is missing")),
    "all": (*WRONG_EPSILON, ("epsilon = 1.0, ", "", "the key privacy.epsilon is missing")),
    "pairwise": (
        ("table =", "tabel =", "did you mean 'table'"),
        ('"b", 2.0]', '"b", -2.0]', "epsilon = -2.0 is negative"),
        ('["a", "b", 2.0]', '["a", "e", 2.0]', "a pair names 'e', which is not an input"),
        ('["a", "b", 2.0]', '["b", "a", 2.0]', "stands twice"),
    ),
}
"""What may be wrong in the file of a kind, by default with its epsilon."""


@EVERY_KIND
def test_wrong_keys_are_named_with_their_line(kind, tmp_path):
    path = tmp_path / "model.toml"
    lo.save_model(problem_of(kind), path)
    text = path.read_text()
    default = (*WRONG_EPSILON, ("epsilon = 1.0\n", "", "the key privacy.epsilon is missing"))
    of_kind = (f'kind = "{kind}"', f'kind = "{kind}s"', f"did you mean '{kind}'")
    for old, new, words in (*WRONG.get(kind, default), of_kind):
        assert old in text, f"WRONG has nothing that fits the file of the kind {kind!r}: add a row"
        path.write_text(text.replace(old, new))
        with pytest.raises(ModelFileError) as caught:
            lo.load_model(path)
        assert words in caught.value.one_line
        assert f"{path}:" in caught.value.where


@EVERY_KIND
def test_repairs_of_any_channel_are_certified(kind):
    notion = KINDS[kind].example(0.7, LABELS)
    channel = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 4)
    assert repair(channel, notion, inputs=LABELS, outputs=LABELS).audit.verdict == "certified"
