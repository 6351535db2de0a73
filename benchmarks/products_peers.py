"""Tables of yes/no questions and a million labels beside their peers, and the coverage of their
intervals.

    python benchmarks/products_peers.py  # about an hour on one thread; --part peers: one section
    python benchmarks/products_peers.py --surveys 100   # fewer simulated surveys

Rewrites docs/measurements/products_peers.md. A peer is a channel, listed or by the sizes of its
sets, with the unbiased estimator that is best for equal weights; all are evaluated by the same
formula as the design in the same run. Seconds are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt import PureLDP, Workload, design
from ldpopt.certificate.frequency_certificate import SubsetRandomizer, best_size
from ldpopt.designing import literature
from ldpopt.estimation.estimate import interval_quantile
from ldpopt.estimation.intervals import binomial_intervals, share_intervals
from ldpopt.foundation.budget import Budget
from ldpopt.frequencies import (
    FrequencyProtocol,
    LinearHash,
    LocalHashing,
    RandomizedResponse,
    UnaryEncoding,
)

PAGE = Path(__file__).parent.parent / "docs" / "measurements" / "products_peers.md"
QUESTIONS = (6, 8)
WAYS = (1, 2, 3)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
LARGE_DESCENT = 64  # most answers for which the factorization is computed
LABELS = 10**6
PEOPLE = 10**6
LARGE = 10  # questions of the simulated surveys
LARGEST = 10  # labels that are listed
# Number of labels, budget, people, distribution of the answers, share of the surveys
HEAVY = [
    (10**4, 1.0, 10**4, "Zipf", 1.0),
    (10**4, 5.0, 10**4, "Zipf", 1.0),
    (10**4, 5.0, 10**4, "uniform", 1.0),
    (10**5, 5.0, 10**5, "Zipf", 1.0),
    (10**6, 1.0, 10**5, "Zipf", 0.2),
    (10**6, 5.0, 10**5, "Zipf", 0.1),
]
Rows = Iterator[list[Any]]


def bits_of(d: int) -> Any:
    """All answers to d yes/no questions, shape (2**d, d)."""
    return np.arange(2**d)[:, None] >> np.arange(d) & 1


def responses(signs: Any, shares: Any, epsilon: float) -> Any:
    """Channel that draws one row of signs by its share and reports it by randomized response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return np.hstack([shares * np.where(signs == side, truth, 1 - truth) for side in (1, -1)])


def parities(d: int, k: int) -> Any:
    """Signs of all parities of 1 to k questions, shape (2**d, L)."""
    answers = bits_of(d)
    chosen = [list(some) for j in range(1, k + 1) for some in combinations(range(d), j)]
    return np.stack([1 - 2 * (answers[:, some].sum(axis=1) % 2) for some in chosen], axis=1)


def one_marginal(d: int, k: int, epsilon: float, size: int) -> Any:
    """Channel of subset selection on the cells of one random table of k questions."""
    inside = literature.subset_selection(2**k, epsilon, size).channel
    answers = bits_of(d)
    tables = list(combinations(range(d), k))
    return np.hstack(
        [inside[answers[:, some] @ 2 ** np.arange(k)] / len(tables) for some in tables]
    )


def table_peers(d: int, k: int, epsilon: float) -> dict[str, float]:
    """Average variance of each peer."""
    workload = Workload.marginals([2] * d, k)
    n = 2**d
    diagonal = literature.centered_diagonal(workload)

    def of(channel: Any) -> float:
        """Average variance of the best unbiased estimator; the channel may tell fewer answers apart
        than there are."""
        information = (channel / channel.mean(axis=0)) @ channel.T
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        return float((inverse * workload.gram).sum() - np.trace(workload.gram) / n)

    signs = parities(d, k)
    tables = math.comb(d, k)
    split = SubsetRandomizer.of(
        2**k, best_size(2**k, Budget(epsilon / tables)), Budget(epsilon / tables)
    )
    return {
        "InpHT": of(responses(signs, np.full(signs.shape[1], 1 / signs.shape[1]), epsilon)),
        "parities, best shares": of(responses(signs, best_shares(workload, signs), epsilon)),
        "one table sampled": min(of(one_marginal(d, k, epsilon, size)) for size in range(1, 2**k)),
        "joint table": min(
            float(literature.subset_selection(n, epsilon, size).variances(diagonal).mean())
            for size in range(1, n)
        ),
        "Hadamard response": min(
            of(literature.hadamard_response(n, epsilon, 1 << h)) for h in range(d - 1)
        ),
        "local hashing": min(
            float(literature.local_hashing(n, epsilon, g).variances(diagonal).mean())
            for g in range(2, n)
        ),
        "factorization": of(literature.factorization(workload, epsilon, starts=1))
        if n <= LARGE_DESCENT
        else math.nan,
        "budget split": tables * float(split.total_variance),
    }


