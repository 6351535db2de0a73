"""The command solvers: what is installed."""

from ldpopt.cli import options
from ldpopt.cli.printing import show
from ldpopt.foundation.display import Facts, Table


def solvers(json: options.Json = None) -> None:
    """List the solvers, and what to install."""
    from ldpopt.solvers import installed

    states = installed()
    missing = {name: None if state == "installed" else state for name, state in states.items()}
    entries = [
        {"name": name, "installed": command is None, "install": command}
        for name, command in missing.items()
    ]
    show(
        Facts("", [Table(["solver", "state"], list(states.items()), words=["state"])]),
        {"solvers": entries},
        json,
    )
