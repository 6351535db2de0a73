"""How random calls of all public names end, by kind of exception.

python benchmarks/calls.py                # about 50 000 calls, ten minutes
python benchmarks/calls.py --share .1

The calls are those of ``tests/public_calls.py``. Exit code 1 if one ends in another exception than
a refusal of the library or Python's own TypeError about the signature.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS), str(TESTS.parent)]
os.environ.setdefault("MPLBACKEND", "Agg")

import matplotlib.pyplot as plt  # noqa: E402

from builders import load_script  # noqa: E402
from public_calls import number_of_calls, targets, try_call  # noqa: E402

limited = load_script(TESTS / "refusals" / "conftest.py").limited


def main() -> int:
    """Make all calls, and print how they end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args().share
    ends: Counter[str] = Counter()
    faults = []
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for target in targets():
            for seed in range(max(1, round(share * number_of_calls(target, 0, True)))):
                ended = try_call(target, seed, limited)
                plt.close("all")
                kind = f" {ended.detail}" if ended.how == "refusal" else ""
                ends[f"{ended.how}{kind}"] += 1
                if ended.how == "fault":
                    faults.append(f"{target.name} {seed}: {ended.detail}")
        os.chdir(TESTS)
    print("| end | calls |\n|---|---|")
    for end, count in ends.most_common():
        print(f"| {end} | {count} |")
    print(
        f"\n{sum(ends.values())} calls of {len(targets())} names, "
        f"{time.process_time() - began:.0f} s",
        *faults,
        sep="\n",
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
