"""An entry of the ledger in a few words, for people. Kinds are the contract; the words are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from watchkeeper.core.ledger import Entry, Kind
from watchkeeper.core.phrases import phrase
from watchkeeper.core.verdict_record import read_verdict

MICRO = 1_000_000


class Words(NamedTuple):
    """What happened, and more about it where there is more."""

    title: str
    detail: str = ""


_TITLES: Mapping[str, str] = {
    Kind.VERDICT: "A trigger fired",
    Kind.RUN_ENDED: "A run ended",
    Kind.SCHEDULE_SET: "A schedule was set",
    Kind.SCHEDULE_REMOVED: "A schedule was removed",
    Kind.SCHEDULE_FIRED: "A schedule fired",
    Kind.SCHEDULE_MISSED: "A schedule was missed",
    Kind.ACCOUNT_CHANGED: "The account was changed",
    Kind.MESSAGE_DEAD: "A message is dead",
    Kind.MESSAGE_REDRIVEN: "A message was redriven",
    Kind.MESSAGE_DISCARDED: "A message was discarded",
    Kind.TIER_CHANGED: "The heat tier changed",
    Kind.PULL_DECIDED: "A pull was requested",
    Kind.PULL_ENDED: "A pull ended",
    Kind.BUDGET_SET: "The pull budget was set",
    Kind.CONNECTOR_SET: "A connector was set",
    Kind.REPORT_GENERATED: "A report was generated",
    Kind.REPORT_FAILED: "A report failed",
    Kind.MILESTONE_MISSED: "A milestone was missed",
    Kind.TURN_RESERVED: "Credits were reserved",
    Kind.TURN_REFUSED: "Credits were refused",
    Kind.TURN_SETTLED: "Credits were settled",
    Kind.PLAN_CREATED: "A plan was drafted",
    Kind.PLAN_UPDATED: "The plan was changed",
    Kind.PLAN_APPROVED: "The plan was approved",
    Kind.PLAN_HELD: "The plan is held back",
    Kind.PLAN_ACTIVATED: "The plan was activated",
    Kind.PLAN_PAUSED: "The plan was paused",
    Kind.PLAN_RESUMED: "The plan was resumed",
    Kind.PLAN_ABORTED: "The plan was aborted",
    Kind.PLAN_COMPLETED: "The plan is completed",
    Kind.PLAN_EXPIRED: "The plan expired",
    Kind.FACTS_TOLD: "Facts were added to the plan",
    Kind.PROPOSAL_REFUSED: "A proposed plan was refused",
    Kind.STEP_STARTED: "A step started",
    Kind.STEP_COMPLETED: "A step completed",
    Kind.STEP_SKIPPED: "A step was skipped",
    Kind.STEP_FAILED: "A step failed",
    Kind.INTENT_APPROVED: "An action was approved",
    Kind.INTENT_REJECTED: "An action was rejected",
    Kind.OUTCOME_LATE: "An outcome came too late",
    Kind.SINK_SET: "A sink was set",
    Kind.SINK_REMOVED: "A sink was removed",
    Kind.KILL_SWITCH_SET: "A kill switch was changed",
    Kind.POLICY_APPLIED: "A policy was applied",
    Kind.SHADOW_SET: "A shadow policy was set",
    Kind.SHADOW_REMOVED: "A shadow policy was removed",
    Kind.TENANT_CREATED: "The tenant was created",
    Kind.TENANT_CHANGED: "The tenant was changed",
    Kind.API_KEY_CREATED: "An API key was created",
    Kind.API_KEY_REVOKED: "An API key was revoked",
    Kind.LEDGER_PRUNED: "The ledger was pruned",
}


def words_of(entry: Entry, data: Mapping[str, Any], signal_type: str | None = None) -> Words:
    """What an entry says. `signal_type` is that of the signal a verdict answers, if known."""
    if entry.kind == Kind.VERDICT:
        return _verdict(entry, data, signal_type)
    tell = _TOLD.get(entry.kind)
    if tell is not None:
        return tell(entry, data)
    title = _TITLES.get(entry.kind, entry.kind)
    return Words(title, _joined(entry.subject, _because(entry, data), _by(data)))


def _verdict(entry: Entry, data: Mapping[str, Any], signal_type: str | None) -> Words:
    title = {
        "ALLOW": "A run was allowed",
        "DEFER": "A run was deferred",
        "SKIP": "No run",
    }.get(entry.result or "", _TITLES[Kind.VERDICT])
    event = data.get("event", {})
    asked = entry.trigger_type or "a trigger"
    if signal_type is not None:
        asked = f"Signal {signal_type}"
    elif event.get("retry_of"):
        asked = f"The retry of {asked}"
    return Words(title, f"{asked}. {phrase(read_verdict(dict(data)), data.get('kill_switch'))}")


def _run_ended(entry: Entry, data: Mapping[str, Any]) -> Words:
    title = {
        "SUCCEEDED": "The run succeeded",
        "FAILED": "The run failed",
        "OUTCOME_UNKNOWN": "The outcome of the run is unknown",
    }.get(entry.result or "", "The run ended")
    return Words(title, _joined(entry.trigger_type, data.get("error")))


def _account_changed(_: Entry, data: Mapping[str, Any]) -> Words:
    changed: Mapping[str, Any] = data.get("changed", {})
    parts = [
        f"{name.replace('_', ' ')} {pair[0] or 'none'} → {pair[1] or 'none'}"
        for name, pair in changed.items()
        if pair[0] != pair[1]
    ]
    return Words(_TITLES[Kind.ACCOUNT_CHANGED], _joined(*parts) or "attributes")


def _tier(entry: Entry, data: Mapping[str, Any]) -> Words:
    was = data.get("was")
    now = entry.result or "?"
    title = f"Now {now}" if was is None else f"From {was} to {now}"
    return Words(title, f"heat {data.get('heat_micro', 0) / MICRO:.2f}")


def _pull_decided(entry: Entry, data: Mapping[str, Any]) -> Words:
    is_scheduled = entry.result == "SCHEDULED"
    title = "A pull was scheduled" if is_scheduled else "A pull was refused"
    look = f"{str(data.get('depth', '')).lower()} pull by {data.get('connector_id', '?')}"
    units = _count(data.get("units", 0), "unit") if is_scheduled else None
    origin = {"signal": "because of a signal", "manual": "requested manually"}
    why = origin.get(str(data.get("origin")))
    refused = None if is_scheduled else data.get("explanation") or entry.reason
    return Words(title, _joined(look.strip(), units, why, refused))


def _pull_ended(entry: Entry, data: Mapping[str, Any]) -> Words:
    connector = data.get("connector_id")
    if entry.result != "SUCCEEDED":
        title = "A pull failed" if entry.result == "FAILED" else "The outcome of a pull is unknown"
        return Words(title, _joined(connector, data.get("error")))
    found = data.get("signals", 0)
    return Words(f"A pull returned {_count(found, 'signal')}", _joined(connector))


def _reserved(_: Entry, data: Mapping[str, Any]) -> Words:
    amount = f"{_credits(data.get('reserved_micro'))} for {data.get('effective_model', '?')}"
    asked = data.get("asked", {}).get("model")
    lesser = f"instead of {asked}" if asked not in (None, data.get("effective_model")) else None
    return Words(_TITLES[Kind.TURN_RESERVED], _joined(amount, lesser))


def _settled(entry: Entry, data: Mapping[str, Any]) -> Words:
    charged = _credits(data.get("charged_micro"))
    kept = _credits(data.get("reserved_micro"))
    return Words(
        _TITLES[Kind.TURN_SETTLED],
        _joined(f"{charged} charged of {kept} reserved", str(entry.result or "").lower()),
    )


def _message(entry: Entry, data: Mapping[str, Any]) -> Words:
    reason = None if entry.reason is None else entry.reason.lower().replace("_", " ")
    return Words(
        _TITLES[entry.kind],
        _joined(data.get("topic"), reason, data.get("error"), _by(data)),
    )


def _act(entry: Entry, data: Mapping[str, Any]) -> Words:
    step = data.get("step_id")
    attempt = data.get("attempt")
    which = None if step is None else f"step {step}" + (f", attempt {attempt}" if attempt else "")
    return Words(
        _TITLES[entry.kind],
        _joined(
            data.get("objective") or data.get("plan_type"),
            which,
            data.get("action_type"),
            _because(entry, data),
            data.get("detail"),
            _by(data),
        ),
    )


def _switch(entry: Entry, data: Mapping[str, Any]) -> Words:
    title = "A kill switch was turned on" if data.get("on") else "A kill switch was turned off"
    return Words(title, _joined(entry.subject, data.get("reason"), _by(data)))


def _policy(entry: Entry, data: Mapping[str, Any]) -> Words:
    reason = data.get("reason")
    return Words(f"Policy version {entry.subject} is in force", _joined(reason, _by(data)))


def _refused(_: Entry, data: Mapping[str, Any]) -> Words:
    return Words(_TITLES[Kind.PROPOSAL_REFUSED], str(data.get("error", "")))


_TOLD: Mapping[str, Callable[[Entry, Mapping[str, Any]], Words]] = {
    Kind.RUN_ENDED: _run_ended,
    Kind.ACCOUNT_CHANGED: _account_changed,
    Kind.TIER_CHANGED: _tier,
    Kind.PULL_DECIDED: _pull_decided,
    Kind.PULL_ENDED: _pull_ended,
    Kind.TURN_RESERVED: _reserved,
    Kind.TURN_SETTLED: _settled,
    Kind.MESSAGE_DEAD: _message,
    Kind.MESSAGE_REDRIVEN: _message,
    Kind.MESSAGE_DISCARDED: _message,
    Kind.KILL_SWITCH_SET: _switch,
    Kind.POLICY_APPLIED: _policy,
    Kind.PROPOSAL_REFUSED: _refused,
    **{kind: _act for kind in Kind if kind.isupper() and kind is not Kind.PROPOSAL_REFUSED},
}


def _because(entry: Entry, data: Mapping[str, Any]) -> str | None:
    reason = entry.reason or data.get("reason")
    return None if reason is None else str(reason).replace("_", " ")


def _by(data: Mapping[str, Any]) -> str | None:
    who = next((data[n] for n in ("by", "set_by", "author", "created_by") if data.get(n)), None)
    return None if who is None else f"by {who}"


def _credits(micro: int | None) -> str:
    return f"{(micro or 0) / MICRO:,.2f} credits"


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def _joined(*parts: object) -> str:
    return " · ".join(str(part) for part in parts if part not in (None, ""))
