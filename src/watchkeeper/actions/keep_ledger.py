"""Keeping the ledger: checkpoints, exports, and pruning behind them.

An export holds every entry after the last pruned place with its hash, and ends with a
checkpoint. Only what an export holds, and the policy no longer asks for, can be pruned; the
database itself refuses anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.seal_ledger import seal_tenant
from watchkeeper.actions.verify_ledger import checkpoint_data
from watchkeeper.core import chain
from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.chain import Checkpoint, Place
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry, Kind, Recorded, Stage
from watchkeeper.core.policy import ledger_days
from watchkeeper.core.time import DAY, Instant, from_iso, to_iso
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, seals, tenant_facts, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.transaction import ReadTx

PAGE = 1_000
SLICE = 1_000
"""Entries that one transaction removes."""

SLICES_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export holds: the entries after `after_seq`, up to the checkpoint."""

    checkpoint: Checkpoint
    after_seq: int
    entries: int


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What pruning did. Nothing removed: nothing was old enough, or it was gone already."""

    tenant_id: TenantId
    pruned_to: int
    removed: int
    kept_since: Instant  # the policy still asks for what is younger


# -- checkpoints ---------------------------------------------------------------------------


def make_checkpoint(db: Database, tenant_id: TenantId, *, made_by: str) -> Checkpoint:
    """Seal what is there, and note where the chain stands: to be kept outside."""
    _known(db, tenant_id)
    seal_tenant(db, tenant_id)
    with db.begin(tenant_id) as tx:
        head = seals.head(tx)
        if head.seq == 0:
            raise Conflict(f"the ledger of {tenant_id} is empty")
        made = Checkpoint(tenant_id, head.seq, head.hash.hex(), tx.now)
        seals.add_checkpoint(tx, new_id(), made, made_by)
    return made


def read_checkpoint(text: str, place: str = "checkpoint") -> Checkpoint:
    """A checkpoint as it was handed out, or the last line of an export."""
    lines = text.strip().splitlines()
    try:
        found = loads(text if len(lines) < 2 or lines[0].strip() == "{" else lines[-1])
        told: Any = found.get("checkpoint", found)
        form, seq, digest = told["form"], told["seq"], told["hash"]
        made = Checkpoint(TenantId(str(told["tenant_id"])), seq, digest, from_iso(told["at"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Invalid.at(place, "it is not a checkpoint of a ledger") from None
    if form != chain.FORM:
        raise Invalid.at(place, f"its form is {form}, and this program knows {chain.FORM}")
    return _sound(made, place)


def _sound(made: Checkpoint, place: str) -> Checkpoint:
    is_hash = isinstance(made.hash, str) and len(made.hash) == 2 * chain.HASH_BYTES
    if not is_hash or set(made.hash) - set("0123456789abcdef"):
        raise Invalid.at(place, "its hash must be 64 hexadecimal digits")
    if type(made.seq) is not int or made.seq < 1:
        raise Invalid.at(place, "its seq must be a whole number from 1 on")
    return made


# -- exports -------------------------------------------------------------------------------


def export_ledger(
    db: Database,
    tenant_id: TenantId,
    path: Path,
    *,
    made_by: str,
    before: Instant | None = None,
) -> Exported:
    """Write every sealed entry that is kept to a file, as JSON Lines with their hashes.

    `before` stops at the first entry that is not older. An entry that is not what was sealed
    ends it with an error, and there is no file. It appears whole or not at all.
    """
    _known(db, tenant_id)
    seal_tenant(db, tenant_id)
    with db.read(tenant_id) as tx:
        start, until = seals.beginning(tx), seals.head(tx).seq
        if before is not None:
            young = seals.first_young(tx, start.seq, until, before)
            until = until if young is None else young - 1
        if until <= start.seq:
            raise Conflict(f"the ledger of {tenant_id} has nothing to export")
        ending = seals.hash_at(tx, until)
        assert ending is not None
        made = Checkpoint(tenant_id, until, ending.hex(), tx.now)
    _write_whole(path, _lines(db, start, made))
    with db.begin(tenant_id) as tx:
        seals.add_checkpoint(tx, new_id(), made, made_by, exported_after=start.seq)
    return Exported(made, start.seq, until - start.seq)


def _lines(db: Database, start: Place, made: Checkpoint) -> Iterator[str]:
    after = {"hash": start.hash.hex(), "seq": start.seq}
    yield canonical_json({"after": after, "form": chain.FORM, "tenant_id": made.tenant_id})
    place = start
    while place.seq < made.seq:
        count = min(PAGE, made.seq - place.seq)
        with db.read(made.tenant_id) as tx:
            stored = ledger.as_stored(tx, place.seq, count)
            sealed = seals.hashes_after(tx, place.seq, count)
        lines, place = _page(place, stored, sealed, count)
        yield from lines
    yield canonical_json({"checkpoint": checkpoint_data(made)})


def _page(
    place: Place, stored: Sequence[Recorded], sealed: Sequence[bytes], count: int
) -> tuple[list[str], Place]:
    lines = []
    for found, expected in zip(stored, sealed, strict=False):
        digest = chain.link(place.hash, found)
        if found.seq != place.seq + 1 or digest != expected:
            break
        told = chain.columns(place.hash, found)
        lines.append(canonical_json({**told, "hash": digest.hex()}))
        place = Place(found.seq, digest)
    if len(lines) < count:
        raise Conflict(
            f"entry {place.seq + 1} is not what was sealed: see `ledger verify`", seq=place.seq + 1
        )
    return lines, place


def _write_whole(path: Path, lines: Iterator[str]) -> None:
    """To a file beside it first: a half export must not look like a whole one."""
    half = path.with_name(path.name + ".part")
    try:
        with half.open("w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except OSError as error:
        raise Invalid.at(str(path), error.strerror or "it cannot be written") from None
    finally:
        half.unlink(missing_ok=True)


# -- pruning -------------------------------------------------------------------------------


def prune_ledger(
    db: Database, tenant_id: TenantId, checkpoint: Checkpoint, *, pruned_by: str
) -> PruneReport:
    """Remove entries that the policy no longer asks for and an export before the checkpoint holds.

    Whoever asks shows the checkpoint; it must be one of this chain. Entries are counted before
    they leave: reports and the audit go by the counts. First it is recorded up to where entries
    leave, with an entry of its own, then they leave, slice by slice: what a crash leaves behind
    the recorded place goes the next time.
    """
    if checkpoint.tenant_id != tenant_id:
        raise Invalid.at("checkpoint", f"it is of tenant {checkpoint.tenant_id}")
    _known(db, tenant_id)
    count_ledger(db, tenant_id)
    deed = partial(_record_prune, db, tenant_id, checkpoint, pruned_by)
    pruned_to, kept_since = db.retrying(deed)
    removed = 0
    for _ in range(SLICES_MAX):
        count = db.retrying(partial(_prune_slice, db, tenant_id, pruned_to))
        removed += count
        if count < SLICE:
            break
    return PruneReport(tenant_id, pruned_to, removed, kept_since)


def _record_prune(
    db: Database, tenant_id: TenantId, checkpoint: Checkpoint, pruned_by: str
) -> tuple[int, Instant]:
    with db.begin(tenant_id) as tx:
        tenant = tenants.lock(tx)
        days = ledger_days(db.policies.current(tx))
        if days is None:
            raise Conflict(
                "the policy keeps entries without end: set [retention] ledger_days first"
            )
        kept_since = Instant(tx.now - days * DAY)
        before = seals.beginning(tx).seq
        until = _prunable(tx, checkpoint, before)
        young = seals.first_young(tx, before, until, kept_since)
        until = until if young is None else young - 1
        if until <= before:
            return before, kept_since
        there = seals.hash_at(tx, until)
        assert there is not None
        seals.prune_to(tx, Place(until, there), before, pruned_by)
        told = {"after": before, "by": pruned_by, "checkpoint": checkpoint.seq}
        told |= {"hash": there.hex(), "pruned_to": until}
        entry = Entry(
            entry_id=new_id(),
            at=tx.now,
            stage=Stage.SYSTEM,
            kind=Kind.LEDGER_PRUNED,
            subject=tenant_id,
            data=dumps(told),
            policy_version=db.policies.current(tx).version,
        )
        ledger.append_and_save(tx, tenant, [entry])
    return until, kept_since


def _prunable(tx: Any, checkpoint: Checkpoint, before: int) -> int:
    """Up to where: the checkpoint is in the chain, and an export holds what lies before it."""
    there = seals.hash_at(tx, checkpoint.seq) if checkpoint.seq > before else None
    if checkpoint.seq > before and (there is None or there.hex() != checkpoint.hash):
        raise Conflict(
            f"the chain has another hash at entry {checkpoint.seq} than the checkpoint:"
            " see `ledger verify`"
        )
    exported = seals.exported_to(tx, before)
    if checkpoint.seq > exported:
        raise Conflict(
            f"entries {exported + 1} to {checkpoint.seq} were not exported: `ledger export` first"
        )
    return checkpoint.seq


def _prune_slice(db: Database, tenant_id: TenantId, place: int) -> int:
    with db.begin(tenant_id) as tx:
        return seals.prune_slice(tx, place, SLICE) if place else 0


def _known(db: Database, tenant_id: TenantId) -> None:
    with db.read(tenant_id) as tx:
        if tenant_facts.get(tx) is None:
            raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)


def why_gone(tx: ReadTx, what: str, entry_id: str) -> NotFound:
    """An entry that is not there: either it never was, or it may be among what was pruned."""
    found = seals.pruned(tx)
    if found is None or entry_id > found.last_entry_id:
        return NotFound(f"there is no {what} {entry_id}", id=entry_id)
    return NotFound(
        f"there is no {what} {entry_id}; entries up to {found.seq} ({to_iso(found.newest_at)})"
        " were pruned, and it may be in their export",
        id=entry_id,
        pruned_to=found.seq,
    )
