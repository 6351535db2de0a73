"""Light imports, modules and objects of other names, the tree of errors."""

from __future__ import annotations

import inspect
import pkgutil
from pathlib import Path

import pytest

import ldpopt
from builders import run_python
from ldpopt import errors

HEAVY = (
    *(
        "cvxpy",
        "pulp",
        "scipy.optimize",
        "matplotlib",
        "pandas",
        "pyarrow",
        "narwhals",
        "networkx",
        "pydantic",
    ),
    *("cloudpickle", "typer"),
)

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
    assert (
        printed(f"import sys, ldpopt; print(*[name for name in {HEAVY!r} if name in sys.modules])")
        == []
    )


def test_the_command_line_handles_ctrl_c_before_heavy_imports():
    names = ("numpy", "typer", "typing")
    assert (
        printed(
            f"import sys, ldpopt.cli; print(*[name for name in {names!r} if name in sys.modules])"
        )
        == []
    )


def test_no_module_has_the_name_of_a_public_object():
    """A module ``ldpopt.solve``, once imported, would replace the function ``ldpopt.solve``."""
    objects = {name for name in ldpopt.__all__ if not inspect.ismodule(getattr(ldpopt, name))}
    assert not objects & {info.name for info in pkgutil.iter_modules(ldpopt.__path__)}


def test_public_modules_need_no_import_of_their_own():
    code = (
        "import ldpopt; print(ldpopt.solvers.find('highs').name, ldpopt.mean.__name__, "
        "hasattr(ldpopt, 'nothing'))"
    )
    assert printed(code) == ["highs", "ldpopt.mean", "False"]


def test_solving_needs_no_optional_package():
    code = f"""
import sys
optional = ("cvxpy", "pulp", "matplotlib", "statsmodels", "pytest", "pandas", "pyarrow", "narwhals")
for name in optional:
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
counts = lo.Counts.of(best.mechanism, reports)
print(best.certificate.recheck() == (), len(best.estimate(reports).values), counts.total)
for use in (best.mechanism.to_frame, lambda: lo.plot(best.mechanism)):
    try:
        use()
    except lo.errors.LdpoptError as error:
        print(error.one_line.replace(" ", "_"))
"""
    *numbers, frame, picture = printed(code)
    assert numbers == ["True", "2", "3"]
    assert (
        frame == 'a_table_needs_pandas,_which_is_not_installed_|_do:_pip_install_"ldpopt[tables]"'
    )
    assert (
        picture
        == 'a_plot_needs_matplotlib,_which_is_not_installed_|_do:_pip_install_"ldpopt[plot]"'
    )


def test_missing_packages_are_named_with_their_extra():
    code = """
import sys
sys.modules["cvxpy"] = sys.modules["pulp"] = sys.modules["piqp"] = None
from ldpopt import solvers
for name, state in solvers.installed().items():
    print(name + ":" + state.replace(" ", "_"))
"""
    found = dict(line.split(":") for line in printed(code))
    assert found.pop("cbc") == 'pip_install_"ldpopt[cbc]"'
    assert found.pop("piqp") == 'pip_install_"ldpopt[piqp]"'
    assert found.pop("cvxpy") == 'pip_install_"ldpopt[cvxpy]"'
    assert set(found.values()) == {"installed"}
    assert {"highs", "interior"} <= set(found)


def test_the_tree_of_errors():
    for name, base in TREE.items():
        error = getattr(errors, name)
        assert issubclass(error, base)
        assert issubclass(error, errors.LdpoptError)
        assert error("what", where="here", do="this").one_line == "what | where: here | do: this"


def test_a_name_that_does_not_exist_is_an_error_and_the_types_are_shipped():
    with pytest.raises(AttributeError, match="ldpopt attribute sovle"):
        _ = ldpopt.sovle
    assert (Path(ldpopt.__file__).parent / "py.typed").exists()
