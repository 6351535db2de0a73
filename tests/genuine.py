"""One small file of every kind that the library writes, and what reads it.

`files()` has, for each kind and name, the text of the file as the library writes it. `accepted`
says whether the library and the checker accept a file of the kind; None where the checker reads no
such files.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import ldpopt as lo
import ldpopt_check as checker
from builders import MadeLater
from checker_cases import ALL_SETS, designs, saved
from ldpopt.accounting import CurveCertificate, compose, permanent, shuffled
from ldpopt.certificate.design_certificate import load_certificate
from ldpopt.errors import LdpoptError
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.technique import Technique
from ldpopt.tables.origin import BESIDE, read_origin

COIN = [[0.75, 0.25], [0.25, 0.75]]
LETTERS = list("abc")


def response(n: int, epsilon: float) -> lo.Mechanism:
    """The mechanism that tells the answer most often."""
    return lo.closed_forms.top_k(np.full(n, 1 / n), epsilon).mechanism


ACCOUNTS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: compose([(response(3, 1.0), 3)], pairs=[(0, 1), (1, 2)]),
    "all": lambda: compose([response(3, 1.0), (COIN, 4)]),
    "permanent": lambda: permanent(response(3, 2.0), response(3, 1.0), 3),
    "shuffled": lambda: shuffled(response(2, 1.0), 20),
    "one question": lambda: lo.Survey(
        {
            "a": response(2, 1.0),
            "b": lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0)),
        },
        scheme="one_question",
    ).account(2),
}


def problems() -> dict[str, lo.Problem]:
    """A small problem for every notion whose certificate a file can hold."""

    def problem(notion: Any, **more: Any) -> lo.Problem:
        return lo.Problem([0.5, 0.3, 0.2], "identity", notion, inputs=LETTERS, **more)

    return {
        "pure": problem(lo.PureLDP("log(3)")),
        "event": problem(lo.ApproximateLDP(1.0, 1e-3)),
        "entry": problem(lo.ApproximateLDP(1.0, 1e-3, form="entry")),
        "graph": problem(lo.GraphDP(1.0, nx.path_graph(["a", "b", "c"]))),
        "metric": problem(lo.MetricDP.of_points(1.0, [0, 1, 3], inputs=LETTERS)),
        "one_sided": problem(lo.OneSided(1.0, ["a"])),
        "utility_optimized": problem(lo.UtilityOptimizedLDP(1.0, ["a"])),
        "worst": lo.Problem(
            None, "identity", lo.PureLDP(1.0), inputs=LETTERS, objective="worst_case"
        ),
    } | averaged_problems()


def averaged_problems() -> dict[str, lo.Problem]:
    """A small problem for every kind of notion that compares averages."""
    stated = {"a": 0.2, "b": "1/3", "c": "7/15"}
    secrets = {"ill": {"a": 0.6, "b": 0.3, "c": 0.1}, "well": {"a": 0.1, "b": 0.3, "c": 0.6}}
    pairs = [("ill", "well"), ("well", "ill")]
    budgets = {"a": 0.5, "b": 1.0, "c": "log(3)"}
    mean = {"a": 1, "b": 1, "c": 1}
    bounds = [
        lo.OddsBound({"a": 1, "b": 1}, mean, "1/5"),
        lo.OddsBound({"c": 1}, {"a": 0.9, "c": 0.1}, "log(2)"),
    ]
    utility_optimized = lo.UtilityOptimizedLDP(1.5, ["a", "b"])
    notions = {
        "leakage": lo.PML("log(4/3)"),
        "leakage, stated": lo.PML(0.2, stated),
        "information": lo.InformationPrivacy(0.3),
        "secrets": lo.Secrets(0.4, secrets),
        "secrets, pairs": lo.Secrets(0.4, secrets | {"all": [0.5, 0.25, 0.25]}, pairs),
        "pairwise": lo.PairwiseLDP.of_answers(budgets),
        "cone": lo.ColumnCone(bounds),
        "all": lo.PureLDP(2.0) & lo.PML(0.25),
        "all, owned": utility_optimized & lo.Secrets(0.5, secrets),
    }
    prior = [0.5, 0.3, 0.2]
    return {name: lo.Problem(prior, "identity", n, inputs=LETTERS) for name, n in notions.items()}


LANGUAGES = {
    "languages": ["en", "de"],
    "consent": {"en": "Yes", "de": "Ja"},
    "retention": "until 2030",
    "sections": {"one": {"en": "One", "de": "Eins"}},
    "matrices": {"m": "How much"},
    "words": {"de": {"send": "Ab"}},
    "questions": {
        "a": {"text": {"en": "A?", "de": "B?"}, "answers": {"x": {"en": "X", "de": "Z"}}},
        "m.b": {"matrix": "m", "row": "b", "section": "one"},
        "m.c": {"matrix": "m", "row": {"en": "c", "de": "d"}},
    },
    "fields": {"region": {"text": "Region", "answers": {"n": {"en": "N", "de": "M"}}}},
}
"""Words with every key that a survey can have."""


def _coin() -> lo.Mechanism:
    return lo.Mechanism(COIN, ["x", "y"])


def _mean() -> Any:
    return lo.design(lo.Workload.prefix(3), lo.PureLDP(1.0))


def _frequencies(n: int, epsilon: float, **options: Any) -> Any:
    return lo.design(lo.Workload.frequencies(n), lo.PureLDP(epsilon), **options)


WORDS = {"contact": "us", "questions": {"a": {"text": "A?", "answers": {"x": "yes"}}}}
SURVEYS: dict[str, Callable[[], lo.Survey]] = {
    "split": lambda: lo.Survey(
        {"a": response(2, 1.0), "b": _mean(), "c": _frequencies(40, 1.0)}, epsilon=3.1
    ),
    "capped": lambda: lo.Survey({"a": _frequencies(24, 2.0, influence=1.8)}),
    "words": lambda: lo.Survey({"a": _coin()}, words=WORDS, weights="w"),
    "languages": lambda: lo.Survey(
        dict.fromkeys(("a", "m.b", "m.c"), _coin()),
        title={"en": "T", "de": "U"},
        words=LANGUAGES,
        fields={"region": ["n", "s"], "weight": []},
    ),
    "patterns": lambda: lo.Survey({"a": ["n", "y"], "b": ["n", "y"]}, epsilon=2.0, scheme="joint"),
    "joint": lambda: lo.Survey({"a": list("xyz"), "b": list("xyz")}, epsilon=3.0, scheme="joint"),
    "numbers": lambda: lo.Survey(
        {"a": lo.Workload([[1, 0, 0]], list("xyz")), "b": lo.Workload([[0, 0, 1]], list("xyz"))},
        epsilon=3.0,
        scheme="joint",
    ),
    "models": lambda: lo.Survey(models()),
}
"""A small survey of every kind of question and scheme."""


@cache
def survey_of(name: str) -> lo.Survey:
    """Return the survey of a name, solved once."""
    return SURVEYS[name]()


def models() -> dict[str, Question]:
    """Questions with several mechanisms, behaviors of each form, a technique and edges."""
    coins = {1: lo.Mechanism(COIN, ["x", "y"]), "b": lo.Mechanism(COIN[::-1], ["x", "y"])}
    behaviors = {"u": "uniform", "r": "x", "l": [0.25, 0.75], "m": {"y": 1.0}}
    named = Technique.read({"crosswise": "1/6"})
    asked = lo.ReportModel(named.mechanism(), behaviors={"c": "same"})
    return {
        "a": ModelQuestion(lo.ReportModel(coins, column="half", behaviors=behaviors)),
        "b": ModelQuestion(asked, technique=named),
        "c": ModelQuestion(named.mechanism(), technique=named, edges=[-np.inf, 0.5, np.inf]),
        "d": Question(_mean(), edges=[0, 1, 2, 3]),
    }


def _origin(path: Path) -> None:
    source = path.with_name("answers.csv")
    source.write_text("a,b,c\n" + "n,y,1\n" * 4, encoding="utf-8")
    coin = lo.Mechanism(COIN, ["n", "y"])
    lo.Survey({"a": coin, "b": coin}).privatize_file(source, path.with_name("out.csv"), keep=["c"])
    path.with_name("out.csv" + BESIDE).replace(path)


def _mechanism(problem: lo.Problem) -> Callable[[Path], None]:
    return lambda path: lo.solve(problem).mechanism.save(path, privacy=problem.privacy)


def _counts(path: Path) -> None:
    lo.Counts.of(lo.Mechanism(COIN, ["x", "y"]), ["x", "y", "x"]).save(path)


WRITERS: dict[str, Callable[[], dict[str, Callable[[Path], Any]]]] = {
    "account": lambda: {
        name: lambda path, make=make: make().prove(1e-3, 0.1).save(path)
        for name, make in ACCOUNTS.items()
    },
    "program": lambda: {
        name: lambda path, problem=problem: lo.certify(lo.solve(problem)).save(path)
        for name, problem in problems().items()
    },
    "mechanism": lambda: {
        **{name: _mechanism(problem) for name, problem in problems().items()},
        "own": lo.Mechanism([[1.0, 0.0], [0.5, 0.5]]).save,
    },
    "survey": lambda: {
        name: lambda path, name=name: survey_of(name).save(path) for name in SURVEYS
    },
    "origin": lambda: {"": _origin},
    "counts": lambda: {"": _counts},
    "key": lambda: {"": lo.SecretKey(bytes(32)).save},
}


@cache
def files(kind: str) -> Mapping[str, str]:
    """Names and texts of the files of a kind."""
    if kind == "design":
        names = [name for name in designs() if name not in ALL_SETS]
        return MadeLater({name: partial(saved, name) for name in names})
    return MadeLater({name: partial(_text, kind, name) for name in WRITERS[kind]()})


def _text(kind: str, name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        WRITERS[kind]()[name](path)
        return path.read_text(encoding="utf-8")


KINDS = ("design", *WRITERS)
READ_BY_CHECKER = ("design", "account", "program")
SEALED = ("design", "account", "survey", "origin")
"""Kinds with a digest of all that the file says."""


def _survey(path: Path) -> Any:
    for certificate in lo.Survey.load(path).certificates.values():
        if failures := certificate.recheck():
            return failures
    return ()


def _read_origin(path: Path) -> Any:
    table = path.with_name("out.csv")
    table.touch()
    path.replace(path.with_name("out.csv" + BESIDE))
    return () if read_origin(str(table)) else ("no origin",)


def _read_key(path: Path) -> Any:
    path.chmod(0o600)
    lo.SecretKey.load(path)
    return ()


def _loaded(load: Any) -> Callable[[Path], Any]:
    return lambda path: load(path) and ()


READERS: dict[str, Callable[[Path], Any]] = {
    "design": lambda path: load_certificate(path).recheck(),
    "account": lambda path: CurveCertificate.load(path).recheck(),
    "program": lambda path: lo.Certificate.load(path).recheck(),
    "survey": _survey,
    "mechanism": _loaded(lo.Mechanism.load),
    "counts": _loaded(lo.Counts.load),
    "origin": _read_origin,
    "key": _read_key,
}
"""What reads a file in the library, and returns what does not hold."""


def accepted(kind: str, path: Path, text: str | bytes) -> tuple[bool, bool | None]:
    """Whether the library accepts the text of a file, and whether the checker does. Any error of
    the library that is not one of its own is raised."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    path.write_bytes(raw)
    theirs = None
    if kind in READ_BY_CHECKER:
        with contextlib.redirect_stdout(io.StringIO()):
            theirs = checker.main([str(path)]) == 0
    try:
        ours = not READERS[kind](path)
    except LdpoptError:
        ours = False
    return ours, theirs
