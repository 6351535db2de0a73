r"""Protocols for many means: each user reports one attribute or a few; Horvitz-Thompson and ratio
estimators.
"""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.divergence import Audit
from ldpopt.errors import StatementError
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.budget import budget_above, decimal_of
from ldpopt.foundation.numbers import Float, require_choice, require_kind, whole_number
from ldpopt.mean.protocol import NumberProtocol, VectorProtocol
from ldpopt.mechanism.exact_draws import Source, uniform_below

Method = Literal["ratio", "horvitz_thompson"]


class Sampled(VectorProtocol):
    r"""Each user reports ``k`` of ``m`` attributes, chosen uniformly and independently of the
    answers.

    .. math:: \text{ratio: } \frac{1}{s} \Bigl( \frac{\sum_{i \ni j} r_{ij}}{n_j} - o \Bigr), \qquad
              \text{Horvitz-Thompson: } \frac{1}{s} \Bigl( \frac{m}{k n} \sum_{i \ni j} r_{ij} - o
              \Bigr)

    with ``n_j`` of the ``n`` users reporting attribute ``j``, and ``E[r | x] = o + s x``.

    Parameters
    ----------
    protocol : NumberProtocol
        Randomizer of each chosen attribute; a report of ``k`` attributes spends ``k`` times its
        budget.
    attributes : int
        Number of attributes ``m``, at least 1.
    method : {"ratio", "horvitz_thompson"}
        Estimator of `estimate`; default: ``"ratio"``. The paper's Algorithm 6 is Horvitz-Thompson
        on the bits.
    chosen : int
        Number ``k`` of attributes that a user reports, 1 to ``m``; default: ``1``.

    Raises
    ------
    StatementError
        If the protocol is none for numbers, the method is unknown, or ``chosen`` is not from 1 to
        ``m``.

    Notes
    -----
    Names in the literature: `harmony`, `rcp_multiple`, `rcp_multiple_opt`, `piecewise_vector`,
    `hybrid_vector`. The choice does not depend on the answers, so the privacy is that of ``k``
    reports of ``protocol``, for users who differ in any number of attributes.

    The variance of one user's contribution is ``(m / k) (V + u**2) - u**2`` with ``u = x + o / s``
    for Horvitz-Thompson, and ``(m / k) V`` plus ``(m / k - 1)`` times the users' own variance for
    the ratio, to first order; theory: docs, "Means". The ratio is unbiased if at least one report
    arrived; otherwise it is nan.

    Reports are a structured array of shape ``(N,)``, or ``(N, k)`` for ``k > 1``, with fields
    ``attribute`` (0 .. m-1) and ``report``. O(k) per user: only the chosen attributes are read, and
    only they are checked against the domain.

    References
    ----------
    Liu and Zhou 2023, Algorithms 4-8; Nguyen et al. 2016 (Harmony); Wang et al. 2019, section IV
    (several attributes).

    Examples
    --------
    >>> from ldpopt.mean.duchi import Duchi
    >>> harmony = sampled(Duchi(1.0), attributes=3)
    >>> len(harmony.estimate(harmony.privatize(np.zeros((900, 3)), rng=1)).values)
    3
    """

    def __init__(
        self, protocol: NumberProtocol, attributes: int, method: Method = "ratio", chosen: int = 1
    ) -> None:
        super().__init__(attributes)
        require_kind(protocol, NumberProtocol, "sampled()")
        require_choice(method, ("ratio", "horvitz_thompson"), "method")
        self.protocol, self.method = protocol, method
        self.natural_domain, self._data_domain = protocol.natural_domain, protocol._data_domain
        self.chosen = whole_number(chosen, "chosen", 1, self.attributes)

    def __repr__(self) -> str:
        chosen = f", chosen={self.chosen}" if self.chosen > 1 else ""
        return (
            f"Sampled({self.protocol!r}, attributes={self.attributes}, "
            f"method={self.method!r}{chosen})"
        )

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots of the protocol."""
        return self.protocol.knots

    def _empty(self, users: int) -> NDArray[Any]:
        shape = (users,) if self.chosen == 1 else (users, self.chosen)
        return np.empty(shape, dtype=[("attribute", np.int64), ("report", np.float64)])

    def _fill(self, reports: NDArray[Any], x: NDArray[Any], source: Source) -> None:
        attributes = self._choose(len(x), source)
        m = self.attributes
        if x.flags.c_contiguous:  # twice as fast as two index arrays
            read = x.ravel().take(attributes + np.arange(0, x.size, m)[:, None])
        else:
            read = np.take_along_axis(x, attributes, axis=1)
        reports["attribute"] = attributes.reshape(reports.shape)
        reports["report"] = self.protocol._randomize(
            self._read_answers(read.ravel()), source
        ).reshape(reports.shape)

    def _choose(self, users: int, source: Source) -> NDArray[np.int64]:
        """Choose distinct attributes, all sets equally likely (Floyd's algorithm)."""
        columns: list[NDArray[np.int64]] = []
        for last in range(self.attributes - self.chosen, self.attributes):
            drawn = uniform_below(last + 1, users, source)
            for column in columns:
                drawn[column == drawn] = last
            columns.append(drawn)
        return np.stack(columns, axis=1)

    def estimate(
        self, reports: NDArray[Any], confidence: float = 0.95, *, liars: float = 0.0
    ) -> Estimate:
        """Estimate the mean of each attribute from what `privatize` returned.

        Arguments are those of `NumberProtocol.estimate`. The ``m`` values have sample standard
        errors, that of the worst case if all reports of an attribute are equal. With the ratio, an
        attribute without reports is nan.

        Raises
        ------
        StatementError
            If the protocol cannot produce the reports, or its own are unbounded and liars are
            counted on.
        """
        normal_quantile(confidence)
        liars = read_liars(liars)
        array = np.asarray(reports)
        values, attribute = self._read(array)
        n = len(array)
        m = self.attributes
        slope = self.protocol.slope
        offset = self.protocol.offset
        share = values.size / (n * m)
        counts = np.bincount(attribute, minlength=m)
        sums = np.bincount(attribute, values, minlength=m)
        alone = sums / np.maximum(counts, 1)
        # Squares around each attribute's mean avoid cancellation of large reports.
        values -= alone[attribute]
        squares = np.bincount(attribute, values * values, minlength=m)
        if self.method == "ratio":
            means = np.where(counts > 0, alone, math.nan)
            spread = squares / np.maximum(counts - 1, 1) / slope**2
            spread = np.where(spread > 0, spread, self.protocol.worst_case_variance / self._unit**2)
            error = np.where(counts > 0, np.sqrt(spread / np.maximum(counts, 1)), math.nan)
        else:
            means = sums / (n * share)
            spread = (
                ((squares + counts * alone**2) / (n * share**2) - means**2)
                / max(1, n - 1)
                / slope**2
            )
            error = np.sqrt(
                np.where(spread > 0, spread, self.worst_case_variance / (n * self._unit**2))
            )
        values, error = self._to_data_unit((means - offset) / slope), self._unit * error
        estimate = Estimate(
            values, error, n, float(confidence), f"{self.method}, {self.protocol!r}"
        )
        if self.method != "ratio":
            return widened(estimate, liars, lambda: self.influence.each)
        # all liars may report the attribute; nothing is known of one without reports
        times = n / np.maximum(counts, 1)
        each = self.protocol.influence.each
        return widened(estimate, liars, lambda: np.repeat(each, m), times=times)

    def _read(self, array: NDArray[Any]) -> tuple[Float, NDArray[np.int64]]:
        """The reports, and the attribute that each is of; other arrays are refused."""
        if array.dtype.names is None or not {"attribute", "report"} <= set(array.dtype.names):
            problem = "the reports have no fields 'attribute' and 'report'"
            raise StatementError(problem, code="fields", do="pass what privatize returned")
        values = self.protocol._read_reports(array["report"].reshape(-1))
        attribute = array["attribute"].reshape(-1).astype(np.int64)
        if attribute.min() < 0 or attribute.max() >= self.attributes:
            bad = int(attribute[(attribute < 0) | (attribute >= self.attributes)][0])
            problem = (
                f"a report names the attribute {bad}, which is not in 0 .. {self.attributes - 1}"
            )
            raise StatementError(
                problem, code="attribute", do="pass what privatize of this protocol returned"
            )
        rows = np.sort(attribute.reshape(len(array), -1), axis=1)
        if (np.diff(rows, axis=1) == 0).any():
            raise StatementError(
                "a person reports the same attribute twice",
                code="attribute-twice",
                do="pass what privatize of this protocol returned",
            )
        return values, attribute

    @property
    def influence(self) -> Influence:
        """How far one report in place of a true one can move each mean.

        Forgers choose the attributes that they report. By the ratio they have ``m / k`` times their
        share among the reports of an attribute; by Horvitz-Thompson a report that counts ``m / k``
        times, or as 0.
        """
        names = range(self.attributes)
        times = self.attributes / self.chosen
        alone = self.protocol
        if self.method == "ratio":
            one = alone.influence
            every = (one.raises, one.lowers, one.spans)
            raises, lowers, spans = (np.repeat(each, self.attributes) for each in every)
            return Influence(tuple(names), raises, lowers, spans).times(times)
        sums = [times * end for end in alone.report_range] + [0.0] * (times > 1)
        values = sorted((end - alone.offset) / alone.slope for end in sums)
        return self._influence_of((values[0], values[-1]), names)

    def audit(self) -> Audit:
        """Return the true privacy of one user's report, for users who may differ in all attributes.

        Epsilon is ``k`` times the protocol's. Delta is that of ``k`` independent reports: exact for
        ``k = 1``, and if the privacy loss of the worst pair is ``-epsilon``, 0 or ``epsilon`` (all
        protocols but Laplace, designed and asymmetric ones); otherwise an upper bound by
        composition.
        """
        alone = self.protocol.audit()
        k = self.chosen
        if k == 1:
            return alone
        claim = f"{k * float(self.protocol.epsilon):.6g}-LDP"
        delta = (
            0.0
            if alone.verdict == "certified"
            else self._delta(alone, k * float(self.protocol.epsilon))
        )
        epsilon = alone.epsilon
        if math.isfinite(epsilon):
            epsilon = budget_above(k * decimal_of(epsilon))
        return Audit(
            epsilon,
            delta,
            alone.witness,
            alone.verdict,
            claim,
            curve=lambda e: self._delta(alone, float(e)),
        )

    def _delta(self, alone: Audit, epsilon: float) -> float:
        """Delta of ``k`` independent reports at a budget, from the audit of one."""
        k = self.chosen
        if not self.protocol._has_three_losses:
            return -math.expm1(k * math.log1p(-alone.delta_at(epsilon / k)))
        likely = alone.delta_at(0.0) / -math.expm1(-alone.epsilon)
        rare = likely * math.exp(-alone.epsilon)
        loss = np.array([1.0])
        for _ in range(k):
            loss = np.convolve(loss, [rare, max(0.0, 1 - likely - rare), likely])
        return float(
            loss @ -np.expm1(np.minimum(epsilon - alone.epsilon * np.arange(-k, k + 1), 0.0))
        )

    def _variance(self, x: Any) -> Any:
        alone: Float = self.protocol._variance(x)
        users = self.attributes / self.chosen
        if self.method == "ratio":
            return users * alone
        return users * alone + (users - 1) * (x + self.protocol.offset / self.protocol.slope) ** 2


def sampled(
    protocol: NumberProtocol, *, attributes: int, method: Method = "ratio", chosen: int = 1
) -> Sampled:
    """Make the vector form of a protocol, in which each user reports one attribute or a few:
    RCP_Multiple, Harmony, ...

    Parameters
    ----------
    protocol, attributes
        As in `Sampled`.
    method, chosen
        As in `Sampled`; default: ``"ratio"`` and ``1``.

    Returns
    -------
    Sampled
        The protocol for vectors; its `estimate` has ``m`` values.

    Raises
    ------
    StatementError
        If the protocol is not one for numbers, or a number or method is not one of those of
        `Sampled`.

    Examples
    --------
    >>> from ldpopt.mean.duchi import Duchi
    >>> sampled(Duchi("log(3)"), attributes=36).audit().verdict
    'certified'
    """
    return Sampled(protocol, attributes, method, chosen)
