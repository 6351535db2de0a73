"""What a database says about its reports: changed words are noticed, invitations are for one
database or none, and another wave's reports are not read."""

from __future__ import annotations

import json
import secrets
import sqlite3
from pathlib import Path

import pytest

from builders import cli_json, cli_output, refused, run_cli
from ldpopt import Mechanism, Survey
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.messages import InvalidMessageError

pytest.importorskip("sqlalchemy", reason="sqlalchemy is in the extra 'collect'")
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
PAGE = "https://survey.example.org/"


def survey(text: str = "Do you smoke?", **words: object) -> Survey:
    return Survey({"smokes": COIN}, words={"questions": {"smokes": {"text": text}}} | words)


BEFORE, AFTER = survey(), survey("Do you drink?")


@pytest.fixture
def url(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    BEFORE.save("survey.json")
    AFTER.save("after.json")
    return "sqlite:///reports.db"


def body(store: Store, asked: Survey = BEFORE, **changes: object) -> bytes:
    told = {"form": store.digest, "words": asked.words_digest, "id": secrets.token_hex(16)}
    return json.dumps(told | {"reports": {"smokes": "yes"}} | changes).encode()


def keep(store: Store, *bodies: bytes) -> list[bool]:
    return store.add([store.reader.read(one) for one in bodies])


def test_a_changed_text_stops_the_collector_and_is_named(url):
    with Store(url, BEFORE) as store:
        keep(store, body(store))
    with refused("changed-words", ModelFileError) as caught:
        Store(url, AFTER)
    assert 'question smokes: the text was "Do you smoke?", is "Do you drink?"' in str(caught.value)
    Store(url, BEFORE).close()
    done = run_cli("survey", "collect", "after.json", "--port", "0")
    assert done.exit_code == 2
    assert "--changed-words" in done.stderr
    assert "Do you drink?" in done.stderr


def test_messages_of_words_that_the_collector_does_not_know_are_refused(url):
    with Store(url, BEFORE) as store:
        with pytest.raises(InvalidMessageError, match="other words"):
            store.reader.read(body(store, AFTER))
        assert keep(store, body(store)) == [True]


def test_changed_words_are_added_and_both_pages_are_known(url):
    Store(url, BEFORE).close()
    with Store(url, AFTER, changed_words=True) as store:
        assert keep(store, body(store, BEFORE), body(store, AFTER)) == [True, True]
        assert store.status().words == (BEFORE.words_digest, AFTER.words_digest)
    Store(url, AFTER).close()  # from now on without the flag
    with Store(url, BEFORE) as store:
        assert store.status().words == (BEFORE.words_digest, AFTER.words_digest)
    third = survey("Do you eat?")
    with refused("changed-words", ModelFileError) as caught:
        Store(url, third)
    assert '"Do you drink?", is "Do you eat?"' in caught.value.what  # the last words, not the first
    with sqlite3.connect("reports.db") as connection:
        (words,) = connection.execute("SELECT words FROM about").fetchone()
    connection.close()
    assert list(json.loads(words).values()) == [one.words.read_by_people for one in (BEFORE, AFTER)]


def test_where_reports_are_sent_is_no_change_of_words(url):
    Store(url, BEFORE).close()
    Store(url, survey(to="https://elsewhere.example.org/reports")).close()


def test_a_database_of_another_version_is_refused(url):
    for table in ("CREATE TABLE about (digest, form, origin)", "CREATE TABLE about (digest)"):
        with sqlite3.connect("old.db") as connection:
            connection.execute("DROP TABLE IF EXISTS about")
            connection.execute(table)
        connection.close()
        with refused("table", ModelFileError):
            Store("sqlite:///old.db", BEFORE)


@pytest.mark.parametrize("changes", [{"title": "Habits"}, {"words": {"wave": 2}}])
def test_reports_of_another_survey_or_wave_are_not_read(url, changes):
    """They are drawn by the same mechanism, so their origin does not tell."""
    other = Survey({"smokes": COIN, "drinks": COIN}, **changes)
    one = Survey({"smokes": COIN, "drinks": COIN})
    with Store(url, one) as store:
        for number in range(40):
            row = {"smokes": "yes" if number % 2 else "no", "drinks": "no" if number % 3 else "yes"}
            keep(store, body(store, one, reports=row))
    readings = (
        other.count,
        other.estimate,
        lambda table: other.estimate_pair(table, "smokes", "drinks"),
    )
    for read in readings:
        with refused("form", ModelFileError) as caught:
            read(url)
        assert ("wave is 1, not 2" in str(caught.value)) == ("words" in changes)
    other.save("other.json")
    done = run_cli("survey", "estimate", "other.json", url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert one.count(url)["smokes"].n_reports == 40
    COIN.save("smokes.json")  # a mechanism alone is in no survey, and recognized by its digest
    found = cli_json("estimate", "smokes.json", url, "--column", "smokes")
    assert found["n_reports"] == 40


def test_the_need_of_invitations_is_written_once(url):
    with Store(url, BEFORE, invited=True) as store:
        (link,) = store.invite(1)
    with Store(url, BEFORE) as store:  # without the flag
        assert store.invited
        with pytest.raises(InvalidMessageError):
            store.reader.read(body(store))
        assert keep(store, body(store, invitation=link)) == [True]
        assert store.status().invited  # also when all of them are used
    with refused("invitations", ModelFileError):
        Store(url, BEFORE, invited=False)


def test_an_open_database_takes_no_invitations_even_while_it_is_empty(url):
    """A collector that is running would go on without them."""
    with Store(url, BEFORE) as running:
        with refused("invitations", ModelFileError):
            Store(url, BEFORE, invited=True)
        with refused("invitations", StatementError):
            running.invite(3)
        done = run_cli("survey", "invite", "survey.json", 3, "--page", PAGE, "-o", "links.csv")
        assert (done.exit_code, Path("links.csv").exists()) == (2, False)
        assert keep(running, body(running)) == [True]
        done = run_cli("survey", "collect", "survey.json", "--invited", "--port", "0")
        assert done.exit_code == 2


def test_links_are_for_a_collector_that_is_running_too(url):
    with Store(url, BEFORE, invited=True) as running:
        cli_output("survey", "invite", "survey.json", 2, "--page", PAGE, "-o", "links.csv")
        links = Path("links.csv").read_text().split()[1:]
        messages = [body(running, invitation=link.partition("#i=")[2]) for link in links]
        assert keep(running, *messages) == [True, True]


def test_a_conflict_of_ids_uses_no_invitation(url):
    with Store(url, BEFORE, invited=True) as store:
        first, second = store.invite(2)
        number = secrets.token_hex(16)
        kept = body(store, id=number, invitation=first)
        other = body(store, id=number, invitation=second, reports={"smokes": "no"})
        assert keep(store, kept, other) == [True, False]
        assert keep(store, other, kept) == [False, True]
        assert store.status().unused == {"": 1}
        assert keep(store, body(store, invitation=second)) == [True]


def test_a_list_of_links_is_never_replaced(url):
    command = ("survey", "invite", "survey.json", 3, "--page", PAGE, "-o", "links.csv")
    cli_output(*command)
    before = Path("links.csv").read_bytes()
    assert Path("links.csv").stat().st_mode & 0o077 == 0  # for its owner only
    done = run_cli(*command)
    assert (done.exit_code, "links.csv" in done.stderr) == (2, True)
    assert Path("links.csv").read_bytes() == before
    with Store(url, BEFORE) as store:
        assert store.status().unused == {"": 3}


def test_no_list_is_left_of_links_that_no_collector_knows(url, monkeypatch):
    def fails(self: Store, *invitations: object) -> None:
        raise ModelFileError("database is locked")

    monkeypatch.setattr(Store, "admit", fails)
    done = run_cli("survey", "invite", "survey.json", 3, "--page", PAGE, "-o", "links.csv")
    assert (done.exit_code, Path("links.csv").exists()) == (2, False)


def test_the_links_that_were_not_used_are_listed_exactly(url):
    cli_output("survey", "invite", "survey.json", 20, "--page", PAGE, "-o", "links.csv")
    links = Path("links.csv").read_text().split()[1:]
    merged = "name,link\n" + "".join(f'"Ann, {k}",{link}\n' for k, link in enumerate(links))
    Path("merged.csv").write_text(merged, encoding="utf-8-sig")
    with Store(url, BEFORE) as store:
        used = links[3:17:2]
        assert all(keep(store, *(body(store, invitation=one[-32:]) for one in used)))
    command = ("survey", "status", url, "--links", "merged.csv", "-o", "unused.csv")
    assert sum(cli_json(*command)["unused"].values()) == 13
    expected = [f'"Ann, {k}",{link}' for k, link in enumerate(links) if link not in used]
    assert Path("unused.csv").read_text().splitlines() == ["name,link", *expected]
    assert run_cli(*command).exit_code == 2  # a list is never replaced


@pytest.mark.parametrize(
    "text", ["", "link\n", "link\nhttps://a.org/\n", "name\nAnn\n", "link\n\0"]
)
def test_a_file_without_links_is_refused(url, text):
    Store(url, BEFORE, invited=True).close()
    Path("links.csv").write_text(text)
    done = run_cli("survey", "status", url, "--links", "links.csv", "-o", "unused.csv")
    assert (done.exit_code, Path("unused.csv").exists()) == (2, False)
    assert len(done.stderr.splitlines()) == 1


def test_the_collector_ends_when_the_page_says_so(url):
    survey(until="2999-03-31").save("until.json")
    survey(until="2020-03-31").save("over.json")
    for arguments in (
        ("until.json", "--until", "2999-04-01"),
        ("over.json",),
        ("survey.json", "--until", "2020-03-31"),
        ("survey.json", "--until", "2020-03-31T10:00"),
    ):
        done = run_cli("survey", "collect", *arguments, "--port", "0")
        assert done.exit_code == 2
        assert "until" in done.stderr
    assert not Path("reports.db").exists()


def test_a_database_of_an_earlier_form_is_compared_by_its_origin(url):
    """Its digest is another one whatever drew the reports, and it does not show the wave."""
    survey = Survey({"smokes": COIN})
    with Store(url, survey) as store:
        for _ in range(40):
            keep(store, body(store, survey, reports={"smokes": "yes"}))
    earlier = {"format": "ldpopt form 1", "title": "", "scheme": "split", "questions": {}}
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE about SET form = ?", [json.dumps(earlier)])
    connection.close()
    assert survey.count(url)["smokes"].n_reports == 40
    other = Mechanism([[0.7, 0.3], [0.3, 0.7]], inputs=["no", "yes"])
    with refused("other-mechanism", ModelFileError):
        Survey({"smokes": other}).count(url)
    with refused("form", ModelFileError) as caught:
        Store(url, survey)
    assert "format is 'ldpopt form 1'" in caught.value.what
