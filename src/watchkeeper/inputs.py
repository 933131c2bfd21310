"""What comes in from outside, and what is wrong with it.

Every door (HTTP, Python, command line) reads requests through these models, so that the
same mistake is refused in the same words everywhere, and named by its place:
`events[3].idempotency_key`. Nothing is coerced: "1" is not 1, and what is not known is
refused. What passes here is accepted by both databases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from watchkeeper.actions.ingest_signals import NewSignal
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import AccountId, SignalId
from watchkeeper.errors import Invalid, Problem
from watchkeeper.input_types import (
    PATTERNS,
    AccountName,
    CatchUpName,
    Correlation,
    Id,
    IdempotencyKey,
    JsonObject,
    JsonText,
    Label,
    Moment,
    Role,
    Score,
    SinkKindName,
    SinkName,
    SwitchScope,
    TenantName,
    Tokens,
    TopicName,
    TriggerName,
    TurnOutcome,
    Words,
    printable,
)

EVENTS_PER_CALL_MAX = 1000
PROBLEMS_MAX = 100
SECONDS_MAX = 10 * 366 * 86_400


class Input(BaseModel):
    """Nothing is coerced, and an unknown field is a mistake."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OfTenant(Input):
    """A request that may name its tenant: only a key for all tenants needs to."""

    tenant_id: TenantName | None = None


class TriggerIn(Input):
    """A trigger: an event that asks for a decision run."""

    account_id: AccountName
    trigger_type: Annotated[str, printable(64)]
    idempotency_key: IdempotencyKey
    scheduled_at: Moment | None = None
    correlation_id: Correlation | None = None
    action_saturation_score: Score | None = None


Triggers = Annotated[list[TriggerIn], Field(max_length=EVENTS_PER_CALL_MAX)]


class TriggersIn(OfTenant):
    events: Triggers


class SignalIn(Input):
    """A signal: an event about an account."""

    account_id: AccountName
    type: Label
    signal_id: Label | None = None
    occurred_at: Moment | None = None
    idempotency_key: IdempotencyKey | None = None
    correlation_id: Correlation | None = None
    data: JsonObject = JsonText("{}")


Signals = Annotated[list[SignalIn], Field(max_length=EVENTS_PER_CALL_MAX)]


class SignalsIn(OfTenant):
    signals: Signals


class TenantIn(Input):
    """A new tenant. `installed_at`: absent means now, null means none."""

    tenant_id: TenantName
    name: Label | None = None
    tier: Id | None = None
    installed_at: Moment | None = None


class TenantPatch(Input):
    """Changes of a tenant: an absent field stays as it is, null clears it."""

    name: Label | None = None
    tier: Id | None = None
    installed_at: Moment | None = None


class AccountIn(OfTenant):
    """Changes of an account: an absent or null field stays as it is."""

    posture: Label | None = None
    lifecycle_state: Label | None = None
    attributes: JsonObject | None = None


class ScheduleIn(OfTenant):
    """A schedule; without an account it fires for every account of the tenant."""

    account_id: AccountName | None = None
    trigger_type: TriggerName
    cron: Annotated[str, printable(256)]
    timezone: Annotated[str, printable(64)]
    catch_up: CatchUpName = "fire_once"
    spread_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = None


class SinkIn(OfTenant):
    """A sink; without a tenant, from a key for all tenants, it serves all tenants."""

    topic: TopicName
    namespace: TopicName | None = None
    kind: SinkKindName = "webhook"
    url: Annotated[str, printable(2000)]
    secret: Annotated[str, printable(200)] | None = None


class KillSwitchIn(OfTenant):
    scope: SwitchScope
    id: Annotated[str, printable(128)] | None = None
    on: bool
    reason: Words


class ApiKeyIn(OfTenant):
    """A new API key; without a tenant, from a key for all tenants, it is for all tenants."""

    role: Role
    expires_at: Moment | None = None


class TurnIn(OfTenant):
    """A reserve of quota for the estimated input and the maximum output, before the work."""

    turn_id: Id | None = None
    request_id: Id
    user_id: Id | None = None
    model: Annotated[str, printable(64)]
    estimated_input_tokens: Tokens
    max_output_tokens: Tokens


class ProgressIn(OfTenant):
    pass


class UsageIn(Input):
    input_tokens: Tokens
    output_tokens: Tokens


class FinalizeIn(OfTenant):
    """The end of a turn; without usage, started work is charged by estimate."""

    outcome: TurnOutcome
    started: bool
    usage: UsageIn | None = None


