"""Packages that are not always installed, imported at first use: a missing one is an error that
names its extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldpopt.errors import LdpoptError

if TYPE_CHECKING:
    import formulaic as formulaic
    import fsspec as fsspec
    import matplotlib as matplotlib
    import narwhals as narwhals
    import pandas as pandas
    import pyarrow as pyarrow
    import sqlalchemy as sqlalchemy
    import uvicorn as uvicorn

# The extra of each package, if one has it, and what needs the package
EXTRAS = {
    **dict.fromkeys(("pandas", "pyarrow", "narwhals"), ("tables", "a table")),
    "matplotlib": ("plot", "a plot"),
    "formulaic": ("regress", "a regression"),
    "fsspec": ("remote", "an address"),
    "s3fs": ("", "an address s3://"),
    "gcsfs": ("", "an address gs://"),
    "adlfs": ("", "an address az://"),
    **dict.fromkeys(("openpyxl", "pyreadstat"), ("sheets", "a file of Excel or SPSS")),
    "sqlalchemy": ("collect", "a database of reports"),
    **dict.fromkeys(("starlette", "uvicorn"), ("collect", "a collector of reports")),
}


def __getattr__(name: str) -> Any:
    """Import one of the packages, or a module of one, such as ``pyarrow_csv``."""
    if (package := name.partition("_")[0]) not in EXTRAS:
        raise AttributeError(name)
    try:
        return import_module(name.replace("_", "."))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        extra, use = EXTRAS[package]
        problem = f"{use} needs {package}, which is not installed"
        do = f'pip install "ldpopt[{extra}]"' if extra else f"pip install {package}"
        raise LdpoptError(problem, code="package", do=do) from None
