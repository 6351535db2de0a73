"""Models and examples that come with the package: in its folder once installed, beside it in the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ldpopt.errors import ModelFileError
from ldpopt.foundation.labels import nearest


def shipped(kind: Literal["models", "examples"]) -> Path:
    """Return the folder of the models or examples."""
    package = Path(__file__).parents[2]
    for folder in (package / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise ModelFileError(f"the {kind} of ldpopt are not installed", where=str(package), do="install the wheel again")


def model_path(name: str | os.PathLike[str]) -> str:
    """Return the path of a model: a file's own, or that of a model of this name which comes with the package.

    Examples
    --------
    >>> model_path("coin").endswith("coin.toml"), model_path("my/coin.toml")
    (True, 'my/coin.toml')
    """
    path = os.fspath(name)
    if not path.replace("_", "").isalnum() or os.path.exists(path):
        return path
    known = {file.stem: file for file in sorted(shipped("models").glob("*.toml"))}
    if path not in known:
        do = f"{nearest(path, known)}; `ldpopt models` lists them, `ldpopt init {path}.toml` begins a file"
        raise ModelFileError(f"{path!r} is neither a file nor a model that comes with ldpopt", do=do)
    return str(known[path])
