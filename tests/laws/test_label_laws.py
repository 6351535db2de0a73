"""Labels decide, positions never do: every function takes numbers by label, in any order and
container."""

import functools
import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases
from ldpopt import (
    closed_forms,
    constraints,
    convex,
    hypotheses,
    mean,
    regions,
    simulate,
    stages,
    studies,
    sweep,
    utility,
)
from ldpopt.errors import LdpoptError
from ldpopt.frequencies import RandomizedResponse
from ldpopt.mechanism.repair import repair
from ldpopt.problem.prior import read_prior, read_priors

INPUTS = ("A", "B", "C")
OUTPUTS = ("x", "y", "z", "w")
NUMBERS = (-1.0, 0.0, 1.0)
PRIOR = pd.Series([0.5, 0.3, 0.2], INPUTS)
UPPER = pd.Series([0.9, 0.4, 0.8], INPUTS)
VALUES = pd.Series([0.0, 1.0, 3.0], INPUTS)
SCORES = pd.Series([1.0, -1.0, -1.0], INPUTS)
OUTPUT_VALUES = pd.Series([-9.0, 0.0, 4.0, 9.0], OUTPUTS)
COUNTS = pd.Series([50, 30, 20], INPUTS)
REPORTS = pd.DataFrame({"r": ["B", "A", "B"]}, INPUTS)
GAIN = pd.DataFrame(
    [[3.0, 1.0, 0.0, 2.0], [0.0, 5.0, 1.0, 1.0], [2.0, 0.0, 7.0, 3.0]], INPUTS, OUTPUTS
)
SQUARE = pd.DataFrame([[3.0, 1.0, 0.0], [0.0, 5.0, 1.0], [2.0, 0.0, 7.0]], INPUTS, INPUTS)
DISTANCE = pd.DataFrame([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]], INPUTS, INPUTS)
ASKED = pd.DataFrame([[3.0, 1.0, 0.0], [0.0, 5.0, 1.0]], ["low", "high"], INPUTS)
CHANNEL = pd.DataFrame(
    [[0.5, 0.25, 0.125, 0.125], [0.25, 0.5, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25]],
    INPUTS,
    OUTPUTS,
)
PRIORS = pd.DataFrame([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], ["now", "then"], INPUTS)
MECHANISM = lo.Mechanism(CHANNEL)
TRUTHFUL = repair(
    [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]], lo.PureLDP(2.0), inputs=INPUTS
).mechanism
PURE = lo.PureLDP(1.0)
SECOND = UPPER / UPPER.sum()
RATE = stages.Rate((0.5, 4.0), most=2)
COUNTED = lo.Mechanism(CHANNEL.to_numpy(), [0, 1, 2], OUTPUTS)
SEEN = pd.Series([400, 250, 150, 200], OUTPUTS)


BUDGETS = pd.DataFrame([[0.1, 1.0, 0.2], [0.7, 0.1, 1.0], [2.0, 0.5, 0.1]], INPUTS, INPUTS)


def under(privacy):
    """The optimum for a notion."""
    return lo.solve(lo.Problem([0.5, 0.3, 0.2], SQUARE.to_numpy(), privacy, inputs=INPUTS)).value


def numbers_of(problem):
    """Everything that a solver sees of a problem."""
    distance = problem.privacy.matrix(problem.inputs) if hasattr(problem.privacy, "matrix") else 0
    rows = [(b.row, b.x, b.y, b.coefficient, b.lower, b.upper) for b in problem.constraints]
    return problem.prior, problem.utility.matrix, problem.inputs, problem.outputs, distance, rows


def problem(prior=None, payoff=GAIN, privacy=PURE, inputs=INPUTS, outputs=None, **more):
    outputs = outputs or (OUTPUTS if payoff is GAIN else INPUTS)
    objective = "worst_case" if prior is None else "expected"
    return numbers_of(
        lo.Problem(
            prior, payoff, privacy, inputs=inputs, outputs=outputs, objective=objective, **more
        )
    )


def found(form):
    """Value and mechanism of a closed form, by label."""
    return form.value, form.mechanism.to_frame().loc[list(INPUTS), list(INPUTS)].to_numpy()


def frequencies(estimate):
    return estimate.values, estimate.n_reports


def named(workload):
    """Rows of a workload by their names."""
    return {name: row.tolist() for name, row in zip(workload.names, workload.matrix, strict=True)}


