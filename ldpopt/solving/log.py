"""Steps of a plan, and the log of the library by the logger ``ldpopt``, which names them; silent by
default.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from ldpopt.foundation.display import Described, Facts, Table

Method = TypeVar("Method", covariant=True)

# plan, rounds, gaps and results at level INFO; steps within a round at level DEBUG
LOG = logging.getLogger("ldpopt")

LOG.addHandler(logging.NullHandler())


@contextmanager
def log_to_stderr(verbose: bool) -> Iterator[None]:
    """Within the block, print the log to stderr if ``verbose``, unless the caller's own logging
    shows it already.
    """
    if not verbose or (
        LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers() and logging.getLogger().handlers
    ):
        yield
        return
    handler = logging.StreamHandler()
    level = LOG.level
    handler.setFormatter(logging.Formatter("ldpopt: %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(min(logging.INFO, LOG.getEffectiveLevel()))
    try:
        yield
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(handler)


@dataclass(frozen=True)
class Step(Generic[Method]):
    """One method of a plan.

    Attributes
    ----------
    method : Method
        The method to try.
    because : str
        The reason, as a clause after the method's name.
    """

    method: Method
    because: str

    def __str__(self) -> str:
        return f"{self.method}: {self.because}"


class Steps(tuple[Step[Method], ...], Described):
    """The methods of a plan, in the order in which they are tried: a tuple that notebooks show as a
    table.
    """

    def facts(self) -> Facts:
        """Each method with its reason."""
        rows = [[str(step.method), step.because] for step in self]
        return Facts("Plan", [Table(["method", "because"], rows, words=["because"])])
