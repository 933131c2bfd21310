"""The audit is audited: every invariant is broken on purpose, and each must be found."""

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, SIGNAL, Player, event
from tests.verify_clean import assert_verified, broken
from watchkeeper.actions.verify import RECOMPUTED, verify
from watchkeeper.core.envelope import EVALUATION_REQUESTED, RETRY
from watchkeeper.core.ids import TenantId
from watchkeeper.ids import new_id
from watchkeeper.store.database import Database
from watchkeeper.store.questions import QUESTIONS, ROWS_MAX

POLICY = """
spread_seconds = 0
run_budget_per_day = 3
[triggers.SIGNAL_ARRIVED]
max_per_account_per_hour = 2
max_per_tenant_per_hour = 3
"""


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    """A sound database: ann and bob have run, ann waits for a retry, a key was repeated."""
    player = Player(db, clock)
    player.policy(POLICY)
    player.fire(event("ann", key="k"), event("bob"), event("ann", key="k"))
    clock.advance(100)
    player.fire(event("ann"))
    assert_verified(db)
    return player


def ledger_copy(place: Place, where: str, **changes: object) -> None:
    """An entry that looks like another one, at the end of the ledger."""
    columns = ["tenant_id", "seq", "entry_id", "at", "stage", "kind", "subject", "correlation_id"]
    columns += ["policy_version", "trigger_type", "result", "reason", "data"]
    kind = "uuid" if place.engine == "postgresql" else "text"
    values = {name: name for name in columns}
    values |= {"seq": "(select max(seq) + 1 from ledger where tenant_id = 'acme')"}
    values |= {"entry_id": f"cast('{new_id()}' as {kind})"}
    values |= {name: str(value) for name, value in changes.items()}
    picked = ", ".join(values[name] for name in columns)
    place.execute(
        f"insert into ledger ({', '.join(columns)}) select {picked} from ledger"
        f" where tenant_id = 'acme' and {where} order by seq limit 1"
    )
    place.execute("update tenants set ledger_seq = ledger_seq + 1 where tenant_id = 'acme'")


def allow(account: str) -> str:
    return f"result = 'ALLOW' and subject = '{account}'"


def json_text(place: Place, column: str, old: str, new: str) -> str:
    cast = "json" if place.engine == "postgresql" else "text"
    return f"cast(replace(cast({column} as text), '{old}', '{new}') as {cast})"


def a_second_run(place: Place) -> None:
    ledger_copy(place, allow("ann"), at="at + 299999999")


def a_third_run_in_the_hour(place: Place) -> None:
    for minutes in (10, 20):
        ledger_copy(place, allow("ann"), at=f"at + {minutes * 60_000_000}")


def a_fourth_run_of_the_tenant(place: Place) -> None:
    for name in ("cat", "dan"):
        ledger_copy(place, allow("ann"), subject=f"'{name}'")


def an_allow_of_nothing(place: Place) -> None:
    ledger_copy(place, allow("bob"), trigger_type="'NEVER_HEARD_OF'", subject="'cat'")


def two_retries(place: Place) -> None:
    columns = "tenant_id, namespace, topic, payload, next_attempt_at, created_at, updated_at"
    kind = "uuid" if place.engine == "postgresql" else "text"
    place.execute(
        f"insert into outbox (id, {columns}) select cast('{new_id()}' as {kind}), {columns}"
        f" from outbox where topic = '{RETRY}'"
    )


def two_evaluations(place: Place) -> None:
    """Of one deferral, none of them the moved one."""
    [(deferral,)] = place.execute("select entry_id from ledger where result = 'DEFER'")
    data = json_text(
        place, "data", '"idempotency_key"', f'"retry_of":"{deferral}","idempotency_key"'
    )
    for _ in range(2):
        ledger_copy(place, "reason = 'COOLDOWN'", result="'SKIP'", data=data)


def a_retry_of_nothing(place: Place) -> None:
    [(deferral,)] = place.execute("select entry_id from ledger where result = 'DEFER'")
    payload = json_text(place, "payload", str(deferral), new_id())
    place.execute(f"update outbox set payload = {payload} where topic = '{RETRY}'")


