"""Certificates of what reports reveal: the statement, some points of the curve, and a digest, as
JSON.

`ldpopt certify FILE` computes every point again; ``ldpopt_check.py`` proves it by another
computation.
"""

import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from ldpopt.accounting.excess import Excesses, excesses_of
from ldpopt.accounting.on_levels import LEVELS
from ldpopt.accounting.permanent_reports import Permanent
from ldpopt.accounting.privacy_loss import BITS, ChannelSource, OneOf, Ratios, Source, all_pairs
from ldpopt.accounting.shuffled_reports import MAX_PEOPLE, Shuffled
from ldpopt.accounting.strategies import MAX_LEVELS, Strategies
from ldpopt.certificate.documents import UNIT, digest_of, flaws_of, open_document, text_of
from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts, Part, Table
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import FilePath, beginning, replacing
from ldpopt.foundation.numbers import Int, listed_items, real_number, require_kind
from ldpopt.mechanism.files import made_by

FORMAT = "ldpopt account certificate 1"
KEYS = ("format", "reports", "claims", "made_by", "digest")
# by which a claimed delta is larger: other ways of rounding prove it too
SLACK = Fraction(1, 1 << 30)
SHUFFLED_SLACK = Fraction(1, 100)  # other lattices, too
LEVELS_SLACK = Fraction(1, 1 << 20)  # other levels of strategies, too
THINNED_SLACK = Fraction(1, 1000)  # also if not all could be taken
STRATEGY_LEVELS = 1 << 10  # with more the check takes minutes
MAX_TIMES = 1 << 20
LARGEST_FILE = 1 << 30  # in bytes
HOLDS_FOR = (
    "adaptive: the claims hold for answers that are chosen by earlier reports, and so for those "
    "that are fixed beforehand"
)


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
    def of(cls, excesses: Excesses, epsilons: list[float]) -> "CurveCertificate":
        """Claim the deltas of a curve at some epsilons, slightly larger.

        A claimed delta is at least ``1 + slack`` times the computed one, so that whoever checks it
        by another computation may round up where this one did not.
        """
        require_kind(excesses, Excesses, "CurveCertificate.of()", "use curve.prove(*deltas)")
        epsilons = [
            real_number(epsilon, "epsilon", 0.0, sys.float_info.max)
            for epsilon in listed_items(epsilons, "epsilons")
        ]
        too_many = max(times for _, times in excesses.sources)
        if too_many >= MAX_TIMES:
            problem = f"{too_many:,} repetitions of a channel are more than a certificate proves"
            do = f"prove fewer than {MAX_TIMES:,}, or keep the curve itself"
            raise StatementError(problem, code="many-repetitions", do=do)
        sources = tuple((_checkable(source), times) for source, times in excesses.gathered)
        # more levels than those of whoever checks it would claim what is not proved there
        if sources != excesses.sources or excesses.levels > LEVELS or excesses.answers == "fixed":
            excesses = excesses_of(sources)
        factor = 1 + max(_slack_of(source) for source, _ in sources)
        claims = []
        for epsilon in sorted({0.0, *epsilons}):
            delta = min(excesses.delta(epsilon) * factor, Fraction(1))
            claims.append((epsilon, _few_digits(delta)))
        return cls(sources, tuple(claims))

    @property
    def excesses(self) -> Excesses:
        """The deltas, computed from the statement."""
        return excesses_of(self.sources)

    def recheck(self) -> tuple[str, ...]:
        """Compute every claimed delta again; return what does not hold."""
        excesses = self.excesses
        failures = list(self.flaws)
        for epsilon, delta in self.claims:
            proved = excesses.delta(epsilon)
            if proved > delta:
                failures.append(
                    f"delta: {float(delta):.9g} is claimed at epsilon {epsilon:.9g}, "
                    f"{float(proved):.9g} is proved"
                )
        return tuple(failures)

    def facts(self) -> Facts:
        """The claims, and which answers they tell apart."""
        rows = [[epsilon, float(delta)] for epsilon, delta in self.claims]
        table = Table(["epsilon", "delta at most"], rows, digits=12)
        reports = sum(times * source.reports for source, times in self.sources)
        named = [source.named_pairs for source, _ in self.sources]
        pairs = list(dict.fromkeys(chain.from_iterable(named)))
        of = "" if all(named) else "of some reports "
        shown = f"{of}only the pairs {pairs!s:.200} of answers" if pairs else "all pairs of answers"
        parts: list[Part] = [table, ("compared", shown)]
        parts += [("answers", HOLDS_FOR)] if reports > 1 else []
        return Facts(f"what {reports} reports of a person reveal", parts)

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
        sources = tuple(_read_source(source) for source in table["reports"].list())
        claims = []
        for part in table["claims"].list():
            claim = part.table("epsilon", "delta")
            claims.append((claim["epsilon"].number(), claim["delta"].rational()))
        if not sources or not claims or min(epsilon for epsilon, _ in claims) < 0:
            raise entry.error("there are no reports, no claims, or an epsilon is negative")
        if max(delta for _, delta in claims) > 1:
            raise table["claims"].error("a delta is above 1")
        return cls(sources, tuple(claims), flaws)


