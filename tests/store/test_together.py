"""Writes that travel as one statement, and the one that is done behind all others of them."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.carrying import ACME, MEET, Orchestrator
from tests.databases import Place
from tests.store.test_plan_rules import REFUSED
from watchkeeper.core.ids import IntentId, PlanId, TenantId
from watchkeeper.core.plans import Intent, IntentState, PlanStatus
from watchkeeper.ids import new_id
from watchkeeper.store import intents, plans, tenants
from watchkeeper.store.transaction import Tx

TENANT = TenantId(ACME)


@pytest.fixture
def one(place: Place) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url)
    yield made
    made.close()


def under_way(tx: Tx, plan_id: str) -> tuple[plans.Loaded, Intent]:
    tenants.lock(tx)
    found = plans.load(tx, [plan_id])[PlanId(plan_id)]
    [intent] = found.intents
    return found, intent


def after(intent: Intent, state: IntentState = IntentState.EXECUTING) -> Intent:
    """The attempt after this one."""
    return intent._replace(
        intent_id=IntentId(new_id()), attempt=intent.attempt + 1, state=state, message_id=None
    )


def over(tx: Tx, intent: Intent) -> Intent:
    return intent._replace(state=IntentState.SUCCEEDED, ended_at=tx.now)


def stored(one: Orchestrator, plan_id: str) -> tuple[str, list[str]]:
    plan = one.get(plan_id)
    return plan.status, [intent.status for intent in plan.intents]


@pytest.mark.req("A-05", "A-09")
def test_an_attempt_is_born_behind_the_end_of_the_one_before_it(one: Orchestrator) -> None:
    """Of a plan there is one attempt under way: the other has ended when the new one is written."""
    plan_id, _ = one.executing(steps=[MEET])
    with one.db.batch(TENANT) as tx:
        _, intent = under_way(tx, plan_id)
        with tx.together():
            intents.save(tx, [over(tx, intent)])
            intents.insert(tx, [after(intent)])
    assert stored(one, plan_id) == ("ACTIVE", ["SUCCEEDED", "EXECUTING"])


@pytest.mark.req("A-05", "A-09")
def test_an_attempt_is_born_behind_the_activation_of_its_plan(one: Orchestrator) -> None:
    """Nothing is carried out for a plan that is not active: it is when that is asked."""
    plan_id, _ = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    with one.db.batch(TENANT) as tx:
        found, intent = under_way(tx, plan_id)
        with tx.together():
            intents.save(tx, [over(tx, intent)])
            plans.save(tx, [found.plan._replace(status=PlanStatus.ACTIVE)])
            intents.insert(tx, [after(intent)])
    assert stored(one, plan_id) == ("ACTIVE", ["SUCCEEDED", "EXECUTING"])


@pytest.mark.req("A-05", "A-09")
@pytest.mark.parametrize("without", ["the end", "the activation"])
def test_what_is_missing_is_missed(one: Orchestrator, without: str) -> None:
    plan_id, _ = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")

    def deed() -> None:
        with one.db.batch(TENANT) as tx:
            found, intent = under_way(tx, plan_id)
            with tx.together():
                if without != "the end":
                    intents.save(tx, [over(tx, intent)])
                if without != "the activation":
                    plans.save(tx, [found.plan._replace(status=PlanStatus.ACTIVE)])
                intents.insert(tx, [after(intent)])

    with pytest.raises(REFUSED):
        deed()
    assert stored(one, plan_id) == ("PAUSED", ["EXECUTING"])


@pytest.mark.req("A-09")
def test_one_block_after_another(one: Orchestrator) -> None:
    """What is behind the writes of one block is nothing to the next."""
    plan_id, _ = one.executing(steps=[MEET])
    with one.db.batch(TENANT) as tx:
        found, intent = under_way(tx, plan_id)
        new = after(intent)
        with tx.together():
            intents.save(tx, [over(tx, intent)])
            intents.insert(tx, [new])
        with tx.together():
            intents.save(tx, [over(tx, new)])
            plans.save(tx, [found.plan._replace(status=PlanStatus.PAUSED)])
        with tx.together():
            intents.insert(tx, [after(new, IntentState.PENDING_APPROVAL)])
        with tx.together():
            pass
    assert stored(one, plan_id) == ("PAUSED", ["SUCCEEDED", "SUCCEEDED", "PENDING_APPROVAL"])


@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"])
@pytest.mark.req("A-09")
def test_a_block_is_one_statement(one: Orchestrator, place: Place) -> None:
    """Its writes carry one command number: the database did them in one go."""
    plan_id, _ = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    with one.db.batch(TENANT) as tx:
        found, intent = under_way(tx, plan_id)
        with tx.together():
            intents.save(tx, [over(tx, intent)])
            plans.save(tx, [found.plan._replace(status=PlanStatus.ACTIVE)])
            intents.insert(tx, [after(intent)])
    numbers = "select distinct cmin::text from intents union select cmin::text from plans"
    with psycopg.connect(place.admin_url) as conn:
        assert len(conn.execute(numbers.encode()).fetchall()) == 1


@pytest.mark.req("A-09")
def test_what_is_done_meanwhile_may_fail_and_nothing_is_undone(
    one: Orchestrator, place: Place
) -> None:
    """The answer is waited for all the same: who was told that it failed would do it again."""
    one.approved()

    def fail() -> None:
        raise RuntimeError("can't start new thread")

    with one.db.batch(TENANT, when_sent=fail) as tx:
        tenant = tenants.lock(tx)
        tenant.ledger_seq += 1
        tenants.save_seq(tx, tenant)
    own = f"where tenant_id = '{ACME}'"
    assert place.execute(f"select ledger_seq from tenants {own}") == [(tenant.ledger_seq,)]
    place.execute(f"update tenants set ledger_seq = {tenant.ledger_seq - 1} {own}")
