"""Enqueueing on connections that are not ours: with their transaction, and leaving no trace."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from tests.databases import Databases, Place
from tests.messages import claim, ids, letter, live
from tests.postgres import Server
from watchkeeper.errors import Forbidden, Invalid
from watchkeeper.store.database import Database
from watchkeeper.store.enqueue_on import enqueue_on

ROWS = "create table theirs (id integer)"
INSERT = "insert into theirs values (1)"


class Theirs:
    """A connection of a user's program, and the four things a test does with it."""

    def __init__(self, connection: Any, run: Callable[[str], Any]) -> None:
        self.connection = connection
        self.run = run

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()


def url_of(place: Place) -> str:
    return place.url.replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture(params=["driver", "driver with dicts", "connection", "session"])
def theirs(request: pytest.FixtureRequest, place: Place) -> Iterator[Theirs]:
    place.execute(ROWS)
    if place.engine == "postgresql":
        place.execute("grant all on theirs to public")
    if request.param.startswith("driver"):
        if place.engine == "sqlite":
            raw: Any = sqlite3.connect(place.name)
            raw.row_factory = sqlite3.Row if request.param != "driver" else None
        else:
            dicts = {"row_factory": dict_row} if request.param != "driver" else {}
            raw = psycopg.connect(place.url, **dicts)
        with closing(raw):
            yield Theirs(raw, raw.execute)
        return
    engine = create_engine(url_of(place))
    opened = engine.connect() if request.param == "connection" else Session(engine)
    with opened:
        yield Theirs(opened, lambda sql: opened.execute(text(sql)))
    engine.dispose()


@pytest.mark.req("S-10")
def test_it_is_committed_with_their_rows(theirs: Theirs, place: Place, db: Database) -> None:
    theirs.run(INSERT)
    found = enqueue_on(theirs.connection, [letter(dedupe_key="k"), letter("other")])
    if place.engine == "postgresql":
        assert live(place) == {}
    theirs.commit()
    assert set(live(place)) == set(found)
    assert all(type(id) is str for id in found)
    assert place.execute("select count(*) from theirs") == [(1,)]
    assert set(ids(claim(db))) == set(found)


@pytest.mark.req("S-10")
def test_it_is_rolled_back_with_their_rows(theirs: Theirs, place: Place) -> None:
    enqueue_on(theirs.connection, [letter(dedupe_key="k")])
    theirs.run(INSERT)
    theirs.rollback()
    assert live(place) == {}
    assert place.execute("select count(*) from theirs") == [(0,)]
    assert place.execute("select count(*) from dedupe_keys") == [(0,)]


@pytest.mark.req("S-10", "S-11")
def test_a_repeat_is_answered_with_the_id_that_is_there(theirs: Theirs, place: Place) -> None:
    first = enqueue_on(theirs.connection, [letter(dedupe_key="k", ordering_key="o")])
    theirs.commit()
    again = enqueue_on(theirs.connection, [letter(dedupe_key="k"), letter()])
    theirs.commit()
    assert again[0] == first[0]
    assert len(live(place)) == 2


@pytest.mark.req("S-10")
def test_nothing_else_of_theirs_is_touched_by_a_mistake(theirs: Theirs, place: Place) -> None:
    theirs.run(INSERT)
    with pytest.raises(Invalid):
        enqueue_on(theirs.connection, [letter()._replace(payload="no json")])
    theirs.commit()
    assert place.execute("select count(*) from theirs") == [(1,)]
    assert live(place) == {}


CONTEXT = "select current_user, current_setting('role'), current_setting('app.tenant_id', true)"


