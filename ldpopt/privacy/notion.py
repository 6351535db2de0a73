"""The base classes of privacy notions, their registry by kind, and their tables in files."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from ldpopt.auditing.audits import Audit
from ldpopt.errors import LdpoptError, MechanismError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labelled import positions_of, take_labels
from ldpopt.foundation.labels import Names, check_labels, is_hashable, nearest, read_alphabet
from ldpopt.foundation.numbers import Float, require_memory, shaped_array, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.plain import (
    MisstatedError,
    Table,
    fields_from_plain,
    fields_to_plain,
    is_plain,
    parameters,
)
from ldpopt.privacy.ties import Ties, no_rows

# non-zeros of rows that are written from the start, though they may be generated
STARTING_NONZEROS = 20_000

KINDS: dict[str, type[Notion]] = {}
"""Classes of notions by their kinds; defining a class with a kind adds it."""


class Written:
    """How a notion is written in files: a table of numbers, texts, lists and tables."""

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """Keys of its table in a file, beside ``kind``; default: the parameters of its class."""
        return parameters(cls)

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """Keys and values of its table in a file: numbers, text, lists and tables.

        The default is the fields of its dataclass. An ``explicit`` table, for proofs, has numbers
        in place of names that a reader would have to know, such as the family of a graph.
        """
        if not is_dataclass(self):
            do = "make it a dataclass of plain values, or give it to_plain() and from_plain()"
            raise StatementError(
                f"the privacy notion {type(self).__name__} cannot be written to a file",
                code="notion-fields",
                do=do,
            )
        return fields_to_plain(self)

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read a table that `to_plain` returned, or that a user wrote."""
        notion: Self = fields_from_plain(cls, table)
        return notion

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """A notion of this kind on some inputs, for tests of all kinds; default: from epsilon
        alone.
        """
        return cls.from_plain({"epsilon": epsilon}, inputs)


