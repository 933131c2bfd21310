"""Claiming: one worker per message, tenants in turn, order per key, and never too many."""

import threading
import uuid
from collections import Counter

import psycopg
import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import TOPIC, claim, delivered, ids, letter, live, one, put, rule
from watchkeeper.actions.deliver_messages import exchange
from watchkeeper.core.delivery import Dead, DeadReason, OnDead, Order, RetryAt
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store import outbox_claim, outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import queue_for
from watchkeeper.store.outbox_settle import Nack, ack, nack, release

LEASE = 30.0


@pytest.mark.req("S-12")
def test_a_claim_is_a_lease_under_a_new_token(db: Database, place: Place) -> None:
    put(db, letter(), letter())
    first, second = claim(db, 1), claim(db, 1)
    stored = one(place, first[0].id)
    assert (stored.status, stored.attempts) == ("processing", 1)
    assert stored.locked_by == first[0].token != second[0].token
    assert stored.locked_until == START_AT + LEASE * SECOND
    assert first[0].id != second[0].id
    assert claim(db) == []


@pytest.mark.req("S-12")
def test_never_more_than_the_limit(db: Database) -> None:
    put(db, *[letter(f"t{n % 7}") for n in range(50)])
    assert [len(claim(db, limit)) for limit in (1, 8, 20, 100)] == [1, 8, 20, 21]


@pytest.mark.req("S-12")
def test_within_a_tenant_by_due_time_then_creation(db: Database, clock: Clock) -> None:
    a, b, c, d = put(
        db,
        letter(due_at=Instant(START_AT - 5)),
        letter(due_at=Instant(START_AT - 9)),
        letter(due_at=Instant(START_AT - 5)),
        letter(due_at=Instant(START_AT + 1)),
    )
    clock.advance(1)
    assert [ids(claim(db, 1))[0] for _ in range(4)] == [b, a, c, d]


@pytest.mark.req("S-12", "O-12")
def test_a_newcomer_waits_for_two_batches_at_most(db: Database) -> None:
    put(db, *[letter("big") for _ in range(200)])
    claim(db, 10)
    put(db, letter("aaa"), letter("zzz"))
    tenants = [message.tenant_id for _ in range(2) for message in claim(db, 10)]
    assert {"aaa", "zzz"} <= set(tenants)


@pytest.mark.req("S-12")
def test_tenants_take_turns_also_when_there_are_more_of_them_than_places(db: Database) -> None:
    put(db, *[letter(f"t{n}") for n in range(9) for _ in range(5)])
    served = Counter(message.tenant_id for _ in range(9) for message in claim(db, 2))
    assert set(served.values()) == {2}


@pytest.mark.req("S-12")
def test_a_small_tenant_leaves_its_share_to_the_next_claim(db: Database) -> None:
    put(db, letter("small"), *[letter("big") for _ in range(30)])
    assert Counter(m.tenant_id for m in claim(db, 10)) == {"small": 1, "big": 5}
    assert Counter(m.tenant_id for m in claim(db, 10)) == {"big": 10}


@pytest.mark.req("S-12")
def test_tenants_whose_messages_are_all_held_take_no_share(db: Database) -> None:
    put(db, *[letter(f"t{n}") for n in range(8)])
    claim(db, 8)
    put(db, *[letter("big") for _ in range(20)])
    assert len(claim(db, 16)) == 16


@pytest.mark.req("S-12", "S-16")
def test_an_expired_lease_can_be_claimed_again(db: Database, clock: Clock, place: Place) -> None:
    [id] = put(db, letter())
    [first] = claim(db)
    clock.advance(LEASE - 0.001)
    assert claim(db) == []
    clock.advance(0.001)
    [second] = claim(db)
    assert (second.id, second.attempt, second.token != first.token) == (id, 2, True)
    assert one(place, id).attempts == 2