def best_shares(workload: Workload, signs: Any) -> Any:
    """Shares of the parities with the least variance: as the roots of their weights in the
    workload."""
    roots = np.sqrt(np.einsum("xi,xy,yi->i", signs, workload.gram, signs, optimize=True))
    return roots / roots.sum()


def peer_rows() -> Rows:
    """A row for each workload and budget."""
    for d, k, epsilon in product(QUESTIONS, WAYS, BUDGETS):
        begun = time.process_time()
        best = design(Workload.marginals([2] * d, k), PureLDP(epsilon), gap=1e-3, time_limit=120.0)
        spent = time.process_time() - begun
        ratios = [value / best.value for value in table_peers(d, k, epsilon).values()]
        cells = ["" if math.isnan(ratio) else f"{ratio:.3f}" for ratio in ratios]
        yield [d, k, epsilon, f"{best.value:.6g}", f"{spent:.1f}", best.bits, *cells]


def optimum(epsilon: float) -> float:
    """Least total variance of a million frequencies."""
    budget = Budget(epsilon)
    return float(SubsetRandomizer.of(LABELS, best_size(LABELS, budget), budget).total_variance)


def hadamard_ratio(epsilon: float) -> tuple[float, int]:
    """Ratio of Hadamard response to the optimum with the best number of blocks, for many labels."""
    # A set is half of one of h blocks: contrasts within a block have the information of 1/(4 h), in
    # place of the a (1 - a) of independent sets with the share a = 1/(2 h).
    base = math.exp(-epsilon)

    def ratio(h: int) -> float:
        share = 1 / (2 * h)
        return (base + (1 - base) * share) ** 2 * h / base

    return min((ratio(1 << power), 1 << power) for power in range(12))


def answers_of(n: int, people: int, kind: str, seed: int = 20) -> Any:
    """Answers of people; by Zipf's law the shares fall as one over the rank."""
    if kind == "uniform":
        return np.arange(people) % n
    shares = 1 / np.arange(1, n + 1)
    return np.random.default_rng(seed).choice(n, people, p=shares / shares.sum())


def linear_row(epsilon: float, public: bool) -> list[Any]:
    """Reports, times and errors of a linear hash for a million labels, in a process of its own."""
    protocol = LinearHash(LABELS, epsilon, public)
    answers = answers_of(LABELS, PEOPLE, "Zipf")
    begun = time.process_time()
    reports = protocol.privatize(answers, rng=1)
    drawn = time.process_time()
    support = protocol._support(reports, None)[0]
    done = time.process_time()
    p = float(protocol.p)
    q = float(protocol.q)
    truth = np.bincount(answers, minlength=LABELS) / PEOPLE
    error = (
        PEOPLE * (((support / PEOPLE - q) / (p - q) - truth) ** 2).sum() / protocol.total_variance
    )
    slack = float(1 - protocol.odds / Budget(epsilon).enclosure()[0])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    ratio = protocol.total_variance / optimum(epsilon)
    numbers = [
        f"{ratio:.4f}",
        f"{drawn - begun:.2f}",
        f"{done - drawn:.2f}",
        f"{error:.4f}",
        memory,
    ]
    coin = "public" if public else "private"
    return [
        epsilon,
        coin,
        protocol.elements,
        protocol.bits,
        *numbers,
        f"{protocol.audit().verdict}, {slack:.0e}",
    ]


