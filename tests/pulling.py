"""A worker of pulls, played step by step: claim, start, end, or die between."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.databases import Clock, Place
from tests.looking import Lookout
from watchkeeper import App
from watchkeeper.actions.deliver_messages import exchange, finish, prepared
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.moves.pulls import PULL_REQUESTED
from watchkeeper.pull_signals import signals_of
from watchkeeper.results import Pull
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NAMESPACE


class Worker(Lookout):
    """One of many. The connector is the test itself: it says what a pull brings."""

    def __init__(self, app: App, clock: Clock) -> None:
        super().__init__(app.db, clock)
        self.app = app
        self.budget(1000)

    def bring(self, handler: Callable[[Pull], Any], name: str = "crm", **limits: Any) -> None:
        self.app.connector(name, **({"cadence": False} | limits))(handler)

    def claim_pulls(self, limit: int = 100) -> list[Message]:
        rule = self.app.registry.rule_for(PULL_REQUESTED)
        queue = queue_for(NAMESPACE, PULL_REQUESTED, rule, limit)
        claimed = exchange(self.app.db, [], [queue]).claimed
        bury_exhausted(self.app.db, self.app.registry, claimed)
        return [m for m in claimed if m.dead_reason is None]

    def start(self, *messages: Message) -> dict[str, Pull]:
        topic = self.app.registry.of(messages[0])
        ready, over = prepared(self.app.db, topic, messages)
        finish(self.app.db, self.app.registry, over)
        return {message.id: pull for message, pull in ready}

    def end(self, message: Message, pull: Pull, answer: object = None) -> dict[str, int]:
        if isinstance(answer, BaseException):
            ended = Ended(message, pull, result_of(answer))
        else:
            ended = Ended(message, pull, DELIVERED, signals_of(pull, answer))
        return dict(finish(self.app.db, self.app.registry, [ended]))

    def do(self, answers: Sequence[object] = (None,), connector: str = "crm") -> list[Message]:
        """Ask for as many pulls as there are answers, one after the other."""
        done = []
        for answer in answers:
            self.clock.advance(seconds=1)
            assert self.ask(f"a{self.clock.at}", connector).is_scheduled
            [message] = self.claim_pulls()
            [pull] = self.start(message).values()
            self.end(message, pull, answer)
            done.append(message)
        return done


def pulls(place: Place) -> list[tuple[str, int | None, str | None]]:
    return place.execute(
        "select state, signals, error from pulls order by scheduled_at, message_id"
    )


def states(place: Place) -> list[str]:
    return [state for state, *_ in pulls(place)]


def dead(place: Place) -> list[str]:
    rows = place.execute("select dead_reason from outbox where status = 'dead' order by id")
    return [reason for (reason,) in rows]


def slots(place: Place) -> int:
    return place.execute("select count(*) from connector_slots")[0][0]


def under_way(worker: Worker, **more: Any) -> tuple[Message, Pull]:
    assert worker.ask(**more).is_scheduled
    [message] = worker.claim_pulls()
    [pull] = worker.start(message).values()
    return message, pull
