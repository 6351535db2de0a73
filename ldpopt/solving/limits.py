"""What was measured: from which size on which method is faster, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ldpopt.foundation.checks import real_number


@dataclass(frozen=True)
class Limits:
    """Thresholds of the choice of a method; tests and users may pass their own to `plan` and `solve`.

    Attributes
    ----------
    sifting_entries : int
        Entries of a utility from which output sifting beats simplex on the whole compact program.
    whole_entries : float
        Entries up to which sifting gives the interior point all outputs at once; more of them for a large epsilon
        (times the cube root of ``exp(epsilon)``), where more outputs are of use.
    least_beta : float
        Smallest ``1 - exp(-epsilon)`` with a usable interior.
    sifting_rounds : int
        Restricted programs that sifting solves, at most; 3 to 12 are usual.
    graph_entries : int
        Entries from which the interior point by outputs beats simplex on a graph or metric.
    graph_least_loss : float
        Privacy loss along a tie, in nats, up to which the interior is too thin for floats.
    event_inputs : int
        Inputs from which an interior point over all events may beat row generation.
    event_nonzeros : int
        Non-zeros from which an event-wise program is no longer enlarged, but handed to that interior point.
    event_round : int
        Rounds of row generation after which that interior point is tried on small problems, too.
    event_entries : int
        Entries (inputs times outputs in use) up to which its dense system is kept: a gigabyte and a half.
    generation_rounds : int
        Rounds of row generation, at most; two to twenty are usual.
    rough_rounds : int
        Rounds with points that are not refined; later ones decide below the solver's tolerance.
    """

    sifting_entries: int = 900
    whole_entries: float = 10_000
    least_beta: float = 1e-9
    sifting_rounds: int = 60
    graph_entries: int = 1500
    graph_least_loss: float = 1.0006e-3
    event_inputs: int = 16
    event_nonzeros: int = 35_000
    event_round: int = 12
    event_entries: int = 8000
    generation_rounds: int = 200
    rough_rounds: int = 25

    def __post_init__(self) -> None:
        """Refuse what is not a number."""
        for field in fields(self):
            real_number(getattr(self, field.name), field.name, 0)


LIMITS = Limits()
"""As measured on two cores (benchmarks/speed.md)."""
