"""Admission through the database: what is reserved, written and enqueued, on both engines."""

import json

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, BRIEF, LIFECYCLE, SIGNAL, Player, event, told
from tests.verify_clean import assert_verified
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.core import envelope
from watchkeeper.core.ids import AccountId, DecisionId, SignalId, TenantId
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.inputs import parse_triggers
from watchkeeper.moves.admission import SLICE, end_pending
from watchkeeper.store import accounts, signals
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import Session

BOLT = TenantId("bolt")


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    return Player(db, clock)


def count(place: Place, table: str) -> int:
    return place.execute(f"select count(*) from {table}")[0][0]


def state_of(player: Player, account: str = "ann"):
    with player.db.read(player.tenant_id) as tx:
        return accounts.get(tx, AccountId(account)).run_state


def messages(place: Place, topic: str) -> list[tuple]:
    rows = place.execute(
        "select id, payload, next_attempt_at from outbox"
        f" where topic = '{topic}' order by next_attempt_at, seq"
    )
    decoded = [(str(i), p if isinstance(p, dict) else json.loads(p), at) for i, p, at in rows]
    return [(i, payload["detail"], at) for i, payload, at in decoded]


# -- keys -----------------------------------------------------------------------------------


@pytest.mark.req("D-04")
def test_a_key_is_answered_once_and_a_repeat_names_the_decision(player: Player) -> None:
    [first] = player.fire(event(key="k"))
    [again] = player.fire(event(key="k"))
    assert told(first) == "ALLOW"
    assert told(again) == "SKIP DUPLICATE_IDEMPOTENCY_KEY"
    assert again.verdict.duplicate.decision_id == first.decision_id
    assert again.verdict.duplicate.differs is False


@pytest.mark.req("D-04")
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(event("bob", key="k"), id="another account"),
        pytest.param(event(trigger=LIFECYCLE, key="k"), id="another type"),
        pytest.param(event(key="k", scheduled_at=Instant(7)), id="another plan"),
        pytest.param(event(key="k", saturation=0.5), id="another score"),
    ],
)
def test_a_repeat_says_that_its_content_differs(player: Player, other) -> None:
    [first] = player.fire(event(key="k"))
    [again] = player.fire(other)
    assert told(again) == "SKIP DUPLICATE_IDEMPOTENCY_KEY"
    assert again.verdict.duplicate.decision_id == first.decision_id
    assert again.verdict.duplicate.differs is True


@pytest.mark.req("D-04")
def test_a_repeat_within_one_batch_is_a_repeat(player: Player) -> None:
    first, again, differing = player.fire(event(key="k"), event(key="k"), event("bob", key="k"))
    assert told(first) == "ALLOW"
    for one, differs in ((again, False), (differing, True)):
        assert told(one) == "SKIP DUPLICATE_IDEMPOTENCY_KEY"
        assert one.verdict.duplicate.decision_id == first.decision_id
        assert one.verdict.duplicate.differs is differs


@pytest.mark.req("D-04")
def test_whatever_verdict_follows_the_key_is_taken(player: Player) -> None:
    player.fire(event())
    assert player.tell(event(key="k")) == ["SKIP DEBOUNCED"]
    player.clock.advance(120)
    assert player.tell(event(key="k")) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]


@pytest.mark.req("D-04")
def test_a_key_is_free_again_after_its_time(player: Player, place: Place) -> None:
    [first] = player.fire(event(key="k"))
    player.clock.advance(seconds=86_399.999999)
    assert player.tell(event(key="k")) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    player.clock.advance(seconds=0.000001)
    [second] = player.fire(event(key="k"))
    assert told(second) == "ALLOW", "an expired key is reserved again before it is cleaned up"
    assert count(place, "reservations") == 1
    player.clock.advance(hours=23)
    [again] = player.fire(event(key="k"))
    assert again.verdict.duplicate.decision_id == second.decision_id != first.decision_id
    assert_verified(player.db)


@pytest.mark.req("D-04")
def test_the_time_to_live_is_policy(player: Player) -> None:
    player.policy("idempotency_ttl_seconds = 10\n")
    player.fire(event(key="k"))
    player.clock.advance(9)
    assert player.tell(event("bob", key="k")) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    player.clock.advance(1)
    assert player.tell(event("bob", key="k")) == ["ALLOW"]


