"""The shares of a budget add up to it, and the checker reads the same numbers."""

from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import ldpopt_check
from ldpopt.foundation.budget import (
    Budget,
)
from ldpopt.privacy.plain import plain_budget

numbers = st.floats(0, 1e4) | st.decimals(0, 10**4, places=4).map(float)


@given(numbers, st.lists(st.integers(1, 100), min_size=1, max_size=12))
def test_the_shares_of_a_budget_add_up_to_it(epsilon, parts):
    budget = Budget(epsilon)
    shares = [budget.share(Fraction(part, sum(parts))) for part in parts]
    assert sum((share.nats for share in shares), Fraction(0)) == budget.nats
    for share in shares:
        assert Budget(share.exact_text).nats == share.nats
        plain = json.loads(json.dumps(plain_budget(share)))
        assert Budget(plain).nats == share.nats
        ratio, low, high = ldpopt_check.nats(plain)
        is_exact = 1 if epsilon == 0 else None  # e**0 = 1
        assert (ratio, low, high) == (is_exact, share.nats, share.nats)
