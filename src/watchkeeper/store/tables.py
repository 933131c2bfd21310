"""The whole schema, on one page. Constraints live here, not in the code that writes.

Keys begin with the tenant, so that a value of one tenant can neither collide with
nor reveal another's, and so that the schema can be distributed by tenant. What the
engines say differently (row-level security, triggers, roles) stands in the
migrations. What is about cost has a page of its own, `tables_settle.py`.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from watchkeeper.store.metadata import metadata
from watchkeeper.store.tables_perceive import (
    connector_slots,
    connector_states,
    connectors,
    heat_days,
    heats,
    next_pulls,
    pull_budgets,
    pull_days,
    pull_ticks,
    pulls,
    sweeps,
)
from watchkeeper.store.tables_settle import quota_buckets, sinks, turns
from watchkeeper.store.tables_trust import (
    policy_meanings,
    shadow_accounts,
    shadow_flips,
    shadow_states,
    shadows,
)
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
    Column("signal_id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("occurred_at", Instant, nullable=False),
    Column("recorded_at", Instant, nullable=False),
    Column("seq", Instant, nullable=False),  # of its verdict in the ledger
    Column("correlation_id", Text),
    Column("data", document(), nullable=False),
    Index("signals_account", "tenant_id", "account_id", "seq"),
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

http_replies = Table(  # the first answer to a request that carried an Idempotency-Key
    "http_replies",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("route", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("status", Integer),  # null while the first request is still being answered
    Column("headers", Text),
    Column("body", Text),
    Column("expires_at", Instant, nullable=False),
)

clock = Table(  # one row where time is virtual, none where it is real
    "clock",
    metadata,
    Column("only", Boolean, primary_key=True, autoincrement=False),
    Column("now_at", Instant, nullable=False),
    CheckConstraint('"only"', name="there_is_one_clock"),
)

SYSTEM_TABLES = frozenset(
    {"policies", "policy_meanings", "shadows", "clock", "connectors", "connector_slots"}
)
"""Tables that belong to no tenant."""

DIRECTORY_TABLES = frozenset({"tenants", "api_keys"})
"""Tables whose rows of every tenant the system itself may see."""

__all__ = [
    "DIRECTORY_TABLES",
    "SYSTEM_TABLES",
    "connector_slots",
    "connector_states",
    "connectors",
    "heat_days",
    "heats",
    "metadata",
    "next_pulls",
    "policy_meanings",
    "pull_budgets",
    "pull_days",
    "pull_ticks",
    "pulls",
    "quota_buckets",
    "shadow_accounts",
    "shadow_flips",
    "shadow_states",
    "shadows",
    "sinks",
    "sweeps",
    "turns",
]
