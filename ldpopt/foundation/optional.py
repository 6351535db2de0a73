"""Packages for tables and plots, imported at first use: a missing one is an error that names the extra to install."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldpopt.errors import LdpoptError

if TYPE_CHECKING:
    import matplotlib as matplotlib
    import narwhals as narwhals
    import pandas as pandas
    import pyarrow as pyarrow

PLOT_PACKAGES = {"matplotlib"}
PACKAGES = {"pandas", "pyarrow", "pyarrow_compute", "pyarrow_csv", "pyarrow_parquet", "narwhals", *PLOT_PACKAGES}


def __getattr__(name: str) -> Any:
    """Import one of the packages, or a module of one, such as ``pyarrow_csv``."""
    if name not in PACKAGES:
        raise AttributeError(name)
    package, extra = name.partition("_")[0], "plot" if name in PLOT_PACKAGES else "tables"
    try:
        return import_module(name.replace("_", "."))
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        what = f"{'a plot' if extra == 'plot' else 'a table'} needs {package}, which is not installed"
        raise LdpoptError(what, do=f'pip install "ldpopt[{extra}]"') from None
