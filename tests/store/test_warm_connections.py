"""PostgreSQL: what a connection has prepared stays, and who commits does not wake itself."""

from collections.abc import Iterator

import pytest

from tests.databases import Place
from watchkeeper.core.ids import SYSTEM
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.notices import Line
from watchkeeper.store.statement import same

pytestmark = [pytest.mark.postgresql, pytest.mark.parametrize("engine", ["postgresql"])]

ASKED = same("select count(*) from tenants where tenant_id = %s")
PREPARED = same("select statement from pg_prepared_statements")
WAIT = 60.0


@pytest.fixture
def narrow(place: Place) -> Iterator[Database]:
    """With one connection, which everybody gets."""
    db = open_database(place.url, pool_size=1)
    yield db
    db.close()


@pytest.mark.req("O-06")
@pytest.mark.parametrize("kind", ["read", "read_system"])
def test_a_read_forgets_nothing_that_was_prepared(narrow: Database, kind: str) -> None:
    for _ in range(4):
        with narrow.begin(SYSTEM) as tx:
            tx.rows(ASKED, ("acme",))
    for _ in range(2):
        with narrow.read(SYSTEM) if kind == "read" else narrow.read_system() as session:
            found = [row[0] for row in session.rows(PREPARED)]
    assert any("count(*) from tenants" in text for text in found)


@pytest.mark.req("O-06")
def test_whoever_was_lent_a_connection_last_lends_it_next(place: Place) -> None:
    db = open_database(place.url, pool_size=3)
    asked = same("select pg_backend_pid()")
    with db.begin(SYSTEM) as one, db.begin(SYSTEM) as two:
        assert one.rows(asked) != two.rows(asked)
    used = set()
    for _ in range(4):
        with db.begin(SYSTEM) as tx:
            used.add(tx.rows(asked)[0][0])
    db.close()
    assert len(used) == 1


@pytest.mark.req("S-13")
def test_a_line_hears_others_and_not_its_own(place: Place) -> None:
    db = open_database(place.url)
    with Line(db) as line, Line(db) as own, Line(db) as other:
        line.listen()
        own.notify()
        assert not line.heard(WAIT, {own.name})
        own.notify()
        other.notify()
        assert line.heard(WAIT, {own.name}) or line.heard(WAIT, {own.name})
    db.close()
