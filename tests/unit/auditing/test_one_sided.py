"""One-sided divergences: which rows are compared, and reports with owners."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ldpopt.auditing.one_sided import one_sided_divergence
from ldpopt.foundation.budget import Budget, epsilon_above, log_enclosure


def test_reports_with_owners_count_by_their_largest_mass_at_others():
    channel = np.array([[0.5, 0.25, 0.25, 0.0], [0.5, 0.25, 0.125, 0.125], [0.5, 0.25, 0.0, 0.25]])
    found = one_sided_divergence(channel, Budget("log(2)"), None, {2: 0, 3: 2})
    assert (found.epsilon, found.delta, found.witness, found.verdict) == (
        math.inf,
        0.25,
        (1, 2, 3),
        "violated",
    )
    assert found.delta_at(5.0) == 0.25
    fits = one_sided_divergence(channel[[0, 2]], Budget("log(2)"), None, {2: 0, 3: 1})
    assert (fits.epsilon, fits.delta, fits.witness, fits.verdict) == (0.0, 0.0, None, "certified")
    worse = one_sided_divergence(
        np.roll(channel, 1, axis=1), Budget("log(2)"), [0, 1], {3: 0, 0: 2}
    )
    assert (worse.delta, worse.verdict, worse.witness) == (0.25, "violated", (1, 0, 3))
    both = one_sided_divergence(
        [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]], Budget("log(2)"), None, {2: 0}
    )
    assert (both.delta, both.epsilon) == (1.0, math.inf)


def test_only_the_given_rows_are_compared_with_all():
    channel = np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
    for over, least in (
        ([0], 4),
        ([1], Fraction(3, 2)),
        ([2], Fraction(7, 4)),
        ([1, 2], Fraction(2)),
        (None, 4),
    ):
        least = max(Fraction(least), *(Fraction(1),) * 2)
        found = one_sided_divergence(channel, Budget(f"log({least})"), over)
        rows = range(3) if over is None else over
        ratio = max(
            Fraction(channel[x, y]) / Fraction(channel[k, y])
            for x in rows
            for k in range(3)
            for y in (0, 1)
        )
        assert found.epsilon == epsilon_above(log_enclosure(ratio)[1])
        assert found.verdict == ("certified" if ratio <= least else "violated")
        assert (found.delta > 0) == (ratio > least)
    assert one_sided_divergence(channel[::-1], Budget(1.0)).epsilon == epsilon_above(
        log_enclosure(Fraction(4))[1]
    )
    assert one_sided_divergence(channel, Budget(0.0), []).verdict == "certified"
    assert (
        one_sided_divergence(channel, Budget(0.0), [1]).claim == "epsilon = 0.0 for 1 of 3 inputs"
    )


def test_reports_of_insensitive_inputs_only_have_no_loss():
    found = one_sided_divergence([[1.0, 0.0], [0.5, 0.5]], Budget("log(2)"), [0])
    assert (found.epsilon, found.witness, found.verdict) == (
        Budget("log(2)").rounded_up,
        (0, 1, 0),
        "certified",
    )
    assert one_sided_divergence([[1.0, 0.0], [0.5, 0.5]], Budget("log(2)"), [1]).epsilon == math.inf
