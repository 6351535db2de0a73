"""The verbs, in the order of ``ldpopt --help``."""

from __future__ import annotations

from ldpopt.cli.auditing import audit
from ldpopt.cli.certifying import certify
from ldpopt.cli.checking import check
from ldpopt.cli.comparing import compare
from ldpopt.cli.designing import design
from ldpopt.cli.drawing import plot
from ldpopt.cli.experimenting import experiment
from ldpopt.cli.listing import vertices
from ldpopt.cli.planning import plan
from ldpopt.cli.questionnaires import survey
from ldpopt.cli.reporting import report
from ldpopt.cli.shell import app
from ldpopt.cli.simulating import simulate
from ldpopt.cli.solving import export, solve, solvers
from ldpopt.cli.starting import examples, init, models
from ldpopt.cli.surveying import estimate, key, privatize
from ldpopt.cli.sweeping import sweep

__all__ = ["app", "survey"]

for _verb in (
    init,
    check,
    solve,
    design,
    compare,
    audit,
    certify,
    vertices,
    plan,
    key,
    privatize,
    estimate,
    sweep,
    simulate,
    experiment,
    plot,
    report,
    export,
    solvers,
    models,
    examples,
):
    app.command()(_verb)
