"""The demo's perceive stage: three connectors, postures that change, looks that are asked for.

The help desk is down for a minute now and then, for one tenant at a time: its breaker opens,
one pull tries after a while, and it closes again.
"""

from __future__ import annotations

from random import Random
from typing import Any

from watchkeeper.app import App
from watchkeeper.core.ids import TenantId
from watchkeeper.demo.cast import CAST, NAMES, Member, account_name
from watchkeeper.demo.scene import Every, Scene
from watchkeeper.results import Pull, PullResult

SECONDS = (0.05, 0.4)
FOUND = {"SHALLOW": 0.15, "DEEP": 0.35}
"""How often a look finds something new, by its depth."""

OUTAGE_EVERY_SECONDS = 240.0
OUTAGE_SECONDS = 60.0
OUTAGES = {TenantId("northwind"): 15.0, TenantId("acme"): 135.0}
"""From when on the help desk is down for a tenant for the first time."""

POSTURES = ("AT_RISK", "EXPAND", "WATCH", "OK", "AT_RISK", "WATCH", "OK", "DORMANT")
"""Of the first accounts of each tenant, which are also those most is heard of."""

POSTURE_EVERY_SECONDS = 12.0
LOOK_EVERY_SECONDS = 9.0


def is_down(tenant_id: str, at: float) -> bool:
    """Whether the help desk is down for a tenant, so many seconds after the start."""
    first = OUTAGES.get(TenantId(tenant_id))
    if first is None or at < first:
        return False
    return (at - first) % OUTAGE_EVERY_SECONDS < OUTAGE_SECONDS


class Upstream:
    """What the connectors look at. Each look takes a moment and may find news."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self._scene = scene
        self._random = Random(f"{seed} upstream")

    def crm(self, pull: Pull) -> PullResult:
        self._scene.pause(self._random.uniform(*SECONDS))
        stage = self._random.choice(("negotiation", "verbal yes", "stalled", "lost interest"))
        return self._found(pull, "crm.deal_updated", {"stage": stage})

    async def mailbox(self, pull: Pull) -> PullResult:
        await self._scene.pause_async(self._random.uniform(*SECONDS))
        subject = self._random.choice(("our renewal", "the invoice", "a question", "the outage"))
        return self._found(pull, "email.received", {"subject": subject})

    def helpdesk(self, pull: Pull) -> PullResult:
        self._scene.pause(self._random.uniform(*SECONDS))
        if is_down(pull.tenant_id, self._scene.at):
            raise ConnectionError("helpdesk.example answered 503 Service Unavailable")
        return self._found(
            pull, "support.ticket_opened", {"priority": self._random.choice(("low", "high"))}
        )

    def _found(self, pull: Pull, kind: str, data: dict[str, Any]) -> PullResult:
        """News about accounts of the demo only: it is made up."""
        if pull.tenant_id not in NAMES or self._scene.is_over:
            return PullResult()
        if self._random.random() >= FOUND[pull.depth]:
            return PullResult()
        return PullResult(signals=[{"type": kind, "data": data}])


def register_connectors(app: App, upstream: Upstream) -> None:
    """Those that a program of yours has registered stay yours."""
    if "crm" not in app.connectors:
        app.connector("crm", rate_per_second=5, burst=10, max_concurrency=8)(upstream.crm)
    if "mailbox" not in app.connectors:
        app.connector("mailbox", rate_per_second=5, burst=10, max_concurrency=8)(upstream.mailbox)
    if "helpdesk" not in app.connectors:
        limits: dict[str, Any] = {"rate_per_second": 3, "burst": 6, "max_concurrency": 4}
        app.connector("helpdesk", **limits)(upstream.helpdesk)


class Rounds:
    """Account owners: they say how their accounts stand, and look at one of them now and then."""

    def __init__(self, app: App, scene: Scene, seed: int) -> None:
        self._app = app
        self._scene = scene
        self._random = Random(f"{seed} rounds")
        self._said = 0
        self._changes = Every(POSTURE_EVERY_SECONDS, first=20.0)
        self._looks = Every(LOOK_EVERY_SECONDS, first=2.0)

    def tick(self, _seconds: float) -> None:
        self._say_first()
        at = self._scene.at
        if self._changes.is_due(at) and self._random.random() < 4 * self._scene.pace:
            self._change()
        if self._looks.is_due(at):
            self._look_around(at)

    def _say_first(self) -> None:
        """The postures that accounts begin with, one of each tenant at a time."""
        if self._said < len(POSTURES):
            number, self._said = self._said, self._said + 1
            for member in CAST:
                self._say(member, number, POSTURES[number])

    def _change(self) -> None:
        self._say(
            self._random.choice(CAST),
            self._random.randrange(len(POSTURES)),
            self._random.choice(POSTURES),
        )

    def _say(self, member: Member, number: int, posture: str) -> None:
        self._app.account(member.tenant_id, account_name(number), posture=posture)

    def _look_around(self, at: float) -> None:
        """Somebody always tries whether the help desk is back; else one looks here and there."""
        down = next((member for member in CAST if is_down(member.tenant_id, at)), None)
        if down is not None:
            self._look(down, "helpdesk")
        elif self._random.random() < 4 * self._scene.pace:
            name = self._random.choice(("crm", "mailbox", "helpdesk"))
            self._look(self._random.choice(CAST), name)

    def _look(self, member: Member, name: str) -> None:
        """By hand, and deep; what is refused is refused, and in the ledger."""
        number = self._random.randrange(len(POSTURES))
        unique = f"{self._random.getrandbits(64):016x}"
        self._app.pull(
            member.tenant_id, account_name(number), name, "DEEP", pull_job_id=f"look-{unique}"
        )
