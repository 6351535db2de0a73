"""Frequency protocols: unbiased, as accurate as their closed forms say, and exactly as private."""

import inspect
import itertools
import math
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Budget, PureLDP, frequencies, solve
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.frequencies.local_hashing import PRIME, collision_probability, hash_label
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.exact_draws import toss_lazily
from ldpopt.native import choose_sets
from ldpopt.problem.problem import Problem

SHORT = {
    "RandomizedResponse": "grr",
    "UnaryEncoding": "oue",
    "LocalHashing": "olh",
    "SubsetSelection": "ss",
}
KINDS = {
    **{
        SHORT.get(kind.__name__, kind.__name__): kind
        for kind in frequencies.FrequencyProtocol.PUBLISHED
    },
    "sue": lambda d, epsilon: frequencies.UnaryEncoding(d, epsilon, kind="symmetric"),
    "blh": lambda d, epsilon: frequencies.LocalHashing(d, epsilon, buckets=2),
}
LISTED = ("grr", "oue", "sue", "ss")


def published(kind, d, epsilon):
    """Variance at frequency 0, as Wang et al. 2017 (table 1) and Ye and Barg 2018 print it."""
    big = math.exp(epsilon)
    root = math.exp(epsilon / 2)
    if kind == "ss":
        k = SubsetSelection(d, epsilon).size
        p = k * big / (k * big + d - k)
        q = p * (k - 1) / (d - 1) + (1 - p) * k / (d - 1)
        return q * (1 - q) / (p - q) ** 2
    variances = {
        "grr": (d - 2 + big) / (big - 1) ** 2,
        "oue": 4 * big / (big - 1) ** 2,
        "sue": root / (root - 1) ** 2,
        "blh": (big + 1) ** 2 / (big - 1) ** 2,
    }
    assert kind in variances, (
        f"published() has no variance of {kind}: add the formula of its source"
    )
    return variances[kind]


# its buckets are rounded: see below
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "olh"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_published_variance(kind, epsilon):
    assert KINDS[kind](20, epsilon).variance() == pytest.approx(
        published(kind, 20, epsilon), rel=1e-11
    )


def test_every_protocol_is_published():
    base = frequencies.FrequencyProtocol
    public = {
        name
        for name in frequencies.__all__
        if base in getattr(vars(frequencies)[name], "__mro__", ())[1:]
    }
    # its tests are a file of its own
    forgotten = public - {kind.__name__ for kind in base.PUBLISHED} - {"LinearHash"}
    assert not forgotten, (
        f"write published=True in the class of {forgotten}: these tests and best() use it then"
    )


PROTOCOLS = [*frequencies.FrequencyProtocol.PUBLISHED, frequencies.LinearHash]
BUDGETS = [2.0, 2.5, np.float64(1), np.array(0.5), Fraction(1, 2), Decimal("0.4"), "log(3)", "0.4"]


@pytest.mark.parametrize("kind", PROTOCOLS)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_budget_in_place_of_the_labels_is_refused_by_name(kind, budget):
    for labels in (5, 1000, ["no", "yes"], np.array(["no", "yes"])):
        with refused("exchanged") as caught:
            kind(budget, labels)
        assert f"{kind.__name__}(labels, epsilon)" in str(caught.value)
    with refused("exchanged"):
        frequencies.best(budget, 5, 100)


@pytest.mark.parametrize("kind", PROTOCOLS)
@pytest.mark.parametrize("labels", [["no", "yes"], range(5), ("a", 1), np.arange(3)], ids=repr)
def test_labels_in_place_of_the_budget_are_refused_by_name(kind, labels):
    for budget in (1, 2.0, Budget("log(3)")):
        with refused("exchanged"):
            kind(budget, labels)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_all_protocols_take_labels_then_a_budget(kind):
    names = list(inspect.signature(kind).parameters)
    assert names[:2] == ["inputs", "epsilon"]
    assert repr(kind(9, "log(3)")).startswith(f"{kind.__name__}(9 labels, epsilon='log(3)'")


@pytest.mark.parametrize("ratio", [2, 3, 7, 49])
def test_optimal_hashing_has_the_variance_of_optimized_bits(ratio):
    """With g = E + 1 a whole number."""
    hashing = frequencies.LocalHashing(50, f"log({ratio})")
    assert hashing.buckets == ratio + 1
    assert hashing.variance() == pytest.approx(4 * ratio / (ratio - 1) ** 2, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.5, "log(3)", 5.0, 40.0, 700.0])