def a_key_twice(place: Place) -> None:
    ledger_copy(place, allow("ann"), result="'SKIP'", reason="'DEBOUNCED'")


def a_repeat_of_nothing(place: Place) -> None:
    [(first,)] = place.execute(f"select entry_id from ledger where {allow('ann')}")
    data = json_text(place, "data", f'"duplicate_of":"{first}', f'"duplicate_of":"{new_id()}')
    ledger_copy(place, "reason = 'DUPLICATE_IDEMPOTENCY_KEY'", data=data)


def a_lost_run(place: Place) -> None:
    place.execute(f"delete from outbox where topic = '{EVALUATION_REQUESTED}'")


def a_run_of_nothing(place: Place) -> None:
    place.execute(f"update outbox set topic = '{EVALUATION_REQUESTED}' where topic = '{RETRY}'")


def a_stored_run_of_nothing(place: Place) -> None:
    place.execute(
        "insert into runs (tenant_id, decision_id, account_id, trigger_type, state)"
        f" values ('acme', '{new_id()}', 'ann', 'X', 'RUNNING')"
    )


def a_lost_retry(place: Place) -> None:
    place.execute(f"delete from outbox where topic = '{RETRY}'")


def a_lease_that_is_over(place: Place) -> None:
    place.execute(
        "update outbox set status = 'processing', attempts = 1, is_due = true,"
        f" locked_by = '{new_id()}', locked_until = 1 where topic = '{EVALUATION_REQUESTED}'"
    )


def a_lease_without_end(place: Place) -> None:
    """A worker has delivered such a message since, and did not take this one over."""
    a_lease_that_is_over(place)
    columns = "tenant_id, namespace, topic, payload, attempts, generation, next_attempt_at"
    kind = "uuid" if place.engine == "postgresql" else "text"
    place.execute(
        f"insert into outbox_delivered (id, {columns}, created_at, done_at)"
        f" select cast('{new_id()}' as {kind}), {columns}, created_at, 2 from outbox"
        f" where topic = '{EVALUATION_REQUESTED}' limit 1"
    )


def a_death_without_reason(place: Place) -> None:
    place.execute(
        f"update outbox set status = 'dead', done_at = 1 where topic = '{EVALUATION_REQUESTED}'"
    )


def a_message_in_two_places(place: Place) -> None:
    same = "tenant_id, id, namespace, topic, payload, attempts, generation, next_attempt_at"
    place.execute(
        f"insert into outbox_delivered ({same}, created_at, done_at)"
        f" select {same}, created_at, created_at from outbox where topic <> '{RETRY}'"
    )


def a_dedupe_key_twice(place: Place) -> None:
    place.execute(f"update outbox set dedupe_key = 'd' where topic = '{EVALUATION_REQUESTED}'")


def a_gap(place: Place) -> None:
    ledger_copy(place, "kind = 'tenant.created'", seq="1 + 100")
    place.execute("update tenants set ledger_seq = 101 where tenant_id = 'acme'")


def a_counter_ahead(place: Place) -> None:
    place.execute("update tenants set ledger_seq = ledger_seq + 1 where tenant_id = 'acme'")


def a_wrong_day(place: Place) -> None:
    place.execute("update tenants set day_runs = 1 where tenant_id = 'acme'")


def a_wrong_hour(place: Place) -> None:
    place.execute(f"""update tenants set hour_runs = '{{"{SIGNAL}":1}}' where tenant_id = 'acme'""")


def a_forgotten_hour(place: Place) -> None:
    place.execute("update tenants set hour_runs = '{}' where tenant_id = 'acme'")


def a_wrong_last_run(place: Place) -> None:
    place.execute("update accounts set last_allowed_at = last_allowed_at - 1")


def a_forgotten_account(place: Place) -> None:
    place.execute("delete from accounts where account_id = 'bob'")


def a_wrong_count(place: Place) -> None:
    place.execute("update accounts set triggers = replace(triggers, ',1]', ',2]')")


