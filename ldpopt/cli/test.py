"""The command test: which of two distributions the answers have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option
from ldpopt.cli.printing import audit_data, require_expected, show, working
from ldpopt.foundation.display import Facts, Part

if TYPE_CHECKING:
    from ldpopt.auditing.divergence import Audit
    from ldpopt.hypotheses import BinaryTest


def test(
    model: options.ModelPath,
    reports: Annotated[
        str | None,
        typer.Argument(
            metavar="[REPORTS]",
            help="CSV or Parquet table of reports; without it the test is planned.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str | None, option("--column NAME", "Column of the reports in the table.")
    ] = None,
    epsilon: options.Epsilon = None,
    level: Annotated[
        float | None,
        options.share_option(
            "--level P",
            "Chance, at most, to reject the first distribution if it holds (default: the model's, "
            "else .05).",
        ),
    ] = None,
    power: Annotated[
        float | None,
        options.share_option(
            "--power P",
            "Chance, at least, to reject it if the second holds (default: the model's, else .9).",
        ),
    ] = None,
    kind: Annotated[
        Literal["kl", "total_variation", "chi_square", "squared_hellinger"] | None,
        typer.Option(
            help="Divergence of the reports that is as large as possible (default: the model's, "
            "else kl)."
        ),
    ] = None,
    output: Annotated[str | None, new_file("-o --output FILE", "Mechanism as JSON.")] = None,
    json: options.Json = None,
) -> None:
    """Test which of two distributions the answers have.

    The model has a table [test] with first and second, perhaps with level, power and kind, and a
    budget. No private mechanism tells the two apart better than the one that is chosen; `privatize`
    draws with the file of -o. Prints how many people the exact test needs, and with reports its
    p-value. Exit code 1 if the divergence is not that of the [expect] of a model without a utility.
    """
    from ldpopt.hypotheses import best
    from ldpopt.mechanism.files import write_mechanism

    loaded = options.read_model_at(model, epsilon)
    stated = loaded.require_hypotheses(model)
    level = stated.level if level is None else level
    power = stated.power if power is None else power
    chosen_kind = kind or stated.kind
    if (reports is None) != (column is None):
        missing = "--column NAME" if column is None else "a table of reports"
        raise typer.BadParameter(f"reports need a table and a column: name {missing}")
    with working(f"searching the best mechanism for {Path(model).name}"):
        first, second = (
            dict(zip(stated.inputs, shares.tolist(), strict=True))
            for shares in (stated.first, stated.second)
        )
        chosen = best(first, second, stated.privacy, kind=chosen_kind)
        people = chosen.people(level, power)
        audit = chosen.mechanism.audit(stated.privacy)
    data = _data(chosen, people, level, power, audit)
    parts = _parts(chosen, people, level, power)
    if reports is not None and column is not None:
        result = chosen.test(_counts(chosen, reports, column), level=level)
        data["result"] = {"p_value": result.p_value, "statistic": result.statistic}
        data["result"] |= {"power": result.power, "is_significant": result.is_significant}
        parts = [*result.facts().parts, *parts]
    if output is not None:
        write_mechanism(chosen.mechanism, output, loaded.title, audit, stated.privacy)
    show(Facts(loaded.title or model, parts), data, json)
    if chosen_kind == stated.kind and loaded.problem is None:
        require_expected(loaded, data["divergence"], "value")


def _counts(chosen: BinaryTest, reports: str, column: str) -> Any:
    """Count a column of a table of reports."""
    from ldpopt.estimation.counts import Counts
    from ldpopt.tables.files import require_csv

    require_csv([reports])
    with working(f"counting {Path(reports).name}"):
        return Counts.of(chosen.mechanism, reports, column=column)


def _data(
    chosen: BinaryTest, people: int, level: float, power: float, audit: Audit
) -> dict[str, Any]:
    """The test as JSON data."""
    assert chosen.optimum is not None
    sequential = chosen.sequential(level, power).expected_people
    return {
        "people": people,
        "level": level,
        "power": power,
        "exact_power": chosen.power(people, level),
        "sequential_people": list(sequential),
        "divergence": chosen.optimum.value,
        "bound": float(chosen.optimum.bound),
        "mechanism": chosen.mechanism.to_dict(),
        "audit": audit_data(audit),
    }


def _parts(chosen: BinaryTest, people: int, level: float, power: float) -> list[Part]:
    """What is printed of a test."""
    asked = f"{people:,} for level {100 * level:g} % and power {100 * power:g} %"
    exact = f"{chosen.power(people, level):.4f} with so many"
    first, second = chosen.sequential(level, power).expected_people
    mean = f"{first:,.0f} if the first holds, {second:,.0f} if the second does (in the mean, about)"
    assert chosen.optimum is not None
    return [
        ("people", asked),
        ("power", exact),
        ("people, if reports are read one by one", mean),
        ("divergence", chosen.optimum.value),
        ("bound", float(chosen.optimum.bound)),
        *chosen.mechanism.facts().parts,
    ]
