"""The picture of the packages; `tests/rooms.py` finds circles of imports between files."""

import tomllib
from pathlib import Path

from builders import load_script

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("independent", "searching"),
    [
        ("auditing", {"solving", "solvers", "designing"}),
        ("certificate", {"solving", "solvers", "designing"}),
        ("closed_forms", {"solving", "solvers"}),
    ],
)
def test_what_checks_reaches_nothing_that_searches(
    imports: nx.DiGraph, independent: str, searching: set[str]
) -> None:
    """Also not by what it imports."""
    own = [name for name in imports if name.startswith(f"ldpopt.{independent}.")]
    assert own
    reached = set().union(*(nx.descendants(imports, name) for name in own))
    assert sorted(name for name in reached if set(name.split(".")[1:2]) & searching) == []


def test_the_picture_of_the_packages_is_drawn_anew() -> None:
    script = load_script(ROOT / "docs" / "packages.py")
    assert (ROOT / "docs" / "packages.svg").read_text(encoding="utf-8") == script.drawing(), (
        "run python docs/packages.py"
    )


def test_every_package_is_in_one_box_on_the_side_of_its_kind() -> None:
    script = load_script(ROOT / "docs" / "packages.py")
    ledger = tomllib.loads((ROOT / "tests" / "project" / "rooms.toml").read_text(encoding="utf-8"))
    for kind, floors in (("product", script.PRODUCTS), ("core", script.CORE)):
        drawn = [name for floor in floors for _, packages, _ in floor for name in packages]
        rows = {
            name
            for name, row in ledger.items()
            if row["kind"] == kind and "/" not in name and name != "ldpopt_check.py"
        }
        assert sorted(drawn) == sorted(rows)
