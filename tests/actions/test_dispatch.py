"""Dispatching without threads: prepare, call, finish, and every way an attempt may end."""

import asyncio
from typing import Any

import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import TOPIC, claim, delivered, letter, live, one, put, registry
from watchkeeper.actions.dispatch import dispatch_once, drain
from watchkeeper.core import delivery
from watchkeeper.core.delivery import Delivered
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.handlers.registry import Ended, NotStarted
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.store import ledger
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message


def raising(error: BaseException):
    def call(_message: Message) -> None:
        raise error

    return call


@pytest.mark.req("S-17")
@pytest.mark.parametrize("answer", [None, False, "anything", {"a": 1}])
def test_returning_is_delivered(db: Database, place: Place, answer: Any) -> None:
    handlers = registry()
    seen: list[Message] = []
    handlers.handle(TOPIC, lambda message: [seen.append(message), answer][1])
    wanted = put(db, letter()._replace(payload='{"n": 7}'), letter("other"))
    assert dispatch_once(db, handlers) == {"claimed": 2, "delivered": 2}
    assert {m.payload for m in seen} == {'{"n": 7}', "{}"}
    assert set(delivered(place)) == set(wanted)


@pytest.mark.req("S-14")
def test_an_exception_is_another_attempt_later(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry()
    handlers.handle(TOPIC, raising(ValueError("bad day, token=abcdef123")))
    [id] = put(db, letter())
    assert drain(db, handlers) == {"claimed": 1, "failed": 1}
    stored = one(place, id)
    assert (stored.status, stored.attempts) == ("pending", 1)
    assert stored.last_error == "ValueError: bad day, token=[redacted]"
    assert START_AT < stored.next_attempt_at <= START_AT + SECOND


@pytest.mark.req("S-14")
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_a_handler_raises_is_an_answer(
    db: Database, place: Place, error: BaseException
) -> None:
    handlers = registry()
    handlers.handle(TOPIC, raising(error))
    [id] = put(db, letter())
    dispatch_once(db, handlers)
    assert (one(place, id).last_error or "").startswith(type(error).__name__)


@pytest.mark.req("S-14")
def test_a_named_delay_is_waited_for(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry()
    handlers.handle(TOPIC, raising(Retry("busy", after=120)))
    [id] = put(db, letter())
    dispatch_once(db, handlers)
    assert START_AT + 120 * SECOND < one(place, id).next_attempt_at <= START_AT + 121 * SECOND
    clock.advance(119)
    assert drain(db, handlers) == {}


@pytest.mark.req("S-14", "S-15")
def test_a_rejected_message_is_dead_at_once(db: Database, place: Place) -> None:
    handlers = registry()
    handlers.handle(TOPIC, raising(Reject("no such thing")))
    [id] = put(db, letter())
    dispatch_once(db, handlers)
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.dead_reason) == ("dead", 1, "REJECTED")
    assert stored.last_error == "no such thing"


@pytest.mark.req("S-15")
def test_after_the_last_attempt_it_is_dead_and_on_record(
    db: Database, place: Place, clock: Clock
) -> None:
    handlers = registry(max_attempts=3)
    handlers.handle(TOPIC, raising(ValueError("no")))
    [id] = put(db, letter())
    for _ in range(10):
        drain(db, handlers)
        clock.advance(hours=2)
    stored = one(place, id)
    assert (stored.status, stored.attempts) == ("dead", 3)
    assert stored.dead_reason == "ATTEMPTS_EXHAUSTED"
    with db.read(TenantId("acme")) as tx:
        [found] = ledger.newest(tx, {"kind": Kind.MESSAGE_DEAD}, limit=9)
    assert (found.entry.subject, found.entry.reason) == (id, "ATTEMPTS_EXHAUSTED")


@pytest.mark.req("S-17", "D-05")
def test_at_most_once_is_once(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry(guarantee=delivery.Guarantee.AT_MOST_ONCE, max_attempts=1)
    calls: list[str] = []

    def call(message: Message) -> None:
        calls.append(message.id)
        raise ValueError("no")

    handlers.handle(TOPIC, call)
    put(db, letter())
    for _ in range(3):
        drain(db, handlers)
        clock.advance(hours=2)
    assert len(calls) == 1


@pytest.mark.req("S-15")
def test_silence_on_the_last_attempt_is_buried_not_delivered(
    db: Database, place: Place, clock: Clock
) -> None:
    handlers = registry(max_attempts=1)
    calls: list[str] = []
    lost: list[Any] = []
    handlers.handle(TOPIC, lambda message: calls.append(message.id))
    handlers.when_lost(TOPIC, lambda tx, those: lost.extend((tx.tenant_id, *those)))
    [id] = put(db, letter())
    claim(db, max_attempts=1)
    clock.advance(30)
    assert dispatch_once(db, handlers) == {"claimed": 1, "buried": 1}
    assert calls == []
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.dead_reason) == ("dead", 1, "OUTCOME_UNKNOWN")
    assert lost[0] == "acme"
    assert (lost[1].id, lost[1].reason) == (id, "OUTCOME_UNKNOWN")


@pytest.mark.req("S-15")
def test_a_death_and_what_hangs_on_it_are_one(db: Database, place: Place, clock: Clock) -> None:
    handlers = registry(max_attempts=1)
    handlers.handle(TOPIC, raising(ValueError("no")))

    def refuse(_tx: Any, _lost: Any) -> None:
        raise RuntimeError("the hook fails")

    handlers.when_lost(TOPIC, refuse)
    [id] = put(db, letter())
    assert dispatch_once(db, handlers)["fenced"] == 1, "it is left to its lease"
    assert one(place, id).status == "processing"
    with db.read(TenantId("acme")) as tx:
        assert ledger.newest(tx, {}, limit=9) == []
    handlers.on_lost.clear()
    clock.advance(30)
    dispatch_once(db, handlers)
    assert one(place, id).status == "dead"


def test_async_handlers_are_awaited(db: Database, place: Place) -> None:
    handlers = registry(timeout_us=SECOND // 20)

    async def call(message: Message) -> None:
        await asyncio.sleep(0 if message.tenant_id == "acme" else 5)

    handlers.handle(TOPIC, call)
    fine, slow = put(db, letter(), letter("slow"))
    assert dispatch_once(db, handlers) == {"claimed": 2, "delivered": 1, "failed": 1}
    assert delivered(place) == [fine]
    assert (one(place, slow).last_error or "").startswith("TimeoutError")


def test_a_batch_answers_for_each_message(db: Database, place: Place) -> None:
    handlers = registry()
    sizes: list[int] = []

    def deliver(_db: Database, messages: list[Message]) -> list[delivery.AttemptResult]:
        sizes.append(len(messages))
        return [
            Delivered() if m.tenant_id == "acme" else delivery.Reject("not you") for m in messages
        ]

    handlers.handle_batch(TOPIC, deliver)
    a, b, c = put(db, letter(), letter("other"), letter())
    assert dispatch_once(db, handlers) == {"claimed": 3, "delivered": 2, "failed": 1}
    assert sizes == [3]
    assert (set(delivered(place)), set(live(place))) == ({a, c}, {b})


@pytest.mark.parametrize("wrong", [[], ValueError("no")])
def test_a_batch_that_fails_fails_for_each(db: Database, place: Place, wrong: Any) -> None:
    handlers = registry()

    def deliver(_db: Database, _messages: list[Message]) -> list[delivery.AttemptResult]:
        if isinstance(wrong, Exception):
            raise wrong
        return list(wrong)

    handlers.handle_batch(TOPIC, deliver)
    put(db, letter(), letter())
    assert dispatch_once(db, handlers)["failed"] == 2
    assert {stored.status for stored in live(place).values()} == {"pending"}


def test_prepare_and_finish_stand_around_the_calls(db: Database, place: Place) -> None:
    handlers = registry()
    log: list[str] = []

    def prepare(_db: Database, messages: Any) -> dict[str, Any]:
        log.append(f"prepare {len(messages)}")
        made = {m.id: f"run for {m.tenant_id}" for m in messages}
        for m in messages:
            if m.tenant_id == "stopped":
                made[m.id] = Ended(m, "stopped", NotStarted())
        return made

    def finish(db: Database, ended: Any) -> set[str]:
        from watchkeeper.actions.settle_attempts import settle_attempts

        log.extend(sorted(f"{type(e.result).__name__} {e.value}" for e in ended))
        return settle_attempts(db, handlers, ended)

    handlers.handle(TOPIC, lambda run: f"did {run}", prepare=prepare, finish=finish)
    put(db, letter("a"), letter("b"), letter("stopped"))
    counts = dispatch_once(db, handlers)
    assert counts == {"claimed": 3, "delivered": 2, "released": 1}
    assert log == [
        "prepare 3",
        "Delivered did run for a",
        "Delivered did run for b",
        "NotStarted None",
    ]


def test_one_that_cannot_be_prepared_does_not_stop_the_others(db: Database, place: Place) -> None:
    handlers = registry()

    def prepare(_db: Database, messages: Any) -> dict[str, Any]:
        if any(m.tenant_id == "bad" for m in messages):
            raise KeyError("nonsense")
        return {m.id: m for m in messages}

    handlers.handle(TOPIC, lambda _: None, prepare=prepare)
    fine, bad = put(db, letter("fine"), letter("bad"))
    assert dispatch_once(db, handlers) == {"claimed": 2, "delivered": 1, "failed": 1}
    assert delivered(place) == [fine]
    assert one(place, bad).last_error == "KeyError: 'nonsense'"


def test_one_whose_end_cannot_be_written_does_not_stop_the_others(
    db: Database, place: Place
) -> None:
    handlers = registry()

    def finish(db: Database, ended: Any) -> set[str]:
        from watchkeeper.actions.settle_attempts import settle_attempts

        if any(e.message.tenant_id == "bad" for e in ended):
            raise KeyError("nonsense")
        return settle_attempts(db, handlers, ended)

    handlers.handle(TOPIC, lambda _: None, finish=finish)
    fine, bad = put(db, letter("fine"), letter("bad"))
    dispatch_once(db, handlers)
    assert delivered(place) == [fine]
    assert one(place, bad).last_error == "KeyError: 'nonsense'"


@pytest.mark.req("S-13")
def test_a_result_that_comes_too_late_is_counted_as_fenced(
    db: Database, place: Place, clock: Clock
) -> None:
    handlers = registry()

    def slow(_message: Message) -> None:
        clock.advance(31)
        assert len(claim(db)) == 1  # somebody else has it now

    handlers.handle(TOPIC, slow)
    [id] = put(db, letter())
    assert dispatch_once(db, handlers) == {"claimed": 1, "fenced": 1}
    assert one(place, id).status == "processing"
    assert delivered(place) == []


def test_a_message_that_its_handler_enqueues_is_drained_too(db: Database, place: Place) -> None:
    handlers = registry()

    def call(message: Message) -> None:
        n = int(message.payload)
        if n:
            put(db, letter()._replace(payload=str(n - 1)))

    handlers.handle(TOPIC, call)
    put(db, letter()._replace(payload="3"))
    assert drain(db, handlers)["delivered"] == 4


def test_timers_come_when_their_time_has_come(db: Database, clock: Clock) -> None:
    handlers = registry()
    seen: list[str] = []
    handlers.handle(TOPIC, lambda message: seen.append(message.payload))
    for n in (3, 1, 2):
        at = Instant(START_AT + n * SECOND)
        put(db, letter(due_at=at)._replace(payload=str(n)))
    for _ in range(4):
        drain(db, handlers)
        clock.advance(1)
    assert seen == ["1", "2", "3"]


def test_a_topic_without_a_handler_waits(db: Database, place: Place) -> None:
    put(db, letter(topic="unheard of"))
    handlers = registry()
    handlers.handle(TOPIC, lambda _: None)
    assert drain(db, handlers) == {}
    assert len(live(place)) == 1
