"""What audits, accounts, solutions and designs say in words is true of all on which it is printed.

As in `test_sentences.py`, what is true is computed here from the probabilities alone. Run as a
program, this file prints the tables of both registries: for each sentence, and for each design, the
cells of designs and sentences, and where one is false.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from ldpopt import Mechanism
from ldpopt.accounting import compose, permanent, shuffled
from ldpopt.accounting import sentences as of_accounts
from ldpopt.accounting.sentences import GuessFacts
from ldpopt.auditing import sentences as of_audits
from ldpopt.designing import sentences as of_designs
from ldpopt.designing.record import ProvedDesign
from ldpopt.foundation.sentences import above_text, below_text
from ldpopt.frequencies import SubsetSelection
from ldpopt.plotting.report import definition as of_definitions
from ldpopt.plotting.report.definition import PrivacyFacts
from ldpopt.privacy import CurveLDP, GaussianLDP
from ldpopt.solving import sentences as of_solutions
from ldpopt.solving.sentences import BudgetFacts

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import test_sentences
from test_sentences import OTHERS, PUBLISHED, ROOT, column_of

DESIGNS = {name: Mechanism(rows) for name, rows in (PUBLISHED | OTHERS).items()}
MODULES = (of_accounts, of_audits, of_definitions, of_designs, of_solutions)
TOPICS = {topic.name: topic for module in MODULES for topic in module.TOPICS}
ROUNDING = Fraction(1, 10**9)  # a guess is a float that is rounded up
Rows = list[list[Fraction]]
Pairs = set[tuple[int, int]]


@cache
def exact(name: str) -> Rows:
    return [[Fraction(int(mass), 2**53) for mass in row] for row in DESIGNS[name].masses]


def every(n: int) -> Pairs:
    return set(itertools.permutations(range(n), 2))


def excess(rows: Rows, pair: tuple[int, int], a: Fraction) -> Fraction:
    x, other = pair
    return sum(
        (max(p - a * q, Fraction(0)) for p, q in zip(rows[x], rows[other], strict=True)),
        Fraction(0),
    )


# Accounts.


@dataclass(frozen=True)
class Account:
    """A curve, and the reports that it is about: rows, compared pairs, and how often."""

    curve: Any
    parts: list[tuple[Rows, Pairs, int]]

    def pairs(self) -> Iterator[list[tuple[list[Fraction], list[Fraction]]]]:
        """For a compared pair of each question, the two rows of every single report."""
        for chosen in itertools.product(*(sorted(pairs) for _, pairs, _ in self.parts)):
            yield [
                (rows[x], rows[other])
                for (rows, _, times), (x, other) in zip(self.parts, chosen, strict=True)
                for _ in range(times)
            ]

    def best(self, a: Fraction) -> Fraction:
        """The excess of the best strategy: later answers are chosen by earlier reports, and the
        questions come in the worst order.
        """

        def excess_of(left: tuple[int, ...], level: Fraction) -> Fraction:
            if not any(left):
                return max(1 - level, Fraction(0))
            found = []
            for place, (rows, pairs, _) in enumerate(self.parts):
                if left[place]:
                    fewer = (*left[:place], left[place] - 1, *left[place + 1 :])
                    for x, other in pairs:
                        found.append(
                            sum(
                                p * excess_of(fewer, level * q / p)
                                for p, q in zip(rows[x], rows[other], strict=True)
                                if p
                            )
                        )
            return max(found)

        return excess_of(tuple(times for _, _, times in self.parts), a)

    def excesses(self, a: Fraction) -> list[Fraction]:
        """The excess of all reports, of each choice of pairs, by all sequences of reports."""
        found = []
        for both in self.pairs():
            first = [math.prod(ps) for ps in itertools.product(*(row for row, _ in both))]
            second = [math.prod(qs) for qs in itertools.product(*(row for _, row in both))]
            found.append(
                sum((max(p - a * q, Fraction(0)) for p, q in zip(first, second, strict=True)))
            )
        return found

    @property
    def leaves_out(self) -> list[bool]:
        """Whether two answers are compared in no order, of each question."""
        return [
            any({pair, pair[::-1]}.isdisjoint(pairs) for pair in every(len(rows)))
            for rows, pairs, _ in self.parts
        ]


@dataclass(frozen=True)
class FixedAccount(Account):
    """A curve of people who give all their answers before any report is published."""

    def best(self, a: Fraction) -> Fraction:
        """The excess of the best choice of pairs, one for every report."""
        return max(self.excesses(a))


@dataclass(frozen=True)
class ShuffledAccount(Account):
    """Numbers of reports of some people with two reports each; the answers of others are fixed."""

    people: int

    def excesses(self, a: Fraction) -> list[Fraction]:
        """By the numbers of second reports, for each pair, and the worst answers of the others."""
        ((rows, pairs, _),) = self.parts

        def numbers(answers: tuple[int, ...]) -> list[Fraction]:
            found = [Fraction(1)]
            for x in answers:
                longer = [*(rows[x][0] * p for p in found), Fraction(0)]
                found = [p + rows[x][1] * q for p, q in zip(longer, [0, *found], strict=True)]
            return found

        both = range(len(rows))
        return [
            max(
                excess([numbers((x, *others)), numbers((other, *others))], (0, 1), a)
                for others in itertools.combinations_with_replacement(both, self.people - 1)
            )
            for x, other in pairs
        ]


def account(*items: tuple[str, Pairs | None, int]) -> Account:
    parts = [(exact(name), pairs or every(len(exact(name))), times) for name, pairs, times in items]
    curves = [
        compose([(DESIGNS[name], times)], pairs=None if pairs is None else sorted(pairs))
        for name, pairs, times in items
    ]
    return Account(curves[0] if len(curves) == 1 else compose(curves), parts)


def accounts() -> dict[str, Account]:
    answered = [name for name, mechanism in DESIGNS.items() if len(mechanism.inputs) > 1]
    both = {(0, 1), (1, 0)}
    partial = [name for name in answered if len(DESIGNS[name].inputs) > 2]
    warner = account(("Warner", None, 1))
    return {
        **{name: account((name, None, 1)) for name in answered},
        **{f"{name}, twice": account((name, None, 2)) for name in answered},
        **{f"{name}, one pair": account((name, both, 1)) for name in partial},
        **{f"{name}, one order": account((name, {(0, 1)}, 1)) for name in answered},
        "one pair of one question": account(("identity", both, 1), ("one coin", None, 1)),
        "one pair of both": account(("identity", both, 1), ("one of three told", {(0, 2)}, 1)),
        "many pairs": account(
            ("one is never ruled out", {(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)}, 1)
        ),
        "permanent": Account(permanent(DESIGNS["Warner"], Mechanism(np.eye(2)), 3), warner.parts),
        "shuffled": ShuffledAccount(shuffled(DESIGNS["Warner"], 9), warner.parts, 9),
        "joint": Account(test_sentences.SURVEYS["joint, yes and no"][0].account(), []),
        "answers before reports": FixedAccount(
            compose([(DESIGNS["one coin"], 2)], answers="fixed"),
            [(exact("one coin"), every(2), 1)] * 2,
        ),
    }


ACCOUNTS = accounts()
ENUMERATED = [name for name, world in ACCOUNTS.items() if world.parts]


def guess_is_true(world: Account, text: str) -> bool:
    """Nobody is right more often, and it is not far above (a hundredth, or one of a hundred)."""
    found = re.search(r"right at most ([0-9.]+) of 100 times", text)
    assert found is not None
    if not world.parts:
        return True
    best = 50 * (1 + max(world.excesses(Fraction(1))))
    shown = Fraction(found[1])
    # masses of words of 53 bits are not those that were stated: the last digits are not printed
    return best <= shown + ROUNDING and (
        not world.curve.is_attained or shown <= best + 1 + ROUNDING
    )


def is_reached(world: Account, best: Callable[[Fraction], Fraction]) -> bool:
    """Whether the deltas are the largest excesses."""
    levels = [0.0, 0.3, 1.0]
    return all(
        abs(world.curve.delta(level) - best(Fraction(math.exp(level)))) < 1e-9 for level in levels
    )


def holds_for_strategies(world: Account) -> bool:
    """Whether no strategy reveals more, of accounts whose reports are listed."""
    return not world.parts or all(
        world.best(Fraction(math.exp(level))) <= world.curve.delta(level) + ROUNDING
        for level in [0.0, 0.3, 1.0]
    )


def names_pairs(world: Account, text: str) -> bool:
    """Whether the named pairs are some of those that are compared, each once, and all are counted
    of questions that leave some out."""
    named = re.search(r"only (.*): others", text)
    assert named is not None
    compared = {
        tuple(sorted(pair))
        for (_, pairs, _), leaves in zip(world.parts, world.leaves_out, strict=True)
        for pair in pairs
        if leaves
    }
    listed = [tuple(map(int, pair)) for pair in re.findall(r"(\d) and (\d)", named[1])]
    more = re.search(r"or (\d+) more", named[1])
    count = len(listed) + (int(more[1]) if more else 0)
    return set(listed) <= compared and len(set(listed)) == len(listed) and count == len(compared)


# Audits.

TWO_PARTS = nx.Graph([(0, 1)])
TWO_PARTS.add_nodes_from([2])
LINE = nx.path_graph(3)
CLAIMS: dict[str, Callable[[int], Any]] = {
    "no claim": lambda n: None,
    "pure": lambda n: lo.PureLDP(1.0),
    "strict": lambda n: lo.PureLDP(0.0),
    "events": lambda n: lo.ApproximateLDP(1.0, 0.1),
    "entries": lambda n: lo.ApproximateLDP(0.5, 0.1, "entry"),
    "loose": lambda n: lo.ApproximateLDP(5.0, 0.5),
    "graph in parts": lambda n: lo.GraphDP(1.0, TWO_PARTS, parts="separate") if n == 3 else None,
    "path": lambda n: lo.GraphDP(1.0, LINE) if n == 3 else None,
    "one-sided": lambda n: lo.OneSided(1.0, [0]),
    "metric": lambda n: (
        lo.MetricDP(1.0, np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float))
        if n > 1
        else None
    ),
}
COMPARED: dict[str, Callable[[int], Pairs]] = {
    "graph in parts": lambda n: {(0, 1), (1, 0)} if n == 3 else every(n),
    "path": lambda n: {(0, 1), (1, 0), (1, 2), (2, 1)} if n == 3 else every(n),
    "one-sided": lambda n: {(0, x) for x in range(1, n)},
}
PARTED = Mechanism([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
AUDITED = DESIGNS | {"equal in parts": PARTED}


@dataclass(frozen=True)
class Audited:
    """An audit of a design, with the pairs that its claim compares."""

    audit: Any
    rows: Rows
    pairs: Pairs
    epsilon: float | None  # that is claimed

    @property
    def is_equal(self) -> bool:
        return all(self.rows[x] == self.rows[other] for x, other in self.pairs)

    def exceeds(self) -> bool:
        """Whether a report is more likely than the claim without its delta allows."""
        a = Fraction(math.exp(self.epsilon or 0.0))
        return any(excess(self.rows, pair, a * (1 + Fraction(1, 10**12))) for pair in self.pairs)

    def least_delta(self, text: str) -> bool:
        """At the claimed epsilon, or at the least one, where it is 0."""
        if self.epsilon is None:
            return float(text) == 0 and math.isfinite(self.audit.epsilon)
        a = Fraction(math.exp(self.epsilon))
        if "entry" in self.audit.claim:
            best = max(
                (
                    p - a * q
                    for x, other in self.pairs
                    for p, q in zip(self.rows[x], self.rows[other], strict=True)
                ),
                default=Fraction(0),
            )
        else:
            best = max((excess(self.rows, pair, a) for pair in self.pairs), default=Fraction(0))
        if "metric" in self.audit.claim.lower() or "per unit" in self.audit.claim:
            return True  # of distances: compared with other excesses elsewhere
        return math.isclose(float(text), max(best, 0), rel_tol=1e-9, abs_tol=1e-12)


def audits() -> dict[str, Audited]:
    found = {}
    for name, mechanism in AUDITED.items():
        n = len(mechanism.inputs)
        rows = [[Fraction(int(mass), 2**53) for mass in row] for row in mechanism.masses]
        for kind, claim_of in CLAIMS.items():
            claim = claim_of(n)
            if claim is None and kind != "no claim":
                continue
            epsilon = None if claim is None else float(claim.epsilon)
            pairs = COMPARED.get(kind, every)(n)
            found[f"{name}, {kind}"] = Audited(mechanism.audit(claim), rows, pairs, epsilon)
    found |= audits_of_averages()
    sets = SubsetSelection(5, 1.0)
    found["sets"] = Audited(sets.audit(), column_of(sets).rows, every(5), 1.0)
    for epsilon in (0.5, 1.0, 5.0):
        near = Fraction(math.exp(epsilon) / (1 + math.exp(epsilon)))  # at the ends, 1 and -1
        rows = [[near, 1 - near], [1 - near, near]]
        audit = lo.mean.Duchi(epsilon).audit()
        found[f"mean of numbers, {epsilon}"] = Audited(audit, rows, every(2), epsilon)
    return found


def audits_of_averages() -> dict[str, Audited]:
    """Audits against the average of all rows, and of the averages of two halves; averages are rows
    too.
    """
    found = {}
    for name, mechanism in AUDITED.items():
        n = len(mechanism.inputs)
        if n < 2:
            continue
        rows = [[Fraction(int(mass), 2**53) for mass in row] for row in mechanism.masses]
        mean = [sum(column) / n for column in zip(*rows, strict=True)]
        labels = list(mechanism.inputs)
        leakage = lo.PML(0.3, dict.fromkeys(labels, 1))
        pairs = {(x, n) for x in range(n)}
        found[f"{name}, leakage"] = Audited(mechanism.audit(leakage), [*rows, mean], pairs, 0.3)
        first = {label: int(x == 0) for x, label in enumerate(labels)}
        rest = {label: int(x > 0) for x, label in enumerate(labels)}
        secrets = lo.Secrets(0.3, {"first": first, "rest": rest})
        others = [sum(column) / (n - 1) for column in zip(*rows[1:], strict=True)]
        found[f"{name}, secrets"] = Audited(
            mechanism.audit(secrets), [rows[0], others], every(2), 0.3
        )
    return found


# Solutions.

EQUAL = np.ones((2, 2))
NOTIONS: dict[str, tuple[Any, Any, Pairs]] = {
    "pure": (lo.PureLDP(1.0), [0.5, 0.5], every(2)),
    "one answer": (lo.PureLDP(1.0), [1.0], set()),
    "zero": (lo.PureLDP(0.0), [0.5, 0.5], every(2)),
    "zero, one-sided": (lo.OneSided(0.0, [0]), [0.2, 0.2, 0.6], {(0, 1), (0, 2)}),
    "zero, in parts": (
        lo.GraphDP(0.0, nx.Graph([(0, 1), (2, 3)]), parts="separate"),
        [0.25] * 4,
        {(0, 1), (2, 3)},
    ),
    "zero and delta": (lo.ApproximateLDP(0.0, 0.2), [0.5, 0.5], every(2)),
    "all allowed": (lo.ApproximateLDP(1.0, 1.0), [0.5, 0.5], every(2)),
    "wide": (lo.PureLDP(50.0), [0.5, 0.5], every(2)),
    "wide metric": (lo.MetricDP(50.0, np.array([[0, 0.1], [0.1, 0]])), [0.5, 0.5], every(2)),
}


@dataclass(frozen=True)
class Solved:
    """A solution, and the pairs that its notion compares."""

    solution: Any
    pairs: Pairs

    @property
    def counts(self) -> Any:
        return self.solution.mechanism.masses

    def equals(self, pairs: Pairs) -> bool:
        return all((self.counts[x] == self.counts[other]).all() for x, other in pairs)


@cache
def solutions() -> dict[str, Solved]:
    return {
        name: Solved(lo.solve(lo.Problem(prior, "identity", notion)), pairs)
        for name, (notion, prior, pairs) in NOTIONS.items()
    } | {
        "all allowed, nothing gained": Solved(
            lo.solve(lo.Problem([0.5, 0.5], EQUAL, lo.ApproximateLDP(1.0, 1.0))), every(2)
        )
    }


# Designs.


def designs() -> dict[str, Any]:
    """Values and bounds, of which two are those of a design."""
    found = lo.design(lo.Workload.frequencies(3), lo.PureLDP(1.0))
    numbers = {"optimal": (found.value, found.bound, True), "no bound": (2.0, 0.0, False)}
    numbers |= {f"gap {g}": (1.0 + g, 1.0, g <= 1e-3) for g in (5e-4, 1.1e-3, 4e-3, 0.2, 30.0)}
    return {
        name: SimpleNamespace(
            value=value,
            bound=bound,
            is_optimal=is_optimal,
            times_the_best=ProvedDesign.times_the_best.fget(  # type: ignore[attr-defined]
                SimpleNamespace(value=value, bound=bound)
            )
            if bound
            else "",
        )
        for name, (value, bound, is_optimal) in numbers.items()
    }


@cache
def own_rows() -> dict[str, Any]:
    """Mechanisms of two answers beside the optimum of their epsilon, with their people by the
    information on the share at .2, and a row beside a design that is not the optimum.
    """
    channels = {"rare": [[0.975, 0.025], [0.275, 0.725]], "coin": [[0.75, 0.25], [0.25, 0.75]]}
    channels["open"] = [[0.7, 0.3], [0.0, 1.0]]
    compared = lo.compare_designs(
        lo.Workload.frequencies(["no", "yes"]),
        lo.PureLDP(1.0),
        weights={"no": 0.8, "yes": 0.2},
        others={name: Mechanism(rows, ["no", "yes"]) for name, rows in channels.items()},
    )

    def needed(rows: list[list[float]]) -> float:
        seen = [0.8 * no + 0.2 * yes for no, yes in zip(*rows, strict=True)]
        return 1 / sum((rows[1][y] - rows[0][y]) ** 2 / seen[y] for y in (0, 1))

    worlds = {}
    for row in compared.own:
        rows = channels[row.name]
        columns = list(zip(*rows, strict=True))
        ratios = [max(each) / min(each) if min(each) else math.inf for each in columns]
        kept = 1 / (1 + 1 / max(ratios))
        people = needed(rows) / needed([[kept, 1 - kept], [1 - kept, kept]])
        worlds[row.name] = SimpleNamespace(row=row, odds=max(ratios), people=people, gap=0.0)
    near = SimpleNamespace(optimum=SimpleNamespace(is_optimal=False), people=1.25)
    worlds["near"] = SimpleNamespace(row=near, odds=3.0, people=1.25, gap=0.01)
    return worlds


def says_people(world: Any, text: str) -> bool:
    """Whether the number of a sentence is how many times as many people are needed."""
    said = float(re.findall("[0-9.]+", text)[0])
    return world.odds < math.inf and math.isclose(said, world.people, rel_tol=5e-4)


# Notions without a single epsilon.


@dataclass(frozen=True)
class Promised:
    """A notion, and rows that are private by it."""

    privacy: Any
    rows: Rows

    def events(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Probabilities of each event under two answers."""
        m = len(self.rows[0])
        for over, under in itertools.permutations(self.rows, 2):
            for size in range(1, m):
                for event in itertools.combinations(range(m), size):
                    yield sum(over[y] for y in event), sum(under[y] for y in event)

    def is_gaussian(self, text: str) -> bool:
        """Whether the stated level is that of all normal tests, and holds for all events."""
        level = float(re.findall("at most ([0-9.]+) %", text)[0]) / 100
        mu = float(re.findall("are ([0-9.]+) standard", text)[0])
        normal = statistics.NormalDist()
        best = normal.cdf(normal.inv_cdf(0.05) + mu)
        is_least = best <= level <= best * 1.001
        return is_least and all(
            (p <= level or q > Fraction(1, 20)) and (not p or q) for p, q in self.events()
        )

    def is_curve(self, text: str) -> bool:
        """Whether all stated bounds hold for all events, and are those of the points."""
        bounds = re.findall(
            r"([0-9.]+) times its probability for any other answer, plus ([0-9.e-]+?)[.,]? ",
            text + " ",
        )
        stated = [(Fraction(a), Fraction(float(d))) for a, d in bounds]
        points = [(math.exp(e), d) for e, d in self.privacy.points]
        is_least = len(stated) == len(points) and all(
            a <= factor * (1 + 1e-12) <= a * 1.01 and d == Fraction(delta)
            for (factor, d), (a, delta) in zip(stated, points, strict=True)
        )
        return is_least and all(p <= a * q + d for p, q in self.events() for a, d in stated)


