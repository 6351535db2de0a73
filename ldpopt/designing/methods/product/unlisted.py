"""Tables of many questions of two answers each: sets of a few kinds, drawn by formula, whose
channel is not listed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import comb

import numpy as np

from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.frequency_certificate import TOTAL
from ldpopt.certificate.moments import krawtchouk
from ldpopt.certificate.questions_certificate import Kind, QuestionsCertificate, levels_of
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask
from ldpopt.designing.methods.product.method import solve_reduced
from ldpopt.designing.methods.product.moments import best_bound
from ldpopt.designing.private_columns import indicators
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.privacy import PureLDP

LISTED_ANSWERS = 512  # most answers for which the channel is listed
# largest number of questions of which all symmetric sets are candidates; of more, ranges of counts
SYMMETRIC = 10
# largest number of questions of a symmetric set of which one on further questions is taken
PAIRED = 5
USED = 1e-6  # probability below which a kind is left out
# gap of the mixture, at most: a rough one has hundreds of kinds, and takes longer to draw and to
# read
MIXED = 1e-7
DIGITS = 10  # digits in which candidates with the same information agree


@dataclass(frozen=True, eq=False)
class Candidates:
    """Sets with the same parts."""

    parts: tuple[int, ...]
    inside: Float  # which cells each set has, shape (m, cells)

    def weights(self, most: int) -> Float:
        """Share of the answers, and ``W_j`` for ``j = 1 .. most``, shape ``(m, most + 1)``."""
        tables = [
            np.array([[krawtchouk(t, w, j) for j in range(t + 1)] for w in range(t + 1)])
            for t in self.parts
        ]
        ranks = [np.array([comb(t, j) for j in range(t + 1)]) for t in self.parts]
        sums = self.inside @ reduce(np.kron, tables) / 2.0 ** sum(self.parts)
        squares = sums**2 * reduce(np.kron, ranks)
        total = reduce(np.add.outer, [np.arange(t + 1) for t in self.parts])
        columns = [squares[:, total.ravel() == j].sum(axis=1) for j in range(1, most + 1)]
        return np.column_stack([sums[:, 0], *columns])


def candidates(d: int) -> Iterator[Candidates]:
    """Symmetric sets, sets that also ask for one answer to some other questions, and all sets of
    four questions.
    """
    for t in range(1, d + 1):
        place = np.arange(t + 1)
        ranges = np.array(
            [(place >= low) & (place <= high) for low in range(t + 1) for high in range(low, t + 1)]
        )
        some = np.vstack([ranges, ~ranges]).astype(np.float64)
        yield Candidates(
            (t,), indicators(np.arange(2 ** (t + 1)), t + 1) if t <= SYMMETRIC else some
        )
    for s, t in product(range(1, d), range(1, PAIRED + 1)):
        if s + t <= d:
            inside = np.hstack(
                [np.zeros((2 ** (t + 1), s * (t + 1))), indicators(np.arange(2 ** (t + 1)), t + 1)]
            )
            yield Candidates((s, t), np.vstack([inside, 1 - inside]))
    yield Candidates((1,) * min(d, 4), indicators(np.arange(2 ** (2 ** min(d, 4))), 2 ** min(d, 4)))


def kind_of(parts: tuple[int, ...], inside: Float, share: float, epsilon: Budget) -> Kind:
    """A kind of sets in which the true answer has the largest probability that the budget
    allows.
    """
    ratio = epsilon.enclosure()[0]
    made = Kind(parts, tuple(int(is_inside) for is_inside in inside), max(1, int(share * TOTAL)), 1)
    m = made.share
    return Kind(parts, made.inside, made.mass, int(TOTAL * m * ratio / (m * ratio + 1 - m)))


class UnlistedProduct(DesignMethod):
    """The best mixture of sets of some kinds, each with all choices of questions and answers; the
    bound by moments.
    """

    name = "sets of few questions"
    is_optimal = True  # no other method can list the answers

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """Marginals of questions of two answers each, equal weights, pure privacy, too many answers
        to list.
        """
        problem = form.problem
        is_large = min(LISTED_ANSWERS, limits.product_answers) < problem.workload.shape[1]
        if not (form.is_tables and is_large and problem.outputs is None):
            return None
        return (
            f"the {problem.workload.shape[1]:,} answers to {len(problem.workload.attributes)} "
            "questions are not listed"
        )

    def solve(self, task: DesignTask) -> QuestionsCertificate:
        """Mix the candidates; then the bound."""
        workload = task.form.problem.workload
        epsilon = task.form.epsilon
        levels = levels_of(workload)
        used = [j for j, total in enumerate(levels.total) if total]
        base = float(np.exp(-epsilon))
        spread = float(-np.expm1(-epsilon))
        families = list(candidates(levels.d))
        weights = np.vstack([family.weights(used[-1]) for family in families])
        kept = np.sort(np.unique(np.round(weights, DIGITS), axis=0, return_index=True)[1])
        kept = kept[(weights[kept, 0] > 0) & (weights[kept, 0] < 1)]
        scale = 2.0**levels.d * (spread / (base + spread * weights[kept, 0])) ** 2
        information = weights[kept][:, used] * scale[:, None]
        cost = np.array([float(levels.total[j]) * comb(levels.d, j) for j in used])
        gap = min(task.gap / 10, MIXED)
        best = np.flatnonzero(solve_reduced(cost, information, gap)[0] > USED)
        q, value = solve_reduced(cost, information[best], gap)
        places = [(family.parts, inside) for family in families for inside in family.inside]
        drawn = [(*places[kept[a]], share) for a, share in zip(best, q.tolist(), strict=True)]
        kinds = [kind_of(parts, inside, share, epsilon) for parts, inside, share in drawn]
        kinds[0] = replace(kinds[0], mass=kinds[0].mass + TOTAL - sum(kind.mass for kind in kinds))
        if not all(kind.contrast > 0 for kind in kinds):
            problem = (
                f"epsilon = {float(epsilon):.3g} is too small: no set depends on the answer in "
                "multiples of 2**-53"
            )
            raise NotRepresentableError(problem, code="small-budget", do="choose a larger epsilon")
        bound = best_bound(levels, least_ratio(epsilon), value, task.gap, task.deadline)
        return QuestionsCertificate.of(workload, PureLDP(epsilon), kinds, bound)
