"""The dead-letter desk, and the plain interface for workers of one's own."""

from typing import Any

import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import TOPIC, claim, delivered, ids, letter, live, one, put, registry
from watchkeeper.actions import claim_messages
from watchkeeper.actions.dispatch import dispatch_once, drain
from watchkeeper.actions.keep_desk import (
    discard_message,
    redrive_message,
    redrive_messages,
    show_message,
)
from watchkeeper.core.delivery import OnDead, Order
from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import DAY, SECOND, Instant
from watchkeeper.errors import Conflict, LeaseLost, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.handlers.results import Reject
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox_desk
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_desk import Filter, Status

ACME = TenantId("acme")


class Handler:
    """Rejects until it is told to be kind."""

    def __init__(self) -> None:
        self.is_kind = False
        self.seen: list[str] = []

    def __call__(self, message: Any) -> None:
        self.seen.append(message.id)
        if not self.is_kind:
            raise Reject("not today")


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
def handlers(handler: Handler) -> Registry:
    made = registry()
    made.handle(TOPIC, handler)
    return made


def entries(db: Database, kind: Kind) -> list[str]:
    with db.read(ACME) as tx:
        found = ledger.newest(tx, {"kind": kind}, limit=100)
    return [one.entry.subject for one in reversed(found)]


@pytest.mark.req("S-15")
def test_a_dead_message_is_redriven_once_with_all_its_attempts(
    db: Database, place: Place, handlers: Registry, handler: Handler
) -> None:
    [id] = put(db, letter())
    drain(db, handlers)
    shown = redrive_message(db, handlers, ACME, id, by="ann")
    assert (shown.status, shown.attempts, shown.generation) == (Status.PENDING, 0, 1)
    with pytest.raises(Conflict, match="pending"):
        redrive_message(db, handlers, ACME, id)
    assert entries(db, Kind.MESSAGE_REDRIVEN) == [id]
    handler.is_kind = True
    drain(db, handlers)
    assert handler.seen == [id, id]
    assert delivered(place) == [id]


@pytest.mark.req("S-15")
def test_what_is_under_way_is_never_redriven_or_discarded(
    db: Database, place: Place, handlers: Registry
) -> None:
    [id] = put(db, letter())
    claim(db)
    before = one(place, id)
    for force in (False, True):
        with pytest.raises(Conflict, match="processing"):
            redrive_message(db, handlers, ACME, id, force=force)
    with pytest.raises(Conflict, match="processing"):
        discard_message(db, handlers, ACME, id)
    assert one(place, id) == before


@pytest.mark.req("S-15", "D-05")
def test_a_delivered_message_is_sent_again_by_force_only(
    db: Database, place: Place, handlers: Registry, handler: Handler
) -> None:
    handler.is_kind = True
    [id] = put(db, letter(dedupe_key="k"))
    drain(db, handlers)
    with pytest.raises(Conflict, match="delivered"):
        redrive_message(db, handlers, ACME, id)
    shown = redrive_message(db, handlers, ACME, id, force=True)
    assert (shown.status, shown.generation) == (Status.PENDING, 1)
    assert drain(db, handlers)["delivered"] == 1
    assert delivered(place) == [id]
    assert show_message(db, ACME, id).generation == 1
    assert put(db, letter(dedupe_key="k")) == [id]


