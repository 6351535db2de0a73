"""A step of a plan: a method, and the reason why it is tried."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Method = TypeVar("Method", covariant=True)


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
