"""CloudEvents as signals: structured, batched and binary."""

import json
from typing import Any

import pytest

from tests.http.door import Door, places_of, problem_of

pytestmark = pytest.mark.req("U-10")

EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "e-1",
    "source": "https://crm.example/leads",
    "type": "lead.opened",
    "subject": "acct-1",
    "time": "2029-12-31T23:00:00Z",
    "correlationid": "c-1",
    "data": {"n": 1},
}
STRUCTURED = {"content-type": "application/cloudevents+json; charset=utf-8"}
BATCH = {"content-type": "application/cloudevents-batch+json"}


def stored(door: Door) -> list[dict[str, Any]]:
    rows = door.place.execute(
        "select signal_id, tenant_id, account_id, type, occurred_at, correlation_id, data"
        " from signals order by seq"
    )
    names = ("signal_id", "tenant_id", "account_id", "type", "occurred_at", "correlation_id")
    return [{**dict(zip(names, row, strict=False)), "data": _read(row[6])} for row in rows]


def _read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def test_a_structured_event_is_a_signal(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    response = client.post("/v1/signals", content=json.dumps(EVENT), headers=STRUCTURED)
    assert response.status_code == 202
    (kept,) = stored(door)
    assert kept["account_id"] == "acct-1"
    assert kept["type"] == "lead.opened"
    assert kept["correlation_id"] == "c-1"
    assert kept["data"] == {"n": 1}
    assert kept["occurred_at"] == door.clock.at - 3600 * 1_000_000
    assert response.json()["signals"][0]["signal_id"] == kept["signal_id"]


def test_an_event_is_the_same_when_source_and_id_are(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    other = {**EVENT, "source": "https://mail.example", "subject": "acct-2"}
    batch = [EVENT, other, EVENT]
    response = client.post("/v1/signals", content=json.dumps(batch), headers=BATCH)
    receipts = response.json()["signals"]
    assert [r["verdict"]["reason"] for r in receipts] == [None, None, "DUPLICATE_IDEMPOTENCY_KEY"]
    assert len(stored(door)) == 2


def test_a_binary_event_has_its_attributes_in_headers(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    headers = {
        "ce-specversion": "1.0",
        "ce-id": "e-2",
        "ce-source": "/crm",
        "ce-type": "lead.opened",
        "ce-subject": "Euro%20%E2%82%AC",
        "ce-time": "2029-12-31T23:00:00Z",
        "ce-unknownext": "left alone",
    }
    response = client.post("/v1/signals", json={"n": 2}, headers=headers)
    assert response.status_code == 202
    (kept,) = stored(door)
    assert kept["account_id"] == "Euro €"
    assert kept["data"] == {"n": 2}
    assert client.post("/v1/signals", headers={**headers, "ce-id": "e-3"}).status_code == 202
    wrong = client.post("/v1/signals", json={}, headers={**headers, "ce-subject": "%FF"})
    problem_of(wrong, 422)
    assert places_of(wrong) == {"ce-subject"}
    text = client.post("/v1/signals", content="x", headers={**headers, "content-type": "text/csv"})
    problem_of(text, 415)


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"data": [1, 2]}, {"data": [1, 2]}),
        ({"data": "text"}, {"data": "text"}),
        ({"data": None}, {}),
        ({"data_base64": "aGk="}, {"data_base64": "aGk="}),
    ],
)
def test_data_that_is_no_object_is_put_into_one(door_sqlite: Door, data: dict, kept: dict) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "ingest")
    event = {k: v for k, v in EVENT.items() if k != "data"} | data
    client.post("/v1/signals", content=json.dumps(event), headers=STRUCTURED)
    assert stored(door_sqlite)[0]["data"] == kept


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"specversion": "0.3"}, "specversion"),
        ({"id": ""}, "id"),
        ({"id": None}, "id"),
        ({"source": 7}, "source"),
        ({"time": "yesterday"}, "time"),
        ({"subject": None}, "subject"),
        ({"subject": "a\nb"}, "subject"),
        ({"type": "x" * 201}, "type"),
        ({"data": {"x": "y" * 70_000}}, "data"),
    ],
)
def test_what_is_wrong_with_an_event_is_named(door_sqlite: Door, change: dict, place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "ingest")
    event = {**EVENT, **change}
    one = client.post("/v1/signals", content=json.dumps(event), headers=STRUCTURED)
    problem_of(one, 422)
    assert places_of(one) == {place}
    many = client.post("/v1/signals", content=json.dumps([EVENT, event]), headers=BATCH)
    assert places_of(many) == {f"[1].{place}"}
    assert stored(door_sqlite) == []


def test_a_batch_is_a_list(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "ingest")
    problem_of(client.post("/v1/signals", content=json.dumps(EVENT), headers=BATCH), 422)
    assert client.post("/v1/signals", content="[]", headers=BATCH).json() == {"signals": []}
    many = [{**EVENT, "id": str(n)} for n in range(1001)]
    problem_of(client.post("/v1/signals", content=json.dumps(many), headers=BATCH), 422)


@pytest.mark.req("D-17", "O-21")
def test_a_mixed_batch_is_split_by_tenant(door: Door) -> None:
    acme, beta = door.tenant("acme"), door.tenant("beta")
    batch = [
        {**EVENT, "id": str(n), "subject": f"acct-{n}", "tenantid": (acme, beta)[n % 2]}
        for n in range(5)
    ]
    response = door.admin.post("/v1/signals", content=json.dumps(batch), headers=BATCH)
    assert response.status_code == 202
    ids = [r["signal_id"] for r in response.json()["signals"]]
    kept = {row["signal_id"]: (row["tenant_id"], row["account_id"]) for row in stored(door)}
    assert [kept[i] for i in ids] == [(e["tenantid"], e["subject"]) for e in batch]
    batch[4]["tenantid"] = "nobody"
    before = door.stored()
    refused = door.admin.post("/v1/signals", content=json.dumps(batch), headers=BATCH)
    problem_of(refused, 404)
    nameless = door.admin.post("/v1/signals", content=json.dumps(EVENT), headers=STRUCTURED)
    assert places_of(nameless) == {"tenantid"}
    foreign = door.client("acme", "ingest").post(
        "/v1/signals", content=json.dumps({**EVENT, "tenantid": "beta"}), headers=STRUCTURED
    )
    problem_of(foreign, 404)
    after = door.stored()
    assert {k: v for k, v in after.items() if k not in ("api_keys", "ledger", "tenants")} == {
        k: v for k, v in before.items() if k not in ("api_keys", "ledger", "tenants")
    }


@pytest.mark.req("D-20", "D-04")
def test_one_id_for_two_accounts_under_keys_of_their_own_is_two_signals(door: Door) -> None:
    """As a CloudEvent and as plain JSON: none is dropped behind an ALLOW."""
    client = door.client(door.tenant(), "ingest")
    events = [{**EVENT, "subject": name, "idempotencykey": name} for name in ("ann", "bob")]
    plain = [
        {"account_id": name, "type": "mail", "signal_id": "s", "idempotency_key": f"k-{name}"}
        for name in ("cat", "dan")
    ]
    answers = [
        client.post("/v1/signals", content=json.dumps(events), headers=BATCH),
        client.post("/v1/signals", json={"signals": plain}),
    ]
    for answer in answers:
        assert [one["verdict"]["result"] for one in answer.json()["signals"]] == ["ALLOW"] * 2
    kept = stored(door)
    assert [one["account_id"] for one in kept] == ["ann", "bob", "cat", "dan"]
    assert len({one["signal_id"] for one in kept}) == 2
