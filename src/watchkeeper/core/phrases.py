"""A verdict in one sentence, for people. The reason code is the contract; the words are not."""

from __future__ import annotations

from watchkeeper.core.admission import Reason, Result, Verdict
from watchkeeper.core.time import to_iso

_PHRASES = {
    Reason.UNKNOWN_TRIGGER_TYPE: "The policy has no trigger of this type.",
    Reason.KILL_SWITCH: "A kill switch is on.",
    Reason.DEBOUNCED: "Another event of this type came for the account a moment ago; the next run"
    " gets this one too.",
    Reason.COALESCED: "A run of this type already waits for its account's next free slot; it"
    " gets this event too.",
    Reason.BUDGET_EXHAUSTED: "The tenant has used up its run budget of this UTC day.",
    Reason.COOLDOWN: "The account ran, or has a run reserved, within the cooldown.",
    Reason.ACCOUNT_HOURLY_CAP: "The account has reached its hourly cap of runs of this type.",
    Reason.TENANT_HOURLY_CAP: "The tenant has reached its hourly cap of runs of this type.",
    Reason.MARGINAL_VALUE_LOW: "The action saturation score of the account is 1 or more.",
}

_OF_CODES = {
    **_PHRASES,
    Reason.DUPLICATE_IDEMPOTENCY_KEY: "The idempotency key belongs to an earlier decision.",
    Reason.RETRY_EXHAUSTED: "The one retry of the event is used up.",
}


def phrase_of(reason: str) -> str | None:
    """What a code means, without the case at hand; None for one that nobody knows."""
    return _OF_CODES.get(Reason(reason)) if reason in set(Reason) else None


def phrase(verdict: Verdict, switch: str | None = None, switch_reason: str | None = None) -> str:
    """The verdict of a case. `switch` names the kill switch of the case, where it is known."""
    if verdict.result is Result.ALLOW:
        return "Every check passed."
    if verdict.duplicate is not None:
        differs = ", although the content differs" if verdict.duplicate.differs else ""
        return f"The idempotency key belongs to decision {verdict.duplicate.decision_id}{differs}."
    if verdict.reason is Reason.RETRY_EXHAUSTED:
        assert verdict.inner is not None
        return f"The one retry of the event is used up. {_PHRASES[verdict.inner]}"
    assert verdict.reason is not None
    if verdict.reason is Reason.KILL_SWITCH and switch is not None:
        return _switch_phrase(switch, switch_reason)
    told = _PHRASES[verdict.reason]
    if verdict.defer_until is not None:
        told += f" The one retry is at {to_iso(verdict.defer_until)}."
    return told


def _switch_phrase(switch: str, reason: str | None) -> str:
    named = f"The kill switch {switch} is on"
    return f"{named}: {reason.rstrip('.')}." if reason else f"{named}."
