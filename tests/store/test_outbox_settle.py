"""Ack, nack, release and renewal: only for who holds the lease, and everybody is told."""

import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import claim, delivered, ids, letter, live, one, put
from watchkeeper.actions.deliver_messages import exchange
from watchkeeper.core.delivery import ERROR_LENGTH_MAX, Dead, DeadReason, RetryAt, bounded
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox_settle import (
    Nack,
    ack,
    are_acked,
    nack,
    release,
    renew,
    send_ack,
)

LEASE = 30.0


def later(db: Database, message: Message, error: str = "no", seconds: float = 1) -> set[str]:
    with db.begin_system() as tx:
        at = Instant(tx.now + int(seconds * SECOND))
        return nack(tx, [Nack(message, RetryAt(at, bounded(error)))])


def acked(db: Database, messages: list[Message]) -> set[str]:
    """As the dispatcher does it: by place, in a pipeline; by key what was not found so."""
    if moved_by_place(db, messages):
        return set(ids(messages))
    with db.begin_system() as tx:
        return ack(tx, messages)


def moved_by_place(db: Database, messages: list[Message]) -> bool:
    with db.batch_system() as tx:
        acks = send_ack(tx, messages)
    return are_acked(acks)


@pytest.mark.req("S-13")
@pytest.mark.parametrize("way", [ack, None], ids=["by key", "by place"])
def test_an_ack_moves_the_message_to_the_history(db: Database, place: Place, way) -> None:
    put(db, letter("a"), letter("b"), letter("b"))
    claimed = claim(db, 2)
    if way is None:
        found = acked(db, claimed)
    else:
        with db.begin_system() as tx:
            found = ack(tx, claimed)
    assert found == set(ids(claimed)) == set(delivered(place))
    assert len(live(place)) == 1


@pytest.mark.req("S-13", "O-11")
@pytest.mark.parametrize("deed", ["ack", "by place", "nack", "dead", "release", "renew"])
def test_a_late_deed_changes_nothing_and_says_so(
    db: Database, clock: Clock, place: Place, deed: str
) -> None:
    [id] = put(db, letter())
    [late] = claim(db)
    clock.advance(LEASE)
    [fresh] = claim(db)
    before = one(place, id)
    if deed == "by place":
        assert acked(db, [late]) == set()
    elif deed == "nack":
        assert later(db, late) == set()
    else:
        with db.begin_system() as tx:
            match deed:
                case "ack":
                    assert ack(tx, [late]) == set()
                case "dead":
                    dead = Dead(DeadReason.REJECTED, "no")
                    assert nack(tx, [Nack(late, dead)]) == set()
                case "release":
                    assert release(tx, [late]) == set()
                case "renew":
                    assert renew(tx, [(late, 1)]) == (set(), {id})
    assert one(place, id) == before
    assert acked(db, [fresh]) == {id}


@pytest.mark.req("S-13")
@pytest.mark.parametrize("end", ["nack", "release", "dead"])
def test_who_has_put_it_back_holds_it_no_more(db: Database, place: Place, end: str) -> None:
    [id] = put(db, letter())
    [message] = claim(db)
    with db.begin_system() as tx:
        match end:
            case "nack":
                nack(tx, [Nack(message, RetryAt(Instant(tx.now + 1), "no"))])
            case "release":
                release(tx, [message])
            case _:
                nack(tx, [Nack(message, Dead(DeadReason.REJECTED, "no"))])
    before = one(place, id)
    assert acked(db, [message]) == set()
    with db.begin_system() as tx:
        assert ack(tx, [message]) | release(tx, [message]) == set()
    assert one(place, id) == before


@pytest.mark.req("S-13")
def test_an_ack_may_be_asked_for_twice(db: Database, place: Place) -> None:
    """Its COMMIT may have been in doubt: the same attempt in the history is our own."""
    put(db, letter())
    claimed = claim(db)
    assert acked(db, claimed) == acked(db, claimed) == set(ids(claimed))
    with db.begin_system() as tx:
        assert ack(tx, claimed) == set(ids(claimed))
    assert len(delivered(place)) == 1


@pytest.mark.req("S-13")
def test_of_a_mixed_batch_only_the_held_are_acked(db: Database, clock: Clock) -> None:
    put(db, *[letter() for _ in range(6)])
    old = claim(db, 3)
    clock.advance(LEASE)
    stolen = claim(db, 2)
    fresh = claim(db, 4)
    rest = [m for m in old if m.id not in ids(stolen) + ids(fresh)]
    assert acked(db, old + fresh) == set(ids(fresh)) | set(ids(rest))


