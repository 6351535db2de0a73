r"""Certificate of a design for tables of many questions of two answers each: reports are not
listed.

A report is a set of answers of some kind: the answers to some questions decide, in parts of
questions that can be exchanged. Every choice of questions, and of the answers that count as one, is
equally likely. With ``W_j`` the weight of the sets of a kind ``A`` on ``j`` questions, the
information on each set of ``j`` questions is

.. math:: M_j = \sum_A q_A \delta_A^2 \, 2^d \, W_j(A) / \tbinom dj, \quad
          \delta_A = \frac{p_A}{m_A} - \frac{1-p_A}{1-m_A},

if a set of the kind has the true answer with probability ``p_A``, and a share ``m_A`` of all
answers. The estimator is the best one for these numbers, without bias; its variance is the same for
every answer. The bound is that by moments.
"""

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, prod
from typing import Any

from ldpopt.auditing.audits import Witness
from ldpopt.certificate.design_bound import read_bound
from ldpopt.certificate.design_bound_moments import MomentBound, MomentLevels
from ldpopt.certificate.design_claim import UnlistedClaim, read_pure
from ldpopt.certificate.frequency_certificate import TOTAL
from ldpopt.certificate.moments import krawtchouk
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.mechanism.channels import digest
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload


@dataclass(frozen=True)
class Kind:
    """Sets of answers that depend on the numbers of ones in some parts of the questions.

    The questions on which a set depends are drawn at random, and divided into parts of these sizes;
    within a part they can be exchanged, so that a set is known by which numbers of ones it has:
    ``inside``, over the `cells`. An answer is in the set if its cell is.
    """

    parts: tuple[int, ...]  # number of questions of each part
    # 1 if the set has the answers with these numbers of ones, in the order of `cells`
    inside: tuple[int, ...]
    mass: int  # probability of the kind, over 2**53
    held: int  # probability that a set of the kind has the true answer, over 2**53

    @property
    def questions(self) -> int:
        """Number of questions on which a set depends."""
        return sum(self.parts)

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """Numbers of ones in each part, the last running fastest."""
        return list(itertools.product(*(range(part + 1) for part in self.parts)))

    def ways(self, inside: int) -> list[int]:
        """Number of patterns of answers for each cell; 0 if it is on the other side."""
        cells = zip(self.cells, self.inside, strict=True)
        return [
            prod(map(comb, self.parts, cell)) if member == inside else 0 for cell, member in cells
        ]

    @property
    def share(self) -> Fraction:
        """Share of the answers that a set has."""
        return Fraction(sum(self.ways(1)), 2**self.questions)

    @property
    def contrast(self) -> Fraction:
        """Probability of a set over its average, for an answer in it less for another one.

        ``p / m - (1 - p) / (1 - m)`` with the probability ``p`` that the set has the true answer
        and its share ``m`` of all answers. Positive: the set favors the truth.
        """
        p = Fraction(self.held, TOTAL)
        m = self.share
        return p / m - (1 - p) / (1 - m)

    @cached_property
    def sums(self) -> dict[tuple[int, ...], int]:
        """Sum of a character over the set, by the number of its questions in each part."""
        inside_cells = [
            cell for cell, inside in zip(self.cells, self.inside, strict=True) if inside
        ]
        return {
            j: sum(prod(map(krawtchouk, self.parts, cell, j)) for cell in inside_cells)
            for j in self.cells
        }

    def weights(self, most: int) -> list[Fraction]:
        """``W_j`` for ``j`` up to a number of questions."""
        sums = [Fraction(0)] * (most + 1)
        for j, value in self.sums.items():
            if sum(j) <= most:
                sums[sum(j)] += (
                    prod(map(comb, self.parts, j)) * Fraction(value, 2**self.questions) ** 2
                )
        return sums


