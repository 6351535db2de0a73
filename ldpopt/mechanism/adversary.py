"""How much an adversary who knows the prior learns from a report: leakage, inference error, mutual
information.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labels
from ldpopt.foundation.labels import read_alphabet
from ldpopt.foundation.numbers import Float, frozen, real_number
from ldpopt.mechanism.sampling import BITS
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, resolve

# steps of `shannon_capacity` after which the gap that is reached is returned
MAX_ITERATIONS = 20_000
# Factors of the step length after a step that raised the information, and after one that did not
GROWTH, SHRINKAGE = 1.3, 0.3
TOTAL = 1 << BITS  # sum of the masses of a row
ROUNDING = 1e-15  # nats by which rounding may lower the information that a step has raised


@dataclass(frozen=True)
class Leakage:
    r"""Expected gain of an adversary before and after a report.

    Attributes
    ----------
    prior_vulnerability : float
        :math:`V(\pi) = \max_z \sum_x \pi_x g(x, z)`: the best guess without a report.
    posterior_vulnerability : float
        :math:`V(\pi, P) = \sum_y \max_z \sum_x \pi_x P(x, y) g(x, z)`.
    guess : hashable
        The best guess without a report.
    guesses : dict
        The best guess for every report.
    """

    prior_vulnerability: float
    posterior_vulnerability: float
    guess: Hashable
    guesses: dict[Hashable, Hashable] = field(repr=False)

    @property
    def additive(self) -> float:
        """Posterior minus prior vulnerability, at least 0 up to rounding."""
        return self.posterior_vulnerability - self.prior_vulnerability

    @property
    def multiplicative(self) -> float:
        """Posterior over prior vulnerability, at least 1 up to rounding for gains; nan if both are
        0.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.float64(self.posterior_vulnerability) / self.prior_vulnerability)


@dataclass(frozen=True, eq=False)
class ShannonCapacity:
    """Largest mutual information of answer and report over all priors.

    Attributes
    ----------
    value : float
        Mutual information at `prior`, in nats: at most the capacity.
    bound : float
        Upper bound on the capacity, with a margin for rounding.
    prior : ndarray, shape (n,)
        In the order of the inputs.
    """

    value: float
    bound: float
    prior: Float = field(repr=False)

    @property
    def gap(self) -> float:
        """Bound minus value, in nats."""
        return self.bound - self.value


