"""Messages through a pipe: a JSON header and raw arrays of numbers. A message contains no code."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write facts (types of JSON) and arrays of numbers."""
    layout = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    header = json.dumps({"facts": facts, "arrays": layout}, default=_plain).encode()
    stream.write(_LENGTH.pack(len(header)) + header)
    for array in arrays.values():
        stream.write(array.tobytes())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `send` wrote."""
    header = json.loads(_exactly(stream, *_LENGTH.unpack(_exactly(stream, _LENGTH.size))))
    arrays = {}
    for name, kind, shape in header["arrays"]:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        arrays[name] = np.frombuffer(bytearray(_exactly(stream, size)), kind).reshape(shape)
    return header["facts"], arrays


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _plain(value: Any) -> Any:
    """Convert a numpy number or array to types of JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a plain value")
