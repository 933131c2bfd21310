"""The part of the schema that makes the ledger provable: seals, checkpoints, what was pruned."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, LargeBinary, Table, Text

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, identifier

ledger_seals = Table(  # a row for each batch that was sealed, with the hash of each entry in it
    "ledger_seals",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("from_seq", Instant, primary_key=True, autoincrement=False),
    Column("to_seq", Instant, nullable=False),
    Column("hashes", LargeBinary, nullable=False),  # 32 bytes for each entry, in order
    Column("sealed_at", Instant, nullable=False),
    CheckConstraint(
        "from_seq > 0 AND to_seq >= from_seq AND length(hashes) = 32 * (to_seq - from_seq + 1)",
        name="a_hash_for_each_entry",
    ),
)

ledger_checkpoints = Table(  # what was handed out, to be checked against later
    "ledger_checkpoints",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("checkpoint_id", identifier(), primary_key=True),
    Column("seq", Instant, nullable=False),
    Column("hash", Text, nullable=False),
    Column("exported_after", Instant),  # with it went all entries that follow this place
    Column("made_at", Instant, nullable=False),
    Column("made_by", Text, nullable=False),
    CheckConstraint("exported_after < seq", name="an_export_has_entries"),
    Index("ledger_checkpoints_seq", "tenant_id", "seq"),
)

ledger_prunes = Table(  # up to where a tenant's ledger was pruned
    "ledger_prunes",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("seq", Instant, nullable=False),
    Column("hash", Text, nullable=False),  # the chain goes on from it
    Column("newest_at", Instant, nullable=False),  # of all entries that are gone
    Column("last_entry_id", identifier(), nullable=False),  # the greatest of theirs
    Column("pruned_at", Instant, nullable=False),
    Column("pruned_by", Text, nullable=False),
)
