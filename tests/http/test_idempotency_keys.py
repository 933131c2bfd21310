"""A POST that is sent again gets the first answer again, and nothing happens again."""

import pytest

from tests.http.door import Door, problem_of
from watchkeeper.actions.answer_once import KEPT_US
from watchkeeper.core.time import SECOND

pytestmark = pytest.mark.req("U-10")


def keyed(key: str = "k-1") -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_the_same_request_gets_the_first_answer_again(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    body = {"signals": [{"account_id": "a", "type": "t", "data": {"x": 1, "y": 2}}]}
    first = client.post("/v1/signals", json=body, headers=keyed())
    stored = door.stored()
    same = {"signals": [{"type": "t", "data": {"y": 2, "x": 1}, "account_id": "a"}]}
    again = client.post("/v1/signals", json=same, headers=keyed())
    assert (again.status_code, again.json()) == (202, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["content-type"] == first.headers["content-type"]
    assert door.stored() == stored


def test_headers_that_say_when_are_repeated_too(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "ingest")
    client.post("/v1/triggers", json={"events": [door_sqlite.event(account_id="a")]})
    body = {"events": [door_sqlite.event(account_id="a", trigger_type="POSTURE_CHANGE")]}
    first = client.post("/v1/triggers", json=body, headers=keyed())
    again = client.post("/v1/triggers", json=body, headers=keyed())
    assert again.headers["retry-after"] == first.headers["retry-after"] == "600"


def test_another_request_under_the_key_is_refused(door: Door) -> None:
    """Other body, other path, other query: 422, nothing runs, and the first answer stands."""
    client = door.client(door.tenant(), "operator")
    given = client.post("/v1/triggers", json={"events": [door.event(), door.event()]}).json()[
        "verdicts"
    ]
    one, two = (f"/v1/outbox/{v['decision_id']}/redrive" for v in given)
    door.place.execute("update outbox set status = 'dead', done_at = 1, dead_reason = 'REJECTED'")
    first = client.post(one, json={"force": True}, headers=keyed())
    assert first.status_code == 200
    before = door.stored()
    for path, body in ((one, {"force": False}), (two, {"force": True}), (one, None)):
        other = client.post(path, json=body, headers=keyed())
        problem_of(other, 422, "idempotency_key_reused")
    assert door.stored() == before
    assert client.post(one, json={"force": True}, headers=keyed()).json() == first.json()


def test_a_key_is_of_its_tenant_and_its_route(door: Door) -> None:
    acme = door.client(door.tenant("acme"), "ingest")
    beta = door.client(door.tenant("beta"), "ingest")
    events = {"events": [door.event(account_id="canary-acme")]}
    signals = {"signals": [{"account_id": "canary-acme", "type": "t"}]}
    first = acme.post("/v1/triggers", json=events, headers=keyed())
    assert acme.post("/v1/signals", json=signals, headers=keyed()).status_code == 202
    other = beta.post("/v1/triggers", json=events, headers=keyed())
    assert other.json() != first.json()
    assert "idempotency-replayed" not in other.headers
    another = {"events": [door.event(account_id="b")]}
    refused = beta.post("/v1/triggers", json=another, headers=keyed())
    assert "canary" not in problem_of(refused, 422)["detail"]
    for tenant, earlier in (("acme", first), ("beta", other)):
        everyone = door.admin.post(
            "/v1/triggers", json={**events, "tenant_id": tenant}, headers=keyed("admin")
        )
        assert (
            everyone.json()["verdicts"][0]["duplicate_of"]
            == (earlier.json()["verdicts"][0]["decision_id"])
        )


def test_a_request_that_was_refused_leaves_its_key_free(door: Door) -> None:
    wrong = {"events": [{"account_id": "a"}]}
    client = door.client(door.tenant(), "ingest")
    problem_of(client.post("/v1/triggers", json=wrong, headers=keyed()), 422, "invalid")
    right = {"events": [door.event()]}
    assert client.post("/v1/triggers", json=right, headers=keyed()).status_code == 200


def test_an_answer_is_kept_for_a_day(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    body = {"signals": [{"account_id": "a", "type": "t"}]}
    first = client.post("/v1/signals", json=body, headers=keyed()).json()
    door.clock.advance(KEPT_US / SECOND - 1)
    assert client.post("/v1/signals", json=body, headers=keyed()).json() == first
    door.clock.advance(1)
    assert client.post("/v1/signals", json=body, headers=keyed()).json() != first


def test_a_key_that_an_older_server_held_is_free(door: Door) -> None:
    """It claimed keys before their change; a claim says nothing about a change."""
    client = door.client(door.tenant(), "ingest")
    body = {"signals": [{"account_id": "a", "type": "t"}]}
    client.post("/v1/signals", json=body, headers=keyed())
    door.place.execute("update http_replies set status = null, deed = null")
    assert client.post("/v1/signals", json=body, headers=keyed()).status_code == 202
    assert len(door.rows("signals")) == 2


@pytest.mark.req("O-20")
def test_a_secret_is_not_kept_with_its_answer(door: Door) -> None:
    body = {"tenant_id": door.tenant(), "role": "viewer"}
    first = door.admin.post("/v1/api-keys", json=body, headers=keyed()).json()
    again = door.admin.post("/v1/api-keys", json=body, headers=keyed()).json()
    assert again == {**first, "key": None}
    assert len(door.rows("api_keys")) == 1
    secret = first["key"].split("_")[2]
    assert secret not in repr(door.stored())


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "a\tb", "ü"])
def test_a_key_has_a_form(door_sqlite: Door, key: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "ingest")
    headers = {"Idempotency-Key": key.encode()}
    response = client.post("/v1/triggers", json={"events": []}, headers=headers)
    problem_of(response, 422)
    assert response.json()["errors"][0]["place"] == "Idempotency-Key"
