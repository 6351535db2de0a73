"""A design compared with mechanisms of the literature and with those of the caller, each with the
best unbiased estimator for its channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.certificate.frequency_certificate import best_size
from ldpopt.designing import literature
from ldpopt.designing.design import design
from ldpopt.designing.literature import SetProtocol, factorization
from ldpopt.designing.others import (
    OtherMechanism,
    OwnMechanism,
    compare_own,
    least_favorable,
    read_own,
)
from ldpopt.designing.realize import left_inverse
from ldpopt.designing.record import Design, FormulaDesign
from ldpopt.designing.saved import AnyDesign
from ldpopt.errors import LdpoptError
from ldpopt.estimation.influence import people_text
from ldpopt.foundation import optional
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import Facts, HasFacts, Table, shown
from ldpopt.foundation.numbers import Float, frozen, positive_seconds, require_kind
from ldpopt.frequencies.linear_hash import LinearHash
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import PureLDP
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.workload import Workload

# Mechanisms whose reports are sets of answers, and those whose channel is listed
SETS: dict[str, Callable[[int, float], SetProtocol]] = {
    "randomized response": literature.randomized_response,
    "subset selection": literature.subset_selection,
    "unary encoding": literature.unary_encoding,
    "local hashing": literature.local_hashing,
}
CHANNELS = {"Hadamard response": literature.hadamard_response, "hierarchy": literature.hierarchy}
# in the order in which they are computed
NAMES = (*SETS, "linear hash", *CHANNELS, "factorization")
# Largest number of answers for which a channel is listed and inverted, in at most a minute
LARGEST = {
    "randomized response": 1000,
    "Hadamard response": 400,
    "hierarchy": 400,
    "factorization": 64,
}
LISTED = 14  # the same for protocols whose reports are all sets
STARTS = 5  # random starts of the factorization mechanism


@dataclass(frozen=True, eq=False)
class DesignComparison(HasFacts):
    """A design and other mechanisms: those of the literature and those of the caller.

    Attributes
    ----------
    best : Design or FrequencyDesign
        The optimum.
    others : tuple of OtherMechanism
        Mechanisms of the literature, the best of them first; then those of the caller, each an
        `OwnMechanism`, as they were given.
    left_out : dict
        Reason by name, for mechanisms that are not computed.
    """

    best: AnyDesign
    others: tuple[OtherMechanism, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [f"DesignComparison({self._name} {self.best.value:.6g})"]
        return "\n".join(
            [
                *lines,
                *(
                    f"  {other.name}: {other.value:.6g}, {other.ratio:.4g} times"
                    for other in self.literature
                ),
                *(
                    f"  {row.name} (epsilon {row.epsilon:.6g}): {row.value:.6g}, {row.standing}"
                    for row in self.own
                ),
            ]
        )

    @property
    def literature(self) -> tuple[OtherMechanism, ...]:
        """Mechanisms of the literature, the best of them first."""
        return tuple(row for row in self.others if not isinstance(row, OwnMechanism))

    @property
    def own(self) -> tuple[OwnMechanism, ...]:
        """Mechanisms of the caller, each beside the best design of its epsilon."""
        return tuple(row for row in self.others if isinstance(row, OwnMechanism))

    @property
    def _name(self) -> str:
        return "optimum" if self.best.is_optimal else "best found"

    def facts(self) -> Facts:
        """The variance of each mechanism and its ratio to the optimum, the bound, the caller's
        mechanisms beside the optimum of their epsilon, and what is left out.
        """
        best = self.best
        kind = "largest variance" if best.objective == "worst_case" else "average variance"
        standing = "" if best.is_optimal else f": {best.standing.partition(', ')[2]}"
        rows = [
            [
                self._name,
                shown(best.value, 9),
                "1.0000",
                people_text(best.influence.most_people),
                f"relative gap {best.relative_gap:.2g}{standing}",
            ]
        ]
        rows += [
            [
                other.name,
                shown(other.value, 9),
                f"{other.ratio:.4f}",
                people_text(other.influence),
                other.note,
            ]
            for other in self.literature
        ]
        rows.append(["certified bound", shown(best.bound, 9), "", "", ""])
        reasons = [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        reasons.append("influence: as how many people a false report counts at most")
        k, n = best.workload.shape
        table = Table(["mechanism", kind, "ratio", "influence", "note"], rows, words=["note"])
        own = [_own_table(self.own, kind)] if self.own else []
        return Facts(f"{k:,} numbers of {n:,} answers", [table, *own, *reasons])

    def to_dict(self) -> dict[str, Any]:
        """Return what the command writes as JSON: the design's numbers, the literature, the
        caller's mechanisms, and what is left out.
        """
        best = self.best
        keys = ("name", "value", "ratio", "average", "worst", "influence", "note")
        numbers = {
            key: getattr(best, key) for key in ("objective", "value", "bound", "relative_gap")
        }
        numbers |= {"average": best.average_variance, "worst": best.worst_variance}
        numbers["influence"] = best.influence.most_people
        numbers["literature"] = [
            {key: getattr(row, key) for key in keys} for row in self.literature
        ]
        numbers["own"] = [
            {key: getattr(row, key) for key in (*keys[:-1], "epsilon", "people")}
            | {"optimum": None if row.optimum is None else row.optimum.value, "note": row.standing}
            for row in self.own
        ]
        return numbers | {"left_out": self.left_out}

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table: one row for each mechanism, columns value, ratio, average, worst,
        influence; with mechanisms of the caller also epsilon and people, each ratio to the optimum
        of that epsilon.
        """
        best = self.best
        at = float(best.privacy.epsilon)
        own = (best.value, 1.0, best.average_variance, best.worst_variance)
        rows = {self._name: (*own, best.influence.most_people, at, 1.0)}
        rows |= {
            row.name: (
                *(row.value, row.ratio, row.average, row.worst, row.influence),
                getattr(row, "epsilon", at),
                getattr(row, "people", math.nan),
            )
            for row in self.others
        }
        columns = ["value", "ratio", "average", "worst", "influence", "epsilon", "people"]
        table = optional.pandas.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table if self.own else table[columns[:5]]


