"""The measured sizes from which one method is faster than another."""

from dataclasses import dataclass, fields

from ldpopt.foundation.numbers import real_number


@dataclass(frozen=True)
class Limits:
    """Thresholds for the choice of a method; `plan` and `solve` accept other values.

    Attributes
    ----------
    columns_entries : int
        Entries of a utility up to which extreme columns beat the other methods, for a pure budget
        and an expected value.
    columns_worst_entries : int
        The same for a worst case.
    columns_least_beta : float
        Smallest ``1 - exp(-epsilon)`` for which two extreme columns differ enough for floats.
    sifting_entries : int
        Entries of a utility from which output sifting beats simplex; with an entry-wise delta 1.6
        times as many.
    whole_entries : float
        Entries, divided by the cube root of ``exp(epsilon)``, up to which sifting starts with all
        outputs: an optimum uses more outputs for a large epsilon.
    least_beta : float
        Smallest ``1 - exp(-epsilon)`` for which an interior point works in floats.
    sifting_rounds : int
        Largest number of restricted programs that sifting solves; 3 to 12 are usual.
    graph_entries : int
        Entries from which the interior point by outputs beats simplex on a graph or metric.
    graph_nonzeros : int
        Non-zeros of the privacy rows from which it does so with fewer entries, as for a metric
        (`benchmarks/choices.py`).
    rays_entries : int
        Entries from which rays beat that interior point if losses are distances; for others two
        thirds more.
    graph_numbers : float
        Largest number of floats that the interior point by outputs stores (2 GB).
    rays_pivots : float
        Pivots per ordered pair of tied inputs after which slow rays give way to that interior
        point.
    direct_nonzeros : float
        Non-zeros of a graph's or metric's program from which simplex is no longer tried after other
        methods.
    graph_least_loss : float
        Largest privacy loss along a tie, in nats, for which the interior is too thin for floats.
    event_inputs : int
        Number of inputs from which the interior point for events may beat row generation.
    event_nonzeros : int
        Number of non-zeros from which row generation switches to that interior point: random gains
        of 24 answers reach it after two cheap rounds, and gains with few good reports for an answer
        end before (`benchmarks/choices.py`).
    event_falling : float
        Violated entries of a round, as a share of the most of any round so far, below which row
        generation will probably end soon.
    event_falling_nonzeros : int
        Number of non-zeros from which it then switches.
    event_worst_nonzeros : int
        The same for a worst case, whose rounds are many and slow.
    event_round : int
        Rounds of row generation after which that interior point is also tried on small problems.
    event_entries : int
        Largest number of entries (inputs times outputs in use) of its dense system (1.5 GB).
    generation_rounds : int
        Largest number of rounds of row generation; 2 to 20 are usual.
    rough_rounds : int
        Number of first rounds whose points are not refined; later rounds must be more accurate than
        the solver's tolerance.
    """

    columns_entries: int = 2500
    columns_worst_entries: int = 3600
    columns_least_beta: float = 1e-3
    sifting_entries: int = 1400
    whole_entries: float = 10_000
    least_beta: float = 1e-9
    sifting_rounds: int = 60
    graph_entries: int = 1000
    graph_nonzeros: int = 3800
    rays_entries: int = 2400
    graph_numbers: float = 2.5e8
    rays_pivots: float = 500
    direct_nonzeros: float = 5e5
    graph_least_loss: float = 1.0006e-3
    event_inputs: int = 12
    event_nonzeros: int = 12_000
    event_falling: float = 0.75
    event_falling_nonzeros: int = 40_000
    event_worst_nonzeros: int = 7000
    event_round: int = 12
    event_entries: int = 8000
    generation_rounds: int = 200
    rough_rounds: int = 25

    def __post_init__(self) -> None:
        for field in fields(self):
            real_number(getattr(self, field.name), field.name, 0)


LIMITS = Limits()  # the thresholds measured on two cores (benchmarks/speed.md)
