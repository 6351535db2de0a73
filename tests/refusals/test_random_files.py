"""Files and command lines that hypothesis makes up: read right, or refused on one line with exit
code 1, 2 or 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import fuzz_cases, run_cli

MODELS = [
    path.read_bytes() for path in sorted((Path(__file__).parents[2] / "models").glob("*.toml"))
]
MECHANISM = {
    "inputs": ["no", "yes"],
    "outputs": ["no", "yes"],
    "channel": [[0.75, 0.25], [0.25, 0.75]],
}
PIECES = [
    *(
        b"nan",
        b"inf",
        b"-1",
        b"1e999",
        b"1e-999",
        b"0",
        b"[]",
        b"{}",
        b"true",
        b'""',
        b'"log(3)"',
        b"\x00",
        b"\xff",
    ),
    *(
        b"\r",
        b"\n",
        b"[[",
        b"]]",
        b"=",
        b'"',
        b"#",
        b"9" * 400,
        b"[prior]",
        b"[privacy]",
        b"1979-05-27",
        b"'''",
        b"\\u0000",
    ),
    *(
        b"0x10",
        b"1_0",
        b"e\xcc\x81",
        b"../../etc/passwd",
        b'"identity"',
        b'"event"',
        b"uniform = true",
        b"[" * 200,
    ),
    *(
        b"null",
        b"NaN",
        b"Infinity",
        b"-0.0",
        b"1.0e308",
        b",",
        b":",
        b"}",
        b'{"a": 1, "a": 2}',
        b'{"__class__": 1}',
    ),
]


@st.composite
def mutated(draw: Any, originals: list[bytes]) -> bytes:
    """A file with up to four places overwritten, cut out, doubled or filled with something odd."""
    text = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 12)))
        way = draw(st.sampled_from(["piece", "piece", "cut", "double", "byte"]))
        new = (
            draw(st.sampled_from(PIECES))
            if way == "piece"
            else b""
            if way == "cut"
            else bytes(text[start:stop]) * 2
        )
        text[start:stop] = bytes([draw(st.integers(0, 255))]) if way == "byte" else new
    return bytes(text)


numbers = st.sampled_from(
    [
        "0",
        "1",
        "0.5",
        "-0.5",
        "1e-9",
        "1e308",
        "nan",
        "inf",
        "true",
        '"1"',
        '"log(3)"',
        "10000",
        "[1]",
    ]
)
words = st.sampled_from(
    [
        "pure",
        "approximate",
        "graph",
        "metric",
        "identity",
        "absolute_error",
        "path",
        "event",
        "odd",
        "",
    ]
)
values = st.one_of(
    numbers,
    words.map(lambda word: f'"{word}"'),
    st.lists(numbers, max_size=4).map(lambda row: f"[{', '.join(row)}]"),
    st.lists(st.lists(numbers, min_size=2, max_size=2), max_size=3).map(
        lambda rows: "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]"
    ),
    st.tuples(st.sampled_from(["kind", "rows", "no", "edges"]), numbers).map(
        lambda p: f"{{ {p[0]} = {p[1]} }}"
    ),
)
GRAMMAR = {
    "": ["title", "source", "objective", "oops"],
    "[alphabet]": ["inputs", "outputs", "values"],
    "[prior]": ["values", "weights", "uniform", "dataset"],
    "[utility]": ["kind", "gain", "loss", "values", "outputs"],
    "[privacy]": ["kind", "epsilon", "delta", "form", "neighbors", "distance", "points"],
    "[solver]": ["name", "time_limit"],
    "[expect]": ["value", "tolerance"],
    "[[constraints]]": ["kind", "values", "outputs", "lower", "upper", "coefficients", "name"],
}
BODY = {
    "[alphabet]": 'inputs = ["a", "b"]',
    "[prior]": "uniform = true",
    "[utility]": 'kind = "identity"',
    "[privacy]": 'kind = "pure"\nepsilon = 1.0',
}


@st.composite
def generated(draw: Any) -> bytes:
    """A model file by its grammar, whose values may be anything."""
    lines = []
    for table, keys in GRAMMAR.items():
        if table in BODY and draw(st.integers(0, 3)):
            lines += [table, BODY[table]]
        elif draw(st.integers(0, 2)) == 0:
            chosen = draw(st.lists(st.sampled_from(keys), max_size=3, unique=True))
            lines += [table, *(f"{key} = {draw(values)}" for key in chosen)]
    return "\n".join(lines).encode()


def read_and_solved(folder: Path, text: bytes) -> None:
    path = folder / "model.toml"
    path.write_bytes(text)
    problem = lo.load_model(path)
    if problem.utility.matrix.size <= 12 and not problem.constraints:
        assert lo.solve(problem).mechanism.audit(problem.privacy).verdict == "certified"
    lo.save_model(problem, path)
    assert lo.load_model(path).inputs == problem.inputs


@fuzz_cases(0.06)
@given(st.one_of(mutated(MODELS), generated()))
def test_model_files(answers_or_refuses: Any, text: bytes) -> None:
    answers_or_refuses(lambda: read_and_solved(Path.cwd(), text))


def read_and_audited(folder: Path, text: bytes) -> None:
    path = folder / "mechanism.json"
    path.write_bytes(text)
    mechanism = lo.Mechanism.load(path)
    assert abs(mechanism.channel.sum(axis=1) - 1).max() <= 1e-9
    assert mechanism.audit().epsilon >= 0


JSON = [
    json.dumps(MECHANISM).encode(),
    json.dumps({"mechanism": MECHANISM, "status": "optimal"}, indent=1).encode(),
]


@fuzz_cases(0.1)
@given(mutated(JSON))
def test_mechanism_files(answers_or_refuses: Any, text: bytes) -> None:
    answers_or_refuses(lambda: read_and_audited(Path.cwd(), text))


CSVS = [
    b"answer,age\nyes,3\nno,4\nno,5\n",
    b"answer\n" + b"yes\nno\n" * 5,
    b'answer\r\n"yes"\r\n"no"\r\n',
]
OPTIONS = [
    "--json",
    "-",
    "-o",
    "out.json",
    "--epsilon",
    "1",
    "log(3)",
    "0:1:3",
    "--delta",
    "0.1",
    "--solver",
    "highs",
]
OPTIONS += [
    "-c",
    "--column",
    "answer",
    "age",
    "--form",
    "pairwise",
    "--gap",
    "0",
    "--time-limit",
    "5",
    "--to",
    "lp",
]
OPTIONS += [
    "model.toml",
    "mechanism.json",
    "table.csv",
    "missing",
    ".",
    "",
    "-",
    "nan",
    "1e999",
    "-1",
    "--help",
    "\u00e9\x01",
]
VERBS = [
    "check",
    "solve",
    "compare",
    "audit",
    "vertices",
    "privatize",
    "estimate",
    "sweep",
    "export",
    "models",
]
GOOD = {
    "audit": ["mechanism.json"],
    "privatize": ["mechanism.json", "table.csv", "-c", "answer", "-o", "out.csv"],
    "estimate": ["mechanism.json", "table.csv", "-c", "answer"],
    "sweep": ["model.toml", "--epsilon", "1:2:2"],
    "models": [],
    "export": ["model.toml", "--to", "lp"],
}
SMALL = [text for text in MODELS if b"coin" in text or b"zhou" in text.lower()][:3] or MODELS[:1]


@st.composite
def commands(draw: Any) -> list[str]:
    """A verb with the arguments that it takes, a few of them exchanged, doubled or left out."""
    verb = draw(st.sampled_from(VERBS))
    args = [verb, *GOOD.get(verb, ["model.toml"])]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(args)))
        args[place : place + draw(st.integers(0, 1))] = draw(
            st.lists(st.sampled_from(OPTIONS), max_size=2)
        )
    return args


def called(args: list[str], files: dict[str, bytes]) -> None:
    for name, text in files.items():
        Path(name).write_bytes(text)
    result = run_cli(*args)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2, 3)
    assert "Traceback" not in result.output
    assert result.exit_code == 0 or result.stderr.strip()
    assert result.exit_code != 2 or result.stderr.count("\n") == 1, result.stderr


@fuzz_cases(0.04)
@given(commands(), mutated(SMALL), mutated(JSON), mutated(CSVS), st.integers(0, 3))
def test_command_lines(
    answers_or_refuses: Any,
    args: list[str],
    model: bytes,
    mechanism: bytes,
    table: bytes,
    spoilt: int,
) -> None:
    """One of the files is spoilt at most, so that commands get beyond the first."""
    good = {"model.toml": SMALL[0], "mechanism.json": JSON[0], "table.csv": CSVS[0]}
    drawn = {"model.toml": model, "mechanism.json": mechanism, "table.csv": table}
    name = [*good, ""][spoilt]
    answers_or_refuses(
        lambda: called(args, good | {key: value for key, value in drawn.items() if key == name})
    )
