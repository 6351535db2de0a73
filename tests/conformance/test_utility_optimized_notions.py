"""Utility-optimized notions pass the checks of plug-ins."""

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
def test_all_checks_of_a_notion_pass(sensitive):
    check_notion(lo.UtilityOptimizedLDP(1.0, list(sensitive)), LABELS)


@pytest.mark.parametrize(
    "outputs, protected", [("abcdx", None), ("abcdx", "abcx"), ("xy", None), ("cdx", None)]
)
def test_other_reports(outputs, protected):
    notion = lo.UtilityOptimizedLDP(1.0, ["a", "b"], None if protected is None else list(protected))
    check_notion(notion, LABELS, outputs)
