"""The interface of protocols for vectors: the means of several numbers per user."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import real_array, whole_number
from ldpopt.mean.protocol import MeanProtocol, Random, read_domain
from ldpopt.mechanism.exact_draws import Source
from ldpopt.mechanism.sampling import CHUNK, bit_source, chunks


class VectorProtocol(MeanProtocol):
    """A randomizer of ``m`` bounded numbers per user.

    Parameters
    ----------
    attributes : int
        Number of attributes ``m``, at least 1.
    domain : tuple of float, optional
        Least and largest answer of every attribute; default: the natural domain.
    """

    def __init__(self, attributes: int, domain: tuple[float, float] | None = None) -> None:
        self.attributes = whole_number(attributes, "attributes", 1)
        self._data_domain = read_domain(domain)

    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw the report of each user; see the class for the type of reports.

        Parameters
        ----------
        x : array_like, shape (N, m)
            Answers within the domain, one user a row; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            As in `Protocol.privatize`.
        """
        # A plain array is read in parts: a copy might not fit into memory.
        is_plain = type(x) is np.ndarray and x.dtype.kind in "iuf"
        answers: NDArray[Any] = x if is_plain else real_array(x, "list of answers")  # type: ignore[assignment]
        if answers.ndim != 2 or answers.shape[1] != self.attributes:
            what = f"answers have shape {answers.shape}; expected (users, {self.attributes})"
            raise StatementError(what, do="pass one row for each user, one column for each attribute")
        source, reports = bit_source(rng), self._empty(len(answers))
        for part in chunks(len(answers), self._rows_at_a_time):
            self._fill(reports[part], answers[part], source)
        return reports

    @property
    def _rows_at_a_time(self) -> int:
        return CHUNK

    @abstractmethod
    def _empty(self, users: int) -> NDArray[Any]:
        """Return an array for the reports."""

    @abstractmethod
    def _fill(self, reports: NDArray[Any], x: NDArray[Any], source: Source) -> None:
        """Write the reports of some users."""
