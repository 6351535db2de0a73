"""The best private channel for a convex utility: the channel, its value and a bound."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.likelihood.certificate import ConvexCertificate
from ldpopt.polytope.ray_certificate import RayCertificate

# relative difference below which values count as equal, for regimes and ties
EQUAL_TOLERANCE = 1e-9
Regime = Literal["binary", "randomized response", "between"]


@dataclass(frozen=True, eq=False)
class ConvexOptimum(HasFacts):
    """Best private channel for a convex utility.

    Attributes
    ----------
    value : float
        Utility of `mechanism` itself.
    bound : Fraction or float
        Upper bound for all private channels with any number of outputs: a rational with a
        `certificate` for a utility of a likelihood ratio, and for all of the library's utilities
        under a notion that is not pure; else by the dual program, in floats.
    mechanism : Mechanism
        Exactly private; one output for each column.
    patterns : tuple of tuples of int, or None
        For each output, the inputs with the high probability (``e**epsilon`` times the low one);
        None if the notion is not pure.
    weights : ndarray, shape (outputs,)
        Largest entry of each output's column, before rounding to exact privacy.
    binary : float or None
        Best value of a channel with two outputs; None if the notion is not pure.
    randomized_response : float or None
        Value of randomized response over all ``n`` answers; None if the notion is not pure.
    columns : ndarray, shape (outputs, n)
        For each output, its column divided by its weight, before rounding to exact privacy.
    certificate : ConvexCertificate, RayCertificate or None
        Proof of value and bound, in rationals; None if the bound is a float.
    """

    value: float
    bound: Fraction | float
    mechanism: Mechanism
    patterns: tuple[tuple[int, ...], ...] | None
    weights: Float
    binary: float | None
    randomized_response: float | None
    columns: Float
    certificate: ConvexCertificate | RayCertificate | None = None

    def __repr__(self) -> str:
        """Value and bound as floats, and the regime; the bound of a certificate is exact."""
        numbers = f"value={self.value:.12g}, bound={float(self.bound):.12g}"
        outputs = len(self.mechanism.outputs)
        return f"ConvexOptimum({numbers}, gap={self.gap:.2g}, {self.regime}, {outputs} outputs)"

    @property
    def gap(self) -> float:
        """``bound - value``: the largest possible improvement, up to rounding."""
        if self.certificate is not None:
            return float(self.certificate.gap)
        return float(self.bound) - self.value

    @property
    def regime(self) -> Regime | None:
        """Whether a binary channel or randomized response is optimal (within 1e-9); binary if both
        are, None if the notion is not pure.
        """
        if self.binary is None or self.randomized_response is None:
            return None
        threshold = float(self.bound) * (1 - EQUAL_TOLERANCE)
        if self.binary >= threshold:
            return "binary"
        return "randomized response" if self.randomized_response >= threshold else "between"

    def facts(self) -> Facts:
        """Value, bound, regime and the mechanism."""
        numbers: dict[str, Any] = {"value": self.value, "bound": float(self.bound)}
        if self.regime is not None:
            numbers |= {"regime": self.regime, "best of two reports": self.binary}
            numbers |= {"randomized response": self.randomized_response}
        proof = self.certificate
        if proof is not None:
            numbers |= {"proved gap": self.gap}
        if isinstance(proof, RayCertificate):
            numbers |= {"extreme rays": proof.rays}
        if isinstance(proof, ConvexCertificate) and (constant := float(proof.pair.constant)):
            numbers |= {"square of the mean score": constant}
        channel = self.mechanism.facts().parts
        return Facts("Private channel for a convex utility", [*numbers.items(), *channel])
