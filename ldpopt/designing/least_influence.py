"""The verb `least_influence`: how little a report can count in any private design of a workload."""

from __future__ import annotations

from typing import Any

from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.method import least_cap
from ldpopt.designing.methods.capped_sizes.method import is_symmetric, least_cap_of_frequencies
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import positive_seconds
from ldpopt.foundation.threads import few_threads
from ldpopt.privacy import Notion
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.workload import Workload


def least_influence(
    workload: Workload, privacy: Notion, *, time_limit: float | None = None
) -> float:
    r"""Find the least influence of a report that any private design of a workload can have.

    .. math:: \min_{C, V} \; \max_j \max_{x, y} |V_{jy} - W_{jx}|
              \quad \text{subject to} \quad V C = W

    over all private channels ``C`` with any number of reports and all unbiased estimators ``V``.

    Parameters
    ----------
    workload : Workload or array_like, shape (k, n)
        The numbers to be estimated.
    privacy : PureLDP, GraphDP, MetricDP or OneSided
        The privacy notion, as for `ldpopt.design`.
    time_limit : float, optional
        Seconds; then the least one that was found so far is returned. Default: no limit.

    Returns
    -------
    float
        In the unit of the numbers, rounded up by 1e-11 of itself: ``design(workload, privacy,
        influence=...)`` accepts it. What is smaller by 1e-9 of itself is refused, with a proof in
        rationals that there is no such design.

    Raises
    ------
    StatementError
        If the problem is ill posed: see `ldpopt.design`.
    NotRepresentableError
        If the private columns do not form a cone, or are too many to be listed: several numbers of
        more than 20 answers that are no plain frequencies.

    Notes
    -----
    A linear program with a variable for each extreme column and number; of many answers columns are
    generated. Frequencies of any number of answers have a closed form. One number of pure privacy
    has half of its span times ``1 + coth(epsilon / 2)``. Theory: docs, "Influence".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> round(least_influence(Workload.prefix(["low", "middle", "high"]), PureLDP("log(3)")), 9)
    1.875
    """
    arguments: Any = {"workload": workload, "privacy": privacy}
    problem = DesignProblem(**arguments)
    deadline = Deadline.after(positive_seconds(time_limit))
    form = DesignForm.of(problem, deadline)
    if is_symmetric(form):
        return least_cap_of_frequencies(form)
    with few_threads(problem.workload.shape[1]):
        return least_cap(form, deadline)