class AdversaryMeasures(ABC):
    """Methods of a `Mechanism` that measure how well the answer can be guessed from the report."""

    channel: Float
    inputs: Labels
    outputs: Labels

    @property
    @abstractmethod
    def counts(self) -> NDArray[np.int64]:
        """Integer masses, shape ``(n, m)``."""

    def leakage(self, prior: Any, gain: str | Utility | ArrayLike = "identity") -> Leakage:
        r"""Vulnerability of the answer before and after a report (Alvim and others 2012).

        .. math:: V(\pi) = \max_z \sum_x \pi_x g(x, z),
                  \qquad V(\pi, P) = \sum_y \max_z \sum_x \pi_x P(x, y) g(x, z)

        Parameters
        ----------
        prior : array_like, shape (n,), or mapping or Series label -> weight
            The adversary's knowledge before the report.
        gain : str, Utility, array_like, shape (n, k), or DataFrame or mapping of mappings
            ``gain[x, z]`` is the adversary's gain for the guess ``z``; default: ``"identity"``,
            which makes them the Bayes vulnerabilities, the probabilities of a correct guess.

        Raises
        ------
        StatementError
            If the prior or the gain does not fit the inputs, or a loss is given.

        Examples
        --------
        >>> from ldpopt import Mechanism
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> coin.leakage({"no": 0.6, "yes": 0.4}).posterior_vulnerability
        0.75
        """
        payoff, guesses = _read_utility(self.inputs, gain)
        if payoff.sense != "gain":
            raise StatementError(
                "vulnerability is a gain, and a loss is given",
                code="loss",
                do="use inference_error(prior, loss)",
            )
        weights = read_prior(prior, self.inputs)[0]
        before = weights @ payoff.matrix
        after = (weights[:, None] * self.channel).T @ payoff.matrix
        best = dict(
            zip(
                self.outputs,
                [guesses[guess] for guess in after.argmax(axis=1).tolist()],
                strict=True,
            )
        )
        vulnerabilities = float(before.max()), math.fsum(after.max(axis=1).tolist())
        return Leakage(*vulnerabilities, guesses[int(before.argmax())], best)

    def inference_error(self, prior: Any, loss: str | Utility | ArrayLike) -> float:
        r"""Expected loss of an adversary's best estimate from the report (Shokri and others 2011).

        .. math:: \sum_y \min_z \sum_x \pi_x P(x, y) \ell(x, z)

        Parameters
        ----------
        prior : array_like, shape (n,), or mapping or Series label -> weight
            The adversary's knowledge before the report.
        loss : str, Utility, array_like, shape (n, k), or DataFrame or mapping of mappings
            Loss of every estimate ``z``, such as the distance; a plain matrix is a loss here.

        Returns
        -------
        float
            In the unit of the loss; for distances the expected inference error of location privacy.

        Raises
        ------
        StatementError
            If the prior or the loss does not fit the inputs, or a gain is given.

        Examples
        --------
        >>> from ldpopt import Mechanism
        >>> Mechanism([[0.75, 0.25], [0.25, 0.75]]).inference_error([0.5, 0.5], [[0, 3], [3, 0]])
        0.75
        """
        stated: Any = loss
        payoff, _ = _read_utility(
            self.inputs, stated if isinstance(stated, (str, Utility)) else Utility(stated, "loss")
        )
        if payoff.sense != "loss":
            raise StatementError(
                "the inference error is a loss, and a gain is given",
                code="gain",
                do="use leakage(prior, gain)",
            )
        joint = read_prior(prior, self.inputs)[0][:, None] * self.channel
        return math.fsum((joint.T @ payoff.matrix).min(axis=1).tolist())

    @property
    def bayes_capacity(self) -> float:
        r"""Largest multiplicative leakage, :math:`\sum_y \max_x P(x, y)`; of the masses, rounded
        once.

        No prior and no gain :math:`g \ge 0` has a larger multiplicative leakage; the uniform prior
        has this one for correct guesses (Braun, Chatzikokolakis and Palamidessi 2009; Alvim and
        others 2012).
        """
        largest: list[int] = self.counts.max(axis=0).tolist()
        return sum(largest) / TOTAL

    def mutual_information(self, prior: Any) -> float:
        r"""Mutual information of answer and report, :math:`\sum_x \pi_x D(P_x \| \pi P)`, in
        nats.
        """
        weights = read_prior(prior, self.inputs)[0]
        used = weights > 0
        return max(0.0, float(weights[used] @ divergences(self.channel[used], weights[used])))

    def shannon_capacity(self, gap: float = 1e-9) -> ShannonCapacity:
        r"""Largest mutual information over all priors, between two bounds.

        .. math:: \sum_x \pi_x D(P_x \| \pi P) \le C \le \max_x D(P_x \| \pi P)
                  \quad\text{for every } \pi

        Blahut 1972 and Arimoto 1972, with steps that grow as long as the information does; O(n m) a
        step.

        Parameters
        ----------
        gap : float
            Nats between the bounds at which to stop, positive; default: ``1e-9``. After 20 000
            steps the gap that is reached is returned.

        Raises
        ------
        StatementError
            If ``gap`` is not a positive number.

        Examples
        --------
        >>> from ldpopt import Mechanism
        >>> round(Mechanism([[0.75, 0.25], [0.25, 0.75]]).shannon_capacity().value, 9)
        0.130812036
        """
        return shannon_capacity(self.channel, real_number(gap, "gap", 1e-300))

    def remapped(
        self,
        prior: Any,
        utility: str | Utility | ArrayLike = "identity",
        *,
        outputs: Sequence[Hashable] | None = None,
    ) -> Self:
        r"""Replace each report by the answer that is best on average for those who send it
        (Bayesian remapping).

        Section 4 of Chatzikokolakis, ElSalamony and Palamidessi 2017.

        .. math:: r(y) = \arg\max_z \sum_x \pi_x P(x, y) u(x, z)

        Parameters
        ----------
        prior : array_like, shape (n,), or mapping or Series label -> weight
            As in `expected`.
        utility : str, Utility, array_like, shape (n, k), or DataFrame or mapping of mappings
            Value of the new reports; a loss is minimized. Default: ``"identity"``.
        outputs : sequence of hashable, optional
            Labels of the new reports; default: those of the utility, else the inputs where ``k ==
            n``, else 0, 1, ...

        Returns
        -------
        Mechanism
            As private as this one, since only the reports are read; no other rule for the reports
            has a better expected value, up to the rounding of sums. Masses are added as integers.

        Raises
        ------
        StatementError
            If the prior, the utility or the labels do not fit.

        Examples
        --------
        >>> from ldpopt import Mechanism
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> coin.remapped({"no": 0.9, "yes": 0.1}).channel.tolist()
        [[1.0, 0.0], [1.0, 0.0]]
        """
        payoff, guesses = _read_utility(self.inputs, utility, outputs)
        joint = read_prior(prior, self.inputs)[0][:, None] * self.channel
        best = np.argmax(joint.T @ payoff.gain, axis=1)  # the first of equal ones
        merged = np.zeros((len(self.inputs), len(guesses)), np.int64)
        np.add.at(merged.T, best, self.counts.T)
        return type(self)(merged / TOTAL, self.inputs, guesses)  # type: ignore[call-arg]


