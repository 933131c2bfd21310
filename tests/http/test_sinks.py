"""/v1/sinks: who may send what where, and what is never shown again."""

import json

import pytest

from tests.http.calls import SINK
from tests.http.door import Door, opened, places_of, problem_of
from tests.messages import letter, put
from tests.senders import Post
from watchkeeper.core.ids import TenantId
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.handlers.secrets import make_secret
from watchkeeper.store.keyring import Keyring, new_key, parse_keys

SHOWN = {
    "name",
    "tenant_id",
    "namespace",
    "topic",
    "kind",
    "url",
    "old_secret_until",
    "set_by",
    "created_at",
    "updated_at",
}
USAGE = {**SINK, "topic": USAGE_SNAPSHOT}


@pytest.mark.req("S-18", "O-22", "U-11")
def test_a_secret_is_shown_once(door: Door) -> None:
    client = door.client(door.tenant())
    first = client.put("/v1/sinks/orders", json=SINK)
    assert first.status_code == 200
    made = first.json()
    assert set(made) == SHOWN | {"secret", "warning"}
    assert made["secret"].startswith("whsec_")
    assert made["tenant_id"] == "acme"
    again = client.put("/v1/sinks/orders", json={**SINK, "url": "https://example.com/other"})
    assert again.json()["secret"] is None
    assert again.json()["url"] == "https://example.com/other"
    given = make_secret()
    rotated = client.put("/v1/sinks/orders", json={**SINK, "secret": given})
    assert rotated.json()["secret"] is None
    assert rotated.json()["old_secret_until"] == "2030-01-02T00:00:00Z"
    one, listed = client.get("/v1/sinks/orders"), client.get("/v1/sinks")
    assert set(one.json()) == SHOWN
    assert listed.json() == {"items": [one.json()], "next_cursor": None}
    later = [again, rotated, one, listed, client.get("/v1/ledger"), client.get("/v1/outbox")]
    for text in [answer.text for answer in later]:
        assert made["secret"] not in text
        assert given not in text


@pytest.mark.req("S-18", "O-22")
def test_a_sink_whose_key_is_missing_is_left_as_it_is(door: Door) -> None:
    client = door.client(door.tenant())
    door.db.keyring = parse_keys(new_key())
    [key_id] = door.db.keyring.key_ids
    client.put("/v1/sinks/orders", json=SINK)
    before = client.get("/v1/sinks/orders").json()
    door.db.keyring = Keyring()
    changed = {**SINK, "url": "https://example.com/other"}
    refused = problem_of(client.put("/v1/sinks/orders", json=changed), 409, "conflict")
    assert key_id in refused["detail"]
    given = {**changed, "secret": make_secret()}
    plain = problem_of(client.put("/v1/sinks/orders", json=given), 409, "conflict")
    assert "WATCHKEEPER_SECRETS_KEY is not set" in plain["detail"]
    assert client.get("/v1/sinks/orders").json() == before


@pytest.mark.req("S-18")
def test_without_a_tenant_it_is_for_all(door: Door) -> None:
    door.tenant()
    assert door.admin.put("/v1/sinks/all", json=SINK).json()["tenant_id"] is None
    own = door.admin.put("/v1/sinks/own", json={**SINK, "tenant_id": "acme"})
    assert own.json()["tenant_id"] == "acme"
    listed = door.admin.get("/v1/sinks").json()["items"]
    assert [(s["tenant_id"], s["name"]) for s in listed] == [(None, "all"), ("acme", "own")]
    of_one = door.admin.get("/v1/sinks?tenant_id=acme").json()["items"]
    assert [s["name"] for s in of_one] == ["own"]
    assert door.admin.get("/v1/sinks/own").json()["tenant_id"] == "acme"
    problem_of(door.admin.get("/v1/sinks/all?tenant_id=acme"), 404, "not_found")
    door.admin.put("/v1/sinks/all", json={**SINK, "topic": "other", "tenant_id": "acme"})
    assert door.admin.get("/v1/sinks/all").json()["tenant_id"] is None
    assert door.admin.delete("/v1/sinks/all").status_code == 204
    assert door.admin.get("/v1/sinks/all").json()["tenant_id"] == "acme"
    door.tenant("beta")
    door.admin.put("/v1/sinks/own", json={**SINK, "tenant_id": "beta"})
    several = door.admin.get("/v1/sinks/own")
    problem_of(several, 422, "invalid")
    assert places_of(several) == {"tenant_id"}
    problem_of(door.admin.get("/v1/sinks/none"), 404, "not_found")
    problem_of(door.admin.delete("/v1/sinks/none"), 404, "not_found")
    problem_of(door.admin.put("/v1/sinks/x", json={**SINK, "tenant_id": "nobody"}), 404)


