r"""Comparison of the schemes of a survey: reports on all questions, on one, on one among fake data,
or joint ones.

Per person, and for a frequency ``f`` of a question with the best protocol ``(p, q)`` for its
labels, the variance is

.. math:: d^a \, \frac{s (1 - s)}{(p - q)^2}, \qquad s = q + f (p - q),

with the budget :math:`\epsilon / d` and ``a = 0`` if everybody answers all ``d`` questions, with
the budget :math:`\epsilon` and ``a = 1`` if one is drawn for each person. With fake data ``a = 2``
and ``s`` becomes :math:`s / d + (1 - 1/d) \bar s`, where :math:`\bar s` is the share of random
reports that support the label. A joint report has the variance of its estimator: for yes/no
questions that of an answer that a share of the reports has, for others that of a design. A question
that is a workload has the best design, and is not compared with fake data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.planning import precision
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Float
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.conditions import count_paths
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.surveys.joint import JointQuestion, is_yes_no, joint_source
from ldpopt.surveys.repeat import require_no_repeat
from ldpopt.surveys.shared import MAX_PATHS
from ldpopt.surveys.tree_schemes import compare_columns

SCHEMES = ("split", "one_question", "fake_data", "joint")
NO_COMPARISON = (
    "schemes are compared for questions that are asked once",
    "pass its answers with 'inconsistent' as one of them",
)
CLEARLY = 1e-4  # share of the variance that a scheme has to save to be preferred to a simpler one


@dataclass(frozen=True)
class SchemeComparison:
    """Variances of the schemes for the same budget of a person, made by `compare_schemes`.

    Attributes
    ----------
    epsilon : Budget
        Of a person, over all reports.
    variances : dict scheme -> dict question -> float
        Variance of one person's contribution to a frequency, averaged over the labels; divide by
        the number of people.
    joint : JointQuestion or None
        The joint report; None, as its variances, for one question or more than 64 combinations of
        answers of which not all are yes or no.
    """

    epsilon: Budget
    variances: dict[str, dict[str, float]]
    joint: JointQuestion | None = None

    @property
    def average(self) -> dict[str, float]:
        """Average over the questions, for each scheme."""
        return {
            scheme: float(np.mean(list(variances.values())))
            for scheme, variances in self.variances.items()
        }

    @property
    def best(self) -> str:
        """The scheme with the smallest average; the simplest of nearly equal ones."""
        average = self.average
        limit = min(average.values()) * (1 + CLEARLY)
        return next(scheme for scheme, variance in average.items() if variance <= limit)

    @property
    def without_joint(self) -> SchemeComparison:
        """The comparison of the other schemes."""
        others = {name: each for name, each in self.variances.items() if name != "joint"}
        return SchemeComparison(self.epsilon, others)

    @property
    def why(self) -> str:
        """The reason, in a sentence."""
        average = self.average
        best = self.best
        others = ", ".join(
            f"{average[name] / average[best]:.3g} times for {name}"
            for name in average
            if name != best
        )
        count = len(self.variances[best])
        return (
            f"{best}: at epsilon {float(self.epsilon):.3g} a person and {count} questions the "
            f"variance is {others}"
        )


def compare_schemes(
    questions: Mapping[str, int | Sequence[Hashable] | Workload | Question],
    epsilon: float | str,
    *,
    priors: Mapping[str, Any] | None = None,
) -> SchemeComparison:
    """Compare the schemes for several questions, each with the best protocol for the frequencies of
    its answers.

    Respondents are drawn at random. Fake data amplify privacy only if a single attribute may
    change; for a whole person there is no amplification, and fake data are never better than one
    question. Proof: docs, "Surveys".

    Parameters
    ----------
    questions : mapping name -> labels, their number, Workload, or Question of one of these
        At least one question. A tree, questions that depend on each other, is compared as one.
    epsilon : float or str
        Budget of a person in nats, positive.
    priors : mapping name -> prior, optional
        Guesses of the frequencies, as `Problem` takes them; default: equal ones.

    Returns
    -------
    SchemeComparison
        Variances, the best scheme, and why.

    Raises
    ------
    StatementError
        If there are no questions, a question has fewer than two labels, or a prior or a condition
        does not fit.

    Examples
    --------
    >>> compare_schemes({"smokes": 2, "drinks": 2, "party": 4}, 1.0).best
    'one_question'
    """
    if not isinstance(questions, Mapping) or not questions:
        raise StatementError(
            "there are no questions", code="no-question", do='pass {"name": labels, ...}'
        )
    budget = Budget(epsilon)
    count = len(questions)
    variances: dict[str, dict[str, float]] = {scheme: {} for scheme in SCHEMES[:3]}
    parts = {}
    guesses = []
    joint = None
    _require_priors_of(questions, priors or ())
    if any(isinstance(asked, Question) for asked in questions.values()):
        stated = {name: _stated(asked) for name, asked in questions.items()}
        require_no_repeat(stated, *NO_COMPARISON)
        return SchemeComparison(budget, *compare_columns(stated, budget, priors or {}))
    for name, labels in questions.items():
        assert not isinstance(labels, Question)
        alone = _source(labels, budget)
        part = _source(labels, budget.share(Fraction(1, count)))
        workload = labels if isinstance(labels, Workload) else Workload.frequencies(alone.inputs)
        prior = None if priors is None else priors.get(name)
        size = len(workload.inputs)
        shares = np.full(size, 1 / size)
        if prior is not None:
            shares = read_prior(prior, tuple(workload.inputs))[0]
        parts[name] = Question(workload)
        guesses.append(shares)
        of_part = precision(part, prior=shares).variances
        of_one = precision(alone, prior=shares).variances
        variances["split"][name] = float(of_part.mean())
        variances["one_question"][name] = count * float(of_one.mean())
        if labels is workload:
            variances.pop("fake_data", None)  # which are never better than one question
        elif "fake_data" in variances:
            variances["fake_data"][name] = _variance_among_fakes(alone, shares, count)
    if count > 1 and (is_yes_no(parts) or count_paths(parts) <= MAX_PATHS):
        joint = JointQuestion.of(parts, joint_source(parts, budget))
        variances["joint"] = {name: float(joint.variances(name, guesses).mean()) for name in parts}
    return SchemeComparison(budget, variances, joint)


def _require_priors_of(questions: Mapping[str, Any], priors: Iterable[str]) -> None:
    """Refuse a prior of another question."""
    for name in priors:
        if name not in questions:
            raise StatementError(
                f"there is a prior for {name!r}, which is not a question",
                code="question",
                do=nearest(name, questions),
            )


def _stated(asked: int | Sequence[Hashable] | Workload | Question) -> Question:
    """A question that is stated by its answers."""
    if isinstance(asked, Question):
        return asked
    return Question(asked if isinstance(asked, Workload) else Workload.frequencies(asked))


def _source(asked: int | Sequence[Hashable] | Workload, epsilon: float | Budget) -> Any:
    """The best protocol for the frequencies of labels, or the best design for a workload."""
    if not isinstance(asked, Workload):
        return SubsetSelection(asked, epsilon)
    from ldpopt.designing.design import design

    return design(asked, PureLDP(epsilon))


def _variance_among_fakes(protocol: SubsetSelection, frequencies: Float, count: int) -> float:
    """Average variance over the labels of a question, if a person's other questions get fake
    data.
    """
    p = float(protocol.p)
    q = float(protocol.q)
    random = (p + (len(frequencies) - 1) * q) / len(frequencies)
    share = (q + frequencies * (p - q)) / count + (1 - 1 / count) * random
    return float(np.mean(count**2 * protocol.variance_at_support(share)))