def promises() -> dict[str, Promised]:
    """Optima of problems under such notions."""
    notions = [GaussianLDP(0.5), GaussianLDP("7/4"), CurveLDP([(0.5, 0.1), ("log(3)", 0.02)])]
    found = {}
    for notion in notions:
        masses = lo.solve(lo.Problem([0.5, 0.3, 0.2], "identity", notion)).mechanism.masses
        rows = [[Fraction(int(mass), 2**53) for mass in row] for row in masses]
        found[repr(notion)] = Promised(notion, rows)
    return found


TRUTHS: dict[tuple[str, str], Callable[[Any, str], bool]] = {
    ("definition", "gaussian"): lambda world, text: world.is_gaussian(text),
    ("definition", "curve"): lambda world, text: world.is_curve(text),
    ("guess", "all pairs"): lambda world, text: (
        guess_is_true(world, text) and not any(world.leaves_out)
    ),
    ("guess", "some pairs"): lambda world, text: (
        guess_is_true(world, text) and all(world.leaves_out) and names_pairs(world, text)
    ),
    ("guess", "some pairs of some questions"): lambda world, text: (
        guess_is_true(world, text)
        and any(world.leaves_out)
        and not all(world.leaves_out)
        and names_pairs(world, text)
    ),
    ("compared", "all"): lambda world, text: all(
        pairs == every(len(rows)) for rows, pairs, _ in world.parts
    ),
    ("compared", "one order"): lambda world, text: (
        not any(world.leaves_out)
        and any(pairs != every(len(rows)) for rows, pairs, _ in world.parts)
    ),
    ("compared", "some"): lambda world, text: all(world.leaves_out),
    ("compared", "some of some questions"): lambda world, text: (
        any(world.leaves_out) and not all(world.leaves_out)
    ),
    ("attained", "perhaps not"): lambda world, text: not world.curve.is_attained,
    ("answers", "fixed"): lambda world, text: (
        "before anybody sees a report" in text and is_reached(world, world.best)
    ),
    ("answers", "adaptive"): lambda world, text: (
        "chosen by earlier reports, too" in text and holds_for_strategies(world)
    ),
    ("no witness", "equal"): lambda world, text: world.is_equal,
    ("no witness", "equal averages"): lambda world, text: world.is_equal,
    ("no witness", "within"): lambda world, text: not world.exceeds() and not world.is_equal,
    ("smallest delta", "none"): lambda world, text: (
        world.epsilon is None
        and any(
            p and not q
            for x, other in world.pairs
            for p, q in zip(world.rows[x], world.rows[other], strict=True)
        )
    ),
    ("smallest delta", "number"): lambda world, text: world.least_delta(text),
    ("standing", "optimum"): lambda world, text: (
        Fraction(world.value) * (1 - Fraction(1, 999)) <= Fraction(world.bound)
    ),
    ("standing", "best found"): lambda world, text: (
        Fraction(world.value)
        <= Fraction(world.bound) * Fraction(re.findall("[0-9.]+", text)[0])
        <= Fraction(world.value) * Fraction(1001, 1000)
    ),
    ("standing", "no bound"): lambda world, text: world.bound <= 0,
    ("own mechanism", "no optimum"): lambda world, text: world.odds == math.inf,
    ("own mechanism", "best found"): lambda world, text: (
        world.gap > 1e-3 and says_people(world, text)
    ),
    ("own mechanism", "as few people"): lambda world, text: (
        world.odds < math.inf and world.gap <= 1e-3 and abs(world.people - 1) <= 1e-3
    ),
    ("own mechanism", "more people"): lambda world, text: (
        world.gap <= 1e-3 and says_people(world, text)
    ),
    ("note: no privacy cost", "one input"): lambda world, text: len(world.counts) == 1,
    ("note: no privacy cost", "constant"): lambda world, text: world.equals(
        every(len(world.counts))
    ),
    ("note: no privacy cost", "equal"): lambda world, text: world.equals(world.pairs),
    ("note: delta", "all mechanisms"): lambda world, text: (
        world.solution.problem.privacy.delta == 1
    ),
    ("note: masses", "widest ratio"): lambda world, text: (
        math.exp(-float(world.solution.problem.privacy.epsilon)) < 2.0**-53
        and float(re.findall("epsilon of ([0-9.]+)", text)[0])
        == float(world.solution.problem.privacy.epsilon)
    ),
}
"""By topic and sentence: whether it is true."""

