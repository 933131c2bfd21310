"""A second gate, written from docs/reference/gate.md alone. It shares no code with the product.

A model for tests and for the simulator:

    gate = Gate("acme", document)                   # the whole effective policy, as plain data
    answer = gate.admit(Asked("ann", "SIGNAL_ARRIVED", "key-1"), at=moment, decision_id="d1")
    answer.result, answer.reason, answer.inner, answer.defer_until
    later = gate.admit(answer.retry, at=answer.defer_until, decision_id="d2")

`at` is in microseconds since 1970. The events of one call have the same `at`; call `admit` for
each of them, in order. `answer.retry` is the event of the retry that a DEFER schedules.

    gate.rule(document, tier="gold")                # another policy or tier from here on
    gate.kill("trigger:SIGNAL_ARRIVED")             # all, tenant or trigger:TYPE
    gate.release("trigger:SIGNAL_ARRIVED")
    gate.lose(retry)                                # it was discarded, or it is dead
    gate.earliest("ann", "SIGNAL_ARRIVED", at)      # the second from which on an event passes
    asked_of(data["event"])                         # the event of a verdict's entry in the ledger

Each section bears the title of the part of the page that it is written from.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 86_400 * SECOND
LATE = 3_600 * SECOND
NO_LIMIT = "unlimited"


# -- An event -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An event. `content` is what a repeat may differ in besides, such as a signal's data."""

    account: str
    trigger: str
    key: str
    scheduled_at: int | None = None
    saturation: float | None = None
    retry_of: str | None = None
    moved: bool = False
    slot_cooldown: int | None = None  # microseconds
    content: object = None

    def fired_at(self, now: int) -> int:
        return now if self.scheduled_at is None else min(self.scheduled_at, now)


@dataclass(frozen=True)
class Answer:
    """A verdict. `defer_until` is in microseconds; `retry` is the event that comes then."""

    result: str
    reason: str | None = None
    inner: str | None = None
    defer_until: int | None = None
    duplicate_of: str | None = None
    differs: bool = False
    retry: Asked | None = None


def asked_of(event: Mapping[str, Any]) -> Asked:
    """The event of a verdict's entry in the ledger. A signal's content is not in it."""
    return Asked(
        account=event["account_id"],
        trigger=event["trigger_type"],
        key=event["idempotency_key"],
        scheduled_at=event.get("scheduled_at"),
        saturation=event.get("saturation"),
        retry_of=event.get("retry_of"),
        moved=event.get("moved", False),
        slot_cooldown=event.get("slot_cooldown_us"),
    )


# -- The rules of a tenant ---------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    debounce: int
    cooldown: int
    account_cap: int | None
    tenant_cap: int | None


@dataclass(frozen=True)
class Rules:
    triggers: dict[str, Rule]
    budget: int | None
    ttl: int
    spread_seconds: int


def rules_of(document: Mapping[str, Any], tenant_id: str, tier: str | None) -> Rules:
    merged = dict(document)
    if tier is not None:
        merged = merge(merged, document.get("tiers", {}).get(tier, {}))
    merged = merge(merged, document.get("tenants", {}).get(tenant_id, {}))
    return Rules(
        triggers={name: rule_of(one) for name, one in merged["triggers"].items()},
        budget=limit(merged.get("run_budget_per_day")),
        ttl=merged["idempotency_ttl_seconds"] * SECOND,
        spread_seconds=merged["spread_seconds"],
    )


def rule_of(values: Mapping[str, Any]) -> Rule:
    return Rule(
        debounce=values["debounce_seconds"] * SECOND,
        cooldown=values["cooldown_seconds"] * SECOND,
        account_cap=limit(values.get("max_per_account_per_hour")),
        tenant_cap=limit(values.get("max_per_tenant_per_hour")),
    )


def limit(value: Any) -> int | None:
    return None if value in (None, NO_LIMIT) else int(value)


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = merge(merged[name], value) if both else value
    return merged


# -- What is remembered -------------------------------------------------------------------------