ALIGNED = {
    "read_prior": (PRIOR, lambda p: read_prior(p, INPUTS)[0]),
    "read_priors": (PRIORS, lambda p: read_priors(p, INPUTS)[0]),
    "Problem(prior)": (PRIOR, lambda p: problem(p)),
    "Problem(utility=)": (GAIN, lambda u: problem(PRIOR, u, outputs=OUTPUTS)),
    "Utility": (GAIN, lambda u: problem(PRIOR, lo.Utility(u), outputs=OUTPUTS)),
    "Utility(inputs=)": (GAIN, lambda u: lo.Utility(u, inputs=INPUTS, outputs=OUTPUTS).matrix),
    "utility.table": (GAIN, lambda u: problem(PRIOR, utility.table(u, "loss"), outputs=OUTPUTS)),
    "utility.absolute_error": (VALUES, lambda v: problem(PRIOR, utility.absolute_error(v))),
    "utility.absolute_error(outputs=)": (
        OUTPUT_VALUES,
        lambda v: problem(PRIOR, utility.absolute_error(VALUES, v), outputs=OUTPUTS),
    ),
    "utility.squared_error": (VALUES, lambda v: problem(PRIOR, utility.squared_error(v))),
    "utility.squared_error(outputs=)": (
        OUTPUT_VALUES,
        lambda v: problem(PRIOR, utility.squared_error([0, 1, 2], v), outputs=OUTPUTS),
    ),
    "constraints.linear": (
        GAIN,
        lambda c: problem(PRIOR, constraints=constraints.linear(c, upper=9.0)),
    ),
    "constraints.unbiased(values)": (
        VALUES,
        lambda v: problem(PRIOR, constraints=constraints.unbiased(v, OUTPUT_VALUES)),
    ),
    "constraints.unbiased(outputs)": (
        OUTPUT_VALUES,
        lambda w: problem(PRIOR, constraints=constraints.unbiased([0, 1, 3], w)),
    ),
    "MetricDP": (DISTANCE, lambda d: problem(PRIOR, privacy=lo.MetricDP(1.0, d))),
    "MetricDP.of_points": (VALUES, lambda v: problem(PRIOR, SQUARE, lo.MetricDP.of_points(1.0, v))),
    "MetricDP(inputs=)": (DISTANCE, lambda d: lo.MetricDP(1.0, d, inputs=INPUTS).distance),
    "MetricDP.audit": (DISTANCE, lambda d: lo.MetricDP(1.0, d).audit(MECHANISM)),
    "MetricDP.audit(frame)": (
        CHANNEL,
        lambda c: lo.MetricDP(1.0, DISTANCE).audit(lo.Mechanism(c, INPUTS, OUTPUTS)),
    ),
    "compare_designs(others=)": (
        CHANNEL,
        lambda c: [
            round(row.people, 6)
            for row in lo.compare_designs(
                # under pure privacy designs of the literature would be made, too
                lo.Workload.prefix(INPUTS),
                lo.MetricDP(1.0, DISTANCE),
                others={"mine": lo.Mechanism(c, outputs=OUTPUTS)},
            ).own
        ],
    ),
    "Mechanism(inputs=, outputs=)": (CHANNEL, lambda c: lo.Mechanism(c, INPUTS, OUTPUTS)),
    "repair": (CHANNEL, lambda c: repair(c, PURE, inputs=INPUTS, outputs=OUTPUTS).mechanism),
    "Mechanism.expected(prior)": (PRIOR, lambda p: MECHANISM.expected(p, GAIN)),
    "Mechanism.expected(utility)": (GAIN, lambda u: MECHANISM.expected(PRIOR, u)),
    "Mechanism.remapped(prior)": (PRIOR, lambda p: MECHANISM.remapped(p, SQUARE).channel),
    "Mechanism.remapped(utility)": (
        SQUARE,
        lambda u: MECHANISM.remapped(PRIOR, u, outputs=INPUTS).channel,
    ),
    "Mechanism.leakage(prior)": (
        PRIOR,
        lambda p: MECHANISM.leakage(p, GAIN).posterior_vulnerability,
    ),
    "Mechanism.inference_error": (PRIOR, lambda p: MECHANISM.inference_error(p, SQUARE)),
    "Mechanism.mutual_information": (PRIOR, MECHANISM.mutual_information),
    "Mechanism.posterior": (PRIOR, MECHANISM.posterior),
    "estimate_frequencies": (COUNTS, lambda c: frequencies(lo.estimate_frequencies(TRUTHFUL, c))),
    "Counts.of": (COUNTS, lambda c: lo.Counts.of(TRUTHFUL, c).values),
    "Counts.of(weights)": (
        VALUES + 1,
        lambda w: lo.Counts.of(TRUTHFUL, REPORTS, column="r", weights=w).values,
    ),
    "plan_sample(half_width)": (UPPER, lambda h: lo.plan_sample(TRUTHFUL, half_width=h)),
    "plan_sample(prior)": (PRIOR, lambda p: lo.plan_sample(TRUTHFUL, half_width=0.1, prior=p)),
    "RandomizedResponse.estimate": (
        COUNTS,
        lambda c: frequencies(RandomizedResponse(INPUTS, 1.0).estimate(c)),
    ),
    "simulate": (PRIOR, lambda p: simulate(TRUTHFUL, p, population=50, repeats=2, rng=1).utilities),
    "sweep": (
        PRIORS,
        lambda p: sweep(lo.Problem(PRIOR, "identity", PURE), [1.0], p).column("value"),
    ),
    "studies.best_of(prior)": (
        PRIOR,
        lambda p: studies.best_of([lo.Problem(each, SQUARE, PURE) for each in (PRIOR, p)]).values,
    ),
    "studies.best_of(utility)": (
        SQUARE,
        lambda u: (
            studies.best_of(
                lo.Problem(PRIOR, each, PURE, inputs=INPUTS, outputs=INPUTS) for each in (SQUARE, u)
            ).values
        ),
    ),
    "hypotheses.best(second)": (PRIOR, lambda p: hypotheses.best(SECOND, p, 1.0).optimum.value),
    "BinaryTest.of(first)": (
        PRIOR,
        lambda p: hypotheses.BinaryTest.of(TRUTHFUL, p, SECOND).log_ratios,
    ),
    "BinaryTest.of(second)": (
        PRIOR,
        lambda p: hypotheses.BinaryTest.of(TRUTHFUL, SECOND, p).log_ratios,
    ),
    "stages.estimate(reports)": (
        SEEN,
        lambda r: stages.estimate(RATE, COUNTED, r, check_fit=False).values,
    ),
    "stages.estimate(pilot=)": (
        SEEN,
        lambda r: (
            stages.estimate(RATE, COUNTED, SEEN, pilot=[(COUNTED, r)], check_fit=False).values
        ),
    ),
    "bins(values)": (VALUES, lambda v: found(closed_forms.bins(PRIOR, v, 1.0))),
    "kernel(prior)": (PRIOR, lambda p: found(closed_forms.kernel(DISTANCE, p, 2.0))),
    "kernel(distance)": (DISTANCE, lambda d: found(closed_forms.kernel(d, PRIOR, 2.0))),
    "worst_prior(upper)": (UPPER, lambda u: closed_forms.worst_prior(PRIOR * 0, u)),
    "robust_value(inputs=)": (
        PRIORS,
        lambda p: closed_forms.robust_value(p, 1.0, inputs=INPUTS).worst_prior,
    ),
    "mutual_information": (PRIOR, lambda p: convex.mutual_information(p).value(MECHANISM)),
    "mutual_information.value": (CHANNEL, lambda c: convex.mutual_information(PRIOR).value(c)),
    "f_divergence(second)": (
        PRIOR,
        lambda p: convex.f_divergence(UPPER / UPPER.sum(), p).value(MECHANISM),
    ),
    "certify_convex": (
        CHANNEL,
        lambda c: (
            lo.certify_convex(
                c,
                PURE,
                lambda t: ((t**2).sum(axis=1) * VALUES.to_numpy()).sum(),
                lambda t: 2 * t * VALUES.to_numpy()[:, None],
                inputs=INPUTS,
            ).value
        ),
    ),
    "fisher_information(scores)": (
        SCORES,
        lambda s: convex.fisher_information(s, PRIOR).value(MECHANISM),
    ),
    "fisher_information(prior)": (
        PRIOR,
        lambda p: convex.fisher_information(SCORES, p).value(MECHANISM),
    ),
    "exact_prior": (PRIOR, lambda p: regions.exact_prior(p, INPUTS)),
    "Region.contains": (
        pd.Series([0.7, 0.3], [0, 1]),
        lambda p: [region.contains(p) for region in regions.prior_regions(PURE, 2)],
    ),
    "Workload(inputs=, names=)": (ASKED, lambda w: lo.Workload(w, INPUTS, ["low", "high"]).matrix),
    "Workload.mean": (VALUES, lambda v: lo.Workload.mean(v, INPUTS).matrix),
    "Workload.means": (
        VALUES,
        lambda v: (
            lo.Workload.means({"first": VALUES, "second": v, "third": [1, 2, 3]}, INPUTS).matrix
        ),
    ),
    "design(weights)": (
        PRIOR,
        lambda p: lo.design(lo.Workload.prefix(INPUTS), PURE, weights=p).variance(),
    ),
    "PML(prior)": (PRIOR, lambda p: under(lo.PML(0.5, p))),
    "InformationPrivacy(prior)": (PRIOR, lambda p: under(lo.InformationPrivacy(0.5, p))),
    "Secrets(secrets)": (PRIOR, lambda p: under(lo.Secrets(0.5, {"s": p, "t": [0.2, 0.3, 0.5]}))),
    "PairwiseLDP(table)": (BUDGETS, lambda t: under(lo.PairwiseLDP(t))),
    "mean.designed(prior)": (
        pd.Series([0.5, 0.3, 0.2], NUMBERS),
        lambda p: (
            mean.designed(
                NUMBERS, [-3, -1, 0, 1, 3], 1.5, prior=p, objective="expected"
            ).grid_variance
        ),
    ),
}
"""Functions with a known alphabet: an argument in its order, and the result; wrong labels are
refused."""