ONLY_OF_PLUG_INS = {("no witness", "unknown")}


def printed() -> Iterator[tuple[str, str, str, Any, str]]:
    """Design, topic, sentence, world, and the text that is printed."""

    def of(name: str, world: Any, topic: Any, facts: Any) -> Iterator[Any]:
        sentence = topic.chosen(facts)
        if sentence is not None:
            yield name, topic.name, sentence.name, world, sentence.about(facts)

    for name, world in ACCOUNTS.items():
        curve = world.curve
        guess = GuessFacts.of(curve.sources, curve.group, curve.guess(), curve.answers)
        yield from of(name, world, of_accounts.GUESS, guess)
        yield from of(name, world, of_accounts.COMPARED, curve.sources)
        yield from of(name, world, of_accounts.ATTAINED, curve)
        yield from of(name, world, of_accounts.ANSWERS, curve)
    for name, audited in audits().items():
        yield from of(name, audited, of_audits.DELTA, audited.audit)
        if audited.audit.witness is None:
            yield from of(name, audited, of_audits.NO_WITNESS, audited.audit)
    for name, promised in promises().items():
        facts = PrivacyFacts(promised.privacy)
        yield from of(name, promised, of_definitions.DEFINITION, facts)
    for name, design in designs().items():
        yield from of(name, design, of_designs.STANDING, design)
    for name, compared in own_rows().items():
        yield from of(name, compared, of_designs.OWN, compared.row)
    for name, solved in solutions().items():
        budget = BudgetFacts.of(solved.solution.problem, solved.solution.mechanism)
        for topic in of_solutions.TOPICS:
            yield from of(name, solved, topic, budget)