def _own_table(rows: Iterable[OwnMechanism], kind: str) -> Table:
    """The caller's mechanisms beside the optimum of their epsilon."""
    cells = [
        [
            row.name,
            shown(row.epsilon),
            shown(row.value, 9),
            "-" if row.optimum is None else f"{row.ratio:.4f}",
            "-" if row.optimum is None else f"{row.people:.4f}",
            people_text(row.influence),
            row.standing,
        ]
        for row in rows
    ]
    return Table(
        ["mechanism", "epsilon", kind, "ratio", "people", "influence", "note"],
        cells,
        "your mechanisms, each beside the best design of its epsilon",
        words=["note"],
    )


def compare_designs(
    workload: Workload | ArrayLike,
    privacy: PureLDP,
    *,
    weights: ArrayLike | Mapping[Any, float] | None = None,
    objective: Literal["average", "worst_case"] = "average",
    gap: float = 1e-6,
    time_limit: float | None = None,
    best: AnyDesign | None = None,
    others: Mapping[str, Mechanism] | None = None,
) -> DesignComparison:
    r"""Compare the best mechanism for a workload with mechanisms from the literature, and with your
    own.

    .. math:: \text{ratio} = F(\text{mechanism}) / F(\text{optimum})

    Randomized response, the best subset selection, unary encoding, local hashing, Hadamard
    response, a binary hierarchy and the factorization mechanism (five random starts), each with the
    unbiased estimator that is best for its channel. For frequencies also `frequencies.LinearHash`,
    with its own estimator.

    Your own mechanisms may have another epsilon: each is audited, and compared with the best design
    of the epsilon that it has.

    Parameters
    ----------
    workload : Workload or array_like, shape (k, n)
        The numbers to be estimated.
    privacy : PureLDP
        How private.
    weights : array_like, shape (n,), or mapping label -> weight, optional
        As in `design`; default: all answers alike.
    objective : {"average", "worst_case"}
        As in `design`. Default: ``"average"``.
    gap : float
        As in `design`. Default: ``1e-6``.
    time_limit : float, optional
        Seconds for each design; default: no limit.
    best : Design or FrequencyDesign, optional
        The design for the same arguments; default: it is computed.
    others : mapping of str -> Mechanism, optional
        Mechanisms of your own by name, with the answers of the workload in any order; default:
        none. ``people`` of their rows compares numbers of people at the ``weights``: with a guess
        of the shares as weights, at these shares.

    Returns
    -------
    DesignComparison
        Mechanisms in the order of their variance, your own after them, and why some are left out:
        size, another notion than pure privacy, or reports that do not show the workload.

    Raises
    ------
    StatementError
        As `design`, or if one of ``others`` is no `Mechanism` (a `ReportModel` has no epsilon), has
        other answers than the workload, or the name of another row.

    Notes
    -----
    The mechanisms are channels of floats, to compare variances with; they are neither repaired nor
    audited. For more than 14 answers with unequal weights, or in the worst case, subset selection,
    unary encoding and local hashing have the estimator that is best for equal weights.

    Examples
    --------
    >>> from ldpopt import techniques
    >>> mine = {"mine": techniques.unrelated("7/10", "1/12")}
    >>> shares = Workload.frequencies(["no", "yes"]), PureLDP(1.0)
    >>> found = compare_designs(*shares, weights={"no": 0.8, "yes": 0.2}, others=mine)
    >>> print(found.own[0].name, found.own[0].epsilon, found.own[0].standing)
    mine 3.3672958299864733 1.427 times the people of the optimum at its epsilon
    """
    time_limit = positive_seconds(time_limit)
    problem = DesignProblem(workload, privacy, weights, objective)  # type: ignore[arg-type]
    wanted = problem.workload
    mechanisms = read_own(others, wanted, frozenset((*NAMES, "optimum", "best found")))
    if best is None:
        best = design(
            wanted, privacy, weights=weights, objective=objective, gap=gap, time_limit=time_limit
        )
    require_kind(best, (Design, FormulaDesign), "compare_designs()", "pass what design() returned")
    literature, left_out = _compare_literature(problem, best, weights is None)
    own, silent = compare_own(mechanisms, problem, gap, time_limit, best)
    return DesignComparison(best, (*literature, *own), left_out | silent)


