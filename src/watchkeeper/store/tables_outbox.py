"""The part of the schema that is about messages: the outbox, its history, keys that are taken."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, document, identifier

outbox = Table(
    "outbox",
    metadata,
    Column(
        "seq",  # creation order; commit order among messages of one ordering key
        Instant().with_variant(Integer(), "sqlite"),
        Identity(always=True),
        primary_key=True,
    ),
    Column("tenant_id", Text, nullable=False),
    Column("id", identifier(), nullable=False),
    Column("namespace", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("dedupe_key", Text),
    Column("ordering_key", Text),
    Column("payload", document(), nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("generation", Integer, nullable=False, server_default="0"),  # redrives so far
    Column("next_attempt_at", Instant, nullable=False),
    # Set when its time has come: a timer stays out of the index that claims walk through.
    Column("is_due", Boolean, nullable=False, server_default=text("false")),
    # Set by a claim where the topic's concurrency is limited over all processes.
    Column("holds_slot", Boolean, nullable=False, server_default=text("false")),
    Column("locked_by", identifier()),
    Column("locked_until", Instant),
    Column("last_error", Text),
    Column("dead_reason", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("done_at", Instant),  # set when dead: the row leaves the index of live ones
    # One constraint, because each is prepared anew for every statement. What a status may have:
    CheckConstraint(
        """CASE status
        WHEN 'pending' THEN locked_by IS NULL AND locked_until IS NULL
            AND done_at IS NULL AND NOT holds_slot
        WHEN 'processing' THEN locked_by IS NOT NULL AND locked_until IS NOT NULL
            AND done_at IS NULL AND is_due
        WHEN 'dead' THEN locked_by IS NULL AND locked_until IS NULL
            AND done_at IS NOT NULL AND NOT holds_slot
        ELSE false END""",
        name="a_status_has_what_belongs_to_it",
    ),
    UniqueConstraint("tenant_id", "id", name="outbox_message"),
    # Neither status nor lease stand in an index, nor in a predicate of one: a claim is then a
    # heap-only update on PostgreSQL, which more than doubles the drain.
    Index(
        "outbox_live",
        "namespace",
        "topic",
        "tenant_id",
        "next_attempt_at",
        "seq",
        postgresql_where=text("done_at IS NULL AND is_due"),
        sqlite_where=text("done_at IS NULL AND is_due"),
    ),
    Index(
        "outbox_timers",
        "next_attempt_at",
        postgresql_where=text("done_at IS NULL AND NOT is_due"),
        sqlite_where=text("done_at IS NULL AND NOT is_due"),
    ),
    Index(
        "outbox_slots",
        "namespace",
        "topic",
        postgresql_where=text("holds_slot"),
        sqlite_where=text("holds_slot"),
    ),
    Index(
        "outbox_ordering",
        "tenant_id",
        "topic",
        "ordering_key",
        "seq",
        postgresql_where=text("ordering_key IS NOT NULL"),
        sqlite_where=text("ordering_key IS NOT NULL"),
    ),
    Index(
        "outbox_dead",
        "tenant_id",
        "done_at",
        postgresql_where=text("done_at IS NOT NULL"),
        sqlite_where=text("done_at IS NOT NULL"),
    ),
    postgresql_with={
        "fillfactor": "45",
        "autovacuum_vacuum_scale_factor": "0.02",
        "autovacuum_vacuum_cost_delay": "0",
    },
)

outbox_delivered = Table(  # the history of the outbox; readers see both as one
    "outbox_delivered",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("id", identifier(), primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("dedupe_key", Text),
    Column("ordering_key", Text),
    Column("payload", document(), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("next_attempt_at", Instant, nullable=False),
    Column("last_error", Text),
    Column("created_at", Instant, nullable=False),
    Column("done_at", Instant, nullable=False),
)

dedupe_keys = Table(  # outlives the message, so that a repeat after delivery is a repeat too
    "dedupe_keys",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
    Column("dedupe_key", Text, primary_key=True),
    Column("message_id", identifier(), nullable=False),
    Column("created_at", Instant, nullable=False),
)
