r"""Reports of several channels, and of people who do not follow the rule.

The rows of a model are kinds of people: the answers, then the behaviors. A person of channel ``j``
draws the report from :math:`P_j`, and with :math:`N_j` of ``N`` people in channel ``j`` the pair of
channel and report has the stacked channel

.. math:: P((j, y) \mid r) = \frac{N_j}{N} \, P_j(y \mid r) .

The :math:`N_j` are those that were observed (or sums of weights), and are held fixed: who is in
which channel says nothing of the answer. Values of the reports are those of the left inverse of the
stacked channel, each moved by a constant of its channel,

.. math:: V_{jy} \to V_{jy} - \frac{1}{N_j} \sum_{y'} c_{jy'} V_{jy'} + \hat t ,

which leaves the estimate :math:`\hat t` and takes the numbers :math:`N_j` out of its variance: with
values as they are, standard errors are up to 60 % too large.

If people chose their channels (``assigned=False``) answers may be related to them. Then

.. math:: \hat t = \sum_j \frac{N_j}{N} \hat p_j , \qquad
          \operatorname{Var} = \sum_j \frac{N_j^2}{N^2} C_j

is unbiased whatever they chose, if each channel has a left inverse.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import NoneType
from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.answered import ANSWERED, FollowersBand, among_answered
from ldpopt.estimation.band import LikelihoodBand, NormalBand, ScoreBand
from ldpopt.estimation.behaviors import Part, part_of
from ldpopt.estimation.channel_counts import ChannelCoder, numbers_by_pair
from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.identified import require_shown
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.inversion import likelihood_band, require_possible
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.likelihood import (
    divergence_bound,
    likelihood_p_value,
    observed_covariance,
)
from ldpopt.estimation.linear import inverse_of_rows
from ldpopt.estimation.options import Reading
from ldpopt.estimation.sums import Sums
from ldpopt.estimation.within_channels import variances_within
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import Float, require_choice, require_kind, shaped_array, short_repr
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.channels import digest
from ldpopt.mechanism.codec import LabelCodec
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import Missing

Method = Literal["inversion", "maximum_likelihood"]
SEPARATE = (
    "give people of different channels different probabilities, add a question whose answer is "
    "known, or leave a behavior out"
)


@dataclass(frozen=True, eq=False)
class Alphabet:
    """Answers and reports of a model, in place of a mechanism: it draws nothing."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    digest: str

    @property
    def codec(self) -> LabelCodec:
        """Reports are labels."""
        return LabelCodec(self)


