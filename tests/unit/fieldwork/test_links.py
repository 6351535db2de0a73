"""Links with the fields of a person: who may be told by them, what a report must agree with, and
the way of strata and weights to estimates."""

from __future__ import annotations

import csv
import json
import os
import secrets
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cli_json, cli_output, load_script, refused, run_cli
from ldpopt import Mechanism, Survey
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.links import half_width_of_one, link_of
from ldpopt.fieldwork.messages import InvalidMessageError, hash_of, message_bytes

pytest.importorskip("sqlalchemy")
TestClient = pytest.importorskip("starlette.testclient").TestClient
app_of = pytest.importorskip("ldpopt.fieldwork.service").app_of

BENCHMARK = load_script(Path(__file__).parents[3] / "benchmarks" / "collect.py")
POSTGRES = os.environ.get("LDPOPT_POSTGRES")
needs_postgres = pytest.mark.skipif(POSTGRES is None, reason="LDPOPT_POSTGRES names no database")
PAGE = "https://survey.example.org/"
TRUE = 0.7310585786300049  # of randomized response at epsilon 1
SOUTH = 'South & "East", 50 % +ä'
FIELDS = {"region": ("North", SOUTH), "weight": ()}
SURVEY = Survey(
    {"smokes": Mechanism([[TRUE, 1 - TRUE], [1 - TRUE, TRUE]], ["no", "yes"])},
    weights="weight",
    fields=FIELDS,
)
NORTH = {"region": "North", "weight": "1.25"}
SOUTHERN = {"region": SOUTH, "weight": "0.5"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SURVEY.save("survey.json")


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/reports.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def database(request, url):
    """The address of an empty database."""
    if request.param == "sqlite":
        return url
    BENCHMARK.clear(POSTGRES)
    return POSTGRES


def message(store, invitation, fields=NORTH, **changes):
    told = {"form": store.digest, "words": store.survey.words_digest, "id": secrets.token_hex(16)}
    told |= {"reports": {"smokes": "yes"}, "fields": fields, "invitation": invitation}
    return told | changes


def read(store, *stated, **changes):
    return store.reader.read(json.dumps(message(store, *stated, **changes)).encode())


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rows_in(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def invite(*options, output="links.csv"):
    return run_cli("survey", "invite", "survey.json", "--page", PAGE, "-o", output, *options)


def parts_of(link):
    """What a browser reads from the part after #."""
    return dict(parse_qsl(urlsplit(link).fragment, strict_parsing=True))


def test_links_of_groups_have_their_fields_and_say_how_well_each_will_be_known(url):
    sizes = {5: NORTH, 20: SOUTHERN, 100: NORTH | {"weight": "2"}}
    write_rows("strata.csv", [{"people": size, **fields} for size, fields in sizes.items()])
    done = invite("--groups", "strata.csv", "--json", "data.json")
    assert done.exit_code == 0
    assert "fewer than 20" in done.stderr
    groups = json.loads(Path("data.json").read_text())["groups"]
    assert [(each["people"], round(each["half_width"], 2)) for each in groups] == [
        (5, 0.95),
        (20, 0.47),
        (100, 0.21),
    ]
    rows = rows_in("links.csv")
    assert [(row["region"], row["weight"]) for row in rows] == [
        tuple(fields.values()) for size, fields in sizes.items() for _ in range(size)
    ]
    for row in rows:
        parts = parts_of(row["link"])
        assert len(parts.pop("i")) == 32
        assert parts == {"region": row["region"], "weight": row["weight"]}
        assert set(row["link"]) <= set(map(chr, range(33, 127))) - set('"<> ')
    with Store(url, SURVEY) as store:  # as the page reads them
        for row in rows:
            parts = parts_of(row["link"])
            invitation = parts.pop("i")
            assert store.add([read(store, invitation, parts)]) == [True]


def test_a_list_of_people_keeps_its_order_and_columns(url):
    people = [
        {"name": f"Ann, {k}", "region": ("North", SOUTH)[k % 2], "w": "1", "weight": "1"}
        for k in range(12)
    ]
    write_rows("people.csv", people)
    command = ("--people", "people.csv", "--keep", "region", "--keep", "weight")
    done = invite(*command)
    assert done.exit_code == 0
    rows = rows_in("links.csv")
    assert [{name: row[name] for name in people[0]} for row in rows] == people
    assert [parts_of(row["link"])["region"] for row in rows] == [row["region"] for row in people]
    with Store(url, SURVEY) as store:
        assert sum(store.status().unused.values()) == 12
    for wrong in ((), ("--keep", "region"), ("--keep", "region", "--keep", "w")):
        done = invite("--people", "people.csv", *wrong, output="others.csv")
        assert (done.exit_code, Path("others.csv").exists()) == (2, False)
    done = invite("--people", "people.csv", "--keep", "regions", output="others.csv")
    assert "regions" in done.stderr
    Survey(SURVEY.questions).save("survey.json")  # a list of people without fields
    done = invite("--people", "people.csv", "--to", "sqlite:///open.db", output="others.csv")
    assert done.exit_code == 0
    assert [len(parts_of(row["link"])) for row in rows_in("others.csv")] == [1] * 12


def test_small_groups_are_refused_also_if_only_the_weight_tells_people_apart(url):
    write_rows("strata.csv", [{"people": 4, **NORTH}, {"people": 30, **SOUTHERN}])
    names = [{"region": "North", "weight": f"1.{100000 + 7 * k}"} for k in range(40)]
    write_rows("people.csv", names)
    commands = {
        "strata.csv": ("--groups", "strata.csv"),
        "people.csv": ("--people", "people.csv", "--keep", "region", "--keep", "weight"),
    }
    for command in commands.values():
        done = invite(*command, "--json", "-")
        assert json.loads(done.stdout)["error"]["code"] == "small-group"
        assert not Path("links.csv").exists()
        with Store(url, SURVEY) as store:
            assert store.status().unused == {}
    for name, command in commands.items():
        assert invite(*command, "--smallest", "1", output=f"of-{name}").exit_code == 0
    with Store(url, SURVEY) as store:
        assert sum(store.status().unused.values()) == 74


def test_a_group_is_as_large_as_all_who_were_invited_to_it(url):
    """Also those whose invitations were used since."""
    write_rows("first.csv", [{"people": 5, **NORTH}])
    write_rows("second.csv", [{"people": 1, **NORTH}])
    assert invite("--groups", "first.csv").exit_code == 0
    with Store(url, SURVEY) as store:
        for row in rows_in("links.csv")[:3]:
            assert store.add([read(store, parts_of(row["link"])["i"])]) == [True]
    done = invite("--groups", "second.csv", "--json", "data.json", output="second-links.csv")
    assert done.exit_code == 0
    assert [each["people"] for each in json.loads(Path("data.json").read_text())["groups"]] == [6]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"people": 9, "region": "North"}], "missing-field"),
        ([{"people": 9, **NORTH, "income": "1"}], "unknown-field"),
        ([{"people": 9, **NORTH, "region": "Nowhere"}], "field-label"),
        ([{"people": 9, **NORTH, "weight": "1e3"}], "group-weight"),
        ([{"people": 9, **NORTH, "weight": ""}], "missing-entry"),
        ([{"people": "many", **NORTH}], "people"),
        ([{"people": "-9", **NORTH}], "people"),
        ([{"people": 0, **NORTH}], "people"),
    ],
)
def test_groups_that_cannot_be_are_refused_with_their_row(rows, code):
    first = {"people": 30, **NORTH, "weight": "1"}
    write_rows("strata.csv", [first, *rows] if len(rows[0]) == 3 else rows)
    done = invite("--groups", "strata.csv", "--json", "-")
    error = json.loads(done.stdout)["error"]
    assert error["code"] == code
    assert "row" in error["where"] or code.endswith("-field")
    assert not Path("links.csv").exists()
    assert not Path("reports.db").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-rows"),
        ("people,region,weight\n", "no-rows"),
        ("people;region;weight\n5;North;1\n", "header"),
        ("people,region,region\n5,North,North\n", "header"),
        ("people,region,weight\n5,North\n", "row-length"),
        ("people,region,weight\n5,North,1,2\n", "row-length"),
        ('people,region,weight\n5,"North,1\n', "unreadable"),
        ("people,region,weight\n5,N\xf6rd,1\n", "unreadable"),
    ],
)
def test_lists_that_cannot_be_read_are_refused(text, code):
    Path("people.csv").write_bytes(text.encode("latin-1"))
    done = invite("--people", "people.csv", "--keep", "region", "--json", "-")
    assert json.loads(done.stdout)["error"]["code"] == code


