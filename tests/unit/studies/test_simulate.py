"""Simulation: repeated surveys agree with theory within their own errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import Mechanism, Problem, PureLDP, Utility, solve
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.studies.simulate import Setting, simulate, simulate_grid

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


def test_mean_and_estimates_meet_theory() -> None:
    found = simulate(COIN, {"no": 2, "yes": 8}, population=5000, repeats=40, rng=3)
    assert found.expected == pytest.approx(0.75)
    # Five standard errors: a seed is fixed, and a true sampler fails one in a million seeds.
    assert abs(found.mean - found.expected) < 5 * found.std_error
    assert found.std_error == pytest.approx(np.sqrt(0.75 * 0.25 / 5000 / 40), rel=0.5)
    assert found.estimates is not None
    error = found.estimates.mean(axis=0) - [0.2, 0.8]
    assert np.abs(error).max() < 5 * found.estimates.std(axis=0).max() / np.sqrt(40)
    assert found.frequencies.sum(axis=1) == pytest.approx(np.ones(40))
    low, high = found.interval
    assert low < found.mean < high
    assert found.band[0] < low
    assert found.band[1] > high


def test_seeds_repeat() -> None:
    first, second = (simulate(COIN, [0.5, 0.5], population=100, repeats=3, rng=1) for _ in range(2))
    assert first.utilities.tolist() == second.utilities.tolist()
    assert simulate(COIN, [0.5, 0.5], population=100, repeats=2).repeats == 2


def test_surveys_are_the_same_in_processes_and_from_a_checkpoint(tmp_path: Path) -> None:
    options: dict[str, Any] = {"population": 100, "repeats": 5, "rng": 1}
    plain = simulate(COIN, [0.5, 0.5], **options)
    file = tmp_path / "surveys"

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="3 of 5 surveys"):
        simulate(COIN, [0.5, 0.5], **options, checkpoint=file, progress=stop)
    for extra in ({"checkpoint": file}, *thorough_or((), ({"jobs": 2},))):
        found = simulate(COIN, [0.5, 0.5], **options, **extra)
        assert found.utilities.tolist() == plain.utilities.tolist()
        assert np.array_equal(found.estimates, plain.estimates)
        assert np.array_equal(found.frequencies, plain.frequencies)
    with refused("other-run", ModelFileError) as caught:
        simulate(COIN, [0.5, 0.5], **options | {"rng": 2}, checkpoint=file)
    assert "'surveys, rng = 1'" in str(caught.value)
    with refused("seed"):
        simulate(COIN, [0.5, 0.5], **options | {"rng": None}, checkpoint=file)


def test_a_cell_of_a_grid_is_what_it_is_alone(tmp_path: Path) -> None:
    three = Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    settings = {
        "coin": Setting(COIN, [0.2, 0.8]),
        "no utility": Setting(three, [0.1, 0.2, 0.7], None),
    }
    file = tmp_path / "surveys"
    simulate_grid(settings, [50], repeats=3, rng=1, checkpoint=file)
    calls: list[tuple[int, int]] = []
    grid = simulate_grid(
        settings, [50, 200], repeats=4, rng=1, checkpoint=file, progress=lambda *c: calls.append(c)
    )
    assert calls == [(done, 16) for done in range(7, 17)]
    for (name, people), found in grid.cells.items():
        alone = simulate(
            *settings[name][:2], population=people, repeats=4, rng=1, utility=settings[name].utility
        )
        assert np.array_equal(found.utilities, alone.utilities, equal_nan=True)
        assert np.array_equal(found.estimates, alone.estimates)
    frame = grid.to_frame()
    assert frame["setting"].tolist() == ["coin", "coin", "no utility", "no utility"]
    assert frame["utility"].isna().tolist() == [False, False, True, True]
    assert (
        grid.to_csv().splitlines()[0] == "setting,people,repeats,utility,std_error,expected,error"
    )
    assert ",50,4,,,," in grid.to_csv(tmp_path / "table.csv")
    assert "2 settings, 2 numbers of people" in repr(grid)


def test_errors_fall_with_the_root_of_the_people() -> None:
    few, many = simulate_grid(
        {"": Setting(COIN, [0.3, 0.7])}, [100, 10_000], repeats=100, rng=5
    ).cells.values()
    # The error of 100 surveys is its theory within some 7 per cent (one standard deviation): six of
    # these.
    assert few.error == pytest.approx(np.sqrt(0.25 * 0.75 / 100) / 0.5, rel=0.42)
    assert few.error / many.error == pytest.approx(10, rel=0.6)


@pytest.mark.parametrize(
    ("settings", "populations"), [({}, [10]), ({"": Setting(COIN, [0.5, 0.5])}, [])]
)
def test_an_empty_grid_is_refused(settings: Any, populations: Any) -> None:
    with refused("empty-grid"):
        simulate_grid(settings, populations, repeats=2)


def test_other_utilities_and_shapes() -> None:
    problem = Problem([0.2, 0.3, 0.5], "absolute_error", PureLDP(1.0))
    found = simulate(
        solve(problem).mechanism,
        [0.2, 0.3, 0.5],
        population=4000,
        repeats=20,
        utility="absolute_error",
        rng=0,
    )
    assert abs(found.mean - found.expected) < 5 * found.std_error
    wide = Mechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], outputs=["a", "b", "c"])
    loss = Utility(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]), "loss")
    assert simulate(
        wide, [0.5, 0.5], population=10, repeats=2, utility=loss, rng=0
    ).expected == pytest.approx(0.7)


def test_a_constant_mechanism_estimates_nothing() -> None:
    constant = Mechanism([[0.0, 1.0], [0.0, 1.0]])
    found = simulate(constant, [0.2, 0.8], population=1000, repeats=3, rng=0)
    assert found.estimates is None
    assert found.to_frame()["estimate"].isna().all()


def test_table_and_text() -> None:
    found = simulate(COIN, [0.5, 0.5], population=100, repeats=3, rng=0)
    frame = found.to_frame()
    assert frame.shape == (6, 5)
    assert frame["answer"].tolist() == ["no", "yes"] * 3
    assert "3 surveys of 100" in repr(found)


@pytest.mark.parametrize(
    "options",
    [
        {"population": 0},
        {"population": 1.5},
        {"repeats": 1},
        {"repeats": True},
        {"confidence": 1.0},
        {"population": 10**15},
    ],
)
def test_bad_numbers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(StatementError):
        simulate(COIN, [0.5, 0.5], **({"population": 10, "repeats": 2} | options))


@pytest.mark.parametrize("prior", [[0.5, 0.6], [1.0], {"no": 1, "maybe": 2}, [-0.1, 1.1], None])
def test_bad_priors_are_refused(prior: Any) -> None:
    with pytest.raises(LdpoptError):
        simulate(COIN, prior, population=10, repeats=2)
