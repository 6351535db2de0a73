"""Liu and Zhou 2023, number by number: what holds, and what does not."""

import math

import numpy as np
import pytest

from ldpopt import mean
from ldpopt.errors import PrivacyViolationError

EPSILONS = [0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 5.0, 8.0, 10.0]


def test_rivals_worst_variance_at_epsilon_1():
    assert mean.Duchi(1.0).worst_case_variance == pytest.approx(4.682694377, abs=5e-10)
    assert mean.Piecewise(1.0).worst_case_variance == pytest.approx(5.223597452, abs=5e-10)
    assert mean.Laplace(1.0).worst_case_variance == pytest.approx(8.0, abs=5e-10)


def censored_ones(epsilon, delta1, delta2):
    """Probability of report 1 for answers 0 and 1, as the paper states it."""
    big = math.exp(epsilon)
    return (1 + delta2) / (big + 1), (big + delta1) / (big + 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_1(epsilon):
    """G1, the variance of symmetric random censoring."""
    big, mu = math.exp(epsilon), np.linspace(0, 1, 11)
    assert np.allclose(mean.RandomCensoring(epsilon).variance(mu), mu - mu**2 + big / (big - 1) ** 2, rtol=1e-12)


def test_theorem_1_worst_case():
    assert mean.RandomCensoring(1.0).worst_case_variance == pytest.approx(1.170673594, abs=5e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_symmetric_censoring_is_duchi(epsilon):
    t = np.linspace(-1, 1, 9)
    assert np.allclose(4 * mean.RandomCensoring(epsilon).variance((t + 1) / 2), mean.Duchi(epsilon).variance(t))


@pytest.mark.parametrize(
    "epsilon, delta1, true_epsilon, delta",
    [(0.1, 0.5, 0.2666, 0.0476), (1.0, 0.5, 1.6231, 0.3161), (1.0, 0.99, 5.4613, 0.6258)],
)
def test_theorem_2_is_not_private(epsilon, delta1, true_epsilon, delta):
    """The range's own example points, delta2 = delta1 / E; only output 1 keeps the budget."""
    protocol = mean.RandomCensoring(epsilon, delta1, delta1 * math.exp(-epsilon))
    audit = protocol.audit()
    assert audit.epsilon == pytest.approx(true_epsilon, abs=5e-5)
    assert audit.delta == audit.delta_at(epsilon) == pytest.approx(delta, abs=5e-5)
    assert audit.witness == (0.0, 1.0, 0)
    # By the paper's own probabilities of a report, one output after the other.
    low, high = censored_ones(epsilon, delta1, delta1 * math.exp(-epsilon))
    assert math.log(high / low) <= epsilon + 1e-12
    assert math.log((1 - low) / (1 - high)) == pytest.approx(true_epsilon, abs=5e-5)
    assert (1 - low) - math.exp(epsilon) * (1 - high) == pytest.approx(delta, abs=5e-5)
    # By what is reported: 0 is beyond the budget, at eight standard deviations.
    draws = 400_000
    zeros = [np.mean(protocol.privatize(np.full(draws, x), rng=5) == 0) for x in (0.0, 1.0)]
    deviation = math.sqrt(sum(w**2 * z * (1 - z) for w, z in zip((1.0, math.exp(epsilon)), zeros, strict=True)) / draws)
    assert zeros[0] - math.exp(epsilon) * zeros[1] > 8 * deviation
    assert zeros[0] == pytest.approx(1 - low, abs=5 * math.sqrt(low / draws))
    assert zeros[1] == pytest.approx(1 - high, abs=5 * math.sqrt(high / draws))
    # At the true budget nothing is left, and a little below it something is.
    assert audit.delta_at(audit.epsilon) <= 1e-12 < audit.delta_at(audit.epsilon - 1e-3)
    # The symmetric interval of the same draws does keep the budget.
    zeros = [np.mean(mean.RandomCensoring(epsilon).privatize(np.full(draws, x), rng=5) == 0) for x in (0.0, 1.0)]
    assert abs(zeros[0] - math.exp(epsilon) * zeros[1]) < 5 * deviation


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_every_point_of_theorem_2s_range_violates_the_budget(epsilon):
    for delta1 in (1e-6, 0.01, 0.3, 0.7, 1.0):
        for share in (0.0, 0.25, 0.5, 1.0):
            delta2 = delta1 * (math.exp(-epsilon) * (1 - share) + share)
            audit = mean.RandomCensoring(epsilon, delta1, delta2).audit()
            assert audit.verdict == "violated"
            assert audit.epsilon > epsilon
            with pytest.raises(PrivacyViolationError, match="not"):
                _ = mean.RandomCensoring(epsilon, delta1, delta2).mechanism


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 50.0])
def test_single_is_private(epsilon):
    protocol = mean.RandomCensoring(epsilon)
    audit = protocol.audit()
    assert audit.verdict == "certified"
    # A bit of masses over 2**53 spends at most 36.7 nats.
    assert min(epsilon, 36.0) * (1 - 1e-9) <= audit.epsilon <= epsilon
    assert protocol.mechanism.audit().epsilon == pytest.approx(audit.epsilon, rel=1e-15)


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.0952), (1.0, 0.6321), (5.0, 0.9933)])
def test_corollary_1(epsilon, delta):
    """Gopt, and what it costs: no budget holds, delta is 1 - 1/E at all of them."""
    protocol = mean.RandomCensoring(epsilon, 1.0, math.exp(-epsilon))
    big, mu = math.exp(epsilon), np.linspace(0, 1, 11)
    assert np.allclose(protocol.variance(mu), (big - 2) / (big - 1) * mu - mu**2 + 1 / (big - 1))
    audit = protocol.audit()
    assert (audit.epsilon, audit.verdict) == (math.inf, "violated")
    assert "NOT" in repr(protocol)
    for budget in (0.0, epsilon, 3 * epsilon, 700.0):
        assert audit.delta_at(budget) == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
        assert audit.delta_at(budget) == pytest.approx(delta, abs=5e-5)


