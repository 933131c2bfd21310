"""Usage events: what an operator may do with one, and what its turn tells of it ever after."""

import threading

import pytest

from tests.databases import START_AT, Clock, Place
from tests.usage import ACME, Billing, event_of
from tests.verify_clean import assert_verified, broken
from watchkeeper.actions.keep_desk import (
    discard_message,
    redrive_message,
    redrive_messages,
    show_message,
)
from watchkeeper.actions.show_turn import show_turn
from watchkeeper.actions.tidy_outbox import sweep_delivered
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import DAY, Instant, to_datetime
from watchkeeper.core.turns import NAMESPACE, USAGE_SNAPSHOT, Turn
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox, outbox_desk, outbox_upkeep
from watchkeeper.store.database import Database
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.outbox_desk import Filter, Status

WEEK = 7


@pytest.fixture
def billing(db: Database) -> Billing:
    return Billing(db)


def status(db: Database, turn: Turn) -> tuple[str | None, int | None]:
    """What the turn says of its event, and when, in microseconds after the start."""
    seen = show_turn(db, ACME, turn.turn_id)
    at = None if seen.event_at is None else seen.event_at - to_datetime(START_AT)
    return seen.event_status, None if at is None else round(at.total_seconds())


def again(turn: Turn, id: str) -> NewMessage:
    """The same usage event once more."""
    return NewMessage(
        USAGE_SNAPSHOT,
        "{}",
        NAMESPACE,
        dedupe_key=f"acme/{turn.turn_id}/{turn.request_id}",
        id=outbox.MessageId(id),
    )


@pytest.mark.req("S-19", "O-06")
def test_a_turn_tells_of_its_event_from_pending_to_after_retention(
    db: Database, place: Place, clock: Clock, billing: Billing
) -> None:
    turn = billing.reserve("a")
    assert status(db, turn) == (None, None)
    turn = billing.finalize(turn)
    assert status(db, turn) == ("pending", None)
    clock.advance(60)
    assert billing.deliver() == [turn.event_id]
    assert status(db, turn) == ("delivered", 60)
    assert_verified(db)
    clock.advance(days=WEEK, seconds=1)
    other = billing.settle("other")
    assert sweep_delivered(db, WEEK) == 1
    assert place.execute("select count(*) from outbox_delivered") == [(0,)]
    keys = place.execute("select dedupe_key from dedupe_keys")
    assert keys == [("acme/t-other/r-other",)]
    assert status(db, turn) == ("delivered", 60)
    assert status(db, other)[0] == "pending"
    assert_verified(db)


@pytest.mark.req("S-19")
def test_after_retention_its_usage_event_cannot_be_told_again(
    db: Database, clock: Clock, billing: Billing
) -> None:
    """The dedupe key is gone with the message; the turn is what refuses the repeat."""
    turn = billing.settle("a")
    billing.deliver()
    clock.advance(days=WEEK + 1)
    sweep_delivered(db, WEEK)
    for id in (new_id(), event_of(turn)):
        with pytest.raises(Exception, match="usage event"), db.begin(ACME) as tx:
            outbox.enqueue(tx, [again(turn, id)])
    assert not billing.turns.finalize(ACME, turn.turn_id, turn.state, started=True, usage=None).won
    assert billing.deliver() == [turn.event_id]
    assert_verified(db)


@pytest.mark.req("S-19", "S-15")
def test_an_event_that_was_sent_again_by_force_is_swept_by_its_last_delivery(
    db: Database, clock: Clock, billing: Billing
) -> None:
    turn = billing.settle("a")
    billing.deliver()
    clock.advance(days=WEEK - 1)
    shown = redrive_message(db, billing.registry, ACME, event_of(turn), force=True)
    assert (shown.id, shown.dedupe_key) == (turn.event_id, "acme/t-a/r-a")
    assert status(db, turn) == ("pending", None)
    assert_verified(db)
    clock.advance(days=2)
    assert sweep_delivered(db, WEEK) == 0
    assert billing.deliver() == [turn.event_id] * 2
    assert sweep_delivered(db, WEEK) == 0
    clock.advance(days=WEEK, seconds=1)
    assert sweep_delivered(db, WEEK) == 1
    assert status(db, turn) == ("delivered", (WEEK + 1) * 86_400)
    assert_verified(db)


@pytest.mark.req("S-15", "S-19", "O-06")
def test_a_dead_event_is_redriven_under_the_same_id_and_key(
    db: Database, clock: Clock, billing: Billing
) -> None:
    billing.is_kind = False
    turns = [billing.settle(name) for name in "abc"]
    billing.deliver()
    assert [status(db, turn)[0] for turn in turns] == ["dead"] * 3
    with db.read(ACME) as tx:
        dead = outbox_desk.page(tx, Filter(Status.DEAD, NAMESPACE, USAGE_SNAPSHOT))
    assert {message.id for message in dead} == {turn.event_id for turn in turns}
    before = show_message(db, ACME, event_of(turns[0]))
    assert before.last_error is not None
    assert_verified(db)
    billing.is_kind = True
    after = redrive_message(db, billing.registry, ACME, before.id)
    assert (after.id, after.dedupe_key, after.payload) == (
        before.id,
        before.dedupe_key,
        before.payload,
    )
    assert billing.deliver() == [before.id]
    wanted = Filter(namespace=NAMESPACE, topic=USAGE_SNAPSHOT)
    assert redrive_messages(db, billing.registry, ACME, wanted, per_second=1) == 2
    assert len(billing.deliver()) == 2
    clock.advance(1)
    assert sorted(billing.deliver()) == sorted(event_of(turn) for turn in turns)
    assert [status(db, turn)[0] for turn in turns] == ["delivered"] * 3
    assert_verified(db)


