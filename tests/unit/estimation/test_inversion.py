"""From reports back to frequencies, against plain formulas and exact algebra."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas
import pytest

from builders import refused, thorough_or
from ldpopt.errors import LimitReachedError, StatementError
from ldpopt.estimation import likelihood
from ldpopt.estimation.estimate import NO_ERROR, Estimate
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.mechanism.mechanism import Mechanism

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
METHODS = ["inversion", "maximum_likelihood"]


def randomized_response(n: int, epsilon: float) -> Mechanism:
    channel = np.ones((n, n)) + np.eye(n) * math.expm1(epsilon)
    return Mechanism(channel / channel.sum(axis=1, keepdims=True))


def wide(seed: int = 0) -> Mechanism:
    """Three inputs, six outputs: more reports than answers."""
    return Mechanism(
        np.random.default_rng(seed).dirichlet(np.ones(6), size=3), inputs=["a", "b", "c"]
    )


def em(channel: np.ndarray, frequencies: np.ndarray, steps: int) -> np.ndarray:
    """The textbook iteration, slow and sure."""
    prior = np.full(len(channel), 1 / len(channel))
    for _ in range(steps):
        prior = prior * (channel @ (frequencies / (prior @ channel)))
    return prior


class TestInversion:
    """Unbiased, linear, not clipped."""

    @pytest.mark.parametrize(
        "mechanism", [randomized_response(4, 1.0), randomized_response(9, 0.1), wide()]
    )
    def test_unbiased(self, mechanism):
        # The estimate is linear in the counts, so unbiased means: exact report frequencies give the
        # exact prior. Masses over 2**53 are whole counts, so these frequencies are exact.
        for x, masses in enumerate(mechanism.masses):
            reports = dict(zip(mechanism.outputs, masses, strict=True))
            found = estimate_frequencies(mechanism, reports, check_fit=False).values
            assert found == pytest.approx(np.eye(len(mechanism.inputs))[x], abs=1e-11)

    def test_by_hand(self):
        found = estimate_frequencies(COIN, {"no": 600, "yes": 400})
        # (q - 1/4) / (1/2), standard error sqrt(q (1 - q) / N) / (1/2)
        assert found.values == pytest.approx([0.7, 0.3])
        assert found.std_error == pytest.approx([2 * math.sqrt(0.24 / 1000)] * 2)
        normal = estimate_frequencies(COIN, {"no": 600, "yes": 400}, intervals="normal").interval[0]
        assert normal == pytest.approx(
            [0.7 - 1.959964 * 0.0309839, 0.7 + 1.959964 * 0.0309839], abs=1e-6
        )
        # Wilson's interval of the share 0.6 of 1000 reports, through (s - 1/4) / (1/2)
        wilson = np.array([0.5693093, 0.6299252])
        assert found.interval[0] == pytest.approx((wilson - 0.25) / 0.5, abs=1e-6)
        assert (found.labels, found.n_reports, found.method) == (("no", "yes"), 1000, "inversion")

    @pytest.mark.parametrize("mechanism", [randomized_response(5, 1.3), wide(3)])
    def test_covariance_against_the_plain_formula(self, mechanism):
        reports = np.random.default_rng(5).choice(np.array(mechanism.outputs), size=300)
        found = estimate_frequencies(mechanism, reports, check_fit=False)
        # The estimate is the mean of one number per report: the columns of A, one for each output.
        columns = {y: estimate_frequencies(mechanism, {y: 1}).values for y in mechanism.outputs}
        numbers = np.array([columns[y] for y in reports.tolist()])
        assert found.values == pytest.approx(numbers.mean(axis=0))
        assert found.covariance == pytest.approx(np.cov(numbers.T, bias=True) / 300, abs=1e-15)
        assert found.std_error == pytest.approx(numbers.std(axis=0) / math.sqrt(300))

    def test_sums_to_one_with_more_outputs_than_inputs(self):
        for y in wide().outputs:
            assert estimate_frequencies(wide(), {y: 1}).values.sum() == pytest.approx(1, abs=1e-12)

    def test_weights_beat_the_plain_pseudo_inverse(self):
        # Gauss-Markov: at uniform answers no other left inverse has smaller variance, in any
        # direction.
        channel = wide().channel
        q = channel.mean(axis=0)
        ours = np.array([estimate_frequencies(wide(), {y: 1}).values for y in wide().outputs]).T
        plain = np.linalg.pinv(channel.T)
        assert ours @ channel.T == pytest.approx(np.eye(3), abs=1e-12)
        better = (plain * q) @ plain.T - (ours * q) @ ours.T
        assert np.linalg.eigvalsh(better).min() > -1e-12
        assert np.trace(better) > 1e-3

    def test_a_negative_estimate_is_kept(self):
        found = estimate_frequencies(COIN, ["no"] * 9 + ["yes"])
        assert found.values == pytest.approx([1.3, -0.3])
        assert found.interval[1, 0] < -0.3

    def test_impossible_outputs_do_no_harm(self):
        mechanism = Mechanism([[0.8, 0.0, 0.2], [0.1, 0.0, 0.9]])
        assert estimate_frequencies(mechanism, {0: 8, 2: 2}).values == pytest.approx([1, 0])
        with refused("impossible-report"):
            estimate_frequencies(mechanism, {0: 8, 1: 2})

    def test_coverage(self):
        mechanism = randomized_response(3, 1.0)
        rng = np.random.default_rng(8)
        prior = np.array([0.6, 0.3, 0.1])
        surveys = thorough_or(300, 1000)
        reports = rng.multinomial(2000, prior @ mechanism.channel, size=surveys)
        inside = np.zeros(3)
        for counts in reports:
            low, high = estimate_frequencies(
                mechanism, dict(enumerate(counts)), confidence=0.9
            ).interval.T
            inside += (low <= prior) & (prior <= high)
        # Five standard deviations, and one point for the normal approximation.
        slack = 5 * math.sqrt(0.9 * 0.1 / surveys) + 0.01
        assert np.abs(inside / surveys - 0.9).max() < slack


class TestMaximumLikelihood:
    """On the simplex, at the maximum."""

    @pytest.mark.parametrize("mechanism", [COIN, randomized_response(6, 2.0)])
    def test_equals_inversion_in_the_interior(self, mechanism):
        rng = np.random.default_rng(2)
        counts = rng.multinomial(
            10_000, rng.dirichlet(np.full(len(mechanism.inputs), 9.0)) @ mechanism.channel
        )
        reports = dict(zip(mechanism.outputs, counts, strict=True))
        plain = estimate_frequencies(mechanism, reports)
        assert plain.values.min() > 0
        likely = estimate_frequencies(mechanism, reports, method="maximum_likelihood")
        assert likely.values == pytest.approx(plain.values, abs=1e-9)
        assert likely.covariance == pytest.approx(plain.covariance, rel=1e-6, abs=1e-12)

    def test_at_the_boundary(self):
        found = estimate_frequencies(COIN, ["no"] * 9 + ["yes"], method="maximum_likelihood")
        assert found.values.tolist() == [1, 0]
        assert found.interval.min() >= 0
        assert found.interval.max() <= 1
        assert found.interval[1, 1] > 0.1

    @pytest.mark.parametrize("seed", range(6))
    def test_against_the_textbook_iteration(self, seed):
        rng = np.random.default_rng(seed)
        mechanism = Mechanism(rng.dirichlet(np.full(6, 0.3), size=4), outputs=range(6))
        counts = rng.multinomial(200, rng.dirichlet(np.full(4, 0.4)) @ mechanism.channel)
        found = estimate_frequencies(
            mechanism, dict(enumerate(counts)), method="maximum_likelihood"
        ).values
        q = counts / 200
        slow = em(mechanism.channel, q, steps=3000)
        used = q > 0

        def likelihood(prior):
            return float(q[used] @ np.log((prior @ mechanism.channel)[used]))

        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found.min() >= 0
        assert likelihood(found) >= likelihood(slow) - 1e-11
        assert found == pytest.approx(slow, abs=0.01)
        # A fixed point of the iteration, and no direction of ascent.
        gradient = mechanism.channel[:, used] @ (q / (found @ mechanism.channel))[used]
        assert found * gradient == pytest.approx(found, abs=1e-6)
        assert gradient.max() <= 1 + 1e-9

    def test_standard_errors_by_the_constrained_information(self):
        mechanism = wide(2)
        reports = dict(zip(mechanism.outputs, [9, 14, 20, 13, 22, 18], strict=True))
        found = estimate_frequencies(mechanism, reports, method="maximum_likelihood")
        assert found.values.min() > 0
        # Parametrize the simplex by its first two coordinates and invert the information there.
        tangent = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
        slope = mechanism.channel.T @ tangent
        information = 96 * slope.T @ (slope / (found.values @ mechanism.channel)[:, None])
        assert found.covariance == pytest.approx(
            tangent @ np.linalg.inv(information) @ tangent.T, rel=1e-6
        )

    def test_the_identity_channel_gives_the_sample_frequencies(self):
        found = estimate_frequencies(
            Mechanism(np.eye(3)), [0, 0, 0, 2], method="maximum_likelihood"
        )
        assert found.values == pytest.approx([0.75, 0, 0.25], abs=1e-12)
        assert found.std_error == pytest.approx(
            [math.sqrt(0.75 * 0.25 / 4), 0, math.sqrt(0.75 * 0.25 / 4)], abs=1e-5
        )

    def test_an_unfinished_search_is_refused(self, monkeypatch):
        monkeypatch.setattr(likelihood, "NEWTON_STEPS", 2)
        with refused("likelihood", LimitReachedError):
            estimate_frequencies(wide(), {0: 5, 1: 3}, method="maximum_likelihood")


@pytest.mark.parametrize("method", METHODS)
class TestStatements:
    """What both methods accept and refuse."""

    @pytest.mark.parametrize("reports", [[], {}, {"no": 0}])
    def test_no_reports(self, method, reports):
        with refused("no-reports"):
            estimate_frequencies(COIN, reports, method=method)

    def test_an_unknown_report_is_named_with_its_place(self, method):
        with pytest.raises(StatementError, match=r"unknown report: (.|\n)*entry 2"):
            estimate_frequencies(COIN, ["no", "yes", "maybe"], method=method)
        with pytest.raises(StatementError, match="unknown report: "):
            estimate_frequencies(COIN, {"maybe": 3}, method=method)

    @pytest.mark.parametrize("count", [-1, 0.5, math.nan, math.inf, "many", None])
    def test_odd_counts(self, method, count):
        with pytest.raises(StatementError, match="count"):
            estimate_frequencies(COIN, {"no": 3, "yes": count}, method=method)

    @pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, math.nan, True, "0.9", None])
    def test_odd_confidence(self, method, confidence):
        with pytest.raises(StatementError, match="confidence"):
            estimate_frequencies(COIN, ["no"], method=method, confidence=confidence)

    @pytest.mark.parametrize(
        ("channel", "rank"),
        [([[0.5, 0.5], [0.5, 0.5]], 1), ([[1.0], [1.0]], 1), ([[1, 0], [0, 1], [0.5, 0.5]], 2)],
    )
    def test_dependent_rows_are_refused_with_the_rank(self, method, channel, rank):
        with refused("rank") as error:
            estimate_frequencies(Mechanism(channel), [0, 0], method=method)
        assert f" {rank} " in error.value.what
        assert error.value.do

    def test_one_input(self, method):
        found = estimate_frequencies(Mechanism([[0.5, 0.5]]), [0, 1, 1], method=method)
        assert found.values == pytest.approx([1])
        assert found.std_error == pytest.approx([0], abs=1e-7)

    def test_the_mechanism_round_trip(self, method):
        # 5 standard errors, once per frequency: false failure below 1e-5 for any seed, and the seed
        # is fixed.
        mechanism = randomized_response(5, 1.5)
        answers = np.random.default_rng(1).choice(5, p=[0.4, 0.3, 0.15, 0.1, 0.05], size=20_000)
        found = estimate_frequencies(mechanism, mechanism.sample(answers, rng=2), method=method)
        assert np.all(np.abs(found.values - np.bincount(answers) / 20_000) < 5 * found.std_error)


def test_an_unknown_method_is_refused():
    with pytest.raises(StatementError, match="'maximum_likelihood'"):
        estimate_frequencies(COIN, ["no"], method="magic")


class TestEstimate:
    """The record, for frequencies and for means."""

    def test_a_mean(self):
        mean = Estimate(0.25, 0.1, n_reports=10, method="duchi")
        assert mean.values.shape == (1,)
        assert mean.labels is None
        assert mean.covariance is None
        assert mean.interval == pytest.approx(np.array([[0.25 - 0.1959964, 0.25 + 0.1959964]]))
        assert list(mean.to_frame().index) == [0]

    def test_frame(self):
        frame = estimate_frequencies(COIN, {"no": 600, "yes": 400}).to_frame()
        assert list(frame.columns) == ["estimate", "std_error", "low", "high"]
        assert list(frame.index) == ["no", "yes"]
        assert frame.index.name == "answer"
        assert frame.loc["yes", "low"] < frame.loc["yes", "estimate"] < frame.loc["yes", "high"]

    def test_repr(self):
        text = repr(estimate_frequencies(COIN, {"no": 600, "yes": 400}))
        assert text.splitlines()[0] == "Estimate(inversion, 1000 reports, 95% intervals)"
        assert "'yes': 0.3 +- 0.031  [0.240" in text
        # no reports differ, yet the error is not 0
        equal = estimate_frequencies(COIN, {"no": 20}, check_fit=False)
        assert np.isnan(equal.std_error).all()
        assert (equal.interval[:, 0] < equal.interval[:, 1]).all()
        assert "+-" not in repr(equal)
        assert [row[2] for row in equal.facts().parts[0].rows] == [None, None]
        assert "... 15 more" in repr(Estimate(np.zeros(25), np.zeros(25), 1))

    def test_equal_reports_have_no_known_standard_error(self):
        for count in (1, 2, 50):
            for channel in (COIN, Mechanism(np.eye(2), COIN.inputs)):
                equal = estimate_frequencies(channel, {"no": count}, check_fit=False)
                assert equal.shown_errors == [None, None]
                assert equal.to_frame()["std_error"].isna().all()
                assert NO_ERROR in equal.facts().parts
        # a known number has an error of 0, and an interval of one point
        assert Estimate([1.0], [0.0], 5).shown_errors == [0.0]
        assert NO_ERROR not in estimate_frequencies(COIN, {"no": 1, "yes": 1}).facts().parts

    def test_frozen(self):
        found = estimate_frequencies(COIN, ["no"])
        with pytest.raises(ValueError, match="read-only"):
            found.values[0] = 1
        with pytest.raises(AttributeError):
            found.values = 1

    def test_shapes_must_fit(self):
        for odd in (
            {"std_error": [1]},
            {"labels": "abc"},
            {"covariance": np.eye(3)},
            {"interval": np.eye(3)},
        ):
            with refused("labels" if "labels" in odd else "shape"):
                Estimate(**({"values": [1, 2], "std_error": [1, 1], "n_reports": 3} | odd))
        with pytest.raises(StatementError, match="confidence"):
            Estimate([1], [1], 1, confidence=2)

    @pytest.mark.parametrize(
        ("confidence", "z"), [(0.6826894921370859, 1), (0.9973002039367398, 3), (1 - 2**-53, 8.2)]
    )
    def test_quantile(self, confidence, z):
        assert normal_quantile(confidence) == pytest.approx(z, abs=0.1 if z > 8 else 1e-9)


class TestCountsOrReports:
    """A Series of reports is distinguished from one of counts by rules; an ambiguous one is
    refused."""

    SEEN = pandas.Series([0] * 60 + [1] * 40)
    NUMBERED = Mechanism([[0.75, 0.25], [0.25, 0.75]])

    def test_counts_of_integer_labels(self):
        for counts in (
            self.SEEN.value_counts(),
            self.SEEN.value_counts().sort_index(),
            Counter(self.SEEN.tolist()),
        ):
            found = estimate_frequencies(self.NUMBERED, counts)
            assert found.n_reports == 100
            assert found.values.tolist() == pytest.approx([0.7, 0.3])

    def test_reports_whatever_their_row_numbers(self):
        for reports in (
            self.SEEN,
            self.SEEN.sample(frac=1, random_state=1),
            self.SEEN[self.SEEN.index > 20],
        ):
            assert estimate_frequencies(self.NUMBERED, reports).n_reports == len(reports)

    def test_an_ambiguous_series_is_refused(self):
        digits = Mechanism(np.eye(10) / 2 + 1 / 20)
        for series in (pandas.Series([3, 1, 2]), pandas.Series([3, 3, 0]).value_counts()):
            with pytest.raises(StatementError) as error:
                estimate_frequencies(digits, series)
            assert "dict(series)" in error.value.do
            assert "series.to_list()" in error.value.do
            assert estimate_frequencies(digits, dict(series)).n_reports == series.sum()
            assert estimate_frequencies(digits, series.to_list()).n_reports == len(series)