class ReportModel(ListedSource):
    r"""Reports of several channels, or of people who do not all follow the rule.

    .. math:: \Pr(\text{channel } j, \text{report } y) =
              \frac{N_j}{N} \sum_r p_r \, P_j(y \mid r)

    with rows ``r`` for the answers and for the behaviors. A model is no mechanism and has no audit:
    what is protected is said by the audits of its mechanisms.

    Parameters
    ----------
    mechanism : Mechanism, or mapping of hashable -> Mechanism
        One for all people, or several by name, with the same answers.
    column : str, optional
        The column of a table that names each person's mechanism.
    behaviors : mapping of str -> row, optional
        Kinds of people who do not follow the rule, by name: a report that they always give,
        ``"uniform"``, or the probability of each report, by label or in their order. Default: none.
    assigned : bool
        Whether each person's mechanism was assigned without regard to the answer. ``False``:
        people chose it, and each mechanism is estimated from for itself. Default: ``True``.

    Raises
    ------
    StatementError
        If the mechanisms have different answers, or a behavior is no distribution of the reports.

    Notes
    -----
    Rows that are linearly dependent over all channels are refused when something is estimated, with
    two groups of people who give the same reports; this is decided exactly. People who toss a coin
    instead of following a crosswise rule are not seen in two halves with ``q`` and ``1 - q``.

    Examples
    --------
    >>> from ldpopt import techniques
    >>> halves = {1: techniques.forced(0, 0.25), 2: techniques.forced(0, 0.75)}
    >>> model = ReportModel(halves, behaviors={"cheater": "no"})
    >>> seen = {1: {"yes": 430, "no": 570}, 2: {"yes": 740, "no": 260}}
    >>> dict(zip(model.names, model.estimate(seen).values.round(3).tolist()))
    {'no': 0.62, 'yes': 0.275, 'cheater': 0.105}
    """

    def __init__(
        self,
        mechanism: Mechanism | Mapping[Any, Mechanism],
        *,
        column: str | None = None,
        behaviors: Mapping[str, Any] | None = None,
        assigned: bool = True,
    ) -> None:
        self.is_one = not isinstance(mechanism, Mapping)
        channels: Any = {None: mechanism} if self.is_one else mechanism
        rows = _common_answers(channels)
        kinds = _named_behaviors(behaviors)
        require_kind(column, (str, NoneType), "ReportModel()", "pass the name of a column")
        require_kind(assigned, bool, "ReportModel()", "pass assigned=True or False")
        self.behaviors = tuple(kinds)
        self.stated: dict[str, Any] = kinds  # the rows of the behaviors, as they were given
        self.column = column
        self.assigned = assigned
        self.names_of_rows = check_labels(
            (*rows, *self.behaviors), None, "row", StatementError, "answers and behaviors"
        )
        self.parts: tuple[Part, ...] = tuple(
            part_of(name, each, rows, kinds) for name, each in channels.items()
        )
        self.mechanism: Any = next(iter(channels.values())) if self.is_one else self._pairs()

    def __repr__(self) -> str:
        names = [] if self.is_one else [part.name for part in self.parts]
        channels = f", channels {', '.join(map(short_repr, names))}" if names else ""
        return f"ReportModel({', '.join(map(short_repr, self.names))}{channels})"

    def _pairs(self) -> Alphabet:
        """Pairs of channel and report as the reports."""
        outputs = tuple((part.name, y) for part in self.parts for y in part.mechanism.outputs)
        names = [part.name for part in self.parts]
        hashes = [part.mechanism.digest for part in self.parts]
        return Alphabet(self.answers, outputs, digest("report model", (names, hashes), ()))

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The answers, then the behaviors."""
        return self.names_of_rows

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The rows: answers and behaviors."""
        return self.names_of_rows

    @property
    def answers_alone(self) -> tuple[Hashable, ...]:
        """The answers without the behaviors."""
        return self.names[: len(self.names) - len(self.behaviors)]

    @property
    def is_behavior(self) -> Any:
        """Which rows are behaviors, shape (n,)."""
        return np.arange(len(self.names)) >= len(self.names) - len(self.behaviors)

    @property
    def wanted(self) -> Float:
        """The shares of all rows."""
        return np.eye(len(self.names))

    @property
    def channel(self) -> Float:
        """The stacked channel with equally many people in each."""
        return self._planned.channel

    @property
    def estimator(self) -> Float:  # type: ignore[override]
        """The left inverse of `channel`."""
        return self._planned.estimator

    @property
    def left_inverse(self) -> Float:
        """The same."""
        return self._planned.left_inverse

    @cached_property
    def _planned(self) -> Stacked:
        return self.stacked(np.full(len(self.parts), 1.0))

    @property
    def blocks(self) -> list[slice]:
        """The reports of each channel: a report stands in place of one of the same channel."""
        return self.slices

    @cached_property
    def slices(self) -> list[slice]:
        """The reports of each channel among all pairs."""
        ends = np.cumsum([0, *(len(part.mechanism.outputs) for part in self.parts)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def stacked(self, people: Float) -> Stacked:
        """The source with so many people in each channel, shape (j,), and its values.

        Raises
        ------
        StatementError
            If some groups of people give the same reports.
        """
        people = shaped_array(people, "people", len(self.parts))
        if not ((people >= 0).all() and 0 < people.sum() < np.inf):
            raise StatementError(
                "the numbers of people of the channels are not >= 0 with a positive sum",
                code="people",
                do="give the number of people of each channel",
            )
        shares = people / people.sum()
        channel = np.hstack(
            [share * part.channel for share, part in zip(shares, self.parts, strict=True)]
        )
        if self.assigned:
            masses = np.hstack(
                [
                    part.masses * int(share > 0)
                    for share, part in zip(shares, self.parts, strict=True)
                ]
            )
            inverse = inverse_of_rows(channel, masses, self.names, SEPARATE)
        else:
            inverse = np.hstack(
                [
                    inverse_of_rows(part.channel, part.masses, self.names, SEPARATE)
                    if share > 0
                    else np.zeros(part.channel.shape)
                    for share, part in zip(shares, self.parts, strict=True)
                ]
            )
        return Stacked(self, channel, inverse)

    def at(self, counts: Counts) -> Stacked:
        """The source with the people of some counts, and with values that are moved by a constant
        of each channel.
        """
        counts = self.own_counts(counts).require_some()
        people = np.array([counts.values[part].sum() for part in self.slices], dtype=np.float64)
        source = self.stacked(people)
        if len(self.parts) > 1:
            share = counts.values / counts.total
            estimates = source.left_inverse @ share
            for part, number in zip(self.slices, people, strict=True):
                if number > 0:
                    mean = source.left_inverse[:, part] @ counts.values[part] / number
                    source.estimator[:, part] += (estimates - mean)[:, None]
        return source

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count pairs of channel and report, or numbers by pair, or by channel and then report."""
        names = [] if self.is_one else [part.name for part in self.parts]
        return super().counts_of(numbers_by_pair(names, reports), weights, missing)

    def counts_of_table(self, table: Any, column: str, weights: Any, missing: Missing) -> Counts:
        """Count the reports in a column of a table, by the channels in another one."""
        if not self.is_one:
            self.require_column()
        return super().counts_of_table(table, column, weights, missing)

    @property
    def beside(self) -> str | None:
        """The column that is read beside the reports: with several channels that of the
        channel.
        """
        return None if self.is_one else self.require_column()

    @property
    def randomizer(self) -> Any:
        """The mechanism, or the mechanisms of which each person has one."""
        return self.mechanism if self.is_one else self._assigned

    @cached_property
    def _assigned(self) -> AssignedMechanisms:
        """The mechanisms by name."""
        laws = {part.name: part.mechanism for part in self.parts}
        return AssignedMechanisms(laws, self.answers_alone, self.mechanism.digest)

    def require_column(self) -> str:
        """The name of the column with each person's channel."""
        if self.column is None:
            raise StatementError(
                "a table does not show which mechanism drew each report",
                code="channel-column",
                do="name its column: ReportModel(mechanisms, column=...)",
            )
        return self.column

    def coder_of_names(self, as_text: bool = False) -> ChannelCoder:
        """Reads the names of channels."""
        return ChannelCoder(self, as_text)

    @property
    def codec(self) -> LabelCodec:
        """Reports are labels; those of several channels pairs, if they are no column."""
        return LabelCodec(self.mechanism)

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each row, shape (n,), with as many people in
        each channel.
        """
        if self.is_one:
            return super().variances(prior)
        known = None if prior is None else read_prior(prior, self.answers)[0]
        return variances_within(self._planned, self.slices, known)

    @property
    def moments(self) -> tuple[Float, Float]:
        """The numbers, and the mean squares of a person's values, each of shape (n, n)."""
        if self.is_one:
            return super().moments
        raise StatementError(
            "people with several mechanisms have no mean square of a value: it depends on the "
            "shares that are estimated",
            code="moments-of-channels",
            do="plan by half-widths, or for one of the mechanisms",
        )

    def p_value(self, counts: Counts) -> float:
        """Return a p-value of unweighted counts, with the number of people of each channel fixed.

        The bound of all channels together holds for fixed numbers too, as the moments of
        divergences of independent counts multiply (Agrawal 2020).
        """
        seen = self.own_counts(counts).require_some().values.astype(np.int64)
        each = [
            likelihood_p_value(part.channel, seen[place])
            for part, place in zip(self.parts, self.slices, strict=True)
            if seen[place].sum()
        ]
        if len(self.parts) == 1:
            return each[0]
        people = np.array([seen[place].sum() for place in self.slices])
        channel = np.hstack(
            [
                number / seen.sum() * part.channel
                for number, part in zip(people, self.parts, strict=True)
            ]
        )
        possible = channel.max(axis=0) > 0
        if min(each) == 0:
            return 0.0
        share = seen[possible] / seen.sum()
        bound = divergence_bound(channel[:, possible], share, int(seen.sum()))
        return min(1.0, 2 * bound, 2 * len(each) * min(each))

    def estimate(
        self,
        reports: Any,
        *,
        column: str | None = None,
        weights: Any = None,
        missing: Missing = "refuse",
        method: Method = "inversion",
        confidence: float = 0.95,
        simultaneous: bool = False,
        check_fit: bool = True,
        followers: bool = False,
        liars: float = 0.0,
    ) -> Estimate:
        r"""Estimate the shares of the answers and of the behaviors.

        Among those who follow the rule the share of answer ``x`` is the ratio
        :math:`p_x / (1 - f)`, with ``f`` the share of all behaviors together.

        Parameters
        ----------
        reports : Counts, mapping, sequence or table
            As `Counts.of` takes them. The reports of several mechanisms are pairs
            ``(name, report)``; numbers of reports may also be ``{name: {report: number}}``.
        column : str, optional
            Column of the reports in a table.
        weights : array_like, shape (N,), or Series or column name, optional
            Weight of each person. Default: all 1.
        missing : {"refuse", "leave_out"}
            What is done with a missing report of a table. Default: ``"refuse"``.
        method : {"inversion", "maximum_likelihood"}
            Inversion is unbiased and may give negative shares: an honest sign that hardly anybody
            has the behavior. Standard errors after maximum likelihood mean little if one of its
            shares is 0. Default: ``"inversion"``.
        confidence : float
            Coverage of each interval. Default: ``0.95``.
        simultaneous : bool
            Whether all intervals hold at once (Bonferroni). Default: ``False``.
        check_fit : bool
            Whether reports that hardly come from the model are refused; see
            `estimate_frequencies`. Default: ``True``.
        followers : bool
            Whether answers are shares among those who follow the rule; the last number is then the
            share of all behaviors. Default: ``False``.
        liars : float
            Share of the weight of people who may have sent anything, without being one of the
            behaviors; see `estimate_frequencies`. Default: ``0.0``.

        Returns
        -------
        Estimate
            In the order of `names`.

        Raises
        ------
        StatementError
            If there are no reports, they do not show a share, or they hardly come from the model.

        Notes
        -----
        O(n^2 m) time for ``m`` pairs of channel and report.
        """
        require_choice(method, ("inversion", "maximum_likelihood"), "method")
        reading = Reading(confidence, simultaneous, check_fit, read_liars(liars, method))
        counts = Counts.of(self, reports, column=column, weights=weights, missing=missing)
        counts.require_some()
        source = self.at(counts)
        require_possible(source.channel, counts)
        fit = checked_fit(self, counts, check_fit)
        require_shown(
            source.left_inverse, source.channel, source.wanted, self.names, 1 / counts.scale
        )
        if method == "inversion":
            estimates = self._inverted(source, counts, reading, fit)
            return self._among_followers(estimates, source, counts) if followers else estimates
        if not self.assigned:
            raise StatementError(
                "a likelihood needs channels that were assigned without regard to the answer",
                code="chosen-channels",
                do='use method="inversion"',
            )
        band = likelihood_band(source.channel, counts)
        return self._likely(band, counts, reading, fit, followers)

    def _inverted(
        self, source: Stacked, counts: Counts, reading: Reading, fit: float | None
    ) -> Estimate:
        """Shares by inversion."""
        band = ScoreBand(
            source.estimator,
            source.wanted,
            source.channel,
            source.frequencies(counts),
            counts,
            answers=self.names,
            is_exact=reading.simultaneous and self.is_one,
            groups=self._groups,
            inverse=source.left_inverse,
            is_chosen=not self.assigned and len(self.parts) > 1,
        )
        estimate = Estimate.of_band(
            band,
            counts,
            reading.confidence,
            simultaneous=reading.simultaneous,
            labels=self.names,
            fit=fit,
            is_distribution=True,
        )
        return widened(estimate, reading.liars, lambda: source.reach)

    def _likely(
        self,
        band: LikelihoodBand,
        counts: Counts,
        reading: Reading,
        fit: float | None,
        followers: bool,
    ) -> Estimate:
        """The most likely shares."""
        if counts.is_weighted:
            band = _with_observed(band, counts)
        fields: dict[str, Any] = {"simultaneous": reading.simultaneous, "fit": fit}
        every = Estimate.of_band(
            replace(band, groups=self._groups),
            counts,
            reading.confidence,
            method="maximum_likelihood",
            labels=self.names,
            is_distribution=True,
            **fields,
        )
        if not followers:
            return every
        labels = self._labels_of_followers()
        ratios = every.function(self._ratios, labels)
        bands = NormalBand(ratios.values, ratios.std_error, ratios.covariance, possible=(0.0, 1.0))
        return Estimate.of_band(
            bands, counts, reading.confidence, method=ANSWERED, labels=labels, **fields
        )

    def _ratios(self, shares: Float) -> Float:
        """Shares among those who follow the rule, and the share of all others."""
        away = shares[self.is_behavior].sum()
        return np.append(shares[~self.is_behavior] / (1 - away), away)

    def _labels_of_followers(self) -> tuple[Hashable, ...]:
        """The answers, and the behavior, or all together."""
        answers = self.answers_alone
        return (*answers, self.behaviors[0] if len(self.behaviors) == 1 else "behaviors")

    def _among_followers(self, estimates: Estimate, source: Stacked, counts: Counts) -> Estimate:
        """Shares ``a / (1 - f)`` of the answers among those who follow the rule, and last the share
        ``f`` of those who do not.
        """
        if not self.behaviors:
            raise StatementError(
                "the model has no behaviors: everybody follows the rule",
                code="no-behaviors",
                do="leave out followers=True",
            )
        answers = int((~self.is_behavior).sum())
        # the answers come first; all behaviors together are the last of these numbers
        sums = np.vstack([np.eye(len(self.names))[:answers], self.is_behavior.astype(float)])
        numbers = Estimate.of_band(
            estimates.bounds.contrast(sums),
            counts,
            estimates.confidence,
            simultaneous=estimates.simultaneous,
            labels=self._labels_of_followers(),
            fit=estimates.fit,
        )
        return among_answered(
            numbers,
            Sums(source, sums),
            counts,
            answers,
            simultaneous=estimates.simultaneous,
            kind=FollowersBand,
        )

    @property
    def _groups(self) -> Any:
        """The channel of each pair, shape (m,); None for one channel."""
        if len(self.parts) == 1:
            return None
        return np.repeat(
            np.arange(len(self.parts)), [len(part.mechanism.outputs) for part in self.parts]
        )


class Stacked(ListedSource):
    """A model with the observed numbers of people in its channels."""

    def __init__(self, model: ReportModel, channel: Float, inverse: Float) -> None:
        self.model = model
        self.mechanism = model.mechanism
        self._channel = channel
        self._inverse = inverse
        self.estimator = inverse.copy(order="K")

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The rows of the model."""
        return self.model.names

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The rows of the model."""
        return self.model.answers

    @property
    def channel(self) -> Float:
        """The stacked channel, shape (n, m)."""
        return self._channel

    @property
    def blocks(self) -> list[slice]:
        """The reports of each channel."""
        return self.model.slices

    @property
    def left_inverse(self) -> Float:
        """Values before they are moved."""
        return self._inverse

    @property
    def wanted(self) -> Float:
        """The shares of all rows."""
        return np.eye(len(self._channel))

    def frequencies(self, counts: Counts) -> Float:
        """Estimated shares of the rows, without negative ones."""
        counts = self.own_counts(counts).require_some()
        return norm_sub(self._inverse @ (counts.values / counts.total))


def values_of_each_channel(model: ReportModel) -> Float:
    """Values of each pair of channel and report, shape (m, n): those of the left inverse of its
    channel alone.

    Raises
    ------
    StatementError
        If a channel alone does not show all shares.
    """
    each = [
        inverse_of_rows(part.channel, part.masses, model.names, SEPARATE) for part in model.parts
    ]
    return np.hstack(each).T


def _with_observed(band: LikelihoodBand, counts: Counts) -> LikelihoodBand:
    """Errors under weights by the observed information."""
    covariance = observed_covariance(
        band.channel, band.values, counts.values, counts.squares, counts.n_reports
    )
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    assert band.spread is not None
    spread = np.maximum(band.spread, errors)
    return replace(band, errors=errors, covariance=covariance, spread=spread)


def _named_behaviors(behaviors: Any) -> dict[str, Any]:
    """Behaviors by name."""
    if behaviors is None:
        return {}
    do = 'pass {"careless": "uniform"}'
    require_kind(behaviors, Mapping, "behaviors of ReportModel()", do)
    for name in behaviors:
        require_kind(name, str, "behaviors of ReportModel()", do)
    return dict(behaviors)


def _common_answers(channels: Mapping[Hashable, Any]) -> tuple[Hashable, ...]:
    """The answers of all mechanisms, in the order of the first one."""
    if not channels:
        raise StatementError(
            "there are no mechanisms",
            code="no-mechanisms",
            do="pass a mechanism, or several by name",
        )
    for each in channels.values():
        require_kind(each, Mechanism, "ReportModel()", "pass mechanisms, as design.mechanism")
    first, *others = channels.values()
    for each in others:
        if set(each.inputs) != set(first.inputs):
            differing = sorted(map(short_repr, set(each.inputs) ^ set(first.inputs)))
            raise StatementError(
                f"the mechanisms have different answers: not all have {differing[0]}",
                code="answers-of-channels",
                do="merge or relabel answers, so that all mechanisms have the same",
            )
    return tuple(first.inputs)
