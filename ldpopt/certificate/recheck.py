"""recheck(certificate): every number again from statement, masses and multipliers, without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ldpopt.certificate.program_bound import Multipliers
from ldpopt.certificate.program_value import relative_gap
from ldpopt.certificate.record import Certificate, in_float, prove
from ldpopt.errors import CertificateError
from ldpopt.statement.problem import Problem


@dataclass(frozen=True)
class Recheck:
    """The result of checking a certificate.

    Attributes
    ----------
    claimed : Certificate
        The certificate that was checked.
    found : Certificate or None
        The recomputed certificate; None if the multipliers prove no bound.
    failures : tuple of str
        Each number of the claim that does not hold, with the recomputed one; empty if all hold.
    """

    claimed: Certificate
    found: Certificate | None
    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether privacy, value and gap hold as claimed."""
        return not self.failures

    @property
    def is_same(self) -> bool:
        """Whether every number equals its claim; a claim also holds if the recomputed number is better."""
        return self.holds and self.found == self.claimed


def recheck(certificate: Certificate) -> Recheck:
    """Compute a certificate again without a solver, and compare; only the statement is trusted.

    Parameters
    ----------
    certificate : Certificate
        From `certify` or `Certificate.load`.

    Returns
    -------
    Recheck
        ``achieved`` and ``gap`` must equal the recomputed numbers; claimed ``bound`` and ``residuals`` may be weaker.

    Raises
    ------
    CertificateError
        If the certificate has no problem, mechanism or multipliers, or is in floats.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, certify, solve
    >>> recheck(certify(solve(Problem([0.5, 0.5], "identity", PureLDP("log(3)"))))).holds
    True
    """
    problem, mechanism, multipliers = certificate.problem, certificate.mechanism, certificate.multipliers
    if problem is None or mechanism is None or multipliers is None or not certificate.exact:
        raise CertificateError("the certificate is in floats, or has no problem, mechanism or multipliers")
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
    """Name the numbers of a claim that do not hold."""
    sign = 1 if problem.utility.sense == "gain" else -1
    achieved, best, gap = (Fraction(value) for value in (claimed.achieved, claimed.bound, claimed.gap))
    wrong = []
    if achieved != found.achieved:
        wrong.append(_difference("achieved", achieved, found.achieved))
    if sign * (best - found.bound) < 0:
        wrong.append(_difference("bound", best, found.bound))
    if gap != sign * (best - achieved):
        wrong.append(_difference("gap", gap, sign * (best - achieved)))
    relative = relative_gap(problem, multipliers, best, gap)
    if claimed.relative_gap != relative:
        wrong.append(_difference("relative_gap", claimed.relative_gap, relative))
    return wrong + _too_small_residuals(claimed, found)


def _too_small_residuals(claimed: Certificate, found: Certificate) -> list[str]:
    """Name each residual that is larger than its claim."""
    pairs = [(name, claimed.residuals.get(name, 0.0), residual) for name, residual in found.residuals.items()]
    return [
        _difference(f"residual of {name!r}", claim, residual)
        for name, claim, residual in pairs
        if not claim >= residual
    ]


def _difference(name: str, claimed: Fraction | float, found: Fraction | float) -> str:
    """Format a claimed number with enough digits to differ from the recomputed one."""
    one, other = f"{in_float(claimed):.17g}", f"{in_float(found):.17g}"
    unlike = "" if one != other else " (they differ beyond these digits)"
    return f"{name}: {one} is claimed, {other} was recomputed{unlike}"
