"""Secrets: reports do not tell in which of several situations an answer was given.

What has to be hidden is often not the answer, but something that the answer depends on, such as an
illness behind a symptom. A secret is given by the distribution of the answer under it, and reports
may tell apart whatever is as likely under each secret.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import lcm
from typing import Any, ClassVar, Self

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.averages import Odds, average_odds, averaged
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names, check_labels, nearest, read_alphabet
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.distributions import Distribution
from ldpopt.privacy.notion import ConeNotion, inputs_of
from ldpopt.privacy.plain import Table, as_label, at_key, plain_budget, required
from ldpopt.privacy.sentences import DEPENDS, NotionFacts, as_note

Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Secrets(ConeNotion):
    r"""Reports are similarly likely under two secrets: :math:`\sum_x P(x \mid s) P(x, y) \le
    e^\epsilon \sum_x P(x \mid t) P(x, y)`.

    A secret, such as an illness, is not the answer, but the answer depends on it. The report must
    not tell secrets apart; it may tell answers apart that are as likely under both.

    Parameters
    ----------
    epsilon : float or str
        Nats in (0, 10000], or ``"log(p/q)"`` for an exactly rational :math:`e^\epsilon`.
    secrets : mapping secret -> distribution
        For each secret the distribution of the answer, as an array (n,) or a mapping label ->
        weight. A float means the decimal that is written for it.
    pairs : sequence of (secret, secret), optional
        Ordered pairs of secrets that are compared; default: ``None``, all ordered pairs.

    Raises
    ------
    StatementError
        If epsilon is not in its range, there are fewer than two secrets, a distribution has other
        numbers than weights, no pair is given, or one names an unknown secret. Where it is used: if
        distributions are about other inputs.

    Notes
    -----
    The promise depends on the distributions, and none follows for others. An audit takes O(pairs m)
    operations.

    References
    ----------
    Kifer and Machanavajjhala 2014, "Pufferfish: a framework for mathematical privacy definitions",
    definition 3.4, for one person's answer.

    Examples
    --------
    >>> from ldpopt import Problem, solve
    >>> notion = Secrets(0.5, {"ill": [0.6, 0.2, 0.1, 0.1], "well": [0.1, 0.2, 0.3, 0.4]})
    >>> round(solve(Problem([0.4, 0.3, 0.2, 0.1], "identity", notion)).value, 9)
    0.839215972
    """

    kind: ClassVar[str] = "secrets"
    epsilon: Budget
    secrets: tuple[tuple[Hashable, Distribution], ...]
    pairs: tuple[Pair, ...] | None = None

    def __init__(
        self,
        epsilon: float | str,
        secrets: Mapping[Hashable, Any],
        pairs: Sequence[Pair] | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", Budget.positive(epsilon))
        object.__setattr__(self, "secrets", _read_secrets(secrets))
        chosen = None if pairs is None else _read_pairs(pairs, [name for name, _ in self.secrets])
        object.__setattr__(self, "pairs", chosen)

    def __repr__(self) -> str:
        names = ", ".join(short_repr(name) for name, _ in self.secrets[:4])
        more = ", ..." if len(self.secrets) > 4 else ""
        return f"Secrets({self.epsilon!r}, secrets=<{names}{more}>)"

    @property
    def alphabet(self) -> tuple[Hashable, ...] | None:
        """The labels of the first distribution that has any, in its order."""
        return next((row.labels for _, row in self.secrets if row.labels is not None), None)

    @property
    def known_inputs(self) -> tuple[Hashable, ...]:
        """The labels, or as many positions as a distribution has numbers."""
        return self.alphabet or tuple(range(len(self.secrets[0][1].weights)))

    @property
    def compared(self) -> tuple[Pair, ...]:
        """The ordered pairs of secrets that are compared."""
        names = [name for name, _ in self.secrets]
        return tuple(permutations(names, 2)) if self.pairs is None else self.pairs

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """What the promise depends on."""
        depends = DEPENDS.say(NotionFacts(self, inputs))
        return (as_note(depends),) if depends else ()

    def comparisons(self, inputs: Names, outputs: Names | None = None) -> Comparisons:
        """One comparison for each ordered pair of secrets."""
        labels = read_alphabet(inputs)
        rows = {name: row.average(labels, _row_name(name)) for name, row in self.secrets}
        pairs = self.compared
        return Comparisons(
            len(labels),
            tuple(rows[first] for first, _ in pairs),
            tuple(rows[second] for _, second in pairs),
            (self.epsilon,) * len(pairs),
        )

    def audit(self, channel: Any) -> Audit:
        """Decide the claim from the channel's numbers, exactly: the distributions of reports under
        two secrets.
        """
        matrix = exact(channel)
        labels = inputs_of(self, channel)
        table = {name: row.to(labels, _row_name(name)) for name, row in self.secrets}
        scale = lcm(*(weight.denominator for row in table.values() for weight in row))
        masses = matrix.entries.tolist()
        reports = {
            name: averaged(masses, [int(weight * scale) for weight in row])
            for name, row in table.items()
        }
        denominator = scale * matrix.denominator
        odds = [
            Odds(
                reports[first],
                reports[second],
                denominator,
                self.epsilon,
                (first, second),
                nouns=("secret", "secret"),
            )
            for first, second in self.compared
        ]
        claim = f"epsilon = {self.epsilon!r} between secrets"
        return average_odds(odds, matrix.outputs, claim)

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """``secrets`` is a table of distributions, ``pairs`` lists pairs of secrets."""
        return ("epsilon", "secrets", "pairs")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """State each distribution by the labels of the inputs, with exact numbers."""
        if all(isinstance(name, str) for name, _ in self.secrets):
            secrets: Any = {str(name): row.to_plain() for name, row in self.secrets}
        else:
            secrets = [[name, row.to_plain()] for name, row in self.secrets]
        pairs = {} if self.pairs is None else {"pairs": [list(pair) for pair in self.pairs]}
        return {"epsilon": plain_budget(self.epsilon), "secrets": secrets} | pairs

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read a table of distributions by secret, or pairs of secret and distribution."""
        secrets = required(table, "secrets")
        is_list = isinstance(secrets, list)
        if is_list and all(isinstance(part, list) and len(part) == 2 for part in secrets):
            names = [as_label(name) for name, _ in secrets]
            labels = check_labels(names, len(names), "secret", StatementError)
            secrets = dict(zip(labels, (row for _, row in secrets), strict=True))
        read = secrets
        if isinstance(secrets, Mapping):
            read = {}
            for k, (name, row) in enumerate(secrets.items()):
                with at_key("secrets", k if is_list else name):
                    read[name] = Distribution.from_plain(row, _row_name(name), inputs)
                    read[name].to(inputs, _row_name(name))
        pairs = table.get("pairs")
        if isinstance(pairs, list):
            pairs = [as_label(pair) for pair in pairs]
        with at_key("epsilon"):
            epsilon = Budget.positive(required(table, "epsilon"))
        with at_key("secrets" if pairs is None else "pairs"):
            return cls(epsilon, read, pairs)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """Two secrets, with weights that rise and fall along the inputs."""
        labels = read_alphabet(inputs)
        n = len(labels)
        rising = dict(zip(labels, range(1, n + 1), strict=True))
        falling = dict(zip(labels, range(n, 0, -1), strict=True))
        return cls(epsilon, {"rising": rising, "falling": falling})


