"""The tables of docs/mean_experiment.md, written into its marked parts by ``liu_zhou_tables.py
--full --page PAGE``."""

import math

import numpy as np
import shared
from liu_zhou_printed import BUDGETS, FIVE, TABLE_6, TABLE_7, TABLE_8, friedman_statistic

from ldpopt import mean
from ldpopt.studies import experiment


def fill_page(path, data, result, tests, found, theory):
    """Write all parts of the page."""
    parts = {
        "data": described(data, result),
        "errors": errors(result, found, theory),
        "printed": printed(data, result, theory),
        "ranks": ranks(result, tests),
        "design": by_design(data, result, theory),
    }
    shared.fill(path, parts)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def moments(data, users=800_000):
    """Mean, second moment and variance within a column, averaged over the columns of the first data
    set."""
    unit = data.bootstrap(users, np.random.default_rng([0, 0])).astype(float)
    return unit.mean(), (unit**2).mean(), unit.var(axis=0).mean()


def described(data, result):
    first, second, within = moments(data)
    sets, budgets, algorithms = result.rmse.shape
    seconds = result.seconds.mean(axis=(0, 1))
    pairs = zip(result.algorithms, seconds, strict=True)
    listed = ", ".join(
        f"{name} {value:.2f}" for name, value in sorted(pairs, key=lambda pair: pair[1])
    )
    return (
        f"Data: {data.name}. Mean {first:.3f}, second moment {second:.3f}, variance within a "
        f"column {within:.4f} on "
        f"average.\n\n**Time.** {sets * budgets * algorithms} runs took {result.seconds.sum():.0f} "
        "s of CPU to "
        f"randomize and estimate, on one core of a busy\nmachine. Seconds of a run: {listed}.\n"
        f"The paper needs 75 to 80 s. {times(result)}"
    )


def errors(result, found, theory):
    header = ["error x 1000", *(f"{epsilon:g}" for epsilon in result.epsilons)]
    rows = [
        [
            name,
            *(
                f"{1000 * f:.2f} ({1000 * t:.2f})"
                for f, t in zip(found[:, j], theory[:, j], strict=True)
            ),
        ]
        for j, name in enumerate(result.algorithms)
    ]
    share = result.rmse**2 / result.theory**2
    deviations = np.abs(share.mean(axis=0) - 1) / (
        share.std(axis=0, ddof=1) / math.sqrt(len(share))
    )
    return table(header, rows) + (
        f"\n\nOver the {deviations.size} cells, the mean over the sets of squared error over its "
        "closed form is "
        f"within {deviations.max():.1f} standard errors of 1.\nThe average error is "
        f"{(result.rmse / result.theory).mean():.3f} of "
        "the closed form, as the concave root lets expect ($1 - 1/(4 \\cdot 36)$)."
    )


def printed(data, result, theory):
    rows = []
    columns = [result.algorithms.index(name) for name in FIVE]
    for k, (name, j) in enumerate(zip(FIVE, columns, strict=True)):
        cells = [
            (TABLE_8[BUDGETS.index(e)][k], theory[i, j]) for i, e in enumerate(result.epsilons)
        ]
        rows.append([name, *(f"{1000 * p:.2f} ({p / t:.2f})" for p, t in cells)])
    first, second, _ = moments(data)
    vector = [closed_form(mean.DuchiVector(e, 36), first, second) for e in result.epsilons]
    shares = [
        TABLE_8[BUDGETS.index(e)][2] / v for e, v in zip(result.epsilons, vector, strict=True)
    ]
    return table(["paper x 1000", *(f"{e:g}" for e in result.epsilons)], rows) + (
        '\n\nIf "Duchi-EVP" were Duchi\'s mechanism for whole vectors (`DuchiVector`), its closed '
        "form x 1000 would be "
        f"{', '.join(f'{1000 * v:.1f}' for v in vector)}: the printed column is "
        f"{min(shares):.2f} to "
        f"{max(shares):.2f} of that."
    )


def closed_form(protocol, first, second, n=800_000):
    """Error in units of [0, 1] for data of these moments, for a variance that is one quadratic."""
    low, high = protocol.domain
    start, middle, end = (
        float(np.ravel(protocol.variance(x))[0]) for x in (low, (low + high) / 2, high)
    )
    bend = 2 * (start + end - 2 * middle)
    return math.sqrt((start + (end - start - bend) * first + bend * second) / n) / (high - low)


def ranks(result, tests):
    rows = []
    for epsilon, test in zip(result.epsilons, tests, strict=True):
        paper = TABLE_6[BUDGETS.index(epsilon)]
        again = friedman_statistic(paper, 30)[0]
        pairs = (
            f"{ours:.2f} ({theirs:.2f})"
            for ours, theirs in zip(test.mean_ranks, paper, strict=True)
        )
        statistics = (test.statistic, TABLE_7[BUDGETS.index(epsilon)], again)
        rows.append([f"{epsilon:g}", *pairs, *(f"{value:.1f}" for value in statistics)])
    header = [r"$\varepsilon$", *FIVE, r"$\chi^2$", r"$\chi^2$, paper", "from its ranks"]
    return (
        table(header, rows)
        + f"\n\nThe largest $p$ here is {max(test.p_value for test in tests):.0e}."
    )


def times(result):
    from scipy.stats import f_oneway

    at = result.epsilons.index(1.0)
    columns = [result.algorithms.index(name) for name in FIVE]
    seconds = result.seconds[:, at][:, columns]
    shown = ", ".join(
        f"{name} {value:.3f}" for name, value in zip(FIVE, seconds.mean(axis=0), strict=True)
    )
    return (
        f"At $\\varepsilon = 1$ they are {shown}; $F = "
        f"{f_oneway(*seconds.T).statistic:.1f}$ (Table 10)."
    )


def by_design(data, result, theory):
    """Closed forms by the ratio, with the randomizer designed for the histogram of the data."""
    epsilons = (0.5, 1.0, 2.0, 5.0, 10.0)
    unit = 2 * data.bootstrap(200_000, np.random.default_rng([0, 0])).astype(float) - 1
    edges = np.linspace(-1 - 1 / 32, 1 + 1 / 32, 34)
    prior = np.histogram(unit, edges)[0] / unit.size

    def designed(epsilon):
        reach = 1.5 / math.tanh(epsilon / 2)
        answers = np.linspace(-1, 1, 33)
        reports = np.linspace(-reach, reach, 129)
        return mean.sampled(
            mean.designed(answers, reports, epsilon, objective="expected", prior=prior),
            attributes=36,
        )

    kinds = {
        "Piecewise": lambda e: mean.sampled(mean.Piecewise(e), attributes=36),
        "Designed, prior": designed,
    }
    more = experiment.compare_means(
        kinds, data.bootstrap, epsilons=epsilons, sets=1, users=800_000
    ).theory[0]
    at = [result.epsilons.index(e) for e in epsilons]
    rows = {"Piecewise": more[:, 0]}
    rows |= {name: theory[at, result.algorithms.index(name)] for name in ("Square wave", "Hybrid")}
    rows |= {
        "Designed, worst case": theory[at, result.algorithms.index("Designed")],
        "Designed, prior": more[:, 1],
    }
    least = np.min(list(rows.values()), axis=0)
    cells = [
        [
            name,
            *(
                f"**{1000 * v:.2f}**" if v <= b else f"{1000 * v:.2f}"
                for v, b in zip(values, least, strict=True)
            ),
        ]
        for name, values in rows.items()
    ]
    return table([r"$\varepsilon$", *(f"{e:g}" for e in epsilons)], cells)
