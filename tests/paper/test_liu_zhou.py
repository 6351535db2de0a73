"""Liu and Zhou 2023: the errata of the theorems by definition.

`liu_zhou_theory.py` in `examples/papers` compares the printed formulas.
"""

import math

import numpy as np
import pytest

from builders import refused
from ldpopt import mean
from ldpopt.errors import PrivacyViolationError


def test_worst_variances_at_epsilon_1():
    assert mean.RandomCensoring(1.0).worst_case_variance == pytest.approx(1.170673594, abs=5e-10)
    assert mean.RandomCensoring(1.0, 1.0, math.exp(-1.0)).worst_case_variance == pytest.approx(
        0.6256625753, abs=5e-11
    )
    assert mean.Duchi(1.0).worst_case_variance == pytest.approx(4.682694377, abs=5e-10)
    assert mean.Piecewise(1.0).worst_case_variance == pytest.approx(5.223597452, abs=5e-10)
    assert mean.Laplace(1.0).worst_case_variance == pytest.approx(8.0, abs=5e-10)


def censored_ones(epsilon, delta1, delta2):
    """Probability of report 1 for answers 0 and 1, as the paper states it."""
    big = math.exp(epsilon)
    return (1 + delta2) / (big + 1), (big + delta1) / (big + 1)


@pytest.mark.parametrize(
    "epsilon, delta1, true_epsilon, delta",
    [(0.1, 0.5, 0.2666, 0.0476), (1.0, 0.5, 1.6231, 0.3161), (1.0, 0.99, 5.4613, 0.6258)],
)
def test_theorem_2_is_not_private(epsilon, delta1, true_epsilon, delta):
    """At delta2 = delta1 / E only report 1 keeps the budget."""
    protocol = mean.RandomCensoring(epsilon, delta1, delta1 * math.exp(-epsilon))
    audit = protocol.audit()
    assert audit.epsilon == pytest.approx(true_epsilon, abs=5e-5)
    assert audit.delta == audit.delta_at(epsilon) == pytest.approx(delta, abs=5e-5)
    assert audit.witness == (0.0, 1.0, 0)
    # The same from the paper's probabilities, for each report.
    low, high = censored_ones(epsilon, delta1, delta1 * math.exp(-epsilon))
    assert math.log(high / low) <= epsilon + 1e-12
    assert math.log((1 - low) / (1 - high)) == pytest.approx(true_epsilon, abs=5e-5)
    assert (1 - low) - math.exp(epsilon) * (1 - high) == pytest.approx(delta, abs=5e-5)
    # Delta is 0 at the true epsilon and positive a little below it.
    assert audit.delta_at(audit.epsilon) <= 1e-12 < audit.delta_at(audit.epsilon - 1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_every_interval_of_theorem_2_violates_the_budget(epsilon):
    for delta1 in (1e-6, 0.01, 0.3, 0.7, 1.0):
        for share in (0.0, 0.25, 0.5, 1.0):
            delta2 = delta1 * (math.exp(-epsilon) * (1 - share) + share)
            audit = mean.RandomCensoring(epsilon, delta1, delta2).audit()
            assert audit.verdict == "violated"
            assert audit.epsilon > epsilon
            with refused("interval", PrivacyViolationError):
                _ = mean.RandomCensoring(epsilon, delta1, delta2).mechanism


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.0952), (1.0, 0.6321), (5.0, 0.9933)])
def test_corollary_1(epsilon, delta):
    """Gopt has an infinite epsilon: delta is 1 - 1/E at every budget."""
    protocol = mean.RandomCensoring(epsilon, 1.0, math.exp(-epsilon))
    big = math.exp(epsilon)
    mu = np.linspace(0, 1, 11)
    assert np.allclose(protocol.variance(mu), (big - 2) / (big - 1) * mu - mu**2 + 1 / (big - 1))
    audit = protocol.audit()
    assert (audit.epsilon, audit.verdict) == (math.inf, "violated")
    assert "NOT" in repr(protocol)
    for budget in (0.0, epsilon, 3 * epsilon, 700.0):
        assert audit.delta_at(budget) == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
        assert audit.delta_at(budget) == pytest.approx(delta, abs=5e-5)


