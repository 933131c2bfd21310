"""Keys: what is kept of them, who is refused, and that all refusals look alike."""

import time

import pytest

from tests.http.door import ADMIN_KEY, Door, bearer, places_of, problem_of
from watchkeeper.core.time import DAY, Instant, to_iso
from watchkeeper.http import keys

pytestmark = pytest.mark.req("O-20")


def wall() -> Instant:
    return Instant(time.time_ns() // 1000)


def test_a_key_is_shown_once_and_kept_as_a_hash(door: Door) -> None:
    door.tenant()
    made = door.admin.post("/v1/api-keys", json={"tenant_id": "acme", "role": "viewer"})
    assert made.status_code == 201
    key, key_id = made.json()["key"], made.json()["key_id"]
    prefix, name, secret = key.split("_")
    assert (prefix, name) == ("wk", key_id)
    assert len(secret) == 43
    assert secret not in repr(door.stored())
    listed = door.admin.get("/v1/api-keys?tenant_id=acme").json()["items"]
    assert listed == [{k: v for k, v in made.json().items() if k != "key"}]
    assert door.with_key(key).get("/v1/accounts").status_code == 200


def test_all_refusals_look_alike(door: Door) -> None:
    door.tenant()
    good = door.key("acme", "viewer")
    revoked = door.key("acme", "viewer")
    expired = door.key("acme", "viewer", expires_at=Instant(wall() - 1))
    door.admin.delete(f"/v1/api-keys/{revoked.split('_')[1]}")
    _, key_id, secret = good.split("_")
    wrong = [
        revoked,
        expired,
        f"wk_{key_id}_{secret[::-1]}",
        f"wk_{key_id[::-1]}_{secret}",
        f"wk_{key_id}_{secret}x",
        ADMIN_KEY + "x",
        ADMIN_KEY[:-1],
        "",
        "nonsense",
        "x" * 5000,
    ]
    bodies = set()
    for key in wrong:
        refused = problem_of(door.with_key(key).get("/v1/accounts"), 401, "unauthorized")
        bodies.add(str({k: v for k, v in refused.items() if k != "request_id"}))
    none = door.with_key(None).get("/v1/accounts")
    bodies.add(str({k: v for k, v in problem_of(none, 401).items() if k != "request_id"}))
    basic = door.with_key(None).get("/v1/accounts", headers={"Authorization": f"Basic {good}"})
    problem_of(basic, 401)
    assert len(bodies) == 1
    assert none.headers["www-authenticate"] == "Bearer"
    assert door.with_key(good).get("/v1/accounts").status_code == 200


def test_a_revoked_key_is_refused_at_once(door: Door) -> None:
    door.tenant()
    key = door.key("acme", "admin")
    client = door.with_key(key)
    assert client.get("/v1/api-keys").status_code == 200
    own = key.split("_")[1]
    assert client.delete(f"/v1/api-keys/{own}").status_code == 204
    problem_of(client.get("/v1/api-keys"), 401)
    assert door.admin.delete(f"/v1/api-keys/{own}").status_code == 204  # again is no mistake
    problem_of(door.admin.delete("/v1/api-keys/0123456789abcdef"), 404)


def test_expiry_goes_by_wall_time_whatever_the_virtual_clock_shows(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    expires_at = Instant(wall() + DAY)
    client = door.with_key(door.key(door.tenant(), "viewer", expires_at=expires_at))
    door.clock.advance(days=365)
    assert client.get("/v1/accounts").status_code == 200
    monkeypatch.setattr(keys, "_wall_now", lambda: Instant(expires_at - 1))
    assert client.get("/v1/accounts").status_code == 200
    monkeypatch.setattr(keys, "_wall_now", lambda: expires_at)
    problem_of(client.get("/v1/accounts"), 401)


@pytest.mark.parametrize("name", ["key", "api_key", "API_KEY", "access_token", "token"])
def test_a_key_in_the_address_is_refused(door_sqlite: Door, name: str) -> None:
    door_sqlite.tenant()
    for client in (door_sqlite.admin, door_sqlite.with_key(None)):
        problem_of(client.get(f"/v1/accounts?{name}={ADMIN_KEY}"), 400, "key_in_query")


def test_a_tenants_admin_makes_and_sees_keys_of_its_tenant_only(door: Door) -> None:
    acme, beta = door.client(door.tenant("acme")), door.client(door.tenant("beta"))
    made = acme.post("/v1/api-keys", json={"role": "operator"}).json()
    assert made["tenant_id"] == "acme"
    refused = acme.post("/v1/api-keys", json={"role": "viewer", "tenant_id": "beta"})
    problem_of(refused, 404)
    seen = {key["tenant_id"] for key in beta.get("/v1/api-keys").json()["items"]}
    assert seen == {"beta"}
    problem_of(beta.delete(f"/v1/api-keys/{made['key_id']}"), 404)
    assert door.with_key(made["key"]).get("/v1/accounts").status_code == 200


def test_a_key_for_all_tenants_is_made_by_one(door: Door) -> None:
    door.tenant()
    made = door.admin.post("/v1/api-keys", json={"role": "viewer"}).json()
    assert made["tenant_id"] is None
    client = door.with_key(made["key"])
    assert client.get("/v1/accounts?tenant_id=acme").status_code == 200
    problem_of(client.post("/v1/tenants", json={"tenant_id": "x"}), 403)
    everyones = door.admin.get("/v1/api-keys").json()["items"]
    assert made["key_id"] in [key["key_id"] for key in everyones]


def test_a_key_names_a_tenant_that_exists_and_a_role(door: Door) -> None:
    unknown = door.admin.post("/v1/api-keys", json={"tenant_id": "nobody", "role": "viewer"})
    problem_of(unknown, 404)
    wrong = door.admin.post("/v1/api-keys", json={"role": "root"})
    assert places_of(wrong) == {"role"}
    expiring = door.admin.post(
        "/v1/api-keys", json={"role": "viewer", "expires_at": to_iso(Instant(wall() + DAY))}
    )
    assert expiring.status_code == 201


def test_the_admin_key_of_the_settings_is_for_all_tenants(door: Door) -> None:
    door.tenant()
    client = door.with_key(None)
    for scheme in ("Bearer", "bearer", "BEARER"):
        headers = {"Authorization": f"{scheme} {ADMIN_KEY}"}
        assert client.get("/v1/accounts?tenant_id=acme", headers=headers).status_code == 200
    assert client.get("/v1/tenants", headers=bearer(ADMIN_KEY)).status_code == 200
