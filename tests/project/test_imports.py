"""Light imports, the names that must exist, the tree of errors."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import ldpopt
from builders import run_python
from ldpopt import errors

HEAVY = (
    *("cvxpy", "pulp", "scipy.optimize", "matplotlib", "pandas", "pyarrow", "narwhals", "networkx", "pydantic"),
    *("cloudpickle", "typer"),
)

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


def test_the_command_line_handles_ctrl_c_before_heavy_imports():
    names = ("numpy", "typer", "typing")
    assert printed(f"import sys, ldpopt.cli; print(*[name for name in {names!r} if name in sys.modules])") == []


def test_no_module_has_the_name_of_a_public_object():
    """A module ``ldpopt.solve``, once imported, would replace the function ``ldpopt.solve``."""
    objects = {name for name in ldpopt.__all__ if not inspect.ismodule(getattr(ldpopt, name))}
    assert not objects & {info.name for info in pkgutil.iter_modules(ldpopt.__path__)}


def test_public_modules_need_no_import_of_their_own():
    code = "import ldpopt; print(ldpopt.solvers.find('highs').name, ldpopt.mean.__name__, hasattr(ldpopt, 'nothing'))"
    assert printed(code) == ["highs", "ldpopt.mean", "False"]


def test_solving_needs_no_optional_package():
    code = f"""
import sys
for name in ("cvxpy", "pulp", "matplotlib", "statsmodels", "pytest", "pandas", "pyarrow", "narwhals"):
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


def test_designs_and_estimates_need_no_package_for_tables_and_what_does_names_the_extra():
    code = """
import sys
for name in ("pandas", "pyarrow", "narwhals", "matplotlib"):
    sys.modules[name] = None
import ldpopt as lo
best = lo.design(lo.Workload.frequencies(["no", "yes"]), lo.PureLDP("log(3)"))
reports = best.mechanism.privatize(["no", "yes", "yes"], rng=1)
print(best.certificate.recheck() == (), len(best.estimate(reports).values), lo.Counts.of(best.mechanism, reports).total)
for use in (best.mechanism.to_frame, lambda: lo.plot(best.mechanism)):
    try:
        use()
    except lo.errors.LdpoptError as error:
        print(error.one_line.replace(" ", "_"))
"""
    *numbers, frame, picture = printed(code)
    assert numbers == ["True", "2", "3"]
    assert frame == 'a_table_needs_pandas,_which_is_not_installed_|_do:_pip_install_"ldpopt[tables]"'
    assert picture == 'a_plot_needs_matplotlib,_which_is_not_installed_|_do:_pip_install_"ldpopt[plot]"'


def test_missing_packages_are_named_with_their_extra():
    code = """
import sys
sys.modules["cvxpy"] = sys.modules["pulp"] = None
from ldpopt import solvers
for name, state in solvers.installed().items():
    print(name + ":" + state.replace(" ", "_"))
"""
    found = dict(line.split(":") for line in printed(code))
    assert found.pop("cbc") == 'pip_install_"ldpopt[cbc]"'
    assert found.pop("cvxpy") == 'pip_install_"ldpopt[cvxpy]"'
    assert set(found.values()) == {"installed"}
    assert {"highs", "interior"} <= set(found)


def test_public_names():
    for name in PUBLIC:
        assert getattr(ldpopt, name) is not None
        assert name in dir(ldpopt)
        assert name in ldpopt.__all__
    with pytest.raises(AttributeError, match="ldpopt attribute sovle"):
        _ = ldpopt.sovle


@pytest.mark.parametrize("owner", MEMBERS)
def test_members_of_public_objects(owner):
    holder = getattr(ldpopt, owner) if owner[0].isupper() else importlib.import_module(f"ldpopt.{owner}")
    fields = set(getattr(holder, "__dataclass_fields__", ()))
    attributes = {"channel", "inputs", "outputs"} if owner == "Mechanism" else set()
    missing = [name for name in MEMBERS[owner].split() if not hasattr(holder, name)]
    assert set(missing) <= fields | attributes


def test_the_tree_of_errors():
    for name, base in TREE.items():
        error = getattr(errors, name)
        assert issubclass(error, base)
        assert issubclass(error, errors.LdpoptError)
        assert error("what", where="here", do="this").one_line == "what | where: here | do: this"


def test_public_modules_are_one_module_under_both_names():
    code = """
import ldpopt
from ldpopt.mean import Duchi
from ldpopt.mean.duchi import Duchi as home
import ldpopt.mean as module
print(Duchi is home, module is ldpopt.mean, module.__name__, module.__spec__.name)
"""
    assert printed(code) == ["True", "True", "ldpopt.mean", "ldpopt.mean"]
    assert (Path(ldpopt.__file__).parent / "py.typed").exists()
