"""The proof of a design for frequencies: value and bound in closed form, computed again from the statement."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate import design_files as files
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.foundation.budget import Budget, round_down, round_up
from ldpopt.foundation.files import strict_json
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.files import require_digest
from ldpopt.mechanism.origins import of_law
from ldpopt.privacy import PureLDP
from ldpopt.statement.workloads import Workload

FORMAT = "ldpopt frequency design 1"


@dataclass(frozen=True, eq=False)
class FrequencyCertificate:
    """A claim about subset selection for the frequencies of answers, weighted alike, which needs no multipliers.

    Attributes
    ----------
    workload : Workload
        Frequencies, perhaps times a number.
    privacy : PureLDP
        How private.
    size : int
        Answers in a report.
    achieved, bound : Fraction
        Average variance of what is drawn, and the bound for every private mechanism.
    """

    workload: Workload
    privacy: PureLDP
    size: int
    achieved: Fraction
    bound: Fraction

    objective = "average"
    exact = True

    def __repr__(self) -> str:
        """Value, bound and gap."""
        return (
            f"FrequencyCertificate(average variance {round_up(self.achieved):.9g}, "
            f"bound {round_down(self.bound):.9g}, relative gap {self.relative_gap:.2g})"
        )

    @classmethod
    def of(cls, workload: Workload, privacy: PureLDP) -> FrequencyCertificate:
        """The best sets, with their value and the bound."""
        size = best_size(workload.shape[1], privacy.epsilon)
        return cls(workload, privacy, size, *_proved(workload, privacy, size))

    @cached_property
    def protocol(self) -> SubsetSelection:
        """What is drawn."""
        return SubsetSelection(self.workload.inputs, self.privacy.epsilon, size=self.size)

    @property
    def gap(self) -> Fraction:
        """Achieved minus bound."""
        return self.achieved - self.bound

    @property
    def relative_gap(self) -> float:
        """Gap over achieved, rounded up."""
        return round_up(self.gap / self.achieved) if self.achieved > 0 else 0.0

    @cached_property
    def audit(self) -> Audit:
        """The exact privacy of what is drawn."""
        return self.protocol.audit()

    def recheck(self) -> tuple[str, ...]:
        """Compute everything again from the statement; say what does not hold.

        Returns
        -------
        tuple of str
            Failures; empty where the certificate holds.
        """
        achieved, bound = _proved(self.workload, self.privacy, self.size)
        best, failures = best_size(self.workload.shape[1], self.privacy.epsilon), []
        if self.audit.verdict != "certified":
            failures.append(f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found")
        if self.size != best:
            failures.append(f"sets of {self.size} are not the best: those of {best} are")
        if self.bound > bound:
            failures.append("the bound claimed is above the one proved")
        if self.achieved < achieved:
            failures.append("the estimator has a larger variance than claimed")
        return tuple(failures)

    def save(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write the statement and the claim as JSON; atomic.

        The file also has the title, the notion, the audited epsilon, the digest of the protocol and the version.

        Raises
        ------
        MechanismError
            If a label is neither text nor a number.
        ModelFileError
            If the file cannot be written.
        """
        files.write(self.to_dict(), of_law(self.protocol.digest, title, self.audit), path)

    def to_dict(self) -> dict[str, Any]:
        """Return the statement and the claim as JSON data."""
        return {
            "format": FORMAT,
            "inputs": files.plain_labels(self.workload.inputs),
            "unit": self.workload.unit,
            "epsilon": self.privacy.epsilon.text,
            "size": self.size,
            "achieved": str(self.achieved),
            "bound": str(self.bound),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FrequencyCertificate:
        """Read what `save` wrote; nothing in it is believed before `recheck` has computed it again.

        Raises
        ------
        ModelFileError
            If the file is missing or no such certificate.
        """
        name = os.fspath(path)
        try:
            data = strict_json(path, files.LARGEST_FILE)
        except (OSError, ValueError) as error:
            raise ModelFileError(f"not a design in JSON: {error}", where=name) from None
        return cls.from_dict(data, name)

    @classmethod
    def from_dict(cls, data: Any, name: str) -> FrequencyCertificate:
        """Read what `to_dict` made; the name is that of its place in messages."""
        whole, digest = files.split(data, name)
        table = whole.table("format", "inputs", "unit", "epsilon", "size", "achieved", "bound")
        table["format"].text(FORMAT)
        inputs = files.read_labels(table["inputs"])
        size = table["size"].whole(len(inputs))
        if not size:
            raise table["size"].error("a report names at least one answer")
        try:
            workload, privacy = table["unit"].number() * Workload.frequencies(inputs), PureLDP(table["epsilon"].text())
        except LdpoptError as error:
            raise ModelFileError(error.what, where=name, do=error.do) from None
        found = cls(workload, privacy, size, table["achieved"].rational(), table["bound"].rational())
        if digest is not None:
            require_digest(digest, found.protocol.digest, name)
        return found


def is_frequency_design(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a design for frequencies; what is not a plain file is not opened."""
    return files.says(path, FORMAT)


def best_size(n: int, epsilon: Budget) -> int:
    """Size of the sets that tell most."""
    base = 1 / epsilon.enclosure()[1]
    return max(_candidates(n, base), key=lambda k: _told(n, k, base))


def _proved(workload: Workload, privacy: PureLDP, size: int) -> tuple[Fraction, Fraction]:
    """Variance of sets of a size, and the bound."""
    n, unit = workload.shape[1], Fraction(workload.unit or 1)
    protocol = SubsetSelection(workload.inputs, privacy.epsilon, size=size)
    p, q = protocol.p, protocol.q
    total = n * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
    base = 1 / privacy.epsilon.enclosure()[1]
    bound = (n - 1) ** 2 / max(_told(n, k, base) for k in _candidates(n, base)) - 1 + Fraction(1, n)
    return unit**2 * total, unit**2 * max(bound, Fraction(0))


def _candidates(n: int, base: Fraction) -> set[int]:
    """Whole numbers next to ``n b / (1 + b)``, where the rising and then falling ``t`` is largest."""
    least = int(n * base / (1 + base))
    return {min(n - 1, max(1, k)) for k in (least, least + 1)}


def _told(n: int, k: int, base: Fraction) -> Fraction:
    """``t(k)``."""
    share = Fraction(k, n)
    return (1 - base) ** 2 * k * (1 - share) / (base + (1 - base) * share) ** 2