class Notion(Written, ABC):
    """A linear privacy notion, the base class of all notions.

    Derive from `TiedNotion` if pairs of rows are compared, for the compact program; from
    `ConeNotion` if averages of rows are; and from `SeparableNotion` if there are too many rows to
    write down. A notion with a `kind` has a form in model files and certificates. Two notions are
    joined by ``a & b``.
    """

    kind: ClassVar[str] = ""
    """Name in model files and certificates."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if kind := cls.__dict__.get("kind"):
            known = KINDS.setdefault(kind, cls)
            if known.__module__ != cls.__module__:
                raise TypeError(
                    f"the kind {kind!r} of {cls.__name__} is that of "
                    f"{known.__module__}.{known.__name__}"
                )
            KINDS[kind] = cls

    @abstractmethod
    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """Write the definition as linear rows over the channel's entries."""

    @abstractmethod
    def audit(self, channel: Any) -> Audit:
        """Compute epsilon and delta from the numbers of the channel, without the code of `rows`."""

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse an alphabet that does not fit the notion; must be fast, since every problem calls
        it.
        """
        return

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """Remarks on the notion for readers of a solution, in sentences."""
        return ()

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """Inputs in the notion's own order, for arrays without labels; None if any inputs are
        allowed.
        """
        return None

    @property
    def known_inputs(self) -> tuple[Hashable, ...] | None:
        """The inputs of a problem that states none: labels, or positions; None if any number is
        allowed.
        """
        return self.alphabet

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties | None:
        """Ties of a `TiedNotion`; None for other notions."""
        return None

    def definition(self, inputs: Names, outputs: Names | None = None) -> Ties | None:
        """All ties of the definition at once, including implied ones, against which certificates
        are checked.

        The default is `ties`.
        """
        return self.ties(inputs, outputs)

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons | None:
        """The notion as comparisons of averages of a column; None if it is not about single
        reports.

        Outputs default to the inputs.
        """
        return None

    def reports(self, inputs: Names, columns: Float) -> tuple[Hashable, ...]:
        """Labels for the reports of a channel whose columns were chosen freely, shape (n, m); the
        default is 0, 1, 2, ...

        A notion in which labels decide who may give a report names its columns accordingly.
        """
        return tuple(range(shaped_array(columns, "columns", None, None).shape[1]))

    def compared_part(self, inputs: Names, outputs: Names) -> Comparisons | None:
        """Comparisons that hold for every private channel, if they do not define the notion alone;
        default: `comparisons`.
        """
        return self.comparisons(inputs, outputs)

    def labelled_rows(self, inputs: Names, outputs: Names) -> RowBlock:
        """The rows for outputs with these labels, on which a notion may depend; default: `rows`."""
        return self.rows(inputs, len(read_alphabet(outputs, "output")))

    def starting_rows(self, inputs: Names, outputs: Names) -> RowBlock:
        """The rows from which a program of generated rows starts; default: `labelled_rows`, if they
        are few.
        """
        block = self.labelled_rows(inputs, outputs)
        if len(block.x) > STARTING_NONZEROS:
            raise no_rows("this notion", len(block))
        return block

    def bound_to(self, prior: Float | None, inputs: Names) -> Self:
        """The notion for a problem with this prior, shape (n,); the default is itself.

        A problem calls it. A notion that depends on a prior, and does not state one, returns a copy
        with this one.
        """
        return self

    def standing_alone(self) -> Self:
        """The notion outside of its problem, for files without one: what a problem bound to it is
        stated; the default is itself.
        """
        return self

    def __and__(self, other: Notion) -> Notion:
        """Both notions at once; see `Intersection`."""
        if not isinstance(other, Notion):
            return NotImplemented
        joined: Any = notion_of("all")
        both: Notion = joined([self, other])
        return both

    @property
    def is_separated(self) -> bool:
        """Whether rows have to be generated, by a `SeparableNotion`."""
        return False

    def excess(self, ratio: Fraction) -> Fraction | None:
        r"""Bound on :math:`b P_x(S) - P_{x'}(S)` over all pairs, all events ``S`` and all private
        channels, for the ratio ``b > 0``; None if the notion states none.

        Generated rows of this form are then proved from it, also in files.
        """
        return None

    def is_valid(self, block: RowBlock) -> bool:
        """Whether every private channel satisfies the rows of a block, with labels, that `separate`
        or `rows` may have written; a bound takes no others.
        """
        return False

    def constraints(
        self,
        P: Any,  # noqa: N803
        ratio: Any = None,
        *,
        inputs: Names | None = None,
        outputs: Names | None = None,
    ) -> list[Any]:
        r"""Constraints under which a cvxpy expression is a private channel, for a model with any
        objective.

        Parameters
        ----------
        P : cvxpy expression, shape (n, m)
            Affine in the variables, such as ``cp.Variable((n, m))``; the constraints also make it
            row-stochastic.
        ratio : float, array_like or cvxpy Parameter, optional
            In place of :math:`e^\epsilon`, at least 1; at k distinct distances one number, or an
            array or parameter of shape (k,) in the order of `ratios`. A parameter can be changed
            without compiling again. Default: the notion's own.
        inputs, outputs : sequence of hashable, optional
            Labels of rows and columns. Default: those of the notion, else 0, 1, 2, ...

        Returns
        -------
        list of cvxpy constraints
            Labelled ``"nonnegative"``, ``"row_sum"``, ``"column_minimum"``, ``"privacy"`` and
            ``"privacy_zero"``.

        Raises
        ------
        StatementError
            If ``P`` is no affine expression of cvxpy with two dimensions, a ratio is below 1, or
            labels do not fit.
        NotRepresentableError
            If the notion has no rows, such as `GaussianLDP`.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from ldpopt import PureLDP
        >>> P = cp.Variable((2, 2))
        >>> model = cp.Problem(cp.Maximize(cp.trace(P) / 2), PureLDP("log(3)").constraints(P))
        >>> round(float(model.solve(solver="CLARABEL")), 6)
        0.75
        """
        from ldpopt.privacy.modelling import cvxpy_constraints

        return cvxpy_constraints(self, P, ratio, inputs, outputs)

    def ratios(self, inputs: Names | None = None) -> Any:
        """``exp(epsilon d)`` of the distinct distances d, ascending: values for a parameter of
        `constraints`.
        """
        from ldpopt.privacy.modelling import own_ratios

        return own_ratios(self, inputs)

    def add_to(self, model: Any, P: Any) -> None:  # noqa: N803
        """Add the rows under which ``P[input, output]`` is a private channel to a PuLP model.

        The mapping ``P`` has a variable for every pair of labels. Rows get names as
        ``privacy(a,b,y)``; the model gets variables for minima and excesses.
        """
        from ldpopt.privacy.modelling import add_to_pulp

        add_to_pulp(self, model, P)


class TiedNotion(Notion):
    """A notion that compares rows of the channel output by output, as given by `ties`."""

    @abstractmethod
    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """Ties that have to be written; implied ones may be left out. Outputs default to the
        inputs.

        Long computations call ``deadline.check(...)`` regularly.
        """

    def definition(self, inputs: Names, outputs: Names | None = None) -> Ties:
        """All ties of the definition at once; default: `ties`."""
        return self.ties(inputs, outputs)

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons | None:
        """Each tied pair as a comparison; None if the ties have a delta, or are not all of the
        notion.
        """
        if self.is_separated:
            return None
        return Comparisons.of_ties(self.definition(inputs, outputs))

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """Write a row for each tie and output."""
        return self.ties(inputs).rows(n_outputs)


class ConeNotion(Notion):
    """A notion that compares averages of a column, as given by `comparisons`.

    Rows of programs, exact repair, bounds and extreme rays follow from the list. The audit must not
    use it: it computes the definition from the numbers of a channel.
    """

    @abstractmethod
    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """All comparisons of the definition, in an order that depends on the inputs alone.

        Multipliers in certificate files refer to comparisons by this order. Outputs default to the
        inputs.
        """

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse inputs that the comparisons do not fit."""
        self.comparisons(inputs, outputs)

    def rows(self, inputs: Names, n_outputs: int) -> RowBlock:
        """Write a row for each comparison and output."""
        return self.comparisons(inputs).rows(n_outputs)


