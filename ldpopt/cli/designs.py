"""What design, compare and plot share: the design for a model, and what the model expects of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpopt.cli.shell import refuse

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model


def run_design(stated: Model, gap: float | None, time_limit: float | None, outputs: int | None = None) -> Any:
    """Design for a model, by default within its own time limit."""
    from ldpopt.designing import design as run

    asked = stated.require_design()
    limit = stated.time_limit if time_limit is None else time_limit
    outputs = asked.outputs if outputs is None else outputs
    how: dict[str, Any] = {"weights": asked.weights, "objective": asked.objective, "outputs": outputs}
    return run(asked.workload, asked.privacy, **how, gap=1e-6 if gap is None else gap, time_limit=limit)


def require_variance(stated: Model, value: float) -> None:
    """Compare a variance with the model's [expect], if it states one."""
    expect = stated.expect
    if expect is not None and expect.variance is not None and not abs(value - expect.variance) <= expect.tolerance:
        refuse(f"the model expects {expect.variance!r} within {expect.tolerance:g}, the variance is {value!r}")
