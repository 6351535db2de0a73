"""Words and numbers for people who decide: what an estimate is, how wide, and which program wrote a page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np

import ldpopt
from ldpopt.foundation.labels import text_of

MAX_NAMED = 3  # largest number of answers in a row that are named one by one
MIN_HALF_WIDTH = 1e-6  # smaller half-widths are rounding errors of the probabilities: nothing is estimated
LARGEST_ODDS = 10**9  # larger ones are shown as this


def number_in_words(
    name: Hashable, row: Any, inputs: Sequence[Hashable], shown: Callable[[Hashable], str] = text_of
) -> str:
    """Words for the number ``row @ shares``, shape (n,); of a share its answers. None: the share of answer ``name``."""
    places = np.flatnonzero(row) if row is not None and is_share(row) else []
    if len(places) == 0:
        return shown(name)
    answers = [shown(inputs[place]) for place in places]
    if len(answers) <= MAX_NAMED:
        return " or ".join([", ".join(answers[:-1]), answers[-1]] if len(answers) > 1 else answers)
    is_range = places[-1] - places[0] == len(places) - 1
    return f"anything from {answers[0]} to {answers[-1]}" if is_range else shown(name)


def is_share(row: Any) -> bool:
    """Whether a number is the share of some of the answers."""
    return row is None or bool(np.isin(row, (0, 1)).all())


def half_width_in_words(width: float, in_points: bool) -> str:
    """Half-width, of a share in percentage points."""
    return f"{100 * width:.1f}" if in_points and width < 1 else "100" if in_points else f"{width:.3g}"


def odds_in_words(odds: float) -> str:
    """A factor with three digits, rounded up."""
    if odds >= LARGEST_ODDS:
        return f"{LARGEST_ODDS:,} or more"
    digits = 2 - floor(log10(odds))
    return f"{ceil(round(odds * 10**digits, 9)) / 10**digits:,.{max(digits, 0)}f}"


def gap_in_words(gap: float) -> str:
    """What a proof leaves open, in percent."""
    return "0.001 %" if gap < 1e-5 else f"{100 * gap:.2g} %"


def program() -> str:
    """Name, version, source and digest of the code that runs."""
    home, digest = Path(ldpopt.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py"), key=lambda path: path.relative_to(home).as_posix()):
        digest.update(f"{path.relative_to(home).as_posix()}\n".encode() + path.read_bytes())
    return f"ldpopt {ldpopt.__version__}{_commit()}, whose code has the SHA-256 {digest.hexdigest()[:16]}"


def _commit() -> str:
    """The address and commit from which the program was installed, if pip wrote them down."""
    try:
        origin = json.loads(distribution("ldpopt").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    commit = origin.get("vcs_info", {}).get("commit_id")
    return f" ({origin['url']}, commit {commit})" if commit else ""
