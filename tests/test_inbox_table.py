"""The inbox's table: made once by however many, swept in small batches, and needing nobody."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.consumers import (
    INBOX,
    KEY,
    KINDS,
    Consumer,
    Theirs,
    kept,
    made,
    receive,
    wait_until_blocked,
)
from tests.databases import EngineName, Place
from watchkeeper.errors import Invalid
from watchkeeper.inbox import FORGET_MAX

pytestmark = pytest.mark.req("S-18")

DAY_US = 86_400 * 1_000_000


@pytest.fixture(params=KINDS)
def consumer(request: pytest.FixtureRequest, place: Place) -> Consumer:
    return made(place, request.param)


@pytest.fixture
def theirs(consumer: Consumer) -> Iterator[Theirs]:
    with consumer.open() as opened:
        yield opened


@pytest.fixture
def plain(place: Place) -> Consumer:
    """The one kind of connection that will do where the kind makes no difference."""
    return made(place, "driver")


# -- the table ----------------------------------------------------------------------------------


def test_the_table_is_made_once(consumer: Consumer, theirs: Theirs) -> None:
    assert receive(theirs)
    INBOX.create(theirs.connection)
    theirs.commit()
    assert not receive(theirs)


@pytest.mark.postgresql
def test_two_may_make_the_table_at_once(databases) -> None:
    def second(consumer: Consumer) -> None:
        with consumer.open() as theirs:
            INBOX.create(theirs.connection)
            theirs.commit()

    with databases.fresh("postgresql") as place:
        consumer = Consumer(place, "driver")
        with consumer.open() as theirs, ThreadPoolExecutor(1) as pool:
            INBOX.create(theirs.connection)
            made = pool.submit(second, consumer)
            wait_until_blocked(place)
            theirs.commit()
            made.result(60)


@pytest.mark.postgresql
def test_who_may_not_make_tables_may_ask_for_one_that_is_there(databases) -> None:
    with databases.fresh("postgresql") as place:
        made(place, "driver")
        place.execute("grant select, insert on usage_inbox to public")
        with psycopg.connect(place.url) as conn:  # neither owner nor superuser
            INBOX.create(conn)
            assert INBOX.first(conn, KEY)


# -- forgetting ---------------------------------------------------------------------------------


def age(place: Place, days: int, where: str) -> None:
    place.execute(f"update usage_inbox set taken_at = taken_at - {days * DAY_US} where {where}")


def test_old_keys_are_forgotten_in_small_batches(consumer: Consumer, theirs: Theirs) -> None:
    for key in ("a", "b", "c", "d"):
        receive(theirs, key)
    theirs.commit()
    age(consumer.place, 31, "key in ('a', 'c')")
    age(consumer.place, 40, "key = 'b'")
    age(consumer.place, 29, "key = 'd'")
    counts = []
    for _ in range(3):
        counts.append(INBOX.forget(theirs.connection, older_than=timedelta(days=30), limit=2))
        theirs.commit()
        if len(counts) == 1:
            assert "b" not in kept(consumer.place), "the oldest goes first"
    assert counts == [2, 1, 0]
    assert kept(consumer.place) == ["d"]


def test_the_time_is_that_of_the_database(plain: Consumer, engine: EngineName) -> None:
    with plain.open() as theirs:
        receive(theirs)
        theirs.commit()
    now = {
        "postgresql": "select extract(epoch from now())",
        "sqlite": "select strftime('%s', 'now')",
    }[engine]
    [(taken_at,)] = plain.place.execute("select taken_at from usage_inbox")
    [(epoch,)] = plain.place.execute(now)
    assert abs(float(epoch) - taken_at / 1_000_000) < 60


def test_forgetting_is_rolled_back_too(consumer: Consumer, theirs: Theirs) -> None:
    receive(theirs)
    theirs.commit()
    age(consumer.place, 40, "true")
    assert INBOX.forget(theirs.connection, older_than=timedelta(days=30)) == 1
    theirs.rollback()
    assert kept(consumer.place) == [KEY]


@pytest.mark.postgresql
def test_two_sweeps_share_the_work(databases) -> None:
    with databases.fresh("postgresql") as place:
        plain = made(place, "driver")
        with plain.open() as one, plain.open() as other:
            for key in ("a", "b"):
                receive(one, key)
            one.commit()
            age(place, 40, "true")
            other.run("set lock_timeout = '5s'")
            swept = [INBOX.forget(x.connection, older_than=timedelta(days=30), limit=1)
                     for x in (one, other)]  # fmt: skip
            assert swept == [1, 1]
            one.commit()
            other.commit()
        assert kept(place) == []


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"older_than": timedelta(hours=23)}, "older_than"),
        ({"older_than": timedelta(days=-30)}, "older_than"),
        ({"older_than": 30}, "older_than"),
        ({"older_than": timedelta(days=30), "limit": 0}, "limit"),
        ({"older_than": timedelta(days=30), "limit": -1}, "limit"),
        ({"older_than": timedelta(days=30), "limit": FORGET_MAX + 1}, "limit"),
    ],
    ids=repr,
)
def test_a_sweep_has_bounds(given: dict[str, Any], place: str) -> None:
    with pytest.raises(Invalid) as error:
        INBOX.forget("no connection", **given)
    assert [problem.place for problem in error.value.problems] == [place]


# -- standing alone -----------------------------------------------------------------------------


def test_it_needs_no_library_that_its_user_does_not_use() -> None:
    """A consumer with a bare sqlite3 connection loads neither SQLAlchemy nor a driver."""
    program = """
import sqlite3, sys
from watchkeeper.inbox import Inbox
db, inbox = sqlite3.connect(":memory:"), Inbox()
inbox.create(db)
assert inbox.first(db, "k") and not inbox.first(db, "k")
ours = {name for name in sys.modules if name.startswith("watchkeeper")}
assert ours == {"watchkeeper", "watchkeeper.errors", "watchkeeper.inbox"}, ours
assert not {"sqlalchemy", "psycopg", "pydantic", "alembic"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
