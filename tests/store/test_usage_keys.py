"""A usage event without the key of a turn of its tenant takes its whole transaction with it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from tests.books import Meter, balanced
from tests.databases import Databases, Place
from tests.power_cut import contents
from watchkeeper import App
from watchkeeper.core.ids import TenantId
from watchkeeper.core.turns import NAMESPACE, USAGE_SNAPSHOT
from watchkeeper.errors import Invalid
from watchkeeper.ids import new_id
from watchkeeper.store import outbox
from watchkeeper.store.database import Database
from watchkeeper.store.outbox import NewMessage

pytestmark = pytest.mark.req("S-08")

WRONG = {
    "no key": None,
    "another tenant's key": "bolt/t1/r1",
    "another tenant's key that names a turn here": "bolt/t-acme/r-acme",
    "a turn that there is not": "acme/t9/r9",
    "the turn of another request": "acme/t-acme/r9",
    "the request of another turn": "acme/t9/r-acme",
    "no slashes": "acme",
    "a slash too many": "acme/t-acme/r-acme/",
    "no tenant": "/t-acme/r-acme",
    "no turn": "acme//r-acme",
}


@pytest.fixture
def settled(db: Database, place: Place) -> Iterator[dict[str, list]]:
    """Two tenants with a turn each that runs; everything as it was before."""
    Meter(db, "acme").reserve("t-acme", "r-acme")
    Meter(db, "bolt").reserve("t1", "r1")
    place.execute("create table theirs (id integer)")
    if place.engine == "postgresql":
        place.execute("grant all on theirs to public")
    yield contents(place)
    assert place.execute("select count(*) from theirs") == [(0,)], "it was committed all the same"


def event(key: str | None, **more: Any) -> NewMessage:
    told: dict[str, Any] = {"namespace": NAMESPACE, "dedupe_key": key} | more
    return NewMessage(USAGE_SNAPSHOT, "{}", **told)


def other() -> NewMessage:
    return NewMessage("letters", "{}", dedupe_key="mine")


def test_in_a_transaction_of_a_tenant(db: Database, place: Place, settled: dict) -> None:
    for key in WRONG.values():
        for namespace in (NAMESPACE, "elsewhere"):
            with pytest.raises(Invalid, match="dedupe_key"), db.begin(TenantId("acme")) as tx:
                outbox.enqueue(tx, [other(), event(key, namespace=namespace)])
            assert contents(place) == settled, key


def test_in_a_transaction_of_a_worker(db: Database, place: Place, settled: dict) -> None:
    acme = TenantId("acme")
    for key in WRONG.values():
        with pytest.raises(Invalid, match="dedupe_key"), db.begin_system() as tx:
            outbox.enqueue(tx, [other()._replace(tenant_id=acme), event(key, tenant_id=acme)])
        assert contents(place) == settled, key


class Theirs:
    """A connection of a user's program."""

    def __init__(self, connection: Any, run: Callable[[str], Any]) -> None:
        self.connection = connection
        self.run = run


@pytest.fixture(params=["driver", "connection", "session"])
def theirs(request: pytest.FixtureRequest, place: Place) -> Iterator[Theirs]:
    if request.param == "driver":
        connect = sqlite3.connect if place.engine == "sqlite" else psycopg.connect
        with closing(connect(place.name if place.engine == "sqlite" else place.url)) as raw:
            yield Theirs(raw, raw.execute)
        return
    engine = create_engine(place.url.replace("postgresql://", "postgresql+psycopg://"))
    opened = engine.connect() if request.param == "connection" else Session(engine)
    with opened:
        yield Theirs(opened, lambda sql: opened.execute(text(sql)))
    engine.dispose()


def test_on_a_connection_of_theirs(place: Place, settled: dict, theirs: Theirs) -> None:
    """Also when they catch the error and commit: what went before it is gone."""
    app = App(place.url, migrate=False)
    for key in WRONG.values():
        theirs.run("insert into theirs values (1)")
        app.enqueue(theirs.connection, "letters", {}, tenant_id="acme")
        with pytest.raises(Invalid, match="dedupe_key"):
            app.enqueue(
                theirs.connection,
                USAGE_SNAPSHOT,
                {},
                tenant_id="acme",
                namespace=NAMESPACE,
                dedupe_key=key,
            )
        theirs.connection.commit()
        assert contents(place) == settled, key
    app.close()


def test_by_a_statement_of_ones_own(place: Place, settled: dict) -> None:
    for key in WRONG.values():
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RestrictViolation)):
            place.execute(raw_insert(key))
        assert contents(place) == settled, key


def raw_insert(key: str | None, tenant: str = "acme") -> str:
    literal = "null" if key is None else f"'{key}'"
    return (
        "insert into outbox (id, tenant_id, namespace, topic, dedupe_key, payload,"
        " next_attempt_at, is_due, created_at, updated_at) values"
        f" ('{new_id()}', '{tenant}', 'x', 'usage_snapshot', {literal}, '{{}}', 1, true, 1, 1)"
    )


def test_an_ended_turn_has_one_event_and_no_second(db: Database, place: Place) -> None:
    meter = Meter(db)
    meter.reserve("t1", "r1")
    event_id = meter.finalize("t1").turn.event_id
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RestrictViolation)):
        place.execute(raw_insert("acme/t1/r1"))
    with db.begin(TenantId("acme")) as tx:
        assert outbox.enqueue(tx, [event("acme/t1/r1")]) == [event_id], "S-11: it is there"
    assert balanced(place) == {"completed": 1}


def test_nobody_but_its_end_tells_of_a_turn(db: Database, place: Place) -> None:
    """An event before the end would be one without a debit, and stand in the way of the real."""
    meter = Meter(db)
    meter.reserve("t1", "r1")
    before = contents(place)
    for namespace in (NAMESPACE, "elsewhere"):
        with pytest.raises(Invalid), db.begin(TenantId("acme")) as tx:
            outbox.enqueue(tx, [event("acme/t1/r1", namespace=namespace)])
        assert contents(place) == before
    assert meter.finalize("t1").won
    assert balanced(place) == {"completed": 1}


@pytest.mark.postgresql
def test_not_even_by_a_statement_of_ones_own(databases: Databases) -> None:
    """On PostgreSQL it is judged at the commit; on SQLite a file's owner can do as he likes."""
    with databases.opened("postgresql") as (db, clock):
        Meter(db).reserve("t1", "r1")
        with pytest.raises(psycopg.errors.RestrictViolation, match="not settled"):
            clock.place.execute(raw_insert("acme/t1/r1"))
        assert balanced(clock.place) == {"running": 1}


def test_raw_statements_beside_a_wrong_event_are_gone(place: Place, settled: dict) -> None:
    """Also when their writer looks away and commits."""
    connect = sqlite3.connect if place.engine == "sqlite" else psycopg.connect
    with closing(connect(place.name if place.engine == "sqlite" else place.admin_url)) as raw:
        raw.execute("insert into theirs values (1)")
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RestrictViolation)):
            raw.execute(raw_insert(None))
        raw.commit()
    assert contents(place) == settled
