"""How far the ledger of a tenant is sealed, without comparing anything."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.chain import Checkpoint
from watchkeeper.core.ids import TenantId
from watchkeeper.store import ledger, seals
from watchkeeper.store.database import Database
from watchkeeper.store.seals import Pruned, Sealed


@dataclass(frozen=True, slots=True)
class Seals:
    """Where seals, checkpoints and pruning stand; `last_seq` is where the ledger ends."""

    last_seq: int
    sealed: Sealed | None
    checkpoint: Checkpoint | None
    checkpoint_by: str | None
    pruned: Pruned | None

    @property
    def unsealed(self) -> int:
        """Entries that no seal covers yet: the next one is set a moment after them."""
        return self.last_seq - (0 if self.sealed is None else self.sealed.to_seq)


def show_seals(db: Database, tenant_id: TenantId) -> Seals:
    with db.read(tenant_id) as tx:
        return Seals(
            ledger.last_place(tx),
            seals.newest(tx),
            seals.newest_checkpoint(tx),
            seals.checkpoint_by(tx),
            seals.pruned(tx),
        )
