"""The part of the schema that is about reports: what was counted, what was made, what is due."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, Micro, document, identifier

reports = Table(  # never changed; those of milestones are never removed
    "reports",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("report_id", identifier(), primary_key=True),
    Column("trigger_name", Text, nullable=False),
    Column("window_since_at", Instant, nullable=False),
    Column("generated_at", Instant, nullable=False),  # the end of the window
    Column("last_seq", Instant, nullable=False),  # of the ledger: what it was counted in
    Column("document", document(), nullable=False),
    CheckConstraint("window_since_at <= generated_at", name="window_ends_after_its_beginning"),
    Index("reports_generated", "tenant_id", "generated_at", "report_id"),
)

milestones = Table(  # the markers: written once, final, and there as long as the tenant
    "milestones",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("milestone", Text, primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("report_id", identifier()),
    Column("marked_at", Instant, nullable=False),
    CheckConstraint(
        "CASE outcome WHEN 'GENERATED' THEN report_id IS NOT NULL"
        " WHEN 'MISSED' THEN report_id IS NULL ELSE false END",
        name="a_generated_one_has_its_report",
    ),
    UniqueConstraint("tenant_id", "report_id", name="milestones_report"),
)

milestone_states = Table(  # how it went so far, with each milestone of each tenant
    "milestone_states",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("milestone", Text, primary_key=True),
    Column("last_run_at", Instant),
    Column("attempts", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("last_error", Text),
    Column("last_error_at", Instant),
    Column("backoff_until_at", Instant),
    CheckConstraint(
        "failures >= 0 AND attempts >= failures AND (failures = 0) = (last_error IS NULL)"
        " AND (failures = 0) = (last_error_at IS NULL)",
        name="failures_are_attempts",
    ),
)

milestone_ticks = Table(  # when a tenant's next tick is due, and under which policy that was found
    "milestone_ticks",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("due_at", Instant),  # null: nothing is left to do
    Column("policy_version", Integer, nullable=False),
)

tallies = Table(  # entries of the ledger that are alike, counted by the hour
    "tallies",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, primary_key=True),
    Column("result", Text, primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("entries", Micro, nullable=False),
    Column("amount", Micro, nullable=False),
    Column("first_seq", Instant, nullable=False),
    Column("last_seq", Instant, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    CheckConstraint("entries > 0 AND first_seq <= last_seq", name="a_tally_counts_something"),
    sqlite_with_rowid=False,
)

tally_places = Table(  # up to which entry of its ledger a tenant was counted
    "tally_places",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("seq", Instant, nullable=False),
)

delivered_tallies = Table(  # delivered messages that retention removed, counted as they went
    "delivered_tallies",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    Column("namespace", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
    Column("messages", Micro, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    CheckConstraint("messages > 0", name="a_delivery_counts_something"),
    sqlite_with_rowid=False,
)
