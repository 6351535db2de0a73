"""Balancing: what leaves is a channel in the cone, near to what came in; and answers with groups end with one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
import ldpopt.testing
from builders import cases
from ldpopt.foundation.deadline import Deadline
from ldpopt.solving.methods.rays import coarse, generation
from ldpopt.solving.methods.rays.feasibility import balanced
from ldpopt.solving.methods.rays.generation import Generation
from ldpopt.solving.methods.rays.master import Master


def losses_of_points(n, dimension, rng):
    points = rng.standard_normal((n, dimension))
    table = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(table, np.inf)
    return table


def is_in_cone(columns, table):
    ratio = np.log(columns)[:, None, :] - np.log(columns)[None, :, :]
    return bool((ratio <= np.where(np.isinf(table), 0.0, table)[:, :, None] + 1e-12).all())


def elements(table, count, rng):
    """Random elements of the cone: sums of kernel columns."""
    kernel = np.exp(-np.where(np.isinf(table), 0.0, table))
    return kernel @ (rng.random((len(table), count)) ** 6)


@cases(60)
@given(st.integers(2, 30), st.integers(1, 3), st.integers(1, 90), st.integers(0, 10**6))
def test_balanced_columns_are_a_channel_in_the_cone(n, dimension, count, seed):
    rng = np.random.default_rng(seed)
    table = losses_of_points(n, dimension, rng)
    columns = elements(table, count, rng) / count
    found = balanced(columns / columns.sum(axis=1).mean(), table, Deadline())
    assert found.shape == (n, count + 1)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert is_in_cone(found[:, :-1], table)
    kernel, filled = np.exp(-np.where(np.isinf(table), 0.0, table)), found[:, -1]
    assert (kernel * filled <= filled[:, None] + 1e-12 * filled.max()).all()


@cases(30)
@given(st.integers(2, 20), st.integers(1, 40), st.integers(0, 10**6))
def test_a_channel_stays_as_it_is(n, count, seed):
    rng = np.random.default_rng(seed)
    table = losses_of_points(n, 2, rng)
    columns = np.outer(np.ones(n), rng.dirichlet(np.ones(count))) * 0.5
    part = elements(table, 1, rng)[:, 0]
    wave = 0.4 * part / part.max()  # one column and what is left: small beside the constant ones
    channel = np.column_stack([columns * (1 - 0.2), 0.05 + 0.01 * wave, 0.55 - 0.01 * wave])
    assert channel.sum(axis=1) == pytest.approx(1.0)
    assert balanced(channel, table, Deadline())[:, :-1] == pytest.approx(channel, abs=1e-9)


def test_without_time_the_rows_are_filled_up():
    rng = np.random.default_rng(5)
    table = losses_of_points(12, 2, rng)
    columns = elements(table, 9, rng)
    found = balanced(columns / columns.sum(axis=1).max(), table, Deadline(0.0))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert is_in_cone(found, table)


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_end_with_a_channel_near_the_optimum(monkeypatch, seed):
    monkeypatch.setattr(generation, "VIEW_INPUTS", 40)
    monkeypatch.setattr(coarse, "GROUPED", 40)
    problem = lo.testing.synthetic_city(120, rng=seed).problem(0.8)
    plain = lo.solve(problem, gap=1e-3)
    values = []
    keep = Generation._keep

    def noted(work, master):
        keep(work, master)
        if master.groups is None and len(work.center) == 120:
            values.append(work.value)

    monkeypatch.setattr(Generation, "_keep", noted)
    answer = lo.solve(problem, gap=0.2)
    assert lo.certify(answer).relative_gap <= 0.2
    assert plain.value * 0.998 <= answer.value <= plain.value * 1.2
    constant = float((problem.prior @ problem.utility.gain).max())
    assert values[0] <= 0.4 * abs(constant)  # the balanced columns alone; the optimum is about a fifth


def test_columns_of_zeros_are_left_out_of_a_master():
    channel = np.column_stack([np.full((4, 2), 0.5), np.zeros(4)])
    master = Master.of_columns(channel, np.random.default_rng(1).random((3, 4)))
    assert master.rays.shape == (4, 2)
    assert master.is_feasible
