"""The tables of a model file: their keys and values, and the objects that they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import label_numbers, nearest, suggestion
from ldpopt.foundation.numbers import short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import KINDS
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem import constraints
from ldpopt.problem import utility as utilities
from ldpopt.problem.modelfile.page import Key, Page, dotted
from ldpopt.problem.utility import Utility
from ldpopt.problem.workload import Workload

MAX_NUMBERED = 10**7  # largest alphabet that is given by its size

Label = str | int | float
Labels = list[Any]
Numbers = list[float]
S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A table with fixed keys, without conversion of types and without nan."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: Any) -> Any:
        for key in table if isinstance(table, dict) else ():
            if key not in cls.model_fields:
                raise _unknown(key, cls.model_fields, is_top=cls is ModelFile)
        return table

    def require_one_of(self, name: str, *forms: str) -> None:
        """Require exactly one of some keys."""
        if len(stated := [form for form in forms if getattr(self, form) is not None]) != 1:
            problem = (
                f"[{name}] has {' and '.join(stated)} at once" if stated else f"[{name}] is empty"
            )
            raise wrong_value(
                problem,
                f"give one of {', '.join(forms)}",
                key=stated[1] if stated else "",
                code="forms" if stated else "empty-table",
            )


class AlphabetTable(Section):
    """``[alphabet]``: labels, or the number of inputs 0, 1, 2, ...; outputs default to the
    inputs.
    """

    inputs: list[Label] | None = Field(default=None, min_length=1)
    outputs: list[Label] | None = Field(default=None, min_length=1)

    @field_validator("inputs", mode="before")
    @classmethod
    def _list_numbered(cls, value: Any) -> Any:
        if type(value) is not int:
            return value
        if not 2 <= value <= MAX_NUMBERED:
            raise wrong_value(
                f"{value} is not a number of answers",
                f"give a number from 2 to {MAX_NUMBERED}, or labels",
                code="number-of-answers",
            )
        return list(range(value))


class PriorTable(Section):
    """``[prior]``: one of four forms."""

    dataset: str | None = None
    values: Numbers | None = None
    weights: dict[str, float] | None = None
    uniform: Literal[True] | None = None

    @model_validator(mode="after")
    def _check(self) -> PriorTable:
        self.require_one_of("prior", "dataset", "values", "weights", "uniform")
        return self


class UtilityTable(Section):
    """``[utility]``: a kind, perhaps with numbers of the labels, or a matrix."""

    kind: str | None = None
    values: Numbers | None = None
    outputs: Numbers | None = None
    gain: list[Numbers] | None = None
    loss: list[Numbers] | None = None

    @model_validator(mode="after")
    def _check(self) -> UtilityTable:
        self.require_one_of("utility", "kind", "gain", "loss")
        if self.kind is not None and self.kind not in utilities.NAMED:
            raise wrong_value(
                f"unknown kind {self.kind!r}",
                nearest(self.kind, utilities.NAMED),
                key="kind",
                code="kind",
            )
        if self.kind in (None, "identity"):
            form = (
                "kind = 'identity'"
                if self.kind
                else "a gain matrix"
                if self.gain is not None
                else "a loss matrix"
            )
            for key in ("values", "outputs"):
                if getattr(self, key) is not None:
                    raise wrong_value(
                        f"{key} has no effect together with {form}",
                        f"remove {key}",
                        key=key,
                        code="unused-key",
                    )
        elif self.outputs is not None and self.values is None:
            raise wrong_value(
                "outputs needs values too",
                "add the numbers of the inputs as values",
                key="outputs",
                code="missing-values",
            )
        return self

    def read(self) -> str | Utility:
        """Name of the utility, or the utility itself if there are numbers."""
        if self.kind is None:
            matrix: Any = self.loss if self.gain is None else self.gain
            return Utility(matrix, "loss" if self.gain is None else "gain")
        return (
            self.kind
            if self.values is None
            else utilities.NAMED[self.kind](self.values, self.outputs)
        )


class UnbiasedTable(Section):
    """``[[constraints]]`` of kind ``unbiased``: values, or numeric labels."""

    kind: Literal["unbiased"]
    values: Numbers | None = None
    outputs: Numbers | None = None

    def read(self, inputs: Labels, outputs: Labels) -> RowBlock:
        """Rows of the constraint."""
        values = numbers_of_labels(self.values, inputs, "values")
        return constraints.unbiased(values, numbers_of_labels(self.outputs, outputs, "outputs"))


class LinearTable(Section):
    """``[[constraints]]`` of kind ``linear``: bounds of one sum over the channel."""

    kind: Literal["linear"]
    coefficients: list[Numbers]
    lower: float = -math.inf
    upper: float = math.inf
    name: str = "linear"

    def read(self, inputs: Labels, outputs: Labels) -> RowBlock:
        """The row of the constraint."""
        return constraints.linear(self.coefficients, self.lower, self.upper, self.name)


class WorkloadSection(Section):
    """``[workload]`` of any kind, with a factor of its numbers."""

    weight: float = 1.0


class OrderTable(WorkloadSection):
    """``[workload]`` that needs the answers only; its kind is the name of a class method of
    `Workload`.
    """

    kind: Literal["frequencies", "prefix", "ranges"]

    def read(self, inputs: Labels) -> Workload:
        """The workload about the inputs."""
        workload: Workload = getattr(Workload, self.kind)(inputs)
        return workload


class MeanTable(WorkloadSection):
    """``[workload]`` of kind ``mean``: values, by order or by label, or numeric labels."""

    kind: Literal["mean"]
    values: Numbers | dict[str, float] | None = None

    def read(self, inputs: Labels) -> Workload:
        """The workload about the inputs."""
        return Workload.mean(
            _in_order(numbers_of_labels(self.values, inputs, "values"), inputs, "values"), inputs
        )


class MeansTable(WorkloadSection):
    """``[workload]`` of kind ``means``: values of each, by name."""

    kind: Literal["means"]
    values: dict[str, Numbers | dict[str, float]] = Field(min_length=1)

    def read(self, inputs: Labels) -> Workload:
        """The workload about the inputs."""
        rows: dict[Hashable, Any] = {
            name: _in_order(row, inputs, "values", name) for name, row in self.values.items()
        }
        return Workload.means(rows, inputs)


class MarginalsTable(WorkloadSection):
    """``[workload]`` of kind ``marginals``: attributes with the numbers of their values, or with
    these.
    """

    kind: Literal["marginals"]
    shape: list[int | list[Label]] | dict[str, int | list[Label]] = Field(min_length=1)
    k: int

    def read(self, inputs: Labels) -> Workload:
        """The workload about the inputs."""
        shape: Any = self.shape
        return Workload.marginals(shape, self.k, inputs)


class RowsTable(WorkloadSection):
    """``[workload]`` of kind ``matrix``: rows with names beside them, or by name."""

    kind: Literal["matrix"]
    rows: list[Numbers] | dict[str, Numbers | dict[str, float]] = Field(min_length=1)
    names: list[Label] | None = None

    def read(self, inputs: Labels) -> Workload:
        """The workload about the inputs."""
        if not isinstance(self.rows, Mapping):
            return Workload(self.rows, inputs, self.names)
        if self.names is not None:
            raise StatementError(
                "names has no effect together with rows by name", do="remove names"
            )
        rows: dict[Hashable, Any] = {
            name: _in_order(row, inputs, "rows", name) for name, row in self.rows.items()
        }
        return Workload.means(rows, inputs)


WorkloadTable = Annotated[
    OrderTable | MeanTable | MeansTable | MarginalsTable | RowsTable, Field(discriminator="kind")
]
ConstraintTable = Annotated[UnbiasedTable | LinearTable, Field(discriminator="kind")]


Divergence = Literal["kl", "total_variation", "chi_square", "squared_hellinger"]


class TestTable(Section):
    """``[test]``: two distributions of the answers, in the order of the alphabet or by label, and
    what is asked of the test.
    """

    __test__ = False  # pytest collects classes of this name

    first: Numbers | dict[str, float]
    second: Numbers | dict[str, float]
    level: float = Field(default=0.05, gt=0, lt=1)
    power: float = Field(default=0.9, gt=0, lt=1)
    kind: Divergence = "kl"


class SolverTable(Section):
    """``[solver]``."""

    name: str = "auto"
    time_limit: float | None = Field(default=None, gt=0)


class ExpectTable(Section):
    """``[expect]``: the value of the utility, the variance of the workload, and their tolerance."""

    value: float | None = None
    variance: float | None = None
    tolerance: float = Field(default=1e-9, ge=0)

    @model_validator(mode="after")
    def _check(self) -> ExpectTable:
        if self.value is None and self.variance is None:
            raise wrong_value(
                "[expect] is empty", "give value, or variance for a workload", code="empty-table"
            )
        return self


class ModelFile(Section):
    """A whole file; `ldpopt.privacy` reads the table of the notion."""

    title: str = ""
    source: str = ""
    objective: Literal["expected", "average", "worst_case"] = "expected"
    alphabet: AlphabetTable = AlphabetTable()
    prior: PriorTable | None = None
    utility: UtilityTable | None = None
    workload: list[WorkloadTable] = []
    test: TestTable | None = None
    privacy: dict[str, Any]
    constraints: list[ConstraintTable] = []
    solver: SolverTable = SolverTable()
    expect: ExpectTable | None = None

    @field_validator("workload", mode="before")
    @classmethod
    def _parts(cls, table: Any) -> Any:
        """A workload is a list of parts, one if it is a single table."""
        if not isinstance(table, dict) or "part" not in table:
            return [table]
        for key in table:
            if key != "part":
                raise _unknown(key, ["part"])
        if not isinstance(table["part"], list) or not table["part"]:
            raise wrong_value(
                f"workload.part = {_short(table['part'])}: should be a list of tables",
                "",
                key="part",
                code="type",
            )
        return table["part"]

    @property
    def has_utility(self) -> bool:
        """Whether single reports have a utility: the identity, if the file has neither a utility
        nor a workload nor two distributions to test.
        """
        return self.utility is not None or not (self.workload or self.test)

    @model_validator(mode="after")
    def _check(self) -> ModelFile:
        """Refuse tables that contradict each other, and a missing prior."""
        if self.objective == "worst_case" and self.prior is not None:
            raise wrong_value(
                "a worst case has no prior",
                'remove [prior], or write objective = "expected"',
                key="prior",
                code="worst-case-prior",
            )
        if self.objective != "worst_case" and self.prior is None and self.has_utility:
            do = 'add [prior], or write objective = "worst_case" at the top of the file'
            raise wrong_value("the table [prior] is missing", do, key="prior", code="missing-prior")
        if self.objective == "average" and not self.workload:
            do = 'write "expected", or add [workload]'
            raise wrong_value(
                'objective = "average" is for a workload', do, key="objective", code="objective"
            )
        if not self.has_utility:
            do = "remove this key, or add [utility]"
            if self.alphabet.outputs:
                raise wrong_value(
                    "the reports of a design are found, not given", do, key="alphabet.outputs"
                )
            if self.constraints:
                raise wrong_value(
                    "constraints are for a utility, and this model has none",
                    do,
                    key="constraints",
                    code="objective-parts",
                )
            if self.solver.name != "auto":
                raise wrong_value(
                    "a workload needs no solver", do, key="solver.name", code="solver"
                )
        if self.expect is not None and self.expect.variance is not None:
            if not self.workload:
                raise wrong_value(
                    "variance is for a workload, and this model has none",
                    "give value",
                    key="expect.variance",
                )
            if not self.has_utility and self.expect.value is not None:
                problem = "value is for a utility, and this model has none"
                raise wrong_value(problem, "give variance only", key="expect.value")
        return self


def numbers_of_labels(stated: Any, labels: Labels, name: str) -> Any:
    """The given numbers, one for each label; else the labels themselves, if they are numbers."""
    if stated is None:
        if (numbers := label_numbers(labels)) is None:
            raise StatementError(
                f"{name} is missing, and the labels are not numbers",
                code="numbers",
                do=f"add {name}",
            )
        return numbers
    if len(stated) != len(labels):
        problem = f"{name} has {len(stated)} entries for {len(labels)} labels"
        raise StatementError(problem, code="entries", do="give one entry for each label")
    return stated


def _in_order(row: Any, inputs: Labels, *key: str) -> Numbers:
    """Numbers in the order of the answers; the keys of a TOML table are text."""
    if not isinstance(row, Mapping):
        if len(row) != len(inputs):
            problem = f"{len(row)} numbers for {len(inputs)} answers"
            raise MisstatedError(problem, *key, do="write one number for each answer")
        return list(row)
    known = {str(label): label for label in inputs}
    unknown = [name for name in row if name not in known]
    missing = [name for name in known if name not in row]
    if unknown:
        problem = f"{short_repr(unknown[0])} is not an answer"
        raise MisstatedError(problem, *key, unknown[0], do=nearest(unknown[0], known))
    if missing:
        raise MisstatedError(
            f"the answer {short_repr(missing[0])} has no number", *key, do="add a number"
        )
    return [row[name] for name in known]


def check(page: Page, schema: type[S], data: Any, *key: str | int) -> S:
    """Validate a table, or refuse it with the most specific of the errors."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # A misspelled required key gives two errors, "unknown" and "missing": the first one is
    # reported.
    errors.sort(key=lambda e: {"unknown": 0, "missing": 2}.get(e["type"], 1))
    first = errors[0]
    place, value = _place(data, first["loc"])
    if first["type"] in ("unknown", "wrong"):
        inner = first["ctx"]["key"]
        place = (
            (*place, *(inner.split(".") if first["type"] == "wrong" else [inner]))
            if inner
            else place
        )
        refusal = first["ctx"]
        raise page.error((*key, *place), refusal["what"], refusal["do"], code=refusal["code"])
    if first["type"] in ("union_tag_not_found", "union_tag_invalid"):
        raise _wrong_kind(page, (*key, *place), value)
    if first["type"] == "missing":
        place = (*place, str(first["loc"][-1]))
        raise page.error(
            (*key, *place),
            f"the key {dotted((*key, *place))} is missing",
            "add the key",
            code="missing-key",
        )
    same = [
        e["msg"] for e in errors if _place(data, e["loc"])[0] == place and e["type"] != "missing"
    ]
    wanted = " or ".join(
        dict.fromkeys(message.removeprefix("Input should be ") for message in same)
    )
    wanted = re.sub("a valid dictionary( or object to extract fields from)?", "a table", wanted)
    wanted = re.sub(r" or instance of \w+", "", wanted)  # the name of a class helps nobody
    wanted = re.sub(
        "List should have (at .* items?) after validation, not .*", r"a list of \1", wanted
    )
    problem = f"{dotted((*key, *place))} = {_short(value)}: should be {wanted}"
    do = "see `Model files` in the documentation, or for a survey `The questionnaire`"
    raise page.error((*key, *place), problem, do, code="type")


