"""The mechanism: a row-stochastic channel with labels, and the integer masses by which it is
sampled exactly.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.divergence import Audit, audit
from ldpopt.auditing.exact_matrices import require_upright
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.documents import reading_json
from ldpopt.foundation.labelled import is_series
from ldpopt.foundation.labels import Names, codes, labels_at
from ldpopt.foundation.late import late
from ldpopt.foundation.numbers import Float, require_choice, require_kind, short_repr
from ldpopt.mechanism import sampling
from ldpopt.mechanism.adversary import AdversaryMeasures
from ldpopt.mechanism.channels import Channel, channel_table, read_channel
from ldpopt.mechanism.codec import LabelCodec
from ldpopt.mechanism.engines import privatize_table
from ldpopt.mechanism.files import FORM, read_mechanism, require_origin, write_mechanism
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.nearest import nearest_private
from ldpopt.mechanism.questions import Question
from ldpopt.privacy.notion import is_written, require_notion
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, resolve
from ldpopt.tables.coding import TREATMENTS


class Mechanism(Channel, AdversaryMeasures, HasFacts):
    r"""A channel ``P[x, y] = Pr(report y | answer x)`` with labelled inputs and outputs.

    A mechanism is frozen and its arrays are read-only. Two mechanisms are equal if labels and
    channels are equal.

    `sample` and `audit` use the integer `masses` over ``2**53``; every row of them sums to exactly
    one. A channel that the library returns *equals* ``masses / 2**53`` float by float, so that
    ``audit(channel)`` and ``audit()`` use the same numbers. A channel given by a user is kept
    unchanged, and rounded for sampling.

    Parameters
    ----------
    channel : array_like, shape (n, m), or DataFrame or mapping of mappings
        Non-negative, rows summing to 1 within 1e-9.
    inputs, outputs : sequence of hashable, optional
        Distinct labels; a labelled channel is put into this order. Default: the labels of a
        DataFrame or mapping, else 0, 1, 2, ...; the outputs are the inputs if ``m == n``.

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

    def __str__(self) -> str:
        return self.summary()

    @classmethod
    def private(
        cls, channel: Any, privacy: Any, inputs: Names | None = None, outputs: Names | None = None
    ) -> Mechanism:
        r"""The exactly private mechanism nearest to a channel, such as the optimum of a model of
        one's own.

        .. math:: \min_P \max_x \tfrac12 \sum_y |P(x, y) - C(x, y)|
                  \quad \text{over all private channels } P

        Parameters
        ----------
        channel : array_like, shape (n, m), or DataFrame or mapping of mappings
            Finite; negative entries become 0, and rows are normalized.
        privacy : privacy notion
            Satisfied for the real :math:`e^\epsilon`, and audited.
        inputs, outputs : sequence of hashable, optional
            Labels, as for `Mechanism`.

        Returns
        -------
        Mechanism
            Its ``notes`` name the probability that was moved within a row.

        Raises
        ------
        MechanismError
            If an entry is nan, a row has no positive entry, or the columns sum to 1 instead of the
            rows: the matrix is transposed.
        PrivacyViolationError
            If no rounding passes the audit, which happens for a notion that even constant channels
            violate.

        Notes
        -----
        A channel that is private up to a solver's tolerances is only rounded; for others a linear
        program is solved, whose largest row is within 1e-3 of the smallest possible. If it takes
        longer than 20 s, the channel is repaired column by column, which moves more; a note states
        it. Theory: docs, "Repair".

        Examples
        --------
        >>> from ldpopt import PureLDP
        >>> fixed = Mechanism.private([[0.9, 0.1], [0.2, 0.8]], PureLDP("log(3)"))
        >>> fixed.channel.round(3).tolist(), fixed.audit(PureLDP("log(3)")).verdict
        ([[0.775, 0.225], [0.325, 0.675]], 'certified')
        """
        require_notion(privacy)
        values, names, reports = read_channel(channel, inputs, outputs)
        require_upright(values)

        def decide(rounded: Float) -> Audit:
            audit: Audit = privacy.audit(cls(rounded, names, reports))
            return audit

        nearest, notes = nearest_private(values, privacy, names, reports, decide)
        mechanism = cls(nearest.channel, names, reports)
        object.__setattr__(mechanism, "notes", notes)
        return mechanism

    @cached_property
    def sampler(self) -> sampling.AliasTable:
        """The integer alias tables that `sample` draws from."""
        return sampling.AliasTable(self.counts)

    @property
    def randomizer(self) -> Mechanism:
        """The mechanism itself, which draws its reports in tables."""
        return self

    @property
    def codec(self) -> LabelCodec:
        """How reports are written in a table: as labels."""
        return LabelCodec(self)

    def audit(self, privacy: Any = None) -> Audit:
        """Recompute the privacy of the integer masses in exact arithmetic, or check a claim; see
        `ldpopt.audit`.
        """
        return audit(self, privacy)

    def sample(
        self,
        x: Any,
        *,
        rng: sampling.Random = None,
        key: Any = None,
        id: Any = None,
        question: str = "",
    ) -> Any:
        """Draw one report for each answer, with exactly the certified masses: one word and one
        comparison a draw.

        Parameters
        ----------
        x : sequence of labels, shape (N,)
            True answers.
        rng : numpy.random.Generator, SeedSequence or int, optional
            Makes the draws repeatable; default: the operating system's generator.
        key : SecretKey or bytes, optional
            Makes the draws repeatable person by person: the same key, id, question and answer give
            the same report. Default: none.
        id : sequence of str or int, shape (N,), optional
            Distinct id of each person, with ``key``.
        question : str
            Name of the question, with ``key``: each question has its own draws. Default: ``""``.

        Returns
        -------
        ndarray, shape (N,), or pandas Series
            Reports: labels of the outputs. A pandas Series keeps its index and name.

        Raises
        ------
        StatementError
            If an answer is not among the inputs, or ids are missing, repeated, or not as many as
            the answers.
        """
        answers = codes(x, self.inputs, "answer")
        keyed = Keyed.read(key, id, rng)
        source = rng if keyed is None else keyed.draws(question, len(answers))
        reports = labels_at(self.outputs, self.codec.places(answers, source))
        return reports if not is_series(x) else type(x)(reports, index=x.index, name=x.name)

    def privatize(
        self,
        table: Any,
        columns: Hashable | Names | None = None,
        *,
        rng: sampling.Random = None,
        key: Any = None,
        id: Hashable | None = None,
        missing: Literal["refuse", "leave_out"] = "refuse",
        missing_answer: Hashable | None = None,
        again: bool = False,
    ) -> Any:
        """Replace the answers in columns of a dataframe by reports; all other columns are copied
        unprotected.

        `ldpopt privatize` does the same for CSV and Parquet files of any size; from one seed the
        reports are the same.

        Parameters
        ----------
        table : dataframe of pandas, polars, pyarrow, Dask or Spark, or sequence of labels
            One row for each person. A table of Dask or Spark is replaced lazily and needs a key (or
            of Dask a seed), so that the reports are the same whenever it is computed. A list or
            Series of answers, without ``columns``, is passed to `sample`.
        columns : label or list of labels, optional
            Columns of answers of a dataframe. They are drawn independently: a person's budgets add
            up.
        rng : numpy.random.Generator, SeedSequence or int, optional
            As in `sample`; several columns, and the partitions of Dask, draw from spawned
            generators.
        key : SecretKey or bytes, optional
            Makes the draws repeatable person by person: the same key, id, column and answer give
            the same report, in every table and on every machine. The key must stay secret. A report
            that changes from one survey to another proves that the answer changed; a second layer
            without a key (``again``) hides it. Default: none.
        id : label, optional
            Column of the ids, distinct texts or whole numbers, with ``key``.
        missing : {"refuse", "leave_out"}
            What is done with a missing answer: refused, or left missing in the reports, which shows
            who did not answer. Default: ``"refuse"``.
        missing_answer : hashable, optional
            The input that stands for a missing answer; default: none.
        again : bool
            Whether columns that are reports already, by the origin of their table, may be
            privatized once more; default: ``False``.

        Returns
        -------
        dataframe
            Of the same library, with the same index.

        Raises
        ------
        StatementError
            If a column is unknown or has reports already (a table of pyarrow from a Parquet file
            records it), an entry is not among the inputs, or an answer is missing and
            ``missing="refuse"``.
        """
        if columns is None:
            if hasattr(table, "columns"):
                do = 'name them: privatize(table, "question")'
                raise StatementError(
                    "the columns of the answers are missing", code="answer-columns", do=do
                )
            require_choice(missing, TREATMENTS, "missing")
            if missing != "refuse" or missing_answer is not None:
                problem = "missing answers are for columns of a table"
                do = 'pass a table, and "question"'
                raise StatementError(problem, code="treatment-of-list", do=do)
            return self.sample(table, rng=rng, key=key, id=id)
        names = list(columns) if isinstance(columns, list) else [columns]
        for name in names:
            if not _is_hashable(name):
                raise StatementError(
                    f"{short_repr(name)} is not the name of a column",
                    code="named-column",
                    do='pass "question", or a list of names',
                )
        questions = dict.fromkeys(names, Question(self, missing, missing_answer))
        return privatize_table(table, questions, rng, Keyed.read(key, id, rng), again=again)

    def expected(self, prior: Any, utility: str | Utility | ArrayLike = "identity") -> float:
        r"""Expected gain or loss :math:`\sum_x \pi_x \sum_y u(x, y) P(x, y)` under a prior.

        Parameters
        ----------
        prior : array_like, shape (n,), or mapping or Series label -> weight
            Probabilities of the inputs, or weights by label, which are normalized.
        utility : str, Utility, array_like, shape (n, m), or DataFrame or mapping of mappings
            As in `Problem`; default: ``"identity"``.

        Returns
        -------
        float
            In the utility's own unit and sense.

        Raises
        ------
        StatementError
            If the prior or the utility does not fit the labels.
        """
        matrix = resolve(utility, self.inputs, self.outputs).matrix
        return float(read_prior(prior, self.inputs)[0] @ (matrix * self.channel).sum(axis=1))

    def posterior(self, prior: Any) -> Float:
        r"""Posterior probabilities :math:`\Pr(x \mid y)`, shape ``(m, n)``; nan in the row of an
        impossible report.
        """
        joint = read_prior(prior, self.inputs)[0][:, None] * self.channel
        with np.errstate(invalid="ignore"):
            return np.asarray((joint / joint.sum(axis=0)).T)

    def values(self, reports: Any) -> Float:
        r"""Return unbiased values of reports: their means over people estimate the frequencies.

        .. math:: V_{\cdot y}, \qquad \sum_y P(y \mid x) V_{x' y} = [x = x']

        Any other program can average them, or take them as the outcome of a linear regression.

        Parameters
        ----------
        reports : sequence of labels, shape (N,)
            A list, array, Series or arrow array of outputs, none missing.

        Returns
        -------
        ndarray, shape (N, n)
            A row for each report, a column for each input.

        Raises
        ------
        StatementError
            If a report is missing or not an output, or the rows of the channel are linearly
            dependent.

        Examples
        --------
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> coin.values(["no", "yes"]).round(12).tolist()
        [[1.5, -0.5], [-0.5, 1.5]]
        """
        table: Float = late("values")(self, reports)
        return table

    @property
    def influence(self) -> Any:
        r"""How far one report in place of a true one can move each estimated frequency, an
        `ldpopt.Influence`.

        Raises
        ------
        StatementError
            If the rows of the channel are linearly dependent.

        Examples
        --------
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> round(coin.influence.largest, 6)
        1.5
        """
        return late("influence")(self)

    def then(self, other: Mechanism) -> Mechanism:
        """Post-process: use the reports as inputs of another channel.

        The product is rounded to the grid of ``2**-53``: a positive mass stays positive, and
        epsilon changes by about ``2**-53`` over the smallest entry.

        Raises
        ------
        MechanismError
            If an output is not an input of the other channel.
        """
        require_kind(other, Mechanism, "then()")
        product = self.counts.astype(object) @ other.counts_after(self).astype(object)
        square = Fraction(1, self.denominator**2)
        counts = sampling.round_rows(
            np.array([[float(v * square) for v in row] for row in product])
        )
        lost = (counts == 0) & np.asarray(product > 0, dtype=bool)
        counts = counts + lost
        counts[np.arange(len(counts)), counts.argmax(axis=1)] -= lost.sum(axis=1)
        return Mechanism(counts / self.denominator, self.inputs, other.outputs)

    def counts_after(self, first: Mechanism) -> NDArray[np.int64]:
        """Masses, shape (k, m), with a row for each of the k outputs of another mechanism, which
        are inputs here.
        """
        require_kind(
            first, Mechanism, "counts_after()", "pass a mechanism whose outputs are inputs here"
        )
        if set(first.outputs) - set(self.inputs):
            missing = next(label for label in first.outputs if label not in set(self.inputs))
            problem = f"output {missing!r} is not an input of the next channel"
            do = "relabel the outputs, or give the next channel an input for each of them"
            raise MechanismError(problem, code="next-input", do=do)
        return self.counts[codes(list(first.outputs), self.inputs, "output")]

    def to_frame(self) -> optional.pandas.DataFrame:
        """The channel as a labelled table: inputs as rows, outputs as columns."""
        rows = optional.pandas.Index(list(self.inputs), name="answer", tupleize_cols=False)
        columns = optional.pandas.Index(list(self.outputs), name="report", tupleize_cols=False)
        return optional.pandas.DataFrame(self.channel, index=rows, columns=columns)

    def facts(self) -> Facts:
        """The channel as a table; of a large one the likeliest reports of the first answers."""
        return Facts("", [channel_table(self.channel, self.inputs, self.outputs), *self.notes])

    def save(self, path: str | os.PathLike[str], *, title: str = "", privacy: Any = None) -> None:
        """Write labels, channel and origin as JSON, atomically; every float reads back as the same
        float.

        Parameters
        ----------
        path : path-like
            A JSON file.
        title : str
            What the mechanism is for; default: ``""``.
        privacy : privacy notion, optional
            Audited and written, with what was found; default, and for a notion without a kind,
            which no file can hold: the smallest pure epsilon.

        Raises
        ------
        StatementError
            If a label is neither text nor a number nor a tuple of them.
        ModelFileError
            If the file cannot be written; an existing file stays unchanged.
        """
        audit = self.audit(privacy)
        if privacy is not None and not is_written(privacy):
            privacy = None
            audit = self.audit()
        write_mechanism(self, path, title, audit, privacy)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mechanism:
        """Read a file of `save`, of ``ldpopt solve MODEL -o FILE`` or of ``ldpopt design MODEL -o
        FILE``.

        Raises
        ------
        ModelFileError
            If the file is missing, does not contain a mechanism, or says of it what its masses do
            not have: another digest, notion, epsilon or delta.
        """
        saved = read_mechanism(path)
        with reading_json(path, "a mechanism", FORM):
            mechanism = cls(saved.channel, saved.inputs, saved.outputs)
            require_origin(mechanism, saved, str(path))
        return mechanism


def _is_hashable(name: Any) -> bool:
    """Whether something can be a name; a tuple of lists only looks so."""
    try:
        hash(name)
    except TypeError:
        return False
    return True
