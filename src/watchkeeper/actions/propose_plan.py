"""Proposals become drafts: what the plan type does not allow is dropped, never carried out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from watchkeeper.actions.answer_once import AlreadyDone, Once, remember
from watchkeeper.actions.plans import Plans
from watchkeeper.core.ids import AccountId, PlanId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.plan_types import Mistake, sanitised
from watchkeeper.core.redaction import redacted
from watchkeeper.errors import Invalid, Problem, WatchkeeperError
from watchkeeper.ids import new_id
from watchkeeper.moves import plans as moves
from watchkeeper.moves.plan_desk import Desk
from watchkeeper.moves.plans import NewPlan
from watchkeeper.store.json import dumps

PROPOSER = "proposer"


class Proposed(NamedTuple):
    plan_id: PlanId
    dropped: tuple[Mistake, ...]


def propose_plan(
    carrier: Plans, tenant_id: TenantId, new: NewPlan, *, by: str, once: Once | None = None
) -> Proposed:
    """Make a draft of what a proposer suggested. Nothing that is allowed left: Invalid."""

    def deed(desk: Desk) -> Proposed:
        proposed = draft_proposal(desk, new, by=by, source=PROPOSER)
        remember(desk.tx, once, [proposed.plan_id, [list(one) for one in proposed.dropped]])
        return proposed

    try:
        return carrier.at_desk(tenant_id, deed, once, makes_tenant=carrier.makes_tenants)
    except AlreadyDone as done:
        plan_id, dropped = done.note
        return Proposed(plan_id, tuple(Mistake(*one) for one in dropped))


def draft_proposal(desk: Desk, new: NewPlan, *, by: str, source: str) -> Proposed:
    kind = desk.rules.act.types.get(new.plan_type)
    if kind is None:
        raise Invalid.at("plan_type", f"there is no plan type {new.plan_type}")
    left = sanitised(kind, new.steps)
    if not left.steps:
        dropped = [Problem(*mistake) for mistake in left.dropped]
        raise Invalid("the proposal has no step that its plan type allows", dropped)
    case = moves.draft(desk, new._replace(steps=left.steps), by=by, source=source)
    return Proposed(case.plan.plan_id, left.dropped)


def draft_decided(
    desk: Desk, suggested: Sequence[NewPlan | Exception], *, decision_id: str, account_id: str
) -> list[Entry]:
    """Drafts of what a decision handler suggested; a suggestion that is no use is written down.

    A run that ended well is not undone by a bad suggestion.
    """
    refused = []
    for one in suggested:
        try:
            if isinstance(one, Exception):
                raise one
            draft_proposal(desk, one, by=f"decision:{decision_id}", source="decision")
        except Exception as error:
            if not isinstance(error, WatchkeeperError | ValueError | TypeError):
                raise
            refused.append(_refused(desk, decision_id, account_id, str(error)))
    return refused


def _refused(desk: Desk, decision_id: str, account_id: str, error: str) -> Entry:
    return Entry(
        entry_id=new_id(),
        at=desk.now,
        stage=Stage.ACT,
        kind=Kind.PROPOSAL_REFUSED,
        subject=AccountId(account_id),
        data=dumps({"decision_id": decision_id, "error": redacted(error)[:2000]}),
        policy_version=desk.rules.policy_version,
    )
