r"""From any float channel to an exactly private mechanism on the grid of ``2**-53``.

Solvers are accurate to an absolute tolerance, but privacy bounds ratios. Repair moves a channel, as little as possible,
to integer masses that satisfy the notion for the real ``e**epsilon``; the notion's audit decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ldpopt.auditing.audits import Audit
from ldpopt.mechanism.channels import read_labelled_channel
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.rounding import no_private_channel, round_private
from ldpopt.privacy import Ties
from ldpopt.privacy.notion import require_notion


@dataclass(frozen=True)
class Repaired:
    """A certified mechanism and its distance from the given channel.

    Attributes
    ----------
    mechanism : Mechanism
        Its channel equals its integer masses over ``2**53``, float by float.
    audit : Audit
        The notion's verdict, ``"certified"``.
    moved : float
        Largest probability mass that moved in a row (total variation), from forbidden reports too.
    """

    mechanism: Mechanism
    audit: Audit
    moved: float


def repair(
    channel: ArrayLike,
    privacy: Any,
    *,
    inputs: Sequence[Hashable] | None = None,
    outputs: Sequence[Hashable] | None = None,
    ties: Ties | None = None,
) -> Repaired:
    r"""Round a channel to integer masses that are private for the real ``e**epsilon``.

    Parameters
    ----------
    channel : array_like, shape (n, m), or DataFrame or mapping of mappings
        Finite; negative entries become 0, rows are normalized.
    privacy : privacy notion
        The notion to satisfy.
    inputs, outputs : sequence of hashable, optional
        Labels; default: those of a labelled channel, else 0, 1, 2, ..., the outputs are the inputs if ``m == n``.
    ties : Ties, optional
        The notion's ties, if they are known; default: computed from the notion.

    Returns
    -------
    Repaired
        The mechanism, its audit, and the distance moved.

    Raises
    ------
    MechanismError
        If a row is empty or not finite.
    PrivacyViolationError
        If no rounding passes the audit, which happens for a notion that even constant channels violate.

    Notes
    -----
    Four methods are tried in order, until one moves almost nothing: plain rounding; using a little of a positive delta;
    for notions with `Ties` the cone repair, which raises every entry to ``e**-epsilon d`` times its column and uses
    ``O(m / (e**epsilon - 1))`` units of constant mass to make the rows sum to one; mixing with the mean row.
    ``privacy.audit`` checks each result; the nearest private one is returned. Theory: docs, "Repair".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> fixed = repair([[0.8, 0.2], [0.2, 0.8]], PureLDP("log(3)"))
    >>> fixed.audit.verdict, fixed.mechanism.channel.round(3).tolist()
    ('certified', [[0.75, 0.25], [0.25, 0.75]])
    """
    require_notion(privacy)
    values, names, reports = read_labelled_channel(channel, inputs, outputs)
    ties = privacy.ties(names, reports) if ties is None else ties
    found, last = round_private(
        values, ties, lambda part, columns: privacy.audit(Mechanism(part, names, [reports[y] for y in columns]))
    )
    if found is None:
        raise no_private_channel(privacy, last)
    return Repaired(Mechanism(found.channel, names, reports), found.audit, found.moved)