@pytest.mark.req("D-04")
def test_tenants_never_collide(player: Player) -> None:
    other = Player(player.db, player.clock, BOLT)
    assert player.tell(event(key="k")) == ["ALLOW"]
    assert other.tell(event(key="k")) == ["ALLOW"]
    assert other.tell(event(key="k")) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    assert_verified(player.db)


@pytest.mark.req("D-03")
def test_an_unknown_type_consumes_nothing(player: Player, place: Place) -> None:
    create_tenant(player.db, ACME, installed_now=False)  # so no report of it is due
    unknown = event(trigger="NEVER_HEARD_OF", key="k")
    assert player.tell(unknown, unknown) == ["SKIP UNKNOWN_TRIGGER_TYPE"] * 2
    for table in ("reservations", "accounts", "outbox"):
        assert count(place, table) == 0, table
    assert player.tell(unknown, event(key="k"), unknown) == [
        "SKIP UNKNOWN_TRIGGER_TYPE",
        "ALLOW",
        "SKIP UNKNOWN_TRIGGER_TYPE",
    ]
    assert len(player.entries(reason="UNKNOWN_TRIGGER_TYPE")) == 4, "and is recorded all the same"


@pytest.mark.req("D-03")
def test_a_repeat_makes_no_account(player: Player, place: Place) -> None:
    player.fire(event("ann", key="k"), event("bob", key="k"))
    assert place.execute("select account_id from accounts") == [("ann",)]


@pytest.mark.req("D-02")
@pytest.mark.parametrize(
    ("broken", "where"),
    [
        pytest.param({"idempotency_key": None}, "events[1].idempotency_key", id="no key"),
        pytest.param({"idempotency_key": ""}, "events[1].idempotency_key", id="an empty key"),
        pytest.param({"account_id": 7}, "events[1].account_id", id="a wrong type"),
        pytest.param({"trigger_type": "X" * 65}, "events[1].trigger_type", id="too long"),
        pytest.param({"scheduled_at": "soon"}, "events[1].scheduled_at", id="not a moment"),
    ],
)
def test_a_call_with_a_mistake_is_refused_whole(player, place, broken, where) -> None:
    good = {"account_id": "ann", "trigger_type": SIGNAL, "idempotency_key": "k"}
    with pytest.raises(Invalid) as refused:
        player.fire(*parse_triggers([good, {**good, **broken}, good]))
    assert [problem.place for problem in refused.value.problems] == [where]
    assert count(place, "ledger") == count(place, "reservations") == 0


# -- switches, policy, tiers --------------------------------------------------------------


@pytest.mark.req("D-09")
@pytest.mark.parametrize(
    ("scope", "target"),
    [("tenant", None), ("all", None), ("trigger", SIGNAL)],
    ids=["of the tenant", "of all", "of the trigger type"],
)
def test_a_kill_switch_is_seen_at_once(player: Player, scope, target) -> None:
    create_tenant(player.db, ACME)
    flip = {"reason": "drill", "set_by": "eve"}
    set_kill_switch(player.db, ACME, scope, target, on=True, **flip)
    assert player.tell(event(key="k")) == ["SKIP KILL_SWITCH"]
    set_kill_switch(player.db, ACME, scope, target, on=False, **flip)
    assert player.tell(event(key="k")) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    assert player.tell(event()) == ["ALLOW"]
    assert_verified(player.db)


@pytest.mark.req("D-09")
def test_a_kill_switch_stops_only_what_it_names(player: Player) -> None:
    create_tenant(player.db, ACME)
    on = {"on": True, "reason": "drill", "set_by": "eve"}
    set_kill_switch(player.db, ACME, "trigger", SIGNAL, **on)
    set_kill_switch(player.db, ACME, "connector", "crm", **on)
    other = Player(player.db, player.clock, BOLT)
    assert player.tell(event(), event(trigger=LIFECYCLE)) == ["SKIP KILL_SWITCH", "ALLOW"]
    assert other.tell(event()) == ["ALLOW"]


@pytest.mark.req("D-09")
def test_a_switch_of_the_system_is_not_everybodys_tenant_switch(player: Player) -> None:
    with pytest.raises(Invalid):
        set_kill_switch(
            player.db, TenantId("_system"), "tenant", None, on=True, reason="x", set_by="eve"
        )
    assert player.tell(event()) == ["ALLOW"]


