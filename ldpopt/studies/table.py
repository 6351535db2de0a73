"""Tables of studies as CSV."""

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ldpopt.foundation.files import replacing


def write_csv(
    records: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str] | None = None,
    header: Sequence[str] | None = None,
) -> str:
    """Return records as CSV with exact floats, nan as an empty field; with a path, also write it atomically."""
    rows = list(records)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, header or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: "" if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()})
    if path is not None:
        with replacing(path) as file:
            file.write(stream.getvalue())
    return stream.getvalue()