def frequency_rows() -> Rows:
    """Linear hashes for each budget, each in a process of its own for its memory."""
    for epsilon in (1.0, 2.0, 3.0, 4.0, 5.0):
        for public in (False, True):
            code = (
                f"import products_peers as p; print('|'.join(map(str, p.linear_row({epsilon}, "
                f"{public}))))"
            )
            how: dict[str, Any] = {
                "capture_output": True,
                "text": True,
                "check": True,
                "cwd": Path(__file__).parent,
            }
            yield subprocess.run([sys.executable, "-c", code], **how).stdout.strip().split("|")


def published_rows() -> Rows:
    """Ratios and report lengths of published protocols for a million labels, by their formulas."""
    kinds: dict[str, Callable[[float], FrequencyProtocol]] = {
        "randomized response": lambda epsilon: RandomizedResponse(LABELS, epsilon),
        "unary encoding": lambda epsilon: UnaryEncoding(LABELS, epsilon),
        "local hashing": lambda epsilon: LocalHashing(LABELS, epsilon),
    }
    for name, make in kinds.items():
        made = {epsilon: make(float(epsilon)) for epsilon in range(1, 6)}
        cells = [f"{one.total_variance / optimum(epsilon):.4g}" for epsilon, one in made.items()]
        yield [name, *cells, f"{made[1].bits:,}"]
    found = [hadamard_ratio(epsilon) for epsilon in range(1, 6)]
    yield ["Hadamard response, best blocks", *(f"{ratio:.4g}" for ratio, _ in found), "21 to 22"]


def largest_rows(surveys: int) -> Rows:
    """Coverage of the intervals of the largest labels, all at once."""
    for n, epsilon, people, kind, part in HEAVY:
        protocol = LinearHash(n, epsilon)
        number = round(part * surveys)
        answers = answers_of(n, people, kind)
        truth = np.bincount(answers, minlength=n) / people
        hits = np.zeros((number, 4), bool)
        widths = []
        p = float(protocol.p)
        q = float(protocol.q)
        joint, alone = (interval_quantile(0.95, n, simultaneous) for simultaneous in (True, False))
        for seed in range(number):
            counts = protocol.count(protocol.privatize(answers, rng=1000 + seed))
            found = protocol.largest(counts, LARGEST, check_fit=False)
            chosen = list(found.labels)  # type: ignore[arg-type]
            share = counts.values[chosen] / people
            parts = [
                binomial_intervals(share, 1 / people, joint),
                share_intervals(share, 1 / people, joint),
            ]
            parts.append(share_intervals(share, 1 / people, alone))
            each = [found.interval, *((part - q) / (p - q) for part in parts)]
            for place, ends in enumerate(each):
                hits[seed, place] = (
                    (ends[:, 0] <= truth[chosen]) & (truth[chosen] <= ends[:, 1])
                ).all()
            widths.append(np.ptp(found.interval, axis=1).mean() / np.ptp(each[1], axis=1).mean())
        shares = [f"{100 * share:.1f}" for share in hits.mean(axis=0)]
        yield [
            f"{n:,}",
            epsilon,
            f"{people:,}",
            kind,
            f"{number:,}",
            *shares,
            f"{np.mean(widths):.2f}",
        ]


def coverage_rows(surveys: int) -> Rows:
    """Coverage of the intervals of all tables of two of ten questions."""
    best = design(Workload.marginals([2] * LARGE, 2), PureLDP(1.0), gap=0.5)
    sparse = np.random.default_rng(5).dirichlet(np.full(2**LARGE, 0.05))
    falling = 1 / np.arange(1, 2**LARGE + 1)
    for name, people, shares in (
        ("few", 1000, sparse),
        ("few", 10_000, sparse),
        ("Zipf", 10_000, falling / falling.sum()),
    ):
        truth = np.asarray(best.workload.matrix) @ shares
        hits = np.zeros(len(truth))
        errors = []
        for seed in range(surveys):
            drawn = np.random.default_rng([seed, people]).choice(2**LARGE, people, p=shares)
            reports = best.privatize([best.workload.inputs[place] for place in drawn], rng=seed)
            found = best.estimate(reports, check_fit=False)
            errors.append((((found.values - truth) / found.std_error) ** 2).mean())
            low, high = found.interval.T
            hits += (low <= truth) & (truth <= high)
        cells = [f"{100 * share / surveys:.1f}" for share in (hits.mean(), hits.min(), hits.max())]
        yield [name, f"{people:,}", *cells, f"{np.mean(errors):.3f}"]


