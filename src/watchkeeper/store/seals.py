"""Seals of the ledger, checkpoints and pruning: what makes a change of the past visible.

A seal is written a moment after the entries it covers, by anybody, without the tenant's lock:
it begins where the last one ends, and two that begin at the same place cannot both be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watchkeeper.core.chain import HASH_BYTES, Checkpoint, Place, genesis, unpacked
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session, Tx

_BEHIND = same(
    "select t.tenant_id from tenants t where t.tenant_id > %s and t.ledger_seq > coalesce(("
    "select s.to_seq from ledger_seals s where s.tenant_id = t.tenant_id"
    " order by s.from_seq desc limit 1), 0) order by t.tenant_id limit %s"
)
_LAST = same(
    "select from_seq, to_seq, hashes from ledger_seals where tenant_id = %s"
    " order by from_seq desc limit 1"
)
_AT = same(
    "select from_seq, to_seq, hashes from ledger_seals where tenant_id = %s and from_seq <= %s"
    " order by from_seq desc limit 1"
)
_AFTER = same(
    "select from_seq, to_seq, hashes from ledger_seals where tenant_id = %s and from_seq > %s"
    " order by from_seq limit %s"
)
_GOES_ON = """coalesce((select to_seq from ledger_seals where tenant_id = {0}
    order by from_seq desc limit 1), 0) = {0}"""
_ADD = Statement(
    f"""insert into ledger_seals (tenant_id, from_seq, to_seq, hashes, sealed_at)
    select %s::text, %s::bigint, %s::bigint, %s::bytea, %s::bigint
    where {_GOES_ON.format("%s")} on conflict (tenant_id, from_seq) do nothing""",
    f"""insert into ledger_seals (tenant_id, from_seq, to_seq, hashes, sealed_at)
    select ?, ?, ?, ?, ? where {_GOES_ON.format("?")}
    on conflict (tenant_id, from_seq) do nothing""",
)
_TAIL = same(
    "select t.ledger_seq, (select count(*) from ledger l where l.tenant_id = t.tenant_id"
    " and l.seq > %s), (select max(l.seq) from ledger l where l.tenant_id = t.tenant_id)"
    " from tenants t where t.tenant_id = %s"
)
_FIRST_GAP = same(
    "select min(seq) from (select seq, lag(seq) over (order by seq) as before from ledger"
    " where tenant_id = %s and seq > %s) l where seq <> coalesce(before, %s) + 1"
)
_NEWEST_SEAL = same(
    "select from_seq, to_seq, sealed_at from ledger_seals where tenant_id = %s"
    " order by from_seq desc limit 1"
)
_CHECKPOINT_BY = same(
    "select made_by from ledger_checkpoints where tenant_id = %s"
    " order by seq desc, checkpoint_id desc limit 1"
)
_PRUNED = same(
    "select seq, hash, newest_at, last_entry_id, pruned_at, pruned_by from ledger_prunes"
    " where tenant_id = %s"
)
_ADD_CHECKPOINT = same(
    "insert into ledger_checkpoints (tenant_id, checkpoint_id, seq, hash, exported_after, made_at,"
    " made_by) values (%s, %s, %s, %s, %s, %s, %s)"
)
_NEWEST_CHECKPOINT = same(
    "select seq, hash, made_at from ledger_checkpoints where tenant_id = %s"
    " order by seq desc, checkpoint_id desc limit 1"
)
_EXPORTED_TO = same(
    "select max(seq) from ledger_checkpoints where tenant_id = %s and exported_after <= %s"
)
_FIRST_YOUNG = same(
    "select min(seq) from ledger where tenant_id = %s and seq > %s and seq <= %s and at >= %s"
)
_PRUNE_TO = Statement(
    "select watchkeeper_prune_to(%s, %s, %s)",
    """update ledger_prunes as p set seq = ?3, hash = ?4, pruned_at = ?5, pruned_by = ?6,
        newest_at = max(p.newest_at, l.newest_at), last_entry_id = max(p.last_entry_id, l.last_id)
    from (select max(at) as newest_at, max(entry_id) as last_id from ledger
        where tenant_id = ?1 and seq > ?2 and seq <= ?3) l
    where p.tenant_id = ?1""",
)
_PRUNE_FIRST = Statement(
    "",
    """insert into ledger_prunes (tenant_id, seq, hash, newest_at, last_entry_id, pruned_at,
        pruned_by)
    select ?1, ?3, ?4, max(at), max(entry_id), ?5, ?6 from ledger
    where tenant_id = ?1 and seq > ?2 and seq <= ?3""",
)
_PRUNE_SLICE = Statement(
    "select watchkeeper_prune_slice(%s)",
    """delete from ledger where tenant_id = ? and seq in (
        select seq from ledger where tenant_id = ? and seq <= ? order by seq limit ?)""",
)
_PRUNE_SEALS = Statement("", "delete from ledger_seals where tenant_id = ? and to_seq < ?")


class Seal(NamedTuple):
    """One batch that was sealed; `hashes` holds that of each entry, in order."""

    from_seq: int
    to_seq: int
    hashes: bytes

    def at(self, seq: int) -> bytes:
        start = (seq - self.from_seq) * HASH_BYTES
        return self.hashes[start : start + HASH_BYTES]


@dataclass(frozen=True, slots=True)
class Pruned:
    """Up to where a tenant's ledger was pruned, and what the entries that are gone had."""

    seq: int
    hash: bytes
    newest_at: Instant
    last_entry_id: str
    pruned_at: Instant
    pruned_by: str

    @property
    def place(self) -> Place:
        return Place(self.seq, self.hash)


