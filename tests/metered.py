"""A worker of metered decision runs, played step by step: claim, start, end, or die between."""

from typing import Any

from watchkeeper import App, Decision
from watchkeeper.actions.deliver_messages import exchange, finish, prepared
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.core.envelope import EVALUATION_REQUESTED
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.results import Run
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NAMESPACE

METERED = {"model": "standard", "estimated_input_tokens": 100, "max_output_tokens": 100}
USED = {"input_tokens": 10, "output_tokens": 10}


class Worker:
    """One of many. The handler is the test itself: it says what the run answers."""

    def __init__(self, app: App, **metering: Any) -> None:
        self.app = app
        app.decision(**(METERED | metering))(lambda _run: None)

    def trigger(self, account: str = "ann", tenant: str = "acme") -> str:
        """A run that is asked for; its decision id."""
        key = f"{tenant}-{account}-{self.app.clock.now().isoformat()}"
        verdict = self.app.trigger(tenant, account, "SIGNAL_ARRIVED", idempotency_key=key)
        assert verdict.allowed, verdict
        return verdict.decision_id

    def claim(self, limit: int = 100) -> list[Message]:
        """Claim runs; those without an attempt left are buried, as a worker does."""
        rule = self.app.registry.rule_for(EVALUATION_REQUESTED)
        queue = queue_for(NAMESPACE, EVALUATION_REQUESTED, rule, limit)
        claimed = exchange(self.app.db, [], [queue]).claimed
        bury_exhausted(self.app.db, self.app.registry, claimed)
        return [m for m in claimed if m.dead_reason is None]

    def start(self, *messages: Message) -> dict[str, Run]:
        """Prepare the calls; what ends without one is finished."""
        topic = self.app.registry.of(messages[0])
        ready, over = prepared(self.app.db, topic, messages)
        finish(self.app.db, self.app.registry, over)
        return {message.id: run for message, run in ready}

    def end(self, message: Message, run: Run | None, answer: object = None) -> dict[str, int]:
        """Write the end of a run: what its handler returned, or raised."""
        if isinstance(answer, BaseException):
            ended = Ended(message, run, result_of(answer))
        else:
            ended = Ended(message, run, DELIVERED, answer)
        return dict(finish(self.app.db, self.app.registry, [ended]))

    def do(self, answer: object = None, account: str = "ann") -> tuple[str, Run]:
        """A whole run; its decision id, and what the handler was told."""
        decision_id = self.trigger(account)
        [message] = self.claim()
        [run] = self.start(message).values()
        self.end(message, run, Decision(usage=answer) if isinstance(answer, dict) else answer)
        return decision_id, run
