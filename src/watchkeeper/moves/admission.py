"""Admit a batch of events of one tenant: lock, decide, save, record, enqueue.

Everything happens under the tenant's row lock and in one transaction: the key is
reserved, the state evolves, the verdict is in the ledger and the run (or the one
retry) is in the outbox, or none of it. The number of statements does not depend on
the number of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

from watchkeeper.core import envelope
from watchkeeper.core.admission import (
    UNKNOWN,
    Case,
    Duplicate,
    Event,
    Result,
    Verdict,
    decide,
    evolve,
    switch_for,
)
from watchkeeper.core.ids import AccountId, DecisionId, MessageId
from watchkeeper.core.ledger import Entry, Kind, Recorded, Stage
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.run_state import RunState
from watchkeeper.core.time import Instant, ceil_second
from watchkeeper.core.verdict_record import read_event, read_verdict, record
from watchkeeper.ids import new_id
from watchkeeper.moves import heat
from watchkeeper.moves.heat import Change, Heard
from watchkeeper.store import admission as store
from watchkeeper.store import heats, ledger, outbox, signals, tenants
from watchkeeper.store.admission import Found, Reservation
from watchkeeper.store.json import dumps, encode, loads
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.signals import Signal
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

SLICE = 25
"""Events that are judged before their verdicts are sent: the server need not wait for the last."""


FEW = 20
"""Up to here one statement for all writes is cheaper than letting the server start early."""


# As plain text: sqlite3 looks long for how to store a member of an enumeration.
_STAGE, _KIND = Stage.DECIDE.value, Kind.VERDICT.value


class PolicyMoved(Exception):
    """Another policy (or tier) rules now than when the batch was prepared: prepare it again."""


class Asked(NamedTuple):
    """An event that wants a verdict, under the id that the decision will have.

    The id is made before the first try, so that after a lost COMMIT the batch finds its
    own reservations and reads its verdicts instead of deciding twice.
    """

    decision_id: DecisionId
    event: Event
    signal: Signal | None = None
    traceparent: str | None = None  # the trace it came with, carried to the run
    may_pull: bool = True  # whether its account may be looked at because of it

    @property
    def fingerprint(self) -> str:
        event, signal = self.event, self.signal
        content = (
            f"{event.account_id}\n{event.trigger_type}\n{event.scheduled_at}\n{event.saturation}"
        )
        if signal is not None:
            content += f"\n{signal.type}\n{signal.data}"
        return f"{crc32(content.encode()):08x}"


class Decided(NamedTuple):
    """The answer to one event, as it stands in the ledger."""

    decision_id: DecisionId
    event: Event
    verdict: Verdict
    now: Instant
    policy_version: int
    switch: str | None = None  # the kill switch that was on, as the entry names it
    switch_reason: str | None = None  # where it is known: the entry does not keep it


@dataclass(slots=True)
class Writes:
    """What a batch leaves behind, gathered while it is decided."""

    states: dict[AccountId, RunState] = field(default_factory=dict)
    entries: list[tuple[int, Entry]] = field(default_factory=list)
    messages: list[NewMessage] = field(default_factory=list)
    signals: list[tuple[int, Signal]] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    are_any: bool = False  # an entry was written, so the tenant's counters have moved


def admit(
    tx: Tx, book: PolicyBook, asked: Sequence[Asked], *, notify_deferred: bool = False
) -> list[Decided]:
    """Answer every event, in order, each seeing what the ones before it changed."""
    guess = book.guess(tx)
    rules = guess.rules
    wanted: dict[str, Reservation] = {}
    for one in asked:
        key = one.event.idempotency_key
        if one.event.trigger_type in rules.triggers and key not in wanted:
            wanted[key] = Reservation(key, one.decision_id, one.fingerprint)
    account_ids = sorted({one.event.account_id for one in asked})

    waiting = tenants.send_lock(tx)
    talked_of = sorted({one.event.account_id for one in asked if one.signal is not None})
    warmth = heats.send_read(tx, talked_of) if talked_of else None
    found = store.reserve_and_read(tx, list(wanted.values()), account_ids, rules.idempotency_ttl_us)
    tenant = tenants.locked(tx, waiting)
    if found.now is not None:
        tx.now = found.now
    if (found.policy_version, tenant.tier) != (guess.version, guess.tier):
        book.learn(tx, found.policy_version, tenant.tier)
        raise PolicyMoved

    holders = {**wanted, **found.held}  # an earlier decision, or the first event here
    bench = _Bench(tx, rules, tenant, found, holders, notify_deferred)
    mine = _decided_before(tx, asked)
    decided: list[Decided] = []
    size = SLICE if tx.works_ahead else len(asked)
    for start in range(0, len(asked), size):
        if start:
            _write_verdicts(tx, bench.writes)
        decided += [
            mine[one.decision_id] if one.decision_id in mine else bench.judge(one)
            for one in asked[start : start + size]
        ]
    changes = _warmed(tx, tenant, rules, bench.writes, warmth)
    with tx.together() if len(asked) <= FEW else nullcontext():
        _write_verdicts(tx, bench.writes)
        heats.save(tx, [change.heat for change in changes])
        _write_states(tx, tenant, bench.writes)
    return decided


def _heard(signal: Signal, now: Instant, may_pull: bool) -> Heard:
    occurred_at = now if signal.occurred_at is None else signal.occurred_at
    told = (signal.account_id, signal.signal_id, occurred_at, signal.correlation_id)
    return Heard(*told, may_pull)


def _warmed(
    tx: Tx, tenant: LockedTenant, rules: TenantRules, writes: Writes, warmth: Any
) -> list[Change]:
    """What the batch's signals did to the heat of their accounts; what follows is gathered."""
    if not writes.heard:
        return []
    known = {one.account_id: one for one in heats.read_sent(warmth)}
    unknown = {one.account_id for one in writes.heard} - known.keys()
    postures = heats.postures(tx, sorted(unknown)) if unknown else {}
    changes = heat.hear(rules, known, postures, writes.heard, tx.now)
    writes.messages += heat.pulls_on_signals(rules.heat, changes, writes.heard)
    moved = heat.entries(tx, changes, rules)
    writes.entries += [(tenant.next_seq(), entry) for entry in moved]
    heat.follow(tx, rules, changes)
    return changes


