"""Comparisons of estimates of a survey: between groups, between waves, and tables that add up."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.answered import ANSWERED, RatioBand
from ldpopt.estimation.band import ProjectedBand, ScoreBand
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.liars import liars_in_words, plain_band, projected, require_no_liars
from ldpopt.estimation.significance import Significance, homogeneity, p_values
from ldpopt.estimation.strata import StrataBand
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.labels import label_numbers, nearest, text_of
from ldpopt.foundation.numbers import Float, short_repr

if TYPE_CHECKING:
    from ldpopt.surveys.estimates import SurveyEstimate

STEPS = 20_000  # of Dykstra's method; a table needs some hundred
NEAR = 1e-12  # change of a share at which it ends


@dataclass(frozen=True, eq=False)
class SurveyDifferences(Mapping[tuple[Hashable, Hashable], Mapping[str, Estimate]], HasFacts):
    """Differences of the numbers of a survey between pairs of groups, or of waves, each with the
    p-value of "no difference"; made by `SurveyEstimate.differences`, or by subtracting one
    `SurveyEstimate` from another.

    Attributes
    ----------
    pairs : dict (first, second) -> dict name -> Estimate
        The numbers of the first minus those of the second.
    by : str or None
        Column of the groups; None for waves.
    title : str
        Of the survey; default: ``""``.

    Examples
    --------
    >>> north = Estimate([0.5], [0.03], 100, labels=("yes",))
    >>> south = Estimate([0.4], [0.04], 100, labels=("yes",))
    >>> found = SurveyDifferences({("north", "south"): {"smokes": north - south}}, "region")
    >>> [round(entry["p"], 4) for entry in found.entries()]
    [0.0455]
    """

    pairs: dict[tuple[Hashable, Hashable], dict[str, Estimate]]
    by: str | None = None
    title: str = ""

    def __getitem__(self, pair: tuple[Hashable, Hashable]) -> Mapping[str, Estimate]:
        return self.pairs[pair]

    def __iter__(self) -> Iterator[tuple[Hashable, Hashable]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"SurveyDifferences({len(self.pairs)} pairs of {self.by or 'waves'})"

    def __str__(self) -> str:
        return self.summary()

    def entries(self) -> list[dict[str, Any]]:
        """Rows of the table: the pair, question, answer, difference, its interval and p-value; of
        several rows also Holm's p-value, which is right for all of them together.
        """
        return [dict(row) for row in self._entries]

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        rows = []
        chances = []
        for (first, second), estimates in self.pairs.items():
            for name, estimate in estimates.items():
                labels = estimate.labels or tuple(range(len(estimate.values)))
                tests = p_values(estimate, np.zeros(len(labels)))
                is_pair = _is_one_test(estimate)
                limits = np.broadcast_to(estimate.bounds.possible, (len(labels), 2))
                is_known = limits[:, 0] == limits[:, 1]
                for place, (answer, p) in enumerate(zip(labels, tests.tolist(), strict=True)):
                    if is_known[place]:  # such as the share up to the last answer
                        continue
                    low, high = estimate.interval[place].tolist()
                    rows.append(
                        {"first": first, "second": second, "question": name, "answer": answer}
                        | {"difference": float(estimate.values[place])}
                        | {"std_error": float(estimate.std_error[place])}
                        | {"low": low, "high": high, "p": p}
                        | ({"liars": estimate.liars} if estimate.liars else {})
                    )
                    # both answers of a yes/no question are one test
                    chances.append((name, first, second) if is_pair else (name, place, len(rows)))
        if len(set(chances)) > 1:
            by_test = {key: row["p"] for key, row in zip(chances, rows, strict=True)}
            adjusted = dict(zip(by_test, holm(list(by_test.values())), strict=True))
            rows = [row | {"holm": adjusted[key]} for key, row in zip(chances, rows, strict=True)]
        return rows

    @property
    def liars(self) -> float:
        """Share of liars in each of both for which the intervals are widened; 0 if they are not."""
        shares = (each.liars for pair in self.pairs.values() for each in pair.values())
        return max(shares, default=0.0)

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a long table with a row for each pair, question and answer."""
        return optional.pandas.DataFrame(self.entries())

    def facts(self) -> Facts:
        """The table."""
        entries = self.entries()
        headings = ["groups" if self.by else "waves", "question", "answer", "difference"]
        headings += ["std error", "low", "high", "p"]
        has_holm = bool(entries) and "holm" in entries[0]
        rows = [
            [
                f"{label(row['first'])} - {label(row['second'])}",
                label(row["question"]),
                label(row["answer"]),
                *(row[key] for key in ("difference", "std_error", "low", "high", "p")),
                *([row["holm"]] if has_holm else []),
            ]
            for row in entries
        ]
        words = ["question", "answer"]
        table = Table([*headings, *(["p (Holm)"] if has_holm else [])], rows, words=words, digits=4)
        notes = ["p: probability of a difference as large if there is none"]
        if has_holm:
            notes = [f"{notes[0]}; Holm's is right for all rows together"]
        if self.liars:
            notes[0] += "; it takes all reports as true"
            notes += liars_in_words(self.liars, has_groups=True)
        confidence = next(
            (e.confidence for each in self.pairs.values() for e in each.values()), 0.95
        )
        title = f"{self.title or 'survey'}: differences, {100 * confidence:g} % intervals"
        return Facts(title, [table, *notes])


