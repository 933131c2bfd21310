"""Every field of every call, wrong in every way: refused by name, nothing kept, alike on both."""

import copy
import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.http.calls import BUDGET, CALLS, PLAN, PULL, SCHEDULE, TURN, USAGE, Estate, settle
from tests.http.door import Door, opened, places_of, problem_of

pytestmark = [pytest.mark.req("D-02", "U-10")]

FULL_PLAN = {
    **PLAN,
    "expires_at": "2031-01-01T00:00:00Z",
    "facts": {"n": 1},
    "constraints": {"n": 1},
    "correlation_id": "c",
}
FULL: dict[str, dict[str, Any]] = {
    "PUT /v1/sinks/{name}": {
        "topic": "invoice",
        "namespace": "shop",
        "kind": "webhook",
        "url": "https://hooks.example.com/in",
        "secret": "whsec_" + "QUJD" * 11,
    },
    "POST /v1/triggers": {
        "events": [
            {
                "account_id": "a",
                "trigger_type": "SIGNAL_ARRIVED",
                "idempotency_key": "k",
                "scheduled_at": "2030-01-01T00:00:00Z",
                "correlation_id": "c",
                "action_saturation_score": 0.5,
            }
        ]
    },
    "POST /v1/signals": {
        "signals": [
            {
                "account_id": "a",
                "type": "t",
                "signal_id": "s",
                "occurred_at": "2030-01-01T00:00:00+01:00",
                "idempotency_key": "k",
                "correlation_id": "c",
                "data": {"n": 1},
            }
        ]
    },
    "POST /v1/tenants": {
        "tenant_id": "new",
        "name": "n",
        "tier": "gold",
        "installed_at": "2030-01-01T00:00:00Z",
    },
    "PATCH /v1/tenants/{tenant_id}": {
        "name": "n",
        "tier": "gold",
        "installed_at": "2030-01-01T00:00:00Z",
    },
    "POST /v1/api-keys": {"role": "viewer", "expires_at": "2030-01-01T00:00:00Z"},
    "PUT /v1/accounts/{account_id}": {
        "posture": "p",
        "lifecycle_state": "l",
        "attributes": {"n": 1},
    },
    "PUT /v1/schedules/{schedule_id}": {
        **SCHEDULE,
        "account_id": "a",
        "catch_up": "skip",
        "spread_seconds": 5,
    },
    "POST /v1/kill-switches": {"scope": "trigger", "id": "X", "on": True, "reason": "r"},
    "POST /v1/decisions/{decision_id}/outcome": {
        "succeeded": True,
        "detail": "d",
        "usage": dict(USAGE),
    },
    "POST /v1/turns": {**TURN, "turn_id": "turn-9", "user_id": "user-9"},
    "POST /v1/turns/{turn_id}/progress": {"tenant_id": "acme"},
    "POST /v1/turns/{turn_id}/finalize": {
        "outcome": "cancelled",
        "started": True,
        "usage": dict(USAGE),
    },
    "POST /v1/pulls": {**PULL, "pull_job_id": "pull-9", "correlation_id": "c"},
    "PUT /v1/budgets/pull": {**BUDGET, "max_per_connector_per_day": {"crm": 5}},
    "PUT /v1/connectors/{connector_id}": {
        "rate_per_second": 1.5,
        "burst": 2,
        "max_concurrency": 3,
        "depth_units": {"SHALLOW": 1, "DEEP": 3},
    },
    "POST /v1/plans": FULL_PLAN,
    "PUT /v1/plans/{plan_id}": FULL_PLAN,
    "POST /v1/plans/propose": {
        "account_id": "a",
        "plan_type": "RENEWAL_DEFENSE",
        "context": {"n": 1},
    },
    "POST /v1/plans/{plan_id}/approve": {"reason": "r"},
    "POST /v1/plans/{plan_id}/pause": {"reason": "r"},
    "POST /v1/plans/{plan_id}/resume": {"reason": "r"},
    "POST /v1/plans/{plan_id}/abort": {"reason": "r"},
    "POST /v1/plans/{plan_id}/steps/{step_id}/skip": {"reason": "r"},
    "POST /v1/plans/{plan_id}/facts": {"facts": {"n": 1}},
    "POST /v1/intents/{intent_id}/approve": {"reason": "r"},
    "POST /v1/intents/{intent_id}/reject": {"reason": "r"},
    "POST /v1/intents/{intent_id}/outcome": {"succeeded": True, "detail": "d"},
    "POST /v1/outbox/{message_id}/redrive": {"force": True},
    "POST /v1/outbox/{message_id}/discard": {"tenant_id": "acme"},
    "POST /v1/outbox/redrive": {"namespace": "n", "topic": "t"},
    "POST /v1/clock/advance": {"seconds": 1},
}
REQUIRED = {
    "account_id", "trigger_type", "idempotency_key", "type", "role", "cron", "timezone",
    "scope", "on", "reason", "succeeded", "seconds", "events", "signals", "request_id", "model",
    "estimated_input_tokens", "max_output_tokens", "outcome", "started", "connector_id", "depth",
    "max_pull_units_per_day", "plan_type", "steps", "facts",
}  # fmt: skip
REASONED = ("approve", "pause", "resume", "abort")
REQUIRED_HERE = {("POST /v1/tenants", "tenant_id")}
OPTIONAL_HERE = {
    ("PUT /v1/schedules/{schedule_id}", "account_id"),
    ("POST /v1/signals", "idempotency_key"),
    *((f"POST /v1/plans/{{plan_id}}/{deed}", "reason") for deed in REASONED),
    *((f"POST /v1/intents/{{intent_id}}/{deed}", "reason") for deed in ("approve", "reject")),
    ("POST /v1/plans", "facts"),
    ("PUT /v1/plans/{plan_id}", "facts"),
}
ABSENT = object()
TEXTS = {
    "a wrong type": 7,
    "too long": "x" * 20_000,
    "U+0000": "a\0b",
    "a control character": "a\nb",
    "half a surrogate pair": "a\ud800",
    "empty": "",
    "a list": ["a"],
}
NUMBERS = {"text": "1", "a huge number": 2**70, "true": True, "negative": -1, "an object": {}}
TRUTHS = {"a number": 1, "text": "true", "null in a list": [None]}
OBJECTS = {
    "text": "x",
    "a list": [],
    "too large": {"x": "y" * 70_000},
    "a huge number inside": {"x": [2**64]},
    "U+0000 inside": {"x": {"y": "\0"}},
    "too deep": json.loads('{"x":' * 40 + "1" + "}" * 40),
}
LISTS = {"text": "x", "an object": {}, "a number": 1, "empty": []}
FREE_TEXT = {"detail"}  # lines are allowed here