def test_every_sentence_on_numbers_is_true_where_it_is_printed() -> None:
    seen = set()
    for name, topic, sentence, world, text in printed():
        seen.add((topic, sentence))
        assert TRUTHS[topic, sentence](world, text), f"{name}: {topic}: {text!r} is false"
    rows = {(topic.name, each.name) for topic in TOPICS.values() for each in topic.sentences}
    assert rows == set(TRUTHS) | ONLY_OF_PLUG_INS, "each sentence needs its truth"
    assert seen == set(TRUTHS), "nothing in this test prints these"


@pytest.mark.parametrize("name", ENUMERATED)
def test_an_account_that_says_nothing_of_its_bound_is_attained(name: str) -> None:
    """By one pair of answers at every level, or at each level by a strategy of the person."""
    world = ACCOUNTS[name]
    if not world.curve.is_attained:
        pytest.skip("it is said to be a bound")
    levels = [0.0, 0.3, 1.0, 2.5]
    shown = [world.curve.delta(level) for level in levels]
    ratios = [Fraction(math.exp(level)) for level in levels]
    if isinstance(world, ShuffledAccount):
        found = [max(world.excesses(ratio)) for ratio in ratios]
    else:
        found = [world.best(ratio) for ratio in ratios]
    assert all(abs(delta - best) < 1e-9 for delta, best in zip(shown, found, strict=True))


