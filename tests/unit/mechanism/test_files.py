"""Files record their origin: mechanisms their notion and digest, reports the mechanism that drew
them."""

from __future__ import annotations

import json
import math
from pathlib import Path

from builders import refused
from ldpopt import (
    GraphDP,
    Mechanism,
    Problem,
    PureLDP,
    __version__,
    solve,
)
from ldpopt.errors import ModelFileError

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])


def test_a_mechanism_file_names_title_notion_budget_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    COIN.save(path, title="a coin", privacy=PureLDP("log(3)"))
    data = json.loads(path.read_text())
    found = {key: data[key] for key in ("title", "delta", "digest", "made_by")}
    assert found == {
        "title": "a coin",
        "delta": 0.0,
        "digest": COIN.digest,
        "made_by": f"ldpopt {__version__}",
    }
    assert math.log(3) <= data["epsilon"] < math.log(3) + 1e-12
    assert "log(3)" in data["notion"]
    assert Mechanism.load(path) == COIN
    Mechanism([[1.0, 0.0], [0.5, 0.5]]).save(path)
    assert json.loads(path.read_text())["epsilon"] is None  # no budget is large enough


def test_a_mechanism_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    COIN.save(path)
    path.write_text(path.read_text().replace("0.75", "0.5").replace("0.25", "0.5"))
    with refused("digest", ModelFileError):
        Mechanism.load(path)


def test_a_graph_notion_is_named(tmp_path: Path) -> None:
    import networkx as nx

    problem = Problem([0.2, 0.3, 0.5], "identity", GraphDP(1.0, nx.path_graph(3)))
    solve(problem).mechanism.save(tmp_path / "m.json", privacy=problem.privacy)
    assert json.loads((tmp_path / "m.json").read_text())["notion"]
