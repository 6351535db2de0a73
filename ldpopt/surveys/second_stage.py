"""The second stage of a survey: what is estimated from its reports alone, a quantile or the
parameter of a family, and what is said of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np

from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.options import Reading
from ldpopt.estimation.planning import Precision
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.labels import label_numbers
from ldpopt.foundation.numbers import Float, inner_share, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.stages.classes import NormalClasses, RateClasses
from ldpopt.stages.families import AnswerFamily
from ldpopt.surveys.model_files import read_edges_of
from ldpopt.surveys.numbers import NumberQuestion

LEAST_RATE = 0.01  # least rate that is thought possible if none is stated
KEYS = ("kind", "share", "sd", "between", "edges", "value", "reports", "epsilon", "mechanism")
Kind = Literal["quantile", "normal", "rate"]


@dataclass(frozen=True)
class SecondStage:
    """What the second stage of a survey estimates, and where its first stage ended.

    Attributes
    ----------
    kind : {"quantile", "normal", "rate"}
        A quantile, the mean of a normal distribution, or the rate of a number of events.
    share : float or None
        Of the quantile.
    sd : float or None
        Standard deviation of the normal distribution.
    between : tuple of float or None
        Least and largest value of the mean or rate.
    edges : tuple of float or None
        Ends of the classes of numbers that the answers stand for.
    value : float or None
        What the first stage found, near which the mechanism is best; None if that is infinite.
    reports : int
        Number of reports of the first stage.
    epsilon : float
        Audited budget of a person of the first stage.
    mechanism : str
        Digest of what drew the reports of the first stage.
    """

    kind: Kind
    share: float | None
    sd: float | None
    between: tuple[float, float] | None
    edges: tuple[float, ...] | None
    value: float | None
    reports: int
    epsilon: float
    mechanism: str

    @property
    def label(self) -> str:
        """The name of the number that is estimated."""
        names = {"normal": "mean", "rate": "rate"}
        return names.get(self.kind, f"quantile {self.share or 0.0:g}")

    @property
    def in_words(self) -> str:
        """What is estimated, and from whose reports."""
        what = {
            "quantile": f"the quantile {self.share or 0.0:g}",
            "normal": f"the mean of a normal distribution with deviation {self.sd or 0.0:g}",
            "rate": "the rate of a Poisson distribution",
        }[self.kind]
        return (
            f"second stage: {what}, by its own reports alone; the mechanism was chosen by "
            f"{self.reports:,} reports of the first stage"
        )

    @property
    def on_page(self) -> str:
        """What the numbers below a question are of."""
        if self.kind == "quantile":
            return (
                f"The {self.label} is estimated, by the second stage alone: its interval has all "
                "values that the shares below do not refute."
            )
        return (
            f"The {self.label} is estimated, by the second stage alone: the number below is for "
            f"the value {self.value:.4g}, which the first stage found."
        )

    def promise(self, epsilon: float) -> str:
        """Who may not be in the second stage, and what it costs whoever is."""
        return (
            "nobody may be in both stages: whoever is spends epsilon "
            f"{self.epsilon:.6g} + {epsilon:.6g} = {self.epsilon + epsilon:.6g}; the mechanism "
            "depends on reports of the first stage only"
        )

    def family(self, inputs: Sequence[Hashable]) -> AnswerFamily:
        """The distributions of the answers."""
        assert self.between is not None
        assert self.edges is not None
        if self.kind == "rate":
            return RateClasses(self.between, self.edges[:-1], inputs)
        assert self.sd is not None
        return NormalClasses(self.sd, self.between, self.edges, inputs)

    def estimate(self, question: Question, counts: Counts, reading: Reading) -> Estimate:
        """The quantile or the parameter, from the reports of the second stage alone."""
        if reading.liars:
            raise StatementError(
                f"the {self.label} of a second stage has no interval for "
                f"{100 * reading.liars:g} % of liars",
                code="liars-of-stage",
                do="leave liars out: all reports are taken as true",
            )
        options: dict[str, Any] = {"confidence": reading.confidence}
        options |= {"check_fit": reading.check_fit}
        if self.kind == "quantile":
            from ldpopt.stages.quantiles import estimate_quantile

            assert self.share is not None
            return estimate_quantile(
                question.source, counts, self.share, edges=self.edges, **options
            )
        from ldpopt.stages.maximum import estimate

        law = question.randomizer
        assert isinstance(law, Mechanism)
        most_likely = estimate(self.family(law.inputs), law, counts, **options)
        return replace(most_likely, labels=(self.label,))

    def precision(self, question: Question, confidence: float) -> Precision | None:
        """The variance of a parameter at the value that the first stage found; None for a quantile,
        whose shares have theirs.
        """
        if self.between is None:
            return None
        told = np.array([self._information(question.source)])
        span = np.array([self.between[1] - self.between[0]])
        return Precision((self.label,), 1 / told, normal_quantile(confidence), span)

    def openly(self, question: Question) -> float | None:
        """As how many open answers one report tells of a parameter; None for a quantile."""
        if self.between is None:
            return None
        law = question.source
        answers = Mechanism(np.eye(len(law.inputs)), law.inputs)
        return self._information(law) / self._information(answers)

    def _information(self, law: Mechanism) -> float:
        """The information of a report on a parameter, at the value that the first stage found."""
        from ldpopt.stages.parameter import information

        assert self.value is not None
        return information(self.family(law.inputs), self.value, law)

    def true_number(self, question: Question, shares: Float) -> float:
        """What the estimate is of if the answers have these shares."""
        if self.kind != "quantile":
            from ldpopt.stages.maximum import expected

            law = question.randomizer
            assert isinstance(law, Mechanism)
            return expected(self.family(law.inputs), law, shares)
        ordered = np.delete(shares, [] if question.missing_code is None else question.missing_code)
        below = np.append(0.0, np.cumsum(ordered / ordered.sum()))
        ends = np.arange(len(below)) if self.edges is None else np.array(self.edges)
        return float(np.interp(self.share or 0.0, below, ends))

    def supposed(self, question: Question) -> Float | None:
        """Shares of the answers at the value that the first stage found, if that says them all."""
        if self.between is None:
            return None
        assert self.value is not None
        return self.family(tuple(question.inputs)).probabilities(self.value)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        data = vars(self) | {"between": None if self.between is None else list(self.between)}
        if self.edges is not None:
            data["edges"] = [edge if isfinite(edge) else str(edge) for edge in self.edges]
        return data

    @classmethod
    def read(cls, entry: Entry) -> SecondStage:
        """Read what `to_dict` returned."""
        table = entry.table(*KEYS)
        kind: Any = table["kind"].text("quantile", "normal", "rate")
        stated = {key: table[key].value is not None for key in KEYS}
        wanted = {"share": kind == "quantile", "sd": kind == "normal"}
        wanted |= {"between": kind != "quantile"}
        for key, is_wanted in wanted.items():
            if stated[key] != is_wanted:
                raise table[key].error(f"a second stage of the kind {kind} has another goal")
        for key in ("edges", "value"):
            if kind != "quantile" and not stated[key]:
                raise table[key].error("the parameter of a family needs it", code="stage-key")
        between = None
        if stated["between"]:
            low, high = (part.number() for part in table["between"].list(2))
            between = (low, high)
        return cls(
            kind,
            inner_share(table["share"].number(), "share") if stated["share"] else None,
            table["sd"].number() if stated["sd"] else None,
            between,
            tuple(read_edges_of(table["edges"])) if stated["edges"] else None,
            None if table["value"].value is None else table["value"].number(),
            table["reports"].whole(2**63),
            table["epsilon"].number(),
            table["mechanism"].text(),
        )


def read_stage(stage: Any, questions: Mapping[str, Question]) -> SecondStage | None:
    """Read the second stage of a survey; one that is not of its question is refused."""
    if stage is None:
        return None
    require_kind(stage, SecondStage, "stage", "make the second stage by survey.adapt()")
    known: SecondStage = stage
    question = next(iter(questions.values()))
    count = len(question.inputs) - (question.missing_code is not None)
    source = question.source
    is_law = isinstance(source, Mechanism) and question.missing_code is None
    is_quantile = known.kind == "quantile"
    wrong_edges = known.edges is not None and len(known.edges) != count + 1
    reasons = (
        (len(questions) > 1, "question-count", f"has {len(questions)} questions"),
        (wrong_edges, "stage-edges", f"has {len(known.edges or ())} ends of {count} classes"),
        (is_quantile and not isinstance(source, Design), "stage-design", "has no thresholds"),
        (not is_quantile and not is_law, "stage-mechanism", "has no mechanism of a family"),
    )
    for is_so, code, problem in reasons:
        if is_so:
            raise StatementError(
                f"the second stage of a survey {problem}", code=code, do="make it by survey.adapt()"
            )
    if is_quantile:
        from ldpopt.stages.quantiles import require_thresholds

        require_thresholds(source)
    else:
        known.family(tuple(question.inputs))
    return known


def ends_of_classes(question: Question) -> tuple[float, ...] | None:
    """The ends of the classes of numbers that answers stand for; None if nothing says them."""
    if isinstance(question, NumberQuestion):
        return tuple(map(float, question.number.edges))
    return None if question.edges is None else tuple(map(float, question.edges))


def is_ordered(question: Question) -> bool:
    """Whether the answers have an order that is stated, or that of numbers."""
    if ends_of_classes(question) is not None:
        return True
    workload = getattr(question.source, "workload", None)
    if workload is not None and workload.unit != 1:
        rows = np.asarray(workload.matrix)
        if (np.diff(rows, axis=1) <= 0).all(axis=1).any():
            return True
    kept = [each for each in question.inputs if each != question.missing_answer]
    return label_numbers(kept) is not None