class SeparableNotion(Notion):
    """A notion that may have too many rows to write down: rows are generated when a channel
    violates them.
    """

    @property
    def is_separated(self) -> bool:
        """Whether there are rows to generate."""
        return True

    @abstractmethod
    def separate(self, channel: Float, inputs: Names) -> RowBlock | None:
        """Rows that a channel violates, shape (n, m); None if there are none."""


def installed() -> dict[str, type[Notion]]:
    """Classes of all notions by their kinds: the library's own, and those of packages with an entry
    point.

    A package names its class, or the module that defines it, in the entry point group
    ``ldpopt.privacy``. One that cannot be loaded is left out, with a warning: it must not stop the
    others.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group="ldpopt.privacy"):
        try:
            point.load()
        except Exception as error:
            problem = (
                f"the plug-in notion {point.name!r} cannot be loaded: "
                f"{type(error).__name__}: {error}"
            )
            warnings.warn(problem, stacklevel=2)
    return dict(KINDS)


def notion_of(kind: Any) -> type[Notion]:
    """Class of a kind."""
    known = KINDS if isinstance(kind, str) and kind in KINDS else installed()
    if not isinstance(kind, str) or kind not in known:
        raise MisstatedError(
            f"unknown privacy notion {short_repr(kind)}",
            "kind",
            code="unknown-notion",
            do=nearest(kind, known),
        )
    return known[kind]


def is_written(privacy: Notion) -> bool:
    """Whether a file can hold the notion: its class is the one of its kind."""
    return KINDS.get(privacy.kind) is type(privacy)


def to_table(privacy: Notion, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
    """Table of a notion with its kind, for files; see `Notion.to_plain`."""
    name = type(privacy).__name__
    if not is_written(privacy):
        do = (
            "give its class a kind of its own, and name it under the entry point group "
            "ldpopt.privacy"
        )
        raise StatementError(
            f"the privacy notion {name} cannot be written to a file", code="notion-kind", do=do
        )
    table = privacy.to_plain(inputs, explicit=explicit)
    for key, value in table.items():
        if not is_plain(value):
            problem = (
                f"{name}.to_plain() returned {short_repr(value)} for {key!r}, which no file "
                "can hold"
            )
            raise StatementError(
                problem, code="file-value", do="return numbers, text, lists and tables only"
            )
    return {"kind": privacy.kind} | table


def from_table(table: Table, inputs: Names) -> Notion:
    """Notion of a table with its kind."""
    notion = notion_of(table.get("kind"))
    tuples = (
        {label for label in inputs if isinstance(label, tuple)}
        if not isinstance(inputs, range)
        else set()
    )
    keys = {key: _with_tuples(value, tuples) for key, value in table.items() if key != "kind"}
    known = notion.keys()
    for key in keys:
        if key not in known:
            raise MisstatedError(f"unknown key {key!r}", key, do=nearest(key, known))
    try:
        return notion.from_plain(keys, inputs)
    except (LdpoptError, ArithmeticError):
        raise
    except Exception as error:
        problem = f"{notion.__name__} refused its keys: {type(error).__name__}: {error}"
        raise StatementError(
            problem,
            code="notion-keys",
            do="correct the values of the keys, or the notion's from_plain()",
        ) from error


def _with_tuples(value: Any, tuples: set[Any]) -> Any:
    """Nested lists in which labels that are tuples, which JSON and TOML write as lists, are tuples
    again.
    """
    if tuples and isinstance(value, dict):
        return {key: _with_tuples(part, tuples) for key, part in value.items()}
    if not tuples or not isinstance(value, list):
        return value
    parts = [_with_tuples(part, tuples) for part in value]
    return tuple(parts) if all(map(is_hashable, parts)) and tuple(parts) in tuples else parts


def require_notion(privacy: Any) -> None:
    """Refuse an object that is not a privacy notion."""
    if privacy is None:
        raise StatementError("the problem has no privacy notion", do=known_notions())
    if isinstance(privacy, type) and issubclass(privacy, Notion):
        name = privacy.__name__
        raise StatementError(
            f"{name} is a class of notions, not a notion",
            code="notion-class",
            do=f"pass one of its objects: {name}(...), such as PureLDP(1.0)",
        )
    if not isinstance(privacy, Notion):
        problem = f"{short_repr(privacy)} is not a privacy notion"
        raise StatementError(problem, code="notion", do=known_notions())


def known_notions(base: Any = Notion) -> str:
    """Advice that names all known notions of a class."""
    names = [kind.__name__ for kind in installed().values() if issubclass(kind, base)]
    return f"pass one of {', '.join(names)}, or a plug-in derived from {base.__name__}"


def has_epsilon(privacy: Any) -> bool:
    """Whether a notion has one budget, which `with_epsilon` changes."""
    return (
        not isinstance(privacy, type)
        and is_dataclass(privacy)
        and any(field.name == "epsilon" and field.init for field in fields(privacy))
    )


def with_epsilon(privacy: Any, epsilon: Budget) -> Any:
    """The same notion at another budget."""
    if not has_epsilon(privacy):
        problem = f"{short_repr(privacy)} has no epsilon to sweep"
        do = "use a notion that is a dataclass with epsilon, or solve once for each notion"
        raise StatementError(problem, code="no-epsilon", do=do)
    changed = replace(privacy, epsilon=epsilon)
    for part in fields(privacy):
        if not part.init:  # such as the prior of a problem
            object.__setattr__(changed, part.name, getattr(privacy, part.name))
    return changed


def inputs_of(privacy: Notion, channel: Any) -> tuple[Hashable, ...]:
    """Inputs of a channel for an audit; a plain array is read in the notion's own order."""
    inputs, is_labelled = shape_of(channel)
    alphabet = privacy.alphabet
    if not is_labelled and alphabet is not None and len(alphabet) == len(inputs):
        return alphabet
    return inputs


