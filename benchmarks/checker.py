"""Compare the independent checker with ``recheck`` on many certificates, true and changed: benchmarks/checker.md.

``python benchmarks/checker.py [CERTIFICATES] [CHANGES]``; default: 10000, and 2000
that both refuse. Problems are those of
tests/agreement/test_checker.py: every notion, budgets from 0 to 720, all objectives, side constraints.
"""

import copy
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "agreement"), str(ROOT / "tests"), str(ROOT)]

import test_checker as cases  # noqa: E402


def change(data, rng):
    """A changed certificate: another value anywhere, or two rows of the masses exchanged."""
    if rng.random() < 0.1:
        other = copy.deepcopy(data)
        rows = other["mechanism"]["masses"]
        rows[0], rows[-1] = rows[-1], rows[0]
        return "masses: rows exchanged", other
    found = [place for place in cases.places(data) if place[0] != "format"]
    place = found[rng.integers(len(found))]
    return f"{place[0]}.{place[1]}", cases.changed(data, place, rng)


def run(certificates, changes):
    """Verdicts of both on certificates as written and changed."""
    path = Path(tempfile.mkdtemp()) / "proof.json"
    held, judged, where = Counter(), Counter(), Counter()
    seconds = [0.0, 0.0]
    rng = np.random.default_rng(0)
    for seed in range(certificates):
        proof = cases.certificate(seed)
        if proof is None:
            held["no channel fits"] += 1
            continue
        proof.save(path)
        data = json.loads(path.read_text())
        began = time.process_time()
        by_checker = cases.verdict(data, path) == "holds"
        seconds[0] += time.process_time() - began
        began = time.process_time()
        by_library = cases.rechecked(data, path)
        seconds[1] += time.process_time() - began
        held[by_checker, by_library] += 1
        if judged[False, False] < changes and seed % max(1, 4 * certificates // (5 * changes)) == 0:
            what, other = change(data, rng)
            if other == data:
                continue
            verdicts = cases.verdict(other, path) == "holds", cases.rechecked(other, path)
            judged[verdicts] += 1
            where[what] += verdicts == (False, False)
    return held, judged, where, seconds


def page(held, judged, where, seconds):
    """The figures in words."""
    fits = sum(held.values()) - held["no channel fits"]
    lines = [
        "# The independent checker",
        "",
        "Written by `python benchmarks/checker.py`: certificates of random problems (two to six answers, every notion,",
        "epsilon from 0 to 720, expected and worst case, gains and losses, side constraints in one of seven), checked",
        "by `ldpopt_check.py` and by `recheck`; then the same files with one value changed, or two rows exchanged.",
        "",
        "| certificates | hold by both | by the checker only | by the library only | by neither |",
        "|---|---|---|---|---|",
        f"| {fits} as written | " + " | ".join(str(held[v]) for v in VERDICTS) + " |",
        f"| {sum(judged.values())} changed | " + " | ".join(str(judged[v]) for v in VERDICTS) + " |",
        "",
        f"{held['no channel fits']} problems had no channel that fits their side constraints. A change that both",
        "let pass is harmless: a label, a multiplier with a bound no worse than the claim, an epsilon that the masses",
        "keep as well.",
        f"CPU seconds a file: checker {seconds[0] / fits:.4f}, `recheck` {seconds[1] / fits:.4f}.",
        "",
        "Changes refused by both, by place: "
        + ", ".join(f"{name} {count}" for name, count in sorted(where.items()))
        + ".",
    ]
    return "\n".join(lines) + "\n"


VERDICTS = [(True, True), (True, False), (False, True), (False, False)]

if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]] or [10_000, 2000]
    text = page(*run(*numbers))
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