def test_certified_and_tight(kind, epsilon):
    protocol = KINDS[kind](9, epsilon)
    audit = protocol.audit()
    budget = float(protocol.epsilon)
    assert audit.verdict == "certified"
    assert audit.epsilon <= budget
    if budget < 30:  # beyond, the smallest mass is a unit of 2**-53
        assert audit.epsilon == pytest.approx(budget, rel=1e-6 if budget > 1e-6 else 1e-5)
    assert audit.delta_at(protocol.epsilon) == 0.0
    assert audit.delta_at(0.0) >= audit.delta_at(budget / 2) >= 0.0
    assert 0 < protocol.variance() < math.inf
    x = np.arange(9).repeat(3)
    assert np.isfinite(protocol.estimate(protocol.privatize(x, rng=1)).values).all()


def rows(protocol):
    """The exact probabilities of the reports behind `p` and `q`, in rationals, over subsets of the
    labels."""
    d = len(protocol.inputs)
    p = protocol.p
    q = protocol.q
    for own in range(d):
        found = {}
        if isinstance(protocol, frequencies.UnaryEncoding):
            for bits in itertools.product((0, 1), repeat=d):
                shares = [
                    (p if x == own else q) if bit else 1 - (p if x == own else q)
                    for x, bit in enumerate(bits)
                ]
                found[bits] = math.prod(shares)
        elif isinstance(protocol, SubsetSelection):
            k = protocol.size
            for chosen in itertools.combinations(range(d), k):
                inside = own in chosen
                count = math.comb(d - 1, k - 1 if inside else k)
                found[chosen] = (p if inside else 1 - p) / count
        else:
            found = {x: p if x == own else q for x in range(d)}
        yield found


@pytest.mark.parametrize("kind", LISTED)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_audit_and_variance_from_all_probabilities(kind, epsilon):
    protocol = KINDS[kind](5, epsilon)
    table = list(rows(protocol))
    assert all(sum(row.values()) == 1 for row in table)
    ratio = max(
        first[y] / second[y] for first, second in itertools.permutations(table, 2) for y in first
    )
    assert ratio == protocol._ratio() <= protocol.epsilon.enclosure()[0]
    for budget in (0.0, 0.1, 0.25):
        alpha = Fraction(math.exp(budget))
        worst = max(
            sum(max(first[y] - alpha * second[y], Fraction(0)) for y in first)
            for first, second in itertools.permutations(table, 2)
        )
        assert protocol.audit().delta_at(budget) == pytest.approx(float(worst), abs=1e-15)
    # The estimator is linear: its moments follow from the probabilities, label by label.
    for label, own in itertools.product(range(5), range(2)):
        supports = [
            Fraction(y[label] if len(y) == 5 else label in y)
            if isinstance(y, tuple)
            else Fraction(y == label)
            for y in table[own]
        ]
        values = [(support - protocol.q) / (protocol.p - protocol.q) for support in supports]
        mean = sum(v * mass for v, mass in zip(values, table[own].values(), strict=True))
        square = sum(v**2 * mass for v, mass in zip(values, table[own].values(), strict=True))
        assert mean == (label == own)
        assert float(square - mean**2) == pytest.approx(
            protocol.variance(float(label == own)), rel=1e-12
        )


