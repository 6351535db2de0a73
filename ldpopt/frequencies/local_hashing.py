r"""Local hashing: a public random hash of the label for each user, then randomized response on the
hashed value.
"""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.form import ResponseSampler
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, any_array, whole_number
from ldpopt.foundation.seeds import generator_of
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import kept_and_other
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.sampling import Random, bit_source, chunks

PRIME_BITS = 61
# the field of the hash family, a Mersenne prime: reduction takes only shifts
PRIME = (1 << PRIME_BITS) - 1
MAX_BUCKETS = 1 << 20
BLOCK_REPORTS = 1 << 16  # reports per block of work
MAX_LABELS = 1 << 30
REPORT = np.dtype([("a", np.uint64), ("b", np.uint64), ("bucket", np.int64)])


class LocalHashing(FrequencyProtocol, published=True):
    r"""Hash the label into ``g`` buckets by a random function per user; report the function and the
    randomized bucket.

    .. math:: h_{a,b}(x) = ((a x + b) \bmod P) \bmod g, \quad P = 2^{61} - 1,
              \quad a, b \text{ uniform on } 0 .. P-1
    .. math:: p = \frac{E}{E + g - 1}, \qquad q = \kappa p + (1 - \kappa) \frac{1 - p}{g - 1},
              \qquad \kappa = \Pr(h(x) = h(x')) \approx \frac1g

    Parameters
    ----------
    inputs : int or sequence of hashable
        The ``d`` labels, at most ``2**30``; the label's position is hashed.
    epsilon : float or str
        Budget in nats, positive.
    buckets : int, optional
        ``g``, from 2 (BLH) to ``2**20`` (default: the integer nearest to ``E + 1``, OLH).

    Raises
    ------
    StatementError
        As `FrequencyProtocol`, and if there are too many labels or buckets.

    Notes
    -----
    A report has fields ``a``, ``b`` (the hash function, independent of the answer) and ``bucket``;
    it supports the labels that hash to its bucket. Privacy depends on the bucket only, not on
    properties of the hash.

    For ``x != x'`` the pair of hashes is *exactly* uniform mod P, so ``kappa`` is exact; theory:
    docs, "Frequencies". If functions are drawn from a shorter seed, as in deployed systems, this is
    an assumption.

    O(1) per report to randomize, O(N d) to estimate: each user's function is applied to all labels.

    References
    ----------
    Wang, Blocki, Li and Jha 2017, section 4.3; Bassily and Smith 2015 (BLH); Carter and Wegman
    1979.

    Examples
    --------
    >>> hashing = LocalHashing(1000, "log(3)")
    >>> hashing.buckets, round(hashing.variance(), 6), hashing.audit().verdict
    (4, 3.0, 'certified')
    """

    _shown = ("buckets",)

    def __init__(
        self, inputs: int | Sequence[Hashable], epsilon: float | str, *, buckets: int | None = None
    ) -> None:
        super().__init__(inputs, epsilon)
        if len(self.inputs) > MAX_LABELS:
            problem = f"{len(self.inputs)} labels are more than the {MAX_LABELS} that can be hashed"
            raise StatementError(problem, do="join rare labels into one")
        if buckets is None:
            buckets = min(MAX_BUCKETS, max(2, round(self.epsilon.enclosure()[0] + 1)))
        self.buckets = whole_number(buckets, "buckets", 2, MAX_BUCKETS)
        positions = np.arange(self.buckets)
        self._sampler = ResponseSampler(range(self.buckets), positions, positions, self.epsilon)
        self._keep, self._other = kept_and_other(self._sampler)
        self._collision = collision_probability(PRIME, self.buckets)
        self.p, self.q = (
            self._keep,
            self._collision * self._keep + (1 - self._collision) * self._other,
        )
        self._require_distinguishable()

    @property
    def bits(self) -> int:
        """Bits of the hash function and of the bucket."""
        return 2 * PRIME_BITS + math.ceil(math.log2(self.buckets))

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        # One generator for both: with one seed each, hashes and coins would use the same words.
        generator = None if rng is None else generator_of(rng)
        reports = np.empty(len(answers), dtype=REPORT)
        reports["a"], reports["b"] = (_below_prime(len(answers), generator) for _ in range(2))
        hashed = hash_label(reports["a"], reports["b"], answers.astype(np.uint64)) % np.uint64(
            self.buckets
        )
        reports["bucket"] = self._sampler.draw(hashed.astype(np.int64), rng=generator)
        return reports

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        array = any_array(reports, "list of reports")
        if (
            array.ndim != 1
            or array.dtype.names is None
            or set(array.dtype.names) != {"a", "b", "bucket"}
        ):
            raise StatementError(
                "the reports need the fields a, b and bucket",
                code="fields",
                do="pass what privatize returned",
            )
        a = array["a"].astype(np.uint64)
        value = array["b"].astype(np.uint64)
        bucket = array["bucket"]
        is_possible = (a < PRIME) & (value < PRIME) & (bucket >= 0) & (bucket < self.buckets)
        if not is_possible.all():
            where = f"entry {int(is_possible.argmin())}"
            do = "pass the reports of this protocol"
            raise StatementError(f"a report cannot come from {self!r}", where=where, do=do)
        size = len(self.inputs)
        support = np.zeros(len(self.inputs))
        wanted = bucket.astype(np.uint64)
        modulus = np.uint64(self.buckets)
        # a x + b for x = 0, 1, 2, ... by one addition each, in blocks that fit in the cache.
        for part in chunks(len(array), BLOCK_REPORTS):
            step = a[part]
            hashed = value[part].copy()
            target = wanted[part]
            for x in range(size):
                hits = hashed % modulus == target
                support[x] += np.count_nonzero(hits) if weights is None else weights[part] @ hits
                hashed += step
                hashed -= np.where(hashed >= PRIME, np.uint64(PRIME), np.uint64(0))
        return support, len(array)

    def _ratio(self) -> Fraction:
        return self._keep / self._other

    def _delta(self, alpha: Fraction) -> Fraction:
        # The report contains the hash function; labels in one bucket have the same reports.
        return (1 - self._collision) * (self._keep - alpha * self._other)

    def _witness(self) -> Any:
        return "the first label's own bucket, where the hashes differ"


