"""recheck(certificate): every number once more from the statement, the masses and the multipliers, without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ldpopt.certificate.duals import Multipliers
from ldpopt.certificate.record import Certificate, in_float, prove, relative_gap
from ldpopt.errors import CertificateError
from ldpopt.statement.problem import Problem


@dataclass(frozen=True)
class Recheck:
    """What became of a claim.

    Attributes
    ----------
    claimed : Certificate
        As it was given.
    found : Certificate or None
        As it was computed again; None if the multipliers prove no bound at all.
    failures : tuple of str
        Each number of the claim that does not hold, and what was found instead; empty where all do.
    """

    claimed: Certificate
    found: Certificate | None
    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the mechanism is private, worth what was claimed, and as near to the best as was claimed."""
        return not self.failures

    @property
    def is_same(self) -> bool:
        """Whether every number came out as claimed; a claim may hold because the truth is better."""
        return self.holds and self.found == self.claimed


def recheck(certificate: Certificate) -> Recheck:
    """Compute a certificate again and compare: no solver, and nothing is trusted but the statement.

    Parameters
    ----------
    certificate : Certificate
        From `certify` or `Certificate.load`.

    Returns
    -------
    Recheck
        ``achieved`` and ``gap`` must be equal to what is found; ``bound`` and ``residuals`` may be more cautious.

    Raises
    ------
    CertificateError
        If the certificate does not say what it is about, or is in floats.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, certify, solve
    >>> recheck(certify(solve(Problem([0.5, 0.5], "identity", PureLDP("log(3)"))))).holds
    True
    """
    problem, mechanism, multipliers = certificate.problem, certificate.mechanism, certificate.multipliers
    if problem is None or mechanism is None or multipliers is None or not certificate.exact:
        raise CertificateError("the certificate is in floats, or does not say what it is about")
    found: Certificate | None = None
    failures: list[str] = []
    try:
        found = prove(problem, mechanism, multipliers)
    except CertificateError as error:
        failures.append(f"bound: {error.what}")
    audit = mechanism.audit(problem.privacy) if found is None else found.audit
    if audit.verdict != "certified":
        failures.append(
            f"privacy: the claim {audit.claim} is {audit.verdict}: "
            f"epsilon {audit.epsilon:.17g}, delta {audit.delta:.17g}, witness {audit.witness}"
        )
    if found is not None:
        failures += _differences(certificate, found, problem, multipliers)
    return Recheck(certificate, found, tuple(failures))


def _differences(claimed: Certificate, found: Certificate, problem: Problem, multipliers: Multipliers) -> list[str]:
    """Say which numbers of a claim do not follow."""
    sign = 1 if problem.utility.sense == "gain" else -1
    achieved, best, gap = (Fraction(value) for value in (claimed.achieved, claimed.bound, claimed.gap))
    wrong = []
    if achieved != found.achieved:
        wrong.append(_told("achieved", achieved, found.achieved))
    if sign * (best - found.bound) < 0:
        wrong.append(_told("bound", best, found.bound))
    if gap != sign * (best - achieved):
        wrong.append(_told("gap", gap, sign * (best - achieved)))
    relative = relative_gap(problem, multipliers, best, gap)
    if claimed.relative_gap != relative:
        wrong.append(_told("relative_gap", claimed.relative_gap, relative))
    return wrong + _too_small_residuals(claimed, found)


def _too_small_residuals(claimed: Certificate, found: Certificate) -> list[str]:
    """Name each residual that is larger than its claim."""
    pairs = [(name, claimed.residuals.get(name, 0.0), residual) for name, residual in found.residuals.items()]
    return [_told(f"residual of {name!r}", claim, residual) for name, claim, residual in pairs if not claim >= residual]


def _told(name: str, claimed: Fraction | float, found: Fraction | float) -> str:
    """Name a number by enough digits to tell it from what was found."""
    one, other = f"{in_float(claimed):.17g}", f"{in_float(found):.17g}"
    unlike = "" if one != other else " (they differ beyond these digits)"
    return f"{name}: {one} is claimed, {other} is what follows{unlike}"
