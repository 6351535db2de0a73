"""Surveys of a simulation: each is held by itself, here or in another process."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.inversion import estimate_frequencies, why_not_estimable
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import resolve
from ldpopt.processes.checkpoint import Checkpoint


class Setting(NamedTuple):
    """What is simulated.

    Attributes
    ----------
    mechanism : Mechanism
        Reports are drawn from its exact integer masses.
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers.
    utility : str, Utility or array_like, shape (n, m), or None
        As in `Problem`; default: ``"identity"``. None leaves utilities out.
    """

    mechanism: Mechanism
    prior: Any
    utility: Any = "identity"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A setting in numbers."""

    mechanism: Mechanism
    weights: Float
    worth: Float | None
    is_estimable: bool

    @classmethod
    def of(cls, setting: Setting) -> Prepared:
        """Read a setting."""
        mechanism = setting.mechanism
        weights, _ = read_prior(setting.prior, mechanism.inputs)
        worth = None
        if setting.utility is not None:
            worth = resolve(setting.utility, mechanism.inputs, mechanism.outputs).matrix
        return cls(mechanism, weights, worth, not why_not_estimable(mechanism))

    @property
    def expected(self) -> float:
        """Expected utility under the prior; nan without one."""
        return (
            float(self.weights @ (self.worth * self.mechanism.channel).sum(axis=1))
            if self.worth is not None
            else np.nan
        )

    @property
    def digest(self) -> str:
        """What tells it from others: of all that its surveys depend on."""
        worth = b"" if self.worth is None else self.worth.tobytes()
        return hashlib.sha256(self.mechanism.digest.encode() + self.weights.tobytes() + worth).hexdigest()[:16]


class Key(NamedTuple):
    """A survey: the digest of its setting, its people, its number."""

    setting: str
    population: int
    repeat: int


Held = tuple[float, list[float], list[float] | None]
"""Utility of a survey, shares of the true answers, estimated shares."""


@dataclass(frozen=True)
class Surveys:
    """The task of a simulation: hold one survey."""

    settings: Mapping[str, Prepared]
    seed: np.random.SeedSequence

    def __call__(self, key: Key) -> Held:
        """Every survey has a seed of its own, so that nobody's draws depend on which others are held, and by whom."""
        own = zlib.crc32(f"{key.setting} {key.population}".encode()), key.repeat
        generator = np.random.default_rng(
            np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *own))
        )
        chosen = self.settings[key.setting]
        mechanism = chosen.mechanism
        counts = generator.multinomial(key.population, chosen.weights / chosen.weights.sum())
        answers = np.repeat(np.arange(len(mechanism.inputs)), counts)
        reports = mechanism.sampler.draw(answers, rng=generator)
        estimate = None
        if chosen.is_estimable:
            seen = np.bincount(reports, minlength=len(mechanism.outputs))
            tally = dict(zip(mechanism.outputs, seen.tolist(), strict=True))
            estimate = estimate_frequencies(mechanism, tally).values.tolist()
        utility = np.nan if chosen.worth is None else float(chosen.worth[answers, reports].mean())
        return utility, (counts / key.population).tolist(), estimate


def record_of(path: str | os.PathLike[str], rng: Any) -> Checkpoint:
    """The checkpoint of a simulation; its surveys are those of a number, whatever else is simulated with it."""
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        what = "the surveys of a checkpoint have to be those of the next start"
        raise StatementError(what, where="simulate", do="pass a number as rng (--seed)")
    return Checkpoint(path, {"surveys": int(rng)}, f"surveys, rng = {rng}", pack=_packed, unpack=_unpacked)


def _packed(held: Held) -> list[Any]:
    utility, *shares = held
    return [None if np.isnan(utility) else utility, *shares]


def _unpacked(plain: list[Any]) -> Held:
    utility, frequencies, estimates = plain
    return np.nan if utility is None else utility, frequencies, estimates
