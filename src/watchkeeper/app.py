"""The door for Python programs: one object that holds the database and your handlers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

from watchkeeper import inputs
from watchkeeper.actions.act_topics import register_act
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.advance_clock import (
    start_virtual_clock,
)
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.chores import chores
from watchkeeper.actions.dispatch import CLOSE_SECONDS
from watchkeeper.actions.explain_decision import Explanation, explain_decision
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.actions.locate_tenant import Thing, locate_tenant
from watchkeeper.actions.measure import Measured
from watchkeeper.actions.perceive_topics import register_perceive
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.set_schedule import NewSchedule, remove_schedule, set_schedule
from watchkeeper.actions.tick_milestones import register_milestones
from watchkeeper.actions.topics import register_own
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.watch_turns import watch_turns
from watchkeeper.core.ids import SYSTEM, AccountId, ScheduleId, TenantId
from watchkeeper.core.policy import Policy
from watchkeeper.core.schedule import CatchUp
from watchkeeper.core.sinks import Reach
from watchkeeper.core.time import from_datetime
from watchkeeper.core.turns import NAMESPACE as USAGE_NAMESPACE
from watchkeeper.drain_methods import Clock, DrainMethods
from watchkeeper.handler_methods import HandlerMethods
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import Registry
from watchkeeper.input_types import CatchUpName, SwitchScope
from watchkeeper.ledger_methods import LedgerMethods
from watchkeeper.perceive_methods import PerceiveMethods
from watchkeeper.plan_methods import IntentDoor, PlanDoor
from watchkeeper.report_methods import ReportMethods
from watchkeeper.results import Verdict, verdict_of
from watchkeeper.signal_methods import SignalMethods
from watchkeeper.sink_methods import SinkMethods
from watchkeeper.store.database import AnyEngine, Database, WallClock, open_database, wall_clock
from watchkeeper.store.enqueue_on import enqueue_on
from watchkeeper.store.json import dumps
from watchkeeper.store.keyring import parse_keys
from watchkeeper.store.migrations import HEAD, ensure, version_of
from watchkeeper.store.outage import plain_errors
from watchkeeper.store.outbox import NAMESPACE, NewMessage
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.sqlite import Journal
from watchkeeper.tenant_methods import TenantDoor
from watchkeeper.trust_methods import TrustMethods
from watchkeeper.turn_methods import TurnMethods
from watchkeeper.workers import Workers, WorkerSettings

AUTHOR = "python"

MAY_MIGRATE: ContextVar[bool] = ContextVar("may_migrate", default=True)
"""False while a command imports an app whose database it must not change; it is checked later."""


class App(
    DrainMethods,
    SignalMethods,
    HandlerMethods,
    PerceiveMethods,
    TurnMethods,
    SinkMethods,
    ReportMethods,
    LedgerMethods,
    TrustMethods,
):
    """Watchkeeper in your program: trigger, signal, explain; decide and work with `run`.

    `url` is sqlite:///FILE, sqlite:// (in memory) or postgresql://…, or a SQLAlchemy engine
    of yours, whose database is then used. A missing schema is made, by `migrate_url` or
    WATCHKEEPER_MIGRATE_URL where that is the same database as its owner; a tenant is made on
    its first use.
    """

    def __init__(
        self,
        url: str | AnyEngine = "sqlite:///watchkeeper.db",
        *,
        virtual_clock: bool = False,
        migrate: bool = True,
        migrate_url: str | None = None,
        pool_size: int = 16,
        journal: Journal = "auto",
        usage_namespace: str = USAGE_NAMESPACE,
        webhooks_private: bool = False,
        secrets_key: str | None = None,
        wall: WallClock = wall_clock,
    ) -> None:
        super().__init__()
        self.usage_namespace = usage_namespace
        self.db: Database = open_database(url, pool_size=pool_size, journal=journal, wall=wall)
        self.db.keyring = parse_keys(secrets_key)
        may_migrate = MAY_MIGRATE.get() or self.db.is_in_memory
        if migrate and may_migrate:
            _migrate(self.db, migrate_url)
        if virtual_clock and (may_migrate or version_of(self.db) == HEAD):
            start_virtual_clock(self.db)
        self.admission = Admission(self.db, makes_tenants=True)
        self.tenants = TenantDoor(self.db)
        self.turns = Turns(self.db, makes_tenants=True, namespace=usage_namespace)
        self.registry = Registry(self.db.policies.delivery)
        self.registry.reach = Reach.PUBLIC.widened(private=webhooks_private, dev=False)
        register_own(self.registry, self.admission, usage_namespace)
        register_perceive(self.registry, self.db)
        self.carrier = Plans(self.db, makes_tenants=True)
        register_act(self.registry, self.carrier)
        self.plans = PlanDoor(self.carrier, self.proposers)
        self.intents = IntentDoor(self.carrier)
        register_milestones(self.registry, self.db)
        self.clock = Clock(self)
        self.metrics_registry = Measured(self.db)
        self.is_closed = False
        self.loop = LoopThread()
        self._workers: Workers | None = None

    # -- asking for runs ------------------------------------------------------------

    def trigger(
        self,
        tenant_id: str,
        account_id: str,
        trigger_type: str,
        *,
        idempotency_key: str,
        scheduled_at: datetime | str | None = None,
        correlation_id: str | None = None,
        action_saturation_score: float | None = None,
    ) -> Verdict:
        """Fire a trigger of an account. The verdict is committed when the call returns."""
        event = _given(
            account_id=account_id,
            trigger_type=trigger_type,
            idempotency_key=idempotency_key,
            scheduled_at=_iso(scheduled_at),
            correlation_id=correlation_id,
            action_saturation_score=action_saturation_score,
        )
        return self.trigger_many(tenant_id, [event])[0]

    def trigger_many(self, tenant_id: str, events: Sequence[Mapping[str, object]]) -> list[Verdict]:
        """Fire many triggers: one verdict each, in order. One invalid event refuses all of them."""
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        decided = fire_triggers(self.admission, tenant, inputs.parse_triggers(events))
        return [verdict_of(one) for one in decided]

    def account(
        self,
        tenant_id: str,
        account_id: str,
        *,
        posture: str | None = None,
        lifecycle_state: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> list[Verdict]:
        """Change an account. A change of its posture or lifecycle state fires a trigger."""
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        given = _given(
            posture=posture,
            lifecycle_state=lifecycle_state,
            attributes=None if attributes is None else dict(attributes),
        )
        told = inputs.parse(inputs.AccountIn, given)
        name = inputs.parse_account_id(account_id)
        change = AccountChange(told.posture, told.lifecycle_state, told.attributes)
        decided = change_account(self.admission, tenant, AccountId(name), change)
        return [verdict_of(one) for one in decided]

    def enqueue(
        self,
        connection: object,
        topic: str,
        payload: Mapping[str, Any],
        *,
        tenant_id: str = SYSTEM,
        namespace: str = NAMESPACE,
        due_at: datetime | None = None,
        dedupe_key: str | None = None,
        ordering_key: str | None = None,
    ) -> str:
        """Write a message in your own open transaction, and return its id.

        `connection` is a SQLAlchemy connection or session, or one of psycopg or sqlite3. The
        message is committed with your rows, or rolled back with them.
        """
        self.db.check_open()
        message = NewMessage(
            topic=topic,
            payload=dumps(dict(payload)),
            namespace=namespace,
            tenant_id=TenantId(tenant_id),
            due_at=None if due_at is None else from_datetime(due_at),
            dedupe_key=dedupe_key,
            ordering_key=ordering_key,
        )
        with plain_errors():
            return enqueue_on(connection, [message])[0]

    # -- standing orders ----------------------------------------------------------------

    def apply_policy(
        self, document: str | Mapping[str, object], *, reason: str, author: str = AUTHOR
    ) -> Policy:
        """Apply a policy (TOML text, or a mapping) to every later decision."""
        return apply_policy(self.db, document, author=author, reason=reason)

    def schedule(
        self,
        tenant_id: str,
        schedule_id: str,
        *,
        trigger_type: str,
        cron: str,
        timezone: str = "UTC",
        account_id: str | None = None,
        catch_up: CatchUpName = "fire_once",
        spread_seconds: int | None = None,
    ) -> Schedule:
        """Set a schedule that fires a trigger, for one account or for all of the tenant."""
        given = _given(
            trigger_type=trigger_type,
            cron=cron,
            timezone=timezone,
            account_id=account_id,
            catch_up=catch_up,
            spread_seconds=spread_seconds,
        )
        new = inputs.parse(inputs.ScheduleIn, given)
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        called = ScheduleId(inputs.parse_id(schedule_id, "schedule_id"))
        schedule = NewSchedule(
            trigger_type=new.trigger_type,
            cron=new.cron,
            timezone=new.timezone,
            account_id=None if new.account_id is None else AccountId(new.account_id),
            catch_up=CatchUp(new.catch_up),
            spread_seconds=new.spread_seconds,
        )
        return set_schedule(self.db, tenant, called, schedule, makes_tenant=True)

    def unschedule(self, tenant_id: str, schedule_id: str) -> None:
        remove_schedule(self.db, TenantId(tenant_id), ScheduleId(schedule_id))

    def kill(
        self,
        scope: SwitchScope,
        id: str | None = None,
        *,
        reason: str,
        tenant_id: str = SYSTEM,
        on: bool = True,
    ) -> None:
        """Turn a kill switch on (or off, with `on=False`), for a tenant or for all."""
        set_kill_switch(
            self.db, TenantId(tenant_id), scope, id, on=on, reason=reason, set_by=AUTHOR
        )

    # -- looking back --------------------------------------------------------------------

    def explain(self, decision_id: str, *, tenant_id: str | None = None) -> Explanation:
        """Explain a decision: each check, the one that decided, and the state of its run."""
        owner = locate_tenant(self.db, Thing.DECISION, decision_id, tenant_id)
        return explain_decision(self.db, TenantId(owner), decision_id)

    # -- working --------------------------------------------------------------------------

    def start_workers(self, settings: WorkerSettings | None = None) -> Workers:
        """Start workers in the background. They run until `close`."""
        self.db.check_open()
        if self._workers is None:
            self._workers = Workers(
                self.db,
                self.registry,
                settings,
                chores=chores(self.db, self.registry),
                watches=[partial(watch_turns, self.turns)],
                seals=[partial(seal_ledger, self.db)],
                handlers=self.handler_names(),
            )
            self._workers.start()
        return self._workers

    def run(self, *, host: str = "127.0.0.1", port: int = 8484) -> None:
        """Run the server and the workers in this process, until SIGTERM or SIGINT."""
        self.db.check_open()
        from watchkeeper.http.server import serve_app

        serve_app(self, host=host, port=port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, finish or return their messages, and close the database.

        Every other method then raises `Closed`. `with App(…) as app` closes at the end.
        """
        if self._workers is not None:
            self._workers.stop()
            self._workers = None
        self.is_closed = True
        self.loop.close(CLOSE_SECONDS)
        self.db.close()


def _migrate(db: Database, migrate_url: str | None) -> None:
    try:
        with plain_errors():
            ensure(db, migrate_url=migrate_url or os.environ.get("WATCHKEEPER_MIGRATE_URL"))
    except BaseException:
        db.close()
        raise


def _given(**values: object) -> dict[str, object]:
    """What was said: an argument left at None was not."""
    return {name: value for name, value in values.items() if value is not None}


def _iso(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment
