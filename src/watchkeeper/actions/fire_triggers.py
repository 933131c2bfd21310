"""Triggers came in: each gets its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.answer_once import Once
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked, Decided
from watchkeeper.telemetry import traceparent


def fire_triggers(
    admission: Admission, tenant_id: TenantId, events: Sequence[Event], once: Once | None = None
) -> list[Decided]:
    """One answer per event, in order."""
    parent = traceparent()
    asked = [Asked(DecisionId(new_id()), event, None, parent) for event in events]
    return admission.admit(tenant_id, asked, once)
