"""Verbs of products on objects of the core."""

import sys

import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import LdpoptError
from ldpopt.foundation.late import LATE, late

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


def test_a_removed_product_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ldpopt.plotting", None)
    monkeypatch.setitem(sys.modules, "ldpopt.plotting.plot", None)
    with refused("product", LdpoptError) as caught:
        COIN.plot()
    assert "plotting" in str(caught.value)


def test_a_missing_package_of_others_is_not_called_a_removed_product(monkeypatch):
    monkeypatch.setitem(LATE, "plot", "no_package.of_this_name:plot")
    with pytest.raises(ModuleNotFoundError):
        late("plot")
