"""The inbox: an event is applied once, with the consumer's transaction and not without it."""

import asyncio
import random
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.event import listen

from tests.consumers import (
    INBOX,
    KEY,
    KINDS,
    Consumer,
    Theirs,
    apply,
    kept,
    made,
    receive,
    wait_until_blocked,
)
from tests.databases import Place
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.inbox import KEY_BYTES_MAX, Inbox

pytestmark = pytest.mark.req("S-18")

THREADS, EVENTS = 16, 50


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


# -- once ----------------------------------------------------------------------------------


def test_an_event_is_new_once(consumer: Consumer, theirs: Theirs) -> None:
    answers = []
    for _ in range(3):
        answers.append(receive(theirs))
        theirs.commit()
    assert answers == [True, False, False]
    assert consumer.applied() == [KEY]


def test_it_is_not_new_twice_in_one_transaction(consumer: Consumer, theirs: Theirs) -> None:
    assert receive(theirs)
    assert not receive(theirs)
    theirs.commit()
    assert consumer.applied() == [KEY]


def test_after_a_rollback_it_is_new_again(consumer: Consumer, theirs: Theirs) -> None:
    assert receive(theirs)
    theirs.rollback()
    assert consumer.applied() == []
    assert receive(theirs)
    theirs.commit()
    assert consumer.applied() == [KEY]


@pytest.mark.parametrize("once", [False, True], ids=["first", "apply_once"])
def test_nothing_is_committed_here(consumer: Consumer, theirs: Theirs, once: bool) -> None:
    """What a crash leaves behind is what was there before."""
    if once:
        assert INBOX.apply_once(theirs.connection, KEY, lambda: apply(theirs, KEY))
    else:
        assert receive(theirs)
    assert kept(consumer.place) == []
    theirs.rollback()
    assert kept(consumer.place) == consumer.applied() == []


def test_a_key_is_one_events_within_its_scope(consumer: Consumer, theirs: Theirs) -> None:
    assert receive(theirs, "invoice-7", scope="acme")
    assert receive(theirs, "invoice-7", scope="other")
    assert receive(theirs, "invoice-7")
    assert not receive(theirs, "invoice-7", scope="acme")
    theirs.commit()
    assert consumer.applied() == ["invoice-7"] * 3


def test_inboxes_do_not_know_each_other(theirs: Theirs) -> None:
    other = Inbox("order")  # a word of SQL's own
    other.create(theirs.connection)
    assert INBOX.first(theirs.connection, KEY)
    assert other.first(theirs.connection, KEY)
    theirs.commit()


# -- at once --------------------------------------------------------------------------------


def test_many_deliver_the_same_events_at_once(consumer: Consumer) -> None:
    keys = [f"acme/turn-{number}/r" for number in range(EVENTS)]
    start = threading.Barrier(THREADS)

    def deliver(seed: int) -> int:
        mine = random.Random(seed).sample(keys, len(keys))
        with consumer.open() as theirs:
            start.wait(60)
            taken = 0
            for key in mine:
                taken += receive(theirs, key)
                theirs.commit()
            return taken

    with ThreadPoolExecutor(THREADS) as pool:
        taken = sum(pool.map(deliver, range(THREADS)))
    assert taken == EVENTS
    assert consumer.applied() == sorted(keys)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_who_comes_second_waits_for_the_end_of_the_first(plain: Consumer, ending: str) -> None:
    def second() -> bool:
        with plain.open() as theirs:
            answer = receive(theirs)
            theirs.commit()
            return answer

    with plain.open() as theirs, ThreadPoolExecutor(1) as pool:
        assert receive(theirs)
        answer = pool.submit(second)
        wait_until_blocked(plain.place)
        assert not answer.done(), "it answered while the key was in doubt"
        getattr(theirs, ending)()
        assert answer.result(60) is (ending == "rollback")
    assert plain.applied() == [KEY]


@pytest.mark.postgresql
def test_a_transaction_with_an_old_snapshot_fails_rather_than_guess(databases) -> None:
    with databases.fresh("postgresql") as place:
        plain = made(place, "driver")
        with plain.open() as one, plain.open() as other:
            other.run("set transaction isolation level repeatable read")
            other.run("select count(*) from applied")
            assert receive(one)
            one.commit()
            with pytest.raises(psycopg.errors.SerializationFailure):
                receive(other)
            other.rollback()
            assert not receive(other)