def _is_one_test(estimate: Estimate) -> bool:
    """Whether the numbers are differences of the two shares of a yes/no question."""
    return len(estimate.values) == 2 and abs(float(estimate.values.sum())) < NEAR


def holm(chances: list[float]) -> list[float]:
    """Holm's p-values (1979): each is at most the error of rejecting it or any smaller one."""
    order = np.argsort(chances)
    m = len(chances)
    adjusted = np.empty(m)
    factors = np.arange(m, 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.array(chances)[order] * factors))
    return [float(p) for p in adjusted]


def differences_of_groups(estimates: SurveyEstimate, base: Hashable | None) -> SurveyDifferences:
    """Differences between groups; see `SurveyEstimate.differences`."""
    groups = _require_groups(estimates)
    if base is None:
        pairs = list(combinations(groups, 2))
    else:
        names = {text_of(group): group for group in groups}
        if base not in groups and text_of(base) not in names:
            raise StatementError(
                f"{short_repr(base)} is not a group of {estimates.by!r}",
                code="group",
                do=nearest(text_of(base), list(names)),
            )
        start = base if base in groups else names[text_of(base)]
        pairs = [(group, start) for group in groups if group != start]
    found = {
        (first, second): {
            name: groups[first][name] - groups[second][name]
            for name in estimates
            if name in groups[first] and name in groups[second]
        }
        for first, second in pairs
    }
    found = {pair: rows for pair, rows in found.items() if rows}
    if not found:
        raise StatementError(
            "no two of the groups have reports on the same question",
            code="no-reports-of-groups",
            do="merge groups, or collect more reports; weights must not all be 0",
        )
    return SurveyDifferences(found, estimates.by, estimates.title)


def differences_of_waves(after: SurveyEstimate, before: SurveyEstimate) -> SurveyDifferences:
    """Changes from one wave to another one of other people, of all questions in both."""
    shared = [name for name in after if name in before]
    if not shared:
        raise StatementError(
            "the two estimates have no question in common",
            code="question",
            do="subtract estimates of the same survey",
        )
    changes = {name: after[name] - before[name] for name in shared}
    return SurveyDifferences({("after", "before"): changes}, None, after.title)


def independence_of_groups(estimates: SurveyEstimate, question: str) -> Significance:
    """Whether the answers to a question are the same in all groups."""
    groups = _require_groups(estimates)
    if question not in estimates:
        raise StatementError(
            f"{short_repr(question)} is not a question",
            code="question",
            do=nearest(question, list(estimates)),
        )
    require_no_liars(estimates[question], "a test of groups")
    bands: list[Any] = [each[question].bounds for each in groups.values() if question in each]
    # of shares among those who answered, the numbers of all people with the missing answer
    bands = [band.of_all if isinstance(band, RatioBand) else band for band in bands]
    if len(bands) < 2 or not all(isinstance(band, ScoreBand) for band in bands):
        raise StatementError(
            f"the groups cannot be compared on all answers to {question!r} at once",
            code="supports",
            do="look at their differences: .differences() (--differences)",
        )
    if any(band.groups is not None for band in bands):
        raise StatementError(
            f"people have one of several mechanisms for {question!r}, and the test is of one",
            code="several-channels",
            do="look at their differences: .differences() (--differences)",
        )
    missing = ", with the missing one," if estimates[question].method == ANSWERED else ""
    if question in estimates.repeated:
        missing = ", with those that were not repeated,"
    words = f"the answers to {question!r}{missing} are the same in all groups of {estimates.by!r}"
    return homogeneity(bands, words)


