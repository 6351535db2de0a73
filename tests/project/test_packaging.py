"""Facts about the package that are given twice agree: recipe, citation, versions, names of files in
settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ldpopt
from builders import load_script

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
"""Packages with another name in conda; this one is the part without a window system."""


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    read: dict[str, Any] = yaml.safe_load(
        (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    )
    return read


def conda(requirement: str) -> str:
    """A requirement of pip as conda writes it: another name, no extras, no marker, a space before
    the version."""
    bare = requirement.partition(";")[0]  # a bound holds on every system
    name, bounds = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?(.*)", bare).groups()  # type: ignore[union-attr]
    return f"{CONDA_NAMES.get(name, name)} {bounds}".strip()


def test_the_conda_recipe_needs_what_the_package_needs(recipe: dict[str, Any]) -> None:
    needed = [f"python {PROJECT['requires-python']}", *map(conda, PROJECT["dependencies"])]
    assert sorted(recipe["requirements"]["run"]) == sorted(needed)


def test_the_conda_recipe_bounds_the_extras(recipe: dict[str, Any]) -> None:
    extras = PROJECT["optional-dependencies"]
    usual = sorted(set(extras) - {"all", "spark", "test"})
    assert extras["all"] == [f"ldpopt[{','.join(usual)}]"], (
        "the extra `all` has every other one but `test`, and `spark`, which is large and needs Java"
    )
    optional = [*usual, "spark"]
    wanted = {conda(one) for name in optional for one in extras[name]}
    assert set(recipe["requirements"]["run_constraints"]) == wanted


def test_the_conda_recipe_has_the_commands_and_the_summary(recipe: dict[str, Any]) -> None:
    commands = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]


def test_one_version_everywhere(recipe: dict[str, Any]) -> None:
    citation = re.search(
        r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert citation is not None
    latest = re.search(
        r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert latest is not None
    assert {citation[1], latest[1], recipe["context"]["version"]} == {ldpopt.__version__}


def test_a_compiler_is_asked_for_only_where_the_machine_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = load_script(ROOT / "hatch_build.py")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script.CustomBuildHook.dependencies(None) == ["ziglang"]
    (tmp_path / "clang").touch(mode=0o755)
    assert script.compiler() == ["clang"]
    monkeypatch.setenv("CC", "mine -m32")
    assert script.compiler() == ["mine", "-m32"]
    assert script.CustomBuildHook.dependencies(None) == []


def test_mutation_settings_name_modules_and_tests_that_exist() -> None:
    settings = tomllib.loads((ROOT / "benchmarks" / "mutation.toml").read_text(encoding="utf-8"))
    modules = settings["modules"]
    assert [path for path in modules if not (ROOT / path).is_file()] == []
    prefixes = {prefix for module in modules.values() for prefix in module["tests"]}
    assert [prefix for prefix in sorted(prefixes) if not any(ROOT.glob(f"{prefix}*"))] == []
    assert [
        part for part in settings["equivalent"] if not any(part in path for path in modules)
    ] == []


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/extending.md", "docs/architecture.md", ".ci/run"]
)
def test_paths_in_documents_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = set(
        re.findall(r"\b(?:ldpopt|tests|docs|models|examples|benchmarks|packaging)/[\w./]*\w", text)
    )
    named = {path for path in paths if not re.search(r"NAME|NN|_build", path)}
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
