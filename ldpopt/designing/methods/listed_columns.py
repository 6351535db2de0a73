"""Column generation with every extreme column priced: few answers, or a cone whose rays are listed."""

from __future__ import annotations

from ldpopt.designing.column_generation import generate
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.fewer_reports import with_fewer_for_all, with_fewer_reports
from ldpopt.designing.from_columns import from_columns
from ldpopt.designing.limits import DesignLimits
from ldpopt.designing.listed_rays import ListedRays
from ldpopt.designing.methods.method import DesignMethod, DesignTask, RawDesign
from ldpopt.designing.worst import generate_worst

FEWER = 0.3
"""Share of the time left in which columns that the value does not need are sought; the rest is for the proof."""


class ListedColumns(DesignMethod):
    """All extreme columns are priced in each round, so that the bound is tight."""

    name = "column generation"
    can_refine = True

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """Few enough extreme columns to list."""
        return form.staircases is None or form.n <= limits.listed_answers

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """Number of columns."""
        cone = form.allowed.cone
        if isinstance(cone, ListedRays):
            return f"the private columns are sums of {len(cone.all):,} extreme rays, all of which are priced"
        return f"all sets of the {form.n} answers are priced: the bound is exact"

    def solve(self, task: DesignTask) -> RawDesign:
        """Generate columns, then leave out those that the value does not need."""
        form, gap = task.form, task.gap
        if form.is_worst_case:
            optimum, _ = generate_worst(form.gram, form.allowed.cone, gap=gap / 2, deadline=task.deadline)
            return from_columns(task, with_fewer_for_all(optimum, gap, task.deadline.share(FEWER)))
        optimum = generate(form.contrasts, form.allowed.cone, form.hints, gap=gap / 2, deadline=task.deadline)
        return from_columns(task, with_fewer_reports(optimum, gap, task.deadline.share(FEWER)))
