"""What the independent checker proves of values, residuals and bounds, against their definitions in
rationals."""

from __future__ import annotations

import json
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt_check as checker
from checker_cases import GOOD, refused, tabled, with_changes
from ldpopt_check import UNIT, Problem, S, check_program, power


def claims(data: Any) -> tuple[str, F, F]:
    text, proved, gap = check_program(data)
    return text, proved, gap


def test_the_best_of_two_holds_and_its_proof_is_tight() -> None:
    """The checker's ``b`` is rounded down, so that its bound is above 3/4 by less than a unit."""
    data = with_changes(
        ("claim.bound", str(F(3, 4) + F(1, 10**16))), ("claim.gap", str(F(1, 10**16)))
    )
    data["claim"]["relative_gap"] = (1e-16 / 0.75).hex()
    text, proved, gap = claims(data)
    assert text == "expected gain 0.75"
    assert F(3, 4) <= proved <= F(3, 4) + F(1, 2**1000)
    assert gap == proved - F(3, 4)


@pytest.mark.parametrize(
    "changes",
    [
        [("claim.achieved", str(F(3, 4) + F(1, 10**40)))],
        [("claim.achieved", str(F(3, 4) - F(1, 10**40)))],
        [("claim.gap", str(F(1, 10**40)))],
        [("claim.gap", str(-F(1, 10**40)))],
        [("claim.bound", str(F(3, 4) - F(2, 10**15))), ("claim.gap", str(-F(2, 10**15)))],
        [("claim.relative_gap", "0x1p-49")],
        [("claim.relative_gap", "-0x1p-49")],
        [("claim.residuals", {"other": "0x0p+0"})],
        [("mechanism.bits", 52)],
        [("mechanism.bits", 54)],
        [("statement.objective", "other")],
        [("statement.sense", "other")],
        [("statement.prior", None)],
        [("statement.objective", "worst_case")],
        [("statement.prior", [0.5, 0.4])],
        [("statement.prior", [1.5, -0.5])],
        [("statement.utility", [[1.0, 0.0]])],
        [("statement.privacy.epsilon", 1.0986)],
        [("multipliers.form", "other")],
        [("multipliers.row_sums", ["0x1.7p-2", "0x1.7p-2", "0x0p+0"])],
        [("multipliers.constraints", {"other": []})],
        [("multipliers.privacy", [[0, 0, [0], "0x1p-2"]])],
        [("multipliers.privacy", [[0, 2, [0], "0x1p-2"]])],
        [("multipliers.privacy", [[0, 1, [0], "-0x1p-2"]])],
        [("multipliers.privacy", [[0, 1, [0], "0x0p+0"]])],
        [("multipliers.privacy", [[0, 1, [0, 0], "0x1p-2"]])],
        [("multipliers.privacy", [[0, 1, [1, 0], "0x1p-2"]])],
        [("multipliers.privacy", [[0, 1, [2], "0x1p-2"]])],
    ],
)
def test_a_changed_certificate_is_refused(changes: Any) -> None:
    assert not refused(check_program, GOOD)
    assert refused(check_program, with_changes(*changes))


def test_a_relative_gap_is_of_the_bound_or_of_a_hundredth_of_the_stake() -> None:
    weak = with_changes(
        ("claim.bound", "1"), ("claim.gap", "1/4"), ("claim.relative_gap", (0.25).hex())
    )
    assert not refused(check_program, weak)
    assert refused(
        check_program, with_changes(("claim.relative_gap", (0.25 + 1e-14).hex()), of=weak)
    )
    shifted = [[0.25, -0.75], [-0.75, 0.25]]  # worth 0: the stake decides
    small = with_changes(
        ("statement.utility", shifted), ("claim.achieved", "0"), ("claim.bound", "1/1000")
    )
    small["multipliers"]["row_sums"] = ["0x0p+0", "0x0p+0"]
    small["claim"]["gap"] = "1/1000"
    small["claim"]["relative_gap"] = (0.1).hex()
    assert not refused(check_program, small)
    assert refused(check_program, with_changes(("claim.relative_gap", (1.0).hex()), of=small))


def test_a_bound_may_be_off_by_the_tolerance_and_not_by_more() -> None:
    _, proved, _ = claims(GOOD)
    for factor, holds in ((1, True), (1 + F(1, 10**20), False), (-5, True)):
        bound = proved - factor * F(1, 10**15)  # the stake is 1, more than the bound
        data = with_changes(("claim.bound", str(bound)), ("claim.gap", str(bound - F(3, 4))))
        data["claim"]["relative_gap"] = float((bound - F(3, 4)) / bound).hex()
        assert refused(check_program, data) != holds