@pytest.mark.req("D-01")
def test_a_policy_takes_effect_at_once_in_every_process(player: Player, place: Place) -> None:
    elsewhere = place.open()
    other = Player(elsewhere, player.clock)
    assert other.tell(event("ann"), event("bob", "NEW_TYPE")) == [
        "ALLOW",
        "SKIP UNKNOWN_TRIGGER_TYPE",
    ]
    player.policy("[triggers.NEW_TYPE]\ndebounce_seconds = 0\ncooldown_seconds = 10\n")
    [decided] = other.fire(event("bob", "NEW_TYPE"))
    assert (told(decided), decided.policy_version) == ("ALLOW", 1)
    player.policy("[triggers.NEW_TYPE]\ndebounce_seconds = 0\ncooldown_seconds = 0\n")
    assert other.tell(event("bob", "NEW_TYPE")) == ["ALLOW"]
    elsewhere.close()
    assert_verified(player.db)


@pytest.mark.req("D-01", "D-09")
def test_rules_follow_the_tier_and_the_tenant(player: Player) -> None:
    player.policy(
        "run_budget_per_day = 3\n[tiers.free]\nrun_budget_per_day = 1\n"
        "[tenants.acme]\nrun_budget_per_day = 2\n"
    )
    create_tenant(player.db, ACME, tier="free")
    create_tenant(player.db, BOLT, tier="free")
    bolt = Player(player.db, player.clock, BOLT)
    cora = Player(player.db, player.clock, TenantId("cora"))
    many = [event(f"a{n}") for n in range(4)]
    for who, budget in ((player, 2), (bolt, 1), (cora, 3)):
        assert who.tell(*many).count("ALLOW") == budget
    change_tenant(player.db, BOLT, {"tier": None})
    assert bolt.tell(event("x"), event("y"), event("z")).count("ALLOW") == 2
    assert_verified(player.db)


def test_without_permission_an_unknown_tenant_is_refused(player: Player, place: Place) -> None:
    player.admission.makes_tenants = False
    with pytest.raises(NotFound):
        player.fire(event())
    assert count(place, "reservations") == 0


# -- what follows a verdict -----------------------------------------------------------------


@pytest.mark.req("D-14")
def test_an_allow_enqueues_its_run(player: Player, place: Place) -> None:
    [decided] = player.fire(event(key="k", correlation_id="c-1"))
    [(id, detail, due_at)] = messages(place, envelope.EVALUATION_REQUESTED)
    assert id == decided.decision_id == detail["decision_id"]
    assert due_at == player.clock.at
    expected = {"tenant_id": "acme", "account_id": "ann", "trigger_type": SIGNAL}
    expected |= {"idempotency_key": "k", "correlation_id": "c-1"}
    assert expected.items() <= detail.items()


@pytest.mark.req("D-13")
def test_a_deferral_enqueues_its_one_retry(player: Player, place: Place) -> None:
    player.fire(event())
    player.clock.advance(100)
    [decided] = player.fire(event(key="k", correlation_id="c-1"))
    assert told(decided) == "DEFER COOLDOWN"
    [(_, detail, due_at)] = messages(place, envelope.RETRY)
    assert due_at == decided.verdict.defer_until == player.clock.at + 200 * SECOND
    assert detail["retry_of"] == decided.decision_id
    assert detail["original_idempotency_key"] == "k"
    assert detail["idempotency_key"] == envelope.retry_key(ACME, decided.decision_id, moved=False)
    assert detail["correlation_id"] == "c-1"
    assert messages(place, envelope.DEFERRED) == []


@pytest.mark.req("D-13")
def test_a_deferral_is_told_where_somebody_listens(player: Player, place: Place) -> None:
    player.admission.notify_deferred = True
    player.fire(event())
    player.clock.advance(100)
    [decided] = player.fire(event(key="k"))
    [(_, detail, _)] = messages(place, envelope.DEFERRED)
    assert detail["defer_until_epoch"] * SECOND == decided.verdict.defer_until
    assert detail["retry_after_seconds"] == 200
    assert detail["original_idempotency_key"] == "k"