def gap_of_the_two(epsilon, mu):
    return mean.RandomCensoring(epsilon).variance(mu) - mean.RandomCensoring(
        epsilon, 1.0, math.exp(-epsilon)
    ).variance(mu)


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_the_gap_of_the_two_variances_is_convex(mu):
    """The gap is ``sum_k (mu + k - 1) x**k`` with ``x = 1/E``, no term negative: no inflection at 1
    to 4.

    Each term is at most its own second derivative, so the second derivative is at least the gap.
    """
    h = 0.01
    for epsilon in np.linspace(0.2, 6, 59):
        low, gap, high = (gap_of_the_two(e, mu) for e in (epsilon - h, epsilon, epsilon + h))
        k = np.arange(1, math.ceil(45 / epsilon) + 2)
        assert gap == pytest.approx(
            ((mu + k - 1) * np.exp(-k * epsilon)).sum(), rel=1e-6, abs=1e-13
        )
        assert (low + high - 2 * gap) / h**2 >= gap * (1 - 1e-3)
        assert (low - high) / (2 * h) >= gap * (1 - 1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_symmetric_interval_has_the_least_variance_for_every_answer(epsilon):
    """No private interval on a grid has a smaller variance anywhere."""
    x = np.linspace(0, 1, 21)
    best = mean.RandomCensoring(epsilon).variance(x)
    private = 0
    for delta1 in np.linspace(-1, 1, 21):
        for delta2 in np.linspace(-1, 3, 41):
            if delta2 - delta1 >= math.expm1(epsilon) - 1e-9:
                continue
            protocol = mean.RandomCensoring(epsilon, delta1, delta2)
            if protocol.audit().verdict == "certified":
                private += 1
                assert np.all(protocol.variance(x) >= best * (1 - 1e-12))
    assert private > 5


def test_censoring_without_privacy():
    """No-DP draws independent bits; for fixed answers their variance is below the paper's "lower
    bound"."""
    protocol = mean.NoPrivacy()
    x = np.linspace(0, 1, 11)
    assert protocol.variance(x) == pytest.approx(x * (1 - x), abs=1e-15)
    audit = protocol.audit()
    assert (audit.verdict, audit.epsilon) == ("violated", math.inf)
    assert [audit.delta_at(budget) for budget in (0.0, 1.0, 10.0, 700.0)] == [1.0] * 4
    surveys, people = 20_000, 40
    answers = np.linspace(0, 1, people)
    bits = protocol.privatize(np.tile(answers, surveys), rng=3)
    assert set(bits) == {0.0, 1.0}
    bits = bits.reshape(surveys, people)
    deviation = np.sqrt(answers * (1 - answers) / surveys)
    # 0 and 1 are always reported as they are
    assert (np.abs(bits.mean(axis=0) - answers) <= 5 * deviation).all()
    found = bits.mean(axis=1)
    estimates = [protocol.estimate(row).values[0] for row in bits[:100]]
    assert estimates == pytest.approx(found[:100].tolist(), abs=1e-12)
    # Dependent draws would change the variance of a survey's mean; 20 000 surveys estimate it to
    # 1 %.
    within = (answers * (1 - answers)).mean() / people
    paper = answers.mean() * (1 - answers.mean()) / people
    assert np.var(found) == pytest.approx(within, rel=0.05)
    assert within < 0.7 * paper


@pytest.mark.parametrize("ones", [0, 137, 5000, 9999])
def test_the_lower_bound_of_the_paper_does_not_hold(ones):
    """Answers 0 and 1 are reported without error, below (mu - mu**2) / n."""
    protocol = mean.NoPrivacy()
    answers = np.repeat([1.0, 0.0], [ones, 10_000 - ones])
    for seed in range(3):
        reports = protocol.privatize(answers, rng=seed)
        assert (reports == answers).all()
        assert protocol.estimate(reports).values[0] == ones / 10_000
