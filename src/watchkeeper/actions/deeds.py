"""What people do with plans and intents, in one table.

A deed is done by one call of the carrier. HTTP and the pages go by this table; a test finds
each deed that stands here behind every other door too, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from watchkeeper.actions.answer_once import Once
from watchkeeper.actions.plans import Plans
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Deed
from watchkeeper.errors import Invalid


class Order(NamedTuple):
    """One deed that is asked for: of which plan or intent, why, and by whom."""

    tenant_id: TenantId
    id: str
    by: str
    reason: str | None = None
    step_id: str | None = None
    once: Once | None = None


Carry: TypeAlias = Callable[[Plans, Order], None]


class DeedRule(NamedTuple):
    name: str  # in addresses and commands
    carry: Carry
    said: str  # what it is afterwards, in a word
    asks: str | None = None  # before what cannot be undone
    needs_reason: bool = False

    def do(self, carrier: Plans, order: Order) -> None:
        if self.needs_reason and not order.reason:
            raise Invalid.at("reason", "is required")
        self.carry(carrier, order)


def _approve(carrier: Plans, it: Order) -> None:
    carrier.approve(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


def _pause(carrier: Plans, it: Order) -> None:
    carrier.pause(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


def _resume(carrier: Plans, it: Order) -> None:
    carrier.resume(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


def _abort(carrier: Plans, it: Order) -> None:
    carrier.abort(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


def _skip(carrier: Plans, it: Order) -> None:
    if not it.step_id:
        raise Invalid.at("step_id", "is required")
    carrier.skip(it.tenant_id, it.id, it.step_id, it.reason or "", by=it.by, once=it.once)


def _approve_intent(carrier: Plans, it: Order) -> None:
    carrier.approve_intent(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


def _reject_intent(carrier: Plans, it: Order) -> None:
    carrier.reject_intent(it.tenant_id, it.id, it.reason, by=it.by, once=it.once)


DEEDS: Mapping[Deed, DeedRule] = {
    Deed.APPROVE: DeedRule("approve", _approve, "approved"),
    Deed.PAUSE: DeedRule("pause", _pause, "paused"),
    Deed.RESUME: DeedRule("resume", _resume, "resumed"),
    Deed.ABORT: DeedRule("abort", _abort, "aborted", asks="End this plan for good?"),
    Deed.SKIP: DeedRule(
        "skip", _skip, "skipped", asks="Leave this step out for good?", needs_reason=True
    ),
    Deed.APPROVE_INTENT: DeedRule("approve", _approve_intent, "approved"),
    Deed.REJECT_INTENT: DeedRule(
        "reject", _reject_intent, "rejected", asks="Reject this action? Its plan pauses."
    ),
}
OF_INTENTS = {rule.name: rule for rule in (DEEDS[Deed.APPROVE_INTENT], DEEDS[Deed.REJECT_INTENT])}
OF_PLANS = {rule.name: rule for rule in DEEDS.values() if rule not in OF_INTENTS.values()}
