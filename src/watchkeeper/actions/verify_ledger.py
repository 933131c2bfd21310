"""The chain of a tenant's ledger, computed again from the entries, and where it breaks first.

It only reads, a page at a time, and may run beside writers, sealers and pruning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.core import chain
from watchkeeper.core.chain import Break, Broken, Checkpoint, Place, breaks, unpacked
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.time import to_iso
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store import ledger, seals, tenant_facts
from watchkeeper.store.database import Database
from watchkeeper.store.seals import Seal
from watchkeeper.store.transaction import ReadTx

BREAKS_MAX = 20
"""Broken places that are told; the first is the one that matters."""

SEALS_PAGE = 50
ENTRIES_PAGE = 1_000
"""Entries that one transaction reads, unless one seal holds more. Hashes are computed after it."""

STARTS_MAX = 5
"""How often the walk begins anew because what it read was pruned meanwhile."""


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What the chain of one tenant looks like. No breaks: it is whole."""

    tenant_id: TenantId
    after_seq: int  # entries up to here were not looked at
    sealed: Place  # where the seals end
    entries: int  # that were compared
    unsealed: int  # entries beyond the seals, which nothing vouches for yet
    pruned_to: int
    breaks: tuple[Break, ...]
    checkpoint: Checkpoint | None = None  # against which it was compared

    @property
    def is_clean(self) -> bool:
        return not self.breaks

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        told = [as_data(one) for one in self.breaks]
        return {
            "tenant_id": self.tenant_id,
            "clean": self.is_clean,
            "first_broken": told[0] if told else None,
            "broken": told,
            "after_seq": self.after_seq,
            "entries": self.entries,
            "sealed_seq": self.sealed.seq,
            "sealed_hash": self.sealed.hash.hex(),
            "unsealed": self.unsealed,
            "pruned_to": self.pruned_to,
            "checkpoint": None if self.checkpoint is None else checkpoint_data(self.checkpoint),
        }


def as_data(one: Break) -> dict[str, Any]:
    return {"seq": one.seq, "entry_id": one.entry_id, "what": str(one.what), "why": one.why}


def checkpoint_data(one: Checkpoint) -> dict[str, Any]:
    return {
        "tenant_id": one.tenant_id,
        "seq": one.seq,
        "hash": one.hash,
        "at": to_iso(one.at),
        "form": chain.FORM,
    }


def verify_ledger(
    db: Database,
    tenant_id: TenantId,
    *,
    checkpoint: Checkpoint | None = None,
    since_checkpoint: bool = False,
    newest: int | None = None,
) -> ChainReport:
    """Compare every sealed entry with its seal, and the chain with a checkpoint.

    Without one it is compared with the newest that was made. `since_checkpoint` begins there and
    trusts what lies before; `newest` looks at no more than so many of the last entries.
    """
    if checkpoint is not None and checkpoint.tenant_id != tenant_id:
        raise Invalid.at("checkpoint", f"it is of tenant {checkpoint.tenant_id}")
    for _ in range(STARTS_MAX):
        walk = _Walk(db, tenant_id)
        with db.read(tenant_id) as tx:
            if tenant_facts.get(tx) is None:
                raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
            known = checkpoint or seals.newest_checkpoint(tx)
            walk.start(tx, known, since_checkpoint=since_checkpoint, newest=newest)
        walk.go()
        if not walk.was_overtaken():
            return walk.report(known)
    raise Conflict("the ledger is being pruned: try again")


