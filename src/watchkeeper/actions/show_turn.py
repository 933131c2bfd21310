"""Turns and quota, looked at: what was reserved and charged, and where the event is."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.actions.turns import found
from watchkeeper.core import quota
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.quota import TENANT_WIDE, BucketKey, Level, Period, Scope
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import Turn
from watchkeeper.store import outbox_desk, quotas
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.database import Database
from watchkeeper.store.quotas import Bucket
from watchkeeper.store.transaction import ReadTx
from watchkeeper.turn_results import QuotaBucket, bucket_of, turn_of
from watchkeeper.turn_results import Turn as TurnSeen


def show_turn(db: Database, tenant_id: TenantId, turn_id: str) -> TurnSeen:
    """One turn, with what became of its usage event, also after that has left the outbox."""
    with db.read(tenant_id) as tx:
        turn = found(tx, turn_id)
        return turn_of(turn, event=_event(tx, turn))


def turns_of_decision(db: Database, tenant_id: TenantId, decision_id: str) -> list[TurnSeen]:
    """The turns that metered a decision's run, the newest first."""
    with db.read(tenant_id) as tx:
        return [
            turn_of(turn, event=_event(tx, turn)) for turn in turn_rows.of_decision(tx, decision_id)
        ]


def list_turns(
    db: Database,
    tenant_id: TenantId,
    *,
    state: str | None = None,
    before: tuple[Instant, str] | None = None,
    limit: int = 100,
) -> Sequence[Turn]:
    with db.read(tenant_id) as tx:
        return turn_rows.page(tx, state=state, before=before, limit=limit)


def show_quota(db: Database, tenant_id: TenantId, user_id: str | None = None) -> list[QuotaBucket]:
    """Every bucket that has a limit or was used, in the present periods."""
    with db.read(tenant_id) as tx:
        rules = db.policies.exact(tx).rules.quota
        owner = TENANT_WIDE if user_id is None else user_id
        starts = {
            Period.DAILY: quota.day_start(tx.now),
            Period.MONTHLY: quota.month_start(tx.now),
        }
        stored = quotas.of_owner(tx, owner, starts[Period.DAILY], starts[Period.MONTHLY])
    buckets = {bucket.key: bucket for bucket in stored}
    scope = Scope.TENANT if user_id is None else Scope.USER
    for limited, period, name in rules.limits:
        if limited is scope:
            key = BucketKey(owner, period, starts[period], name)
            buckets.setdefault(key, Bucket(key, Level()))
    ordered = sorted(buckets.values(), key=lambda one: (one.key.period, one.key.bucket != "total"))
    return [bucket_of(bucket, rules) for bucket in ordered]


def _event(tx: ReadTx, turn: Turn) -> tuple[str, Instant | None] | None:
    if turn.event_id is None:
        return None
    if turn.event_fate is not None:
        return turn.event_fate, turn.event_fate_at
    message = outbox_desk.get(tx, MessageId(turn.event_id))
    return None if message is None else (str(message.status), message.done_at)
