"""A message under lease, as a sender is given it."""

from typing import Any

from tests.databases import START_AT
from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.store.leases import Message

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
LETTER = Message(
    namespace="mini-chat",
    topic="usage_snapshot",
    token=Token("t"),
    due_at=START_AT,
    seq=1,
    handle=1,
    id=MessageId(ID),
    tenant_id=TenantId("acme"),
    payload='{"credits": 12}',
    attempt=1,
    generation=0,
    created_at=START_AT,
    dedupe_key=None,
    ordering_key=None,
    dead_reason=None,
)


def letter(**changes: Any) -> Message:
    return LETTER._replace(**changes)
