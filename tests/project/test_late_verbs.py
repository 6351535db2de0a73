"""Verbs of products on objects of the core are functions of these products."""

import pytest

import ldpopt as lo
from ldpopt.foundation.late import LATE, late

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


@pytest.mark.parametrize("verb", LATE)
def test_every_verb_is_a_function_of_a_product(verb):
    assert callable(late(verb))
    assert hasattr(COIN, verb)
    public = getattr(lo, verb, None)
    assert public is None or late(verb) is public
