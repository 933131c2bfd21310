"""Who may do what: every role on every route, and every route with another tenant's names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from tests.databases import Databases
from tests.http.calls import CALLS, Estate, send, settle
from tests.http.door import Door, opened, problem_of
from watchkeeper.http.access import Access, need_of, needs
from watchkeeper.http.app import ROUTERS
from watchkeeper.http.route import router

ROUTES = {
    f"{method} {re.sub(':path', '', route.path)}": route
    for routes in ROUTERS
    for route in routes.routes
    for method in route.methods
}
ALLOWED = {
    "ingest": {Access.INGEST},
    "viewer": {Access.READ},
    "operator": {Access.INGEST, Access.READ, Access.OPERATE},
    "admin": set(Access),
}
EVERY = pytest.mark.parametrize("name", sorted(ROUTES))
NOBODYS = Estate(
    tenant="nobody",
    account="nobody-account",
    decision="01a1e249-b8d3-7af7-98f5-c23c6c8f7820",
    message="01a1e249-b8d3-7af7-98f5-c23c6c8f7820",
    schedule="nobody-schedule",
    sink="nobody-sink",
    turn="nobody-turn",
    pull="nobody-pull",
    report="01a1e249-b8d3-7af7-98f5-c23c6c8f7823",
    plan="01a1e249-b8d3-7af7-98f5-c23c6c8f7821",
    intent="01a1e249-b8d3-7af7-98f5-c23c6c8f7822",
    key_id="0123456789abcdef",
    canary="nobody",
)


class Two(NamedTuple):
    door: Door
    theirs: Estate
    mine: Estate
    client: TestClient


@pytest.fixture(
    scope="module",
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)],
)
def two(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Two]:
    """Two tenants on one server, for calls that must neither change nor show anything."""
    with databases.opened(request.param) as (db, clock), opened(db, clock) as door:
        yield Two(door, settle(door, "theirs"), settle(door, "mine"), door.client("mine"))


def test_every_route_has_its_row_in_the_matrix() -> None:
    assert set(ROUTES) == set(CALLS)


@pytest.mark.req("O-20")
def test_a_route_that_does_not_say_what_it_needs_cannot_be_made() -> None:
    def forgotten() -> None: ...

    with pytest.raises(RuntimeError, match="forgotten"):
        router("test").get("/v1/forgotten")(forgotten)
    needs(Access.READ)(forgotten)
    router("test").get("/v1/forgotten")(forgotten)


@EVERY
@pytest.mark.req("O-20")
def test_each_role_reaches_what_is_its_own(door_sqlite: Door, name: str) -> None:
    need = need_of(ROUTES[name].endpoint)
    mine = settle(door_sqlite, "acme")
    for role, allowed in ALLOWED.items():
        response = send(door_sqlite.client("acme", role), name, mine)
        if need.access not in allowed or need.all_tenants:
            problem_of(response, 403, "forbidden")
        else:
            assert response.status_code in (*CALLS[name].statuses, 404, 409), response.text
    for role, allowed in ALLOWED.items():
        whom = "acme" if CALLS[name].tenant_in else None
        response = send(door_sqlite.client(None, role), name, mine, tenant=whom)
        if need.access not in allowed:
            problem_of(response, 403, "forbidden")
        else:
            assert response.status_code in (*CALLS[name].statuses, 404, 409), response.text


@EVERY
@pytest.mark.req("O-20")
def test_without_a_key_nothing_is_answered(door_sqlite: Door, name: str) -> None:
    before = door_sqlite.stored()
    problem_of(send(door_sqlite.with_key(None), name, NOBODYS), 401, "unauthorized")
    assert door_sqlite.stored() == before


@EVERY
@pytest.mark.req("U-11")
def test_the_right_call_is_answered_rightly(door: Door, name: str) -> None:
    mine = settle(door, "acme")
    whom = "acme" if CALLS[name].tenant_in else None
    response = send(door.admin, name, mine, tenant=whom)
    assert response.status_code in CALLS[name].statuses, response.text


@EVERY
@pytest.mark.req("O-21")
def test_another_tenants_names_are_nobodys(two: Two, name: str) -> None:
    """Ids in the path, then the tenant in the query or the body: 404, as for what is unknown."""
    door, theirs, mine, client = two
    call, need = CALLS[name], need_of(ROUTES[name].endpoint)
    before = door.stored()
    if need.all_tenants:
        problem_of(send(client, name, theirs), 403, "forbidden")
    else:
        named = set(re.findall(r"{(\w+)}", call.path)) - call.free
        if named:
            refused = problem_of(send(client, name, theirs), 404, "not_found")
            unknown = problem_of(send(client, name, NOBODYS), 404, "not_found")
            assert _anonymous(refused, theirs) == _anonymous(unknown, NOBODYS)
        if call.tenant_in:
            refused = problem_of(send(client, name, mine, tenant="theirs"), 404, "not_found")
            unknown = problem_of(send(client, name, mine, tenant="nobody"), 404, "not_found")
            assert _anonymous(refused, theirs) == _anonymous(unknown, NOBODYS)
    assert door.stored() == before


@pytest.mark.req("O-21")
def test_no_answer_holds_a_word_of_another_tenant(door: Door) -> None:
    """Also where both tenants chose the same identifier."""
    theirs, mine = settle(door, "theirs"), settle(door, "mine")
    client = door.client("mine")
    kinds = ("account", "schedule", "turn", "pull")
    same = {kind: theirs.names[kind] for kind in kinds}
    twin = Estate(**{**mine.names, **same}, canary=mine.canary)
    for name in sorted(ROUTES, key=lambda name: name.startswith("DELETE")):
        for estate in (mine, twin):
            text = send(client, name, estate).text
            for chosen in same.values():
                text = text.replace(chosen, "")
            assert theirs.canary not in text, name


def _anonymous(problem: dict, estate: Estate) -> str:
    text = str({k: v for k, v in problem.items() if k != "request_id"})
    for kind, name in sorted(estate.names.items(), key=lambda item: -len(item[1])):
        text = text.replace(name, f"<{'id' if kind == 'message' else kind}>")
    return text.replace("<decision>", "<id>")


@pytest.mark.postgresql
@pytest.mark.req("O-21")
def test_a_connection_forgets_whose_it_was(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection for all: a request of one tenant breaks in the middle, another's follows."""
    with databases.opened("postgresql", pool_size=1) as (db, clock), opened(db, clock) as door:
        theirs = settle(door, "theirs")
        door.tenant("mine")
        client, other = door.client("mine"), door.client("theirs")
        with monkeypatch.context() as broken:
            broken.setattr("watchkeeper.moves.admission.decide", None)
            answer = other.post("/v1/triggers", json={"events": [door.event()]})
            problem_of(answer, 500)
        for path in ("accounts", "decisions", "schedules", "outbox", "ledger", "api-keys"):
            answer = client.get(f"/v1/{path}")
            assert answer.status_code == 200
            assert theirs.canary not in answer.text
