"""Accounts that have left their record: their state evolves here, and their retries come.

What `evolve` writes is written here in short, for the answers of the gate in short; where
that has none, the gate itself is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush

from watchkeeper.core.admission import Case, Event, decide, evolve
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule
from watchkeeper.core.replay_gate import (
    ACCOUNT_FULL,
    ALLOWED,
    KILLED,
    NO_TRIGGER,
    REPEATED,
    SLOTS,
    TENANT_FULL,
    UNKNOWN,
    Answer,
    answer_of,
    capped,
    quick,
)
from watchkeeper.core.replay_keys import HeldKeys
from watchkeeper.core.replay_observer import Data, Observer, Waiting
from watchkeeper.core.run_state import Pending, RunState, TenantRuns, TriggerState
from watchkeeper.core.time import DAY, HOUR, Instant
from watchkeeper.core.verdict_record import read_event

_tuple = tuple.__new__  # a named tuple, without the detour over its keywords


class Apart:
    """What a replay knows, and how it goes on with accounts that differ."""

    def __init__(
        self,
        rules_of: Callable[[int, str, str | None], tuple[TenantRules, TenantRules]],
        switched: Callable[[int, str], str | None],
        observer: Observer,
        *,
        has_keys: bool = True,
    ) -> None:
        """`rules_of` gives, by version, hash and tier, what ruled and what is to rule.

        `switched` knows the kill switch that was on at a moment for a trigger type. Without
        `has_keys` a repeat is what was recorded as one.
        """
        self.tenant = TenantRuns()
        self.left: dict[str, RunState] = {}  # accounts that have left their record
        self.waiting: list[Waiting] = []
        self.now = 0
        self.agreed = 0  # events of accounts that follow their record, and
        self.agreed_runs = 0  # how many of them run
        self._observer = observer
        self._has_keys = has_keys
        self._rules_of = rules_of
        self._switched = switched
        self._early: set[tuple[str, str]] = set()  # whose retry came before they were met
        self._hours_met: set[str] = set()
        self._first_hour = 0
        self._number = 0
        self._counts_until = 0  # up to here nothing but the tenant's present hour is counted in
        self._policy: Data = {}
        self._tier: str | None = None
        self._rules: TenantRules
        self._triggers: Mapping[str, TriggerRule] = {}
        self._budget: int | None = None
        self._keys: HeldKeys | None = None

    def let_pass(self, now: int) -> None:
        """Let the retries come that are due by then."""
        waiting, left = self.waiting, self.left
        while waiting and waiting[0][0] <= now:
            one = heappop(waiting)
            due_at, _, account_id, trigger_type, deferral, _, _ = one
            state = left[account_id]
            if state.pending.get(trigger_type) == (due_at, deferral):
                self._observer.retried(one, self._retry(one, state))

    def _capped(
        self, answer: Answer, hour: int, now: int, account_id: str, is_retry: bool
    ) -> Answer:
        last = hour if answer is ACCOUNT_FULL else self.tenant.hour
        return capped(answer, last, now, account_id, self._rules.spread_seconds, is_retry)

    def _standing(
        self, rule: TriggerRule | None, was: Answer, data: Data, event: Data, now: int
    ) -> Answer | None:
        """What is asked before anybody looks at what the account remembers."""
        is_repeated = was is REPEATED
        if self._keys is not None and "retry_of" not in event:
            ttl = 0 if rule is None else self._rules.idempotency_ttl_us
            is_repeated = self._keys.repeats(event["idempotency_key"], is_repeated, now, ttl)
        if rule is None:
            return UNKNOWN
        if is_repeated:
            return REPEATED
        return KILLED if "kill_switch" in data else None

    def _apart(
        self,
        seq: int,
        decision_id: str,
        data: Data,
        event: Data,
        trigger_type: str,
        now: Instant,
        was: Answer,
        state: RunState,
    ) -> Answer:
        trigger, pending = state.triggers.get(trigger_type), state.pending
        if trigger is None or self._early:
            trigger = self._meet(event, state, data)
        rule = self._triggers.get(trigger_type)
        answer = self._standing(rule, was, data, event, now)
        if answer is not None or rule is None:
            return answer or UNKNOWN
        own = pending.get(trigger_type) if pending else None
        fired_at: Instant = event.get("scheduled_at", now)
        fired_at = fired_at if fired_at < now else now
        last = trigger.last_trigger_at
        answer = quick(
            rule,
            self._budget,
            self.tenant,
            trigger_type,
            now,
            fired_at,
            last,
            trigger.hour,
            trigger.run_count,
            SLOTS if len(pending) > (own is not None) else state.last_allowed_at,
            None if own is None else own[0],
            not pending,
            event.get("saturation"),
        )
        if answer is None:
            return self._ask(state, read_event(data), now, None, decision_id, seq)
        if answer is ACCOUNT_FULL or answer is TENANT_FULL:
            answer = self._capped(answer, trigger.hour, now, event["account_id"], False)
        if answer is ALLOWED:
            trigger.last_trigger_at = fired_at if last is None or last < fired_at else last
            self._allow(state, trigger, trigger_type, now, False)
        elif answer[1] is not None:
            trigger.last_trigger_at = fired_at if last is None or last < fired_at else last
            self._defer(state, trigger, event, now, decision_id, answer[1])
        return answer

    def _allow(
        self,
        state: RunState,
        trigger: TriggerState,
        trigger_type: str,
        now: Instant,
        is_retry: bool,
    ) -> None:
        """As `evolve` writes it."""
        hour = now // HOUR
        if hour > trigger.hour:
            trigger.hour = hour
            trigger.run_count = 1
        else:
            trigger.run_count += 1
        state.last_allowed_at = now
        state.last_run_was_retry = is_retry
        self._count(now, trigger_type)

    def _defer(
        self,
        state: RunState,
        trigger: TriggerState,
        event: Data,
        now: Instant,
        decision_id: str,
        until: int,
    ) -> None:
        """As `evolve` writes it, for a fresh event."""
        trigger_type = event["trigger_type"]
        trigger.last_deferred_at = now
        state.pending[trigger_type] = _tuple(Pending, (until, decision_id))
        self._number += 1
        account_id, saturation = event["account_id"], event.get("saturation")
        told = (until, self._number, account_id, trigger_type, decision_id, False, saturation)
        heappush(self.waiting, _tuple(Waiting, told))

    def _retry(self, one: Waiting, state: RunState) -> Answer:
        due_at, _, account_id, trigger_type, _, _, saturation = one
        now = Instant(due_at)
        trigger = state.triggers.get(trigger_type)
        if trigger is None:
            self._early.add((account_id, trigger_type))
            trigger = state.triggers[trigger_type] = TriggerState()
        kill_switch = self._switched(now, trigger_type)
        rule, answer = self._triggers.get(trigger_type), None
        if rule is not None and kill_switch is None:
            answer = quick(
                rule,
                self._budget,
                self.tenant,
                trigger_type,
                now,
                now,
                None,
                trigger.hour,
                trigger.run_count,
                state.last_allowed_at,
                None,
                False,
                saturation,
            )
        if answer is None:
            return self._ask_again(one, state, kill_switch)
        if answer is ACCOUNT_FULL or answer is TENANT_FULL:
            answer = self._capped(answer, trigger.hour, now, account_id, True)
        del state.pending[trigger_type]
        if answer is ALLOWED:
            self._allow(state, trigger, trigger_type, now, True)
        return answer

    def _ask_again(self, one: Waiting, state: RunState, kill_switch: str | None) -> Answer:
        event = Event(
            AccountId(one.account_id),
            one.trigger_type,
            "",
            saturation=one.saturation,
            retry_of=DecisionId(one.deferral),
            moved=one.moved,
            # Retries come on time here: one that is early although no other ran late finds a
            # longer cooldown than the one its slot was reserved under.
            slot_cooldown_us=0,
        )
        return self._ask(state, event, one.due_at, kill_switch, one.deferral, 0)

    def _ask(
        self,
        state: RunState,
        event: Event,
        now: int,
        kill_switch: str | None,
        decision_id: str,
        seq: int,
    ) -> Answer:
        """The gate itself, with all it remembers."""
        case = Case(event, state, self.tenant, self._rules, Instant(now), kill_switch)
        verdict = decide(case)
        evolve(case, verdict, DecisionId(decision_id), seq)
        if verdict.defer_until is not None:
            deferral, moved = event.retry_of or decision_id, event.retry_of is not None
            name, until = event.account_id, verdict.defer_until
            self._await(until, name, event.trigger_type, deferral, moved, event.saturation)
        return answer_of(verdict)

    def _await(
        self,
        due_at: int,
        account_id: str,
        trigger_type: str,
        deferral: str,
        moved: bool = False,
        saturation: float | None = None,
    ) -> None:
        self._number += 1
        waiting = (due_at, self._number, account_id, trigger_type, deferral, moved, saturation)
        heappush(self.waiting, Waiting(*waiting))

    def _meet(self, event: Data, state: RunState, data: Data) -> TriggerState:
        """What such an account remembered of a trigger type, before anything became other."""
        name = event["trigger_type"]
        own, met = state.triggers.get(name), (event["account_id"], name)
        if own is not None and met not in self._early:
            return own
        raw = data["state"]["trigger"]
        was = state.triggers[name] = TriggerState(*(raw or NO_TRIGGER))
        if own is not None:  # a retry came before the first entry of its type
            self._early.discard(met)
            was.last_deferred_at = own.last_deferred_at
            was.run_count = was.runs_in(own.hour) + own.run_count
            was.hour = own.hour
        return was

    def _count(self, now: int, trigger_type: str) -> None:
        """A run of the tenant. Its hour and its day only ever go on."""
        own = self.tenant
        if now < self._counts_until:
            own.hour_runs[trigger_type] = own.hour_runs.get(trigger_type, 0) + 1
            own.day_runs += 1
            return
        own.count(max(now // HOUR, own.hour), max(now // DAY, own.day), trigger_type)
        self._counts_until = min((own.hour + 1) * HOUR, (own.day + 1) * DAY)