# -- all or nothing -----------------------------------------------------------------------------


class Broken(Exception):
    """Applying went wrong halfway."""


def test_apply_once_says_whether_it_applied(consumer: Consumer, theirs: Theirs) -> None:
    answers = []
    for _ in range(2):
        answers.append(INBOX.apply_once(theirs.connection, KEY, lambda: apply(theirs, KEY)))
        theirs.commit()
    assert answers == [True, False]
    assert consumer.applied() == [KEY]


@pytest.mark.parametrize("before", [False, True], ids=["first in it", "after other work"])
def test_what_failed_is_undone_even_if_the_rest_is_committed(
    consumer: Consumer, theirs: Theirs, before: bool
) -> None:
    def break_halfway() -> None:
        apply(theirs, KEY)
        raise Broken

    if before:
        apply(theirs, "before")
    with pytest.raises(Broken):
        INBOX.apply_once(theirs.connection, KEY, break_halfway)
    apply(theirs, "after")
    theirs.commit()
    assert consumer.applied() == ["after", *(["before"] if before else [])]
    assert INBOX.apply_once(theirs.connection, KEY, lambda: apply(theirs, KEY))
    theirs.commit()
    assert KEY in consumer.applied()


def test_a_mistake_in_sql_does_not_spoil_the_transaction(
    consumer: Consumer, theirs: Theirs
) -> None:
    apply(theirs, "before")
    with pytest.raises(Exception, match="nowhere"):
        INBOX.apply_once(theirs.connection, KEY, lambda: theirs.run("select 1 from nowhere"))
    theirs.commit()
    assert consumer.applied() == ["before"]
    assert receive(theirs)


def test_events_within_an_event(consumer: Consumer, theirs: Theirs) -> None:
    def outer() -> None:
        apply(theirs, "outer")
        INBOX.apply_once(theirs.connection, "inner", lambda: apply(theirs, "inner"))

    assert INBOX.apply_once(theirs.connection, "outer", outer)
    theirs.commit()
    assert consumer.applied() == ["inner", "outer"]


def test_who_commits_while_applying_is_told(plain: Consumer) -> None:
    with plain.open() as theirs, pytest.raises(Exception, match="savepoint"):
        INBOX.apply_once(theirs.connection, KEY, theirs.commit)


def test_the_first_error_is_the_one_that_is_told(plain: Consumer) -> None:
    def give_up() -> None:
        theirs.rollback()
        raise Broken

    with plain.open() as theirs, pytest.raises(Broken):
        INBOX.apply_once(theirs.connection, KEY, give_up)
    assert kept(plain.place) == []


# -- the same key, another event --------------------------------------------------------------


def test_a_key_that_comes_with_other_content_is_refused(consumer: Consumer, theirs: Theirs) -> None:
    assert receive(theirs, fingerprint="one")
    theirs.commit()
    assert not receive(theirs, fingerprint="one")
    with pytest.raises(Conflict, match=KEY) as refused:
        receive(theirs, fingerprint="two")
    assert refused.value.detail == {"key": KEY}
    with pytest.raises(Conflict):
        INBOX.apply_once(theirs.connection, KEY, lambda: apply(theirs, "never"), fingerprint="two")
    theirs.commit()
    assert consumer.applied() == [KEY]


def test_without_a_fingerprint_on_both_sides_nothing_is_compared(theirs: Theirs) -> None:
    assert receive(theirs, "a", fingerprint="one")
    assert not receive(theirs, "a")
    assert receive(theirs, "b")
    assert not receive(theirs, "b", fingerprint="one")


# -- what is refused --------------------------------------------------------------------------


