"""ldpopt: state a problem, get the provably best private mechanism.

`__init__.pyi` is the list of public names; each is imported when it is first used, so that start-up
is fast.
"""

import lazy_loader

from ldpopt.foundation.plugins import register

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# `ldpopt.solvers` finds them by name, and must not import what stands above it.
register("ldpopt.solvers", "columns", "ldpopt.solving.columns:ColumnSimplex")
register("ldpopt.solvers", "interior", "ldpopt.solving.interior.compact:Interior")
