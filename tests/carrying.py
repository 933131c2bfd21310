"""Plans carried out by hand: an orchestrator of a test's own, and what must hold of every plan."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import psycopg

from tests.databases import Place
from watchkeeper import App
from watchkeeper.act_results import Action, Outcome, Plan
from watchkeeper.actions.deliver_messages import exchange, finish, prepared
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.core.plans import (
    ENDED,
    LIVE,
    OPEN,
    PLAN_MOVES,
    IntentState,
    PlanStatus,
    StepStatus,
)
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import DELIVERED, Ended, NotStarted
from watchkeeper.moves.plan_desk import ACTION_REQUESTED, CYCLE
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NAMESPACE

KIND = "RENEWAL_DEFENSE"
MEET, BRIEF, ESCALATE = STEPS = (
    "REQUEST_RENEWAL_MEETING",
    "PREP_RENEWAL_BRIEF",
    "ESCALATE_SUPPORT_RISK",
)
AUTO = '[autonomy]\nmode = "auto_low_risk"\n'
ACME = "acme"


class Orchestrator:
    """One process that carries plans: cycles and actions come when the test says so."""

    def __init__(self, url: str, policy: str | None = AUTO, *, risk: str = "low") -> None:
        self.app = App(url, migrate=False, pool_size=4)
        if policy is not None:
            self.app.apply_policy(policy, reason="test")
        self.calls: list[tuple[str, str, int]] = []
        self.answers: dict[str, Callable[[Action], Any]] = {}
        self.db, self.plans, self.intents = self.app.db, self.app.plans, self.app.intents
        for name in STEPS:
            self.app.action(name, risk=risk)(self._called)

    def _called(self, action: Action) -> Any:
        self.calls.append((action.plan_id, action.step_id, action.attempt))
        answer = self.answers.get(action.step_id) or self.answers.get("")
        return None if answer is None else answer(action)

    def fails(self, step_id: str = "") -> None:
        self.answers[step_id] = lambda _action: Outcome.failure("no")

    def later(self, step_id: str = "") -> None:
        self.answers[step_id] = lambda _action: Outcome.later()

    def succeeds(self, step_id: str = "") -> None:
        self.answers[step_id] = lambda _action: Outcome.success()

    # -- plans ------------------------------------------------------------------------------

    def draft(
        self, account: str = "ann", steps: Sequence[Mapping[str, Any] | str] = STEPS, **more: Any
    ) -> str:
        tenant = more.pop("tenant", ACME)
        return self.plans.create(tenant, account, more.pop("kind", KIND), steps, **more).plan_id

    def approved(self, account: str = "ann", steps: Any = STEPS, **more: Any) -> str:
        plan_id = self.draft(account, steps, **more)
        self.plans.approve(plan_id, by="ann")
        return plan_id

    def active(self, account: str = "ann", steps: Any = STEPS, **more: Any) -> str:
        """A plan whose first step has been started and whose action is not begun."""
        plan_id = self.approved(account, steps, **more)
        self.cycle()
        assert self.status(plan_id) == "ACTIVE"
        return plan_id

    def executing(self, account: str = "ann", steps: Any = STEPS, **more: Any) -> tuple[str, str]:
        """A plan whose first action is being carried out outside; and that intent."""
        plan_id = self.active(account, steps, **more)
        self.answers[""] = lambda _action: Outcome.later()
        self.act()
        intent = self.under_way(plan_id)
        assert self.intents.get(intent).status == "EXECUTING"
        return plan_id, intent

    def cycle(self) -> dict[str, int]:
        return dict(self.plans.run_cycle(ACME))

    def drain(self) -> None:
        self.app.drain()

    def get(self, plan_id: str) -> Plan:
        return self.plans.get(plan_id)

    def status(self, plan_id: str) -> str:
        return self.get(plan_id).status

    def steps(self, plan_id: str) -> list[str]:
        return [step.status for step in self.get(plan_id).steps]

    def under_way(self, plan_id: str) -> str:
        [intent] = [
            one for one in self.get(plan_id).intents if one.status in OPEN and not one.is_late
        ]
        return intent.intent_id

    # -- actions, step by step ----------------------------------------------------------------

    def claim(self, topic: str = ACTION_REQUESTED, limit: int = 100) -> list[Message]:
        """As a worker does; those without an attempt left are buried."""
        rule = self.app.registry.rule_for(topic)
        claimed = exchange(self.db, [], [queue_for(NAMESPACE, topic, rule, limit)]).claimed
        bury_exhausted(self.db, self.app.registry, claimed)
        return [m for m in claimed if m.dead_reason is None]

    def start(self, *messages: Message) -> dict[str, Action]:
        """By message, what its handler is to be called with; the others are ended."""
        topic = self.app.registry.of(messages[0])
        ready, over = prepared(self.db, topic, messages)
        finish(self.db, self.app.registry, over)
        return {message.id: told for message, told in ready}

    def end(self, message: Message, action: Action, answer: object = None) -> dict[str, int]:
        if isinstance(answer, NotStarted):
            ended = Ended(message, action, answer)
        elif isinstance(answer, BaseException):
            ended = Ended(message, action, result_of(answer))
        else:
            ended = Ended(message, action, DELIVERED, answer)
        return dict(finish(self.db, self.app.registry, [ended]))

    def act(self) -> int:
        """Carry out the actions that are asked for now, and no cycle; how many there were."""
        messages = self.claim()
        for message, action in [(m, a) for m in messages for a in self.start(m).values()]:
            try:
                answer = self._called(action)
            except BaseException as error:
                answer = error
            self.end(message, action, answer)
        return len(messages)

    def close(self) -> None:
        self.app.close()


# -- what is there ---------------------------------------------------------------------------------


def kinds(place: Any, plan_id: str | None = None) -> list[str]:
    """The ledger of a plan, or of all: kinds, oldest first."""
    of = "" if plan_id is None else f" and subject = '{plan_id}'"
    rows = place.execute(f"select kind from ledger where stage = 'act'{of} order by seq")
    return [row[0] for row in rows]


def entries(place: Any, plan_id: str, kind: str) -> list[dict[str, Any]]:
    rows = place.execute(
        "select reason, data from ledger where stage = 'act'"
        f" and subject = '{plan_id}' and kind = '{kind}' order by seq"
    )
    return [{"reason": reason, **document(data)} for reason, data in rows]


def document(data: Any) -> dict[str, Any]:
    return loads(data) if isinstance(data, str) else data


def messages(place: Any, topic: str = ACTION_REQUESTED) -> list[dict[str, Any]]:
    """What waits in the outbox or is being worked on, of a topic."""
    rows = place.execute(
        f"select payload from outbox where topic = '{topic}' and status <> 'dead' order by seq"
    )
    return [document(row[0]) for row in rows]


MOVED = {
    "PLAN_CREATED": PlanStatus.DRAFT,
    "PLAN_APPROVED": PlanStatus.APPROVED,
    "PLAN_ACTIVATED": PlanStatus.ACTIVE,
    "PLAN_PAUSED": PlanStatus.PAUSED,
    "PLAN_RESUMED": PlanStatus.ACTIVE,
    "PLAN_COMPLETED": PlanStatus.COMPLETED,
    "PLAN_ABORTED": PlanStatus.ABORTED,
    "PLAN_EXPIRED": PlanStatus.EXPIRED,
}
IN_FLIGHT = (StepStatus.PENDING_APPROVAL, StepStatus.AUTO_EXECUTED)


def sound(place: Any, *, slack_us: int = 0) -> None:
    """What holds of all plans after every transaction, read behind the product's back.

    `slack_us` is how late the next cycle may be.
    """
    plans = place.execute(
        "select plan_id, status, account_id, plan_type, due_at, expires_at, tenant_id from plans"
    )
    steps, intents, told = defaultdict(list), defaultdict(list), defaultdict(list)
    for plan_id, *step in place.execute(
        "select plan_id, step_id, status, attempts, spared, sequence, position from plan_steps"
    ):
        steps[str(plan_id)].append(step)
    for plan_id, *intent in place.execute(
        "select plan_id, step_id, attempt, state, is_late, message_id, executing_at from intents"
    ):
        intents[str(plan_id)].append(intent)
    for plan_id, kind in place.execute(
        "select subject, kind from ledger where stage = 'act' order by tenant_id, seq"
    ):
        told[str(plan_id)].append(kind)
    waiting = {str(row[0]) for row in place.execute("select id from outbox where status <> 'dead'")}
    [(now,)] = place.execute("select now_at from clock") or [(None,)]
    active = [(tenant, account, kind) for _, s, account, kind, *_, tenant in plans if s == "ACTIVE"]
    assert len(active) == len(set(active)), "one active plan for an account and a type"
    for plan_id, status, *_, due_at, expires_at, _tenant in plans:
        id = str(plan_id)
        last = expires_at if now is None else max(expires_at, now)
        _plan_is_sound(PlanStatus(status), due_at, last, told[id])
        _steps_are_sound(PlanStatus(status), steps[id], intents[id], told[id])
        for _, _, state, is_late, message_id, _ in intents[id]:
            is_wanted = status == "ACTIVE" and (now is None or now < expires_at)
            if state == "APPROVED" and not is_late and is_wanted:
                assert str(message_id) in waiting, "what is approved is asked for"
    _cycles_are_planned(place, slack_us)


def _plan_is_sound(status: PlanStatus, due_at: Any, expires_at: Any, told: list[str]) -> None:
    way = [MOVED[kind] for kind in told if kind in MOVED]
    assert way[0] is PlanStatus.DRAFT
    for before, after in pairwise(way):
        is_approved_again = before is after is PlanStatus.APPROVED
        assert after in PLAN_MOVES[before] or is_approved_again, way
    assert way[-1] is status, "the ledger tells how it came to be what it is"
    if status in LIVE:
        assert due_at is not None
        assert due_at <= expires_at, "it is looked at when it expires, or before"


def _steps_are_sound(
    status: PlanStatus, steps: list[Any], intents: list[Any], told: list[str]
) -> None:
    under_way = [i for i in intents if i[2] in OPEN and not i[3]]
    assert len(under_way) <= 1
    if status in ENDED:
        assert not under_way
    else:
        in_flight = [step[0] for step in steps if step[1] in IN_FLIGHT]
        assert in_flight == [intent[0] for intent in under_way]
    for step_id, step_status, attempts, spared, *_ in steps:
        numbers = sorted(i[1] for i in intents if i[0] == step_id)
        assert numbers == list(range(1, attempts + 1)), "each attempt has one number"
        assert 0 <= spared <= attempts
        done = [
            i for i in intents if i[0] == step_id and i[2] == IntentState.SUCCEEDED and not i[3]
        ]
        assert len(done) == (step_status == StepStatus.DONE)
    for intent in intents:
        if intent[2] in (IntentState.EXECUTING, IntentState.SUCCEEDED):
            assert intent[5] is not None, "begun before it ended"
    assert told.count("STEP_STARTED") == len(intents)
    order = sorted(steps, key=lambda step: (step[4], step[5]))
    begun = [step[2] > 0 for step in order]
    over = [step[1] in (StepStatus.DONE, StepStatus.SKIPPED) for step in order]
    for place, is_begun in enumerate(begun):
        assert not is_begun or all(over[:place]), "nothing later starts before it"


def _cycles_are_planned(place: Any, slack_us: int) -> None:
    due = place.execute(
        "select tenant_id, min(due_at) from plans where due_at is not null group by tenant_id"
    )
    planned = dict(place.execute("select tenant_id, due_at from plan_cycles"))
    live = place.execute(
        f"select tenant_id, payload from outbox where topic = '{CYCLE}' and status <> 'dead'"
    )
    coming = {(tenant, document(payload)["due_at"]) for tenant, payload in live}
    [(now,)] = place.execute("select now_at from clock") or [(None,)]
    for tenant_id, at in due:
        assert tenant_id in planned, "what is due is looked at"
        assert now is None or planned[tenant_id] <= max(at, now) + slack_us
        assert (tenant_id, planned[tenant_id]) in coming, "a cycle that is planned has its message"


class Look:
    """The same database over one connection that stays open: there are many looks."""

    def __init__(self, place: Place) -> None:
        self.engine = place.engine
        if place.engine == "sqlite":
            self.raw: Any = sqlite3.connect(place.name, timeout=30, isolation_level=None)
            self.raw.execute("pragma synchronous = off")
        else:
            self.raw = psycopg.connect(place.admin_url, autocommit=True)

    def execute(self, statement: str) -> list[tuple]:
        cursor = self.raw.execute(statement)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.raw.close()
