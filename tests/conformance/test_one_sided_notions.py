"""One-sided notions pass the checks of plug-ins."""

from __future__ import annotations

import pytest

import ldpopt as lo
from ldpopt.testing import check_notion

LABELS = tuple("abcd")


@pytest.mark.parametrize("sensitive", ["", "a", "bd", "abcd"])
@pytest.mark.parametrize("outputs", [None, "xyz"])
def test_all_checks_of_a_notion_pass(sensitive, outputs):
    check_notion(lo.OneSided(1.0, list(sensitive)), LABELS, outputs, post_processing=True)
