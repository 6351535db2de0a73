"""Questions of public trackers, exercises and papers: their right values by numpy and scipy alone.

`docs/questions.md` has the shorter ones as lines of the library, which are run here, too. Others
are where their subject is: regressions, samples, several channels, techniques, codebooks, seeds.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from math import exp, inf, log, log2, sqrt
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import isotonic_regression, minimize, minimize_scalar
from scipy.stats import binom

from builders import refused, thorough_or
from ldpopt import (
    Estimate,
    Mechanism,
    Problem,
    PureLDP,
    Survey,
    Workload,
    accounting,
    certify,
    design,
    estimate_frequencies,
    frequencies,
    solve,
    techniques,
    utility,
)
from ldpopt.estimation.significance import Significance
from ldpopt.mechanism.questions import Question
from report_cases import Q, anchored

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
DIE = techniques.forced("1/6", "1/6")


def lines_of_the_page() -> list[tuple[str, ...]]:
    """Question, line, right numbers and numbers of the library, row by row."""
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), re.M)
    assert len(rows) > 15
    return rows


@pytest.fixture(scope="module")
def names_of_the_page() -> dict[str, Any]:
    """Names that the page makes before its tables."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S):
        exec(block, names)
    return names


def numbers(found: Any) -> list[float]:
    """What a line shows: a share with its error, a p-value, or numbers."""
    if isinstance(found, Estimate):
        return [found.values[-1], found.std_error[-1]]
    if isinstance(found, Significance):
        return [found.p_value]
    return [float(each) for each in np.ravel(found)]


@pytest.mark.parametrize("row", lines_of_the_page(), ids=lambda row: row[0])
def test_lines_of_the_page_give_the_right_numbers(row: Any, names_of_the_page: Any) -> None:
    _, line, right, shown = row
    found = numbers(eval(line, names_of_the_page))
    for column in (right, shown):
        printed = re.findall(r"inf|-?\d*\.?\d+(?:e-?\d+)?", column)
        assert len(printed) == len(found)
        for text, number in zip(printed, found, strict=True):
            digits = len(text.partition("e")[0].partition(".")[2])
            power = 10.0 ** int(text.partition("e")[2] or 0)
            within = 0.5 * 10.0**-digits * power * (1 + 1e-9)
            assert number == inf if text == "inf" else abs(number - float(text)) <= within, column
    assert len(shown) > len(right) or shown == right


@pytest.mark.parametrize(("yes", "n"), [(52, 100), (48, 100), (18, 30), (0, 30), (30, 30)])
def test_a_class_tosses_one_coin(yes: int, n: int) -> None:
    coin = techniques.forced(0, "1/2")
    found = estimate_frequencies(coin, {"yes": yes, "no": n - yes}, check_fit=False)
    q = yes / n
    assert found.values[1] == pytest.approx(2 * q - 1, abs=1e-14)
    error = 2 * sqrt(q * (1 - q) / n)
    assert (
        np.isnan(found.std_error[1]) if error == 0 else found.std_error[1] == pytest.approx(error)
    )
    assert found.norm_sub().values == pytest.approx([min(1, 2 - 2 * q), max(0, 2 * q - 1)])
    assert coin.audit().epsilon == inf
    assert float(accounting.compose([coin], pairs=[("no", "yes")]).delta(0.0)) == 0.5


def test_two_hundred_people_tell_a_fifth_from_nobody() -> None:
    """Power of the test of one share, one-sided at .01, over all numbers of yes."""
    k = np.arange(201)
    is_shown = k > 46
    # far from the level the test decides alike for all numbers
    for yes in thorough_or([0, 20, *range(42, 52), 70, 200], k):
        found = estimate_frequencies(DIE, {"no": 200 - yes, "yes": yes}, check_fit=False)
        test = found.contrast({"yes": 1}).test(0.0)
        is_shown[yes] = test.p_value < 0.02 and found.values[1] > 0
    assert binom.pmf(k, 200, 0.3)[is_shown].sum() == pytest.approx(0.9889, abs=5e-5)
    assert binom.pmf(k, 200, 1 / 6)[is_shown].sum() < 0.015


def test_missing_reports_are_refused_with_an_option_that_exists() -> None:
    table = pd.DataFrame({"contact": ["no", "yes", None] * 20, "civic": ["0", "1"] * 30})
    survey = Survey({"contact": DIE})
    with refused("missing-answer") as caught:
        survey.estimate(table, by="civic")
    assert "missing leave_out" in str(caught.value)
    asked = Survey({"contact": Question(DIE, missing="leave_out")})
    assert asked.estimate(table, by="civic")["contact"].n_reports == 40


