"""The whole schema, on one page. Constraints live here, not in the code that writes.

Keys begin with the tenant, so that a value of one tenant can neither collide with
nor reveal another's, and so that the schema can be distributed by tenant. What the
engines say differently (row-level security, triggers, roles) stands in the
migrations. The outbox and each later stage have a page of their own, `tables_….py`.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from watchkeeper.store import (
    tables_act,
    tables_outbox,
    tables_perceive,
    tables_report,
    tables_settle,
    tables_shadow,
    tables_trust,
)
from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, document, identifier

tenants = Table(  # the row is the tenant's lock, its run counters and its ledger counter
    "tenants",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text),
    Column("tier", Text),
    Column("installed_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("hour", Integer, nullable=False, server_default="0"),
    Column("hour_runs", Text, nullable=False, server_default="{}"),
    Column("day", Integer, nullable=False, server_default="0"),
    Column("day_runs", Integer, nullable=False, server_default="0"),
    Column("ledger_seq", Instant, nullable=False, server_default="0"),
    CheckConstraint("day_runs >= 0", name="runs_not_negative"),
    postgresql_with={"fillfactor": "10"},
    sqlite_with_rowid=False,
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("tenant_id", Text, nullable=False),  # _system: a key for all tenants
    Column("key_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    PrimaryKeyConstraint("key_id"),  # looked up before the tenant is known
    CheckConstraint("role IN ('ingest', 'viewer', 'operator', 'admin')", name="role_is_known"),
    Index("api_keys_tenant", "tenant_id", "key_id"),
)

accounts = Table(  # what an account is told (posture …) and what it remembers of its runs
    "accounts",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("account_id", Text, primary_key=True),
    Column("posture", Text),
    Column("lifecycle_state", Text),
    Column("attributes", document(), nullable=False, server_default="{}"),
    Column("version", Integer, nullable=False, server_default="0"),
    Column("last_allowed_at", Instant),
    Column("last_allowed_seq", Instant, nullable=False, server_default="0"),
    Column("last_run_was_retry", Integer, nullable=False, server_default="0"),
    Column("triggers", Text, nullable=False, server_default="{}"),
    Column("pending", Text, nullable=False, server_default="{}"),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    postgresql_with={"fillfactor": "70"},
    sqlite_with_rowid=False,
)

reservations = Table(  # idempotency keys that are taken, and by which decision
    "reservations",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("decision_id", identifier(), nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("expires_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

signals = Table(
    "signals",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("signal_id", Text, nullable=False),  # as its sender says: it may come again
    Column("account_id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("occurred_at", Instant, nullable=False),
    Column("recorded_at", Instant, nullable=False),
    Column("seq", Instant, primary_key=True),  # of its verdict in the ledger
    Column("correlation_id", Text),
    Column("data", document(), nullable=False),
)

runs = Table(  # a run exists from its start; an ALLOW without a row here is still REQUESTED
    "runs",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("decision_id", identifier(), primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("trigger_type", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("note", Text),
    Column("error", Text),
    CheckConstraint(
        "state IN ('RUNNING', 'SUCCEEDED', 'FAILED', 'OUTCOME_UNKNOWN')", name="state_is_known"
    ),
    CheckConstraint("(state = 'RUNNING') = (ended_at IS NULL)", name="an_ended_run_has_an_end"),
)

schedules = Table(
    "schedules",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("schedule_id", Text, primary_key=True),
    Column("account_id", Text),  # null: every account of the tenant
    Column("trigger_type", Text, nullable=False),
    Column("cron", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    Column("catch_up", Text, nullable=False),
    Column("spread_seconds", Integer),
    Column("next_fire_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),  # a changed schedule outdates its old timer
    Column("updated_at", Instant, nullable=False),
    CheckConstraint("catch_up IN ('skip', 'fire_once', 'fire_all')", name="catch_up_is_known"),
)

kill_switches = Table(  # a row is a switch that is on
    "kill_switches",
    metadata,
    Column("tenant_id", Text, primary_key=True),  # _system: for all tenants
    Column("scope", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("set_at", Instant, nullable=False),
    CheckConstraint(
        "scope IN ('all', 'tenant', 'connector', 'trigger', 'tier', 'action')",
        name="scope_is_known",
    ),
    CheckConstraint("(scope IN ('all', 'tenant')) = (id = '')", name="named_unless_whole"),
    CheckConstraint("scope <> 'all' OR tenant_id = '_system'", name="all_belongs_to_the_system"),
)

policies = Table(
    "policies",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("applied_at", Instant, nullable=False),
    CheckConstraint("version >= 1", name="versions_count_from_one"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("seq", Instant, primary_key=True, autoincrement=False),  # dense, in commit order
    Column("entry_id", identifier(), nullable=False),
    Column("at", Instant, nullable=False),
    Column("stage", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("correlation_id", Text),
    Column("policy_version", Integer, nullable=False),
    Column("trigger_type", Text),
    Column("result", Text),
    Column("reason", Text),
    Column("data", document(), nullable=False),
    UniqueConstraint("tenant_id", "entry_id", name="ledger_entry"),
    Index("ledger_subject", "tenant_id", "subject", "seq"),
    Index(
        "ledger_correlation",
        "tenant_id",
        "correlation_id",
        "seq",
        postgresql_where=text("correlation_id IS NOT NULL"),
        sqlite_where=text("correlation_id IS NOT NULL"),
    ),
)

http_replies = Table(  # Idempotency-Keys: the change that each stands for, and the first answer
    "http_replies",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("route", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("status", Integer),  # null until the first answer is kept
    Column("headers", Text),
    Column("body", Text),
    Column("expires_at", Instant, nullable=False),
    Column("deed", Text),  # a note of the change, written in its transaction
)

clock = Table(  # one row where time is virtual, none where it is real
    "clock",
    metadata,
    Column("only", Boolean, primary_key=True, autoincrement=False),
    Column("now_at", Instant, nullable=False),
    CheckConstraint('"only"', name="there_is_one_clock"),
)

SYSTEM_TABLES = frozenset(
    {
        "action_types",
        "clock",
        "connector_slots",
        "connectors",
        "policies",
        "policy_meanings",
        "shadows",
    }
)
"""Tables that belong to no tenant."""

DIRECTORY_TABLES = frozenset({"tenants", "api_keys"})
"""Tables whose rows of every tenant the system itself may see."""

__all__ = [
    "DIRECTORY_TABLES",
    "SYSTEM_TABLES",
    "metadata",
    "tables_act",
    "tables_outbox",
    "tables_perceive",
    "tables_report",
    "tables_settle",
    "tables_shadow",
    "tables_trust",
]
