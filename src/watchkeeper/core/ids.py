"""Names for the identifiers, so that two strings can never be swapped unseen."""

from __future__ import annotations

from typing import NewType

TenantId = NewType("TenantId", str)
AccountId = NewType("AccountId", str)
DecisionId = NewType("DecisionId", str)
SignalId = NewType("SignalId", str)
MessageId = NewType("MessageId", str)
ScheduleId = NewType("ScheduleId", str)
KeyId = NewType("KeyId", str)
PlanId = NewType("PlanId", str)
IntentId = NewType("IntentId", str)
Token = NewType("Token", str)

SYSTEM = TenantId("_system")
"""The tenant of what belongs to no tenant: policy, global switches, tenantless messages."""
