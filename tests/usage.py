"""What tests of settled turns have in common: turns that end, and events that arrive or die."""

from dataclasses import dataclass, field
from typing import Any

from tests.databases import Place
from tests.messages import rule
from watchkeeper.actions.dispatch import drain
from watchkeeper.actions.lose_usage import lose_usage
from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.quota import Asked
from watchkeeper.core.turns import NAMESPACE, USAGE_SNAPSHOT, Turn, TurnState, Usage
from watchkeeper.handlers.registry import Registry
from watchkeeper.handlers.results import Reject
from watchkeeper.store.database import Database

ACME = TenantId("acme")


@dataclass
class Billing:
    """A tenant whose turns are settled, and the receiver of its usage events."""

    db: Database
    is_kind: bool = True
    received: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = Turns(self.db, makes_tenants=True)
        self.registry = Registry(lambda _topic: rule())
        self.registry.handle(USAGE_SNAPSHOT, self._receive, namespace=NAMESPACE)
        self.registry.when_lost(USAGE_SNAPSHOT, lose_usage, namespace=NAMESPACE)

    def _receive(self, message: Any) -> None:
        if not self.is_kind:
            raise Reject("not today")
        self.received.append(message.id)

    def reserve(self, name: str, *, tenant_id: TenantId = ACME, **more: Any) -> Turn:
        asked = Asked(f"t-{name}", f"r-{name}", "premium", 1000, 500, **more)
        return self.turns.reserve(tenant_id, asked).turn

    def finalize(self, turn: Turn, *, tenant_id: TenantId = ACME) -> Turn:
        usage = Usage(900, 100)
        how = TurnState.COMPLETED
        return self.turns.finalize(tenant_id, turn.turn_id, how, started=True, usage=usage).turn

    def settle(self, name: str, *, tenant_id: TenantId = ACME, **more: Any) -> Turn:
        """A turn that has ended."""
        turn = self.reserve(name, tenant_id=tenant_id, **more)
        return self.finalize(turn, tenant_id=tenant_id)

    def deliver(self) -> list[str]:
        """Every event that is due; the ids of what has arrived so far."""
        drain(self.db, self.registry)
        return self.received


def event_of(turn: Turn) -> MessageId:
    assert turn.event_id is not None
    return MessageId(turn.event_id)


def unguarded(place: Place, *statements: str) -> None:
    """Statements behind the product's back, with no trigger to refuse them."""
    if place.engine == "postgresql":
        for statement in statements:
            place.execute(f"set session_replication_role = replica; {statement}")
        return
    for (name,) in place.execute("select name from sqlite_master where type = 'trigger'"):
        place.execute(f"drop trigger {name}")
    for statement in statements:
        place.execute(statement)
