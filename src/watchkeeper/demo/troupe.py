"""Everybody who plays, brought together: the handlers of all stages, and who moves at each tick."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from watchkeeper.actions.ingest_signals import ingest_signals
from watchkeeper.app import App
from watchkeeper.core.envelope import EVALUATION_REQUESTED
from watchkeeper.demo.acting import Renewals, register_actions
from watchkeeper.demo.cast import CAST
from watchkeeper.demo.colleague import Colleague
from watchkeeper.demo.handler import INPUT_TOKENS, MODEL, OUTPUT_TOKENS_MAX, Thinker
from watchkeeper.demo.looking import Rounds, Upstream, register_connectors
from watchkeeper.demo.notes import Crm, Notes
from watchkeeper.demo.rules import NOTES
from watchkeeper.demo.scene import ENTRIES_MAX, Every, Scene
from watchkeeper.demo.spending import Billing, Chats, register_billing
from watchkeeper.demo.traffic import Traffic
from watchkeeper.store import tenants
from watchkeeper.store.outbox import NAMESPACE

Player = Callable[[float], None]
"""Moves on by so many seconds; what time it is then, the scene knows."""

SIZE_EVERY_SECONDS = 30.0
REPORT_EVERY_SECONDS = 3600.0
FIRST_REPORT_SECONDS = 15.0


def install(app: App, scene: Scene, seed: int = 7) -> None:
    """Give the app the demo's handlers, before its workers start. Yours stay yours."""
    renewals = Renewals(app, scene, seed)
    register_connectors(app, Upstream(scene, seed))
    register_billing(app, Billing())
    register_actions(app, renewals)
    app.on(NOTES)(Crm(scene, seed))
    if (NAMESPACE, EVALUATION_REQUESTED) not in app.registry:
        app.decision(
            model=MODEL, estimated_input_tokens=INPUT_TOKENS, max_output_tokens=OUTPUT_TOKENS_MAX
        )(Thinker(scene, seed, renewals.suggest))


def players(app: App, scene: Scene, seed: int) -> list[Player]:
    """In the order in which they move."""
    return [
        *(_sender(app, scene, Traffic(member, Random(f"{seed} {member.name}"))) for member in CAST),
        Rounds(app, scene, seed).tick,
        Chats(app, scene, seed).tick,
        Notes(app, scene, seed).tick,
        Colleague(app, scene, seed).tick,
        Reporter(app, scene).tick,
        Warden(app, scene).tick,
    ]


def _sender(app: App, scene: Scene, traffic: Traffic) -> Player:
    def send(seconds: float) -> None:
        signals = traffic.tick(scene.at, seconds, scene.pace)
        ingest_signals(app.admission, traffic.member.tenant_id, signals)

    return send


class Reporter:
    """Asks for a report of each tenant: soon after the start, then once an hour."""

    def __init__(self, app: App, scene: Scene) -> None:
        self._app = app
        self._scene = scene
        self._due = {
            member.tenant_id: Every(REPORT_EVERY_SECONDS, first=FIRST_REPORT_SECONDS + 3 * number)
            for number, member in enumerate(CAST)
        }

    def tick(self, _seconds: float) -> None:
        for tenant_id, every in self._due.items():
            if every.is_due(self._scene.at):
                self._app.generate_report(tenant_id)


class Warden:
    """Lowers the play to a whisper when the ledgers have grown enough."""

    def __init__(self, app: App, scene: Scene, entries_max: int = ENTRIES_MAX) -> None:
        self._app = app
        self._scene = scene
        self._entries_max = entries_max
        self._looks = Every(SIZE_EVERY_SECONDS)

    def tick(self, _seconds: float) -> None:
        if self._looks.is_due(self._scene.at):
            with self._app.db.read_system() as tx:
                ends = tenants.ledger_ends(tx, [member.tenant_id for member in CAST])
            self._scene.is_full = sum(ends.values()) >= self._entries_max
