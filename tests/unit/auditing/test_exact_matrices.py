"""Channels are read exactly: floats, rationals and integer masses; other arrays are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, truth_or_another
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import MechanismError


def masses(counts, denominator):
    counts = np.array(counts)
    return SimpleNamespace(
        counts=counts,
        denominator=denominator,
        inputs=tuple("ab"),
        outputs=tuple(range(counts.shape[1])),
    )


@pytest.mark.parametrize(
    "denominator, rounded", [(2**53, False), (2**54, True), (2**52, False), (12, True), (1, False)]
)
def test_masses_are_marked_as_rounded_if_floats_may_not_hold_them(denominator, rounded):
    counts = [[denominator - denominator // 3, 0, denominator // 3], [denominator, 0, 0]]
    found = exact(masses(counts, denominator))
    assert found.is_rounded == rounded
    assert (found.denominator, found.inputs) == (denominator, ("a", "b"))
    used = [0, 2] if denominator > 1 else [0]
    assert found.outputs == tuple(used)
    assert found.numerators.tolist() == [[row[y] for y in used] for row in counts]
    assert found.floats.tolist() == [[row[y] / denominator for y in used] for row in counts]
    assert found.shape == (2, len(used))


@pytest.mark.parametrize("kind", [float, Fraction])
def test_a_row_sums_to_one_within_a_billionth(kind):
    for off, fits in ((9.9e-10, True), (-9.9e-10, True), (1.01e-9, False), (-1.01e-9, False)):
        channel = np.array(
            [[kind(0.5), kind(0.5)], [kind(0.25), kind(0.75) + kind(off)]], dtype=object
        )
        channel = channel.astype(float) if kind is float else channel
        if fits:
            assert exact(channel).is_rounded == (kind is Fraction)
        else:
            with refused("row-sum", MechanismError) as caught:
                exact(channel)
            assert "row 1 " in str(caught.value)


def test_floats_of_all_sizes_are_read_exactly():
    for row in ([1.0, 0.0], [1.0, 5e-324], [1 - 2.0**-53, 2.0**-53], [0.1, 0.9], [0.5, 0.5]):
        found = exact(np.array([row, [1.0, 0.0]]))
        kept = [v for v, other in zip(row, [1.0, 0.0], strict=True) if v or other]
        assert [Fraction(int(v), found.denominator) for v in found.numerators[0]] == list(
            map(Fraction, kept)
        )
        assert not found.is_rounded
    # from 1 down to 2**-9, integers have 63 - 1 bits
    for least, kind in ((2.0**-9, np.int64), (2.0**-10, object)):
        found = exact(np.array([[1 - least, least], [1.0, 0.0]]))
        assert found.numerators.dtype == kind
        assert [Fraction(int(v), found.denominator) for v in found.numerators.flat] == [
            1 - Fraction(least),
            least,
            1,
            0,
        ]
    third = exact([[Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 6), Fraction(5, 6)]])
    assert (third.numerators.tolist(), third.denominator, third.is_rounded) == (
        [[2, 4], [1, 5]],
        6,
        True,
    )


def test_rationals_too_small_for_floats_are_used():
    tiny = Fraction(1, 10**400)
    found = exact(
        np.array(
            [[1 - tiny, tiny, Fraction(0)], [Fraction(1), Fraction(0), Fraction(0)]], dtype=object
        )
    )
    assert found.outputs == (0, 1)
    assert found.floats[:, 1].tolist() == [0.0, 0.0]


def test_mixed_floats_and_rationals_are_read_as_floats():
    assert not exact(np.array([[Fraction(1, 3), 2 / 3]], dtype=object)).is_rounded


@pytest.mark.parametrize(
    "channel",
    [
        [[0.5, 0.4], [0.5, 0.5]],
        [[1.5, -0.5]],
        [[math.nan, 1.0]],
        [[math.inf, 0.0]],
        [0.5, 0.5],
        [],
        [[]],
        [[[1.0]]],
        [[Fraction(1, 2), Fraction(1, 3)]],
        [[Fraction(3, 2), Fraction(-1, 2)]],
    ],
    ids=repr,
)
def test_other_arrays_are_refused(channel):
    with pytest.raises(MechanismError):
        exact(channel)


@pytest.mark.parametrize("channel", [[["a", "b"]], [[0.5, 0.5], [1.0]]], ids=repr)
def test_ragged_lists_and_text_are_refused(channel):
    with refused("rectangle", MechanismError):
        lo.audit(channel)


@pytest.mark.parametrize("moved", [False, True])
def test_floats_of_masses_are_the_channel_if_they_are_equal(moved):
    channel = lo.Mechanism(truth_or_another(5, 1.0)).counts / 2**53
    mechanism = lo.Mechanism(channel * (1 - 2.0**-40) if moved else channel)
    found = exact(mechanism)
    assert (found.floats is mechanism.channel) != moved
    assert found.floats.tolist() == (mechanism.counts / 2**53).tolist()
