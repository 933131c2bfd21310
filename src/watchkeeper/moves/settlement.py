"""Turns are reserved and ended here, and nowhere else: batches, under the tenant's lock.

The reserve, its buckets and its line in the ledger are one transaction. So are the end of
a turn, the debit, and the one usage event that tells of it: whichever way a turn ends, and
whoever else tries to end it at the same moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from watchkeeper.core import quota, turns
from watchkeeper.core.ids import MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.quota import (
    EMPTY,
    Asked,
    BucketKey,
    Full,
    Granted,
    Level,
    QuotaRules,
    Refused,
)
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import USAGE_SNAPSHOT, Ending, Turn
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox, quotas
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.json import dumps
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.quotas import Found, Movement
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

# As plain text: sqlite3 looks long for how to store a member of an enumeration.
_STAGE, _RESERVED = Stage.SETTLE.value, Kind.TURN_RESERVED.value
_REFUSED, _SETTLED = Kind.TURN_REFUSED.value, Kind.TURN_SETTLED.value
QUOTA_EXCEEDED = "quota_exceeded"
FEW = 20
"""Up to here one statement for two writes is cheaper than letting the server start early."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A turn that runs; `is_new` is False when its request id was known already."""

    turn: Turn
    is_new: bool


@dataclass(frozen=True, slots=True)
class NotReserved:
    """No model of the cascade had room."""

    refused: Refused
    switches: dict[str, str]
    at: Instant


ReserveAnswer: TypeAlias = Reserved | NotReserved | Invalid | Conflict
"""A wrong request is an answer too: it must not refuse those that share its transaction."""


@dataclass(frozen=True, slots=True)
class Finalized:
    """How a turn ended. The loser of a race is told what the winner did."""

    won: bool
    turn: Turn


class Looked(NamedTuple):
    """What reserves are decided from, asked for and not waited for yet."""

    known: Any
    found: Any


def look(tx: Tx, asked: Sequence[Asked]) -> Looked:
    """Ask for it. A batch may do so behind the lock of the tenant, before it has that."""
    known = turn_rows.send_find(
        tx, [one.request_id for one in asked], [one.turn_id for one in asked]
    )
    users = {one.user_id for one in asked if one.user_id is not None} | {quota.TENANT_WIDE}
    return Looked(known, quotas.send_read(tx, users))


def reserve(
    tx: Tx,
    tenant: LockedTenant,
    book: PolicyBook,
    asked: Sequence[Asked],
    looked: Looked | None = None,
) -> list[ReserveAnswer]:
    """Answer every request, in order, each seeing what the ones before it took.

    The caller holds the tenant's lock and saves its row.
    """
    if not asked:
        return []
    looked = looked or look(tx, asked)
    known, found = turn_rows.fetched(looked.known), quotas.read(tx, looked.found)
    rules = book.under(tx, found.policy_version, tenant.tier).rules.quota
    batch = _Batch(tx, rules, found, known)
    answers = [batch.answer(one) for one in asked]
    batch.write(tenant)
    return answers


class _Batch:
    """Reserves that are judged one after the other and written together."""

    def __init__(self, tx: Tx, rules: QuotaRules, found: Found, known: Iterable[Turn]) -> None:
        self.tx = tx
        self.rules = rules
        self.found = found
        self.by_request: dict[str, Turn] = {}
        self.by_turn: dict[str, Turn] = {}
        for turn in known:
            self._remember(turn)
        self.born: list[Turn] = []
        self.entries: list[Entry] = []
        self.movements: dict[BucketKey, Movement] = defaultdict(Movement)

    def answer(self, asked: Asked) -> ReserveAnswer:
        known = self.by_request.get(asked.request_id)
        if known is not None:
            return Reserved(known, is_new=False)
        if asked.turn_id in self.by_turn:
            return Conflict(
                f"turn {asked.turn_id} belongs to another request", turn_id=asked.turn_id
            )
        if asked.model not in self.rules.models:
            names = ", ".join(self.rules.models)
            return Invalid.at("model", f"there is no such model in the policy; there are {names}")
        now = self.tx.now
        verdict = quota.reserve(asked, self.rules, self.found.levels, self.found.switches, now)
        self.entries.append(self._entry(asked, verdict))
        if isinstance(verdict, Refused):
            return NotReserved(verdict, self.found.switches, now)
        turn = turns.begin(asked, verdict, self.rules, self.found.policy_version, now)
        self.born.append(turn)
        self._remember(turn)
        for key in verdict.buckets:
            self._take(key, verdict.reserve_micro)
        return Reserved(turn, is_new=True)

    def write(self, tenant: LockedTenant) -> None:
        with self.tx.together() if len(self.entries) <= FEW else nullcontext():
            turn_rows.insert(self.tx, self.born)
            ledger.append(self.tx, tenant, self.entries)
        quotas.move(self.tx, self.movements)

    def _take(self, key: BucketKey, reserve_micro: int) -> None:
        reserved, spent = self.found.levels.get(key, EMPTY)
        self.found.levels[key] = Level(reserved + reserve_micro, spent)
        moved = self.movements[key]
        moved.reserved += reserve_micro
        moved.turns_reserved += 1

    def _remember(self, turn: Turn) -> None:
        self.by_request[turn.request_id] = self.by_turn[turn.turn_id] = turn

    def _entry(self, asked: Asked, verdict: Granted | Refused) -> Entry:
        granted = isinstance(verdict, Granted)
        data: dict[str, Any] = {
            "asked": {name: value for name, value in asked._asdict().items() if value},
            "refused": [_told(full) for full in verdict.refused],
        }
        if isinstance(verdict, Granted):
            data["effective_model"] = verdict.model.name
            data["reserved_micro"] = verdict.reserve_micro
            data["levels"] = [
                [key.user_id, key.period, key.bucket, *self.found.levels.get(key, EMPTY)]
                for key in verdict.buckets
            ]
        return Entry(
            entry_id=new_id(),
            at=self.tx.now,
            stage=_STAGE,
            kind=_RESERVED if granted else _REFUSED,
            subject=asked.turn_id,
            data=dumps(data),
            policy_version=self.found.policy_version,
            correlation_id=asked.request_id,
            result=None,
            reason=None if granted else QUOTA_EXCEEDED,
        )