@dataclass(frozen=True)
class SetsOfKinds:
    """A random set of one of several kinds, for answers to ``d`` questions.

    First a kind is drawn by its mass, then whether the set has the true answer, then questions and
    answers so that it has or has not. All probabilities are rationals over ``2**53``.
    """

    d: int
    kinds: tuple[Kind, ...]

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a set under two answers, either way round."""
        ratios = (k.held * (1 - k.share) / ((TOTAL - k.held) * k.share) for k in self.kinds)
        return max(max(ratio, 1 / ratio) for ratio in ratios)

    def witness(self, inputs: Sequence[Hashable]) -> Witness:
        """Two answers, and the questions of a set."""
        return inputs[0], inputs[-1], self.kinds[0].parts

    def delta(self, ratio: Fraction) -> Fraction:
        """Hockey-stick divergence, the largest over the distances of two answers, before it is
        clipped at 0.

        If sets favor the truth, the excess ``P(S | x) - r P(S | x')`` is positive only for sets
        with ``x`` and without ``x'``, else only for sets with ``x'`` and without ``x``, of which
        there are as many. Of two answers that differ in ``h`` questions these sets are
        the share ``m - sum_j W_j K_j(h) / C(d, j)`` of a kind; a kind whose odds do not exceed the
        ratio adds nothing.
        """
        sums = [Fraction(0)] * self.d
        for kind in self.kinds:
            p = Fraction(kind.held, TOTAL)
            m = kind.share
            weights = kind.weights(kind.questions)
            inside = p / m
            outside = (1 - p) / (1 - m)
            most = max(inside - ratio * outside, outside - ratio * inside, Fraction(0))
            excess = Fraction(kind.mass, TOTAL) * most
            for h in range(1, self.d + 1):
                parts = (
                    w * krawtchouk(self.d, j, h) / comb(self.d, j) for j, w in enumerate(weights)
                )
                sums[h - 1] += excess * (m - sum(parts, Fraction(0)))
        return max(sums)

    def information(self, most: int) -> list[Fraction]:
        """``M_j`` for ``j`` from 0 to a number of questions; that for 0 is not used."""
        sums = [Fraction(0)] * (most + 1)
        for kind in self.kinds:
            factor = Fraction(kind.mass, TOTAL) * kind.contrast**2 * 2**self.d
            for j, weight in enumerate(kind.weights(most)):
                sums[j] += factor * weight / comb(self.d, j)
        return sums


def levels_of(workload: Workload) -> MomentLevels:
    """Eigenvalues of the Gram matrix of a stack of tables."""
    d = len(workload.attributes)
    parts = [
        MomentLevels.marginals(d, ways, Fraction(factor)) for ways, factor in workload.tables or ()
    ]
    mu = [sum((part.largest[j] for part in parts), Fraction(0)) for j in range(d + 1)]
    return MomentLevels(
        tuple(mu), tuple(eigenvalue * comb(d, j) for j, eigenvalue in enumerate(mu))
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class QuestionsCertificate(UnlistedClaim):
    """A claim about random sets for tables of questions of two answers each; see `DesignClaim`."""

    randomizer: SetsOfKinds
    multipliers: MomentBound

    STATEMENT = ("questions", "tables", "kinds")

    @classmethod
    def of(
        cls, workload: Workload, privacy: PureLDP, kinds: Sequence[Kind], bound: MomentBound
    ) -> "QuestionsCertificate":
        """The value of sets of some kinds, and the bound of multipliers that hold."""
        drawn = SetsOfKinds(len(workload.attributes), tuple(kinds))
        return cls.proved(workload=workload, privacy=privacy, randomizer=drawn, multipliers=bound)

    @cached_property
    def digest(self) -> str:
        """Digest of the randomizer."""
        numbers = (
            n
            for kind in self.randomizer.kinds
            for n in (*kind.parts, *kind.inside, kind.mass, kind.held)
        )
        return digest("SetsOfKinds", [values for _, values in self.workload.attributes], numbers)

    @property
    def reports(self) -> str:
        """Kinds of the reports, in words."""
        return f"sets of {len(self.randomizer.kinds)} kinds"

    def _measured(self) -> tuple[MomentLevels, Fraction, Fraction]:
        levels = levels_of(self.workload)
        needed = {j: mu for j, mu in enumerate(levels.total) if mu}
        information = self.randomizer.information(max(needed))
        spread = sum(needed.values(), Fraction(0)) / 2**levels.d
        return (
            levels,
            sum((mu / information[j] for j, mu in needed.items()), Fraction(0)) - spread,
            spread,
        )

    def plain(self) -> dict[str, Any]:
        """Questions, tables and kinds of sets as JSON data."""
        kinds = [[list(k.parts), list(k.inside), k.mass, k.held] for k in self.randomizer.kinds]
        questions = [plain_labels((name, *values)) for name, values in self.workload.attributes]
        return {
            "questions": questions,
            "tables": [list(table) for table in self.workload.tables or ()],
            "kinds": kinds,
        }

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        table["objective"].text("average", "worst_case")
        rows = [entry.labels() for entry in table["questions"].list()]
        if (
            not rows
            or any(len(row) != 3 for row in rows)
            or len({row[0] for row in rows}) < len(rows)
        ):
            raise table["questions"].error(
                "a question has another form than [name, answer, answer], or a name twice"
            )
        questions = {name: values for name, *values in rows}
        parts = []
        for entry in table["tables"].list():
            ways, factor = entry.list(2)
            parts.append(
                factor.number() * Workload.marginals(questions, ways.whole(len(questions) + 1))
            )
        workload = parts[0] if len(parts) == 1 else Workload.stack(*parts)
        drawn = SetsOfKinds(
            len(questions), tuple(_kind(entry, len(questions)) for entry in table["kinds"].list())
        )
        needed = [j for j, mu in enumerate(levels_of(workload).total) if mu]
        information = drawn.information(needed[-1])
        if sum(kind.mass for kind in drawn.kinds) != TOTAL or not all(
            information[j] for j in needed
        ):
            problem = (
                "the masses of the kinds do not sum to 2**53, or a wanted table has no report "
                "that depends on it"
            )
            raise table["kinds"].error(problem)
        privacy = read_pure(table["privacy"], workload.inputs)
        bound = read_bound(table["multipliers"], 2 ** len(questions), MomentBound)
        return {"workload": workload, "privacy": privacy, "randomizer": drawn, "multipliers": bound}


def _kind(entry: Entry, d: int) -> Kind:
    """Read a kind of sets, for ``d`` questions: the fields of `Kind`, in its order."""
    parts, inside, mass, held = entry.list(4)
    sizes = tuple(part.whole(d + 1) for part in parts.list())
    cells = prod(size + 1 for size in sizes)
    kind = Kind(
        sizes,
        tuple(cell.whole(2) for cell in inside.list(cells)),
        mass.whole(TOTAL + 1),
        held.whole(TOTAL),
    )
    is_set = sizes and 0 < min(sizes) <= sum(sizes) <= d and 0 < sum(kind.inside) < cells
    if not is_set or not kind.mass or not kind.held or not kind.contrast > 0:
        raise entry.error(
            "these are not sets of some answers to some questions that favor the true answer"
        )
    return kind