@pytest.mark.req("S-15")
def test_redriving_by_filter_is_paced(
    db: Database, place: Place, clock: Clock, handlers: Registry, handler: Handler
) -> None:
    wanted = put(db, *[letter() for _ in range(5)])
    put(db, letter(topic="other"), letter("somebody else"))
    drain(db, handlers)
    assert redrive_messages(db, handlers, ACME, Filter(topic=TOPIC), per_second=2) == 5
    assert redrive_messages(db, handlers, ACME, Filter(topic=TOPIC)) == 0
    due = sorted(one(place, id).next_attempt_at for id in wanted)
    assert due == [START_AT + n * SECOND // 2 for n in range(5)]
    handler.is_kind = True
    counts = []
    for _ in range(3):
        counts.append(drain(db, handlers)["delivered"])
        clock.advance(1)
    assert counts == [1, 2, 2]
    assert sorted(entries(db, Kind.MESSAGE_REDRIVEN)) == sorted(wanted)
    assert sum(stored.status == "dead" for stored in live(place).values()) == 1


@pytest.mark.req("S-15")
@pytest.mark.parametrize("status", ["dead", "pending"])
def test_a_discarded_message_is_gone_on_record_and_who_waits_is_told(
    db: Database, place: Place, handlers: Registry, status: str
) -> None:
    lost: list[Any] = []
    handlers.when_lost(TOPIC, lambda _tx, those: lost.extend(those))
    [id] = put(db, letter(dedupe_key="k"))
    if status == "dead":
        drain(db, handlers)
        lost.clear()
    discard_message(db, handlers, ACME, id, by="ann")
    assert live(place) == {}
    assert entries(db, Kind.MESSAGE_DISCARDED) == [id]
    assert [(one.id, one.reason) for one in lost] == [(id, "DISCARDED")]
    with pytest.raises(NotFound):
        discard_message(db, handlers, ACME, id)
    assert put(db, letter(dedupe_key="k")) != [id]


def test_what_is_not_there_is_not_found(db: Database, handlers: Registry) -> None:
    [id] = put(db, letter("other"))
    for wrong in (id, MessageId(new_id()), MessageId("nonsense"), MessageId("' or 1=1")):
        with pytest.raises(NotFound):
            show_message(db, ACME, wrong)
        with pytest.raises(NotFound):
            redrive_message(db, handlers, ACME, wrong)


@pytest.mark.req("S-17")
@pytest.mark.parametrize(("on_dead", "order"), [("continue", "bca"), ("block", "abc")])
def test_a_redriven_head_keeps_its_place_only_where_it_blocks(
    db: Database, clock: Clock, on_dead: str, order: str
) -> None:
    handlers = registry(order=Order.PER_KEY, on_dead=OnDead(on_dead))
    kind = False
    seen: list[str] = []

    def call(message: Any) -> None:
        if not kind and message.dedupe_key == "a":
            raise Reject("no")
        seen.append(message.dedupe_key)

    handlers.handle(TOPIC, call)
    a, *_ = put(db, *[letter(ordering_key="k", dedupe_key=name) for name in "abc"])
    drain(db, handlers)
    kind = True
    redrive_message(db, handlers, ACME, a)
    drain(db, handlers)
    assert "".join(seen) == order


@pytest.mark.req("S-15")
def test_one_outbox_over_both_tables_page_by_page(
    db: Database, handlers: Registry, handler: Handler
) -> None:
    put(db, *[letter() for _ in range(3)])
    drain(db, handlers)
    handler.is_kind = True
    put(db, *[letter() for _ in range(4)])
    drain(db, handlers)
    put(db, letter(topic="other"), letter())
    claim(db, 1)
    put(db, letter("else"))
    with db.read(ACME) as tx:
        every = outbox_desk.page(tx, Filter())
        pages, before = [], None
        while found := outbox_desk.page(tx, Filter(), before=before, limit=2):
            pages += found
            before = found[-1].id
        counts = {status: len(outbox_desk.page(tx, Filter(status=status))) for status in Status}
        topics = outbox_desk.page(tx, Filter(topic="other", namespace="watchkeeper"))
    assert pages == every
    assert [m.id for m in every] == sorted((m.id for m in every), reverse=True)
    assert counts == {"pending": 1, "processing": 1, "delivered": 4, "dead": 3}
    assert [m.topic for m in topics] == ["other"]


# -- workers of one's own -----------------------------------------------------------------------


@pytest.mark.req("S-13")
def test_claim_ack_and_nack_by_token(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry()
    put(db, letter(), letter("other"), letter())
    (a, ta), (b, tb), (c, tc) = claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 5)
    claim_messages.ack(db, handlers, a.id, ta)
    claim_messages.nack(db, handlers, b.id, tb, "busy", after_seconds=60, draw=lambda: 0.0)
    claim_messages.release(db, handlers, c.id, tc)
    assert delivered(place) == [a.id]
    assert one(place, b.id).last_error == "busy"
    assert one(place, b.id).next_attempt_at == START_AT + 60 * SECOND + 1
    assert one(place, c.id).attempts == 0
    [(again, token)] = claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 5)
    clock.advance(20)
    claim_messages.renew(db, handlers, again.id, token)
    clock.advance(20)
    claim_messages.nack(db, handlers, again.id, token, "never", is_hopeless=True)
    assert one(place, c.id).status == "dead"


