"""As in other libraries: verbose and a log, save and load, plot, one verb `privatize`, domains in
the data's unit."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import StatementError

PROBLEM = lo.Problem({"no": 0.4, "yes": 0.6}, "identity", lo.PureLDP("log(3)"))


def test_verbose_prints_and_leaves_the_log_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    lo.solve(PROBLEM)
    before = logging.getLogger("ldpopt").handlers[:]
    assert capsys.readouterr() == ("", "")
    lo.solve(PROBLEM, verbose=True)
    text = capsys.readouterr().err
    assert f"ldpopt: {lo.plan(PROBLEM)[0].method.name}" in text
    assert "optimal: value 0.75" in text
    assert logging.getLogger("ldpopt").handlers == before


def test_the_log_reports_rounds_and_gaps(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ldpopt")
    prior = np.arange(1.0, 41) / 820
    loss = lo.utility.absolute_error(np.arange(40))
    lo.solve(lo.Problem(prior, loss, lo.PureLDP(1.0)), form="sifted", solver="interior")
    assert "output sifting, program 1:" in caplog.text
    caplog.clear()
    lo.solve(
        lo.Problem([0.1, 0.2, 0.3, 0.4], loss.matrix[:4, :4] * -1, lo.ApproximateLDP(1.0, 0.05))
    )
    assert "row generation, round 1:" in caplog.text


def test_a_mechanism_is_saved_loaded_and_drawn(tmp_path: Path) -> None:
    solution = lo.solve(PROBLEM)
    coin = solution.mechanism
    coin.save(tmp_path / "coin.json")
    assert lo.Mechanism.load(tmp_path / "coin.json") == coin
    assert "epsilon 1.09861229, delta 0: certified" in solution.summary()
    pytest.importorskip("matplotlib")
    for ax in (
        coin.plot(),
        solution.plot(),
        coin.audit().plot(),
        lo.sweep(PROBLEM, [0.5, 1.0]).plot(),
    ):
        assert ax.get_xlabel()
    with refused("picture"):
        lo.plot(PROBLEM.prior)
    best = lo.design(lo.Workload.frequencies(["no", "yes"]), lo.PureLDP(1.0))
    for thing in (
        best,
        best.estimate([0, 1, 1]),
        lo.compare_designs(best.workload, lo.PureLDP(1.0)),
        PROBLEM,
    ):
        assert thing.plot().has_data()


def test_privatize_is_the_verb_of_mechanisms_and_protocols() -> None:
    coin = lo.solve(PROBLEM).mechanism
    people = ["no", "yes", "no"]
    reports = coin.privatize(people, rng=1)
    assert reports.tolist() == coin.sample(people, rng=1).tolist()
    series = coin.privatize(pd.Series(people, index=[5, 7, 9]), rng=1)
    assert (series.index.tolist(), series.tolist()) == ([5, 7, 9], reports.tolist())
    with pytest.raises(StatementError, match=r"privatize\(table"):
        coin.privatize(pd.DataFrame({"q": people}))
    for protocol in (lo.mean.Duchi(1.0), lo.frequencies.RandomizedResponse(["no", "yes"], 1.0)):
        answers = [0.5, -1.0] if hasattr(protocol, "domain") else people
        assert len(protocol.privatize(answers, rng=1)) == len(answers)


KINDS = {
    **{kind.__name__: partial(kind, 1.0) for kind in lo.mean.NumberProtocol.PUBLISHED},
    "NoPrivacy": lambda **how: lo.mean.NoPrivacy(**how),
    "Sampled": lambda **how: lo.mean.sampled(lo.mean.Duchi(1.0, **how), attributes=2),
    "DuchiVector": lambda **how: lo.mean.DuchiVector(1.0, 2, **how),
}


@pytest.mark.parametrize("kind", KINDS)
def test_means_in_the_unit_of_the_data(kind: str) -> None:
    """A domain changes the unit: the same draws; estimates, errors and variances are in the unit of
    the data."""
    plain = KINDS[kind]()
    low, high = plain.domain
    years = KINDS[kind](domain=(18, 98))
    unit = 80 / (high - low)
    shares = np.random.default_rng(1).random(
        (300, 2) if kind in ("Sampled", "DuchiVector") else 300
    )
    natural = low + (high - low) * shares
    ages = 18 + 80 * shares
    reports = years.privatize(ages, rng=2)
    drawn = (plain.privatize(natural, rng=2), reports)
    drawn = tuple(given["report"] if given.dtype.names else given for given in drawn)
    # rounding may move an answer to the next point of a grid
    assert np.isclose(*drawn, rtol=1e-9).mean() > 0.99
    found = years.estimate(reports)
    expected = plain.estimate(reports)
    assert found.values == pytest.approx(18 + unit * (expected.values - low))
    assert found.std_error == pytest.approx(unit * expected.std_error)
    assert years.worst_case_variance == pytest.approx(unit**2 * plain.worst_case_variance)
    assert years.variance(58.0) == pytest.approx(unit**2 * plain.variance((low + high) / 2))
    assert years.audit().epsilon == plain.audit().epsilon
    assert years.domain == (18, 98)
    with pytest.raises(StatementError, match="domain="):
        years.privatize(ages + 50)


@pytest.mark.parametrize("domain", [(1, 1), (2, 1), (0, np.inf), 5, ("a", "b")])
def test_a_domain_is_an_interval(domain: object) -> None:
    with pytest.raises(StatementError, match="domain"):
        lo.mean.Duchi(1.0, domain=domain)
