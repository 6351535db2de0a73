"""The command solvers: what is installed."""

from ldpopt.cli import options
from ldpopt.cli.printing import show
from ldpopt.foundation.display import Facts, Table


def solvers(json: options.Json = None) -> None:
    """List the solvers, and what to install."""
    from ldpopt.solvers import installed

    found = installed()
    missing = {name: None if state == "installed" else state for name, state in found.items()}
    entries = [
        {"name": name, "installed": how is None, "install": how} for name, how in missing.items()
    ]
    show(
        Facts("", [Table(["solver", "state"], list(found.items()), words=["state"])]),
        {"solvers": entries},
        json,
    )
