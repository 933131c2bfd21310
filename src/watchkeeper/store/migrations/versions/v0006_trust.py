"""Seals of the ledger, checkpoints, and pruning behind them."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
