"""The part of the schema that is about acting: plans, their steps, the intents of attempts."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, Table, Text, text

from watchkeeper.core.plans import ENDED, OPEN, IntentState, PlanStatus, StepStatus
from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, document, identifier


def _one_of(column: str, words: object) -> str:
    assert hasattr(words, "__iter__")
    return f"{column} IN ({', '.join(repr(str(word)) for word in sorted(words))})"


_IS_NEW = text("status IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL")
_IS_MOVING = text("status NOT IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL")
_IS_ACTIVE = text("status = 'ACTIVE'")
_IS_UNDER_WAY = text(f"{_one_of('state', OPEN)} AND NOT is_late")

plans = Table(
    "plans",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("plan_id", identifier(), primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("plan_type", Text, nullable=False),
    Column("objective", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("facts", document(), nullable=False, server_default="{}"),
    Column("constraints", document(), nullable=False, server_default="{}"),
    Column("source", Text, nullable=False),  # who suggested it: a caller, a proposer, a decision
    Column("correlation_id", Text),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("approved_at", Instant),
    Column("approved_by", Text),
    Column("approved_by_person", Boolean, nullable=False, server_default=text("false")),
    Column("activated_at", Instant),
    Column("ended_at", Instant),
    Column("completion_reason", Text),
    Column("reason", Text),  # why it is where it is: paused, aborted, held back
    Column("due_at", Instant),  # when the cycle has to look at it; null: never by itself
    Column("version", Integer, nullable=False, server_default="1"),  # of what it consists of
    CheckConstraint(_one_of("status", PlanStatus), name="plan_status_is_known"),
    CheckConstraint(
        f"({_one_of('status', ENDED)}) = (ended_at IS NOT NULL)", name="an_ended_plan_has_an_end"
    ),
    CheckConstraint(
        "(status = 'COMPLETED') = (completion_reason IS NOT NULL)",
        name="a_completed_plan_says_why",
    ),
    CheckConstraint(
        "status IN ('DRAFT', 'ABORTED') OR approved_at IS NOT NULL", name="a_live_plan_is_approved"
    ),
    Index(
        "plans_one_active",
        "tenant_id",
        "account_id",
        "plan_type",
        unique=True,
        postgresql_where=_IS_ACTIVE,
        sqlite_where=_IS_ACTIVE,
    ),
    Index("plans_new", "tenant_id", "due_at", postgresql_where=_IS_NEW, sqlite_where=_IS_NEW),
    Index(
        "plans_moving", "tenant_id", "due_at", postgresql_where=_IS_MOVING, sqlite_where=_IS_MOVING
    ),
    Index("plans_account", "tenant_id", "account_id", "plan_id"),
    Index("plans_status", "tenant_id", "status", "plan_id"),
    postgresql_with={"fillfactor": "60"},
)

plan_steps = Table(
    "plan_steps",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("plan_id", identifier(), primary_key=True),
    Column("step_id", Text, primary_key=True),
    Column("action_type", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("dependencies", document(), nullable=False, server_default="[]"),
    Column("data", document(), nullable=False, server_default="{}"),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),  # the one counter
    Column("spared", Integer, nullable=False, server_default="0"),
    Column("retry_at", Instant),
    Column("reason", Text),
    CheckConstraint(_one_of("status", StepStatus), name="step_status_is_known"),
    CheckConstraint("attempts >= spared AND spared >= 0", name="attempts_only_grow"),
    postgresql_with={"fillfactor": "60"},
)

intents = Table(  # one for each attempt: an attempt is what an intent asks for
    "intents",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("intent_id", identifier(), primary_key=True),
    Column("plan_id", identifier(), nullable=False),
    Column("step_id", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("account_id", Text, nullable=False),
    Column("action_type", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("deadline_at", Instant, nullable=False),  # of the approval, then of the outcome
    Column("approval", Text, nullable=False),
    Column("reason", Text),
    Column("clause", Text),
    Column("explanation", Text),
    Column("decided_at", Instant),
    Column("decided_by", Text),
    Column("executing_at", Instant),
    Column("ended_at", Instant),
    Column("detail", Text),
    Column("is_late", Boolean, nullable=False, server_default=text("false")),
    Column("message_id", identifier()),  # that asks for it; no other message begins with it
    CheckConstraint(_one_of("state", IntentState), name="intent_state_is_known"),
    CheckConstraint(
        f"({_one_of('state', OPEN)}) = (ended_at IS NULL)", name="an_ended_intent_has_an_end"
    ),
    CheckConstraint("attempt > 0", name="attempts_count_from_one"),
    Index("intents_attempt", "tenant_id", "plan_id", "step_id", "attempt", unique=True),
    Index(  # one attempt at a time, in a whole plan
        "intents_under_way",
        "tenant_id",
        "plan_id",
        unique=True,
        postgresql_where=_IS_UNDER_WAY,
        sqlite_where=_IS_UNDER_WAY,
    ),
    Index("intents_state", "tenant_id", "state", "intent_id"),
    postgresql_with={"fillfactor": "60"},
)

plan_cycles = Table(  # when a tenant's next cycle is due
    "plan_cycles",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("due_at", Instant, nullable=False),
    Column("message_id", identifier()),
    postgresql_with={"fillfactor": "50"},
)

autonomy_days = Table(  # actions that went without an approval, by UTC day
    "autonomy_days",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("used", Integer, nullable=False),
    CheckConstraint("used >= 0", name="autonomy_not_negative"),
    postgresql_with={"fillfactor": "20"},
)

action_types = Table(  # what programs said of their actions; policy may say otherwise
    "action_types",
    metadata,
    Column("action_type", Text, primary_key=True),
    Column("risk", Integer, nullable=False),
    Column("updated_at", Instant, nullable=False),
    CheckConstraint("risk IN (0, 1, 2)", name="risk_is_known"),
)
