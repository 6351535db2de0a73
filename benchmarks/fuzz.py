"""Statements, files and command lines that are mostly wrong, by the hundred thousand; see tests/fuzz.

python benchmarks/fuzz.py                       # 100 000 with a new seed, about fifteen minutes of one core
python benchmarks/fuzz.py --count 20000 --seed 7
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of hypothesis; printed")
    options = parser.parse_args()
    print(f"{options.count} examples, seed {options.seed}", flush=True)
    root = Path(__file__).parents[1]
    quiet = ["-o", "addopts=--import-mode=importlib -q", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *quiet, f"--hypothesis-seed={options.seed}", "tests/fuzz"]
    return subprocess.run(command, cwd=root, env=os.environ | {"LDPOPT_FUZZ": str(options.count)}).returncode


if __name__ == "__main__":
    sys.exit(main())
