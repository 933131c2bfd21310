"""Decision runs: started under a kill switch's eye, ended once, never run twice by themselves.

A run's message is delivered at most once: its claim has counted the one attempt. What a
handler said is written together with the end of the message, so that the run, the ledger
and the outbox cannot disagree; a worker that lost its lease writes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.core.admission import switch_for
from watchkeeper.core.delivery import Dead, DeadReason, Delivered, Reject
from watchkeeper.core.ids import AccountId, DecisionId, MessageId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.redaction import redacted, storable
from watchkeeper.core.time import from_iso, to_datetime
from watchkeeper.handlers.registry import Ended, Registry
from watchkeeper.ids import new_id
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.results import Decision, Run, SignalSeen
from watchkeeper.store import kill_switches, ledger, outbox_settle, runs, signals, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.runs import RunStatus
from watchkeeper.store.signals import Signal
from watchkeeper.store.transaction import Tx

NOTE_LENGTH_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Killed:
    """A kill switch was thrown between the ALLOW and the call."""

    error: str


def start_runs(db: Database, messages: Sequence[Message]) -> Mapping[MessageId, Any]:
    """Mark runs RUNNING and say what their handler is told, or that it is not called."""
    told: dict[MessageId, Any] = {}
    for tenant_id, those in _by_tenant(messages).items():
        with db.batch(tenant_id) as tx:
            switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
            limit = db.policies.exact(tx).rules.signals_per_run_max
            for message in those:
                told[message.id] = _start(tx, message, switches, limit)
    return told


def _start(tx: Tx, message: Message, switches: dict[str, str], limit: int) -> Run | Ended:
    detail = loads(message.payload)["detail"]
    killed_by = switch_for(switches, detail["trigger_type"])
    if killed_by is not None:
        error = f"kill switch {killed_by} is on: {switches[killed_by]}"
        return Ended(message, Killed(error), Reject(error))
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


def end_runs(db: Database, registry: Registry, ended: Sequence[Ended]) -> set[MessageId]:
    """Write the ends of runs with those of their messages; the ids that were still held."""
    good, killed, rest = [], [], []
    for one in ended:
        if isinstance(one.result, Delivered):
            good.append(one)
        elif isinstance(one.argument, Killed):
            killed.append((one.message, Dead(DeadReason.KILL_SWITCH, one.argument.error)))
        else:
            rest.append(one)
    held = bury(db, registry, killed)
    if rest:
        held |= settle_attempts(db, registry, rest)
    for tenant_id, those in _ended_by_tenant(good).items():
        held |= _succeed(db, tenant_id, those)
    return held


def _succeed(db: Database, tenant_id: TenantId, ended: Sequence[Ended]) -> set[MessageId]:
    def deed() -> set[MessageId]:
        with db.batch(tenant_id) as tx:
            tenant = tenants.lock(tx)
            held = outbox_settle.ack(tx, [one.message for one in ended])
            entries = [
                _end(tx, one.message.payload, RunStatus.SUCCEEDED, note=_note(one.value))
                for one in ended
                if one.message.id in held
            ]
            ledger.append_and_save(tx, tenant, [entry for entry in entries if entry])
        return held

    return db.retrying(deed)


def _note(value: object) -> str | None:
    note = value.note if isinstance(value, Decision) else None
    return None if note is None else storable(str(note)[:NOTE_LENGTH_MAX])


def lose_runs(tx: Tx, lost: Sequence[Lost]) -> None:
    """The messages of these runs are dead or discarded: the runs end with them."""
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
    ledger.record(tx, [entry for entry in entries if entry])


def _end(
    tx: Tx, payload: str, state: RunStatus, *, note: str | None = None, error: str | None = None
) -> Entry | None:
    """Write the end and the line of the ledger that tells it; None when it had ended before."""
    detail: dict[str, Any] = loads(payload)["detail"]
    decision_id, account_id = DecisionId(detail["decision_id"]), AccountId(detail["account_id"])
    trigger_type = detail["trigger_type"]
    if not runs.end(tx, decision_id, account_id, trigger_type, state, note=note, error=error):
        return None
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
