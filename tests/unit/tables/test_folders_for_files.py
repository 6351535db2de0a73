"""A folder where a file is meant is named as what it is, read or written, empty or not."""

from __future__ import annotations

import pandas as pd
import pytest

from ldpopt import Mechanism
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])


def test_a_folder_is_neither_read_nor_written_as_a_table(tmp_path):
    pd.DataFrame({"a": ["no", "yes"]}).to_csv(tmp_path / "in.csv", index=False)
    for name in ("folder", "folder.parquet"):
        (tmp_path / name).mkdir()
        with pytest.raises(ModelFileError, match="cannot write the file: it is a folder"):
            privatize_file(tmp_path / "in.csv", tmp_path / name, {"a": Question(COIN)})
        with pytest.raises(ModelFileError, match="cannot read the table: it is a folder"):
            privatize_file(tmp_path / name, tmp_path / "out.csv", {"a": Question(COIN)})
    assert not (tmp_path / "out.csv").exists()