@pytest.mark.req("S-13")
def test_a_renewed_lease_lasts_longer_and_can_be_acked(
    db: Database, clock: Clock, place: Place
) -> None:
    put(db, letter(), letter())
    claimed = claim(db)
    clock.advance(20)
    with db.begin_system() as tx:
        assert renew(tx, [(m, 30 * SECOND) for m in claimed]) == (set(ids(claimed)), set())
    clock.advance(20)
    assert claim(db) == []
    assert one(place, claimed[0].id).locked_until == START_AT + 50 * SECOND
    assert acked(db, claimed) == set(ids(claimed))


@pytest.mark.postgresql
def test_a_place_that_another_message_has_taken_is_noticed(both) -> None:
    db, clock = both["postgresql"]
    put(db, letter(), letter())
    a, b = claim(db)
    lost = a._replace(handle=b.handle)
    assert not moved_by_place(db, [lost])
    assert len(live(clock.place)) == 2
    assert acked(db, [lost]) == {a.id}
    assert set(live(clock.place)) == {b.id}


@pytest.mark.req("S-13")
def test_the_dispatcher_is_told_when_an_ack_came_too_late(db: Database, clock: Clock) -> None:
    put(db, letter(), letter())
    claimed = claim(db)
    clock.advance(LEASE)
    claim(db, 1)
    assert not exchange(db, claimed, []).are_acked


@pytest.mark.req("S-14")
def test_a_failed_attempt_leaves_its_error_and_no_lease(db: Database, place: Place) -> None:
    [id] = put(db, letter())
    [message] = claim(db)
    assert later(db, message, "it was busy", 7) == {id}
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.last_error) == ("pending", 1, "it was busy")
    assert (stored.locked_by, stored.locked_until) == (None, None)
    assert stored.next_attempt_at == START_AT + 7 * SECOND
    assert claim(db) == []


@pytest.mark.req("S-14", "O-23")
@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ("Authorization: Bearer abc.def-123 refused", "Authorization: [redacted]"),
        ('{"authorization": "Basic dXNlcjpwdw=="}', '{"authorization": [redacted]}'),
        ("used Bearer abcdef123456 here", "used Bearer [redacted] here"),
        (
            "cannot reach postgresql://bob:hunter2@db/x",
            "cannot reach postgresql://bob:[redacted]@db/x",
        ),
        ("GET /x?api_key=abc123&y=1 gave 500", "GET /x?api_key=[redacted]&y=1 gave 500"),
        ('{"password": "hunter 2", "a": 1}', '{"password": [redacted], "a": 1}'),
        ("key sk-live_abcdefgh12345 expired", "key [redacted] expired"),
        ("nothing to hide: 404 for /tokens/7", "nothing to hide: 404 for /tokens/7"),
        ("a\x00b \ud800", "a\N{REPLACEMENT CHARACTER}b ?"),
    ],
)
def test_secrets_do_not_reach_the_error(db: Database, place: Place, error: str, kept: str) -> None:
    [id] = put(db, letter())
    [message] = claim(db)
    later(db, message, error)
    assert one(place, id).last_error == kept


@pytest.mark.req("S-14")
def test_an_error_is_bounded(db: Database, place: Place) -> None:
    [id] = put(db, letter())
    [message] = claim(db)
    later(db, message, "ä" * 10_000)
    assert len(one(place, id).last_error or "") == ERROR_LENGTH_MAX


@pytest.mark.req("S-15")
def test_the_dead_are_not_claimed(db: Database, clock: Clock, place: Place) -> None:
    [id] = put(db, letter())
    [message] = claim(db)
    with db.begin_system() as tx:
        assert nack(tx, [Nack(message, Dead(DeadReason.REJECTED, "never"))]) == {id}
    clock.advance(days=30)
    assert claim(db) == []
    stored = one(place, id)
    assert (stored.status, stored.dead_reason, stored.last_error) == ("dead", "REJECTED", "never")


@pytest.mark.req("S-16")
def test_a_release_gives_the_attempt_back(db: Database, place: Place) -> None:
    [id] = put(db, letter())
    with db.begin_system() as tx:
        pass
    [message] = claim(db)
    with db.begin_system() as tx:
        assert release(tx, [message]) == {id}
    assert (one(place, id).status, one(place, id).attempts) == ("pending", 0)
    assert [m.attempt for m in claim(db)] == [1]


def test_messages_of_many_claims_are_acked_together(db: Database, place: Place) -> None:
    put(db, *[letter() for _ in range(12)])
    claimed = [message for _ in range(12) for message in claim(db, 1)]
    assert acked(db, claimed) == set(ids(claimed)) == set(delivered(place))
