"""Plans on PostgreSQL: found by their keys from the first row on, however the tables grow."""

import pytest

from tests.carrying import MEET, Orchestrator
from tests.databases import Place
from watchkeeper.core.ids import IntentId, MessageId, TenantId, Token
from watchkeeper.core.time import DAY, Instant
from watchkeeper.ids import new_id, new_token
from watchkeeper.moves.plan_desk import plan_cycle
from watchkeeper.store import intents, outbox, outbox_settle, plan_ends, plans, tenants
from watchkeeper.store.outbox import NewMessage

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.brand_new,
    pytest.mark.parametrize("engine", ["postgresql"]),
]

PLANS = 40
GROWN = 3_000
TABLES = ("plans", "plan_steps", "intents")


def read(place: Place) -> tuple[dict[str, int], int]:
    """Index entries and rows of whole tables that were read so far."""
    named = ", ".join(f"'{name}'" for name in TABLES)
    found = place.execute(
        "select relname, sum(idx_tup_read)::bigint from pg_stat_user_indexes"
        f" where relname in ({named}) group by 1"
    )
    [(scanned,)] = place.execute(
        f"select sum(seq_tup_read)::bigint from pg_stat_user_tables where relname in ({named})"
    )
    return dict(found), scanned


@pytest.mark.req("A-11", "O-06")
def test_a_plan_is_found_by_its_key_in_a_table_that_was_empty_a_moment_ago(place: Place) -> None:
    """Plans of statements are made while there is nothing, and kept: reads must not grow."""
    seen = []
    one = Orchestrator(place.url)
    for number in range(3 * PLANS):
        one.approved(f"a{number}", [MEET])
        one.cycle()
        one.act()
        if number % PLANS == PLANS - 1:
            one.app.db.writer.dispose()  # a connection reports what it did when it ends
            seen.append(read(place))
    one.close()
    first, second, third = (found for found, _ in seen)
    for name in TABLES:
        grown = third[name] - second[name]
        assert grown < 1.2 * (second[name] - first[name]), f"{name}: {first} {second} {third}"
    assert seen[-1][1] == 0, "no table is read whole"


@pytest.mark.req("A-09", "A-11", "O-06")
def test_statements_of_the_hot_path_read_what_they_ask_for(place: Place) -> None:
    """In tables with thousands of rows of the same tenant that nobody has counted yet."""
    one = Orchestrator(place.url)
    plan_id = one.active(steps=[MEET])
    intent = one.get(plan_id).intents[0]
    place.execute(
        "alter table plans disable trigger user; alter table plan_steps disable trigger user;"
        " alter table intents disable trigger user"
    )
    place.execute(
        "insert into plans (tenant_id, plan_id, account_id, plan_type, objective, status, source,"
        " created_at, created_by, expires_at, approved_at, due_at) select 'acme',"
        " gen_random_uuid(), 'x' || n, 'X', 'o', 'PAUSED', 't', 1, 't', 9, 1,"
        f" 4000000000000000 + n from generate_series(1, {GROWN}) n"
    )
    place.execute(
        "insert into plan_steps (tenant_id, plan_id, step_id, action_type, position, sequence,"
        " status) select 'acme', plan_id, 's', 'DO', 0, 1, 'PENDING' from plans where"
        " plan_type = 'X'"
    )
    place.execute(
        "insert into intents (tenant_id, intent_id, plan_id, step_id, attempt, account_id,"
        " action_type, state, created_at, deadline_at, approval) select 'acme', gen_random_uuid(),"
        " plan_id, 's', 1, 'x', 'DO', 'APPROVED', 1, 9, 'x' from plans where plan_type = 'X'"
    )
    place.execute(
        "alter table plans enable trigger user; alter table plan_steps enable trigger user;"
        " alter table intents enable trigger user"
    )
    one.close()
    one = Orchestrator(place.url, None)
    before, scanned_before = read(place)
    tenant = TenantId("acme")
    with one.db.begin(tenant) as tx:
        tenants.lock(tx)
        assert len(plans.due(tx, tx.now, is_new=True, limit=10)) == 0
        assert len(plans.due(tx, tx.now, is_new=False, limit=10)) == 0
        assert plans.next_due(tx) is not None
        found = plans.load(tx, [plan_id])
        [loaded] = found.values()
        [stored] = loaded.intents
        asked = {MessageId(str(stored.message_id)): IntentId(stored.intent_id)}
        assert intents.execute(tx, asked | {MessageId(new_id()): IntentId(new_id())})
        plans.save(tx, [loaded.plan])
        plans.save_steps(tx, [(loaded.plan.plan_id, loaded.steps[0])])
        [begun] = intents.read(tx, [intent.intent_id]).values()
        intents.save(tx, [begun])
        plans.active_of(tx, [("ann", loaded.plan.plan_type)])
        plans.wake(tx, [("ann", loaded.plan.plan_type)])
    with one.db.batch(tenant) as tx:
        tenants.lock(tx)
        assert plans.load_due(tx, tx.now, 10) == ([], [])
        assert plans.read_next_due(plans.send_next_due(tx, [plan_id])) is not None
        plans.active_of(tx, [("ann", loaded.plan.plan_type)])
        assert plan_ends.read(tx, plan_ends.send(tx, [], [plan_id])).plans.keys() == {plan_id}
    one.close()
    after, scanned = read(place)
    for name in TABLES:
        assert after[name] - before[name] < 100, f"{name}: {before[name]} then {after[name]}"
    assert scanned - scanned_before == 0


MESSAGES = 50


@pytest.mark.req("A-09", "O-06")
def test_messages_are_ended_and_taken_away_by_their_keys(place: Place) -> None:
    """Among thousands of the same tenant that nobody has counted yet."""
    one, tenant = Orchestrator(place.url), TenantId("acme")
    one.approved()
    place.execute(
        "insert into outbox (id, tenant_id, namespace, topic, payload, next_attempt_at, is_due,"
        " created_at, updated_at) select gen_random_uuid(), 'acme', 'x', 'x', '{}',"
        f" 9000000000000000, false, 1, 1 from generate_series(1, {GROWN})"
    )
    with one.db.batch(tenant) as tx:
        tenants.lock(tx)
        new = [NewMessage("x", "{}", id=MessageId(new_id())) for _ in range(MESSAGES)]
        claimed = outbox.enqueue_claimed(tx, "x", Token(new_token()), DAY, new)
        plan_cycle(tx, Instant(tx.now + DAY))
    one.close()
    before = looked_at(place)
    one = Orchestrator(place.url, None)
    with one.db.batch(tenant) as tx:
        tenants.lock(tx)
        assert len(outbox_settle.ack(tx, claimed)) == MESSAGES
        plan_cycle(tx, Instant(tx.now + DAY))
    one.close()
    assert looked_at(place) - before < 10 * MESSAGES
    assert place.execute("select count(*) from outbox where topic = 'plan.cycle'") == [(1,)]


def looked_at(place: Place) -> int:
    [(count,)] = place.execute(
        "select (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'outbox')"
        " + (select seq_tup_read from pg_stat_user_tables where relname = 'outbox')"
    )
    return int(count)
