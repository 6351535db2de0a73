"""The house, room by room: what each costs, for whom it is, and what in it nobody can hold in the
head.

    python tests/rooms.py                  a line for each room, a line for each break
    python tests/rooms.py designing        one room, or the room of a file

A room is a row of `tests/project/rooms.toml`: a package, a folder inside of one, or the checker.
What is counted is made so that layout cannot change it: tokens of code in place of lines, words of
prose in place of lines of docstrings. Comments, docstrings, blank lines and imports are free. An
f-string counts as one token in every version of Python.
"""

import ast
import gc
import io
import os
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEDGER = Path("tests/project/rooms.toml")
CHECKER = "ldpopt_check.py"
# Tokens a line of code: a line of exact algebra has 15 to 30, well-kept libraries have 7 to 9.
DENSITY = 11.0
COLUMNS = 100
BORROWED_WORDS = {"found", "what", "one", "own", "given", "rest", "how", "whole"}
BORROWED = 3  # names of these, for 1000 lines of code; well-kept libraries have 0 to 0.4
PROSE = {
    "auditing": 35,
    "certificate": 35,
    "privacy": 35,
    "accounting": 35,
    CHECKER: 35,
    "designing": 30,
}  # per 100 tokens
FILE, CLASS, FUNCTION = 4000, 2500, 500  # tokens: about 400, 250 and 50 lines of ten tokens
METHODS, PARAMETERS = 20, 8
VERB, BY_PLACE = 12, 4  # parameters of a documented public function; how many by position
PINNED_WORDS, PINNED = 4, 25  # words of a pattern that a test matches; how many of these patterns
FRONT = {"README.md": 170, "CONTRIBUTING.md": 120, "pyproject.toml": 220}  # lines
PUBLIC_TWICE = {"Laplace"}  # noise.Laplace and mean.Laplace: both are names of the contract
TRUSTED = ("certificate", "auditing", "privacy")
SEARCH = ("solvers", "solving", "designing")
NO_EXAMPLE = (
    "cli",
    "testing",
    "plotting",
)  # products that the examples use throughout, or that test plug-ins

# First budgets of the ledger: the tokens of the day on which it was written, and 5 percent.
FIRST = {
    "errors": 500,
    "foundation": 13300,
    "native": 1700,
    "auditing": 7900,
    "tables": 8000,
    "privacy": 20400,
    "problem": 19600,
    "mechanism": 18100,
    "processes": 4500,
    "solvers": 9000,
    "solving": 35900,
    "solving/methods/rays": 14100,
    "certificate": 30500,
    "closed_forms": 10500,
    "polytope": 14400,
    "estimation": 9800,
    "frequencies": 12700,
    "mean": 9700,
    "noise": 11400,
    "noise/layers": 8300,
    "designing": 57600,
    "accounting": 13400,
    "surveys": 14700,
    "fieldwork": 5000,
    "studies": 17400,
    "plotting": 12700,
    "cli": 21800,
    "testing": 5800,
    "ldpopt_check.py": 18600,
}


# Reading files


NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
F_START, F_END = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WITH_DOCSTRING = (ast.Module, ast.ClassDef, *FUNCTIONS)


