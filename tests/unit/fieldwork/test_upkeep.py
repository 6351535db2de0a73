"""The upkeep of a database: its files, the order of arrival in them, its status, its copies."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from builders import cli_json, load_script, refused, run_cli
from collecting import SURVEY, message, stored_order
from ldpopt.errors import ModelFileError
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.messages import hash_of

pytest.importorskip("sqlalchemy")
upkeep = pytest.importorskip("ldpopt.fieldwork.upkeep")
BENCHMARK = load_script(Path(__file__).parents[3] / "benchmarks" / "collect.py")
POSTGRES = os.environ.get("LDPOPT_POSTGRES")
needs_postgres = pytest.mark.skipif(POSTGRES is None, reason="LDPOPT_POSTGRES names no database")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "reports.db"


@pytest.fixture
def url(path):
    return f"sqlite:///{path}"


@pytest.fixture
def impatient(monkeypatch):
    """A writer or reader waits .1 s in place of 10."""
    from ldpopt.tables import database

    monkeypatch.setattr(database, "PRAGMAS", (*database.PRAGMAS, "PRAGMA busy_timeout=100"))


def add(store, count=1, **changes):
    """Keep new messages, each in a transaction; return their ids in the order of arrival."""
    ids = []
    for _ in range(count):
        body = message(**changes)
        assert store.add([store.reader.read(json.dumps(body).encode())]) == [True]
        ids.append(body["id"])
    return ids


@contextmanager
def transaction(path, *statements):
    """A transaction of another program."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0.1)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
        yield connection


def rows_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM reports")}


def test_after_the_end_the_file_has_the_order_of_the_ids_and_no_used_invitation(path, url):
    with Store(url, SURVEY, invited=True) as store:
        links = store.invite(40)
        ids = [add(store, invitation=link)[0] for link in links[:30]]
        log = Path(f"{path}-wal")
        at = [log.read_bytes().index(one.encode()) for one in ids]
        assert at == sorted(at)  # the order is there
        store.finish()
        assert log.stat().st_size == 0
        assert [ids[k] for k in stored_order(path, ids)] == sorted(ids)
        data = path.read_bytes()
        assert [hash_of(link).encode() in data for link in links] == [False] * 30 + [True] * 10
        more = add(store, invitation=links[30])
        store.finish()
        assert rows_in(path) == {*ids, *more}


@pytest.mark.parametrize(
    "statements", [("BEGIN", "SELECT count(*) FROM reports"), ("BEGIN IMMEDIATE",)]
)
def test_an_end_while_somebody_reads_or_writes_says_so(path, url, impatient, statements):
    with Store(url, SURVEY) as store:
        ids = add(store, 3)
        with transaction(path, *statements), refused("order", ModelFileError):
            store.finish()
        store.finish()
        assert [ids[k] for k in stored_order(path, ids)] == sorted(ids)