@pytest.mark.req("S-13")
def test_a_late_or_foreign_token_is_refused(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry()
    put(db, letter())
    [(message, token)] = claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 1)
    clock.advance(30)
    [(_, fresh)] = claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 1)
    before = one(place, message.id)
    for wrong in (token, Token(f"other.{message.token}"), Token("x"), Token("acme."), Token("")):
        for deed in (claim_messages.ack, claim_messages.release, claim_messages.renew):
            with pytest.raises(LeaseLost):
                deed(db, handlers, message.id, wrong)
        with pytest.raises(LeaseLost):
            claim_messages.nack(db, handlers, message.id, wrong, "no")
    assert one(place, message.id) == before
    claim_messages.ack(db, handlers, message.id, fresh)
    with pytest.raises(LeaseLost):
        claim_messages.ack(db, handlers, message.id, fresh)


@pytest.mark.req("S-15")
def test_a_claim_buries_what_has_no_attempt_left(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry(max_attempts=1)
    [id] = put(db, letter())
    claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 1)
    clock.advance(30)
    assert claim_messages.claim(db, handlers, "watchkeeper", TOPIC, 1) == []
    assert one(place, id).dead_reason == "OUTCOME_UNKNOWN"


# -- upkeep ---------------------------------------------------------------------------------------


@pytest.mark.req("S-19")
def test_delivered_messages_leave_after_their_retention_and_their_keys_with_them(
    db: Database, place: Place, clock: Clock, handlers: Registry, handler: Handler
) -> None:
    from watchkeeper.actions.tidy_outbox import sweep_delivered, vacuum_outbox

    put(db, letter(dedupe_key="dead"))
    drain(db, handlers)
    handler.is_kind = True
    put(db, letter(dedupe_key="old"), letter("other"), letter("third", dedupe_key="old"))
    drain(db, handlers)
    clock.advance(days=4)
    [young] = put(db, letter(dedupe_key="young"))
    drain(db, handlers)
    assert sweep_delivered(db, 7) == 0
    clock.advance(days=4)
    assert sweep_delivered(db, 7) == 3
    assert delivered(place) == [young]
    keys = place.execute("select dedupe_key from dedupe_keys order by 1")
    assert keys == [("dead",), ("young",)]
    assert len(live(place)) == 1
    vacuum_outbox(db)


def test_how_full_it_is(db: Database, clock: Clock) -> None:
    from watchkeeper.store import outbox_upkeep

    put(db, *[letter() for _ in range(3)], letter(topic="b"), letter(topic="c", namespace="x"))
    put(db, letter(due_at=Instant(START_AT + DAY)))
    claim(db, 1)
    with db.read_system() as tx:
        totals = outbox_upkeep.totals(tx)
    assert [tuple(topic) for topic in totals.topics] == [
        ("watchkeeper", "b", 1, 0, START_AT),
        ("watchkeeper", TOPIC, 2, 1, START_AT),
        ("x", "c", 1, 0, START_AT),
    ]
    assert (totals.timers, totals.dead) == (1, 0)


def test_dispatching_after_a_claim_elsewhere(db: Database, handlers: Registry) -> None:
    put(db, letter(), letter())
    held = ids(claim(db, 1))
    assert dispatch_once(db, handlers)["claimed"] == 1
    assert len(held) == 1
