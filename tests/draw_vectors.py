"""Cases for draw.js: words, and what a plain Python draws from them.

A table is inverted: the report is the number of sums of masses that are at most the word. That
number never falls when the word grows, so the two words at each sum (the last one before, the first
one after) decide the report of all 2**53.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ldpopt import Mechanism, Survey, design
from ldpopt.frequencies import SubsetSelection
from ldpopt.frequencies.yes_no import WordChoices
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload

TOTAL = 2**53
ROOT = Path(__file__).parents[1]
DRAW, JOINT = (ROOT / "ldpopt" / "fieldwork" / name for name in ("draw.js", "joint.js"))
SOURCE = "".join(
    re.sub(r"^(export |import .*)", "", file.read_text("utf-8"), flags=re.M)
    for file in (DRAW, JOINT)
)
RUNNER = Path(__file__).parent / "unit" / "fieldwork" / "run_cases.js"
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
TINY = Mechanism(np.array([[1 - 2**-53, 2**-53], [2**-53, 1 - 2**-53]]), inputs=["x", "y"])
Case = dict[str, Any]


def question(
    randomizer: Any, missing: Any = "refuse", missing_answer: Any = None
) -> dict[str, Any]:
    """The form of one question."""
    form = Survey(
        {"q": Question(SimpleNamespace(randomizer=randomizer), missing, missing_answer)}
    ).form()
    found: dict[str, Any] = form["questions"]["q"]
    return found


def boundary_cases(asked: dict[str, Any]) -> list[Case]:
    """For each answer the words at which the report changes, the first and the last word, and their
    reports."""
    cases = []
    for code, masses in enumerate(asked["masses"]):
        sums = list(accumulate(masses))
        words = sorted({word for end in (0, *sums) for word in (end - 1, end) if 0 <= word < TOTAL})
        reports = [asked["reports"][sum(end <= word for end in sums)] for word in words]
        case = {
            "call": "table",
            "question": asked,
            "answer": asked["answers"][code],
            "words": words,
        }
        cases.append(case | {"used": len(words), "expected": reports})
    return cases


def set_cases(law: SubsetSelection, count: int, rng: np.random.Generator) -> list[Case]:
    """Random words, every fourth with equal keys, and some at the border of the mass of the
    truth."""
    asked = question(law)
    d = len(law.inputs)
    cases = []
    for number in range(count):
        code = int(rng.integers(d))
        words = rng.integers(0, TOTAL, size=1 + 12 * d, dtype=np.uint64)
        if number % 4 == 0:
            words[1 : 1 + 2 * d] %= np.uint64(4)  # equal keys at the border: drawn again
        if number % 10 in (1, 2):
            words[0] = law.distribution.mass - number % 10 % 2
        report, used = plain_set(asked["set"], code, words.tolist())
        case = {
            "call": "draw",
            "question": asked,
            "answer": asked["answers"][code],
            "words": words.tolist(),
        }
        cases.append(case | {"used": used, "expected": report})
    return cases


def plain_set(law: dict[str, int], own: int, words: list[int]) -> tuple[str, int]:
    """The set that the words draw, and how many of them: the smallest keys, drawn again until the
    border is clear."""
    used = 1
    while True:
        keys = words[used : used + law["count"]]
        used += law["count"]
        keys[own] = -1 if words[0] < law["mass"] else TOTAL
        border = sorted(keys)[law["size"] - 1]
        chosen = [place for place, key in enumerate(keys) if key <= border]
        if len(chosen) == law["size"]:
            return " ".join(map(str, chosen)), used


def plain_draw(asked: dict[str, Any], answer: str, words: Iterator[int]) -> str:
    """The report of an answer to a question with a table."""
    word = next(words)
    sums = accumulate(asked["masses"][asked["answers"].index(answer)])
    found: str = asked["reports"][sum(end <= word for end in sums)]
    return found


def plain_reports(
    form: dict[str, Any], answers: dict[str, Any], names: list[str], words: Iterator[int]
) -> Any:
    """The reports of a person on all questions."""
    every = list(form["questions"])
    fake = form["scheme"] == "fake_data"
    drawn = [every[next(words) * len(every) >> 53]] if fake else names
    reports: dict[str, Any] = {}
    for name, asked in form["questions"].items():
        answer = asked["missing_answer"] if answers.get(name) is None else answers[name]
        if name in names and answer is None and asked["missing"] == "refuse":
            return "refused"
        if name in drawn:
            reports[name] = None if answer is None else plain_draw(asked, answer, words)
        else:
            texts = asked["answers"]
            reports[name] = (
                plain_draw(asked, texts[next(words) * len(texts) >> 53], words) if fake else None
            )
    return reports


def scheme_cases(rng: np.random.Generator) -> list[Case]:
    """Persons under each scheme, with missing answers of each kind."""
    three = Mechanism(
        rng.dirichlet(np.ones(4), size=3) * 0.96 + 0.01, inputs=["a", "b", "no answer"]
    )
    questions = {"coin": Question(COIN), "three": Question(three, missing_answer="no answer")}
    cases = []
    for scheme in ("split", "one_question", "fake_data"):
        more = {} if scheme == "fake_data" else {"left": Question(COIN, "leave_out")}
        form = Survey(questions | more, scheme=scheme).form()
        for answers in (
            {"coin": "yes", "three": "a", "left": "no"},
            {"coin": "no", "three": None},
            {"three": "b"},
        ):
            for names in (
                ([name] for name in form["questions"])
                if scheme == "one_question"
                else [list(form["questions"])]
            ):
                for _ in range(6):
                    words = rng.integers(0, TOTAL, size=12).tolist()
                    stream = iter(words)
                    expected = plain_reports(form, answers, names, stream)
                    used = None if expected == "refused" else len(words) - len(list(stream))
                    case = {
                        "call": "drawAll",
                        "form": form,
                        "answers": answers,
                        "names": names,
                        "words": words,
                    }
                    cases.append(case | {"used": used, "expected": expected})
        for word in (0, TOTAL // 3, TOTAL // 3 + 1, TOTAL // 2 - 1, TOTAL // 2, TOTAL - 1):
            names = list(form["questions"])
            expected = [names[word * len(names) >> 53]] if scheme == "one_question" else names
            used = int(scheme == "one_question")
            cases.append(
                {"call": "asked", "form": form, "words": [word], "used": used, "expected": expected}
            )
    return cases


def joint_cases(count: int, rng: np.random.Generator) -> list[Case]:
    """Joint reports: the borders of each row of answers, and the words of patterns, some of them
    drawn again."""
    table = Survey(
        {"2": ["no", "yes"], "1": ["w", "x", "y", "z"]}, epsilon=1.0, scheme="joint"
    ).form()
    cases = []
    for row, masses in enumerate(table["joint"]["masses"]):
        answers = {"2": ("no", "yes")[row // 4], "1": "wxyz"[row % 4]}
        law = {"answers": ["row"], "reports": table["joint"]["reports"], "masses": [masses]}
        (border,) = boundary_cases(law)
        cases.append(border | {"call": "joint", "form": table, "answers": answers})
    for d, epsilon in ((3, 1.0), (7, 3.0), (9, 12.0)):
        survey = Survey(
            {f"{d - place}": ["no", "yes"] for place in range(d)}, epsilon=epsilon, scheme="joint"
        )
        form = survey.form()
        patterns = survey.joint.source
        for number in range(count):
            codes = rng.integers(0, 2, size=(1, d))
            words = rng.integers(0, TOTAL, size=6 * d + 20, dtype=np.uint64)
            if number % 4 == 0:
                words[rng.integers(0, len(words), size=d)] = TOTAL - 1  # drawn again
            if number % 4 in (1, 2):
                # the first that is drawn again, the last that is not
                words[0] = TOTAL - TOTAL % d - number % 4 // 2
            if number % 5 in (1, 2):
                words[patterns.size] = patterns.pattern.mass - number % 5 % 2
            stream = iter(words.tolist())
            choices = WordChoices(
                lambda rows, size, stream=stream: np.array([[next(stream)]], dtype=np.uint64)
            )
            report = " ".join(
                map(
                    str,
                    patterns.choose(codes, choices, lambda truth, same=choices: same)[0].tolist(),
                )
            )
            answers = {
                name: ("no", "yes")[code]
                for name, code in zip(survey.questions, codes[0], strict=True)
            }
            case = {"call": "drawJoint", "form": form, "answers": answers, "words": words.tolist()}
            used = len(words) - len(list(stream))
            cases.append(case | {"used": used, "expected": {"joint report": report}})
    joint = form["joint"]
    questions = form["questions"]
    for change in (
        {"size": 0},
        {"size": d + 1},
        {"least": 0},
        {"mass": -1},
        {"mass": TOTAL + 2},
        {"questions": d - 1},
    ):
        wrong = form | {"joint": joint | {"patterns": joint["patterns"] | change}}
        cases.append(
            {
                "call": "requireJoint",
                "form": wrong,
                "words": [],
                "used": None,
                "expected": "refused",
            }
        )
        cases.append(
            {
                "call": "drawJoint",
                "form": wrong,
                "answers": answers,
                "words": words.tolist(),
                "used": None,
            }
        )
        cases[-1]["expected"] = "refused"
    three = questions | {"1": questions["1"] | {"answers": ["a", "b", "c"]}}
    broken = table["joint"] | {"masses": table["joint"]["masses"][1:]}
    cases += [
        {"call": "requireJoint", "form": wrong, "words": [], "used": None, "expected": "refused"}
        for wrong in (
            *(
                form | {"format": "ldpopt form 2"},
                form | {"scheme": "split"},
                form | {"questions": three},
            ),
            *(
                form | {"questions": questions | {"more": questions["1"]}},
                table | {"joint": broken},
            ),
        )
    ]
    never = form | {"joint": joint | {"patterns": joint["patterns"] | {"mass": 0}}}
    accepted = {"call": "requireJoint", "words": [], "used": 0, "expected": None}
    cases += [accepted | {"form": good} for good in (form, table, never)]
    known = table | {
        "questions": table["questions"] | {"1": table["questions"]["1"] | {"missing_answer": "x"}}
    }
    ends = {"words": [0, TOTAL - 1], "used": 2, "answers": {"2": "no"}}
    cases.append(
        {"call": "joint", "form": known}
        | ends
        | {"expected": [table["joint"]["reports"][0 - end] for end in (0, 1)]}
    )
    for bad in (answers | {"1": "maybe"}, answers | {"1": None}):
        case = {
            "call": "drawJoint",
            "form": form,
            "answers": bad,
            "words": words.tolist(),
            "used": None,
        }
        cases.append(case | {"expected": "refused"})
    may = form | {"questions": questions | {"1": questions["1"] | {"missing": "leave_out"}}}
    case = {
        "call": "drawJoint",
        "form": may,
        "answers": answers | {"1": None},
        "words": [],
        "used": 0,
    }
    cases.append(case | {"expected": {"joint report": None}})
    return cases


def refused_cases() -> list[Case]:
    """Questions and forms that were damaged, an unknown answer, and what is not refused at the
    borders."""
    half = TOTAL // 2
    two = ["a", "b"]
    three = ["a", "b", "c"]
    tables: list[list[list[Any]]] = [
        *(
            [[TOTAL - 1, 2], [1, TOTAL - 1]],
            [[TOTAL, 0.5], [0, TOTAL]],
            [[-1, TOTAL + 1], [0, TOTAL]],
            [[half, half]],
        ),
        *(
            [[half, half], [TOTAL]],
            [[half, half - 1], [half, half]],
            [[half, half], [half, half - 1]],
        ),
        *(
            [[half + 0.5, half - 0.5], [half, half]],
            [["1", half], [half, half]],
            [[half, half]] * 3,
        ),
        *(
            [[TOTAL + 2, -2], [half, half]],
            [[half, half], [half, half + 1]],
            [[-half, TOTAL + half], [half, half]],
        ),
    ]
    wrong = [{"answers": two, "reports": two, "masses": rows} for rows in tables]
    sets = (
        (3, 0, 1),
        (3, 3, 1),
        (3, 1, -1),
        (3, 1, TOTAL + 2),
        (3, 1.5, 1),
        (3, 1, 0.5),
        (2, 1, 1),
        (4, 1, 1),
    )
    wrong.append({"answers": two, "reports": three, "masses": [[-2, 2, TOTAL], [0, 0, TOTAL]]})
    wrong += [
        {"answers": three, "set": {"count": d, "size": k, "mass": mass}} for d, k, mass in sets
    ]
    good = [{"answers": two, "reports": two, "masses": [[TOTAL, 0], [0, TOTAL]]}]
    good += [
        {"answers": three, "set": {"count": 3, "size": k, "mass": mass}}
        for k, mass in ((1, 0), (2, TOTAL))
    ]
    form = Survey({"q": COIN}).form()
    forms = [
        form | {"format": "ldpopt form 2"},
        form | {"scheme": "dice"},
        form | {"questions": {"q": wrong[0]}},
    ]
    cases = [{"call": "requireQuestion", "question": one, "expected": "refused"} for one in wrong]
    cases += [{"call": "requireQuestion", "question": one, "expected": None} for one in good]
    cases += [{"call": "requireForm", "form": one, "expected": "refused"} for one in forms]
    every = {"call": "drawAll", "answers": {"q": "no"}, "names": ["q"], "expected": "refused"}
    cases += [every | {"form": one, "words": [5]} for one in forms]
    for asked in (question(COIN), good[-1]):
        cases.append(
            {
                "call": "draw",
                "question": asked,
                "answer": "?",
                "words": [5, 1, 2, 3, 4],
                "expected": "refused",
            }
        )
    return [
        {"words": [], "used": None if case["expected"] == "refused" else 0} | case for case in cases
    ]


def byte_cases(rng: np.random.Generator, most: int) -> list[Case]:
    """Words from bytes, and words from a generator that gives at most 65,536 bytes at a time."""
    cases = []
    for call, count in (("wordsOf", 100), ("secureWords", 3), ("secureWords", most)):
        raw = rng.bytes(8 * count)
        words = (np.frombuffer(raw, "<u8") >> np.uint64(11)).tolist()
        cases.append({"call": call, "hex": raw.hex(), "words": [], "used": 0, "expected": words})
    return cases


@cache
def all_cases() -> str:
    """Every case, as JSON."""
    rng = np.random.default_rng(7)
    tables = [
        *(COIN, TINY, design(Workload.prefix(list("abcde")), PureLDP(0.7)).mechanism),
        Mechanism(
            rng.dirichlet(np.ones(40) * 0.05, size=30) * 0.999 + 0.001 / 40,
            inputs=list(map(str, range(30))),
        ),
        Mechanism(rng.dirichlet(np.ones(3), size=200)),
    ]
    sets = [
        SubsetSelection(list("abc"), 1.0, size=1),
        SubsetSelection(list("abcdefgh"), 1.0),
        SubsetSelection(100, 2.0),
    ]
    cases = [case for table in tables for case in boundary_cases(question(table))]
    cases += [case for law in sets for case in set_cases(law, 200, rng)]
    return json.dumps(
        [
            *cases,
            *scheme_cases(rng),
            *refused_cases(),
            *joint_cases(100, rng),
            *byte_cases(rng, 20_000),
        ]
    )


@cache
def few_cases() -> str:
    """Enough cases to notice every change of draw.js, as JSON."""
    rng = np.random.default_rng(8)
    cases = [case for table in (COIN, TINY) for case in boundary_cases(question(table))]
    cases += [case for d in (3, 12) for case in set_cases(SubsetSelection(d, 1.0), 40, rng)]
    return json.dumps(
        [
            *cases,
            *scheme_cases(rng),
            *refused_cases(),
            *joint_cases(10, rng),
            *byte_cases(rng, 8193),
        ]
    )