def changes_of_files():
    def replace(path):
        data = path.read_bytes()
        path.rename(path.with_name("old"))
        path.write_bytes(data)

    return {
        "moved": lambda path: path.rename(path.with_name("moved")),
        "deleted": os.unlink,
        "replaced": replace,
        "log deleted": lambda path: os.unlink(f"{path}-wal"),
        "index of the log deleted": lambda path: os.unlink(f"{path}-shm"),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be moved there")
@pytest.mark.parametrize("name", changes_of_files())
def test_nothing_is_acknowledged_that_nobody_would_find(path, url, name):
    with Store(url, SURVEY) as store:
        add(store)
        changes_of_files()[name](path)
        with refused("moved", ModelFileError):
            add(store)
        with refused("moved", ModelFileError):
            store.require_usable()
        assert store.count() == 1  # what was not acknowledged is not there either
        with refused("moved", ModelFileError):
            store.finish()


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be moved there")
def test_an_orderly_end_saves_what_a_deleted_log_has(path, url):
    with Store(url, SURVEY) as store:
        ids = add(store, 5)
        os.unlink(f"{path}-wal")
        with refused("moved", ModelFileError):
            store.finish()
    assert rows_in(path) == set(ids)


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be moved there")
def test_a_file_that_is_put_back_is_used_again(path, url):
    with Store(url, SURVEY) as store:
        before = add(store)
        path.rename(path.with_name("moved"))
        with refused("moved", ModelFileError):
            add(store)
        path.with_name("moved").rename(path)
        after = add(store)
        store.require_usable()
        store.finish()
    assert rows_in(path) == {*before, *after}


def test_a_database_that_somebody_writes_to_cannot_be_used_now(path, url, impatient):
    with Store(url, SURVEY) as store:
        store.require_usable()
        with transaction(path, "BEGIN IMMEDIATE"), refused("database", ModelFileError):
            store.require_usable()
        with transaction(path, "BEGIN", "SELECT count(*) FROM reports"):
            store.require_usable()  # readers do not disturb
        store.require_usable()
        assert store.count() == 0


def test_the_status_counts_and_names_the_form(path, url):
    with Store(url, SURVEY, invited=True) as store:
        links = store.invite(5)
        add(store, invitation=links[0])
        found = store.status()
        assert found == upkeep.status(url)
        assert (found.reports, found.form, found.invited) == (1, store.digest, True)
        assert found.unused == {"": 4}
        assert found.bytes > path.stat().st_size  # with the log
    data = cli_json("survey", "status", url)
    assert (data["reports"], data["form"], data["unused"]) == (1, store.digest, {"": 4})
    assert data["bytes"] == path.stat().st_size
    assert run_cli("survey", "status", path).exit_code == 2
    assert run_cli("survey", "status", f"{url}x").exit_code == 2


def test_a_file_of_something_else_has_no_status(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE reports (id TEXT)")
    with refused("no-table", ModelFileError):
        upkeep.status(f"sqlite:///{tmp_path}/other.db")


def test_a_backup_has_all_that_is_committed_while_somebody_writes(path, url, tmp_path):
    target = tmp_path / "copy.db"
    with Store(url, SURVEY) as store:
        ids = add(store, 30)
        begin = ("BEGIN IMMEDIATE", "INSERT INTO reports VALUES ('not yet', 'yes')")
        with transaction(path, *begin) as writer:
            assert upkeep.backup(url, str(target)) == 30
            writer.execute("ROLLBACK")
    assert rows_in(target) == set(ids)
    assert [ids[k] for k in stored_order(target, ids)] == sorted(ids)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "reports.db"]
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert SURVEY.count(f"sqlite:///{target}") == SURVEY.count(url)


def test_a_backup_replaces_nothing(url, tmp_path):
    Store(url, SURVEY).close()
    target = tmp_path / "copy.db"
    assert cli_json("survey", "backup", url, "-o", target)["reports"] == 0
    data = target.read_bytes()
    done = run_cli("survey", "backup", url, "-o", target)
    assert done.exit_code == 2
    with refused("existing-file", ModelFileError):
        upkeep.backup(url, str(target))
    assert target.read_bytes() == data
    assert run_cli("survey", "backup", url, "-o", tmp_path / "no" / "copy.db").exit_code == 2


@pytest.fixture
def postgres():
    BENCHMARK.clear(POSTGRES)
    with Store(POSTGRES, SURVEY) as store:
        yield store


def physical(store):
    """Ids in the order of their rows in the table, and the number of transactions they are of."""
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT id FROM reports ORDER BY ctid").scalars().all()
        count = "SELECT count(DISTINCT xmin::text) FROM reports"
        return rows, connection.exec_driver_sql(count).scalar()


@needs_postgres
def test_after_the_end_tables_of_postgresql_have_one_transaction_in_the_order_of_the_ids(postgres):
    ids = add(postgres, 60)
    assert physical(postgres) == (ids, 60)
    postgres.finish()
    assert physical(postgres) == (sorted(ids), 1)
    with postgres.engine.connect() as connection:
        connection.exec_driver_sql("CHECKPOINT")
        where = "SELECT pg_read_binary_file(pg_relation_filepath('reports'))"
        data = bytes(connection.exec_driver_sql(where).scalar())
    assert [data.count(one.encode()) for one in ids] == [1] * 60


@needs_postgres
def test_an_older_reader_of_postgresql_sees_all_rows_and_is_told_of(postgres):
    ids = add(postgres, 20)
    old = postgres.engine.connect().execution_options(isolation_level="REPEATABLE READ")
    with old:
        old.exec_driver_sql("SELECT count(*) FROM about").scalar()
        with refused("order", ModelFileError):
            postgres.finish()
        assert old.exec_driver_sql("SELECT count(*) FROM reports").scalar() == 20
    postgres.finish()
    assert physical(postgres) == (sorted(ids), 1)


@needs_postgres
def test_postgresql_is_copied_by_its_own_program(postgres, tmp_path):
    with refused("database-kind", ModelFileError):
        upkeep.backup(POSTGRES, str(tmp_path / "copy"))
    add(postgres)
    postgres.require_usable()
    assert upkeep.status(POSTGRES).reports == 1


@needs_postgres
def test_used_invitations_leave_the_files_of_postgresql():
    BENCHMARK.clear(POSTGRES)
    with Store(POSTGRES, SURVEY, invited=True) as store:
        links = store.invite(5)
        add(store, invitation=links[0])
        store.finish()
        with store.engine.connect() as connection:
            connection.exec_driver_sql("CHECKPOINT")
            where = "SELECT pg_read_binary_file(pg_relation_filepath('invitations'))"
            data = bytes(connection.exec_driver_sql(where).scalar())
    assert [hash_of(link).encode() in data for link in links] == [False] + [True] * 4


@needs_postgres
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_postgresql_in_another_encoding_is_refused(encoding):
    from ldpopt.tables.database import open_database

    name = f"ldpopt_{secrets.token_hex(4)}"
    engine = open_database(POSTGRES).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(
                f"CREATE DATABASE {name} ENCODING {encoding} LOCALE 'C' TEMPLATE template0"
            )
            url = engine.url.set(database=name).render_as_string(hide_password=False)
            try:
                with refused("encoding", ModelFileError):
                    Store(url, SURVEY)
            finally:
                connection.exec_driver_sql(f"DROP DATABASE {name}")
    finally:
        engine.dispose()
