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
from itertools import accumulate, product
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
NO_GAP = {"missing": "refuse"}
Case = dict[str, Any]


def column(randomizer: Any) -> dict[str, Any]:
    """The column of one question in a form."""
    question = Question(SimpleNamespace(randomizer=randomizer))
    found: dict[str, Any] = Survey({"q": question}).form()["columns"]["q"]
    return found


def boundary_cases(drawn: dict[str, Any]) -> list[Case]:
    """For each row the words at which the report changes, the first and the last word, and their
    reports."""
    cases = []
    for row, masses in enumerate(drawn["masses"]):
        sums = list(accumulate(masses))
        words = sorted({word for end in (0, *sums) for word in (end - 1, end) if 0 <= word < TOTAL})
        reports = [drawn["reports"][sum(end <= word for end in sums)] for word in words]
        codes = drawn["paths"][row] if "paths" in drawn else [row]
        case = {"call": "table", "column": drawn, "codes": codes, "words": words}
        cases.append(case | {"used": len(words), "expected": reports})
    return cases


def set_cases(law: SubsetSelection, count: int, rng: np.random.Generator) -> list[Case]:
    """Random words, every fourth with equal keys, and some at the border of the mass of the
    truth."""
    drawn = column(law)
    d = len(law.inputs)
    cases = []
    for number in range(count):
        code = int(rng.integers(d))
        words = rng.integers(0, TOTAL, size=1 + 12 * d, dtype=np.uint64)
        if number % 4 == 0:
            words[1 : 1 + 2 * d] %= np.uint64(4)  # equal keys at the border: drawn again
        if number % 10 in (1, 2):
            words[0] = law.distribution.mass - number % 10 % 2
        report, used = plain_set(drawn["set"], code, words.tolist())
        case = {"call": "draw", "column": drawn, "codes": [code], "words": words.tolist()}
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


def plain_draw(drawn: dict[str, Any], row: int, words: Iterator[int]) -> str:
    """The report of a row of a table."""
    word = next(words)
    found: str = drawn["reports"][sum(end <= word for end in accumulate(drawn["masses"][row]))]
    return found


def plain_applies(form: dict[str, Any], answers: dict[str, Any], name: str) -> bool | None:
    """Whether a question is asked: False if a gate says so, None if one has no answer."""
    said: list[bool | None] = []
    for gate, texts in form["questions"][name].get("only_if", {}).items():
        question = form["questions"][gate]
        answer = answers.get(gate) or question["missing_answer"]
        above = plain_applies(form, answers, gate)
        if above is not True and "otherwise" in question:  # the answer that is meant counts
            answer = question["otherwise"] if above is False else question["missing_answer"]
        ticks = answer.split(";") if answer and "ticks" in question else [answer]
        holds = None if answer == question["missing_answer"] else False
        if set(ticks) & set(texts):
            holds = True
        said.append(holds if above is True or "otherwise" in question else above)
    if False in said:
        return False
    return None if None in said else True


def plain_code(form: dict[str, Any], answers: dict[str, Any], name: str) -> Any:
    """The code of an answer: None if it is not asked, -1 if it is missing and may be."""
    question = form["questions"][name]
    if "repeat" in question:
        return plain_common(question, answers.get(name))
    answer = answers.get(name) or question["missing_answer"]
    is_asked = plain_applies(form, answers, name)
    if is_asked is True and answer == question.get("not_asked", "?"):
        return "refused"
    if is_asked is not True:
        if "otherwise" in question:
            answer = question["missing_answer"] if is_asked is None else question["otherwise"]
        elif "not_asked" in question:
            answer = question["not_asked"]
        else:
            return None
    if answer is None:
        return "refused" if question["missing"] == "refuse" else -1
    return question["answers"].index(answer) if answer in question["answers"] else int(answer)


def plain_common(question: dict[str, Any], pair: Any) -> Any:
    """The code of what remains of two answers to a question that is asked twice."""
    pair = [None, None] if pair is None else pair
    if not isinstance(pair, list) or len(pair) != 2:
        return "refused"
    answers = [answer for answer in question["answers"] if answer != question["repeat"]]
    if any(answer is not None and answer not in answers for answer in pair):
        return "refused"
    first, second = (question["missing_answer"] if one is None else one for one in pair)
    common = question["repeat"] if first != second else first
    if question["missing_answer"] in (first, second):
        common = question["missing_answer"]
    if common is None:
        return "refused" if question["missing"] == "refuse" else -1
    return question["answers"].index(common)