@pytest.mark.req("S-10", "O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize(
    "before",
    [
        [],
        ["select set_config('app.tenant_id', 'theirs', true)"],
        ["set app.tenant_id = 'for the session'", "set local role watchkeeper_app"],
        ["set role watchkeeper_app", "select set_config('app.tenant_id', 'a', true)"],
    ],
)
def test_role_and_tenant_are_left_as_they_were(databases, before: list[str]) -> None:
    with databases.fresh("postgresql") as place, psycopg.connect(place.url) as conn:
        for statement in before:
            conn.execute(statement.encode())
        context = conn.execute(CONTEXT).fetchall()
        enqueue_on(conn, [letter("acme"), letter("other")])
        assert conn.execute(CONTEXT).fetchall() == context
        with pytest.raises(Invalid):
            enqueue_on(conn, [letter("acme"), letter(topic="")])
        assert conn.execute(CONTEXT).fetchall() == context
        conn.commit()
        after = conn.execute(CONTEXT).fetchall()
        conn.rollback()
        assert after[0][1] == (
            "watchkeeper_app" if before[:1] == ["set role watchkeeper_app"] else "none"
        )
        assert len(live(place)) == 2


@pytest.mark.req("S-10")
@pytest.mark.postgresql
def test_who_may_not_write_is_told_so_and_can_go_on(databases, server: Server) -> None:
    with databases.fresh("postgresql") as place:
        server.admin("create role stranger login nosuperuser")
        try:
            with psycopg.connect(server.url(place.name, "stranger")) as conn:
                with pytest.raises(Forbidden, match="grant it watchkeeper_worker"):
                    enqueue_on(conn, [letter()])
                assert conn.execute("select 1").fetchall() == [(1,)]
        finally:
            server.admin("drop role stranger")


@pytest.mark.req("S-10")
def test_a_connection_that_commits_by_itself_is_refused(place: Place) -> None:
    engine = create_engine(url_of(place), isolation_level="AUTOCOMMIT")
    with engine.connect() as conn, pytest.raises(Invalid, match="commits by itself"):
        enqueue_on(conn, [letter()])
    engine.dispose()
    raw: Any
    if place.engine == "sqlite":
        raw = sqlite3.connect(place.name, isolation_level=None)
    else:
        raw = psycopg.connect(place.url, autocommit=True)
    with closing(raw):
        with pytest.raises(Invalid, match="commits by itself"):
            enqueue_on(raw, [letter()])
        raw.execute("begin")
        assert len(enqueue_on(raw, [letter()])) == 1
        raw.execute("rollback")
    assert live(place) == {}


class CommitsByItself(sqlite3.Connection):
    """As Python has it from 3.12 on, where it is asked for."""

    autocommit = True


@pytest.mark.req("S-10")
def test_a_connection_that_python_lets_commit_by_itself_is_refused() -> None:
    with closing(sqlite3.connect(":memory:", factory=CommitsByItself)) as raw:
        raw.isolation_level = ""
        with pytest.raises(Invalid, match="commits by itself"):
            enqueue_on(raw, [letter()])


def test_what_is_no_connection_is_refused() -> None:
    with pytest.raises(Invalid, match="str is not supported"):
        enqueue_on("postgresql://somewhere", [letter()])


@pytest.mark.req("U-03")
def test_an_async_session_is_told_how_to_do_it() -> None:
    from sqlalchemy.ext.asyncio import AsyncSession

    with pytest.raises(Invalid, match=r"await session.run_sync\(lambda s: app.enqueue\(s"):
        enqueue_on(AsyncSession(), [])


@pytest.fixture(params=["driver", "connection", "session"])
def elsewhere(request: pytest.FixtureRequest, engine: str, databases: Databases) -> Iterator[Any]:
    """A connection to a database that Watchkeeper has no tables in."""
    name = ":memory:" if engine == "sqlite" else databases.server.admin_url()
    if request.param == "driver":
        raw = sqlite3.connect(name) if engine == "sqlite" else psycopg.connect(name)
        with closing(raw):
            yield raw
        return
    sqlite, server = "sqlite://", name.replace("postgresql://", "postgresql+psycopg://")
    made = create_engine(sqlite if engine == "sqlite" else server)
    with made.connect() if request.param == "connection" else Session(made) as opened:
        yield opened
    made.dispose()


def test_a_connection_to_another_database_is_named_as_that(elsewhere: Any) -> None:
    with pytest.raises(Invalid, match="a database without Watchkeeper's tables"):
        enqueue_on(elsewhere, [letter()])