def _checkable(source: Source) -> Source:
    """The source, with few levels if it has many."""
    if isinstance(source, Strategies) and source.levels > STRATEGY_LEVELS:
        return replace(source, levels=STRATEGY_LEVELS)
    return source


def _slack_of(source: Source) -> Fraction:
    """By which the deltas of a source are claimed to be larger."""
    if isinstance(source, Shuffled):
        return SHUFFLED_SLACK
    if isinstance(source, Strategies):
        inner = max(_slack_of(each) for each, _ in source.sources)
        return max(inner, THINNED_SLACK if source.is_thinned else LEVELS_SLACK)
    return SLACK


def is_account(path: FilePath) -> bool:
    """Whether a file begins as such a certificate."""
    return FORMAT in beginning(path, 100)


def _few_digits(delta: Fraction) -> Fraction:
    """The number, rounded up to 64 significant bits."""
    shift = max(64 + delta.denominator.bit_length() - delta.numerator.bit_length(), 0)
    above = -(-(delta.numerator << shift) // delta.denominator)
    return Fraction(above, 1 << shift)


def _read_source(entry: Entry) -> tuple[Source, int]:
    """Read a source with its number of repetitions."""
    times = _positive(entry.part("times"), MAX_TIMES)
    stated = {key: value for key, value in entry.value.items() if key != "times"}
    return _read_law(Entry(stated, entry.path, entry.key)), times


def _positive(entry: Entry, stop: int) -> int:
    """Read a number of repetitions or people, from 1 to before the end."""
    number = entry.whole(stop)
    if not number:
        raise entry.error("0 are none: it would reveal nothing")
    return number


def _read_law(entry: Entry) -> Source:
    """Read what draws one report of a source."""
    kind = entry.part("kind").text(
        "reports", "shuffled", "permanent", "ratios", "one_of", "strategies"
    )
    if kind == "strategies":
        return _read_strategies(entry)
    if kind == "one_of":
        return _read_mixture(entry)
    if kind == "ratios":
        return _read_ratios(entry)
    more = {"reports": (), "shuffled": ("people",), "permanent": ("fresh", "publications")}[kind]
    table = entry.table("kind", "masses", "pairs", "ratios", *more)
    channel = _read_channel(table["masses"], table["pairs"])
    points = sorted({ratio.rational() for ratio in table["ratios"].list()})
    if points and points[0] <= 0:
        raise table["ratios"].error("a ratio is not positive")
    if kind == "shuffled":
        return Shuffled(channel, _positive(table["people"], MAX_PEOPLE + 1), points)
    if kind == "permanent":
        fresh = _read_masses(table["fresh"])
        reports = channel.counts.shape[1]
        if len(fresh) != reports:
            raise table["fresh"].error(
                f"there are {len(fresh)} rows for {reports} permanent reports"
            )
        return Permanent(channel, fresh, _positive(table["publications"], MAX_TIMES), points)
    return replace(channel, points=points)


def _read_mixture(entry: Entry) -> OneOf:
    """Read sources of which one is drawn for each person, once: they have no repetitions."""
    parts = entry.table("kind", "sources")["sources"].list()
    if not parts:
        raise entry.error("one of no sources is drawn")
    return OneOf(tuple(map(_read_law, parts)), is_attained=False)


def _read_strategies(entry: Entry) -> Strategies:
    """Read sources that are asked in any order, and the number of points of a table."""
    table = entry.table("kind", "levels", "sources")
    levels = table["levels"].whole(MAX_LEVELS + 1)
    sources = tuple(_read_source(source) for source in table["sources"].list())
    if not sources or any(isinstance(source, Strategies) for source, _ in sources):
        raise table["sources"].error("there are no sources, or some that are strategies already")
    together = Strategies(sources, levels)
    if not together.is_small:
        raise table["sources"].error("there are too many reports for so few levels")
    return together


def _read_ratios(entry: Entry) -> Ratios:
    """Read the largest ratio of two probabilities and the mass of the reports that attain it.

    Of the ratio, its inverse and 1, the reports have the masses ``share``, ``share / odds`` and the
    rest of 1: none may be negative.
    """
    table = entry.table("kind", "odds", "share")
    odds = table["odds"].rational()
    share = table["share"].rational()
    if not (odds >= 1 and 0 <= share * (1 + 1 / odds) <= 1):
        raise entry.error("the odds are below 1, or the share is out of range")
    return Ratios(odds, share, is_attained=False)


def _read_masses(entry: Entry) -> Int:
    """Read a matrix of integers whose rows have the sum ``2**53``."""
    rows = entry.list()
    counts = entry.counts(len(rows), len(rows[0].list()) if rows else 0, UNIT)
    if not counts.size or any(sum(row) != 1 << BITS for row in counts.tolist()):
        raise entry.error(f"a row of the masses does not sum to {UNIT}")
    return counts


def _read_channel(masses: Entry, pairs: Entry) -> ChannelSource:
    """Read a channel and the ordered pairs that are compared; null for all."""
    counts = _read_masses(masses)
    n = len(counts)
    first, second = all_pairs(n)
    if pairs.value is not None:
        first, second = pairs.counts(len(pairs.list()), 2, n - 1).reshape(-1, 2).T
    try:
        return ChannelSource(counts, first, second)
    except StatementError as error:
        raise pairs.error(error.what) from None
