"""The package's own order: light imports that go one way, the contract's names, a docstring for all that is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import ldpopt
from builders import load_script, run_python
from ldpopt import errors

ROOT = Path(ldpopt.__file__).parent.parent
HEAVY = (
    *("cvxpy", "pulp", "scipy.optimize", "matplotlib", "pandas", "pyarrow", "narwhals", "networkx", "pydantic"),
    *("cloudpickle", "typer"),
)
SOURCES = sorted(path for path in (ROOT / "ldpopt").rglob("*.py") if "examples" not in path.parts)  # a wheel has them

MEMBERS = {
    "": "Audit ApproximateLDP Budget Certificate Counts Estimate GraphDP LinearProgram Mechanism MetricDP Problem "
    "PureLDP RowBlock Solution Status Utility audit certify compare estimate_frequencies formulate goodness_of_fit "
    "load_model plan_sample save_model solve closed_forms constraints errors neighbors utility",
    "problem.utility": "Utility identity absolute_error squared_error table",
    "problem.constraints": "unbiased linear",
    "privacy.neighbors": "complete path cycle grid within bfs_partition",
    "closed_forms": "ClosedForm binary top_k least_epsilon worst_prior bins path_graph",
    "auditing.divergence": "Audit audit",
    "mechanism.repair": "repair",
    "solvers": "Solver Feature Outcome Status find installed",
    "privacy": "PureLDP ApproximateLDP GraphDP MetricDP Notion installed",
    "testing": "check_notion check_solver Tolerances checks",
    "Mechanism": "channel inputs outputs masses denominator audit digest sample privatize expected posterior remapped "
    "leakage inference_error bayes_capacity mutual_information shannon_capacity then to_frame "
    "save load plot _repr_html_",
    "Solution": "problem status raw_status value mechanism duals reduced_costs solver runtime",
    "Certificate": "achieved bound gap relative_gap exact audit",
    "Audit": "epsilon delta witness verdict delta_at",
    "LinearProgram": "write to_cvxpy to_pulp to_highs",
}

PUBLIC = MEMBERS.pop("").split()

TREE = {
    "LdpoptError": Exception,
    "StatementError": ValueError,
    "ModelFileError": errors.StatementError,
    "SolverNotFoundError": LookupError,
    "SolverOptionError": ValueError,
    "NotRepresentableError": errors.LdpoptError,
    "NoSolutionError": errors.LdpoptError,
    "InfeasibleError": errors.NoSolutionError,
    "UnboundedError": errors.NoSolutionError,
    "LimitReachedError": errors.NoSolutionError,
    "MechanismError": ValueError,
    "PrivacyViolationError": errors.LdpoptError,
    "CertificateError": errors.LdpoptError,
}


def printed(code):
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_is_light():
    assert printed(f"import sys, ldpopt; print(*[name for name in {HEAVY!r} if name in sys.modules])") == []


def test_nothing_is_imported_before_ctrl_c_is_heard():
    names = ("numpy", "typer", "typing")
    assert printed(f"import sys, ldpopt.cli; print(*[name for name in {names!r} if name in sys.modules])") == []


def test_no_module_takes_the_place_of_an_object():
    """Whoever imports ``ldpopt.solve``, if it were a module, would find it where the function was."""
    objects = {name for name in ldpopt.__all__ if not inspect.ismodule(getattr(ldpopt, name))}
    assert not objects & {info.name for info in pkgutil.iter_modules(ldpopt.__path__)}


def test_modules_are_there_without_being_imported():
    code = "import ldpopt; print(ldpopt.solvers.find('highs').name, ldpopt.mean.__name__, hasattr(ldpopt, 'nothing'))"
    assert printed(code) == ["highs", "ldpopt.mean", "False"]


def test_stating_and_solving_need_no_optional_package_and_little_else():
    code = f"""
import sys
for name in ("cvxpy", "pulp", "matplotlib", "statsmodels", "pytest"):
    sys.modules[name] = None
import ldpopt, ldpopt.testing
problem = ldpopt.Problem([0.5, 0.5], "identity", ldpopt.PureLDP("log(3)"))
answer = ldpopt.solve(problem)
print(round(answer.value, 12), ldpopt.certify(answer).audit.verdict, "scipy" in sys.modules)
ldpopt.testing.check_solver("highs", only=["infeasible"])
print(*[name for name in {HEAVY!r} if sys.modules.get(name)])
"""
    value, verdict, needs_scipy, *heavy = printed(code)
    assert (value, verdict, needs_scipy) == ("0.75", "certified", "False")
    assert not {"cvxpy", "pulp", "matplotlib", "scipy.optimize"} & set(heavy)


def test_missing_packages_are_named_with_their_extra():
    code = """