@dataclass(slots=True)
class _Walk:
    """One way along the seals of a tenant, from where it starts to where they end."""

    db: Database
    tenant_id: TenantId
    begun: Place = field(default_factory=lambda: Place(0, b""))
    at: Place = field(default_factory=lambda: Place(0, b""))
    pruned_to: int = 0
    entries: int = 0
    unsealed: int = 0
    found: list[tuple[Break, Recorded | None]] = field(default_factory=list)
    sealed: dict[int, bytes] = field(default_factory=dict)  # around what is broken

    def start(
        self, tx: ReadTx, known: Checkpoint | None, *, since_checkpoint: bool, newest: int | None
    ) -> None:
        first = seals.beginning(tx)
        self.pruned_to = first.seq
        self.begun = first
        if known is not None:
            self._compare(tx, known)
            if since_checkpoint and not self.found:
                self.begun = Place(known.seq, bytes.fromhex(known.hash))
        if newest is not None:
            seq = seals.head(tx).seq - newest
            there = seals.hash_at(tx, seq) if seq > self.begun.seq else None
            self.begun = self.begun if there is None else Place(seq, there)
        self.at = self.begun

    def _compare(self, tx: ReadTx, known: Checkpoint) -> None:
        """With the checkpoint: it is older than what is kept, or it is in the chain."""
        if known.seq < self.pruned_to:
            raise Conflict(
                f"the checkpoint is of entry {known.seq}, and entries up to {self.pruned_to}"
                " were pruned: use a newer one"
            )
        there = seals.hash_at(tx, known.seq)
        if there is None:
            head = seals.head(tx).seq
            why = f"a checkpoint knows of entry {known.seq}, and the sealed ledger ends at {head}"
            self.found.append((Break(head + 1, Broken.CUT, why), None))
        elif there.hex() != known.hash:
            why = f"the chain up to entry {known.seq} is another than when its checkpoint was made"
            self.found.append((Break(known.seq, Broken.REWRITTEN, why), None))

    def go(self) -> None:
        while len(self.found) < BREAKS_MAX:
            with self.db.read(self.tenant_id) as tx:
                page = self._page(tx)
                count = sum(len(unpacked(seal.hashes)) for seal in page)
                stored = {one.seq: one for one in ledger.as_stored(tx, self.at.seq, count)}
            if not page:
                break
            if not all(self._pass(seal, stored) for seal in page):
                return
        with self.db.read(self.tenant_id) as tx:
            self._look_at_tail(tx)

    def _page(self, tx: ReadTx) -> list[Seal]:
        """The next seals, of no more entries than one transaction reads."""
        page = seals.covering(tx, self.at.seq, SEALS_PAGE)
        return page[:1] + [one for one in page[1:] if one.to_seq - self.at.seq <= ENTRIES_PAGE]

    def _pass(self, seal: Seal, stored: Mapping[int, Recorded]) -> bool:
        """Compare the entries of one seal; False where the seals themselves end too early."""
        expected = self.at.seq + 1
        hashes = unpacked(seal.hashes)
        if seal.from_seq > expected or len(hashes) != seal.to_seq - seal.from_seq + 1:
            why = f"the next seal begins at entry {seal.from_seq}"
            self.found.append((Break(expected, Broken.UNLINKED, why), None))
            return False
        hashes = hashes[expected - seal.from_seq :]
        broken = breaks(self.at, hashes, stored)
        if broken:
            self.sealed[self.at.seq] = self.at.hash
            self.sealed |= dict(enumerate(hashes, expected))
            self.found += broken[: BREAKS_MAX - len(self.found)]
        self.entries += len(hashes)
        self.at = Place(seal.to_seq, hashes[-1])
        return True

    def _look_at_tail(self, tx: ReadTx) -> None:
        """What is not sealed yet has its places without a gap, up to the tenant's counter."""
        tail = seals.tail(tx, self.at.seq)
        self.unsealed = tail.unsealed
        last = max(tail.last, self.at.seq)
        if last < tail.counter:
            why = f"the ledger ends at entry {last}, and its tenant counted {tail.counter}"
            self.found.append((Break(last + 1, Broken.CUT, why), None))
        elif last > tail.counter:
            why = f"the tenant counted {tail.counter} entries only"
            self.found.append((Break(tail.counter + 1, Broken.CHANGED, why), None))
        gap = seals.first_gap(tx, self.at.seq) if tail.unsealed != last - self.at.seq else None
        if gap is not None:
            why = f"entry {gap} follows, and nothing stands between"
            self.found.append((Break(self._before(tx, gap), Broken.MISSING, why), None))

    def _before(self, tx: ReadTx, gap: int) -> int:
        there = [one.seq for one in ledger.as_stored(tx, self.at.seq, gap - self.at.seq)]
        return next(seq for seq in range(self.at.seq + 1, gap) if seq not in there)

    def was_overtaken(self) -> bool:
        """Whether entries that seemed missing were pruned while we looked."""
        if not self.found:
            return False
        with self.db.read(self.tenant_id) as tx:
            return seals.beginning(tx).seq != self.pruned_to

    def report(self, known: Checkpoint | None) -> ChainReport:
        with self.db.read(self.tenant_id) as tx:
            last = seals.tail(tx, self.at.seq).last
        told = [self._named(one, entry, last) for one, entry in self.found]
        told.sort(key=lambda one: (one.seq, one.what == Broken.REWRITTEN))
        return ChainReport(
            tenant_id=self.tenant_id,
            after_seq=self.begun.seq,
            sealed=self.at,
            entries=self.entries,
            unsealed=self.unsealed,
            pruned_to=self.pruned_to,
            breaks=tuple(told[:BREAKS_MAX]),
            checkpoint=known,
        )

    def _named(self, one: Break, entry: Recorded | None, last: int) -> Break:
        """The same with what can be said beyond: that it was moved, or that the end is gone."""
        if one.what is Broken.MISSING and one.seq > last:
            why = f"the ledger ends at entry {last}, and was sealed up to {self.at.seq}"
            return Break(one.seq, Broken.CUT, why)
        if one.what is not Broken.CHANGED or entry is None:
            return one
        place = belongs_at(entry, [other.seq for other, _ in self.found], self.sealed)
        if place is None:
            return one
        return Break(one.seq, Broken.MOVED, f"it was sealed as entry {place}", one.entry_id)


def belongs_at(entry: Recorded, places: Sequence[int], sealed: Mapping[int, bytes]) -> int | None:
    """At which of some places an entry was sealed, if at any."""
    for seq in places:
        if seq == entry.seq or not {seq - 1, seq} <= sealed.keys():
            continue
        if chain.belongs_at(entry, Place(seq - 1, sealed[seq - 1]), sealed[seq]):
            return seq
    return None