def wrong_value(
    problem: str, do: str = "", *, key: str = "", code: str = ""
) -> PydanticCustomError:
    """Error of a validator; ``key`` leads to the value from the table, with dots."""
    return PydanticCustomError(
        "wrong", "{what}", {"what": problem, "do": do, "key": key, "code": code}
    )


def _unknown(key: str, known: Iterable[str], *, is_top: bool = False) -> PydanticCustomError:
    """Error of a validator for an unknown key."""
    problem, do = unknown_key(key, known, is_top=is_top)
    return PydanticCustomError(
        "unknown", "{what}", {"what": problem, "do": do, "key": key, "code": "unknown-key"}
    )


def _place(data: Any, location: Iterable[Any]) -> tuple[Key, Any]:
    """Follow a location as far as it exists in the file: pydantic adds kinds and types to it."""
    place: Key = ()
    for part in location:
        if isinstance(part, int) and isinstance(data, dict) and "part" in data:  # of a workload
            place, data = (*place, "part"), data["part"]
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int)
        ):
            place, data = (*place, part), data[part]
    return place, data


def _wrong_kind(page: Page, key: Key, table: Any) -> Any:
    """Error for a table without a known kind."""
    name = str(key[0])
    kind = table.get("kind")
    known = [kind for form in FORMS[name] for kind in kinds_of(form)]
    if not isinstance(kind, str):
        problem = f"the key {dotted((*key, 'kind'))} is missing or not a text"
        do = f"give one of {', '.join(known)}"
        code = "missing-kind"
    else:
        problem = f"unknown {name.removesuffix('s')} {kind!r}"
        do = nearest(kind, known)
        code = "kind"
    return page.error((*key, "kind"), problem, do, code=code)