import sys
sys.modules["cvxpy"] = sys.modules["pulp"] = None
from ldpopt import solvers
for name, state in solvers.installed().items():
    print(name + ":" + state.replace(" ", "_"))
"""
    assert printed(code) == [
        'cbc:pip_install_"ldpopt[cbc]"',
        'cvxpy:pip_install_"ldpopt[cvxpy]"',
        "highs:installed",
        "interior:installed",
    ]


def test_imports_go_one_way():
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = run_python(code, "--no-cache", cwd=ROOT)
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the contracts are in the checkout's pyproject.toml, which is not here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name(name):
    assert getattr(ldpopt, name) is not None
    assert name in dir(ldpopt)
    assert name in ldpopt.__all__


def test_no_other_name_is_offered():
    with pytest.raises(AttributeError, match="ldpopt attribute sovle"):
        _ = ldpopt.sovle


@pytest.mark.parametrize("owner", MEMBERS)
def test_members_of_the_contract(owner):
    holder = getattr(ldpopt, owner) if owner[0].isupper() else importlib.import_module(f"ldpopt.{owner}")
    fields = set(getattr(holder, "__dataclass_fields__", ()))
    attributes = {"channel", "inputs", "outputs"} if owner == "Mechanism" else set()
    missing = [name for name in MEMBERS[owner].split() if not hasattr(holder, name)]
    assert set(missing) <= fields | attributes


@pytest.mark.parametrize("name", TREE)
def test_the_tree_of_errors(name):
    error = getattr(errors, name)
    assert issubclass(error, TREE[name])
    assert issubclass(error, errors.LdpoptError)
    assert error("what", where="here", do="this").one_line == "what | where: here | do: this"


def public_nodes(path):
    """Public functions, classes and methods of a file, by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield path.stem, tree
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield f"{node.name}.{inner.name}", inner


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT).with_suffix("")))
def test_everything_public_is_documented(path):
    assert [name for name, node in public_nodes(path) if not ast.get_docstring(node)] == []


FUNCTIONS = [
    getattr(holder, name)
    for holder, names in ((ldpopt, PUBLIC), (ldpopt.closed_forms, ldpopt.closed_forms.__all__))
    for name in names
    if inspect.isfunction(getattr(holder, name))
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_users_call_says_what_it_takes_gives_and_refuses(function):
    text = inspect.getdoc(function)
    sections = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    assert {"Parameters", "Raises"} <= set(sections)
    assert "Returns" in sections or inspect.signature(function).return_annotation in ("None", None)
    names = [name for name, p in inspect.signature(function).parameters.items() if p.kind is not p.VAR_KEYWORD]
    assert [name for name in names if not re.search(rf"^(.*, )?{name}(, .*)? : ", text, re.MULTILINE)] == []


def test_every_module_is_found_and_named():
    found = {info.name for info in pkgutil.walk_packages(ldpopt.__path__, "ldpopt.")}
    assert {"ldpopt.testing", "ldpopt.privacy.metric", "ldpopt.solvers.cbc_"} <= found
    assert (ROOT / "ldpopt" / "py.typed").exists()


def test_public_modules_are_one_module_under_both_names():
    code = """
import ldpopt
from ldpopt.mean import Duchi
from ldpopt.mean.duchi import Duchi as again
from ldpopt.mean.duchi import Duchi as home
import ldpopt.mean as module
print(Duchi is again is home, module is ldpopt.mean, module.__name__, module.__spec__.name)
"""
    assert printed(code) == ["True", "True", "ldpopt.mean", "ldpopt.mean"]


def test_the_picture_of_the_rooms_is_that_of_the_import_contract():
    if not (ROOT / "docs" / "rooms.py").exists():
        pytest.skip("the documentation is in the checkout, which is not here")
    rooms = load_script(ROOT / "docs" / "rooms.py")
    assert (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8") == rooms.drawing(), "run python docs/rooms.py"


@pytest.mark.parametrize(
    "room",
    [
        "foundation",
        "auditing",
        "tables",
        "processes",
        "privacy",
        "problem",
        "mechanism",
        "solvers",
        "solving",
        "studies",
    ],
)
def test_every_room_says_what_goes_in_and_what_comes_out(room):
    doc = importlib.import_module(f"ldpopt.{room}").__doc__
    assert "\n\nIn: " in doc
    assert "Out: " in doc