def _told(full: Full) -> dict[str, Any]:
    told: dict[str, Any] = {"model": full.model, "reserve_micro": full.reserve_micro}
    if full.switch is not None:
        return {**told, "kill_switch": full.switch}
    assert full.bucket is not None
    owner = {} if full.bucket.user_id == quota.TENANT_WIDE else {"user_id": full.bucket.user_id}
    return {
        **told,
        **owner,
        "period": full.bucket.period,
        "bucket": full.bucket.bucket,
        "used_micro": full.used_micro,
        "limit_micro": full.limit_micro,
    }


def hold(tx: Tx, endings: Sequence[Ending]) -> Any:
    """Ask for the lock of turns, behind that of their tenant; `finalize` waits for it."""
    return turn_rows.send_lock(tx, [ending.turn_id for ending in endings])


def finalize(
    tx: Tx, tenant: LockedTenant, endings: Sequence[Ending], namespace: str, asked: Any = None
) -> list[Finalized | None]:
    """End turns, whichever way: one winner each, who settles and enqueues the one event.

    None answers an ending of a turn that there is not. The caller holds the tenant's lock
    and saves its row.
    """
    held = {turn.turn_id: turn for turn in turn_rows.fetched(asked or hold(tx, endings))}
    answers: list[Finalized | None] = []
    ended: list[Turn] = []
    for ending in endings:
        turn = held.get(ending.turn_id)
        if turn is None or not turns.may_end(turn, ending, tx.now):
            answers.append(None if turn is None else Finalized(_is_own(turn, ending), turn))
            continue
        settlement = turns.settle(turn, started=ending.started, usage=ending.usage)
        after = turns.end(turn, ending, settlement, event_id=new_id(), now=tx.now)
        held[ending.turn_id] = after
        ended.append(after)
        answers.append(Finalized(True, after))
    if ended:
        _write_ends(tx, tenant, ended, namespace)
    return answers


def _is_own(turn: Turn, ending: Ending) -> bool:
    """It was this very call that ended the turn: the answer to its COMMIT was lost."""
    return turn.finalize_id == ending.finalize_id


def _write_ends(tx: Tx, tenant: LockedTenant, ended: Sequence[Turn], namespace: str) -> None:
    """The event first: the database refuses to settle a turn whose event is not there."""
    outbox.enqueue_usage(tx, [_event(tx, turn, namespace) for turn in ended])
    turn_rows.end(tx, ended)
    quotas.move(tx, _debits(ended))
    ledger.append(tx, tenant, [_settled(tx, turn) for turn in ended])


def _event(tx: Tx, turn: Turn, namespace: str) -> NewMessage:
    return NewMessage(
        topic=USAGE_SNAPSHOT,
        namespace=namespace,
        payload=dumps(turns.usage_snapshot(tx.tenant_id, turn)),
        dedupe_key=turns.usage_key(tx.tenant_id, turn),
        id=MessageId(str(turn.event_id)),
    )


def _debits(ended: Sequence[Turn]) -> dict[BucketKey, Movement]:
    movements: dict[BucketKey, Movement] = defaultdict(Movement)
    for turn in ended:
        for key in turns.buckets(turn):
            moved = movements[key]
            moved.reserved -= turn.reserved_micro
            moved.spent += turn.charged_micro or 0
            moved.turns_settled += 1
            moved.input_tokens += turn.input_tokens or 0
            moved.output_tokens += turn.output_tokens or 0
    return movements


def _settled(tx: Tx, turn: Turn) -> Entry:
    data = {
        "charged_micro": turn.charged_micro,
        "computed_micro": turn.computed_micro,
        "ended_by": turn.ended_by,
        "event_id": turn.event_id,
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "reserved_micro": turn.reserved_micro,
        "settlement_method": turn.settlement_method,
    }
    if turn.decision_id is not None:
        data["decision_id"] = turn.decision_id
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=_STAGE,
        kind=_SETTLED,
        subject=turn.turn_id,
        data=dumps(data),
        policy_version=turn.policy_version,
        correlation_id=turn.request_id,
        result=turn.state,
    )
