"""Every POST under an Idempotency-Key changes something once, whatever breaks on the way."""

import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from tests.databases import Clock, Databases
from tests.http import repeats
from tests.http.door import ADMIN_KEY, Door, bearer, opened
from tests.http.repeats import ATTEMPTS_MAX, POSTS, client_of, counts, counts_of_one, cut_after
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from watchkeeper.actions import answer_once, keep_desk
from watchkeeper.core.time import DAY
from watchkeeper.http import cloud_events, replies
from watchkeeper.http.app import ROUTERS
from watchkeeper.http.repeats import REPEATS
from watchkeeper.http.route import GuardedRoute
from watchkeeper.store.database import Database, open_database

pytestmark = pytest.mark.req("U-10", "D-12")

EVERY_POST = pytest.mark.parametrize("name", POSTS)


@EVERY_POST
def test_an_error_after_a_commit_does_not_free_the_key(
    door: Door, databases: Databases, name: str
) -> None:
    """The n-th try fails behind its n-th commit; one of them comes through."""
    expected = counts_of_one(databases, door.place.engine, name)
    client, request = client_of(door), repeats.request_of(name, repeats.prepared(door, name))
    for attempt in range(1, ATTEMPTS_MAX):
        with cut_after(attempt) as commits:
            response = client.request(**request)
        if len(commits) < attempt:
            break
    assert repeats.is_answer(name, response), response.text
    assert attempt > 1, "nothing was cut"
    assert counts(door.place) == expected
    again = client.request(**request)
    assert (again.status_code, again.content) == (response.status_code, response.content)
    assert again.headers["idempotency-replayed"] == "true"


@EVERY_POST
def test_two_at_once_change_it_once(door: Door, databases: Databases, name: str) -> None:
    """The first is held before its first commit until the second has looked for the key."""
    expected = counts_of_one(databases, door.place.engine, name)
    request = repeats.request_of(name, repeats.prepared(door, name))
    committing, looked = threading.Event(), threading.Event()
    originals = {one: getattr(Database, one) for one in ("_commit", "_send_commit")}
    find = answer_once.find_reply

    def holding(method: str) -> Any:
        def hold(self: Database, driver: Any) -> None:
            if not committing.is_set():
                committing.set()
                assert looked.wait(60)
            originals[method](self, driver)

        return hold

    def looking(*asked: Any) -> Any:
        found = find(*asked)
        if committing.is_set():
            looked.set()
        return found

    answers: list[Any] = []

    def send() -> None:
        answers.append(client_of(door).request(**request))

    with (
        patch.multiple(Database, **{one: holding(one) for one in originals}),
        patch.object(replies, "find_reply", looking),
    ):
        first, second = threading.Thread(target=send), threading.Thread(target=send)
        first.start()
        assert committing.wait(60)
        second.start()
        first.join(60)
        second.join(60)
    assert [repeats.is_answer(name, one) for one in answers] == [True, True], answers
    assert counts(door.place) == expected


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as made:
        yield made


@pytest.mark.postgresql
@pytest.mark.parametrize("fate", ["lose answer", "lose commit"])
@EVERY_POST
def test_a_lost_commit_does_not_free_the_key(
    databases: Databases, server: Server, proxy: Proxy, name: str, fate: Any
) -> None:
    expected = counts_of_one(databases, "postgresql", name)
    with databases.fresh("postgresql") as place:
        db = open_database(server.tcp_url(place.name, port=proxy.port))
        try:
            with opened(db, Clock(place)) as door:
                request = repeats.request_of(name, repeats.prepared(door, name))
                proxy.fates = [fate]
                response = client_of(door).request(**request)
                if not repeats.is_answer(name, response):
                    assert response.json()["code"] in ("outcome_unknown", "unavailable")
                    response = client_of(door).request(**request)
                assert repeats.is_answer(name, response), response.text
                assert proxy.fates == [], "the cut was made"
                assert counts(place) == expected
        finally:
            db.close()


@pytest.mark.postgresql
def test_a_key_whose_commit_was_lost_is_shown_with_its_secret(
    databases: Databases, server: Server, proxy: Proxy
) -> None:
    """The process that made it still knows the secret, so its first answer has it."""
    with databases.fresh("postgresql") as place:
        db = open_database(server.tcp_url(place.name, port=proxy.port))
        try:
            with opened(db, Clock(place)) as door:
                request = repeats.request_of("POST /v1/api-keys", repeats.prepared(door, ""))
                proxy.fates = ["lose answer"]
                made = client_of(door).request(**request).json()
                assert door.with_key(made["key"]).get("/v1/tenants").status_code == 200
        finally:
            db.close()


