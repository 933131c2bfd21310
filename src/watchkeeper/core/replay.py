"""Replay: recorded events go through the gate again, under rules that may be others.

An account follows its record for as long as the verdicts agree: what it remembered is
in every entry, so nothing that happened to it (a lost message, a restart, another
policy in between) can be missed. At its first difference the account leaves the record:
from there on its state evolves here, and its retries come when they are due.

A tenant's counters always evolve here, because all its accounts share them.
"""

from __future__ import annotations

from watchkeeper.core.admission import Case, decide
from watchkeeper.core.replay_apart import Apart
from watchkeeper.core.replay_gate import (
    ACCOUNT_FULL,
    ALLOWED,
    NO_TRIGGER,
    REPEATED,
    SLOTS,
    TENANT_FULL,
    UNKNOWN,
    Answer,
    answer_of,
    quick,
    recorded_answer,
)
from watchkeeper.core.replay_keys import HeldKeys
from watchkeeper.core.replay_observer import Data, Waiting
from watchkeeper.core.run_state import TenantRuns, TriggerState
from watchkeeper.core.time import Instant
from watchkeeper.core.verdict_record import read_event, read_state


class TenantReplay(Apart):
    """One tenant's events, in the order of its ledger."""

    def feed(self, seq: int, decision_id: str, data: Data) -> None:
        """The next entry of the tenant's ledger that is a verdict."""
        now, event, tenant = data["now"], data["event"], data["tenant"]
        account_id, trigger_type = event["account_id"], event["trigger_type"]
        if data["policy"] != self._policy or tenant["tier"] != self._tier:
            self._follow(data["policy"], tenant["tier"], now)
        if self.waiting and self.waiting[0][0] <= now:
            self.let_pass(now)
        self.now = now
        if trigger_type not in self._hours_met:
            self._meet_hour(trigger_type, tenant)
        was = recorded_answer(data["verdict"])
        state = self.left.get(account_id)
        if state is None:
            answer = self._along(data, event, trigger_type, now, was)
            if answer is was or answer == was:
                self.agreed += 1
                if answer is ALLOWED:
                    self.agreed_runs += 1
                    self._count(now, trigger_type)
                return
            self._leave(seq, decision_id, data, event, answer)
        elif "retry_of" in event:
            if self._early or trigger_type not in state.triggers:
                self._meet(event, state, data)
            self._observer.passed_over(decision_id, now, event, was)
            return
        else:
            answer = self._apart(seq, decision_id, data, event, trigger_type, now, was, state)
        self._observer.compared(seq, decision_id, now, event, was, answer)

    # -- an account that follows its record ------------------------------------------------

    def _along(self, data: Data, event: Data, trigger_type: str, now: int, was: Answer) -> Answer:
        rule, remembered = self._triggers.get(trigger_type), data["state"]
        answer = self._standing(rule, was, data, event, now)
        if answer is not None or rule is None:
            return answer or UNKNOWN
        trigger, pending = remembered["trigger"] or NO_TRIGGER, remembered["pending"]
        fresh = "retry_of" not in event
        own = pending.get(trigger_type) if pending and fresh else None
        fired_at = event.get("scheduled_at", now)
        answer = quick(
            rule,
            self._budget,
            self.tenant,
            trigger_type,
            now,
            fired_at if fired_at < now else now,
            trigger[0] if fresh else None,
            trigger[2],
            trigger[3],
            SLOTS if fresh and len(pending) > (own is not None) else remembered["last_allowed_at"],
            None if own is None else own[0],
            fresh and not pending,
            event.get("saturation"),
        )
        if answer is ACCOUNT_FULL or answer is TENANT_FULL:
            return self._capped(answer, trigger[2], now, event["account_id"], not fresh)
        return answer_of(decide(self._case(data))) if answer is None else answer

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

    def _case(self, data: Data) -> Case:
        """As it was recorded, under the rules and the counters of this replay."""
        state, now = read_state(data), Instant(data["now"])
        return Case(read_event(data), state, self.tenant, self._rules, now)

    # -- what the window does not begin with is taken from the first entry that has it -------

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
        self.tenant, self._counts_until = TenantRuns(*rested["tenant"]), 0
        self.waiting = [Waiting(*one) for one in rested["waiting"]]
