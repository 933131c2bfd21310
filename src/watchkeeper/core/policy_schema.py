"""What a policy document may say: one table of sections, keys, types and bounds.

A new section is an entry here, its values in the shipped document, and a typed reader
in `policy`. What is not in the table is refused, so a misspelt key never goes unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from watchkeeper.core.delivery import Guarantee, OnDead, Order
from watchkeeper.core.policy_read import UNLIMITED, Value

INTEGER_MAX = 2**31 - 1
NAMES_MAX = 10_000
CREDITS_MAX = 10**15
"""Micro-credits: sums and products of them stay within 64 bits."""
MULTIPLIER_MAX = 10**12


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds; a limit may also be "unlimited"."""

    least: int
    most: int = INTEGER_MAX
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A name of something that is defined elsewhere."""

    what: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Table:
    fields: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Named:
    """Any number of entries of one kind, each under a name of its own."""

    what: str
    pattern: re.Pattern[str]
    entry: Node


Node: TypeAlias = Whole | Choice | Word | Table | Named
Path: TypeAlias = tuple[str, ...]
Mistake: TypeAlias = tuple[Path, str]

TRIGGER = Table(
    {
        "debounce_seconds": Whole(0),
        "cooldown_seconds": Whole(0),
        "max_per_account_per_hour": Whole(0, is_limit=True),
        "max_per_tenant_per_hour": Whole(0, is_limit=True),
    }
)
TRIGGER_REQUIRED = ("debounce_seconds", "cooldown_seconds")

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
MODEL_TIER = re.compile(r"[A-Za-z0-9_-]{1,64}")
MODEL = Table(
    {
        "tier": Word("tier", MODEL_TIER),
        "input_multiplier_micro": Whole(0, MULTIPLIER_MAX),
        "output_multiplier_micro": Whole(0, MULTIPLIER_MAX),
        "downgrade_to": Word("model", MODEL_NAME),
    }
)
MODEL_REQUIRED = ("tier", "input_multiplier_micro", "output_multiplier_micro")

CREDITS = Whole(0, CREDITS_MAX, is_limit=True)
BUCKETS = Table({"total": CREDITS, "tiers": Named("tier", MODEL_TIER, CREDITS)})
PERIODS = Table({"daily": BUCKETS, "monthly": BUCKETS})
QUOTA = Table(
    {
        "default_model": Word("model", MODEL_NAME),
        "tolerance_percent": Whole(100, 1_000),
        "generation_floor_tokens": Whole(0, 1_000_000),
        "watchdog_seconds": Whole(60, 3_600),
        "tenant": PERIODS,
        "user": PERIODS,
    }
)

PERCENT = Whole(0, 100)
HEAT = Table(
    {
        "posture_weight": PERCENT,
        "recency_weight": PERCENT,
        "volume_weight": PERCENT,
        "postures": Named("posture", re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"), PERCENT),
        "recency": Named(
            "step",
            re.compile(r"[A-Za-z0-9_-]{1,64}"),
            Table({"within_hours": Whole(1, 8_760), "percent": PERCENT}),
        ),
        "older_percent": PERCENT,
        "volume_signals": Whole(1, 100),
        "volume_hours": Whole(1, 8_760),
        "rollup_days": Whole(0, 3_650),
        "hot_percent": PERCENT,
        "warm_percent": PERCENT,
    }
)
TIER = Table(
    {
        "cadence_seconds": Whole(60, 31_536_000),
        "depth": Choice(("SHALLOW", "DEEP")),
        "demotion_cooldown_hours": Whole(0, 8_760),
        "promotion_signals": Whole(0, 100),
        "promotion_window_hours": Whole(0, 8_760),
        "pull_on_signal": Choice(("yes", "no")),
    }
)
HEAT_TIERS = Table({"HOT": TIER, "WARM": TIER, "COLD": TIER})
PULLS = Table(
    {
        "per_tick_max": Whole(1, 10_000),
        "lease_seconds": Whole(1, 86_400),
        "breaker_failures": Whole(1, 1_000),
        "breaker_pause_seconds": Whole(1, 86_400),
    }
)

YES_NO = Choice(("yes", "no"))
ACTION_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
RISK = Choice(("low", "medium", "high"))
PLAN_TYPE = Table(
    {
        "actions": Named("action type", ACTION_TYPE, Whole(0, 1_000)),
        "max_retries_per_step": Whole(1, 100),
        "expiry_hours": Whole(1, 87_600),
        "objective": Word("objective", re.compile(r"[^\x00-\x1f\x7f]{1,500}")),
        "required_facts": Named("fact", re.compile(r"[A-Za-z0-9_.:-]{1,64}"), YES_NO),
        "blocked_postures": Named("posture", re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"), YES_NO),
        "human_touch": YES_NO,
        "approval": Choice(("person", "policy")),
        "skipped_counts": YES_NO,
    }
)
PLAN_TYPE_REQUIRED = ("actions", "max_retries_per_step", "expiry_hours")
AUTONOMY = Table(
    {
        "mode": Choice(("propose_only", "approve_each", "auto_low_risk")),
        "max_risk": RISK,
        "auto_per_day_max": Whole(0, is_limit=True),
        "approval_hours": Whole(1, 8_760),
        "unanswered": Choice(("reject", "pause")),
    }
)
PLANS = Table(
    {
        "per_cycle_max": Whole(1, 10_000),
        "cycle_seconds": Whole(1, 86_400),
        "outcome_timeout_seconds": Whole(1, 31_536_000),
    }
)
MILESTONE = Table({"after_hours": Whole(1, 87_600, is_limit=True)})
REPORTS = Table(
    {
        "tick_seconds": Whole(1, 86_400),
        "forecast_min_hours": Whole(1, 8_760),
        "kept_days": Whole(90, 36_500),
        "milestones": Named("milestone", re.compile(r"AUTO_[A-Z0-9_]{1,59}"), MILESTONE),
    }
)

OVERRIDABLE: Mapping[str, Node] = {
    "idempotency_ttl_seconds": Whole(1),
    "spread_seconds": Whole(0, 3600),
    "signals_per_run_max": Whole(1, 10_000),
    "run_budget_per_day": Whole(0, is_limit=True),
    "triggers": Named("trigger type", re.compile(r"[A-Z][A-Z0-9_]{0,63}"), TRIGGER),
    "models": Named("model", MODEL_NAME, MODEL),
    "quota": QUOTA,
    "heat": HEAT,
    "heat_tiers": HEAT_TIERS,
    "pulls": PULLS,
    "plan_types": Named("plan type", ACTION_TYPE, PLAN_TYPE),
    "actions": Named("action type", ACTION_TYPE, Table({"risk": RISK})),
    "autonomy": AUTONOMY,
    "plans": PLANS,
    "reports": REPORTS,
}

DELIVERY = Table(
    {
        "guarantee": Choice(tuple(Guarantee)),
        "max_attempts": Whole(1, 10_000),
        "lease_seconds": Whole(1, 86_400),
        "backoff_base_seconds": Whole(1, 86_400),
        "backoff_max_seconds": Whole(1, 604_800),
        "concurrency": Whole(1, 1_000),
        "concurrency_total": Whole(1, 1_000_000, is_limit=True),
        "endpoint_concurrency": Whole(1, 1_000),
        "order": Choice(tuple(Order)),
        "on_dead": Choice(tuple(OnDead)),
        "timeout_seconds": Whole(1, 86_400, is_limit=True),
    }
)

DOCUMENT = Table(
    {
        **OVERRIDABLE,
        "tiers": Named("tier", re.compile(r"[A-Za-z0-9_-]{1,64}"), Table(OVERRIDABLE)),
        "tenants": Named("tenant", re.compile(r"[A-Za-z0-9_:-]{1,128}"), Table(OVERRIDABLE)),
        "delivery": Table(
            {
                "defaults": DELIVERY,
                "topics": Named("topic", re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}"), DELIVERY),
            }
        ),
        "retention": Table(
            {
                "delivered_days": Whole(1, 3_650),
                "pulls_days": Whole(1, 3_650),
                "ledger_days": Whole(1, 36_500, is_limit=True),
            }
        ),
    }
)


def check(value: object, node: Node, path: Path = ()) -> Iterator[Mistake]:
    """Every way in which `value` is not what `node` asks for, in the order of the document.

    Goes no deeper than the schema does, whatever the depth of the value.
    """
    match node:
        case Whole():
            yield from _check_whole(value, node, path)
        case Choice(options=options):
            if value not in options or not isinstance(value, str):
                yield path, f"must be one of {_listed(options)}"
        case Word(what=what, pattern=pattern):
            if not isinstance(value, str) or not pattern.fullmatch(value):
                yield path, f"must be the name of a {what} ({pattern.pattern})"
        case Table() | Named():
            if isinstance(value, Mapping):
                yield from _check_table(value, node, path)
            else:
                yield path, f"must be a table, not {_kind(value)}"


def _check_whole(value: object, node: Whole, path: Path) -> Iterator[Mistake]:
    if node.is_limit and value == UNLIMITED:
        return
    wanted = f"a whole number from {node.least} to {node.most}"
    if node.is_limit:
        wanted += f' or "{UNLIMITED}"'
    if isinstance(value, bool) or not isinstance(value, int):
        yield path, f"must be {wanted}, not {_kind(value)}"
    elif not node.least <= value <= node.most:
        yield path, f"must be {wanted}"


def _check_table(value: Mapping[str, object], node: Table | Named, path: Path) -> Iterator[Mistake]:
    if len(value) > NAMES_MAX:
        yield path, f"has more than {NAMES_MAX} entries"
        return
    for key, inner in value.items():
        match node:
            case Table(fields=fields) if key in fields:
                yield from check(inner, fields[key], (*path, key))
            case Table(fields=fields):
                yield (*path, key), f"is not known here; there are {_listed(tuple(fields))}"
            case Named(pattern=pattern, entry=entry) if pattern.fullmatch(key):
                yield from check(inner, entry, (*path, key))
            case Named(what=what, pattern=pattern):
                yield (*path, key), f"is not a name for a {what} ({pattern.pattern})"


def plain(value: object) -> Value:
    """A checked value as plain dicts, integers and strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    assert isinstance(value, int | str)
    return value if isinstance(value, str) else int(value)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a number with a decimal point"
        case str():
            return "a string"
        case None:
            return "null"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "an array"
        case _:
            return "a date or time"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
