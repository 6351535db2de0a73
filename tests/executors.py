"""What an executor of a cluster does with a partition of answers, without a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import ldpopt as lo
from ldpopt.mechanism.engines import Drawer
from ldpopt.mechanism.keyed import Keyed

KEY = lo.SecretKey(bytes(range(32)))


def people(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(rows)],
            "smokes": rng.choice(["no", "yes"], rows),
            "age": rng.integers(20, 60, rows),
            "class": rng.integers(1, 4, rows),
            "weight": rng.integers(1, 5, rows) / 4,
        }
    )


def drawn(frame: pd.DataFrame, drawer: Drawer, size: int) -> pd.DataFrame:
    """What an executor makes of a partition that comes in batches."""
    batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches(size)
    names = list(frame.columns)
    assert drawer.kinds(names)
    return pa.Table.from_batches(drawer.function(names)(iter(batches))).to_pandas()


def drawer_of(frame: pd.DataFrame, questions: dict[str, Any], **more: Any) -> Drawer:
    keep = tuple(name for name in frame.columns if name not in questions)
    read = list(questions)
    return Drawer(questions, keep, Keyed(KEY, "id"), more.get("one_question"), read)
