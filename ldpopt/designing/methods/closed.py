"""Closed forms for workloads that no permutation of the answers changes; else column generation,
all columns priced.
"""

from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.designing.average import optimize_average
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.few_reports import with_fewer_reports, with_fewer_reports_for_all
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask, RawDesign
from ldpopt.designing.realize import raw_design
from ldpopt.designing.worst_case import optimize_worst_case
from ldpopt.privacy import PureLDP

# share of the time left in which unneeded columns are dropped; the rest is for the proof
FEWER = 0.3


class BlockDesign(DesignMethod):
    """A block design on the answers, with as few reports as are known."""

    name = "block design"

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Pure privacy, every permutation a symmetry, a block design known."""
        if form.balanced is None:
            return None
        sets = f"{len(form.balanced.q)} sets of one size, every two answers together equally often"
        return f"no permutation of the answers changes the problem: {sets}"

    def solve(self, task: DesignTask) -> RawDesign:
        """Report one of the sets, all equally likely."""
        assert task.form.balanced is not None
        return raw_design(task, task.form.balanced)


class SubsetSelectionDesign(DesignMethod):
    """Sets of answers of one size, drawn by their own sampler, whose channel is too large to
    list.
    """

    name = "subset selection"
    is_optimal = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Plain frequencies of more answers than are listed, with any number of reports."""
        n = form.problem.workload.shape[1]
        if form.unit is None or form.problem.outputs is not None or n <= limits.listed_answers:
            return None
        return (
            f"optimal in closed form for frequencies of more than {limits.listed_answers} "
            "answers with equal weights"
        )

    def solve(self, task: DesignTask) -> FrequencyCertificate:
        """Choose the size of the sets with the least variance."""
        return FrequencyCertificate.of(task.form.problem.workload, PureLDP(task.form.epsilon))


class ListedColumns(DesignMethod):
    """All extreme columns are priced in each round, so that the bound is tight."""

    name = "column generation"
    can_refine = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Few enough extreme columns to list."""
        rays = form.private_columns.rays
        if rays is not None:
            return (
                f"the private columns are sums of {len(rays):,} extreme rays, all of "
                "which are priced"
            )
        few = form.n <= limits.listed_answers
        return f"all sets of the {form.n} answers are priced: the bound is exact" if few else None

    def solve(self, task: DesignTask) -> RawDesign:
        """Generate columns, then drop those that the value does not need."""
        form = task.form
        cone = task.form.private_columns.cone
        gap = task.gap
        if form.is_worst_case:
            optimum, _ = optimize_worst_case(form.gram, cone, gap=gap / 2, deadline=task.deadline)
            return raw_design(
                task, with_fewer_reports_for_all(optimum, gap, task.deadline.share(FEWER))
            )
        optimum = optimize_average(
            form.contrasts, cone, form.hints, gap=gap / 2, deadline=task.deadline
        )
        return raw_design(task, with_fewer_reports(optimum, gap, task.deadline.share(FEWER)))
