"""The package stays small and plain: limits of size, no import hook, no module whose class is
changed."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ldpopt"
FILES = sorted(PACKAGE.rglob("*.py"))
LIMITS = {
    "packages": 25,
    "files": 350,
    "lines": 54_000,
    "stubs": 2,
    "README.md": 150,
    "CONTRIBUTING.md": 120,
    "pyproject.toml": 170,
}


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_sizes_are_within_their_limits() -> None:
    sizes = {
        "packages": len(list(PACKAGE.glob("*/__init__.py"))),
        "files": len(FILES),
        "lines": sum(map(lines, FILES)),
        "stubs": len(list(PACKAGE.rglob("*.pyi"))),
        **{name: lines(ROOT / name) for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")},
    }
    over = {name: size for name, size in sizes.items() if size > LIMITS[name]}
    assert not over, f"{over}: remove as much elsewhere, or raise LIMITS and say why in the commit"


def test_imports_are_plain() -> None:
    changed = [
        path
        for path in FILES
        if any(word in path.read_text("utf-8") for word in ("meta_path", "__class__ = "))
    ]
    assert changed == []
