"""One right call for every route, by `METHOD /path`: what the matrices of tests are made of.

A route that is missing here fails them, so that a new one cannot go untested. A value in braces is
an identifier that belongs to the tenant: `{account}`, `{decision}`, `{message}`, `{schedule}`,
`{sink}`, `{turn}`, `{pull}`, `{plan}`, `{intent}` (of another plan), `{report}`, `{key_id}`,
`{tenant}`. The connector `crm` is everybody's, and so is the shadow policy `trial`.
"""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from tests.http.door import Door
from watchkeeper.actions.run_cycle import run_cycle
from watchkeeper.core.ids import TenantId


@dataclass(frozen=True)
class Call:
    path: str = ""  # when it differs from the route's
    body: dict[str, Any] | None = None
    tenant_in: str = "query"  # where a key for all tenants names the tenant; "" nowhere
    statuses: tuple[int, ...] = (200,)
    free: frozenset[str] = field(default_factory=frozenset)  # ids in the path anybody may use


EVENT = {"account_id": "acct-9", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": "key-9"}
SIGNAL = {"account_id": "acct-9", "type": "opened", "data": {"n": 1}}
SCHEDULE = {
    "trigger_type": "TIME_RITUAL_DAILY_BRIEF",
    "cron": "0 7 * * *",
    "timezone": "UTC",
}
SINK = {"topic": "orders.placed", "kind": "webhook", "url": "https://example.com/hook"}
TURN = {
    "request_id": "request-9",
    "model": "standard",
    "estimated_input_tokens": 100,
    "max_output_tokens": 50,
}
USAGE = {"input_tokens": 90, "output_tokens": 20}
PULL = {"account_id": "acct-9", "connector_id": "crm", "depth": "SHALLOW"}
BUDGET = {"max_pull_units_per_day": 100}
PLAN = {
    "account_id": "acct-9",
    "plan_type": "RENEWAL_DEFENSE",
    "objective": "keep them",
    "steps": [{"step_id": "meet", "action_type": "REQUEST_RENEWAL_MEETING"}],
}

PDF = (200,) if find_spec("reportlab") else (503,)  # an extra draws it

CALLS: dict[str, Call] = {
    "POST /v1/tenants": Call(body={"tenant_id": "new"}, tenant_in="", statuses=(201,)),
    "GET /v1/tenants": Call(tenant_in=""),
    "GET /v1/tenants/{tenant_id}": Call("/v1/tenants/{tenant}", tenant_in=""),
    "PATCH /v1/tenants/{tenant_id}": Call("/v1/tenants/{tenant}", {"name": "New"}, tenant_in=""),
    "POST /v1/api-keys": Call(body={"role": "viewer"}, tenant_in="body", statuses=(201,)),
    "GET /v1/api-keys": Call(),
    "DELETE /v1/api-keys/{key_id}": Call("/v1/api-keys/{key_id}", statuses=(204,)),
    "PUT /v1/policy": Call(body={"run_budget_per_day": 9}, tenant_in=""),
    "GET /v1/policy/shadows": Call(tenant_in=""),
    "PUT /v1/policy/shadows/{name}": Call(
        "/v1/policy/shadows/next", {"run_budget_per_day": 9}, tenant_in=""
    ),
    "GET /v1/policy/shadows/{name}": Call("/v1/policy/shadows/trial", tenant_in=""),
    "DELETE /v1/policy/shadows/{name}": Call(
        "/v1/policy/shadows/trial", tenant_in="", statuses=(204,)
    ),
    "POST /v1/policy/shadows/{name}/promote": Call(
        "/v1/policy/shadows/trial/promote", tenant_in=""
    ),
    "POST /v1/policy/plan": Call(body={"run_budget_per_day": 9}),
    "GET /v1/policy": Call(),
    "GET /v1/policy/{version}": Call("/v1/policy/0"),
    "GET /v1/accounts": Call(),
    "GET /v1/accounts/{account_id}": Call("/v1/accounts/{account}"),
    "GET /v1/accounts/{account_id}/why-not": Call("/v1/accounts/{account}/why-not"),
    "PUT /v1/accounts/{account_id}": Call(
        "/v1/accounts/{account}",
        {"posture": "calm", "attributes": {"n": 1}},
        tenant_in="body",
        free=frozenset({"account"}),  # accounts exist from first use, in each tenant its own
    ),
    "POST /v1/signals": Call(body={"signals": [SIGNAL]}, tenant_in="body", statuses=(202,)),
    "POST /v1/triggers": Call(body={"events": [EVENT]}, tenant_in="body"),
    "GET /v1/decisions": Call(),
    "GET /v1/decisions/{decision_id}": Call("/v1/decisions/{decision}"),
    "GET /v1/decisions/{decision_id}/explain": Call("/v1/decisions/{decision}/explain"),
    "GET /v1/decisions/{decision_id}/bundle": Call("/v1/decisions/{decision}/bundle"),
    "POST /v1/decisions/{decision_id}/outcome": Call(
        "/v1/decisions/{decision}/outcome", {"succeeded": True}, tenant_in="body"
    ),
    "POST /v1/turns": Call(body=TURN, tenant_in="body", statuses=(201,)),
    "GET /v1/turns": Call(),
    "GET /v1/turns/{turn_id}": Call("/v1/turns/{turn}"),
    "GET /v1/turns/{turn_id}/explain": Call("/v1/turns/{turn}-refused/explain"),
    "POST /v1/turns/{turn_id}/progress": Call(
        "/v1/turns/{turn}/progress", {}, tenant_in="body", statuses=(204,)
    ),
    "POST /v1/turns/{turn_id}/finalize": Call(
        "/v1/turns/{turn}/finalize",
        {"outcome": "completed", "started": True, "usage": USAGE},
        tenant_in="body",
    ),
    "GET /v1/quota": Call(),
    "POST /v1/pulls": Call(body=PULL, tenant_in="body"),
    "GET /v1/pulls": Call(),
    "GET /v1/pulls/{pull_job_id}": Call("/v1/pulls/{pull}"),
    "GET /v1/pulls/{pull_job_id}/explain": Call("/v1/pulls/{pull}-refused/explain"),
    "PUT /v1/budgets/pull": Call(body=BUDGET, tenant_in="body"),
    "GET /v1/budgets/pull": Call(),
    "DELETE /v1/budgets/pull": Call(statuses=(204,)),
    "PUT /v1/connectors/{connector_id}": Call(
        "/v1/connectors/crm", {"max_concurrency": 9}, tenant_in=""
    ),
    "GET /v1/connectors": Call(),
    "GET /v1/connectors/{connector_id}": Call("/v1/connectors/crm"),
    "POST /v1/reports": Call(body={}, tenant_in="body", statuses=(201,)),
    "GET /v1/reports": Call(),
    "GET /v1/reports/{report_id}": Call("/v1/reports/{report}"),
    "GET /v1/reports/{report_id}.pdf": Call("/v1/reports/{report}.pdf", statuses=PDF),
    "GET /v1/milestones": Call(),
    "POST /v1/plans": Call(body=PLAN, tenant_in="body", statuses=(201,)),
    "POST /v1/plans/propose": Call(
        body={"account_id": "acct-9", "plan_type": "RENEWAL_DEFENSE"},
        tenant_in="body",
        statuses=(201, 409),  # nobody has registered a proposer
    ),
    "GET /v1/plans": Call(),
    "GET /v1/plans/{plan_id}": Call("/v1/plans/{plan}"),
    "PUT /v1/plans/{plan_id}": Call("/v1/plans/{plan}", PLAN, tenant_in="body"),
    "POST /v1/plans/{plan_id}/approve": Call("/v1/plans/{plan}/approve", {}, tenant_in="body"),
    "POST /v1/plans/{plan_id}/pause": Call(
        "/v1/plans/{plan}/pause", {}, tenant_in="body", statuses=(200, 409)
    ),
    "POST /v1/plans/{plan_id}/resume": Call(
        "/v1/plans/{plan}/resume", {}, tenant_in="body", statuses=(200, 409)
    ),
    "POST /v1/plans/{plan_id}/abort": Call("/v1/plans/{plan}/abort", {}, tenant_in="body"),
    "POST /v1/plans/{plan_id}/steps/{step_id}/skip": Call(
        "/v1/plans/{plan}/steps/meet/skip",
        {"reason": "r"},
        tenant_in="body",
        statuses=(200, 409),
    ),
    "POST /v1/plans/{plan_id}/facts": Call(
        "/v1/plans/{plan}/facts", {"facts": {"n": 1}}, tenant_in="body"
    ),
    "GET /v1/plans/{plan_id}/ledger": Call("/v1/plans/{plan}/ledger"),
    "GET /v1/plans/{plan_id}/why": Call("/v1/plans/{plan}/why"),
    "GET /v1/plans/{plan_id}/explain": Call("/v1/plans/{plan}/explain"),
    "GET /v1/intents": Call(),
    "GET /v1/intents/{intent_id}": Call("/v1/intents/{intent}"),
    "GET /v1/intents/{intent_id}/explain": Call("/v1/intents/{intent}/explain"),
    "POST /v1/intents/{intent_id}/approve": Call(
        "/v1/intents/{intent}/approve", {}, tenant_in="body"
    ),
    "POST /v1/intents/{intent_id}/reject": Call(
        "/v1/intents/{intent}/reject", {}, tenant_in="body"
    ),
    "POST /v1/intents/{intent_id}/outcome": Call(
        "/v1/intents/{intent}/outcome", {"succeeded": True}, tenant_in="body", statuses=(200, 409)
    ),
    "GET /v1/schedules": Call(),
    "GET /v1/schedules/{schedule_id}": Call("/v1/schedules/{schedule}"),
    "PUT /v1/schedules/{schedule_id}": Call(
        "/v1/schedules/{schedule}", SCHEDULE, tenant_in="body", free=frozenset({"schedule"})
    ),
    "DELETE /v1/schedules/{schedule_id}": Call("/v1/schedules/{schedule}", statuses=(204,)),
    "GET /v1/sinks": Call(),
    "GET /v1/sinks/{name}": Call("/v1/sinks/{sink}"),
    "PUT /v1/sinks/{name}": Call(
        "/v1/sinks/{sink}", SINK, tenant_in="body", free=frozenset({"sink"})
    ),
    "DELETE /v1/sinks/{name}": Call("/v1/sinks/{sink}", statuses=(204,)),
    "GET /v1/outbox": Call(),
    "GET /v1/outbox/{message_id}": Call("/v1/outbox/{message}"),
    "POST /v1/outbox/{message_id}/redrive": Call(
        "/v1/outbox/{message}/redrive", {"force": True}, tenant_in="body"
    ),
    "POST /v1/outbox/{message_id}/discard": Call(
        "/v1/outbox/{message}/discard", {}, tenant_in="body", statuses=(204,)
    ),
    "POST /v1/outbox/redrive": Call(body={"topic": "decision.retry"}, tenant_in="body"),
    "GET /v1/ledger": Call(),
    "GET /v1/ledger/verify": Call(),
    "GET /v1/stream": Call("/v1/stream?follow=false"),
    "POST /v1/kill-switches": Call(
        body={"scope": "trigger", "id": "SIGNAL_ARRIVED", "on": True, "reason": "r"},
        tenant_in="body",
    ),
    "GET /v1/kill-switches": Call(),
    "GET /v1/clock": Call(tenant_in=""),
    "POST /v1/clock/advance": Call(body={"seconds": 1}, tenant_in=""),
}


@dataclass(frozen=True)
class Estate:
    """What one tenant has: an identifier of each kind, and a word that only it knows."""

    tenant: str
    account: str
    decision: str
    message: str
    schedule: str
    sink: str
    turn: str
    pull: str
    report: str
    plan: str
    intent: str
    key_id: str
    canary: str

    @property
    def names(self) -> dict[str, str]:
        return {
            "tenant": self.tenant,
            "account": self.account,
            "decision": self.decision,
            "message": self.message,
            "schedule": self.schedule,
            "sink": self.sink,
            "turn": self.turn,
            "pull": self.pull,
            "report": self.report,
            "plan": self.plan,
            "intent": self.intent,
            "key_id": self.key_id,
        }


def settle(door: Door, tenant: str) -> Estate:
    """A tenant with one of everything."""
    canary = f"canary-{tenant}"
    client = door.client(door.tenant(tenant, name=canary))
    account, schedule, sink = f"{canary}-account", f"{canary}-schedule", f"{canary}-sink"
    client.put(f"/v1/accounts/{account}", json={"attributes": {"word": canary}})
    signal = {"account_id": account, "type": canary, "signal_id": canary, "data": {"w": canary}}
    told = client.post("/v1/signals", json={"signals": [signal]}).json()
    decision = told["signals"][0]["verdict"]["decision_id"]
    door.place.execute(
        "insert into runs (tenant_id, decision_id, account_id, trigger_type, state, started_at)"
        f" values ('{tenant}', '{decision}', '{account}', 'SIGNAL_ARRIVED', 'RUNNING', 1)"
    )
    door.place.execute(
        "update outbox set status = 'dead', done_at = 1, attempts = 1, dead_reason = 'REJECTED',"
        f" last_error = '{canary}' where id = '{decision}'"
    )
    client.put(f"/v1/schedules/{schedule}", json={**SCHEDULE, "account_id": account})
    client.put(f"/v1/sinks/{sink}", json={**SINK, "url": f"https://example.com/{canary}"})
    turn = f"{canary}-turn"
    asked = {"turn_id": turn, "request_id": turn, "user_id": canary}
    client.post("/v1/turns", json={**TURN, **asked})
    asked = {"turn_id": f"{turn}-refused", "request_id": f"{turn}-refused", "user_id": canary}
    client.post("/v1/turns", json={**TURN, **asked, "max_output_tokens": 900_000_000})
    door.admin.put("/v1/connectors/crm", json={"burst": 1})
    door.admin.put("/v1/policy/shadows/trial", json={"run_budget_per_day": 9})
    client.put("/v1/budgets/pull", json={**BUDGET, "max_per_connector_per_day": {canary: 1}})
    pull = f"{canary}-pull"
    client.post("/v1/pulls", json={**PULL, "account_id": account, "pull_job_id": pull})
    asked = {"account_id": account, "pull_job_id": f"{pull}-refused", "connector_id": canary}
    client.post("/v1/pulls", json={**PULL, **asked, "depth": "DEEP"})
    told = {**PLAN, "account_id": account, "objective": canary}
    plan = client.post("/v1/plans", json=told).json()["plan_id"]
    other = client.post("/v1/plans", json=told).json()["plan_id"]
    client.post(f"/v1/plans/{other}/approve", json={"reason": canary})
    run_cycle(door.server.carrier, TenantId(tenant))
    [asked] = client.get(f"/v1/intents?plan_id={other}").json()["items"]
    client.post(
        "/v1/kill-switches",
        json={"scope": "trigger", "id": canary, "on": True, "reason": canary},
    )
    report = client.post("/v1/reports", json={}).json()["report_id"]
    key_id = door.key(tenant, "viewer").split("_")[1]
    ids = (report, plan, asked["intent_id"], key_id)
    names = (account, decision, decision, schedule, sink, turn, pull, *ids)
    return Estate(tenant, *names, canary)


def send(client: Any, name: str, estate: Estate, *, tenant: str | None = None) -> Any:
    """Make the call of this name with the estate's identifiers, naming `tenant` if there is one."""
    call = CALLS[name]
    method, route = name.split(" ")
    path = (call.path or route).format(**estate.names)
    body = None if call.body is None else dict(call.body)
    if tenant is not None and call.tenant_in == "query":
        path += f"{'&' if '?' in path else '?'}tenant_id={tenant}"
    if tenant is not None and call.tenant_in == "body":
        assert body is not None
        body["tenant_id"] = tenant
    return client.request(method, path, json=body)
