"""How a mechanism leaves Python: as a table, a file, a picture."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ldpopt.foundation.checks import Float
from ldpopt.foundation.deprecation import renamed
from ldpopt.mechanism.files import load, plain_labels, save

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ldpopt.mechanism.mechanism import Mechanism


class Written:
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

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(float_format="{:.6g}".format, max_rows=20, max_cols=20)
        return html

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

    to_json = renamed("to_json", "save")

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
        return load(path)

    from_json = classmethod(renamed("from_json", "load"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the heat map of the channel on axes, or on new ones, and return them; see `ldpopt.plot`."""
        import ldpopt

        return ldpopt.plot.mechanism(self, ax)  # type: ignore[arg-type]
