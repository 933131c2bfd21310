"""A real server with workers, before a database in which everything has happened."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.testclient import TestClient

from tests.databases import Clock, Databases, EngineName
from tests.http.calls import Estate, settle
from tests.http.door import ADMIN_KEY, Door, bearer
from watchkeeper import App
from watchkeeper.act_results import Action
from watchkeeper.actions.run_cycle import run_cycle
from watchkeeper.core.ids import TenantId
from watchkeeper.handlers.results import Reject
from watchkeeper.http.app import create_app
from watchkeeper.http.server import serve
from watchkeeper.results import Decision, Run
from watchkeeper.settings import load_settings
from watchkeeper.stopping import Stop
from watchkeeper.workers import WorkerSettings

PATIENCE_SECONDS = 60
TOPIC = "shipping.requested"
MEETING = "REQUEST_RENEWAL_MEETING"


@dataclass
class Bridge:
    """What tests of pages stand on: an address, two tenants, a way to make things happen."""

    door: Door
    app: App
    address: str = ""
    estates: dict[str, Estate] = field(default_factory=dict)
    is_refusing: threading.Event = field(default_factory=threading.Event)

    @property
    def mine(self) -> Estate:
        return self.estates["acme"]

    def cookie(self, tenant: str | None, role: str) -> str:
        """A session for somebody with a key of that kind."""
        return self.door.server.sessions.open(self.door.key(tenant, role))

    def trigger(self, **changes: Any) -> dict[str, Any]:
        body = {"events": [self.door.event(**changes)], "tenant_id": "acme"}
        return self.door.admin.post("/v1/triggers", json=body).json()["verdicts"][0]

    def ask(self, objective: str) -> str:
        """A plan whose first step waits for a person."""
        plan = {
            "account_id": f"account-of-{objective}"[:60].replace(" ", "-"),
            "plan_type": "RENEWAL_DEFENSE",
            "objective": objective,
            "steps": [{"step_id": "meet", "action_type": MEETING}],
            "tenant_id": "acme",
        }
        made = self.door.admin.post("/v1/plans", json=plan)
        assert made.status_code == 201, made.text
        plan_id = made.json()["plan_id"]
        self.door.admin.post(f"/v1/plans/{plan_id}/approve", json={"tenant_id": "acme"})
        run_cycle(self.door.server.carrier, TenantId("acme"))
        return str(plan_id)

    def dead_letter(self) -> str:
        """A message that died of its handler, which has come to its senses since."""
        self.is_refusing.set()
        with self.app.db.begin(TenantId("acme")) as tx:
            message_id = self.app.enqueue(tx.conn, TOPIC, {"order": 1}, tenant_id="acme")
        self.until(lambda: self.status(message_id) == "dead")
        self.is_refusing.clear()
        return message_id

    def status(self, message_id: str) -> str:
        found = self.door.admin.get(f"/v1/outbox/{message_id}?tenant_id=acme").json()
        return str(found["status"])

    def until(self, is_so: Callable[[], bool]) -> None:
        """Until the workers have done it."""
        ended = threading.Event()
        for _ in range(PATIENCE_SECONDS * 20):
            if is_so():
                return
            ended.wait(0.05)
        raise AssertionError("it never came to be")


@contextmanager
def built(databases: Databases, engine: EngineName, *, dev: bool = False) -> Iterator[Bridge]:
    with databases.fresh(engine) as place:
        clock = Clock(place)
        clock.make_real()
        app = App(place.url, migrate=False, pool_size=8)
        try:
            with _served(app, clock, dev=dev) as bridge:
                yield bridge
        finally:
            app.close()


@contextmanager
def _served(app: App, clock: Clock, *, dev: bool) -> Iterator[Bridge]:
    settings = load_settings({"admin_key": ADMIN_KEY, "port": 0, "grace_seconds": 5}, environ={})
    asgi = create_app(
        app.db,
        settings,
        dev=dev,
        workers=app,
        admission=app.admission,
        turns=app.turns,
        carrier=app.carrier,
        proposers=app.proposers,
    )
    door = Door(app.db, clock, asgi, TestClient(asgi, headers=bearer(ADMIN_KEY)))
    bridge = Bridge(door, app)
    _handle(app, bridge)
    for tenant in ("acme", "beta"):
        bridge.estates[tenant] = settle(door, tenant)
    _play(bridge)
    app.start_workers(WorkerSettings(poll_seconds=0.2, grace_seconds=5.0))
    stop, started = Stop(), threading.Event()

    def greet(address: str) -> None:
        bridge.address = address
        started.set()

    given = {"on_started": greet}
    thread = threading.Thread(target=serve, args=(asgi, settings, stop), kwargs=given)
    thread.start()
    try:
        assert started.wait(PATIENCE_SECONDS)
        yield bridge
    finally:
        stop.ask()
        thread.join(PATIENCE_SECONDS)


def _handle(app: App, bridge: Bridge) -> None:
    """What an app of a user would bring."""

    @app.decision
    def decide(run: Run) -> Decision:
        return Decision(note=f"saw {len(run.signals)}")

    @app.action(MEETING, risk="high")
    def meet(action: Action) -> None:
        """Done as soon as it is asked for."""

    @app.on(TOPIC)
    def place(message: Any) -> None:
        if bridge.is_refusing.is_set():
            raise Reject("the shop is closed")


def _play(bridge: Bridge) -> None:
    """A few verdicts of each kind, beyond what every tenant has one of."""
    for place in range(6):
        bridge.trigger(account_id=f"busy-{place % 3}")
    bridge.ask("keep the first of them")