def test_the_notes_and_rows_are_those_of_the_registry() -> None:
    """What is printed comes from the topics."""
    for name, solved in solutions().items():
        facts = BudgetFacts.of(solved.solution.problem, solved.solution.mechanism)
        said = [text for topic in of_solutions.TOPICS if (text := topic.say(facts))]
        assert [note for note in solved.solution.notes if note in said] == said, name
    for audited in audits().values():
        parts = dict(audited.audit.facts().parts)
        assert parts["smallest delta"] == of_audits.DELTA.say(audited.audit)
        if audited.audit.witness is None:
            assert parts["witness"] == of_audits.NO_WITNESS.say(audited.audit)
    for world in ACCOUNTS.values():
        curve = world.curve
        guess = GuessFacts.of(curve.sources, curve.group, curve.guess(), curve.answers)
        assert curve.in_words == of_accounts.GUESS.say(guess)
        assert ("compared", of_accounts.COMPARED.say(curve.sources)) in curve.facts().parts


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**12), st.integers(1, 12))
def test_at_least_is_rounded_down_and_at_most_up(number: Fraction, digits: int) -> None:
    low, high = (Fraction(write(number, digits)) for write in (below_text, above_text))
    assert low <= number <= high
    assert high - low <= number * Fraction(10) ** (1 - digits)


