"""Draws sets of a few sizes, and writes them in tables: first the size, then a set of this size.

A report is a row of positions of answers, ascending, filled up with -1 to the largest size. In a
table it is a text of the positions.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.designing.record import CertifiedDraws
from ldpopt.errors import StatementError
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import any_array, positions
from ldpopt.frequencies.subset_selection import SetCodec, SubsetSelection
from ldpopt.mechanism.keyed import Draws, Keyed, KeyedDraws
from ldpopt.mechanism.sampling import BITS, CHUNK, Random, chunks, whole_words
from ldpopt.tables.coding import Codes

FILLED = -1  # in a row of a smaller set


class SizesSampler(CertifiedDraws):
    """The mechanism of a certificate, as a base of the design that draws its reports itself."""

    certificate: CappedFrequencyCertificate

    @property
    def size(self) -> int:
        """The largest size of a set."""
        return self.certificate.randomizer.sizes[-1]

    @property
    def codec(self) -> SizesCodec:
        """How reports are written in a table: positions with spaces between them."""
        return SizesCodec(self)

    @cached_property
    def protocols(self) -> tuple[SubsetSelection, ...]:
        """Subset selection for each size.

        Raises
        ------
        StatementError
            If the certificate is for another probability of the truth than a protocol has.
        """
        names = self.inputs
        is_range = all(name == place for place, name in enumerate(names))
        labels = len(names) if is_range else names
        claim = self.certificate
        made = []
        for each in claim.randomizer.sets:
            protocol = SubsetSelection(labels, claim.privacy.epsilon, size=each.size)
            if protocol.distribution != each:
                drawn = protocol.distribution.mass
                raise StatementError(
                    f"a set of {each.size} contains the truth with the mass {drawn}; certified is "
                    f"{each.mass}",
                    code="masses",
                    do="design again: this version of ldpopt draws other sets",
                )
            made.append(protocol)
        return tuple(made)

    def privatize(
        self, x: Any, *, rng: Random = None, key: Any = None, id: Any = None, question: str = ""
    ) -> NDArray[np.int32]:
        """Draw one report, a row of positions of answers, for each answer.

        Parameters
        ----------
        x : sequence of labels, shape (N,)
            True answers.
        rng, key, id : optional
            As in `Mechanism.sample`: with a key the same id and answer give the same report.
        question : str
            As in `Mechanism.sample`. Default: ``""``.

        Returns
        -------
        ndarray of int32, shape (N, s)
            Ascending positions, filled up with -1 to the largest size ``s``; 0 rows for no
            respondents.

        Raises
        ------
        StatementError
            If an answer is not one of the labels, or key and ids do not fit. No message names an
            answer.
        """
        keyed = Keyed.read(key, id, rng)
        answers = codes(x, self.inputs, "answer")
        return self.draw(answers, rng if keyed is None else keyed.draws(question, len(answers)))

    def draw(self, answers: Codes, source: Draws) -> NDArray[np.int32]:
        """Draw the reports of answers, positions of shape (N,)."""
        answers = positions(answers, "answers", None, len(self.inputs))
        if isinstance(source, KeyedDraws):
            words: Any = source.streams(self.digest, answers)
        else:
            fresh = whole_words(source)

            def words(rows: Codes, count: int) -> NDArray[np.uint64]:
                return fresh(len(rows) * count).reshape(-1, count)

        ends = np.array(list(accumulate(self.certificate.randomizer.masses)), dtype=np.uint64)
        reports = np.full((len(answers), self.size), FILLED, dtype=np.int32)
        for part in chunks(len(answers), CHUNK):
            rows = np.arange(part.start, part.stop)
            drawn = words(rows, 1)[:, 0] >> np.uint64(64 - BITS)
            place = np.searchsorted(ends, drawn, side="right")
            for number, protocol in enumerate(self.protocols):
                some = rows[place == number]
                # the words of a person go on where the size was drawn
                sets = protocol.choose(answers[some], _of_rows(words, some))
                reports[some, : protocol.size] = sets
        return reports

    def read_sets(self, reports: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Reports as ascending rows, filled up in front, and the size of each; anything else is
        refused.
        """
        array = any_array(reports, "list of reports")
        if array.ndim != 2 or array.shape[1] != self.size or array.dtype.kind not in "iu":
            raise StatementError(
                f"reports have shape {array.shape}; expected positions of shape (N, {self.size})",
                code="shape",
                do="pass what privatize returned",
            )
        ordered = np.sort(array, axis=1)
        sizes = (ordered != FILLED).sum(axis=1)
        again = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != FILLED)
        is_set = np.isin(sizes, self.certificate.randomizer.sizes) & ~again.any(axis=1)
        is_within = (ordered >= FILLED) & (ordered < len(self.inputs))
        if not (is_set & is_within.all(axis=1)).all():
            raise StatementError(
                f"a report is not a set of {self.certificate.reports.removeprefix('sets of ')}, "
                f"of the positions 0 .. {len(self.inputs) - 1}",
                code="set",
                do="pass what privatize of this design returned",
            )
        return ordered, sizes


def _of_rows(words: Any, rows: Codes) -> Any:
    """The words of some of the rows, by their number among these."""
    return lambda some, count: words(rows[some], count)


class SizesCodec(SetCodec):
    """Reports that are sets of a few sizes: texts of positions in tables, filled rows in arrays."""

    randomizer: Any

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the sets."""
        sizes: tuple[int, ...] = self.randomizer.certificate.randomizer.sizes
        return sizes

    def sets(self, codes: Codes, source: Draws) -> NDArray[Any]:
        """Draw the reports of answers, none of which is missing."""
        return np.asarray(self.randomizer.draw(codes, source))

    def flat(self, rows: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The entries of all sets one after another, and where each set starts and ends."""
        is_entry = rows != FILLED
        starts = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum(is_entry.sum(axis=1), out=starts[1:])
        return starts, rows[is_entry]