def test_a_connection_that_commits_by_itself_is_refused(plain: Consumer) -> None:
    engine = plain.engine(isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        INBOX.create(conn)
        refused(conn)
    alone: dict[str, Any] = {"autocommit": True}
    if plain.place.engine == "sqlite":
        alone = {"isolation_level": None}
    with plain.open(**alone) as theirs:
        INBOX.create(theirs.connection)
        refused(theirs.connection)
        theirs.run("begin")
        assert receive(theirs)
        theirs.run("rollback")
    assert plain.applied() == []


def test_a_transaction_that_sqlalchemy_was_taught_to_begin_is_one(databases) -> None:
    """For SQLite many tell the driver to stay out of it, and send BEGIN themselves."""
    with databases.fresh("sqlite") as place:
        engine = made(place, "connection").engine()
        listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        listen(engine, "begin", lambda conn: conn.exec_driver_sql("begin"))
        with engine.connect() as conn:
            assert INBOX.first(conn, KEY)
            conn.rollback()
            assert INBOX.apply_once(conn, KEY, lambda: None)
            conn.rollback()
        assert kept(place) == []


def refused(connection: Any) -> None:
    with pytest.raises(Invalid, match="commits each statement by itself"):
        INBOX.first(connection, KEY)
    with pytest.raises(Invalid, match="commits each statement by itself"):
        INBOX.apply_once(connection, KEY, lambda: pytest.fail("applied"))


class Later(sqlite3.Connection):
    """As Python 3.12 and later have them, where the isolation level may no longer count."""

    autocommit: Any = True


def test_the_autocommit_of_later_pythons_counts() -> None:
    with closing(sqlite3.connect(":memory:", factory=Later)) as conn:
        INBOX.create(conn)
        refused(conn)
        conn.execute("begin")
        assert INBOX.first(conn, KEY)


def test_a_later_python_that_always_has_a_transaction_open_is_fine() -> None:
    class Always(Later):
        autocommit = False

    with closing(sqlite3.connect(":memory:", factory=Always, isolation_level=None)) as conn:
        INBOX.create(conn)
        assert INBOX.first(conn, KEY)


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ({"key": ""}, "key"),
        ({"key": b"bytes"}, "key"),
        ({"key": None}, "key"),
        ({"key": 7}, "key"),
        ({"key": "a\x00b"}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"key": "k" * (KEY_BYTES_MAX + 1)}, "key"),
        ({"key": "ä" * (KEY_BYTES_MAX // 2 + 1)}, "key"),
        ({"key": "k" * KEY_BYTES_MAX, "scope": "s"}, "key"),
        ({"key": "k", "scope": None}, "scope"),
        ({"key": "k", "scope": "a\x00b"}, "scope"),
        ({"key": "k", "fingerprint": ""}, "fingerprint"),
        ({"key": "k", "fingerprint": 0}, "fingerprint"),
        ({"key": "k", "fingerprint": b"digest"}, "fingerprint"),
        ({"key": "k", "fingerprint": "f" * 129}, "fingerprint"),
    ],
    ids=repr,
)
def test_a_bad_name_is_refused_before_anything_is_asked(named: dict[str, Any], place: str) -> None:
    for deed in (INBOX.first, lambda *given, **more: INBOX.apply_once(*given, print, **more)):
        with pytest.raises(Invalid) as error:
            deed("no connection", named["key"], **{k: v for k, v in named.items() if k != "key"})
        assert [problem.place for problem in error.value.problems] == [place]


def test_the_longest_key_is_kept(theirs: Theirs) -> None:
    """Text of four bytes each that cannot be compressed: the most that an index has to hold."""
    dice = random.Random(7)
    longest = "".join(chr(dice.randrange(0x20000, 0x2A6D0)) for _ in range(KEY_BYTES_MAX // 4))
    assert receive(theirs, longest, fingerprint="f" * 128)
    assert not receive(theirs, longest)


@pytest.mark.parametrize("table", ["", "Inbox", "a-b", 'a"b', "7th", "a.b", "x" * 51, "a\n", None])
def test_a_bad_table_is_refused(table: Any) -> None:
    with pytest.raises(Invalid, match="table"):
        Inbox(table)


def test_what_is_no_connection_is_refused() -> None:
    with pytest.raises(Invalid, match="str is not supported"):
        INBOX.first("postgresql://somewhere", KEY)
    with pytest.raises(Invalid, match="Engine is not supported"):
        INBOX.first(create_engine("sqlite://"), KEY)


def test_a_driver_that_we_cannot_judge_is_refused() -> None:
    engine = create_engine("sqlite://")
    engine.dialect.driver = "somebody_elses"
    with engine.connect() as conn, pytest.raises(Invalid, match=r"sqlite\+somebody_elses is not"):
        INBOX.first(conn, KEY)


@pytest.mark.postgresql
def test_an_async_connection_is_refused(databases) -> None:
    async def main(url: str) -> None:
        async with await psycopg.AsyncConnection.connect(url) as conn:
            with pytest.raises(Invalid, match="AsyncConnection is not supported"):
                INBOX.first(conn, KEY)

    with databases.fresh("postgresql") as place:
        asyncio.run(main(place.owner_url))