STATING = {
    "Workload": (ASKED, lambda w: named(lo.Workload(w).align(INPUTS))),
    "Workload(vector)": (VALUES, lambda v: lo.Workload(v).align(INPUTS).matrix),
    "Workload.mean without inputs": (VALUES, lambda v: lo.Workload.mean(v).align(INPUTS).matrix),
    "Workload.means without inputs": (
        VALUES,
        lambda v: lo.Workload.means({"first": v, "second": VALUES}).align(INPUTS).matrix,
    ),
    "Problem(prior) without inputs": (PRIOR, lambda p: lo.solve(lo.Problem(p, SQUARE, PURE)).value),
    "Problem(utility=) without inputs": (
        SQUARE,
        lambda u: lo.solve(lo.Problem(None, u, PURE, objective="worst_case")).value,
    ),
    "Mechanism": (
        CHANNEL,
        lambda c: lo.Mechanism(c).to_frame().loc[list(INPUTS), list(OUTPUTS)].to_numpy(),
    ),
    "audit": (
        CHANNEL,
        lambda c: (lo.audit(c).epsilon, lo.audit(c, lo.MetricDP(1.0, DISTANCE)).verdict),
    ),
    "PureLDP.audit": (CHANNEL, lambda c: PURE.audit(c).epsilon),
    "PML.audit": (CHANNEL, lambda c: lo.PML(1.0, PRIOR).audit(c).epsilon),
    "Secrets.audit": (
        CHANNEL,
        lambda c: lo.Secrets(1.0, {"s": PRIOR, "t": VALUES}).audit(c).epsilon,
    ),
    "PairwiseLDP.audit": (CHANNEL, lambda c: lo.PairwiseLDP(BUDGETS).audit(c).epsilon),
    "hypotheses.best(first)": (
        PRIOR,
        lambda p: hypotheses.best(p, SECOND, 1.0).optimum.value,
    ),
    "top_k": (PRIOR, lambda p: found(closed_forms.top_k(p, 2.0))),
    "binary": (PRIOR[:2] / 0.8, lambda p: closed_forms.binary(p, 2.0).value),
    "least_epsilon": (PRIOR, lambda p: closed_forms.least_epsilon(p, 0.7)),
    "worst_prior_in_ball": (PRIOR, lambda p: sorted(closed_forms.worst_prior_in_ball(p, 0.1))),
    "robust_value": (PRIORS, lambda p: found(closed_forms.robust_value(p, 1.0))),
    "bins": (PRIOR, lambda p: found(closed_forms.bins(p, VALUES, 1.0))),
    "epsilon_breakpoints": (PRIOR, lambda p: [r.k for r in regions.epsilon_breakpoints(p)]),
}
"""Functions whose argument defines the alphabet: the order of its labels does not change results by
label."""