def test_corollary_1_worst_case():
    protocol = mean.RandomCensoring(1.0, 1.0, math.exp(-1.0))
    assert protocol.worst_case_variance == pytest.approx(0.6256625753, abs=5e-11)


def gap_of_the_two(epsilon, mu):
    return mean.RandomCensoring(epsilon).variance(mu) - mean.RandomCensoring(epsilon, 1.0, math.exp(-epsilon)).variance(
        mu
    )


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_gap_of_the_two_follows_from_their_bits(epsilon):
    """G1 - Gopt = mu / (E - 1) + 1 / (E - 1)**2, and a variance is that of one bit, stretched to be unbiased."""
    big, mu = math.exp(epsilon), np.linspace(0, 1, 5)
    assert np.allclose(gap_of_the_two(epsilon, mu), mu / (big - 1) + 1 / (big - 1) ** 2, rtol=1e-9)
    for delta1, delta2 in ((0.0, 0.0), (1.0, 1 / big), (0.5, 0.3)):
        low, high = censored_ones(epsilon, delta1, delta2)
        ones = low + (high - low) * mu
        variance = mean.RandomCensoring(epsilon, delta1, delta2).variance(mu)
        assert np.allclose(variance, ones * (1 - ones) / (high - low) ** 2, rtol=1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_the_gap_of_the_two_has_no_knee(mu):
    """It is ``sum_k (mu + k - 1) x**k`` in ``x = 1/E``, no term negative: convex everywhere, no inflection at 1 to 4.

    Each term is at most its own second derivative, so the bend is at least the gap: far from the 0 of an inflection.
    """
    h = 0.01
    for epsilon in np.linspace(0.2, 6, 59):
        low, gap, high = (gap_of_the_two(e, mu) for e in (epsilon - h, epsilon, epsilon + h))
        k = np.arange(1, math.ceil(45 / epsilon) + 2)
        assert gap == pytest.approx(((mu + k - 1) * np.exp(-k * epsilon)).sum(), rel=1e-6, abs=1e-13)
        assert (low + high - 2 * gap) / h**2 >= gap * (1 - 1e-3)
        assert (low - high) / (2 * h) >= gap * (1 - 1e-3)


@pytest.mark.parametrize("m", [2, 36])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_g3(epsilon, m):
    """The paper's variance of RCP_Multiple and its optimized form, which are Horvitz-Thompson on bits."""
    big, mu = math.exp(epsilon), np.linspace(0, 1, 7)
    single = mean.sampled(mean.RandomCensoring(epsilon), attributes=m, method="horvitz_thompson")
    g3 = (m * (big + 1) - 2) / (big - 1) * mu - mu**2 + (m * (big + 1) - 1) / (big - 1) ** 2
    assert np.allclose(single.variance(mu), g3)
    best = mean.sampled(mean.RandomCensoring(epsilon, 1.0, 1 / big), attributes=m, method="horvitz_thompson")
    assert np.allclose(best.variance(mu), (m * big - 2) / (big - 1) * mu - mu**2 + (m * big - 1) / (big - 1) ** 2)
    assert best.audit().epsilon == math.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_symmetric_interval_is_optimal_for_every_answer(epsilon):
    """All private intervals on a grid: none has a smaller variance anywhere."""
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
    """No-DP: bits of the stated means, drawn apart; fixed answers vary less than the paper's "lower bound" says."""
    protocol, x = mean.NoPrivacy(), np.linspace(0, 1, 11)
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
    assert (np.abs(bits.mean(axis=0) - answers) <= 5 * deviation).all()  # 0 and 1 are reported without exception
    # Were the draws dependent, the mean of a survey would vary by another amount; 4000 tell it to 2 %.
    found = [protocol.estimate(row).values[0] for row in bits[:4000]]
    within, paper = (answers * (1 - answers)).mean() / people, answers.mean() * (1 - answers.mean()) / people
    assert np.var(found) == pytest.approx(within, rel=0.12)
    assert within < 0.7 * paper


@pytest.mark.parametrize("ones", [0, 137, 5000, 9999])
def test_the_papers_lower_bound_is_none(ones):
    """Answers of 0 and 1 are reported as they are, without error; the "lower bound" is (mu - mu**2) / n."""
    protocol, answers = mean.NoPrivacy(), np.repeat([1.0, 0.0], [ones, 10_000 - ones])
    for seed in range(3):
        reports = protocol.privatize(answers, rng=seed)
        assert (reports == answers).all()
        assert protocol.estimate(reports).values[0] == ones / 10_000
