"""Certificate of a program: the mechanism's exact value, a bound on the value of every private
channel, their gap.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate import program_files as files
from ldpopt.certificate.integers import exact_grid, integers
from ldpopt.certificate.program_bound import Multipliers, bound_of, weights
from ldpopt.certificate.program_digits import ProgramDigits
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, privacy_text, shown
from ldpopt.foundation.numbers import require_kind
from ldpopt.foundation.rows import RowBlock
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem

# the gap is relative to at least the stake divided by this, because the bound of a loss may be 0
STAKE_SHARE = 100


@dataclass(frozen=True, repr=False)
class Certificate(HasFacts):
    """A proof that a mechanism is private, with a bound on its distance from the best value.

    Attributes
    ----------
    achieved : Fraction
        Value of the mechanism's integer masses; prior and utility are read exactly. A float if not
        ``exact``.
    bound : Fraction
        No private channel gains more (or loses less), for the real ``e**epsilon``.
    gap : Fraction
        Difference between the two: no private channel improves the value by more than this.
    relative_gap : float
        ``gap`` divided by ``abs(bound)``, or by a hundredth of the utility's range if that is
        larger (for each answer the best minus the worst report, averaged over the prior; for a
        worst case over the multipliers of the inputs, and at least the smallest range that is not
        0, divided by the number of answers).
    exact : bool
        Whether the numbers are rationals.
    audit : Audit
        The exact check of the privacy claim.
    residuals : dict of str to float
        Largest violation of each side constraint by the mechanism, rounded up; rounding of the
        masses causes about 1e-15.
    problem, mechanism, multipliers : Problem, Mechanism, Multipliers
        The statement, the certified mechanism and the numbers that prove the bound, for `save` and
        `recheck`.
    """

    achieved: Fraction | float
    bound: Fraction | float
    gap: Fraction | float
    relative_gap: float
    exact: bool
    audit: Audit
    residuals: dict[str, float] = field(default_factory=dict)
    problem: Problem | None = field(default=None, repr=False, compare=False)
    mechanism: Mechanism | None = field(default=None, repr=False, compare=False)
    multipliers: Multipliers | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Value, bound and gap as floats; the attributes are exact."""
        facts = ", ".join(f"{name}={text}" for name, text in self._numbers())
        return f"Certificate({facts})"

    def facts(self) -> Facts:
        """Value, bound and gap, the residuals of side constraints, and the verdict of the audit."""
        numbers = [(name.replace("_", " "), text) for name, text in self._numbers()]
        return Facts("Certificate", numbers + self.residual_facts())

    def residual_facts(self) -> list[tuple[str, str]]:
        """Names of the side constraints, and how far the mechanism is from them."""
        return [
            (f"constraint {name}", f"off by at most {off:.1e}")
            for name, off in self.residuals.items()
        ]

    def _numbers(self) -> list[tuple[str, str]]:
        """Names and short values."""
        numbers = [
            ("achieved", f"{in_float(self.achieved):.12g}"),
            ("bound", f"{in_float(self.bound):.12g}"),
        ]
        numbers += [("relative_gap", f"{self.relative_gap:.2g}"), ("exact", str(self.exact))]
        return [*numbers, ("audit", self.audit.verdict)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write statement, masses, multipliers and claim as JSON, every number exactly; atomic.

        Raises
        ------
        CertificateError
            If the notion is a plug-in's, a label is neither text nor a number, the certificate is
            in floats, or its file would be too large to be read: from about 3000 locations on.
        ModelFileError
            If the file cannot be written; an old one is left as it was.
        """
        if self.problem is None or self.mechanism is None or self.multipliers is None:
            message = (
                "this certificate was constructed by hand and has no problem, mechanism "
                "or multipliers"
            )
            raise CertificateError(
                message, code="handmade-certificate", do="save what certify(solution) returned"
            )
        achieved, bound, gap = self.achieved, self.bound, self.gap
        if not (
            isinstance(achieved, Fraction)
            and isinstance(bound, Fraction)
            and isinstance(gap, Fraction)
        ):
            raise CertificateError(
                "the certificate was rounded to floats",
                code="rounded-certificate",
                do="save what certify(solution) returned",
            )
        claim = {"achieved": str(achieved), "bound": str(bound), "gap": str(gap)}
        claim["relative_gap"] = self.relative_gap.hex()
        files.write(self.problem, self.mechanism, self.multipliers, claim, self.residuals, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read what `save` wrote: the claimed numbers, which `recheck` computes again.

        Only the audit is computed here, from the masses.

        Raises
        ------
        ModelFileError
            With file and key, if the file is missing or is not a certificate.
        """
        parts = files.read(path)
        return cls(exact=True, audit=parts["mechanism"].audit(parts["problem"].privacy), **parts)

    def recheck(self) -> tuple[str, ...]:
        """Compute every number again; return what does not hold. The function `recheck` returns the
        numbers too.

        Returns
        -------
        tuple of str
            Failures; empty if the certificate holds.
        """
        return recheck(self).failures

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        numbers = {key: in_float(getattr(self, key)) for key in ("achieved", "bound", "gap")}
        return {**numbers, "relative_gap": self.relative_gap}


def prove(
    problem: Problem, mechanism: Mechanism, multipliers: Multipliers, audit: Audit | None = None
) -> Certificate:
    """Compute every number of a certificate from the statement, the masses and the multipliers; the
    mechanism's audit too, if it is not known.
    """
    digits = ProgramDigits.of(problem)
    achieved = achieved_by(digits, mechanism)
    best = bound_of(digits, multipliers)
    distance = best - achieved if problem.utility.sense == "gain" else achieved - best
    relative = relative_gap(digits, multipliers, best, distance)
    audit = mechanism.audit(problem.privacy) if audit is None else audit
    residuals = {block.name: residual_of(block, mechanism) for block in problem.constraints}
    return Certificate(
        achieved, best, distance, relative, True, audit, residuals, problem, mechanism, multipliers
    )


def achieved_by(digits: ProgramDigits, mechanism: Mechanism) -> Fraction:
    """Exact value of the masses under the problem's objective."""
    problem = digits.problem
    by_input, bits = digits.sums(mechanism.counts)
    if digits.prior is not None:
        prior, fine = digits.prior
        return Fraction(int((prior * by_input).sum()), mechanism.denominator << (bits + fine))
    worst = min(by_input) if problem.utility.sense == "gain" else max(by_input)
    return Fraction(int(worst), mechanism.denominator << bits)


def relative_gap(
    digits: ProgramDigits, multipliers: Multipliers, best: Fraction, distance: Fraction
) -> float:
    """Gap over the bound, or over a hundredth of the stake if that is larger; infinite if both are
    0 and it is not.
    """
    matrix = digits.problem.utility.matrix
    # no input's stake is above the whole range: the bound is the larger scale, nearly always
    if abs(in_float(best)) > 2 * (float(matrix.max()) - float(matrix.min())) / STAKE_SHARE:
        return round_up(distance / abs(best))
    fine = digits.bits
    spread = digits.spread
    shares, grid = weights(digits, multipliers)
    stake = Fraction(int((shares * spread).sum()), 1 << (grid + fine))
    # only inputs with the same utility for all reports have weight: all inputs count instead
    if not stake:
        stake = Fraction(int(spread.sum()), len(spread) << fine)
    if digits.prior is None:  # multipliers near 0, even roundoff, must not make the stake vanish
        stake = max(
            stake, Fraction(min(filter(None, spread.tolist()), default=0), len(spread) << fine)
        )
    scale = max(abs(best), stake / STAKE_SHARE)
    if not scale:
        return math.inf if distance else 0.0
    return round_up(distance / scale)


def in_float(value: Fraction | float) -> float:
    """Round to a float; infinite beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def residual_of(block: RowBlock, mechanism: Mechanism) -> float:
    """Largest violation of a block's rows by the masses, exactly, rounded up."""
    sides = np.concatenate(
        [block.lower[np.isfinite(block.lower)], block.upper[np.isfinite(block.upper)]]
    )
    grid = exact_grid(block.coefficient, sides)
    activity = np.zeros(len(block), dtype=object)
    np.add.at(
        activity,
        block.row,
        integers(block.coefficient, grid=grid) * mechanism.counts[block.x, block.y],
    )
    worst = 0
    for side, sign in ((block.lower, 1), (block.upper, -1)):
        rows = np.isfinite(side)
        over = sign * (integers(side[rows], grid=grid) * mechanism.denominator - activity[rows])
        worst = max([worst, *over.tolist()])
    return round_up(Fraction(int(worst), mechanism.denominator << grid))


@dataclass(frozen=True)
class Recheck(HasFacts):
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
        """Whether every number equals its claim; a claim also holds if the recomputed number is
        better.
        """
        return self.holds and self.found == self.claimed

    def facts(self) -> Facts:
        """Claimed and recomputed numbers, and whether the certificate holds."""
        both = [self.claimed] + ([] if self.found is None else [self.found])
        rows = []
        for name, digits in (("achieved", 15), ("bound", 15), ("gap", 3), ("relative_gap", 3)):
            rows.append([name, *(shown(proof.to_dict()[name], digits) for proof in both)])
        residuals = self.claimed.residuals
        rows += [
            [f"off {name} by", *(shown(proof.residuals[name], 3) for proof in both)]
            for name in residuals
        ]
        rows = [[*row, *["-"] * (3 - len(row))] for row in rows]
        parts: list[Part] = [Table(["", "claimed", "recomputed"], rows)]
        parts.append(("audit", self.claimed.audit.numbers_text(12)))
        if self.holds:
            parts.append(
                "the certificate holds"
                + ("" if self.is_same else "; the recomputed numbers are better")
            )
        return Facts(self._title(), parts)

    def _title(self) -> str:
        problem = self.claimed.problem
        if problem is None:
            return "Certificate"
        n, m = problem.utility.shape
        aim = (
            f"{'worst-case' if problem.objective == 'worst_case' else 'expected'} "
            f"{problem.utility.sense}"
        )
        return f"{n} answers, {m} reports, {aim}, {privacy_text(problem.privacy)}"


def recheck(certificate: Certificate) -> Recheck:
    """Compute a certificate again without a solver, and compare; only the statement is trusted.

    Parameters
    ----------
    certificate : Certificate
        From `certify` or `Certificate.load`.

    Returns
    -------
    Recheck
        ``achieved`` and ``gap`` must equal the recomputed numbers; claimed ``bound`` and
        ``residuals`` may be weaker.

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
    require_kind(certificate, Certificate, "recheck()", "pass certify(solution)")
    problem, mechanism, multipliers = (
        certificate.problem,
        certificate.mechanism,
        certificate.multipliers,
    )
    if problem is None or mechanism is None or multipliers is None or not certificate.exact:
        message = "the certificate is in floats, or has no problem, mechanism or multipliers"
        raise CertificateError(
            message,
            code="incomplete-certificate",
            do="check one from certify(solution), or from Certificate.load(path)",
        )
    computed: Certificate | None = None
    failures: list[str] = []
    try:
        computed = prove(problem, mechanism, multipliers)
    except CertificateError as error:
        failures.append(f"bound: {error.what}")
    audit = mechanism.audit(problem.privacy) if computed is None else computed.audit
    if audit.verdict != "certified":
        numbers = f"epsilon {audit.epsilon:.17g}, delta {audit.delta:.17g}, witness {audit.witness}"
        failures.append(f"privacy: the claim {audit.claim} is {audit.verdict}: {numbers}")
    if computed is not None:
        failures += _differences(certificate, computed, problem, multipliers)
    return Recheck(certificate, computed, tuple(failures))


def _differences(
    claimed: Certificate, computed: Certificate, problem: Problem, multipliers: Multipliers
) -> list[str]:
    """The numbers of a claim that do not hold, each with the recomputed one."""
    sign = 1 if problem.utility.sense == "gain" else -1
    achieved, best, gap = (
        Fraction(value) for value in (claimed.achieved, claimed.bound, claimed.gap)
    )
    relative = relative_gap(ProgramDigits.of(problem), multipliers, best, gap)
    # name, claim, number, whether the claim is wrong
    compared: list[tuple[str, Any, Any, bool]] = [
        ("achieved", achieved, computed.achieved, achieved != computed.achieved),
        ("bound", best, computed.bound, sign * (best - computed.bound) < 0),
        ("gap", gap, sign * (best - achieved), gap != sign * (best - achieved)),
        ("relative_gap", claimed.relative_gap, relative, claimed.relative_gap != relative),
    ]
    claims = {
        name: (claimed.residuals.get(name, 0.0), off) for name, off in computed.residuals.items()
    }
    compared += [
        (f"residual of {name!r}", stated, off, not stated >= off)
        for name, (stated, off) in claims.items()
    ]
    return [
        _difference(name, claim, number) for name, claim, number, is_wrong in compared if is_wrong
    ]


def _difference(name: str, claimed: Fraction | float, computed: Fraction | float) -> str:
    """Format a claimed number with enough digits to differ from the recomputed one."""
    stated = f"{in_float(claimed):.17g}"
    other = f"{in_float(computed):.17g}"
    unlike = "" if stated != other else " (they differ beyond these digits)"
    return f"{name}: {stated} is claimed, {other} was recomputed{unlike}"
