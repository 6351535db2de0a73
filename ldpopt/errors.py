"""The exceptions of ldpopt: each says what is wrong, where, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MAX_CHARACTERS = 600  # largest number of characters of each part of a message


_SHOWS_VALUES: ContextVar[bool] = ContextVar("shows_values", default=False)


@contextmanager
def showing_values(shows: bool = True) -> Iterator[None]:
    """Let messages quote the answers of people within a block; outside they name row, column and
    known labels only.

    Parameters
    ----------
    shows : bool
        Whether messages quote answers; default: ``True``.

    Examples
    --------
    >>> from ldpopt import Mechanism
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> with showing_values():
    ...     coin.sample(["Yes"])
    Traceback (most recent call last):
    ldpopt.errors.StatementError: unknown answer 'Yes': not a label of the mechanism
      where: entry 0
      do: did you mean 'yes'? known: no, yes
    """
    token = _SHOWS_VALUES.set(shows)
    try:
        yield
    finally:
        _SHOWS_VALUES.reset(token)


def shows_values() -> bool:
    """Whether messages may quote the answers of people."""
    return _SHOWS_VALUES.get()


class LdpoptError(Exception):
    """Base of every error that ldpopt raises on purpose.

    Parameters
    ----------
    what : str
        What is wrong, with the wrong number.
    code : str
        A noun for the cause, such as ``"grid"``; it stays when the sentence gets better, so
        programs and tests match it; default: ``""``, which stands for the name of the class.
    where : str
        The label, or the file and key; default: ``""``.
    do : str
        What the user can do about it; default: ``""``.
    """

    def __init__(self, what: str, *, code: str = "", where: str = "", do: str = "") -> None:
        self.code = code or type(self).__name__
        self.what, self.where, self.do = map(_shorten, (what, where, do))
        lines = [self.what]
        if where:
            lines.append(f"  where: {self.where}")
        if do:
            lines.append(f"  do: {self.do}")
        super().__init__("\n".join(lines))

    def restated(self, kind: type["LdpoptError"], *, where: str = "") -> "LdpoptError":
        """The same message and code as an error of another kind; ``where`` replaces the place."""
        code = "" if self.code == type(self).__name__ else self.code
        return kind(self.what, code=code, where=where or self.where, do=self.do)

    @property
    def one_line(self) -> str:
        """The same message on one line, for the command line."""
        parts = [self.what]
        if self.where:
            parts.append(f"where: {self.where}")
        if self.do:
            parts.append(f"do: {self.do}")
        return " | ".join(" ".join(part.split()) for part in parts)


def _shorten(text: str) -> str:
    """Text without its middle if it is long: labels and names may have any length."""
    return (
        text
        if len(text) <= MAX_CHARACTERS
        else f"{text[: MAX_CHARACTERS // 2]} ... {text[-MAX_CHARACTERS // 2 :]}"
    )


class StatementError(LdpoptError, ValueError):
    """The problem is ill posed: a prior that sums to 0.97, an unknown letter, a negative
    epsilon.
    """


class UnknownQuestionError(StatementError, KeyError):
    """A mapping by question has no such question."""

    __str__ = Exception.__str__  # KeyError quotes its message


class ModelFileError(StatementError):
    """A file is invalid; the message adds the file, the key and the line."""


class SolverNotFoundError(LdpoptError, LookupError):
    """No solver of that name is installed; the message names the installed ones, and the extra to
    install.
    """


class SolverOptionError(LdpoptError, ValueError):
    """The solver refused an option."""


class NotRepresentableError(LdpoptError):
    """The notion or objective cannot be written in this form, or for this solver."""


class NoSolutionError(LdpoptError):
    """The solve ended without a mechanism; ``solution`` is its result."""

    def __init__(
        self, what: str, *, code: str = "", where: str = "", do: str = "", solution: Any = None
    ) -> None:
        super().__init__(what, code=code, where=where, do=do)
        self.solution = solution


class InfeasibleError(NoSolutionError):
    """No channel satisfies every constraint; the message names the blocks in conflict."""


class UnboundedError(NoSolutionError):
    """The objective has no finite optimum."""


class LimitReachedError(NoSolutionError):
    """A time or iteration limit ended the solve before an optimum was found."""


class MechanismError(LdpoptError, ValueError):
    """The array is not a row-stochastic channel; the message names the worst row and its sum."""


class PrivacyViolationError(LdpoptError):
    """The audit contradicts the claim; the message has the witness and the true epsilon."""


class CertificateError(LdpoptError):
    """The certified gap is larger than requested."""