# Code has no claims of its own.

PRINTING = {
    *("facts", "notes", "_notes", "standing", "in_words", "numbers_text", "residual_facts"),
    *("_few_reports", "_cost_of_repair", "with_constant_report", "why_not_estimable"),
    *("caps_in_words", "within"),
}
"""Functions whose texts are printed, beside all functions of the command line."""

NOT_PRINTED = {"option", "new_file", "Option", "Argument", "refuse", "BadParameter", "working"}
"""Functions whose texts are messages of errors, help, or progress."""


def texts_of(function: ast.FunctionDef) -> Iterator[str]:
    """The texts in a function that are printed."""
    skipped: set[int] = set()
    for node in ast.walk(function):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", ""))
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if (
            isinstance(node, ast.Raise)
            or name in NOT_PRINTED
            or name.endswith(("Error", "error"))
            or names & {"problem", "do", "what"}
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ):
            skipped |= {id(part) for part in ast.walk(node)}
    for statement in function.body:
        for node in ast.walk(statement):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.JoinedStr):
                skipped |= {id(part) for part in ast.walk(node)}
                words = [v.value if isinstance(v, ast.Constant) else "_" for v in node.values]
                yield " ".join("".join(map(str, words)).split())
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield " ".join(node.value.split())


def claims() -> set[str]:
    """Texts of three words or more with the words of a claim that code prints."""
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text("utf-8")
        if "cli" not in path.parts and not any(f"def {name}(" in source for name in PRINTING):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and ("cli" in path.parts or node.name in PRINTING):
                found |= {
                    text
                    for text in texts_of(node)
                    if len(text.split()) > 2 and test_sentences.CLAIM.search(text)
                }
    return found


