"""One tenant's admissions folded in memory, with the promises checked at every step.

It knows of the gate what a worker knows: a deferral's retry comes at its time or later, in any
order, and carries whether it was moved.
"""

from collections import defaultdict
from dataclasses import dataclass

from watchkeeper.core.admission import Case, Event, Result, Verdict, decide, evolve
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.run_state import RunState, TenantRuns, encode_pending, encode_triggers
from watchkeeper.core.time import SECOND, Instant, day_of, hour_of


@dataclass(frozen=True)
class Waiting:
    due_at: Instant
    event: Event


class Fold:
    def __init__(self, rules: TenantRules, now: Instant) -> None:
        self.rules = rules
        self.now = now
        self.tenant = TenantRuns()
        self.states: dict[str, RunState] = defaultdict(RunState)
        self.waiting: list[Waiting] = []
        self.allowed: dict[str, list[tuple[Instant, str]]] = defaultdict(list)
        self.verdicts: list[tuple[Instant, Event, Verdict]] = []
        self._seq = 0

    def fire(self, account: str, trigger: str, **more: object) -> Verdict:
        self._seq += 1
        return self.admit(Event(AccountId(account), trigger, f"k{self._seq}", **more))

    def deliver(self, pick: int = 0) -> Verdict | None:
        """One of the retries that are due, whichever."""
        due = [one for one in self.waiting if one.due_at <= self.now]
        if not due:
            return None
        one = due[pick % len(due)]
        self.waiting.remove(one)
        return self.admit(one.event)

    def admit(self, event: Event) -> Verdict:
        self._seq += 1
        state = self.states[event.account_id]
        case = Case(event, state, self.tenant, self.rules, self.now)
        before = self.picture(state)
        verdict = decide(case)
        assert decide(case) == verdict, "the same again gives the same"
        assert self.picture(state) == before, "the gate changed what it looked at"
        self.check(case, verdict)
        evolve(case, verdict, DecisionId(f"d{self._seq}"), self._seq)
        self.follow(event, verdict)
        self.verdicts.append((self.now, event, verdict))
        return verdict

    def follow(self, event: Event, verdict: Verdict) -> None:
        if verdict.result is Result.ALLOW:
            self.allowed[event.account_id].append((self.now, event.trigger_type))
        if verdict.defer_until is not None:
            owner = event.retry_of or DecisionId(f"d{self._seq}")
            again = event._replace(
                retry_of=owner,
                moved=event.retry_of is not None,
                slot_cooldown_us=self.rules.triggers[event.trigger_type].cooldown_us,
            )
            self.waiting.append(Waiting(verdict.defer_until, again))

    def check(self, case: Case, verdict: Verdict) -> None:
        event, now = case.event, self.now
        others = list(case.state.slots(now, but=event.trigger_type))
        rule = self.rules.triggers[event.trigger_type]
        if verdict.defer_until is not None:
            assert verdict.defer_until > now, "a DEFER into the past would come at once"
            assert verdict.defer_until % SECOND == 0, "a DEFER names a whole second"
            assert not event.moved, "a retry was moved twice"
            if event.retry_of is None:
                assert all(verdict.defer_until >= slot + rule.cooldown_us for slot in others), (
                    "a slot lies within the cooldown of one that was reserved before"
                )
        if verdict.result is Result.ALLOW:
            if event.retry_of is None:
                assert all(now >= slot + rule.cooldown_us for slot in others), (
                    "a fresh event took a slot that was reserved"
                )
            self.check_allow(event)

    def check_allow(self, event: Event) -> None:
        rule = self.rules.triggers[event.trigger_type]
        mine = self.allowed[event.account_id]
        if mine:
            assert self.now - mine[-1][0] >= rule.cooldown_us, "closer than the cooldown"
        hour, day = hour_of(self.now), day_of(self.now)
        ours = [one for runs in self.allowed.values() for one in runs]
        if rule.account_cap is not None:
            runs = [a for a, t in mine if t == event.trigger_type and hour_of(a) == hour]
            assert len(runs) < rule.account_cap, "over the account's cap"
        if rule.tenant_cap is not None:
            runs = [a for a, t in ours if t == event.trigger_type and hour_of(a) == hour]
            assert len(runs) < rule.tenant_cap, "over the tenant's cap"
        if self.rules.run_budget_per_day is not None:
            runs = [a for a, _ in ours if day_of(a) == day]
            assert len(runs) < self.rules.run_budget_per_day, "over the budget"

    def picture(self, state: RunState) -> str:
        tenant = self.tenant
        return repr(
            (
                state.last_allowed_at,
                state.last_run_was_retry,
                encode_triggers(state),
                encode_pending(state),
                (tenant.hour, tenant.hour_runs, tenant.day, tenant.day_runs),
            )
        )
