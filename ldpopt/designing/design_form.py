"""The facts of a design problem by which a method is chosen, each computed once, when it is first
used.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpopt.certificate.design_statement import AnswerClasses, budget_of, is_pure
from ldpopt.certificate.integers import Rationals
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.block_designs import balanced_design
from ldpopt.designing.column_generation import Optimum
from ldpopt.designing.coordinates import Contrasts, constant_workload
from ldpopt.designing.private_columns import PRICED, PrivateColumns, Staircases
from ldpopt.designing.symmetry import symmetry_group
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.rays import require_weights
from ldpopt.problem.design_problem import DesignProblem

LARGEST = 2000  # largest number of classes for which rank and symmetries are computed
LEAST_EPSILON = 2.0**-53  # different masses over 2**53 differ by a factor of at least 1 + 2**-53


def require_budget(epsilon: Budget, *, is_pure: bool = True) -> None:
    """Refuse a budget under which no report depends on the answer, or none over ``2**53`` does."""
    if not epsilon > 0:
        raise StatementError(
            "at epsilon = 0 no report can depend on the answer",
            code="zero-budget",
            do="choose epsilon > 0",
        )
    if is_pure and float(epsilon) < LEAST_EPSILON:
        too_small = (
            f"epsilon = {float(epsilon):.3g} is too small for probabilities in multiples of 2**-53"
        )
        raise StatementError(
            f"{too_small}: no report can depend on the answer",
            code="small-budget",
            do="choose a larger epsilon",
        )


@dataclass(frozen=True, eq=False)
class DesignForm:
    """Facts of a design problem; the deadline is for the listing of extreme rays."""

    problem: DesignProblem
    deadline: Deadline = NO_LIMIT

    @classmethod
    def of(cls, problem: DesignProblem, deadline: Deadline = NO_LIMIT) -> "DesignForm":
        """The form of a problem; raises if no mechanism can solve it."""
        form = cls(problem, deadline)
        require_budget(form.epsilon, is_pure=form.is_pure)
        if problem.outputs is not None and problem.workload.shape[1] > LARGEST and form.is_tables:
            large_channel = (
                f"a channel of {problem.workload.shape[1]:,} answers is not listed, with few "
                "reports or many"
            )
            raise StatementError(large_channel, code="unlisted", do="leave out `outputs`")
        is_listed = problem.outputs is not None or problem.workload.shape[1] <= PRICED
        if is_listed or (form.unit is None and not form.is_tables):
            form._require_estimable()
        return form

    def _require_estimable(self) -> None:
        """Refuse a workload that is the same for all answers, too few reports, and weights that
        vanish on a part.
        """
        if (self.gram == self.gram[0, 0]).all():
            raise constant_workload()
        outputs = self.problem.outputs
        if outputs is not None and outputs < self.n:
            # For a workload of small rank fewer would suffice, but its rounded channel would not be
            # unbiased.
            problem = (
                f"{outputs} reports cannot tell {self.n} answers apart: no estimator is "
                "unbiased for rounded masses"
            )
            raise StatementError(
                problem, code="few-outputs", do=f"choose outputs >= {self.n}, or leave outputs out"
            )
        if outputs is not None and self.private_columns.has_units:
            raise StatementError(
                "reports of one answer alone cannot be joined with others: designs with fewer "
                "reports are not known for this notion",
                code="unit-outputs",
                do="leave `outputs` out",
            )
        if self.private_columns.rays is not None and not self.is_worst_case:
            require_weights(
                self.private_columns.rays, self.problem.all_weights, self.private_columns.inputs
            )

    @property
    def is_worst_case(self) -> bool:
        """Whether the largest variance is minimised."""
        return self.problem.objective == "worst_case"

    @cached_property
    def is_pure(self) -> bool:
        """Whether all pairs of answers are tied at distance 1."""
        return is_pure(self.problem.privacy, self.problem.workload.inputs)

    @cached_property
    def epsilon(self) -> Budget:
        """The budget."""
        return budget_of(self.problem.privacy, self.problem.workload.inputs)

    @property
    def unit(self) -> float | None:
        """Factor of plain frequencies in the workload if the weights are equal; None if the
        workload is another one.
        """
        return self.problem.workload.unit if self.problem.weights is None and self.is_pure else None

    @property
    def is_tables(self) -> bool:
        """Whether the workload is of marginals of questions of two answers each, with equal
        weights.
        """
        workload = self.problem.workload
        is_binary = workload.tables is not None and {2} == {
            len(values) for _, values in workload.attributes
        }
        return is_binary and self.problem.weights is None and self.is_pure

    @cached_property
    def classes(self) -> AnswerClasses:
        """Classes of answers that the workload does not distinguish."""
        return AnswerClasses.under(
            self.problem.privacy, self.problem.workload.matrix, self.problem.workload.inputs
        )

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.classes.first)

    @cached_property
    def private_columns(self) -> PrivateColumns:
        """The private columns, with their extreme rays."""
        return PrivateColumns.of(
            self.problem.privacy, self.problem.workload.inputs, self.n, self.deadline
        )

    @property
    def staircases(self) -> Staircases | None:
        """The cone of pure privacy; None for other notions, whose rays are listed."""
        cone = self.private_columns.cone
        return cone if isinstance(cone, Staircases) else None

    @cached_property
    def gram(self) -> Float:
        """Gram matrix of the workload over the classes, up to constants in the rows of the
        workload.
        """
        first = self.classes.first
        return np.asarray(self.problem.workload.contrast_gram[np.ix_(first, first)])

    @cached_property
    def class_weights(self) -> Float:
        """Weights of the classes, equal ones for the worst case."""
        if self.is_worst_case:
            return np.full(self.n, 1.0 / self.n)
        return np.bincount(self.classes.classes, weights=self.problem.all_weights).astype(
            np.float64
        )

    @cached_property
    def contrasts(self) -> Contrasts:
        """Gram matrix and weights of the classes, with coordinates for scores of columns."""
        return Contrasts(self.gram, self.class_weights)

    @property
    def hints(self) -> tuple[Int, ...]:
        """Permutations of the answers that may leave the workload unchanged."""
        workload = self.problem.workload
        return tuple(workload.symmetries) if self.n == workload.shape[1] else ()

    @property
    def candidates(self) -> Float | None:
        """Sets that are likely to be good for the workload."""
        workload = self.problem.workload
        return workload.candidates if self.n == workload.shape[1] else None

    @cached_property
    def scheme(self) -> Scheme | None:
        """Association scheme of the attributes if the Gram matrix is in it and the weights are
        equal.
        """
        workload = self.problem.workload
        has_equal_weights = self.problem.weights is None and self.n == workload.shape[1]
        scheme = (
            Scheme(workload.sizes)
            if workload.sizes is not None and self.is_pure and has_equal_weights
            else None
        )
        return None if scheme is None or scheme.eigenvalues(workload.gram) is None else scheme

    @cached_property
    def single_row(self) -> Float | None:
        """A row of which all others are multiples plus a constant, exactly; None if there is
        none.
        """
        matrix = self.problem.workload.matrix[:, self.classes.first]
        centered = matrix - matrix[:, :1]
        pivot = int(np.abs(centered).max(axis=1).argmax())
        place = int(np.abs(centered[pivot]).argmax())
        if not centered[pivot, place]:
            return None
        # floats exclude most workloads before integers of any size are multiplied
        guess = np.outer(centered[:, place] / centered[pivot, place], centered[pivot])
        if np.abs(centered - guess).max() > 1e-9 * np.abs(centered).max():
            return None
        integers = Rationals.of(matrix).whole
        integers = integers - integers[:, :1]
        if (
            integers * integers[pivot, place] != np.outer(integers[:, place], integers[pivot])
        ).any():
            return None
        return np.asarray(matrix[pivot])

    @cached_property
    def balanced(self) -> Optimum | None:
        """Balanced sets of the best size if all permutations of the answers leave the problem
        unchanged.
        """
        return balanced_design(self.contrasts, self.private_columns.cone, self.problem.outputs)

    @property
    def rank(self) -> int | None:
        """Rank of the workload; None if the classes are more than `LARGEST`."""
        return int(np.linalg.matrix_rank(self.gram, hermitian=True)) if self.n <= LARGEST else None

    @property
    def symmetries(self) -> int:
        """Number of permutations of the answers that are used, with the identity."""
        cone = self.private_columns.cone
        return len(symmetry_group(self.contrasts, self.hints, cone)) if 1 < self.n <= LARGEST else 1

    @property
    def is_exchangeable(self) -> bool:
        """Whether all permutations of the answers leave Gram matrix and weights unchanged."""
        parts = (self.class_weights, np.diag(self.gram), self.gram[~np.eye(self.n, dtype=bool)])
        return self.is_pure and self.n > 1 and all(np.ptp(part) == 0 for part in parts)

    def weights_of(self, class_weights: Float) -> Float:
        """Weights of the answers from weights of the classes: all of a class on its first answer;
        shape ``(n,)``.
        """
        weights = np.zeros(self.problem.workload.shape[1])
        weights[self.classes.first] = class_weights
        return weights

    def objective_gap(self, optimum: Optimum, gap: float) -> float:
        """Relative gap of the objective ``tr(W_c I^-1 W_c^T)`` that is the given gap of the
        variance.
        """
        value = optimum.value
        return (
            gap
            if self.is_worst_case or not value > 0
            else gap * (1 - optimum.contrasts.spread / value)
        )
