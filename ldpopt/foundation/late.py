"""Verbs of products that objects of the core have as methods.

An object of the core may offer ``thing.plot()`` although pictures are a product that can be
removed: the name is resolved when the method is called, and nowhere else. The list below is all
there is; a test resolves each entry.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ldpopt.errors import LdpoptError

LATE = {
    "influence": "ldpopt.estimation.values:influence_of",
    "plot": "ldpopt.plotting.plot:plot",
    "values": "ldpopt.estimation.values:values_of",
}


def late(verb: str) -> Callable[..., Any]:
    """Return the function of a product that does what ``verb`` says.

    Raises
    ------
    LdpoptError
        If the product was removed; the message names it.
    """
    module, _, name = LATE[verb].partition(":")
    product = module.split(".")[1]
    try:
        function: Callable[..., Any] = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("ldpopt."):
            raise
        problem = f"{verb}() needs ldpopt.{product}, which was removed"
        raise LdpoptError(problem, code="product", do=f"put the folder {product} back") from None
    return function