def kinds_of(form: type[Section]) -> tuple[str, ...]:
    """The kinds of a form that has some."""
    return get_args(form.model_fields["kind"].annotation)


FORMS: dict[str, tuple[type[Section], ...]] = {
    "alphabet": (AlphabetTable,),
    "prior": (PriorTable,),
    "utility": (UtilityTable,),
    "workload": get_args(get_args(WorkloadTable)[0]),
    "constraints": get_args(get_args(ConstraintTable)[0]),
    "solver": (SolverTable,),
    "expect": (ExpectTable,),
    "test": (TestTable,),
}
"""Forms of each table."""


def unknown_key(name: str, names: Iterable[str], *, is_top: bool = False) -> tuple[str, str]:
    """Message and advice for an unknown key: the nearest known one, or the table that it belongs
    to.
    """
    known = sorted(names)
    if not (hint := suggestion(name, known)):
        home = [
            f"[{table}]"
            for table, forms in FORMS.items()
            if any(name in form.model_fields for form in forms)
        ]
        home += (
            ["[privacy]"]
            if name in set().union(*(notion.keys() for notion in KINDS.values()))
            else []
        )
        home = ["the top of the file"] if name in ModelFile.model_fields and not is_top else home
        hint = f"it belongs to {' or '.join(home)}; " if home else ""
    if not hint and known == sorted(PriorTable.model_fields):
        hint = f'weights of answers are a table: weights = {{"{name[:30]}" = 0.3, ...}}; '
    return f"unknown key {name!r}", f"{hint}known here: {', '.join(known)}"


def _short(value: Any) -> str:
    """A value of a file in at most 60 characters."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:56] + " ..."
