"""A server in the test's process: clients with any key, and a look at everything that is stored."""

import itertools
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.databases import Clock, Place
from watchkeeper.actions.act_topics import register_act
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.create_api_key import create_api_key
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.dispatch import drain
from watchkeeper.actions.perceive_topics import register_perceive
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.tick_milestones import register_milestones
from watchkeeper.actions.topics import register_decision, register_own
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import delivery_for
from watchkeeper.core.time import Instant
from watchkeeper.handlers.registry import Registry
from watchkeeper.http.app import create_app
from watchkeeper.http.context import Server
from watchkeeper.results import Decision
from watchkeeper.settings import load_settings
from watchkeeper.store.database import Database
from watchkeeper.store.tables import metadata

ADMIN_KEY = "canary-admin-key-0123456789abcdef0123"
TABLES = sorted(metadata.tables)
MOVING = {"clock"}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@dataclass
class Door:
    """One server on one database."""

    db: Database
    clock: Clock
    app: FastAPI
    admin: TestClient
    _numbers: Any = field(default_factory=itertools.count)

    @property
    def server(self) -> Server:
        return self.app.state.server

    @property
    def place(self) -> Place:
        return self.clock.place

    def tenant(self, tenant_id: str = "acme", **facts: Any) -> TenantId:
        create_tenant(self.db, TenantId(tenant_id), **facts)
        return TenantId(tenant_id)

    def key(
        self, tenant: str | None, role: str = "admin", expires_at: Instant | None = None
    ) -> str:
        made = create_api_key(
            self.db,
            None if tenant is None else TenantId(tenant),
            role,
            expires_at=expires_at,
            created_by="test",
        )
        return made.key

    def client(self, tenant: str | None, role: str = "admin") -> TestClient:
        return self.with_key(self.key(tenant, role))

    def with_key(self, key: str | None) -> TestClient:
        headers = {} if key is None else bearer(key)
        return TestClient(self.app, headers=headers, raise_server_exceptions=True)

    def event(self, **changes: Any) -> dict[str, Any]:
        """A trigger that no other one resembles, but for what is said."""
        number = next(self._numbers)
        return {
            "account_id": f"account-{number}",
            "trigger_type": "SIGNAL_ARRIVED",
            "idempotency_key": f"key-{number}",
            **changes,
        }

    def rows(self, table: str) -> list[tuple]:
        return sorted(self.place.execute(f'SELECT * FROM "{table}"'), key=repr)

    def stored(self) -> dict[str, list[tuple]]:
        """Everything in the database."""
        return {name: self.rows(name) for name in TABLES if name not in MOVING}


class Hand:
    """Works when it is told to: what `dev` has beside its server."""

    def __init__(self, db: Database, admission: Admission, carrier: Plans) -> None:
        self.db = db
        self.registry = Registry(lambda topic: delivery_for(db.policies.latest(), topic))
        register_own(self.registry, admission, "mini-chat")
        register_perceive(self.registry, db)
        register_milestones(self.registry, db)
        register_act(self.registry, carrier)
        register_decision(self.registry, lambda run: Decision(note=f"seen {len(run.signals)}"))

    def drain(self) -> Counter[str]:
        return drain(self.db, self.registry)


@contextmanager
def opened(db: Database, clock: Clock, *, dev: bool = False, **flags: Any):
    settings = load_settings({"admin_key": ADMIN_KEY, **flags}, environ={})
    admission, carrier = Admission(db, makes_tenants=dev), Plans(db, makes_tenants=dev)
    hand = Hand(db, admission, carrier)
    proposers: dict[str, Any] = {}
    app = create_app(
        db,
        settings,
        dev=dev,
        admission=admission,
        workers=hand,
        carrier=carrier,
        proposers=proposers,
    )
    yield Door(db, clock, app, TestClient(app, headers=bearer(ADMIN_KEY)))
    app.state.server.stopping.set()
    app.state.server.feed.close()


def problem_of(response: Any, status: int, code: str | None = None) -> dict[str, Any]:
    """The problem document of an answer, checked for its form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "code", "errors", "request_id"}
    assert body["status"] == status
    assert body["request_id"] == response.headers["x-request-id"]
    if code is not None:
        assert body["code"] == code, body
    return body


def places_of(response: Any) -> set[str]:
    return {error["place"] for error in response.json()["errors"]}