IF_TRUE = "printed under the condition that it states"
EXACT = "computed for all pairs, and compared with enumeration in the tests of audits"
NO_CLAIM = "no claim on privacy or accuracy"
ALWAYS = {
    "_: the same answers for all choices? chi-square _ with _ _ of freedom, p-value _; "
    "the estimate does not depend on it": "docs/theory/choices.md, proposition 5; none is chosen",
    "each person chooses epsilon: _; the budgets above are those of the largest": (
        "of a statement; budgets are divided for the last choice, they ascend"
    ),
    "each person spends _; _": "the audited odds of a person; with choices the largest",
    "influence at most": "a heading of the caps of a design, which its certificate proves",
    "_ % of _ people may send anything: root mean squared error _, the square at most _ % above "
    "the least one": "of designs for liars only; both numbers are those of their certificate",
    "; the middle of the range of each number, without reports, errs by at most _": (
        "of designs for so many liars that the error of their certificate is above half of a span"
    ),
    "; it takes all reports as true": "of p-values beside widened intervals, which are not widened",
    "Best of _ problems_": "a title; each has its own certificate",
    "a false report counts as _ people or more, by any mechanism": (
        "the least influence of epsilon-private reports; docs/theory/influence.md, with its proof"
    ),
    "influence: as how many people a false report counts at most": "a title of a column",
    "level, at most": "a heading; kept for any number of looks, docs/theory/tests.md, theorem 4",
    "lowers by at most": "a heading of a column of an influence, the largest over all answers",
    "raises by at most": "a heading of a column of an influence, the largest over all answers",
    "(all rows are equal)": "of an audit without a claim, which compares all pairs: no witness",
    "(no __ beside it)": NO_CLAIM,
    ", design effect _ if weights are unrelated to the answers, and at most _": (
        "the two effects of the weights; the second is lemma 8 of docs/theory/surveys.md"
    ),
    "_, at most": "the heading of what follows from the second of these effects",
    "Private channel for a convex utility": "a title; value and bound stand under it",
    "Certificate of a private channel": "a title; achieved, bound and the audit stand under it",
    "note: the numbers are for as many people with each mechanism, by the column _": (
        "the plan takes equal numbers; compared with formula in tests/unit/surveys/test_models.py"
    ),
    "best of two reports": "over all channels of two reports, compared with all partitions",
    ", all at once": "of simultaneous intervals, whose coverage is simulated elsewhere",
    "--kind polytope draws all mechanisms of a model, and a JSON file has one": NO_CLAIM,
    r"Audit over all pairs of answers: true $\varepsilon$ = _": EXACT,
    "What all reports reveal together": NO_CLAIM,
    "_ bounds no ratio of probabilities: there is a delta for each epsilon, as "
    "audit(mechanism).delta_at(epsilon) says": "the curve is vertical at the origin",
    "_ is not protected: the groups are those of the table as it was collected": (
        "a column with reports is refused as a group"
    ),
    "_ surveys for each row_": NO_CLAIM,
    "_ used for _ answers: frequencies cannot be estimated from them; `design` finds what can": (
        "fewer reports than answers have a smaller rank"
    ),
    "_: _ links; give each person one, then delete the file": NO_CLAIM,
    "_: are the answers the same in all groups of": NO_CLAIM,
    "_; Holm's is right for all rows together": "of p-values that were adjusted by Holm's method",
    "_; `ldpopt design` finds the best one for them": NO_CLAIM,
    "Each person has one of _ mechanisms, which the column _ names, and the numbers below are for "
    "as many people with each.": "of questions with such a column; the numbers are simulated",
    "_, and all certificates hold": "after all were checked",
    "best guess of two answers": NO_CLAIM,
    "all pairs of answers": "of an account whose sources name no pairs",
    "note: _: the means are shares of all people; `survey estimate` divides them by 1 less the "
    "means of _": "tests/cli/test_choices_and_repeats.py divides them, and gets the estimates",
    "half-width: of the 95 % interval of the share that is known least, if all answer": (
        "the plan's half-width at the worst distribution; compared in tests/unit/fieldwork"
    ),
    "note: _: as if all answers to the questions before were equally common; "
    "survey.precision(others=) takes a guess of them": "what the plan assumes of gates",
    'note: _: as if nobody were careless; survey.precision(prior={..., "inconsistent": share}) '
    "takes a guess": "of repeated questions; tests/unit/surveys/test_repeat.py has the variances",
    "note: _: differences of shares if nobody is careless": (
        "of repeated questions, whose numbers are those of all people if nobody is careless"
    ),
    "note: _: differences of shares of all people, not of those who are asked": (
        "of questions that not everybody is asked"
    ),
    "note: name the survey (--survey) to have the meaning of each report in the file": NO_CLAIM,
    "warning: groups of fewer than _ people (_) cost privacy and tell nothing: merge them": (
        "advice on the half-widths that are printed beside it"
    ),
    "cannot copy the examples": NO_CLAIM,
    "cannot make the folder": NO_CLAIM,
    "delta at most": "heading of certified numbers",
    "delta curve (every event, all pairs of answers)": EXACT,
    "frequencies cannot be estimated from this mechanism: _": "decided in rationals",
    "making the channel exactly private changed its value _": IF_TRUE,
    "name each column once": NO_CLAIM,
    "no mechanism: _": NO_CLAIM,
    "no method found a mechanism in time: this one reports _ whatever the answer": IF_TRUE,
    "no point has a solution: _ | do: _": NO_CLAIM,
    "no private report has less than _, relative gap _": "certified, and rounded down",
    "note: anybody who knows the --seed can undo the draws; use it for tests only": IF_TRUE,
    "note: no prior is given; the _ answers are drawn with equal probabilities": NO_CLAIM,
    "note: not protected: _": "of columns that are copied",
    "note: the table has a header and no rows": NO_CLAIM,
    "off by at most _": "certified residuals",
    "one report on all questions: _": "of the scheme joint, which it defines",
    "right with probability at most _ (0.5 without reports)": "the guess of the registry",
    "the mechanism with the best average for the same numbers, its worst number": (
        "a certified optimum, or subset selection"
    ),
    "the time limit ended the list: these are not all extreme points": IF_TRUE,
    "variance _ of one person's numbers in all": NO_CLAIM,
}
"""Texts with the words of a claim that code prints, and why no row is needed."""