def plain_place(points: list[int], number: int, words: Iterator[int]) -> int:
    """The place of one of the two points around a number; words in an incomplete period are drawn
    again."""
    low = max(place for place, point in enumerate(points[:-1]) if point <= number)
    step = points[low + 1] - points[low]
    word = next(word for word in words if word < TOTAL - TOTAL % step)
    return low + (word % step < number - points[low])


def gates_of(form: dict[str, Any], name: str) -> set[str]:
    """A question and all that decide whether it is asked."""
    gates = form["questions"][name].get("only_if", {})
    return {name}.union(*(gates_of(form, gate) for gate in gates))


def plain_reports(
    form: dict[str, Any], answers: dict[str, Any], names: list[str], words: Iterator[int]
) -> Any:
    """The reports of a person in all columns."""
    every = list(form["columns"])
    fake = form["scheme"] == "fake_data"
    codes = {name: plain_code(form, answers, name) for name in names}
    if "refused" in codes.values():
        return "refused"
    drawn = every
    if fake:
        drawn = [every[next(words) * len(every) >> 53]]
    elif form["scheme"] == "one_question":
        needed = [
            set().union(*(gates_of(form, one) for one in form["columns"][name]["of"]))
            for name in every
        ]
        drawn = [every[needed.index(set(names))]]
    reports: dict[str, Any] = {}
    for name, source in form["columns"].items():
        rows = len(source["masses"])
        if name not in drawn:
            row = next(words) * rows >> 53 if fake else 0
            reports[name] = plain_draw(source, row, words) if fake else None
            continue
        path = [codes[one] for one in source["of"]]
        for place, one in enumerate(source["of"]):
            points = source.get("grid") or source.get("grids", {}).get(one)
            question = form["questions"][one]
            answer = answers.get(one) or question["missing_answer"]
            if points and answer in question["answers"]:
                path[place] += len(points)
            elif points and path[place] not in (None, -1):
                path[place] = plain_place(points, path[place], words)
        row = source["paths"].index(path) if "paths" in source and -1 not in path else path[0]
        reports[name] = None if -1 in path else plain_draw(source, row, words)
    return reports


