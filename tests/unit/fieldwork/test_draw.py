"""draw.js draws as Python does: all words of a table by the words at its borders, in an embedded
engine and in node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from builders import sample_or_all, seconds, thorough_or
from draw_vectors import (
    DRAW,
    JOINT,
    RUNNER,
    SOURCE,
    TOTAL,
    all_cases,
    boundary_cases,
    column,
    few_cases,
)
from ldpopt import Mechanism

engines = pytest.importorskip("py_mini_racer", reason="mini-racer is in the extra 'test'")
CODE = re.sub(r"/\*\*[\s\S]*?\*/|//.*", "", SOURCE)
MUTATIONS = [
    *(
        (r"<=", "<"),
        (r"(?<![<=])<(?!=)", "<="),
        (r"===", "!=="),
        (r"!==", "==="),
        (r"&&", "||"),
        (r"\|\|", "&&"),
    ),
    *(
        (r"\+=", "-="),
        (r"(?<=[\w)]) \+ (?=[\w(])", " - "),
        (r"(?<=[\w)]) - (?=\w)", " + "),
        (r" \* ", " + "),
    ),
    *(
        (r">>>", "<<"),
        (r"\btrue\b", "false"),
        (r"\b0\b", "1"),
        (r"\b1\b", "2"),
        (r"\b11\b", "10"),
        (r"\b21\b", "20"),
    ),
    *(
        (r"\b53n?\b", "52n"),
        (r"\b65536\b", "65537"),
        (r"\b8\b", "7"),
        (r"\b4\b", "0"),
        (r"every\(", "some("),
    ),
    *(
        (r"\? ", "?? "),
        (r"!(?=\w)", ""),
        (r"-1\b", "1"),
        (r"null\b", "0"),
        (r'"\w[\w ]*"', '"other"'),
        (r"\.slice", ""),
    ),
    *(
        (r"\.sort\(\(a, b\) => a - b\)", ""),
        (r"\.sort\([^;]*?keys\[b\]\)", ""),
        (r"\?\? missing_answer", ""),
    ),
    *(
        (r"throw new Error\([^;]*\);", ";"),
        (r"requireForm\(form\);", ";"),
        (r"requireColumn\(name, column, questions\);", ";"),
    ),
    *(
        (r"\.includes", ".lastIndexOf"),
        (r"Math.min", "Math.max"),
        (r"getUint32", "getInt32"),
        (r"words\(1\)", "words(2)"),
    ),
]
# Changes after which every report is the same, with the reason
SAME = {
    "MISSING = -2": "also the code of no answer",
    "start <= bytes.byteLength": "one more request of no bytes",
    "let row = [2]": "the row of one number is never read",
    "mass ? -2 : TOTAL": "also below all other keys",
    "bytes.getInt32(8 * i, true) >>> 11": "a shift without sign",
}


@pytest.fixture(scope="module")
def engine() -> Iterator[engines.MiniRacer]:
    with engines.MiniRacer() as found:
        yield found


def differing(engine: engines.MiniRacer, source: str, cases: str) -> list[int] | str:
    """Numbers of the cases in which a source differs from Python; a text if the source does not
    run."""
    program = (
        f"(() => {{{source}\n{RUNNER.read_text()}\nreturn "
        f"JSON.stringify(runCases({json.dumps(cases)}));}})()"
    )
    try:
        found: list[int] = json.loads(engine.eval(program, timeout_sec=seconds(4)))
    except (engines.JSEvalException, ValueError) as error:
        return str(error)[:200]
    return found


def mutants() -> Iterator[tuple[str, str]]:
    """Every source with one change that matters, and the change."""
    for old, new in MUTATIONS:
        for match in re.finditer(old, CODE):
            source = CODE[: match.start()] + new + CODE[match.end() :]
            line = source[source.rfind("\n", 0, match.start()) + 1 :].split("\n")[0].strip()
            if "throw" not in match.string[match.start() - 20 : match.start()] and not any(
                map(source.count, SAME)
            ):
                yield f"{match[0]} -> {new}: {line}", source


def test_the_module_is_short_and_needs_nothing() -> None:
    assert len(DRAW.read_text(encoding="utf-8").splitlines()) < 250
    assert not re.search(r"Math\.random|\bimport\b|\beval\b|innerHTML|fetch", CODE)


def test_every_table_set_scheme_and_refusal_is_as_in_python(engine: engines.MiniRacer) -> None:
    assert differing(engine, SOURCE, all_cases()) == []


def test_the_words_of_a_report_are_as_many_as_its_mass() -> None:
    drawn = column(Mechanism([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]))
    for case, masses in zip(boundary_cases(drawn), drawn["masses"], strict=True):
        words = case["words"]
        reports = case["expected"]
        assert words[0] == 0
        assert words[-1] == TOTAL - 1
        ends = [
            word for word, report in zip(words, reports, strict=True) for _ in range(report == "0")
        ]
        assert max(ends) - min(ends) + 1 == masses[0]


def test_every_mutant_dies(engine: engines.MiniRacer) -> None:
    assert differing(engine, CODE, few_cases()) == []
    found = {
        name: differing(engine, source, few_cases()) for name, source in sample_or_all(mutants(), 4)
    }
    assert len(found) > thorough_or(3, 100)
    assert [name for name, failed in found.items() if failed == []] == []


PATHS = [
    {"smokes": "no"},
    {"smokes": "no answer"},
    {"smokes": "yes", "cigarettes": "0"},
    {"smokes": "yes", "cigarettes": "31"},
    {"smokes": "yes", "cigarettes": "no answer"},
]


@pytest.mark.parametrize("answers", PATHS)
def test_reports_of_a_path_have_the_masses(engine: engines.MiniRacer, answers: Any) -> None:
    """A number between two points has the mixture of their rows; of a path where a question is not
    asked there is nothing else. Chance of a failure below 1e-6."""
    points = [0, 30, 40, 60]
    law = Mechanism(np.random.default_rng(3).dirichlet(np.ones(5), size=7) * 0.95 + 0.01)
    paths = [[0, None], [2, None], *([1, place] for place in range(5))]
    column = {"of": ["smokes", "cigarettes"], "grids": {"cigarettes": points}, "paths": paths}
    column |= {"missing": "refuse", "reports": list("abcde"), "masses": law.counts.tolist()}
    gate = {"missing": "refuse", "missing_answer": "no answer"}
    number = {"least": 0, "most": 60, "step": 1}
    questions = {
        "smokes": gate | {"answers": ["no", "yes", "no answer"]},
        "cigarettes": gate | {"answers": ["no answer"], "number": number}
        | {"only_if": {"smokes": ["yes"]}},
    }  # fmt: skip
    form = {"format": "ldpopt form 2", "scheme": "split", "questions": questions}
    form |= {"columns": {"smokes": column}}
    draws = thorough_or(5000, 100_000)
    words = np.random.default_rng(4).integers(0, TOTAL, size=2 * draws + 99).tolist()
    program = (
        f"(() => {{{SOURCE}\nconst all = {json.dumps(words)}; let used = 0; const seen = {{}};\n"
        "const words = (count) => all.slice(used, (used += count));\n"
        f"const form = {json.dumps(form)}, answers = {json.dumps(answers)};\n"
        f"for (let i = 0; i < {draws}; i++) {{ const y = drawAll(form, answers, undefined, words)"
        ".smokes; seen[y] = (seen[y] ?? 0) + 1; } return JSON.stringify(seen); })()"
    )
    seen = json.loads(engine.eval(program, timeout_sec=seconds(60)))
    share = {"no": [(0, 1.0)], "no answer": [(1, 1.0)]}.get(answers["smokes"], [])
    share = (
        share
        or {
            "0": [(2, 1.0)],
            "31": [(3, 0.9), (4, 0.1)],
            "no answer": [(6, 1.0)],
        }[answers["cigarettes"]]
    )
    means = draws * sum(part * law.counts[row] / TOTAL for row, part in share)
    distance = sum((seen.get(y, 0) - n) ** 2 / n for y, n in zip("abcde", means, strict=True))
    assert distance < 34


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_draws_the_same(tmp_path) -> None:
    for file in (DRAW, JOINT):
        shutil.copy(file, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "cases.json").write_text(all_cases(), encoding="utf-8")
    runner = RUNNER.read_text(encoding="utf-8")
    script = (
        'import { readFileSync } from "node:fs";\n'
        "import { applies, asked, chosenForm, draw, drawAll, requireColumn, requireForm } "
        'from "./draw.js";\n'
        'import { secureWords, wordsOf } from "./draw.js";\n'
        'import "./joint.js";\n'
        f'{runner}\nconsole.log(JSON.stringify(runCases(readFileSync("cases.json", "utf8"))));\n'
    )
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=seconds(60)
    )
    assert (done.stderr, done.stdout) == ("", "[]\n")
