"""The part of the door for Python programs that proves, exports and prunes the ledger."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from watchkeeper import inputs
from watchkeeper.actions.keep_ledger import (
    Exported,
    PruneReport,
    export_ledger,
    make_checkpoint,
    prune_ledger,
)
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.verify_ledger import ChainReport, verify_ledger
from watchkeeper.core.chain import Checkpoint
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import from_datetime
from watchkeeper.store.database import Database

AUTHOR = "python"


class LedgerMethods:
    """What `App` can do to prove what its ledger says."""

    db: Database

    def seal_ledger(self) -> int:
        """Hash every entry that has no hash yet; return how many. Workers do so every second."""
        return seal_ledger(self.db)

    def verify_ledger(
        self,
        tenant_id: str,
        *,
        checkpoint: Checkpoint | None = None,
        since_checkpoint: bool = False,
        newest: int | None = None,
    ) -> ChainReport:
        """Verify a tenant's hash chain. `breaks` names the entries that do not match."""
        return verify_ledger(
            self.db,
            _owner(tenant_id),
            checkpoint=checkpoint,
            since_checkpoint=since_checkpoint,
            newest=newest,
        )

    def checkpoint_ledger(self, tenant_id: str) -> Checkpoint:
        """Make a checkpoint of a tenant's hash chain. Store it elsewhere, to verify against it."""
        return make_checkpoint(self.db, _owner(tenant_id), made_by=AUTHOR)

    def export_ledger(
        self, tenant_id: str, path: str | Path, *, before: datetime | None = None
    ) -> Exported:
        """Write a tenant's sealed entries with their hashes to a file, as JSON Lines."""
        moment = None if before is None else from_datetime(before)
        owner = _owner(tenant_id)
        return export_ledger(self.db, owner, Path(path), made_by=AUTHOR, before=moment)

    def prune_ledger(self, tenant_id: str, checkpoint: Checkpoint) -> PruneReport:
        """Remove entries that are exported up to the checkpoint and past the retention."""
        return prune_ledger(self.db, _owner(tenant_id), checkpoint, pruned_by=AUTHOR)


def _owner(tenant_id: str) -> TenantId:
    return SYSTEM if tenant_id == SYSTEM else TenantId(inputs.parse_tenant_id(tenant_id))
