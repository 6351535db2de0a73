"""Zhou, Lu and Wu 2019: their numbers, and the places where the print is wrong."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldpopt.closed_forms import binary, top_k

THREE = "log(3)"


def test_figure_1_vertices():
    corners = binary([0.5, 0.5], 0.1).vertices
    expected = [(0, 1), (0.524979, 0.524979), (1, 0), (0.475021, 0.475021)]
    assert np.round(corners, 6).tolist() == [list(map(float, corner)) for corner in expected]


def test_figure_5_vertices():
    corners = binary([0.5, 0.5], 0.1, 0.2).vertices
    d, h = 0.619983, 0.380017
    expected = [(0, 0.8), (0, 1), (0.2, 1), (d, d), (1, 0.2), (1, 0), (0.8, 0), (h, h)]
    assert np.round(corners, 6) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_vertices_are_all_the_vertices(delta):
    """Cut every pair of the eight lines and keep what is feasible, in rationals."""
    alpha, d = Fraction(3), Fraction(delta)
    lines = [(alpha, 1, 1 - d, 1), (1, alpha, 1 - d, 1), (alpha, 1, alpha + d, -1), (1, alpha, alpha + d, -1)]
    lines += [(1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, -1), (0, 1, 1, -1)]
    found = set()
    for (a, b, c, _), (e, f, g, _) in itertools.combinations(lines, 2):
        det = a * f - b * e
        if det:
            x, y = Fraction(c * f - b * g) / det, Fraction(a * g - c * e) / det
            if all(sign * (p * x + q * y) >= sign * r for p, q, r, sign in lines):
                found.add((float(x), float(y)))
    assert found == set(binary([0.5, 0.5], THREE, delta).vertices)


@pytest.mark.parametrize(
    ("first", "delta", "value", "region"),
    [
        (0.8, 0.0, 0.8, "first"),
        (0.6, 0.0, 0.75, "middle"),
        (0.1, 0.0, 0.9, "last"),
        (0.8, 0.25, 0.85, "first"),
        (0.6, 0.25, 0.8125, "middle"),
        (0.1, 0.25, 0.925, "last"),
    ],
)
def test_equations_4_and_15(first, delta, value, region):
    form = binary([first, 1 - first], THREE, delta)
    assert form.value == pytest.approx(value, abs=1e-15)
    assert form.region == region
    assert form.ties == (region,)
    assert len(form.face) == 1


def test_matrices_of_15():
    assert binary([0.9, 0.1], 0.1, 0.2).channel == pytest.approx(np.array([[1, 0], [0.8, 0.2]]))
    assert binary([0.1, 0.9], 0.1, 0.2).channel == pytest.approx(np.array([[0.2, 0.8], [0, 1]]))
    middle = (0.2 + math.exp(0.1)) / (math.exp(0.1) + 1)
    expected = np.array([[middle, 1 - middle], [1 - middle, middle]])
    assert binary([0.5, 0.5], 0.1, 0.2).channel == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize(("prior", "region"), [([0.75, 0.25], "first"), ([0.25, 0.75], "last")])
def test_equations_10_to_12_whole_edges_are_optimal(prior, region, delta):
    form = binary(prior, THREE, delta)
    assert set(form.ties) == {"middle", region}
    ends = np.array(form.face)
    assert ends.shape == (2, 2)
    for share in np.linspace(0, 1, 11):
        assert (share * ends[0] + (1 - share) * ends[1]) @ prior == pytest.approx(form.value, abs=1e-15)


def test_no_edge_is_optimal_beside_the_boundary():
    assert binary([0.7499, 0.2501], THREE).ties == ("middle",)
    assert binary([0.7501, 0.2499], THREE).ties == ("first",)


def test_worked_example_of_10_000_people():
    assert 1 / (math.exp(0.1) + 1) == pytest.approx(0.47502081, abs=5e-9)
    pure, approximate = binary([0.2, 0.8], 0.1), binary([0.2, 0.8], 0.1, 0.15)
    assert pure.value == pytest.approx(0.8, abs=1e-12)
    assert pure.channel.tolist() == [[0, 1], [0, 1]]
    assert approximate.value == pytest.approx(0.83, abs=1e-12)
    assert approximate.channel == pytest.approx(np.array([[0.15, 0.85], [0, 1]]))
    assert 10_000 * 0.2 * approximate.channel[0, 0] == pytest.approx(300)


def test_the_open_question_has_an_answer():
    assert top_k([0.5, 0.3, 0.2], 1.0).value == pytest.approx(0.5848468629, abs=5e-11)
    assert top_k([0.5, 0.3, 0.2], 1.0, 0.1).value == pytest.approx(0.6263621766, abs=5e-11)


@pytest.mark.parametrize("delta", [0.0, 0.15])
def test_the_n_ary_answer_is_4_and_15_for_two_letters(delta):
    for first in np.linspace(0, 1, 21):
        one, other = binary([first, 1 - first], 0.4, delta), top_k([first, 1 - first], 0.4, delta)
        assert one.exact_value() == other.exact_value()


def test_breakpoints_are_where_the_number_of_members_changes():
    form = top_k([0.5, 0.3, 0.2], 1.0)
    assert form.thresholds == pytest.approx([1, 0.5 / 0.3, 0.8 / 0.2 - 1])
    for k, threshold in enumerate(form.thresholds[1:], start=2):
        assert top_k([0.5, 0.3, 0.2], math.log(threshold) - 1e-6).k == k - 1
        assert top_k([0.5, 0.3, 0.2], math.log(threshold) + 1e-6).k == k


def test_erratum_printed_right_hand_side_of_model_2_gives_other_vertices():
    """Section 3.2.2 prints ``e^eps`` where ``e^eps + delta`` is meant: basis 2 then has p11 = 0, not delta."""
    alpha, delta = 3.0, 0.2
    both_tight = np.array([[alpha, 1.0], [1.0, 0.0]])
    assert np.linalg.solve(both_tight, [alpha, 1.0]) == pytest.approx([1, 0])
    assert np.linalg.solve(both_tight, [alpha + delta, 1.0]) == pytest.approx([1, delta])


def test_erratum_case_2_of_section_4_needs_at_most():
    """Printed: 1 - pi0 is optimal for ``pi0 >= 1/(e^eps+1)``; at pi0 = 0.9 it is far from it."""
    assert binary([0.9, 0.1], THREE).value == pytest.approx(0.9)
    assert binary([0.1, 0.9], THREE).value == pytest.approx(0.9)


def test_erratum_delta_does_not_avoid_determinism():
    """Section 3.3: one row stays deterministic, and the rare report proves the answer."""
    channel = binary([0.2, 0.8], 0.1, 0.15).channel
    assert channel[1].tolist() == [0, 1]
    assert channel[0, 0] > 0


def test_erratum_entry_wise_delta_is_weaker_beyond_two_outputs():
    """Equation (20) bounds single entries: these two rows keep it with delta, yet one event exceeds it (m - 1) fold."""
    m, alpha, delta = 5, 3.0, 0.1
    first, second = np.append(np.full(m - 1, delta), 1 - (m - 1) * delta), np.eye(m)[-1]
    assert (first - alpha * second).max() <= delta
    assert (second - alpha * first).max() <= delta
    assert np.maximum(first - alpha * second, 0).sum() == pytest.approx((m - 1) * delta)