def quantiles_of(estimates: SurveyEstimate, p: float) -> SurveyEstimate:
    """A quantile of each question with ordered answers; see `SurveyEstimate.quantile`."""

    def found(table: Mapping[str, Estimate]) -> dict[str, Estimate]:
        quantiles = {}
        for name, estimate in table.items():
            edges = estimates.edges.get(name)
            if edges is None and not _has_order(estimate):
                continue
            of_followers = estimate.method == ANSWERED and name not in estimates.answered
            if name in estimates.behaviors and not of_followers:
                if edges is None:
                    continue
                raise StatementError(
                    f"the shares of {name!r} are of all people, also of those who do not follow "
                    "the rule, and quantiles are of answers",
                    code="quantile-of-followers",
                    do="estimate with followers=True (--followers)",
                )
            try:
                quantiles[name] = estimate.quantile(p, edges=edges)
            except StatementError as error:
                if error.code != "frequencies":
                    raise
        return quantiles

    if estimates.stage is not None:
        raise StatementError(
            f"the second stage estimates the {estimates.stage.label}, and no other quantile",
            code="quantile-of-stage",
            do="look at its estimate, or adapt the survey of the first stage to this quantile",
        )
    groups = {group: found(each) for group, each in estimates.groups.items()}
    of_all = found(estimates.questions)
    if not of_all:
        raise StatementError(
            "no question has answers that are numbers, edges, or the shares up to each answer",
            code="frequencies",
            do='state edges = [...] or workload = "prefix" for questions of ordered answers; in '
            "Python quantile() of one estimate takes its answers as they are listed",
        )
    return replace(estimates, questions=of_all, groups=groups)


def _has_order(estimate: Estimate) -> bool:
    """Whether the answers of an estimate have an order that nobody has to state: that of a
    workload, or of numbers.
    """
    labels = estimate.labels or ()
    if estimate.method == ANSWERED:  # the last numbers are shares of people without an answer
        return label_numbers(labels[: len(labels) - excluded_of(estimate)]) is not None
    return not estimate.is_distribution or label_numbers(labels) is not None


def excluded_of(estimate: Estimate) -> int:
    """How many of the last numbers are shares of people without an answer."""
    return getattr(estimate.bounds, "shown", 1)


def consistent(estimates: SurveyEstimate) -> SurveyEstimate:
    """Shares without negative ones, of groups that add up to all; see
    `SurveyEstimate.consistent`.
    """
    groups = _require_groups(estimates)
    of_all = dict(estimates.questions)
    tables = {group: dict(each) for group, each in groups.items()}
    for name, total in estimates.items():
        there = [group for group in groups if name in groups[group]]
        members = [groups[group][name] for group in there]
        if not total.is_distribution or len(total.values) < 2 or total.method == ANSWERED:
            continue
        sizes = np.array([_size(each) for each in members])
        nearest_total = norm_sub(total.values)
        shares = nearest_tables(
            np.array([each.values for each in members]), sizes / sizes.sum(), nearest_total
        )
        of_all[name] = _moved(total, nearest_total)
        for group, each, row in zip(there, members, shares, strict=True):
            tables[group][name] = _moved(each, row)
    return replace(estimates, questions=of_all, groups=tables)


def _size(estimate: Estimate) -> float:
    """Sum of the weights of the people of an estimate."""
    band = plain_band(estimate.bounds)
    band = band.unbiased if isinstance(band, ProjectedBand) else band
    if isinstance(band, (ScoreBand, StrataBand)):
        return float(band.counts.total)
    return float(estimate.n_reports)


def _moved(estimate: Estimate, values: Float) -> Estimate:
    """An estimate with other values; its intervals are clipped to [0, 1]."""
    return replace(
        estimate,
        values=values,
        method=f"{estimate.method}, consistent",
        interval=np.clip(estimate.interval, 0.0, 1.0),
        band=projected(values, estimate.bounds),
    )


def nearest_tables(tables: Float, shares: Float, total: Float) -> Float:
    r"""Return the nearest distributions ``v_g`` whose mixture is ``total``, shape (g, n).

    .. math:: \min \sum_g w_g |v_g - e_g|^2, \quad v_g \in \text{simplex}, \quad
              \sum_g w_g v_g = \text{total}

    Dykstra's method (1983): both projections are in closed form, Norm-Sub for each row, and adding
    :math:`(\text{total} - \sum w v) / \sum w` to all.
    """
    now = tables.copy()
    first: Float = np.zeros_like(tables)
    second: Float = np.zeros_like(tables)
    for _ in range(STEPS):
        rows = np.stack([norm_sub(row) for row in now + first])
        first = now + first - rows
        shifted = rows + second
        after = shifted + (total - shares @ shifted) / shares.sum()
        second = shifted - after
        if np.abs(after - now).max() < NEAR:
            return np.asarray(np.maximum(after, 0.0))
        now = after
    return np.asarray(np.maximum(now, 0.0))


def _require_groups(estimates: SurveyEstimate) -> dict[Hashable, dict[str, Estimate]]:
    """The groups of an estimate, at least two."""
    if len(estimates.groups) < 2:
        raise StatementError(
            "the estimates have no groups to compare",
            code="no-groups",
            do='estimate by a column of groups: estimate(table, by="region")',
        )
    return estimates.groups