def test_every_mechanism_is_best_for_a_zero_utility() -> None:
    data = with_changes(
        ("statement.utility", [[0.0, 0.0], [0.0, 0.0]]),
        ("claim.achieved", "0"),
        ("claim.bound", "0"),
    )
    data["multipliers"]["row_sums"] = ["0x0p+0", "0x0p+0"]
    assert claims(data) == ("expected gain 0", 0, 0)
    assert Problem(data["statement"]).notion.delta == 0


def test_a_prior_may_be_off_by_rounding() -> None:
    def problem(*prior: float) -> Any:
        return with_changes(("prior", list(prior)), of=GOOD["statement"])

    assert not refused(Problem, problem(0.5, 0.5 + 2.0**-30))
    assert not refused(Problem, problem(0.5, 0.5 - 2.0**-30))
    assert refused(Problem, problem(0.5, 0.5 + 2.0**-30 + 2.0**-52))
    assert refused(Problem, problem(0.5, 0.5 - 2.0**-30 - 2.0**-52))
    assert not refused(Problem, problem(0.0, 1.0))
    assert refused(Problem, problem(1.5, -0.5))
    assert refused(Problem, problem(1.0, -5e-324))


def test_one_input_needs_no_privacy() -> None:
    one = with_changes(
        ("inputs", [0]), ("prior", [1.0]), ("utility", [[1.0, 0.0]]), of=GOOD["statement"]
    )
    assert Problem(one).bound(multipliers("compact", sums=["0x1p+0"]))[0] == 1
    assert Problem(one).bound(multipliers())[0] == 1


WORST = with_changes(("objective", "worst_case"), ("prior", None), of=GOOD["statement"])
CONSTRAINED = with_changes(
    (
        "constraints",
        [
            {
                "name": "c",
                "rows": [[[0, 0, 1.0], [1, 0, -2.0]], [[1, 1, 4.0]]],
                "lower": [None, 1.0],
                "upper": [0.25, None],
            }
        ],
    ),
    of=GOOD["statement"],
)


