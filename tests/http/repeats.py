"""Requests with an Idempotency-Key: one for every POST, and how much each of them changes.

Every POST of the API is sent as an administrator of all tenants would. Some need something done
before, so that they change anything at all.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from starlette.testclient import TestClient

from tests.databases import Databases, EngineName, Place
from tests.http.calls import CALLS, PLAN, Estate, settle
from tests.http.door import ADMIN_KEY, Door, bearer, opened
from tests.power_cut import contents
from watchkeeper.store.database import Database

POSTS = sorted(name for name in CALLS if name.startswith("POST "))
KEY = {"Idempotency-Key": "once"}
ATTEMPTS_MAX = 8
UNCOUNTED = {"http_replies", "clock"}


def propose(_asked: object) -> dict[str, Any]:
    return {"steps": PLAN["steps"]}


def _approve_intent(door: Door, mine: Estate) -> Estate:
    assert door.admin.post(f"/v1/intents/{mine.intent}/approve", json={}).status_code == 200
    return mine


def _activate(door: Door, mine: Estate) -> Estate:
    """The plan whose intent waits is active; the other one is a draft."""
    return replace(mine, plan=door.admin.get(f"/v1/intents/{mine.intent}").json()["plan_id"])


def _pause(door: Door, mine: Estate) -> Estate:
    active = _activate(door, mine)
    assert door.admin.post(f"/v1/plans/{active.plan}/pause", json={}).status_code == 200
    return active


def _approve(door: Door, mine: Estate) -> Estate:
    assert door.admin.post(f"/v1/plans/{mine.plan}/approve", json={}).status_code == 200
    return mine


def _propose(door: Door, mine: Estate) -> Estate:
    door.server.proposers[""] = propose
    return mine


BEFORE: dict[str, Callable[[Door, Estate], Estate]] = {
    "POST /v1/intents/{intent_id}/outcome": _approve_intent,
    "POST /v1/plans/{plan_id}/pause": _activate,
    "POST /v1/plans/{plan_id}/resume": _pause,
    "POST /v1/plans/{plan_id}/steps/{step_id}/skip": _approve,
    "POST /v1/plans/propose": _propose,
}
BODIES = {"POST /v1/outbox/redrive": {"topic": "decision.evaluation_requested"}}


def prepared(door: Door, name: str) -> Estate:
    """A tenant for which the call of this name changes something."""
    mine = settle(door, "acme")
    return BEFORE[name](door, mine) if name in BEFORE else mine


def request_of(name: str, mine: Estate) -> dict[str, Any]:
    """The call as a request that any client of httpx can send."""
    call = CALLS[name]
    path = (call.path or name.split(" ")[1]).format(**mine.names)
    body = None if call.body is None else dict(BODIES.get(name, call.body))
    if call.tenant_in == "body":
        assert body is not None
        body["tenant_id"] = mine.tenant
    return {"method": "POST", "url": path, "json": body, "headers": {**bearer(ADMIN_KEY), **KEY}}


def client_of(door: Door) -> TestClient:
    """Errors are answers, as they are for a client outside."""
    return TestClient(door.app, raise_server_exceptions=False)


def is_answer(name: str, response: Any) -> bool:
    return response.status_code in (200, 201, 202, 204) and (
        response.status_code in CALLS[name].statuses
    )


def counts(place: Place) -> dict[str, int]:
    return {table: len(rows) for table, rows in contents(place).items() if table not in UNCOUNTED}


_expected: dict[tuple[EngineName, str], dict[str, int]] = {}


def counts_of_one(databases: Databases, engine: EngineName, name: str) -> dict[str, int]:
    """How many rows there are after the call of this name was made once, undisturbed."""
    if (engine, name) not in _expected:
        with databases.opened(engine) as (db, clock), opened(db, clock) as door:
            mine = prepared(door, name)
            before = counts(clock.place)
            response = client_of(door).request(**request_of(name, mine))
            assert is_answer(name, response), response.text
            found = counts(clock.place)
            changes_rows = found != before
            assert changes_rows or name in IN_PLACE, "it changes nothing that could be seen twice"
            _expected[engine, name] = found
    return _expected[engine, name]


IN_PLACE = {
    "POST /v1/policy/plan",  # changes nothing
    "POST /v1/clock/advance",  # moves the clock; what is due then is of the estate
    "POST /v1/turns/{turn_id}/progress",
}


class Cut(Exception):
    """Something broke after a commit."""


@contextmanager
def cut_after(commit: int):
    """Fail right behind the given commit. Yields the commits that were made."""
    made: list[int] = []
    settle_commit = Database._settle

    def cutting(self: Database, tx: Any) -> None:
        made.append(len(made) + 1)
        if made[-1] == commit:
            raise Cut
        settle_commit(self, tx)

    with patch.object(Database, "_settle", cutting):
        yield made
