"""CloudEvents 1.0 as signals: structured, batched, or with the event in the headers.

The account is the extension `accountid`, else the `subject`; a key for all tenants names
the tenant in `tenantid`. An event is the same as another when its source and id are: so
its signal id is made of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import ConfigDict, Field, TypeAdapter

from watchkeeper.actions.ingest_signals import NewSignal
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.ids import AccountId, SignalId
from watchkeeper.errors import Invalid
from watchkeeper.input_types import (
    AccountName,
    Correlation,
    IdempotencyKey,
    JsonObject,
    Label,
    Moment,
    TenantName,
    printable,
)
from watchkeeper.inputs import Input, parse, parse_value, place

EVENT = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
PREFIX = "ce-"

_DATA: TypeAdapter[str] = TypeAdapter(JsonObject)


class CloudEventIn(Input):
    """A CloudEvent: the attributes that are read. Other extensions are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    specversion: Literal["1.0"]
    id: Label
    source: Annotated[str, printable(2000)]
    type: Label
    subject: AccountName | None = None
    time: Moment | None = None
    datacontenttype: Label | None = None
    data: Any = None
    data_base64: Annotated[str, Field(max_length=65_536)] | None = None
    accountid: AccountName | None = None
    tenantid: TenantName | None = None
    correlationid: Correlation | None = None
    idempotencykey: IdempotencyKey | None = None


def from_headers(headers: Mapping[str, str], data: Any) -> CloudEventIn:
    """Binary mode: the attributes are headers, the body is the data."""
    raw: dict[str, Any] = {}
    for name, value in headers.items():
        if name.startswith(PREFIX):
            try:
                raw[name.removeprefix(PREFIX)] = unquote(value, errors="strict")
            except UnicodeDecodeError:
                raise Invalid.at(name, "is not UTF-8 in percent-encoding") from None
    raw.pop("data_base64", None)
    return parse(CloudEventIn, {**raw, "data": data})


def from_batch(value: Any) -> list[CloudEventIn]:
    if not isinstance(value, list):
        raise Invalid("must be a list of events")
    return [parse(CloudEventIn, one, f"[{index}]") for index, one in enumerate(value)]


def to_signals(events: Sequence[CloudEventIn], *, batched: bool) -> list[NewSignal]:
    return [_signal(event, f"[{index}]" if batched else "") for index, event in enumerate(events)]


def _signal(event: CloudEventIn, at: str) -> NewSignal:
    account = event.accountid or event.subject
    if account is None:
        raise Invalid.at(place(["subject"], at), "is required: it names the account")
    return NewSignal(
        account_id=AccountId(account),
        type=event.type,
        signal_id=SignalId("ce:" + sha256_hex([event.source, event.id])[:40]),
        occurred_at=event.time,
        idempotency_key=event.idempotencykey,
        correlation_id=event.correlationid,
        data=parse_value(_DATA, _data(event), place(["data"], at)),
    )


def _data(event: CloudEventIn) -> dict[str, Any]:
    """Data that is no object is put into one."""
    if event.data_base64 is not None:
        return {"data_base64": event.data_base64}
    if event.data is None:
        return {}
    return event.data if isinstance(event.data, dict) else {"data": event.data}
