"""The part of the schema that is about looking: heat, pulls, their budgets and limits."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    Table,
    Text,
    text,
)

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, Micro, document, identifier

heats = Table(  # the latest only; what a tier was before is in the ledger
    "heats",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("account_id", Text, primary_key=True),
    Column("posture", Text),
    Column("recent", Text, nullable=False, server_default="[]"),  # instants of the last signals
    Column("tier", Integer, nullable=False),
    Column("entered_at", Instant, nullable=False),
    Column("below_warm_at", Instant),
    Column("below_hot_at", Instant),
    Column("computed_at", Instant, nullable=False),
    Column("changes_at", Instant, nullable=False),  # nothing changes by itself before
    Column("heat_micro", Integer, nullable=False),
    Column("posture_micro", Integer, nullable=False),
    Column("recency_micro", Integer, nullable=False),
    Column("volume_micro", Integer, nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("version", Integer, nullable=False),  # a sweep does not write over newer signals
    Column("updated_at", Instant, nullable=False),
    CheckConstraint("tier IN (0, 1, 2)", name="tier_is_known"),
    CheckConstraint("heat_micro BETWEEN 0 AND 1000000", name="heat_is_a_fraction"),
    Index("heats_tier", "tenant_id", "tier", "account_id"),
    postgresql_with={"fillfactor": "70"},
    sqlite_with_rowid=False,
)

heat_days = Table(  # an optional roll-up: where each account stood at the end of a day
    "heat_days",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("account_id", Text, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("tier", Integer, nullable=False),
    Column("heat_micro", Integer, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("heat_days_expiry", "tenant_id", "expires_at"),
    sqlite_with_rowid=False,
)

sweeps = Table(  # how far the sweep over a tenant's accounts has come
    "sweeps",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("round_at", Instant, nullable=False),
    Column("after_account", Text, nullable=False),
    Column("finished_at", Instant),  # when the last whole round began
)

connectors = Table(  # shared by all tenants; the limiter's state is here for all processes
    "connectors",
    metadata,
    Column("connector_id", Text, primary_key=True),
    Column("milli_per_second", Micro),  # null: no rate limit
    Column("burst", Integer, nullable=False, server_default="1"),
    Column("max_concurrency", Integer),
    Column("shallow_units", Integer, nullable=False, server_default="1"),
    Column("deep_units", Integer, nullable=False, server_default="3"),
    Column("has_cadence", Boolean, nullable=False, server_default=text("false")),
    Column("scheduled_at", Instant, nullable=False, server_default="0"),
    Column("held_until_at", Instant),  # upstream asked for patience
    Column("probe_at", Instant),
    Column("updated_at", Instant, nullable=False),
    CheckConstraint(
        "coalesce(milli_per_second, 1) > 0 AND burst > 0 AND coalesce(max_concurrency, 1) > 0"
        " AND shallow_units > 0 AND deep_units > 0",
        name="limits_make_sense",
    ),
    postgresql_with={"fillfactor": "20"},
)

connector_slots = Table(  # pulls under way, each a lease that ends by itself
    "connector_slots",
    metadata,
    Column("connector_id", Text, primary_key=True),
    Column("message_id", identifier(), primary_key=True),
    Column("until_at", Instant, nullable=False),
)

connector_states = Table(  # how a connector does for one tenant
    "connector_states",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("connector_id", Text, primary_key=True),
    Column("milli_per_second", Micro),
    Column("burst", Integer, nullable=False, server_default="1"),
    Column("scheduled_at", Instant, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("open_until_at", Instant),
    Column("probe_until_at", Instant),
    CheckConstraint("coalesce(milli_per_second, 1) > 0 AND burst > 0", name="limit_makes_sense"),
    CheckConstraint("failures >= 0", name="failures_not_negative"),
    postgresql_with={"fillfactor": "50"},
)

pull_budgets = Table(
    "pull_budgets",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("max_units_per_day", Micro, nullable=False),
    Column("max_per_connector", document(), nullable=False, server_default="{}"),
    Column("updated_at", Instant, nullable=False),
    CheckConstraint("max_units_per_day >= 0", name="budget_not_negative"),
)

pull_days = Table(  # what was consumed; a new day is a new row, and old ones stay
    "pull_days",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("connector_id", Text, primary_key=True),  # empty: the tenant's total
    Column("units", Micro, nullable=False),
    Column("pulls", Integer, nullable=False),
    CheckConstraint("units >= 0 AND pulls >= 0", name="consumption_not_negative"),
    postgresql_with={"fillfactor": "20"},
)

next_pulls = Table(
    "next_pulls",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("account_id", Text, primary_key=True),
    Column("connector_id", Text, primary_key=True),
    Column("tier", Integer, nullable=False),
    Column("slot_at", Instant, nullable=False),  # the slot of the cadence
    Column("due_at", Instant, nullable=False),  # when it is tried: the slot, or later by a limit
    Column("overdue_at", Instant, nullable=False),  # from then on it goes before every tier
    Column("pulled_at", Instant),
    CheckConstraint("tier IN (0, 1, 2)", name="next_tier_is_known"),
    Index("next_pulls_due", "tenant_id", "connector_id", "tier", "due_at"),
    Index("next_pulls_overdue", "tenant_id", "connector_id", "overdue_at"),
    postgresql_with={"fillfactor": "70"},
    sqlite_with_rowid=False,
)

pull_ticks = Table(  # when a tenant's next pull is due
    "pull_ticks",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("due_at", Instant, nullable=False),
    Column("message_id", identifier()),
    postgresql_with={"fillfactor": "50"},
)

pulls = Table(  # pulls that were scheduled, and how they ended; the id is taken until it expires
    "pulls",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("pull_job_id", Text, primary_key=True),
    Column("message_id", identifier(), nullable=False),
    Column("account_id", Text, nullable=False),
    Column("connector_id", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("units", Integer, nullable=False),
    Column("origin", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("scheduled_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("signals", Integer),
    Column("error", Text),
    Column("expires_at", Instant, nullable=False),
    CheckConstraint(
        "state IN ('REQUESTED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'OUTCOME_UNKNOWN')",
        name="pull_state_is_known",
    ),
    CheckConstraint(
        "(state IN ('REQUESTED', 'RUNNING')) = (ended_at IS NULL)",
        name="an_ended_pull_has_an_end",
    ),
    CheckConstraint("depth IN (0, 1) AND units > 0", name="depth_is_known"),
    Index("pulls_scheduled", "tenant_id", "scheduled_at", "pull_job_id"),
    Index("pulls_expiry", "tenant_id", "expires_at"),
)