def test_more_people_than_invitations_are_refused_before_a_row_is_made_for_each():
    write_rows("strata.csv", [{"people": 10**9, **NORTH}])
    done = invite("--groups", "strata.csv", "--json", "-")
    assert json.loads(done.stdout)["error"]["code"] == "range"


def test_lists_may_have_another_separator_and_encoding(url):
    """As a spreadsheet program saves them, also the list of links."""
    survey = Survey(SURVEY.questions, fields={"region": ("Köln", "Bonn")})
    survey.save("survey.json")
    Path("strata.csv").write_text("people;region\n6;Köln\n5;Bonn\n", "latin-1")
    as_saved = ("--separator", ";", "--encoding", "latin-1")
    assert invite("--groups", "strata.csv", *as_saved).exit_code == 0
    rows = rows_in("links.csv")
    assert [row["region"] for row in rows] == ["Köln"] * 6 + ["Bonn"] * 5
    saved = "".join(f"{row['region']};{row['link']}\n" for row in rows)
    Path("saved.csv").write_text(f"region;link\n{saved}", "latin-1")
    done = run_cli("survey", "status", url, "--links", "saved.csv", "-o", "u.csv", *as_saved)
    assert done.exit_code == 0
    assert rows_in("u.csv") == rows


def test_options_that_do_not_go_together_are_refused():
    write_rows("strata.csv", [{"people": 30, **NORTH}])
    wrong = ((), (30, "--groups", "strata.csv"), ("--groups", "strata.csv", "--keep", "region"))
    for options in wrong:
        assert invite(*options).exit_code == 2
    done = invite(30, "--json", "-")  # links without the fields of the survey
    assert json.loads(done.stdout)["error"]["code"] == "fields"
    write_rows("people.csv", [{"link": "x", **NORTH}] * 9)
    kept = ("--keep", "region", "--keep", "weight", "--json", "-")
    done = invite("--people", "people.csv", *kept)
    assert json.loads(done.stdout)["error"]["code"] == "link-column"