def hash_label(
    a: NDArray[np.uint64], b: NDArray[np.uint64], x: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Compute ``(a x + b) mod (2**61 - 1)`` in 64-bit words, for ``a, b < 2**61 - 1`` and ``x <
    2**31``.
    """
    half = np.uint64(31)
    prime = np.uint64(PRIME)
    low = a & np.uint64((1 << 31) - 1)
    high = a >> half
    # high x 2**31: since 2**61 = 1 mod P, its bits from 2**61 on are added at 1.
    upper = high * x
    wrapped = (upper >> np.uint64(30)) + ((upper & np.uint64((1 << 30) - 1)) << half)
    total = low * x + wrapped + b
    total = (total & prime) + (total >> np.uint64(PRIME_BITS))
    return np.asarray(np.where(total >= prime, total - prime, total))


def collision_probability(prime: int, buckets: int) -> Fraction:
    """Return the probability that two different labels share a bucket: the sum of the squared
    shares of the buckets.
    """
    each, more = divmod(prime, buckets)
    return Fraction(more * (each + 1) ** 2 + (buckets - more) * each**2, prime**2)


def _below_prime(size: int, rng: Random) -> NDArray[np.uint64]:
    """Draw uniform words below the prime; a word equal to it is drawn again."""
    source = bit_source(rng, PRIME_BITS)
    drawn = np.array(source(size))
    while len(late := np.flatnonzero(drawn >= PRIME)):
        drawn[late] = source(len(late))
    return drawn
