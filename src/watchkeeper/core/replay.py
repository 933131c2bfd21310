"""Replay: recorded events go through the gate again, under rules that may be others.

An account follows its record for as long as the verdicts agree: what it remembered is
in every entry, so nothing that happened to it (a lost message, a restart, another
policy in between) can be missed. At its first difference the account leaves the record:
from there on its state evolves here, and its retries come when they are due.

A tenant's counters always evolve here, because all its accounts share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol, TypeAlias

from watchkeeper.core.admission import Case, Event, decide, evolve
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule
from watchkeeper.core.replay_gate import (
    ALLOWED,
    KILLED,
    NO_TRIGGER,
    REPEATED,
    SLOTS,
    UNKNOWN,
    Answer,
    answer_of,
    quick,
    recorded_answer,
)
from watchkeeper.core.replay_keys import HeldKeys
from watchkeeper.core.run_state import Pending, RunState, TenantRuns, TriggerState
from watchkeeper.core.time import DAY, HOUR, Instant
from watchkeeper.core.verdict_record import read_event, read_state

Data: TypeAlias = dict[str, Any]


class Waiting(NamedTuple):
    """A retry that comes when it is due, of an account that has left its record."""

    due_at: int
    number: int  # those that are due together come in the order in which they were deferred
    account_id: str
    trigger_type: str
    deferral: str
    moved: bool = False
    saturation: float | None = None


class Observer(Protocol):
    """Who is told what became of each event."""

    def compared(self, seq: int, decision_id: str, data: Data, was: Answer, now: Answer) -> None:
        """An event was judged again; the two answers may differ."""

    def passed_over(self, decision_id: str, data: Data, was: Answer) -> None:
        """A recorded retry of an account that has left its record: its own comes instead."""

    def retried(self, waiting: Waiting, answer: Answer) -> None:
        """A retry of an account that has left its record was judged."""


class TenantReplay:
    """One tenant's events, in the order of its ledger."""

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
        self._observer = observer
        self._has_keys = has_keys
        self._rules_of = rules_of
        self._switched = switched
        self._early: set[tuple[str, str]] = set()  # whose retry came before they were met
        self._hours_met: set[str] = set()
        self._first_hour = 0
        self._number = 0
        self._policy: Data = {}
        self._tier: str | None = None
        self._rules: TenantRules
        self._triggers: Mapping[str, TriggerRule] = {}
        self._budget: int | None = None
        self._keys: HeldKeys | None = None

    def feed(self, seq: int, decision_id: str, data: Data) -> None:
        """The next entry of the tenant's ledger that is a verdict."""
        now, event, tenant, policy = data["now"], data["event"], data["tenant"], data["policy"]
        if policy != self._policy or tenant["tier"] != self._tier:
            self._follow(policy, tenant["tier"], now)
        if self.waiting and self.waiting[0].due_at <= now:
            self.let_pass(now)
        self.now = now
        if event["trigger_type"] not in self._hours_met:
            self._meet_hour(event["trigger_type"], tenant)
        was = recorded_answer(data["verdict"])
        state = self.left.get(event["account_id"]) if self.left else None
        if state is None:
            answer = self._along(seq, decision_id, data, event, was)
        elif "retry_of" in event:
            self._meet(event, state, data)
            self._observer.passed_over(decision_id, data, was)
            return
        else:
            answer = self._apart(seq, decision_id, data, state, event)
        self._observer.compared(seq, decision_id, data, was, answer)

    def let_pass(self, now: int) -> None:
        """Let the retries come that are due by then."""
        while self.waiting and self.waiting[0].due_at <= now:
            one = heappop(self.waiting)
            state = self.left[one.account_id]
            if state.pending.get(one.trigger_type) == (one.due_at, one.deferral):
                self._observer.retried(one, self._retry(one, state))

    # -- an account that follows its record ------------------------------------------------

    def _along(self, seq: int, decision_id: str, data: Data, event: Data, was: Answer) -> Answer:
        now: int = data["now"]
        trigger_type, remembered = event["trigger_type"], data["state"]
        answer = self._standing(data, event, trigger_type, now)
        if answer is None:
            trigger, pending = remembered["trigger"] or NO_TRIGGER, remembered["pending"]
            fresh = "retry_of" not in event
            own = pending.get(trigger_type) if pending and fresh else None
            fired_at = event.get("scheduled_at", now)
            answer = quick(
                self._triggers[trigger_type],
                self._budget,
                self.tenant,
                trigger_type,
                now,
                fired_at if fired_at < now else now,
                trigger[0] if fresh else None,
                trigger[2],
                trigger[3],
                SLOTS
                if fresh and len(pending) > (own is not None)
                else remembered["last_allowed_at"],
                None if own is None else own[0],
                fresh and not pending,
                event.get("saturation"),
            )
        if answer is None:
            answer = answer_of(decide(self._case(data)))
        if answer != was:
            self._leave(seq, decision_id, data, event, answer)
        elif answer is ALLOWED:
            self._count(now, trigger_type)
        return answer

    def _standing(self, data: Data, event: Data, trigger_type: str, now: int) -> Answer | None:
        """What is asked before anybody looks at what the account remembers."""
        is_known = trigger_type in self._triggers
        is_repeated = "duplicate_of" in data["verdict"]
        if self._keys is not None and "retry_of" not in event:
            ttl = self._rules.idempotency_ttl_us if is_known else 0
            is_repeated = self._keys.repeats(event["idempotency_key"], is_repeated, now, ttl)
        if not is_known:
            return UNKNOWN
        if is_repeated:
            return REPEATED
        return KILLED if "kill_switch" in data else None

    def _leave(self, seq: int, decision_id: str, data: Data, raw: Data, answer: Answer) -> None:
        """From this entry on the account is not what its record says."""
        account_id, state, event = raw["account_id"], read_state(data), read_event(data)
        self.left[account_id] = state
        state.triggers.setdefault(event.trigger_type, TriggerState())
        for name, pending in state.pending.items():
            if pending.decision_id != event.retry_of:
                self._await(pending.due_at, account_id, name, pending.decision_id)
        if answer is UNKNOWN and event.retry_of is not None:
            state.end_pending(event.trigger_type, event.retry_of)
        elif answer not in (UNKNOWN, REPEATED):
            self._ask(state, event, data["now"], data.get("kill_switch"), decision_id, seq)

    # -- an account that has left its record -------------------------------------------------

    def _apart(
        self, seq: int, decision_id: str, data: Data, state: RunState, event: Data
    ) -> Answer:
        now: int = data["now"]
        trigger_type, pending = event["trigger_type"], state.pending
        self._meet(event, state, data)
        answer = self._standing(data, event, trigger_type, now)
        if answer is not None:
            return answer
        trigger = state.triggers[trigger_type]
        own = pending.get(trigger_type) if pending else None
        fired_at: int = event.get("scheduled_at", now)
        fired_at = fired_at if fired_at < now else now
        answer = quick(
            self._triggers[trigger_type],
            self._budget,
            self.tenant,
            trigger_type,
            now,
            fired_at,
            trigger.last_trigger_at,
            trigger.hour,
            trigger.run_count,
            SLOTS if len(pending) > (own is not None) else state.last_allowed_at,
            None if own is None else own.due_at,
            not pending,
            event.get("saturation"),
        )
        if answer is None:
            return self._ask(state, read_event(data), now, None, decision_id, seq)
        if answer is ALLOWED or answer[1] is not None:
            last = trigger.last_trigger_at
            trigger.last_trigger_at = Instant(fired_at if last is None else max(last, fired_at))
            if answer[1] is None:
                self._allow(state, trigger, trigger_type, now, False)
            else:
                self._defer(state, trigger, event, now, decision_id, answer[1])
        return answer

    def _allow(
        self, state: RunState, trigger: TriggerState, trigger_type: str, now: int, is_retry: bool
    ) -> None:
        """As `evolve` writes it."""
        hour = max(now // HOUR, trigger.hour)
        trigger.run_count = trigger.runs_in(hour) + 1
        trigger.hour = hour
        state.last_allowed_at = Instant(now)
        state.last_run_was_retry = is_retry
        self._count(now, trigger_type)

    def _defer(
        self,
        state: RunState,
        trigger: TriggerState,
        event: Data,
        now: int,
        decision_id: str,
        until: int,
    ) -> None:
        """As `evolve` writes it, for a fresh event."""
        trigger_type = event["trigger_type"]
        trigger.last_deferred_at = Instant(now)
        state.pending[trigger_type] = Pending(Instant(until), DecisionId(decision_id))
        saturation = event.get("saturation")
        self._await(until, event["account_id"], trigger_type, decision_id, False, saturation)

    def _retry(self, one: Waiting, state: RunState) -> Answer:
        now, trigger_type = one.due_at, one.trigger_type
        trigger = state.triggers.get(trigger_type)
        if trigger is None:
            self._early.add((one.account_id, trigger_type))
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
                one.saturation,
            )
        if answer is None:
            event = Event(
                AccountId(one.account_id),
                trigger_type,
                "",
                saturation=one.saturation,
                retry_of=DecisionId(one.deferral),
                moved=one.moved,
            )
            return self._ask(state, event, now, kill_switch, one.deferral, 0)
        del state.pending[trigger_type]
        if answer is ALLOWED:
            self._allow(state, trigger, trigger_type, now, True)
        return answer

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

    def _case(self, data: Data) -> Case:
        """As it was recorded, under the rules and the counters of this replay."""
        state, now = read_state(data), Instant(data["now"])
        return Case(read_event(data), state, self.tenant, self._rules, now)

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

    # -- what the window does not begin with is taken from the first entry that has it -------

    def _meet(self, event: Data, state: RunState, data: Data) -> None:
        """What such an account remembered of a trigger type, before anything became other."""
        name = event["trigger_type"]
        own = state.triggers.get(name)
        if own is not None and not self._early:
            return
        met, raw = (event["account_id"], name), data["state"]["trigger"]
        if own is not None and met not in self._early:
            return
        was = state.triggers[name] = TriggerState(*(raw or NO_TRIGGER))
        if own is not None:  # a retry came before the first entry of its type
            self._early.discard(met)
            was.last_deferred_at = own.last_deferred_at
            was.run_count = was.runs_in(own.hour) + own.run_count
            was.hour = own.hour

    def _meet_hour(self, trigger_type: str, tenant: Data) -> None:
        """A tenant's counters at the start of the window; of each type once it is seen."""
        own, hour = self.tenant, tenant["hour"]
        if not self._hours_met:
            own.hour, own.day, own.day_runs = hour, tenant["day"], tenant["day_runs"]
            self._first_hour = hour
        self._hours_met.add(trigger_type)
        if tenant["hour_runs"] and hour == own.hour == self._first_hour:
            runs = own.hour_runs.get(trigger_type, 0) + tenant["hour_runs"]
            own.hour_runs[trigger_type] = runs

    def _count(self, now: int, trigger_type: str) -> None:
        own, hour, day = self.tenant, now // HOUR, now // DAY
        own.count(max(hour, own.hour), max(day, own.day), trigger_type)

    def _follow(self, policy: Data, tier: str | None, now: int) -> None:
        """Another policy ruled from here on, or another tier."""
        self._policy, self._tier = policy, tier
        ruled, self._rules = self._rules_of(policy["version"], policy["hash"], tier)
        self._triggers, self._budget = self._rules.triggers, self._rules.run_budget_per_day
        same = ruled.idempotency_ttl_us == self._rules.idempotency_ttl_us
        same = same and ruled.triggers.keys() == self._rules.triggers.keys()
        if self._keys is None and self._has_keys and not same:
            self._keys = HeldKeys(now)

    # -- resting, and going on ---------------------------------------------------------------

    def at_rest(self) -> Data:
        """What it has to know besides the accounts that have left, as plain data."""
        own = self.tenant
        return {
            "early": sorted(self._early),
            "first_hour": self._first_hour,
            "hours_met": sorted(self._hours_met),
            "now": self.now,
            "number": self._number,
            "tenant": [own.hour, own.hour_runs, own.day, own.day_runs],
            "waiting": [tuple(one) for one in self.waiting],
        }

    def go_on(self, rested: Data) -> None:
        self._early = {(account_id, name) for account_id, name in rested["early"]}
        self._first_hour, self.now = rested["first_hour"], rested["now"]
        self._hours_met, self._number = set(rested["hours_met"]), rested["number"]
        self.tenant = TenantRuns(*rested["tenant"])
        self.waiting = [Waiting(*one) for one in rested["waiting"]]
