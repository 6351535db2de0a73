"""Run an example and check what its story says: ``python story_checks.py EXAMPLE FOLDER``.

The examples are tutorials; what a reader need not see is checked here, from the names that an example leaves.
"""

from __future__ import annotations

import math
import runpy
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ldpopt import Problem, PureLDP, certify, closed_forms, noise, solve


def survey(s: Any) -> None:
    """Story 01."""
    assert all(abs(s.forms[name].value - s.solutions[name].value) < 1e-12 for name in s.forms)
    assert abs(s.solutions["pure"].value - 0.80) < 1e-12
    assert abs(s.solutions["with delta"].value - 0.83) < 1e-12
    assert abs(s.exposed - 300) < 1e-6
    assert s.pure_epsilon == math.inf


def custom_prior(s: Any) -> None:
    """Story 02."""
    assert abs(s.solution.value - s.form.value) < 1e-12
    assert s.low <= s.proof.bound
    assert s.proof.relative_gap < 1e-12
    assert np.array_equal(s.again.channel, s.solution.mechanism.channel)
    assert s.again.audit(PureLDP(1.0)).verdict == "certified"


def fair_survey(s: Any) -> None:
    """Story 03."""
    for epsilon in s.epsilons:
        stated = Problem(None, "identity", PureLDP(epsilon), inputs=s.survey.labels, objective="worst_case")
        assert certify(solve(stated)).audit.verdict == "certified"
    assert (np.abs(s.rates - s.truth) < 4 * s.errors).all()
    assert (np.diff(s.errors) < 0).all()
    assert s.covered >= 185


def party_scale(s: Any) -> None:
    """Story 04."""
    assert abs(s.solutions["path"].value - 0.61012136842364) < 1e-9
    assert s.solutions["path"].value < s.solutions["all pairs"].value
    assert s.mechanism.audit(s.ordered.privacy).verdict == "certified"
    assert s.mechanism.audit(s.everywhere.privacy).verdict == "violated"


def places(s: Any) -> None:
    """Story 05."""
    assert s.proof.relative_gap < 1e-9
    assert s.proof.audit.verdict == "certified"
    assert s.solution.value < s.naive_loss


def research(s: Any) -> None:
    """Story 06."""
    assert np.abs(s.table.column("value") - s.table.column("closed_form")).max() < 1e-12
    assert abs(s.slope - (1 - s.u0)) < 1e-9
    assert abs(s.highs.getObjectiveValue() - s.stated.value) < 1e-9
    assert abs(s.model.value - s.stated.value) < 1e-6
    assert s.fixed.audit.verdict == "certified"


def open_question(s: Any) -> None:
    """Story 07."""
    assert s.worst < 1e-12
    assert abs(closed_forms.top_k(s.prior, s.epsilon).value - 0.8) < 1e-12
    assert abs(s.form.value - 0.5848468629040040) < 1e-12


def warner_coin(s: Any) -> None:
    """Story 08."""
    assert s.coin.epsilon.ratio == 3
    assert s.audit.verdict == "certified"
    assert s.best.value == 0.75
    assert math.isclose(s.estimate.values[1], 0.10, abs_tol=1e-12)
    assert s.low < 0 < s.high
    for e in (0, 0.5, 1, 1.2):
        assert math.isclose(s.audit.delta_at(e), max(0, 0.75 - math.exp(e) / 4), abs_tol=1e-12)


def regions(s: Any) -> None:
    """Story 09."""
    assert sum(region.share for region in s.regions) == 1
    assert s.regions[-1].share == Fraction(3 - 1, 3 + 2) ** 2
    assert [found.ratios[0] for found in s.ranges] == [1, Fraction(5, 3), 3]
    assert abs(solve(Problem(s.weights, "identity", PureLDP("log(2)"))).value - 2 * 0.8 / 3) < 1e-12
    assert s.ranges[1].ratios[0] < 2 < s.ranges[2].ratios[0]
    assert s.regimes[0.1].regime == "binary"
    assert s.regimes[3.0].regime == "randomized response"


def frequency_protocols(s: Any) -> None:
    """Story 10."""
    assert all(make(s.party.labels, 1.0).audit().verdict == "certified" for make in s.SHELF.values())
    assert all(certify(solution).relative_gap < 1e-9 for solution in s.solutions)
    assert all((s.errors["subset selection"] <= s.errors[name] * (1 + 1e-9)).all() for name in s.SHELF)
    assert all((guess <= s.optimum + 1e-9).all() for guess in s.guesses.values())
    assert np.allclose([s.tried[name] / s.errors[name] for name in s.SHELF], 1, atol=0.35)
    assert s.guesses["randomized response"][-1] > 0.99 * s.optimum[-1]


def laplace_mechanism(s: Any) -> None:
    """Story 11."""
    assert noise.sensitivity(lambda table: table, s.tables) == 1
    assert noise.sensitivity(lambda table: table, s.replaced) == 2
    assert max(s.steps) <= s.epsilon + 1e-12
    assert s.pair.audit(PureLDP(11 * s.epsilon)).verdict == "certified"
    assert abs(s.draws.mean() - s.truth) < 5 * np.sqrt(s.counted.variance / len(s.draws))


def what_is_wanted(s: Any) -> None:
    """Story 12."""
    best = s.totals["optimal design"]
    assert abs(s.total / best - 1) < 0.25
    assert abs(best / (s.party.prior @ s.best.variance() / s.party.rows) - 1) < 1e-6
    assert s.best.relative_gap < 1e-6
    assert s.ratios["randomized response"] > s.ratios["subset selection"] > 1


def city(s: Any) -> None:
    """Story 13."""
    assert s.proof.relative_gap <= 1e-3
    assert all(row.verdict == "certified" for row in s.found.rows)
    assert s.ratio["planar Laplace"] > 1.2
    assert s.ratio["planar Laplace, remapped"] < s.ratio["planar Laplace"]


def questionnaire(s: Any) -> None:
    """Story 14."""
    assert s.survey.scheme == "one_question"
    assert s.survey.odds <= s.survey.limit.enclosure()[0]  # in rationals
    assert s.reports.equals(s.survey.privatize(s.table, key=s.key, id="person").drop(columns="person"))
    assert (s.reports.notna().sum(axis=1) == 1).all()
    for name, told in s.estimates.items():
        truth = s.table[name].value_counts(normalize=True).reindex(list(told.labels))
        assert (abs(told.values - truth.to_numpy()) <= 6 * told.std_error).all()


def cluster(s: Any) -> None:
    """Story 15."""
    assert all(one.equals(two) for one, two in zip(s.first, s.second, strict=True))
    assert s.lazily[0] == s.lazily[1]
    assert (np.abs(s.found.values - s.SHARES) < 5 * s.found.std_error).all()


def main() -> None:
    """Run the example with the folder of its pictures, then its check, which has the name of the story."""
    path, folder = Path(sys.argv[1]), sys.argv[2]
    check = globals()[path.stem[3:]]
    sys.argv = [str(path), folder]
    check(SimpleNamespace(**runpy.run_path(str(path), run_name="__main__")))


if __name__ == "__main__":
    main()
