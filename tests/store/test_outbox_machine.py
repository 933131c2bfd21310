"""Workers that crash, stall and race, against a small model of what a message may go through."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.databases import Databases, EngineName
from tests.messages import TOPIC, claim, delivered, letter, live, put, registry
from watchkeeper.actions.keep_desk import redrive_message
from watchkeeper.actions.settle_attempts import bury_exhausted, settle_attempts
from watchkeeper.core import delivery
from watchkeeper.core.delivery import Delivered, Order
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Conflict
from watchkeeper.handlers.registry import Ended, NotStarted
from watchkeeper.store import outbox_settle
from watchkeeper.store.leases import Message

LEASE = 30
ATTEMPTS = 3
TENANTS = ("a", "b", "c")
RULE = {"max_attempts": ATTEMPTS, "order": Order.PER_KEY, "lease_us": LEASE * SECOND}


@dataclass
class Model:
    """What is known of one message without looking at the database."""

    tenant_id: str
    key: str | None
    place: int
    status: str = "pending"
    attempts: int = 0
    due: float = 0.0
    token: str | None = None
    until: float = 0.0

    def is_held_by(self, message: Message) -> bool:
        return self.status == "processing" and self.token == message.token

    def is_claimable(self, now: float) -> bool:
        if self.status == "pending":
            return self.due <= now
        return self.status == "processing" and self.until <= now

    @property
    def is_suspect(self) -> bool:
        return self.status == "processing" and self.attempts == ATTEMPTS - 1


@dataclass
class World:
    now: float = 0.0
    messages: dict[str, Model] = field(default_factory=dict)

    def is_head(self, model: Model) -> bool:
        return model.key is None or not any(
            other.key == model.key
            and other.tenant_id == model.tenant_id
            and other.place < model.place
            and other.status in ("pending", "processing")
            for other in self.messages.values()
        )


class OutboxMachine(RuleBasedStateMachine):
    """Claims are held in a bundle: any of them may come back early, late, twice or never."""

    databases: Databases
    engine: EngineName

    def __init__(self) -> None:
        super().__init__()
        self._opened = self.databases.opened(self.engine)
        self.db, self.clock = self._opened.__enter__()
        self.handlers = registry(**RULE)
        self.world = World()
        self.places = 0

    def teardown(self) -> None:
        self._opened.__exit__(None, None, None)

    claims = Bundle("claims")

    @rule(
        tenant=st.sampled_from(TENANTS),
        key=st.sampled_from([None, None, "k", "l"]),
        delay=st.sampled_from([0, 0, 5, 100]),
    )
    def enqueue(self, tenant: str, key: str | None, delay: int) -> None:
        at = self.clock.at + delay * SECOND
        [id] = put(self.db, letter(tenant, ordering_key=key, due_at=at))
        self.places += 1
        self.world.messages[id] = Model(tenant, key, self.places, due=self.world.now + delay)

    @rule(target=claims, limit=st.integers(1, 4))
    def claim(self, limit: int) -> Any:
        return multiple(*self._claim(limit))

    @rule(target=claims, message=claims, result=st.sampled_from(["ack", "retry", "release"]))
    def stall_and_come_back(self, message: Message, result: str) -> Any:
        """A pause beyond the lease, in which others go on."""
        self.time_passes(LEASE)
        claimed = self._claim(4)
        self.end(message, result)
        return multiple(*claimed)

    def _claim(self, limit: int) -> list[Message]:
        before = {
            id: model
            for id, model in self.world.messages.items()
            if model.is_claimable(self.world.now) and self.world.is_head(model)
        }
        suspects = [id for id, model in before.items() if model.is_suspect]
        claimed = claim(self.db, limit, **RULE)
        assert len(claimed) <= limit
        assert {m.id for m in claimed} <= set(before)
        assert sum(m.id in suspects for m in claimed) <= 1
        sure = len(before) - len(suspects)
        if limit >= len(before) * len(TENANTS):  # the share of each tenant is enough for all
            assert len(claimed) == sure + bool(suspects)
        exhausted = [m for m in claimed if m.dead_reason is not None]
        for m in claimed:
            model = self.world.messages[m.id]
            assert (m.dead_reason is not None) == (model.attempts == ATTEMPTS)
            model.attempts = min(model.attempts + 1, ATTEMPTS)
            assert m.attempt == model.attempts
            model.status, model.token = "processing", m.token
            model.until = self.world.now + LEASE
        assert bury_exhausted(self.db, self.handlers, exhausted)["buried"] == len(exhausted)
        for m in exhausted:
            self.world.messages[m.id].status = "dead"
        return [m for m in claimed if m.dead_reason is None]

    @rule(message=claims, result=st.sampled_from(["ack", "retry", "reject", "release"]))
    def end(self, message: Message, result: str) -> None:
        """Also of what was ended, lost or redriven long ago: the fence decides."""
        model = self.world.messages[message.id]
        held = model.is_held_by(message)
        outcome = {
            "ack": Delivered(),
            "retry": delivery.Retry("no", 5),
            "reject": delivery.Reject("never"),
            "release": NotStarted(),
        }[result]
        before = self.look()
        done = settle_attempts(
            self.db, self.handlers, [Ended(message, None, outcome)], draw=lambda: 0.0
        )
        if not held:
            assert self.look() == before
            return
        assert done == {message.id}
        model.token = None
        match result:
            case "ack":
                model.status = "delivered"
            case "release":
                model.status, model.attempts = "pending", model.attempts - 1
            case "retry" if model.attempts < ATTEMPTS:
                model.status, model.due = "pending", self.world.now + 5.000001
            case _:
                model.status = "dead"

    @rule(message=claims)
    def renew(self, message: Message) -> None:
        model = self.world.messages[message.id]
        with self.db.begin_system() as tx:
            renewed, lost = outbox_settle.renew(tx, [(message, LEASE * SECOND)])
        if model.is_held_by(message):
            assert (renewed, lost) == ({message.id}, set())
            model.until = self.world.now + LEASE
        else:
            assert (renewed, lost) == (set(), {message.id})

    @rule(seconds=st.sampled_from([1, 6, LEASE, 200]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.world.now += seconds

    @rule(data=st.data())
    def redrive(self, data: st.DataObject) -> None:
        if not self.world.messages:
            return
        id = data.draw(st.sampled_from(sorted(self.world.messages)))
        model = self.world.messages[id]
        try:
            redrive_message(self.db, self.handlers, TenantId(model.tenant_id), MessageId(id))
        except Conflict:
            assert model.status != "dead"
            return
        assert model.status == "dead"
        model.status, model.attempts, model.due = "pending", 0, self.world.now
        if model.key is not None:
            self.places += 1
            model.place = self.places

    def look(self) -> tuple[dict[str, Any], list[str]]:
        return live(self.clock.place), sorted(delivered(self.clock.place))

    @invariant()
    def the_database_agrees(self) -> None:
        stored, done = self.look()
        found = {id: (row.status, row.attempts) for id, row in stored.items()}
        known = self.world.messages
        assert found == {
            id: (model.status, model.attempts)
            for id, model in known.items()
            if model.status != "delivered"
        }
        assert done == sorted(id for id, m in known.items() if m.status == "delivered")
        assert {id: row.locked_by for id, row in stored.items() if row.locked_by} == {
            id: model.token for id, model in known.items() if model.status == "processing"
        }


@pytest.mark.req("S-12", "S-13", "S-14", "S-15", "S-16", "S-17", "O-11")
@pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def test_no_history_breaks_the_outbox(databases: Databases, engine: EngineName) -> None:
    machine = type("Machine", (OutboxMachine,), {"databases": databases, "engine": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=15,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_topic_of_the_machine_is_the_one_that_is_claimed() -> None:
    assert letter().topic == TOPIC
