r"""Protocols for a mean, or the means of vectors: domain of the answers, unbiased estimates,
variance and privacy.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.audits import Audit, Verdict, Witness
from ldpopt.errors import StatementError
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, quoted, real_array, whole_number
from ldpopt.mechanism.exact_draws import Source
from ldpopt.mechanism.sampling import CHUNK, bit_source, chunks

Random = np.random.Generator | int | None
Domain = tuple[float, float] | None  # least and largest answer; None is the natural domain
# True epsilon, its witness (answer, other answer, event), and the verdict on the nominal budget
Privacy = tuple[float, Witness | None, Verdict]
MAX_REPORT = 1e150  # largest report, and widest domain: their squares do not overflow


class MeanProtocol(ABC):
    """Draws reports of bounded answers and estimates their mean: a `NumberProtocol` of numbers, a
    `VectorProtocol`.
    """

    # on the protocol's own scale, which its reports have
    natural_domain: tuple[float, float] = (-1.0, 1.0)
    _data_domain: Domain = None

    @property
    def domain(self) -> tuple[float, float]:
        """Least and largest answer, in the unit of the data."""
        return self._data_domain or self.natural_domain

    @property
    def _unit(self) -> float:
        """Length of the domain in units of the data, over its length on the natural scale."""
        if self._data_domain is None:
            return 1.0
        (low, high), (least, most) = self._data_domain, self.natural_domain
        return (high - low) / (most - least)

    def _to_data_unit(self, x: Any) -> Any:
        """Convert numbers of the natural scale to the unit of the data."""
        return (
            x
            if self._data_domain is None
            else self.domain[0] + self._unit * (x - self.natural_domain[0])
        )

    def _to_natural(self, x: Any) -> Any:
        """Convert numbers within the domain to the natural scale."""
        if self._data_domain is None:
            return x
        least, most = self.natural_domain
        return np.clip(least + (x - self.domain[0]) / self._unit, least, most)

    @property
    def knots(self) -> tuple[float, ...]:
        """Answers between which the variance is a quadratic."""
        return self.domain

    @abstractmethod
    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw the reports of all users."""

    @abstractmethod
    def estimate(self, reports: Any, confidence: float = 0.95, *, liars: float = 0.0) -> Estimate:
        """Estimate the mean of the answers."""

    @abstractmethod
    def audit(self) -> Audit:
        """Return the true privacy of one user's report."""

    @property
    @abstractmethod
    def influence(self) -> Influence:
        """How far one report in place of a true one can move each mean, in the unit of the data;
        infinite if reports are unbounded.
        """

    def _influence_of(self, ends: tuple[float, float], names: Sequence[Any]) -> Influence:
        """The influence of values of a report between two ends, on the natural scale, on means."""
        low, high = self.domain
        least, most = (float(self._to_data_unit(end)) for end in ends)
        each = (most - low, high - least, high - low)
        raises, lowers, spans = (np.full(len(names), by) for by in each)
        return Influence(tuple(names), raises, lowers, spans)

    def variance(self, x: ArrayLike) -> Any:
        """Variance of one user's unbiased contribution to the mean, at answers ``x``, in their
        squared unit.
        """
        array = self._read_answers(x)
        variances = self._unit**2 * self._variance(array)
        return variances if array.ndim else float(variances)

    @property
    def worst_case_variance(self) -> float:
        """Largest `variance` over the whole domain."""
        return self._unit**2 * quadratic_maximum(
            self._variance, tuple(self._to_natural(x) for x in self.knots)
        )

    @abstractmethod
    def _variance(self, x: Any) -> Any:
        """Variance at answers of the natural domain, in its unit; see `variance`."""

    def _read_answers(self, x: ArrayLike) -> Float:
        """Read answers within the domain, and convert them to the natural scale."""
        array = real_array(x, "list of answers")
        low, high = self.domain
        # Two reductions without temporaries; nan fails both comparisons.
        if array.size and not (array.min() >= low and array.max() <= high):
            bad = int(np.argmax(~((array >= low) & (array <= high)).ravel()))
            if np.isnan(array.ravel()[bad]):
                raise StatementError(
                    "an answer is missing (nan)",
                    code="missing-answer",
                    where=f"entry {bad}",
                    do="leave out people who did not answer",
                )
            raise StatementError(
                f"the answer{quoted(float(array.ravel()[bad]))} lies outside [{low:g}, {high:g}]",
                code="domain",
                where=f"entry {bad}",
                do="pass domain=(low, high) that contains all answers; nothing is clipped",
            )
        return np.asarray(self._to_natural(array))


