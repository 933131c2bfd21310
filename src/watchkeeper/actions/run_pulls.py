"""Pulls, carried out: the connector is called once, and what it brings comes in as signals.

A pull is delivered at most once; one that fails is not tried again under its id, and what it
was charged stays charged. How it went moves the connector's breaker for that tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.core import limits
from watchkeeper.core.delivery import (
    Dead,
    DeadReason,
    Delivered,
    Reject,
    Retry,
    retry_after_us,
)
from watchkeeper.core.ids import AccountId, MessageId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.pulls import Origin
from watchkeeper.core.redaction import redacted
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import Instant
from watchkeeper.handlers.registry import Ended, NotStarted, Parked, Registry
from watchkeeper.ids import new_id
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.pull_gates import Starts
from watchkeeper.results import Pull
from watchkeeper.store import connectors, kill_switches, ledger, outbox_settle, pulls, tenants
from watchkeeper.store.connectors import ConnectorState
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.pulls import PullState
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

SIGNALS_PER_CALL = 1000


@dataclass(frozen=True, slots=True)
class NotCalled:
    """A kill switch was thrown between the scheduling and the call."""

    error: str


def start_pulls(
    db: Database, messages: Sequence[Message], known: Container[str]
) -> Mapping[MessageId, Any]:
    """Mark pulls RUNNING and say what their connector is told, or that it is not called.

    Those of a connector that is not `known` in this process wait, visibly.
    """
    told: dict[MessageId, Any] = {
        m.id: Ended(m, None, Parked(UNHANDLED_US, UNHANDLED))
        for m in messages
        if _connector_of(m) not in known
    }
    for tenant_id, those in _by_tenant([m for m in messages if m.id not in told]).items():
        with db.begin(tenant_id) as tx:
            rules = db.policies.exact(tx).rules.pulls
            starts = Starts(tx, map(_connector_of, those), rules.breaker)
            ours = outbox_settle.still_ours(tx, those)
            told |= {m.id: Ended(m, None, NotStarted()) for m in those if m.id not in ours}
            switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
            alive = [m for m in those if m.id in ours]
            for message in sorted(alive, key=_connector_of):  # the order in which all lock them
                told[message.id] = _start(tx, message, switches, starts, rules.lease_us)
    return told


def _start(
    tx: Tx, message: Message, switches: Mapping[str, str], starts: Starts, lease_us: int
) -> Pull | Ended:
    detail = loads(message.payload)["detail"]
    for switch in ("all", "tenant", f"connector:{detail['connector_id']}"):
        if switch in switches:
            error = f"kill switch {switch} is on: {switches[switch]}"
            return Ended(message, NotCalled(error), Reject(error))
    refused = None if detail.get("is_probe") else starts.refuse(detail["connector_id"])
    if refused is not None:
        until_at, why = refused
        connectors.free_slot(tx, detail["connector_id"], message.id)
        return Ended(message, None, Parked(until_at - tx.now, why))
    if not _has_slot(tx, detail["connector_id"], message.id, lease_us):
        return Ended(message, None, Parked(limits.FULL_PAUSE_US, "its connector is full"))
    starts.begin(detail["connector_id"])
    pulls.start(tx, detail["pull_job_id"], message.id)
    return Pull(
        pull_job_id=detail["pull_job_id"],
        tenant_id=tx.tenant_id,
        account_id=detail["account_id"],
        connector_id=detail["connector_id"],
        depth=detail["depth"],
        depth_units=detail["depth_units"],
        scheduled_at=detail["scheduled_at"],
        budget_remaining=detail["budget_remaining"],
        correlation_id=detail.get("correlation_id"),
    )


def _has_slot(tx: Tx, name: str, message_id: MessageId, lease_us: int) -> bool:
    """Where pulls at once are limited: its own slot, or another if it waited for too long."""
    if connectors.renew_slot(tx, name, message_id, Instant(tx.now + lease_us)):
        return True
    locked = connectors.lock(tx, [name])
    most = locked[name].max_concurrency if name in locked else None
    if most is None:
        return True
    if connectors.slots(tx, [name]).get(name, 0) >= most:
        return False
    connectors.take_slot(tx, name, message_id, Instant(tx.now + lease_us))
    return True


def end_pulls(
    db: Database, registry: Registry, admission: Admission, ended: Sequence[Ended]
) -> set[MessageId]:
    """Take in what pulls brought, then write their ends; the ids that were still held."""
    good, killed, rest = [], [], []
    for one in ended:
        if isinstance(one.result, Delivered):
            good.append(one)
        elif isinstance(one.argument, NotCalled):
            killed.append((one.message, Dead(DeadReason.KILL_SWITCH, one.argument.error)))
        else:
            rest.append(one)
    held = bury(db, registry, killed)
    for one in rest:
        if isinstance(one.result, Retry) and one.result.after_seconds is not None:
            hold(db, one.message, one.result.after_seconds)
    if rest:
        held |= settle_attempts(db, registry, rest)
    for one in good:
        held |= _succeed(db, admission, one)
    return held


def _succeed(db: Database, admission: Admission, one: Ended) -> set[MessageId]:
    """First the signals, whose ids make a repeat harmless; then the end that tells of them."""
    signals: Sequence[NewSignal] = one.value or ()
    tenant_id = one.message.tenant_id
    may_pull = loads(one.message.payload)["detail"]["origin"] != Origin.SIGNAL
    for start in range(0, len(signals), SIGNALS_PER_CALL):
        some = signals[start : start + SIGNALS_PER_CALL]
        ingest_signals(admission, tenant_id, some, may_pull=may_pull)

    def deed() -> set[MessageId]:
        with db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            ends = outbox_settle.acked(tx, [one.message])
            if ends.now:
                _end(
                    tx,
                    tenant,
                    one.message.payload,
                    one.message.id,
                    PullState.SUCCEEDED,
                    signals=len(signals),
                )
                tenants.save_seq(tx, tenant)
        return ends.held

    return db.retrying(deed)


def hold(db: Database, message: Message, after_seconds: float) -> None:
    """Upstream asked for patience: nobody pulls there until then, but for one probe."""
    connector_id = loads(message.payload)["detail"]["connector_id"]

    def deed() -> None:
        with db.begin(message.tenant_id) as tx:
            connectors.hold(tx, connector_id, Instant(tx.now + retry_after_us(after_seconds)))

    db.retrying(deed)


def lose_pulls(book: PolicyBook, tx: Tx, lost: Sequence[Lost]) -> None:
    """The messages of these pulls are dead or discarded: the pulls end with them."""
    tenant = tenants.lock(tx)
    breaker = book.exact(tx).rules.pulls.breaker
    for one in lost:
        unknown = one.reason == DeadReason.OUTCOME_UNKNOWN
        state = PullState.OUTCOME_UNKNOWN if unknown else PullState.FAILED
        error = redacted(one.error or one.reason)
        is_failure = one.reason not in (DeadReason.KILL_SWITCH, "DISCARDED")
        _end(
            tx,
            tenant,
            one.payload,
            one.id,
            state,
            error=error,
            breaker=breaker if is_failure else None,
        )
    tenants.save_seq(tx, tenant)


def _end(
    tx: Tx,
    tenant: LockedTenant,
    payload: str,
    message_id: MessageId,
    state: PullState,
    *,
    signals: int | None = None,
    error: str | None = None,
    breaker: limits.BreakerRule | None = None,
) -> None:
    detail: dict[str, Any] = loads(payload)["detail"]
    name, job_id = detail["connector_id"], detail["pull_job_id"]
    connectors.free_slot(tx, name, message_id)
    if not pulls.end(tx, job_id, message_id, state, signals=signals, error=error):
        return
    known = connectors.states(tx, [name]).get(name) or ConnectorState(name)
    if state is PullState.SUCCEEDED:
        after = limits.succeeded(known.breaker)
    elif breaker is not None:
        after = limits.failed(known.breaker, breaker, tx.now)
    else:
        after = known.breaker._replace(probe_until_at=None)
    if after != known.breaker:
        connectors.put_states(tx, [known._replace(breaker=after)])
    data = {
        "connector_id": name,
        "error": error,
        "pull_job_id": job_id,
        "signals": signals,
    }
    entry = Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.PERCEIVE,
        kind=Kind.PULL_ENDED,
        subject=AccountId(detail["account_id"]),
        correlation_id=detail.get("correlation_id"),
        result=state,
        data=dumps({key: value for key, value in data.items() if value is not None}),
    )
    ledger.append(tx, tenant, [entry])


def _connector_of(message: Message) -> str:
    return str(loads(message.payload)["detail"]["connector_id"])


def _by_tenant(messages: Sequence[Message]) -> dict[TenantId, list[Message]]:
    groups: dict[TenantId, list[Message]] = defaultdict(list)
    for message in messages:
        groups[message.tenant_id].append(message)
    return groups
