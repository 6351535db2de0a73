"""The schema of model files, table by table; everything else is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ldpopt.errors import ModelFileError
from ldpopt.foundation.labels import suggestion
from ldpopt.privacy.notion import KINDS
from ldpopt.problem.modelfile.text import Key, Page, dotted, short

Label = str | int | float
S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A table with fixed keys, without conversion of types and without nan."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class StatedAlphabet(Section):
    """``[alphabet]``: labels; outputs default to the inputs."""

    inputs: list[Label] | None = Field(default=None, min_length=1)
    outputs: list[Label] | None = Field(default=None, min_length=1)


class StatedPrior(Section):
    """``[prior]``: one of four forms."""

    dataset: str | None = None
    values: list[float] | None = None
    weights: dict[str, float] | None = None
    uniform: Literal[True] | None = None


class StatedUtility(Section):
    """``[utility]``: a name, with or without values of the labels, or a matrix."""

    kind: str | None = None
    values: list[float] | None = None
    outputs: list[float] | None = None
    gain: list[list[float]] | None = None
    loss: list[list[float]] | None = None


class StatedUnbiased(Section):
    """``[[constraints]]`` of kind ``unbiased``: values, or numeric labels."""

    kind: str
    values: list[float] | None = None
    outputs: list[float] | None = None


class StatedLinear(Section):
    """``[[constraints]]`` of kind ``linear``: bounds of one sum over the channel."""

    kind: str
    coefficients: list[list[float]]
    lower: float | None = None
    upper: float | None = None
    name: str = "linear"


class StatedOrder(Section):
    """``[workload]`` of kind ``frequencies``, ``prefix`` or ``ranges``: the alphabet says all."""

    kind: str
    weight: float = 1.0


class StatedMean(Section):
    """``[workload]`` of kind ``mean``: values, by order or by label, or numeric labels."""

    kind: str
    values: list[float] | dict[str, float] | None = None
    weight: float = 1.0


class StatedMeans(Section):
    """``[workload]`` of kind ``means``: values of each, by name."""

    kind: str
    values: dict[str, list[float] | dict[str, float]] = Field(min_length=1)
    weight: float = 1.0


class StatedMarginals(Section):
    """``[workload]`` of kind ``marginals``: attributes with their numbers of values, or with these."""

    kind: str
    shape: list[int | list[Label]] | dict[str, int | list[Label]] = Field(min_length=1)
    k: int
    weight: float = 1.0


class StatedRows(Section):
    """``[workload]`` of kind ``matrix``: rows with names beside them, or by name."""

    kind: str
    rows: list[list[float]] | dict[str, list[float] | dict[str, float]] = Field(min_length=1)
    names: list[Label] | None = None
    weight: float = 1.0


class StatedStack(Section):
    """``[[workload.part]]``: the rows of several workloads."""

    part: list[dict[str, Any]] = Field(min_length=1)


class StatedSolver(Section):
    """``[solver]``."""

    name: str = "auto"
    time_limit: float | None = Field(default=None, gt=0)


class StatedExpect(Section):
    """``[expect]``: the value of the utility, the variance of the workload, and their tolerance."""

    value: float | None = None
    variance: float | None = None
    tolerance: float = Field(default=1e-9, ge=0)


class StatedFile(Section):
    """A whole file; privacy and constraints are checked by kind afterwards."""

    title: str = ""
    source: str = ""
    objective: Literal["expected", "average", "worst_case"] = "expected"
    alphabet: StatedAlphabet = StatedAlphabet()
    prior: StatedPrior | None = None
    utility: StatedUtility | None = None
    workload: dict[str, Any] | None = None
    privacy: dict[str, Any]
    constraints: list[dict[str, Any]] = []
    solver: StatedSolver = StatedSolver()
    expect: StatedExpect | None = None


CONSTRAINTS: dict[str, type[Section]] = {"unbiased": StatedUnbiased, "linear": StatedLinear}
WORKLOADS: dict[str, type[Section]] = {
    "frequencies": StatedOrder,
    "prefix": StatedOrder,
    "ranges": StatedOrder,
    "mean": StatedMean,
    "means": StatedMeans,
    "marginals": StatedMarginals,
    "matrix": StatedRows,
}
TABLES: dict[str, tuple[type[Section], ...]] = {
    "alphabet": (StatedAlphabet,),
    "prior": (StatedPrior,),
    "utility": (StatedUtility,),
    "workload": (*WORKLOADS.values(), StatedStack),
    "constraints": tuple(CONSTRAINTS.values()),
    "solver": (StatedSolver,),
    "expect": (StatedExpect,),
}


def check(page: Page, schema: type[S], data: Any, *key: str | int) -> S:
    """Validate a table against its schema, or refuse it with the most specific of the errors."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
    # A misspelled key is missing under its right name too: the misspelling is the news.
    found.sort(key=lambda e: {"extra_forbidden": 0, "missing": 2}.get(e["type"], 1))
    first = found[0]
    place, value = _place(data, first["loc"])
    if first["type"] == "extra_forbidden":
        raise _unknown(page, (*key, *place), schema)
    if first["type"] == "missing":
        place = (*place, str(first["loc"][-1]))
        raise page.error((*key, *place), f"the key {dotted((*key, *place))} is missing", "add it")
    same = [e["msg"] for e in found if _place(data, e["loc"])[0] == place and e["type"] != "missing"]
    wanted = " or ".join(dict.fromkeys(message.removeprefix("Input should be ") for message in same))
    what = f"{dotted((*key, *place))} = {short(value)}: should be {wanted}"
    raise page.error((*key, *place), what, "see `Model files` in the documentation")


def _place(data: Any, location: Iterable[Any]) -> tuple[Key, Any]:
    """Follow a location as long as it exists in the file: pydantic adds names of union members to it."""
    place: Key = ()
    for part in location:
        if (isinstance(data, dict) and part in data) or (isinstance(data, list) and isinstance(part, int)):
            place, data = (*place, part), data[part]
    return place, data


def _unknown(page: Page, key: Key, schema: type[Section]) -> ModelFileError:
    """Refuse a key that is unknown to the schema, or to an inner schema."""
    inner = schema
    for part in key[:-1]:
        field = inner.model_fields.get(str(part))
        annotation = field.annotation if field else None
        forms = [form for form in (*get_args(annotation), annotation) if _is_schema(form)]
        inner = forms[0] if forms else inner
    return unknown_key(page, key, inner.model_fields)


def unknown_key(page: Page, key: Key, names: Iterable[str]) -> ModelFileError:
    """Name the nearest known key, or the table that the key belongs to."""
    name, known = str(key[-1]), sorted(names)
    near = suggestion(name, known)
    home = [f"[{table}]" for table, forms in TABLES.items() if any(name in form.model_fields for form in forms)]
    home += ["[privacy]"] if name in set().union(*(notion.keys() for notion in KINDS.values())) else []
    home = ["the top of the file"] if name in StatedFile.model_fields and len(key) > 1 else home
    hint = near or (f"it belongs to {' or '.join(home)}; " if home else "")
    if not hint and key[:-1] == ("prior",):
        hint = f'answers stand in a table of weights: weights = {{"{name[:30]}" = 0.3, ...}}; '
    return page.error(key, f"unknown key {name!r}", f"{hint}known here: {', '.join(known)}")


def _is_schema(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, Section)
