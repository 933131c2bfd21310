"""Enqueueing: in the transaction of what causes it, once per dedupe key, in order per key."""

import threading

import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import claim, ids, letter, live, one, put
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.errors import Invalid
from watchkeeper.ids import new_id
from watchkeeper.store import outbox
from watchkeeper.store.database import Database
from watchkeeper.store.outbox import NewMessage, enqueue, enqueue_plain
from watchkeeper.store.outbox_settle import ack
from watchkeeper.store.statement import Statement


@pytest.mark.req("S-10")
def test_a_message_is_committed_with_its_transaction(db: Database, place: Place) -> None:
    with db.begin(TenantId("acme")) as tx:
        [id] = enqueue(tx, [NewMessage("letters", '{"a": 1}')])
        assert live(place) == {} or place.engine == "sqlite"
    stored = one(place, id)
    assert (stored.status, stored.tenant_id, stored.next_attempt_at) == (
        "pending",
        "acme",
        START_AT,
    )


@pytest.mark.req("S-10")
def test_a_message_is_rolled_back_with_its_transaction(db: Database, place: Place) -> None:
    def deed() -> None:
        with db.begin(TenantId("acme")) as tx:
            enqueue(tx, [NewMessage("letters", "{}", dedupe_key="k")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        deed()
    assert live(place) == {}
    assert place.execute("select count(*) from dedupe_keys") == [(0,)]


@pytest.mark.req("S-10")
@pytest.mark.parametrize("count", [1, 3, 700])
def test_many_are_written_in_order(db: Database, place: Place, count: int) -> None:
    wanted = put(db, *[letter(namespace="mine") for _ in range(count)])
    found = place.execute("select id, namespace from outbox order by seq")
    assert [(str(id), namespace) for id, namespace in found] == [(id, "mine") for id in wanted]


def test_a_payload_is_kept_byte_for_byte(db: Database, place: Place) -> None:
    payload = '{"b":\n 1.10, "a": "\\u001e \\u0000 ü",\t"z":[ ]}'
    put(db, letter()._replace(payload=payload), letter()._replace(payload="[\n]"))
    found = [message.payload for message in claim(db)]
    assert found == [payload, "[\n]"]


@pytest.mark.parametrize(
    "wrong",
    [
        letter()._replace(payload="not json"),
        letter()._replace(payload='{"a":1}\x1e{"b":2}'),
        letter(dedupe_key=""),
        letter(ordering_key="x" * 501),
        letter(dedupe_key="a\x00b"),
        letter(topic="two\nlines"),
        letter(id="7"),
        letter(id="d8e6a8f0-0000-4000-8000-000000000000"),
        letter()._replace(tenant_id=None),
    ],
)
def test_what_cannot_be_stored_is_refused_alike(
    db: Database, place: Place, wrong: NewMessage
) -> None:
    with pytest.raises(Invalid):
        put(db, letter(), wrong)
    assert live(place) == {}


def test_a_tenant_writes_for_itself_only(db: Database) -> None:
    with pytest.raises(Invalid, match="acme only"), db.begin(TenantId("acme")) as tx:
        enqueue(tx, [letter("other")])


@pytest.mark.req("S-11")
def test_a_repeated_key_answers_with_the_message_that_is_there(db: Database, place: Place) -> None:
    first = put(db, letter(dedupe_key="k"), letter(dedupe_key="k"), letter(dedupe_key="other"))
    again = put(db, letter(dedupe_key="other"), letter(), letter(dedupe_key="k"))
    assert first[0] == first[1] != first[2]
    assert [again[0], again[2]] == [first[2], first[0]]
    assert len(live(place)) == 3


@pytest.mark.req("S-11")
def test_a_key_belongs_to_tenant_namespace_and_topic(db: Database, place: Place) -> None:
    put(
        db,
        letter("acme", dedupe_key="k"),
        letter("other", dedupe_key="k"),
        letter("acme", dedupe_key="k", namespace="mine"),
        letter("acme", "cards", dedupe_key="k"),
    )
    assert len(live(place)) == 4


@pytest.mark.req("S-11")
def test_a_repeat_after_delivery_is_a_repeat(db: Database, place: Place) -> None:
    [id] = put(db, letter(dedupe_key="k"))
    claimed = claim(db)
    with db.begin_system() as tx:
        ack(tx, claimed)
    assert put(db, letter(dedupe_key="k")) == [id]
    assert live(place) == {}


@pytest.mark.req("S-11")
def test_of_many_at_once_one_takes_the_key(db: Database, place: Place) -> None:
    found: list[str] = []

    def insert() -> None:
        found.extend(put(db, *[letter(dedupe_key=f"k{n}") for n in range(20)]))

    threads = [threading.Thread(target=insert) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(live(place)) == 20
    assert len(set(found)) == 20
    assert len(found) == 120


def test_what_is_due_later_is_not_due_yet(db: Database, clock: Clock) -> None:
    later, now = put(db, letter(due_at=Instant(START_AT + 5 * SECOND)), letter())
    assert ids(claim(db)) == [now]
    clock.advance(4.999)
    assert claim(db) == []
    clock.advance(0.001)
    assert ids(claim(db)) == [later]


def test_a_plain_batch_says_that_there_is_news(db: Database, place: Place) -> None:
    seen = db.news_count
    with db.begin(TenantId("acme")) as tx:
        enqueue_plain(tx, [NewMessage("letters", "{}", id=new_id())])
        assert db.news_count == seen
    assert db.news_count == seen + 1
    with db.begin(TenantId("acme")) as tx:
        at = Instant(tx.now + 60 * SECOND)
        enqueue_plain(tx, [NewMessage("letters", "{}", due_at=at, id=new_id())])
    assert db.news_count == seen + 1
    assert len(live(place)) == 2


@pytest.mark.req("S-17")
@pytest.mark.postgresql
def test_places_of_one_ordering_key_are_in_the_order_of_commits(both) -> None:
    db, clock = both["postgresql"]
    second_may_start, second_done = threading.Event(), threading.Event()

    def second() -> None:
        second_may_start.wait(60)
        put(db, letter(ordering_key="k", dedupe_key="second"))
        second_done.set()

    thread = threading.Thread(target=second)
    thread.start()
    with db.begin_system() as tx:
        enqueue(tx, [letter(ordering_key="k", dedupe_key="first")])
        second_may_start.set()
        assert not second_done.wait(0.3), "the second did not wait for the first to commit"
    thread.join(60)
    found = clock.place.execute("select dedupe_key from outbox order by seq")
    assert found == [("first",), ("second",)]


@pytest.mark.postgresql
def test_the_number_of_statements_does_not_depend_on_the_number_of_messages(
    both, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, _ = both["postgresql"]
    sent: list[Statement] = []
    text = outbox.Session._text
    monkeypatch.setattr(outbox.Session, "_text", lambda s, what: sent.append(what) or text(s, what))
    counts = []
    for count in (1, outbox.CHUNK):
        sent.clear()
        put(db, *[letter(dedupe_key=new_id(), ordering_key=new_id()) for _ in range(count)])
        counts.append(len(sent))
    assert counts[0] == counts[1] <= 3
