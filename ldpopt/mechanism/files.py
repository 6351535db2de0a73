"""How a mechanism leaves Python: as JSON, labels in their plain form; as a table; as a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import MechanismError, ModelFileError, StatementError
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.files import replacing, require_path, strict_json
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.mechanism.origins import of_law
from ldpopt.mechanism.sampling import BITS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ldpopt.auditing.divergence import Audit
    from ldpopt.mechanism.mechanism import Mechanism

MAX_FILE_BYTES = 2**30
"""Largest size of a mechanism's file in bytes; 5000 x 5000 probabilities take half of it."""

MAX_SHOWN = 20
"""Largest number of rows and columns of a channel that is shown as a table."""

MAX_LIKELIEST = 3
"""Number of reports of each answer that are shown of a large channel."""

PLAIN = (str, int, float)
"""Labels with a JSON form of their own; a tuple of them is a list in JSON."""


def plain_labels(labels: Sequence[Hashable]) -> list[Any]:
    """Labels as JSON has them: text, numbers, and lists of both."""
    found: list[Any] = []
    for name in labels:
        value = name.item() if isinstance(name, np.generic) else name
        if not all(isinstance(part, PLAIN) for part in (value if isinstance(value, tuple) else (value,))):
            raise MechanismError(
                f"label {short_repr(name)} is neither text nor a number nor a tuple of them: "
                "it cannot be written as JSON"
            )
        found.append(list(value) if isinstance(value, tuple) else value)
    return found


class Written(HasFacts):
    """A channel with labels, written as others read it.

    Attributes
    ----------
    channel : ndarray, shape (n, m)
        Probabilities.
    inputs, outputs : tuple
        Labels.
    """

    channel: Float
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]

    def to_frame(self) -> pd.DataFrame:
        """The channel as a labelled table: inputs as rows, outputs as columns."""
        import pandas as pd

        return pd.DataFrame(
            self.channel,
            index=pd.Index(list(self.inputs), name="answer", tupleize_cols=False),
            columns=pd.Index(list(self.outputs), name="report", tupleize_cols=False),
        )

    def facts(self) -> Facts:
        """The channel as a table; of a large one the likeliest reports of the first answers."""
        n, m = self.channel.shape
        likeliest = _likeliest(self.channel, self.inputs, self.outputs)
        if max(n, m) > MAX_SHOWN:
            return Facts("", [likeliest])
        rows = [[label(x), *map(_probability, row)] for x, row in zip(self.inputs, self.channel.tolist(), strict=True)]
        headings = ["answer", *map(label, self.outputs)]
        return Facts("", [Table(headings, rows, f"P(report | answer), {n} x {m}", narrow=likeliest)])

    def save(self, path: str | os.PathLike[str], *, title: str = "", privacy: Any = None) -> None:
        """Write labels, channel and origin as JSON, atomically; every float reads back as the same float.

        Parameters
        ----------
        path : path-like
            A JSON file.
        title : str
            What the mechanism is for; default: ``""``.
        privacy : privacy notion, optional
            Audited and named in the file; default: none, the smallest pure epsilon is.

        Raises
        ------
        MechanismError
            If a label is neither text nor a number nor a tuple of them.
        ModelFileError
            If the file cannot be written; an existing file stays unchanged.
        """
        mechanism: Any = self
        save(mechanism, path, title, mechanism.audit(privacy))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys inputs, outputs and channel, with plain Python values."""
        return {
            "inputs": plain_labels(self.inputs),
            "outputs": plain_labels(self.outputs),
            "channel": self.channel.tolist(),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mechanism:
        """Read what `save` wrote (or ``ldpopt solve MODEL --json -``), or a file of ``ldpopt design MODEL -o FILE``.

        Raises
        ------
        ModelFileError
            If the file is missing, or does not contain a mechanism.
        """
        try:
            channel, inputs, outputs, stated = read(path)
            found: Any = cls(channel, inputs, outputs)  # type: ignore[call-arg]
        except (MechanismError, StatementError) as error:
            raise ModelFileError(error.what, where=str(path), do=error.do) from None
        require_digest(stated, found.digest, str(path))
        mechanism: Mechanism = found
        return mechanism

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the heat map of the channel on axes, or on new ones, and return them; see `ldpopt.plot`."""
        import ldpopt

        return ldpopt.plotting.mechanism(self, ax)  # type: ignore[arg-type]


def save(mechanism: Mechanism, path: str | os.PathLike[str], title: str, audit: Audit) -> None:
    """Write a mechanism and where it comes from; see `Mechanism.save`."""
    data = {**mechanism.to_dict(), **of_law(mechanism.digest, title, audit)}
    with replacing(path) as stream:
        stream.write(json.dumps(data, indent=1) + "\n")


def require_digest(stated: Any, found: str, where: str) -> None:
    """Refuse a file whose stated digest, if there is one, is not that of what it draws."""
    if stated not in (None, found):
        do = "take the file as it was written, or write it again"
        raise ModelFileError("labels or channel were changed: the digest is another", where=where, do=do)


def read(path: str | os.PathLike[str]) -> tuple[Any, list[Hashable], list[Hashable], Any]:
    """Channel, inputs, outputs and stated digest of a file."""
    require_path(path)
    try:
        data = strict_json(path, MAX_FILE_BYTES)
        data = data.get("mechanism", data)
        inputs = labels_of(data["inputs"])
        if "masses" in data:  # a design: its reports are numbered
            masses = _of_masses(data["masses"])
            return masses, inputs, list(range(masses.shape[1])), data.get("about", {}).get("digest")
        return data["channel"], inputs, labels_of(data["outputs"]), data.get("digest")
    except OSError as error:
        what = f"cannot read the mechanism: {error.strerror or error}"
        raise ModelFileError(what, where=str(path), do="check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        missing = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        asked = "it needs the keys inputs, outputs and channel, as `ldpopt solve MODEL -o FILE` writes them"
        if os.fspath(path).endswith(".toml"):
            asked = "a model is solved first: `ldpopt solve MODEL -o FILE` writes its mechanism"
        raise ModelFileError(f"not a mechanism in JSON: {missing}", where=str(path), do=asked) from None


def labels_of(values: Any) -> list[Hashable]:
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


def _likeliest(channel: Float, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Table:
    """The likeliest reports of the first answers, and the probability of all other reports together."""
    n, m = channel.shape
    rows = []
    for name, row in zip(inputs[:MAX_SHOWN], channel, strict=False):
        order = row.argsort(kind="stable")[::-1][:MAX_LIKELIEST]
        named = [f"{label(outputs[y])}: {_probability(float(row[y]))}" for y in order if row[y] > 0]
        others = int((row > 0).sum()) - len(named)
        rest = f"{others} others {_probability(max(0.0, 1.0 - float(row[order].sum())))}" if others else ""
        rows.append([label(name), ", ".join(named), rest])
    if n > MAX_SHOWN:
        rows.append(["...", f"and {n - MAX_SHOWN} answers more", ""])
    title = f"P(report | answer), {n} x {m}, {int(channel.any(axis=0).sum())} reports in use"
    return Table(["answer", "likeliest reports", "together"], rows, title, words=("likeliest reports", "together"))


def _probability(p: float) -> str:
    return "0" if p == 0 else "1" if p == 1 else f"{p:.4f}" if p >= 5e-4 else f"{p:.0e}"
