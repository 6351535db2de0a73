"""Files in which one column has reports already."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ldpopt import Mechanism
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
ENDINGS = ("csv", "parquet")
ALREADY = "column 'a' has reports already"


def write(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(
        path, index=False
    )
    return path


def answers(rows: int = 200) -> pd.DataFrame:
    return pd.DataFrame({"a": ["no", "yes"] * (rows // 2), "b": ["yes"] * rows, "age": range(rows)})


def reported_file(folder: Path, ending: str) -> Path:
    """A file in which column ``a`` has reports, and the others are copied."""
    source, target = (folder / f"{name}.{ending}" for name in ("in", "rep"))
    privatize_file(
        write(source, answers()), target, {"a": Question(COIN)}, keep=["b", "age"], rng=1
    )
    return target
