"""Extremal channels of a likelihood ratio: against all 2^n columns, and the bound under attack."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

import ldpopt as lo
from builders import cases, refused, thorough_or
from ldpopt.polytope.convex import (
    ConvexUtility,
    best_channel,
    f_divergence,
    fisher_information,
    mutual_information,
)
from ldpopt.polytope.likelihood.bound import LikelihoodPair, Membership, Pricing, PureCone
from ldpopt.polytope.likelihood.enclosures import EXACT_FORMS
from ldpopt.polytope.likelihood.forms import FORMS
from ldpopt.polytope.likelihood.search import AnswerPrices, OrderedAnswers, lifted, sets_along

KINDS = ("kl", "total_variation", "chi_square", "squared_hellinger")


def mu(p: np.ndarray, q: np.ndarray, kind: str) -> np.ndarray:
    """Utility of columns by its definition, for masses of columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "kl": lambda: np.where(p > 0, p * np.log(p / q), 0.0),
            "chi_square": lambda: (p - q) ** 2 / q,
            "squared_hellinger": lambda: (np.sqrt(p) - np.sqrt(q)) ** 2,
            "total_variation": lambda: abs(p - q) / 2,
            "fisher": lambda: p * p / q,
        }[kind]()


def best_of_all_columns(p: np.ndarray, q: np.ndarray, kind: str, epsilon: float) -> float:
    """Optimum of the program over the 2^n columns of two values."""
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=len(p))))[1:]
    columns = np.exp(-epsilon) + (1 - np.exp(-epsilon)) * sets
    values = mu(columns @ p, columns @ q, kind)
    scale = abs(values).max() or 1.0
    found = linprog(-values / scale, A_eq=columns.T, b_eq=np.ones(len(p)), method="highs")
    return float(-found.fun * scale)


def utility_of(p: np.ndarray, q: np.ndarray, kind: str) -> ConvexUtility:
    """The library's utility of masses; for scores, p are the scores' masses."""
    if kind != "fisher":
        return f_divergence(p, q, kind)  # type: ignore[arg-type]
    return fisher_information(np.divide(p, q, out=np.zeros_like(p), where=q > 0), q)


def drawn(rng: np.random.Generator, n: int, kind: str, style: str) -> tuple[np.ndarray, np.ndarray]:
    """A pair of masses: smooth, with ties, or with zeros."""
    if style == "smooth":
        p, q = rng.dirichlet(np.ones(n), 2)
    else:
        least = 1 if style == "ties" else 0
        p, q = rng.integers(least, 4, (2, n)) + 0.0
        p[0] += 1
        q[-1] += 1
        p /= p.sum()
        q /= q.sum()
    if kind == "fisher":
        p = p * rng.choice([-1, 1], n) * (q > 0)
    return p, q


@pytest.mark.parametrize("style", ["smooth", "ties", "zeros"])
@pytest.mark.parametrize("kind", [*KINDS, "fisher"])
def test_equals_the_program_over_all_columns(kind: str, style: str) -> None:
    rng = np.random.default_rng(7)
    for n in thorough_or((1, 2, 7), (1, 2, 3, 5, 7, 10)):
        for epsilon in thorough_or((0.02, 1.5, 6.0), (0.02, 0.5, 1.5, 3.0, 6.0)):
            p, q = drawn(rng, n, kind, style)
            found = best_channel(utility_of(p, q, kind), epsilon)
            best = best_of_all_columns(p, q, kind, epsilon)
            assert found.value == pytest.approx(best, rel=1e-8, abs=1e-13)
            assert found.certificate is not None
            assert found.bound == found.certificate.bound
            # the program of this test has a solver's tolerances, the bound has none
            assert -1e-13 <= float(found.bound) - best <= 1e-8 * best + 1e-13
            assert 0 <= found.gap <= 1e-12 * found.value + 1e-15
            assert found.certificate.achieved <= found.bound
            assert found.mechanism.audit(lo.PureLDP(epsilon)).verdict == "certified"
            assert found.value == pytest.approx(
                utility_of(p, q, kind).value(found.mechanism), rel=1e-9, abs=1e-15
            )


