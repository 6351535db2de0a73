r"""Draws the reports of a design for tables of questions of two answers each.

A report is a random set of answers that depends on a few questions: first its kind is drawn, then
whether it has the true answer, then a cell of the kind, and last which questions play which part. A
report is written as a row of ``d + 1`` small integers, so that nothing of the size ``2**d`` is ever
made.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.questions_certificate import Kind, QuestionsCertificate
from ldpopt.designing.record import CertifiedDraws
from ldpopt.errors import StatementError
from ldpopt.foundation.labels import codes
from ldpopt.frequencies.subset_selection import SetCodec
from ldpopt.frequencies.yes_no import WordChoices, draw_order
from ldpopt.mechanism.keyed import Draws, Keyed
from ldpopt.mechanism.sampling import Random, chunks
from ldpopt.tables.coding import Codes
from ldpopt.tables.vectors import column_of_texts

ROWS = 1 << 16  # reports that are drawn at a time


class SetsRandomizer(CertifiedDraws):
    """The mechanism of a certificate, as a base of the design that draws its reports itself.

    It draws sets of some kinds, whose channel is not listed.

    An answer is a tuple of the answers to all questions, and inside the number whose bits they are,
    the first question highest. A report is the kind of its set, and for each question 0 if the set
    does not depend on it, else ``1 + 2 part + answer that counts as 0``: the set has the answers
    whose numbers of ones in each part are those of a cell of the kind.
    """

    certificate: QuestionsCertificate

    @property
    def size(self) -> int:
        """Number of integers in a report."""
        return len(self.workload.attributes) + 1

    @property
    def codec(self) -> "RowCodec":
        """How reports are written in a table: as integers with spaces between them."""
        return RowCodec(self)

    def privatize(
        self, x: Any, *, rng: Random = None, key: Any = None, id: Any = None, question: str = ""
    ) -> NDArray[np.int16]:
        """Draw one report, a row of ``d + 1`` small integers, for each answer.

        Parameters
        ----------
        x : sequence of tuples, or array_like, shape (N, d)
            The answers to all questions, one row for each respondent.
        rng, key, id : optional
            As in `Mechanism.sample`: with a key the same id and answers give the same report.
        question : str
            As in `Mechanism.sample`. Default: ``""``.

        Returns
        -------
        ndarray of int16, shape (N, d + 1)
            The reports; 0 rows for no respondents.

        Raises
        ------
        StatementError
            If an answer has another number of parts, or a part is not an answer to its question; if
            key and ids do not fit. No message names an answer.
        """
        keyed = Keyed.read(key, id, rng)
        answers = self._answers(x)
        return self.draw(answers, rng if keyed is None else keyed.draws(question, len(answers)))

    def _answers(self, x: Any) -> Codes:
        """Positions of answers; an error names no answer."""
        attributes = self.workload.attributes
        # A row without a length is a single answer: it has the wrong number of parts then.
        rows = [row if hasattr(row, "__len__") else (row,) for row in x]
        columns = list(zip(*rows, strict=False))
        if len(x) and (
            len(columns) != len(attributes) or any(len(row) != len(attributes) for row in x)
        ):
            raise StatementError(
                f"an answer has other than {len(attributes)} parts",
                code="answer-parts",
                do="pass the answers to all questions, a tuple for each respondent",
            )
        answers = np.zeros(len(x), dtype=np.int64)
        for column, (_, values) in zip(columns, attributes, strict=False):
            answers = 2 * answers + codes(list(column), values, "answer")
        return answers

    def draw(self, answers: Codes, source: Draws) -> NDArray[np.int16]:
        """Draw the reports of answers, positions of shape (N,)."""
        kinds = self.certificate.randomizer.kinds
        ends = np.array(list(accumulate(kind.mass for kind in kinds)), dtype=np.uint64)
        choices = WordChoices.of(source, self.digest, answers)
        reports = np.zeros((len(answers), self.size), dtype=np.int16)
        for part in chunks(len(answers), ROWS):
            rows = np.arange(part.start, part.stop)
            reports[part, 0] = np.searchsorted(ends, choices.words(rows, 1)[:, 0], side="right")
            for place, kind in enumerate(kinds):
                of_kind = rows[reports[part, 0] == place]
                self._draw_sets(reports, kind, of_kind, answers, choices)
        return reports

    def _draw_sets(
        self,
        reports: NDArray[np.int16],
        kind: Kind,
        rows: Codes,
        answers: Codes,
        choices: WordChoices,
    ) -> None:
        """Fill these rows of the reports, sets of one kind."""
        d = len(self.workload.attributes)
        held = choices.is_below(rows, kind.held)  # whether the set has the true answer
        cell = np.zeros(len(rows), dtype=np.int64)
        for inside in (0, 1):
            some = np.flatnonzero(held == inside)
            ways = np.cumsum(kind.ways(inside))
            drawn = choices.below(rows[some], int(ways[-1]))
            cell[some] = np.searchsorted(ways, drawn, side="right")
        # Questions in random order, of which the first ones of each part have the answer 1.
        chosen = draw_order(choices, rows, d, kind.questions)
        ones = np.array(kind.cells)[cell]
        part_of = np.repeat(np.arange(len(kind.parts)), kind.parts)
        within = np.concatenate(list(map(np.arange, kind.parts)))
        bits = answers[rows][:, None] >> (d - 1 - chosen) & 1
        # Where the true answer counts as 1, the other answer counts as 0.
        turned = bits ^ (within < ones[:, part_of])
        reports[rows[:, None], 1 + chosen] = 1 + 2 * part_of + turned


class RowCodec(SetCodec):
    """Reports that are rows of small integers: texts of them in tables, rows in arrays, shape (N, d
    + 1).
    """

    form = "rows"
    randomizer: Any

    def labels(self, as_text: bool) -> Any:
        """Return the integers that a report may have as texts."""
        kinds = self.randomizer.certificate.randomizer.kinds
        most = max(len(kinds), *(1 + 2 * len(kind.parts) for kind in kinds))
        return column_of_texts(list(map(str, range(most))))

    def sets(self, codes: Codes, source: Draws) -> NDArray[Any]:
        """Draw the reports of answers, none of which is missing."""
        return np.asarray(self.randomizer.draw(codes, source))
