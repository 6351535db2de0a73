"""Sample sizes: against simulated surveys, plain searches over distributions, and closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Mechanism, PureLDP, Workload, design, estimate_frequencies, plan_sample
from ldpopt.errors import StatementError
from ldpopt.estimation.linear import worst_variance
from ldpopt.estimation.planning import precision
from ldpopt.frequencies import RandomizedResponse, UnaryEncoding

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])


@cases(40)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 20)), min_size=1, max_size=5))
def test_worst_variance_against_a_search_over_pairs(points):
    w, b = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    b = b + w**2  # a second moment is at least the square of the mean
    shares = np.linspace(0, 1, 401)
    plain = max(
        float(np.max(s * b[i] + (1 - s) * b[j] - (s * w[i] + (1 - s) * w[j]) ** 2))
        for i in range(len(w))
        for j in range(len(w))
        for s in [shares]
    )
    assert plain <= worst_variance(w, b) + 1e-9
    assert worst_variance(w, b) <= plain + 1e-3 * (1 + plain)


def test_the_variance_is_that_of_surveys():
    mechanism = design(Workload.frequencies(4), PureLDP(1.0)).mechanism
    p = np.array([0.5, 0.3, 0.2, 0.0])
    rng = 7
    seen = np.random.default_rng(rng).multinomial(2000, p @ mechanism.channel, size=400)
    values = [estimate_frequencies(mechanism, dict(enumerate(row))).values for row in seen]
    expected = precision(mechanism, prior=p).variances / 2000
    # A variance from 400 values is known to 7 %; five times that.
    assert np.var(values, axis=0) == pytest.approx(expected, rel=0.35)
    assert (precision(mechanism).variances >= precision(mechanism, prior=p).variances - 1e-12).all()


def test_protocols_are_planned_as_their_channels():
    protocol = RandomizedResponse(["a", "b", "c"], "log(4)")
    for prior in (None, {"a": 0.7, "b": 0.3, "c": 0.0}):
        one = precision(protocol, prior=prior)
        other = precision(protocol.mechanism, prior=prior)
        assert one.variances == pytest.approx(other.variances, rel=1e-9)
    assert plan_sample(UnaryEncoding(10**5, 1.0), half_width=0.01) > 10**4


def test_designs_are_planned_for_their_workload():
    best = design(Workload.prefix(["low", "middle", "high"]), PureLDP(1.0))
    found = precision(best)
    assert found.names == best.workload.names
    counts = best.mechanism.sample(["low", "middle", "high"] * 1000, rng=1)
    half = best.estimate(counts).interval @ [-0.5, 0.5]
    assert (half <= found.half_width(3000) * 1.05).all()


def test_half_widths_and_people_are_inverse_to_each_other():
    found = precision(COIN)
    people = plan_sample(COIN, half_width=0.03)
    assert found.half_width(people).max() <= 0.03 < found.half_width(people - 1).max()
    assert found.people(pd.Series([0.1, 0.02], ["yes", "no"])).tolist() == [
        plan_sample(COIN, half_width=0.02),
        385,
    ]
    assert plan_sample(COIN, half_width={"no": 0.1, "yes": 0.02}) == plan_sample(
        COIN, half_width=0.02
    )
    assert plan_sample(COIN, half_width=0.02, simultaneous=True) > plan_sample(
        COIN, half_width=0.02
    )


@pytest.mark.parametrize(
    ("half_width", "code"), [(0, "sign"), (-1, "sign"), (1e-9, "people"), ("100%", "range")]
)
def test_bad_half_widths(half_width, code):
    with refused(code):
        plan_sample(COIN, half_width=half_width)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"half_width": {"maybe": 0.1}}, "'maybe'"),
        ({"half_width": 0.1, "confidence": 2}, "confidence"),
        ({"half_width": 0.1, "prior": {"maybe": 1}}, "'maybe'"),
        ({"half_width": "wide"}, "half-width"),
    ],
)
def test_bad_statements(more, words):
    with pytest.raises(StatementError, match=words):
        plan_sample(COIN, **more)


def test_a_mechanism_without_information_is_refused():
    with refused("rank") as error:
        plan_sample(Mechanism([[0.5, 0.5], [0.5, 0.5]]), half_width=0.1)
    assert " 1 " in error.value.what
    with refused("randomizer"):
        plan_sample("coin", half_width=0.1)


def test_half_widths_are_shares_or_percentages_and_never_wider_than_the_number():
    assert plan_sample(COIN, half_width="2%") == plan_sample(COIN, half_width=0.02)
    with refused("range") as error:
        plan_sample(COIN, half_width=5)
    assert " 5 is not below 1," in error.value.what
    assert error.value.do.endswith("did you mean 0.05?")
    mean = design(Workload.mean([0.0, 10.0]), PureLDP(1.0))
    assert plan_sample(mean, half_width=5) == plan_sample(mean, half_width="50%")
    with refused("range") as error:
        plan_sample(mean, half_width=10)
    assert "below 10," in error.value.what
