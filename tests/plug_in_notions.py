"""Notions as somebody outside of the library writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ldpopt as lo
from ldpopt.privacy.notion import Notion, TiedNotion


@dataclass(frozen=True)
class RowsOnly(Notion):
    """A notion without ties: rows and an audit."""

    epsilon: float

    def rows(self, inputs: Any, n_outputs: int) -> Any:
        return lo.PureLDP(self.epsilon).rows(inputs, n_outputs)

    def audit(self, channel: Any) -> Any:
        return lo.PureLDP(self.epsilon).audit(channel)


@dataclass(frozen=True)
class Halved(TiedNotion):
    """Ties and an audit make a notion that can be solved in every form."""

    epsilon: float
    strict: bool = False

    def ties(self, inputs, outputs=None, deadline=None):
        return lo.PureLDP(self.epsilon / 2).ties(inputs)

    def audit(self, channel):
        return lo.PureLDP(self.epsilon / 2).audit(channel)
