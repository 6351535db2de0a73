"""Mechanisms as JSON: labels in their plain form, and the numbers of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import MechanismError, ModelFileError, StatementError
from ldpopt.foundation.checks import short_repr
from ldpopt.foundation.files import replacing, require_path, strict_json
from ldpopt.mechanism.sampling import BITS

if TYPE_CHECKING:
    from ldpopt.auditing.divergence import Audit
    from ldpopt.mechanism.mechanism import Mechanism

MAX_FILE_BYTES = 2**30
"""Largest size of a mechanism's file in bytes; 5000 x 5000 probabilities take half of it."""

PLAIN = (str, int, float)
"""Labels with a JSON form of their own; a tuple of them is a list in JSON."""


def plain_labels(labels: Sequence[Hashable]) -> list[Any]:
    """Labels as JSON has them: text, numbers, and lists of both.

    Raises
    ------
    MechanismError
        If a label is anything else.
    """
    found: list[Any] = []
    for label in labels:
        value = label.item() if isinstance(label, np.generic) else label
        if not all(isinstance(part, PLAIN) for part in (value if isinstance(value, tuple) else (value,))):
            raise MechanismError(
                f"label {short_repr(label)} is neither text nor a number nor a tuple of them: "
                "it cannot be written as JSON"
            )
        found.append(list(value) if isinstance(value, tuple) else value)
    return found


def save(mechanism: Mechanism, path: str | os.PathLike[str], title: str, audit: Audit) -> None:
    """Write a mechanism and where it comes from; see `Mechanism.save`."""
    from ldpopt.mechanism.origins import of_law

    data = {**mechanism.to_dict(), **of_law(mechanism.digest, title, audit)}
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read a mechanism, and compare it with the digest that is stated; see `Mechanism.load`."""
    from ldpopt.mechanism.mechanism import Mechanism

    try:
        channel, inputs, outputs, stated = read(path)
        found = Mechanism(channel, inputs, outputs)
    except (MechanismError, StatementError) as error:
        raise ModelFileError(error.what, where=str(path), do=error.do) from None
    require_digest(stated, found.digest, str(path))
    return found


def require_digest(stated: Any, found: str, where: str) -> None:
    """Refuse a file whose stated digest, if there is one, is not that of what it draws.

    Raises
    ------
    ModelFileError
        If labels or masses were changed after the digest was written.
    """
    if stated not in (None, found):
        do = "take the file as it was written, or write it again"
        raise ModelFileError("labels or channel were changed: the digest is another", where=where, do=do)


def read(path: str | os.PathLike[str]) -> tuple[Any, list[Hashable], list[Hashable], Any]:
    """Channel, inputs, outputs and stated digest of a file.

    Raises
    ------
    ModelFileError
        If the file is missing, or does not contain a mechanism.
    """
    require_path(path)
    try:
        data = strict_json(path, MAX_FILE_BYTES)
        data = data.get("mechanism", data)
        inputs = _labels(data["inputs"])
        if "masses" in data:  # a design: its reports are numbered
            masses = _of_masses(data["masses"])
            return masses, inputs, list(range(masses.shape[1])), data.get("about", {}).get("digest")
        return data["channel"], inputs, _labels(data["outputs"]), data.get("digest")
    except OSError as error:
        what = f"cannot read the mechanism: {error.strerror or error}"
        raise ModelFileError(what, where=str(path), do="check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        missing = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        asked = "it needs the keys inputs, outputs and channel, as `ldpopt solve MODEL -o FILE` writes them"
        if os.fspath(path).endswith(".toml"):
            asked = "a model is solved first: `ldpopt solve MODEL -o FILE` writes its mechanism"
        raise ModelFileError(f"not a mechanism in JSON: {missing}", where=str(path), do=asked) from None


def _labels(values: Any) -> list[Hashable]:
    """Labels of a file: what `plain_labels` wrote."""
    for value in values:
        if not all(isinstance(part, PLAIN) for part in (value if isinstance(value, list) else [value])):
            raise ValueError(f"the label {short_repr(value)} is neither text nor a number nor a list of them")
    return [tuple(value) if isinstance(value, list) else value for value in values]


def _of_masses(masses: Any) -> Any:
    """Channel of integer masses over ``2**53``, exactly."""
    total, rows = 1 << BITS, [list(row) for row in masses]
    if not all(type(mass) is int and 0 <= mass <= total for row in rows for mass in row):
        raise ValueError(f"masses are integers from 0 to {total}")
    if any(sum(row) != total for row in rows):
        raise ValueError(f"a row of the masses does not sum to {total}")
    return np.array(rows, dtype=np.float64) / total
