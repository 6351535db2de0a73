"""Peers are private channels, and none of them is better than the design."""

from __future__ import annotations

import numpy as np
import pytest
from ldpopt.frequencies import SubsetSelection, UnaryEncoding

from ldpopt import PureLDP, Workload, design
from ldpopt.errors import NotRepresentableError
from ldpopt.estimation.designs import peers

N, EPSILON = 6, 1.0
WORKLOAD = Workload.prefix(N)
CHANNELS = {
    "randomized response": peers.randomized_response(N, EPSILON),
    "subset selection": peers.subset_selection(N, EPSILON, 2),
    "local hashing": peers.local_hashing(N, EPSILON),
    "unary encoding": peers.unary_encoding(N, EPSILON),
    "Hadamard response": peers.hadamard_response(N, EPSILON),
    "hierarchy": peers.hierarchy(N, EPSILON),
    "factorization": peers.factorization(WORKLOAD, EPSILON, starts=2),
}


@pytest.fixture(scope="module")
def best():
    return design(WORKLOAD, PureLDP(EPSILON))


@pytest.mark.parametrize("name", CHANNELS)
def test_private_and_not_better(name, best):
    channel = CHANNELS[name]
    assert np.allclose(channel.sum(axis=1), 1)
    assert (channel.max(axis=0) <= np.exp(EPSILON) * channel.min(axis=0) * (1 + 1e-9)).all()
    assert peers.variance_of(WORKLOAD, channel) >= best.bound


def test_variances_are_those_of_the_protocols():
    """For frequencies the protocols' own estimators are best for randomized response and subsets."""
    frequencies = Workload.frequencies(N)
    subset = SubsetSelection(N, EPSILON, size=2).total_variance
    assert peers.variance_of(frequencies, CHANNELS["subset selection"]) == pytest.approx(subset, rel=1e-9)
    unary = UnaryEncoding(N, EPSILON).total_variance
    assert peers.variance_of(frequencies, CHANNELS["unary encoding"]) <= unary * (1 + 1e-9)


def test_too_many_sets():
    with pytest.raises(NotRepresentableError):
        peers.local_hashing(30, 1.0)