ORDERED = {"path_graph"}
"""Closed forms of an ordered scale: the order of the labels is the scale."""

TABLES_OF_PRIORS = ("read_priors", "sweep", "robust_value", "robust_value(inputs=)")
"""One prior in each row: only the columns have labels that matter."""

CONTAINERS = ("pandas", "mapping", "series of series", "mapping of series")


def contained(table, container):
    """The same numbers by label in another container."""
    if container == "pandas":
        return table
    if isinstance(table, pd.Series):
        return dict(table) if container == "mapping" else table
    rows = {label: table.loc[label] for label in table.index}
    if container == "mapping":
        return {label: dict(row) for label, row in rows.items()}
    return pd.Series(rows) if container == "series of series" else rows


def shuffled(table, seed):
    rng = np.random.default_rng(seed)
    rows = [table.index[k] for k in rng.permutation(len(table))]
    if isinstance(table, pd.Series):
        return table.loc[rows]
    return table.loc[rows, [table.columns[k] for k in rng.permutation(table.shape[1])]]


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (np.ndarray, float)):
        return np.allclose(one, other, rtol=1e-12, atol=1e-12)
    return one == other


def test_every_closed_form_that_takes_a_prior_is_among_them():
    functions = {
        name: vars(closed_forms)[name] for name in closed_forms.__all__ if name not in ORDERED
    }
    functions = {name: call for name, call in functions.items() if inspect.isfunction(call)}
    takers = {
        name for name, call in functions.items() if "prior" in inspect.signature(call).parameters
    }
    assert "top_k" in takers
    named = {place.partition("(")[0] for place in (*ALIGNED, *STATING)}
    assert takers <= named, f"ALIGNED or STATING has no {takers - named}"