def test_a_secret_that_nobody_saw_is_not_made_again(door: Door) -> None:
    """The key is there, its secret is not: the repeat says which key to revoke."""
    request = repeats.request_of("POST /v1/api-keys", repeats.prepared(door, ""))
    before = len(door.rows("api_keys"))
    with cut_after(1):
        assert client_of(door).request(**request).status_code == 500
    made = client_of(door).request(**request)
    assert (made.status_code, made.json()["key"]) == (201, None)
    assert len(door.rows("api_keys")) == before + 1
    revoked = door.admin.delete(f"/v1/api-keys/{made.json()['key_id']}?tenant_id=acme")
    assert revoked.status_code == 204


def test_a_key_without_an_answer_is_refused_for_another_request(door: Door) -> None:
    mine = repeats.prepared(door, "")
    request = repeats.request_of("POST /v1/plans", mine)
    with cut_after(1):
        assert client_of(door).request(**request).status_code == 500
    other = {**request, "json": {**request["json"], "objective": "another"}}
    plans = len(door.rows("plans"))
    assert client_of(door).request(**other).json()["code"] == "idempotency_key_reused"
    assert len(door.rows("plans")) == plans


def test_signals_of_several_tenants_are_stored_once(door: Door) -> None:
    """A transaction for each tenant: a repeat finds what is done, and does the rest."""
    events = [
        {"specversion": "1.0", "id": str(n), "source": "s", "type": "t", "subject": "a"}
        | {"tenantid": door.tenant(tenant)}
        for n, tenant in enumerate(["acme", "bolt", "acme", "core"])
    ]
    headers = {"Content-Type": cloud_events.BATCH, **repeats.KEY, **bearer(ADMIN_KEY)}
    request = {"url": "/v1/signals", "method": "POST", "json": events, "headers": headers}
    for commit in (1, 2):
        with cut_after(commit):
            assert client_of(door).request(**request).status_code == 500
    response = client_of(door).request(**request)
    assert response.status_code == 202
    given = [one["verdict"]["decision_id"] for one in response.json()["signals"]]
    stored = door.place.execute("select entry_id from ledger where kind = 'verdict'")
    assert sorted(given) == sorted(str(found) for (found,) in stored)
    assert len(door.rows("signals")) == len(events)


def test_a_pull_is_not_asked_for_again_an_hour_later(door: Door) -> None:
    """Without an id of the caller's, the pull of another hour is another pull."""
    request = repeats.request_of("POST /v1/pulls", repeats.prepared(door, ""))
    pulls = len(door.rows("pulls"))
    with cut_after(1):
        assert client_of(door).request(**request).status_code == 500
    door.clock.advance(3600)
    assert client_of(door).request(**request).json()["scheduled"] is True
    assert len(door.rows("pulls")) == pulls + 1


def test_a_key_that_is_taken_is_refused_for_another_request(door: Door) -> None:
    """A key for all tenants names none: the key is found where the change is."""
    mine = repeats.prepared(door, "")
    request = repeats.request_of("POST /v1/plans/{plan_id}/facts", mine)
    told = {**request, "json": {"facts": {"n": 1}}}
    with cut_after(1):
        assert client_of(door).request(**told).status_code == 500
    other = {**request, "json": {"facts": {"n": 2}}}
    assert client_of(door).request(**other).json()["code"] == "idempotency_key_reused"
    assert client_of(door).request(**told).status_code == 200


def test_a_redrive_that_was_cut_off_says_how_far_it_came(door: Door) -> None:
    client = door.client(door.tenant(), "operator")
    client.post("/v1/triggers", json={"events": [door.event() for _ in range(5)]})
    door.place.execute("update outbox set status = 'dead', done_at = 1, dead_reason = 'REJECTED'")
    body = {"topic": "decision.evaluation_requested"}
    path, headers = "/v1/outbox/redrive", {**repeats.KEY, **client.headers}
    with patch.object(keep_desk, "SLICE", 2), cut_after(2):
        cut = client_of(door).post(path, json=body, headers=headers)
    assert cut.status_code == 500
    again = client_of(door).post(path, json=body, headers=headers)
    assert again.json() == {"redriven": 4}
    rest = client.post(path, json=body, headers={"Idempotency-Key": "the rest"})
    assert rest.json() == {"redriven": 1}


def test_a_clock_that_was_stopped_goes_on_to_the_same_moment(door: Door) -> None:
    """Also when that is further away than keys are kept."""
    until = door.clock.at + 3 * DAY
    request = {"url": "/v1/clock/advance", "method": "POST", "json": {"seconds": 3 * 86_400}}
    request["headers"] = {**repeats.KEY, **bearer(ADMIN_KEY)}
    for commit in range(1, ATTEMPTS_MAX):
        with cut_after(commit):
            assert client_of(door).request(**request).status_code == 500
        if door.clock.at == until:
            break
    for _ in range(2):
        assert client_of(door).request(**request).status_code == 200
        assert door.clock.at == until


def test_every_post_says_what_protects_it() -> None:
    endpoints = {
        route.endpoint.__name__
        for routes in ROUTERS
        for route in routes.routes
        if isinstance(route, GuardedRoute) and "POST" in route.methods
    }
    assert endpoints == set(REPEATS)
    assert len(POSTS) == len(REPEATS)
