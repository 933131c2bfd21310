"""The gate of the yardsticks: the product's checks in their smallest form, and the rows they give.

Frozen. It shares no code with the product: a yardstick that moves with what it measures is none.
"""

import json
import os
import time
from dataclasses import dataclass

from bench.events import DEBOUNCE_SECONDS, HELD_TRIGGER, PLAIN_TRIGGER, Event

SECOND = 1_000_000
HOUR = 3600 * SECOND

encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Rule:
    debounce: int
    cooldown: int
    account_cap: int
    tenant_cap: int


@dataclass(frozen=True, slots=True)
class Account:
    last_event_at: int
    last_allowed_at: int
    hour: int
    runs: int


@dataclass(frozen=True, slots=True)
class Tenant:
    hour: int
    runs: int
    day: int
    day_runs: int


@dataclass(frozen=True, slots=True)
class Verdict:
    result: str
    reason: str
    not_before: int


RULES = {
    PLAIN_TRIGGER: Rule(DEBOUNCE_SECONDS * SECOND, 0, 10**9, 10**9),
    HELD_TRIGGER: Rule(0, 0, 10**9, 0),
}
BUDGET = 10**9
NEW = Account(0, 0, 0, 0)
ALLOWED = Verdict("ALLOW", "", 0)
DEBOUNCED = Verdict("SKIP", "debounce", 0)
NO_BUDGET = Verdict("SKIP", "budget", 0)


def gate(event: Event, account: Account, tenant: Tenant) -> tuple[Verdict, Account, Tenant]:
    rule, now = RULES[event.kind], event.at
    hour = now // HOUR
    day = hour // 24
    if now - account.last_event_at < rule.debounce:
        return DEBOUNCED, account, tenant
    day_runs = tenant.day_runs if tenant.day == day else 0
    if day_runs >= BUDGET:
        return NO_BUDGET, account, tenant
    runs = account.runs if account.hour == hour else 0
    tenant_runs = tenant.runs if tenant.hour == hour else 0
    until = account.last_allowed_at + rule.cooldown
    if until > now:
        return Verdict("DEFER", "cooldown", until), _seen(account, now), tenant
    if runs >= rule.account_cap:
        return Verdict("DEFER", "account_cap", (hour + 1) * HOUR), _seen(account, now), tenant
    if tenant_runs >= rule.tenant_cap:
        return Verdict("DEFER", "tenant_cap", (hour + 1) * HOUR), _seen(account, now), tenant
    return (
        ALLOWED,
        Account(now, now, hour, runs + 1),
        Tenant(hour, tenant_runs + 1, day, day_runs + 1),
    )


def _seen(account: Account, now: int) -> Account:
    return Account(now, account.last_allowed_at, account.hour, account.runs)


class Rows:
    """What a batch leaves behind, as plain data for the statements of a yardstick."""

    __slots__ = ("changed", "ledger", "outbox", "tenant")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.changed: dict[str, Account] = {}
        self.ledger: list[dict[str, object]] = []
        self.outbox: list[dict[str, object]] = []


def decide(
    events: list[Event], reserved: set[str], accounts: dict[str, Account], tenant: Tenant
) -> Rows:
    """Fold the batch: each event sees what those before it changed; a repeat leaves nothing."""
    rows = Rows(tenant)
    for event in events:
        if event.key not in reserved:
            continue
        reserved.discard(event.key)
        before = accounts[event.account]
        verdict, after, tenant = gate(event, before, rows.tenant)
        if after is not before:
            accounts[event.account] = rows.changed[event.account] = after
        ledger_id = new_id()
        rows.ledger.append(_ledger_row(ledger_id, event, before, rows.tenant, verdict))
        if verdict.result != "SKIP":
            rows.outbox.append(_outbox_row(ledger_id, event, verdict))
        rows.tenant = tenant
    return rows


def _ledger_row(
    ledger_id: str, event: Event, account: Account, tenant: Tenant, verdict: Verdict
) -> dict[str, object]:
    return {
        "i": ledger_id,
        "a": event.account,
        "k": event.kind,
        "n": event.at,
        "b": {
            "event": {
                "key": event.key,
                "account": event.account,
                "kind": event.kind,
                "at": event.at,
                "body": event.body,
            },
            "account": {
                "last_event_at": account.last_event_at,
                "last_allowed_at": account.last_allowed_at,
                "hour": account.hour,
                "runs": account.runs,
            },
            "tenant": {"hour": tenant.hour, "runs": tenant.runs, "day_runs": tenant.day_runs},
            "verdict": {
                "result": verdict.result,
                "reason": verdict.reason,
                "not_before": verdict.not_before,
                "policy": "default@3",
            },
        },
    }


def _outbox_row(ledger_id: str, event: Event, verdict: Verdict) -> dict[str, object]:
    return {
        "i": new_id(),
        "d": event.key,
        "n": verdict.not_before,
        "p": {
            "ledger_id": ledger_id,
            "account": event.account,
            "kind": event.kind,
            "result": verdict.result,
            "body": event.body,
        },
    }


def new_id() -> str:
    """A UUID of version 7 with the operating system's randomness."""
    noise = int.from_bytes(os.urandom(10), "big")
    low = (noise & 0x3FFFFFFFFFFFFFFF) | 1 << 63
    text = f"{time.time_ns() // 1_000_000:012x}7{noise >> 68:03x}{low:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
