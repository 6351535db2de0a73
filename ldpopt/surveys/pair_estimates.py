"""Tables of two questions of a survey: from one report on both, or from two reports."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.identified import Dependence
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.estimation.liars import stated
from ldpopt.estimation.linear import left_inverse
from ldpopt.estimation.options import Reading
from ldpopt.estimation.sample import Sample
from ldpopt.estimation.sampled import SampledPeople
from ldpopt.estimation.significance import Significance, independence
from ldpopt.estimation.tallies import NO_GROUP
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.choices import require_no_choices
from ldpopt.surveys.count import counts_by_group, counts_of_all
from ldpopt.surveys.estimates import among_drawn, numbers_of, of_question
from ldpopt.surveys.joint import JOINT
from ldpopt.surveys.models import require_no_model
from ldpopt.surveys.numbers import require_not_rounded
from ldpopt.surveys.pairs import pair_of
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.repeat import require_no_repeat
from ldpopt.surveys.shared import JointNumbers, cells_of, path_workload
from ldpopt.surveys.ticks import LISTED_TICKS, TicksQuestion
from ldpopt.surveys.trees import TreeQuestion
from ldpopt.tables.coding import Coder

NO_TABLE = (
    "careless people answer both questions at random, which a table does not separate",
    "estimate it alone, or name questions that are asked once",
)
MAX_PAIRS = 1 << 22  # largest number of entries of the channel of two reports


def estimate_pair(
    survey: Questionnaire, table: Any, names: tuple[str, str], weights: Any, reading: Reading
) -> Estimate:
    """Estimate the table of two questions; see `Survey.estimate_pair`."""
    name, other = map(survey.require, names)
    for each in (name, other):
        require_not_rounded(each, survey.questions[each])
        require_no_repeat({each: survey.questions[each]}, *NO_TABLE)
    column = survey.column_of(name)
    tree = survey.asked[column]
    if survey.joint is not None:
        source = pair_of(survey.joint, name, other)
        columns = {JOINT: (source, survey.joint.missing)}
        counts = counts_of_all(survey, columns, table, weights, survey.sample)[JOINT]
        return source.estimate(counts, **vars(reading))  # type: ignore[no-any-return]
    if isinstance(tree, TreeQuestion) and other in tree.parts:
        numbers = pair_of_tree(tree, name, other)
        if survey.one_question is not None and survey.has_fake_data:
            numbers = numbers.among_fakes(survey.randomizers[column], survey.one_question.count)
        columns = {column: survey.columns[column]}
        counts = counts_of_all(survey, columns, table, weights, survey.sample)[column]
        drawn = among_drawn(reading, survey.times_drawn)
        estimate = stated(numbers.estimate(counts, **vars(drawn)), reading.liars)
        return _of_possible(numbers, estimate)
    pairs, counts = _pairs_of_reports(survey, table, (name, other), weights, survey.sample)
    if not {survey.column_of(each) for each in names} & survey.trees.keys():
        return estimate_frequencies(pairs, counts, **vars(reading))
    first, second = (_SharesOfAnswers.of(survey, each) for each in names)
    return first.times(second, pairs).estimate(counts, **vars(reading))


def _of_possible(numbers: JointNumbers, estimate: Estimate) -> Estimate:
    """An estimate of cells: one that nobody can be in is 0, which no nearest distribution moves."""
    is_possible = numbers.wanted.any(axis=1)
    return estimate if is_possible.all() else replace(estimate, is_distribution=False)


def pair_of_tree(tree: TreeQuestion, name: str, other: str) -> JointNumbers:
    """What estimates the table of two questions of a tree, if its workload has the table.

    Cells that nobody can be in are 0. That all others are sums of the numbers of the workload is
    decided in integers.

    Raises
    ------
    StatementError
        If both are the same question, or the workload does not have the table.
    """
    if name == other:
        raise _same_question(name)
    cells, wanted = cells_of(tree.questions, tree.paths, name, other)
    workload = path_workload(tree.questions, tree.pairs).matrix
    is_share = ((workload == 0) | (workload == 1)).all(axis=1)
    shares = workload[is_share]
    if len(Dependence.of(shares.T.astype(np.int64)).hidden(wanted)):
        raise StatementError(
            f"the report on {', '.join(tree.parts)} is not made for the table of {name!r} and "
            f"{other!r}, which it need not show",
            code="unnamed-pair",
            do=f'name the pair before people are asked: pairs = [["{name}", "{other}"]]',
        )
    sums = np.linalg.lstsq(shares.T, wanted.T, rcond=None)[0].T
    return JointNumbers(tree.source, cells, wanted, sums @ tree.source.estimator[is_share])


@dataclass(frozen=True)
class _SharesOfAnswers:
    """The shares of the answers to a question, from the reports of its column: their rows over what
    the reports are about, and their values.
    """

    names: tuple[Hashable, ...]
    wanted: Float
    estimator: Float
    left_inverse: Float

    @classmethod
    def of(cls, survey: Questionnaire, name: str) -> _SharesOfAnswers:
        """Those of a column, or of a question of a tree whose shares are estimated."""
        column = survey.column_of(name)
        if column not in survey.trees:
            law: Any = survey.randomizers[column]
            inverse = left_inverse(law)
            return cls(tuple(law.inputs), np.eye(len(law.inputs)), inverse, inverse)
        numbers = numbers_of(survey, name)
        if survey.questions[name].source.unit != 1:
            raise StatementError(
                f"the shares of the answers to {name!r} are not estimated",
                code="pair-numbers",
                do='ask for the workload "frequencies"',
            )
        return cls(numbers.names, numbers.wanted, numbers.estimator, numbers.left_inverse)

    def times(self, other: _SharesOfAnswers, pairs: Mechanism) -> JointNumbers:
        """The table of two questions, from the mechanism of pairs of reports."""
        both = {
            key: np.kron(getattr(self, key), getattr(other, key))
            for key in ("wanted", "estimator", "left_inverse")
        }
        source = _TwoReports(pairs, both["left_inverse"])
        names = list(product(self.names, other.names))
        return JointNumbers(source, names, both["wanted"], both["estimator"])


@dataclass(frozen=True)
class _TwoReports:
    """The mechanism of pairs of reports, and the estimator of the frequencies."""

    mechanism: Mechanism
    left_inverse: Float


def _same_question(name: str) -> StatementError:
    """The error for a table of a question and itself."""
    return StatementError(
        f"a table of {name!r} and itself", code="same-question", do="name two questions"
    )


def independence_of(
    survey: Questionnaire,
    table: Any,
    names: tuple[str, str],
    weights: Any,
    sample: Sample | None = None,
) -> Significance:
    """Whether the answers to two questions are independent; see `Survey.independence`."""
    if survey.joint is not None:
        raise StatementError(
            "one joint report on both questions does not show whether they are independent by a "
            "table of two reports",
            code="joint",
            do="look at the table of both: estimate_pair; its phi is a correlation",
        )
    shared = [name for name in names if survey.column_of(name) in survey.trees]
    if shared:
        raise StatementError(
            f"the report on {shared[0]!r} is about other questions as well, and so would be a test",
            code="tree",
            do="look at the table of both: estimate_pair",
        )
    _, counts = _pairs_of_reports(survey, table, names, weights, survey.drawn(sample))
    laws = _mechanisms_of_pair(survey, names)
    shape = len(laws[0].outputs), len(laws[1].outputs)
    channels = laws[0].channel, laws[1].channel
    words = f"the answers to {names[0]!r} and {names[1]!r} are independent"
    some = counts.require_some()
    return independence(
        np.reshape(some.values, shape),
        np.reshape(some.squares, shape),
        channels,
        words,
        some.sampled,
    )


def _pairs_of_reports(
    survey: Questionnaire, table: Any, names: tuple[str, str], weights: Any, sample: Sample
) -> tuple[Mechanism, Counts]:
    """The mechanism of the pairs of two reports, which are independent given the answers, and its
    counts.
    """
    first, second = _mechanisms_of_pair(survey, names)
    names = survey.column_of(names[0]), survey.column_of(names[1])
    # The counts of the first report in the groups of the second one are those of pairs.
    if isinstance(table, (str, os.PathLike)):
        require_drawn_by(os.fspath(table), names[1], second.digest)
    source, missing = survey.columns[names[0]]
    columns = {names[0]: (source, missing)}
    groups = counts_by_group(survey, columns, table, weights, names[1], sample)[names[0]]
    if survey.columns[names[1]][1] == "leave_out":
        groups.pop(NO_GROUP, None)
    coder = Coder(second.outputs, "report", as_text=True)
    by_code = {coder.code(text_of(group)): counts for group, counts in groups.items()}
    if min(by_code, default=0) < 0:
        raise StatementError(
            f"column {names[1]!r} has an entry that is not a report of its question",
            code="unknown-report",
            do="pass what `privatize` returned or wrote",
        )
    no_reports = source.counts_of_array(source.codec.no_reports)
    cells = [by_code.get(code, no_reports) for code in range(len(second.outputs))]
    values: Any = np.stack([cell.values for cell in cells], axis=1).ravel()
    squares: Any = np.stack([cell.squares for cell in cells], axis=1).ravel()
    pairs = Mechanism(
        np.kron(first.counts / first.denominator, second.counts / second.denominator),
        list(product(first.inputs, second.inputs)),
        list(product(first.outputs, second.outputs)),
    )
    sums = (float(values.sum()), float(squares.sum()), sum(cell.n_reports for cell in cells))
    sampled = _pairs_of_sample(by_code, len(second.outputs))
    return pairs, Counts(pairs.digest, pairs.outputs, values, squares, *sums, sampled=sampled)


def _pairs_of_sample(by_code: Mapping[int, Counts], size: int) -> SampledPeople | None:
    """The people of a sample with pairs of reports; None without a sample."""
    samples = {code: each.sampled for code, each in by_code.items() if each.sampled is not None}
    if not samples:
        return None
    every = next(iter(samples.values()))
    places = [-1] * len(every.table.groups)
    for code, each in samples.items():
        places[int(each.groups[0])] = code
    groups = np.flatnonzero(np.array(places) >= 0)
    return SampledPeople(every.table, groups).with_groups_as_reports(places, size)


def _mechanisms_of_pair(survey: Questionnaire, names: tuple[str, str]) -> list[Any]:
    """The mechanisms of two questions of which a table can be estimated from their two reports."""
    asked = {name: survey.questions[survey.require(name)] for name in names}
    require_no_choices(
        survey, "no table of two questions is estimated", "estimate each question alone"
    )
    require_no_model(asked, "no table of two questions", "estimate it alone, or name others")
    laws = [survey.randomizers[survey.column_of(name)] for name in names]
    wide = next(
        (name for name, law in zip(names, laws, strict=True) if not isinstance(law, Mechanism)), ""
    )
    code = reason = ""
    do = "use the scheme 'joint', or 'split'"
    if names[0] == names[1]:
        raise _same_question(names[0])
    if survey.one_question is not None:
        code = "one-question"
        reason = f"in the scheme {survey.scheme!r} no report is about two questions"
    elif wide and isinstance(survey.questions[wide], TicksQuestion):
        code = "pair-of-ticks"
        reason = f"the sets of ticks of {wide!r} are too many for a table"
        do = f"ask {wide!r} in two questions of at most {LISTED_TICKS} ticks"
    elif wide or laws[0].counts.size * laws[1].counts.size > MAX_PAIRS:
        code = "pair-size"
        reason = "the questions have too many answers for a table"
        do = "name two questions of fewer answers"
    if reason:
        raise StatementError(reason, code=code, do=do)
    # Masses of pairs are rounded, so that the rank is decided for each question.
    for name, law in zip(names, laws, strict=True):
        if survey.column_of(name) not in survey.trees:
            with of_question(name):
                left_inverse(law)
    return laws
