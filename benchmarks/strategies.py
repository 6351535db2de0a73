"""Accounts of asymmetric channels: epsilon from both sides at delta 1e-3, and CPU seconds.

Use: ``python benchmarks/strategies.py``. It prints the rows of docs/measurements/accounting.md.
"""

import os
from statistics import median
from time import process_time

from ldpopt.accounting import compose

COIN = [[0.9, 0.1], [0.5, 0.5]]
THREE = [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6]]
ROWS = [("a coin", COIN, 20), ("a coin", COIN, 60), ("a coin", COIN, 200)]
ROWS += [("three answers", THREE, 20), ("three answers", THREE, 60)]
DELTA = 1e-3
ROUNDS = 3


def measured(channel, times, answers):
    """Both epsilons, and the seconds of the upper one."""
    begin = process_time()
    curve = compose([(channel, times)], answers=answers)
    upper = curve.epsilon(DELTA)
    seconds = process_time() - begin
    return curve.epsilon_lower(DELTA), upper, seconds


def main():
    """Print a row for each channel, with medians of the seconds."""
    print("| channel | reports | strategies: at least | at most | s | fixed answers | s |")
    print("|---|---|---|---|---|---|---|")
    for name, channel, times in ROWS:
        cells = []
        for answers in ("adaptive", "fixed"):
            rounds = [measured(channel, times, answers) for _ in range(ROUNDS)]
            lower, upper, _ = rounds[0]
            seconds = median(each[2] for each in rounds)
            shown = [f"{lower:.8f}", f"{upper:.8f}"] if answers == "adaptive" else [f"{upper:.8f}"]
            cells += [*shown, f"{seconds:.2f}"]
        print(f"| {name} | {times} | {' | '.join(cells)} |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
