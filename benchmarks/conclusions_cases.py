"""What `conclusions.py` measures: exact sums over numbers of reports, and simulated surveys, by the
library's own estimates, differences, quantiles, tests, samples and regressions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import populations
import regression
from scipy.stats import binom, hypergeom

from ldpopt import (
    Mechanism,
    PureLDP,
    ReportModel,
    Sample,
    Survey,
    Workload,
    design,
    estimate_frequencies,
    regress,
    techniques,
)
from ldpopt.errors import LimitReachedError
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.differences import DifferenceBand
from ldpopt.estimation.intervals import normal_quantile
from ldpopt.estimation.significance import independence

Z = normal_quantile(0.95)
RARE = 1e-9  # outcomes below this probability are left out of exact sums


@dataclass(frozen=True)
class Row:
    """One line: figures of a kind of survey, and the range in which they should be."""

    kind: str
    figures: tuple[float, ...]
    least: float
    most: float
    surveys: int = 0  # 0: an exact sum

    @property
    def error(self) -> float:
        """Largest standard error of a figure at the nearer end of its range."""
        share = max(0.5 - abs(0.5 - self.least), 0.5 - abs(0.5 - self.most))
        return float(np.sqrt(share * (1 - share) / self.surveys)) if self.surveys else 0.0

    @property
    def beyond(self) -> float:
        """Distance of the worst figure to the range, 0 inside."""
        away = [max(self.least - each, each - self.most, 0.0) for each in self.figures]
        return max(away)

    @property
    def is_missed(self) -> bool:
        """Whether that is more than 4 standard errors."""
        return self.beyond > 4 * self.error + 1e-12


def coin(epsilon: float) -> Mechanism:
    """Randomized response of a yes/no question."""
    return regression.response(2, epsilon, ["no", "yes"])


@dataclass(frozen=True)
class Shares:
    """Estimates of a share by the library for each number of yes of ``n`` reports."""

    truth: float  # probability of a true report
    values: Any
    ends: Any

    def __getitem__(self, chosen: Any) -> Listed:
        return Listed(self.values[chosen], self.ends[chosen])

    def law(self, share: float) -> Any:
        """Probability of each number of yes."""
        n = len(self.values) - 1
        return binom.pmf(np.arange(n + 1), n, 1 - self.truth + (2 * self.truth - 1) * share)


@dataclass(frozen=True)
class Listed:
    """Some of them, as the band of independent numbers."""

    values: Any
    interval: Any
    covariance: None = None
    influence_values: None = None
    freedom: float = np.inf

    def ends(self, _: Any) -> Any:
        return self.interval


@cache
def shares_of(epsilon: float, n: int) -> Shares:
    """All estimates from ``n`` reports."""
    law = coin(epsilon)
    every = [
        estimate_frequencies(law, {"no": n - k, "yes": k}, check_fit=False) for k in range(n + 1)
    ]
    values = np.array([each.values[1] for each in every])
    ends = np.array([each.interval[1] for each in every])
    return Shares(float(law.channel[1, 1]), values, ends)


SIZES = ((30, 30), (30, 100), (100, 100), (1000, 1000))
PAIRS = (
    (0, 0),
    (0.02, 0.02),
    (0.1, 0.1),
    (0.5, 0.5),
    (0.1, 0.3),
    (0, 0.1),
    (0.5, 0.8),
    (0.98, 0.9),
)


def difference(epsilon: float, sizes: tuple[int, int], shares: tuple[float, float]) -> Any:
    """Coverage of a difference, and how often its interval excludes 0: exact sums."""
    first, second = (shares_of(epsilon, n) for n in sizes)
    laws = first.law(shares[0]), second.law(shares[1])
    rows, columns = (np.flatnonzero(law > RARE) for law in laws)
    i, j = (each.ravel() for each in np.meshgrid(rows, columns, indexing="ij"))
    low, high = DifferenceBand(first[i], second[j]).ends(Z).T  # type: ignore[arg-type]
    chance = laws[0][i] * laws[1][j]
    truth = shares[0] - shares[1]
    covers = chance[(low <= truth) & (truth <= high)].sum() / chance.sum()
    return float(covers), float(chance[(low > 0) | (high < 0)].sum() / chance.sum())


def differences(sizes: Any = SIZES) -> Iterator[Row]:
    """Cells of two groups: coverage at eight pairs of shares, size at four."""
    for epsilon in (0.8, 2.0, 8.0):
        for pair in sizes:
            found = {shares: difference(epsilon, pair, shares) for shares in PAIRS}
            name = f"epsilon {epsilon:g}, {pair[0]} and {pair[1]} people"
            covers = [cover for cover, _ in found.values()]
            size = [reject for shares, (_, reject) in found.items() if shares[0] == shares[1]]
            yield Row(f"coverage, {name}", (min(covers), max(covers)), 0.93, 1.0)
            yield Row(f"size, {name}", (min(size), max(size)), 0.0, 0.0565)


AGES = np.array([15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 100.0])
PEOPLE = np.array([336, 453, 433, 236, 155, 175, 165, 154, 115, 91, 50, 79])
QUANTILES = (0.1, 0.5, 0.9)


def quantiles(surveys: int, sizes: tuple[int, ...] = (300, 3000)) -> Iterator[Row]:
    """Ages of a real population in 12 classes, by randomized response and by the design for the
    distribution function."""
    prior = PEOPLE / PEOPLE.sum()
    heights = np.append(0, np.cumsum(prior))
    truth = np.interp(QUANTILES, heights, AGES)
    labels = np.searchsorted(heights[1:], QUANTILES)
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        response = regression.response(12, epsilon, list(range(12)))
        best = design(Workload.prefix(12), PureLDP(epsilon))
        for name, source in (("randomized response", response), ("design", best)):
            law = getattr(source, "mechanism", source)
            for n in sizes:
                rng = np.random.default_rng([round(10 * epsilon), n])
                hits = np.zeros((2, 3))
                for seen in rng.multinomial(n, prior @ law.channel, size=surveys):
                    reports = dict(zip(law.outputs, seen.tolist(), strict=True))
                    found = (
                        estimate_frequencies(law, reports, check_fit=False)
                        if source is law
                        else source.estimate(reports, check_fit=False)
                    )
                    for k, p in enumerate(QUANTILES):
                        low, high = found.quantile(p, edges=AGES).interval[0]
                        hits[0, k] += low <= truth[k] <= high
                        first, last = found.quantile(p).interval[0]
                        hits[1, k] += first <= labels[k] <= last
                figures = tuple((hits / surveys).ravel().tolist())
                words = f"{name}, epsilon {epsilon:g}, {n} people"
                yield Row(words, figures, 0.93, 1.0, surveys)


def subsets(n: int, k: int, epsilon: float) -> Mechanism:
    """Subset selection: sets of ``k`` answers, those with the true one likelier."""
    rows = [
        [np.exp(epsilon) if x in s else 1.0 for s in combinations(range(n), k)] for x in range(n)
    ]
    return Mechanism(np.array(rows) / np.sum(rows, axis=1, keepdims=True))


def tables(epsilon: float) -> dict[str, tuple[Mechanism, Mechanism, Any, Any]]:
    """Pairs of independent answers: channels and shares."""
    two, three, four = (regression.response(n, epsilon) for n in (2, 3, 4))
    groups = Mechanism(np.eye(3))
    return {
        "2 x 2": (two, two, [0.5, 0.5], [0.3, 0.7]),
        "2 x 2, rare": (two, two, [0.95, 0.05], [0.9, 0.1]),
        "3 x 4": (three, four, [0.6, 0.3, 0.1], [0.4, 0.3, 0.2, 0.1]),
        "2 x 5, sets of 2": (two, subsets(5, 2, epsilon), [0.7, 0.3], [0.4, 0.3, 0.1, 0.1, 0.1]),
        "3 groups x 4": (groups, four, [0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1]),
    }


def rejected(surveys: int, sizes: tuple[int, ...]) -> Iterator[Row]:
    """How often the tests at .05 reject what is true."""
    for epsilon in (0.8, 2.0, 8.0):
        for name, (one, two, first, second) in tables(epsilon).items():
            law = np.outer(first @ one.channel, second @ two.channel)
            figures = []
            for n in sizes:
                rng = np.random.default_rng([round(10 * epsilon), n, *name.encode()])
                drawn = rng.multinomial(n, law.ravel() / law.sum(), size=surveys)
                p_values = [
                    independence(seen, seen, (one.channel, two.channel), "").p_value
                    for seen in drawn.reshape(-1, *law.shape).astype(float)
                ]
                figures.append(float(np.mean(np.array(p_values) < 0.05)))
            yield Row(
                f"independence, {name}, epsilon {epsilon:g}", tuple(figures), 0.03, 0.075, surveys
            )
        four, shares = regression.response(4, epsilon), np.array([0.4, 0.3, 0.2, 0.1])
        figures = []
        for n in sizes:
            rng = np.random.default_rng([round(10 * epsilon), n])
            drawn = rng.multinomial(n, shares @ four.channel, size=surveys)
            each = [
                estimate_frequencies(four, dict(enumerate(seen.tolist())), check_fit=False)
                for seen in drawn
            ]
            figures.append(float(np.mean([one.test(shares).p_value < 0.05 for one in each])))
        yield Row(f"shares of 4, epsilon {epsilon:g}", tuple(figures), 0.03, 0.075, surveys)


def rejected_weighted(surveys: int, sizes: tuple[int, ...]) -> Iterator[Row]:
    """The same of four answers whose people have the weights 1, 1.5, 2.5, 4: given shares, and
    three groups that answer alike."""
    heavy, shares = np.array([1.0, 1.5, 2.5, 4.0]), np.array([0.4, 0.3, 0.2, 0.1])
    reached = shares / heavy / (shares / heavy).sum()
    for epsilon in (0.8, 2.0, 8.0):
        four = regression.response(4, epsilon)
        chance = np.einsum("g,w,wy->wgy", [0.5, 0.3, 0.2], reached, four.channel)
        figures = []
        for n in sizes:
            rng = np.random.default_rng([round(10 * epsilon), n])
            drawn = rng.multinomial(n, chance.ravel() / chance.sum(), size=surveys)
            hits = np.zeros(2)
            for seen in drawn.reshape(-1, *chance.shape):
                sums, squares = (np.tensordot(each, seen, 1) for each in (heavy, heavy**2))
                of_all = counts_of(four, sums.sum(axis=0), squares.sum(axis=0), n)
                found = estimate_frequencies(four, of_all, check_fit=False)
                hits[0] += found.test(shares).p_value < 0.05
                test = independence(sums, squares, (np.eye(3), four.channel), "")
                hits[1] += test.p_value < 0.05
            figures += (hits / surveys).tolist()
        yield Row(
            f"weighted shares, groups, epsilon {epsilon:g}", tuple(figures), 0.03, 0.075, surveys
        )


def counts_of(law: Mechanism, values: Any, squares: Any, people: int) -> Counts:
    """Counts of people with weights."""
    totals = float(values.sum()), float(squares.sum())
    return Counts(source_of(law, "").digest, law.outputs, values, squares, *totals, people)


# by the prototype: related weights, 20 000 surveys
RELATED = {(0.8, 150): 0.944, (0.8, 1500): 0.949, (2.0, 150): 0.926, (2.0, 1500): 0.947,
           (8.0, 150): 0.916, (8.0, 1500): 0.950}  # fmt: skip


def weights(surveys: int) -> Iterator[Row]:
    """Shares of .10, weights 1 and 5: those who say yes have 5, or one of five people has."""
    heavy = np.array([1.0, 5.0])
    for (epsilon, n), expected in RELATED.items():
        law = coin(epsilon)
        for name in ("related", "unrelated"):
            share = np.array([0.9, 0.1])
            cells = np.outer(share, [0.8, 0.2]) if name == "unrelated" else np.diag(share / heavy)
            chance = np.einsum("xw,xy->wy", cells / cells.sum(), law.channel)
            rng = np.random.default_rng([round(10 * epsilon), n])
            hits = 0
            for seen in rng.multinomial(n, chance.ravel() / chance.sum(), size=surveys):
                table = seen.reshape(2, 2)
                counts = counts_of(law, heavy @ table, heavy**2 @ table, n)
                low, high = estimate_frequencies(law, counts, check_fit=False).interval[1]
                hits += low <= 0.1 <= high
            middle = expected if name == "related" else 0.951
            figures = (hits / surveys,)
            words = f"weights {name}, epsilon {epsilon:g}, {n} people"
            yield Row(words, figures, middle - 0.015, middle + 0.015, surveys)


def finite(epsilon: float, people: int, share: float, population: int = 500) -> float:
    """Coverage of a share of a finite population, an exact sum over numbers of yes."""
    law = coin(epsilon)
    survey, sample = Survey({"q": law}), Sample(population=population)
    carriers = round(share * population)
    own = np.arange(people + 1)
    chance = np.zeros(people + 1)
    for x, weight in zip(own, hypergeom.pmf(own, population, carriers, people), strict=True):
        if weight > RARE:
            yes = binom.pmf(np.arange(x + 1), x, law.channel[1, 1])
            others = binom.pmf(np.arange(people - x + 1), people - x, law.channel[0, 1])
            chance += weight * np.convolve(yes, others)
    covered = 0.0
    for k in np.flatnonzero(chance > 1e-7):
        table = pd.DataFrame({"q": np.repeat(["yes", "no"], [k, people - k])})
        low, high = survey.estimate(table, sample=sample, check_fit=False)["q"].interval[1]
        covered += chance[k] * (low <= carriers / population <= high)
    return float(covered / chance[chance > 1e-7].sum())


def samples(surveys: int) -> Iterator[Row]:
    """Finite populations by exact sums; strata, classes and margins by simulation."""
    warnings.simplefilter("ignore")
    for people in (200, 500):
        for share in (0.05, 0.374):
            figures = tuple(finite(epsilon, people, share) for epsilon in (1.0, 4.0))
            yield Row(f"{people} of 500, share {share:g}, epsilon 1 and 4", figures, 0.93, 0.97)
    # 500 reports of which the noise changes one in every six surveys: its interval cannot see it
    yield Row("500 of 500, share 0.374, epsilon 8", (finite(8.0, 500, 0.374),), 0.84, 0.97)
    for kind in populations.KINDS[4:]:
        figures = tuple(covered_by(kind, epsilon, surveys) for epsilon in populations.BUDGETS)
        yield Row(f"{kind.title}, epsilon 1 and 4", figures, 0.93, 0.97, surveys)


def covered_by(kind: populations.Kind, epsilon: float, surveys: int) -> float:
    """Coverage of the share of yes by the sample."""
    survey = populations.coin(epsilon)
    hits = 0
    for table in populations.tables(kind, epsilon, surveys):
        found = survey.estimate(table, sample=kind.sample, check_fit=False)["q"]
        low, high = found.interval[1]
        hits += low <= kind.truth <= high
    return hits / surveys


def regressions(surveys: int) -> Iterator[Row]:
    """Protected outcomes, covariates and both; the test of a coefficient that is 0."""
    for case in regression.CASES[:15]:
        covers, refused = regression.covered(case, surveys)
        figures = tuple(covers.tolist())
        yield Row(f"{case.name}, {case.people} people", figures, 0.925, 0.99, surveys - refused)
    for case in regression.CASES[:6:2]:
        rng = np.random.default_rng(2)
        ratio, wald, done = 0, 0, 0
        for _ in range(round(2.5 * surveys)):
            try:
                found = regress(case.formula, case.draw(rng), case.protected)
                ratio += found.test("y ~ a").p_value < 0.05
            except LimitReachedError:
                continue
            wald += found.pvalues["b"] < 0.05
            done += 1
        yield Row(f"size of the likelihood ratio, {case.name}", (ratio / done,), 0.03, 0.075, done)
        yield Row(f"size of Wald's test, {case.name}", (wald / done,), 0.02, 0.075, done)


def cheating(people: int, truth: tuple[float, float, float]) -> tuple[Any, float]:
    """Coverage of the shares of no, yes and cheaters from two halves, an exact sum, and how often
    "nobody cheats" is rejected at .05 in favor of some."""
    model = techniques.cheating_detection("1/4", "3/4")
    half = people // 2
    laws = [
        binom.pmf(np.arange(half + 1), half, truth @ part.channel[:, 1]) for part in model.parts
    ]
    hits, rejected, total = np.zeros(3), 0.0, 0.0
    for first in np.flatnonzero(laws[0] > 1e-5):
        for second in np.flatnonzero(laws[1] > 1e-5):
            yes = {1: int(first), 2: int(second)}
            seen = {part: {"yes": k, "no": half - k} for part, k in yes.items()}
            found = model.estimate(seen, check_fit=False)
            low, high = found.interval.T
            chance = laws[0][first] * laws[1][second]
            hits += chance * ((low <= truth) & (truth <= high))
            rejected += chance * (found.at(0.9).interval[2, 0] > 0)
            total += chance
    return hits / total, float(rejected / total)


def anchored(surveys: int, careless: float, method: Any) -> float:
    """Coverage of the share among those who listen, by a crosswise and an anchor question."""
    q, share, n = 0.15, 0.2, 2000
    rows = [[(1 - a) * q, (1 - a) * (1 - q), a * q, a * (1 - q)] for a in (1 - q, q)]
    pairs = Mechanism(rows, ["no", "yes"], list(range(4)))
    model = ReportModel(pairs, behaviors={"careless": "uniform"})
    listening = (1 - careless) * np.array([1 - share, share])
    law = listening @ pairs.channel + careless / 4
    hits = 0
    rng = np.random.default_rng(7)
    for seen in rng.multinomial(n, law, size=surveys):
        reports = dict(enumerate(seen.tolist()))
        found = model.estimate(reports, method=method, followers=True, check_fit=False)
        low, high = found.interval[1]
        hits += low <= share <= high
    return hits / surveys


def behaviors(surveys: int, people: int = 400) -> Iterator[Row]:
    """Cheaters in two halves; careless people by an anchor question."""
    for truth in ((0.6, 0.3, 0.1), (0.5, 0.3, 0.2), (0.75, 0.25, 0.0)):
        covers, rejected = cheating(people, truth)
        words = f"{people} people, {truth[2]:g} cheat"
        yield Row(f"shares of no, yes, cheaters, {words}", tuple(covers.tolist()), 0.93, 0.97)
        if truth[2] == 0:
            sizes = (1 - float(covers[2]), rejected)
            yield Row(
                f"size of 'nobody cheats', two-sided and one-sided, {words}", sizes, 0.03, 0.075
            )
    for careless in (0.1, 0.3):
        for method in ("inversion", "maximum_likelihood"):
            figures = (anchored(surveys, careless, method),)
            words = f"anchor question, {careless:g} careless, {method.replace('_', ' ')}"
            yield Row(words, figures, 0.93, 0.97, surveys)
