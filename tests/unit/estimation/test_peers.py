"""Peers are private channels, and none of them is better than the design."""

from __future__ import annotations

import numpy as np
import pytest

from ldpopt import PureLDP, Workload, design
from ldpopt.designing import peers
from ldpopt.errors import NotRepresentableError
from ldpopt.frequencies import LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding

N, EPSILON = 6, 1.0
WORKLOAD = Workload.prefix(N)
CHANNELS = {
    "randomized response": peers.randomized_response(N, EPSILON),
    "subset selection": peers.subset_selection(N, EPSILON, 2),
    "local hashing": peers.local_hashing(N, EPSILON),
    "unary encoding": peers.unary_encoding(N, EPSILON),
    "symmetric unary encoding": peers.unary_encoding(N, EPSILON, 1 / (1 + np.exp(-EPSILON / 2))),
    "Hadamard response in blocks": peers.hadamard_response(N, EPSILON, 2),
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


def own_variance(channel, supported, p, q):
    """Total variance of a protocol's own estimator: ``(1 - q) / (p - q)`` for what a report supports, else less."""
    values = (supported - q) / (p - q)
    means = channel @ values
    assert np.allclose(means, np.eye(len(channel)), atol=1e-8)
    return np.sum(channel @ values**2 - means**2, axis=1)


@pytest.mark.parametrize("n, epsilon", [(3, 4.0), (4, 1.0), (6, 0.5), (9, 2.0)])
def test_channels_are_those_of_the_protocols(n, epsilon):
    """The protocols' own estimators have the variances that the protocols state, and the best ones are not worse."""
    frequencies = Workload.frequencies(n)
    selection, truth = SubsetSelection(n, epsilon, size=2), RandomizedResponse(n, epsilon)
    chosen = peers.subset_selection(n, epsilon, 2)
    # For these two their own estimators are the best.
    assert peers.variance_of(frequencies, chosen) == pytest.approx(float(selection.total_variance), rel=1e-9)
    told = peers.variance_of(frequencies, peers.randomized_response(n, epsilon))
    assert told == pytest.approx(float(truth.total_variance), rel=1e-9)
    bits, channel = UnaryEncoding(n, epsilon), peers.unary_encoding(n, epsilon)
    sent = np.vstack([((np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1), np.zeros(n), np.ones(n)])
    assert own_variance(channel, sent, float(bits.p), float(bits.q)) == pytest.approx(float(bits.total_variance))
    assert peers.variance_of(frequencies, channel) <= float(bits.total_variance)


@pytest.mark.parametrize("n, epsilon, buckets", [(3, 4.0, None), (4, 1.0, 2), (6, 0.5, None), (5, 2.0, 20)])
def test_local_hashing_has_empty_buckets(n, epsilon, buckets):
    """They are reported, too, and tell nothing: many buckets for few answers are no randomized response."""
    protocol, channel = LocalHashing(n, epsilon, buckets=buckets), peers.local_hashing(n, epsilon, buckets)
    sets = np.vstack([((np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1), np.zeros(n), np.ones(n)])
    # Of an ideal hash, whose buckets collide with probability 1/g: the protocol's is pairwise independent.
    found = own_variance(channel, sets, float(protocol.p), float(protocol.q))
    assert found == pytest.approx(float(protocol.total_variance), rel=1e-6)
    assert peers.variance_of(Workload.frequencies(n), channel) <= found.max()


def test_hadamard_blocks_are_for_large_budgets():
    """One block is the scheme for small budgets; by the paper's rule there are about exp(epsilon)."""
    frequencies, one = Workload.frequencies(12), peers.hadamard_response(12, 4.0, 1)
    assert peers.hadamard_response(12, 0.5).shape == (12, 16)
    ruled = peers.hadamard_response(12, 4.0)
    assert ruled.shape == (12, 32)
    assert peers.variance_of(frequencies, ruled) < peers.variance_of(frequencies, one) / 8


def test_a_hierarchy_asks_each_level_alike():
    """Of 5 answers it has levels of 2, 4 and 5 nodes; every level is asked of a third."""
    channel = peers.hierarchy(5, 1.0)
    assert channel.shape[1] == 2 + 4 + 5
    assert channel[:, :2].sum(axis=1) == pytest.approx(1 / 3)
    assert (channel[0, :2] == channel[2, :2]).all()


def test_too_many_sets():
    with pytest.raises(NotRepresentableError):
        peers.local_hashing(30, 1.0)