def match_labels(labels: Names, inputs: Names, subject: str) -> dict[Hashable, int]:
    """Position of each input; refuse labels of a graph or table that are not exactly the inputs."""
    inputs = read_alphabet(inputs)
    positions_of(labels, inputs, subject, "input")
    return {label: x for x, label in enumerate(inputs)}


def shape_of(channel: Any) -> tuple[tuple[Hashable, ...], bool]:
    """Inputs of a mechanism or labelled table, or positions in a plain array; and whether they are
    labels.
    """
    if isinstance(getattr(channel, "inputs", None), Iterable) and hasattr(channel, "outputs"):
        return tuple(channel.inputs), True
    channel, (rows, _) = take_labels(channel, "channel")
    if rows is not None:
        return rows, True
    if not hasattr(channel, "__len__") or getattr(channel, "ndim", 1) == 0:
        problem = f"{short_repr(channel)} is not a channel"
        raise MechanismError(
            problem, code="channel", do="pass a Mechanism or an array (inputs, outputs)"
        )
    # entries need not be in memory yet, as those of a range: 64 bytes for each position
    require_memory(64.0 * len(channel), f"a channel of {len(channel):,} inputs")
    return tuple(range(len(channel))), False


def read_labels(labels: Any, name: str) -> tuple[Hashable, ...]:
    """Read a list of distinct labels of a notion, such as the sensitive inputs."""
    if isinstance(labels, (str, bytes, dict)) or not (
        hasattr(labels, "__iter__") and getattr(labels, "ndim", 1) == 1
    ):
        name = f"{name} = {short_repr(labels)} is not a list of labels"
        raise StatementError(name, code="label-list", do="pass a list, also for a single label")
    return check_labels(tuple(labels), None, name, StatementError)


def require_known(names: Names, alphabet: Names, subject: str, kind: str) -> None:
    """Refuse labels of a notion that are not in the alphabet."""
    known = set(read_alphabet(alphabet, kind))
    for name in names:
        if name not in known:
            do = f"the {kind}s are {list(alphabet)[:8]}"
            raise StatementError(
                f"{subject} names {short_repr(name)}, which is not an {kind}",
                code="unknown-label",
                do=do,
            )
