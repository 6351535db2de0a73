"""What privatize and estimate work with: a mechanism, or a design with its estimator, and its reports in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ldpopt.errors import StatementError

if TYPE_CHECKING:
    from ldpopt.designing import Design, FrequencyDesign
    from ldpopt.estimation.counts import Counts
    from ldpopt.estimation.inversion import Estimate
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.mechanism.privatizing import Rule

Missing = Literal["refuse", "leave_out"]


class Instrument(Protocol):
    """Draws reports into a table, counts them there, and estimates from the counts."""

    @property
    def source(self) -> Any:
        """What the counts are of: a mechanism or a design."""

    def rule(self, missing: Missing, missing_answer: str | None) -> Rule:
        """How answers become reports."""

    def count(self, path: str, column: str, weights: str | None, missing: Missing) -> Counts:
        """Count the reports of a table."""

    def estimate(self, counts: Counts, method: str, confidence: float, simultaneous: bool) -> Estimate:
        """Estimate from counts of reports."""


class Listed:
    """A mechanism, and its design if the file is one."""

    def __init__(self, mechanism: Mechanism, design: Design | None = None) -> None:
        self.mechanism, self.design = mechanism, design

    @property
    def source(self) -> Any:
        """The design, or the mechanism alone."""
        return self.design or self.mechanism

    def rule(self, missing: Missing, missing_answer: str | None) -> Rule:
        """Draw by the exact sampler."""
        from ldpopt.mechanism.privatizing import Rule

        return Rule(self.mechanism, missing, missing_answer)

    def count(self, path: str, column: str, weights: str | None, missing: Missing) -> Counts:
        """Count the outputs."""
        from ldpopt.estimation.counts import Counts

        return Counts.of(self.mechanism, path, column=column, weights=weights, missing=missing)

    def estimate(self, counts: Counts, method: str, confidence: float, simultaneous: bool) -> Estimate:
        """Estimate the frequencies of the answers, or a design's numbers."""
        from ldpopt.estimation.inversion import estimate_frequencies

        if self.design is None:
            how: Any = method
            return estimate_frequencies(
                self.mechanism, counts, method=how, confidence=confidence, simultaneous=simultaneous
            )
        _require_unbiased(method)
        return self.design.estimate(counts, confidence, simultaneous=simultaneous)


class Sets:
    """A design for frequencies whose reports are sets of answers: their positions, with spaces between them."""

    def __init__(self, design: FrequencyDesign) -> None:
        self.design = design

    @property
    def source(self) -> Any:
        """The design."""
        return self.design

    def rule(self, missing: Missing, missing_answer: str | None) -> Rule:
        """Draw by the protocol's own sampler."""
        from ldpopt.estimation.set_tables import SetRule

        return SetRule(self.design.protocol, missing, missing_answer)

    def count(self, path: str, column: str, weights: str | None, missing: Missing) -> Counts:
        """Count the sets that have each answer."""
        from ldpopt.estimation.set_tables import count_sets

        return count_sets(self.design.protocol, path, column, weights, missing)

    def estimate(self, counts: Counts, method: str, confidence: float, simultaneous: bool) -> Estimate:
        """Estimate the frequencies."""
        _require_unbiased(method)
        return self.design.estimate(counts, confidence, simultaneous=simultaneous)


def read_instrument(path: str) -> Instrument:
    """Read a mechanism or a design.

    Raises
    ------
    ModelFileError
        If the file is neither.
    """
    from ldpopt.certificate.design_files import is_design
    from ldpopt.designing import FrequencyDesign, load_design
    from ldpopt.mechanism.mechanism import Mechanism

    if is_design(path):
        found: Any = load_design(path)
        return Sets(found) if isinstance(found, FrequencyDesign) else Listed(found.mechanism, found)
    return Listed(Mechanism.load(path))


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


def _require_unbiased(method: str) -> None:
    if method != "inversion":
        what = f"--method {method} is for a mechanism alone; a design has its own unbiased estimator"
        raise StatementError(what, do="leave --method out")