@pytest.mark.parametrize("kind", LISTED)
def test_the_channel_is_private_and_has_the_same_supports(kind):
    protocol = KINDS[kind](["a", "b", "c", "d"], 1.0)
    audit = protocol.mechanism.audit(PureLDP(1.0))
    assert audit.verdict == "certified"
    assert audit.epsilon == pytest.approx(1.0, abs=1e-9)
    held = [
        [label == y or (isinstance(y, tuple) and label in y) for y in protocol.mechanism.outputs]
        for label in "abcd"
    ]
    support = protocol.mechanism.channel @ np.array(held).T
    expected = np.where(np.eye(4, dtype=bool), float(protocol.p), float(protocol.q))
    assert np.allclose(support, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_simulation_agrees(kind, epsilon):
    """Mean and variance of 60 surveys of a fixed crowd, each within 5 standard errors of the closed
    forms."""
    crowd = np.repeat(np.arange(6), [900, 500, 300, 200, 100, 0])
    shares = np.bincount(crowd, minlength=6) / len(crowd)
    n = len(crowd)
    repeats = 60
    protocol = KINDS[kind](6, epsilon)
    rng = np.random.default_rng(11)
    found = [protocol.estimate(protocol.privatize(crowd, rng=rng)) for _ in range(repeats)]
    values = np.array([estimate.values for estimate in found])
    variance = protocol.variance(shares) / n
    assert (np.abs(values.mean(axis=0) - shares) < 5 * np.sqrt(variance / repeats)).all()
    assert (
        np.abs(values.var(axis=0, ddof=1) / variance - 1) < 5 * math.sqrt(2 / (repeats - 1))
    ).all()
    total = protocol.total_variance / n
    assert abs(values.var(axis=0, ddof=1).sum() / total - 1) < 5 * math.sqrt(2 / (repeats - 1))
    # The standard error is for people drawn at random: that of the fixed crowd and f (1 - f) / n.
    squared = np.mean([estimate.std_error**2 for estimate in found], axis=0)
    assert np.allclose(squared, variance + shares * (1 - shares) / n, rtol=0.1)
    assert (found[0].labels, found[0].n_reports) == (tuple(range(6)), n)


@given(
    a=st.integers(0, PRIME - 1),
    b=st.integers(0, PRIME - 1),
    x=st.integers(0, 2**31 - 1),
    g=st.integers(2, 2**20),
)
@cases(60)
def test_hash_in_words_is_the_hash_in_integers(a, b, x, g):
    words = [np.array([value], dtype=np.uint64) for value in (a, b, x)]
    assert int(hash_label(*words)[0]) % g == (a * x + b) % PRIME % g


@pytest.mark.parametrize("extreme", [0, 1, PRIME - 1])
def test_hash_at_the_ends(extreme):
    a = np.array([extreme, PRIME - 1], np.uint64)
    b = np.array([PRIME - 1, extreme], np.uint64)
    x = np.array([2**31 - 1] * 2, np.uint64)
    assert hash_label(a, b, x).tolist() == [
        (int(i) * (2**31 - 1) + int(j)) % PRIME for i, j in zip(a, b, strict=True)
    ]


@pytest.mark.parametrize("g", [2, 3, 5, 8])
def test_collisions_counted(g):
    """Over the field of 31: all functions, two labels."""
    together = sum(
        (a * 3 + b) % 31 % g == (a * 7 + b) % 31 % g for a in range(31) for b in range(31)
    )
    assert collision_probability(31, g) == Fraction(together, 31**2)


def test_estimates_from_hashes_try_every_label():
    """The additions in place of products: support counts as the plain loop has them."""
    protocol = frequencies.LocalHashing(40, 1.0)
    reports = protocol.privatize(np.arange(40).repeat(5), rng=3)
    plain = [
        sum(
            (int(a) * x + int(b)) % PRIME % protocol.buckets == bucket
            for a, b, bucket in zip(reports["a"], reports["b"], reports["bucket"], strict=True)
        )
        for x in range(40)
    ]
    assert protocol.count(reports).values.tolist() == plain


def test_subsets_are_uniform():
    """Given whether the truth is inside, every set is as likely: all 15 of 6 choose 2 by
    chi-square."""
    protocol = SubsetSelection(6, 1.0, size=2)
    n = 60_000
    sets, counts = np.unique(
        protocol.privatize(np.zeros(n, int), rng=5), axis=0, return_counts=True
    )
    p = float(protocol.p)
    expected = n * np.array([p / 5 if 0 in row else (1 - p) / 10 for row in sets.tolist()])
    assert len(sets) == 15
    assert ((counts - expected) ** 2 / expected).sum() < 46  # 14 degrees of freedom, 3e-5


@pytest.mark.parametrize("d, k", [(5, 1), (5, 3), (6, 2), (6, 4), (7, 6), (65, 1), (66, 64)])
def test_all_words_together_give_every_set_equally_often(d, k):
    """Numbers of seven bits, of which some are drawn again: words that are enough give every set as
    often."""
    bits = 7
    own = d - 2
    for is_held in (False, True):
        wanted = k - is_held
        draws = min(wanted, d - 1 - wanted)
        words = np.array(list(itertools.product(range(1 << bits), repeat=draws)), np.int64)
        rows = len(words)
        found = np.empty((rows, k), np.int32)
        is_done = np.empty(rows, bool)
        choose_sets(d, 1, bits, words, np.full(rows, own), np.full(rows, is_held), found, is_done)
        sets, counts = np.unique(found[is_done], axis=0, return_counts=True)
        assert len(sets) == math.comb(d - 1, wanted)
        assert len(set(counts.tolist())) == 1
        assert ((sets == own).any(axis=1) == is_held).all()
        assert (np.diff(sets, axis=1) > 0).all()


@given(st.integers(2, 200), st.integers(0, 10**6))
def test_sets_are_those_of_the_plain_method(d, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, d))
    own = int(rng.integers(d))
    is_held = bool(rng.integers(2))
    words = rng.integers(0, 1 << 63, size=(1, d))
    found = np.empty((1, k), np.int32)
    is_done = np.empty(1, bool)
    choose_sets(d, 3, 21, words, np.array([own]), np.array([is_held]), found, is_done)
    numbers = iter(
        [word >> shift & (1 << 21) - 1 for word in words[0].tolist() for shift in (0, 21, 42)]
    )
    wanted = k - is_held
    draws = min(wanted, d - 1 - wanted)
    drawn = set()
    for j in range(d - 1 - draws, d - 1):
        product = next(
            number * (j + 1) for number in numbers if number * (j + 1) % 2**21 >= 2**21 % (j + 1)
        )
        number = product >> 21
        drawn.add(j if number in drawn else number)
    kept = drawn if 2 * wanted <= d - 1 else set(range(d - 1)) - drawn
    assert is_done
    assert found[0].tolist() == sorted([x + (x >= own) for x in kept] + [own] * is_held)