def a_rewritten_verdict(place: Place) -> None:
    data = json_text(place, "data", '"reason":"COOLDOWN"', '"reason":"TENANT_HOURLY_CAP"')
    ledger_copy(place, "reason = 'COOLDOWN'", data=data)


def a_rewritten_column(place: Place) -> None:
    ledger_copy(place, "reason = 'COOLDOWN'", reason="'TENANT_HOURLY_CAP'")


def a_death(place: Place) -> str:
    """A message that is dead, with its line in the ledger."""
    topic = f"topic = '{RETRY}'"
    [(id, at)] = place.execute(f"select id, created_at from outbox where {topic}")
    dead = f"status = 'dead', dead_reason = 'REJECTED', done_at = {at}"
    place.execute(f"update outbox set {dead} where {topic}")
    told = {"kind": "'message.dead'", "subject": f"'{id}'"}
    ledger_copy(place, "kind = 'tenant.created'", at=at, **told)
    return str(id)


def a_death_without_a_line(place: Place) -> None:
    a_death(place)
    place.execute(f"update outbox set done_at = done_at + 1 where topic = '{RETRY}'")


def a_death_told_twice(place: Place) -> None:
    ledger_copy(place, f"subject = '{a_death(place)}'")


def a_discard(place: Place) -> str:
    """A message that was discarded, with its line in the ledger; its row is still there."""
    [(id,)] = place.execute(f"select id from outbox where topic = '{RETRY}'")
    told = {"kind": "'message.discarded'", "subject": f"'{id}'"}
    ledger_copy(place, "kind = 'tenant.created'", **told)
    return str(id)


def a_discard_told_twice(place: Place) -> None:
    id = a_discard(place)
    place.execute(f"delete from outbox where topic = '{RETRY}'")
    ledger_copy(place, f"subject = '{id}'")


CRIMES = {
    a_second_run: "cooldown",
    a_third_run_in_the_hour: "account_hourly_cap",
    a_fourth_run_of_the_tenant: "tenant_hourly_cap",
    an_allow_of_nothing: "known_rules",
    two_retries: "one_retry_per_deferral",
    two_evaluations: "one_retry_per_deferral",
    a_retry_of_nothing: "retry_has_its_deferral",
    a_key_twice: "one_verdict_per_key",
    a_repeat_of_nothing: "repeat_names_its_decision",
    a_lost_run: "allow_has_its_message",
    a_run_of_nothing: "message_has_its_allow",
    a_stored_run_of_nothing: "message_has_its_allow",
    a_lost_retry: "deferral_has_its_retry",
    a_lease_without_end: "leases_end",
    a_death_without_reason: "message_shape",
    a_message_in_two_places: "message_shape",
    a_death_without_a_line: "one_entry_per_death",
    a_death_told_twice: "one_entry_per_death",
    a_discard: "one_entry_per_discard",
    a_discard_told_twice: "one_entry_per_discard",
    a_dedupe_key_twice: "dedupe_keys",
    a_gap: "ledger_is_dense",
    a_counter_ahead: "ledger_is_dense",
    a_wrong_day: "tenant_counters",
    a_wrong_hour: "tenant_counters",
    a_forgotten_hour: "tenant_counters",
    a_wrong_last_run: "account_state",
    a_forgotten_account: "account_state",
    a_wrong_count: "account_counters",
    a_rewritten_verdict: RECOMPUTED,
    a_rewritten_column: RECOMPUTED,
}


@pytest.mark.req("T-30", "T-02")
@pytest.mark.parametrize("crime", CRIMES, ids=lambda crime: crime.__name__)
def test_what_is_broken_is_found(player: Player, place: Place, crime) -> None:
    crime(place)
    found = broken(player.db)
    assert CRIMES[crime] in found, found
    assert all(row["tenant_id"] == "acme" for rows in found.values() for row in rows)
    assert verify(player.db, [TenantId("bolt")], recompute_max=None) != []
    assert all(f.is_clean for f in verify(player.db, [TenantId("bolt")]))