def test_fields_come_with_an_invitation_only(url):
    with refused("fields", StatementError):
        Store(url, SURVEY, invited=False)
    assert not Path("reports.db").exists()
    with Store(url, SURVEY) as store:
        assert store.invited
        for wrong in (None, {}, {"region": "North"}, NORTH | {"weight": "low"}, [NORTH]):
            with pytest.raises(StatementError):
                store.invite(1, wrong)
        with refused("fields-count"):
            store.admit([secrets.token_hex(16)] * 2, [NORTH])
        assert store.status().unused == {}
    with Store("sqlite:///plain.db", Survey(SURVEY.questions), invited=True) as plain:
        with refused("fields"):
            plain.invite(1, NORTH)
        assert len(plain.invite(2, {})) == 2


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        "North",
        {},
        {"region": "North"},
        NORTH | {"more": "1"},
        NORTH | {"region": "Nowhere"},
        NORTH | {"region": None},
        NORTH | {"weight": 1.25},
        NORTH | {"weight": "-1"},
        NORTH | {"weight": "1234567890123"},
    ],
)
def test_a_message_has_the_fields_of_the_form(url, fields):
    with Store(url, SURVEY) as store:
        (invitation,) = store.invite(1, NORTH)
        with pytest.raises(InvalidMessageError) as caught:
            read(store, invitation, fields)
        assert "Nowhere" not in str(caught.value)
        absent = message(store, invitation)
        del absent["fields"]
        with pytest.raises(InvalidMessageError):
            store.reader.read(json.dumps(absent).encode())
    plain = Store("sqlite:///plain.db", Survey(SURVEY.questions), invited=True)
    with plain, pytest.raises(InvalidMessageError):
        read(plain, plain.invite(1)[0], {})


def test_the_longest_message_has_the_longest_field():
    form = SURVEY.form()
    told = {"form": 64 * "0", "words": 64 * "0", "id": 32 * "0", "invitation": 32 * "0"}
    told |= {"reports": {"smokes": "yes"}, "fields": {"region": SOUTH, "weight": 12 * "0"}}
    longest = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    assert message_bytes(form) == len(longest)


