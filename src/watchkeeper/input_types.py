"""The values that requests are made of: names, moments, documents.

Each says which texts, numbers and objects it takes, so narrowly that both databases and
every log and page can hold what passes.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Annotated, Any, Literal, NewType

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.quota import TOKENS_MAX
from watchkeeper.core.time import Instant, from_datetime, from_iso

INTEGER_MAX = 2**63 - 1
DATA_BYTES_MAX = 64 * 1024
DATA_DEPTH_MAX = 32

ID = "^[A-Za-z0-9_:-]{1,128}$"
SINK = "^[A-Za-z0-9_:-]{1,64}$"
TOPIC = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$"
TRIGGER_TYPE = "^[A-Z][A-Z0-9_]{0,63}$"
# No control characters, no line or paragraph separators, nothing that turns the direction of
# what follows it: a name stays on its line wherever it is shown.
PRINTABLE = r"^[^\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]+$"

PATTERNS = {
    ID: "must be 1 to 128 letters, digits, '_', ':' or '-'",
    SINK: "must be 1 to 64 letters, digits, '_', ':' or '-'",
    TOPIC: "must be 1 to 128 letters, digits, '.', '_', ':' or '-', a letter or digit first",
    TRIGGER_TYPE: "must be capital letters, digits and '_', at most 64, a letter first",
    PRINTABLE: "must not contain control characters",
}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)", re.ASCII)

JsonText = NewType("JsonText", str)
"""A JSON object as compact text on one line, its keys sorted."""


def _not_the_system(tenant_id: str) -> str:
    if tenant_id == SYSTEM:
        raise ValueError("is reserved")
    return tenant_id


def _moment(value: object) -> object:
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return from_datetime(value)
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError("must be an ISO 8601 time with an offset, such as 2030-01-01T00:00:00Z")
    try:
        return from_iso(value)
    except ValueError as error:
        raise ValueError(f"is not a moment: {error}") from None


def _json_object(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    _check_json(value, 1)
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:
        raise ValueError("must hold nothing but JSON and Unicode text") from None
    if len(text) > DATA_BYTES_MAX:
        raise ValueError(f"is larger than {DATA_BYTES_MAX // 1024} KiB")
    return text.decode()


def _check_json(value: object, depth: int) -> None:
    """Refuse what one of the databases, or a reader in another language, would not take."""
    if depth > DATA_DEPTH_MAX:
        raise ValueError(f"is nested deeper than {DATA_DEPTH_MAX} levels")
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError("must have text as keys")
            _check_plain(name)
            _check_json(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_json(inner, depth + 1)
    else:
        _check_plain(value)


def _check_plain(value: object) -> None:
    match value:
        case None | bool():
            return
        case str() if "\0" in value:
            raise ValueError("must not contain the character U+0000")
        case int() if not -INTEGER_MAX <= value <= INTEGER_MAX:
            raise ValueError("holds a whole number beyond 64 bits")
        case float() if not math.isfinite(value):
            raise ValueError("holds a number that is not finite")
        case str() | int() | float():
            return
        case _:
            raise ValueError("must hold nothing but JSON")


def printable(most: int, description: str | None = None) -> Any:
    return Field(min_length=1, max_length=most, pattern=PRINTABLE, description=description)


Id = Annotated[str, Field(pattern=ID)]
TenantName = Annotated[str, Field(pattern=ID), AfterValidator(_not_the_system)]
AccountName = Annotated[
    str, printable(200, "Your id of the account; the first use creates the account.")
]
IdempotencyKey = Annotated[str, printable(255)]
Correlation = Annotated[str, printable(200)]
Words = Annotated[str, printable(1000)]
Label = Annotated[str, printable(200)]
SinkName = Annotated[str, Field(pattern=SINK)]
TopicName = Annotated[str, Field(pattern=TOPIC)]
ConnectorName = Annotated[str, Field(pattern=TOPIC, description="Your id of the connector.")]
TriggerName = Annotated[str, Field(pattern=TRIGGER_TYPE)]
Moment = Annotated[
    Instant,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 64}),
]
JsonObject = Annotated[
    JsonText,
    BeforeValidator(_json_object),
    WithJsonSchema({"type": "object", "description": "JSON object, at most 64 KiB."}),
]
Score = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, le=TOKENS_MAX)]
Role = Literal["ingest", "viewer", "operator", "admin"]
SwitchScope = Literal["all", "tenant", "connector", "trigger", "tier", "action"]
CatchUpName = Literal["skip", "fire_once", "fire_all"]
SinkKindName = Literal["webhook", "nats"]
TurnOutcome = Literal["completed", "failed", "cancelled"]
RiskName = Literal["low", "medium", "high"]
Depth = Literal["SHALLOW", "DEEP"]
PlanStatus = Literal["DRAFT", "APPROVED", "ACTIVE", "PAUSED", "COMPLETED", "ABORTED", "EXPIRED"]
IntentStatus = Literal[
    "PENDING_APPROVAL",
    "APPROVED",
    "REJECTED",
    "EXECUTING",
    "SUCCEEDED",
    "FAILED",
    "CANCELLED",
]
