"""What privatize and estimate work with: a mechanism, or a design with its estimator, and its reports as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ldpopt.cli.output import text_of
from ldpopt.errors import StatementError

if TYPE_CHECKING:
    from ldpopt.estimation.designs import Design, FrequencyDesign
    from ldpopt.estimation.inversion import Estimate
    from ldpopt.mechanism.mechanism import Mechanism


class Instrument(Protocol):
    """Draws reports as text, and estimates from them."""

    @property
    def inputs(self) -> Sequence[Any]:
        """True answers."""

    def draw(self, codes: Any, rng: Any) -> list[str]:
        """Draw a report for each answer, which is given by its position."""

    def known(self) -> dict[str, Any] | None:
        """Reports by their text, or None where they are too many to list."""

    def estimate(self, seen: Counter[str], method: str, confidence: float) -> Estimate:
        """Estimate from counts of reports."""


class Listed:
    """A mechanism, and its design if the file is one."""

    def __init__(self, mechanism: Mechanism, design: Design | None = None) -> None:
        self.mechanism, self.design = mechanism, design

    @property
    def inputs(self) -> Sequence[Any]:
        """True answers."""
        return self.mechanism.inputs

    def draw(self, codes: Any, rng: Any) -> list[str]:
        """Draw by the exact sampler."""
        names = list(map(text_of, self.mechanism.outputs))
        return [names[code] for code in self.mechanism.sampler.draw(codes, rng=rng).tolist()]

    def known(self) -> dict[str, Any] | None:
        """Outputs by their text."""
        from ldpopt.cli.surveying import by_text

        return by_text(self.mechanism.outputs, "output")

    def estimate(self, seen: Counter[str], method: str, confidence: float) -> Estimate:
        """Estimate the frequencies of the answers, or a design's numbers."""
        from ldpopt.estimation.inversion import estimate_frequencies

        known = self.known() or {}
        counts = {self.mechanism.outputs[known[text]]: count for text, count in seen.items()}
        if self.design is None:
            how: Any = method
            return estimate_frequencies(self.mechanism, counts, method=how, confidence=confidence)
        _require_unbiased(method)
        return self.design.estimate(counts, confidence)


class Sets:
    """A design for frequencies whose reports are sets of answers: their positions, with spaces between them."""

    def __init__(self, design: FrequencyDesign) -> None:
        self.design = design

    @property
    def inputs(self) -> Sequence[Any]:
        """True answers."""
        return self.design.workload.inputs

    def draw(self, codes: Any, rng: Any) -> list[str]:
        """Draw by the protocol's own sampler."""
        answers = [self.inputs[code] for code in codes.tolist()]
        return [" ".join(map(str, row)) for row in self.design.randomize(answers, rng=rng).tolist()]

    def known(self) -> dict[str, Any] | None:
        """Too many to list."""
        return None

    def estimate(self, seen: Counter[str], method: str, confidence: float) -> Estimate:
        """Estimate the frequencies."""
        import numpy as np

        _require_unbiased(method)
        size = self.design.protocol.size
        rows = [row for text, count in seen.items() for row in [_positions(text, size)] * count]
        return self.design.estimate(np.array(rows, dtype=np.int64).reshape(-1, size), confidence)


def read_instrument(path: str) -> Instrument:
    """Read a mechanism or a design.

    Raises
    ------
    ModelFileError
        If the file is neither.
    """
    from ldpopt.estimation.designs.files import is_design
    from ldpopt.estimation.designs.saving import is_frequency_design, load_design
    from ldpopt.mechanism.mechanism import Mechanism

    if is_frequency_design(path):
        found: Any = load_design(path)
        return Sets(found)
    if is_design(path):
        design: Any = load_design(path)
        return Listed(design.mechanism, design)
    return Listed(Mechanism.from_json(path))


def read_mechanism(path: str) -> Mechanism:
    """Read the channel of a mechanism or of a design.

    Raises
    ------
    ModelFileError
        If the file is neither.
    NotRepresentableError
        If the design's reports are too many to list.
    """
    from ldpopt.estimation.designs.saving import is_frequency_design, load_design
    from ldpopt.mechanism.mechanism import Mechanism

    return load_design(path).mechanism if is_frequency_design(path) else Mechanism.from_json(path)


def _require_unbiased(method: str) -> None:
    if method != "inversion":
        what = f"--method {method} is for a mechanism alone; a design has its own unbiased estimator"
        raise StatementError(what, do="leave --method out")


def _positions(text: str, size: int) -> Iterable[int]:
    parts = text.split(" ")
    if len(parts) != size or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise StatementError(
            f"the report {text[:60]!r} is not a set of {size} positions", do="pass what privatize wrote"
        )
    return [int(part) for part in parts]
