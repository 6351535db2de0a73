r"""Intervals for a stated share of people who send what they like.

If a share ``g`` of the weight is of people who do not report by the mechanism, the expected
estimate is within :math:`g I` of the number among all people, with the influence ``I`` of one
report. The interval of true reports, widened by :math:`g I` on both sides, covers whatever they
send, and whatever their own answers are. Theory: docs, "Influence".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, ProjectedBand
from ldpopt.estimation.influence import ReportValues
from ldpopt.estimation.sampled import InfluenceValues
from ldpopt.foundation.numbers import Float, real_number

Reach = ReportValues | Float  # the influence on each number, shape (k,), or what has it
E = TypeVar("E", bound=Any)


@dataclass(frozen=True, eq=False)
class LiarsBand:
    """A band with the intervals of another one, each widened by what a share of liars can do."""

    plain: Any  # the band of reports that are all true
    liars: float  # share of the weight, 0 < liars < 1
    reach: Reach  # the influence of one report
    # of the reports that these numbers are estimated from, if that is larger: whoever lies chooses
    # to be among these
    share: Float | float

    @property
    def values(self) -> Float:
        """The estimates."""
        return np.asarray(self.plain.values)

    @property
    def errors(self) -> Float:
        """Their standard errors, of true reports."""
        return np.asarray(self.plain.errors)

    @property
    def covariance(self) -> Float | None:
        """Their covariance, of true reports."""
        covariance: Float | None = self.plain.covariance
        return covariance

    @property
    def effect(self) -> Float | None:
        """Design effects of the weights."""
        effect: Float | None = self.plain.effect
        return effect

    @property
    def possible(self) -> Float:
        """The least and the largest value of each number."""
        return np.asarray(self.plain.possible)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the errors."""
        return float(self.plain.freedom)

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves the numbers."""
        values: InfluenceValues | None = self.plain.influence_values
        return values

    @property
    def of_sample(self) -> Any:
        """What is known of the errors from a sample; None without one."""
        return getattr(self.plain, "of_sample", None)

    @property
    def widths(self) -> Float:
        """By how much each interval is longer on each side, shape (k,)."""
        reach = self.reach
        each = reach.each if isinstance(reach, ReportValues) else reach
        return np.asarray(self.share * each)

    def ends(self, z: Any) -> Float:
        """Ends of the intervals of true reports, moved outwards."""
        return np.asarray(self.plain.ends(z) + self.widths[:, None] * np.array([-1.0, 1.0]))

    def contrast(self, matrix: Float) -> LiarsBand:
        """Sums have the influence of one report on the sum; where the values of reports are not
        listed at most the sum of those on the numbers.
        """
        if isinstance(self.reach, ReportValues):
            reach: Reach = self.reach.contrast(matrix)
            return replace(self, plain=self.plain.contrast(matrix), reach=reach)
        reach = np.abs(matrix) @ np.broadcast_to(self.share * self.reach, len(self.values))
        return replace(self, plain=self.plain.contrast(matrix), reach=reach, share=1.0)


def read_liars(liars: Any, method: str = "inversion") -> float:
    """Read a share of liars, at least 0 and below 1; estimates that are not linear in the reports
    take none.
    """
    share = real_number(liars, "liars", do="pass a share such as 0.01")
    if not 0 <= share < 1:
        raise StatementError(
            f"liars = {share:g} is not a share from 0 to below 1",
            code="liars",
            do="pass the share of people who send what they like, such as 0.01",
        )
    if share and method != "inversion":
        raise StatementError(
            "what liars can do to the most likely shares has no bound here: it depends on all "
            "other reports",
            code="liars-of-likelihood",
            do='use method="inversion"',
        )
    return share


def share_of_liars(band: Any) -> float:
    """The share of liars for which a band is widened; 0 of one that is not."""
    return float(getattr(band, "liars", 0.0))


def plain_band(band: Any) -> Any:
    """The band of reports that are all true."""
    return getattr(band, "plain", band)


def widened(
    estimate: E, liars: float, reach: Callable[[], Reach], *, times: Float | float = 1.0
) -> E:
    """The same estimates with intervals for a share of liars; if it is 0, as they are.

    If not every report is about these numbers, and whoever lies chooses what it is about, liars
    have ``times`` their share among the reports that are.

    Raises
    ------
    StatementError
        If one report can move an estimate by any amount.
    """
    if not liars:
        return estimate
    influence = reach()
    each = influence.each if isinstance(influence, ReportValues) else influence
    if np.isinf(each).any():
        raise StatementError(
            "one report can move the estimate by any amount, so that no interval holds with liars",
            code="unbounded-influence",
            do="leave liars out, or use a protocol whose reports are bounded",
        )
    band = LiarsBand(estimate.bounds, liars, influence, times * liars)
    return replace(estimate, band=band).at(estimate.confidence)  # type: ignore[no-any-return]


def stated(estimate: E, liars: float) -> E:
    """The same estimates, whose intervals are said to be for this share of all people: among the
    reports of one question of which one is drawn it may be larger.
    """
    if not liars:
        return estimate
    return replace(estimate, band=_stated(estimate.bounds, liars))


def _stated(band: Any, liars: float) -> Any:
    """A band with another stated share of liars, and the same intervals."""
    if isinstance(band, LiarsBand):
        return replace(band, liars=liars)
    return replace(band, of_all=_stated(band.of_all, liars))  # shares among those who answered


def liars_in_words(share: float, *, has_groups: bool = False) -> list[str]:
    """That intervals are widened, in a sentence; none if they are not."""
    if not share:
        return []
    group = " of each group" if has_groups else ""
    return [
        f"each interval is widened by what {100 * share:g} % of liars{group} can do, whatever they "
        "send"
    ]


def projected(values: Float, band: Band) -> Band:
    """The band of estimates that are moved to the nearest possible ones; intervals for liars are
    those of the unmoved estimates, too.
    """
    if not isinstance(band, LiarsBand):
        return ProjectedBand(values, band)
    return _ProjectedLiars(ProjectedBand(values, band.plain), band.liars, band.reach, band.share)


class _ProjectedLiars(LiarsBand):
    """A widened band whose intervals are clipped to [0, 1]."""

    def ends(self, z: Any) -> Float:
        """Ends of the unmoved estimates' intervals, widened and then clipped."""
        unmoved = replace(self, plain=self.plain.unbiased)
        return np.clip(LiarsBand.ends(unmoved, z), 0.0, 1.0)

    def contrast(self, matrix: Float) -> LiarsBand:
        """Normal intervals of sums and differences of the moved estimates, widened."""
        band = LiarsBand(self.plain, self.liars, self.reach, self.share)
        return band.contrast(matrix)


def require_no_liars(estimate: Any, verb: str) -> None:
    """Refuse what is not defined for intervals that allow for liars."""
    share = share_of_liars(estimate.bounds)
    if share:
        raise StatementError(
            f"{verb} takes all reports as true, and these intervals allow for {100 * share:g} % "
            "of liars",
            code="widened",
            do="estimate without liars",
        )