def scheme_cases(rng: np.random.Generator) -> list[Case]:
    """Persons under each scheme, with missing answers of each kind."""
    three = Mechanism(
        rng.dirichlet(np.ones(4), size=3) * 0.96 + 0.01, inputs=["a", "b", "no answer"]
    )
    questions = {"coin": Question(COIN), "three": Question(three, missing_answer="no answer")}
    people = ({"coin": "yes", "three": "a", "left": "no"}, {"coin": "no", "three": None})
    cases = []
    for scheme in ("split", "one_question", "fake_data"):
        more = {} if scheme == "fake_data" else {"left": Question(COIN, "leave_out")}
        form = Survey(questions | more, scheme=scheme).form()
        cases += person_cases(form, [*people, {"three": "b"}], 6, rng)
        for word in (0, TOTAL // 3, TOTAL // 3 + 1, TOTAL // 2 - 1, TOTAL // 2, TOTAL - 1):
            names = list(form["questions"])
            expected = [names[word * len(names) >> 53]] if scheme == "one_question" else names
            used = int(scheme == "one_question")
            cases.append(
                {"call": "asked", "form": form, "words": [word], "used": used, "expected": expected}
            )
    return cases


def person_cases(
    form: dict[str, Any], people: list[dict[str, Any]], draws: int, rng: np.random.Generator
) -> list[Case]:
    """Each person on each page that a form can have, with random words."""
    pages = [list(form["questions"])]
    if form["scheme"] == "one_question":
        needed = [
            set().union(*(gates_of(form, one) for one in source["of"]))
            for source in form["columns"].values()
        ]
        pages = [[name for name in form["questions"] if name in names] for names in needed]
    cases = []
    for answers in people:
        for names in pages:
            for _ in range(draws):
                words = rng.integers(0, TOTAL, size=12).tolist()
                stream = iter(words)
                expected = plain_reports(form, answers, names, stream)
                used = None if expected == "refused" else len(words) - len(list(stream))
                case = {"call": "drawAll", "form": form, "answers": answers, "names": names}
                cases.append(case | {"words": words, "used": used, "expected": expected})
    return cases


GATES: dict[str, Any] = {
    "used": {
        "answers": ["none", "b", "a", "a;b"],
        "missing": "leave_out",
        "missing_answer": None,
        "ticks": ["a", "b"],
    },
    "smokes": {"answers": ["no", "yes", "-"], "missing": "refuse", "missing_answer": "-"},
    "amount": {
        "answers": ["few", "many", "-", "off"],
        "missing": "refuse",
        "missing_answer": "-",
        "only_if": {"smokes": ["yes"], "used": ["a"]},
        "not_asked": "off",
    },
    "often": {
        "answers": ["never", "daily", "-"],
        "missing": "refuse",
        "missing_answer": "-",
        "only_if": {"amount": ["many", "few"], "smokes": ["yes"]},
        "otherwise": "never",
    },
}


def law_of(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """Masses of some rows and three reports."""
    law = Mechanism(rng.dirichlet(np.ones(3), size=rows) * 0.97 + 0.01)
    return {"missing": "refuse", "reports": ["x", "y", "z"], "masses": law.counts.tolist()}


def _masses(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """The same as one of several laws of a column."""
    return {key: part for key, part in law_of(rows, rng).items() if key != "missing"}


MEANT: dict[str, Any] = {
    "smokes": GATES["smokes"],
    "often": GATES["often"] | {"only_if": {"smokes": ["yes"]}},
    "why": {
        "answers": ["cost", "-"],
        "missing": "refuse",
        "missing_answer": "-",
        "only_if": {"often": ["never"]},
    },
}
"""Whoever does not smoke does so never, and is asked why."""


def repeat_cases(rng: np.random.Generator) -> list[Case]:
    """Questions that are asked twice: all pairs of answers, what is no pair, and forms in which no
    question can be asked twice."""
    twice = {"answers": ["a", "b", "differ"], "missing": "refuse", "missing_answer": None}
    twice |= {"repeat": "differ"}
    declined = twice | {"answers": ["a", "differ", "b", "-"], "missing_answer": "-"}
    once = {"answers": ["no", "yes"], "missing": "refuse", "missing_answer": None}
    cases: list[Case] = []
    pairs = list(product([None, "a", "b", "-", "differ", "?"], repeat=2))
    given: list[Any] = [*map(list, pairs), None, "a", "ab", ["a"], ["a", "a", "a"], {"length": 2}]
    kinds = (twice, declined, twice | {"missing": "leave_out"})
    for question in kinds:
        columns = {
            "q": {"of": ["q"]} | law_of(len(question["answers"]), rng),
            "once": {"of": ["once"]} | law_of(2, rng),
        }
        columns["q"]["missing"] = question["missing"]
        form: dict[str, Any] = {"format": "ldpopt form 2", "questions": {"q": question}}
        form["questions"] |= {"once": once}
        form |= {"columns": columns, "scheme": "split"}
        people = [{"q": pair, "once": "yes"} for pair in given]
        cases += person_cases(form, people, 1, rng)
        for scheme in ("one_question", "fake_data") if question is declined else ():
            cases += person_cases(form | {"scheme": scheme}, people[:8], 2, rng)
        cases.append({"call": "requireForm", "form": form, "words": [], "used": 0}
                     | {"expected": None})  # fmt: skip
    questions = form["questions"]
    gate = {"only_if": {"q": ["a"]}}
    paths = {"of": ["q", "once"], "paths": [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]}
    number = {"number": {"least": 0, "most": 9, "step": 1}}
    wrong = [
        form | {"questions": questions | {"q": twice | change}}
        for change in (
            {"repeat": "other"},
            {"missing_answer": "differ"},
            {"ticks": ["a", "b"]},
            {"only_if": {"once": ["no"]}},
        )
    ]
    wrong += [
        form | {"questions": questions | {"once": once | gate}},
        form | {"columns": {"q": paths | law_of(6, rng)}},
        form | {"columns": {"r": columns["q"], "once": columns["once"]}},
        form
        | {
            "questions": questions | {"q": twice | number},
            "columns": columns | {"q": {"of": ["q"], "grid": [0, 9]} | law_of(5, rng)},
        },
    ]
    refused = {"call": "requireForm", "words": [], "used": None, "expected": "refused"}
    return cases + [refused | {"form": each} for each in wrong]


def meant_cases(rng: np.random.Generator) -> list[Case]:
    """A gate that has an answer also where it is not asked."""
    paths = [[0, 0], [0, 1], [1, None], [2, None]]
    columns = {
        "smokes": {"of": ["smokes"]} | law_of(3, rng),
        "often": {"of": ["often", "why"], "paths": paths} | law_of(len(paths), rng),
    }
    form: dict[str, Any] = {"format": "ldpopt form 2", "questions": MEANT, "columns": columns}
    rows = product([None, "no", "yes", "-"], [None, "never", "daily"], [None, "cost"])
    people = [dict(zip(MEANT, row, strict=True)) for row in rows]
    cases: list[Case] = []
    for scheme in ("split", "one_question", "fake_data"):
        cases += person_cases(form | {"scheme": scheme}, people, 1, rng)
    for answers in people:
        said = {name: plain_applies(form, answers, name) for name in MEANT}
        case = {"call": "applies", "form": form, "answers": answers, "words": [], "used": 0}
        cases.append(case | {"expected": said})
    return cases


def condition_cases(rng: np.random.Generator) -> list[Case]:
    """Questions that are asked after some answers only: own columns under each scheme, one column
    of their paths, and every person."""
    form: dict[str, Any] = {"format": "ldpopt form 2", "questions": GATES}
    own = {
        name: {"of": [name]} | law_of(len(question["answers"]), rng)
        for name, question in GATES.items()
    }
    own["used"]["missing"] = "leave_out"
    tree = {
        "smokes": GATES["smokes"],
        "amount": {key: part for key, part in GATES["amount"].items() if key != "not_asked"}
        | {"answers": ["few", "many", "-"], "only_if": {"smokes": ["yes"]}},
        "often": {key: part for key, part in GATES["often"].items() if key != "otherwise"}
        | {"only_if": {"amount": ["many"]}},
    }
    late = [[1, 1, code] for code in range(3)]
    paths = [[0, None, None], [2, None, None], [1, 0, None], [1, 2, None], *late]
    branch = {"of": ["smokes", "amount", "often"], "paths": paths} | law_of(len(paths), rng)
    apart = {"of": ["used"]} | law_of(4, rng)
    people = [
        dict(zip(GATES, row, strict=True))
        for row in product(
            [None, "none", "b", "a;b"],
            [None, "no", "yes", "-"],
            [None, "few", "many", "off"],
            [None, "daily"],
        )
    ]
    cases = []
    for scheme in ("split", "one_question", "fake_data"):
        cases += person_cases(form | {"scheme": scheme, "columns": own}, people, 1, rng)
        columns = {"smokes": branch} | ({} if scheme == "split" else {"used": apart})
        questions = tree | ({} if scheme == "split" else {"used": GATES["used"] | NO_GAP})
        seen = [
            person | ({"amount": None} if person["amount"] == "off" else {}) | {"used": "b"}
            for person in people[: len(people) // 4]
        ]
        one = form | {"scheme": scheme, "questions": questions, "columns": columns}
        cases += person_cases(one, seen, 2, rng)
        for word in (0, TOTAL // 2 - 1, TOTAL // 2, TOTAL - 1):
            used = int(scheme == "one_question")
            names = columns[list(columns)[word * len(columns) >> 53]]["of"] if used else questions
            case = {"call": "asked", "form": one, "words": [word], "used": used}
            cases.append(case | {"expected": list(names)})
    for answers in people:
        said = {name: plain_applies(form, answers, name) for name in GATES}
        case = {"call": "applies", "answers": answers, "words": [], "used": 0, "expected": said}
        cases.append(case | {"form": form})
        backwards = form | {"questions": dict(reversed(GATES.items()))}  # as of names "2" and "1"
        said = dict(reversed(said.items()))
        cases.append(case | {"form": backwards, "expected": said})
    cases += boundary_cases(branch)
    no_path = {"call": "draw", "column": branch, "words": [5], "used": None, "expected": "refused"}
    cases += [no_path | {"codes": codes} for codes in ([0, 0, None], [1, None, None], [1, 1, 3])]
    law = {"count": 3, "size": 1, "mass": TOTAL}
    sets = {"of": ["smokes"], "missing": "refuse", "set": law}
    no_row = no_path | {"codes": [None], "words": [1, 2, 3, 4]}
    cases += [no_row | {"column": drawn} for drawn in (own["smokes"], sets)]
    cases.append(no_row | {"column": sets | {"paths": [[0], [1], [2]]}})
    sound = form | {"scheme": "one_question", "columns": own}
    all_asked = {"call": "drawAll", "form": sound, "answers": people[-1], "words": [5] * 9}
    for names in (["often", "amount"], ["smokes", "amount", "often"], []):
        cases.append(all_asked | {"names": names, "used": None, "expected": "refused"})
    wrong = [
        GATES | {"often": GATES["often"] | {"only_if": {"unknown": ["x"]}}},
        GATES | {"amount": GATES["amount"] | {"only_if": {"often": ["daily"]}}},
        GATES | {"often": GATES["often"] | {"otherwise": "sometimes"}},
        GATES | {"amount": GATES["amount"] | {"not_asked": "sometimes"}},
        GATES | {"more": GATES["smokes"]},
    ]
    bad = [{"questions": questions} for questions in wrong]
    bad += [
        {"columns": {name: part for name, part in own.items() if name != "often"}},
        {"columns": own | {"smokes": own["smokes"] | {"of": ["often"]}}},
        {"columns": own | {"more": own["smokes"]}},
    ]
    refused = {"call": "requireForm", "words": [], "used": None, "expected": "refused"}
    cases += [refused | {"form": sound | change} for change in bad]
    cases.append(refused | {"form": sound, "used": 0, "expected": None})
    broken = [
        [*paths[:-1], [1, 1, 3]],
        [*paths[:-1], [1, 1]],
        [*paths[:-1], [1, 1, -1]],
        [*paths[:-1], paths[0]],
        paths[:-1],
    ]
    for other in broken:
        case = {"call": "requireColumn", "column": branch | {"paths": other}, "questions": tree}
        cases.append(case | {"words": [], "used": None, "expected": "refused"})
    unread = {key: part for key, part in branch.items() if key != "paths"}
    unread |= {"masses": branch["masses"][:3]}  # as many as the first question has answers
    case = {"call": "requireColumn", "column": unread, "questions": tree, "words": []}
    cases.append(case | {"used": None, "expected": "refused"})
    return cases


NUMBER: dict[str, Any] = {
    "answers": ["no answer"],
    "missing": "refuse",
    "missing_answer": "no answer",
    "number": {"least": 3, "most": 43, "step": 2},
}


def number_cases(rng: np.random.Generator) -> list[Case]:
    """Numbers that are rounded to a grid, in a column of their own and with other questions; texts
    that are no numbers; and grids that are damaged."""
    points = [3, 9, 23, 43]
    coin = {"answers": ["no", "yes"], "missing": "refuse", "missing_answer": None}
    open_number = NUMBER | {"answers": [], "missing": "leave_out", "missing_answer": None}
    questions = {"age": NUMBER, "coin": coin, "left": open_number}
    own = {
        "age": {"of": ["age"], "grid": points} | law_of(5, rng),
        "coin": {"of": ["coin"]} | law_of(2, rng),
        "left": {"of": ["left"], "grid": [3, 43]} | law_of(2, rng) | {"missing": "leave_out"},
    }
    paths = [[place, code] for place in range(5) for code in range(2)]
    both = {"of": ["age", "coin"], "grids": {"age": points}, "paths": paths} | law_of(10, rng)
    two = {key: questions[key] for key in both["of"]}
    form: dict[str, Any] = {"format": "ldpopt form 2", "questions": questions, "columns": own}
    joint = form | {"scheme": "joint", "questions": two, "columns": {"joint report": both}}
    numbers = ("3", "5", "7", "9", "11", "21", "23", "41", "43", None, "no answer")
    people = [
        {"age": age, "coin": coin, "left": left}
        for age, coin, left in zip(numbers, ("no", "yes") * 6, (*numbers[:-1], "29"), strict=False)
    ]
    cases = []
    for scheme in ("split", "one_question", "fake_data"):
        cases += person_cases(form | {"scheme": scheme}, people, 4, rng)
    cases += person_cases(joint, people, 4, rng)
    split = form | {"scheme": "split"}
    for number in (5, 11, 41):
        low = max(place for place, point in enumerate(points) if point <= number)
        step = points[low + 1] - points[low]
        late = TOTAL - TOTAL % step  # the first word that is drawn again
        for word in (*range(step), late - 1, late, TOTAL - 1):
            words = [word, 1, 5, 0, TOTAL - 1, 7]
            person = {"age": f"{number}", "coin": "no", "left": None}
            stream = iter(words)
            expected = plain_reports(split, person, list(questions), stream)
            case = {"call": "drawAll", "form": split, "answers": person, "words": words}
            cases.append(case | {"used": len(words) - len(list(stream)), "expected": expected})
    refused = {"words": [5] * 9, "used": None, "expected": "refused"}
    wrong = ("1", "45", "4", "042", "4.5", "-3", "1e1", "", " 5", "\uff15", "5\n", "1" * 10, "NaN")
    for text in wrong:
        person = {"age": text, "coin": "no", "left": "3"}
        cases.append(refused | {"call": "drawAll", "form": split, "answers": person})
    classes = NUMBER | {"answers": ["0 to 4", "5 to 9"], "number": {"starts": [0, 5], "most": 9}}
    classes |= {"missing_answer": None}
    one = split | {"questions": {"age": classes}, "columns": {"age": {"of": ["age"]}}}
    one["columns"]["age"] |= law_of(2, rng)
    cases.append(refused | {"call": "drawAll", "form": one, "answers": {"age": "7"}})
    cases += person_cases(one, [{"age": "5 to 9"}], 4, rng)
    wide = NUMBER | {"number": {"least": 0, "most": 10**8, "step": 10}}
    grid = {"of": ["age"], "grid": [0, 10**8]} | law_of(3, rng)
    large = split | {"questions": {"age": wide}, "columns": {"age": grid}}
    cases += person_cases(large, [{"age": text} for text in ("0", "200", "100000000")], 4, rng)
    for grid in (
        [3],
        [3, 9, 9, 43],
        [3, 23, 9, 43],
        [5, 9, 23, 43],
        [3, 9, 23, 41],
        [3, 8, 23, 43],
    ):
        broken = own["age"] | {"grid": grid} | law_of(len(grid) + 1, rng)
        case = {"call": "requireColumn", "column": broken, "questions": questions}
        cases.append(refused | case)
    for broken in (
        own["age"] | law_of(4, rng),
        own["coin"] | {"grid": [0, 1]} | law_of(4, rng),
        both | {"grids": {"age": points[1:]}},
        both | {"grids": {"age": [5, *points[1:]]}},
        both | {"grids": {}},
    ):
        case = {"call": "requireColumn", "column": broken, "questions": questions}
        cases.append(refused | case)
    for good in (*own.values(), both):
        case = {"call": "requireColumn", "column": good, "questions": questions}
        cases.append(case | {"words": [], "used": 0, "expected": None})
    instead = {"only_if": {"coin": ["yes"]}, "otherwise": "5"}
    after = split | {"questions": questions | {"age": NUMBER | instead}}
    cases += person_cases_otherwise(after, rng)
    none = split | {"questions": questions | {"age": NUMBER | instead | {"otherwise": "4"}}}
    cases.append(refused | {"call": "requireForm", "form": none})
    return cases


def person_cases_otherwise(form: dict[str, Any], rng: np.random.Generator) -> list[Case]:
    """People of whom a number is meant that they do not give: it is rounded like all others."""
    cases = []
    for answers in ({"coin": "no", "left": "3"}, {"coin": "yes", "age": "11", "left": "3"}):
        for _ in range(6):
            words = rng.integers(0, TOTAL, size=12).tolist()
            given = {"age": "5"} | answers
            stream = iter(words)
            shown = form | {"questions": form["questions"] | {"age": NUMBER}}
            expected = plain_reports(shown, given, list(form["questions"]), stream)
            case = {"call": "drawAll", "form": form, "answers": answers, "words": words}
            cases.append(case | {"used": len(words) - len(list(stream)), "expected": expected})
    return cases


def joint_cases(count: int, rng: np.random.Generator) -> list[Case]:
    """Joint reports: the borders of each row of answers, and the words of patterns, some of them
    drawn again."""
    table = Survey(
        {"2": ["no", "yes"], "1": ["w", "x", "y", "z"]}, epsilon=1.0, scheme="joint"
    ).form()
    cases = []
    drawn = table["columns"]["joint report"]
    for border in boundary_cases(drawn):
        first, second = border["codes"]
        answers = {"2": ("no", "yes")[first], "1": "wxyz"[second]}
        person = {"call": "each", "form": table, "answers": answers, "words": border["words"]}
        cases.append(person | {"used": border["used"], "expected": border["expected"]})
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
            case = {"call": "drawAll", "form": form, "answers": answers, "words": words.tolist()}
            used = len(words) - len(list(stream))
            cases.append(case | {"used": used, "expected": {"joint report": report}})
    cases += refused_joint_cases(form, table, answers)
    known = table | {
        "questions": table["questions"] | {"1": table["questions"]["1"] | {"missing_answer": "x"}}
    }
    ends = {"words": [0, TOTAL - 1], "used": 2, "answers": {"2": "no"}}
    expected = [drawn["reports"][0 - end] for end in (0, 1)]
    cases.append({"call": "each", "form": known} | ends | {"expected": expected})
    may = form["questions"] | {"1": form["questions"]["1"] | {"missing": "leave_out"}}
    case = {"call": "drawAll", "form": form | {"questions": may}, "answers": answers | {"1": None}}
    cases.append(case | {"words": [], "used": 0, "expected": {"joint report": None}})
    return cases


def refused_joint_cases(
    form: dict[str, Any], table: dict[str, Any], answers: dict[str, str]
) -> list[Case]:
    """Joint reports that are damaged, with those of patterns at the borders of what is not."""
    joint = form["columns"]["joint report"]
    d = len(joint["of"])
    refused = {"words": [5] * 99, "used": None, "expected": "refused"}
    cases = []

    def changed(**change: Any) -> dict[str, Any]:
        patterns = joint["patterns"] | change
        return form | {"columns": {"joint report": joint | {"patterns": patterns}}}

    for change in (
        {"size": 0},
        {"size": d + 1},
        {"least": 0},
        {"mass": -1},
        {"mass": TOTAL + 2},
        {"questions": d - 1},
    ):
        cases.append(refused | {"call": "requireForm", "form": changed(**change)})
        cases.append(refused | {"call": "drawAll", "form": changed(**change), "answers": answers})
    questions = form["questions"]
    three = questions | {"1": questions["1"] | {"answers": ["a", "b", "c"]}}
    broken = table["columns"]["joint report"]
    broken = broken | {"masses": broken["masses"][1:]}
    damaged = (
        form | {"format": "ldpopt form 1"},
        form | {"scheme": "dice"},
        form | {"questions": three},
        form | {"questions": questions | {"more": questions["1"]}},
        table | {"columns": {"joint report": broken}},
    )
    cases += [refused | {"call": "requireForm", "form": wrong} for wrong in damaged]
    accepted = {"call": "requireForm", "words": [], "used": 0, "expected": None}
    cases += [accepted | {"form": good} for good in (form, table, changed(mass=0))]
    for bad in (answers | {"1": "maybe"}, answers | {"1": None}):
        cases.append(refused | {"call": "drawAll", "form": form, "answers": bad})
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
    of = {"of": ["q"], "missing": "refuse"}
    asked = {"missing": "refuse", "missing_answer": None}
    wrong = [(two, {"reports": two, "masses": rows}) for rows in tables]
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
    wrong.append((two, {"reports": three, "masses": [[-2, 2, TOTAL], [0, 0, TOTAL]]}))
    wrong += [(three, {"set": {"count": d, "size": k, "mass": mass}}) for d, k, mass in sets]
    wrong.append((two, {}))
    good = [(two, {"reports": two, "masses": [[TOTAL, 0], [0, TOTAL]]})]
    good += [
        (three, {"set": {"count": 3, "size": k, "mass": mass}}) for k, mass in ((1, 0), (2, TOTAL))
    ]
    cases = [
        {"call": "requireColumn", "column": of | law, "expected": expected}
        | {"questions": {"q": asked | {"answers": answers}}}
        for expected, laws in (("refused", wrong), (None, good))
        for answers, law in laws
    ]
    form = Survey({"q": COIN}).form()
    forms = [
        form | {"format": "ldpopt form 1"},
        form | {"scheme": "dice"},
        form | {"columns": {"q": of | wrong[0][1]}},
    ]
    cases += [{"call": "requireForm", "form": one, "expected": "refused"} for one in forms]
    every = {"call": "drawAll", "names": ["q"], "expected": "refused"}
    cases += [every | {"form": one, "answers": {"q": "no"}, "words": [5]} for one in forms]
    several = form | {"questions": {"q": asked | {"answers": three}}}
    several |= {"columns": {"q": of | good[-1][1]}}
    cases += [
        every | {"form": one, "answers": {"q": "?"}, "words": [5, 1, 2, 3, 4]}
        for one in (form, several)
    ]
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
def choice_cases(rng: np.random.Generator) -> list[Case]:
    """A form with choices draws with the masses of the one that was made; a form without them is
    as it is, and a choice that there is not has no masses.
    """
    questions = {"smokes": GATES["smokes"], "used": GATES["used"]}
    columns = {
        "smokes": {"of": ["smokes"], "missing": "refuse"},
        "used": {"of": ["used"], "missing": "leave_out"},
    }
    sizes = {"smokes": 3, "used": 4}
    laws = {
        name: {choice: _masses(size, rng) for choice in ("0.5", "4")}
        for name, size in sizes.items()
    }
    form: dict[str, Any] = {"format": "ldpopt form 2", "scheme": "split", "questions": questions}
    chosen = {name: {**column, "chosen": laws[name]} for name, column in columns.items()}
    offered = [{"choice": choice, "odds": "2"} for choice in ("0.5", "4")]
    whole = form | {"choices": offered, "columns": chosen}
    people = [{"smokes": "yes", "used": "a;b"}, {"smokes": None, "used": None}]
    cases: list[Case] = []
    for choice in ("0.5", "4"):
        plain = {name: {**column, **laws[name][choice]} for name, column in columns.items()}
        for case in person_cases(form | {"columns": plain}, people, 4, rng):
            cases.append(case | {"call": "chosen", "choice": choice})
            cases.append(case | {"call": "chosen", "choice": choice, "form": whole})
    refused = cases[-1] | {"used": None, "expected": "refused"}
    cases.append(refused | {"choice": "2"})
    cases.append(refused | {"call": "drawAll"})  # without a choice there are no masses
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
    cases = [case for table in tables for case in boundary_cases(column(table))]
    cases += [case for law in sets for case in set_cases(law, 200, rng)]
    return json.dumps(
        [
            *cases,
            *scheme_cases(rng),
            *condition_cases(rng),
            *meant_cases(rng),
            *repeat_cases(rng),
            *number_cases(rng),
            *choice_cases(rng),
            *refused_cases(),
            *joint_cases(100, rng),
            *byte_cases(rng, 20_000),
        ]
    )


@cache
def few_cases() -> str:
    """Enough cases to notice every change of draw.js, as JSON."""
    rng = np.random.default_rng(8)
    cases = [case for table in (COIN, TINY) for case in boundary_cases(column(table))]
    cases += [case for d in (3, 12) for case in set_cases(SubsetSelection(d, 1.0), 40, rng)]
    return json.dumps(
        [
            *cases,
            *scheme_cases(rng),
            *condition_cases(rng),
            *meant_cases(rng),
            *repeat_cases(rng),
            *number_cases(rng),
            *choice_cases(rng),
            *refused_cases(),
            *joint_cases(10, rng),
            *byte_cases(rng, 8193),
        ]
    )
