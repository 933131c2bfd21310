"""The part of the schema that is about cost: turns, their quota, and where events go.

What a turn was reserved with never changes, and it ends once, together with its usage
event: triggers in the migrations refuse anything else.
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

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, Micro, identifier

turns = Table(
    "turns",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("turn_id", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("user_id", Text),
    Column("decision_id", identifier()),  # the run that it meters
    # The terms of the reserve. They never change; settlement goes by them.
    Column("policy_version", Integer, nullable=False),
    Column("selected_model", Text, nullable=False),
    Column("effective_model", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("input_multiplier_micro", Micro, nullable=False),
    Column("output_multiplier_micro", Micro, nullable=False),
    Column("estimated_input_tokens", Micro, nullable=False),
    Column("max_output_tokens", Micro, nullable=False),
    Column("generation_floor_tokens", Micro, nullable=False),
    Column("tolerance_percent", Integer, nullable=False),
    Column("reserved_micro", Micro, nullable=False),
    Column("day_start_at", Instant, nullable=False),
    Column("month_start_at", Instant, nullable=False),
    Column("timeout_us", Instant, nullable=False),
    Column("reserved_at", Instant, nullable=False),
    # How it goes.
    Column("state", Text, nullable=False, server_default="running"),
    Column("started_at", Instant),
    Column("progressed_at", Instant, nullable=False),
    Column("deadline_at", Instant, nullable=False),
    # How it ended.
    Column("ended_at", Instant),
    Column("ended_by", Text),
    Column("finalize_id", identifier()),  # of the call that won
    Column("settlement_method", Text),
    Column("input_tokens", Micro),
    Column("output_tokens", Micro),
    Column("computed_micro", Micro),  # what the usage comes to, before the cap
    Column("charged_micro", Micro),
    Column("is_capped", Boolean),
    Column("event_id", identifier()),
    # What became of the event, once the outbox does not know it any more.
    Column("event_fate", Text),
    Column("event_fate_at", Instant),
    PrimaryKeyConstraint("tenant_id", "turn_id"),
    UniqueConstraint("tenant_id", "request_id", name="turns_request"),
    CheckConstraint(
        "state IN ('running', 'completed', 'failed', 'cancelled')", name="turn_state_is_known"
    ),
    CheckConstraint(
        """CASE WHEN state = 'running' THEN ended_at IS NULL AND settlement_method IS NULL
            AND charged_micro IS NULL AND event_id IS NULL AND event_fate IS NULL
        ELSE coalesce(ended_at IS NOT NULL AND ended_by IS NOT NULL AND finalize_id IS NOT NULL
            AND settlement_method IN ('actual', 'estimated', 'released')
            AND input_tokens >= 0 AND output_tokens >= 0 AND computed_micro >= charged_micro
            AND charged_micro >= 0 AND charged_micro <= reserved_micro * tolerance_percent / 100
            AND is_capped = (computed_micro > charged_micro)
            AND (settlement_method <> 'released' OR charged_micro = 0)
            AND event_id IS NOT NULL, false) END""",
        name="a_turn_that_ended_is_settled_with_its_event",
    ),
    CheckConstraint(
        "reserved_micro >= 0 AND tolerance_percent >= 100 AND timeout_us > 0",
        name="terms_make_sense",
    ),
    CheckConstraint(
        """(event_fate IS NULL) = (event_fate_at IS NULL)
        AND coalesce(event_fate, 'delivered') IN ('delivered', 'discarded')""",
        name="a_fate_has_its_time",
    ),
    Index(
        "turns_running",
        "deadline_at",
        postgresql_where=text("state = 'running'"),
        sqlite_where=text("state = 'running'"),
    ),
    Index(
        "turns_decision",
        "tenant_id",
        "decision_id",
        postgresql_where=text("decision_id IS NOT NULL"),
        sqlite_where=text("decision_id IS NOT NULL"),
    ),
    Index("turns_reserved", "tenant_id", "reserved_at", "turn_id"),
    postgresql_with={"fillfactor": "60"},
)

quota_buckets = Table(
    "quota_buckets",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),  # empty: the tenant as a whole
    Column("period", Text, nullable=False),
    Column("start_at", Instant, nullable=False),
    Column("bucket", Text, nullable=False),  # total, or tier:NAME
    Column("reserved_micro", Micro, nullable=False),
    Column("spent_micro", Micro, nullable=False),
    Column("turns_reserved", Integer, nullable=False),
    Column("turns_settled", Integer, nullable=False),
    Column("input_tokens", Micro, nullable=False),
    Column("output_tokens", Micro, nullable=False),
    PrimaryKeyConstraint("tenant_id", "user_id", "period", "start_at", "bucket"),
    CheckConstraint("period IN ('daily', 'monthly')", name="period_is_known"),
    CheckConstraint("bucket = 'total' OR substr(bucket, 1, 5) = 'tier:'", name="bucket_is_known"),
    CheckConstraint(
        "reserved_micro >= 0 AND spent_micro >= 0 AND turns_settled >= 0 AND input_tokens >= 0"
        " AND output_tokens >= 0 AND turns_reserved >= 0",
        name="quota_is_not_negative",
    ),
    postgresql_with={"fillfactor": "20"},
)

sinks = Table(  # a topic that is delivered outside
    "sinks",
    metadata,
    Column("tenant_id", Text, nullable=False),  # _system: for all tenants
    Column("name", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("old_secret", Text),  # signs beside the new one for a while after a change
    Column("old_secret_until_at", Instant),
    Column("set_by", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name"),
    UniqueConstraint("tenant_id", "namespace", "topic", name="one_sink_for_a_topic"),
    CheckConstraint("kind IN ('webhook', 'nats')", name="kind_is_known"),
    CheckConstraint(
        "(old_secret IS NULL) = (old_secret_until_at IS NULL)", name="an_old_secret_ends"
    ),
)
