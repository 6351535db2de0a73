"""Liu and Zhou 2023, Tables 4 to 10: the rerun of the experiment, and misprints of Table 6.

`liu_zhou_arithmetic.py` in `examples/papers` compares the other printed numbers.
"""

from pathlib import Path

import numpy as np
import pytest

from builders import load_script
from ldpopt.studies import experiment

pytest.importorskip("matplotlib", reason='the script draws; pip install "ldpopt[plot]"')
SCRIPT = Path(__file__).parents[2] / "examples" / "papers" / "liu_zhou_tables.py"


@pytest.fixture(scope="module")
def paper():
    return load_script(SCRIPT)


def share_of_theory(result):
    """Mean squared error over that of the closed form, for each budget and algorithm: 1 but for
    chance."""
    return (result.rmse**2 / result.theory**2).mean(axis=0)


def test_errors_of_a_small_experiment_are_those_of_theory(paper):
    """Twelve sets of 36 attributes: the mean of 432 squares of about normal errors varies by 0.07;
    six of them."""
    data = paper.source("synthetic")
    kinds = paper.algorithms(36, 9, False)
    result = experiment.compare_means(kinds, data.bootstrap, users=1000, epsilons=(1.0,), sets=12)
    share = share_of_theory(result)
    assert share.shape == (1, len(result.algorithms))
    assert (np.abs(np.log(share)) < 0.42).all(), dict(zip(result.algorithms, share[0], strict=True))
    # Errors that are wrong by a factor of 1.5 would be noticed either way.
    assert 2 * np.log(1.5) > 0.42 + np.abs(np.log(share)).max()


@pytest.mark.parametrize("sets", [4, 30])
@pytest.mark.parametrize("factor", [1.0, 1 / 20, 1 / 1.8, 1.8])
def test_the_script_rejects_errors_that_theory_excludes(paper, sets, factor):
    """Errors by chance pass the check of the script; the same divided by 20 or multiplied by 1.8 do
    not."""
    protocols = paper.algorithms(36, 9, False)
    theory = np.array(
        [[0.067, 0.094, 0.067, 0.076, 0.067, 0.0048, 0.067, 0.076, 0.095, 0.067]] * 2
    ) / [[1], [10]]
    theory[-1, list(protocols).index("PM")] = 1e-4
    chance = np.random.default_rng(1).chisquare(36, (sets, *theory.shape)) / 36
    result = experiment.MeanExperiment(
        tuple(protocols),
        (0.1, 1.0),
        800_000,
        factor * theory * np.sqrt(chance),
        np.tile(theory, (sets, 1, 1)),
        chance,
    )
    if factor == 1:
        paper.claims(result, theory)
    else:
        with pytest.raises(AssertionError, match="theory differ"):
            paper.claims(result, theory)


def test_four_rows_of_table_6_cannot_be_mean_ranks(paper):
    """Mean ranks of five algorithms sum to 15, up to rounding; then the printed statistic follows
    from them."""
    sums = np.array(paper.TABLE_6).sum(axis=1)
    follows = [
        abs(paper.friedman_statistic(row, 30)[0] - printed) < 1
        for row, printed in zip(paper.TABLE_6, paper.TABLE_7, strict=True)
    ]
    wrong = [e for e, total in zip(paper.BUDGETS, sums, strict=True) if abs(total - 15) > 0.025]
    assert wrong == [0.2, 0.8, 8.0, 10.0]
    assert [e for e, held in zip(paper.BUDGETS, follows, strict=True) if not held] == [
        0.2,
        0.5,
        0.8,
        8.0,
        10.0,
    ]
    # Changing one cell repairs each of these three.
    for row, column, value in ((1, 3, 2.27), (7, 0, 2.27), (8, 2, 3.37)):
        ranks = list(paper.TABLE_6[row])
        ranks[column] = value
        assert sum(ranks) == pytest.approx(15, abs=0.025)
        assert paper.friedman_statistic(ranks, 30)[0] == pytest.approx(paper.TABLE_7[row], abs=1)
