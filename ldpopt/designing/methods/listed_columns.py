"""Column generation with every extreme column priced: few answers, or a cone whose rays are listed."""

from ldpopt.designing.average import optimize_average
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.fewer_reports import with_fewer_reports, with_fewer_reports_for_all
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask, RawDesign
from ldpopt.designing.realize import raw_design
from ldpopt.designing.worst_case import optimize_worst_case

# Share of the time left in which columns that the value does not need are dropped; the rest is for the proof
FEWER = 0.3


class ListedColumns(DesignMethod):
    """All extreme columns are priced in each round, so that the bound is tight."""

    name = "column generation"
    can_refine = True

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """Few enough extreme columns to list."""
        return form.staircases is None or form.n <= limits.listed_answers

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """The reason names the columns that are priced."""
        rays = form.private_columns.rays
        if rays is not None:
            return f"the private columns are sums of {len(rays.below):,} extreme rays, all of which are priced"
        return f"all sets of the {form.n} answers are priced: the bound is exact"

    def solve(self, task: DesignTask) -> RawDesign:
        """Generate columns, then drop those that the value does not need."""
        form, cone, gap = task.form, task.form.private_columns.cone, task.gap
        if form.is_worst_case:
            optimum, _ = optimize_worst_case(form.gram, cone, gap=gap / 2, deadline=task.deadline)
            return raw_design(task, with_fewer_reports_for_all(optimum, gap, task.deadline.share(FEWER)))
        optimum = optimize_average(form.contrasts, cone, form.hints, gap=gap / 2, deadline=task.deadline)
        return raw_design(task, with_fewer_reports(optimum, gap, task.deadline.share(FEWER)))
