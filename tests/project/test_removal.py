"""A product can be removed: the core, and the products that do not use it, work without it.

Each product is removed with all that may use it: the folders, and their names in `__init__.pyi`.
What is left is imported, file by file; a problem is solved, certified, audited, sampled. The tests
of the core run in the thorough set, without any product at all: without a single one fewer things
are missing.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import THOROUGH, seconds

ROOT = Path(__file__).parents[2]
CHECKER = "ldpopt_check.py"
LEDGER = tomllib.loads((ROOT / "tests" / "project" / "rooms.toml").read_text(encoding="utf-8"))
PRODUCTS = {
    name: set(row.get("may_use", ())) for name, row in LEDGER.items() if row["kind"] == "product"
}
CORE_TESTS = [
    folder
    for name in LEDGER
    if name not in PRODUCTS and (ROOT / (folder := Path("tests", "unit", name))).exists()
]

PROGRAM = """
import importlib, pkgutil, sys
from pathlib import Path
import ldpopt as lo
from ldpopt.certificate import recheck
from ldpopt.errors import LdpoptError
from ldpopt.foundation.late import LATE, late

removed = sys.argv[1:]
assert Path(lo.__file__).parents[1] == Path.cwd(), lo.__file__
problem = lo.Problem({"no": 0.4, "yes": 0.6}, "identity", lo.PureLDP("log(3)"))
answer = lo.solve(problem)
proof = lo.certify(answer)
assert (float(proof.achieved), proof.audit.verdict) == (0.75, "certified")
assert lo.audit(answer.mechanism, problem.privacy).verdict == "certified"
assert set(answer.mechanism.privatize(["yes", "no"], rng=1)) <= {"no", "yes"}
proof.save("proof.json")
assert recheck(lo.Certificate.load("proof.json")).is_same
for name in dir(lo):
    getattr(lo, name)
for part in pkgutil.walk_packages(lo.__path__, "ldpopt."):
    importlib.import_module(part.name)
for verb, place in LATE.items():
    if place.split(".")[1] in removed:
        try:
            late(verb)
        except LdpoptError as error:
            assert error.code == "product"
        else:
            raise AssertionError(f"{verb} of {place} is still there")