@pytest.mark.req("T-30")
def test_a_lease_that_waits_for_a_worker_is_a_notice(player: Player, place: Place) -> None:
    """After kill -9 of the only worker nothing is wrong: the next one takes over."""
    a_lease_that_is_over(place)
    found = [one for one in verify(player.db) if not one.is_clean]
    assert [(one.invariant, one.is_notice) for one in found] == [("lease_waits_for_a_worker", True)]
    assert found[0].rows[0]["no_worker_since"] is None
    a_lease_without_end(place)
    found = [one for one in verify(player.db) if not one.is_clean and not one.is_notice]
    assert "leases_end" in {one.invariant for one in found}


@pytest.mark.req("T-30")
def test_a_budget_is_judged_like_a_cap(player: Player, place: Place) -> None:
    a_fourth_run_of_the_tenant(place)
    assert "run_budget" in broken(player.db)


@pytest.mark.req("T-30")
def test_a_lost_retry_leaves_an_account_waiting(player: Player, place: Place) -> None:
    a_lost_retry(place)
    assert "awaited_retry_exists" in broken(player.db)
    player.clock.advance(hours=2)
    assert "awaited_retry_exists" not in broken(player.db), "it is overdue: nobody waits any more"


@pytest.mark.req("T-30")
def test_every_invariant_has_its_crime() -> None:
    planted = {*CRIMES.values(), "run_budget", "awaited_retry_exists"}
    assert planted == {*(q.name for q in QUESTIONS), RECOMPUTED}


@pytest.mark.req("T-30")
def test_a_verdict_is_judged_by_the_policy_it_was_given_under(player: Player) -> None:
    player.policy("run_budget_per_day = 0\n[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 9999\n")
    assert_verified(player.db)
    player.policy("[triggers.SIGNAL_ARRIVED]\ndebounce_seconds = 0\ncooldown_seconds = 0\n")
    assert player.tell(event("bob"), event("bob")) == ["ALLOW", "ALLOW"]
    assert_verified(player.db)


@pytest.mark.req("T-30")
def test_only_the_newest_entries_are_looked_at(player: Player, place: Place) -> None:
    """A window that is cut off accuses nobody."""
    a_second_run(place)
    for number in range(30):
        player.fire(event(f"a{number}", "POSTURE_CHANGE", saturation=1.0))
    for newest in (1, 5, 29, 30):
        assert broken(player.db, entries_max=newest) == {}
    assert "cooldown" in broken(player.db, entries_max=100)


@pytest.mark.req("T-30")
def test_few_rows_are_told(player: Player, place: Place) -> None:
    for number in range(ROWS_MAX + 5):
        ledger_copy(place, allow("ann"), at=f"at + {number}")
    assert len(broken(player.db)["cooldown"]) == ROWS_MAX


@pytest.mark.req("T-30")
def test_old_messages_may_be_gone(player: Player, place: Place) -> None:
    player.clock.advance(days=8)
    place.execute("delete from outbox where topic <> 'milestone.tick'")
    assert_verified(player.db)


@pytest.mark.req("T-30", "S-10")
def test_a_message_that_was_redriven_may_die_again(player: Player, place: Place) -> None:
    id = a_death(place)
    assert "one_entry_per_death" not in broken(player.db)
    for kind in ("message.redriven", "message.dead"):
        ledger_copy(place, f"subject = '{id}'", kind=f"'{kind}'")
    assert "one_entry_per_death" not in broken(player.db)


@pytest.mark.req("T-30")
def test_a_discarded_message_is_not_missed(player: Player, place: Place) -> None:
    runs = place.execute(f"select id from outbox where topic = '{EVALUATION_REQUESTED}'")
    place.execute(f"delete from outbox where topic = '{EVALUATION_REQUESTED}'")
    for (id,) in runs:
        ledger_copy(
            place,
            "kind = 'tenant.created'",
            kind="'message.discarded'",
            subject=f"'{id}'",
        )
    assert_verified(player.db)


@pytest.mark.req("T-30")
def test_an_empty_database_is_clean(db: Database) -> None:
    assert_verified(db)
    assert all(f.is_clean for f in verify(db, [ACME]))