@given(st.integers(0, 2**53 - 1))
def test_a_byte_and_a_word_toss_a_coin_of_the_exact_mass(mass):
    """Below the mass's first byte heads, above it tails; at that byte as many words as the
    remaining mass."""
    leading, rest = divmod(mass, 1 << 45)
    first = np.arange(256, dtype=np.uint8)
    for word, is_head in ((max(rest - 1, 0), rest > 0), (rest, False)):
        heads = np.empty(256, bool)
        toss_lazily(
            mass, first, lambda size, word=word: np.full(size, word << 8 | 255, np.uint64), heads
        )
        assert heads.tolist() == [True] * leading + [is_head] + [False] * (255 - leading)


def test_randomized_response_is_the_programs_optimum():
    """And best for frequencies too if d < 3 E + 2; subset selection is never worse."""
    for epsilon in (0.5, 1.0, 3.0):
        best = solve(Problem(np.full(7, 1 / 7), "identity", PureLDP(epsilon))).value
        assert frequencies.RandomizedResponse(7, epsilon).mechanism.channel[0, 0] == pytest.approx(
            best, abs=1e-12
        )
        by_name = {kind: make(7, epsilon).total_variance for kind, make in KINDS.items()}
        assert min(by_name, key=by_name.get) == "ss" or by_name["grr"] == by_name["ss"]
        assert (by_name["grr"] < by_name["oue"]) == (3 * math.exp(epsilon) + 2 > 7)


def test_subset_of_one_is_randomized_response():
    one = SubsetSelection(5, 3.0, size=1)
    response = frequencies.RandomizedResponse(5, 3.0)
    assert (one.p, one.q) == (response.p, response.q)


def test_counts_and_labels():
    protocol = frequencies.RandomizedResponse(["no", "yes"], "log(3)")
    estimate = protocol.estimate({"yes": 30, "no": 70})
    assert estimate.labels == ("no", "yes")
    assert estimate.values[1] == pytest.approx(0.1)
    assert set(protocol.privatize(["no", "yes"], rng=1)) <= {"no", "yes"}


@given(kind=st.sampled_from(list(KINDS)), d=st.integers(2, 300), epsilon=st.floats(1e-6, 60))
@cases(150)
def test_no_ratio_beyond_the_budget(kind, d, epsilon):
    protocol = KINDS[kind](d, epsilon)
    assert 0 < protocol.q < protocol.p < 1
    assert protocol._ratio() <= protocol.epsilon.enclosure()[0]
    assert protocol.audit().epsilon <= epsilon
    assert protocol._delta(Fraction(1)) > 0 >= protocol._delta(protocol.epsilon.enclosure()[0])


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_kind(kind):
    protocol = KINDS[kind](["a", ("b", 1), 3], 6.0)
    estimate = protocol.estimate(protocol.privatize([3] * 400 + ["a"] * 100, rng=2))
    assert estimate.labels == ("a", ("b", 1), 3)
    assert estimate.values == pytest.approx([0.2, 0.0, 0.8], abs=0.15)
    assert (estimate.interval[:, 0] < estimate.values + 1e-12).all()


