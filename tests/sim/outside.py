"""The world outside: handlers, connectors and receivers that fail, answer late, or die.

They write down that they were called before anything can happen to them, and what reached them
before anything can happen to their answer.
"""

from typing import TYPE_CHECKING, Any

from tests.hostile import Behaviour
from tests.sim.faults import BAD_ANSWER
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

    def _happens(self, kind: str, name: str) -> Behaviour | None:
        """It is called; whether it does what it should, and is heard to, is drawn.

        Returns what makes its answer, if that is not the one it should give.
        """
        world = self.world
        baton, seen = world.baton, world.seen
        seen.calls[kind, name] += 1
        baton.point(f"call {kind}")
        how = world.faults.of_handler(baton, kind)
        if how != "well":
            seen.counts[f"handler {how}"] += 1
            baton.note(f"handler {how}")
        match how:
            case "fails":
                world.faults.fail(baton, kind)
            case "dies":
                baton.die()
            case "late":
                baton.sleep(LATE_SECONDS, "late")
            case "very late":
                baton.sleep(VERY_LATE_SECONDS, "very late")
            case "fails late":
                baton.sleep(VERY_LATE_SECONDS, "very late")
                world.faults.fail(baton, kind)
        seen.arrived[f"{kind} {name}"] += 1
        baton.point(f"answer {kind}")
        if how == "fails after its effect":
            world.faults.fail(baton, kind)
        if how == "dies after":
            baton.die()
        if how != BAD_ANSWER:
            return None
        return world.faults.bad_answer(baton, kind)

    def decide(self, run: Run) -> Any:
        bad = self._happens("run", run.decision_id)
        if bad is not None:
            return bad()
        return Decision(note="done", usage={"input_tokens": 40, "output_tokens": 30})

    async def look(self, pull: Pull) -> Any:
        # The moment, since ids are used again.
        bad = self._happens("pull", f"{pull.pull_job_id} of {pull.scheduled_at}")
        if bad is not None:
            return bad()
        self.world.seen.counts["signals brought"] += 1
        if self.world.seen.counts["signals brought"] > SIGNALS_MAX:
            return []  # news that never ends would keep its account warm for ever
        return [{"type": "mail", "account_id": pull.account_id}]

    async def act(self, action: Action) -> Any:
        bad = self._happens("action", action.intent_id)
        if bad is not None:
            return bad()
        drawn = self.world.rng.random()
        if drawn < self.world.refusals:
            return Outcome.failure("not today")
        return Outcome.later() if drawn < self.world.refusals + 0.2 else Outcome.success()

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