@pytest.mark.req("U-10")
def test_everybodys_sinks_come_in_pages(door: Door) -> None:
    for tenant in ("acme", "beta"):
        door.tenant(tenant)
        for n in range(3):
            body = {**SINK, "tenant_id": tenant, "topic": f"orders.{n}"}
            door.admin.put(f"/v1/sinks/s{n}", json=body)
    door.admin.put("/v1/sinks/s0", json=SINK)
    seen, cursor = [], ""
    for _ in range(9):
        page = door.admin.get(f"/v1/sinks?limit=2{cursor}").json()
        seen += [(s["tenant_id"], s["name"]) for s in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    names = [(tenant, f"s{n}") for tenant in ("acme", "beta") for n in range(3)]
    assert seen == [(None, "s0"), *names]


@pytest.mark.req("O-21")
def test_a_tenant_sees_neither_anothers_sinks_nor_those_for_all(door: Door) -> None:
    theirs = {**SINK, "url": "https://example.com/canary-theirs", "tenant_id": "theirs"}
    ours = {**SINK, "url": "https://example.com/canary-all"}
    door.tenant("theirs")
    secrets = [
        door.admin.put("/v1/sinks/a", json=theirs).json()["secret"],
        door.admin.put("/v1/sinks/b", json=ours).json()["secret"],
    ]
    client = door.client(door.tenant("mine"))
    answers = [
        client.get("/v1/sinks"),
        client.get("/v1/sinks/a"),
        client.get("/v1/sinks/b"),
        client.delete("/v1/sinks/a"),
        client.delete("/v1/sinks/b"),
        client.get("/v1/sinks?tenant_id=theirs"),
        client.put("/v1/sinks/a", json=theirs),
        client.put("/v1/sinks/a", json=SINK),
        client.put("/v1/sinks/c", json=SINK),
        client.get("/v1/ledger"),
    ]
    assert [answer.status_code for answer in answers] == [
        200, 404, 404, 404, 404, 404, 404, 200, 409, 200,
    ]  # fmt: skip
    for text in [answer.text for answer in answers]:
        assert "canary" not in text
        assert all(secret not in text for secret in secrets)
    assert len(door.rows("sinks")) == 3


@pytest.mark.req("S-18", "O-21")
def test_a_tenants_key_cannot_redirect_what_it_costs(door: Door) -> None:
    client = door.client(door.tenant())
    problem_of(client.put("/v1/sinks/mine", json=USAGE), 403, "forbidden")
    made = door.admin.put("/v1/sinks/billing", json={**USAGE, "tenant_id": "acme"})
    assert made.json()["namespace"] == "mini-chat"
    problem_of(client.put("/v1/sinks/billing", json=SINK), 403, "forbidden")
    problem_of(client.delete("/v1/sinks/billing"), 403, "forbidden")
    assert door.admin.delete("/v1/sinks/billing?tenant_id=acme").status_code == 204


@pytest.mark.req("S-18")
def test_a_second_sink_of_a_topic_is_a_conflict_that_names_the_first(door: Door) -> None:
    client = door.client(door.tenant())
    client.put("/v1/sinks/first", json=SINK)
    refused = problem_of(client.put("/v1/sinks/second", json=SINK), 409, "conflict")
    assert "first" in refused["detail"]


@pytest.mark.req("S-18", "O-22")
@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"topic": "decision.retry"}, "topic"),
        ({"topic": "schedule.due"}, "topic"),
        ({"topic": "heat.sweep"}, "topic"),
        ({"topic": "decision.defered"}, "topic"),
        ({"topic": "a b"}, "topic"),
        ({"topic": ""}, "topic"),
        ({"namespace": "a/b"}, "namespace"),
        ({"kind": "carrier pigeon"}, "kind"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "http://127.0.0.1:9/"}, "url"),
        ({"url": "http://example.com/"}, "url"),
        ({"url": "https://localhost/"}, "url"),
        ({"secret": "too short"}, "secret"),
        ({"more": 1}, "more"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(
    door_sqlite: Door, change: dict, place: str
) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    refused = client.put("/v1/sinks/x", json={**SINK, **change})
    problem_of(refused, 422, "invalid")
    assert places_of(refused) == {place}
    assert door_sqlite.rows("sinks") == []
    problem_of(client.put("/v1/sinks/a.b", json=SINK), 422, "invalid")
    problem_of(client.put(f"/v1/sinks/{'x' * 65}", json=SINK), 422, "invalid")


@pytest.mark.req("S-18")
def test_a_mistyped_topic_is_answered_with_the_nearest(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    own = client.put("/v1/sinks/own", json=SINK)
    near = client.put("/v1/sinks/near", json={**SINK, "topic": "usage_snapsot"})
    assert (own.json()["warning"], near.status_code) == (None, 200)
    assert "did you mean usage_snapshot?" in near.json()["warning"]
    refused = client.put("/v1/sinks/x", json={**SINK, "topic": "decision.defered"})
    assert "did you mean decision.deferred?" in refused.text


@pytest.mark.req("O-22")
@pytest.mark.parametrize("url", ["http://10.0.0.1/", "https://10.0.0.1/", "https://localhost/"])
def test_the_refusal_of_a_near_receiver_names_the_setting(door_sqlite: Door, url: str) -> None:
    refused = door_sqlite.admin.put("/v1/sinks/x", json={**SINK, "url": url})
    problem_of(refused, 422, "invalid")
    assert "WATCHKEEPER_WEBHOOKS_PRIVATE" in refused.text
    closed = door_sqlite.admin.put("/v1/sinks/x", json={**SINK, "url": "https://169.254.169.254/"})
    problem_of(closed, 422, "invalid")
    assert "WATCHKEEPER_WEBHOOKS_PRIVATE" not in closed.text


@pytest.mark.req("O-22")
def test_development_mode_may_deliver_to_this_machine_and_no_further(dev_door: Door) -> None:
    near = {**SINK, "url": "http://127.0.0.1:9/hook"}
    assert dev_door.admin.put("/v1/sinks/near", json=near).status_code == 200
    far = {**SINK, "url": "http://10.0.0.1/hook", "topic": "other"}
    problem_of(dev_door.admin.put("/v1/sinks/far", json=far), 422, "invalid")


@pytest.mark.req("O-22")
def test_a_setting_opens_private_addresses(databases) -> None:
    with (
        databases.opened("sqlite") as (db, clock),
        opened(db, clock, webhooks_private=True) as door,
    ):
        far = {**SINK, "url": "http://10.0.0.1/hook"}
        assert door.admin.put("/v1/sinks/far", json=far).status_code == 200


@pytest.mark.req("S-18")
def test_what_nobody_takes_is_shown_as_such(door: Door) -> None:
    client = door.client(door.tenant())
    post = Post()
    door.server.registry.make_sender = post
    [waiting] = put(door.db, letter("acme", topic="orders.placed"))

    def shown() -> tuple[str, bool]:
        found = client.get(f"/v1/outbox/{waiting}").json()
        assert client.get("/v1/outbox?topic=orders.placed").json()["items"] == [found]
        return found["status"], found["unhandled"]

    assert shown() == ("pending", True)
    client.put("/v1/sinks/orders", json=SINK)
    assert shown() == ("pending", False)
    client.delete("/v1/sinks/orders")
    assert shown() == ("pending", True)
    door.admin.put("/v1/sinks/orders", json=SINK)
    assert shown() == ("pending", False)
    assert door.server.workers is not None
    door.server.workers.drain()
    assert shown() == ("delivered", False)
    assert post.sent[0][1].tenant_id == TenantId("acme")


@pytest.mark.req("S-18", "O-30")
def test_where_others_work_their_word_counts(door: Door) -> None:
    client = door.client(door.tenant())
    door.tenant("beta")
    door.admin.put("/v1/sinks/orders", json={**SINK, "tenant_id": "beta"})
    [waiting] = put(door.db, letter("acme", topic="orders.placed"))
    workers, door.server.workers = door.server.workers, None
    assert workers is not None
    assert client.get(f"/v1/outbox/{waiting}").json()["unhandled"] is False
    workers.drain()
    found = client.get(f"/v1/outbox/{waiting}").json()
    assert (found["status"], found["attempts"], found["unhandled"]) == ("pending", 0, True)
    wanted = 'watchkeeper_outbox_messages{status="unhandled",topic="orders.placed"} 1.0'
    assert wanted in door.admin.get("/metrics").text


@pytest.mark.req("S-18")
def test_a_run_is_taken_by_a_webhook_and_its_outcome_reported(door: Door) -> None:
    client = door.client(door.tenant())
    post = Post()
    door.server.registry.make_sender = post
    client.put("/v1/sinks/runs", json={**SINK, "topic": "decision.evaluation_requested"})
    verdict = client.post("/v1/triggers", json={"events": [door.event()]}).json()["verdicts"][0]
    decision = verdict["decision_id"]
    assert door.server.workers is not None
    door.server.workers.drain()
    assert json.loads(post.sent[0][1].payload)["detail"]["decision_id"] == decision
    path = f"/v1/decisions/{decision}"
    assert client.get(path).json()["run"]["state"] == "RUNNING"
    assert client.post(f"{path}/outcome", json={"succeeded": True}).status_code < 300
    assert client.get(path).json()["run"]["state"] == "SUCCEEDED"
