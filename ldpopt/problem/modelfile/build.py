"""Build the problems of a checked file, part by part, so that each error names its key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import from_table, installed, notion_of
from ldpopt.problem import constraints, datasets
from ldpopt.problem import utility as utilities
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.schema import (
    CONSTRAINTS,
    Section,
    StatedFile,
    StatedLinear,
    StatedUnbiased,
    StatedUtility,
    check,
    unknown_key,
)
from ldpopt.problem.modelfile.text import Key, Page, dotted
from ldpopt.problem.modelfile.workload import numbers_behind, read_workload, stated_inputs
from ldpopt.problem.prior import read_prior
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility


class Builder:
    """Builds a `Problem`, a `DesignProblem` or both from a checked file, part by part: each error names its key."""

    def __init__(self, page: Page, stated: StatedFile) -> None:
        self.page, self.stated = page, stated
        self.has_utility = stated.utility is not None or stated.workload is None
        self.utility = stated.utility or StatedUtility(kind="identity")
        self._require_fitting()
        self.given_prior = self._only("prior", stated.prior, ("dataset", "values", "weights", "uniform"))
        self.given_utility = self._only("utility", self.utility, ("kind", "gain", "loss"))
        with page.at("prior", "dataset"):
            self.dataset = datasets.load(self.given_prior[1]) if self.given_prior[0] == "dataset" else None
        self.inputs = self._inputs()
        self.outputs = stated.alphabet.outputs

    def _require_fitting(self) -> None:
        """Refuse tables that say nothing beside each other, and a prior that is missing."""
        stated, error = self.stated, self.page.error
        if stated.objective == "worst_case" and stated.prior is not None:
            do = 'remove [prior], or state objective = "expected"'
            raise error(("prior",), "a worst case has no prior", do)
        if stated.objective != "worst_case" and stated.prior is None and self.has_utility:
            do = 'add [prior], or state objective = "worst_case" at the top of the file'
            raise error(("prior",), "the table [prior] is missing", do)
        if stated.objective == "average" and stated.workload is None:
            raise error(
                ("objective",), 'objective = "average" is for a workload', 'state "expected", or add [workload]'
            )
        if self.has_utility:
            return
        useless: tuple[tuple[Key, Any, str], ...] = (
            (("alphabet", "outputs"), stated.alphabet.outputs, "the reports of a design are found, not stated"),
            (("constraints",), stated.constraints, "constraints are for a utility, and this model has none"),
            (("solver", "name"), stated.solver.name != "auto", "a workload needs no solver"),
        )
        for key, given, what in useless:
            if given:
                raise error(key, what, "remove it, or add [utility]")

    def design(self) -> DesignProblem | None:
        """Build what is to be estimated, if the file states it."""
        if self.stated.workload is None:
            return None
        weights = None if self.given_prior[0] in ("", "uniform") else self._prior()
        workload = read_workload(self.page, self.stated.workload, self.inputs)
        objective: Any = "worst_case" if self.stated.objective == "worst_case" else "average"
        with self.page.at("prior"):
            return DesignProblem(workload, self._privacy(), weights, objective)

    def problem(self) -> Problem | None:
        """Build the parts, then the problem, unless the file states a workload and no utility."""
        if not self.has_utility:
            return None
        prior = None if self.stated.prior is None else self._prior()
        utility, privacy = self._utility(), self._privacy()
        rows = tuple(self._constraint(i, constraint) for i, constraint in enumerate(self.stated.constraints))
        with self.page.at():
            return Problem(
                prior,
                utility,
                privacy,
                inputs=self.inputs,
                outputs=self.outputs,
                objective="worst_case" if self.stated.objective == "worst_case" else "expected",
                constraints=rows,
            )

    def _only(self, name: str, section: Section | None, choices: tuple[str, ...]) -> tuple[str, Any]:
        """Return the name of the only stated form of a table."""
        if section is None:
            return "", None
        stated = [choice for choice in choices if getattr(section, choice) is not None]
        if len(stated) != 1:
            what = f"[{name}] states {' and '.join(stated)} at once" if stated else f"[{name}] is empty"
            raise self.page.error((name, *stated[1:2]), what, f"state one of {', '.join(choices)}")
        return stated[0], getattr(section, stated[0])

    def _inputs(self) -> list[Any]:
        """Labels: stated, or those of the prior, or 0, 1, 2, ... as many as there are numbers."""
        form, value = self.given_prior
        if self.stated.alphabet.inputs is not None:
            return list(self.stated.alphabet.inputs)
        if self.dataset is not None:
            return list(self.dataset.labels)
        if form == "weights":
            return list(value)
        sized = value if form == "values" else self.given_utility[1]
        if isinstance(sized, str):
            sized = self.utility.values
        with self.page.at("workload"):
            found = None if sized or self.stated.workload is None else stated_inputs(self.stated.workload)
        if found is not None:
            return found
        if not sized:
            do = "state the labels of the answers"
            raise self.page.error(("alphabet", "inputs"), "the key alphabet.inputs is missing", do)
        return list(range(len(sized)))

    def _prior(self) -> Any:
        """Probabilities as a list, or weights by label."""
        form, value = self.given_prior
        if form == "uniform":
            return [1 / len(self.inputs)] * len(self.inputs)
        if form != "values":
            return self._weights(form, value if form == "weights" else self._counts())
        if len(value) != len(self.inputs):
            what = f"the prior has {len(value)} values for {len(self.inputs)} inputs"
            raise self.page.error(("prior", "values"), what)
        return value

    def _weights(self, form: str, weights: dict[str, Any]) -> dict[Any, Any]:
        """Weights by label. The keys of a TOML table are text: a label that is a number is named as it is written."""
        found = {str(label): label for label in self.inputs}
        for key, weight in weights.items():
            if weight < 0 and key in found:
                raise self.page.error(("prior", form, key), f"the weight of {key!r} is {weight}, below zero")
        named = {found.get(key, key): weight for key, weight in weights.items()}
        try:
            read_prior(named, self.inputs)
        except StatementError as error:
            raise self.page.error(("prior", form), error.what, error.do) from None
        return named

    def _counts(self) -> dict[str, int]:
        assert self.dataset is not None
        return dict(zip(map(str, self.dataset.labels), self.dataset.counts.tolist(), strict=True))

    def _utility(self) -> str | Utility:
        """Name of the utility, or the utility itself where numbers are stated."""
        form, value = self.given_utility
        with self.page.at("utility"):
            if form == "kind":
                return self._named_utility(value)
            self._refuse_numbers(f"a {form} matrix")
            return utilities.table(value, "gain" if form == "gain" else "loss")

    def _named_utility(self, kind: str) -> str | Utility:
        stated = self.utility
        if kind not in utilities.NAMED:
            raise StatementError(f"unknown kind {kind!r}", do=nearest(kind, utilities.NAMED))
        if kind == "identity":
            self._refuse_numbers("kind = 'identity'")
        elif stated.values is not None:
            build = utilities.absolute_error if kind == "absolute_error" else utilities.squared_error
            return build(stated.values, stated.outputs)
        elif stated.outputs is not None:
            raise StatementError("outputs needs values too", do="add the numbers of the inputs as values")
        return kind

    def _refuse_numbers(self, beside: str) -> None:
        """Refuse values and outputs for a utility that does not use them."""
        for key in ("values", "outputs"):
            if getattr(self.utility, key) is not None:
                raise StatementError(f"{key} has no effect together with {beside}", do=f"remove {key}")

    def _privacy(self) -> Any:
        """Build the notion by the one codec; its unknown keys may belong to other tables."""
        data = self.stated.privacy
        self._kind(data, ("privacy",), installed)
        with self.page.at("privacy"):
            known = notion_of(data["kind"]).keys()
            for key in data:
                if key not in ("kind", *known):
                    raise unknown_key(self.page, ("privacy", key), known)
            privacy = from_table(data, self.inputs)
            if self.outputs is not None or self.given_utility[0] == "kind":
                privacy.check(self.inputs, self.outputs or self.inputs)
            return privacy

    def _kind(self, data: dict[str, Any], key: Key, known: Callable[[], Iterable[str]]) -> str:
        kind = data.get("kind")
        if not isinstance(kind, str):
            what = f"the key {dotted((*key, 'kind'))} is missing or no text"
            raise self.page.error((*key, "kind"), what, f"state kind as one of {', '.join(known())}")
        return kind

    def _constraint(self, place: int, data: dict[str, Any]) -> RowBlock:
        key: Key = ("constraints", place)
        kind = self._kind(data, key, lambda: CONSTRAINTS)
        if kind not in CONSTRAINTS:
            raise self.page.error((*key, "kind"), f"unknown constraint {kind!r}", nearest(kind, CONSTRAINTS))
        stated = check(self.page, CONSTRAINTS[kind], data, *key)
        with self.page.at(*key):
            if isinstance(stated, StatedLinear):
                lower = -math.inf if stated.lower is None else stated.lower
                upper = math.inf if stated.upper is None else stated.upper
                return constraints.linear(stated.coefficients, lower, upper, stated.name)
            assert isinstance(stated, StatedUnbiased)
            values = numbers_behind(stated.values, self.inputs, "values")
            return constraints.unbiased(values, numbers_behind(stated.outputs, self.outputs or self.inputs, "outputs"))