def test_values_are_averages_or_those_of_the_worst_input() -> None:
    rows = [[UNIT * 3 // 4, UNIT // 4], [UNIT // 2, UNIT // 2]]
    assert Problem(GOOD["statement"]).value(rows) == F(5, 8)
    assert Problem(with_changes(("prior", [0.25, 0.75]), of=GOOD["statement"])).value(rows) == F(
        9, 16
    )
    assert Problem(WORST).value(rows) == F(1, 2)
    assert Problem(with_changes(("sense", "loss"), of=WORST)).value(rows) == F(3, 4)


def test_residuals_are_the_largest_violation() -> None:
    problem = Problem(CONSTRAINED)
    half = UNIT // 2
    assert problem.residual([[half, half], [half, half]], "c") == 0
    assert problem.residual([[half + 1, half - 1], [half // 4, 0]], "c") == 1
    assert problem.residual([[UNIT, 0], [0, UNIT]], "c") == F(3, 4)
    assert problem.residual([[0, UNIT], [UNIT, 0]], "c") == 1
    for part in (
        {"name": "c", "rows": [], "lower": [], "upper": []},
        {"name": "d", "rows": [[[0, 0, 1.0]]], "lower": [0.0, 0.0], "upper": [0.0]},
        {"name": "d", "rows": [[[2, 0, 1.0]]], "lower": [0.0], "upper": [0.0]},
        {"name": "d", "rows": [[[0, 2, 1.0]]], "lower": [0.0], "upper": [0.0]},
        {"name": "d", "rows": [[[0, -1, 1.0]]], "lower": [0.0], "upper": [0.0]},
    ):
        changed = with_changes(("constraints", [*CONSTRAINED["constraints"], part]), of=CONSTRAINED)
        assert refused(Problem, changed), part


def test_a_claimed_residual_may_be_larger_but_not_smaller() -> None:
    data = with_changes(("statement.constraints", CONSTRAINED["constraints"]))
    data["statement"]["constraints"][0]["upper"] = [0.0, None]  # 3/4 - 2/4 is over it by 1/4
    data["multipliers"]["constraints"] = {"c": ["0x0p+0", "0x0p+0"]}
    for stated, holds in ((0.25, True), (0.5, True), (0.25 - 2.0**-54, False)):
        data["claim"]["residuals"] = {"c": stated.hex()}
        assert refused(check_program, data) != holds
    data["claim"]["residuals"] = {"c": "0x1p-2"}
    assert "off 'c' by 0.25" in claims(data)[0]


def multipliers(
    form: str = "pairwise", sums: Any = None, worst: Any = None, privacy: Any = (), **blocks: Any
) -> Any:
    parts = {
        "form": form,
        "row_sums": sums,
        "worst_case": worst,
        "privacy": list(privacy),
        "constraints": blocks,
    }
    return {
        **parts,
        "privacy": [[i, k, list(event), float(value).hex()] for i, k, event, value in privacy],
    }


def plain_bound(statement: Any, table: Any) -> F:
    """Lagrange's bound in rationals by its definition: every event row, constraint and weight as it
    is stated."""
    n = len(statement["inputs"])
    m = len(statement["outputs"])
    sign = 1 if statement["sense"] == "gain" else -1
    weights = statement["prior"] or table["worst_case"]
    weights = [F(w) for w in weights] if any(weights) else [F(1, n)] * n
    weights = [w / (1 if statement["prior"] else sum(weights)) for w in weights]
    cost = [
        [sign * w * F(u) for u in row] for w, row in zip(weights, statement["utility"], strict=True)
    ]
    constant = F(0)
    b = F(power(statement["privacy"]["epsilon"], F(1))[2], S)
    for i, k, event, value in table["privacy"]:
        for y in event:
            cost[i][y] -= F(float.fromhex(value)) * b
            cost[k][y] += F(float.fromhex(value))
        constant += F(float.fromhex(value)) * b * F(statement["privacy"].get("delta", 0))
    for block in statement["constraints"]:
        rows = zip(
            block["rows"],
            block["lower"],
            block["upper"],
            table["constraints"][block["name"]],
            strict=True,
        )
        for terms, lower, upper, text in rows:
            value = F(float.fromhex(text))
            side = upper if value > 0 else lower
            if side is not None:
                for x, y, a in terms:
                    cost[x][y] -= value * F(a)
                constant += value * F(side)
    assert m == len(cost[0])
    return sign * (constant + sum(max(row) for row in cost))


APPROXIMATE = with_changes(("privacy", tabled("approximate", delta=0.125)), of=GOOD["statement"])
ROWS = [(0, 1, [0], 0.375), (1, 0, [1], 0.25), (1, 0, [0], 2.0**-60)]


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        (GOOD["statement"], multipliers()),
        (GOOD["statement"], multipliers(privacy=ROWS)),
        (
            with_changes(("sense", "loss"), ("prior", [0.25, 0.75]), of=GOOD["statement"]),
            multipliers(privacy=ROWS),
        ),
        (WORST, multipliers(worst=[0.75, 0.5], privacy=ROWS)),
        (WORST, multipliers(worst=[0.75, 0.5])),
        (WORST, multipliers(worst=[0.0, 0.0])),
        (with_changes(("sense", "loss"), of=WORST), multipliers(worst=[0.25, 1.5], privacy=ROWS)),
        (APPROXIMATE, multipliers(privacy=[*ROWS, (0, 1, [0, 1], 0.125)])),
        (
            with_changes(("privacy.delta", 0.1), of=APPROXIMATE),
            multipliers(privacy=[(1, 0, [1], 0.3)]),
        ),
        (CONSTRAINED, multipliers(privacy=ROWS, c=["0x1p-3", "0x1p-4"])),
        (CONSTRAINED, multipliers(c=["0x1p-3", "-0x1p-4"])),
        (CONSTRAINED, multipliers(c=["-0x1p-3", "-0x1p-4"])),
        (CONSTRAINED, multipliers(c=["0x1p-1074", "0x0p+0"])),
        (with_changes(("sense", "loss"), of=CONSTRAINED), multipliers(c=["0x1p-3", "-0x1p-4"])),
    ],
)
def test_bounds_of_pairs_are_those_of_the_definition(statement: Any, table: Any) -> None:
    found, stake = Problem(statement).bound(table)
    plain = plain_bound(statement, table)
    sign = 1 if statement["sense"] == "gain" else -1
    assert 0 <= sign * (found - plain) <= (F(1, 2**900) if table["privacy"] else 0)
    assert stake == 1


def test_the_stake_is_the_average_spread() -> None:
    wide = with_changes(
        ("utility", [[1.0, 0.0], [-2.0, 5.0]]), ("prior", [0.25, 0.75]), of=GOOD["statement"]
    )
    assert Problem(wide).bound(multipliers())[1] == F(1, 4) + 7 * F(3, 4)
    wide = with_changes(("utility", wide["utility"]), of=WORST)
    assert Problem(wide).bound(multipliers(worst=[1.0, 3.0]))[1] == F(1, 4) + 7 * F(3, 4)


def test_a_multiplier_of_an_untied_report_or_of_a_wide_event_entry_by_entry_is_refused() -> None:
    entry = with_changes(("privacy.form", "entry"), of=APPROXIMATE)
    assert refused(Problem(entry).bound, multipliers(privacy=[(0, 1, [0, 1], 0.5)]))
    assert not refused(Problem(entry).bound, multipliers(privacy=[(0, 1, [0], 0.5)]))
    assert not refused(Problem(APPROXIMATE).bound, multipliers(privacy=[(0, 1, [0, 1], 0.5)]))
    own = with_changes(
        ("privacy", tabled("utility_optimized", sensitive=[0])), of=GOOD["statement"]
    )
    assert refused(Problem(own).bound, multipliers(privacy=[(0, 1, [1], 0.5)]))
    assert not refused(Problem(own).bound, multipliers(privacy=[(0, 1, [0], 0.5)]))
    path = with_changes(
        ("inputs", [0, 1, 2]), ("utility", [[1.0, 0.0]] * 3), ("prior", None), of=WORST
    )
    path["privacy"] = tabled("graph", edges=[[0, 1], [1, 2]])
    worst = [1.0, 1.0, 1.0]
    sums = ["0x0p+0"] * 3
    assert refused(Problem(path).bound, multipliers("compact", sums=sums, worst=worst))
    rows = [(0, 1, [0], 0.5), (2, 1, [0], 0.5)]
    assert not refused(Problem(path).bound, multipliers(worst=worst, privacy=rows))
    assert refused(Problem(path).bound, multipliers(worst=worst, privacy=[(0, 2, [0], 0.5)]))


def test_multipliers_of_another_form_or_objective_and_places_that_are_no_numbers_are_refused() -> (
    None
):
    sums = ["0x0p+0", "0x0p+0"]
    expected = Problem(GOOD["statement"]).bound
    worst = Problem(WORST).bound
    assert not refused(expected, multipliers("compact", sums=sums))
    assert not refused(worst, multipliers(worst=[0.75, 0.5], privacy=ROWS))
    for bound, table in (
        (expected, multipliers(sums=sums)),
        (expected, multipliers("compact")),
        (expected, multipliers("compact", sums=sums, worst=[0.75, 0.5])),
        (worst, multipliers()),
        (worst, multipliers(worst=[0.75, -0.5])),
        (expected, multipliers(privacy=[(False, 1, [0], 0.5)])),
        (expected, multipliers(privacy=[(0, True, [0], 0.5)])),
        (expected, multipliers(privacy=[(0, 1, [False], 0.5)])),
        (expected, multipliers() | {"privacy": {}}),
    ):
        assert refused(bound, table), table
    for path, value in (("constraints", {}), ("privacy", tabled("graph", edges=[[0, True]]))):
        assert refused(Problem, with_changes((path, value), of=GOOD["statement"]))


def test_only_the_owner_of_a_report_can_gain_from_it() -> None:
    own = with_changes(
        ("privacy", tabled("utility_optimized", sensitive=[0])), of=GOOD["statement"]
    )
    own["utility"] = [[0.0, 1.0], [0.0, 0.5]]
    assert Problem(own).bound(multipliers())[0] == F(1, 4)
    assert Problem(own).bound(multipliers("compact", sums=["0x0p+0", "0x0p+0"]))[0] == F(1, 4)


def plain_compact(problem: Problem, costs: Any, duals: list[int]) -> int:
    """The compact bound by its definition, at the least whole shift for which no column is worth
    more than nothing."""
    notion, n = problem.notion, problem.n
    b = power(notion.epsilon, notion.unit)[2]
    duals = list(duals)
    for x, y in product(range(n), range(problem.m)):
        if notion.owner[y] == x or (notion.owner[y] is None and x not in notion.capped):
            duals[x] = max(duals[x], costs[x][y])

    def holds(shift: int) -> bool:
        for y in notion.tied:
            spare = [costs[x][y] - duals[x] - shift for x in range(n)]
            if (S - b) * sum(max(e, 0) for x, e in enumerate(spare)) + b * sum(spare) > 0:
                return False
        return True

    free = len(notion.capped) == n and len(notion.tied) == problem.m and not notion.delta
    low, high = (-1000, 1000) if free else (-1, 1000)
    assert holds(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    over = sum(max(costs[x][y] - duals[x] - high, 0) for x in range(n) for y in notion.tied)
    return sum(duals) + n * high + -((-over * notion.delta) // S)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "privacy",
    [
        tabled(),
        tabled(epsilon=0),
        tabled(epsilon="log(10/9)"),
        tabled("approximate", delta=0.25),
        tabled("approximate", delta=0.1, form="entry"),
        tabled("one_sided", sensitive=[0, 2]),
        tabled("utility_optimized", sensitive=[1]),
        tabled("utility_optimized", sensitive=[1, 2], protected=[0, 1, 2]),
        tabled("metric", distance=[[0, 2, 2], [2, 0, 2], [2, 2, 0]]),
    ],
)
def test_the_compact_bound_is_the_least_integer_that_its_definition_allows(
    privacy: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    statement = with_changes(
        ("inputs", [0, 1, 2]),
        ("outputs", [0, 1, 2]),
        ("utility", [[0.0] * 3] * 3),
        ("privacy", privacy),
        of=WORST,
    )
    problem = Problem(statement)
    costs = rng.integers(-40, 41, (3, 3)).tolist()
    duals = rng.integers(-40, 41, 3).tolist()
    assert problem.compact(costs, list(duals)) == plain_compact(problem, costs, duals)


def test_exit_codes_are_the_worst_of_the_files(tmp_path: Path, capsys: Any) -> None:
    good, bad, none = (tmp_path / name for name in ("good", "bad", "none"))
    good.write_text(json.dumps(GOOD))
    bad.write_text(json.dumps(with_changes(("claim.achieved", "4/5"))))
    none.write_text(json.dumps(with_changes(("format", "ldpopt certificate 2"))))
    for paths, code in (
        ([good], 0),
        ([bad, good], 1),
        ([none, bad, good], 2),
        ([bad, none], 2),
        ([tmp_path], 2),
    ):
        assert checker.main(paths) == code
    said = capsys.readouterr().out
    assert "good: private; expected gain 0.75, bound 0.75, gap" in said
    assert "bad: DOES NOT HOLD: achieved: 0.75 was proved" in said
    assert "none: not a certificate: ValueError" in said


ABSURD = [
    "1e999999999",
    "9" * 4000,
    "0x1p9999",
    "log(1e999999)",
    1e308,
    -1e308,
    5e-324,
    10**399,
    [],
    {},
    [[[]]],
    None,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "path", ["claim.bound", "claim.achieved", "claim.gap", "claim.relative_gap", "mechanism.masses"]
)
@pytest.mark.parametrize("odd", ABSURD, ids=range(len(ABSURD)))
def test_absurd_numbers_are_refused_at_once(path: str, odd: Any) -> None:
    holds = path == "claim.relative_gap" and odd == 5e-324  # within the tolerance
    assert refused(check_program, with_changes((path, odd))) != holds


@pytest.mark.timeout(60)
@pytest.mark.parametrize("odd", ABSURD, ids=range(len(ABSURD)))
def test_absurd_numbers_in_statement_or_multipliers_end_at_once(odd: Any) -> None:
    """Such a number may leave a claim true, as an epsilon of 1e308 would if it were one; it is no
    reason to wait."""
    for path in (
        "statement.utility",
        "statement.prior",
        "statement.privacy.epsilon",
        "multipliers.row_sums",
    ):
        given = with_changes((path, odd))
        assert refused(check_program, given), path
    for place in ("statement.utility.0.0", "multipliers.row_sums.0"):
        data = with_changes()
        table, _, key = place.rpartition(".")
        part = data
        for name in table.split("."):
            part = part[int(name) if name.isdigit() else name]
        part[int(key)] = odd
        refused(check_program, data)


def test_claims_beyond_the_floats_are_refused_in_words() -> None:
    with pytest.raises(checker.ClaimError, match="more than 1e308"):
        check_program(with_changes(("claim.gap", "9" * 4000), ("claim.bound", "9" * 4000 + "/2")))
