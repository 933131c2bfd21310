"""Simulate: the code of production, on a database in memory, on a clock that jumps.

Arrivals go through the real admission; retries, runs, pulls and quota follow from that as
they would. Nothing of it is a model of Watchkeeper, so that nothing of it can be out of date.
Only the handlers are stand-ins: a run reports the usage it was said to, a pull finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.advance_clock import start_virtual_clock
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.arrivals import TENANTS_MAX, Arrival, Player
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.dispatch import drain
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.meter_runs import Metering
from watchkeeper.actions.perceive_topics import register_perceive, register_pulls
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
from watchkeeper.actions.show_turn import show_quota
from watchkeeper.actions.simulated import BurnDown, Simulation, Tally
from watchkeeper.actions.topics import register_decision, register_own, register_usage_sink
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import SYSTEM, DecisionId, SignalId, TenantId
from watchkeeper.core.policy import Policy, delivery_for, rules_for
from watchkeeper.core.pulls import Budget
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant, day_of
from watchkeeper.core.turns import NAMESPACE as USAGE_NAMESPACE
from watchkeeper.errors import Invalid
from watchkeeper.handlers.registry import Registry
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked, Decided
from watchkeeper.results import Decision, Pull, Run
from watchkeeper.store import clock, outbox_claim, tenants
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import open_database
from watchkeeper.store.migrations import upgrade
from watchkeeper.store.transaction import Tx

START = Instant(1_893_974_400 * SECOND)  # 2030-01-07, a Monday
SPAN_MAX_US = 92 * DAY
STEP_MAX_US = HOUR
STARVED_AFTER_US = 4 * HOUR
AUTHOR = "simulation"

Progress = Callable[[int, int], None]
"""Told how many seconds of how many have been gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What runs and pulls cost in the simulation. Without any of it, only runs are counted."""

    model: str | None = None  # runs are metered by it
    input_tokens: int = 0
    output_tokens: int = 0
    connectors: Mapping[str, tuple[int, int]] | None = None  # units of a shallow, a deep pull
    pull_budget: Budget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that a simulation depends on; the same scene gives the same answer."""

    players: Sequence[Player]
    arrivals: Sequence[Arrival]
    since: Instant
    until: Instant
    policy: Policy
    policy_from: str = "given"
    source: str = "synthetic"
    seed: int | None = None
    demand: Demand = Demand()
    step_us: int = MINUTE
    starved_after_us: int = STARVED_AFTER_US


def simulate(scene: Scene, on_progress: Progress | None = None) -> Simulation:
    """Play a scene from its beginning to its end. Raises Invalid for one that cannot be played."""
    _checked(scene)
    stage = _Stage(scene)
    try:
        stage.set_up()
        stage.play(on_progress)
        return stage.found()
    finally:
        stage.db.close()


def _checked(scene: Scene) -> None:
    if not 1 <= len(scene.players) <= TENANTS_MAX:
        raise Invalid.at("tenants", f"must be from 1 to {TENANTS_MAX}")
    if not 0 < scene.until - scene.since <= SPAN_MAX_US:
        raise Invalid.at("length", f"must be more than nothing, at most {SPAN_MAX_US // DAY} days")
    if not SECOND <= scene.step_us <= STEP_MAX_US or scene.step_us % SECOND:
        raise Invalid.at("step", "must be whole seconds, at most an hour")
    if scene.starved_after_us < 1:
        raise Invalid.at("starved_after", "must be more than nothing")
    demand = scene.demand
    if demand.model is None and (demand.input_tokens or demand.output_tokens):
        raise Invalid.at("model", "name the model whose tokens these are")
    for player in scene.players:
        rules = rules_for(scene.policy, player.tenant_id, player.tier)
        if demand.model is not None and demand.model not in rules.quota.models:
            raise Invalid.at("model", f"policy has no model {demand.model}")
    if demand.connectors and demand.pull_budget is None:
        raise Invalid.at("pull_units", "connectors are used only where there is a budget")


