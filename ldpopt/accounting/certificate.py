"""Certificates of what reports reveal: the statement, some points of the curve, and a digest, as
JSON.

`ldpopt certify FILE` computes every point again; ``ldpopt_check.py`` proves it by another
computation.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.accounting.curve import PrivacyCurve, compose
from ldpopt.accounting.memoised import Permanent
from ldpopt.accounting.privacy_loss import BITS, Channel, OneOf, Ratios, Source, all_pairs
from ldpopt.accounting.shuffling import MAX_PEOPLE, Shuffled, curve_of
from ldpopt.certificate.documents import UNIT, digest_of, flaws_of, open_document, text_of
from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts, Table
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import FilePath, beginning, replacing
from ldpopt.foundation.numbers import Int
from ldpopt.mechanism.files import made_by

FORMAT = "ldpopt account certificate 1"
KEYS = ("format", "reports", "claims", "made_by", "digest")
# by which a claimed delta is larger: other ways of rounding prove it too
SLACK = Fraction(1, 1 << 30)
SHUFFLED_SLACK = Fraction(1, 100)  # other lattices, too
MAX_TIMES = 1 << 20
LARGEST_FILE = 1 << 30  # in bytes


@dataclass(frozen=True, eq=False)
class CurveCertificate(HasFacts):
    """A proof of some points of a privacy curve, from `PrivacyCurve.certificate`.

    Attributes
    ----------
    sources : tuple of (source, int)
        What draws the reports, with repetitions.
    claims : tuple of (epsilon, delta)
        Deltas that are claimed, as rationals, with the epsilons in nats. That at 0 proves a guess:
        its probability is at most ``(1 + delta) / 2``.
    flaws : tuple of str
        Failures of the file itself; `recheck` returns them too.
    """

    sources: tuple[tuple[Source, int], ...]
    claims: tuple[tuple[float, Fraction], ...]
    flaws: tuple[str, ...] = ()

    @classmethod
    def of(cls, curve: PrivacyCurve, epsilons: list[float]) -> "CurveCertificate":
        """Claim the deltas of a curve at some epsilons, slightly larger."""
        factor = 1 + (
            SHUFFLED_SLACK
            if any(isinstance(source, Shuffled) for source, _ in curve.sources)
            else SLACK
        )
        claims = []
        for epsilon in sorted({0.0, *epsilons}):
            delta = min(curve.delta(epsilon) * factor, Fraction(1))
            shift = max(64 + delta.denominator.bit_length() - delta.numerator.bit_length(), 0)
            claims.append(
                (epsilon, Fraction(-(-(delta.numerator << shift) // delta.denominator), 1 << shift))
            )
        return cls(curve.sources, tuple(claims))

    @property
    def curve(self) -> PrivacyCurve:
        """The curve, computed from the statement."""
        (source, times), *others = self.sources
        return (
            curve_of(source)
            if isinstance(source, Shuffled) and times == 1 and not others
            else compose(self.sources)
        )

    def recheck(self) -> tuple[str, ...]:
        """Compute every claimed delta again; return what does not hold."""
        curve = self.curve
        failures = list(self.flaws)
        for epsilon, delta in self.claims:
            if (proved := curve.delta(epsilon)) > delta:
                problem = (
                    f"{float(delta):.9g} is claimed at epsilon {epsilon:.9g}, "
                    f"{float(proved):.9g} is proved"
                )
                failures.append(f"delta: {problem}")
        return tuple(failures)

    def facts(self) -> Facts:
        """The claims."""
        rows = [[epsilon, float(delta)] for epsilon, delta in self.claims]
        table = Table(["epsilon", "delta at most"], rows, digits=12)
        return Facts(
            f"what {sum(times for _, times in self.sources)} reports of a person reveal", [table]
        )

    def to_dict(self) -> dict[str, Any]:
        """Statement and claims as JSON data, with their digest."""
        claims = [{"epsilon": epsilon, "delta": str(delta)} for epsilon, delta in self.claims]
        reports = [{"times": times, **source.plain()} for source, times in self.sources]
        data = {"format": FORMAT, "reports": reports, "claims": claims, "made_by": made_by()}
        return {**data, "digest": digest_of(data)}

    def save(self, path: FilePath) -> None:
        """Write the certificate as JSON; atomic.

        Raises
        ------
        ModelFileError
            If the file cannot be written.
        """
        with replacing(path) as stream:
            stream.writelines(text_of(self.to_dict()))

    @classmethod
    def load(cls, path: FilePath) -> "CurveCertificate":
        """Read a certificate; a changed file has a flaw.

        Raises
        ------
        ModelFileError
            If the file is missing or is not such a certificate.
        """
        entry = open_document(path, LARGEST_FILE)
        table = entry.table(*KEYS)
        table["format"].text(FORMAT)
        table["made_by"].text()
        flaws = flaws_of(entry)
        sources = tuple(_read_source(one) for one in table["reports"].list())
        claimed = (one.table("epsilon", "delta") for one in table["claims"].list())
        claims = [(claim["epsilon"].number(), claim["delta"].rational()) for claim in claimed]
        if not sources or not claims or min(epsilon for epsilon, _ in claims) < 0:
            raise entry.error("there are no reports, no claims, or an epsilon is negative")
        return cls(sources, tuple(claims), flaws)


def is_account(path: FilePath) -> bool:
    """Whether a file begins as such a certificate."""
    return FORMAT in beginning(path, 100)


def _read_source(entry: Entry) -> tuple[Source, int]:
    """Read a source with its number of repetitions."""
    kind = entry.part("kind").text("reports", "shuffled", "permanent", "ratios", "one_of")
    times = entry.part("times").whole(MAX_TIMES)
    if kind == "one_of":
        parts = entry.table("kind", "times", "sources")["sources"].list()
        if not parts:
            raise entry.error("one of no sources is drawn")
        sources = [
            _read_source(Entry({"times": 1, **part.value}, part.path, part.key))[0]
            for part in parts
        ]
        return OneOf(tuple(sources), is_attained=False), times
    if kind == "ratios":
        table = entry.table("kind", "times", "odds", "share")
        odds = table["odds"].rational()
        share = table["share"].rational()
        if not (odds >= 1 and 0 <= share * (1 + 1 / odds) <= 1):
            raise entry.error("the odds are below 1, or the share is out of range")
        return Ratios(odds, share, is_attained=False), times
    more = {"reports": (), "shuffled": ("people",), "permanent": ("fresh", "publications")}[kind]
    table = entry.table("kind", "times", "masses", "pairs", "ratios", *more)
    channel = _read_channel(table["masses"], table["pairs"])
    if kind == "shuffled":
        return Shuffled(channel, max(1, table["people"].whole(MAX_PEOPLE + 1))), times
    if kind == "permanent":
        fresh = _read_masses(table["fresh"])
        if len(fresh) != channel.counts.shape[1]:
            raise table["fresh"].error(
                f"there are {len(fresh)} rows for {channel.counts.shape[1]} permanent reports"
            )
        return Permanent(channel, fresh, max(1, table["publications"].whole(MAX_TIMES))), times
    return channel, times


def _read_masses(entry: Entry) -> Int:
    """Read a matrix of integers whose rows have the sum ``2**53``."""
    rows = entry.list()
    counts = entry.counts(len(rows), len(rows[0].list()) if rows else 0, UNIT)
    if not counts.size or any(sum(row) != 1 << BITS for row in counts.tolist()):
        raise entry.error(f"a row of the masses does not sum to {UNIT}")
    return counts


def _read_channel(masses: Entry, pairs: Entry) -> Channel:
    """Read a channel and the ordered pairs that are compared; null for all."""
    counts = _read_masses(masses)
    n = len(counts)
    if pairs.value is None:
        return Channel(counts, *all_pairs(n))
    table = pairs.counts(len(pairs.list()), 2, n - 1).reshape(-1, 2)
    if not len(table):
        raise pairs.error("there are no pairs of answers")
    return Channel(counts, table[:, 0], table[:, 1])


def certificate_of(curve: PrivacyCurve, *deltas: float) -> CurveCertificate:
    """The certificate of a curve at its least epsilons for some deltas."""
    epsilons = [curve.epsilon(delta) for delta in deltas]
    if not any(epsilon < float("inf") for epsilon in epsilons):
        problem = "no epsilon is enough for any of the deltas"
        raise StatementError(
            problem, do="give a larger delta, or channels without impossible reports"
        )
    return CurveCertificate.of(curve, [epsilon for epsilon in epsilons if epsilon < float("inf")])
