"""Liu and Zhou 2023, Tables 4 to 10: what follows from the printed numbers themselves, and what from theory."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from builders import load_script
from ldpopt import mean
from ldpopt.studies import experiment

pytest.importorskip("matplotlib", reason='the script draws; pip install "ldpopt[plot]"')
SCRIPT = Path(__file__).parents[2] / "examples" / "papers" / "liu_zhou_tables.py"


@pytest.fixture(scope="module")
def paper():
    return load_script(SCRIPT)


def share_of_theory(result):
    """Mean squared error over that of the closed form, for each budget and algorithm: 1 but for chance."""
    return (result.rmse**2 / result.theory**2).mean(axis=0)


def test_errors_of_a_small_experiment_are_those_of_theory(paper):
    """Twelve sets of 36 attributes: the mean of 432 squares of about normal errors varies by 0.07; six of them."""
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
def test_claims_refuse_errors_that_are_too_small_or_too_large(paper, sets, factor):
    """The script's own check: errors by chance pass, the same over 20 or times 1.8 do not."""
    protocols = paper.algorithms(36, 9, False)
    theory = np.array([[0.067, 0.094, 0.067, 0.076, 0.067, 0.0048, 0.067, 0.076, 0.095, 0.067]] * 2) / [[1], [10]]
    theory[-1, list(protocols).index("PM")] = 1e-4
    chance = np.random.default_rng(1).chisquare(36, (sets, *theory.shape)) / 36
    result = experiment.MeanExperiment(
        tuple(protocols), (0.1, 1.0), 800_000, factor * theory * np.sqrt(chance), np.tile(theory, (sets, 1, 1)), chance
    )
    if factor == 1:
        paper.claims(result, theory)
    else:
        with pytest.raises(AssertionError, match="simulation and theory differ"):
            paper.claims(result, theory)


def test_table_5_ranks_follow_from_table_4(paper):
    ranks = ["".join(str(int(rank)) for rank in stats.rankdata(row)) for row in paper.TABLE_4.values()]
    assert ranks == ["13524", "14523", "23415", "12435", "14325", "25341"]


def test_friedman_at_the_first_budget():
    statistic, p = experiment.friedman_statistic([1.4, 3.833333, 3.7, 2.4, 3.666667], 30)
    assert statistic == pytest.approx(54.587, abs=5e-4)
    assert p == pytest.approx(3.966e-11, rel=1e-3)


def test_printed_p_values_follow_from_printed_statistics(paper):
    printed = [3.966e-11, 1.687e-12, 3.228e-11, 2.813e-9, 1.733e-8, 4.419e-5, 0.005911, 0.005015, 0.0153]
    assert stats.chi2.sf(paper.TABLE_7, 4) == pytest.approx(printed, rel=1e-2)


def test_four_rows_of_table_6_are_no_ranks(paper):
    """Mean ranks of five algorithms sum to 15, up to rounding; and then the statistic follows."""
    sums = np.array(paper.TABLE_6).sum(axis=1)
    follows = [
        abs(experiment.friedman_statistic(row, 30)[0] - printed) < 1
        for row, printed in zip(paper.TABLE_6, paper.TABLE_7, strict=True)
    ]
    wrong = [e for e, total in zip(paper.BUDGETS, sums, strict=True) if abs(total - 15) > 0.025]
    assert wrong == [0.2, 0.8, 8.0, 10.0]
    assert [e for e, held in zip(paper.BUDGETS, follows, strict=True) if not held] == [0.2, 0.5, 0.8, 8.0, 10.0]
    # One cell each repairs three of them.
    for row, column, value in ((1, 3, 2.27), (7, 0, 2.27), (8, 2, 3.37)):
        ranks = list(paper.TABLE_6[row])
        ranks[column] = value
        assert sum(ranks) == pytest.approx(15, abs=0.025)
        assert experiment.friedman_statistic(ranks, 30)[0] == pytest.approx(paper.TABLE_7[row], abs=1)


def test_table_10_is_for_ten_runs_each(paper):
    """F and p belong together with 45 degrees of freedom: 50 runs, not 150."""
    ratio = 56.095499 / 23.536762
    assert ratio == pytest.approx(2.383314, abs=1e-6)
    assert stats.f.sf(2.383314, 4, 45) == pytest.approx(0.065394, abs=1e-6)
    between = ((np.array(paper.TABLE_9) - np.mean(paper.TABLE_9)) ** 2).sum()
    assert 10 * between == pytest.approx(224.381995, abs=1e-4)
    # With 30 runs each, as the text has it, the same means and the same residual spread would be significant.
    assert stats.f.sf(3 * 2.383314, 4, 145) < 1e-3


def test_table_8_beside_theory(paper):
    """Data of mean .509 and second moment .2924: RCP near its closed form, Duchi, Harmony and PM far above."""
    n, m, first, second = 800_000, 36, 0.509, 0.2924
    kinds = (
        lambda e: mean.rcp_multiple_opt(e, m),
        lambda e: mean.rcp_multiple(e, m),
        lambda e: mean.harmony(e, m),
        lambda e: mean.sampled(mean.Piecewise(e), attributes=m, method="horvitz_thompson"),
    )
    theory = []
    for epsilon in paper.BUDGETS:
        row = []
        for make in kinds:
            protocol = make(epsilon)
            low, high = protocol.domain
            start, middle, end = (protocol.variance(x) for x in (low, (low + high) / 2, high))
            bend = 2 * (start + end - 2 * middle)
            variance = start + (end - start - bend) * first + bend * second
            row.append((variance / n) ** 0.5 / (high - low))
        theory.append(row)
    assert theory[0] == pytest.approx([0.06791, 0.09433, 0.06714, 0.07622], abs=5e-5)
    assert theory[8] == pytest.approx([0.00475, 0.00475, 0.00335, 0.00122], abs=5e-5)
    share = np.array(paper.TABLE_8)[:, :4] / np.array(theory)
    assert share[:, 0].min() > 0.85
    assert share[:, :2].max() < 1.25
    assert share[:, 2].min() > 1.25
    assert share[:, 3].max() > 3