class NumberProtocol(MeanProtocol):
    r"""A randomizer of one bounded number per user, and the unbiased estimate of the users' mean.

    The mean of a report is affine in the answer, so the inverse map is unbiased:

    .. math:: E[r \mid x] = o + s x, \qquad \hat\mu = \frac{\bar r - o}{s}

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive; ``"log(p/q)"`` is read exactly.
    domain : tuple of float, optional
        Least and largest answer, in the unit of the data, such as ``(0, 120)`` for ages: answers,
        estimates, variances and bias have this unit, reports keep the protocol's own scale.
        Default: the natural domain.

    Attributes
    ----------
    epsilon : Budget
        The nominal budget; `audit` finds the true one.
    report_range : tuple of float
        Least and largest report; infinite if unbounded.
    offset, slope : float
        The numbers ``o`` and ``s`` above, on the protocol's own scale.

    Raises
    ------
    StatementError
        If epsilon is not positive, or the domain is not an interval.

    Notes
    -----
    Every report is drawn exactly by comparing random words with integers: bits and two-point
    reports from integer masses, real reports on a public grid of about ``2**40`` points. `variance`
    and `audit` describe this discrete distribution. It differs from the continuous one by less than
    ``1e-9`` at epsilon from 0.1 to 10. The low bits of continuous floats would reveal answers;
    `simulate` draws them for comparison. Theory: docs, "Means".

    References
    ----------
    Liu and Zhou 2023; Mironov 2012, on the low bits of floats.
    """

    # of the literature, each constructed from a budget
    PUBLISHED: ClassVar[list[type["NumberProtocol"]]] = []
    report_range: tuple[float, float] = (-math.inf, math.inf)
    offset: float = 0.0
    slope: float = 1.0

    # the possible reports, increasing; None if they are real numbers
    _report_values: Float | None = None

    # Bound on the bias on the natural scale: half the distance of two adjacent points to which
    # answers are rounded
    _natural_bias: float
    # whether the privacy loss of the worst pair of answers is -epsilon, 0 or epsilon
    _has_three_losses = False

    def __init_subclass__(cls, *, published: bool = False) -> None:
        super().__init_subclass__()
        if published:
            cls.PUBLISHED.append(cls)

    def __init__(self, epsilon: float | str, domain: Domain = None) -> None:
        self.epsilon = Budget.positive(epsilon)
        self._data_domain = read_domain(domain)

    def __repr__(self) -> str:
        domain = "" if self._data_domain is None else f", domain={self._data_domain}"
        return f"{type(self).__name__}(epsilon={self.epsilon!r}{domain})"

    @property
    def bias(self) -> float:
        """Bound on the bias that rounding answers to the grid causes, in the unit of the data."""
        return self._unit * self._natural_bias

    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report for each answer.

        Parameters
        ----------
        x : array_like, shape (N,)
            Answers within the domain; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable (default: every bit from the operating system's generator).

        Raises
        ------
        StatementError
            If the answers are not a vector of numbers within the domain.
        """
        source = bit_source(rng)
        answers = self._read_answers(x)
        if answers.ndim != 1:
            raise StatementError(
                f"answers have shape {answers.shape}; expected a vector",
                code="vector",
                do="pass a list",
            )
        parts = [answers[part] for part in chunks(len(answers))] or [answers]
        return np.concatenate([self._randomize(part, source) for part in parts])

    def estimate(
        self, reports: ArrayLike, confidence: float = 0.95, *, liars: float = 0.0
    ) -> Estimate:
        r"""Estimate the mean answer from the reports, without bias.

        .. math:: \hat\mu = (\bar r - o) / s, \qquad
                  \mathrm{se}^2 = \frac{1}{s^2 N (N - 1)} \sum_i (r_i - \bar r)^2

        Parameters
        ----------
        reports : array_like, shape (N,)
            What `privatize` returned, ``N >= 1``.
        confidence : float
            Coverage of the normal interval, ``0 < confidence < 1``; default: ``0.95``.
        liars : float
            Share of people who may have sent anything, ``0 <= liars < 1``: the interval is widened
            by what they can do, see `Influence`. Default: ``0.0``.

        Returns
        -------
        Estimate
            ``values`` of shape (1,), in the unit of the answers, not clipped to the domain.

        Raises
        ------
        StatementError
            If the protocol cannot produce the reports, the confidence or the share of liars does
            not fit, or reports are unbounded and liars are counted on.

        Notes
        -----
        The standard error is right for answers drawn at random. For fixed answers it is too large
        by their variance. If all reports are equal, the worst case is used.
        """
        normal_quantile(confidence)
        liars = read_liars(liars)
        array = self._read_reports(reports)
        sample_variance = (
            float(array.var(ddof=1)) * (self._unit / self.slope) ** 2 if len(array) > 1 else 0.0
        )
        error = math.sqrt((sample_variance or self.worst_case_variance) / len(array))
        value = self._to_data_unit((float(array.mean()) - self.offset) / self.slope)
        estimate = Estimate(
            np.array([value]), np.array([error]), len(array), float(confidence), type(self).__name__
        )
        return widened(estimate, liars, lambda: self.influence.each)

    @property
    def influence(self) -> Influence:
        """How far one report in place of a true one can move the mean: by the ends of
        `report_range`.
        """
        ends = sorted((end - self.offset) / self.slope for end in self.report_range)
        return self._influence_of((ends[0], ends[1]), ["mean"])

    def audit(self) -> Audit:
        """Return the true two-sided privacy of the draws, over all pairs of answers and all events,
        in closed form.

        Epsilon is the smallest pure one (``inf`` if none exists); delta and the verdict are for the
        nominal budget.
        """
        epsilon, witness, verdict = self._privacy()
        if witness is not None and self._data_domain is not None:
            witness = (
                float(self._to_data_unit(witness[0])),
                float(self._to_data_unit(witness[1])),
                witness[2],
            )
        delta = 0.0 if verdict == "certified" else self._delta(float(self.epsilon))
        claim = f"{float(self.epsilon):.6g}-LDP"
        return Audit(
            epsilon, delta, witness, verdict, claim, curve=lambda budget: self._delta(float(budget))
        )

    def _read_reports(self, reports: ArrayLike) -> Float:
        """Read reports, refusing those that the protocol cannot produce."""
        kind = getattr(getattr(reports, "dtype", None), "kind", "")
        bits = kind == "b" and not np.ma.is_masked(reports)
        if bits or (
            isinstance(reports, (list, tuple)) and set(map(type, reports)) <= {bool, np.bool_}
        ):
            reports = np.asarray(reports, np.float64)
        array = real_array(reports, "list of reports")
        if array.ndim != 1 or not array.size:
            problem = f"reports have shape {array.shape}; expected a vector with at least one entry"
            raise StatementError(problem, do="pass a list of the reports that privatize returned")
        low, high = self.report_range
        low, high = max(low, -MAX_REPORT), min(high, MAX_REPORT)
        slack = 1e-9 * max(abs(low), abs(high))
        smallest = array.min()
        largest = array.max()
        do = "pass the reports of this protocol, at this epsilon"
        # Two reductions without temporaries; nan fails every comparison.
        if not (
            low - slack <= smallest
            and largest <= high + slack
            and np.isfinite([smallest, largest]).all()
        ):
            bad = int(
                np.argmin(np.isfinite(array) & (array >= low - slack) & (array <= high + slack))
            )
            problem = f"the report{quoted(float(array[bad]))} cannot come from {self!r}"
            raise StatementError(problem, code="reports", where=f"entry {bad}", do=do)
        if self._report_values is not None:
            values = self._report_values
            right = np.clip(np.searchsorted(values, array), 1, len(values) - 1)
            distance = np.minimum(np.abs(array - values[right - 1]), np.abs(array - values[right]))
            if not (distance <= slack).all():
                problem = f"a report is not one of the {len(values)} values that {self!r} reports"
                raise StatementError(
                    problem,
                    code="report-values",
                    where=f"entry {int(np.argmax(distance > slack))}",
                    do=do,
                )
        return array

    @abstractmethod
    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        """Draw reports exactly."""

    @abstractmethod
    def _privacy(self) -> Privacy:
        """Return the true privacy, its witness on the natural scale."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """Return the largest delta over all pairs of answers, at a budget ``>= 0``."""


class VectorProtocol(MeanProtocol):
    """A randomizer of ``m`` bounded numbers per user.

    Parameters
    ----------
    attributes : int
        Number of attributes ``m``, at least 1.
    domain : tuple of float, optional
        Least and largest answer of every attribute; default: the natural domain.

    Raises
    ------
    StatementError
        If there is no attribute, or the domain is not an interval.
    """

    _rows_at_a_time = CHUNK

    def __init__(self, attributes: int, domain: Domain = None) -> None:
        self.attributes = whole_number(attributes, "attributes", 1)
        self._data_domain = read_domain(domain)

    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw the report of each user; see the class for the type of reports.

        Parameters
        ----------
        x : array_like, shape (N, m)
            Answers within the domain, one user a row; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            As in `NumberProtocol.privatize`.

        Raises
        ------
        StatementError
            If the answers are not a matrix with a column for each attribute, or leave the domain.
        """
        # A plain array is read in parts: a copy might not fit into memory.
        is_plain = type(x) is np.ndarray and x.dtype.kind in "iuf"
        answers: NDArray[Any] = (
            x if is_plain else real_array(x, "list of answers")  # type: ignore[assignment]
        )
        if answers.ndim != 2 or answers.shape[1] != self.attributes:
            problem = f"answers have shape {answers.shape}; expected (users, {self.attributes})"
            raise StatementError(
                problem, do="pass one row for each user, one column for each attribute"
            )
        source = bit_source(rng)
        reports = self._empty(len(answers))
        for part in chunks(len(answers), self._rows_at_a_time):
            self._fill(reports[part], answers[part], source)
        return reports

    @abstractmethod
    def _empty(self, users: int) -> NDArray[Any]:
        """Return an array for the reports."""

    @abstractmethod
    def _fill(self, reports: NDArray[Any], x: NDArray[Any], source: Source) -> None:
        """Write the reports of some users."""


def read_domain(domain: Any) -> Domain:
    """Read the domain of the data; None if there is none."""
    if domain is None:
        return None
    ends = real_array(domain, "domain")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not 0 < ends[1] - ends[0] <= MAX_REPORT:
        problem = f"the domain {domain!r} is not an interval of a width up to {MAX_REPORT:g}"
        raise StatementError(problem, do="pass domain=(least answer, largest answer)")
    return float(ends[0]), float(ends[1])


def quadratic_maximum(function: Callable[[Any], Any], knots: tuple[float, ...]) -> float:
    """Return the exact maximum of a function that is a quadratic between neighboring knots: at an
    end or a vertex.
    """
    grid = np.asarray(knots, float)
    left = grid[:-1]
    right = grid[1:]
    start, middle, stop = (
        np.asarray(function(x), float) for x in (left, (left + right) / 2, right)
    )
    bend = 2 * (start + stop - 2 * middle)
    rise = stop - start - bend
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(bend < 0, np.clip(-rise / (2 * bend), 0.0, 1.0), 0.0)
    return float(max(start.max(), stop.max(), (start + rise * vertex + bend * vertex**2).max()))
