r"""Convex utilities of private channels: a sum over the columns, of a sublinear function each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labelled, Labels, positions_of, read_labelled
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import Float, frozen, require_choice, require_function
from ldpopt.foundation.seeds import Purpose, generator_of
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.exact_utilities import ExactUtility
from ldpopt.polytope.likelihood.forms import FORMS, kl_terms
from ldpopt.problem.prior import read_prior

Divergence = Literal["kl", "total_variation", "chi_square", "squared_hellinger"]
DIVERGENCES = ("kl", "total_variation", "chi_square", "squared_hellinger")
TRIALS = 16  # drawn columns at which a utility is tried
TRIAL_TOLERANCE = 1e-9  # of the largest value at them
NO_VALUE = 1e-13  # values this small are rounding errors of terms of the order of 1


@dataclass(frozen=True, eq=False)
class ConvexUtility:
    r"""A utility :math:`\sum_y \mu(P_{\cdot y})` with :math:`\mu` sublinear: convex, and linear
    along rays.

    Attributes
    ----------
    columns : callable
        :math:`\mu` of all columns: from shape ``(..., n, m)`` to ``(..., m)``.
    inputs : tuple of hashable, or None
        Labels of the inputs; channels with labels are put into this order. None if rows go by
        position.
    pair : tuple of ndarray, ndarray and str, or None
        p, q and the name of f, if :math:`\mu(c) = q \cdot c \, f(p \cdot c / q \cdot c)`: the names
        of `f_divergence`, or ``"fisher"`` for ``t**2``. Such utilities have no limit of 10 answers.
    prior : ndarray, shape (n,), or None
        The prior of a mutual information; a notion that depends on a prior and states none takes
        it.
    """

    name: str
    n: int
    columns: Callable[[Float], Float] = field(repr=False)
    inputs: Labels | None = None
    pair: tuple[Float, Float, str] | None = field(default=None, repr=False)
    prior: Float | None = field(default=None, repr=False)

    @property
    def exact(self) -> ExactUtility | None:
        """The utility in rationals, if it is one of the library's."""
        if self.prior is not None:
            return ExactUtility.of("mutual_information", self.prior)
        return None if self.pair is None else ExactUtility.of(self.pair[2], *self.pair[:2])

    def value(self, channel: Any) -> Any:
        """Evaluate a row-stochastic channel (a float), or a stack of them, shape (N, n, m) (an
        array of N).
        """
        values = self._rows(channel)
        if values.ndim < 2 or values.shape[-2] != self.n:
            problem = f"a channel of shape {values.shape} does not have {self.n} inputs"
            raise StatementError(problem, code="shape", do=f"give {self.n} rows")
        total = self.columns(values).sum(axis=-1)
        return float(total) if total.ndim == 0 else total

    def _rows(self, channel: Any) -> Float:
        """Return the channel in floats; if both have labels, its rows are in the order of the
        inputs.
        """
        if isinstance(channel, Mechanism):
            table = Labelled(
                channel.channel, (channel.inputs, channel.outputs), "channel", ("input", "output")
            )
        else:
            table = read_labelled(channel, "channel")
        return table.to(self.inputs)


def mutual_information(prior: Any) -> ConvexUtility:
    r"""Mutual information between the true answer and its report, in nats.

    .. math:: \mu(c) = \sum_x \pi_x c_x \log \frac{c_x}{\sum_k \pi_k c_k}

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers.

    Raises
    ------
    StatementError
        If the prior is invalid.

    Examples
    --------
    >>> round(mutual_information([0.5, 0.5]).value([[1, 0], [0, 1]]), 12)
    0.69314718056
    """
    weights, labels = read_prior(prior)

    def columns(channel: Float) -> Float:
        mean = np.einsum("x,...xy->...y", weights, channel)
        return np.asarray(
            np.einsum("x,...xy->...y", weights, kl_terms(channel, mean[..., None, :]))
        )

    return ConvexUtility("mutual information", len(weights), columns, labels, prior=weights)


def f_divergence(first: Any, second: Any, kind: Divergence = "kl") -> ConvexUtility:
    r"""Divergence between the reports of two populations: how well the reports distinguish two
    hypotheses.

    .. math:: D_f(M_1 \| M_0) = \sum_y M_0(y) f\!\left(\frac{M_1(y)}{M_0(y)}\right), \qquad
              M_1 = P^T \mathrm{first}, \quad M_0 = P^T \mathrm{second}

    Parameters
    ----------
    first, second : array_like, shape (n,), or mapping or Series label -> weight
        Distributions of the true answer under the two hypotheses.
    kind : {"kl", "total_variation", "chi_square", "squared_hellinger"}
        ``f(t)`` is ``t log t``, ``|t - 1| / 2``, ``(t - 1)**2``, ``(sqrt(t) - 1)**2``; default:
        ``"kl"``.

    Raises
    ------
    StatementError
        If a prior is invalid, their labels differ, or the kind is unknown.

    Examples
    --------
    >>> f_divergence([1, 0], [0, 1], "total_variation").value([[0.75, 0.25], [0.25, 0.75]])
    0.5
    """
    require_choice(kind, DIVERGENCES, "kind")
    p, labels = read_prior(first, name="first prior")
    q, others = read_prior(second, labels, "second prior")
    if len(p) != len(q):
        raise StatementError(
            f"the hypotheses have {len(p)} and {len(q)} answers",
            code="hypotheses",
            do="give both over the same answers",
        )
    if (labels is None) != (others is None):
        raise StatementError(
            "one of the hypotheses has labels and the other has none", do="label both, or neither"
        )
    return _of_pair(kind, (p, q, kind), labels)


