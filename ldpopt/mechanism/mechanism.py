"""Mechanism: a row-stochastic channel with names, and the integer masses that realise it exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.divergence import Audit, audit
from ldpopt.errors import MechanismError, ModelFileError, StatementError
from ldpopt.foundation.checks import (
    Float,
    frozen,
    normalized,
    real_array,
    require_kind,
    short_repr,
    summed,
)
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.foundation.labels import codes, label_array, labels, listed
from ldpopt.mechanism import sampling
from ldpopt.statement.utility import Utility, resolve

if TYPE_CHECKING:
    import pandas as pd

ROW_SUM_TOLERANCE = 1e-9
"""How far a row given by a user may sum from 1; what is sampled always sums to exactly 1."""


LARGEST_FILE = 2**30
"""Bytes of a mechanism's file: 5000 x 5000 probabilities take half of it."""


class Mechanism:
    r"""A channel ``P[x, y] = Pr(report y | answer x)`` with labelled inputs and outputs.

    What is sampled and audited are the integer `masses` over ``2**53``: every row of them sums to exactly one.
    A channel that the library hands out *equals* ``masses / 2**53`` float by float, so that ``audit(channel)`` and
    ``audit()`` speak of the same numbers; one given by a user is kept as it is, and rounded for sampling.

    Parameters
    ----------
    channel : array_like, shape (n, m)
        Non-negative, rows summing to 1 within 1e-9.
    inputs, outputs : sequence of hashable, optional
        Distinct labels, 0, 1, 2, ... unless told; outputs default to the inputs where ``m == n``.

    Raises
    ------
    MechanismError
        If it is not row-stochastic (the worst row and its sum are named) or the labels do not fit.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> coin.audit().epsilon
    1.0986122886681098
    >>> coin.sample(["yes", "yes", "no"], rng=1).tolist()
    ['yes', 'yes', 'no']
    """

    def __init__(
        self,
        channel: ArrayLike,
        inputs: Sequence[Hashable] | None = None,
        outputs: Sequence[Hashable] | None = None,
    ) -> None:
        self.channel: Float = frozen(_stochastic(channel))
        n, m = self.channel.shape
        self.inputs = labels(inputs, n, "input")
        self.outputs = labels(outputs if outputs is not None or m != n else self.inputs, m, "output")

    def __repr__(self) -> str:
        """Shape and labels, shortened."""
        n, m = self.channel.shape
        return f"Mechanism({n} inputs, {m} outputs, inputs={listed(self.inputs)}, outputs={listed(self.outputs)})"

    @property
    def denominator(self) -> int:
        """``2**53``: what the masses of a row sum to."""
        return 1 << sampling.BITS

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The masses as an int64 array, for arithmetic that cannot overflow."""
        return frozen(sampling.round_rows(self.channel))

    @property
    def masses(self) -> NDArray[np.object_]:
        """Integer masses, shape ``(n, m)`` of Python ints; a row sums to exactly `denominator`."""
        return self.counts.astype(object)

    @cached_property
    def sampler(self) -> sampling.AliasTable:
        """The integer alias tables that `sample` draws from."""
        return sampling.AliasTable(self.counts)

    def audit(self, privacy: Any = None) -> Audit:
        """Recompute the privacy of what is sampled, in exact arithmetic.

        Parameters
        ----------
        privacy : privacy notion, optional
            The claim to check; without one, the smallest pure epsilon is found.

        Returns
        -------
        Audit
            epsilon in nats (rounded up), delta, the witness by label and the verdict.
        """
        return audit(self, privacy)

    def sample(self, x: Any, *, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Draw one report for each answer, with exactly the certified masses.

        Parameters
        ----------
        x : sequence of labels, shape (N,)
            True answers.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable; None draws from the operating system's generator.

        Returns
        -------
        ndarray, shape (N,)
            Reports: labels of the outputs.

        Raises
        ------
        StatementError
            If an answer is not among the inputs.

        Notes
        -----
        O(1) a draw: one 53-bit word and one comparison with an integer threshold.
        """
        reports: NDArray[Any] = label_array(self.outputs)[self.sampler.draw(codes(x, self.inputs, "answer"), rng=rng)]
        return reports

    def expected(self, prior: Any, utility: str | Utility | ArrayLike = "identity") -> float:
        r"""Expected gain or loss :math:`\sum_x \pi_x \sum_y u(x, y) P(x, y)` under a prior.

        Parameters
        ----------
        prior : array_like, shape (n,), or mapping label -> weight
            Probabilities of the inputs, or weights by label, which are normalised.
        utility : str, Utility or array_like, shape (n, m)
            As in `Problem`.

        Returns
        -------
        float
            In the utility's own unit and sense.
        """
        matrix = resolve(utility, self.inputs, self.outputs).matrix
        return float(self._weights(prior) @ (matrix * self.channel).sum(axis=1))

    def posterior(self, prior: Any) -> Float:
        r"""What a report tells: :math:`\Pr(x \mid y)`, shape ``(m, n)``; nan in the row of an impossible report."""
        joint = self._weights(prior)[:, None] * self.channel
        with np.errstate(invalid="ignore"):
            return np.asarray((joint / joint.sum(axis=0)).T)

    def then(self, other: Mechanism) -> Mechanism:
        """Post-process: feed the reports into another channel, whose inputs are this one's outputs.

        The product is rounded to the grid of ``2**-53``: a positive mass stays positive, and epsilon may move by about
        ``2**-53`` over the least entry.

        Raises
        ------
        MechanismError
            If the labels do not meet.
        """
        require_kind(other, Mechanism, "then()")
        if set(self.outputs) - set(other.inputs):
            missing = next(label for label in self.outputs if label not in set(other.inputs))
            raise MechanismError(f"output {missing!r} is no input of the next channel")
        rows = codes(list(self.outputs), other.inputs, "output")
        product = self.counts.astype(object) @ other.counts.astype(object)[rows]
        square = Fraction(1, self.denominator**2)
        counts = sampling.round_rows(np.array([[float(v * square) for v in row] for row in product]))
        lost = (counts == 0) & np.asarray(product > 0, dtype=bool)
        counts = counts + lost
        counts[np.arange(len(counts)), counts.argmax(axis=1)] -= lost.sum(axis=1)
        return Mechanism(counts / self.denominator, self.inputs, other.outputs)

    def to_frame(self) -> pd.DataFrame:
        """The channel as a labelled table: inputs down, outputs across."""
        import pandas as pd

        return pd.DataFrame(
            self.channel,
            index=pd.Index(list(self.inputs), name="answer", tupleize_cols=False),
            columns=pd.Index(list(self.outputs), name="report", tupleize_cols=False),
        )

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(float_format="{:.6g}".format, max_rows=20, max_cols=20)
        return html

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write labels and channel, every float so that it reads back the same; atomic.

        Raises
        ------
        MechanismError
            If a label is neither text nor a number.
        ModelFileError
            If the file cannot be written; an old one is left as it was.
        """
        with replacing(path) as stream:
            stream.write(json.dumps(self.to_dict(), indent=1) + "\n")

    def to_dict(self) -> dict[str, Any]:
        """``{"inputs", "outputs", "channel"}`` of plain Python values."""
        plain = []
        for label in (*self.inputs, *self.outputs):
            value = label.item() if isinstance(label, np.generic) else label
            if not isinstance(value, (str, int, float)):
                raise MechanismError(f"label {short_repr(label)} is neither text nor a number: it has no JSON form")
            plain.append(value)
        n = len(self.inputs)
        return {"inputs": plain[:n], "outputs": plain[n:], "channel": self.channel.tolist()}

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Mechanism:
        """Read what `to_json` wrote (or ``ldpopt solve MODEL --json -``).

        Raises
        ------
        ModelFileError
            If the file is missing or no mechanism.
        """
        try:
            data = strict_json(path, LARGEST_FILE)
            data = data.get("mechanism", data)
            return cls(data["channel"], data["inputs"], data["outputs"])
        except OSError as error:
            raise ModelFileError(f"cannot read the mechanism: {error.strerror or error}", where=str(path)) from None
        except (MechanismError, StatementError) as error:
            raise ModelFileError(error.what, where=str(path), do=error.do) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(
                f"no mechanism in JSON: {type(error).__name__}: {error}",
                where=str(path),
                do="it needs the keys inputs, outputs and channel, as `ldpopt solve MODEL -o FILE` writes them",
            ) from None

    def _weights(self, prior: Any) -> Float:
        if isinstance(prior, Mapping):
            unknown = [label for label in prior if label not in set(self.inputs)]
            if unknown:
                raise StatementError(f"the prior names {unknown[0]!r}, which is no input")
            weights = real_array([prior.get(label, 0) for label in self.inputs], "prior")
        else:
            weights = real_array(prior, "prior")
        if weights.shape != (len(self.inputs),):
            raise StatementError(f"the prior has shape {weights.shape}; there are {len(self.inputs)} inputs")
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            name = short_repr(self.inputs[bad[0]])
            raise StatementError(f"prior[{name}] = {weights[bad[0]]} is no weight", do="state finite weights >= 0")
        if isinstance(prior, Mapping):
            return normalized(weights)
        total = summed(weights)
        if not abs(total - 1) <= ROW_SUM_TOLERANCE:
            raise StatementError(
                f"the prior sums to {total:.12g}, not 1",
                do="divide it by its sum, or pass weights by label: {label: weight}",
            )
        return weights


def _stochastic(channel: ArrayLike) -> Float:
    try:
        array = real_array(channel, "channel")
    except StatementError as error:
        raise MechanismError(error.what) from None
    if array.ndim != 2 or 0 in array.shape:
        raise MechanismError(f"the channel has shape {array.shape}; it needs (inputs, outputs)")
    good = (array >= 0) & (array < np.inf)
    if not good.all():
        x, y = map(int, np.argwhere(~good)[0])
        raise MechanismError(f"P[{x}, {y}] = {array[x, y]} is no probability")
    sums = summed(array, axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise MechanismError(
            f"row {worst} of the channel sums to {sums[worst]:.12g}, not 1",
            do="normalise the rows, or find the missing mass",
        )
    return array