class Sealed(NamedTuple):
    from_seq: int
    to_seq: int
    at: Instant


class Tail(NamedTuple):
    """What lies beyond the seals."""

    counter: int  # where the tenant's row says the ledger ends
    unsealed: int
    last: int  # where it does end


# -- seals --------------------------------------------------------------------------------


def behind(session: Session, after: TenantId, limit: int) -> list[TenantId]:
    """Tenants whose ledger goes beyond its seals, in order."""
    return [TenantId(row[0]) for row in session.rows(_BEHIND, (after, limit))]


def head(tx: Tx) -> Place:
    """Where the seals end. The chain of a tenant without any begins at its own hash."""
    rows = tx.rows(_LAST, (tx.tenant_id,))
    if not rows:
        return genesis(tx.tenant_id)
    seal = _seal(rows[0])
    return Place(seal.to_seq, seal.at(seal.to_seq))


def newest(tx: Tx) -> Sealed | None:
    """Which entries the last seal covers, and when it was set."""
    rows = tx.rows(_NEWEST_SEAL, (tx.tenant_id,))
    return Sealed(*rows[0]) if rows else None


def add(tx: Tx, start: Place, hashes: Sequence[bytes]) -> bool:
    """Seal the entries that follow a place; False when somebody else has gone on from there."""
    to_seq = start.seq + len(hashes)
    seal = (tx.tenant_id, start.seq + 1, to_seq, b"".join(hashes), tx.now)
    return tx.changed(_ADD, (*seal, tx.tenant_id, start.seq)) == 1


def hash_at(tx: Tx, seq: int) -> bytes | None:
    """What was sealed at a place; None where nothing was, or its seal is gone."""
    if seq == 0:
        return genesis(tx.tenant_id).hash
    rows = tx.rows(_AT, (tx.tenant_id, seq))
    seal = _seal(rows[0]) if rows else None
    return seal.at(seq) if seal is not None and seal.to_seq >= seq else None


def covering(tx: Tx, seq: int, limit: int) -> list[Seal]:
    """The seal that holds the entry after a place, and those that follow it."""
    first = [_seal(row) for row in tx.rows(_AT, (tx.tenant_id, seq + 1))]
    start = first[0].from_seq if first else 0
    first = [seal for seal in first if seal.to_seq > seq]
    return first + [_seal(row) for row in tx.rows(_AFTER, (tx.tenant_id, start, limit))]


