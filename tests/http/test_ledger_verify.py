"""/v1/ledger/verify: the chain by HTTP, with the same words as everywhere."""

import pytest

from tests.http.door import Door, places_of, problem_of
from tests.tampering import Intruder
from watchkeeper.actions.seal_ledger import seal_ledger

pytestmark = pytest.mark.req("T-03")


def sealed(door: Door) -> None:
    client = door.client(door.tenant())
    client.post("/v1/triggers", json={"events": [door.event() for _ in range(5)]})
    seal_ledger(door.db)


def test_a_whole_chain_is_clean_and_a_broken_one_named(door: Door) -> None:
    sealed(door)
    client = door.client("acme", "viewer")
    seal_ledger(door.db)
    answer = client.get("/v1/ledger/verify").json()
    assert answer["clean"] is True
    assert answer["first_broken"] is None
    assert (answer["tenant_id"], answer["unsealed"]) == ("acme", 0)
    assert answer["entries"] == answer["sealed_seq"] > 5
    Intruder(door.place).edit(4, "reason")
    Intruder(door.place).delete(5)
    answer = client.get("/v1/ledger/verify").json()
    assert answer["clean"] is False
    first = answer["first_broken"]
    assert (first["seq"], first["what"]) == (4, "changed")
    assert [one["seq"] for one in answer["broken"]] == [4, 5]
    assert client.get("/v1/ledger/verify?newest=1").json()["clean"] is True


def test_what_it_said_once_is_a_checkpoint(door: Door) -> None:
    sealed(door)
    said = door.admin.get("/v1/ledger/verify?tenant_id=acme").json()
    query = f"tenant_id=acme&checkpoint_seq={said['sealed_seq']}"
    right = f"{query}&checkpoint_hash={said['sealed_hash']}"
    assert door.admin.get(f"/v1/ledger/verify?{right}").json()["clean"] is True
    Intruder(door.place).edit(2, "data")
    Intruder(door.place).seal_again(door.db, said["sealed_seq"])
    assert door.admin.get("/v1/ledger/verify?tenant_id=acme").json()["clean"] is True
    found = door.admin.get(f"/v1/ledger/verify?{right}").json()
    assert found["first_broken"]["what"] == "rewritten"


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("newest=0", "newest"),
        ("newest=1000001", "newest"),
        ("checkpoint_seq=1", "checkpoint_hash"),
        ("checkpoint_hash=" + "0" * 64, "checkpoint_seq"),
        ("checkpoint_seq=1&checkpoint_hash=zz", "checkpoint_hash"),
        ("since=1", "since"),
    ],
)
def test_a_wrong_question_is_named(door_sqlite: Door, query: str, wrong: str) -> None:
    door_sqlite.tenant()
    response = door_sqlite.admin.get(f"/v1/ledger/verify?tenant_id=acme&{query}")
    problem_of(response, 422, "invalid")
    assert places_of(response) == {wrong}


def test_the_systems_own_is_for_keys_of_all_tenants(door: Door) -> None:
    door.admin.put("/v1/policy", json={"run_budget_per_day": 9})
    seal_ledger(door.db)
    answer = door.admin.get("/v1/ledger/verify?tenant_id=_system").json()
    assert (answer["clean"], answer["tenant_id"]) == (True, "_system")
    own = door.client(door.tenant())
    problem_of(own.get("/v1/ledger/verify?tenant_id=_system"), 422)
