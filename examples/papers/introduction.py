"""The introduction's definitions and examples: two coins, a survey of 100 people, sensitivity,
Laplace noise.

    python examples/papers/introduction.py [FOLDER]

The picture has the coin scheme's delta at each epsilon, and the Laplace density of two neighbors;
the introduction prints ln 3, 1/4, and 5, 45 and 10 % for its survey, and breaks off inside the
Laplace mechanism.
"""

import argparse
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom, binomtest
from shared import BLUE, RED, Record, save, write_csv

from ldpopt import ApproximateLDP, PureLDP, closed_forms, estimate_frequencies, neighbors, noise


def coins(record):
    """B1 to B4: the scheme, its privacy, and the survey."""
    coin = closed_forms.coin()
    channel = coin.mechanism.channel
    audit = coin.mechanism.audit()
    where = "coins.png"
    record.value("B2", "Pr(yes | yes)", float(channel[1, 1]), "0.75", where=where)
    record.value("B2", "Pr(yes | no)", float(channel[0, 1]), "0.25", where=where)
    record.value(
        "B3",
        "smallest epsilon, ln 3",
        audit.epsilon,
        f"{math.log(3):.15g}",
        where=where,
        within=1e-14,
    )
    record.value("B3", "deniability: an innocent yes", float(channel[0, 1]), "0.25", where=where)
    curve = max(
        abs(audit.delta_at(e) - max(0.0, 0.75 - math.exp(e) / 4)) for e in (0.0, 0.5, 1.0, 2.0)
    )
    record.claim(
        "B1",
        "delta(e) = max(0, 3/4 - exp(e) / 4) over all events",
        curve < 1e-12,
        f"within {curve:.0e}",
        where=where,
    )
    holds = (
        coin.mechanism.audit(ApproximateLDP(0.5, coin.delta_at(0.5) + 1e-12)).verdict == "certified"
    )
    record.claim(
        "B1",
        "(0.5, delta(0.5)) holds by events",
        holds,
        "certified" if holds else "violated",
        where=where,
    )
    found = estimate_frequencies(coin.mechanism, {"yes": 30, "no": 70}, intervals="normal")
    # half of all answer at random, half of these with yes; as many with no
    by_chance = 100 * float(channel[0, 1])
    record.value("B4", "truthful yes among 30", 30 - by_chance, "5", where=where)
    record.value("B4", "truthful no among 70", 70 - by_chance, "45", where=where)
    record.value("B4", "estimated share", float(found.values[1]), "0.10", where=where)
    error = (
        f"{found.std_error[1]:.3f}, 95 % {found.interval[1][0]:.3f} to {found.interval[1][1]:.3f}"
    )
    record.shown("B4", "standard error, which the text leaves out", where=where, ours=error)
    exact = binomtest(30, 100).proportion_ci(0.95, method="exact")
    ends = f"{(exact.low - 0.25) / 0.5:.3f} to {(exact.high - 0.25) / 0.5:.3f}"
    record.shown("B4", "exact interval", where=where, ours=ends)
    record.shown(
        "B4",
        "chance of 30 or more yes if nobody is guilty",
        where=where,
        ours=f"{binom.sf(29, 100, 0.25):.3f}",
    )
    assert coin.mechanism.audit(PureLDP("log(3)")).verdict == "certified"
    return audit


def laplace(record):
    """B5 to B7: sensitivity of a count, density, mechanism."""
    people = neighbors.histograms(3, 4)
    record.value(
        "B5", "sensitivity of a count", noise.sensitivity(sum, people), "1", where="sensitivity.csv"
    )
    added = noise.Laplace(1.0, 1.0)
    r = np.linspace(-6, 7, 1301)
    error = float(np.abs(added.pdf(r) - np.exp(-np.abs(r)) / 2).max())
    record.claim(
        "B6",
        "density exp(-|x| / b) / (2 b)",
        error < 1e-15,
        f"within {error:.0e}",
        where="coins.png",
    )
    loss = float(np.abs(np.log(added.pdf(r) / added.pdf(r - 1))).max())
    record.value(
        "B7",
        "loss of f(D) + Lap(sensitivity / epsilon), epsilon 1",
        loss,
        "1",
        where="coins.png",
        within=1e-12,
    )
    drawn = added.sample(200_000, rng=1)
    near = abs(np.abs(drawn).mean() - 1) < 0.012 and abs(drawn.var() - 2) < 0.1
    text = f"E|x| {np.abs(drawn).mean():.3f}, variance {drawn.var():.3f} of 200 000 draws"
    record.claim("B7", "E|x| = b, variance 2 b^2", near, text, where="coins.png")
    return added, r


def sensitivities(folder):
    """The same questions where a person is added or removed, and where one is replaced."""
    tables = neighbors.histograms(3, 4)
    full = {node: node for node in tables.nodes if sum(node) == 4}
    replaced = neighbors.within(
        full, lambda x, y: sum(abs(a - b) for a, b in zip(x, y, strict=True)), 2
    )
    queries = {"count": sum, "histogram": lambda t: t, "5 a - 2 b": lambda t: 5 * t[0] - 2 * t[1]}
    rows = [
        (name, *(noise.sensitivity(query, graph) for graph in (tables, replaced)))
        for name, query in queries.items()
    ]
    write_csv(folder / "sensitivity.csv", ("query", "add or remove one", "replace one"), rows)


def draw(folder, audit, added, r):
    """Left the coin's delta at each epsilon, right two neighbors under Laplace noise."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    epsilons = np.linspace(0, 1.6, 161)
    left.plot(
        epsilons, [audit.delta_at(e) for e in epsilons], color=BLUE, label="audit (all events)"
    )
    left.plot(
        epsilons[::8],
        np.maximum(0, 0.75 - np.exp(epsilons[::8]) / 4),
        "o",
        color="black",
        mfc="none",
        label="formula",
    )
    left.axvline(math.log(3), color=RED, linestyle="--", label=r"printed: $\ln 3$")
    left.set(title="Two coins", xlabel=r"$\varepsilon$ (nats)", ylabel=r"least $\delta$")
    right.plot(r, added.pdf(r), color=BLUE, label="count 0")
    right.plot(r, added.pdf(r - 1), "--", color=RED, label="count 1, a neighbor")
    right.set(
        title=r"Laplace noise, sensitivity 1, $\varepsilon = 1$",
        xlabel="published count",
        ylabel="density",
    )
    for ax in (left, right):
        ax.legend(frameon=False)
    save(figure, folder / "coins.png")


def main():
    parser = argparse.ArgumentParser(
        description="Recompute what the introduction to differential privacy says."
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write (default: a temporary folder)"
    )
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder)
    audit = coins(record)
    draw(folder, audit, *laplace(record))
    sensitivities(folder)
    record.save()


if __name__ == "__main__":
    main()
