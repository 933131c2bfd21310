"""Lists come in pages, each row once, and a cursor is good for its own list only."""

import base64

import pytest

from tests.http.calls import SCHEDULE, SINK
from tests.http.door import Door, places_of, problem_of

pytestmark = pytest.mark.req("U-10")

LISTS = {
    "accounts": "account_id",
    "decisions": "decision_id",
    "ledger": "seq",
    "schedules": "schedule_id",
    "outbox": "id",
    "api-keys": "key_id",
    "sinks": "name",
    "reports": "report_id",
}


@pytest.mark.parametrize("path", LISTS)
def test_every_row_is_seen_once(door: Door, path: str) -> None:
    client = door.client(door.tenant())
    events = [door.event(account_id=f"a{n}") for n in range(7)]
    client.post("/v1/triggers", json={"events": events})
    for n in range(6):
        client.put(f"/v1/schedules/s{n}", json=SCHEDULE)
        client.put(f"/v1/sinks/s{n}", json={**SINK, "topic": f"orders.{n}"})
        client.post("/v1/reports", json={})
        door.key("acme", "viewer")
    name = LISTS[path]
    whole = [row[name] for row in client.get(f"/v1/{path}?limit=200").json()["items"]]
    assert len(whole) >= 6
    seen, cursor = [], ""
    for _ in range(20):
        page = client.get(f"/v1/{path}?limit=3{cursor}").json()
        seen += [row[name] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        assert len(page["items"]) == 3
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == whole


def test_tenants_come_in_pages(door: Door) -> None:
    for n in range(5):
        door.tenant(f"t{n}")
    first = door.admin.get("/v1/tenants?limit=3").json()
    second = door.admin.get(f"/v1/tenants?limit=3&cursor={first['next_cursor']}").json()
    names = [one["tenant_id"] for one in first["items"] + second["items"]]
    assert names == [f"t{n}" for n in range(5)]
    assert second["next_cursor"] is None


FORGED = [
    "[]",
    '["accounts"]',
    '["accounts",1]',
    '["accounts","a\\u0000"]',
    '["accounts",null]',
    '["schedules","a"]',
    '{"accounts":"a"}',
    '["accounts",["a"]]',
    f'["accounts","{"x" * 500}"]',
    "nonsense",
]


@pytest.mark.parametrize("forged", FORGED)
def test_a_cursor_that_was_made_up_is_refused(door: Door, forged: str) -> None:
    client = door.client(door.tenant())
    cursor = base64.urlsafe_b64encode(forged.encode()).decode().rstrip("=")
    response = client.get(f"/v1/accounts?cursor={cursor}")
    problem_of(response, 422)
    assert places_of(response) == {"cursor"}


@pytest.mark.parametrize(
    ("path", "forged"),
    [
        ("outbox", '["outbox","not-an-id"]'),
        ("ledger", '["ledger",18446744073709551615]'),
        ("ledger", '["ledger",-1]'),
        ("ledger", '["ledger",true]'),
        ("decisions", '["decisions","1"]'),
    ],
)
def test_a_place_that_cannot_be_is_refused(door: Door, path: str, forged: str) -> None:
    client = door.client(door.tenant())
    cursor = base64.urlsafe_b64encode(forged.encode()).decode().rstrip("=")
    response = client.get(f"/v1/{path}?cursor={cursor}")
    problem_of(response, 422)
    assert places_of(response) == {"cursor"}