def test_no_claim_stands_in_code() -> None:
    found = claims()
    new = found - set(ALWAYS)
    assert not new, f"make a row of a registry of each, with its condition: {sorted(new)}"
    assert set(ALWAYS) == found, "these stand in no code any more"


def cells() -> Iterator[tuple[str, str, bool]]:
    """Design, topic with sentence, and whether it is true there, of both registries."""
    for name, topic, sentence, is_true in test_sentences.rows_of_the_table():
        yield name, f"{topic}: {sentence}", is_true
    for name, topic, sentence, world, text in printed():
        yield name, f"{topic}: {sentence}", bool(TRUTHS[topic, sentence](world, text))


def print_table(place: int, heading: str) -> None:
    """A line for each sentence (place 1) or each design (place 0), with its cells."""
    rows: dict[str, list[tuple[str, str, bool]]] = {}
    every_cell = list(cells())
    for cell in every_cell:
        rows.setdefault(str(cell[place]), []).append(cell)
    print(f"| {heading} | cells | true | false in |\n|---|---|---|---|")
    for name, found in {**rows, "all": every_cell}.items():
        false = [str(cell[1 - place]) for cell in found if not cell[2]]
        print(f"| {name} | {len(found)} | {len(found) - len(false)} | {'; '.join(false)} |")


if __name__ == "__main__":
    print_table(1, "sentence")
    print()
    print_table(0, "design")