def _read_utility(
    inputs: Labels, utility: Any, outputs: Sequence[Hashable] | None = None
) -> tuple[Utility, Labels]:
    """Return a utility of guesses and their labels: those given, the utility's own, the inputs, or
    positions.
    """
    payoff = utility if isinstance(utility, (str, Utility)) else Utility(utility, "gain")
    guesses = inputs if outputs is None else tuple(read_alphabet(outputs, "output"))
    if outputs is None and isinstance(payoff, Utility):
        labels = (
            payoff.outputs
            if payoff.outputs is None or set(payoff.outputs) != set(inputs)
            else inputs
        )
        guesses = labels or (
            inputs if payoff.shape[1] == len(inputs) else tuple(range(payoff.shape[1]))
        )
    return resolve(payoff, inputs, guesses), guesses


def divergences(channel: Float, prior: Float) -> Float:
    """Kullback-Leibler divergence of every row from the distribution of the reports, shape (n,), in
    nats.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = channel * np.log(channel / (prior @ channel))
    return np.asarray(np.where(channel > 0, terms, 0.0).sum(axis=1))


def shannon_capacity(channel: Float, gap: float) -> ShannonCapacity:
    """Maximize the information over priors, to ``gap`` nats, by the Blahut-Arimoto iteration with
    growing steps.
    """
    prior = np.full(len(channel), 1.0 / len(channel))
    rows = divergences(channel, prior)
    value = float(prior @ rows)
    bound = float(rows.max())
    step = 1.0
    for _ in range(MAX_ITERATIONS):
        if bound - value <= gap / 2:
            break
        raised = prior * np.exp(step * (rows - rows.max()))
        raised /= raised.sum()
        after = divergences(channel, raised)
        # the plain step never lowers the information
        if raised @ after < value - ROUNDING and step > 1.0:
            step = max(1.0, SHRINKAGE * step)
            continue
        prior, rows, step = raised, after, GROWTH * step
        value, bound = float(prior @ rows), min(bound, float(rows.max()))
    return ShannonCapacity(
        value, bound + sum(channel.shape) * 2.0**-52 * (1.0 + bound), frozen(prior)
    )
