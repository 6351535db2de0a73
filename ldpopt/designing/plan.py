"""The plan of a design: which methods are tried, and why. This is the only place where a method is
chosen.
"""

from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.liars import AgainstLiars
from ldpopt.designing.methods.capped.method import CappedInfluence
from ldpopt.designing.methods.capped_sizes.liars import FrequenciesAgainstLiars
from ldpopt.designing.methods.capped_sizes.method import CappedFrequencies
from ldpopt.designing.methods.closed import BlockDesign, ListedColumns, SubsetSelectionDesign
from ldpopt.designing.methods.method import DESIGN_LIMITS, DesignLimits, DesignMethod
from ldpopt.designing.methods.product.method import ProductDesign
from ldpopt.designing.methods.product.unlisted import UnlistedProduct
from ldpopt.designing.methods.relaxation.method import FirstRelaxation, Relaxation
from ldpopt.designing.methods.single_mean.method import SingleMean
from ldpopt.foundation.numbers import real_number, require_kind
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.solving.log import Step, Steps

# The methods in the order in which they are tried: the more structure one uses, the earlier
_CLOSED = (SubsetSelectionDesign(), UnlistedProduct(), ProductDesign(), SingleMean(), BlockDesign())
_SEARCHES = (ListedColumns(), Relaxation())
METHODS: tuple[DesignMethod, ...] = (*_CLOSED, *_SEARCHES)
_CAPPED: tuple[DesignMethod, ...] = (
    CappedFrequencies(),
    FrequenciesAgainstLiars(),
    CappedInfluence(),
    AgainstLiars(),
)
_LOOSE: tuple[DesignMethod, ...] = (*_CLOSED, FirstRelaxation(), *_SEARCHES)
GAP = 1e-6  # of a design for which none is asked


def plan_design(
    problem: DesignProblem, limits: DesignLimits = DESIGN_LIMITS, *, gap: float = GAP
) -> Steps[DesignMethod]:
    """Choose the methods for a design problem, in the order in which they are tried.

    Parameters
    ----------
    problem : DesignProblem
        The statement.
    limits : DesignLimits, optional
        Measured thresholds; default: ``DESIGN_LIMITS``.
    gap : float
        Relative gap that `ldpopt.design` is asked for; a loose one is reached by other methods.
        Default: ``1e-6``.

    Returns
    -------
    Steps
        A tuple of `Step`. Each is tried only if those before it have failed or have ended above
        the gap.

    Raises
    ------
    StatementError
        If the problem is ill posed: see `ldpopt.design`.
    NotRepresentableError
        If the private columns do not form a cone, or the cone has too many extreme rays.

    Examples
    --------
    >>> from ldpopt import PureLDP, Workload
    >>> for step in plan_design(DesignProblem(Workload.mean(range(30)), PureLDP(1.0))):
    ...     print(step)
    single mean: all rows are multiples of one row, plus constants: report values are found
        for its mean
    relaxation: the sets of 30 answers are too many to list: the bound is that of the elliptope,
        then that of all sets
    """
    require_kind(problem, DesignProblem, "plan_design()")
    require_kind(limits, DesignLimits, "limits=")
    gap = real_number(gap, "gap", 0.0, 1.0)
    return plan_of(DesignForm.of(problem), limits, gap)


def plan_of(form: DesignForm, limits: DesignLimits, gap: float) -> Steps[DesignMethod]:
    """The plan for a form."""
    steps: list[Step[DesignMethod]] = []
    methods = _LOOSE if gap >= limits.loose_gap else METHODS
    for method in _CAPPED if form.problem.is_capped else methods:
        if steps and (steps[0].method.is_optimal or form.n > limits.second_answers):
            break
        if (because := method.because(form, limits)) is not None:
            steps.append(Step(method, because))
    return Steps(steps)
