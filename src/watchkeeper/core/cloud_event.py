"""A message as the world outside reads it: a CloudEvent 1.0 in structured JSON.

`source` and `id` together name one message for ever: a dedupe key is unique in its tenant,
namespace and topic, and these make up the source. Nothing in the event depends on the
attempt, so that every delivery of a message is the same text, byte for byte.
"""

from __future__ import annotations

import json
import string
from urllib.parse import quote

from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.time import Instant, to_iso

CONTENT_TYPE = "application/cloudevents+json"

_VISIBLE = "".join(sorted({*string.ascii_letters, *string.digits, *string.punctuation} - {"%"}))


def event_id(message_id: MessageId, dedupe_key: str | None) -> str:
    """The dedupe key, or else the message's id: what receivers tell repeats by.

    It travels in headers and is signed in front of a full stop. So whatever is not visible
    ASCII is percent-encoded, and the full stop and the percent sign are too: different keys
    stay different, and `unquote` gives the key back.
    """
    if not dedupe_key:
        return message_id
    return quote(dedupe_key, safe=_VISIBLE).replace(".", "%2E")


def cloud_event(
    *, id: str, tenant_id: TenantId, namespace: str, topic: str, created_at: Instant, payload: str
) -> str:
    """The event as JSON text. The payload, JSON itself, is its `data` and stands in it unchanged.

    It is not parsed and written again: that could change a number on its way.
    """
    attributes = {
        "specversion": "1.0",
        "id": id,
        "source": source(tenant_id, namespace, topic),
        "type": topic,
        "time": to_iso(created_at),
        "datacontenttype": "application/json",
        "tenantid": tenant_id,
    }
    text = json.dumps(attributes, ensure_ascii=False, separators=(",", ":"))
    return f'{text[:-1]},"data":{payload}}}'


def source(tenant_id: TenantId, namespace: str, topic: str) -> str:
    return "/".join(
        ["watchkeeper", *(quote(part, safe="") for part in (tenant_id, namespace, topic))]
    )
