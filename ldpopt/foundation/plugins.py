"""Classes by name: those that packages of ldpopt register, and the entry points of installed
packages.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # at run time; importing `typing` would double the time of importing ldpopt
if TYPE_CHECKING:
    from typing import Any

_REGISTERED: dict[str, dict[str, str]] = {}


def register(group: str, name: str, address: str) -> None:
    """Offer the class at ``module:class`` under a name; its module is imported when it is
    needed.
    """
    _REGISTERED.setdefault(group, {})[name] = address


def registered(group: str) -> dict[str, str]:
    """Names and addresses of the classes that packages of ldpopt registered."""
    return dict(_REGISTERED.get(group, {}))


def plug_ins(group: str) -> dict[str, Any]:
    """Entry points of installed packages by name; reads the metadata of every installed package,
    which takes long.
    """
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


def at_address(address: str) -> Any:
    """Import the class at ``module:class``."""
    module, _, attribute = address.partition(":")
    target: Any = import_module(module)
    for part in attribute.split("."):
        target = getattr(target, part)
    return target
