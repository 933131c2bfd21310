"""Decision runs: started under a kill switch's eye, ended once, never run twice by themselves.

A run's message is delivered at most once: its claim has counted the one attempt. What a
handler said is written together with the end of the message, so that the run, the ledger
and the outbox cannot disagree; a worker that lost its lease writes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from watchkeeper.actions.meter_runs import (
    Metering,
    OverQuota,
    fail_runs,
    reserve_runs,
    settle_runs,
)
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.propose_plan import draft_decided
from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.core.admission import switch_for
from watchkeeper.core.delivery import Dead, DeadReason, Delivered, Reject
from watchkeeper.core.ids import AccountId, DecisionId, MessageId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.redaction import redacted, storable
from watchkeeper.core.time import SECOND, from_iso, to_datetime
from watchkeeper.core.turns import Turn
from watchkeeper.handlers.registry import Ended, NotStarted, Registry
from watchkeeper.ids import new_id
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plans import NewPlan
from watchkeeper.results import Decision, Run, SignalSeen
from watchkeeper.store import kill_switches, ledger, outbox_settle, runs, signals, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.runs import RunStatus
from watchkeeper.store.signals import Signal
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx
from watchkeeper.telemetry import count_run

NOTE_LENGTH_MAX = 10_000
UNMETERED = Metering()


class Suggested(NamedTuple):
    """Who makes drafts of the plans that a decision suggests, and who reads them."""

    carrier: Plans
    read: Callable[[Decision, str], Sequence[NewPlan | Exception]]


@dataclass(frozen=True, slots=True)
class NotCalled:
    """Between the ALLOW and the call a kill switch was thrown, or no quota was left."""

    reason: DeadReason
    error: str


def start_runs(
    db: Database, messages: Sequence[Message], metering: Metering = UNMETERED
) -> Mapping[MessageId, Any]:
    """Mark runs RUNNING and say what their handler is told, or that it is not called."""
    told: dict[MessageId, Any] = {}
    for tenant_id, those in _by_tenant(messages).items():
        with db.batch(tenant_id) as tx:
            tenant = None if metering.model is None else tenants.lock(tx)
            ours = outbox_settle.still_ours(tx, those)
            told |= {m.id: Ended(m, None, NotStarted()) for m in those if m.id not in ours}
            those = [m for m in those if m.id in ours]
            switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
            told |= {m.id: killed for m in those if (killed := _killed(m, switches)) is not None}
            alive = [m for m in those if m.id not in told]
            metered: dict[MessageId, Turn | OverQuota] = {}
            if tenant is not None:
                metered = reserve_runs(tx, tenant, db.policies, metering, alive)
                tenants.save_seq(tx, tenant)
            limit = db.policies.exact(tx).rules.signals_per_run_max
            for message in alive:
                told[message.id] = _start(tx, message, limit, metered.get(message.id))
    return told


def _killed(message: Message, switches: dict[str, str]) -> Ended | None:
    killed_by = switch_for(switches, loads(message.payload)["detail"]["trigger_type"])
    if killed_by is None:
        return None
    error = f"kill switch {killed_by} is on: {switches[killed_by]}"
    return Ended(message, NotCalled(DeadReason.KILL_SWITCH, error), Reject(error))


def _start(tx: Tx, message: Message, limit: int, turn: Turn | OverQuota | None) -> Run | Ended:
    if isinstance(turn, OverQuota):
        told = NotCalled(DeadReason.QUOTA_EXCEEDED, turn.error)
        return Ended(message, told, Reject(turn.error))
    detail = loads(message.payload)["detail"]
    account_id = AccountId(detail["account_id"])
    runs.start(tx, DecisionId(detail["decision_id"]), account_id, detail["trigger_type"])
    after, until = detail["signals_after"], detail["signals_until"]
    seen = signals.between(tx, account_id, after, until, limit + 1)
    return Run(
        decision_id=detail["decision_id"],
        tenant_id=tx.tenant_id,
        account_id=account_id,
        trigger_type=detail["trigger_type"],
        evaluated_at=to_datetime(from_iso(detail["evaluated_at"])),
        idempotency_key=detail["idempotency_key"],
        correlation_id=detail.get("correlation_id"),
        signals=tuple(_seen(signal) for signal in seen[-limit:]),
        more_signals=len(seen) > limit,
        traceparent=detail.get("traceparent"),
        turn_id=None if turn is None else turn.turn_id,
        effective_model=None if turn is None else turn.effective_model,
    )


def _seen(signal: Signal) -> SignalSeen:
    assert signal.occurred_at is not None
    return SignalSeen(
        signal_id=signal.signal_id,
        type=signal.type,
        occurred_at=to_datetime(signal.occurred_at),
        correlation_id=signal.correlation_id,
        data=loads(signal.data),
    )


def end_runs(
    db: Database,
    registry: Registry,
    ended: Sequence[Ended],
    metering: Metering = UNMETERED,
    suggested: Suggested | None = None,
) -> set[MessageId]:
    """Write the ends of runs with those of their messages; the ids that were still held."""
    good, killed, rest = [], [], []
    for one in ended:
        if isinstance(one.result, Delivered):
            good.append(one)
        elif isinstance(one.argument, NotCalled):
            killed.append((one.message, Dead(one.argument.reason, one.argument.error)))
        else:
            rest.append(one)
    held = bury(db, registry, killed)
    if rest:
        held |= settle_attempts(db, registry, rest)
    for tenant_id, those in _ended_by_tenant(good).items():
        held |= _succeed(db, tenant_id, those, metering, suggested)
    return held


def _succeed(
    db: Database,
    tenant_id: TenantId,
    ended: Sequence[Ended],
    metering: Metering,
    suggested: Suggested | None,
) -> set[MessageId]:
    def deed() -> set[MessageId]:
        with db.batch(tenant_id) as tx:
            tenant = tenants.lock(tx)
            ends = outbox_settle.acked(tx, [one.message for one in ended])
            still = [one for one in ended if one.message.id in ends.now]
            entries = [
                _end(tx, one.message.payload, RunStatus.SUCCEEDED, note=_note(one.value))
                for one in still
            ]
            ledger.append(tx, tenant, [entry for entry in entries if entry])
            settle_runs(tx, tenant, db.policies, metering.namespace, _metered(still, metering))
            if suggested is not None:
                _draft(tx, tenant, suggested, still)
            tenants.save_seq(tx, tenant)
        return ends.held

    return db.retrying(deed)


def _draft(tx: Tx, tenant: LockedTenant, suggested: Suggested, ended: Sequence[Ended]) -> None:
    """The plans that handlers suggested, as drafts, in the transaction of the end of their run."""
    suggesting = [one for one in ended if isinstance(one.value, Decision) and one.value.plans]
    if not suggesting:
        return
    desk = suggested.carrier.desk(tx, tenant)
    refused: list[Entry] = []
    for one in suggesting:
        run: Run = one.argument
        found = suggested.read(one.value, run.account_id)
        refused += draft_decided(
            desk, found, decision_id=run.decision_id, account_id=run.account_id
        )
    desk.write()
    ledger.append(tx, tenant, refused)


def _metered(
    ended: Sequence[Ended], metering: Metering
) -> list[tuple[Message, Mapping[str, object] | None]]:
    """The runs that have a turn, or should have: they were reserved for, or report usage."""
    reported = [
        (one.message, one.value.usage if isinstance(one.value, Decision) else None) for one in ended
    ]
    return [one for one in reported if metering.model is not None or one[1] is not None]


def _note(value: object) -> str | None:
    note = value.note if isinstance(value, Decision) else None
    return None if note is None else storable(str(note)[:NOTE_LENGTH_MAX])


def lose_runs(tx: Tx, lost: Sequence[Lost], namespace: str = UNMETERED.namespace) -> None:
    """The messages of these runs are dead or discarded: the runs and their turns end with them."""
    entries = [
        _end(
            tx,
            one.payload,
            RunStatus.OUTCOME_UNKNOWN
            if one.reason == DeadReason.OUTCOME_UNKNOWN
            else RunStatus.FAILED,
            error=redacted(one.error or one.reason),
        )
        for one in lost
    ]
    tenant = tenants.lock(tx)
    ledger.append(tx, tenant, [entry for entry in entries if entry])
    fail_runs(tx, tenant, namespace, [one.id for one in lost])
    tenants.save_seq(tx, tenant)


def _end(
    tx: Tx, payload: str, state: RunStatus, *, note: str | None = None, error: str | None = None
) -> Entry | None:
    """Write the end and the line of the ledger that tells it; None when it had ended before."""
    detail: dict[str, Any] = loads(payload)["detail"]
    decision_id, account_id = DecisionId(detail["decision_id"]), AccountId(detail["account_id"])
    trigger_type = detail["trigger_type"]
    if not runs.end(tx, decision_id, account_id, trigger_type, state, note=note, error=error):
        return None
    waited_us = tx.now - from_iso(detail["evaluated_at"])
    tx.after_commit.append(partial(count_run, state, waited_us / SECOND))
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.DECIDE,
        kind=Kind.RUN_ENDED,
        subject=account_id,
        correlation_id=detail.get("correlation_id"),
        trigger_type=trigger_type,
        result=state,
        data=dumps({"decision_id": decision_id, "error": error, "state": state}),
    )


def _by_tenant(messages: Sequence[Message]) -> dict[TenantId, list[Message]]:
    groups: dict[TenantId, list[Message]] = defaultdict(list)
    for message in messages:
        groups[message.tenant_id].append(message)
    return groups


def _ended_by_tenant(ended: Sequence[Ended]) -> dict[TenantId, list[Ended]]:
    groups: dict[TenantId, list[Ended]] = defaultdict(list)
    for one in ended:
        groups[one.message.tenant_id].append(one)
    return groups