def test_same_seed_same_reports():
    for make in KINDS.values():
        protocol = make(5, 1.0)
        x = np.arange(5).repeat(20)
        assert (protocol.privatize(x, rng=7) == protocol.privatize(x, rng=7)).all()
        assert len(protocol.privatize(x)) == 100


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda: frequencies.RandomizedResponse(1, 1.0), "few-labels"),
        (lambda: frequencies.RandomizedResponse("abc", 1.0), "labels"),
        (lambda: frequencies.UnaryEncoding(3, 1e-16), "small-budget"),
        (lambda: frequencies.RandomizedResponse(3, 1.0).variance(2.0), "share"),
        (lambda: frequencies.UnaryEncoding(3, 1.0).estimate(np.zeros((2, 4), bool)), "shape"),
        (lambda: frequencies.UnaryEncoding(3, 1.0).estimate(np.full((2, 3), 2)), "bits"),
        (lambda: frequencies.LocalHashing(3, 1.0).estimate([1, 2]), "fields"),
        (lambda: frequencies.SubsetSelection(5, 1.0, size=2).estimate([[1, 1]]), "set"),
        (lambda: frequencies.SubsetSelection(5, 1.0, size=2).estimate([[1, 1, 2]]), "shape"),
    ],
)
def test_mistakes_are_named(call, code):
    with refused(code):
        call()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: frequencies.RandomizedResponse(10**15, 1.0), "GiB of memory"),
        (lambda: frequencies.UnaryEncoding(10**15, 1.0).privatize([0, 1]), "GiB of memory"),
        (lambda: frequencies.UnaryEncoding(3, 0.0), "epsilon = 0"),
        (lambda: frequencies.UnaryEncoding(3, 1.0, kind="best"), "'optimized' or 'symmetric'"),
        (lambda: frequencies.SubsetSelection(4, 1.0, size=4), "from 1 to 3"),
        (lambda: frequencies.LocalHashing(4, 1.0, buckets=1), "from 2"),
        (lambda: frequencies.RandomizedResponse(3, 1.0).privatize([0, 5]), "not in 0 .. 2"),
        (lambda: frequencies.RandomizedResponse(3, 1.0).estimate([0, 7]), "unknown report: "),
        (lambda: frequencies.RandomizedResponse(3, 1.0).estimate({0: -1}), "whole number"),
        (lambda: frequencies.RandomizedResponse(3, 1.0).estimate([]), "no reports"),
    ],
)
def test_mistakes_in_numbers_and_reports_are_named(call, words):
    with pytest.raises(StatementError, match=words):
        call()


@pytest.mark.parametrize("kind, d", [("oue", 13), ("ss", 20), ("olh", 3)])
def test_channels_too_large_to_list(kind, d):
    with refused("channel", NotRepresentableError):
        _ = KINDS[kind](d, 0.5).mechanism


def test_the_best_protocol_is_near_the_optimum_short_and_named_with_its_reason():
    for size, epsilon in ((2, 1.0), (8, 0.5), (8, 4.0), (40, 1.0)):
        found = frequencies.best(size, epsilon, 1000)
        least = min(found.variances.values())
        assert found.protocol.total_variance <= 1.02 * least
        assert found.variances["SubsetSelection"] == pytest.approx(least, rel=1e-9)
        assert "1,000 people give a standard error" in found.why
        assert found.why.startswith(type(found.protocol).__name__)
    assert isinstance(frequencies.best(20_000, 1.0, 10).protocol, frequencies.LinearHash)
    with pytest.raises(StatementError, match="people = 0"):
        frequencies.best(4, 1.0, 0)


def test_bits_of_many_labels_are_counted_without_a_second_table():
    protocol = frequencies.UnaryEncoding(5000, 1.0)
    reports = protocol.privatize(np.arange(300), rng=1)
    weights = np.linspace(1, 2, 300)
    for table, shares in ((reports, weights), (reports.view(np.uint8), None)):
        protocol.count(table[:2], weights=None if shares is None else shares[:2])  # imports
        tracemalloc.start()
        counts = protocol.count(table, weights=shares)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < reports.nbytes
        right = reports.sum(axis=0) if shares is None else shares @ reports
        assert counts.values == pytest.approx(right, rel=1e-12)
    numbers = reports.astype(np.uint8)
    numbers[277, 5] = 2
    with refused("bits") as caught:
        protocol.count(numbers)
    assert "report 277" in str(caught.value)
