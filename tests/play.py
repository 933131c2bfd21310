"""A small world around admission: events go in, and what waits in the outbox comes back in time.

`Player` does what a worker does with messages, one at a time and in order, so that a test can say
"and then its retry comes" without threads and without sleeping.
"""

from collections.abc import Sequence
from itertools import count

from tests.databases import Clock
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.admit_messages import admit_messages
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.fire_schedules import fire_due, fire_slice
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.core import envelope
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.time import MINUTE, SECOND, Instant
from watchkeeper.moves.admission import Decided
from watchkeeper.store import ledger, outbox_claim, outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, Queue
from watchkeeper.store.outbox import NAMESPACE

ACME = TenantId("acme")
SIGNAL = "SIGNAL_ARRIVED"
LIFECYCLE = "LIFECYCLE_STATE_CHANGE"
POSTURE = "POSTURE_CHANGE"
BRIEF = "TIME_RITUAL_DAILY_BRIEF"
REVIEW = "TIME_RITUAL_WEEKLY_REVIEW"
RUNWAY = "TIME_RITUAL_RENEWAL_RUNWAY"

LATER = (
    envelope.RETRY,
    envelope.SCHEDULED,
    envelope.SCHEDULE_DUE,
    envelope.SCHEDULE_SLICE,
)
ROUNDS_MAX = 10_000

_keys = count(1)


def event(
    account: str = "ann", trigger: str = SIGNAL, key: str | None = None, **more: object
) -> Event:
    """A fresh event; without a key it gets one that no other event has."""
    return Event(AccountId(account), trigger, key or f"key-{next(_keys)}", **more)


def told(decided: Decided) -> str:
    """A verdict in short: ALLOW, DEFER COOLDOWN, SKIP RETRY_EXHAUSTED ACCOUNT_HOURLY_CAP …"""
    verdict = decided.verdict
    return " ".join(part for part in (verdict.result, verdict.reason, verdict.inner) if part)


class Player:
    """One tenant's events and messages, on one database."""

    def __init__(
        self, db: Database, clock: Clock, tenant_id: TenantId = ACME, **options: object
    ) -> None:
        self.db = db
        self.clock = clock
        self.tenant_id = tenant_id
        self.admission = Admission(db, makes_tenants=True, **options)
        self.runs: list[Message] = []
        self._turns: dict = {}

    def fire(self, *events: Event) -> list[Decided]:
        return fire_triggers(self.admission, self.tenant_id, events)

    def tell(self, *events: Event) -> list[str]:
        return [told(decided) for decided in self.fire(*events)]

    def policy(self, text: str) -> None:
        apply_policy(self.db, text, author="test", reason="test")

    def claim(self, topics: Sequence[str], limit: int = 100) -> list[Message]:
        queues = [Queue(NAMESPACE, topic, limit, 30 * SECOND, 1000) for topic in topics]
        with self.db.begin_system() as tx:
            outbox_claim.timers_due(tx)
            return outbox_claim.claim(tx, queues, self._turns)

    def ack(self, messages: Sequence[Message]) -> None:
        with self.db.begin_system() as tx:
            outbox_settle.ack(tx, messages)

    def deliver(self, topics: Sequence[str] = LATER, limit: int = 100) -> list[Message]:
        """Do what is due, once; what came of it is in the ledger."""
        messages = self.claim(topics, limit)
        for message in sorted(messages, key=lambda m: m.due_at):
            self.handle(message)
        self.ack(messages)
        return messages

    def handle(self, message: Message) -> None:
        match message.topic:
            case envelope.RETRY | envelope.SCHEDULED:
                admit_messages(self.admission, [message])
            case envelope.SCHEDULE_DUE:
                fire_due(self.admission, message.tenant_id, message.payload)
            case envelope.SCHEDULE_SLICE:
                fire_slice(self.admission, message.tenant_id, message.payload)
            case envelope.EVALUATION_REQUESTED:
                self.runs.append(message)

    def settle(self) -> None:
        """Deliver until nothing is due."""
        for _ in range(ROUNDS_MAX):
            if not self.deliver():
                return
        raise AssertionError("it does not come to rest")

    def live_until(self, at: Instant) -> None:
        """Move the clock from timer to timer, delivering each, up to a moment."""
        for _ in range(ROUNDS_MAX):
            self.settle()
            with self.db.read_system() as tx:
                due = outbox_claim.next_due(tx)
            if due is None or due > at:
                self.clock.set(at)
                self.settle()
                return
            if due > self.clock.at:
                self.clock.set(due)
        raise AssertionError("it does not come to an end")

    def entries(self, **filters: str) -> list[ledger.Recorded]:
        """The newest 1000 entries, oldest first."""
        with self.db.read(self.tenant_id) as tx:
            return ledger.newest(tx, filters, limit=1000)[::-1]

    def verdicts(self, **filters: str) -> list[str]:
        """What the ledger says, oldest first: who, of which type, and what."""
        return [
            " ".join(
                part
                for part in (e.entry.subject, e.entry.trigger_type, e.entry.result, e.entry.reason)
                if part
            )
            for e in self.entries(kind="verdict", **filters)
        ]


def minutes(count: float) -> int:
    return round(count * MINUTE)
