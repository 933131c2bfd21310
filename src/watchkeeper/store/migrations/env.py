"""Alembic's entry: it runs on the connection that `migrate` opened."""

from __future__ import annotations

from alembic import context

from watchkeeper.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
)
context.run_migrations()