@pytest.mark.req("S-15", "S-19", "O-06")
@pytest.mark.parametrize("before", ["pending", "dead"])
def test_a_discarded_event_is_remembered_by_its_turn_and_in_the_ledger(
    db: Database, clock: Clock, billing: Billing, before: str
) -> None:
    billing.is_kind = False
    turn = billing.settle("a")
    if before == "dead":
        billing.deliver()
    assert status(db, turn)[0] == before
    clock.advance(60)
    discard_message(db, billing.registry, ACME, event_of(turn), by="ann")
    assert status(db, turn) == ("discarded", 60)
    with db.read(ACME) as tx:
        [entry] = ledger.newest(tx, {"kind": Kind.MESSAGE_DISCARDED}, limit=10)
    assert entry.entry.subject == turn.event_id
    for deed in (show_message, lambda *named: redrive_message(db, billing.registry, *named[1:])):
        with pytest.raises(NotFound):
            deed(db, ACME, event_of(turn))
    for id in (new_id(), event_of(turn)):
        with pytest.raises(Exception, match="usage event"), db.begin(ACME) as tx:
            outbox.enqueue(tx, [again(turn, id)])
    assert_verified(db)


@pytest.mark.req("T-30", "S-19")
def test_a_discard_that_only_its_turn_remembers_is_found(
    db: Database, place: Place, billing: Billing
) -> None:
    turn = billing.settle("a")
    place.execute("delete from outbox")
    place.execute("update turns set event_fate = 'discarded', event_fate_at = ended_at")
    [row] = broken(db)["one_entry_per_discard"]
    assert (row["message_id"], row["what"]) == (turn.event_id, "not recorded")


@pytest.mark.req("S-19")
def test_only_usage_events_mark_turns_and_only_their_own(
    db: Database, clock: Clock, billing: Billing
) -> None:
    """A message of another topic may carry what looks like a usage key."""
    turn, stranger = billing.settle("a"), TenantId("bolt")
    billing.settle("a", tenant_id=stranger)
    billing.registry.handle("other", lambda _message: None)
    with db.begin(ACME) as tx:
        outbox.enqueue(tx, [NewMessage("other", "{}", dedupe_key="acme/t-a/r-a")])
    billing.is_kind = False
    billing.deliver()
    clock.advance(days=WEEK + 1)
    assert sweep_delivered(db, WEEK) == 1
    assert status(db, turn)[0] == "dead"
    billing.is_kind = True
    redrive_message(db, billing.registry, stranger, event_of_only(db, stranger))
    billing.deliver()
    clock.advance(days=WEEK + 1)
    assert sweep_delivered(db, WEEK) == 1
    assert status(db, turn)[0] == "dead"
    assert show_turn(db, stranger, "t-a").event_status == "delivered"
    assert_verified(db)


def event_of_only(db: Database, tenant_id: TenantId) -> outbox.MessageId:
    with db.read(tenant_id) as tx:
        [message] = outbox_desk.page(tx, Filter(topic=USAGE_SNAPSHOT))
    return message.id


def fill_history(place: Place, count: int) -> None:
    """Messages that were delivered long ago."""
    numbers = f"with recursive s (n) as (select 1 union all select n + 1 from s where n < {count})"
    zeros = "'00000000-0000-7000-8000-' || substr('000000000000' || n, -12)"
    if place.engine == "postgresql":
        zeros = "cast('00000000-0000-7000-8000-' || lpad(n::text, 12, '0') as uuid)"
    place.execute(
        "insert into outbox_delivered (tenant_id, id, namespace, topic, payload, attempts,"
        f" generation, next_attempt_at, created_at, done_at) {numbers}"
        f" select 'acme', {zeros}, 'watchkeeper', 'other', '{{}}', 1, 0, 1, 1, 1 from s"
    )


@pytest.mark.req("O-06", "S-19")
def test_the_sweep_goes_in_small_batches_while_turns_go_on(
    db: Database, place: Place, clock: Clock, billing: Billing
) -> None:
    """Each statement removes few, each is a transaction, and a writer is never shut out."""
    old = [billing.settle(f"old-{number}") for number in range(5)]
    billing.deliver()
    clock.advance(days=WEEK + 1)
    fill_history(place, 2 * outbox_upkeep.SWEPT_MAX)
    before = Instant(clock.at - WEEK * DAY)
    counts = []
    for number in range(4):
        with db.begin_system() as tx:
            counts.append(outbox_upkeep.sweep(tx, ACME, before))
            if place.engine == "postgresql":  # nor while a batch is not committed yet
                billing.settle(f"during-{number}")
        billing.settle(f"between-{number}")
    assert counts == [outbox_upkeep.SWEPT_MAX, outbox_upkeep.SWEPT_MAX, len(old), 0]
    fates = place.execute("select turn_id from turns where event_fate = 'delivered' order by 1")
    assert fates == [(turn.turn_id,) for turn in old]
    assert_verified(db)


@pytest.mark.req("O-06", "S-19")
def test_a_sweep_and_a_writer_at_the_same_time(
    db: Database, clock: Clock, billing: Billing
) -> None:
    for number in range(30):
        billing.settle(f"old-{number}")
    billing.deliver()
    clock.advance(days=WEEK + 1)
    written: list[Turn] = []

    def write() -> None:
        written.extend(billing.settle(f"new-{number}") for number in range(30))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert sweep_delivered(db, WEEK) == 30
    finally:
        writer.join()
    assert len(written) == 30
    assert {status(db, turn)[0] for turn in written} == {"pending"}
    assert_verified(db)
