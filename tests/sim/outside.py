"""The world outside: handlers, connectors and receivers that fail, answer late, or die.

They write down that they were called before anything can happen to them, and what reached them
before anything can happen to their answer.
"""

from typing import TYPE_CHECKING, Any

from tests.sim.places import ACTIONS
from watchkeeper.act_results import Action, Outcome
from watchkeeper.handlers.endpoint import Endpoint, event_of
from watchkeeper.results import Decision, Pull, Run
from watchkeeper.store.json import dumps
from watchkeeper.store.leases import Message

if TYPE_CHECKING:
    from tests.sim.world import World

LATE_SECONDS, VERY_LATE_SECONDS = 45, 400
SIGNALS_MAX = 6


class Receiver:
    """One process's handlers, and a sender whose network is the seed's."""

    actions = ACTIONS

    def __init__(self, world: "World") -> None:
        self.world = world

    def _happens(self, kind: str, name: str) -> None:
        """It is called; whether it does what it should, and is heard to, is drawn."""
        world = self.world
        baton, seen = world.baton, world.seen
        seen.calls[kind, name] += 1
        baton.point(f"call {kind}")
        how = world.faults.of_handler(baton)
        if how != "well":
            seen.counts[f"handler {how}"] += 1
            baton.note(f"handler {how}")
        match how:
            case "fails":
                raise RuntimeError("it did not work")
            case "dies":
                baton.die()
            case "late":
                baton.sleep(LATE_SECONDS, "late")
            case "very late":
                baton.sleep(VERY_LATE_SECONDS, "very late")
            case "fails late":
                baton.sleep(VERY_LATE_SECONDS, "very late")
                raise RuntimeError("it did not work")
        seen.arrived[f"{kind} {name}"] += 1
        baton.point(f"answer {kind}")
        if how == "fails after its effect":
            raise TimeoutError("no answer in time")
        if how == "dies after":
            baton.die()

    def decide(self, run: Run) -> Decision:
        self._happens("run", run.decision_id)
        return Decision(note="done", usage={"input_tokens": 40, "output_tokens": 30})

    async def look(self, pull: Pull) -> list[dict[str, Any]]:
        self._happens("pull", f"{pull.pull_job_id} of {pull.scheduled_at}")  # ids are used again
        self.world.seen.counts["signals brought"] += 1
        if self.world.seen.counts["signals brought"] > SIGNALS_MAX:
            return []  # news that never ends would keep its account warm for ever
        return [{"type": "mail", "account_id": pull.account_id}]

    async def act(self, action: Action) -> Outcome:
        self._happens("action", action.intent_id)
        drawn = self.world.rng.random()
        if drawn < 0.2:
            return Outcome.failure("not today")
        return Outcome.later() if drawn < 0.4 else Outcome.success()

    def bill(self, event: dict[str, Any]) -> None:
        self.world.seen.bodies[f"usage {event['turn_id']}"].add(dumps(event))
        self._happens("usage", event["turn_id"])

    def read(self, message: Message) -> None:
        self.world.seen.bodies[f"letter {message.id}"].add(message.payload)
        self._happens("letter", message.id)

    async def send(self, _endpoint: Endpoint, message: Message) -> None:
        id, body = event_of(message)
        self.world.seen.bodies[f"posted {message.tenant_id} {id}"].add(body.decode())
        self._happens("posted", message.id)

    async def close(self) -> None:
        pass