def _compare_literature(
    problem: DesignProblem, best: AnyDesign, is_plain: bool
) -> tuple[list[OtherMechanism], dict[str, str]]:
    """The mechanisms of the literature, the best first, and why some are left out; ``is_plain`` is
    a problem without weights.
    """
    if not isinstance(problem.privacy, PureLDP):
        reason = f"it is for pure privacy, and the notion is {type(problem.privacy).__name__}"
        return [], dict.fromkeys(NAMES, reason)
    r = problem.all_weights
    epsilon = float(problem.privacy.epsilon)
    case = _Case(problem.workload, epsilon, None if is_plain else r, problem.objective)
    rows: list[OtherMechanism] = []
    left_out: dict[str, str] = {}
    for name in NAMES:
        if name == "linear hash" and problem.workload.unit is None:
            continue
        try:
            variances, note, influence = case.variances(name)
        except (LdpoptError, OverflowError, np.linalg.LinAlgError) as error:
            left_out[name] = (
                error.what
                if isinstance(error, LdpoptError)
                else "its numbers are beyond the floats"
            )
            continue
        value = case.value(variances)
        average = float(r @ variances)
        numbers = (average, float(variances.max()), value, value / best.value)
        rows.append(OtherMechanism(name, frozen(variances), *numbers, note, influence))
    return sorted(rows, key=lambda row: row.value), left_out