@pytest.mark.req("S-15")
def test_without_attempts_left_it_is_given_out_for_burial_only(db: Database, clock: Clock) -> None:
    put(db, letter())
    claim(db, max_attempts=2)
    clock.advance(LEASE)
    claim(db, max_attempts=2)
    clock.advance(LEASE)
    [last] = claim(db, max_attempts=2)
    assert (last.attempt, last.dead_reason) == (2, DeadReason.OUTCOME_UNKNOWN)


def test_a_lowered_limit_ends_a_message_that_waits(db: Database, clock: Clock) -> None:
    put(db, letter())
    for _ in range(3):
        claimed = claim(db)
        with db.begin_system() as tx:
            nack(tx, [Nack(m, RetryAt(Instant(tx.now + 1), "no")) for m in claimed])
        clock.advance(1)
    [last] = claim(db, max_attempts=3)
    assert last.dead_reason is DeadReason.ATTEMPTS_EXHAUSTED


def test_several_queues_are_claimed_from_in_one_exchange(db: Database) -> None:
    put(db, *[letter(topic=f"topic-{n % 3}") for n in range(30)])
    queues = [queue_for("watchkeeper", f"topic-{n}", rule(), n + 1) for n in range(3)]
    claimed = exchange(db, [], queues).claimed
    assert Counter(m.topic for m in claimed) == {"topic-0": 1, "topic-1": 2, "topic-2": 3}
    assert len({m.token for m in claimed}) == 1