def is_text(node):
    """Whether a statement is a bare string: a docstring, or text below an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@dataclass
class File:
    """A Python file: its tree, and the tokens of code on each line."""

    path: Path
    words: int = 0
    tokens: Counter = field(default_factory=Counter)  # line -> tokens of code that begin there

    def __post_init__(self):
        text = self.path.read_text(encoding="utf-8")
        self.rows = text.splitlines()
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))
        free = set()  # lines of docstrings and imports
        for node in self.nodes:
            if isinstance(node, WITH_DOCSTRING):
                parts = [part for part in node.body if is_text(part)]
                self.words += sum(len(part.value.value.split()) for part in parts)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                parts = [node]
            else:
                continue
            for part in parts:
                free.update(range(part.lineno, part.end_lineno + 1))
        depth = 0  # inside of f-strings, which Python 3.12 takes apart
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                self.words += len(token.string.split()) - 1
            elif token.type not in NO_CODE and line not in free and not depth:
                self.tokens[line] += 1
            depth += (token.type == F_START) - (token.type == F_END)

    @cached_property
    def sums(self):
        """Tokens of code before each line."""
        return [0, *accumulate(self.tokens[line] for line in range(len(self.rows) + 1))]

    def size(self, node):
        """Tokens of code of a class or function."""
        return self.sums[node.end_lineno + 1] - self.sums[node.lineno]

    @cached_property
    def types_only(self):
        """Nodes below ``if TYPE_CHECKING``."""
        blocks = [
            node
            for node in self.nodes
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        ]
        return {
            id(part) for block in blocks for statement in block.body for part in ast.walk(statement)
        }


# What may not stand in a file: each function yields (line, what is wrong)


def long_lines(file):
    """A single word, such as a link, cannot be broken."""
    return [
        (number, "")
        for number, row in enumerate(file.rows, 1)
        if len(row) > COLUMNS and len(row.split()) > 1
    ]


def joined_assignments(file):
    """``a, b = f(x), g(y)``: values that have nothing to do with each other in one statement.

    A swap needs both at once; names, attributes and constants read as a pair.
    """
    for node in file.nodes:
        if not (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Tuple)
            and isinstance(node.targets[0], ast.Tuple)
        ):
            continue
        written, read = (
            {part.id for part in ast.walk(side) if isinstance(part, ast.Name)}
            for side in (node.targets[0], node.value)
        )
        is_pair = all(
            isinstance(value, (ast.Constant, ast.Name, ast.Attribute)) for value in node.value.elts
        )
        if not is_pair and not written & read:
            yield node.lineno, ""


def borrowed_names(file):
    """Names that say nothing of the subject."""
    for node in file.nodes:
        is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        name = node.id if is_bound else node.arg if isinstance(node, ast.arg) else ""
        if name in BORROWED_WORDS:
            yield node.lineno, name


def hidden_updates(file):
    """``vars(self).update(...)``: fields that no reader and no type checker sees."""
    for number, row in enumerate(file.rows, 1):
        if re.search(r"\bvars\(\w+\)\.update\(", row):
            yield number, ""


def imports_of_itself(file):
    """``import ldpopt`` inside of the package: an arrow that no contract sees."""
    for node in file.nodes:
        if isinstance(node, ast.Import) and any(alias.name == "ldpopt" for alias in node.names):
            yield node.lineno, ""


def checks_arguments(node):
    """Whether a function, or the making of a class, raises an error, or calls a named check."""
    if isinstance(node, ast.ClassDef):
        return any(
            checks_arguments(part)
            for part in node.body
            if getattr(part, "name", "") in ("__init__", "__post_init__")
        )
    for part in ast.walk(node):
        called = part.func if isinstance(part, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", ""))
        if isinstance(part, ast.Raise) or re.match(
            r"require_|read_|check_|(whole|real|positive|shaped)_(number|array|seconds)$", name
        ):
            return True
    return False


def silent_checks(file):
    """Documented public functions that raise, and whose docstring does not say so."""

    def search(body, is_public):
        for node in body:
            if not isinstance(node, (ast.ClassDef, *FUNCTIONS)):
                continue
            docstring = ast.get_docstring(node) or ""
            is_open = is_public and not node.name.startswith("_")
            if (
                is_open
                and "Parameters\n---" in docstring
                and "Raises\n---" not in docstring
                and checks_arguments(node)
            ):
                yield node.lineno, node.name
            if isinstance(node, ast.ClassDef):
                yield from search(node.body, is_open)

    yield from search(file.tree.body, True)


def verbs_of(file):
    """Public functions and classes whose docstring lists the parameters."""
    for node in file.nodes:
        if not isinstance(node, (ast.ClassDef, *FUNCTIONS)) or node.name.startswith("_"):
            continue
        if "Parameters\n---" in (ast.get_docstring(node) or ""):
            parts = node.body if isinstance(node, ast.ClassDef) else [node]
            yield from (part for part in parts if part is node or is_constructor(part))


def is_constructor(node):
    return isinstance(node, FUNCTIONS) and node.name == "__init__"


def large_parts(file):
    """Classes and functions that nobody holds in the head."""
    verbs = set(verbs_of(file))
    for node in file.nodes:
        size = file.size(node) if isinstance(node, (ast.ClassDef, *FUNCTIONS)) else 0
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, FUNCTIONS)]
            facts = [
                part
                for part in methods
                if any("property" in ast.dump(mark) for mark in part.decorator_list)
            ]
            count = len(methods) - len(facts)
            if size > CLASS or count > METHODS:
                yield (
                    node.lineno,
                    f"class {node.name}: {size} tokens and {count} methods, at most {CLASS} "
                    f"and {METHODS}",
                )
        elif isinstance(node, FUNCTIONS):
            if size > FUNCTION:
                yield node.lineno, f"{node.name}(): {size} tokens, at most {FUNCTION}"
            by_place = len(node.args.posonlyargs) + len(node.args.args)
            by_place -= bool(node.args.args) and node.args.args[0].arg in ("self", "cls")
            count = by_place + len(node.args.kwonlyargs)
            most = VERB if node in verbs and by_place <= BY_PLACE else PARAMETERS
            if count > most and "cli" not in file.path.parts:
                yield node.lineno, f"{node.name}(): {count} parameters, at most {most}"
    if sum(file.tokens.values()) > FILE and file.path.name != CHECKER:
        yield 1, f"{sum(file.tokens.values())} tokens in one file, at most {FILE}"


# Imports


def module_of(path):
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def arrows_of(files):
    """Module -> modules that it imports, inside functions too, but not for type checkers only."""
    modules = {module_of(file.path): file for file in files}
    arrows = {}
    for module, file in modules.items():
        used = set()
        for node in file.nodes:
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and not node.level
                and id(node) not in file.types_only
            ):
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                used |= {name if name in modules else node.module for name in full}
            elif isinstance(node, ast.Import) and id(node) not in file.types_only:
                used |= {alias.name for alias in node.names}
        arrows[module] = used & set(modules) - {module, "ldpopt"}
    return arrows


def circle_in(arrows):
    """Modules that are left when those at the ends of arrows are taken away, again and again."""
    left = dict(arrows)
    while free := [module for module, used in left.items() if not used & left.keys()]:
        for module in free:
            del left[module]
    while free := [module for module in left if not any(module in used for used in left.values())]:
        for module in free:
            del left[module]
    return sorted(left)


def package_of(module):
    return [*module.split("."), ""][1]


def wrong_arrows(arrows, ledger):
    for module, used in sorted(arrows.items()):
        here = package_of(module)
        for other in sorted(used):
            there = package_of(other)
            row, target = ledger.get(here), ledger.get(there)
            if here in TRUSTED and there in SEARCH:
                yield here, f"{module} imports {other}: what proves imports nothing that searches"
            if row is None or target is None or here == there or target.get("kind") == "core":
                continue
            if row.get("kind") == "core":
                yield here, f"{module} imports {other}: core imports no product"
            elif there not in row.get("may_use", ()):
                yield here, f"{module} imports {other}: {there} is not in its may_use"


# The ledger, the front pages, the tests


def wrong_rows(ledger, packages):
    for name in sorted(packages - set(ledger)):
        yield name, "a package without a row in the ledger"
    for name, row in ledger.items():
        if name not in ("errors", CHECKER) and not Path("ldpopt", name, "__init__.py").exists():
            yield name, "a row without a package"
        if (
            row.get("kind") not in ("core", "product")
            or len(str(row.get("for_whom", "")).split()) < 3
        ):
            yield name, "a row needs kind = core or product, and for_whom = one sentence"
        first = FIRST.get(name, row.get("tokens", 0))
        if row.get("tokens", 0) > first and len(str(row.get("raised", "")).split()) < 5:
            yield (
                name,
                f"the budget was raised from {first} to {row['tokens']}: "
                "raised = one sentence says for whom",
            )
        for other in row.get("may_use", ()):
            if ledger.get(other, {}).get("kind") != "product":
                yield name, f"may_use names {other}, which is no product"


def wrong_kinds(ledger):
    """A package says in the first word of its docstring what it is."""
    wrong = []
    for name, row in ledger.items():
        path = Path("ldpopt", name, "__init__.py")
        if path.exists():
            first = (
                (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
                .split(":")[0]
                .lower()
            )
            wrong += [name] * (first != row.get("kind"))
    if wrong:
        yield (
            "names",
            'package docstrings that do not begin with "Core: " or "Product: ": '
            f"{', '.join(wrong)}",
        )


def public_names():
    """Package -> the names of ``import ldpopt`` that it defines."""
    names = defaultdict(set)
    for node in ast.parse(Path("ldpopt/__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[(node.module or alias.name).split(".")[0]].add(alias.name)
    return names


def used_names(path):
    """Names of ldpopt and of its packages that a script imports or reaches by ``ldpopt.NAME``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used, handles = set(), {"ldpopt"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            handles |= {
                alias.asname for alias in node.names if alias.name == "ldpopt" and alias.asname
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ldpopt":
            used |= {*node.module.split(".")[1:2], *(alias.name for alias in node.names)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in handles
        ):
            used.add(node.attr)
    return used


def missing_examples(ledger):
    """Each product has an example outside of examples/papers, and a row in docs/how_to.md."""
    used = set().union(*map(used_names, sorted(Path("examples").glob("*.py"))))
    page = Path("docs/how_to.md")
    quoted = (
        " ".join(re.findall(r"`[^`]*`", page.read_text(encoding="utf-8"))) if page.exists() else ""
    )
    public = public_names()
    for name, row in ledger.items():
        if row.get("kind") != "product" or "/" in name or name in (*NO_EXAMPLE, CHECKER):
            continue
        names = public[name] | {name}
        if not names & used:
            yield name, "no example in examples/ uses it"
        if not any(re.search(rf"(?<![.\w]){re.escape(word)}\b", quoted) for word in names):
            yield name, "no row of docs/how_to.md names it"


def pinned_prose():
    """Patterns of several words by which tests pin the wording of messages."""
    count = 0
    for path in sorted(Path("tests").rglob("*.py")):
        patterns = re.findall(
            r"""match=r?f?("[^"\n]*"|'[^'\n]*')""", path.read_text(encoding="utf-8")
        )
        count += sum(
            len(re.findall(r"[A-Za-z]{2,}", pattern)) >= PINNED_WORDS for pattern in patterns
        )
    return count


def front_pages():
    for name, most in FRONT.items():
        if (
            Path(name).exists()
            and (lines := len(Path(name).read_text(encoding="utf-8").splitlines())) > most
        ):
            yield "front", f"{name}: {lines} lines, at most {most}"


def missing_layers(packages):
    contracts = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    layers = " ".join(" ".join(contract.get("layers", ())) for contract in contracts)
    for name in sorted(packages):
        if not re.search(rf"\bldpopt\.{name}\b", layers):
            yield name, "it is not in the layers of the import contract"


# All together


EVERYWHERE = (
    (long_lines, f"lines of more than {COLUMNS} columns"),
    (joined_assignments, "assignments of unrelated values in one statement"),
    (hidden_updates, "fields set by vars(...).update"),
    (imports_of_itself, "`import ldpopt` inside of the package"),
    (silent_checks, 'public docstrings without "Raises" although an argument is checked'),
)


def places(files, check):
    return [(file.path, *place) for file in files for place in check(file)]


def measured(name, files, row):
    """The line of a room, and its breaks."""
    tokens = sum(sum(file.tokens.values()) for file in files)
    lines = sum(len(file.tokens) for file in files)
    density = tokens / max(lines, 1)
    prose = 100 * sum(file.words for file in files) / max(tokens, 1)
    breaks = []
    budget = row.get("tokens", 0)
    if tokens > budget:
        breaks.append(f"{tokens} tokens, its budget is {budget}")
    if density > DENSITY:
        breaks.append(f"{density:.1f} tokens a line, at most {DENSITY}")
    if prose < PROSE.get(name, 0):
        breaks.append(f"{prose:.1f} words of prose for 100 tokens, at least {PROSE[name]}")
    borrowed = places(files, borrowed_names)
    if (
        1000 * len(borrowed) > BORROWED * lines and name != "errors"
    ):  # there `what` is a part of a message
        path, line, word = borrowed[0]
        breaks.append(
            f"{len(borrowed)} borrowed names, at most {BORROWED * lines // 1000} (first: {word} in "
            f"{path}:{line})"
        )
    for check, says in EVERYWHERE:
        hits = places(files, check)
        if hits:
            path, line, word = hits[0]
            breaks.append(f"{len(hits)} {says} (first: {path}:{line}{' ' + word if word else ''})")
    breaks += [f"{path}:{line} {says}" for path, line, says in places(files, large_parts)]
    mark = "  " if not breaks else f"{len(breaks):2d}"
    line = (
        f"{mark} {name:21} {row.get('kind', '?'):7} {len(files):3} files {tokens:6} of "
        f"{budget:6} tokens"
    )
    return f"{line} {density:5.1f} a line {prose:5.1f} words", breaks


def home_of(path, ledger):
    """The row of a file: the longest folder in the ledger, the checker, or its package."""
    if path.name == CHECKER:
        return CHECKER
    folder = "/".join(path.parts[1:-1])
    rows = (name for name in ledger if f"{folder}/".startswith(f"{name}/"))
    return max(rows, key=len, default=folder.split("/")[0] or "errors")


def breaks_of_the_house(files, ledger):
    """What concerns more than one room."""
    packages = {path.parent.name for path in Path("ldpopt").glob("*/__init__.py")}
    yield from wrong_rows(ledger, packages)
    arrows = arrows_of(files)
    yield from wrong_arrows(arrows, ledger)
    if circle := circle_in(arrows):
        yield "imports", f"a circle of files: {', '.join(circle)}"
    for file in files:
        if re.search(r"sys\.meta_path|__class__ = ", "\n".join(file.rows)):
            yield "imports", f"{file.path}: an import hook, or a changed class of a module"
    yield from missing_layers(packages)
    yield from wrong_kinds(ledger)
    yield from missing_examples(ledger)
    yield from front_pages()
    if (count := pinned_prose()) > PINNED:
        yield (
            "tests",
            f"{count} patterns of {PINNED_WORDS} words or more in match=, at most {PINNED}: "
            "match codes",
        )
    homes = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{file.path}:{node.lineno}")
    for name, lines in homes.items():
        if len(lines) > 1 and name not in PUBLIC_TWICE:
            yield "names", f"class {name} in {', '.join(lines)}"


@cache
def house():
    """The ledger, all files, and those of each room: read once, however often one asks."""
    ledger = tomllib.loads(LEDGER.read_text(encoding="utf-8"))
    gc.disable()  # a million objects come and stay: looking for unused ones takes most of the time
    files = [File(path) for path in sorted(Path("ldpopt").rglob("*.py"))]
    checkers = [File(path) for path in Path().glob(CHECKER)]
    gc.freeze()
    gc.enable()
    rooms = defaultdict(list)
    for file in files + checkers:
        rooms[home_of(file.path, ledger)].append(file)
    return ledger, files, rooms


def all_breaks(chosen=frozenset()):
    """Lines of the rooms (of the chosen ones, if any), and the breaks: (room, what is wrong)."""
    ledger, files, rooms = house()
    if unknown := [name for name in chosen if name not in ledger and not Path(name).exists()]:
        sys.exit(f"no such room: {', '.join(unknown)} | rooms: {', '.join(ledger)}")
    chosen = {name if name in ledger else home_of(Path(name), ledger) for name in chosen}
    lines, breaks = [], []
    for name in ledger:
        if name in chosen or not chosen:
            line, texts = measured(name, rooms[name], ledger[name])
            lines.append(line)
            breaks += [(name, text) for text in texts]
    total = sum(sum(file.tokens.values()) for file in files)
    lines.append(f"{len(ledger)} rooms, {len(files)} files, {total} tokens of code")
    return lines, breaks + list(breaks_of_the_house(files, ledger))


def main(arguments):
    os.chdir(ROOT)
    lines, breaks = all_breaks(arguments)
    print(*lines[:-1], *(f"BREAK {room}: {text}" for room, text in breaks), sep="\n")
    print(f"{lines[-1]}, {len(breaks)} breaks")
    return bool(breaks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