def hashes_after(tx: Tx, seq: int, count: int) -> list[bytes]:
    """What was sealed for so many entries after a place, up to the first gap in the seals."""
    found: list[bytes] = []
    while len(found) < count:
        page = covering(tx, seq + len(found), count)
        for seal in page:
            place = seq + len(found) + 1
            if seal.from_seq > place:
                return found
            found += unpacked(seal.hashes)[place - seal.from_seq :]
            if len(found) >= count:
                break
        if not page:
            break
    return found[:count]


def tail(tx: Tx, after: int) -> Tail:
    rows = tx.rows(_TAIL, (after, tx.tenant_id))
    if not rows:
        return Tail(0, 0, 0)
    counter, unsealed, last = rows[0]
    return Tail(counter, unsealed, last or 0)


def first_gap(tx: Tx, after: int) -> int | None:
    """The first entry after a place that does not follow the one before it."""
    return next((row[0] for row in tx.rows(_FIRST_GAP, (tx.tenant_id, after, after))), None)


# -- checkpoints ----------------------------------------------------------------------------


def add_checkpoint(
    tx: Tx, checkpoint_id: str, made: Checkpoint, made_by: str, exported_after: int | None = None
) -> None:
    """Note what was handed out. `exported_after`: with it went all entries after this place."""
    told = (checkpoint_id, made.seq, made.hash, exported_after, made.at, made_by)
    tx.run(_ADD_CHECKPOINT, (tx.tenant_id, *told))


def newest_checkpoint(tx: Tx) -> Checkpoint | None:
    rows = tx.rows(_NEWEST_CHECKPOINT, (tx.tenant_id,))
    if not rows:
        return None
    seq, found, at = rows[0]
    return Checkpoint(tx.tenant_id, seq, found, Instant(at))


def checkpoint_by(tx: Tx) -> str | None:
    """Who made the newest checkpoint."""
    rows = tx.rows(_CHECKPOINT_BY, (tx.tenant_id,))
    return str(rows[0][0]) if rows else None


# -- pruning --------------------------------------------------------------------------------


def pruned(tx: Tx) -> Pruned | None:
    rows = tx.rows(_PRUNED, (tx.tenant_id,))
    if not rows:
        return None
    seq, found, newest_at, last_id, at, by = rows[0]
    return Pruned(seq, bytes.fromhex(found), Instant(newest_at), last_id, Instant(at), by)


def beginning(tx: Tx) -> Place:
    """What the first entry that is kept follows."""
    found = pruned(tx)
    return genesis(tx.tenant_id) if found is None else found.place


def exported_to(tx: Tx, after: int) -> int:
    """How far exports reach that hold every entry after a place; the place if none does."""
    [(seq,)] = tx.rows(_EXPORTED_TO, (tx.tenant_id, after))
    return max(after, seq or 0)


def first_young(tx: Tx, after: int, until: int, since: Instant) -> int | None:
    """The first entry between two places that is not older than a moment."""
    [(seq,)] = tx.rows(_FIRST_YOUNG, (tx.tenant_id, after, until, since))
    return None if seq is None else int(seq)


def prune_to(tx: Tx, place: Place, before: int, by: str) -> None:
    """Record that entries up to a place may leave. The database refuses what was not exported."""
    if tx.engine == "postgresql":
        tx.rows(_PRUNE_TO, (place.seq, by, tx.now))
        return
    told = (tx.tenant_id, before, place.seq, place.hash.hex(), tx.now, by)
    if not tx.changed(_PRUNE_TO, told):
        tx.run(_PRUNE_FIRST, told)


def prune_slice(tx: Tx, place: int, most: int) -> int:
    """Remove some entries behind the recorded place, at the end their seals; how many."""
    if tx.engine == "postgresql":
        [(gone,)] = tx.rows(_PRUNE_SLICE, (most,))
        return int(gone)
    gone = tx.changed(_PRUNE_SLICE, (tx.tenant_id, tx.tenant_id, place, most))
    if gone < most:
        tx.run(_PRUNE_SEALS, (tx.tenant_id, place))
    return gone


def _seal(row: tuple[int, int, bytes]) -> Seal:
    return Seal(row[0], row[1], bytes(row[2]))
