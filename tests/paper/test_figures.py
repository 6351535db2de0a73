"""The papers' figures on few points; `LDPOPT_TESTS=thorough` runs the scripts whole, with what they assert."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builders import load_script
from ldpopt import ApproximateLDP, PureLDP

pytest.importorskip("matplotlib", reason='the scripts draw; pip install "ldpopt[plot]"')
FOLDER = Path(__file__).parents[2] / "examples" / "papers"


def names_of_large_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.png") if path.stat().st_size > 5000)


def test_wu_xia_and_he_draw_rates_and_densities(tmp_path: Path) -> None:
    script = load_script(FOLDER / "wu_xia_he_figures.py")
    widenings, epsilons = np.geomspace(0.5, 500, 4), np.linspace(0.1, 5, 3)
    rates = {name: script.rate_map(name, widenings, epsilons) for name in script.SETS}
    script.maps(tmp_path, 1, ("V1", "V2", "V3", "V4"), rates, widenings, epsilons)
    script.maps(tmp_path, 2, ("V5", "V6", "V7"), rates, widenings, epsilons)
    record = script.Record(tmp_path)
    script.densities(tmp_path, record)
    assert [(row.row, row.verdict) for row in record.rows] == [("W17", "agrees")]
    assert names_of_large_files(tmp_path) == ["figure_1.png", "figure_2.png", "figure_3.png"]
    # V4 joins to one interval, where the staircase is the best there is; V1 and V6 are the same set.
    assert rates["V4"].min() >= 1 - 1e-12
    assert (rates["V1"] == rates["V6"]).all()
    assert rates["V7"].min() < rates["V6"].min() < rates["V5"].min() < 1
    assert len((tmp_path / "figure_1.csv").read_text().splitlines()) == 1 + 4 * 4 * 3


@pytest.mark.parametrize("privacy, number", [(PureLDP(1.0), 4), (ApproximateLDP(1.0, 0.2), 8)], ids=["pure", "delta"])
def test_zhou_and_others_draw_closed_form_program_and_simulation(tmp_path: Path, privacy, number: int) -> None:
    """`surfaces` asserts that closed form and program agree, `simulation` that the surveys are near both."""
    script = load_script(FOLDER / "zhou_2019_figures.py")
    first = np.linspace(0, 1, 3)
    grid = np.linspace(0, 5, 3), np.stack([first, 1 - first], axis=1)
    theory, difference = script.surfaces(tmp_path, "few", privacy, grid)
    assert difference < 1e-9
    covered = script.simulation(tmp_path, number, getattr(privacy, "delta", 0.0), grid, theory)
    assert covered >= 0.5  # of a few 95 % intervals
    assert theory.shape == (3, 3)
    assert names_of_large_files(tmp_path) == [f"figure_{number}.png", "figures_few.png"]


def test_zhou_and_others_draw_the_polytopes(tmp_path: Path) -> None:
    script = load_script(FOLDER / "zhou_2019_figures.py")
    record = script.Record(tmp_path)
    script.polytopes(tmp_path, record)
    assert [(row.row, row.verdict) for row in record.rows] == [("Z5", "agrees"), ("Z14", "agrees")]
    assert names_of_large_files(tmp_path) == ["figure_1.png", "figure_5.png"]
