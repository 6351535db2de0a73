"""Reading of model files: each error names file, key and line."""

import itertools
import os
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import require_path
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import Notion, from_table, installed, notion_of
from ldpopt.problem import datasets
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.model import Expect, Hypotheses, Model
from ldpopt.problem.modelfile.page import Key, Page, model_path
from ldpopt.problem.modelfile.schema import ModelFile, PriorTable, UtilityTable, check, unknown_key
from ldpopt.problem.prior import read_prior
from ldpopt.problem.problem import Problem
from ldpopt.problem.workload import Workload
from ldpopt.problem.workload_matrices import read_attributes, tables_of


def load_model(path: str | os.PathLike[str]) -> Problem:
    """Read the problem of a model file.

    Parameters
    ----------
    path : path-like
        A TOML file, or the name of a model that comes with the package, such as ``"coin"``.

    Returns
    -------
    Problem
        The problem, checked.

    Raises
    ------
    ModelFileError
        If the file is invalid; the message names file, key and line.
    LdpoptError
        If the prior is a data set whose package is not installed, or the file has a workload and no
        utility.
    """
    return read_model(path).require_problem(os.fspath(path))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file with its title, source, solver settings and expected value.

    Parameters
    ----------
    path : path-like
        A TOML file, or the name of a model that comes with the package, such as ``"coin"``.

    Returns
    -------
    Model
        The problem and the other entries.

    Raises
    ------
    ModelFileError
        If the file is invalid; the message names file, key and line.
    LdpoptError
        If the prior is a data set whose package is not installed.
    """
    require_path(path)
    page = Page(model_path(path))
    return _Reader(page, check(page, ModelFile, page.data)).model()


class _Reader:
    """Makes the parts of a model from the tables of its file; each error names its key."""

    def __init__(self, page: Page, file: ModelFile) -> None:
        self.page, self.file = page, file
        self.prior_table = PriorTable(uniform=True) if file.prior is None else file.prior
        self.utility_table = file.utility or UtilityTable(kind="identity")
        with page.at("prior", "dataset"):
            name = self.prior_table.dataset
            self.dataset = None if name is None else datasets.load(name)
        self.inputs = self._inputs()
        self.outputs: list[Any] | None = file.alphabet.outputs

    def model(self) -> Model:
        """The model of the file."""
        file, expect = self.file, self.file.expect
        problem = self._problem()
        design = self._design()
        if expect is None:
            expected = None
        elif file.has_utility or not file.workload:
            expected = Expect(expect.value, expect.tolerance, expect.variance)
        else:  # the value of a workload alone is its variance
            expected = Expect(
                None, expect.tolerance, expect.value if expect.variance is None else expect.variance
            )
        return Model(
            problem,
            file.title,
            file.source,
            file.solver.name,
            file.solver.time_limit,
            expected,
            design,
            self._hypotheses(),
        )

    def _problem(self) -> Problem | None:
        if not self.file.has_utility:
            return None
        prior = None if self.file.prior is None else self.prior
        with self.page.at("utility"):
            utility = self.utility_table.read()
        privacy = self.privacy
        rows = self._constraints()
        options: Any = {"inputs": self.inputs, "outputs": self.outputs, "constraints": rows}
        options["objective"] = "worst_case" if self.file.objective == "worst_case" else "expected"
        with self.page.at():
            return Problem(prior, utility, privacy, **options)

    def _design(self) -> DesignProblem | None:
        if not self.file.workload:
            return None
        weights = None if self.prior_table.uniform else self.prior
        workload = self._workload()
        objective: Any = "worst_case" if self.file.objective == "worst_case" else "average"
        with self.page.at("prior"):
            return DesignProblem(workload, self.privacy, weights, objective)

    def _hypotheses(self) -> Hypotheses | None:
        """The two distributions to test."""
        if self.file.test is None:
            return None
        shares = []
        for key in ("first", "second"):
            stated = getattr(self.file.test, key)
            if isinstance(stated, dict):
                shares.append(self._shares(("test", key), stated))
                continue
            with self.page.at("test", key):
                shares.append(read_prior(stated, self.inputs, f"{key} distribution")[0])
        asked = self.file.test.model_dump(include={"level", "power", "kind"})
        return Hypotheses(tuple(self.inputs), shares[0], shares[1], self.privacy, **asked)

    def _inputs(self) -> list[Any]:
        """Labels: given, or those of the prior, workload or test, the values of the answers, or 0,
        1, 2, ... as many as there are numbers.
        """
        prior, utility = self.prior_table, self.utility_table
        if self.file.alphabet.inputs is not None:
            return list(self.file.alphabet.inputs)
        if self.dataset is not None:
            return list(self.dataset.labels)
        if prior.weights is not None:
            return list(prior.weights)
        if utility.values is not None and len(set(utility.values)) == len(utility.values):
            numbered: Any = utility.read()
            return list(numbered.numbers[0])
        numbers = prior.values or utility.values or utility.gain or utility.loss
        if numbers:
            return list(range(len(numbers)))
        if self.file.test is not None and not self.file.workload:
            stated = self.file.test.first
            return list(stated) if isinstance(stated, dict) else list(range(len(stated)))
        with self.page.at("workload"):
            labels = own_inputs(self.page.data.get("workload", {}))
        if labels is None:
            do = "give the labels of the answers"
            raise self.page.error(("alphabet", "inputs"), "the key alphabet.inputs is missing", do)
        return labels

    @cached_property
    def prior(self) -> Any:
        """Probabilities as a list, or weights by label."""
        table = self.prior_table
        n = len(self.inputs)
        if table.uniform:
            return [1 / n] * n
        if table.values is not None:
            if len(table.values) != n:
                raise self.page.error(
                    ("prior", "values"),
                    f"the prior has {len(table.values)} values for {n} inputs",
                    code="entries",
                )
            return table.values
        if self.dataset is not None:
            counts = zip(map(str, self.dataset.labels), self.dataset.counts.tolist(), strict=True)
            return self._weights(("prior", "dataset"), dict(counts))
        assert table.weights is not None
        return self._weights(("prior", "weights"), table.weights)

    def _shares(self, key: Key, weights: dict[str, Any]) -> Any:
        """Probabilities in the order of the alphabet, from weights by label."""
        return read_prior(self._weights(key, weights), self.inputs)[0]

    def _weights(self, key: Key, weights: dict[str, Any]) -> dict[Any, Any]:
        """Weights by label: keys of a TOML table are texts, also those that stand for labels that
        are numbers.
        """
        labels = {str(label): label for label in self.inputs}
        for name, weight in weights.items():
            if weight < 0 and name in labels:
                raise self.page.error(
                    (*key, name),
                    f"the weight of {name!r} is {weight}, below zero",
                    code="negative-weight",
                )
        named = {labels.get(name, name): weight for name, weight in weights.items()}
        try:
            read_prior(named, self.inputs)
        except StatementError as error:
            raise error.restated(ModelFileError, where=self.page.where(key)) from None
        return named

    @cached_property
    def privacy(self) -> Notion:
        """The privacy notion."""
        table = self.file.privacy
        if not isinstance(table.get("kind"), str):
            problem = "the key privacy.kind is missing or not a text"
            do = f"give one of {', '.join(installed())}"
            raise self.page.error(("privacy", "kind"), problem, do, code="missing-kind")
        with self.page.at("privacy"):
            known = notion_of(table["kind"]).keys()
            for key in table:
                if key not in ("kind", *known):
                    raise self.page.error(
                        ("privacy", key), *unknown_key(key, known), code="unknown-key"
                    )
            privacy = from_table(table, self.inputs)
            if self.outputs is not None or self.utility_table.kind is not None:
                # whose prior it is, is for the problem to say: here only labels are checked
                equal = np.full(len(self.inputs), 1 / len(self.inputs))
                bound = privacy.bound_to(equal, self.inputs)
                bound.check(self.inputs, self.outputs or self.inputs)
            return privacy

    def _constraints(self) -> list[RowBlock]:
        rows = []
        for place, table in enumerate(self.file.constraints):
            with self.page.at("constraints", place):
                rows.append(table.read(self.inputs, self.outputs or self.inputs))
        return rows

    def _workload(self) -> Workload:
        """The workload, or the stack of its parts."""
        parts = []
        for place, table in enumerate(self.file.workload):
            key = (
                ("workload", "part", place)
                if "part" in self.page.data["workload"]
                else ("workload",)
            )
            with self.page.at(*key):
                part = table.read(self.inputs)
            with self.page.at(*key, "weight"):
                parts.append(part if table.weight == 1 else table.weight * part)
        with self.page.at("workload"):
            return parts[0] if len(parts) == 1 else Workload.stack(*parts)


def own_inputs(workload: dict[str, Any]) -> list[Any] | None:
    """Answers that follow from the table of a workload: combinations of attributes, or as many as
    there are numbers.
    """
    tables = tables_of(workload)
    for table in tables:
        if table.get("kind") == "marginals":
            return list(
                itertools.product(*(values for _, values in read_attributes(table["shape"])))
            )
    for table in tables:
        row = table.get("values", table.get("rows"))
        while isinstance(row, dict) and isinstance(next(iter(row.values())), (dict, list)):
            row = next(iter(row.values()))  # of rows by name
        row = row[0] if isinstance(row, list) and isinstance(row[0], list) else row
        if row:
            return list(row) if isinstance(row, dict) else list(range(len(row)))
    return None
