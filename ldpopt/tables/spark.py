"""Tables of Spark: replaced and read on the executors, in batches of Arrow; Spark is never imported
here first.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import nearest

ROWS = 1 << 17  # rows that are counted together
NOTE = "ldpopt"  # key of the metadata of a column
# Key of the metadata of a Parquet file under which Spark keeps the columns of a table
IN_PARQUET = b"org.apache.spark.sql.parquet.row.metadata"
TYPES = {"string": "string", "int64": "long", "double": "double", "bool": "boolean"}
Batches = Iterable[Any]  # of Arrow's RecordBatch


def is_spark(table: Any) -> bool:
    """Whether a table is a dataframe of Spark; does not import Spark."""
    if "pyspark" not in sys.modules or not type(table).__module__.startswith("pyspark.sql"):
        return False
    from pyspark.sql import DataFrame

    return isinstance(table, DataFrame)


class ArrowRows:
    """The columns of a table in batches of Arrow; ``name`` is that of the table in messages."""

    first_row = 0  # number of the first row

    def __init__(self, columns: Sequence[str], name: str) -> None:
        self.columns = list(columns)
        self.name = name

    def is_text(self, position: int) -> bool:
        """False: labels of any type are read as they are, as in a dataframe in memory."""
        return False

    def fields(self, positions: Sequence[int]) -> list[optional.pyarrow.Field]:
        """Names of columns, without their types."""
        pa = optional.pyarrow
        return [pa.field(self.columns[position], pa.null()) for position in positions]


def require_own_names(columns: Sequence[str]) -> None:
    """Refuse two columns of one name, which Spark allows."""
    if len(set(columns)) < len(columns):
        raise StatementError(
            "two columns of the table of Spark have the same name",
            code="repeated-column",
            do="give each column its own name: table.withColumnRenamed or table.drop",
        )


def partition_name() -> str:
    """The name of the partition on which an executor works, for messages."""
    task = None
    if "pyspark" in sys.modules:
        from pyspark import TaskContext

        task = TaskContext.get()
    return "the table" if task is None else f"partition {task.partitionId()}"


def replaced(
    table: Any,
    function: Callable[[Batches], Iterator[Any]],
    dropped: Iterable[str],
    drawn: Mapping[str, Any],
    note: str,
) -> Any:
    """Replace batches of a table lazily; ``drawn`` are columns of reports with their types in
    Arrow, in whose metadata a note is kept.
    """
    from pyspark.sql.types import StructType

    fields = {field["name"]: field for field in json.loads(table.schema.json())["fields"]}
    for name in dropped:
        if name not in drawn:
            del fields[name]
    for name, kind in drawn.items():
        metadata = fields[name]["metadata"] if name in fields else {}
        fields[name] = {
            "name": name,
            "type": TYPES[str(kind)],
            "nullable": True,
            "metadata": {**metadata, NOTE: note},
        }
    schema = StructType.fromJson({"type": "struct", "fields": list(fields.values())})
    return _with_plain_names(table).mapInArrow(function, schema)


def _with_plain_names(table: Any) -> Any:
    """The table with numbers as names: `mapInArrow` takes a point in a name for a part of it."""
    return table.toDF(*map(str, range(len(table.columns))))


def gathered_from_spark(
    table: Any, function: Callable[[Any, int], Any], columns: Sequence[str]
) -> list[Any]:
    """Results of a function of parts of a few columns, which are Arrow tables; only the results are
    sent here. Of an empty table, the result of an empty part.
    """
    known = list(table.columns)
    require_own_names(known)
    for column in columns:
        if column not in known:
            raise StatementError(
                f"unknown column {column!r}",
                code="column",
                where="the table",
                do=nearest(column, known),
            )
    chosen = table.select(*("`" + name.replace("`", "``") + "`" for name in columns))

    def results(batches: Batches) -> Iterator[Any]:
        pa = optional.pyarrow
        for part in _parts(batches):
            part = part.rename_columns(list(columns))
            reply = pa.array([pickle.dumps(_answer(function, part))], pa.binary())
            yield pa.record_batch([reply], names=["result"])

    rows = _with_plain_names(chosen).mapInArrow(results, "result binary").collect()
    replies = [pickle.loads(row["result"]) for row in rows]
    for reply in replies:
        if isinstance(reply, LdpoptError):
            raise reply
    if not replies:
        pa = optional.pyarrow
        empty = pa.table({name: pa.array([], pa.string()) for name in columns})
        return [function(empty, 0)]
    return replies


def _parts(batches: Batches) -> Iterator[Any]:
    """Join batches to tables of up to `ROWS` rows."""
    held: list[Any] = []
    for batch in batches:
        if held and sum(map(len, held)) + len(batch) > ROWS:
            yield optional.pyarrow.Table.from_batches(held)
            held = []
        held.append(batch)
    if held:
        yield optional.pyarrow.Table.from_batches(held)


def _answer(function: Callable[[Any, int], Any], part: Any) -> Any:
    """The result of a part, or the error: an error in an executor would be wrapped by Spark."""
    try:
        return function(part, 0)
    except LdpoptError as error:
        return error


def notes_of_spark(table: Any) -> list[str]:
    """The notes in the metadata of the columns of a table, each once."""
    return _notes(json.loads(table.schema.json()))


def notes_in_parquet(metadata: Mapping[bytes, bytes]) -> list[str]:
    """The notes in a file of Parquet that Spark wrote, from its metadata."""
    try:
        schema = json.loads(metadata.get(IN_PARQUET, b"{}"))
    except ValueError:
        return []
    return _notes(schema) if isinstance(schema, dict) else []


def _notes(schema: Mapping[str, Any]) -> list[str]:
    """The notes in a schema, as Spark writes it in JSON."""
    fields = [field for field in schema.get("fields", []) if isinstance(field, dict)]
    notes = [(field.get("metadata") or {}).get(NOTE) for field in fields]
    return list(dict.fromkeys(note for note in notes if isinstance(note, str)))
