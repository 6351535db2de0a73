"""Answers of a dataframe of Dask replaced by reports, so that a second computation draws nothing anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.mechanism.asking import Asking
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.sampling import Random, generator_of
from ldpopt.tables.partitions import mapped

if TYPE_CHECKING:
    from ldpopt.mechanism.privatizing import Rule


def privatize_partitions(
    privatize: Callable[..., Any],
    table: Any,
    rules: Mapping[Any, Rule],
    rng: Random = None,
    keyed: Keyed | None = None,
    asking: Asking | None = None,
) -> Any:
    """Replace columns of a dataframe of Dask by reports, lazily; ``privatize`` does so for one partition."""
    if keyed is None and rng is None:
        raise StatementError(
            "a table of Dask is computed again whenever it is needed, and each time other reports would be drawn",
            do="pass key= and id=, which give each person the same report again; or write the reports once with "
            "ldpopt.privatize_folder",
        )
    task = _Partition(privatize, dict(rules), None if rng is None else seed_of(rng), keyed, asking)
    return mapped(table, task, task(table._meta, 0))


@dataclass(frozen=True)
class _Partition:
    """Draws the reports of one partition."""

    privatize: Callable[..., Any]
    rules: dict[Any, Rule]
    seed: np.random.SeedSequence | None
    keyed: Keyed | None
    asking: Asking | None

    def __call__(self, part: Any, number: int) -> Any:
        rng = None if self.seed is None else spawned(self.seed, number)
        reports = self.privatize(part, self.rules, rng, self.keyed, self.asking)
        # What may be missing has one type in all partitions, whether or not anything is missing there.
        may_miss = self.asking is not None and not self.asking.fake
        left_out = [column for column, rule in self.rules.items() if may_miss or rule.missing == "leave_out"]
        return reports.astype(dict.fromkeys(left_out, object))


def seed_of(rng: np.random.Generator | np.random.SeedSequence | int) -> np.random.SeedSequence:
    """The seed from which those of the partitions are spawned; a generator is asked for a new one."""
    if isinstance(rng, np.random.SeedSequence):
        return rng
    bits: Any = generator_of(rng).bit_generator
    found: np.random.SeedSequence = bits.seed_seq.spawn(1)[0]
    return found


def spawned(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """The seed of a partition: independent of all others, whoever draws them and how often."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number), pool_size=seed.pool_size)