PARTS: dict[str, tuple[str, str, str]] = {
    "peers": (
        "Tables of yes/no questions",
        "questions|ways|epsilon|design|s|bits|InpHT|parities, best shares|one table "
        "sampled|joint table|"
        "Hadamard response|local hashing|factorization|budget split",
        "Average variance of the design, and the ratio of each peer's variance to it. "
        "InpHT: Cormode, Kulkarni and Srivastava 2018, one parity of equal shares; one table "
        "sampled: sets "
        "of the best size inside; joint table: subset selection of the best size on all "
        "combinations; Hadamard "
        "response with the best number of blocks, local hashing with the best number of buckets; "
        "factorization: "
        "McKenna, Maity, Mazumdar and Miklau 2020, one start of this library's descent, of six "
        "questions only; "
        "budget split: every table with its part of the budget.",
    ),
    "frequencies": (
        "A million labels in short reports",
        "epsilon|coin|q|bits|variance over optimum|encode s|decode s|error over formula|MB|audit, "
        "1 - odds / e^epsilon",
        "`LinearHash` with a million reports by Zipf's law. The optimum is that of `design`, with "
        "its bound in "
        "rationals; the odds are rationals, too, and the last column is how far they are below "
        "e^epsilon. Error: "
        "squared error of all million frequencies in this one survey over the formula. MB: peak of "
        "the whole process.",
    ),
    "published": (
        "Published protocols for a million labels",
        "protocol|epsilon 1|2|3|4|5|bits",
        "Variance over the optimum by formula. Decoding local hashing takes 10^12 steps for a "
        "million reports, unary "
        "encoding sends a million bits: neither is run. Hadamard response: in the limit of "
        "many labels.",
    ),
    "largest": (
        "The ten largest labels",
        "labels|epsilon|people|answers|surveys|`largest`, %|`estimate`, simultaneous, %|"
        "score intervals at its level, %|`estimate`, %|"
        "width of `largest` over simultaneous",
        "Share of surveys in which all ten 95 % intervals hold. The labels are chosen in each "
        "survey, the "
        "answers are the same in all. Intervals of `largest` and simultaneous ones of `estimate` "
        "are binomial; score "
        "intervals rest on the normal law, and fail at so extreme a level if few reports support "
        "a label.",
    ),
    "coverage": (
        "Tables of two of ten yes/no questions",
        "answers|people|average, %|least of 180, %|largest of 180, %|squared error over variance",
        "1024 combinations, 180 numbers, epsilon 1: share of 95 % intervals that hold in "
        "{surveys:,} surveys of people "
        "drawn at random, by `Design.estimate`. Answers: a few of the combinations have most of "
        "the people (Dirichlet, "
        "0.05), or shares fall as one over the rank.",
    ),
}


def main() -> None:
    """Measure and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=PARTS)
    options.add_argument("--surveys", type=int, default=1000)
    given = options.parse_args()
    rows: dict[str, Callable[[], Rows]] = {
        "peers": peer_rows,
        "frequencies": frequency_rows,
        "published": published_rows,
        "largest": lambda: largest_rows(given.surveys),
        "coverage": lambda: coverage_rows(given.surveys),
    }
    old = PAGE.read_text().split("\n## ")[1:] if PAGE.exists() else []
    sections = {
        title: text.strip("\n") for title, _, text in (section.partition("\n") for section in old)
    }
    for part, (title, headings, words) in PARTS.items():
        if given.part not in (None, part):
            continue
        lines = [f"| {headings.replace('|', ' | ')} |", "|---" * (headings.count("|") + 1) + "|"]
        for row in rows[part]():
            lines.append(f"| {' | '.join(map(str, row))} |")
            print(lines[-1], flush=True)
        sections[title] = words.format(surveys=given.surveys) + "\n\n" + "\n".join(lines)
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, one thread"
        title = "(measurements-products-peers)=\n# Yes/no questions and a million labels"
        head = f"{title}\n\n`benchmarks/products_peers.py`; {machine}, shared.\n"
        order = [title for title, _, _ in PARTS.values() if title in sections]
        PAGE.write_text(head + "".join(f"\n## {title}\n\n{sections[title]}\n" for title in order))


if __name__ == "__main__":
    main()