@pytest.mark.parametrize("kind", KINDS[:1] + KINDS[2:])
@pytest.mark.parametrize("n", thorough_or([10, 150], [10, 40, 300]))
def test_bound_meets_the_value_for_hundreds_of_answers(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    for epsilon in thorough_or((0.5, 3.0), (0.5, 1.5, 3.0, 5.0)):
        p, q = rng.dirichlet(np.ones(n), 2)
        found = best_channel(utility_of(p, q, kind), epsilon)
        assert 0 <= found.gap <= 1e-12 * found.value
        assert found.certificate is not None
        assert found.certificate.recheck().bound == found.bound


def gaussian_scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the mean of a normal distribution in n bins of equal probability."""
    density = norm.pdf(norm.ppf(np.linspace(0, 1, n + 1)))
    return n * (density[:-1] - density[1:]), np.full(n, 1 / n)


@pytest.mark.parametrize(
    ("epsilon", "value"),
    [
        *[(1, 0.135951596), (2, 0.369255803), (2.5, 0.493140409), (4, 0.751844320)],
        pytest.param(6, 0.918524789, marks=pytest.mark.long),
    ],
)
def test_fisher_information_of_a_normal_mean(epsilon: float, value: float) -> None:
    found = best_channel(fisher_information(*gaussian_scores(300)), epsilon)
    assert found.value == pytest.approx(value, abs=6e-10)
    assert found.gap <= 1e-12


@pytest.mark.parametrize("kind", [*KINDS, "fisher"])
def test_any_prices_and_slopes_give_a_bound(kind: str) -> None:
    """The proof trusts neither prices nor declared sets: none go below the optimum."""
    rng = np.random.default_rng(5)
    for trial in range(thorough_or(3, 60)):
        n = int(rng.integers(2, 7))
        epsilon = float(rng.choice([0.1, 1.0, 3.0]))
        p, q = drawn(rng, n, kind, ("smooth", "ties", "zeros")[trial % 3])
        found = best_channel(utility_of(p, q, kind), epsilon)
        proof = found.certificate
        assert proof is not None
        best = best_of_all_columns(p, q, kind, epsilon)
        for size in (1e-3, 0.1, 1.0):
            noise = size * rng.normal(size=(3, n)) * (abs(best) + 1e-3)
            prices = [price + Fraction(e) for price, e in zip(proof.prices, noise[0], strict=True)]
            declared = [
                Membership(member.enter + Fraction(a), member.leave + Fraction(c))
                for member, a, c in zip(proof.declared, noise[1], noise[2], strict=True)
            ]
            cone = PureCone.of(proof.epsilon, proof.pair.exact_form)
            for changed in ((prices, proof.declared), (proof.prices, declared), (prices, declared)):
                bound = Pricing.of(proof.pair, cone, *changed).bound
                assert float(bound) >= best * (1 - 1e-10) - 1e-14
        never = [Membership(Fraction(0), Fraction(0))] * n
        assert float(Pricing.of(proof.pair, cone, proof.prices, never).bound) >= best * (1 - 1e-10)


def ordered(p: np.ndarray, q: np.ndarray, kind: str, epsilon: float) -> OrderedAnswers:
    """Answers in the order of their ratios, for the search."""
    z = p if kind == "fisher" else p - q
    order = np.argsort(z / q)
    masses = np.stack([z, q, z + q])[:, order]
    budget = lo.Budget(epsilon)
    return OrderedAnswers(masses, FORMS[kind], budget.b, budget.beta)


@pytest.mark.parametrize("kind", [*KINDS, "fisher"])
def test_few_sets_hold_the_largest_excess(kind: str) -> None:
    """Against all 2^n sets, for any prices; raised prices are feasible for all of them."""
    rng = np.random.default_rng(8)
    for _ in range(thorough_or(8, 100)):
        n = int(rng.integers(2, 9))
        epsilon = float(rng.choice([0.2, 1.0, 3.0]))
        p, q = rng.dirichlet(np.ones(n), 2)
        if kind == "fisher":
            p = p * rng.choice([-1, 1], n)
            p -= p.sum() * q
        answers = ordered(p, q, kind, epsilon)
        z, q, _ = answers.masses
        # near feasible prices, and far from them
        slopes = rng.uniform(*answers.range, 3)
        planes = np.max([answers.planes(u) for u in slopes], axis=0)
        size = abs(planes).max() * rng.choice([0, 0.01, 0.3])
        prices = planes + size * rng.normal(size=n)
        sets = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
        columns = np.exp(-epsilon) + (1 - np.exp(-epsilon)) * sets
        first = columns @ (z if kind == "fisher" else z + q)
        values = mu(first, columns @ q, kind)
        excess = values - columns @ prices - (columns @ z if kind == "kl" else 0)
        few = sets_along(answers, AnswerPrices(prices, prices.sum()))
        assert len(few.excess) <= 2 * n + 1
        assert few.excess.max() == pytest.approx(excess.max(), rel=1e-9, abs=1e-13)
        raised, _ = lifted(answers, AnswerPrices(prices, prices.sum()))
        assert raised.total == pytest.approx(raised.prices.sum(), rel=1e-9)
        after = excess - columns @ (raised.prices - prices)
        assert after.max() <= 1e-12 * (1 + abs(values).max())
        least = max(0.0, (excess / columns.sum(axis=1)).max())
        assert raised.total - prices.sum() == pytest.approx(n * least, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", ["kl", "chi_square", "squared_hellinger"])
def test_optimal_prices_lie_between_the_tangent_planes(kind: str) -> None:
    rng = np.random.default_rng(9)
    for epsilon in (0.5, 2.0, 4.0):
        p, q = rng.dirichlet(np.ones(12), 2)
        found = best_channel(utility_of(p, q, kind), epsilon)
        proof = found.certificate
        assert proof is not None
        assert found.patterns is not None
        assert found.gap <= 1e-13
        prices = np.array([float(price) for price in proof.prices])
        z, q = np.array(
            [[x / proof.pair.unit for x in part] for part in (proof.pair.z, proof.pair.q)]
        )
        form = FORMS[kind]
        masses = np.stack([found.columns @ part for part in (z, q, z + q)])
        slopes = form.slope(*masses)
        planes = slopes[:, None] * z - form.conjugate(slopes)[:, None] * q
        for k, block in enumerate(found.patterns):
            others = np.delete(planes, k, axis=0).max(axis=0)
            for x in block:
                assert others[x] - 1e-9 <= prices[x] <= planes[k, x] + 1e-9
            own = (form.value(*masses)[k] - np.exp(-epsilon) * found.value) / -np.expm1(-epsilon)
            assert prices[list(block)].sum() == pytest.approx(own, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", [*KINDS, "fisher"])
def test_enclosures_contain_the_functions(kind: str) -> None:
    rng = np.random.default_rng(3)
    form = EXACT_FORMS[kind]
    unit = 2**60
    for _ in range(40):
        q, p = (int(part) for part in rng.integers(1, 2**55, 2))
        z = p - q
        low, high = form.value(z, q, unit, 80)
        z_mass = z / unit
        first = z_mass if kind == "fisher" else p / unit
        value = float(mu(np.array(first), np.array(q / unit), kind)) - (kind == "kl") * z_mass
        assert low <= high <= low + 2**30
        assert low / 2**80 == pytest.approx(value, rel=1e-9, abs=1e-18)
        if kind == "total_variation":
            continue
        u, above = form.slope(z, q, 80)
        assert u <= above <= u + 4
        # The conjugate is u r - g(r) at the ratio of the slope, and its derivative is that ratio.
        least, most = form.conjugate(u, 80)
        assert least <= most
        ratio = z / q
        expected = u / 2**80 * ratio - value * unit / q
        assert least / 2**80 == pytest.approx(expected, rel=1e-7, abs=1e-12)
        assert form.ratio(u, 80)[0] / 2**80 == pytest.approx(ratio, rel=1e-9, abs=1e-12)


def test_a_certificate_is_about_the_stated_numbers() -> None:
    found = best_channel(f_divergence([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 1.0)
    proof = found.certificate
    assert proof is not None
    assert proof.audit.verdict == "certified"
    assert proof.achieved <= proof.bound
    lower = replace(proof, prices=tuple(price / 2 for price in proof.prices)).recheck()
    assert lower.bound > proof.bound
    other = replace(proof, mechanism=lo.Mechanism([[0.5, 0.5]] * 3)).recheck()
    assert other.achieved == 0
    assert "bound" in proof.summary()
    assert "certified" in repr(proof)
    assert len(repr(proof)) < 120
    assert "binary, 2 outputs" in repr(found)
    assert len(repr(found)) < 120


def test_shares_are_exact() -> None:
    """Floats of a distribution sum to 1 - 2^-53 or so; shares are divided by the exact sum."""
    pair = LikelihoodPair.read((np.full(10, 0.1), np.arange(1, 11) / 55, "kl"))
    assert sum(pair.z) == 0
    assert sum(pair.q) == pair.unit
    scores = LikelihoodPair.read((np.array([0.1, 0.2]), np.array([0.5, 0.5]), "fisher"))
    assert sum(scores.z) == 0
    assert scores.constant == (Fraction(0.1) + Fraction(0.2)) ** 2


def test_mean_of_the_scores_is_said() -> None:
    """Scores of a family have mean 0; the square of another mean is known without any report."""
    moved = best_channel(fisher_information([0.0, 1.0, 2.0], [0.25, 0.5, 0.25]), 1.0)
    centered = best_channel(fisher_information([-1.0, 0.0, 1.0], [0.25, 0.5, 0.25]), 1.0)
    assert moved.value == pytest.approx(1 + centered.value, rel=1e-12)
    assert moved.patterns == centered.patterns
    assert "square of the mean score" in moved.summary()
    assert "square of the mean score" not in centered.summary()


def test_extreme_budgets() -> None:
    p = [0.4, 0.3, 0.2, 0.1]
    q = [0.1, 0.2, 0.3, 0.4]
    for kind in KINDS:
        utility = f_divergence(p, q, kind)  # type: ignore[arg-type]
        full = utility.value(np.eye(4))
        for epsilon in (60.0, 900.0, 10_000.0):
            found = best_channel(utility, epsilon)
            assert found.value == pytest.approx(full, rel=1e-12)
            assert 0 <= found.gap <= 1e-12 * full
        small = best_channel(utility, 1e-6)
        # the mechanism's grid of 2^-53 costs about 1e-10 of the value at this budget
        assert 0 <= small.gap <= 1e-8 * small.value
        tiny = best_channel(utility, 1e-20)
        assert tiny.value == 0
        assert 0 <= tiny.bound < 1e-19
        with refused("zero-epsilon"):
            best_channel(utility, lo.PureLDP(0))
        with refused("infinite-epsilon"):
            best_channel(utility, math.inf)


@pytest.mark.parametrize("least", [1e-160, 2.3e-308, 5e-324])
@pytest.mark.parametrize("kind", KINDS)
def test_ratios_of_the_largest_floats_leave_a_bound(kind: str, least: float) -> None:
    """Without a warning on the way, which would be an error here."""
    for epsilon in (1.0, 30.0, 700.0):
        for p, q in (([0.5, 0.5], [least, 1.0]), ([least, 1.0], [0.5, 0.5])):
            found = best_channel(f_divergence(p, q, kind), epsilon)  # type: ignore[arg-type]
            assert found.certificate is not None
            assert found.certificate.achieved <= found.bound
            assert epsilon > 1 or found.gap <= 1e-12 * found.value


def test_no_difference_is_worth_nothing() -> None:
    found = best_channel(f_divergence([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]), 1.0)
    assert found.bound == found.value == 0
    assert found.patterns == ((0, 1, 2),)
    alone = best_channel(f_divergence([1.0], [1.0]), 1.0)
    assert alone.bound == alone.value == 0


def test_answers_of_one_ratio_share_a_row() -> None:
    found = best_channel(f_divergence([0.2, 0.1, 0.3, 0.4], [0.1, 0.05, 0.45, 0.4]), 5.0)
    rows = found.mechanism.channel
    assert (rows[0] == rows[1]).all()
    assert found.gap <= 1e-13


def test_columns_and_weights_are_those_of_the_mechanism() -> None:
    found = best_channel(f_divergence([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 3.0)
    np.testing.assert_allclose(
        (found.columns * found.weights[:, None]).T, found.mechanism.channel, atol=1e-15
    )
    assert found.patterns is not None
    for column, pattern in zip(found.columns, found.patterns, strict=True):
        assert tuple(np.flatnonzero(column == 1)) == pattern
    patterns = best_channel(mutual_information([0.5, 0.3, 0.2]), 3.0)
    np.testing.assert_allclose(
        (patterns.columns * patterns.weights[:, None]).T, patterns.mechanism.channel, atol=1e-15
    )
    assert patterns.certificate is None


def test_time_limit_leaves_a_valid_bound() -> None:
    utility = fisher_information(*gaussian_scores(200))
    quick = best_channel(utility, 6.0, time_limit=1e-6)
    assert quick.certificate is not None
    assert quick.value <= float(quick.bound) <= 1.01 * quick.value
    with refused("time-limit"):
        best_channel(utility, 6.0, time_limit=-1)


# Refusals


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (lambda c: (c**2).sum(-2), "homogeneity"),
        (lambda c: c.sum(-2) + 1, "homogeneity"),
        (lambda c: np.sqrt((c**2).sum(-2)) * -1, "subadditivity"),
        (lambda c: c.min(-2), "subadditivity"),
        (lambda c: c.sum(), "value-shape"),
        (lambda c: c, "value-shape"),
        (lambda c: c.sum(-2) * math.nan, "finite-value"),
    ],
)
def test_a_utility_is_tried_before_it_is_believed(
    columns: Callable[[np.ndarray], np.ndarray], code: str
) -> None:
    with refused(code) as caught:
        best_channel(ConvexUtility("mine", 4, columns), 1.0)
    assert code != "homogeneity" or "not homogeneous" in str(caught.value)


def test_utilities_of_ones_own() -> None:
    largest = best_channel(ConvexUtility("largest", 4, lambda c: c.max(-2)), "log(3)")
    assert largest.value == pytest.approx(4 * 3 / 6)
    with refused("other-columns"):
        pair = (np.array([0.5, 0.5]), np.array([0.2, 0.8]), "kl")
        best_channel(ConvexUtility("largest", 2, lambda c: c.max(-2), None, pair), 1.0)


def test_labels_of_the_utility_are_kept() -> None:
    for utility in (
        mutual_information({"b": 0.3, "a": 0.7}),
        f_divergence({"b": 0.3, "a": 0.7}, {"a": 0.5, "b": 0.5}),
        fisher_information({"b": -1, "a": 1}, {"b": 0.5, "a": 0.5}),
    ):
        found = best_channel(utility, 1.0)
        assert found.mechanism.inputs == ("b", "a")
        turned = best_channel(utility, 1.0, inputs=["a", "b"])
        assert turned.mechanism.inputs == ("a", "b")
        assert turned.value == pytest.approx(utility.value(turned.mechanism), rel=1e-12)
        assert turned.value == pytest.approx(found.value, rel=1e-12)
        with refused("unknown-label"):
            best_channel(utility, 1.0, inputs=["a", "c"])
        with refused("label-count"):
            best_channel(utility, 1.0, inputs=["a", "b", "c"])


def test_other_notions_are_refused_by_name() -> None:
    utility = f_divergence([0.5, 0.5], [0.2, 0.8])
    with refused("no-cone", lo.errors.NotRepresentableError) as caught:
        best_channel(utility, lo.ApproximateLDP(1.0, 0.1))
    assert "ApproximateLDP" in str(caught.value)
    pure = best_channel(utility, lo.PureLDP("log(3)"))
    assert pure.bound == best_channel(utility, "log(3)").bound


def test_scores_that_do_not_fit() -> None:
    with refused("scores"):
        fisher_information([1, 2, 3], [0.5, 0.5])
    with refused("finite-scores"):
        fisher_information([1, math.inf], [0.5, 0.5])
    with refused("half-labels"):
        fisher_information([1, 2], {"a": 0.5, "b": 0.5})
    with refused("many-answers"):
        best_channel(f_divergence(np.full(2001, 1 / 2001), np.full(2001, 1 / 2001)), 1.0)


# Laws

WEIGHTS = st.lists(st.integers(0, 5), min_size=2, max_size=7)


@given(st.data(), st.sampled_from(KINDS), st.sampled_from([0.3, 1.0, 2.5]))
@cases(30)
def test_order_and_merging_change_nothing(data: st.DataObject, kind: str, epsilon: float) -> None:
    first = np.array(data.draw(WEIGHTS)) + 0.0
    first[0] += 1
    n = len(first)
    second = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))) + 0.0
    p, q = first / first.sum(), second / second.sum()
    found = best_channel(f_divergence(p, q, kind), epsilon)  # type: ignore[arg-type]
    order = data.draw(st.permutations(range(n)))
    moved = best_channel(f_divergence(p[order], q[order], kind), epsilon)  # type: ignore[arg-type]
    assert float(moved.bound) == pytest.approx(float(found.bound), rel=1e-12, abs=1e-14)
    part = data.draw(st.sampled_from([0.25, 0.5, 0.75]))
    split = best_channel(
        f_divergence(
            np.append(p, p[0] * part) - np.append(p[0] * part, np.zeros(n)),
            np.append(q, q[0] * part) - np.append(q[0] * part, np.zeros(n)),
            kind,  # type: ignore[arg-type]
        ),
        epsilon,
    )
    assert float(split.bound) == pytest.approx(float(found.bound), rel=1e-9, abs=1e-12)
    merged = best_channel(
        f_divergence(
            np.append(p[0] + p[1], p[2:]),
            np.append(q[0] + q[1], q[2:]),
            kind,  # type: ignore[arg-type]
        ),
        epsilon,
    )
    assert merged.value <= float(found.bound) * (1 + 1e-12) + 1e-14
    stricter = best_channel(f_divergence(p, q, kind), epsilon / 2)  # type: ignore[arg-type]
    assert stricter.value <= float(found.bound) * (1 + 1e-12)