def _decided_before(tx: Tx, asked: Sequence[Asked]) -> dict[DecisionId, Decided]:
    """Verdicts of this very batch that a COMMIT with a lost answer has left in the ledger."""
    if not tx.recovering:
        return {}
    entries = ledger.by_ids(tx, [one.decision_id for one in asked])
    return {DecisionId(found.entry.entry_id): decided_from(found) for found in entries.values()}


def decided_from(found: Recorded) -> Decided:
    data = loads(found.entry.data)
    return Decided(
        decision_id=DecisionId(found.entry.entry_id),
        event=read_event(data),
        verdict=read_verdict(data),
        now=found.entry.at,
        policy_version=found.entry.policy_version,
        switch=data.get("kill_switch"),
    )


class _Bench:
    """Where the events of one batch are judged, one after the other."""

    def __init__(
        self,
        tx: Tx,
        rules: TenantRules,
        tenant: LockedTenant,
        found: Found,
        holders: dict[str, Reservation],
        notify_deferred: bool,
    ) -> None:
        self.tx = tx
        self.rules = rules
        self.tenant = tenant
        self.found = found
        self.holders = holders
        self.notify_deferred = notify_deferred
        # Verdicts live in whole seconds, rounded up: a run that starts some milliseconds late
        # must not make the next reserved slot of its account come too early.
        self.now = ceil_second(tx.now)
        self.writes = Writes()
        self.new_accounts: set[AccountId] = set()

    def judge(self, one: Asked) -> Decided:
        event, now = one.event, self.now
        state = self._state(event.account_id)
        case = Case(
            event,
            state,
            self.tenant.runs,
            self.rules,
            now,
            switch_for(self.found.switches, event.trigger_type) if self.found.switches else None,
            self._duplicate(one),
        )
        verdict = decide(case)
        seq = self.tenant.next_seq()
        self.writes.entries.append((seq, self._entry(one, case, verdict)))
        after = state.last_allowed_seq
        evolve(case, verdict, one.decision_id, seq)
        self._follow_up(one, verdict, seq, after)
        return Decided(
            one.decision_id,
            event,
            verdict,
            now,
            self.rules.policy_version,
            case.kill_switch,
            self.found.switches.get(case.kill_switch or ""),
        )

    def _state(self, account_id: AccountId) -> RunState:
        state = self.found.states.get(account_id)
        if state is None:
            state = self.found.states[account_id] = RunState()
            self.new_accounts.add(account_id)
        return state

    def _duplicate(self, one: Asked) -> Duplicate | None:
        holder = self.holders.get(one.event.idempotency_key)
        if holder is None or holder.decision_id == one.decision_id:
            return None
        return Duplicate(holder.decision_id, holder.fingerprint != one.fingerprint)

    def _entry(self, one: Asked, case: Case, verdict: Verdict) -> Entry:
        event, reason = one.event, verdict.reason
        return Entry(  # by place: by name would cost more than the rest of it
            one.decision_id,
            case.now,
            _STAGE,
            _KIND,
            event.account_id,
            dumps(record(case, verdict, self.tenant.tier)),
            self.rules.policy_version,
            event.correlation_id,
            event.trigger_type,
            verdict.result.value,
            None if reason is None else reason.value,
        )

    def _follow_up(self, one: Asked, verdict: Verdict, seq: int, after: int) -> None:
        event, writes = one.event, self.writes
        if one.signal is not None and verdict.duplicate is None:
            writes.signals.append((seq, one.signal))
            writes.heard.append(_heard(one.signal, self.now, one.may_pull))
        if self._is_to_be_saved(event, verdict):
            writes.states[event.account_id] = self.found.states[event.account_id]
        if verdict.result is Result.ALLOW:
            writes.messages.append(self._run(one, seq, after))
        elif verdict.defer_until is not None:
            writes.messages.extend(self._retry(one, verdict.defer_until))

    def _is_to_be_saved(self, event: Event, verdict: Verdict) -> bool:
        if verdict.result is not Result.SKIP or event.retry_of is not None:
            return True
        # The first event of an account makes it, unless it is none: unknown, or a repeat.
        is_event = verdict.duplicate is None and verdict is not UNKNOWN
        return is_event and event.account_id in self.new_accounts

    def _run(self, one: Asked, seq: int, after: int) -> NewMessage:
        payload = envelope.evaluation_requested(
            self.tx.tenant_id,
            one.decision_id,
            one.event,
            now=self.now,
            signals_after=after,
            signals_until=seq,
        )
        if one.traceparent is not None:
            payload["detail"]["traceparent"] = one.traceparent
        return NewMessage(
            envelope.EVALUATION_REQUESTED,
            encode(payload),
            id=MessageId(one.decision_id),  # one message per ALLOW: the id refuses a second
        )

    def _retry(self, one: Asked, due_at: Instant) -> list[NewMessage]:
        event = one.event
        deferral = one.decision_id if event.retry_of is None else event.retry_of
        moved = event.retry_of is not None
        tenant_id = self.tx.tenant_id
        cooldown_us = self.rules.triggers[event.trigger_type].cooldown_us
        payload = envelope.retry(
            tenant_id, deferral, event, due_at=due_at, moved=moved, cooldown_us=cooldown_us
        )
        messages = [
            NewMessage(
                topic=envelope.RETRY,
                payload=encode(payload),
                due_at=due_at,
                id=MessageId(new_id()),
            )
        ]
        if self.notify_deferred:
            news = envelope.deferred(tenant_id, event, until=due_at, now=self.now)
            messages.append(
                NewMessage(topic=envelope.DEFERRED, payload=encode(news), id=MessageId(new_id()))
            )
        return messages


def _write_verdicts(tx: Tx, writes: Writes) -> None:
    """Send what has been judged so far; the server writes it while the next are judged."""
    if writes.entries:
        writes.are_any = True
        ledger.append_numbered(tx, writes.entries)
        writes.entries = []
    if writes.signals:
        signals.insert(tx, writes.signals)
        writes.signals = []
    if writes.messages:
        outbox.enqueue_plain(tx, writes.messages)
        writes.messages = []


def _write_states(tx: Tx, tenant: LockedTenant, writes: Writes) -> None:
    if writes.states:
        store.save_states(tx, writes.states)
    if writes.are_any:
        tenants.save(tx, tenant)


def end_pending(tx: Tx, account_id: AccountId, trigger_type: str, deferral: DecisionId) -> bool:
    """A retry was discarded or is dead: its account no longer waits for it."""
    tenants.lock(tx)
    found = store.reserve_and_read(tx, [], [account_id], 0)
    state = found.states.get(account_id)
    if state is None or not state.end_pending(trigger_type, deferral):
        return False
    store.save_states(tx, {account_id: state})
    return True
