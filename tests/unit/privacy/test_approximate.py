"""Approximate privacy: which events are separated, and which rows are written."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import NotRepresentableError
from ldpopt.privacy.approximate import MAX_ROWS

EVENTS = lo.ApproximateLDP("log(2)", 0.25)


def test_events_are_separated_only_for_event_wise_delta() -> None:
    channel = np.eye(2)
    assert EVENTS.is_separated
    assert lo.ApproximateLDP(1.0, 1.0).is_separated
    for other in (lo.ApproximateLDP(1.0, 0.0), lo.ApproximateLDP(1.0, 0.25, "entry")):
        assert not other.is_separated
        assert other.separate(channel, [0, 1]) is None


@pytest.mark.parametrize("beyond", [0.0, 8.5e-10])
def test_an_event_is_separated_if_its_excess_is_above_delta(beyond: float) -> None:
    """Row 0 exceeds twice row 1 by 1/8 at outputs 0 and 1; row 1 exceeds twice row 0 by much at
    output 3."""
    channel = np.array([[0.375 + beyond, 0.625, 0.0, 0.0], [0.125, 0.25, 0.125, 0.5]])
    found = EVENTS.separate(channel, [0, 1])
    assert found is not None
    rows = [
        tuple(part[found.row == row].tolist() for part in (found.x, found.y))
        for row in range(len(found))
    ]
    expected = [([0, 1, 0, 1], [0, 0, 1, 1])] if beyond else []
    expected += [([1, 0, 1, 0], [2, 2, 3, 3])]
    assert [(sorted(zip(*row, strict=True))) for row in rows] == [
        sorted(zip(*row, strict=True)) for row in expected
    ]
    assert found.upper.tolist() == pytest.approx([0.125] * len(found), abs=1e-15)


def test_a_private_channel_violates_no_event() -> None:
    assert EVENTS.separate(np.full((3, 4), 0.25), [0, 1, 2]) is None
    assert lo.ApproximateLDP(0.0, 0.25).separate(np.full((2, 2), 0.5), [0, 1]) is None
    assert (
        lo.ApproximateLDP(5000.0, 0.25).separate(np.array([[1.0, 0.0], [0.5, 0.5]]), [0, 1])
        is not None
    )


def test_large_ratios_are_kept() -> None:
    channel = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4]])
    assert lo.ApproximateLDP("log(100000)", 0.1).separate(channel, [0, 1]) is None


def test_every_pair_and_every_event_has_a_row() -> None:
    block = EVENTS.rows([0, 1, 2], 3)
    events = {
        (tuple(block.x[block.row == r]), tuple(block.y[block.row == r])) for r in range(len(block))
    }
    assert len(block) == len(events) == 6 * 6  # all but the empty event and the whole
    assert len(lo.ApproximateLDP(1.0, 0.25, "entry").rows([0, 1, 2], 3)) == 6 * 3


def test_too_many_events_are_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(EVENTS.rows([0, 1], 4)) == 2 * 14
    monkeypatch.setattr("ldpopt.privacy.approximate.MAX_ROWS", 2 * 16)
    assert len(EVENTS.rows([0, 1], 4)) == 2 * 14
    with refused("rows", NotRepresentableError) as caught:
        EVENTS.rows([0, 1], 5)
    assert "64 rows" in str(caught.value)
    monkeypatch.setattr("ldpopt.privacy.approximate.MAX_ROWS", 6 * 16 - 1)
    with refused("rows", NotRepresentableError) as caught:
        EVENTS.rows([0, 1, 2], 4)
    assert "96 rows" in str(caught.value)
    assert MAX_ROWS > 96
