"""The log of the library: the logger ``ldpopt`` tells what is tried, and how far it is; silent unless asked."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("ldpopt")
"""Plan, rounds, gaps and results at level INFO; steps within a round at level DEBUG."""

LOG.addHandler(logging.NullHandler())


@contextmanager
def shown(verbose: bool) -> Iterator[None]:
    """Within the block, print the log to stderr if asked; a log that shows INFO already is left as it is."""
    if not verbose or (LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers() and logging.getLogger().handlers):
        yield
        return
    handler, level = logging.StreamHandler(), LOG.level
    handler.setFormatter(logging.Formatter("ldpopt: %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(min(logging.INFO, LOG.getEffectiveLevel()))
    try:
        yield
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(handler)
