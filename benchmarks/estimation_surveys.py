"""A thousand simulated surveys for every workload: errors beside what a design predicts, and the coverage of intervals.

    python benchmarks/estimation_surveys.py [SURVEYS]

Writes benchmarks/estimation_surveys.md. People are drawn from the true shares, their reports from the mechanism; each
survey goes through `Design.estimate`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design
from ldpopt.estimation.estimate import normal_quantile

SURVEYS, BUDGETS, SIZES = 1000, (0.5, 1.0, 2.0, 4.0), (30, 100, 1000, 10000)
CONFIDENCE, LOW = 0.95, 0.94
WORKLOADS = {
    "frequencies": Workload.frequencies(8),
    "prefix": Workload.prefix(10),
    "ranges": Workload.ranges(6),
    "mean": Workload.mean(range(10)),
    "means": Workload.means({"age": [18, 30, 42, 55, 67, 80], "income": [1, 3, 6, 5, 4, 2]}),
    "marginals": Workload.marginals([2, 3, 2], 2),
    "stack": Workload.prefix(7) + 2 * Workload.mean(range(7)),
    "custom": Workload(np.random.default_rng(12).standard_normal((4, 7))),
}
SHARES = {
    "falling": lambda n: 1.0 / np.arange(1, n + 1) ** 2,
    "one answer": lambda n: np.eye(n)[0],
}


def simulated(made, shares, size, surveys, rng):
    """Values, lower and upper ends and standard errors of many surveys: shape (surveys, k, 4)."""
    found = []
    for counts in rng.multinomial(size, shares @ made.mechanism.channel, surveys):
        estimate = made.estimate(dict(zip(made.mechanism.outputs, counts.tolist(), strict=True)), CONFIDENCE)
        found.append(np.column_stack([estimate.values, estimate.interval, estimate.std_error]))
    return np.array(found)


def measured(made, found, shares, size):
    """Errors in standard errors of the simulation; coverage by number, of these intervals and of plain normal ones."""
    matrix, surveys = made.workload.matrix, len(found)
    truth, moved = matrix @ shares, np.ptp(made.estimator, axis=1) > 1e-9  # what is known has no error
    values, low, high, error = np.moveaxis(found[:, moved], 2, 0)
    off = values - truth[moved]
    bias = off.mean(axis=0) / (values.std(axis=0, ddof=1) / np.sqrt(surveys))
    differ = shares @ (matrix**2).sum(axis=0) - np.sum(truth**2)
    predicted = (shares @ made.variance() + differ) / size
    squares = (off**2).sum(axis=1)
    square = float((squares.mean() - predicted) / (squares.std(ddof=1) / np.sqrt(surveys)))
    covered = np.mean((low <= truth[moved]) & (truth[moved] <= high), axis=0)
    half = normal_quantile(CONFIDENCE) * error
    plainly = np.mean(np.abs(off) <= half, axis=0)
    wider = float(np.median((high - low) / 2) / np.median(half)) if np.median(half) > 0 else np.inf
    return {"bias": bias, "square": square, "covered": covered, "plainly": plainly, "wider": wider}


def study(surveys):
    """All cases; keys are (workload, shares, epsilon, size)."""
    found, rng = {}, np.random.default_rng(2020)
    for name, workload in WORKLOADS.items():
        for epsilon in BUDGETS:
            made = design(workload, PureLDP(epsilon))
            for kind, make in SHARES.items():
                shares = make(workload.shape[1])
                shares = shares / shares.sum()
                for size in SIZES:
                    numbers = simulated(made, shares, size, surveys, rng)
                    found[name, kind, epsilon, size] = measured(made, numbers, shares, size)
    return found


def gathered(found, key, **wanted):
    """A measure of the cases with some keys, as one vector."""
    names = ("workload", "shares", "epsilon", "size")
    parts = [np.atleast_1d(f[key]) for c, f in found.items() if all(c[names.index(k)] == v for k, v in wanted.items())]
    return np.concatenate(parts)


def errors_table(found):
    """Errors by workload."""
    lines = ["| workload | numbers | mean errors beyond 3 | largest | squared errors beyond 3 | largest |"]
    lines.append("|---" * 6 + "|")
    for name in (*WORKLOADS, None):
        wanted = {} if name is None else {"workload": name}
        bias, square = np.abs(gathered(found, "bias", **wanted)), np.abs(gathered(found, "square", **wanted))
        lines.append(
            f"| {name or 'all'} | {len(bias)} | {np.sum(bias > 3)} | {bias.max():.1f} "
            f"| {np.sum(square > 3)} of {len(square)} | {square.max():.1f} |"
        )
    return lines


def coverage_table(found):
    """Coverage by shares, epsilon and number of people."""
    lines = ["| shares | epsilon | people | coverage: mean, least | plain normal: mean, least | wider by |"]
    lines.append("|---" * 6 + "|")
    for kind in SHARES:
        for epsilon in BUDGETS:
            for size in SIZES:
                wanted = {"shares": kind, "epsilon": epsilon, "size": size}
                covered, plainly = gathered(found, "covered", **wanted), gathered(found, "plainly", **wanted)
                wider = np.median(gathered(found, "wider", **wanted))
                lines.append(
                    f"| {kind} | {epsilon:g} | {size} | {covered.mean():.3f}, {covered.min():.3f} "
                    f"| {plainly.mean():.3f}, {plainly.min():.3f} | {wider - 1:.0%} |"
                )
    return lines


def listed(numbers):
    """Numbers with commas between them."""
    return ", ".join(f"{number:g}" for number in numbers)


def page(found, surveys, seconds):
    """The page in Markdown."""
    covered = {case: f["covered"].mean() for case, f in found.items()}
    low = [(case, share) for case, share in covered.items() if share < LOW]
    blur = 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / surveys)
    lines = [
        "# Simulated surveys: errors as predicted, and the coverage of intervals",
        "",
        f"{len(found)} cases of {surveys} surveys each, all through `Design.estimate`: {len(WORKLOADS)} workloads;",
        f"epsilon {listed(BUDGETS)}; {listed(SIZES)} people; true shares that fall as 1/x^2,",
        f"or all of one answer. {seconds:.0f} CPU seconds. Made by `python benchmarks/estimation_surveys.py`.",
        "",
        "Errors are in standard errors of the simulation: of each number's mean error from 0, and of the mean of the",
        "summed squared errors from the variance that the design states. 0.27 % lie beyond 3 by chance; means over few",
        "people are not yet normal.",
        "",
        *errors_table(found),
        "",
        f"Coverage of the {CONFIDENCE:.0%} intervals, mean and least over all numbers of all workloads. That of",
        f"one number is measured to +- {blur:.3f}. Plain normal intervals are the estimate -+ 1.96 standard errors;",
        "the last column is by how much the intervals are wider than these (median).",
        "",
        *coverage_table(found),
        "",
        f"{len(low)} of {len(found)} cases have a mean coverage below {LOW}.",
        "",
    ]
    for (name, kind, epsilon, size), share in low:
        lines.append(f"- {name}, {kind}, epsilon {epsilon:g}, {size} people: {share:.3f}")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else SURVEYS
    began = time.process_time()
    found = study(surveys)
    Path(__file__).with_suffix(".md").write_text(page(found, surveys, time.process_time() - began))