@pytest.mark.req("D-13")
def test_the_retry_runs_and_carries_what_came_meanwhile(player: Player, place: Place) -> None:
    player.fire(event())
    player.clock.advance(100)
    assert player.tell(event(), event()) == ["DEFER COOLDOWN", "SKIP DEBOUNCED"]
    player.clock.advance(60)
    assert player.tell(event()) == ["SKIP COALESCED"]
    player.clock.advance(139)
    assert player.deliver() == [], "not a second early"
    player.clock.advance(1)
    player.settle()
    assert player.verdicts()[-1] == f"ann {SIGNAL} ALLOW"
    assert len(messages(place, envelope.EVALUATION_REQUESTED)) == 2
    assert state_of(player).pending == {}
    assert_verified(player.db)


@pytest.mark.req("D-13")
def test_a_retry_delivered_twice_is_decided_once(player: Player, place: Place) -> None:
    player.fire(event())
    player.clock.advance(100)
    player.fire(event())
    player.clock.advance(200)
    [message] = player.claim([envelope.RETRY])
    player.handle(message)
    ledger = count(place, "ledger")
    player.clock.advance(days=2)
    player.handle(message)
    assert count(place, "ledger") == ledger
    assert len(messages(place, envelope.EVALUATION_REQUESTED)) == 2
    player.ack([message])
    assert_verified(player.db)


@pytest.mark.req("D-13")
def test_the_wait_for_a_lost_retry_ends(player: Player, place: Place) -> None:
    player.fire(event())
    player.clock.advance(100)
    [deferral] = player.fire(event())
    with player.db.begin(ACME) as tx:
        ann = AccountId("ann")
        assert not end_pending(tx, AccountId("nobody"), SIGNAL, deferral.decision_id)
        assert not end_pending(tx, ann, SIGNAL, DecisionId("another"))
        assert end_pending(tx, ann, SIGNAL, deferral.decision_id)
        assert not end_pending(tx, ann, SIGNAL, deferral.decision_id)
    place.execute(f"delete from outbox where topic = '{envelope.RETRY}'")
    player.clock.advance(100)
    assert player.tell(event()) == ["DEFER COOLDOWN"], "and not COALESCED"


def signal(key: str | None = None, **more: object) -> NewSignal:
    return NewSignal(AccountId("ann"), "news", idempotency_key=key, **more)


