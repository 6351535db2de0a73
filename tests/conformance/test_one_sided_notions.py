"""One-sided notions pass the checks of plug-ins."""

from __future__ import annotations

import pytest

import ldpopt as lo
from builders import thorough_or
from ldpopt.testing import check_notion

LABELS = tuple("abcd")


@pytest.fixture(autouse=True)
def _few_channels(monkeypatch):
    """Checks of notions draw fewer channels in the usual set."""
    monkeypatch.setattr("ldpopt.testing.notions.CHANNELS", thorough_or(3, 12))


@pytest.mark.parametrize("sensitive", ["", "a", "bd", "abcd"])
@pytest.mark.parametrize("outputs", [None, "xyz"])
def test_all_checks_of_a_notion_pass(sensitive, outputs):
    check_notion(lo.OneSided(1.0, list(sensitive)), LABELS, outputs, post_processing=True)
