"""Model files: one problem in TOML, read strictly, and written so that it reads back equal.

A file holds a problem and nothing else: no code, no paths. `schema` has the keys of each table,
`page` finds their lines, `read` makes the problem, `write` goes back to tables.
"""

from ldpopt.problem.modelfile.model import Expect, Model
from ldpopt.problem.modelfile.read import load_model, read_model
from ldpopt.problem.modelfile.write import save_model

__all__ = ["Expect", "Model", "load_model", "read_model", "save_model"]
