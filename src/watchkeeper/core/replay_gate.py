"""The gate in short, for folds over many events: values instead of objects.

`quick` answers the common case and leaves the rest to `decide`. It is held equal to the
gate by a test over any history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from watchkeeper.core.admission import SATURATED, Verdict
from watchkeeper.core.policy import TriggerRule
from watchkeeper.core.run_state import OVERDUE_US, TenantRuns
from watchkeeper.core.time import DAY, HOUR, SECOND

Answer: TypeAlias = tuple[str, int | None]
"""A verdict in short: its reason (or ALLOW), and until when it defers."""

ALLOWED: Final = ("ALLOW", None)
DEBOUNCED: Final = ("DEBOUNCED", None)
COALESCED: Final = ("COALESCED", None)
NO_BUDGET: Final = ("BUDGET_EXHAUSTED", None)
FULL: Final = ("MARGINAL_VALUE_LOW", None)
UNKNOWN: Final = ("UNKNOWN_TRIGGER_TYPE", None)
REPEATED: Final = ("DUPLICATE_IDEMPOTENCY_KEY", None)
KILLED: Final = ("KILL_SWITCH", None)

SLOTS: Final = 1 << 62
"""Instead of the last ALLOW, where slots of other types are reserved: for the gate itself."""

NO_TRIGGER: Final = (None, None, 0, 0)


def quick(
    rule: TriggerRule,
    budget: int | None,
    tenant: TenantRuns,
    trigger_type: str,
    now: int,
    fired_at: int,
    last_trigger_at: int | None,  # None for a retry, which is not debounced
    hour: int,
    run_count: int,
    since: int | None,  # the last ALLOW
    own_due: int | None,  # of the retry that this type waits for; None for the retry itself
    is_alone: bool,  # it is fresh, and the account waits for no retry
    saturation: float | None,
) -> Answer | None:
    """The gate for the common case, without its objects; None where it has to be asked itself.

    That is: a cap that is full, and a cooldown that is not over while slots are reserved.
    """
    if last_trigger_at is not None and abs(fired_at - last_trigger_at) < rule.debounce_us:
        return DEBOUNCED
    if own_due is not None and now < own_due + OVERDUE_US:
        return COALESCED
    if budget is not None and tenant.runs_in_day(max(now // DAY, tenant.day)) >= budget:
        return NO_BUDGET
    if since is not None and now < since + rule.cooldown_us:
        until = -(-(since + rule.cooldown_us) // SECOND) * SECOND
        return ("COOLDOWN", until) if is_alone else None
    at = now // HOUR
    if rule.account_cap is not None and run_count * (hour >= at) >= rule.account_cap:
        return None
    if rule.tenant_cap is not None and (
        tenant.runs_in_hour(max(at, tenant.hour), trigger_type) >= rule.tenant_cap
    ):
        return None
    if saturation is not None and saturation >= SATURATED:
        return FULL
    return ALLOWED


def answer_of(verdict: Verdict) -> Answer:
    if verdict.reason is None:
        return ALLOWED
    code = verdict.reason.value
    if verdict.inner is not None:
        code = f"{code} {verdict.inner.value}"
    return code, verdict.defer_until


def recorded_answer(raw: Mapping[str, Any]) -> Answer:
    """What an entry says its verdict was."""
    if "reason" not in raw:
        return ALLOWED
    code = raw["reason"]
    if "inner" in raw:
        code = f"{code} {raw['inner']}"
    return code, raw.get("defer_until")
