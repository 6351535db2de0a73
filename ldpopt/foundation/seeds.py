"""The one place where a user's seed becomes random numbers.

People draw their data with ``numpy.random.default_rng(5)`` and then pass 5 on. If the reports came
from the same stream, they would depend on the data, and no estimate or fit would show it. A seed is
therefore mixed with a number of the project and with the purpose of the draws: no stream of anybody
else's generator repeats here, and no two purposes share one.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import is_whole, short_repr

PROJECT = 0xB2BA0E102B9BF30B826BDFAF37DFF8D5  # drawn at random: nobody else mixes it in
VERSION = 2  # of seeded draws; a checkpoint of another one is not continued
# Source of random bits: None is the operating system's generator; all others make draws repeatable
Random = np.random.Generator | np.random.SeedSequence | int | None


class Purpose(IntEnum):
    """What random numbers are drawn for."""

    REPORTS = 1  # reports and noise
    SIMULATION = 2  # answers and reports of `simulate`
    SURVEYS = 3  # answers and reports of a whole survey, for the coverage of its intervals
    DATA_SETS = 4  # of an experiment
    EXPERIMENT = 5  # reports of an experiment
    AUDIT = 6  # of a black box


def generator_of(
    rng: Random, purpose: Purpose = Purpose.REPORTS, part: Sequence[int] = ()
) -> np.random.Generator:
    """Return the generator of a seed, of a part of its draws, or the generator that is passed."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(None if rng is None else _mixed(rng, purpose, part))


@contextmanager
def words_of(
    rng: Random,
) -> Iterator[tuple[int, int]]:
    """The C function by which a generator draws a word of 64 bits, and the state that it takes, as
    addresses; nobody else draws from the generator meanwhile.
    """
    bits: Any = generator_of(rng).bit_generator
    interface = bits.ctypes
    with bits.lock:
        yield (
            ctypes.cast(interface.next_uint64, ctypes.c_void_p).value or 0,
            interface.state_address,
        )


def seed_of(rng: Random, purpose: Purpose = Purpose.REPORTS) -> np.random.SeedSequence:
    """Return the seed from which those of the parts of a table are derived; a generator spawns a
    new one.
    """
    if rng is None:
        return np.random.SeedSequence()
    if isinstance(rng, np.random.Generator):
        bits: Any = rng.bit_generator
        return bits.seed_seq.spawn(1)[0]  # type: ignore[no-any-return]
    return _mixed(rng, purpose, ())


def child_seed(seed: np.random.SeedSequence, *part: int) -> np.random.SeedSequence:
    """Return the seed of a part, a function of all arguments and independent of those of other
    parts.
    """
    return np.random.SeedSequence(
        seed.entropy, spawn_key=(*seed.spawn_key, *part), pool_size=seed.pool_size
    )


def generators(rng: Random, count: int) -> list[Random]:
    """Return independent sources for ``count`` columns: the generator itself for one, spawned ones
    for several.
    """
    # A seed becomes a generator only here: otherwise each batch of a column would repeat the draws
    # of the first.
    if rng is None:
        return [None] * count
    source = generator_of(rng)
    return [source] if count == 1 else list(source.spawn(count))


def _mixed(
    rng: np.random.SeedSequence | int, purpose: Purpose, part: Sequence[int]
) -> np.random.SeedSequence:
    """A seed, mixed with the project's number and a purpose."""
    if isinstance(rng, np.random.SeedSequence):
        given = rng
    elif is_whole(rng, 0):
        given = np.random.SeedSequence(int(rng))
    else:
        problem = f"rng = {short_repr(rng)} is not a source of random bits"
        do = (
            "pass numpy.random.default_rng(seed), a seed >= 0, or None for the operating "
            "system's generator"
        )
        raise StatementError(problem, code="rng", do=do)
    entropy: Any = given.entropy
    own = [entropy] if np.ndim(entropy) == 0 else list(entropy)
    return np.random.SeedSequence(
        [*own, PROJECT, purpose], spawn_key=(*given.spawn_key, *part), pool_size=given.pool_size
    )