@pytest.mark.req("D-06")
def test_a_run_is_told_every_signal_since_the_last_allow(player: Player, place: Place) -> None:
    def send(*names: str) -> list[str]:
        news = [signal(signal_id=SignalId(name)) for name in names]
        return [told(decided) for _, decided in ingest_signals(player.admission, ACME, news)]

    assert send("a", "b", "a") == ["ALLOW", "SKIP DEBOUNCED", "SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    player.clock.advance(100)
    assert send("c", "d") == ["DEFER COOLDOWN", "SKIP DEBOUNCED"]
    player.clock.advance(200)
    player.settle()
    assert send("e") == ["DEFER COOLDOWN"]
    first, second = (run for _, run, _ in messages(place, envelope.EVALUATION_REQUESTED))
    with player.db.read(ACME) as tx:
        seen = [
            [
                s.signal_id
                for s in signals.between(
                    tx, AccountId("ann"), run["signals_after"], run["signals_until"], 100
                )
            ]
            for run in (first, second)
        ]
    assert seen == [["a"], ["b", "c", "d"]]
    assert_verified(player.db)


# -- windows -----------------------------------------------------------------------------------


@pytest.mark.req("D-08")
def test_an_hour_rolls_over_by_itself(player: Player) -> None:
    player.policy(
        "spread_seconds = 0\n[triggers.SIGNAL_ARRIVED]\ndebounce_seconds = 0\n"
        "cooldown_seconds = 0\nmax_per_account_per_hour = 2\nmax_per_tenant_per_hour = 3\n"
    )
    said = player.tell(event(), event(), event(), event("bob"), event("bob"))
    assert said == [
        "ALLOW",
        "ALLOW",
        "DEFER ACCOUNT_HOURLY_CAP",
        "ALLOW",
        "DEFER TENANT_HOURLY_CAP",
    ]
    player.live_until(Instant(player.clock.at + HOUR))
    assert sorted(player.verdicts()[-2:]) == [f"ann {SIGNAL} ALLOW", f"bob {SIGNAL} ALLOW"]
    assert_verified(player.db)


@pytest.mark.req("D-10")
def test_a_day_rolls_over_by_itself(player: Player) -> None:
    player.policy("run_budget_per_day = 2\n")
    names = [event(f"a{n}") for n in range(3)]
    assert player.tell(*names) == ["ALLOW", "ALLOW", "SKIP BUDGET_EXHAUSTED"]
    player.clock.advance(hours=23, minutes=59, seconds=59)
    assert player.tell(event("x")) == ["SKIP BUDGET_EXHAUSTED"]
    player.clock.advance(0.000001)  # times are whole seconds, rounded up
    assert player.tell(event("y"), event("z"), event("w")) == [
        "ALLOW",
        "ALLOW",
        "SKIP BUDGET_EXHAUSTED",
    ]
    assert_verified(player.db)


@pytest.mark.req("D-08", "D-10", "D-12")
def test_a_clock_that_steps_back_opens_nothing_again(player: Player) -> None:
    player.policy(
        "spread_seconds = 0\nrun_budget_per_day = 3\n[triggers.SIGNAL_ARRIVED]\n"
        "debounce_seconds = 0\nmax_per_tenant_per_hour = 2\n"
    )
    player.clock.advance(days=1)
    assert player.tell(event("a"), event("b")) == ["ALLOW", "ALLOW"]
    player.clock.advance(hours=-2)
    [decided] = player.fire(event("c"))
    assert told(decided) == "DEFER TENANT_HOURLY_CAP"
    assert decided.verdict.defer_until == player.clock.at + 3 * HOUR
    assert player.tell(event("d", LIFECYCLE), event("e", LIFECYCLE)) == [
        "ALLOW",
        "SKIP BUDGET_EXHAUSTED",
    ]
    assert player.tell(event("a", LIFECYCLE)) == ["SKIP BUDGET_EXHAUSTED"]
    assert player.clock.at // DAY < (player.clock.at + 2 * HOUR) // DAY
    assert_verified(player.db)


# -- cost and record ------------------------------------------------------------------------------


@pytest.mark.req("D-17")
def test_the_number_of_statements_does_not_depend_on_the_events(player, monkeypatch) -> None:
    sent: list[str] = []
    for name in ("rows", "run", "run_many", "send"):
        original = getattr(Session, name)

        def counting(self, statement, *rest, original=original):
            sent.append(statement)
            return original(self, statement, *rest)

        monkeypatch.setattr(Session, name, counting)
    player.fire(event("warm"))

    def cost(size: int) -> int:
        sent.clear()
        events = [event(f"{size}-{n // 2}", BRIEF if n % 2 else SIGNAL) for n in range(size)]
        assert set(player.tell(*events)) == {"ALLOW", "DEFER COOLDOWN"}
        return len(sent)

    few = cost(2)
    assert few <= 7
    assert cost(20) == cost(SLICE) == few
    slices = 1000 // SLICE
    assert cost(1000) <= few + 2 * slices, "a large batch is written in slices"


@pytest.mark.req("D-18", "T-01")
def test_every_evaluation_is_an_entry_that_can_be_found(player: Player) -> None:
    player.fire(
        event("ann", correlation_id="c-1"), event("ann"), event("bob", correlation_id="c-1")
    )
    player.clock.advance(100)
    player.fire(event("ann"), event("bob", "NEVER_HEARD_OF"))
    assert len(player.entries(kind="verdict")) == 5
    assert len(player.entries(correlation_id="c-1")) == 2
    assert len(player.entries(subject="ann", result="SKIP")) == 1
    assert len(player.entries(result="DEFER", reason="COOLDOWN")) == 1
    [deferred] = player.entries(result="DEFER")
    data = loads(deferred.entry.data)
    assert data["now"] == deferred.entry.at == player.clock.at
    assert data["policy"]["version"] == 0
    assert len(data["policy"]["hash"]) == 64
    assert [e.seq for e in player.entries()] == list(range(1, 7)), "dense, from the tenant's first"


@pytest.mark.req("T-01")
@pytest.mark.parametrize(
    "change", ["update ledger set subject = 'x'", "delete from ledger"], ids=["update", "delete"]
)
def test_the_database_refuses_to_change_the_ledger(player: Player, place: Place, change) -> None:
    player.fire(event())
    before = place.execute("select seq, subject from ledger order by seq")
    with pytest.raises(Exception, match=r"refused|append-only"):
        place.execute(change)
    assert place.execute("select seq, subject from ledger order by seq") == before