def with_body() -> list[str]:
    return sorted(name for name, call in CALLS.items() if call.body is not None)


def test_every_call_with_a_body_is_tried() -> None:
    own = {"PUT /v1/policy", "POST /v1/policy/plan", "PUT /v1/policy/shadows/{name}"}
    empty = {"POST /v1/reports"}
    assert set(with_body()) - set(FULL) == own | empty  # documents have tests of their own


def wrongs(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Each wrong body with what is wrong and the place that must be named."""
    full, found = FULL[name], []
    inner = next((key for key in ("events", "signals") if key in full), None)
    fields = full[inner][0] if inner else full
    prefix = f"{inner}[0]." if inner else ""

    def changed(field: str, value: Any) -> dict[str, Any]:
        body = copy.deepcopy(full)
        target = body[inner][0] if inner else body
        if value is ABSENT:
            del target[field]
        else:
            target[field] = value
        return body

    for field, right in fields.items():
        required = field in REQUIRED or (name, field) in REQUIRED_HERE
        if required and (name, field) not in OPTIONAL_HERE:
            found.append((f"{field}: missing", prefix + field, changed(field, ABSENT)))
            found.append((f"{field}: null", prefix + field, changed(field, None)))
        for what, value in _values(field, right).items():
            found.append((f"{field}: {what}", prefix + field, changed(field, value)))
    found.append(("an unknown field", prefix + "tenant", changed("tenant", "x")))
    for readonly in ("status", "created_at", "version"):
        found.append((f"a field of ours: {readonly}", prefix + readonly, changed(readonly, 1)))
    if inner:
        found.append(("no list", inner, {inner: {}}))
        found.append(("an entry that is no object", f"{inner}[0]", {inner: ["x"]}))
        found.append(("absent", inner, {}))
    return found


def _values(field: str, right: Any) -> dict[str, Any]:
    match right:
        case bool():
            return TRUTHS
        case int() | float():
            return NUMBERS
        case dict():
            return OBJECTS
        case list():
            return LISTS
        case _ if field in FREE_TEXT:
            return {k: v for k, v in TEXTS.items() if k not in ("a control character", "empty")}
        case _:
            return TEXTS


@pytest.mark.postgresql
@pytest.mark.parametrize("name", sorted(FULL))
def test_a_wrong_field_is_named_and_nothing_is_kept(both: Any, name: str) -> None:
    with opened(*both["sqlite"]) as one, opened(*both["postgresql"]) as other:
        doors = (one, other)
        estates = [settle(door, "acme") for door in doors]
        before = [door.stored() for door in doors]
        for what, place, body in wrongs(name):
            for door, estate in zip(doors, estates, strict=True):
                response = post(door, name, estate, body)
                problem_of(response, 422)
                named = {found.split(".x")[0] for found in places_of(response)}
                assert place in named, (what, response.text)
        assert [door.stored() for door in doors] == before


def post(door: Door, name: str, estate: Estate, body: Any) -> Any:
    """As a key for all tenants; escapes are kept, so that half a surrogate can be sent."""
    method, route = name.split(" ")
    path = (CALLS[name].path or route).format(**estate.names)
    if CALLS[name].tenant_in == "body" and isinstance(body, dict):
        body = {"tenant_id": "acme", **body}
    return door.admin.request(
        method,
        path,
        content=json.dumps(body, ensure_ascii=True),
        headers={"content-type": "application/json"},
    )


@pytest.mark.parametrize("name", sorted(FULL))
def test_the_full_call_itself_is_right(door: Door, name: str) -> None:
    estate = settle(door, "acme")
    assert door.admin.put("/v1/policy", json={"tiers": {"gold": {}}}).status_code == 200
    response = post(door, name, estate, FULL[name])
    assert response.status_code in CALLS[name].statuses, response.text


@pytest.mark.parametrize("body", ["[]", "1", '"x"', "null", "true"])
@pytest.mark.parametrize("name", sorted(FULL))
def test_a_body_that_is_no_object_is_refused(door_sqlite: Door, name: str, body: str) -> None:
    method, route = name.split(" ")
    path = (CALLS[name].path or route).format(**settle(door_sqlite, "acme").names)
    response = door_sqlite.admin.request(
        method, path, content=body, headers={"content-type": "application/json"}
    )
    optional = name in (
        "POST /v1/outbox/{message_id}/redrive",
        "POST /v1/outbox/{message_id}/discard",
        "POST /v1/turns/{turn_id}/progress",
        *(f"POST /v1/plans/{{plan_id}}/{deed}" for deed in REASONED),
        *(f"POST /v1/intents/{{intent_id}}/{deed}" for deed in ("approve", "reject")),
    )
    if body == "null" and optional:
        assert response.status_code in CALLS[name].statuses
    else:
        problem_of(response, 422)


@pytest.mark.postgresql
def test_what_one_database_would_refuse_is_refused_alike(doors: dict[str, Door]) -> None:
    """Values that only one of the engines would take: the same answer from both."""
    event = (
        '{"tenant_id":"acme","events":[{"account_id":%s,"trigger_type":"SIGNAL_ARRIVED",'
        '"idempotency_key":"k","action_saturation_score":%s}]}'
    )
    signal = '{"tenant_id":"acme","signals":[{"account_id":"a","type":"t","data":%s}]}'
    keys = ",".join(f'"k{n}":1' for n in range(5_000))
    bodies = [
        ("triggers", event % ('"\\u0000"', "0")),
        ("triggers", event % ('"\\ud800"', "0")),
        ("triggers", event % ('"\\udc00\\ud800"', "0")),
        ("triggers", event % ('"a"', "1e400")),
        ("triggers", event % ('"a"', "NaN")),
        ("triggers", event % ('"a"', "-Infinity")),
        ("triggers", event % ('"a"', "9" * 5_000)),
        ("triggers", event % ('"a","account_id":"b"', "0")),
        ("signals", signal % '{"x":"\\u0000"}'),
        ("signals", signal % '{"x":"\\ud83d"}'),
        ("signals", signal % '{"x":1e999}'),
        ("signals", signal % ('{"x":' + "9" * 30 + "}")),
        ("signals", signal % '{"x":1,"x":2}'),
        ("signals", signal % '{"\\u0000":1}'),
        ("signals", signal % ("{" + keys + "," + keys + "}")),
        ("signals", signal % ("{" + ",".join(f'"k{n}":1' for n in range(100_000)) + "}")),
    ]
    for path, body in bodies:
        statuses = set()
        for door in doors.values():
            door.tenant("acme")
            response = door.admin.post(
                f"/v1/{path}", content=body, headers={"content-type": "application/json"}
            )
            statuses.add(response.status_code)
            assert door.rows("signals") == []
            assert [row for row in door.rows("ledger") if "verdict" in row] == []
        assert statuses == {422}, body[:80]


@pytest.mark.postgresql
def test_odd_but_right_text_is_kept_alike(doors: dict[str, Door]) -> None:
    odd = {"emoji": "\U0001f600", "quote": "'\";--", "line": "a\nb\u2028c", "\u00e9": -(2**63) + 1}
    names = ["a/b", "a b", "ünï", "日本", "%41", "..", "a'b", "😀"]
    for door in doors.values():
        client = door.client(door.tenant())
        signals = [{"account_id": name, "type": "t", "data": odd} for name in names]
        response = client.post("/v1/signals", json={"signals": signals})
        assert response.status_code == 202
        listed = [a["account_id"] for a in client.get("/v1/accounts").json()["items"]]
        assert sorted(listed) == sorted(names)
        for name in names:
            if name not in ("..", "%41"):  # this client would read the one, and decode the other
                shown = client.get(f"/v1/accounts/{quote(name, safe='')}")
                assert shown.json()["account_id"] == name


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=1.5", "limit"),
        ("limit=" + "9" * 50, "limit"),
        ("cursor=nonsense", "cursor"),
        ("cursor=WyJhY2NvdW50cyIsIngiXQ", "cursor"),
        ("since=yesterday", "since"),
        ("until=2030-01-01T00:00:00", "until"),
        ("result=MAYBE", "result"),
        ("reason=WHIM", "reason"),
        ("account_id=%00", "account_id"),
        ("account_id=", "account_id"),
        ("trigger_type=" + "x" * 201, "trigger_type"),
        ("tenant_id=a%20b", "tenant_id"),
        ("tenant_id=_system", "tenant_id"),
        ("acount_id=a", "acount_id"),
    ],
)
def test_a_wrong_parameter_is_named(door_sqlite: Door, query: str, place: str) -> None:
    door_sqlite.tenant()
    base = "" if "tenant_id" in query else "&tenant_id=acme"
    response = door_sqlite.admin.get(f"/v1/decisions?{query}{base}")
    problem_of(response, 422, "invalid")
    assert places_of(response) == {place}


def test_every_mistake_is_told_up_to_a_bound(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    events = [{}, {**door_sqlite.event(), "account_id": 1}]
    response = client.post("/v1/triggers", json={"events": events})
    assert places_of(response) == {
        "events[0].account_id",
        "events[0].trigger_type",
        "events[0].idempotency_key",
        "events[1].account_id",
    }
    many = client.post("/v1/triggers", json={"events": [{}] * 1000})
    assert len(many.json()["errors"]) == 101


def test_a_batch_has_a_bound(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    events = [door_sqlite.event() for _ in range(1001)]
    too_many = client.post("/v1/triggers", json={"events": events})
    problem_of(too_many, 422)
    assert places_of(too_many) == {"events"}
    assert client.post("/v1/triggers", json={"events": events[:1000]}).status_code == 200
    assert client.post("/v1/triggers", json={"events": []}).json() == {"verdicts": []}
