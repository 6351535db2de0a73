"""Problems of extreme scales with every installed solver: what each answers, and what its certificate says of it.

``python benchmarks/trust_extremes.py [--count 400] [--seed 1] [-j 1]`` rewrites trust_extremes.md. Two to nine answers;
gains from 1e-12 to 1e12, also unlike from input to input; epsilon from 5e-9 to 1000. Exit code 1 if a mechanism is not
certified, a status "optimal" has a relative gap over 1e-6 (`auto`: 1e-9), or anything but a refusal in words is raised.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import trust

import ldpopt as lo
from ldpopt.errors import LdpoptError

SOLVERS = ("auto", "highs", "interior", "cbc", "cvxpy")
EPSILONS = (0.0, 5e-9, 1e-6, 0.01, 0.5, 2.0, 10.0, 30.0, 60.0, 200.0, 745.0, 1000.0)
WIDEST = {"auto": 1e-9}
"""Largest relative gap of an answer that is called optimal; 1e-6 of a solver that was asked for by name."""

SECONDS = 20.0


@dataclass(frozen=True)
class Answer:
    """What a solver made of a problem."""

    index: int
    notion: str
    solver: str
    end: str
    gap: float
    seconds: float
    text: str

    @property
    def is_missed(self) -> bool:
        wide = self.end == "optimal" and not self.gap <= WIDEST.get(self.solver, 1e-6)
        return wide or self.end.startswith(("raised", "warned", "not certified"))


def draw(seed: int, index: int) -> tuple[str, lo.Problem]:
    """The problem of that number."""
    rng = np.random.default_rng([seed, index, 12])
    notion = trust.NOTIONS[index % len(trust.NOTIONS)]
    n = int(rng.integers(2, 10))
    m = n if rng.random() < 0.7 else int(rng.integers(2, 10))
    utility = trust.draw_utility(rng, n, m)
    matrix = utility.matrix * 10.0 ** float(rng.choice([-12, -6, 0, 6, 12]))
    if rng.random() < 0.3:
        matrix = matrix * 10.0 ** rng.uniform(-6, 6, (n, 1))
    worst = rng.random() < 0.4
    privacy = trust.draw_privacy(rng, notion, n)
    privacy = type(privacy)(float(rng.choice(EPSILONS)), *extra(privacy))
    prior = None if worst else trust.draw_prior(rng, n)
    objective = "worst_case" if worst else "expected"
    return notion, lo.Problem(prior, lo.Utility(matrix, utility.sense), privacy, objective=objective)


def extra(privacy: object) -> tuple[object, ...]:
    """What a notion states beside epsilon."""
    names = {"ApproximateLDP": ("delta", "form"), "GraphDP": ("graph",), "MetricDP": ("distance",)}
    return tuple(getattr(privacy, name) for name in names.get(type(privacy).__name__, ()))


def examine(task: tuple[int, int, str]) -> Answer:
    """Solve and certify one problem with one solver."""
    seed, index, solver = task
    notion, problem = draw(seed, index)
    began, gap = time.process_time(), np.nan
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning)  # of PuLP
        try:
            answer = lo.solve(problem, solver=solver, time_limit=SECONDS)
            mechanism = answer.mechanism
            end = answer.status.value
            gap = lo.certify(answer).relative_gap
            if lo.audit(mechanism.channel, problem.privacy).verdict != "certified":
                end = "not certified"
        except LdpoptError as error:
            end = f"refused: {type(error).__name__}: {str(error).splitlines()[0][:90]}"
            end = f"raised {end}" if type(error).__name__ == "UnboundedError" else end
        except Exception as error:
            end = f"raised {type(error).__name__}: {str(error)[:90]}"
    if heard and not end.startswith("raised"):
        end = f"warned: {heard[0].category.__name__}: {str(heard[0].message)[:90]}"
    seconds = time.process_time() - began
    return Answer(
        index, notion, solver, end, gap, seconds, f"{problem!r} at most {np.abs(problem.utility.matrix).max():.2g}"
    )


def report(answers: list[Answer], seed: int, count: int) -> list[str]:
    """The page."""
    lines = [
        "# Problems of extreme scales, with every solver",
        "",
        *(line for line in (__doc__ or "").split("\n\n")[1].splitlines()),
        "",
        f"Seed {seed}, {count} problems.",
        "",
        "| solver | optimal | limit | other | median gap | largest, optimal | over 1e-9 | missed | slowest s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for solver in SOLVERS:
        part = [answer for answer in answers if answer.solver == solver]
        if not part:
            continue
        ends = Counter(answer.end for answer in part)
        gaps = np.array([answer.gap for answer in part if answer.end == "optimal"] or [np.nan])
        other = len(part) - ends["optimal"] - ends["limit"]
        lines.append(
            f"| {solver} | {ends['optimal']} | {ends['limit']} | {other} | {np.median(gaps):.2g} | {gaps.max():.2g} "
            f"| {int((gaps > 1e-9).sum())} | {sum(a.is_missed for a in part)} | {max(a.seconds for a in part):.1f} |"
        )
    told = Counter((a.solver, a.end) for a in answers if a.end not in ("optimal", "limit"))
    lines += [
        "",
        "Other ends:",
        "",
        *(f"- {number} x {solver}: {end}" for (solver, end), number in told.most_common(30)),
    ]
    missed = [a for a in answers if a.is_missed]
    lines += ["", f"Missed: {len(missed)}.", ""]
    lines += [f"- {a.index} {a.solver}: {a.text}; {a.end}, gap {a.gap:.2g}, {a.seconds:.1f} s" for a in missed[:60]]
    return [" ".join(line.split()) for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--solver", nargs="+", default=[name for name in SOLVERS])
    options = parser.parse_args()
    tasks = [(options.seed, index, solver) for index in range(options.count) for solver in options.solver]
    with Pool(options.jobs) as pool:
        answers = list(pool.imap(examine, tasks, chunksize=10))
    lines = report(answers, options.seed, options.count)
    print("\n".join(lines))
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")
    return 1 if any(answer.is_missed for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