@dataclass(frozen=True, eq=False)
class _Case:
    """A workload with budget, weights and objective."""

    workload: Workload
    epsilon: float
    weights: Float | None
    objective: str

    @property
    def n(self) -> int:
        """Number of answers."""
        return self.workload.shape[1]

    def value(self, variances: Float) -> float:
        """The objective: average or largest of the answers' variances, shape ``(n,)``."""
        if self.objective == "worst_case":
            return float(variances.max())
        return float(variances.mean() if self.weights is None else self.weights @ variances)

    def variances(self, name: str) -> tuple[Float, str, float]:
        """Variances of a mechanism, a note on its sets or its estimator, and the influence of a
        report in people; an error if it would take too long.
        """
        if name == "subset selection":
            return self._subset_selection()
        if name == "linear hash":
            return self._linear_hash()
        if name in SETS:
            return self._sets(SETS[name](self.n, self.epsilon), LARGEST.get(name, LISTED))
        if self.n > LARGEST[name]:
            problem = f"{self.n:,} answers take too long: at most {LARGEST[name]:,} are compared"
            raise LdpoptError(
                problem, code="many-answers", do="compare a workload of fewer answers"
            )
        if name in CHANNELS:
            variances, influence = self._best_for(CHANNELS[name](self.n, self.epsilon))
            return variances, "", influence
        channel = factorization(self.workload, self.epsilon, starts=STARTS, weights=self.weights)
        note = ", made for the average" if self.objective == "worst_case" else ""
        variances, influence = self._best_for(channel)
        return variances, f"best of {STARTS} starts{note}", influence

    @property
    def _is_plain(self) -> bool:
        """Whether the estimator for equal weights is the best one."""
        return self.weights is None and self.objective == "average"

    def _sets(self, protocol: SetProtocol, most: int) -> tuple[Float, str, float]:
        """Variances and influence of a protocol, whose channel is listed for so many answers if
        another estimator is better.
        """
        if self._is_plain or self.n > most:
            note = "" if self._is_plain else "estimator for equal weights"
            variances = protocol.variances(literature.centered_diagonal(self.workload))
            return variances, note, protocol.influence(self.workload)
        variances, influence = self._best_for(protocol.channel)
        return variances, "", influence

    def _linear_hash(self) -> tuple[Float, str, float]:
        """Variances of a linear hash for frequencies, the same for every answer, the length of its
        reports, and their influence.
        """
        private, public = (LinearHash(self.n, self.epsilon, coin) for coin in (False, True))
        note = f"{private.bits} bits; with a public coin {public.bits}"
        variances = np.full(self.n, (self.workload.unit or 1.0) ** 2 * private.total_variance)
        return variances, note, private.influence.most_people

    def _subset_selection(self) -> tuple[Float, str, float]:
        """Variances and influence of subset selection at its best size."""
        diagonal = literature.centered_diagonal(self.workload)
        sizes: Iterable[int] = (
            range(1, self.n) if self.n <= 1000 else _sizes_near(self.n, self.epsilon)
        )
        if self.n > LISTED and self.workload.unit is not None:  # all answers have the same variance
            sizes = [best_size(self.n, Budget(self.epsilon))]
        protocols = {k: literature.subset_selection(self.n, self.epsilon, k) for k in sizes}
        plain = {k: protocol.variances(diagonal) for k, protocol in protocols.items()}
        size = min(plain, key=lambda k: self.value(plain[k]))
        if self._is_plain or self.n > LISTED:
            note = "" if self._is_plain else ", estimator for equal weights"
            influence = protocols[size].influence(self.workload)
            return plain[size], f"sets of {size}{note}", influence
        best = {k: self._best_for(protocol.channel) for k, protocol in protocols.items()}
        size = min(best, key=lambda k: self.value(best[k][0]))
        return best[size][0], f"sets of {size}", best[size][1]

    def _best_for(self, channel: Float) -> tuple[Float, float]:
        """Variances and influence with the best estimator for a channel; for the worst case, at the
        least favorable weights.
        """
        r = np.full(self.n, 1.0 / self.n) if self.weights is None else self.weights
        at = partial(literature.variances_of, self.workload, channel)
        variances, weights = least_favorable(at, r, self.objective)
        inverse = left_inverse(channel, weights)
        return variances, literature.influence_of_channel(self.workload, channel, inverse)


def _sizes_near(n: int, epsilon: float) -> list[int]:
    """Sizes around the best one for frequencies, in growing steps."""
    center = n / (np.exp(epsilon) + 1)
    grown = np.concatenate(
        [center * 1.05 ** np.arange(-60, 61), [np.floor(center), np.ceil(center)]]
    )
    return sorted({int(min(n - 1, max(1, size))) for size in grown.tolist()})
