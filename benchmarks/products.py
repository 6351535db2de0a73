"""Designs for marginals of questions with two answers each: value, proved gap, seconds and memory,
as a table.

Run ``python benchmarks/products.py [d ...]``; each case has a process of its own, so that memory is
that of the case.
"""

import resource
import subprocess
import sys
import time

CASES = [(ways, epsilon) for ways in (1, 2, 3) for epsilon in (0.5, 1.0, 2.0, 4.0)]


def measure(d: int, ways: int, epsilon: float) -> None:
    """Print one row of the table."""
    from ldpopt import PureLDP, Workload, design

    start = time.perf_counter()
    cpu = time.process_time()
    workload = Workload.marginals((2,) * d, ways)
    made = design(workload, PureLDP(epsilon), gap=1e-5, time_limit=120)
    used = time.process_time() - cpu
    seconds = time.perf_counter() - start
    start = time.process_time()
    assert made.certificate.recheck() == ()
    check = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kind = made.certificate.multipliers.kind
    numbers = (
        f"{made.value:.6g} | {made.relative_gap:.1e} | {kind} | {used:.1f} | {check:.1f} | "
        f"{memory:.0f}"
    )
    print(f"| {d} | {ways} | {epsilon:g} | {numbers} |", flush=True)
    print(f"{seconds:.1f} s by the clock", file=sys.stderr)


def main() -> None:
    """Measure all cases, each in a process of its own."""
    if sys.argv[1:2] == ["case"]:
        d, ways, epsilon = sys.argv[2:]
        measure(int(d), int(ways), float(epsilon))
        return
    print("| d | ways | epsilon | variance | gap | bound | seconds | recheck | MiB |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for d in map(int, sys.argv[1:] or (4, 6, 8, 10, 16, 20)):
        for ways, epsilon in CASES:
            subprocess.run(
                [sys.executable, __file__, "case", str(d), str(ways), str(epsilon)], check=False
            )


if __name__ == "__main__":
    main()