def test_careless_people_by_the_moments_of_two_margins() -> None:
    """Crosswise and anchor questions: a function of the shares of the pairs of reports."""
    reports, weights = anchored()
    pairs = Mechanism(np.eye(4), ["00", "01", "10", "11"])
    shares = estimate_frequencies(pairs, reports, weights=weights)

    def corrected(t: Any) -> Any:
        naive = (t[2] + t[3] + Q - 1) / (2 * Q - 1)
        attentive = (t[1] + t[3] - 0.5) / (0.5 - Q)
        return (naive - 0.5) / attentive + 0.5

    found = shares.function(corrected)
    assert found.values[0] == pytest.approx(0.109695, abs=5e-7)
    assert found.std_error[0] == pytest.approx(0.027053, abs=5e-7)
    # without the anchor the careless are half of each answer
    crosswise = techniques.crosswise(Q)
    own = ["same" if report[0] == "1" else "different" for report in reports]
    naive = estimate_frequencies(crosswise, own, weights=weights)
    assert naive.values[1] == pytest.approx(0.192130, abs=5e-7)
    assert naive.std_error[1] == pytest.approx(0.017974, abs=5e-7)


@pytest.mark.parametrize("draws", [1, 3, 5])
def test_decks_of_kuk(draws: int) -> None:
    deck = techniques.kuk("1/5", "4/5", draws=draws)
    k = np.arange(draws + 1)
    rows = np.array([binom.pmf(k, draws, t) for t in (0.2, 0.8)])
    assert deck.channel == pytest.approx(rows, abs=1e-12)
    seen = np.array([60, 110, 90, 60, 50, 30])[: draws + 1]
    n = seen.sum()
    fit = minimize_scalar(
        lambda a: -(seen * np.log(a * rows[1] + (1 - a) * rows[0])).sum(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    q = fit * rows[1] + (1 - fit) * rows[0]
    reports = (
        dict(enumerate(seen.tolist()))
        if draws > 1
        else dict(zip(deck.outputs, seen.tolist(), strict=True))
    )
    found = estimate_frequencies(deck, reports, method="maximum_likelihood", check_fit=False)
    assert found.values[1] == pytest.approx(fit, abs=1e-6)
    error = 1 / sqrt(n * ((rows[1] - rows[0]) ** 2 / q).sum())
    assert found.std_error[1] == pytest.approx(error, rel=1e-5)
    assert deck.audit().epsilon == pytest.approx(draws * log(4), abs=1e-12)


@pytest.mark.parametrize(
    "k", [165, *(pytest.param(k, marks=pytest.mark.long) for k in (969, 2925))]
)
def test_noise_of_a_browser(k: int) -> None:
    """Randomized response over all output states at epsilon 14."""
    pick = k / (k + exp(14) - 1)
    p = pick * (k - 1) / k
    capacity = log2(k) + p * log2(p) + (1 - p) * log2(1 - p) - p * log2(k - 1)
    response = frequencies.RandomizedResponse(k, 14.0)
    assert float(1 - response.p) * k / (k - 1) == pytest.approx(pick, rel=1e-9)
    assert response.audit().epsilon == pytest.approx(14, abs=1e-9)
    found = response.mechanism.shannon_capacity()
    assert found.value / log(2) == pytest.approx(capacity, abs=1e-6)
    assert found.value <= found.bound * (1 + 1e-12)


def test_corrected_counts_of_eight_buckets() -> None:
    noisy = dict(zip("01234567", [73, 161, 310, 402, 690, 214, 15, 1935], strict=True))
    total = sum(noisy.values())
    right = np.array([(count - total * 0.05 / 8) / 0.95 for count in noisy.values()])
    assert right[6] < 0
    channel = Mechanism(0.95 * np.eye(8) + 0.05 / 8, list(noisy))
    found = estimate_frequencies(channel, noisy)
    assert found.values * total == pytest.approx(right, abs=1e-9)
    likely = estimate_frequencies(channel, noisy, method="maximum_likelihood")
    for shares in (found.norm_sub().values, likely.values):
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1, abs=1e-12)
    q = np.array(list(noisy.values())) / total

    def minus(v: Any) -> float:
        return float(-(q * np.log(0.95 * v + 0.05 / 8)).sum())

    rules: Any = {"type": "eq", "fun": lambda v: v.sum() - 1}
    exact = {"ftol": 1e-15, "maxiter": 1000}
    best = minimize(minus, np.full(8, 1 / 8), bounds=[(0, 1)] * 8, constraints=rules, options=exact)
    assert minus(likely.values) <= best.fun + 1e-12
    assert likely.values == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize(("budget", "right"), [(1.0, 4.2896130688), (0.5, None), (2.0, None)])
def test_labels_are_reported_in_bins(budget: float, right: float | None) -> None:
    """The optimum is randomized response on bins: brute force over sets of values that are told."""
    values, grid = np.arange(10.0), np.linspace(0, 9, 19)
    prior = np.array([0.45, 0.2, 0.1, 0.07, 0.05, 0.04, 0.03, 0.03, 0.02, 0.01])
    odds, least = exp(budget), inf
    for k in range(1, 5):
        for told in combinations(grid, k):
            cost = (values[:, None] - np.array(told)) ** 2
            loss = ((odds - 1) * cost.min(axis=1) + cost.sum(axis=1)) / (odds + k - 1)
            least = min(least, float(prior @ loss))
    assert right is None or least == pytest.approx(right, abs=5e-11)
    shares = dict(zip(values.tolist(), prior.tolist(), strict=True))
    loss_of = utility.squared_error(values, grid)
    proof = certify(solve(Problem(shares, loss_of, PureLDP(budget))))
    assert float(proof.achieved) == pytest.approx(least, rel=1e-12)
    assert float(proof.bound) == pytest.approx(least, rel=1e-12)


def ones(days: int, share: float) -> np.ndarray:
    return binom.pmf(np.arange(days + 1), days, share)


@pytest.mark.parametrize("days", [1, 2, 7, 30, pytest.param(365, marks=pytest.mark.long)])
def test_guesses_of_longitudinal_reports(days: int) -> None:
    """A permanent report with fresh noise each day, and fresh coins each day."""
    first = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    fresh = Mechanism([[0.5, 0.5], [0.25, 0.75]], inputs=["no", "yes"], outputs=["0", "1"])
    yes = 0.75 * ones(days, 0.75) + 0.25 * ones(days, 0.5)
    no = 0.25 * ones(days, 0.75) + 0.75 * ones(days, 0.5)
    right = np.maximum(yes, no).sum() / 2
    got = accounting.permanent(first, fresh, days).guess()
    assert got == pytest.approx(right, abs=1e-12)
    again = np.maximum(ones(days, 0.75), ones(days, 0.25)).sum() / 2
    assert accounting.compose([first] * days).guess() == pytest.approx(again, abs=1e-12)


def least_epsilon(no: int, yes: int, delta: float) -> float:
    """Of reports of two people, by all pairs of numbers of ones: no -> .1, yes -> .5."""
    p = np.outer(ones(no, 0.1), ones(yes, 0.5)).ravel()
    q = np.outer(ones(no, 0.5), ones(yes, 0.1)).ravel()
    low, high = 0.0, 120.0
    for _ in range(60):
        middle = (low + high) / 2
        is_above = np.maximum(p - exp(middle) * q, 0).sum() > delta
        low, high = (middle, high) if is_above else (low, middle)
    return high


@pytest.mark.parametrize(
    ("times", "adaptive"),
    [
        (1, None),
        (5, None),
        (20, 24.305886),
        pytest.param(60, 56.138462, marks=pytest.mark.long),
    ],
)
def test_accounts_of_an_asymmetric_channel(times: int, adaptive: float | None) -> None:
    """One direction is exact; over all directions the account is never below the right value."""
    channel = Mechanism([[0.9, 0.1], [0.5, 0.5]], ["no", "yes"])
    reports = [channel] * times
    for pair, cases in ((("no", "yes"), (times, 0)), (("yes", "no"), (0, times))):
        curve = accounting.compose(reports, pairs=[pair])
        assert curve.epsilon(1e-3) >= max(least_epsilon(*cases, 1e-3), 0) - 1e-9
    both = max(least_epsilon(times, 0, 1e-3), least_epsilon(0, times, 1e-3))
    every = [
        accounting.compose(reports, pairs=[p]).epsilon(1e-3) for p in (("no", "yes"), ("yes", "no"))
    ]
    assert max(every) == pytest.approx(both, abs=1e-6)
    fixed = max(least_epsilon(no, times - no, 1e-3) for no in range(times + 1))
    beforehand = accounting.compose(reports, answers="fixed")
    assert beforehand.epsilon(1e-3) == pytest.approx(fixed, abs=1e-6)
    curve = accounting.compose(reports)
    assert curve.is_attained
    assert curve.epsilon(1e-3) >= fixed - 1e-9
    if adaptive is not None:
        assert curve.epsilon(1e-3) == pytest.approx(adaptive, abs=1e-6)
    guess = (1 + np.abs(ones(times, 0.1) - ones(times, 0.5)).sum() / 2) / 2
    assert guess - 1e-12 <= beforehand.guess() <= curve.guess() + 1e-12
    if times == 1:
        assert curve.guess() == pytest.approx(guess, abs=1e-12)


def delta_of_shuffled(local: float, n: int, epsilon: float) -> float:
    """Delta of two answers by randomized response, all others alike: attained by one data set."""
    t, k, worst = 1 / (1 + exp(-local)), np.arange(n), 0.0
    for others in (1 - t, t):
        b = binom.pmf(k, n - 1, others)
        yes, no = (np.append((1 - s) * b, 0) + np.append(0, s * b) for s in (t, 1 - t))
        for p, q in ((yes, no), (no, yes)):
            worst = max(worst, float(np.maximum(p - exp(epsilon) * q, 0).sum()))
    return worst


@pytest.mark.parametrize(
    ("n", "delta"),
    [
        (30, 1e-3),
        pytest.param(100, 1e-3, marks=pytest.mark.long),
        pytest.param(10_000, 1e-6, marks=pytest.mark.long),
    ],
)
def test_local_budgets_of_shuffled_reports(n: int, delta: float) -> None:
    """The largest budget that is proved is below what one data set attains, and close to it."""
    low, high = 0.5, 12.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of_shuffled(middle, n, 1.0) <= delta else (low, middle)
    if n == 10_000:
        assert low == pytest.approx(5.689, abs=5e-4)
    found = accounting.target(n, 1.0, delta)
    assert 0.9 * low <= found <= low
    share = 1 / (1 + exp(-found))
    coin = Mechanism([[share, 1 - share], [1 - share, share]])
    assert float(accounting.shuffled(coin, n).delta(1.0)) <= delta


AGES = np.array([15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 100])
PEOPLE = np.array([336, 453, 433, 236, 155, 175, 165, 154, 115, 91, 50, 79])
CLASSES = [f"{a}-{b - 1}" for a, b in pairwise(AGES)]


@pytest.mark.parametrize("seed", thorough_or([7], [7, 8, 9]))
@pytest.mark.parametrize("kind", ["prefix", "frequencies"])
def test_percentiles_of_ages_invert_the_band(kind: str, seed: int) -> None:
    """By hand: all ages, in steps of 1/1000, at which the pointwise band does not exclude p."""
    work = Workload.prefix(CLASSES) if kind == "prefix" else Workload.frequencies(CLASSES)
    best = design(work, PureLDP(1.0))
    found = best.estimate(best.mechanism.privatize(np.repeat(CLASSES, PEOPLE).tolist(), rng=seed))
    sums = found if kind == "prefix" else found.contrast(np.tril(np.ones((12, 12))))
    ages = np.linspace(15, 100, 85_001)
    rising = isotonic_regression(sums.values[:11]).x
    sides = (sums.interval[:11, 0], sums.interval[:11, 1], np.clip(rising, 0, 1))
    low, high, middle = (np.interp(ages, AGES, [0, *side, 1]) for side in sides)
    for p in (0.1, 0.5, 0.9):
        quantile = found.quantile(p, edges=AGES)
        right = [ages[high >= p][0], ages[low <= p][-1]]
        assert quantile.interval[0] == pytest.approx(right, abs=0.002)
        point = (ages[middle >= p - 1e-12][0] + ages[middle <= p + 1e-12][-1]) / 2
        assert quantile.values[0] == pytest.approx(point, abs=0.002)


# answers 0 to 10 that a report makes likelier, and how often it is given
HOURS = {
    (0, 6): 273, (0, 5): 338, (0, 4): 264, (0, 3): 182, (0, 2): 121, (0, 1): 42, (0, 0): 20,
    (1, 7): 29, (2, 7): 89, (3, 8): 2, (3, 7): 123, (4, 8): 101, (5, 9): 39, (5, 8): 60,
    (6, 9): 79, (7, 10): 50, (8, 10): 56, (9, 10): 61, (10, 10): 71,
}  # fmt: skip


def test_deviation_of_hours() -> None:
    """Mean, mean square and deviation of a number of 0 to 10 at epsilon 2."""
    x = np.arange(11.0)
    work = Workload(np.stack([x, x**2]), x.tolist(), ["mean", "mean square"])
    best = design(work, PureLDP(2.0))
    likelier = best.mechanism.channel > 1.5 * best.mechanism.channel.min(axis=0)
    places = [np.flatnonzero(column) for column in likelier.T]
    told = zip(best.mechanism.outputs, places, strict=True)
    found = best.estimate({report: HOURS[at[0], at[-1]] for report, at in told})
    deviation = found.function(lambda m: np.sqrt(m[1] - m[0] ** 2))
    assert deviation.values[0] == pytest.approx(2.183950, abs=5e-7)
    assert deviation.std_error[0] == pytest.approx(0.155085, abs=5e-7)
    assert found.covariance is not None
    of_mean = found.covariance[0, 0]
    corrected = found.function(lambda m: np.sqrt(m[1] - m[0] ** 2 + of_mean))
    assert corrected.values[0] == pytest.approx(2.188615, abs=5e-7)
    assert corrected.std_error[0] == pytest.approx(0.154755, abs=5e-7)


def test_tables_with_zeros_add_up() -> None:
    """Four groups of four answers at epsilon 1, of which some are given by nobody."""
    rng = np.random.default_rng(1)
    shares = {"n": [0.9, 0.1, 0, 0], "s": [0.7, 0.3, 0, 0], "e": [0.5, 0.5, 0, 0], "w": [0.25] * 4}
    sizes = {"n": 400, "s": 300, "e": 200, "w": 100}
    rows = [(a, g) for g, p in shares.items() for a in rng.choice(list("abcd"), sizes[g], p=p)]
    table = pd.DataFrame(rows, columns=["q", "g"])
    survey = Survey({"q": design(Workload.frequencies(list("abcd")), PureLDP(1.0))})
    reports = survey.privatize(table, rng=77).assign(g=table["g"].to_numpy())
    found = survey.estimate(reports, by="g")
    each = np.array([found.groups[g]["q"].values for g in sizes])
    w = np.array(list(sizes.values())) / 1000
    assert each.min() < 0
    assert w @ each == pytest.approx(found["q"].values, abs=1e-12)
    total = found["q"].norm_sub().values
    tables = cp.Variable((4, 4), nonneg=True)
    loss = cp.sum(cp.multiply(w[:, None], cp.square(tables - each)))
    rules = [cp.sum(tables, axis=1) == 1, w @ tables == total]
    least = cp.Problem(cp.Minimize(loss), rules).solve(solver="CLARABEL")
    fitted = found.consistent()
    cells = np.array([fitted.groups[g]["q"].values for g in sizes])
    assert (w[:, None] * (cells - each) ** 2).sum() == pytest.approx(least, abs=1e-7)
    assert cells == pytest.approx(tables.value, abs=1e-4)
    assert w @ cells == pytest.approx(total, abs=1e-9)
    assert cells.min() >= 0


def test_devices_that_repeat_their_random_number_are_no_accident() -> None:
    """Ten devices of thirty interviews: all, none, or a fifth say yes."""
    yes = [30, 30, 0, 0] + [6] * 6
    rows = [("yes" if i < k else "no", d) for d, k in enumerate(yes) for i in range(30)]
    table = pd.DataFrame(rows, columns=["q", "device"])
    test = Survey({"q": DIE}).estimate(table, by="device").independence("q")
    assert (test.statistic, test.freedom) == (pytest.approx(167.647, abs=5e-4), 9)
    assert test.p_value == pytest.approx(1.9e-31, rel=0.01)


@pytest.mark.parametrize("epsilon", [1e-7, 1e-3, 20.0, 36.0, 60.0])
@pytest.mark.parametrize("tiny", [1e-12, 0.25])
def test_tiny_probabilities_are_solved(epsilon: float, tiny: float) -> None:
    """Coefficients that solvers drop: e**-epsilon and priors of 1e-12, against the closed form."""
    prior = np.array([0.9, 0.1 - 2 * tiny, tiny, tiny]) if tiny < 0.25 else np.full(4, 0.25)
    right = max(exp(epsilon) * prior[:k].sum() / (exp(epsilon) + k - 1) for k in range(1, 5))
    proof = certify(solve(Problem(prior, "identity", PureLDP(epsilon))))
    assert float(proof.achieved) == pytest.approx(right, rel=1e-9)
    assert proof.audit.verdict == "certified"