def test_nobody_can_choose_a_stratum_or_a_weight(database):
    with Store(database, SURVEY) as store, TestClient(app_of(store)) as client:
        (invitation,) = store.invite(1, NORTH)
        forged = [
            message(store, invitation, NORTH | {"region": SOUTH}),
            message(store, invitation, NORTH | {"weight": "1.250"}),
            message(store, invitation, SOUTHERN),
        ]
        unknown = message(store, secrets.token_hex(16))
        honest = message(store, invitation)
        bodies = map(json.dumps, [*forged, unknown, honest, honest, forged[0]])
        statuses = [client.post("/reports", content=body).status_code for body in bodies]
        assert statuses == [422, 422, 422, 409, 200, 200, 409]
        assert store.status().groups == {"region=North, weight=1.25": 1}


def test_the_tables_have_fields_and_nothing_that_connects_them_with_a_person(url):
    with Store(url, SURVEY) as store:
        links = store.invite(8, NORTH) + store.invite(8, SOUTHERN)
        used = [links[2], links[11]]
        for link, fields in zip(used, (NORTH, SOUTHERN), strict=True):
            assert store.add([read(store, link, fields)]) == [True]
        store.finish()
    data = Path("reports.db").read_bytes()
    assert all((hash_of(link).encode() in data) == (link not in used) for link in links)
    with closing(sqlite3.connect("reports.db")) as connection:
        left = connection.execute("SELECT * FROM invitations").fetchall()
        reports = connection.execute("SELECT * FROM reports").fetchall()
    assert sorted(left) == sorted(
        (hash_of(link), *fields.values())
        for link, fields in [(link, NORTH) for link in links[:8]]
        + [(link, SOUTHERN) for link in links[8:]]
        if link not in used
    )
    assert sorted(row[1:] for row in reports) == sorted(
        ("yes", *fields.values()) for fields in (NORTH, SOUTHERN)
    )


steps = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.booleans()), max_size=12
)


@given(steps, st.integers(1, 4))
def test_an_id_never_uses_two_invitations_and_a_refusal_uses_none(tmp_path_factory, tried, size):
    """Messages of some ids and invitations, with right and wrong fields and reports, in batches."""
    url = f"sqlite:///{tmp_path_factory.mktemp('law')}/reports.db"
    ids = [secrets.token_hex(16) for _ in range(3)]
    with Store(url, SURVEY) as store:
        links = store.invite(4, NORTH)
        made = [
            read(
                store,
                links[link],
                NORTH if is_right else SOUTHERN,
                id=ids[number],
                reports={"smokes": "yes" if says_yes else "no"},
            )
            for number, link, is_right, says_yes in tried
        ]
        rows: dict[str, tuple] = {}  # by the plain rule, in the order in which a batch is kept
        free = {hash_of(link) for link in links}
        kept = []
        for start in range(0, len(made), size):
            batch = made[start : start + size]
            for each in sorted(batch, key=lambda each: each.id):
                fits = each.invitation in free and each.fields == NORTH
                if each.id not in rows and fits:
                    rows[each.id] = (each.reports, each.fields)
                    free.remove(each.invitation)
            kept += [rows.get(each.id) == (each.reports, each.fields) for each in batch]
            assert store.add(batch) == kept[start:]
        found = store.status()
        assert found.reports == len(rows) == store.used
        assert sum(found.unused.values()) == 4 - len(rows) == len(free)


@needs_postgres
def test_an_id_that_another_collector_has_just_kept_uses_no_invitation():
    BENCHMARK.clear(POSTGRES)
    with Store(POSTGRES, SURVEY) as store:
        (first, second) = store.invite(2, NORTH)
        late = read(store, second)
        row = {"id": late.id, "smokes": "yes", **NORTH}
        results = []
        other = threading.Thread(target=lambda: results.extend(store.add([late])))
        with store.engine.begin() as connection:  # of another collector, not committed yet
            connection.execute(store.reports_table.insert(), row)
            other.start()
            other.join(0.5)
            assert other.is_alive()
        other.join()
        assert results == [True]  # it is there as it was sent
        assert (store.used, sum(store.status().unused.values())) == (0, 2)
        assert store.add([read(store, second), read(store, first)]) == [True, True]