@pytest.mark.parametrize("place", [*ALIGNED, *STATING])
@cases(8)
@given(st.sampled_from(CONTAINERS), st.integers(0, 99))
def test_the_order_of_labels_changes_nothing(place, container, seed):
    table, use = (ALIGNED | STATING)[place]
    moved = shuffled(table, seed)
    if place in TABLES_OF_PRIORS:
        moved = moved.loc[table.index]
    assert same(use(contained(moved, container)), in_their_order(place))


@functools.cache
def in_their_order(place):
    """The result of the labels as they stand in the table."""
    table, use = (ALIGNED | STATING)[place]
    return use(table)


@pytest.mark.parametrize("place", ALIGNED)
def test_a_wrong_label_is_refused(place):
    table, use = ALIGNED[place]
    by_column = place in TABLES_OF_PRIORS
    labels = table.columns if by_column else table.index
    wrong = {labels[1]: 99 if isinstance(labels[1], (int, float)) else "Bee"}
    moved = table.rename(columns=wrong) if by_column else table.rename(index=wrong)
    wrong_tables = [moved]
    # of any reports
    takes_any = place in ("mutual_information.value", "certify_convex")
    if isinstance(table, pd.DataFrame) and not by_column and not takes_any:
        wrong_tables.append(table.rename(columns={table.columns[0]: "Bee"}))
    for container, wrong_table in itertools.product(CONTAINERS, wrong_tables):
        with pytest.raises(LdpoptError):
            use(contained(wrong_table, container))


@pytest.mark.parametrize("place", [*ALIGNED, *STATING])
def test_a_label_that_occurs_twice_is_refused(place):
    table, use = (ALIGNED | STATING)[place]
    with pytest.raises(LdpoptError, match=r"duplicate|twice"):
        use(
            pd.concat([table, table.iloc[:, :1]], axis=1)
            if place in TABLES_OF_PRIORS
            else pd.concat([table, table[:1]])
        )


@pytest.mark.parametrize(
    "place", ["Problem(prior)", "Mechanism.expected(prior)", "Problem(utility=)", "MetricDP"]
)
def test_row_numbers_are_no_labels_of_an_alphabet(place):
    table, use = ALIGNED[place]
    numbered = (
        pd.Series(table.to_numpy())
        if isinstance(table, pd.Series)
        else pd.DataFrame(table.to_numpy())
    )
    with pytest.raises(LdpoptError, match=r"\.to_numpy\(\)"):
        use(numbered)
    assert same(use(numbered.to_numpy()), use(table))
