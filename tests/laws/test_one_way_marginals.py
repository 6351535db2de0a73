"""One-way marginals of yes/no questions: one question is optimal up to epsilon = 1.3425, proved for
any number of them.

The theory page "One-way marginals" has the statements. The steps that are not done by hand are done
here in rationals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import cases, thorough_or
from ldpopt import PureLDP, Workload, design

ROOT = Fraction(141421356, 10**8), Fraction(141421357, 10**8)  # below and above the root of 2
CROSSING = 2 - ROOT[1], 2 - ROOT[0]  # below and above s_1 = 2 - sqrt(2)
GOAL = ROOT[0] - 1  # below 2 H(s_1) = sqrt(2) - 1
MOST_FOURTH = Fraction(45, 100)  # sums of fourth powers up to here are settled by the polynomial
MORE = [pytest.param(d, marks=pytest.mark.long) for d in (3, 4, 6, 7, *range(9, 13))]
# of x^2, x^4, x^6
POLYNOMIAL = Fraction(4749, 10**4), Fraction(-3238, 10**5), Fraction(1072, 10**6)


def line(t: int, s: float) -> float:
    """Stop-loss of the AND of ``t`` questions at ``s``."""
    return 2.0**-t * (math.sqrt(t) - s)


def crossing(t: int) -> float:
    """Where the lines of ``t`` and ``t + 1`` questions meet."""
    return 2 * math.sqrt(t) - math.sqrt(t + 1)


def signed_sums(weights: Any) -> Any:
    """All values of a sum of weights with signs."""
    found = np.zeros(1)
    for weight in weights:
        found = np.concatenate([found + weight, found - weight])
    return found


def stop_loss(weights: Any, s: float) -> float:
    """Expected excess over ``s`` of a sum of weights with independent signs."""
    return float(np.maximum(signed_sums(weights) - s, 0.0).mean())


def unit(values: Any) -> Any:
    """Weights in falling order, whose squares sum to 1."""
    found = np.sort(np.abs(values))[::-1]
    return found / np.sqrt((found**2).sum())


UNITS = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=9).map(unit)


@cases(40)
@example(np.array([1.0]))
@example(np.sqrt([0.5, 0.5]))
@given(UNITS)
def test_moments_of_sums_of_signs(weights: Any) -> None:
    four = (weights**4).sum()
    six = (weights**6).sum()
    sums = signed_sums(weights)
    assert (sums**4).mean() == pytest.approx(3 - 2 * four)
    assert (sums**6).mean() == pytest.approx(15 - 30 * four + 16 * six)
    assert six <= four**1.5 * (1 + 1e-9)


def roots_above_zero(polynomial: list[Fraction]) -> int:
    """Number of different positive roots of a polynomial, lowest coefficient first (Sturm)."""
    chain = [polynomial, [k * c for k, c in enumerate(polynomial)][1:]]
    while len(chain[-1]) > 1:
        rest = list(chain[-2])
        while len(rest) >= len(chain[-1]):
            factor = rest[-1] / chain[-1][-1]
            shift = len(rest) - len(chain[-1])
            for k, c in enumerate(chain[-1]):
                rest[shift + k] -= factor * c
            rest.pop()
        while rest and not rest[-1]:
            rest.pop()
        if not rest:
            break
        chain.append([-c for c in rest])

    def changes(values: list[Fraction]) -> int:
        signs = [value > 0 for value in values if value]
        return sum(one != two for one, two in itertools.pairwise(signs))

    return changes([one[0] for one in chain]) - changes([one[-1] for one in chain])


def test_roots_are_counted() -> None:
    assert roots_above_zero([Fraction(c) for c in (2, -3, 1)]) == 2
    assert roots_above_zero([Fraction(c) for c in (-2, 1, 1)]) == 1
    assert roots_above_zero([Fraction(c) for c in (1, 0, 1)]) == 0


def test_small_fourth_powers_are_settled_by_a_polynomial() -> None:
    """The polynomial is above the excess, and its mean is below the goal."""
    two, four, six = POLYNOMIAL
    assert four**2 < 4 * two * six  # positive
    # less x - s_1 or a little more
    above = [CROSSING[0], Fraction(-1), two, Fraction(0), four, Fraction(0), six]
    assert above[0] > 0
    assert roots_above_zero(above) == 0
    sixth = Fraction(30187, 10**5)
    assert sixth**2 >= MOST_FOURTH**3
    # the mean grows with the sum of fourth powers, and with that of sixth ones
    assert -2 * four - 30 * six > 0
    assert two + four * (3 - 2 * MOST_FOURTH) + six * (15 - 30 * MOST_FOURTH + 16 * sixth) <= GOAL


def is_settled(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction], goal: Fraction = ROOT[0]
) -> bool:
    """Whether all pairs of the two largest weights in a box are impossible, settled elsewhere, or
    below the goal."""
    (low, high), (least, most), (s, top) = first, second, CROSSING
    rest = 1 - low**2 - least**2, max(Fraction(0), 1 - high**2 - most**2)
    if least > high or rest[0] < 0 or low >= (17 - 8 * ROOT[0]) / 7:
        return True  # impossible, or one large weight
    if high**4 + most**4 + rest[0] * most**2 <= MOST_FOURTH or high - least <= s / 2:
        return True  # settled by the polynomial, or by hand
    total = (low + least, high + most)
    difference = high - least
    if total[0] <= top:
        return False
    near = rest[0] * max(1 / (8 * (total[0] - top)), 1 / (4 * total[0]))
    far = (difference**2 + rest[0]) / (4 * s)
    if difference < s:
        far = min(far, rest[0] * max(1 / (8 * (s - difference)), 1 / (4 * s)))
    return total[1] + near + far <= goal


def boxes_needed(settled: Callable[..., bool], most: int) -> int:
    """Number of boxes until all pairs with weights from 1/2 and from 0 up to 1 are settled."""
    zero = Fraction(0)
    half = Fraction(1, 2)
    one = Fraction(1)
    stack = [((half, one), (zero, one))]
    seen = 0
    while stack and seen < most:
        first, second = stack.pop()
        seen += 1
        if settled(first, second):
            continue
        middle = sum(first) / 2, sum(second) / 2
        if first[1] - first[0] >= second[1] - second[0]:
            stack += [((first[0], middle[0]), second), ((middle[0], first[1]), second)]
        else:
            stack += [(first, (second[0], middle[1])), (first, (middle[1], second[1]))]
    return seen


def test_two_large_weights_are_settled_in_boxes() -> None:
    assert boxes_needed(is_settled, 600) < 600
    # The proof has little to spare: a goal lower by two percent is not reached.
    assert boxes_needed(lambda *box: is_settled(*box, goal=ROOT[0] * Fraction(98, 100)), 600) == 600


@cases(60)
@example(np.array([1.0]))
@example(np.sqrt([0.5, 0.5]))
@example(np.array([0.8, 0.6]))
@example(unit([0.81, 0.5, 0.3]))
@given(UNITS)
def test_the_bounds_of_the_proof_hold_and_reach_the_goal_for_every_sum(weights: Any) -> None:
    s = 2 - math.sqrt(2)
    goal = math.sqrt(2) - 1
    excess = 2 * stop_loss(weights, s)
    four = (weights**4).sum()
    six = (weights**6).sum()
    two, quartic, sextic = map(float, POLYNOMIAL)
    w = weights[0]
    bounds = [two + quartic * (3 - 2 * four) + sextic * (15 - 30 * four + 16 * six)]
    if w > s:
        bounds.append(w - s + (1 - w * w) / (8 * (w - s)))
    if len(weights) > 1 and (a := weights[0] + weights[1]) > s:
        e = weights[0] - weights[1]
        rest = 1 - weights[0] ** 2 - weights[1] ** 2
        far = (e * e + rest) / (4 * s)
        if e < s:
            far = min(far, rest * max(1 / (8 * (s - e)), 1 / (4 * s)))
        bounds.append((a - s + rest * max(1 / (8 * (a - s)), 1 / (4 * a)) + far) / 2)
    assert all(excess <= bound + 1e-12 for bound in bounds)
    assert min(bounds) <= goal + 1e-12


def test_both_ends_of_the_segment_are_sharp() -> None:
    s = crossing(1)
    assert stop_loss([1.0], s) == pytest.approx(stop_loss(unit([1, 1]), s), abs=1e-15)
    assert 2 * stop_loss([1.0], s) == pytest.approx(math.sqrt(2) - 1)
    assert stop_loss(unit([1, 1]), s + 0.01) > stop_loss([1.0], s + 0.01)
    base = (1 - s) / (1 + s)  # s = (1 - b) / (1 + b)
    assert -math.log(base) == pytest.approx(math.log((3 - math.sqrt(2)) / (math.sqrt(2) - 1)))
    for t, epsilon in enumerate((1.3425, 2.6945, 3.8003, 4.7921), start=1):
        at = crossing(t)
        share = line(t, at) / (at + line(t, at))
        assert -math.log(share) == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize("d", [2, 3, *MORE[1:2]])
@pytest.mark.parametrize("epsilon", [0.3, 1.34, 1.4])
def test_designs_have_the_closed_form_up_to_the_first_breakpoint_only(
    d: int, epsilon: float
) -> None:
    base = math.exp(-epsilon)
    value = d * d / 2 * ((1 + base) / (1 - base)) ** 2 - d / 2
    found = design(Workload.marginals([2] * d, 1), PureLDP(epsilon))
    if epsilon < 1.3425:
        assert found.value == pytest.approx(value, rel=1e-8)
    else:
        assert found.value < value * (1 - 1e-4)


def largest_found(d: int, s: float, starts: int) -> float:
    """Largest stop-loss that a fixed-point search finds: the weights follow the set where their sum
    exceeds ``s``."""
    signs = 1 - 2 * (np.arange(2**d)[:, None] >> np.arange(d) & 1)
    rng = np.random.default_rng(d)
    best = 0.0
    for start in range(starts):
        weights = unit(rng.dirichlet(np.full(d, (0.1, 0.5, 2.0, 50.0)[start % 4])) ** 0.5)
        before = -1.0
        for _ in range(200):
            sums = signs @ weights
            value = np.maximum(sums - s, 0.0).mean()
            if value <= before * (1 + 1e-13) or not value:
                break
            before = value
            weights = unit(signs.T @ (sums > s))
        best = max(best, before)
    return best


@pytest.mark.parametrize(
    "d, epsilon", [(3, 2.0), (3, 4.5), pytest.param(4, 3.0, marks=pytest.mark.long)]
)
def test_the_optimum_of_designs_is_that_of_the_stop_loss(d: int, epsilon: float) -> None:
    slope = 1 / math.expm1(epsilon)  # b / (1 - b)
    low = 0.0
    high = math.sqrt(d)
    for _ in range(40):
        s = (low + high) / 2
        low, high = (s, high) if largest_found(d, s, 20) > slope * s else (low, s)
    found = design(Workload.marginals([2] * d, 1), PureLDP(epsilon))
    assert found.value == pytest.approx(d * d / (2 * s * s) - d / 2, rel=1e-6)


@pytest.mark.parametrize("d", [2, 5, 8, *MORE])
@pytest.mark.parametrize("t", [1, 2, 3])
def test_no_search_finds_more_than_the_lines_at_their_crossings(d: int, t: int) -> None:
    found = largest_found(d, crossing(t), thorough_or(20, 400))
    assert found <= line(t, crossing(t)) * (1 + 1e-9)
    assert d == 2 or found >= line(t, crossing(t)) * (1 - 1e-9)


def test_beyond_four_questions_a_threshold_of_eight_is_better() -> None:
    assert stop_loss(unit([1] * 8), crossing(4)) > 1.03 * line(4, crossing(4))