@dataclass
class OfType:
    last_trigger_at: int | None = None
    run_hour: int = 0
    run_count: int = 0


@dataclass
class Slot:
    due_at: int
    decision_id: str

    def holds(self, now: int) -> bool:
        return now < self.due_at + LATE


@dataclass
class Account:
    last_allowed_at: int | None = None
    last_run_was_retry: bool = False
    types: dict[str, OfType] = field(default_factory=dict)
    pending: dict[str, Slot] = field(default_factory=dict)

    def of(self, trigger: str) -> OfType:
        return self.types.setdefault(trigger, OfType())

    def other_slots(self, trigger: str, now: int) -> list[int]:
        held = [one for name, one in self.pending.items() if name != trigger and one.holds(now)]
        return sorted(one.due_at for one in held)


@dataclass
class Tenant:
    hour: int = 0
    hour_runs: dict[str, int] = field(default_factory=dict)
    day: int = 0
    day_runs: int = 0


@dataclass
class Key:
    decision_id: str
    content: tuple[object, ...]
    expires_at: int


def up(moment: int) -> int:
    """Rounded up to a whole second."""
    return -(-moment // SECOND) * SECOND


class Gate:
    """The gate of one tenant, and all that it remembers."""

    def __init__(
        self, tenant_id: str, document: Mapping[str, Any], tier: str | None = None
    ) -> None:
        self.tenant_id = tenant_id
        self.rules = rules_of(document, tenant_id, tier)
        self.accounts: dict[str, Account] = {}
        self.tenant = Tenant()
        self.keys: dict[str, Key] = {}
        self.switches: set[str] = set()

    def rule(self, document: Mapping[str, Any], tier: str | None = None) -> None:
        self.rules = rules_of(document, self.tenant_id, tier)

    def kill(self, scope: str) -> None:
        self.switches.add(scope)

    def release(self, scope: str) -> None:
        self.switches.discard(scope)

    def admit(self, asked: Asked, at: int, decision_id: str) -> Answer:
        holder = self.reserve(asked, at, decision_id)
        now = up(at)
        answer = self.decide(asked, now, holder)
        if answer.defer_until is not None:
            answer = replace(answer, retry=self.retry_of(asked, decision_id))
        self.write(asked, now, answer, decision_id)
        return answer

    # -- Idempotency keys -----------------------------------------------------------------------

    def reserve(self, asked: Asked, at: int, decision_id: str) -> Key | None:
        """Take the key if it is free; the one that holds it otherwise."""
        if asked.trigger not in self.rules.triggers:
            return None
        held = self.keys.get(asked.key)
        if held is not None and at < held.expires_at:
            return held
        self.keys[asked.key] = Key(decision_id, content_of(asked), at + self.rules.ttl)
        return None

    # -- The checks, in order -------------------------------------------------------------------

    def decide(self, asked: Asked, now: int, holder: Key | None) -> Answer:
        rule = self.rules.triggers.get(asked.trigger)
        if rule is None:
            return Answer("SKIP", "UNKNOWN_TRIGGER_TYPE")
        if holder is not None:
            differs = holder.content != content_of(asked)
            of = holder.decision_id
            return Answer("SKIP", "DUPLICATE_IDEMPOTENCY_KEY", duplicate_of=of, differs=differs)
        if self.switches & {"all", "tenant", f"trigger:{asked.trigger}"}:
            return Answer("SKIP", "KILL_SWITCH")
        account = self.accounts.get(asked.account, Account())
        for check in (self.debounce, self.coalesce, self.budget, self.cooldown, self.caps):
            answer = check(asked, now, rule, account)
            if answer is not None:
                return answer
        if asked.saturation is not None and asked.saturation >= 1:
            return Answer("SKIP", "MARGINAL_VALUE_LOW")
        return Answer("ALLOW")

    def debounce(self, asked: Asked, now: int, rule: Rule, account: Account) -> Answer | None:
        last = account.types.get(asked.trigger, OfType()).last_trigger_at
        if asked.retry_of is not None or last is None:
            return None
        if abs(asked.fired_at(now) - last) < rule.debounce:
            return Answer("SKIP", "DEBOUNCED")
        return None

    def coalesce(self, asked: Asked, now: int, _: Rule, account: Account) -> Answer | None:
        slot = account.pending.get(asked.trigger)
        if asked.retry_of is None and slot is not None and slot.holds(now):
            return Answer("SKIP", "COALESCED")
        return None

    def budget(self, _: Asked, now: int, _rule: Rule, _account: Account) -> Answer | None:
        day = max(now // DAY, self.tenant.day)
        runs = self.tenant.day_runs if day == self.tenant.day else 0
        if self.rules.budget is not None and runs >= self.rules.budget:
            return Answer("SKIP", "BUDGET_EXHAUSTED")
        return None

    def cooldown(self, asked: Asked, now: int, rule: Rule, account: Account) -> Answer | None:
        known = [] if account.last_allowed_at is None else [account.last_allowed_at]
        if asked.retry_of is None:
            known += account.other_slots(asked.trigger, now)
        if not known or now >= max(known) + rule.cooldown:
            return None
        if asked.retry_of is not None:
            return self.early_retry(asked, now, rule, account)
        return Answer("DEFER", "COOLDOWN", defer_until=up(max(known) + rule.cooldown))

    def caps(self, asked: Asked, now: int, rule: Rule, account: Account) -> Answer | None:
        own, tenant = account.types.get(asked.trigger, OfType()), self.tenant
        hour = max(now // HOUR, own.run_hour)
        runs = own.run_count if hour == own.run_hour else 0
        if rule.account_cap is not None and runs >= rule.account_cap:
            return self.full(asked, "ACCOUNT_HOURLY_CAP", hour)
        hour = max(now // HOUR, tenant.hour)
        runs = tenant.hour_runs.get(asked.trigger, 0) if hour == tenant.hour else 0
        if rule.tenant_cap is not None and runs >= rule.tenant_cap:
            return self.full(asked, "TENANT_HOURLY_CAP", hour)
        return None

    # -- Until when: deferrals ------------------------------------------------------------------

    def full(self, asked: Asked, reason: str, hour: int) -> Answer:
        if asked.retry_of is not None:
            return Answer("SKIP", "RETRY_EXHAUSTED", inner=reason)
        span = self.rules.spread_seconds
        spread = zlib.crc32(asked.account.encode()) % span if span else 0
        return Answer("DEFER", reason, defer_until=(hour + 1) * HOUR + spread * SECOND)

    def retry_of(self, asked: Asked, decision_id: str) -> Asked:
        deferral = asked.retry_of or decision_id
        moved = asked.retry_of is not None
        return replace(
            asked,
            key=f"retry:{deferral}:{moved}",
            retry_of=deferral,
            moved=moved,
            slot_cooldown=self.rules.triggers[asked.trigger].cooldown,
            content=None,
        )

    # -- Retries --------------------------------------------------------------------------------

    def early_retry(self, asked: Asked, now: int, rule: Rule, account: Account) -> Answer:
        last = account.last_allowed_at
        assert last is not None
        grown = asked.slot_cooldown is not None and now >= last + asked.slot_cooldown
        if asked.moved or not (account.last_run_was_retry or grown):
            return Answer("SKIP", "RETRY_EXHAUSTED", inner="COOLDOWN")
        moment = up(last + rule.cooldown)
        for due_at in account.other_slots(asked.trigger, now):
            if due_at - rule.cooldown // 2 < moment < due_at + rule.cooldown:
                moment = up(due_at + rule.cooldown)
        return Answer("DEFER", "COOLDOWN", defer_until=moment)

    # -- What a verdict writes ------------------------------------------------------------------

    def write(self, asked: Asked, now: int, answer: Answer, decision_id: str) -> None:
        if answer.reason == "DUPLICATE_IDEMPOTENCY_KEY":
            return
        account = self.accounts.setdefault(asked.account, Account())
        if asked.retry_of is not None:
            self.end_pending(account, asked)
        if answer.result == "SKIP":
            return
        own = account.of(asked.trigger)
        if asked.retry_of is None:
            fired_at = asked.fired_at(now)
            known = own.last_trigger_at
            own.last_trigger_at = fired_at if known is None else max(known, fired_at)
        if answer.defer_until is not None:
            deferral = asked.retry_of or decision_id
            account.pending[asked.trigger] = Slot(answer.defer_until, deferral)
            return
        hour = max(now // HOUR, own.run_hour)
        own.run_count = own.run_count + 1 if hour == own.run_hour else 1
        own.run_hour = hour
        account.last_allowed_at = now
        account.last_run_was_retry = asked.retry_of is not None
        self.count(now, asked.trigger)

    def count(self, now: int, trigger: str) -> None:
        tenant = self.tenant
        hour, day = max(now // HOUR, tenant.hour), max(now // DAY, tenant.day)
        if hour != tenant.hour:
            tenant.hour, tenant.hour_runs = hour, {}
        if day != tenant.day:
            tenant.day, tenant.day_runs = day, 0
        tenant.hour_runs[trigger] = tenant.hour_runs.get(trigger, 0) + 1
        tenant.day_runs += 1

    def lose(self, retry: Asked) -> None:
        self.end_pending(self.accounts[retry.account], retry)

    def end_pending(self, account: Account, retry: Asked) -> None:
        slot = account.pending.get(retry.trigger)
        if slot is not None and slot.decision_id == retry.retry_of:
            del account.pending[retry.trigger]

    # -- From when on an event passes -----------------------------------------------------------

    def earliest(
        self, account: str, trigger: str, at: int, saturation: float | None = None
    ) -> int | None:
        """The second from which on a fresh event passes; None where there is none."""
        now = up(at)
        then = copy.deepcopy(self)
        second = then.let_retries_come(account, now)
        rule = self.rules.triggers.get(trigger)
        for _ in range(16):
            fresh = Asked(account, trigger, "", saturation=saturation)
            answer = then.decide(fresh, second, None)
            if answer.result == "ALLOW" or rule is None:
                return second if answer.result == "ALLOW" else None
            later = then.next_second(answer, rule, account, trigger, second)
            if later is None:
                return None
            second = later
        raise AssertionError("no second within 16")

    def let_retries_come(self, name: str, now: int) -> int:
        """Decide the pending retries of an account that hold; the second after all of them."""
        second = now + SECOND
        account = self.accounts.setdefault(name, Account())
        account.pending = {kind: one for kind, one in account.pending.items() if one.holds(now)}
        moved: set[str] = set()
        while account.pending:
            waiting = account.pending.items()
            trigger, slot = min(waiting, key=lambda one: (one[1].due_at, one[1].decision_id))
            second = max(second, slot.due_at)
            cooldown = None if slot.due_at <= now else 0
            of, is_moved = slot.decision_id, trigger in moved
            retry = Asked(name, trigger, "", None, None, of, is_moved, cooldown)
            answer = self.decide(retry, second, None)
            self.write(retry, second, answer, of)
            moved.add(trigger)
        return second

    def next_second(
        self, answer: Answer, rule: Rule, name: str, trigger: str, second: int
    ) -> int | None:
        account = self.accounts[name]
        own = account.of(trigger)
        match answer.reason:
            case "DEBOUNCED":
                return up((own.last_trigger_at or 0) + rule.debounce)
            case "BUDGET_EXHAUSTED" if self.rules.budget:
                return (max(second // DAY, self.tenant.day) + 1) * DAY
            case "COOLDOWN":
                return up((account.last_allowed_at or 0) + rule.cooldown)
            case "ACCOUNT_HOURLY_CAP" if rule.account_cap:
                return (max(second // HOUR, own.run_hour) + 1) * HOUR
            case "TENANT_HOURLY_CAP" if rule.tenant_cap:
                return (max(second // HOUR, self.tenant.hour) + 1) * HOUR
            case _:
                return None


def content_of(asked: Asked) -> tuple[object, ...]:
    return (asked.account, asked.trigger, asked.scheduled_at, asked.saturation, asked.content)