def test_the_status_names_groups_with_few_reports(database):
    with Store(database, SURVEY) as store:
        links = store.invite(6, NORTH)
        others = store.invite(7, SOUTHERN)
        store.add([read(store, link) for link in links[:5]])
        store.add([read(store, link, SOUTHERN) for link in others[:2]])
        status = store.status()
    south = 'region="South & "East", 50 % +ä", weight=0.5'
    assert status.groups == {"region=North, weight=1.25": 5, south: 2}
    assert status.unused == {"region=North, weight=1.25": 1, south: 5}
    assert (status.reports, status.small) == (7, {south: 2})
    done = run_cli("survey", "status", database)
    assert (done.exit_code, south in done.stderr, "North" in done.stderr) == (0, True, False)
    assert "region=North" in done.stdout
    assert cli_json("survey", "status", database)["groups"] == status.groups


def test_groups_and_weights_on_a_database_are_those_of_its_table(database):
    """By the command and in Python, without a word on the weights: the survey has them."""
    drawn = np.random.default_rng(3)
    with Store(database, SURVEY) as store:
        for fields, people in ((NORTH, 60), (SOUTHERN, 40)):
            reports = drawn.choice(["no", "yes"], people)
            store.add(
                [
                    read(store, link, fields, reports={"smokes": report})
                    for link, report in zip(store.invite(people, fields), reports, strict=True)
                ]
            )
    cli_output("survey", "export", database, "-o", "table.csv")
    table = pd.read_csv("table.csv", dtype={"weight": str})
    assert list(table) == ["smokes", "region", "weight"]
    assert SURVEY.count(database) == SURVEY.count("table.csv")
    assert SURVEY.count(database)["smokes"].total == 60 * 1.25 + 40 * 0.5
    seen = [
        cli_json("survey", "estimate", "survey.json", source, "--by", "region")["estimates"]
        for source in (database, "table.csv")
    ]
    assert seen[0] == seen[1]
    assert {entry["group"] for entry in seen[0]} >= {"North", SOUTH}
    plain = SURVEY.counts_by_group(SURVEY.columns, database, None, "region")["smokes"]
    assert {group: counts.n_reports for group, counts in plain.items()} == {"North": 60, SOUTH: 40}


STATEMENT = """
epsilon = 1.0
weights = "weight"
[question.smokes]
labels = ["no", "yes"]
[field.region]
labels = ["North", "South"]
[field.weight]
[sample]
strata = "region"
population = { North = 900, South = 800 }
"""


def test_a_survey_file_says_fields_and_a_sample_of_them(url):
    """Strata and weights of the sample come with the links, and the database has them."""
    Path("survey.toml").write_text(STATEMENT)
    cli_output("survey", "solve", "survey.toml", "-o", "survey.json")
    survey = Survey.load("survey.json")
    assert survey.fields == {"region": ("North", "South"), "weight": ()}
    drawn = np.random.default_rng(5)
    with Store(url, survey) as store:
        outputs = survey.form()["columns"]["smokes"]["reports"]
        for region, weight, people in (("North", "1.5", 30), ("South", "0.75", 20)):
            fields = {"region": region, "weight": weight}
            for link in store.invite(people, fields):
                report = {"smokes": str(drawn.choice(outputs))}
                assert store.add([read(store, link, fields, reports=report)]) == [True]
    cli_output("survey", "export", url, "-o", "table.csv")
    for by in (None, "region"):
        found, expected = (
            survey.estimate(source, by=by, check_fit=False).entries()
            for source in (url, "table.csv")
        )
        assert found == expected
    sampled = survey.estimate(url, check_fit=False)["smokes"].std_error
    plain = Survey(survey.questions, weights="weight", fields=survey.fields)
    assert (sampled != plain.estimate("table.csv", check_fit=False)["smokes"].std_error).all()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_every_value_of_a_field_survives_its_link(value):
    parts = parts_of(link_of(PAGE, 32 * "0", {"the region": value}))
    assert parts == {"i": 32 * "0", "the region": value}


def test_the_half_width_is_that_of_the_number_that_is_known_least():
    coin = SURVEY.questions["smokes"]
    both = Survey({"a": coin, "b": Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"])})
    assert half_width_of_one(both) == both.precision("b").half_width(1).max()
    assert half_width_of_one(both) > both.precision("a").half_width(1).max()
    constant = Survey({"a": Mechanism([[0.5, 0.5], [0.5, 0.5]], ["no", "yes"])})
    assert half_width_of_one(constant) is None


def test_a_database_without_fields_is_no_database_of_a_survey_with_them(url):
    Store(url, Survey(SURVEY.questions)).close()
    with refused("form", ModelFileError):
        Store(url, SURVEY)
