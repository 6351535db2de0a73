"""What the page keeps and sends (outbox.js), in an embedded engine with a stand-in for the browser:
when it sends again, what is final, and which stored entries it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draw_vectors import COIN, DRAW
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.fieldwork.form_page import HERE
from ldpopt.fieldwork.messages import MessageReader, message_bytes
from ldpopt.mechanism.questions import Question

engines = pytest.importorskip("py_mini_racer", reason="mini-racer is in the extra 'test'")
WORLD = (Path(__file__).parent / "outbox_world.js").read_text("utf-8")
SOURCE = re.sub(
    "^export ", "", DRAW.read_text("utf-8") + (HERE / "outbox.js").read_text("utf-8"), flags=re.M
)
MESSAGE = '{"reports": {"a": "no"}}'
ENTRY = {"version": 2, "words": "w", "asked": ["a"], "message": MESSAGE, "status": 0, "waiting": []}
Run = Callable[[str], Any]


@pytest.fixture
def run() -> Iterator[Run]:
    """Run statements in a new world, and return what `state` has afterwards: promises that wait for
    nothing are kept between two calls."""
    with engines.MiniRacer() as engine:
        engine.eval(f"var run; (() => {{ {WORLD} {SOURCE} run = (code) => eval(code); }})()")

        def in_world(code: str) -> Any:
            engine.eval(f"run({json.dumps(code)}); null")
            return json.loads(engine.eval("run('JSON.stringify(globalThis.state())')"))

        engine.eval(
            "globalThis.state = () => run(`({ kept: globalThis.box?.kept, told: world.told,"
            " sent: world.sent, waits: world.timers.map((timer) => timer.milliseconds / 1000),"
            " stored: JSON.parse(world.stored.get('here') ?? 'null'), value: globalThis.value })`)"
        )
        yield in_world


START = f"globalThis.box = newOutbox({{}}); box.draw(() => {json.dumps(MESSAGE)});"


def answered(*answers: Any) -> str:
    return f"world.answers = {json.dumps(answers)}; box.sendNow();"


def test_a_report_is_stored_before_it_is_sent_and_drawn_once(run: Run) -> None:
    run(START)
    found = run(answered(200))
    (request,) = found["sent"]
    assert request["body"] == MESSAGE
    assert json.loads(request["stored"])["waiting"] == [MESSAGE]
    options = {key: value for key, value in request.items() if key not in ("body", "stored")}
    assert options == {
        "to": "reports",
        "method": "POST",
        "credentials": "omit",
        "cache": "no-store",
        "redirect": "error",
        "referrerPolicy": "no-referrer",
        "headers": {"content-type": "text/plain"},  # or browsers would ask first
        "keepalive": True,
        "signal": "ends after 30000",
    }
    assert found["kept"]["status"] == 200
    again = run('box.draw(() => \'{"reports": {"a": "yes"}}\'); box.sendNow()')
    assert again["kept"]["message"] == MESSAGE
    assert len(again["sent"]) == 1


@pytest.mark.parametrize("status", [200, 201, 204, 409, 410, 413, 422])
def test_what_a_server_decided_is_final_and_leaves_the_outbox(run: Run, status: int) -> None:
    run(START)
    found = run(answered(status))
    assert found["kept"]["waiting"] == found["stored"]["waiting"] == found["waits"] == []
    assert found["stored"]["status"] == (200 if status < 300 else status)
    assert found["told"] == ["sending", None]
    assert len(run("globalThis.box = newOutbox({}); box.sendNow()")["sent"]) == 1


@pytest.mark.parametrize("status", [0, 301, 403, 404, 408, 425, 429, 500, 502, 503, 504])
def test_everything_else_is_sent_again_with_the_same_bytes(run: Run, status: int) -> None:
    run(START)
    found = run(answered(status))
    assert (found["kept"]["waiting"], found["kept"]["status"]) == ([MESSAGE], 0)
    assert found["told"] == ["sending", status]
    assert len(found["waits"]) == 1
    found = run("world.answers = [200]; world.timers[0].act();")
    assert [request["body"] for request in found["sent"]] == [MESSAGE] * 2
    assert found["kept"]["waiting"] == []


@pytest.mark.parametrize(("word", "factor"), [(0, 0.5), (255, 1.5)])
def test_waits_double_up_to_five_minutes_and_are_spread(run: Run, word: int, factor: float) -> None:
    run(f"world.word = {word}; {START}")
    run(answered())
    for number in range(11):
        found = run(f"world.timers[{number}].act()")
    expected = [factor * min(2**number, 300) for number in range(12)]
    assert found["waits"] == pytest.approx(expected)
    assert run("box.sendNow()")["waits"][-1] == pytest.approx(factor)  # a person need not wait


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [
        ("1", 1),
        ("7", 7),
        (" 12 ", 12),
        ("1000000000", 86400),
        ("-5", 0.5),
        ("0", 0.5),
        ("Fri, 31", 0.5),
    ],
)
def test_a_server_says_how_long_to_wait(run: Run, wish: str, seconds: float) -> None:
    run(START)
    assert run(answered([429, wish]))["waits"] == [seconds]


@pytest.mark.parametrize(("size", "outlives"), [(59_999, True), (60_000, False)])
def test_a_long_message_may_not_outlive_its_page(run: Run, size: int, outlives: bool) -> None:
    text = json.dumps({"reports": {"a": "ä" * 20_000}}, ensure_ascii=False)
    text += " " * (size - len(text.encode()))
    run(f"globalThis.box = newOutbox({{}}); box.draw(() => {json.dumps(text)});")
    assert run(answered(200))["sent"][0]["keepalive"] is outlives


def test_one_message_that_is_refused_does_not_stop_the_others(run: Run) -> None:
    run(START)
    other = '{"reports": {"a": "yes"}}'
    run(f"box.clear(['a']); box.draw(() => {json.dumps(other)});")
    found = run(answered(422, 200))
    assert [request["body"] for request in found["sent"]] == [MESSAGE, other]
    assert (found["kept"]["waiting"], found["kept"]["status"]) == ([], 200)


def test_without_connection_the_others_wait_as_well(run: Run) -> None:
    run(START)
    run("box.clear(['a']); box.draw(() => '{\"reports\": {}}');")
    found = run(answered(0))
    assert len(found["sent"]) == 1
    assert len(found["kept"]["waiting"]) == 2


def test_what_another_window_sent_is_not_sent_again(run: Run) -> None:
    run(START)
    run("globalThis.other = newOutbox({}); world.answers = [200]; other.sendNow();")
    found = run("box.recall(); box.sendNow()")
    assert (found["kept"]["status"], len(found["sent"])) == (200, 1)


def test_two_windows_draw_once(run: Run) -> None:
    """The second one was opened before the first one drew."""
    run("globalThis.other = newOutbox({});" + START)
    found = run('other.draw(() => \'{"reports": {"a": "yes"}}\'); globalThis.value = other.kept')
    assert found["value"]["message"] == found["stored"]["message"] == MESSAGE


def test_what_another_window_drew_meanwhile_is_kept(run: Run) -> None:
    run(START)
    drawn = '{"reports": {"a": "yes"}}'
    other = f"const other = newOutbox({{}}); other.clear(['a']); other.draw(() => '{drawn}');"
    found = run(f"world.answers = [200]; box.sendNow(); {other}")
    assert (found["stored"]["message"], found["stored"]["status"]) == (drawn, 0)
    assert found["stored"]["waiting"] == [drawn]


def test_the_next_person_begins_anew(run: Run) -> None:
    run(START)
    run(answered(409))
    found = run("box.clear(['b'])")
    assert found["kept"] == ENTRY | {"message": None, "asked": ["b"]}


def test_whoever_does_not_wait_is_not_sent_again_for_the_old_wait(run: Run) -> None:
    run(START)
    run(answered(503))
    run(answered(503))
    found = run("world.answers = [503]; world.timers[0].act();")
    assert len(found["sent"]) == 2


def test_a_message_is_not_sent_twice_at_once(run: Run) -> None:
    run(START)
    found = run("world.answers = [200, 200]; box.sendNow(); box.sendNow();")
    assert len(found["sent"]) == 1


def test_without_an_address_nothing_is_sent(run: Run) -> None:
    run(START.replace("{}", '{ to: "" }'))
    found = run(answered(200))
    assert (found["sent"], found["kept"]["waiting"]) == ([], [MESSAGE])


def test_without_storage_it_is_said_and_still_sent(run: Run) -> None:
    run(f"world.storage = false; {START}")
    found = run(answered(200))
    assert (found["told"][0], found["kept"]["status"]) == ("forgetful", 200)


def test_the_words_of_the_answers_stay_with_the_message(run: Run) -> None:
    run(START)
    found = run("globalThis.box = newOutbox({ words: 'other' })")
    assert found["kept"]["words"] == "w"
    run("world.stored.clear(); globalThis.box = newOutbox({ words: 'w' })")
    found = run(
        "globalThis.box = newOutbox({ words: 'other' }); box.draw(() => '{\"reports\":{}}')"
    )
    assert found["kept"]["words"] == "other"


def test_a_stored_entry_is_recalled(run: Run) -> None:
    stored = json.dumps(ENTRY | {"status": 200})
    found = run(f"world.stored.set('here', {json.dumps(stored)}); globalThis.box = newOutbox({{}})")
    assert found["kept"] == ENTRY | {"status": 200}


def test_the_question_that_was_drawn_stays_before_the_answer(run: Run) -> None:
    entry = ENTRY | {"message": None, "asked": ["b"], "waiting": [MESSAGE]}
    stored = json.dumps(json.dumps(entry))
    found = run(f"world.stored.set('here', {stored}); globalThis.box = newOutbox({{}})")
    assert found["kept"] == entry


@pytest.mark.parametrize(
    "stored",
    [
        {"asked": ["a"], "message": MESSAGE, "waiting": []},
        ENTRY | {"version": 1},
        ENTRY | {"version": "2"},
        ENTRY | {"words": None},
        ENTRY | {"asked": "a"},
        ENTRY | {"asked": [1]},
        ENTRY | {"waiting": None},
        ENTRY | {"waiting": [{}]},
        ENTRY | {"status": "200"},
        ENTRY | {"status": None},
        ENTRY | {"message": 1},
        ENTRY | {"message": "no"},
        ENTRY | {"message": "{}"},
        ENTRY | {"message": "null"},
        ENTRY | {"message": '{"reports": 1}'},
        ENTRY | {"message": '{"reports": null}'},
        [],
        None,
        1,
        "text",
    ],
)
def test_an_entry_of_another_shape_is_dropped(run: Run, stored: Any) -> None:
    text = json.dumps(json.dumps(stored))
    found = run(f"world.stored.set('here', {text}); globalThis.box = newOutbox({{}})")
    assert found["kept"] == found["stored"] == ENTRY | {"message": None}


def test_an_entry_that_is_no_json_is_dropped(run: Run) -> None:
    found = run("world.stored.set('here', '{'); globalThis.box = newOutbox({})")
    assert found["kept"] == ENTRY | {"message": None}


LONG = Survey(
    {
        "absence": Mechanism([[0.75, 0.25], [0.25, 0.75]], ["nie", "häufig"]),
        "branch": design(Workload.frequencies([f"sector {k}" for k in range(28)]), PureLDP(1.0)),
        'Wie "oft"?': Question(COIN, missing="leave_out"),
        "digit": Question(Mechanism([[0.75, 0.25], [0.25, 0.75]], ["0", "1"]), "leave_out"),
    }
)
FORMS = {
    "split": LONG.form(),
    "one question": Survey({"a": COIN, "b": COIN}, scheme="one_question").form(),
    "joint": Survey(
        {"a": ["x"], "b": ["x", "y"]} | {"a": ["ja", "nein"]}, epsilon=2.0, scheme="joint"
    ).form(),
}


def reports_of(form: dict[str, Any], data: st.DataObject) -> dict[str, str | None]:
    """Reports that devices can draw."""
    found: dict[str, str | None] = {}
    for name, column in form["columns"].items():
        drawn = column.get("set") or column.get("patterns")
        if drawn is None:
            found[name] = data.draw(st.sampled_from(column["reports"]))
        elif "set" in column:
            places = st.sets(
                st.integers(0, drawn["count"] - 1), min_size=drawn["size"], max_size=drawn["size"]
            )
            found[name] = " ".join(map(str, sorted(data.draw(places))))
        else:
            named = st.sets(
                st.integers(0, drawn["questions"] - 1),
                min_size=drawn["size"],
                max_size=drawn["size"],
            )
            found[name] = " ".join(
                str(2 * one + data.draw(st.integers(0, 1))) for one in sorted(data.draw(named))
            )
        if column["missing"] == "leave_out" and data.draw(st.booleans()):
            found[name] = None
    if form["scheme"] == "one_question":
        kept = data.draw(st.sampled_from(sorted(found)))
        found = {name: report if name == kept else None for name, report in found.items()}
    return found


@pytest.fixture(scope="module")
def pad() -> Iterator[Callable[[str, int], str]]:
    with engines.MiniRacer() as engine:
        engine.eval(f"var pad; (() => {{ {WORLD} {SOURCE} pad = padded; }})()")
        yield lambda text, size: str(engine.eval(f"pad({json.dumps(text)}, {size})"))


@pytest.mark.parametrize("kind", FORMS)
@given(st.data())
def test_all_messages_of_a_form_have_one_length(
    pad: Callable[[str, int], str], kind: str, data: st.DataObject
) -> None:
    form = FORMS[kind]
    reader = MessageReader(form, ["0" * 64], invited=True)
    message = {"form": reader.digest, "words": "0" * 64, "id": "0" * 32}
    message |= {"reports": reports_of(form, data), "invitation": "0" * 32}
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    padded = pad(text, message_bytes(form)).encode()
    assert len(padded) == message_bytes(form)
    assert reader.read(padded).reports == message["reports"]


def test_the_length_is_that_of_the_longest_message() -> None:
    """By hand: the longest report of each column in UTF-8; null has a byte more than "0"."""
    reports = {"absence": "häufig", 'Wie "oft"?': "yes", "digit": None}
    size = LONG.form()["columns"]["branch"]["set"]["size"]
    reports["branch"] = " ".join(map(str, range(28 - size, 28)))
    message = {"form": "0" * 64, "words": "0" * 64, "id": "0" * 32, "invitation": "0" * 32}
    text = json.dumps(message | {"reports": reports}, ensure_ascii=False, separators=(",", ":"))
    assert message_bytes(LONG.form()) == len(text.encode())


def test_the_longest_message_has_the_longest_choice_and_fields() -> None:
    """By hand: two digits of a report that one choice alone has, and letters of two bytes."""
    asked = {"kind": list("abcdef")}
    form = Survey(asked, choices=[0.5, 1.0, 4.0], fields={"region": ("north", "äöü")}).form()
    message = dict.fromkeys(("form", "words"), "0" * 64) | dict.fromkeys(
        ("id", "invitation"), "0" * 32
    )
    message |= {"reports": {"kind": "14"}, "choice": "0.5", "fields": {"region": "äöü"}}
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    assert message_bytes(form) == len(text.encode())