class _Watched(Admission):
    """The door of admission, with somebody who writes down what comes out of it."""

    tally: Tally

    def admit_with(
        self,
        tenant_id: TenantId,
        prepare: Callable[[Tx], Sequence[Asked]],
        *,
        seen_before: bool = False,
    ) -> list[Decided]:
        answers = super().admit_with(tenant_id, prepare, seen_before=seen_before)
        self.tally.decided(tenant_id, answers)
        return answers


class _Stage:
    """One database in memory, with everything that a worker of production has."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.now = scene.since
        self.db = open_database("sqlite://", wall=lambda: scene.since)
        self.tally = Tally(scene.since, scene.until, scene.starved_after_us)
        self.admission = _Watched(self.db)
        self.admission.tally = self.tally
        self.registry = Registry(cache(lambda topic: delivery_for(scene.policy, topic)))
        self.budgets: dict[tuple[str, str], BurnDown] = {}

    # -- before it begins ------------------------------------------------------------

    def set_up(self) -> None:
        upgrade(self.db.writer)
        start_virtual_clock(self.db)
        apply_policy(self.db, self.scene.policy.effective, author=AUTHOR, reason="simulate")
        register_own(self.registry, self.admission, USAGE_NAMESPACE)
        register_perceive(self.registry, self.db)
        register_usage_sink(self.registry, lambda _: None, USAGE_NAMESPACE)
        demand = self.scene.demand
        metering = Metering(demand.model, demand.input_tokens, demand.output_tokens)
        register_decision(self.registry, self._decide, metering)
        self._connect()
        for player in self.scene.players:
            create_tenant(self.db, player.tenant_id, tier=player.tier, installed_now=False)
            if demand.pull_budget is not None:
                set_pull_budget(self.db, player.tenant_id, demand.pull_budget, by=AUTHOR)

    def _connect(self) -> None:
        units = self.scene.demand.connectors or {}
        for name, (shallow, deep) in units.items():
            known = Connector(name, shallow_units=shallow, deep_units=deep, has_cadence=True)
            register_connector(self.db, known)
        if units:
            handlers = dict.fromkeys(units, self._pull)
            register_pulls(self.registry, self.admission, handlers, lambda *_: [])

    def _decide(self, run: Run) -> Decision:
        self.tally.ran(run.tenant_id, run.account_id, self.now)
        demand = self.scene.demand
        if demand.model is None:
            return Decision()
        tokens = {"input_tokens": demand.input_tokens, "output_tokens": demand.output_tokens}
        return Decision(usage=tokens)

    async def _pull(self, _: Pull) -> None:
        self.tally.hour(self.now).pulls += 1

    # -- while it goes on --------------------------------------------------------------

    def play(self, on_progress: Progress | None) -> None:
        """From one instant at which something arrives or falls due to the next."""
        since, until = self.scene.since, self.scene.until
        waiting = self._by_step()
        drain(self.db, self.registry)
        arriving = next(waiting, None)
        while (at := self._next_at(None if arriving is None else arriving[0])) < until:
            self._go_to(at)
            if arriving is not None and arriving[0] == at:
                self._arrive(arriving[1])
                arriving = next(waiting, None)
            drain(self.db, self.registry)
            if on_progress is not None:
                on_progress((at - since) // SECOND, (until - since) // SECOND)
        self._go_to(until)

    def _by_step(self) -> Iterator[tuple[Instant, list[Arrival]]]:
        for at, those in groupby(self.scene.arrivals, key=lambda one: self._step(one.at)):
            if at < self.scene.until:
                yield at, list(those)

    def _step(self, at: Instant) -> Instant:
        """The step at which it is seen: the next one, as by a worker that looks that often."""
        step = self.scene.step_us
        return Instant(max(self.scene.since, -(-at // step) * step))

    def _next_at(self, arrival_at: Instant | None) -> Instant:
        with self.db.read_system() as tx:
            due_at = outbox_claim.next_due(tx)
        later = Instant(self.now + 1)
        due = self.scene.until if due_at is None else self._step(max(due_at, later))
        return due if arrival_at is None else min(due, arrival_at)

    def _go_to(self, at: Instant) -> None:
        """Move the clock, and look at the budgets at the end of each hour on the way."""
        end = Instant((self.now // HOUR + 1) * HOUR)
        while end <= at:
            self._move(Instant(end - 1))
            self._look(Instant(end - HOUR))
            self.now = end
            end = Instant(end + HOUR)
        if at == self.scene.until and at % HOUR:
            self._move(at)
            self._look(Instant(at // HOUR * HOUR))
        elif at < self.scene.until:
            self._move(at)

    def _move(self, at: Instant) -> None:
        self.now = at
        with self.db.begin(SYSTEM) as tx:
            clock.move_to(tx, at)

    def _arrive(self, arrivals: Sequence[Arrival]) -> None:
        self.tally.hour(self.now).events += len(arrivals)
        for tenant_id, those in groupby(
            sorted(arrivals, key=lambda one: one.tenant_id), key=lambda one: one.tenant_id
        ):
            for is_signal, alike in groupby(those, key=lambda one: one.is_signal):
                if is_signal:
                    ingest_signals(self.admission, tenant_id, [_signal(one) for one in alike])
                else:
                    self.admission.admit(tenant_id, [_asked(one) for one in alike])

    def _look(self, hour_at: Instant) -> None:
        for player in self.scene.players:
            self._look_at(player.tenant_id, Instant(max(hour_at, self.scene.since)))

    def _look_at(self, tenant_id: TenantId, at: Instant) -> None:
        with self.db.read(tenant_id) as tx:
            runs, rules = tenants.runs(tx), self.db.policies.exact(tx).rules
        used = 0 if runs is None else runs.runs_in_day(day_of(self.now))
        self._point(tenant_id, "runs a day", "runs", rules.run_budget_per_day, at, used)
        if self.scene.demand.pull_budget is not None:
            spent = show_pull_budget(self.db, tenant_id)
            limit = None if spent.budget is None else spent.budget.total
            name = "pull units a day"
            self._point(tenant_id, name, "units", limit, at, spent.total.units)
            for connector_id, (consumed, _) in spent.connectors.items():
                cap = None if spent.budget is None else spent.budget.cap(connector_id)
                named = f"{name}, {connector_id}"
                self._point(tenant_id, named, "units", cap, at, consumed.units)
        if self.scene.demand.model is not None:
            for one in show_quota(self.db, tenant_id):
                name = f"quota {one.period}, {one.bucket}"
                filled = one.spent + one.reserved
                self._point(tenant_id, name, "micro-credits", one.limit, at, filled)

    def _point(
        self, tenant_id: str, name: str, unit: str, limit: int | None, at: Instant, used: int
    ) -> None:
        key = (tenant_id, name)
        if key not in self.budgets:
            self.budgets[key] = BurnDown(tenant_id, name, unit, limit)
        self.budgets[key].points.append((at, used))

    # -- when it is over -----------------------------------------------------------------

    def found(self) -> Simulation:
        scene = self.scene
        accounts = {(one.tenant_id, one.account_id) for one in scene.arrivals}
        return Simulation(
            source=scene.source,
            seed=scene.seed,
            since=scene.since,
            until=scene.until,
            step_us=scene.step_us,
            policy_from=scene.policy_from,
            policy_hash=scene.policy.hash,
            tenants=tuple(player.tenant_id for player in scene.players),
            accounts=len(accounts),
            verdicts=dict(sorted(self.tally.verdicts.items())),
            hours=tuple(self.tally.hours),
            budgets=tuple(self.budgets.values()),
            starved_after_us=scene.starved_after_us,
            starved=self.tally.starved(scene.until),
        )


def _signal(one: Arrival) -> NewSignal:
    return NewSignal(one.account_id, "simulated", SignalId(one.key), idempotency_key=one.key)


def _asked(one: Arrival) -> Asked:
    event = Event(
        account_id=one.account_id,
        trigger_type=one.trigger_type,
        idempotency_key=one.key,
        scheduled_at=one.scheduled_at,
        saturation=one.saturation,
    )
    return Asked(DecisionId(new_id()), event)