class OutcomeIn(OfTenant):
    """The outcome of a run that was delivered to a webhook, with its usage if it is metered."""

    succeeded: bool
    detail: Annotated[str, Field(max_length=10_000)] | None = None
    usage: UsageIn | None = None


class RedriveIn(OfTenant):
    """A redrive of one message."""

    force: bool = False


class DiscardIn(OfTenant):
    pass


class RedriveManyIn(OfTenant):
    """A filter of dead messages; without a filter all of them."""

    namespace: Label | None = None
    topic: Label | None = None


class ClockIn(Input):
    seconds: Annotated[float, Field(ge=0, le=SECONDS_MAX, allow_inf_nan=False)]


M = TypeVar("M", bound=Input)
T = TypeVar("T")
_TRIGGERS: TypeAdapter[list[TriggerIn]] = TypeAdapter(Triggers)
_SIGNALS: TypeAdapter[list[SignalIn]] = TypeAdapter(Signals)
_TENANT: TypeAdapter[str] = TypeAdapter(TenantName)
_ACCOUNT: TypeAdapter[str] = TypeAdapter(AccountName)
_ID: TypeAdapter[str] = TypeAdapter(Id)
_SINK: TypeAdapter[str] = TypeAdapter(SinkName)
TOKENS: TypeAdapter[int] = TypeAdapter(Tokens)


def parse(kind: type[M], raw: object, at: str = "") -> M:
    """Read one request, or raise Invalid with a problem for each mistake, placed under `at`."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise _refused(error, at) from None


def parse_value(kind: TypeAdapter[T], raw: object, at: str) -> T:
    """The same for a value that is not a whole request."""
    try:
        return kind.validate_python(raw, strict=True)
    except ValidationError as error:
        raise _refused(error, at) from None


def parse_tenant_id(raw: object) -> str:
    return parse_value(_TENANT, raw, "tenant_id")


def parse_account_id(raw: object) -> str:
    return parse_value(_ACCOUNT, raw, "account_id")


def parse_sink_name(raw: object) -> str:
    return parse_value(_SINK, raw, "name")


def parse_id(raw: object, at: str) -> str:
    return parse_value(_ID, raw, at)


def parse_triggers(raw: Sequence[Mapping[str, object]]) -> list[Event]:
    """Events of one call, ready to be admitted; at most EVENTS_PER_CALL_MAX of them."""
    triggers = parse_value(_TRIGGERS, list(raw), "events")
    return to_events(triggers)


def parse_signals(raw: Sequence[Mapping[str, object]]) -> list[NewSignal]:
    signals = parse_value(_SIGNALS, list(raw), "signals")
    return to_signals(signals)


def to_events(triggers: Sequence[TriggerIn]) -> list[Event]:
    return [
        Event(
            AccountId(t.account_id),
            t.trigger_type,
            t.idempotency_key,
            t.scheduled_at,
            t.correlation_id,
            t.action_saturation_score,
        )
        for t in triggers
    ]


def to_signals(signals: Sequence[SignalIn]) -> list[NewSignal]:
    return [
        NewSignal(
            account_id=AccountId(s.account_id),
            type=s.type,
            signal_id=None if s.signal_id is None else SignalId(s.signal_id),
            occurred_at=s.occurred_at,
            idempotency_key=s.idempotency_key,
            correlation_id=s.correlation_id,
            data=s.data,
        )
        for s in signals
    ]


def _refused(error: ValidationError, at: str) -> Invalid:
    return invalid(error.errors(include_url=False, include_input=False), at)


def invalid(errors: Sequence[ErrorDetails], at: str = "") -> Invalid:
    """What the validator found, in our words. The input itself is never repeated."""
    problems = [
        Problem(place(error["loc"], at), _message(error)) for error in errors[:PROBLEMS_MAX]
    ]
    if len(errors) > PROBLEMS_MAX:
        problems.append(Problem("", f"and {len(errors) - PROBLEMS_MAX} more mistakes"))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Invalid(f"{problems[0]}{more}", problems)


def place(path: Sequence[str | int], at: str = "") -> str:
    """`("events", 3, "type")` as `events[3].type`. Names from outside are made safe to show."""
    text = at
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = re.sub(r"[^\w:-]", "?", part[:64], flags=re.ASCII)
            text += f".{name}" if text else name
    return text


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], "has a wrong form")
    template = _MESSAGES.get(error["type"])
    if template is None:
        return error["msg"].removeprefix("Value error, ")
    return template.format(**context)


_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "string_type": "must be text",
    "string_unicode": "must be Unicode text",
    "string_too_short": "must not be empty",
    "string_too_long": "is longer than {max_length} characters",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "too_long": "has more than {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "json_invalid": "is not JSON",
}