@pytest.mark.req("S-12")
def test_many_workers_hold_every_message_once(db: Database) -> None:
    put(db, *[letter(f"t{n % 5}") for n in range(400)])
    found: list[str] = []

    def work() -> None:
        while claimed := claim(db, 7):
            found.extend(ids(claimed))

    threads = [threading.Thread(target=work) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == len(set(found)) == 400


# -- order --------------------------------------------------------------------------------


def ordered(db: Database, limit: int = 10, on_dead: OnDead = OnDead.CONTINUE) -> list:
    return claim(db, limit, order=Order.PER_KEY, on_dead=on_dead)


@pytest.mark.req("S-17")
def test_one_message_of_a_key_at_a_time(db: Database) -> None:
    a1, a2, b1, free = put(
        db, letter(ordering_key="a"), letter(ordering_key="a"), letter(ordering_key="b"), letter()
    )
    first = ordered(db)
    assert set(ids(first)) == {a1, b1, free}
    assert ordered(db) == []
    with db.begin_system() as tx:
        ack(tx, first)
    assert ids(ordered(db)) == [a2]


@pytest.mark.req("S-17")
def test_a_failing_head_holds_its_key_back(db: Database, clock: Clock) -> None:
    head, follower = put(db, letter(ordering_key="a"), letter(ordering_key="a"))
    claimed = ordered(db)
    with db.begin_system() as tx:
        nack(tx, [Nack(m, RetryAt(Instant(tx.now + SECOND), "no")) for m in claimed])
    assert ordered(db) == []
    clock.advance(1)
    again = ordered(db)
    assert ids(again) == [head]
    with db.begin_system() as tx:
        ack(tx, again)
    assert ids(ordered(db)) == [follower]


@pytest.mark.req("S-17")
@pytest.mark.parametrize(("on_dead", "goes"), [(OnDead.CONTINUE, True), (OnDead.BLOCK, False)])
def test_a_dead_head_lets_followers_go_unless_it_blocks(
    db: Database, on_dead: OnDead, goes: bool
) -> None:
    _, follower = put(db, letter(ordering_key="a"), letter(ordering_key="a"))
    claimed = ordered(db, on_dead=on_dead)
    with db.begin_system() as tx:
        nack(tx, [Nack(m, Dead(DeadReason.REJECTED, "no")) for m in claimed])
    assert ids(ordered(db, on_dead=on_dead)) == ([follower] if goes else [])


@pytest.mark.req("S-17")
def test_keys_of_other_tenants_namespaces_and_topics_do_not_wait(db: Database) -> None:
    put(db, letter(ordering_key="a"))
    ordered(db)
    put(db, letter("other", ordering_key="a"), letter(ordering_key="a", namespace="mine"))
    assert [m.tenant_id for m in ordered(db)] == ["other"]


@pytest.mark.req("S-17")
def test_under_a_race_each_key_is_delivered_in_order(db: Database, place: Place) -> None:
    put(db, *[letter(ordering_key=f"k{n % 4}", dedupe_key=f"{n:03}") for n in range(80)])
    held: dict[str, str] = {}
    log: list[str] = []
    wrong: list[str] = []

    def work() -> None:
        for _ in range(400):
            claimed = ordered(db, 2)
            for m in claimed:
                if held.setdefault(m.ordering_key, m.id) != m.id:
                    wrong.append(m.id)
            for m in claimed:
                log.append(m.dedupe_key)
                held.pop(m.ordering_key)
            with db.begin_system() as tx:
                ack(tx, claimed)
            if len(log) >= 80:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []
    assert len(log) == 80 == len(delivered(place))
    for key in range(4):
        mine = [k for k in log if int(k) % 4 == key]
        assert mine == sorted(mine)


# -- concurrency over all processes ----------------------------------------------------------


@pytest.mark.req("S-17")
def test_no_more_leases_live_than_the_topic_allows(db: Database, clock: Clock) -> None:
    put(db, *[letter(f"t{n % 3}") for n in range(20)])
    first = claim(db, 10, concurrency_total=3)
    assert len(first) == 3
    assert claim(db, 10, concurrency_total=3) == []
    with db.begin_system() as tx:
        ack(tx, first[:1])
        release(tx, first[1:2])
    assert len(claim(db, 10, concurrency_total=3)) == 2
    clock.advance(LEASE)
    assert len(claim(db, 10, concurrency_total=3)) == 3


@pytest.mark.req("S-17")
def test_the_limit_over_all_is_exact_under_a_race(db: Database, place: Place) -> None:
    put(db, *[letter(f"t{n % 3}") for n in range(60)])
    found: list[str] = []

    def work() -> None:
        for _ in range(4):
            found.extend(ids(claim(db, 5, concurrency_total=7)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 7


@pytest.mark.req("S-17")
def test_a_lease_that_counts_and_ended_is_not_taken_up_again(db: Database, clock: Clock) -> None:
    put(db, letter(), letter())
    first = claim(db, 1, concurrency_total=1)
    clock.advance(LEASE)
    with db.begin_system() as tx:
        renewed, lost = outbox_settle.renew(tx, [(m, 1) for m in first])
    assert (renewed, lost) == (set(), set())
    assert len(claim(db, 1, concurrency_total=1)) == 1
    assert claim(db, 1, concurrency_total=1) == []


# -- plans ------------------------------------------------------------------------------------


@pytest.mark.req("S-12")
@pytest.mark.postgresql
def test_a_hostile_plan_changes_nothing(both) -> None:
    """The limit, disjoint claims and the order hold whatever way the planner takes."""
    db, clock = both["postgresql"]
    put(db, *[letter(f"t{n % 3}", due_at=Instant(START_AT - 2000 + n)) for n in range(1000)])
    statement = outbox_claim._CLAIM_POSTGRESQL
    asked = (
        '[{"n":0,"s":"watchkeeper","t":"letters","l":60,"e":1000000,"m":5,"o":false,"b":false,'
        '"w":null,"x":true,"f":"t0"}]'
    )
    one, other = (psycopg.connect(clock.place.admin_url) for _ in range(2))
    found = []
    with one, other:
        for conn, off in ((one, "hashjoin,mergejoin,material"), (other, "nestloop,indexscan,sort")):
            for name in off.split(","):
                conn.execute(f"set enable_{name} = off".encode())
            conn.execute("set enable_indexonlyscan = off")
            found.append(conn.execute(statement, (asked, str(uuid.uuid4()))).fetchall())
        one.commit()
        other.commit()
    first, second = ({row[5] for row in rows} for rows in found)
    assert len(first) == len(second) == 60
    assert not first & second
    for rows in found:
        for tenant in ("t0", "t1", "t2"):
            mine = sorted(row[2] for row in rows if row[6] == tenant)
            assert mine[-1] - mine[0] == 57  # twenty in a row, every third of them this tenant's


@pytest.mark.req("S-12", "O-04")
@pytest.mark.postgresql
@pytest.mark.brand_new
def test_claims_and_acks_walk_through_no_table(both) -> None:
    db, clock = both["postgresql"]
    put(db, *[letter(f"t{n % 3}") for n in range(50)])
    clock.place.execute("analyze outbox")
    claimed = claim(db, 5)
    with db.begin_system() as tx:
        for text, parameters in (
            (outbox_claim._CLAIM_POSTGRESQL, (CLAIM_PARAMETER, str(uuid.uuid4()))),
            (outbox_claim._TIMERS_DUE.postgresql, ()),
            (outbox_claim._NEXT_DUE.postgresql, ()),
            (outbox_settle._ACK_BY_PLACE.postgresql, ('{"(0,1)"}', claimed[0].token, "{1}")),
        ):
            plan = tx.conn.exec_driver_sql("explain " + text, parameters).scalars().all()
            scans = [line for line in plan if "Seq Scan on outbox" in line]
            assert scans == [], "\n".join(plan)
            used = [line for line in plan if "Index Scan using outbox_message" in line]
            assert used == [], "\n".join(plan)


CLAIM_PARAMETER = (
    '[{"n":0,"s":"watchkeeper","t":"letters","l":60,"e":1000000,"m":5,"o":true,"b":false,'
    '"w":5,"x":true,"f":"t0"}]'
)


@pytest.mark.postgresql
@pytest.mark.brand_new
def test_a_claim_is_a_heap_only_update(both) -> None:
    db, clock = both["postgresql"]
    put(db, *[letter() for _ in range(300)])
    ids(claim(db, 300))
    db.close()
    clock.place.execute("select pg_stat_force_next_flush()")
    for _ in range(600):
        [(updated, hot)] = clock.place.execute(
            "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'outbox'"
        )
        if updated:
            break
        threading.Event().wait(0.05)
    assert (updated, hot) == (300, 300)


def test_timers_are_counted_by_the_next_due(db: Database, clock: Clock) -> None:
    put(db, letter(due_at=Instant(START_AT + 9)), letter(due_at=Instant(START_AT + 5)), letter())
    with db.begin_system() as tx:
        assert outbox_claim.next_due(tx) == START_AT + 5
    clock.advance(1)
    with db.begin_system() as tx:
        assert not outbox_claim.timers_due(tx)
        assert outbox_claim.next_due(tx) is None


def test_many_timers_become_due_over_several_rounds(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(db, *[letter(due_at=Instant(START_AT + 1)) for _ in range(5)])
    clock.advance(1)
    found = exchange(db, [], [queue_for("watchkeeper", TOPIC, rule(), 3)])
    assert (len(found.claimed), found.has_more) == (3, True)


def test_what_was_processed_is_gone_from_the_live(db: Database, place: Place) -> None:
    put(db, letter())
    claimed = claim(db)
    with db.begin_system() as tx:
        ack(tx, claimed)
    assert live(place) == {}
    assert delivered(place) == ids(claimed)


@pytest.mark.req("S-15")
def test_of_the_silent_with_one_attempt_left_one_is_taken_at_a_time(
    db: Database, clock: Clock
) -> None:
    put(db, *[letter(f"t{n}") for n in range(3)])
    for _ in range(2):
        assert len(claim(db, 10, max_attempts=3)) == 3
        clock.advance(LEASE)
    put(db, letter("fresh"))
    first = claim(db, 10, max_attempts=3)
    assert sorted(m.attempt for m in first) == [1, 3]
    assert [len(claim(db, 10, max_attempts=3)) for _ in range(3)] == [1, 1, 0]
    clock.advance(LEASE)
    buried = [m for m in claim(db, 10, max_attempts=3) if m.dead_reason]
    assert len(buried) == 3