def _row_name(name: Hashable) -> str:
    return f"distribution of the secret {short_repr(name)}"


def _read_secrets(secrets: Any) -> tuple[tuple[Hashable, Distribution], ...]:
    """The distribution of each secret; at least two secrets."""
    if isinstance(secrets, tuple) and all(isinstance(part, tuple) for part in secrets):
        secrets = dict(secrets)  # the field of another notion
    if not isinstance(secrets, Mapping):
        raise StatementError(
            f"{short_repr(secrets)} is not a table of secrets",
            code="secret-table",
            do='pass {"ill": [0.6, 0.4], "well": [0.1, 0.9]}',
        )
    rows = tuple((name, Distribution.read(row, _row_name(name))) for name, row in secrets.items())
    if len(rows) < 2:
        raise StatementError(
            f"{len(rows)} secrets have nothing to be told apart",
            code="few-secrets",
            do="give the distribution of the answer under at least two secrets",
        )
    return rows


def _read_pairs(pairs: Any, names: list[Hashable]) -> tuple[Pair, ...]:
    """Ordered pairs of different secrets, each once."""
    read = []
    for pair in listed_items(pairs, "pairs", 'pass [("ill", "well"), ("well", "ill")]'):
        parts = tuple(pair) if isinstance(pair, (tuple, list)) else ()
        if len(parts) != 2 or parts[0] == parts[1]:
            raise StatementError(
                f"{short_repr(pair)} is not a pair of different secrets",
                code="secret-pair",
                do='pass [("ill", "well"), ("well", "ill")]',
            )
        for name in parts:
            if name not in names:
                raise StatementError(
                    f"a pair names {short_repr(name)}, which is not a secret",
                    code="unknown-secret",
                    do=nearest(name, names),
                )
        read.append(parts)
    if not read:
        raise StatementError(
            "no pair of secrets is compared",
            code="no-pairs",
            do="give at least one pair, or leave pairs out to compare all",
        )
    return tuple(dict.fromkeys(read))
