"""The gate in short, for folds over many events: values instead of objects.

`quick` answers the common case and leaves the rest to `decide`. It is held equal to the
gate by a test over any history. Equal answers without a moment are one object, so that
most comparisons end at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from watchkeeper.core.admission import SATURATED, Reason, Verdict
from watchkeeper.core.policy import TriggerRule
from watchkeeper.core.run_state import OVERDUE_US, TenantRuns
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, HOUR, SECOND

Answer: TypeAlias = tuple[str, int | None]
"""A verdict in short: its reason (or ALLOW), and until when it defers."""

_PLAIN: Final[dict[str, Answer]] = {one.value: (one.value, None) for one in Reason}
ALLOWED: Final[Answer] = ("ALLOW", None)
DEBOUNCED: Final = _PLAIN["DEBOUNCED"]
COALESCED: Final = _PLAIN["COALESCED"]
NO_BUDGET: Final = _PLAIN["BUDGET_EXHAUSTED"]
FULL: Final = _PLAIN["MARGINAL_VALUE_LOW"]
UNKNOWN: Final = _PLAIN["UNKNOWN_TRIGGER_TYPE"]
REPEATED: Final = _PLAIN["DUPLICATE_IDEMPOTENCY_KEY"]
KILLED: Final = _PLAIN["KILL_SWITCH"]
ACCOUNT_FULL: Final = _PLAIN["ACCOUNT_HOURLY_CAP"]
TENANT_FULL: Final = _PLAIN["TENANT_HOURLY_CAP"]
"""The last two are said without a moment by `quick`; `capped` makes them what they mean."""

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

    That is a cooldown that is not over while slots are reserved, or of a retry.
    """
    if last_trigger_at is not None and abs(fired_at - last_trigger_at) < rule.debounce_us:
        return DEBOUNCED
    if own_due is not None and now < own_due + OVERDUE_US:
        return COALESCED
    if budget is not None and tenant.day_runs * (tenant.day >= now // DAY) >= budget:
        return NO_BUDGET
    if since is not None and now < since + rule.cooldown_us:
        until = -(-(since + rule.cooldown_us) // SECOND) * SECOND
        return ("COOLDOWN", until) if is_alone else None
    at = now // HOUR
    if rule.account_cap is not None and run_count * (hour >= at) >= rule.account_cap:
        return ACCOUNT_FULL
    if rule.tenant_cap is not None:
        runs = tenant.hour_runs.get(trigger_type, 0) if tenant.hour >= at else 0
        if runs >= rule.tenant_cap:
            return TENANT_FULL
    if saturation is not None and saturation >= SATURATED:
        return FULL
    return ALLOWED


def capped(
    answer: Answer, hour: int, now: int, account_id: str, spread_seconds: int, is_retry: bool
) -> Answer:
    """A full cap, as the gate says it: a retry is over, anything else waits for another hour.

    `hour` is the last one that was counted, of the account or of its tenant.
    """
    if is_retry:
        return f"RETRY_EXHAUSTED {answer[0]}", None
    hour = max(now // HOUR, hour)
    return answer[0], (hour + 1) * HOUR + spread(account_id, spread_seconds) * SECOND


def answer_of(verdict: Verdict) -> Answer:
    if verdict.reason is None:
        return ALLOWED
    code = verdict.reason.value
    if verdict.inner is not None:
        code = f"{code} {verdict.inner.value}"
    elif verdict.defer_until is None:
        return _PLAIN[code]
    return code, verdict.defer_until


def recorded_answer(raw: Mapping[str, Any]) -> Answer:
    """What an entry says its verdict was."""
    code = raw.get("reason")
    if code is None:
        return ALLOWED
    if "defer_until" in raw:
        return code, raw["defer_until"]
    if "inner" in raw:
        return f"{code} {raw['inner']}", None
    return _PLAIN.get(code) or (code, None)