"""


def with_users(names: set[str]) -> set[str]:
    """Products, the rooms inside of them, and all products that may use one of these.

    Whoever may use a package may use the rooms inside of it, except for the package itself.
    """
    removed = set(names)
    while True:
        packages = {name.split("/")[0] for name in removed}
        more = {
            name
            for name, used in PRODUCTS.items()
            if used & removed
            or name.split("/")[0] in removed
            or (used & packages and name not in packages)
        } - removed
        if not more:
            return removed
        removed |= more


def module_of(statement: ast.ImportFrom, alias: ast.alias) -> str:
    """Path of what a line of the stub imports, below the package."""
    return "/".join([*(statement.module or "").split("."), alias.name]).strip("/")


def is_in(path: str, rooms: set[str]) -> bool:
    return any(path == room or path.startswith(f"{room}/") for room in rooms)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, in the thorough set with the bytecode of its files, which every copy takes: to
    compile them is half of the time of a start.
    """
    package = tmp_path_factory.mktemp("compiled") / "ldpopt"
    shutil.copytree(ROOT / "ldpopt", package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    if THOROUGH:
        compileall = [sys.executable, "-m", "compileall", "-q", str(package)]
        subprocess.run(compileall, env=without_bytecode_elsewhere(), check=True)
    return package


def without_bytecode_elsewhere() -> dict[str, str]:
    """The environment, without what would put bytecode into another folder."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}


def copy_without(removed: set[str], compiled: Path, folder: Path) -> None:
    """Copy the package and the tests of its core, without some products."""
    unused = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(compiled, folder / "ldpopt")
    for room in removed - {CHECKER}:
        shutil.rmtree(folder / "ldpopt" / room, ignore_errors=True)
    if "cli" in removed:
        (folder / "ldpopt" / "__main__.py").unlink()  # its bytecode is not imported without it
    stub = folder / "ldpopt" / "__init__.pyi"
    text = stub.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and is_in(module_of(node, node.names[0]), removed):
            assert len(node.names) == 1
            lines[node.lineno - 1] = ""
    stub.write_text("".join(lines), encoding="utf-8")
    if CHECKER not in removed:
        shutil.copy(ROOT / CHECKER, folder)
    (folder / "tests").mkdir()
    for file in (ROOT / "tests").glob("*.py"):
        shutil.copy(file, folder / "tests")
    for path in CORE_TESTS:
        shutil.copytree(ROOT / path, folder / path, ignore=unused)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("docs", "models", "examples"):
        (folder / name).symlink_to(ROOT / name)


def run(folder: Path, *arguments: str, limit: float) -> None:
    """Run Python in the copy, with nothing else on its path."""
    environment = {
        name: value
        for name, value in without_bytecode_elsewhere().items()
        if not name.startswith(("PYTEST_", "LDPOPT_TESTS"))
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=seconds(limit),
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"


def run_tests(folder: Path, *paths: str, limit: float) -> None:
    plain = "addopts=--import-mode=importlib --benchmark-disable"
    options = ["-q", "-p", "no:cacheprovider", "-n", "0", "--tb=line", "-o", plain]
    run(folder, "-m", "pytest", *options, *paths, limit=limit)


def test_without_any_product_the_core_works(compiled: Path, tmp_path: Path) -> None:
    copy_without(set(PRODUCTS), compiled, tmp_path)
    run(tmp_path, "-c", PROGRAM, *PRODUCTS, limit=60)
    left = {path.name for path in (tmp_path / "ldpopt").iterdir() if path.is_dir()}
    assert left - {"__pycache__"} == {
        name for name in LEDGER if name not in PRODUCTS and "/" not in name and name != "errors"
    }
    if THOROUGH:
        run_tests(tmp_path, *map(str, CORE_TESTS), limit=900)


@pytest.mark.long
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_is_removed_with_what_may_use_it(
    product: str, compiled: Path, tmp_path: Path
) -> None:
    removed = with_users({product})
    copy_without(removed, compiled, tmp_path)
    run(tmp_path, "-c", PROGRAM, *removed, limit=60)


# The core's tests name no product, which is seen without running them.


def products_named(tree: ast.Module) -> Iterator[str]:
    """Products that a test file imports or uses by a public name, also by helpers for commands."""
    stub = ast.parse((ROOT / "ldpopt" / "__init__.pyi").read_text(encoding="utf-8"))
    home = {
        alias.asname or alias.name: module_of(node, alias)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    commands = {"run_cli", "cli_output", "cli_json", "start_cli"}
    for node in ast.walk(tree):
        paths = []
        if isinstance(node, ast.ImportFrom) and node.module == "ldpopt":
            paths = [home.get(alias.name, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "builders":
            paths = ["cli" for alias in node.names if alias.name in commands]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ldpopt."):
            paths = [str(node.module).partition(".")[2].replace(".", "/")]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            paths = [name.removeprefix("ldpopt.").replace(".", "/") for name in names]
            paths += [CHECKER for name in names if f"{name}.py" == CHECKER]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("lo", "ldpopt"):
            paths = [home.get(node.attr, node.attr)]
        yield from (path for path in paths if is_in(path, set(PRODUCTS)))


@pytest.mark.parametrize("folder", CORE_TESTS, ids=str)
def test_tests_of_the_core_name_no_product(folder: Path) -> None:
    named = {
        str(path.relative_to(ROOT)): used
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (used := sorted(set(products_named(ast.parse(path.read_text(encoding="utf-8"))))))
    }
    assert not named, "use a small program of your own, or move the test to the product's folder"


def test_users_are_removed_too() -> None:
    assert with_users({"mean"}) >= {"mean", "studies", "plotting", "cli"}
    assert "estimation" not in with_users({"estimation/regression"})
    assert "estimation/regression" in with_users({"estimation"})
    assert with_users({CHECKER}) == {CHECKER}
