"""In development a request makes its tenant by first use; one that is refused makes none."""

from typing import Any

import pytest

from tests.http.calls import CALLS, PLAN, SCHEDULE, SINK, TURN
from tests.http.door import Door
from tests.http.test_bad_input import FULL, wrongs
from watchkeeper import Proposal

pytestmark = pytest.mark.req("U-10", "D-02")

ID = "01890000-0000-7000-8000-000000000001"
THINGS = ("account", "decision", "intent", "message", "plan", "pull", "report", "schedule")
NAMES = dict.fromkeys((*THINGS, "sink", "turn", "key_id", "tenant"), ID)
OF_A_TENANT = sorted(name for name in FULL if CALLS[name].tenant_in == "body")

PROPOSE = {"account_id": "a", "plan_type": "RENEWAL_DEFENSE"}
BY_POLICY: dict[str, tuple[str, dict[str, Any]]] = {
    "a plan of no type": ("POST /v1/plans", {**PLAN, "plan_type": "NO_SUCH_TYPE"}),
    "a plan of no action": ("POST /v1/plans", {**PLAN, "steps": [{"action_type": "NO_SUCH"}]}),
    "a proposal of no type": ("POST /v1/plans/propose", {**PROPOSE, "plan_type": "NO_SUCH_TYPE"}),
    "a proposal of no action": ("POST /v1/plans/propose", PROPOSE),
    "a turn of no model": ("POST /v1/turns", {**TURN, "model": "oracle"}),
    "a sink of no topic": ("PUT /v1/sinks/{name}", {**SINK, "topic": "decision.defered"}),
    "a sink of no kind": ("PUT /v1/sinks/{name}", {**SINK, "url": "ftp://example.com/"}),
    "a schedule of no hour": (
        "PUT /v1/schedules/{schedule_id}",
        {**SCHEDULE, "cron": "0 25 * * *"},
    ),
    "a switch of no target": (
        "POST /v1/kill-switches",
        {"scope": "trigger", "on": True, "reason": "r"},
    ),
}
OF_A_THING = {"POST /v1/outbox/redrive", *(name for name in OF_A_TENANT if "_id}" in name)}
"""A tenant that has a thing is there already; so is one that has dead messages."""
OF_A_THING -= {"PUT /v1/accounts/{account_id}", "PUT /v1/schedules/{schedule_id}"}


def send(door: Door, name: str, body: dict[str, Any]) -> int:
    method, route = name.split(" ")
    path = (CALLS[name].path or route).format(**NAMES)
    told = {"tenant_id": "acme", **body}
    return door.admin.request(method, path, json=told).status_code


@pytest.mark.parametrize("name", OF_A_TENANT)
def test_a_wrong_field_makes_no_tenant(dev_door: Door, name: str) -> None:
    before = dev_door.stored()
    for what, _, body in wrongs(name):
        if "surrogate" not in what:  # this client cannot send it
            assert send(dev_door, name, body) in (404, 422), what
    assert dev_door.stored() == before


@pytest.mark.parametrize(("name", "body"), BY_POLICY.values(), ids=BY_POLICY)
def test_a_value_that_only_the_policy_refuses_makes_no_tenant(
    dev_door: Door, name: str, body: dict[str, Any]
) -> None:
    dev_door.server.proposers[""] = lambda _asked: Proposal([{"action_type": "NO_SUCH"}])
    before = dev_door.stored()
    assert send(dev_door, name, body) == 422
    assert dev_door.stored() == before


@pytest.mark.parametrize("name", sorted(OF_A_THING))
def test_a_thing_that_is_not_there_makes_no_tenant(dev_door: Door, name: str) -> None:
    before = dev_door.stored()
    assert send(dev_door, name, FULL[name]) == 404
    assert dev_door.stored() == before


@pytest.mark.parametrize("name", sorted({*OF_A_TENANT} - OF_A_THING))
def test_a_right_call_makes_its_tenant(dev_door: Door, name: str) -> None:
    meet = {"action_type": "REQUEST_RENEWAL_MEETING"}
    dev_door.server.proposers[""] = lambda _asked: Proposal([meet])
    assert send(dev_door, name, FULL[name]) in CALLS[name].statuses
    assert [row[0] for row in dev_door.rows("tenants")] == ["acme"]
