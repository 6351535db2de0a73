"""What privatize and estimate work with: a mechanism, or a design with its estimator, and its reports in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ldpopt.errors import StatementError

if TYPE_CHECKING:
    from ldpopt.estimation.counts import Counts
    from ldpopt.estimation.inversion import Estimate
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.mechanism.questions import Question

Missing = Literal["refuse", "leave_out"]


class Instrument:
    """A mechanism, or a design with its estimator: draws reports into a table, counts them there, and estimates."""

    def __init__(self, source: Any, *, is_design: bool) -> None:
        self.source, self.is_design = source, is_design

    def rule(self, missing: Missing, missing_answer: str | None) -> Question:
        """How answers become reports."""
        from ldpopt.mechanism.questions import Question

        return Question(self.source, missing, missing_answer)

    def count(self, path: str, column: str, weights: str | None, missing: Missing) -> Counts:
        """Count the reports of a table."""
        from ldpopt.estimation.counts import Counts

        return Counts.of(self.source, path, column=column, weights=weights, missing=missing)

    def estimate(self, counts: Counts, method: str, confidence: float, simultaneous: bool) -> Estimate:
        """Estimate the frequencies of the answers, or a design's numbers, from counts of reports."""
        from ldpopt.estimation.inversion import estimate_frequencies

        if not self.is_design:
            how: Any = method
            return estimate_frequencies(
                self.source, counts, method=how, confidence=confidence, simultaneous=simultaneous
            )
        if method != "inversion":
            what = f"--method {method} is for a mechanism alone; a design has its own unbiased estimator"
            raise StatementError(what, do="leave --method out")
        found: Estimate = self.source.estimate(counts, confidence, simultaneous=simultaneous)
        return found


def read_instrument(path: str) -> Instrument:
    """Read a mechanism or a design.

    Raises
    ------
    ModelFileError
        If the file is neither.
    """
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.surveys.files import read_source

    found = read_source(path)
    return Instrument(found, is_design=not isinstance(found, Mechanism))


def read_mechanism(path: str) -> Mechanism:
    """Read the channel of a mechanism or of a design.

    Raises
    ------
    ModelFileError
        If the file is neither.
    NotRepresentableError
        If the design's reports are too many to list.
    """
    from ldpopt.certificate.design_files import is_design
    from ldpopt.designing import load_design
    from ldpopt.mechanism.mechanism import Mechanism

    return load_design(path).mechanism if is_design(path) else Mechanism.load(path)