def fisher_information(scores: Any, prior: Any) -> ConvexUtility:
    r"""Fisher information that a report carries about the parameter of a family of distributions.

    .. math:: I = \sum_y \frac{(\sum_x \pi_x s_x P_{xy})^2}{\sum_x \pi_x P_{xy}}, \qquad
              s_x = \frac{\partial \log \pi_x}{\partial \theta}

    Parameters
    ----------
    scores : array_like, shape (n,), or mapping or Series label -> score
        Derivatives of the logarithms of the probabilities, of either sign. Their mean under the
        prior is 0 in every family; of other numbers, the square of the mean is part of the value.
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers at the parameter.

    Returns
    -------
    ConvexUtility
        The information, in the inverse square of the parameter's unit.

    Raises
    ------
    StatementError
        If the prior is invalid, a score is not a finite number, or scores and prior are not over
        the same answers.

    References
    ----------
    Docs, "Extremal channels of any size".

    Examples
    --------
    >>> fisher_information([-1, 1], [0.5, 0.5]).value([[0.75, 0.25], [0.25, 0.75]])
    0.25
    """
    q, labels = read_prior(prior)
    table = read_labelled(scores, "scores", ("input",))
    if table.has_labels != (labels is not None):
        raise StatementError(
            "one of scores and prior has labels and the other has none",
            code="half-labels",
            do="label both, or neither",
        )
    numbers = table.to(labels)
    if numbers.shape != q.shape:
        raise StatementError(
            f"the scores have shape {numbers.shape} for {len(q)} answers",
            code="scores",
            do="give one score for each answer",
        )
    if len(bad := np.flatnonzero(~np.isfinite(numbers))):
        raise StatementError(
            f"score {bad[0]} is {numbers[bad[0]]}",
            code="finite-scores",
            do="give finite numbers; leave out answers of probability 0",
        )
    return _of_pair("Fisher information", (frozen(q * numbers), q, "fisher"), labels)


def _of_pair(name: str, pair: tuple[Float, Float, str], labels: Labels | None) -> ConvexUtility:
    """Utility of two masses and a function of their ratio."""
    p, q, form = pair
    value = FORMS[form].value

    def columns(channel: Float) -> Float:
        first, second = (np.einsum("x,...xy->...y", weights, channel) for weights in (p, q))
        return np.asarray(value(first if form == "fisher" else first - second, second, first))

    return ConvexUtility(name, len(q), columns, labels, pair)


def arranged(utility: ConvexUtility, inputs: Sequence[Any] | None) -> ConvexUtility:
    """The utility of labelled answers in a given order; without one it keeps its labels."""
    if inputs is None:
        return utility
    names = check_labels(inputs, utility.n, "input", StatementError, "best_channel()")
    if utility.inputs is None:
        return replace(utility, inputs=names)
    order = positions_of(utility.inputs, names, "utility", "input")
    back = np.argsort(order)

    def columns(channel: Float) -> Float:
        return utility.columns(channel[..., back, :])

    pair = utility.pair
    if pair is not None:
        pair = (pair[0][order], pair[1][order], pair[2])
    prior = None if utility.prior is None else utility.prior[order]
    return ConvexUtility(utility.name, utility.n, columns, names, pair, prior)


def require_sublinear(utility: ConvexUtility) -> None:
    """Refuse a utility of another shape, or that is not sublinear at 16 drawn columns."""
    require_function(utility.columns, "columns of the utility")
    rng = generator_of(0, Purpose.AUDIT, (utility.n,))
    drawn = rng.uniform(0.05, 1.0, (utility.n, 2 * TRIALS))
    first = drawn[:, :TRIALS]
    second = drawn[:, TRIALS:]
    values = _tried(utility, first, (TRIALS,))
    others = _tried(utility, second, (TRIALS,))
    largest = max(np.abs(values).max(), np.abs(others).max())
    allowed = TRIAL_TOLERANCE * largest + NO_VALUE
    twice = _tried(utility, 2 * first, (TRIALS,))
    if (error := np.abs(twice - 2 * values).max()) > allowed:
        raise StatementError(
            f"{utility.name} is not homogeneous: mu(2 c) and 2 mu(c) differ by {error:.3g}",
            code="homogeneity",
            do="state a utility with mu(s c) = s mu(c), such as a divergence",
        )
    # stacked with others: the function must work on the last two axes of any array
    both = _tried(utility, np.stack([first + second, first]), (2, TRIALS))[0]
    if (error := (both - values - others).max()) > allowed:
        raise StatementError(
            f"{utility.name} is not subadditive: a sum of two columns has {error:.3g} more than "
            "both",
            code="subadditivity",
            do="state a convex utility, with mu(c + c') <= mu(c) + mu(c')",
        )
    if utility.pair is not None:
        pair = _of_pair("", utility.pair, None)
        if (error := np.abs(values - _tried(pair, first, (TRIALS,))).max()) > allowed:
            raise StatementError(
                f"the columns of {utility.name} differ from those of its pair by {error:.3g}",
                code="other-columns",
                do="leave the pair out, or use f_divergence or fisher_information",
            )


def _tried(utility: ConvexUtility, columns: Float, shape: tuple[int, ...]) -> Float:
    """Values of drawn columns, finite and of the right shape."""
    values = np.asarray(utility.columns(columns), dtype=np.float64)
    if values.shape != shape:
        raise StatementError(
            f"{utility.name} has values of shape {values.shape} for columns of shape "
            f"{columns.shape}",
            code="value-shape",
            do=f"return one number for each column: shape {shape}",
        )
    if not np.isfinite(values).all():
        raise StatementError(
            f"{utility.name} is not finite at a column of positive entries",
            code="finite-value",
            do="state a utility that is finite there",
        )
    return values
