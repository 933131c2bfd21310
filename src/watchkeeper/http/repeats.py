"""How each POST is kept from being done twice under one Idempotency-Key, by its endpoint.

A POST that is missing here cannot be made. The reference is written from this table.
"""

from __future__ import annotations

from typing import NamedTuple


class Repeat(NamedTuple):
    """What protects a POST, and the answer to a repeat when the first answer was not kept."""

    guard: str
    answer: str


KEY = "the key, written in the transaction of the change"
EACH = "the key, written in the transaction of the change; one for each tenant"
PLAN = Repeat(KEY, "the plan as it is now")
INTENT = Repeat(KEY, "the intent as it is now")

REPEATS: dict[str, Repeat] = {
    "post_tenant": Repeat(KEY, "the tenant as it is now"),
    "post_api_key": Repeat(
        KEY,
        "the key's record with `key: null`. Its secret was not kept: revoke it by its `key_id`"
        " and make another key",
    ),
    "post_policy_plan": Repeat("nothing is changed", "the document is tried again"),
    "post_promotion": Repeat(KEY, "the same version and hash"),
    "post_signals": Repeat(EACH, "the same signal ids and verdicts"),
    "post_triggers": Repeat(KEY, "the same verdicts"),
    "post_outcome": Repeat("the run, which ends once", "the decision as it is now"),
    "post_turn": Repeat("the turn's `request_id`", "the same turn, with `existing: true`"),
    "post_progress": Repeat("the turn: progress again is progress", "204; 409 once it has ended"),
    "post_finalize": Repeat("the turn, which is settled once", "what was settled"),
    "post_pull": Repeat(KEY, "the same answer"),
    "post_report": Repeat(KEY, "the same report"),
    "post_plan": PLAN,
    "post_proposal": Repeat(
        KEY, "the plan as it is now. The proposer may be called again; its proposal is not used"
    ),
    "post_plan_approve": PLAN,
    "post_plan_pause": PLAN,
    "post_plan_resume": PLAN,
    "post_plan_abort": PLAN,
    "post_step_skip": PLAN,
    "post_facts": PLAN,
    "post_intent_approve": INTENT,
    "post_intent_reject": INTENT,
    "post_intent_outcome": Repeat("the intent, whose outcome counts once", "the same outcome"),
    "post_redrive_many": Repeat(
        "the key, written in the transaction of the first 200 messages",
        "how many messages the first request redrove. If it was cut off, the rest stays dead:"
        " redrive it under a new key",
    ),
    "post_redrive": Repeat(KEY, "the message as it is now"),
    "post_discard": Repeat(KEY, "204"),
    "post_kill_switch": Repeat(KEY, "the same answer"),
    "post_clock_advance": Repeat(
        "the key, written with the moment to reach before the clock moves",
        "the clock goes on to that moment, and `steps` counts from there",
    ),
}


def repeat_of(endpoint: str) -> Repeat:
    found = REPEATS.get(endpoint)
    if found is None:
        raise RuntimeError(f"the POST {endpoint} does not say what a repeat of it does")
    return found
