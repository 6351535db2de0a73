"""Screening by extremes in floats decides as the plain audit does, to the last unit of a mass."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import Mechanism, PureLDP
from ldpopt.auditing.divergence import decide_all, least_epsilon_all
from ldpopt.auditing.exact_matrices import exact
from ldpopt.foundation.budget import Budget, epsilon_above, log_enclosure

TOTAL = 1 << 53


def plain_verdict(rows, budget):
    """All pairs of entries against both ends of the enclosure, one by one."""
    low, high = budget.enclosure()
    pairs = [(max(column), min(column)) for column in zip(*rows, strict=True) if any(column)]
    if all(most <= low * least for most, least in pairs):
        return "certified"
    return "violated" if any(most > high * least for most, least in pairs) else "undecided"


def plain_epsilon(rows):
    """The largest ratio of all columns, in rationals."""
    pairs = [(max(column), min(column)) for column in zip(*rows, strict=True) if any(column)]
    if any(least == 0 for _, least in pairs):
        return np.inf
    return epsilon_above(log_enclosure(max(Fraction(*pair) for pair in pairs))[1])


def masses(rows):
    """A mechanism with these masses."""
    return Mechanism._of_counts(
        np.array(rows, np.int64), tuple(range(2)), tuple(range(len(rows[0])))
    )


def rows_at_bound(budget, leasts, units):
    """Two rows whose columns but the last are at the bound of the budget, a few units off."""
    low = budget.enclosure()[0]
    high = [int(low * least) + unit for least, unit in zip(leasts, units, strict=True)]
    rest = TOTAL - sum(high), TOTAL - sum(leasts)
    return [[*high, rest[0]], [*leasts, rest[1]]]


@given(
    epsilon=st.sampled_from([0.01, "log(3)", 1.0, 2.5]),
    leasts=st.lists(st.integers(1, 2**47), min_size=1, max_size=6),
    data=st.data(),
)
def test_verdicts_and_epsilons_are_those_of_the_plain_audit(epsilon, leasts, data):
    budget = Budget(epsilon)
    units = data.draw(st.lists(st.integers(-1, 1), min_size=len(leasts), max_size=len(leasts)))
    rows = rows_at_bound(budget, leasts, units)
    audit = masses(rows).audit(PureLDP(epsilon))
    assert audit.verdict == plain_verdict(rows, budget)
    if audit.verdict != "certified":
        assert audit.epsilon == plain_epsilon(rows)
    assert least_epsilon_all(exact(masses(rows)))[0] == plain_epsilon(rows)


@pytest.mark.parametrize("unit, verdict", [(-1, "certified"), (0, "certified"), (1, "violated")])
@pytest.mark.parametrize("least", [1, 1000, 2**40, 2**44 + 1])
def test_one_unit_above_the_bound_is_a_violation(unit, verdict, least):
    rows = rows_at_bound(Budget(1.0), [least] * 40, [0] * 39 + [unit])
    assert masses(rows).audit(PureLDP(1.0)).verdict == verdict


def test_a_tiny_entry_hides_no_larger_ratio():
    tiny = Fraction(1, 2**1060)
    rest = 1 - Fraction(1, 4) - 2 * tiny
    channel = np.array(
        [[2 * tiny, Fraction(1, 4), rest], [tiny, Fraction(1, 1024), 1 - tiny - Fraction(1, 1024)]],
        dtype=object,
    )
    channel[0, 2] = 1 - channel[0, 0] - channel[0, 1]
    matrix = exact(channel)
    assert least_epsilon_all(matrix)[0] == pytest.approx(np.log(256))
    assert decide_all(matrix, Budget("log(255)")) == "violated"
    assert decide_all(matrix, Budget("log(256)")) == "certified"
